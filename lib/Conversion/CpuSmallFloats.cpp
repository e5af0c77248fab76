//===- CpuSmallFloats.cpp - arithmetic of floats of 8 bits ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats of 8 bits are bytes that nothing computes with. Ops on them are done
// in single precision and rounded; the conversions are integer arithmetic, so
// that they are as good in vectors.
//===----------------------------------------------------------------------===//

#include "CpuSmallFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

namespace {
/// How the bits of a number lie: a sign, an exponent, a mantissa.
struct Format {
  explicit Format(FloatType type)
      : Format(type.getFloatSemantics(), type.getWidth()) {}
  Format(const llvm::fltSemantics &semantics, unsigned width)
      : width(width), mantissa(APFloat::semanticsPrecision(semantics) - 1),
        bias(1 - APFloat::semanticsMinExponent(semantics)),
        hasInfinity(APFloat::semanticsHasInf(semantics)),
        largest(bits(APFloat::getLargest(semantics))),
        nan(bits(APFloat::getQNaN(semantics))) {}

  static int64_t bits(const APFloat &value) {
    return value.bitcastToAPInt().getZExtValue();
  }
  uint64_t getSign() const { return uint64_t(1) << (width - 1); }
  /// The one number that is not a number is what would be -0.
  bool hasUnsignedZero() const { return width == 8 && nan == 0x80; }
  /// What a number beyond the largest becomes; infinity follows the largest.
  int64_t getOverflow() const { return hasInfinity ? largest + 1 : nan; }

  unsigned width, mantissa;
  int bias;
  bool hasInfinity;
  int64_t largest, nan;
};

class Expansion {
public:
  explicit Expansion(Operation *root)
      : root(root), builder(root->getContext()), loc(root->getLoc()) {}
  LogicalResult run();

private:
  LogicalResult expand(Operation *op);
  Value extend(Value value);
  FailureOr<Value> truncate(Operation *op, Value value, Type type);

  /// `type` with other elements.
  static Type withElements(Type type, Type element) {
    if (auto shaped = dyn_cast<ShapedType>(type))
      return shaped.clone(element);
    return element;
  }
  /// `bits` in each element of an integer type.
  Value constant(Type type, int64_t bits) {
    Type element = getElementTypeOrSelf(type);
    TypedAttr value = builder.getIntegerAttr(
        element, APInt(element.getIntOrFloatBitWidth(), bits,
                       /*isSigned=*/false, /*implicitTrunc=*/true));
    if (auto shaped = dyn_cast<ShapedType>(type))
      value = DenseElementsAttr::get(shaped, ArrayRef<Attribute>{value});
    return arith::ConstantOp::create(builder, loc, value);
  }
  Value like(Value value, int64_t bits) {
    return constant(value.getType(), bits);
  }
  Value bitcast(Value value, Type element) {
    return arith::BitcastOp::create(
        builder, loc, withElements(value.getType(), element), value);
  }
  Value shiftLeft(Value value, int64_t by) {
    return arith::ShLIOp::create(builder, loc, value, like(value, by));
  }
  Value shiftRight(Value value, int64_t by) {
    return arith::ShRUIOp::create(builder, loc, value, like(value, by));
  }
  Value mask(Value value, int64_t bits) {
    return arith::AndIOp::create(builder, loc, value, like(value, bits));
  }
  Value add(Value value, int64_t number) {
    return arith::AddIOp::create(builder, loc, value, like(value, number));
  }
  Value is(arith::CmpIPredicate predicate, Value value, int64_t number) {
    return arith::CmpIOp::create(builder, loc, predicate, value,
                                 like(value, number));
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  Value power(Type type, int exponent) {
    auto element = cast<FloatType>(getElementTypeOrSelf(type));
    APFloat one(1.0);
    bool lost;
    one.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &lost);
    TypedAttr value = FloatAttr::get(
        element, scalbn(one, exponent, APFloat::rmNearestTiesToEven));
    if (auto shaped = dyn_cast<ShapedType>(type))
      value = DenseElementsAttr::get(shaped, ArrayRef<Attribute>{value});
    return arith::ConstantOp::create(builder, loc, value);
  }

  Operation *root;
  OpBuilder builder;
  Location loc;
};
} // namespace

/// The element of `type` where it is a float of at most 8 bits.
static FloatType getSmallFloat(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() <= 8 ? element : FloatType();
}

static bool isSmall(Type type) {
  return isa<FloatType, VectorType>(type) && getSmallFloat(type);
}

/// The same numbers in single precision, which has them all.
Value Expansion::extend(Value value) {
  FloatType type = getSmallFloat(value.getType());
  Format format(type);
  Type wide = withElements(value.getType(), builder.getI32Type());
  Value byte = bitcast(value, builder.getI8Type());
  Value all = arith::ExtUIOp::create(builder, loc, wide, byte);
  Value magnitude = mask(all, 0x7f);
  const int64_t infinity = 0x7f800000, nan = 0x7fc00000;
  // Below the smallest normal number the mantissa counts its last place.
  Value count = arith::SIToFPOp::create(
      builder, loc, withElements(wide, builder.getF32Type()), magnitude);
  Value subnormal = arith::MulFOp::create(
      builder, loc, count,
      power(count.getType(), 1 - format.bias - int(format.mantissa)));
  Value normal = add(shiftLeft(magnitude, 23 - format.mantissa),
                     int64_t(127 - format.bias) << 23);
  Value result = select(
      is(arith::CmpIPredicate::slt, magnitude, int64_t(1) << format.mantissa),
      bitcast(subnormal, builder.getI32Type()), normal);
  if (!format.hasUnsignedZero())
    result = select(is(arith::CmpIPredicate::sgt, magnitude, format.largest),
                    like(result, nan), result);
  if (format.hasInfinity)
    result =
        select(is(arith::CmpIPredicate::eq, magnitude, format.getOverflow()),
               like(result, infinity), result);
  Value sign = shiftLeft(mask(all, 0x80), 24);
  result = arith::OrIOp::create(builder, loc, result, sign);
  if (format.hasUnsignedZero())
    result = select(is(arith::CmpIPredicate::eq, all, format.nan),
                    like(result, nan), result);
  return bitcast(result, builder.getF32Type());
}

/// Rounds to the nearest number of `type`, of two to the one whose last bit is
/// 0.
FailureOr<Value> Expansion::truncate(Operation *op, Value value, Type type) {
  auto from = cast<FloatType>(getElementTypeOrSelf(value.getType()));
  if (from.getWidth() == 16) {
    value = arith::ExtFOp::create(
        builder, loc, withElements(type, builder.getF32Type()), value);
    from = builder.getF32Type();
  }
  if (!from.isF32() && !from.isF64()) {
    op->emitOpError("rounds a number of type ")
        << from << " to one of 8 bits, which is not supported by the cpu "
        << "device";
    return failure();
  }
  Format source(from), format(getSmallFloat(type));
  Type integer = builder.getIntegerType(source.width);
  Value all = bitcast(value, integer);
  Value magnitude = mask(all, source.getSign() - 1);

  // Half of the last place less the smallest, and that if the last bit is 1.
  unsigned shift = source.mantissa - format.mantissa;
  Value odd = mask(shiftRight(magnitude, shift), 1);
  Value rounded = arith::AddIOp::create(
      builder, loc, add(magnitude, (int64_t(1) << (shift - 1)) - 1), odd);
  Value normal = add(shiftRight(rounded, shift),
                     -(int64_t(source.bias - format.bias) << format.mantissa));
  // Below the smallest normal number all have the same last place; the sum
  // with a number that has it too is rounded to it.
  Value anchor = power(value.getType(), 1 - format.bias - int(format.mantissa) +
                                            int(source.mantissa));
  Value sum =
      arith::AddFOp::create(builder, loc, bitcast(magnitude, from), anchor);
  Value subnormal = arith::SubIOp::create(builder, loc, bitcast(sum, integer),
                                          bitcast(anchor, integer));
  Value isSubnormal =
      is(arith::CmpIPredicate::slt, magnitude,
         int64_t(1 - format.bias + source.bias) << source.mantissa);
  Value result = select(isSubnormal, subnormal, normal);
  result = select(is(arith::CmpIPredicate::sgt, result, format.largest),
                  like(result, format.getOverflow()), result);
  result =
      select(is(arith::CmpIPredicate::sgt, magnitude, source.getOverflow()),
             like(result, format.nan), result);

  Value sign = mask(shiftRight(all, source.width - 8), 0x80);
  Value withSign = arith::OrIOp::create(builder, loc, result, sign);
  if (format.hasUnsignedZero())
    withSign =
        select(is(arith::CmpIPredicate::eq, result, 0), result, withSign);
  Value byte = arith::TruncIOp::create(
      builder, loc, withElements(type, builder.getI8Type()), withSign);
  return bitcast(byte, getSmallFloat(type));
}

LogicalResult Expansion::expand(Operation *op) {
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  auto hasNoSign = [](Type type) {
    return isa<Float8E8M0FNUType>(getElementTypeOrSelf(type));
  };
  if (!isa<arith::ConstantOp>(op) &&
      (llvm::any_of(op->getOperandTypes(), hasNoSign) ||
       llvm::any_of(op->getResultTypes(), hasNoSign)))
    return op->emitOpError("on f8E8M0FNU is not supported by the cpu device");
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr bits;
    if (auto number = dyn_cast<FloatAttr>(constantOp.getValue()))
      bits = builder.getI8IntegerAttr(
          number.getValue().bitcastToAPInt().getZExtValue());
    else
      bits = cast<DenseElementsAttr>(constantOp.getValue())
                 .bitcast(builder.getI8Type());
    Value byte = arith::ConstantOp::create(builder, loc, bits);
    constantOp.replaceAllUsesWith(
        bitcast(byte, getSmallFloat(constantOp.getType())));
    op->erase();
    return success();
  }
  if (auto rounding = dyn_cast<arith::TruncFOp>(op);
      rounding && rounding.getRoundingmode().value_or(
                      arith::RoundingMode::to_nearest_even) !=
                      arith::RoundingMode::to_nearest_even)
    return op->emitOpError("to a float of 8 bits with another rounding than "
                           "to the nearest is not supported by the cpu device");

  // The sum of a product and a number is rounded once: double precision has it
  // without error.
  bool isExact = isa<math::FmaOp, vector::FMAOp>(op);
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    if (!isSmall(operand.getType()))
      continue;
    Value wide = extend(operand);
    if (isExact)
      wide = arith::ExtFOp::create(
          builder, loc, withElements(wide.getType(), builder.getF64Type()),
          wide);
    mapping.map(operand, wide);
  }
  Value result;
  if (isa<arith::ExtFOp>(op)) {
    result = mapping.lookup(op->getOperand(0));
    Type type = op->getResult(0).getType();
    auto element = cast<FloatType>(getElementTypeOrSelf(type));
    if (element.getWidth() < 32)
      result = arith::TruncFOp::create(builder, loc, type, result);
    else if (element.getWidth() > 32)
      result = arith::ExtFOp::create(builder, loc, type, result);
  } else if (isa<arith::TruncFOp>(op)) {
    result = mapping.lookupOrDefault(op->getOperand(0));
  } else {
    Operation *clone = builder.clone(*op, mapping);
    if (clone->getNumResults() != 1)
      return op->emitOpError(
          "on floats of 8 bits is not supported by the cpu device");
    result = clone->getResult(0);
    if (isSmall(result.getType()))
      result.setType(
          withElements(result.getType(), isExact ? Type(builder.getF64Type())
                                                 : builder.getF32Type()));
  }
  Type type = op->getResult(0).getType();
  if (isSmall(type)) {
    FailureOr<Value> rounded = truncate(op, result, type);
    if (failed(rounded))
      return failure();
    result = *rounded;
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
  return success();
}

LogicalResult Expansion::run() {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    bool computes =
        dialect == "math" ||
        (dialect == "arith" && !isa<arith::BitcastOp, arith::SelectOp>(op)) ||
        isa<vector::FMAOp, vector::ReductionOp, vector::MultiDimReductionOp,
            vector::ContractionOp, vector::OuterProductOp>(op);
    if (computes && (llvm::any_of(op->getOperandTypes(), isSmall) ||
                     llvm::any_of(op->getResultTypes(), isSmall)))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (failed(expand(op)))
      return failure();
  return success();
}

LogicalResult cpu::expandSmallFloats(Operation *root) {
  return Expansion(root).run();
}

LogicalResult cpu::checkFloats(Operation *op) {
  FloatType refused;
  auto look = [&](FloatType type) {
    if (type.getWidth() < 8 || type.isTF32())
      refused = type;
  };
  for (Type type : op->getOperandTypes())
    type.walk(look);
  for (Type type : op->getResultTypes())
    type.walk(look);
  if (!refused)
    return success();
  return op->emitOpError("has numbers of type ")
         << refused << ", which are not supported by the cpu device";
}

void cpu::makeSmallFloatAtomicsGeneric(Operation *root) {
  root->walk([](memref::AtomicRMWOp op) {
    if (!isSmall(op.getType()) || op.getKind() == arith::AtomicRMWKind::assign)
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto generic = memref::GenericAtomicRMWOp::create(
        builder, loc, op.getMemref(), op.getIndices());
    OpBuilder body = OpBuilder::atBlockEnd(generic.getBody());
    Value next = arith::getReductionOp(
        op.getKind(), body, loc, generic.getCurrentValue(), op.getValue());
    memref::AtomicYieldOp::create(body, loc, next);
    op.replaceAllUsesWith(generic.getResult());
    op.erase();
  });
}
