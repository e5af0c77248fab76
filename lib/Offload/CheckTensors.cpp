//===- CheckTensors.cpp - tensors that have no value or no memory ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the source as it is written, before passes change it.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Offload/Passes.h"
#include "Offloaded.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCCHECKTENSORS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

/// Says where sums and their like begin with what tensor.empty gives, which is
/// anything.
static void warnOfEmpty(ModuleOp module) {
  module.walk([](linalg::LinalgOp op) {
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto empty = init.get().getDefiningOp<tensor::EmptyOp>();
      SmallVector<Operation *> combiners;
      // Front ends write ops that read an element and do not use it at first.
      if (!empty || !op.payloadUsesValueFromOperand(&init) ||
          !matchReduction(op.getRegionOutputArgs(),
                          init.getOperandNumber() - op.getNumDpsInputs(),
                          combiners))
        continue;
      op->emitWarning("computes with the elements of a tensor.empty, which may "
                      "be anything: fill it first (linalg.fill)")
              .attachNote(empty.getLoc())
          << "made here";
    }
  });
}

/// A call by which a function calls itself, by others too; null: there is none.
static func::CallOp findRecursion(func::FuncOp function, ModuleOp module) {
  llvm::StringSet<> seen;
  SmallVector<std::pair<func::FuncOp, func::CallOp>> worklist{{function, {}}};
  while (!worklist.empty()) {
    auto [next, first] = worklist.pop_back_val();
    SmallVector<func::CallOp> calls;
    next.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      if (call.getCallee() == function.getName())
        return first ? first : call;
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (callee && seen.insert(call.getCallee()).second)
        worklist.push_back({callee, first ? first : call});
    }
  }
  return {};
}

/// Bufferization finds no memory for what such a call returns: a result of a
/// constant size becomes an argument.
static LogicalResult refuseRecursiveTensors(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!offload::returnsConstantSizes(function))
      continue;
    if (func::CallOp call = findRecursion(function, module))
      return call.emitError()
             << "@" << function.getName()
             << " calls itself and returns a tensor of constant size, for "
                "which "
                "no memory is known: use a loop, or have it write to a memref";
  }
  return success();
}

namespace {
struct CheckTensors
    : public gpuasync::impl::GPUAsyncCheckTensorsBase<CheckTensors> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    warnOfEmpty(getOperation());
    if (!offload::getOffloaded(getOperation()).empty() &&
        failed(refuseRecursiveTensors(getOperation())))
      signalPassFailure();
  }
};
} // namespace
