//===- Options.h - How gpuasync_compile compiles ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words of gpuasync_compile_options.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_OPTIONS_H
#define GPUASYNC_LIB_LIBRARY_OPTIONS_H

#include "Execution/CompileOptions.h"

namespace gpuexec {

struct LibraryOptions {
  CompileOptions compile;
  /// place=device: where the device has memory of its own, results stay there.
  bool keepsArrays = false;
};

/// Reads "key=value key=value". An error names the word and what it may be.
llvm::Expected<LibraryOptions> parseLibraryOptions(llvm::StringRef text);

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_OPTIONS_H
