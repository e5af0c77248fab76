//===- ReduceDependencies.cpp - fewer tokens between iterations -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each token that a loop carries may cost a stream, an event and waits in every
// iteration.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/ImpliedTokens.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Transforms/Passes.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCREDUCEDEPENDENCIES
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct ReduceDependencies
    : public gpuasync::impl::GPUAsyncReduceDependenciesBase<
          ReduceDependencies> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (!function.isExternal())
        reduce(function);
  }

private:
  void reduce(FunctionOpInterface function) {
    const llvm::DenseSet<OpOperand *> implied = findImpliedTokens(function);
    if (implied.empty())
      return;
    function->walk([&](Operation *op) {
      if (auto work = dyn_cast<WorkOpInterface>(op))
        reduce(work.getAsyncDependenciesMutable(), implied);
      else if (auto wait = dyn_cast<WaitOp>(op))
        reduce(wait.getAsyncDependenciesMutable(), implied);
    });
    Decision(*this, function, "Dependencies")
        .count(numDropped, "dropped-dependencies", implied.size());
  }

  static void reduce(MutableOperandRange tokens,
                     const llvm::DenseSet<OpOperand *> &implied) {
    SmallVector<Value> kept;
    for (OpOperand &token : tokens)
      if (!implied.contains(&token))
        kept.push_back(token.get());
    if (kept.size() != tokens.size())
      tokens.assign(kept);
  }
};
} // namespace
