//===- PrintHazards.cpp - prints unordered ops that may conflict ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line for each pair; the analysis is in Analysis/Hazards.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/Hazards.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCPRINTHAZARDS
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

/// Returns an op that shows that `function` is not in the token form, and says
/// what to do. Null if there is none.
Operation *findOtherForm(FunctionOpInterface function, StringRef &advice) {
  Operation *found = nullptr;
  function->walk([&](Operation *op) {
    if (isa<gpu::AsyncOpInterface>(op))
      advice = "run --gpu-kernel-outlining --convert-gpu-to-gpu-async before";
    else if (isa<StreamCreateOp>(op))
      advice = "give it the program from before gpu-async-assign-streams";
    else
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

struct PrintHazards
    : public gpuasync::impl::GPUAsyncPrintHazardsBase<PrintHazards> {
  void runOnOperation() override {
    KernelTable kernels;
    MemoryFacts facts(getOperation());
    // One piece, so that nothing comes in between.
    std::string text;
    llvm::raw_string_ostream os(text);
    for (Operation &op : getOperation().getBody()->getOperations()) {
      auto function = dyn_cast<FunctionOpInterface>(&op);
      if (!function || function.isExternal())
        continue;
      StringRef advice;
      if (Operation *other = findOtherForm(function, advice)) {
        InFlightDiagnostic diag =
            mlir::emitError(function.getLoc(), "'@")
            << function.getName()
            << "' is not in the token form, so it cannot be searched for "
               "hazards; "
            << advice;
        diag.attachNote(other->getLoc()) << "this is of another form";
        return signalPassFailure();
      }
      for (const Hazard &hazard : findHazards(function, kernels, facts)) {
        os << "hazard in @" << function.getName() << ": " << hazard.getName()
           << " of ";
        printMemory(os, hazard.secondAccess);
        std::string unknown =
            explainUnknown({&hazard.firstAccess, &hazard.secondAccess});
        if (!unknown.empty())
          os << " (" << unknown << ")";
        os << ": " << hazard.second->getName() << " at "
           << hazard.second->getLoc() << " is not ordered after "
           << hazard.first->getName() << " at " << hazard.first->getLoc()
           << (hazard.isCarried ? " of an earlier iteration\n" : "\n");
      }
    }
    llvm::errs() << text;
    markAllAnalysesPreserved();
  }
};

} // namespace
