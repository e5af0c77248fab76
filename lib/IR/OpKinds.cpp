//===- OpKinds.cpp - which form or side an op belongs to ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See OpKinds.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/OpKinds.h"

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace mlir::gpuasync;

bool mlir::gpuasync::holdsKernels(Operation *op) {
  return isa<gpu::GPUModuleOp, gpu::BinaryOp, BinaryOp>(op);
}

bool mlir::gpuasync::isKernelCode(Operation *op) {
  return isa<gpu::GPUModuleOp, gpu::LaunchOp>(op);
}

bool mlir::gpuasync::isUpstreamOp(Operation *op) {
  return isa_and_nonnull<gpu::GPUDialect, async::AsyncDialect>(
      op->getDialect());
}

bool mlir::gpuasync::isStreamFormOp(Operation *op) {
  return isa<StreamCreateOp, StreamDestroyOp, StreamWaitOp, StreamSynchronizeOp,
             EventRecordOp, EventReadyOp, EventDestroyOp, EventSynchronizeOp,
             RegionOp, YieldOp>(op);
}

Operation *mlir::gpuasync::findDeviceWork(Operation *function) {
  Operation *found = nullptr;
  function->walk([&](Operation *op) {
    bool isWork = isa_and_nonnull<gpu::GPUDialect>(op->getDialect()) ||
                  (isAsyncOp(op) &&
                   !isa<RankOp, SizeOp, UniformOp, TensorCollectiveOp>(op));
    if (!isWork)
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}
