//===- Combiner.cpp - what a reduction combines by ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Combiner.h.
//===----------------------------------------------------------------------===//

#include "Combiner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

Operation *offload::findCombiner(linalg::LinalgOp op, unsigned output) {
  BlockArgument before =
      op.getMatchingBlockArgument(op.getDpsInitOperand(output));
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(output).getDefiningOp();
  // What the body computes besides of the result so far depends on the order.
  if (!combiner || combiner->getBlock() != op.getBlock() ||
      !before.hasOneUse() || *before.user_begin() != combiner ||
      combiner->getNumOperands() != 2 || combiner->getNumResults() != 1 ||
      !combiner->hasOneUse() || !getNeutralElement(combiner))
    return nullptr;
  return combiner;
}

Value offload::combine(OpBuilder &builder, BlockArgument argument,
                       Operation *combiner, Value before, Value value) {
  IRMapping map;
  for (Value operand : combiner->getOperands())
    map.map(operand, operand == argument ? before : value);
  return builder.clone(*combiner, map)->getResult(0);
}
