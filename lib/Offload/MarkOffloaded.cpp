//===- MarkOffloaded.cpp - functions that kernels are made of -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Offloaded.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/Offload/Offload.h"
#include "Offloaded.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCMARKOFFLOADED
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

bool offload::isParallelWork(Operation *op) {
  return isa<linalg::LinalgOp, linalg::SoftmaxOp, scf::ForallOp,
             scf::ParallelOp, affine::AffineParallelOp>(op);
}

bool offload::hasWork(func::FuncOp function) {
  if (llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<TensorType>) ||
      llvm::any_of(function.getResultTypes(), llvm::IsaPred<TensorType>))
    return true;
  return function
      .walk([&](Operation *op) {
        return isParallelWork(op) || llvm::any_of(op->getResultTypes(),
                                                  llvm::IsaPred<TensorType>)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

llvm::StringSet<> offload::findKernelCode(ModuleOp module) {
  llvm::StringSet<> found;
  SmallVector<Operation *> worklist;
  module.walk([&](gpu::LaunchOp launch) { worklist.push_back(launch); });
  while (!worklist.empty())
    worklist.pop_back_val()->walk([&](func::CallOp call) {
      if (found.insert(call.getCallee()).second)
        if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee()))
          worklist.push_back(callee);
    });
  return found;
}

SmallVector<func::FuncOp> offload::collectOffloadable(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  llvm::StringSet<> inKernels = findKernelCode(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !inKernels.contains(function.getName()) &&
        hasWork(function) && !findDeviceWork(function))
      functions.push_back(function);
  return functions;
}

SmallVector<func::FuncOp> offload::getOffloaded(ModuleOp module) {
  return llvm::to_vector(llvm::make_filter_range(
      module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return function->hasAttr(kOffloadedAttrName);
      }));
}

bool offload::returnsConstantSizes(func::FuncOp function) {
  return llvm::any_of(function.getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  });
}

bool gpuasync::needsOffload(ModuleOp module) {
  return !offload::collectOffloadable(module).empty();
}

namespace {
struct MarkOffloaded
    : public gpuasync::impl::GPUAsyncMarkOffloadedBase<MarkOffloaded> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> marked = offload::getOffloaded(getOperation());
    SmallVector<func::FuncOp> functions =
        offload::collectOffloadable(getOperation());
    if (marked == functions)
      markAllAnalysesPreserved();
    for (func::FuncOp function : marked)
      function->removeAttr(offload::kOffloadedAttrName);
    for (func::FuncOp function : functions) {
      function->setAttr(offload::kOffloadedAttrName,
                        UnitAttr::get(&getContext()));
      Decision(*this, function, "Offloaded").count(numFunctions, "functions");
    }
  }
};
} // namespace
