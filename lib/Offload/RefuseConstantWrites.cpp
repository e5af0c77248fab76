//===- RefuseConstantWrites.cpp - writes to constant globals --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A write to a constant is lost, or ends the process.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Offload/Passes.h"

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

/// The first op that writes the memory by this name or a view of it; null: none
/// is seen.
static Operation *findWrite(Value memory) {
  for (Operation *user : memory.getUsers()) {
    if (writes(user, memory))
      return user;
    if (auto view = dyn_cast<ViewLikeOpInterface>(user);
        view && view.getViewSource() == memory)
      for (Value result : user->getResults())
        if (isa<BaseMemRefType>(result.getType()))
          if (Operation *found = findWrite(result))
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
    getOperation().walk([&](memref::GetGlobalOp get) {
      auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
          get, get.getNameAttr());
      if (!global || !global.getConstant())
        return;
      Operation *write = findWrite(get);
      if (!write)
        return;
      InFlightDiagnostic diag = write->emitError()
                                << "writes @" << get.getName()
                                << ", which is a constant: leave out "
                                   "'constant' where the global is made";
      diag.attachNote(global.getLoc()) << "the global";
      signalPassFailure();
    });
  }
};
} // namespace
