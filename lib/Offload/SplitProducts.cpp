//===- SplitProducts.cpp - products of few tiles and many steps -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block has all steps of a tile's sums, so with few tiles most of the device
// would have no work, or too little to keep its memory busy. Others take a part
// of the steps each, in f32 or f64, and another kernel adds up what they come
// to, which is rounded once.
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// The operand with the steps as two dimensions, its parts and theirs, and the
/// map of it.
static std::pair<Value, AffineMap> cutSteps(OpBuilder &b, Location loc,
                                            Value factor, AffineMap map,
                                            unsigned steps, int64_t parts) {
  auto type = cast<RankedTensorType>(factor.getType());
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> together;
  SmallVector<AffineExpr> results;
  for (auto [length, result] : llvm::zip(type.getShape(), map.getResults())) {
    int64_t size = length;
    ReassociationIndices &dims = together.emplace_back();
    if (result == b.getAffineDimExpr(steps)) {
      dims.push_back(shape.size());
      shape.push_back(parts);
      results.push_back(b.getAffineDimExpr(0));
      size /= parts;
    }
    dims.push_back(shape.size());
    shape.push_back(size);
    results.push_back(result.shiftDims(map.getNumDims(), 1));
  }
  Value cut = tensor::ExpandShapeOp::create(b, loc, type.clone(shape), factor,
                                            together);
  return {cut,
          AffineMap::get(map.getNumDims() + 1, 0, results, b.getContext())};
}

static Value widen(OpBuilder &b, Value value, Type type) {
  return value.getType() == type
             ? value
             : arith::ExtFOp::create(b, value.getLoc(), type, value);
}

/// The product with a loop more, the outermost one, for the parts. Its factors
/// are cast as they were.
static Value multiplyParts(OpBuilder &b, linalg::LinalgOp op,
                           ValueRange factors, FloatType type, int64_t parts) {
  Location loc = op.getLoc();
  const unsigned steps = *findSteps(op);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (auto [input, factor] :
       llvm::zip_equal(op.getDpsInputOperands(), factors)) {
    auto [cut, map] = cutSteps(b, loc, factor, op.getMatchingIndexingMap(input),
                               steps, parts);
    inputs.push_back(cut);
    maps.push_back(map);
  }
  OpOperand *output = op.getDpsInitOperand(0);
  SmallVector<int64_t> shape{parts};
  llvm::append_range(
      shape, cast<RankedTensorType>(output->get().getType()).getShape());
  AffineMap outputMap = op.getMatchingIndexingMap(output).shiftDims(1);
  maps.push_back(outputMap.insertResult(b.getAffineDimExpr(0), 0));
  SmallVector<utils::IteratorType> kinds{utils::IteratorType::parallel};
  llvm::append_range(kinds, op.getIteratorTypesArray());
  Value empty = tensor::EmptyOp::create(b, loc, shape, type);
  // -0 leaves all other numbers as they are.
  Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, -0.0));
  Value sums = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  return linalg::GenericOp::create(
             b, loc, sums.getType(), inputs, sums, maps, kinds,
             [&](OpBuilder &b, Location loc, ValueRange values) {
               IRMapping map;
               map.map(op.getBlock()->getArguments(), values);
               for (Operation &inner : op.getBlock()->without_terminator())
                 if (isa<CastOpInterface>(inner))
                   b.clone(inner, map);
               auto product = *op.getBlock()->getOps<arith::MulFOp>().begin();
               auto factor = [&](Value value) {
                 return widen(b, map.lookup(value), type);
               };
               Value next = arith::MulFOp::create(
                   b, loc, factor(product.getLhs()), factor(product.getRhs()));
               Value sum = arith::AddFOp::create(b, loc, values[2], next);
               linalg::YieldOp::create(b, loc, sum);
             })
      .getResult(0);
}

/// A factor's steps from `from` on, so many.
static Value takeSteps(OpBuilder &b, Location loc, Value factor, AffineMap map,
                       unsigned steps, int64_t from, int64_t count) {
  auto type = cast<RankedTensorType>(factor.getType());
  SmallVector<OpFoldResult> offsets, sizes;
  for (auto [length, result] : llvm::zip(type.getShape(), map.getResults())) {
    const bool isStep = result == b.getAffineDimExpr(steps);
    offsets.push_back(b.getIndexAttr(isStep ? from : 0));
    sizes.push_back(b.getIndexAttr(isStep ? count : length));
  }
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, loc, factor, offsets, sizes,
                                        strides);
}

std::optional<unsigned> offload::findSteps(linalg::LinalgOp op) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  if (!op.hasPureTensorSemantics() || loops.size() != 1 || !addsProducts(op))
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands())
    if (!isa<RankedTensorType>(operand.get().getType()) ||
        !isa<FloatType>(getElementTypeOrSelf(operand.get())) ||
        !op.getMatchingIndexingMap(&operand).isProjectedPermutation())
      return std::nullopt;
  for (OpOperand *input : op.getDpsInputOperands())
    if (!op.getMatchingIndexingMap(input).isFunctionOfDim(loops.front()))
      return std::nullopt;
  return loops.front();
}

void offload::splitProduct(RewriterBase &b, linalg::LinalgOp op,
                           int64_t parts) {
  Location loc = op.getLoc();
  b.setInsertionPoint(op);
  auto result =
      cast<FloatType>(getElementTypeOrSelf(op.getDpsInitOperand(0)->get()));
  FloatType wide = result.getWidth() < 32 ? b.getF32Type() : result;
  OpOperand *output = op.getDpsInitOperand(0);
  // Steps that are left over are a product of their own, which the parts are
  // added to.
  const unsigned steps = *findSteps(op);
  const int64_t depth = op.getStaticLoopRanges()[steps], left = depth % parts;
  SmallVector<Value> factors(op.getDpsInputs()), rest;
  Value begin = output->get();
  if (left) {
    for (auto [input, factor] :
         llvm::zip_equal(op.getDpsInputOperands(), factors)) {
      AffineMap map = op.getMatchingIndexingMap(input);
      rest.push_back(takeSteps(b, loc, factor, map, steps, depth - left, left));
      factor = takeSteps(b, loc, factor, map, steps, 0, depth - left);
    }
    rest.push_back(begin);
    begin = mlir::clone(b, op, begin.getType(), rest)->getResult(0);
  }
  Value sums = multiplyParts(b, op, factors, wide, parts);
  // Each part is an input of its own, the same tensor with another first index.
  auto type = cast<RankedTensorType>(output->get().getType());
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<Value> inputs(parts, sums);
  SmallVector<AffineMap> maps;
  for (int64_t part = 0; part < parts; ++part)
    maps.push_back(all.insertResult(b.getAffineConstantExpr(part), 0));
  // A sum that begins with 0 is never -0, which the parts may come to.
  auto fill = begin.getDefiningOp<linalg::FillOp>();
  const bool isFromZero = fill && matchPattern(fill.value(), m_PosZeroFloat());
  if (!isFromZero) {
    inputs.push_back(begin);
    maps.push_back(all);
  }
  maps.push_back(all);
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> kinds(type.getRank(),
                                         utils::IteratorType::parallel);
  auto add = linalg::GenericOp::create(
      b, loc, type, inputs, empty, maps, kinds,
      [&](OpBuilder &b, Location loc, ValueRange values) {
        Value sum = values.front();
        for (Value value : values.drop_front().drop_back())
          sum = arith::AddFOp::create(b, loc, sum, widen(b, value, wide));
        if (isFromZero)
          sum = arith::AddFOp::create(
              b, loc, sum,
              arith::ConstantOp::create(b, loc, b.getFloatAttr(wide, 0)));
        if (result != wide)
          sum = arith::TruncFOp::create(b, loc, result, sum);
        linalg::YieldOp::create(b, loc, sum);
      });
  b.replaceOp(op, add);
}
