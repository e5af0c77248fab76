//===- CheckCollectives.cpp - gpu-async-check-collectives -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One error for each branch; the analysis is in Analysis/Ranks/Uniformity.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Ranks/Uniformity.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Transforms/Passes.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCCHECKCOLLECTIVES
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

static void emitError(CollectiveOp collective, const Divergence &divergence) {
  InFlightDiagnostic diag = collective.emitOpError(
      "is under control flow that may differ between ranks");
  if (FlatSymbolRefAttr group = collective.getGroupAttr())
    diag << " of the group " << group;
  diag
      << "; move it out, or use gpu_async.uniform to say that the value is the "
         "same on all ranks";
  for (Operation *call : divergence.calls)
    diag.attachNote(call->getLoc()) << "it is called here";
  diag.attachNote(divergence.branch->getLoc())
      << "ranks may part at this '" << divergence.branch->getName() << "'";
  diag.attachNote(divergence.source->getLoc())
      << "since the value comes from '" << divergence.source->getName()
      << "' here";
}

namespace {

struct CheckCollectives
    : public gpuasync::impl::GPUAsyncCheckCollectivesBase<CheckCollectives> {
  void runOnOperation() override {
    DenseMap<Attribute, std::unique_ptr<Uniformity>> ofGroup;
    DenseSet<Operation *> reported;
    getOperation().walk([&](CollectiveOp collective) {
      FlatSymbolRefAttr group = collective.getGroupAttr();
      std::unique_ptr<Uniformity> &uniformity = ofGroup[group];
      if (!uniformity)
        uniformity = std::make_unique<Uniformity>(getOperation(), group);
      std::optional<Divergence> found = uniformity->findDivergence(collective);
      if (found && reported.insert(found->branch).second)
        emitError(collective, *found);
    });
    if (!reported.empty())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
