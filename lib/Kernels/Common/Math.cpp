//===- Math.cpp - math ops of kernels ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Math.h.
//===----------------------------------------------------------------------===//

#include "Math.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// What upstream's lowering to NVVM leaves out, and LLVM has an exact intrinsic
/// for.
static bool isIntrinsicMath(Operation *op) {
  return isa<math::AbsIOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp, math::TruncOp>(op);
}

/// What LLVM's code generators do without a library, to the last bit.
static bool isNativeMath(Operation *op) {
  return isIntrinsicMath(op) ||
         isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp,
             math::FmaOp, math::RoundEvenOp, math::RoundOp, math::RsqrtOp,
             math::SqrtOp>(op);
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
static void expandCompositeMath(Operation *root, bool expandLog10 = false) {
  expandFloatClassification(root);
  RewritePatternSet patterns(root->getContext());
  math::populateExpansionPatterns(patterns, {"clampf"});
  (void)applyPatternsGreedily(root, std::move(patterns));
  root->walk([&](math::Log10Op op) {
    // MLIR has no expansion of its own; in single precision the factor costs
    // half a unit in the last place.
    Type element = getElementTypeOrSelf(op.getType());
    if (!expandLog10 || element.isF64())
      return;
    OpBuilder builder(op);
    Value log = math::LogOp::create(builder, op.getLoc(), op.getOperand(),
                                    op.getFastmathAttr());
    TypedAttr factor = builder.getFloatAttr(element, 0.43429448190325182765);
    if (auto shaped = dyn_cast<ShapedType>(op.getType()))
      factor = DenseElementsAttr::get(shaped, factor);
    Value scale = arith::ConstantOp::create(builder, op.getLoc(), factor);
    op.replaceAllUsesWith(
        Value(arith::MulFOp::create(builder, op.getLoc(), log, scale)));
    op.erase();
  });
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

/// An op on vectors as one on each of their elements.
static void scalarize(math::FPowIOp op) {
  auto type = dyn_cast<VectorType>(op.getType());
  if (!type || type.isScalable())
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value result =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<int64_t> place =
        delinearize(i, computeStrides(type.getShape()));
    auto element = [&](Value vector) {
      return vector::ExtractOp::create(builder, loc, vector, place);
    };
    Value power =
        math::FPowIOp::create(builder, loc, element(op.getLhs()),
                              element(op.getRhs()), op.getFastmathAttr());
    result = vector::InsertOp::create(builder, loc, power, result, place);
  }
  op.replaceAllUsesWith(result);
  op.erase();
}

void gpuasync::expandIntegerPowers(Operation *root, bool floatBase) {
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
    Value base = op.getLhs(), exponent = op.getRhs();
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
  root->walk([&](math::FPowIOp op) {
    if (isExpanded(op))
      scalarize(op);
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

namespace {
/// Builds arithmetic on f32 or vectors of f32 at one op.
struct MathBuilder {
  MathBuilder(Operation *op)
      : builder(op), loc(op->getLoc()), type(op->getOperand(0).getType()) {}

  Value splat(Type like, TypedAttr value) {
    TypedAttr attribute = value;
    if (auto shaped = dyn_cast<ShapedType>(like))
      attribute = DenseElementsAttr::get(shaped, Attribute(value));
    return arith::ConstantOp::create(builder, loc, attribute);
  }
  Value constant(double value) {
    return splat(type, builder.getF32FloatAttr(value));
  }
  Type integerType() {
    Type i32 = builder.getI32Type();
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped ? Type(shaped.clone(i32)) : i32;
  }
  Value integer(int32_t value) {
    return splat(integerType(), builder.getI32IntegerAttr(value));
  }
  template <typename Op, typename... Args>
  Value make(Args... args) {
    return Op::create(builder, loc, args...);
  }
  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
  Value fma(Value a, Value b, Value c) { return make<math::FmaOp>(a, b, c); }
  Value greater(Value a, Value b) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return make<arith::SelectOp>(condition, a, b);
  }
  /// To an integer; what does not fit becomes 0.
  Value toInteger(Value a) {
    Value fits = greater(constant(1e9), make<math::AbsFOp>(a));
    return make<arith::FPToSIOp>(integerType(), select(fits, a, constant(0)));
  }
  /// Whether bit `mask` of `a` is set.
  Value bit(Value a, int32_t mask) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::ne,
                               make<arith::AndIOp>(a, integer(mask)),
                               integer(0));
  }
  /// 2 ** a for an integer -126 <= a <= 127.
  Value powerOfTwo(Value a) {
    Value biased = make<arith::AddIOp>(a, integer(127));
    return make<arith::BitcastOp>(type,
                                  make<arith::ShLIOp>(biased, integer(23)));
  }

  OpBuilder builder;
  Location loc;
  Type type;
};
} // namespace

/// Sine, cosine and the quadrant of x: x = quadrant * pi/2 + r, |r| <= pi/4.
/// The reduction in three steps (Cody and Waite) keeps r to a unit in the last
/// place up to about |x| = 1e5; the polynomials are those of Cephes' sinf and
/// cosf.
static std::tuple<Value, Value, Value> buildSinCos(MathBuilder &b, Value x) {
  Value k =
      b.make<math::RoundEvenOp>(b.mul(x, b.constant(0.636619772367581343)));
  Value r = b.fma(k, b.constant(-1.57079637050628662109375), x);
  r = b.fma(k, b.constant(4.37113900018624283e-8), r);
  r = b.fma(k, b.constant(-1.71512451000587e-15), r);
  Value z = b.mul(r, r);
  Value sine =
      b.fma(z, b.constant(-1.9515295891e-4), b.constant(8.3321608736e-3));
  sine = b.fma(sine, z, b.constant(-1.6666654611e-1));
  sine = b.fma(b.mul(sine, z), r, r);
  Value cosine = b.fma(z, b.constant(2.443315711809948e-5),
                       b.constant(-1.388731625493765e-3));
  cosine = b.fma(cosine, z, b.constant(4.166664568298827e-2));
  cosine =
      b.fma(b.mul(cosine, z), z, b.fma(z, b.constant(-0.5), b.constant(1)));
  return {sine, cosine, b.toInteger(k)};
}

/// Expansions in single precision where MLIR's lose most digits for some
/// arguments (sines beyond a few periods, hyperbolic functions near 0), or fail
/// (asinh of a large negative number).
static void expandAccurately(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<math::SinOp, math::CosOp, math::TanOp, math::SinhOp, math::AsinhOp,
            math::AtanhOp, math::Exp2Op>(op) &&
        getElementTypeOrSelf(op->getOperand(0).getType()).isF32())
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    MathBuilder b(op);
    Value x = op->getOperand(0);
    Value a = b.make<math::AbsFOp>(x);
    Value result;
    if (isa<math::SinOp, math::CosOp, math::TanOp>(op)) {
      auto [sine, cosine, quadrant] = buildSinCos(b, x);
      Value minus = b.constant(-1);
      if (isa<math::TanOp>(op)) {
        Value odd = b.bit(quadrant, 1);
        result = b.div(b.select(odd, b.mul(cosine, minus), sine),
                       b.select(odd, sine, cosine));
      } else {
        if (isa<math::CosOp>(op))
          quadrant = b.make<arith::AddIOp>(quadrant, b.integer(1));
        result = b.select(b.bit(quadrant, 1), cosine, sine);
        result = b.select(b.bit(quadrant, 2), b.mul(result, minus), result);
      }
    } else if (isa<math::SinhOp>(op)) {
      Value e = b.make<math::ExpM1Op>(a);
      Value rest = b.div(e, b.add(e, b.constant(1)));
      // Beyond 20 the rest is 1 of billions, and inf / inf further on.
      rest = b.select(b.greater(a, b.constant(20)), b.constant(0), rest);
      result = b.mul(b.add(e, rest), b.constant(0.5));
      result = b.make<math::CopySignOp>(result, x);
    } else if (isa<math::AtanhOp>(op)) {
      Value ratio = b.div(b.add(a, a), b.sub(b.constant(1), a));
      result = b.mul(b.make<math::Log1pOp>(ratio), b.constant(0.5));
      result = b.make<math::CopySignOp>(result, x);
    } else if (isa<math::AsinhOp>(op)) {
      Value square = b.mul(a, a);
      Value root1 = b.make<math::SqrtOp>(b.add(square, b.constant(1)));
      Value near = b.make<math::Log1pOp>(
          b.add(a, b.div(square, b.add(root1, b.constant(1)))));
      Value far =
          b.add(b.make<math::LogOp>(a), b.constant(0.693147180559945309));
      result = b.select(b.greater(a, b.constant(1e9)), far, near);
      result = b.make<math::CopySignOp>(result, x);
    } else {
      Value low = b.constant(-151), high = b.constant(129);
      Value clamped = b.select(b.greater(x, high), high, x);
      clamped = b.select(b.greater(low, clamped), low, clamped);
      Value n = b.make<math::RoundEvenOp>(clamped);
      Value f = b.mul(b.sub(clamped, n), b.constant(0.693147180559945309));
      Value whole = b.toInteger(n);
      Value half = b.make<arith::ShRSIOp>(whole, b.integer(1));
      Value other = b.make<arith::SubIOp>(whole, half);
      result = b.mul(b.mul(b.make<math::ExpOp>(f), b.powerOfTwo(half)),
                     b.powerOfTwo(other));
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}

LogicalResult gpuasync::expandMath(Operation *root, StringRef missing) {
  expandCompositeMath(root, /*expandLog10=*/true);
  auto check = [&](function_ref<bool(Operation *)> isRefused) {
    return failure(
        root->walk([&](Operation *op) -> WalkResult {
              if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
                  isNativeMath(op) || !isRefused(op))
                return WalkResult::advance();
              return op->emitOpError("on ")
                     << op->getOperand(0).getType() << " needs " << missing;
            })
            .wasInterrupted());
  };
  // First, so that the error names what the program says.
  if (failed(check([](Operation *op) {
        return getElementTypeOrSelf(op->getOperand(0).getType()).isF64();
      })))
    return failure();

  MLIRContext *context = root->getContext();
  auto any = [](StringRef) { return true; };
  {
    // Half precision is computed in single precision.
    RewritePatternSet patterns(context);
    populateMathF32ExpansionPatterns(patterns, any);
    if (failed(applyPatternsGreedily(root, std::move(patterns))))
      return failure();
  }
  expandAccurately(root);
  RewritePatternSet patterns(context);
  populateMathPolynomialApproximationPatterns(patterns, any, /*benefit=*/2);
  math::populateExpansionPatterns(patterns, {"cosh", "acosh", "powf", "fpowi"});
  if (failed(applyPatternsGreedily(root, std::move(patterns))))
    return failure();
  return check([](Operation *) { return true; });
}
