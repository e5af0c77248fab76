//===- HostAccesses.cpp - What the host does with arrays ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See HostAccesses.h. Follows arguments through views, structured control flow
// and calls.
//===----------------------------------------------------------------------===//

#include "Execution/HostAccesses.h"

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace {

class Arguments {
public:
  explicit Arguments(mlir::ModuleOp module) : module(module) {}

  void add(mlir::Value value) {
    if (isa<mlir::BaseMemRefType>(value.getType()) &&
        known.insert(value).second)
      open.push_back(value);
  }
  LogicalResult follow() {
    while (!open.empty()) {
      mlir::Value value = open.pop_back_val();
      for (mlir::OpOperand &use : value.getUses())
        visit(use);
    }
    return success(!failed);
  }

private:
  void visit(mlir::OpOperand &use);
  void addAll(mlir::ValueRange values) {
    for (mlir::Value value : values)
      add(value);
  }

  mlir::ModuleOp module;
  SmallPtrSet<mlir::Value, 32> known;
  SmallVector<mlir::Value> open;
  SmallPtrSet<mlir::Operation *, 4> reported;
  bool failed = false;
};

} // namespace

/// Whether the host reads or writes memory by this operand.
static bool accesses(mlir::OpOperand &use) {
  mlir::Operation *op = use.getOwner();
  auto effects = dyn_cast<mlir::MemoryEffectOpInterface>(op);
  if (!effects)
    return false;
  SmallVector<mlir::MemoryEffects::EffectInstance> all;
  effects.getEffects(all);
  return any_of(all, [&](const mlir::MemoryEffects::EffectInstance &effect) {
    return isa<mlir::MemoryEffects::Read, mlir::MemoryEffects::Write>(
               effect.getEffect()) &&
           (!effect.getValue() || effect.getValue() == use.get());
  });
}

void Arguments::visit(mlir::OpOperand &use) {
  mlir::Operation *op = use.getOwner();
  const bool isOurs = mlir::gpuasync::isAsyncOp(op);
  if (!isOurs && !isa<mlir::CallOpInterface>(op) && accesses(use)) {
    failed = true;
    if (reported.insert(op).second)
      op->emitOpError("reads or writes on the host an array that place=device "
                      "has on the device; do it in a kernel, copy the array "
                      "to memory of the host's by gpu_async.memcpy or "
                      "gpu.memcpy, or compile with place=copy");
    return;
  }
  // Results, and what its blocks are handed, may be the same memory.
  addAll(op->getResults());
  if (!isOurs)
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        addAll(block.getArguments());
  if (op->hasTrait<mlir::OpTrait::IsTerminator>()) {
    for (mlir::Block *next : op->getSuccessors())
      addAll(next->getArguments());
    if (!isa<mlir::func::FuncOp>(op->getParentOp()))
      addAll(op->getParentOp()->getResults());
  }
  auto call = dyn_cast<mlir::func::CallOp>(op);
  auto callee = call ? module.lookupSymbol<mlir::func::FuncOp>(call.getCallee())
                     : nullptr;
  if (callee && !callee.isExternal())
    add(callee.getArgument(use.getOperandNumber()));
}

LogicalResult gpuexec::refuseHostAccesses(mlir::ModuleOp module) {
  Arguments arguments(module);
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      for (mlir::Value argument : function.getArguments())
        arguments.add(argument);
  return arguments.follow();
}
