//===- SmallFloats.cpp - arithmetic of small floats -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No instruction computes with floats of 8 bits, and those for bf16 take and
// make 0 for numbers below the smallest normal one. Ops on both are done in
// single precision and rounded; the conversions are integer arithmetic, so that
// they are the same on each processor and as good in vectors.
//===----------------------------------------------------------------------===//

#include "SmallFloats.h"
#include "Kernels/Common/Scalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

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
  /// The exponent of the smallest normal number, as the bits of `other` say it.
  int64_t getLeastExponent(const Format &other) const {
    return 1 - bias + other.bias;
  }
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
  void expandConstant(arith::ConstantOp op);
  void expandReduction(vector::ReductionOp op);
  Value extend(Value value);
  FailureOr<Value> truncate(Operation *op, Value value, Type type);
  FailureOr<Value> convertInteger(Operation *op, Type type);

  /// `type` with other elements.
  static Type withElements(Type type, Type element) {
    if (auto shaped = dyn_cast<ShapedType>(type))
      return shaped.clone(element);
    return element;
  }
  /// `bits` in each element of an integer type.
  Value constant(Type type, const APInt &bits) {
    TypedAttr value = builder.getIntegerAttr(getElementTypeOrSelf(type), bits);
    if (auto shaped = dyn_cast<ShapedType>(type))
      value = DenseElementsAttr::get(shaped, ArrayRef<Attribute>{value});
    return arith::ConstantOp::create(builder, loc, value);
  }
  Value constant(Type type, int64_t bits) {
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    return constant(type, APInt(width, bits, /*isSigned=*/true,
                                /*implicitTrunc=*/true));
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
  /// `value` in each element of a type of floats.
  Value number(Type type, double value) {
    TypedAttr attribute =
        builder.getFloatAttr(getElementTypeOrSelf(type), value);
    if (auto shaped = dyn_cast<ShapedType>(type))
      attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
    return arith::ConstantOp::create(builder, loc, attribute);
  }
  Value toFloat(Value value, FloatType element);

  Operation *root;
  OpBuilder builder;
  Location loc;
};
} // namespace

/// The element of `type` where it is one of these floats.
static FloatType getSmallFloat(Type type) {
  if (!isa<FloatType, VectorType>(type))
    return FloatType();
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && (element.getWidth() <= 8 || element.isBF16()) ? element
                                                                  : FloatType();
}

bool cpu::isSmallFloat(Type type) { return bool(getSmallFloat(type)); }

/// `value`, a float, as one of type `element`, which is no small one.
Value Expansion::toFloat(Value value, FloatType element) {
  Type type = withElements(value.getType(), element);
  unsigned from =
      cast<FloatType>(getElementTypeOrSelf(value.getType())).getWidth();
  if (from < element.getWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  if (from > element.getWidth())
    return arith::TruncFOp::create(builder, loc, type, value);
  return value;
}

/// The same numbers in single precision, which has them all.
Value Expansion::extend(Value value) {
  FloatType type = getSmallFloat(value.getType());
  Format format(type);
  Type wide = withElements(value.getType(), builder.getI32Type());
  Value bits = bitcast(value, builder.getIntegerType(format.width));
  Value all = arith::ExtUIOp::create(builder, loc, wide, bits);
  if (type.isBF16())
    return bitcast(shiftLeft(all, 16), builder.getF32Type());

  Value magnitude = mask(all, 0x7f);
  constexpr int64_t infinity = 0x7f800000, nan = 0x7fc00000;
  // Below the smallest normal number the mantissa counts its last place.
  Value count = arith::SIToFPOp::create(
      builder, loc, withElements(wide, builder.getF32Type()), magnitude);
  Value subnormal = arith::MulFOp::create(
      builder, loc, count,
      number(count.getType(),
             std::ldexp(1, 1 - format.bias - int(format.mantissa))));
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
  FloatType to = getSmallFloat(type);
  auto from = cast<FloatType>(getElementTypeOrSelf(value.getType()));
  if (from.isF16()) {
    from = builder.getF32Type();
    value = toFloat(value, from);
  }
  if (!from.isF32() && !from.isF64()) {
    op->emitOpError("rounds a number of type ")
        << from << " to one of type " << to
        << ", which is not supported by the cpu device";
    return failure();
  }
  Format source(from), format(to);
  Type integer = builder.getIntegerType(source.width);
  Value all = bitcast(value, integer);
  Value magnitude = mask(all, source.getSign() - 1);

  // Half of the last place less the smallest, and that if the last bit is 1.
  auto round = [&](Value bits, Value places) -> Value {
    Value one = like(bits, 1);
    Value half = arith::ShLIOp::create(
        builder, loc, one, arith::SubIOp::create(builder, loc, places, one));
    Value odd = mask(arith::ShRUIOp::create(builder, loc, bits, places), 1);
    Value sum = arith::AddIOp::create(
        builder, loc, bits,
        arith::AddIOp::create(builder, loc, odd,
                              arith::SubIOp::create(builder, loc, half, one)));
    return arith::ShRUIOp::create(builder, loc, sum, places);
  };
  unsigned shift = source.mantissa - format.mantissa;
  Value result = add(round(magnitude, like(magnitude, shift)),
                     -(int64_t(source.bias - format.bias) << format.mantissa));
  if (source.bias != format.bias) {
    // Below the smallest normal number all have the same last place; what is
    // far below it is less than half of it.
    int64_t least = format.getLeastExponent(source);
    Value exponent = shiftRight(magnitude, source.mantissa);
    Value bits = arith::OrIOp::create(
        builder, loc, mask(magnitude, (int64_t(1) << source.mantissa) - 1),
        like(magnitude, int64_t(1) << source.mantissa));
    Value places = arith::MinUIOp::create(
        builder, loc,
        arith::SubIOp::create(builder, loc, like(exponent, shift + least),
                              exponent),
        like(exponent, source.mantissa + 2));
    result = select(is(arith::CmpIPredicate::slt, exponent, least),
                    round(bits, places), result);
    result = select(is(arith::CmpIPredicate::sgt, result, format.largest),
                    like(result, format.getOverflow()), result);
  }
  result =
      select(is(arith::CmpIPredicate::sgt, magnitude, source.getOverflow()),
             like(result, format.nan), result);

  Value sign =
      mask(shiftRight(all, source.width - format.width), format.getSign());
  Value withSign = arith::OrIOp::create(builder, loc, result, sign);
  if (format.hasUnsignedZero())
    withSign =
        select(is(arith::CmpIPredicate::eq, result, 0), result, withSign);
  Type narrow = builder.getIntegerType(format.width);
  Value bits = arith::TruncIOp::create(builder, loc, withElements(type, narrow),
                                       withSign);
  return bitcast(bits, to);
}

/// An integer as a float of `type`, rounded once.
FailureOr<Value> Expansion::convertInteger(Operation *op, Type type) {
  Value integer = op->getOperand(0);
  bool isSigned = isa<arith::SIToFPOp, LLVM::SIToFPOp>(op);
  unsigned width =
      getElementTypeOrSelf(integer.getType()).getIntOrFloatBitWidth();
  FloatType element = width <= 24 ? FloatType(builder.getF32Type())
                                  : FloatType(builder.getF64Type());
  unsigned exact = Format(element).mantissa + 1;
  if (width > exact) {
    // Of a number that double precision rounds, the bits below its last place
    // become one, which says whether it is above or below what it is rounded to
    // next.
    auto bit = [&](unsigned place) {
      return constant(integer.getType(), APInt::getOneBitSet(width, place));
    };
    Value zero = like(integer, 0);
    Value dropped = arith::AndIOp::create(
        builder, loc, integer,
        constant(integer.getType(),
                 APInt::getLowBitsSet(width, width - exact)));
    Value sticky =
        select(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                     dropped, zero),
               bit(width - exact), zero);
    Value kept = arith::OrIOp::create(
        builder, loc, arith::SubIOp::create(builder, loc, integer, dropped),
        sticky);
    // Others keep such bits.
    Value above = arith::AddIOp::create(builder, loc, integer,
                                        isSigned ? bit(exact) : zero);
    Value isSmall =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, above,
                              bit(isSigned ? exact + 1 : exact));
    integer = select(isSmall, integer, kept);
  }
  Type wide = withElements(type, element);
  Value value =
      isSigned ? Value(arith::SIToFPOp::create(builder, loc, wide, integer))
               : Value(arith::UIToFPOp::create(builder, loc, wide, integer));
  return truncate(op, value, type);
}

/// Floats of 8 bits are not known to LLVM.
void Expansion::expandConstant(arith::ConstantOp op) {
  FloatType type = getSmallFloat(op.getType());
  if (type.getWidth() != 8)
    return;
  TypedAttr bits;
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    bits = builder.getI8IntegerAttr(
        number.getValue().bitcastToAPInt().getZExtValue());
  else
    bits = cast<DenseElementsAttr>(op.getValue()).bitcast(builder.getI8Type());
  Value byte = arith::ConstantOp::create(builder, loc, bits);
  op.replaceAllUsesWith(bitcast(byte, type));
  op->erase();
}

/// Each step of a reduction is rounded.
void Expansion::expandReduction(vector::ReductionOp op) {
  Value result = op.getAcc();
  for (int64_t i = 0; i < op.getSourceVectorType().getNumElements(); ++i) {
    Value element = vector::ExtractOp::create(builder, loc, op.getVector(), i);
    result =
        result ? vector::makeArithReduction(builder, loc, op.getKind(), element,
                                            result, op.getFastmathAttr())
               : element;
  }
  op.replaceAllUsesWith(result);
  op->erase();
}

LogicalResult Expansion::expand(Operation *op) {
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    expandConstant(constantOp);
    return success();
  }
  auto hasNoSign = [](Type type) {
    return isa<Float8E8M0FNUType>(getElementTypeOrSelf(type));
  };
  if (llvm::any_of(op->getOperandTypes(), hasNoSign) ||
      llvm::any_of(op->getResultTypes(), hasNoSign))
    return op->emitOpError("on f8E8M0FNU is not supported by the cpu device");
  auto rounding = dyn_cast<arith::TruncFOp>(op);
  if (rounding && rounding.getRoundingmode().value_or(
                      arith::RoundingMode::to_nearest_even) !=
                      arith::RoundingMode::to_nearest_even)
    return op->emitOpError("to a float of this type with another rounding than "
                           "to the nearest is not supported by the cpu device");

  // The sum of a product and a number is rounded once.
  bool isFma = isa<math::FmaOp, vector::FMAOp, LLVM::FMAOp>(op);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (isSmallFloat(operand.getType()) && !mapping.contains(operand)) {
      Value wide = extend(operand);
      mapping.map(operand, isFma ? toFloat(wide, builder.getF64Type()) : wide);
    }
  SmallVector<Value> results;
  Type type = op->getResult(0).getType();
  if (isFma) {
    results.push_back(buildFmaToOdd(
        builder, loc, mapping.lookup(op->getOperand(0)),
        mapping.lookup(op->getOperand(1)), mapping.lookup(op->getOperand(2))));
  } else if (isa<arith::ExtFOp, arith::TruncFOp, LLVM::FPExtOp,
                 LLVM::FPTruncOp>(op)) {
    Value value = mapping.lookupOrDefault(op->getOperand(0));
    results.push_back(
        isSmallFloat(type)
            ? value
            : toFloat(value, cast<FloatType>(getElementTypeOrSelf(type))));
  } else if (isa<arith::SIToFPOp, arith::UIToFPOp, LLVM::SIToFPOp,
                 LLVM::UIToFPOp>(op)) {
    FailureOr<Value> value = convertInteger(op, type);
    if (failed(value))
      return failure();
    results.push_back(*value);
  } else {
    Operation *clone = builder.clone(*op, mapping);
    for (Value result : clone->getResults()) {
      if (isSmallFloat(result.getType()))
        result.setType(withElements(result.getType(), builder.getF32Type()));
      results.push_back(result);
    }
  }
  for (auto [old, result] : llvm::zip_equal(op->getResults(), results)) {
    if (isSmallFloat(old.getType()) && !isSmallFloat(result.getType())) {
      FailureOr<Value> rounded = truncate(op, result, old.getType());
      if (failed(rounded))
        return failure();
      result = *rounded;
    }
    old.replaceAllUsesWith(result);
  }
  op->erase();
  return success();
}

/// Whether `op` computes with what its operands are, not just with their bits.
static bool computes(Operation *op) {
  if (isa<arith::BitcastOp, arith::SelectOp, LLVM::SelectOp, LLVM::FNegOp,
          LLVM::FAbsOp, LLVM::CopySignOp, CallOpInterface>(op))
    return false;
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "arith" || dialect == "math" ||
         isa<LLVM::FastmathFlagsInterface, LLVM::FPTruncOp, LLVM::FPExtOp,
             LLVM::SIToFPOp, LLVM::UIToFPOp, LLVM::FPToSIOp, LLVM::FPToUIOp,
             vector::FMAOp>(op);
}

LogicalResult Expansion::run() {
  root->walk([&](vector::ReductionOp op) {
    loc = op.getLoc();
    builder.setInsertionPoint(op);
    if (isSmallFloat(op.getType()))
      expandReduction(op);
  });
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (computes(op) && (llvm::any_of(op->getOperandTypes(), isSmallFloat) ||
                         llvm::any_of(op->getResultTypes(), isSmallFloat)))
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
