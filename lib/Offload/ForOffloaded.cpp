//===- ForOffloaded.cpp - passes on functions that are offloaded ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipeline of MLIR's runs on all functions of a module. This one runs on
// those with the mark, in their order.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Offload/Passes.h"
#include "Offloaded.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCFOROFFLOADED
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct ForOffloaded
    : public gpuasync::impl::GPUAsyncForOffloadedBase<ForOffloaded> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    for (const OpPassManager &pipeline : pipelines)
      pipeline.getDependentDialects(registry);
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions = offload::getOffloaded(getOperation());
    if (functions.empty())
      return markAllAnalysesPreserved();
    for (OpPassManager &pipeline : pipelines) {
      SmallVector<Operation *> roots(functions.begin(), functions.end());
      if (pipeline.getOpAnchorName() == ModuleOp::getOperationName())
        roots = {getOperation()};
      for (Operation *root : roots)
        if (failed(runPipeline(pipeline, root)))
          return signalPassFailure();
    }
  }
};
} // namespace
