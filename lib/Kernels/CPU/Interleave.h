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
#include "llvm/Transforms/Scalar/LoopPassManager.h"

namespace mlir::gpuasync::cpu {

/// The attribute that optimizeCpuCode gives to block functions, into which LLVM
/// inlines kernels.
constexpr llvm::StringLiteral blockFunctionAttribute = "gpuasync-block";

/// Whether a function is a kernel for the cpu device, or the block function of
/// one.
bool isKernelCode(const llvm::Function &function);

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

/// Keeps LLVM from unrolling a kernel's loop around loops that stay loops. It
/// would write each of them as often as the outer one has rounds, with all that
/// the vectoriser adds to it, and win the addition of an index per round.
/// Runs before LLVM unrolls, when the inner loops have been unrolled.
struct LeaveOuterLoops : llvm::PassInfoMixin<LeaveOuterLoops> {
  llvm::PreservedAnalyses run(llvm::Loop &loop,
                              llvm::LoopAnalysisManager &analyses,
                              llvm::LoopStandardAnalysisResults &results,
                              llvm::LPMUpdater &updater);
};

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_INTERLEAVE_H
