//===- InstrumentAccesses.cpp - gpu-async-instrument-accesses ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a call of the checker before each access to memory, for gpu-runner
// --check. Done on the stream form, where threads are still gpu.thread_id, so
// that the lowering of kernels knows nothing of it.
//===----------------------------------------------------------------------===//

#include "Check/Instrumenter.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Kernels/Passes.h"
#include "Kernels/Common/KernelLowering.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCINSTRUMENTACCESSES
#include "GPUAsync/Kernels/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct InstrumentAccessesPass
    : gpuasync::impl::GPUAsyncInstrumentAccessesBase<InstrumentAccessesPass> {
  using GPUAsyncInstrumentAccessesBase::GPUAsyncInstrumentAccessesBase;

  void runOnOperation() override {
    // Host code is checked where it stands, so there is nothing that starts
    // late: what is in a region is in the block around it.
    IRRewriter rewriter(&getContext());
    WalkResult formed = getOperation()->walk([&](RegionOp region) {
      if (region.getBody().hasOneBlock())
        return WalkResult::advance();
      region.emitOpError(
          "has a control-flow graph; in the stream form a region "
          "is one block");
      return WalkResult::interrupt();
    });
    if (formed.wasInterrupted())
      return signalPassFailure();
    getOperation()->walk([&](RegionOp region) {
      auto yield = cast<YieldOp>(region.getBody().front().getTerminator());
      rewriter.inlineBlockBefore(&region.getBody().front(), region);
      rewriter.replaceOp(region, yield.getOperands());
      rewriter.eraseOp(yield);
    });
    auto getFunctions = [](Operation *table) {
      SmallVector<FunctionOpInterface> functions;
      for (Operation &op : table->getRegion(0).front())
        if (auto function = dyn_cast<FunctionOpInterface>(op);
            function && !function.isExternal())
          functions.push_back(function);
      return functions;
    };
    // Then all transfers have one dimension. The pass drops what has no use,
    // too, loads among it, so it is for those that need it.
    auto lowerTransfers = [&](Operation *op) -> LogicalResult {
      WalkResult any = op->walk([](VectorTransferOpInterface transfer) {
        return check::getMemRefAccess(transfer) ? WalkResult::advance()
                                                : WalkResult::interrupt();
      });
      if (!any.wasInterrupted())
        return success();
      OpPassManager pm(op->getName().getStringRef());
      pm.addPass(createConvertVectorToSCFPass());
      return runPipeline(pm, op);
    };
    std::unique_ptr<check::Instrumenter> host =
        check::makeHostInstrumenter(getOperation());
    for (FunctionOpInterface function : getFunctions(getOperation())) {
      if (failed(lowerTransfers(function)))
        return signalPassFailure();
      host->instrument(function);
    }
    SmallVector<gpu::GPUModuleOp> modules(
        getOperation().getOps<gpu::GPUModuleOp>());
    for (gpu::GPUModuleOp kernels : modules) {
      expandCopies(kernels);
      if (failed(lowerTransfers(kernels)))
        return signalPassFailure();
      std::unique_ptr<check::Instrumenter> device =
          check::makeKernelInstrumenter(kernels);
      for (FunctionOpInterface function : getFunctions(kernels))
        device->instrument(function);
    }
  }
};
} // namespace
