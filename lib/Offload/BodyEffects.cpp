//===- BodyEffects.cpp - what bodies do besides computing -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See BodyEffects.h.
//===----------------------------------------------------------------------===//

#include "BodyEffects.h"

#include "SameMemory.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// Whether an op of `scope`'s regions allocated the memory: nothing outside of
/// the regions sees it.
static bool isAllocatedIn(Value memory, Operation *scope) {
  memory = getViewed(memory);
  Operation *maker = memory.getDefiningOp();
  return maker && scope->isProperAncestor(maker) &&
         hasEffect<MemoryEffects::Allocate>(maker, memory);
}

/// Adds what `op` alone does. `scope`: the op whose regions it is part of.
static void add(BodyEffects &all, Operation *op, Operation *scope) {
  if (isa<cf::AssertOp>(op)) {
    all.checks = true;
    return;
  }
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface) {
    // An op of regions alone has their effects.
    all.writes |= !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
                  !op->hasTrait<OpTrait::IsTerminator>();
    return;
  }
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (isa<MemoryEffects::Allocate>(effect.getEffect()) ||
        (scope && effect.getValue() && isAllocatedIn(effect.getValue(), scope)))
      continue;
    const bool isRead = isa<MemoryEffects::Read>(effect.getEffect());
    (isRead ? all.reads : all.writes) = true;
  }
}

BodyEffects offload::getBodyEffects(Operation *op) {
  BodyEffects all;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) { add(all, inner, op); });
  return all;
}

BodyEffects offload::getOwnEffects(Operation *op) {
  BodyEffects own;
  add(own, op, /*scope=*/nullptr);
  return own;
}

bool offload::mayMove(Operation *op) {
  return !getBodyEffects(op).touchMemory();
}

bool offload::mayRepeat(Operation *op) {
  BodyEffects effects = getBodyEffects(op);
  return !effects.writes && !effects.checks;
}

bool offload::isPureBody(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (!llvm::all_of(block.without_terminator(),
                        [](Operation &inner) { return isPure(&inner); }))
        return false;
  return true;
}
