//===- Check.h - Finding the bugs of a program ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --check: opens libgpuasync_check.so, which lies next to the runtime, and
// prints what it finds to stderr.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_CHECK_H
#define GPUASYNC_TOOLS_GPURUNNER_CHECK_H

#include "Source.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace gpurunner {

/// Functions of the checker; null until it is open.
struct Checker {
  void *(*find)(const char *name) = nullptr; ///< gpuasync_check_find

  /// Opens the library and installs it, before the device is used. Reports
  /// show lines of the program, which `name` is in locations.
  llvm::Error open(llvm::StringRef name, llvm::StringRef program);
  /// After the last call of the program: says how many bugs there were.
  /// Returns whether there was one.
  bool finish();

private:
  SourceFiles sources;
  uint64_t (*finishChecks)(uint64_t *unprinted) = nullptr;
};

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_CHECK_H
