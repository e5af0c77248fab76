//===- ResultMemory.cpp - results computed where they are wanted ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ResultMemory.h. Where an op or a name of the memory is not understood the
// copy stays.
//===----------------------------------------------------------------------===//

#include "ResultMemory.h"

#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// A piece of memory, by all its names.
class Memory {
public:
  Memory(BufferViewFlowAnalysis &flow, Value origin)
      : names(flow.resolve(origin)) {
    names.insert(origin);
  }
  bool has(Value value) const { return names.contains(value); }
  /// Calls `visit` with each use that may read or write it. False if a name
  /// goes where it is not followed: to a call, into memory, to who frees it.
  bool forEachAccess(llvm::function_ref<void(OpOperand &)> visit) const;

private:
  SmallPtrSet<Value, 16> names;
};
} // namespace

/// Whether the op only gives the memory another name, or asks for its sizes.
static bool isName(Operation *op) {
  return isa<memref::DimOp, memref::SubViewOp, memref::CastOp,
             memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::ReinterpretCastOp, arith::SelectOp, scf::ForOp, scf::IfOp,
             scf::IndexSwitchOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(
      op);
}

bool Memory::forEachAccess(llvm::function_ref<void(OpOperand &)> visit) const {
  for (Value name : names)
    for (OpOperand &use : name.getUses()) {
      Operation *user = use.getOwner();
      if (isName(user))
        continue;
      auto store = dyn_cast<memref::StoreOp>(user);
      if (!isa<memref::CopyOp, memref::LoadOp, memref::AtomicRMWOp,
               memref::GenericAtomicRMWOp, linalg::LinalgOp>(user) &&
          !(store && store.getValue() != name))
        return false;
      visit(use);
    }
  return true;
}

/// What a value is in the end, if that is one piece of memory: an allocation or
/// an argument of the function. Null: it may be several, or a part.
static Value findOrigin(BufferViewFlowAnalysis &flow, Value value) {
  auto isOrigin = [](Value each) {
    auto argument = dyn_cast<BlockArgument>(each);
    return argument ? isa<func::FuncOp>(argument.getOwner()->getParentOp())
                    : !isName(each.getDefiningOp());
  };
  SmallPtrSet<Value, 16> names = flow.resolveReverse(value);
  names.insert(value);
  Value origin;
  for (Value each : names) {
    if (!isOrigin(each))
      continue;
    if (origin)
      return Value();
    origin = each;
  }
  // As many elements in the same order are all of them.
  return origin && origin.getType() == value.getType() ? origin : Value();
}

static bool isWhole(MemRefType type) {
  return type.hasStaticShape() && type.getLayout().isIdentity() &&
         !type.getMemorySpace();
}

/// The memory of the results, in their order.
static SmallVector<BlockArgument> findResults(func::FuncOp function) {
  SmallVector<BlockArgument> results;
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType());
        type && isWhole(type) &&
        function.getArgAttr(argument.getArgNumber(), kResultAttrName))
      results.push_back(argument);
  return results;
}

/// Whether the memory that `copy` reads in the end is written no more behind
/// it, and handed to nobody.
static bool isFinal(memref::CopyOp copy, const Memory &memory) {
  Block *block = copy->getBlock();
  bool isFinal = true;
  bool isKnown = memory.forEachAccess([&](OpOperand &use) {
    Operation *op = block->findAncestorOpInBlock(*use.getOwner());
    if (op == copy || (op && op->isBeforeInBlock(copy)))
      return;
    auto other = dyn_cast_or_null<memref::CopyOp>(op);
    isFinal &= other && memory.has(other.getSource()) &&
               !memory.has(other.getTarget());
  });
  return isKnown && isFinal;
}

void offload::computeInResults(func::FuncOp function) {
  if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return;
  SmallVector<BlockArgument> results = findResults(function);
  if (results.empty())
    return;
  Block *block = &function.front();
  // What is replaced is no other one's name, and stays for the analysis until
  // the end.
  BufferViewFlowAnalysis flow(function);
  llvm::SetVector<Operation *> replaced;
  for (BlockArgument result : results) {
    if (!result.hasOneUse())
      continue;
    auto copy = dyn_cast<memref::CopyOp>(*result.user_begin());
    if (!copy || copy.getTarget() != result || copy->getBlock() != block)
      continue;
    Value origin = findOrigin(flow, copy.getSource());
    auto alloc =
        origin ? origin.getDefiningOp<memref::AllocOp>() : memref::AllocOp();
    if (!alloc || alloc->getBlock() != block || replaced.contains(alloc) ||
        !isFinal(copy, Memory(flow, alloc)))
      continue;
    alloc.replaceAllUsesWith(Value(result));
    copy.erase();
    replaced.insert(alloc);
  }
  for (Operation *alloc : replaced)
    alloc->erase();
}
