//===- RefuseConstantWrites.cpp - writes to constant globals --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A write to a constant is lost, or ends the process.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCREFUSECONSTANTWRITES
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

static bool writes(Operation *op, Value memory) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return false;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffectsOnValue(memory, effects);
  return llvm::any_of(effects, [](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Write>(effect.getEffect());
  });
}

/// The launch's kernel and what it is given; null: it is no launch.
static std::pair<SymbolRefAttr, OperandRange> getKernel(Operation *op) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return {launch.getKernel(), launch.getKernelOperands()};
  if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
    return {launch.getKernel(), launch.getKernelOperands()};
  return {nullptr, op->getOperands()};
}

/// The first op that writes the memory by this name, a view of it, or an
/// argument of a kernel that gets one; null: none is seen.
static Operation *findWrite(Value memory, SymbolTableCollection &symbols) {
  for (OpOperand &use : memory.getUses()) {
    Operation *user = use.getOwner();
    auto [kernel, given] = getKernel(user);
    if (kernel) {
      auto function =
          symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(user, kernel);
      if (!function || function.getNumArguments() != given.size())
        continue;
      for (auto [argument, operand] :
           llvm::zip_equal(function.getArguments(), given))
        if (operand == memory)
          if (Operation *found = findWrite(argument, symbols))
            return found;
      continue;
    }
    if (writes(user, memory))
      return user;
    if (auto view = dyn_cast<ViewLikeOpInterface>(user);
        view && view.getViewSource() == memory)
      for (Value result : user->getResults())
        if (isa<BaseMemRefType>(result.getType()))
          if (Operation *found = findWrite(result, symbols))
            return found;
  }
  return nullptr;
}

namespace {
struct RefuseConstantWrites
    : public gpuasync::impl::GPUAsyncRefuseConstantWritesBase<
          RefuseConstantWrites> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    SymbolTableCollection symbols;
    getOperation().walk([&](Operation *op) {
      FlatSymbolRefAttr name;
      if (auto get = dyn_cast<memref::GetGlobalOp>(op))
        name = get.getNameAttr();
      else if (auto constant = dyn_cast<ConstantOp>(op))
        name = constant.getNameAttr();
      else
        return;
      auto global = symbols.lookupNearestSymbolFrom<memref::GlobalOp>(op, name);
      if (!global || !global.getConstant())
        return;
      Operation *write = findWrite(op->getResult(0), symbols);
      if (!write)
        return;
      InFlightDiagnostic diag = write->emitError()
                                << "writes @" << name.getValue()
                                << ", which is a constant: leave out "
                                   "'constant' where the global is made";
      diag.attachNote(global.getLoc()) << "the global";
      signalPassFailure();
    });
  }
};
} // namespace
