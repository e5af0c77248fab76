//===- CheckSignatures.cpp - signatures that cannot be offloaded ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments and results whose memory would not be the caller's.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Offload/Passes.h"
#include "Offloaded.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCCHECKSIGNATURES
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

/// A public function whose calls are still there would get another type.
static LogicalResult refuseCallsOf(func::FuncOp function) {
  if (!function.isPublic() || !offload::returnsConstantSizes(function))
    return success();
  auto uses = SymbolTable::getSymbolUses(function,
                                         function->getParentOfType<ModuleOp>());
  if (uses && !uses->empty())
    return uses->begin()->getUser()->emitError()
           << "uses @" << function.getName()
           << ", a public function that returns a tensor of constant size: "
              "its callers give it an argument for that, so make it private";
  return success();
}

/// A memref is the caller's before and after the call.
static LogicalResult refuseDonatedMemRefs(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), kDonatedAttrName) &&
        !isa<TensorType>(argument.getType()))
      return function.emitError()
             << "argument " << argument.getArgNumber() << " of type "
             << argument.getType() << " cannot be donated (" << kDonatedAttrName
             << "): only a tensor's memory can be given up, so pass it as a "
                "tensor or leave out the attribute";
  return success();
}

namespace {
struct CheckSignatures
    : public gpuasync::impl::GPUAsyncCheckSignaturesBase<CheckSignatures> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    SmallVector<func::FuncOp> functions = offload::getOffloaded(getOperation());
    for (auto check : {refuseCallsOf, refuseDonatedMemRefs})
      for (func::FuncOp function : functions)
        if (failed(check(function)))
          return signalPassFailure();
  }
};
} // namespace
