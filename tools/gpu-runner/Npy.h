//===- Npy.h - Arrays in NumPy's .npy format --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads .npy files and members of .npz archives, writes .npy files;
// versions 1.0 to 3.0, C order, little endian.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_NPY_H
#define GPUASYNC_TOOLS_GPURUNNER_NPY_H

#include "Files.h"
#include "Memory.h"
#include "Zip.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <string>

namespace gpurunner {

/// The array of an open file. No more is read than the header says, so it may
/// be a pipe, or a device that never ends.
class NpyFile {
public:
  NpyFile() = default;
  NpyFile(NpyFile &&other) { *this = std::move(other); }
  NpyFile &operator=(NpyFile &&other);
  ~NpyFile();

  /// Opens it and reads the header. "x.npz:a" is the array `a` of an archive.
  static llvm::Expected<NpyFile> open(llvm::StringRef path);
  /// Reads the elements: as many bytes as there are of the shape. Once.
  llvm::Error read(llvm::MutableArrayRef<char> elements);
  /// The elements, `bytes` of them, as a mapping of the file, which sees no
  /// write; nothing for small arrays and what cannot be mapped. Before read.
  AlignedBytes map(uint64_t bytes) const;

  std::string descr; ///< NumPy's type name: "<f4", "|u1"
  llvm::SmallVector<int64_t> shape;

private:
  /// Fills `bytes`; fewer are there at the file's end.
  llvm::Expected<size_t> fill(llvm::MutableArrayRef<char> bytes);

  std::string path;
  llvm::sys::fs::file_t file = llvm::sys::fs::kInvalidFile;
  ZipMember member;      ///< in place of a file
  uint64_t consumed = 0; ///< bytes of the file or member so far
};

/// As makeFile.
llvm::Expected<NewFile> makeNpy(llvm::StringRef path, llvm::StringRef descr,
                                llvm::ArrayRef<int64_t> shape,
                                llvm::ArrayRef<char> data);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_NPY_H
