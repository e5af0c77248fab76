//===- Scalars.cpp - exact arithmetic of scalars --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Scalars.h.
//===----------------------------------------------------------------------===//

#include "Scalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// Builds arithmetic on scalars, or on vectors with the shape of one value.
struct Arithmetic {
  Arithmetic(OpBuilder &builder, Location loc, Type like)
      : builder(builder), loc(loc), like(like) {}

  Type withElements(Type element) {
    auto shaped = dyn_cast<ShapedType>(like);
    return shaped ? Type(shaped.clone(element)) : element;
  }
  Value constant(TypedAttr value) {
    if (auto shaped = dyn_cast<ShapedType>(withElements(value.getType())))
      value = DenseElementsAttr::get(shaped, Attribute(value));
    return make<arith::ConstantOp>(value);
  }
  Value integer(Type type, const APInt &value) {
    return constant(builder.getIntegerAttr(type, value));
  }
  Value integer(Type type, int64_t value) {
    return integer(type, APInt(type.getIntOrFloatBitWidth(), value,
                               /*isSigned=*/true, /*implicitTrunc=*/true));
  }
  template <typename Op, typename... Args>
  Value make(Args... args) {
    return Op::create(builder, loc, args...);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return make<arith::CmpIOp>(predicate, a, b);
  }

  OpBuilder &builder;
  Location loc;
  Type like;
};
} // namespace

using Predicate = arith::CmpIPredicate;

void gpuasync::scalarize(Operation *root, function_ref<bool(Operation *)> is) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (op->getNumResults() != 1)
      return;
    auto type = dyn_cast<VectorType>(op->getResult(0).getType());
    if (type && !type.isScalable() && is(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    auto type = cast<VectorType>(op->getResult(0).getType());
    Value result =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      SmallVector<int64_t> place =
          delinearize(i, computeStrides(type.getShape()));
      OperationState one(loc, op->getName());
      one.addAttributes(op->getAttrs());
      one.addTypes(type.getElementType());
      for (Value operand : op->getOperands())
        one.operands.push_back(
            vector::ExtractOp::create(builder, loc, operand, place));
      result = vector::InsertOp::create(
          builder, loc, builder.create(one)->getResult(0), result, place);
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Remainders
//===----------------------------------------------------------------------===//

/// The remainder of f32 or f64.
static Value buildRemainder(OpBuilder &ops, Location loc, Value x, Value y) {
  auto type = cast<FloatType>(x.getType());
  const unsigned width = type.getWidth();
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  const int64_t mantissaBits = APFloat::semanticsPrecision(semantics) - 1;
  Arithmetic b(ops, loc, type);
  Type bits = ops.getIntegerType(width);
  auto number = [&](int64_t value) { return b.integer(bits, value); };
  auto bitsOf = [&](const APFloat &value) {
    return b.integer(bits, value.bitcastToAPInt());
  };
  Value sizes = b.integer(bits, APInt::getSignedMaxValue(width));
  Value infinity = bitsOf(APFloat::getInf(semantics));
  Value zero = number(0), one = number(1), places = number(mantissaBits);
  Value xBits = b.make<arith::BitcastOp>(bits, x);
  Value xSize = b.make<arith::AndIOp>(xBits, sizes);
  Value ySize =
      b.make<arith::AndIOp>(Value(b.make<arith::BitcastOp>(bits, y)), sizes);
  Value sign = b.make<arith::XOrIOp>(xBits, xSize);

  // A number is its mantissa times 2 to the power of its exponent, numbers
  // below the smallest normal one too.
  auto takeApart = [&](Value size) {
    Value field = b.make<arith::ShRUIOp>(size, places);
    Value isNormal = b.compare(Predicate::ne, field, zero);
    Value leading = b.make<arith::ShLIOp>(
        Value(b.make<arith::ExtUIOp>(bits, isNormal)), places);
    Value mantissa = b.make<arith::OrIOp>(
        leading,
        Value(b.make<arith::AndIOp>(
            size, b.integer(bits, APInt::getLowBitsSet(width, mantissaBits)))));
    return std::pair(Value(b.make<arith::MaxUIOp>(field, one)), mantissa);
  };
  auto [xExponent, xMantissa] = takeApart(xSize);
  auto [yExponent, yMantissa] = takeApart(ySize);
  // Also where the result is another.
  Value divisor = b.make<arith::MaxUIOp>(yMantissa, one);
  Value isLess = b.compare(Predicate::ult, xSize, ySize);
  Value distance = b.make<arith::SelectOp>(
      isLess, zero, Value(b.make<arith::SubIOp>(xExponent, yExponent)));

  // As many digits at once as fit.
  Value step = number(width - 1 - mantissaBits);
  auto loop = scf::WhileOp::create(
      ops, loc, TypeRange{bits, bits},
      ValueRange{b.make<arith::RemUIOp>(xMantissa, divisor), distance},
      [&](OpBuilder &nested, Location, ValueRange values) {
        Value more =
            arith::CmpIOp::create(nested, loc, Predicate::ne, values[1], zero);
        scf::ConditionOp::create(nested, loc, more, values);
      },
      [&](OpBuilder &nested, Location, ValueRange values) {
        Value digits = arith::MinUIOp::create(nested, loc, values[1], step);
        Value rest = arith::ShLIOp::create(nested, loc, values[0], digits);
        rest = arith::RemUIOp::create(nested, loc, rest, divisor);
        Value left = arith::SubIOp::create(nested, loc, values[1], digits);
        scf::YieldOp::create(nested, loc, ValueRange{rest, left});
      });

  // To a leading bit, or the smallest exponent. The leading bit adds 1 to it.
  Value rest = loop.getResult(0);
  Value zeros = b.make<math::CountLeadingZerosOp>(rest);
  zeros = b.make<arith::SubIOp>(zeros, number(width - 1 - mantissaBits));
  Value shift = b.make<arith::MinUIOp>(
      zeros, Value(b.make<arith::SubIOp>(yExponent, one)));
  Value mantissa = b.make<arith::ShLIOp>(rest, shift);
  Value exponent = b.make<arith::SubIOp>(
      Value(b.make<arith::SubIOp>(yExponent, shift)), one);
  Value result = b.make<arith::AddIOp>(
      mantissa, Value(b.make<arith::ShLIOp>(exponent, places)));
  result = b.make<arith::SelectOp>(b.compare(Predicate::eq, rest, zero), zero,
                                   result);
  result = b.make<arith::SelectOp>(isLess, xSize, result);
  result = b.make<arith::OrIOp>(result, sign);
  Value hasNone = b.make<arith::OrIOp>(
      b.compare(Predicate::uge, xSize, infinity),
      Value(b.make<arith::OrIOp>(b.compare(Predicate::ugt, ySize, infinity),
                                 b.compare(Predicate::eq, ySize, zero))));
  result = b.make<arith::SelectOp>(hasNone, bitsOf(APFloat::getQNaN(semantics)),
                                   result);
  return b.make<arith::BitcastOp>(type, result);
}

void gpuasync::expandRemainders(Operation *root) {
  scalarize(root, [](Operation *op) { return isa<arith::RemFOp>(op); });
  root->walk([](arith::RemFOp op) {
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type ||
        (!type.isF16() && !type.isBF16() && !type.isF32() && !type.isF64()))
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value x = op.getLhs(), y = op.getRhs();
    const bool isHalf = type.getWidth() == 16;
    // The remainder has no more digits than the operands.
    if (isHalf) {
      x = arith::ExtFOp::create(builder, loc, builder.getF32Type(), x);
      y = arith::ExtFOp::create(builder, loc, builder.getF32Type(), y);
    }
    Value result = buildRemainder(builder, loc, x, y);
    if (isHalf)
      result = arith::TruncFOp::create(builder, loc, type, result);
    op.replaceAllUsesWith(result);
    op.erase();
  });
}

//===----------------------------------------------------------------------===//
// Divisions and conversions
//===----------------------------------------------------------------------===//

void gpuasync::expandDivisions(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  arith::populateExpandScalingExtTruncPatterns(patterns);
  walkAndApplyPatterns(root, std::move(patterns));
}

/// An integer of more digits than f32 has, as one of 24 digits at most. The
/// last of these is 1 unless all further ones are 0: then rounding the number
/// to fewer is rounding once.
static Value roundToOdd(Arithmetic &b, Value size) {
  auto type = cast<IntegerType>(getElementTypeOrSelf(size.getType()));
  const unsigned width = type.getWidth();
  constexpr unsigned kept = 24;
  Value zero = b.integer(type, 0), one = b.integer(type, 1);
  Value used = b.make<arith::SubIOp>(
      b.integer(type, width), Value(b.make<math::CountLeadingZerosOp>(size)));
  Value places = b.make<arith::SubIOp>(
      Value(b.make<arith::MaxUIOp>(used, b.integer(type, kept))),
      b.integer(type, kept));
  Value last = b.make<arith::ShLIOp>(one, places);
  Value dropped =
      b.make<arith::AndIOp>(size, Value(b.make<arith::SubIOp>(last, one)));
  Value sticky = b.make<arith::SelectOp>(
      b.compare(Predicate::ne, dropped, zero), last, zero);
  return b.make<arith::OrIOp>(Value(b.make<arith::SubIOp>(size, dropped)),
                              sticky);
}

static Value convertToBFloat(Arithmetic &b, Value integer, bool isSigned,
                             Type result) {
  auto type = cast<IntegerType>(getElementTypeOrSelf(integer.getType()));
  Value zero = b.integer(type, 0);
  Value negative = b.compare(Predicate::slt, integer, zero);
  Value size = integer;
  if (isSigned)
    size = b.make<arith::SelectOp>(
        negative, Value(b.make<arith::SubIOp>(zero, integer)), integer);
  Value number = b.make<arith::UIToFPOp>(b.withElements(b.builder.getF32Type()),
                                         roundToOdd(b, size));
  if (isSigned)
    number = b.make<arith::SelectOp>(
        negative, Value(b.make<arith::NegFOp>(number)), number);
  return b.make<arith::TruncFOp>(result, number);
}

Value gpuasync::freeze(OpBuilder &builder, Value value) {
  return LLVM::FreezeOp::create(builder, value.getLoc(), value);
}

void gpuasync::freezeConversions(Operation *root) {
  auto isToInteger = [](Operation *op) {
    return isa<arith::FPToSIOp, arith::FPToUIOp>(op);
  };
  // LLVM has vectors of one dimension.
  scalarize(root, [&](Operation *op) {
    return isToInteger(op) &&
           cast<VectorType>(op->getResult(0).getType()).getRank() != 1;
  });
  root->walk([&](Operation *op) {
    if (!isToInteger(op))
      return;
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Value frozen = freeze(builder, op->getResult(0));
    op->getResult(0).replaceAllUsesExcept(frozen, frozen.getDefiningOp());
  });
}

void gpuasync::expandConversions(Operation *root) {
  root->walk([](Operation *op) {
    if (!isa<arith::FPToSIOp, arith::FPToUIOp, arith::SIToFPOp,
             arith::UIToFPOp>(op))
      return;
    OpBuilder builder(op);
    Value operand = op->getOperand(0);
    Type result = op->getResult(0).getType();
    Arithmetic b(builder, op->getLoc(), operand.getType());
    Type from = getElementTypeOrSelf(operand.getType());
    Type to = getElementTypeOrSelf(result);
    const bool isSigned = isa<arith::SIToFPOp, arith::FPToSIOp>(op);
    auto number = [&](Type type, double value) {
      return b.constant(builder.getFloatAttr(type, value));
    };
    // A signed integer of one bit is 0 or -1. Not by way of a larger integer:
    // LLVM's optimisations would make the one conversion of two again.
    Value value;
    if (to.isInteger(1)) {
      value = isSigned ? b.make<arith::CmpFOp>(arith::CmpFPredicate::OLE,
                                               operand, number(from, -1))
                       : b.make<arith::CmpFOp>(arith::CmpFPredicate::OGE,
                                               operand, number(from, 1));
    } else if (from.isInteger(1)) {
      value = b.make<arith::SelectOp>(operand, number(to, isSigned ? -1 : 1),
                                      number(to, 0));
    } else if (to.isBF16() && from.getIntOrFloatBitWidth() > 24) {
      value = convertToBFloat(b, operand, isSigned, result);
    } else {
      return;
    }
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  });
}

//===----------------------------------------------------------------------===//
// Products and sums
//===----------------------------------------------------------------------===//

Value gpuasync::buildFmaToOdd(OpBuilder &builder, Location loc, Value a,
                              Value b, Value c) {
  Arithmetic at(builder, loc, a.getType());
  auto plus = [&](Value x, Value y) { return at.make<arith::AddFOp>(x, y); };
  auto minus = [&](Value x, Value y) { return at.make<arith::SubFOp>(x, y); };
  auto compare = [&](arith::CmpFPredicate predicate, Value x) {
    return at.make<arith::CmpFOp>(predicate, x,
                                  at.constant(builder.getF64FloatAttr(0)));
  };
  Type i64 = builder.getI64Type();
  Value product = at.make<arith::MulFOp>(a, b);
  Value sum = plus(product, c);
  // Knuth's two-sum: what the sum is short of.
  Value part = minus(sum, product);
  Value rest = plus(minus(product, minus(sum, part)), minus(c, part));
  Value bits = at.make<arith::BitcastOp>(at.withElements(i64), sum);
  Value one = at.integer(i64, 1);
  Value isEven = at.compare(Predicate::eq, at.make<arith::AndIOp>(bits, one),
                            at.integer(i64, 0));
  Value isRounded =
      at.make<arith::AndIOp>(isEven, compare(arith::CmpFPredicate::ONE, rest));
  Value isBelow =
      at.compare(Predicate::eq, compare(arith::CmpFPredicate::OGT, rest),
                 compare(arith::CmpFPredicate::OGT, sum));
  Value odd = at.make<arith::SelectOp>(
      isBelow, Value(at.make<arith::AddIOp>(bits, one)),
      Value(at.make<arith::SubIOp>(bits, one)));
  bits = at.make<arith::SelectOp>(isRounded, odd, bits);
  return at.make<arith::BitcastOp>(a.getType(), bits);
}

void gpuasync::expandCopySign(Operation *root) {
  root->walk([](math::CopySignOp op) {
    Type type = getElementTypeOrSelf(op.getType());
    if (type.getIntOrFloatBitWidth() != 16)
      return;
    OpBuilder builder(op);
    Arithmetic b(builder, op.getLoc(), op.getType());
    Type i16 = builder.getI16Type(), bits = b.withElements(i16);
    Value sign = b.make<arith::AndIOp>(
        Value(b.make<arith::BitcastOp>(bits, op.getRhs())),
        b.integer(i16, APInt::getSignMask(16)));
    Value size = b.make<arith::AndIOp>(
        Value(b.make<arith::BitcastOp>(bits, op.getLhs())),
        b.integer(i16, APInt::getSignedMaxValue(16)));
    op.replaceAllUsesWith(b.make<arith::BitcastOp>(
        op.getType(), b.make<arith::OrIOp>(size, sign)));
    op.erase();
  });
}

void gpuasync::expandFma(Operation *root, function_ref<bool(Type)> is) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<math::FmaOp, vector::FMAOp>(op) &&
        is(getElementTypeOrSelf(op->getResult(0).getType())))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Type type = op->getResult(0).getType();
    Arithmetic b(builder, op->getLoc(), type);
    SmallVector<Value> wide;
    for (Value operand : op->getOperands())
      wide.push_back(
          b.make<arith::ExtFOp>(b.withElements(builder.getF64Type()), operand));
    Value sum = buildFmaToOdd(builder, op->getLoc(), wide[0], wide[1], wide[2]);
    op->getResult(0).replaceAllUsesWith(b.make<arith::TruncFOp>(type, sum));
    op->erase();
  }
}
