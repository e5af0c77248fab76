//===- Math.cpp - math ops of kernels ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Math.h.
//===----------------------------------------------------------------------===//

#include "Math.h"
#include "MathFunctions.h"
#include "Scalars.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// What upstream's lowering to NVVM leaves out, or computes in single precision
/// whatever the type is, and LLVM has an exact intrinsic for.
static bool isIntrinsicMath(Operation *op) {
  return isa<math::AbsIOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp, math::FmaOp,
             math::TruncOp>(op);
}

/// What LLVM's code generators do without a library, to the last bit.
static bool isNativeMath(Operation *op) {
  return isIntrinsicMath(op) ||
         isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp,
             math::RoundEvenOp, math::RoundOp, math::RsqrtOp, math::SqrtOp>(op);
}

/// Compares the bits of `op`'s operand, a float without its sign, with those of
/// the largest, the smallest normal and the infinite number.
static Value buildClassification(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value operand = op->getOperand(0);
  auto type = cast<FloatType>(getElementTypeOrSelf(operand.getType()));
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  auto withElements = [&](Type element) -> Type {
    if (auto shaped = dyn_cast<ShapedType>(operand.getType()))
      return shaped.clone(element);
    return element;
  };
  auto constant = [&](const APInt &value) -> Value {
    Type element = builder.getIntegerType(value.getBitWidth());
    TypedAttr attribute = builder.getIntegerAttr(element, value);
    if (auto shaped = dyn_cast<ShapedType>(withElements(element)))
      attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
    return arith::ConstantOp::create(builder, loc, attribute);
  };
  using Predicate = arith::CmpIPredicate;
  auto compare = [&](Predicate predicate, Value a, const APInt &b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, constant(b));
  };

  unsigned width = type.getWidth();
  Value bits = arith::BitcastOp::create(
      builder, loc, withElements(builder.getIntegerType(width)), operand);
  Value magnitude = bits;
  if (APFloat::semanticsHasSignedRepr(semantics))
    magnitude = arith::AndIOp::create(
        builder, loc, bits, constant(APInt::getSignedMaxValue(width)));
  APInt largest = APFloat::getLargest(semantics).bitcastToAPInt();
  bool hasInfinity = APFloat::semanticsHasInf(semantics);
  // The one number that is not a number may be what would be -0.
  APInt minusZero = APInt::getSignMask(width);
  bool hasUnsignedZero =
      APFloat::semanticsHasNaN(semantics) &&
      APFloat::getQNaN(semantics).bitcastToAPInt() == minusZero;

  if (isa<math::IsInfOp>(op))
    return hasInfinity ? compare(Predicate::eq, magnitude,
                                 APFloat::getInf(semantics).bitcastToAPInt())
                       : constant(APInt::getZero(1));
  if (isa<math::IsNormalOp>(op)) {
    APInt least = APFloat::getSmallestNormalized(semantics).bitcastToAPInt();
    Value beyond =
        arith::SubIOp::create(builder, loc, magnitude, constant(least));
    return compare(Predicate::ule, beyond, largest - least);
  }
  if (hasUnsignedZero)
    return compare(isa<math::IsNaNOp>(op) ? Predicate::eq : Predicate::ne, bits,
                   minusZero);
  if (isa<math::IsFiniteOp>(op))
    return compare(Predicate::ule, magnitude, largest);
  return compare(Predicate::ugt, magnitude,
                 hasInfinity ? APFloat::getInf(semantics).bitcastToAPInt()
                             : largest);
}

void gpuasync::expandFloatClassification(Operation *root) {
  root->walk([](Operation *op) {
    if (!isa<math::IsFiniteOp, math::IsInfOp, math::IsNaNOp, math::IsNormalOp>(
            op))
      return;
    op->getResult(0).replaceAllUsesWith(buildClassification(op));
    op->erase();
  });
}

/// Ops that are nothing but several others.
static void expandCompositeMath(Operation *root) {
  expandFloatClassification(root);
  root->walk([](math::SincosOp op) {
    OpBuilder builder(op);
    Value sine = math::SinOp::create(builder, op.getLoc(), op.getOperand(),
                                     op.getFastmathAttr());
    Value cosine = math::CosOp::create(builder, op.getLoc(), op.getOperand(),
                                       op.getFastmathAttr());
    op.replaceAllUsesWith(ValueRange{sine, cosine});
    op.erase();
  });
}

/// base ** exponent by repeated squaring, `exponent` not negative. Scalars
/// only.
static Value buildPower(OpBuilder &builder, Location loc, Value base,
                        Value exponent) {
  Type type = base.getType(), exponentType = exponent.getType();
  bool isFloat = isa<FloatType>(type);
  auto multiply = [&](OpBuilder &nested, Value a, Value b) -> Value {
    if (isFloat)
      return arith::MulFOp::create(nested, loc, a, b);
    return arith::MulIOp::create(nested, loc, a, b);
  };
  TypedAttr oneAttr = isFloat ? TypedAttr(builder.getFloatAttr(type, 1.0))
                              : TypedAttr(builder.getIntegerAttr(type, 1));
  Value one = arith::ConstantOp::create(builder, loc, oneAttr);
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(exponentType, 0));
  Value bit = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(exponentType, 1));
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange{type, type, exponentType},
      ValueRange{one, base, exponent},
      [&](OpBuilder &nested, Location, ValueRange values) {
        Value more = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::ne, values[2], zero);
        scf::ConditionOp::create(nested, loc, more, values);
      },
      [&](OpBuilder &nested, Location, ValueRange values) {
        Value low = arith::AndIOp::create(nested, loc, values[2], bit);
        Value odd = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ne,
                                          low, zero);
        Value product = multiply(nested, values[0], values[1]);
        Value result =
            arith::SelectOp::create(nested, loc, odd, product, values[0]);
        Value square = multiply(nested, values[1], values[1]);
        Value rest = arith::ShRUIOp::create(nested, loc, values[2], bit);
        scf::YieldOp::create(nested, loc, ValueRange{result, square, rest});
      });
  return loop.getResult(0);
}

void gpuasync::expandIntegerPowers(Operation *root, bool floatBase) {
  scalarize(root, [](Operation *op) { return isa<math::IPowIOp>(op); });
  root->walk([](math::IPowIOp op) {
    Type type = op.getType();
    if (!type.isInteger())
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(builder, loc,
                                       builder.getIntegerAttr(type, value));
    };
    auto equal = [&](Value a, Value b) -> Value {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a,
                                   b);
    };
    // There are branches on these.
    Value base = freeze(builder, op.getLhs());
    Value exponent = freeze(builder, op.getRhs());
    Value zero = constant(0), one = constant(1), minusOne = constant(-1);
    Value negative = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, exponent, zero);
    Value power = buildPower(
        builder, loc, base,
        arith::SelectOp::create(builder, loc, negative, zero, exponent));
    // 1 / base ** -exponent is not zero for 1 and -1 only.
    Value odd = equal(arith::AndIOp::create(builder, loc, exponent, one), one);
    Value sign = arith::SelectOp::create(builder, loc, odd, minusOne, one);
    Value inverse = arith::SelectOp::create(builder, loc, equal(base, minusOne),
                                            sign, zero);
    inverse =
        arith::SelectOp::create(builder, loc, equal(base, one), one, inverse);
    op.replaceAllUsesWith(
        Value(arith::SelectOp::create(builder, loc, negative, inverse, power)));
    op.erase();
  });
  // The vendors' functions take exponents of 32 bits, and upstream's lowering
  // passes whatever there is.
  auto isExpanded = [&](math::FPowIOp op) {
    return floatBase || !getElementTypeOrSelf(op.getRhs()).isInteger(32);
  };
  scalarize(root, [&](Operation *op) {
    auto power = dyn_cast<math::FPowIOp>(op);
    return power && isExpanded(power);
  });
  root->walk([&](math::FPowIOp op) {
    Type type = op.getType(), exponentType = op.getRhs().getType();
    if (!isa<FloatType>(type) || !isExpanded(op))
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(exponentType, 0));
    Value one = arith::ConstantOp::create(builder, loc,
                                          builder.getFloatAttr(type, 1.0));
    Value negative = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, op.getRhs(), zero);
    Value minus = arith::SubIOp::create(builder, loc, zero, op.getRhs());
    Value magnitude =
        arith::SelectOp::create(builder, loc, negative, minus, op.getRhs());
    Value power = buildPower(builder, loc, op.getLhs(), magnitude);
    Value inverse = arith::DivFOp::create(builder, loc, one, power);
    op.replaceAllUsesWith(
        Value(arith::SelectOp::create(builder, loc, negative, inverse, power)));
    op.erase();
  });
}

LogicalResult gpuasync::lowerIntrinsicMath(Operation *root) {
  expandCompositeMath(root);
  MLIRContext *context = root->getContext();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  LLVMTypeConverter converter(context, options);
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addDynamicallyLegalDialect<math::MathDialect>(
      [](Operation *op) { return !isIntrinsicMath(op); });
  RewritePatternSet patterns(context);
  populateMathToLLVMConversionPatterns(converter, patterns,
                                       /*approximateLog1p=*/false);
  return applyPartialConversion(root, target, std::move(patterns));
}

LogicalResult gpuasync::lowerMathToLibm(Operation *root) {
  expandCompositeMath(root);
  MLIRContext *context = root->getContext();
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  // LLVM has intrinsics for the others, which can fold and vectorise; it knows
  // expm1 and log1p only as less accurate combinations.
  target.addIllegalOp<math::AcosOp, math::AcoshOp, math::AsinOp, math::AsinhOp,
                      math::AtanOp, math::Atan2Op, math::AtanhOp, math::CbrtOp,
                      math::CoshOp, math::ErfOp, math::ErfcOp, math::ExpM1Op,
                      math::Log1pOp, math::SinhOp, math::TanOp, math::TanhOp>();
  RewritePatternSet patterns(context);
  populateMathToLibmConversionPatterns(patterns);
  return applyPartialConversion(root, target, std::move(patterns));
}

/// Half precision is computed in single precision, and rounded once more.
static void computeInSinglePrecision(Operation *op) {
  Type type = op->getResult(0).getType();
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  if (!element.isF16() && !element.isBF16())
    return;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto withElements = [&](Type old, Type element) -> Type {
    auto shaped = dyn_cast<ShapedType>(old);
    return shaped ? Type(shaped.clone(element)) : element;
  };
  for (OpOperand &operand : op->getOpOperands())
    if (getElementTypeOrSelf(operand.get().getType()) == element)
      operand.set(arith::ExtFOp::create(
          builder, loc,
          withElements(operand.get().getType(), builder.getF32Type()),
          operand.get()));
  op->getResult(0).setType(withElements(type, builder.getF32Type()));
  builder.setInsertionPointAfter(op);
  Value rounded = arith::TruncFOp::create(builder, loc, type, op->getResult(0));
  op->getResult(0).replaceAllUsesExcept(rounded, rounded.getDefiningOp());
}

LogicalResult gpuasync::expandMath(Operation *root, StringRef missing) {
  expandCompositeMath(root);
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
        !isNativeMath(op))
      ops.push_back(op);
  });
  // First, so that the error names what the program says.
  for (Operation *op : ops)
    if (auto type = dyn_cast<TensorType>(op->getOperand(0).getType());
        type && !type.hasStaticShape())
      return op->emitOpError("on ")
             << type << " needs constants of an open size, which are none";
  for (Operation *op : ops)
    if (getElementTypeOrSelf(op->getOperand(0).getType()).isF64())
      return op->emitOpError("on ")
             << op->getOperand(0).getType() << " needs " << missing;
  for (Operation *op : ops)
    computeInSinglePrecision(op);
  expandMathFunctions(root);
  return failure(
      root->walk([&](Operation *op) -> WalkResult {
            if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
                isNativeMath(op))
              return WalkResult::advance();
            return op->emitOpError("on ")
                   << op->getOperand(0).getType() << " needs " << missing;
          })
          .wasInterrupted());
}
