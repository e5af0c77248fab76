//===- ThreadVariance.cpp - what differs between threads --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the values that all threads of a block are known to agree about. What
// is read from memory is taken to differ.
//===----------------------------------------------------------------------===//

#include "Kernels/CPU/Kernel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
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
  do {
    changed = false;
    visit(kernel.getBody().front());
  } while (changed);
  this->isLookedInto = nullptr;
}

void ThreadVariance::forget(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value result : inner->getResults())
      forget(result);
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          forget(argument);
  });
}

void ThreadVariance::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

void ThreadVariance::visit(Operation *op) {
  if (isLookedInto(op)) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      visit(*branch.thenBlock());
      if (Block *otherwise = branch.elseBlock()) {
        visit(*otherwise);
        for (auto [result, a, b] :
             llvm::zip_equal(op->getResults(), branch.thenYield().getOperands(),
                             branch.elseYield().getOperands()))
          markIf(varies(branch.getCondition()) || varies(a) || varies(b),
                 result);
      }
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      bool any = hasVaryingControl(loop);
      markIf(any, loop.getInductionVar());
      visit(*loop.getBody());
      for (auto [result, argument, init, next] :
           llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs(),
                           loop.getInitArgs(), loop.getYieldedValues())) {
        bool differs = any || varies(init) || varies(next);
        markIf(differs, argument);
        markIf(differs, result);
      }
      return;
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      // Once a thread may have left the loop, nobody's values are the others'.
      bool any = hasVaryingControl(loop);
      visit(*loop.getBeforeBody());
      visit(*loop.getAfterBody());
      for (auto [argument, init, next] :
           llvm::zip_equal(loop.getBeforeArguments(), loop.getInits(),
                           loop.getYieldOp().getOperands()))
        markIf(any || varies(init) || varies(next), argument);
      for (auto [result, argument, value] :
           llvm::zip_equal(loop.getResults(), loop.getAfterArguments(),
                           loop.getConditionOp().getArgs())) {
        markIf(any || varies(value), argument);
        markIf(any || varies(value), result);
      }
      return;
    }
  }
  bool differs = !dependsOnOperandsOnly(op);
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
