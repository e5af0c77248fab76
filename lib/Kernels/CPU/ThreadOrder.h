//===- ThreadOrder.h - what one thread does stays in order ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads of a loop do not depend on each other, and the loop says so
// (llvm.loop.parallel_accesses). LLVM's vectoriser takes this for more: it
// looks for no dependences at all then, and may move a thread's store across
// the same thread's load of that element when it gathers accesses into groups.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_THREADORDER_H
#define GPUASYNC_LIB_KERNELS_CPU_THREADORDER_H

#include "llvm/IR/PassManager.h"

namespace mlir::gpuasync::cpu {

/// Runs just before LLVM's vectoriser. Finds the accesses of a thread that the
/// vectoriser might move across another access to the same memory, and hides
/// their strides from it, so that they stay where they are. Where the program
/// can tell before the loop that they never meet, only a copy of the loop is
/// changed, which runs if they do. Then allows the vectoriser to work on the
/// loops over threads, which the lowering forbids: no other pipeline keeps the
/// order.
struct KeepThreadOrder : llvm::PassInfoMixin<KeepThreadOrder> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_THREADORDER_H
