//===- InferDependencies.cpp - tokens for sequential ops ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives every sequential op a token and the dependencies that memory asks for,
// and makes the host wait where host code touches what the device works on.
//===----------------------------------------------------------------------===//

#include "DependencyInference.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/VerifyProgram.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCINFERDEPENDENCIES
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::infer;

namespace {

/// What is in an scf.execute_region is in the block around it.
void inlineExecuteRegions(FunctionOpInterface function) {
  SmallVector<scf::ExecuteRegionOp> ops;
  function->walk([&](scf::ExecuteRegionOp op) {
    bool hasWork = op->walk([](Operation *inner) {
                       return isSequential(inner) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
                     }).wasInterrupted();
    if (hasWork && op.getRegion().hasOneBlock())
      ops.push_back(op);
  });
  for (scf::ExecuteRegionOp op : ops) {
    Block &block = op.getRegion().front();
    Operation *yield = block.getTerminator();
    op->replaceAllUsesWith(yield->getOperands());
    yield->erase();
    op->getBlock()->getOperations().splice(op->getIterator(),
                                           block.getOperations());
    op->erase();
  }
}

/// How a function's work is ordered.
struct Counts {
  uint64_t sequential = 0, dependencies = 0, hostWaits = 0;

  explicit Counts(FunctionOpInterface function) {
    function->walk([&](Operation *op) {
      sequential += isSequential(op);
      if (auto work = dyn_cast<WorkOpInterface>(op))
        dependencies += work.getAsyncDependencies().size();
      auto wait = dyn_cast<WaitOp>(op);
      hostWaits += wait && wait.isHostWait();
    });
  }
};

struct InferDependencies
    : public gpuasync::impl::GPUAsyncInferDependenciesBase<InferDependencies> {
  using GPUAsyncInferDependenciesBase::GPUAsyncInferDependenciesBase;

  void runOnOperation() override {
    if (failed(verifyProgram(getOperation())))
      return signalPassFailure();
    SmallVector<FunctionOpInterface> functions;
    for (Operation &op : getOperation().getBody()->getOperations()) {
      auto function = dyn_cast<FunctionOpInterface>(&op);
      if (!function || function.isExternal())
        continue;
      WalkResult result = function->walk([](Operation *inner) {
        return isSequential(inner) ? WalkResult::interrupt()
                                   : WalkResult::advance();
      });
      if (result.wasInterrupted())
        functions.push_back(function);
    }
    if (functions.empty())
      return;
    KernelTable kernels;
    MemoryFacts facts(getOperation());
    for (FunctionOpInterface function : functions) {
      inlineExecuteRegions(function);
      AccessTable table(function, kernels, facts);
      if (failed(table.build()))
        return signalPassFailure();
      Counts before(function);
      DependencyInference(function, table, remarks).run();
      Counts after(function);
      Decision(*this, function, "Dependencies")
          .count(numOrdered, "ordered-ops",
                 before.sequential - after.sequential)
          .count(numDependencies, "dependencies",
                 after.dependencies - before.dependencies)
          .count(numHostWaits, "host-waits",
                 after.hostWaits - before.hostWaits);
    }
  }
};

} // namespace
