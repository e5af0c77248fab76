//===- Runs.cpp - one call for several blocks -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that ask for nothing in x but their place in the whole grid, and
// share nothing with their block, do not notice which block they are in. A run
// of blocks is then one loop: it reads and writes memory line after line, and
// pays for its beginning and its end once.
//===----------------------------------------------------------------------===//

#include "Places.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

/// Whether `op` makes a number shorter or keeps it: sums and products are the
/// same before and after.
static bool isTruncation(Operation *op) {
  return isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp,
                         arith::TruncIOp>(op) &&
         isa<IntegerType, IndexType>(op->getOperand(0).getType()) &&
         isa<IntegerType, IndexType>(op->getResult(0).getType()) &&
         Places::getWidth(op->getResult(0).getType()) <=
             Places::getWidth(op->getOperand(0).getType());
}

static Value getUntruncated(Value value) {
  while (isTruncation(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

namespace {
/// Looks for sums of a thread's id in x and its block's id times the block's
/// size.
class PlaceInGrid {
public:
  PlaceInGrid(func::FuncOp kernel, int64_t sizeX)
      : thread(getEnv(kernel, ThreadId)), block(getEnv(kernel, BlockId)),
        size(getEnv(kernel, BlockDim)), sizeX(sizeX) {}

  /// Whether nothing else is made of the two ids.
  bool isAllThatIsAsked() const {
    return isOnlyAddedTo(thread, [&](Value other) { return isStart(other); }) &&
           isOnlyInStarts(block);
  }

private:
  bool isSize(Value value) const {
    APInt constant;
    value = getUntruncated(value);
    return value == size ||
           (sizeX && matchPattern(value, m_ConstantInt(&constant)) &&
            constant.getSExtValue() == sizeX);
  }
  /// Whether `value` is the place of the block's first thread.
  bool isStart(Value value) const {
    auto product = getUntruncated(value).getDefiningOp<arith::MulIOp>();
    if (!product)
      return false;
    Value a = product.getLhs(), b = product.getRhs();
    return (getUntruncated(a) == block && isSize(b)) ||
           (getUntruncated(b) == block && isSize(a));
  }
  /// Whether all that happens to `value` is that it is added to what `isOther`
  /// is true of.
  static bool isOnlyAddedTo(Value value, function_ref<bool(Value)> isOther) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (isTruncation(user))
        return isOnlyAddedTo(user->getResult(0), isOther);
      return isa<arith::AddIOp>(user) &&
             isOther(user->getOperand(1 - use.getOperandNumber()));
    });
  }
  bool isOnlyInStarts(Value id) const {
    return llvm::all_of(id.getUsers(), [&](Operation *user) {
      if (isTruncation(user))
        return isOnlyInStarts(user->getResult(0));
      return isa<arith::MulIOp>(user) && isStart(user->getResult(0)) &&
             isOnlyAddedTo(user->getResult(0), [&](Value other) {
               return getUntruncated(other) == thread;
             });
    });
  }

  Value thread, block, size;
  int64_t sizeX;
};
} // namespace

bool cpu::canTakeRuns(func::FuncOp kernel, int64_t sizeX) {
  // What the block has, and what names it.
  for (unsigned which : {Context, Workgroup, Dynamic})
    if (!getEnv(kernel, which).use_empty())
      return false;
  auto isPlain = [](Operation *op) {
    return !isa<LoopLikeOpInterface, cf::AssertOp>(op) && !isCollective(op) &&
           llvm::all_of(op->getRegions(), [](Region &region) {
             return region.empty() || region.hasOneBlock();
           });
  };
  return !holds(kernel, [&](Operation *op) { return !isPlain(op); }) &&
         PlaceInGrid(kernel, sizeX).isAllThatIsAsked();
}

Value cpu::buildNumIds(OpBuilder &builder, Location loc, func::FuncOp kernel,
                       unsigned dim) {
  Value size = getEnv(kernel, BlockDim + dim);
  if (dim != 0 || !kernel->hasAttr(runsName))
    return size;
  return arith::MulIOp::create(builder, loc, size, getEnv(kernel, RunBlocks));
}
