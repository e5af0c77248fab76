//===- Options.h - How gpuasync_compile compiles ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words of gpuasync_compile_options.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_OPTIONS_H
#define GPUASYNC_LIB_LIBRARY_OPTIONS_H

#include "Execution/Compile.h"

namespace gpuexec {

struct LibraryOptions {
  CompileOptions compile;
  /// place=device: where the device has memory of its own, results stay there.
  bool keepsArrays = false;
  std::vector<std::string> sharedLibs;
  /// Functions of this process by the names that the program has for them.
  std::vector<std::pair<std::string, void *>> functions;
  /// Arguments of the only function whose memory callers give up.
  std::vector<unsigned> donated;
  /// The table that gpuasync_executable_timing gives.
  TimingMode timing = TimingMode::Off;
};

/// Reads "key=value key=value". An error names the word and what it may be.
llvm::Expected<LibraryOptions> parseLibraryOptions(llvm::StringRef text);

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_OPTIONS_H
