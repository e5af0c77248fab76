//===- Interleave.h - several vectors of threads at once --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel whose thread is one long chain of operations, each waiting for the
// last, leaves most of a processor idle. The threads do not depend on each
// other, so a round of the loop over them may run the chains of several
// vectors.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_INTERLEAVE_H
#define GPUASYNC_LIB_KERNELS_CPU_INTERLEAVE_H

#include "llvm/IR/PassManager.h"

namespace mlir::gpuasync::cpu {

/// Runs just before LLVM's vectoriser, which interleaves by itself only what is
/// short: tells it, for each innermost loop over threads, how many vectors to
/// work on if their chains are long, as long as registers last.
struct InterleaveThreads : llvm::PassInfoMixin<InterleaveThreads> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

/// Keeps the vectoriser from short loops whose result is a minnum or maxnum:
/// LLVM before 23 forgets the rounds of those that fill no vector
/// (llvm/llvm-project#209159).
struct LeaveShortExtrema : llvm::PassInfoMixin<LeaveShortExtrema> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

/// Keeps the vectoriser from loops of thousands of operations: its time grows
/// with the square of a chain's length.
struct LeaveLongLoops : llvm::PassInfoMixin<LeaveLongLoops> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_INTERLEAVE_H
