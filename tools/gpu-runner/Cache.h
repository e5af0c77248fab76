//===- Cache.h - Keys of runs in the disk cache -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run keeps of its compile job, so that the next run of the same program
// needs neither MLIR nor LLVM's code generator: a CompiledProgram.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_CACHE_H
#define GPUASYNC_TOOLS_GPURUNNER_CACHE_H

#include "Execution/CompiledProgram.h"

namespace gpurunner {
using namespace gpuexec;

/// All that decides what a compile job makes, but for the targets;
/// `name` and `input` are the file's. To be called before libraries are opened:
/// it covers the code that is loaded.
gpuasync::KeyBuilder jobKey(const CompileOptions &options, llvm::StringRef name,
                            llvm::StringRef input);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_CACHE_H
