//===- ThreadVariance.cpp - what differs between threads --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the values that all threads of a block are known to agree about. What
// is read from memory is taken to differ, unless all threads read it before any
// of them writes.
//===----------------------------------------------------------------------===//

#include "Kernels/CPU/Kernel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

void cpu::addCallers(Operation *module,
                     llvm::SetVector<Operation *> &functions) {
  SymbolTableCollection symbols;
  for (bool changed = !functions.empty(); changed;) {
    changed = false;
    module->walk([&](CallOpInterface call) {
      Operation *callee = call.resolveCallableInTable(&symbols);
      if (callee && functions.contains(callee))
        changed |=
            functions.insert(call->getParentOfType<FunctionOpInterface>());
    });
  }
}

bool cpu::isCollective(Operation *op) {
  return isa<gpu::BarrierOp, gpu::ShuffleOp, gpu::RotateOp, gpu::AllReduceOp,
             gpu::SubgroupReduceOp, gpu::SubgroupBroadcastOp>(op);
}

bool cpu::dependsOnOperandsOnly(Operation *op) {
  if (isCollective(op) || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  // What a launch is told of itself does not change.
  if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    Value address = load.getAddr();
    if (auto gep = address.getDefiningOp<LLVM::GEPOp>())
      address = gep.getBase();
    auto argument = dyn_cast<BlockArgument>(address);
    auto function = op->getParentOfType<func::FuncOp>();
    return argument && argument.getOwner()->getParentOp() == function &&
           argument == getEnv(function, Context);
  }
  return isMemoryEffectFree(op);
}

ThreadVariance::ThreadVariance(func::FuncOp kernel,
                               function_ref<bool(Operation *)> isLookedInto)
    : isLookedInto(isLookedInto), kernel(kernel) {
  for (int dim : {0, 1, 2})
    mark(getEnv(kernel, ThreadId + dim));
  findFirstLoads(kernel.getBody().front());
  do {
    changed = false;
    visit(kernel.getBody().front());
  } while (changed);
  this->isLookedInto = nullptr;
}

void ThreadVariance::forget(Operation *op) {
  op->walk([&](Operation *inner) {
    firstLoads.erase(inner);
    for (Value result : inner->getResults())
      forget(result);
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          forget(argument);
  });
}

static bool mayWrite(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  return !effects ||
         llvm::any_of(*effects,
                      [](const MemoryEffects::EffectInstance &effect) {
                        return isa<MemoryEffects::Write, MemoryEffects::Free>(
                            effect.getEffect());
                      });
}

void ThreadVariance::findFirstLoads(Block &block) {
  bool isFirst = true;
  for (Operation &op : block) {
    if (isLookedInto(&op)) {
      // The threads are together in front of it and behind it. What other
      // collectives become may write behind the last barrier.
      isFirst = !isCollective(&op) || isa<gpu::BarrierOp>(op);
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          findFirstLoads(inner);
    } else if (isa<memref::LoadOp>(op)) {
      if (isFirst)
        firstLoads.insert(&op);
    } else {
      isFirst &= !mayWrite(&op);
    }
  }
}

bool ThreadVariance::isUniform(Operation *op) const {
  return dependsOnOperandsOnly(op) || firstLoads.contains(op);
}

bool ThreadVariance::isOfBlock(Operation *op) const {
  return isUniform(op) && llvm::none_of(op->getResults(), [&](Value value) {
           return varies(value);
         });
}

void ThreadVariance::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

/// What branches and loops hand on. Once a thread may have gone another way or
/// left the loop, nobody's values are the others'.
void ThreadVariance::visitHandedOver(RegionBranchOpInterface op) {
  bool any = hasVaryingControl(op);
  if (auto loop = dyn_cast<scf::ForOp>(op.getOperation()))
    markIf(any, loop.getInductionVar());
  for (RegionBranchPoint point : op.getAllRegionBranchPoints()) {
    auto end = dyn_cast_or_null<RegionBranchTerminatorOpInterface>(
        point.getTerminatorPredecessorOrNull());
    SmallVector<RegionSuccessor> successors;
    op.getSuccessorRegions(point, successors);
    for (const RegionSuccessor &successor : successors) {
      OperandRange operands = end ? end.getSuccessorOperands(successor)
                                  : op.getEntrySuccessorOperands(successor);
      for (auto [input, operand] :
           llvm::zip_equal(successor.getSuccessorInputs(), operands))
        markIf(any || varies(operand), input);
    }
  }
}

void ThreadVariance::visit(Operation *op) {
  if (isLookedInto(op) && isControlFlow(op)) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        visit(block);
    visitHandedOver(cast<RegionBranchOpInterface>(op));
    return;
  }
  bool differs = !isUniform(op);
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      differs |= varies(operand);
  });
  for (Value result : op->getResults())
    markIf(differs, result);
}

bool ThreadVariance::hasVaryingControl(Operation *op) const {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return varies(branch.getCondition());
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return varies(loop.getLowerBound()) || varies(loop.getUpperBound()) ||
           varies(loop.getStep());
  return varies(cast<scf::WhileOp>(op).getConditionOp().getCondition());
}

bool ThreadVariance::isDivergent(Operation *op) const {
  for (Operation *parent = op->getParentOp(); parent != kernel;
       parent = parent->getParentOp())
    if (isControlFlow(parent) && hasVaryingControl(parent))
      return true;
  return false;
}
