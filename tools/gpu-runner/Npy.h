//===- Npy.h - Arrays in NumPy's .npy format --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes .npy files, versions 1.0 to 3.0, C order, little endian.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_NPY_H
#define GPUASYNC_TOOLS_GPURUNNER_NPY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace gpurunner {

/// One array of a file. `descr` is NumPy's type name: "<f4", "|u1".
struct NpyArray {
  std::string descr;
  llvm::SmallVector<int64_t> shape;
  /// The elements, inside `file`.
  llvm::ArrayRef<char> data;
  std::unique_ptr<llvm::MemoryBuffer> file;

  /// Bytes of one element, 0 if `descr` is not understood.
  static uint64_t elementBytes(llvm::StringRef descr);
};

llvm::Expected<NpyArray> readNpy(llvm::StringRef path);

llvm::Error writeNpy(llvm::StringRef path, llvm::StringRef descr,
                     llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<char> data);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_NPY_H
