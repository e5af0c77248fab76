//===- Source.h - Lines of the program in reports ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints reports of the running program as MLIR prints its diagnostics.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_SOURCE_H
#define GPUASYNC_TOOLS_GPURUNNER_SOURCE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace gpurunner {

/// Source files by their names in locations. Not thread safe.
class SourceFiles {
public:
  /// Keeps the text of a file that cannot be read a second time.
  void add(llvm::StringRef name, llvm::StringRef text);
  /// Prints messages, one a line. A message that begins with a place,
  /// "a.mlir:3:5: error: ...", is followed by the source line and a caret, if
  /// the file can be read. It names the op that is there: gpu.dealloc where the
  /// runtime knows a gpu_async.dealloc only. Has colours on a terminal.
  void print(llvm::raw_ostream &os, llvm::StringRef messages);

private:
  llvm::StringRef findLine(llvm::StringRef file, unsigned line);
  void printMessage(llvm::raw_ostream &os, llvm::StringRef message);

  /// Null: cannot be read.
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files;
};

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_SOURCE_H
