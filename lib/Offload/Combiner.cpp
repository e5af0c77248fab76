//===- Combiner.cpp - what a reduction combines by ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Combiner.h.
//===----------------------------------------------------------------------===//

#include "Combiner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// Of maxnumf and minnumf, which give the other value where one is no number.
/// Where the program says that there are none, these do not do.
static TypedAttr getNeutralNumber(Operation *op, bool isMost) {
  auto type = cast<FloatType>(op->getResult(0).getType());
  const llvm::fltSemantics &format = type.getFloatSemantics();
  arith::FastMathFlags flags =
      cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue();
  APFloat value = APFloat::getNaN(format);
  if (bitEnumContainsAny(flags, arith::FastMathFlags::nnan))
    value = bitEnumContainsAny(flags, arith::FastMathFlags::ninf)
                ? APFloat::getLargest(format, /*Negative=*/isMost)
                : APFloat::getInf(format, /*Negative=*/isMost);
  return FloatAttr::get(type, value);
}

std::optional<TypedAttr> offload::getNeutralElement(Operation *combiner) {
  Type type = combiner->getResult(0).getType();
  if (!type.isIntOrIndexOrFloat())
    return std::nullopt;
  auto integer = [&](APInt value) -> TypedAttr {
    return IntegerAttr::get(type, value);
  };
  const unsigned width = isa<IndexType>(type)
                             ? unsigned(IndexType::kInternalStorageBitWidth)
                             : type.getIntOrFloatBitWidth();
  return llvm::TypeSwitch<Operation *, std::optional<TypedAttr>>(combiner)
      .Case([&](arith::AddFOp) {
        auto format = cast<FloatType>(type);
        return FloatAttr::get(format,
                              APFloat::getZero(format.getFloatSemantics(),
                                               /*Negative=*/true));
      })
      .Case([&](arith::MaxNumFOp op) {
        return getNeutralNumber(op, /*isMost=*/true);
      })
      .Case([&](arith::MinNumFOp op) {
        return getNeutralNumber(op, /*isMost=*/false);
      })
      .Case<arith::AndIOp, arith::MinUIOp>(
          [&](auto) { return integer(APInt::getAllOnes(width)); })
      .Case([&](arith::MinSIOp) {
        return integer(APInt::getSignedMaxValue(width));
      })
      .Case([&](arith::MaxSIOp) {
        return integer(APInt::getSignedMinValue(width));
      })
      .Default([](Operation *op) { return arith::getNeutralElement(op); });
}

/// The op that combines an element with output number `output` and gives
/// nothing but that output; null if there is none.
static Operation *findStep(linalg::LinalgOp op, unsigned output) {
  BlockArgument before =
      op.getMatchingBlockArgument(op.getDpsInitOperand(output));
  Operation *step =
      op.getBlock()->getTerminator()->getOperand(output).getDefiningOp();
  // What the body computes besides of the result so far depends on the order.
  if (!step || step->getBlock() != op.getBlock() || !before.hasOneUse() ||
      *before.user_begin() != step || step->getNumOperands() != 2 ||
      step->getNumResults() != 1 || !step->hasOneUse())
    return nullptr;
  return step;
}

Operation *offload::findCombiner(linalg::LinalgOp op, unsigned output) {
  Operation *step = findStep(op, output);
  return step && getNeutralElement(step) ? step : nullptr;
}

Operation *offload::findSum(linalg::LinalgOp op, unsigned output) {
  Operation *step = findStep(op, output);
  return isa_and_nonnull<complex::AddOp>(step) ? step
                                               : findCombiner(op, output);
}

Value offload::createNeutral(OpBuilder &builder, Operation *combiner) {
  Location loc = combiner->getLoc();
  if (!isa<complex::AddOp>(combiner))
    return arith::ConstantOp::create(builder, loc,
                                     *getNeutralElement(combiner));
  auto type = cast<ComplexType>(combiner->getResult(0).getType());
  Attribute zero = builder.getFloatAttr(type.getElementType(), -0.0);
  return complex::ConstantOp::create(builder, loc, type,
                                     builder.getArrayAttr({zero, zero}));
}

Value offload::combine(OpBuilder &builder, BlockArgument argument,
                       Operation *combiner, Value before, Value value) {
  IRMapping map;
  for (Value operand : combiner->getOperands())
    map.map(operand, operand == argument ? before : value);
  return builder.clone(*combiner, map)->getResult(0);
}

std::optional<Combination> Combination::match(linalg::LinalgOp op) {
  // An op that only asserts or stores has nothing to combine.
  if (!op.getNumDpsInits())
    return std::nullopt;
  // One element of each result for all rounds of the reduction loops.
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    if (llvm::any_of(loops,
                     [&](unsigned loop) { return map.isFunctionOfDim(loop); }))
      return std::nullopt;
  }
  Combination combination(op);
  for (unsigned output = 0; output < op.getNumDpsInits(); ++output)
    if (Operation *combiner = findCombiner(op, output))
      combination.combiners.push_back(combiner);
  if (combination.combiners.size() == size_t(op.getNumDpsInits()))
    return combination;
  combination.combiners.clear();
  combination.choice = Choice::match(op);
  if (!combination.choice)
    return std::nullopt;
  return combination;
}

bool Combination::addsFloats() const {
  return llvm::any_of(combiners, llvm::IsaPred<arith::AddFOp>);
}

SmallVector<Value> Combination::begin(OpBuilder &builder,
                                      ValueRange outputs) const {
  if (choice)
    return outputs;
  return llvm::map_to_vector(combiners, [&](Operation *combiner) {
    return createNeutral(builder, combiner);
  });
}

SmallVector<Value> Combination::combine(OpBuilder &builder, ValueRange before,
                                        ValueRange later) const {
  if (choice)
    return choice->combine(builder, before, later);
  linalg::LinalgOp op = this->op;
  SmallVector<Value> results;
  for (auto [output, combiner] : llvm::enumerate(combiners))
    results.push_back(offload::combine(
        builder, op.getMatchingBlockArgument(op.getDpsInitOperand(output)),
        combiner, before[output], later[output]));
  return results;
}
