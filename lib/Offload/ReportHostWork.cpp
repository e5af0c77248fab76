//===- ReportHostWork.cpp - work that no kernel is made of ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of offloading: checks and reports, and marks go.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/Offload/Passes.h"
#include "Offloaded.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCREPORTHOSTWORK
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct ReportHostWork
    : public gpuasync::impl::GPUAsyncReportHostWorkBase<ReportHostWork> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult reportLeft();
};
} // namespace

/// A function that a kernel calls would see a global of the device's own.
static LogicalResult refuseGlobalsOfKernels(ModuleOp module) {
  for (const auto &name : offload::findKernelCode(module)) {
    auto function = module.lookupSymbol<func::FuncOp>(name.getKey());
    if (!function)
      continue;
    WalkResult result =
        function.walk([&](memref::GetGlobalOp get) -> WalkResult {
          auto global = module.lookupSymbol<memref::GlobalOp>(get.getName());
          if (global && global.getConstant())
            return WalkResult::advance();
          return get.emitError()
                 << "uses @" << get.getName() << " in @" << function.getName()
                 << ", which a kernel calls: a kernel sees a global that may "
                    "change only as a memref that it is given, so pass it as "
                    "an argument";
        });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

/// Says what is still done on the host: all, or in functions that launch
/// kernels themselves.
LogicalResult ReportHostWork::reportLeft() {
  bool isError = false;
  llvm::StringSet<> inKernels = offload::findKernelCode(getOperation());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (inKernels.contains(function.getName()))
      continue;
    Operation *own = function->hasAttr(offload::kOffloadedAttrName)
                         ? nullptr
                         : findDeviceWork(function);
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<gpu::LaunchOp>(op))
        return WalkResult::skip();
      if (!offload::isParallelWork(op))
        return WalkResult::advance();
      isError |= mode == OffloadMode::Error;
      InFlightDiagnostic text =
          mode == OffloadMode::Error ? op->emitError() : op->emitRemark();
      text << "runs on the host: no kernel can be made of it";
      if (own)
        text.attachNote(own->getLoc())
            << "the function gives the device work itself, so the rest of it "
               "is taken as it is: move what kernels are to be made of into a "
               "function of its own";
      return WalkResult::skip();
    });
  }
  return failure(isError);
}

/// Says which arguments do not stay on the device though they are to.
static void warnOfResidents(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(),
                              GPUAsyncDialect::getResidentName()) &&
          llvm::none_of(argument.getUsers(), llvm::IsaPred<ResidentOp>))
        function.emitWarning()
            << "argument " << argument.getArgNumber()
            << " is to stay on the device (gpu_async.resident), but no kernel "
               "that is made of linalg ops, tensors or parallel loops reads "
               "it: a function with device work of its own has the op "
               "gpu_async.resident for that";
}

void ReportHostWork::runOnOperation() {
  SmallVector<func::FuncOp> functions = offload::getOffloaded(getOperation());
  if ((!functions.empty() && failed(refuseGlobalsOfKernels(getOperation()))) ||
      failed(reportLeft()))
    return signalPassFailure();
  if (functions.empty())
    markAllAnalysesPreserved();
  for (func::FuncOp function : functions)
    function->removeAttr(offload::kOffloadedAttrName);
  if (place == PlaceMode::Copy)
    warnOfResidents(getOperation());
}
