//===- SplitProducts.cpp - products of few tiles and many steps -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of tensor cores has all steps of a tile's sums, so with few tiles
// most of the device would have no work. Others take a part of the steps each,
// in f32, and another kernel adds up what they come to, which is rounded once.
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// The operand with the steps as two dimensions, its parts and theirs, and the
/// map of it.
static std::pair<Value, AffineMap> cutSteps(OpBuilder &b, OpOperand &operand,
                                            AffineMap map, unsigned steps,
                                            int64_t parts) {
  auto type = cast<RankedTensorType>(operand.get().getType());
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
  Value cut =
      tensor::ExpandShapeOp::create(b, operand.getOwner()->getLoc(),
                                    type.clone(shape), operand.get(), together);
  return {cut,
          AffineMap::get(map.getNumDims() + 1, 0, results, b.getContext())};
}

/// The product with a loop more, the outermost one, for the parts.
static Value multiplyParts(OpBuilder &b, const Contraction &product,
                           int64_t parts) {
  linalg::LinalgOp op = product.op;
  Location loc = op.getLoc();
  const unsigned steps = product.reductionLoops.front();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto [cut, map] =
        cutSteps(b, *input, op.getMatchingIndexingMap(input), steps, parts);
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
  Value empty = tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value sums = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  return linalg::GenericOp::create(
             b, loc, sums.getType(), inputs, sums, maps, kinds,
             [](OpBuilder &b, Location loc, ValueRange values) {
               Value left =
                   arith::ExtFOp::create(b, loc, b.getF32Type(), values[0]);
               Value right =
                   arith::ExtFOp::create(b, loc, b.getF32Type(), values[1]);
               Value next = arith::MulFOp::create(b, loc, left, right);
               Value sum = arith::AddFOp::create(b, loc, values[2], next);
               linalg::YieldOp::create(b, loc, sum);
             })
      .getResult(0);
}

void offload::splitProduct(RewriterBase &b, const Contraction &product,
                           int64_t parts) {
  linalg::LinalgOp op = product.op;
  Location loc = op.getLoc();
  b.setInsertionPoint(op);
  Value sums = multiplyParts(b, product, parts);
  // Each part is an input of its own, the same tensor with another first index.
  OpOperand *output = op.getDpsInitOperand(0);
  auto type = cast<RankedTensorType>(output->get().getType());
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<Value> inputs(parts, sums);
  SmallVector<AffineMap> maps;
  for (int64_t part = 0; part < parts; ++part)
    maps.push_back(all.insertResult(b.getAffineConstantExpr(part), 0));
  auto fill = output->get().getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.value(), m_AnyZeroFloat())) {
    inputs.push_back(output->get());
    maps.push_back(all);
  }
  maps.push_back(all);
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> kinds(type.getRank(),
                                         utils::IteratorType::parallel);
  auto add = linalg::GenericOp::create(
      b, loc, type, inputs, empty, maps, kinds,
      [](OpBuilder &b, Location loc, ValueRange values) {
        Type type = values.back().getType();
        Value sum;
        for (Value value : values.drop_back()) {
          if (!value.getType().isF32())
            value = arith::ExtFOp::create(b, loc, b.getF32Type(), value);
          sum = sum ? arith::AddFOp::create(b, loc, sum, value) : value;
        }
        if (!type.isF32())
          sum = arith::TruncFOp::create(b, loc, type, sum);
        linalg::YieldOp::create(b, loc, sum);
      });
  b.replaceOp(op, add);
}
