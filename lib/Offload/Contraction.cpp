//===- Contraction.cpp - products of a block's tiles ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Contraction.h.
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "BodyEffects.h"
#include "Distribute.h"
#include "Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/CastInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

bool offload::addsProducts(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.hasIndexSemantics() || !isPureBody(op))
    return false;
  Block *body = op.getBlock();
  auto skipCasts = [](Value value) {
    while (auto cast = value.getDefiningOp<CastOpInterface>())
      value = cast->getOperand(0);
    return value;
  };
  Operation *sum = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(sum))
    return false;
  BlockArgument output = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  if (llvm::count(sum->getOperands(), output) != 1 || !output.hasOneUse())
    return false;
  Operation *product =
      sum->getOperand(sum->getOperand(0) == output).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product))
    return false;
  Value inputs[] = {op.getMatchingBlockArgument(op.getDpsInputOperand(0)),
                    op.getMatchingBlockArgument(op.getDpsInputOperand(1))};
  Value left = skipCasts(product->getOperand(0)),
        right = skipCasts(product->getOperand(1));
  return (left == inputs[0] && right == inputs[1]) ||
         (left == inputs[1] && right == inputs[0]);
}

std::optional<Contraction> Contraction::match(linalg::LinalgOp op) {
  if (!addsProducts(op))
    return std::nullopt;
  Contraction result(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Type element = result.getElementType(&operand);
    if (!isa<ShapedType>(operand.get().getType()) || !element.isIntOrFloat())
      return std::nullopt;
  }
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!output.isProjectedPermutation() || output.getNumResults() < 2)
    return std::nullopt;
  auto hasLoop = [&](OpOperand *operand, unsigned loop) {
    return op.getMatchingIndexingMap(operand).isFunctionOfDim(loop);
  };
  OpOperand *first = op.getDpsInputOperand(0),
            *second = op.getDpsInputOperand(1);
  // Exactly one of the inputs has it.
  auto isOfOne = [&](unsigned loop) {
    return hasLoop(first, loop) != hasLoop(second, loop);
  };
  // The last dimension that is longer than 1, and of the others the first from
  // behind that goes with it.
  bool hasColumns = false, hasRows = false;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (unsigned place = output.getNumResults(); place-- > 0;) {
    unsigned loop = output.getDimPosition(place);
    bool isTaken = isOfOne(loop) && sizes[loop] != 1;
    if (isTaken && !hasColumns) {
      result.columnLoop = loop;
      result.columns = hasLoop(first, loop) ? first : second;
      result.rows = result.columns == first ? second : first;
      hasColumns = true;
    } else if (isTaken && !hasRows && hasLoop(result.rows, loop)) {
      result.rowLoop = loop;
      hasRows = true;
    } else {
      result.otherLoops.push_back(loop);
    }
  }
  if (!hasRows)
    return std::nullopt;
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  if (loops.empty())
    return std::nullopt;
  result.reductionLoops.assign(loops.begin(), loops.end());
  return result;
}

std::pair<SmallVector<unsigned>, SmallVector<unsigned>>
Contraction::splitOtherLoops() {
  std::pair<SmallVector<unsigned>, SmallVector<unsigned>> split;
  AffineMap ofRows = op.getMatchingIndexingMap(rows),
            ofColumns = op.getMatchingIndexingMap(columns);
  for (unsigned loop : otherLoops)
    (ofRows.isFunctionOfDim(loop) && !ofColumns.isFunctionOfDim(loop)
         ? split.second
         : split.first)
        .push_back(loop);
  return split;
}

Type Contraction::getElementType(OpOperand *operand) {
  return getElementTypeOrSelf(operand->get().getType());
}

SmallVector<Value> Contraction::getPlace(OpBuilder &builder, OpOperand *operand,
                                         ArrayRef<Value> indices) {
  return applyMap(builder, op.getLoc(), op.getMatchingIndexingMap(operand),
                  indices);
}

/// What the two may be to become one operation.
static void allowContraction(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!flags || !isa<arith::MulFOp, arith::AddFOp>(op))
    return;
  auto present = flags.getFastMathFlagsAttr();
  arith::FastMathFlags value =
      present ? present.getValue() : arith::FastMathFlags::none;
  op->setAttr(flags.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(
                  op->getContext(), value | arith::FastMathFlags::contract));
}

Value Contraction::compute(OpBuilder &builder, Value row, Value column,
                           Value sum) {
  IRMapping map;
  map.map(op.getMatchingBlockArgument(rows), row);
  map.map(op.getMatchingBlockArgument(columns), column);
  map.map(op.getMatchingBlockArgument(op.getDpsInitOperand(0)), sum);
  auto vector = dyn_cast<VectorType>(sum.getType());
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (vector)
      for (Value operand : inner.getOperands())
        if (!isa<VectorType>(map.lookupOrDefault(operand).getType()))
          map.map(operand,
                  vector::BroadcastOp::create(builder, op.getLoc(),
                                              vector.clone(operand.getType()),
                                              map.lookupOrDefault(operand)));
    Operation *copy = builder.clone(inner, map);
    if (vector && inner.getNumOperands())
      for (OpResult result : copy->getResults())
        result.setType(vector.clone(result.getType()));
    allowContraction(copy);
  }
  Value result =
      map.lookupOrDefault(op.getBlock()->getTerminator()->getOperand(0));
  if (vector && !isa<VectorType>(result.getType()))
    result = vector::BroadcastOp::create(builder, op.getLoc(), vector, result);
  return result;
}
