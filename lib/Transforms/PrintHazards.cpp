//===- PrintHazards.cpp - prints unordered ops that may conflict ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line for each pair; the analysis is in Analysis/Hazards.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/Hazards.h"
#include "GPUAsync/Transforms/Passes.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCPRINTHAZARDS
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

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
