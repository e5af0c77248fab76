//===- LLVMThread.h - LLVM code that may fail fatally -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM ends the process when its code generators meet what they do not know.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_GPU_LLVMTHREAD_H
#define GPUASYNC_LIB_KERNELS_GPU_LLVMTHREAD_H

#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>

namespace mlir::gpuasync {

/// Where LLVM ended.
struct FatalError {
  std::string reason;
  std::string function; ///< which it was at, "" if it does not say
};

/// Runs `work` in a thread of its own and waits for it. After a fatal error of
/// LLVM, or a crash, that thread sleeps for ever: nothing of its stack is
/// unwound or used again, so whatever LLVM holds by pointers into it stays as
/// it is until the process ends, which the thread does not hinder. It costs
/// what `work` held and a stack, of which only what was used takes memory.
/// Where the system gives no thread, `work` does not run, and the error says
/// so.
///
/// Meanwhile LLVM's fatal error handler and its crash recovery, which are the
/// process's, are ours, and none is installed afterwards; errors of other
/// threads go on as they would without us. Thread-safe.
std::optional<FatalError> runLLVM(function_ref<void()> work);

/// The function that the passes of this thread are at, "" if they are at none.
std::string getFunctionOfLLVM();

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_GPU_LLVMTHREAD_H
