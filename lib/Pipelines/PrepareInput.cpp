//===- PrepareInput.cpp - input that can be lowered -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See PrepareInput.h.
//===----------------------------------------------------------------------===//

#include "PrepareInput.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/VerifyProgram.h"
#include "InputChecks.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

/// Says so where a program that was meant for a device has no work for one.
static void warnOfHostLoops(ModuleOp module) {
  SmallVector<Operation *> parallel;
  WalkResult work = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<gpu::LaunchOp, gpu::LaunchFuncOp>(op) || gpuasync::runsKernel(op))
      return WalkResult::interrupt();
    if (isa<gpu::GPUModuleOp>(op))
      return WalkResult::skip();
    if (isa<linalg::LinalgOp, scf::ParallelOp, scf::ForallOp,
            affine::AffineParallelOp>(op)) {
      parallel.push_back(op);
      return WalkResult::skip();
    }
    return WalkResult::advance();
  });
  if (work.wasInterrupted() || parallel.empty())
    return;
  InFlightDiagnostic warning = parallel.front()->emitWarning(
      "runs on the host, as all of the program does: it launches no kernel");
  if (parallel.size() > 1)
    warning.attachNote(parallel[1]->getLoc())
        << "so do " << parallel.size() - 1 << " more";
  warning.attachNote(parallel.front()->getLoc())
      << "offload=auto makes kernels of parallel loops and linalg ops, in "
         "functions without device work of their own";
}

namespace {

/// Collects the loads that are made.
struct LoadListener : public RewriterBase::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      loads.push_back(load);
  }
  SmallVector<memref::LoadOp> loads;
};

struct PrepareInputPass
    : public PassWrapper<PrepareInputPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrepareInputPass)

  StringRef getArgument() const final { return "gpu-async-prepare-input"; }
  StringRef getDescription() const final {
    return "Refuse what no program may contain, turn linalg ops on memrefs "
           "into loops";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<affine::AffineDialect, memref::MemRefDialect,
                    scf::SCFDialect>();
  }

  void runOnOperation() final {
    if (failed(gpuasync::verifyProgram(getOperation())))
      return signalPassFailure();
    gpuasync::InputChecks checks;
    if (failed(checks.checkKernelCalls(getOperation())))
      return signalPassFailure();
    bool isRefused = false;
    SmallVector<linalg::LinalgOp> structured;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      isRefused |= failed(checks.check(op));
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
        structured.push_back(linalgOp);
    });
    if (isRefused)
      return signalPassFailure();
    warnOfHostLoops(getOperation());

    LoadListener made;
    IRRewriter rewriter(&getContext(), &made);
    for (linalg::LinalgOp op : structured) {
      rewriter.setInsertionPoint(op);
      if (failed(linalg::linalgOpToLoops(rewriter, op))) {
        op->emitOpError("cannot be turned into loops");
        return signalPassFailure();
      }
      rewriter.eraseOp(op);
    }
    // An op reads only what its body uses, for --check above all: the elements
    // that a fill overwrites may never have been written.
    for (memref::LoadOp load : made.loads)
      if (load.use_empty())
        rewriter.eraseOp(load);
  }
};

} // namespace

std::unique_ptr<Pass> gpuasync::createPrepareInputPass() {
  return std::make_unique<PrepareInputPass>();
}
