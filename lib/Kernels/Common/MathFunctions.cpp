//===- MathFunctions.cpp - functions in single precision ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function is a reduction of its argument to a small interval, a
// polynomial there, and the way back. The polynomials are minimax fits (Remez)
// of the relative error. Nothing branches, so that vectors need no special
// care.
//===----------------------------------------------------------------------===//

#include "MathFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// Builds arithmetic on f32, or vectors of f32, in front of one op.
class Functions {
public:
  explicit Functions(Operation *op)
      : builder(op), loc(op->getLoc()), type(op->getOperand(0).getType()) {}

  Value exp(Value x);
  Value exp2(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value log2(Value x);
  Value log10(Value x);
  Value log1p(Value x);
  Value sin(Value x) { return buildSinCos(x).first; }
  Value cos(Value x) { return buildSinCos(x).second; }
  Value tan(Value x);
  Value asin(Value x);
  Value acos(Value x);
  Value atan(Value x);
  Value atan2(Value y, Value x);
  Value sinh(Value x);
  Value cosh(Value x);
  Value tanh(Value x);
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);
  Value erf(Value x);
  Value erfc(Value x);
  Value cbrt(Value x);
  Value pow(Value x, Value y);

private:
  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  template <typename Op, typename... Args>
  Value make(Args... args) {
    return Op::create(builder, loc, args...);
  }
  Type withElements(Type element) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped ? Type(shaped.clone(element)) : element;
  }
  Value splat(TypedAttr value) {
    if (auto shaped = dyn_cast<ShapedType>(withElements(value.getType())))
      value = DenseElementsAttr::get(shaped, Attribute(value));
    return make<arith::ConstantOp>(value);
  }
  Value number(double value) { return splat(builder.getF32FloatAttr(value)); }
  Value integer(int64_t value) {
    return splat(builder.getI32IntegerAttr(int32_t(value)));
  }
  Value wide(int64_t value) { return splat(builder.getI64IntegerAttr(value)); }

  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
  Value fma(Value a, Value b, Value c) { return make<math::FmaOp>(a, b, c); }
  Value neg(Value a) { return make<arith::NegFOp>(a); }
  Value abs(Value a) { return make<math::AbsFOp>(a); }
  Value sqrt(Value a) { return make<math::SqrtOp>(a); }
  Value copySign(Value a, Value b) { return make<math::CopySignOp>(a, b); }
  Value nearest(Value a) { return make<math::RoundEvenOp>(a); }
  Value less(Value a, Value b) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, b);
  }
  Value less(Value a, double b) { return less(a, number(b)); }
  Value greater(Value a, double b) { return less(number(b), a); }
  Value equal(Value a, double b) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, a, number(b));
  }
  Value isNaN(Value a) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::UNO, a, a);
  }
  Value both(Value a, Value b) { return make<arith::AndIOp>(a, b); }
  Value either(Value a, Value b) { return make<arith::OrIOp>(a, b); }
  Value select(Value condition, Value a, Value b) {
    return make<arith::SelectOp>(condition, a, b);
  }
  /// `a` where it lies between, else the bound. A NaN stays one.
  Value clamp(Value a, double low, double high) {
    a = select(less(a, low), number(low), a);
    return select(greater(a, high), number(high), a);
  }

  Value bits(Value a) {
    return make<arith::BitcastOp>(withElements(builder.getI32Type()), a);
  }
  Value fromBits(Value a) {
    return make<arith::BitcastOp>(withElements(builder.getF32Type()), a);
  }
  Value plus(Value a, int64_t b) { return make<arith::AddIOp>(a, integer(b)); }
  Value shiftLeft(Value a, int64_t by) {
    return make<arith::ShLIOp>(a, integer(by));
  }
  Value shiftRight(Value a, int64_t by) {
    return make<arith::ShRSIOp>(a, integer(by));
  }
  Value toFloat(Value a) {
    return make<arith::SIToFPOp>(withElements(builder.getF32Type()), a);
  }
  /// To an integer; what does not fit becomes 0.
  Value toInteger(Value a) {
    return make<arith::FPToSIOp>(withElements(builder.getI32Type()),
                                 select(less(abs(a), 1e9), a, number(0)));
  }
  /// Whether a bit of `mask` is set.
  Value hasBit(Value a, int64_t mask) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::ne,
                               make<arith::AndIOp>(a, integer(mask)),
                               integer(0));
  }
  /// The sum of c[i] * x ** i.
  Value polynomial(Value x, ArrayRef<double> c) {
    Value sum = number(c.back());
    for (double next : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, number(next));
    return sum;
  }

  //===--------------------------------------------------------------------===//
  // Parts of functions
  //===--------------------------------------------------------------------===//

  /// 2 ** a for an integer -126 <= a <= 127.
  Value powerOfTwo(Value a) { return fromBits(shiftLeft(plus(a, 127), 23)); }
  /// a * 2 ** n for -160 <= n <= 130, rounded once.
  Value scale(Value a, Value n) {
    Value half = shiftRight(n, 1);
    return mul(mul(a, powerOfTwo(half)),
               powerOfTwo(make<arith::SubIOp>(n, half)));
  }

  /// e ** x = 2 ** n * (1 + rest).
  struct Power {
    Value n, rest;
  };
  /// Of x + low, for |x| <= 110.
  Power reduceExp(Value x, Value low = Value());
  /// e ** r - 1 for |r| <= ln(2) / 2.
  Value smallExpm1(Value r);

  /// x = 2 ** exponent * (1 + fraction), sqrt(1/2) <= 1 + fraction < sqrt(2),
  /// for a finite x above 0.
  struct Mantissa {
    Value exponent, fraction;
  };
  Mantissa split(Value x);
  /// ln(1 + f) = f + the result.
  Value logRest(Value f);
  /// `value`, the logarithm of x, and what it is where there is no such.
  Value logOrSpecial(Value x, Value value);

  /// x = quadrant * pi/2 + rest, |rest| <= pi/4; quadrant modulo 4.
  struct Angle {
    Value rest, quadrant;
  };
  Angle reduceAngle(Value x);
  Angle reduceLargeAngle(Value x);
  std::pair<Value, Value> buildSinCos(Value x);
  /// Sine and cosine of |rest| <= pi/4.
  std::pair<Value, Value> smallSinCos(Value rest);

  /// atan(t) for 0 <= t <= 1.
  Value smallAtan(Value t);
  /// (asin(s) - s) / s for z = s * s, 0 <= s <= 1/2.
  Value asinRest(Value z);
  /// erf(x) for |x| <= 1.
  Value smallErf(Value x);
  /// erfc(a) for a >= 0.47.
  Value largeErfc(Value a);
  /// pow for a finite a above 0: a ** y.
  Value positivePow(Value a, Value y);

  OpBuilder builder;
  Location loc;
  Type type;
};
} // namespace

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

// Constants as a sum of numbers of single precision.
static constexpr double ln2High = 0.693147182464599609375;
static constexpr double ln2Low = -1.90465421e-9;
static constexpr double log2eHigh = 1.44269502162933349609375;
static constexpr double log2eLow = 1.92596303e-8;
static constexpr double halfPiHigh = 1.57079637050628662109375;
static constexpr double halfPiLow = -4.37113883e-8;
static constexpr double halfPiRest = -1.71512451e-15;
// So few bits that products with exponents are exact.
static constexpr double ln2Short = 0.693359375;
static constexpr double ln2ShortRest = -2.12194440e-4;
static constexpr double log10Of2Short = 0.30078125;
static constexpr double log10Of2ShortRest = 2.48745663981195213739e-4;

//===----------------------------------------------------------------------===//
// Powers of e and 2
//===----------------------------------------------------------------------===//

Value Functions::smallExpm1(Value r) {
  Value q = polynomial(
      r, {0.5, 0.166665182, 0.041666206, 0.00836888328, 0.0013950495});
  return fma(mul(r, r), q, r);
}

Functions::Power Functions::reduceExp(Value x, Value low) {
  Value n = nearest(mul(x, number(log2eHigh)));
  Value r = fma(n, number(-ln2High), x);
  r = fma(n, number(-ln2Low), r);
  if (low)
    r = add(r, low);
  return {toInteger(n), smallExpm1(r)};
}

Value Functions::exp(Value x) {
  Power power = reduceExp(clamp(x, -105, 90));
  return scale(add(power.rest, number(1)), power.n);
}

Value Functions::exp2(Value x) {
  x = clamp(x, -151, 129);
  Value n = nearest(x);
  Value rest = smallExpm1(mul(sub(x, n), number(ln2High)));
  return scale(add(rest, number(1)), toInteger(n));
}

Value Functions::expm1(Value x) {
  Power power = reduceExp(clamp(x, -30, 89));
  // 2 ** n * rest + (2 ** n - 1), halved: the largest 2 ** n is no number.
  Value half = powerOfTwo(plus(power.n, -1));
  Value result = fma(half, power.rest, sub(half, number(0.5)));
  result = add(result, result);
  return select(less(abs(x), 0x1p-25), x, result);
}

Value Functions::sinh(Value x) {
  Value a = abs(x);
  Value e = expm1(a);
  Value near = mul(add(e, div(e, add(e, number(1)))), number(0.5));
  Value root = exp(mul(a, number(0.5)));
  Value far = mul(mul(root, number(0.5)), root);
  return copySign(select(greater(a, 20), far, near), x);
}

Value Functions::cosh(Value x) {
  Value a = abs(x);
  Value root = exp(mul(a, number(0.5)));
  Value half = mul(mul(root, number(0.5)), root);
  return add(half, div(number(0.25), half));
}

Value Functions::tanh(Value x) {
  Value a = abs(x);
  Value e = expm1(add(a, a));
  Value result = div(e, add(e, number(2)));
  return copySign(select(greater(a, 20), number(1), result), x);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

Functions::Mantissa Functions::split(Value x) {
  Value isSmall = less(x, 0x1p-126);
  Value all = bits(select(isSmall, mul(x, number(0x1p23)), x));
  // From the bits of sqrt(1/2) on to the next power of two.
  Value exponent = shiftRight(plus(all, -0x3f3504f3), 23);
  Value mantissa = fromBits(make<arith::SubIOp>(all, shiftLeft(exponent, 23)));
  exponent = select(isSmall, plus(exponent, -23), exponent);
  return {toFloat(exponent), sub(mantissa, number(1))};
}

Value Functions::logRest(Value f) {
  Value p = polynomial(f, {0.333333135, -0.250000089, 0.200021192, -0.166679963,
                           0.142195538, -0.1240559, 0.118881531, -0.116756313,
                           0.067466259});
  Value square = mul(f, f);
  return fma(mul(square, f), p, mul(square, number(-0.5)));
}

Value Functions::logOrSpecial(Value x, Value value) {
  // An infinite number and a NaN stay what they are.
  Value special = select(less(x, 0.0), number(notANumber), x);
  special = select(equal(x, 0), number(-infinity), special);
  return select(both(greater(x, 0), less(x, infinity)), value, special);
}

Value Functions::log(Value x) {
  auto [e, f] = split(x);
  Value rest = fma(e, number(ln2ShortRest), logRest(f));
  return logOrSpecial(x, fma(e, number(ln2Short), add(f, rest)));
}

Value Functions::log2(Value x) {
  auto [e, f] = split(x);
  Value log = add(f, logRest(f));
  Value low = fma(log, number(log2eLow), e);
  return logOrSpecial(x, fma(log, number(log2eHigh), low));
}

Value Functions::log10(Value x) {
  auto [e, f] = split(x);
  Value log = mul(add(f, logRest(f)), number(0.43429448190325182765));
  Value low = fma(e, number(log10Of2ShortRest), log);
  return logOrSpecial(x, fma(e, number(log10Of2Short), low));
}

Value Functions::log1p(Value x) {
  Value u = add(x, number(1));
  // What u is short of.
  Value lost =
      select(less(x, 1), sub(x, sub(u, number(1))), sub(number(1), sub(u, x)));
  Value logOfSum = log(u);
  Value result = add(logOfSum, div(lost, u));
  result = select(either(equal(x, -1), equal(x, infinity)), logOfSum, result);
  return select(less(abs(x), 0x1p-25), x, result);
}

Value Functions::asinh(Value x) {
  Value a = abs(x);
  Value square = mul(a, a);
  Value root = add(sqrt(add(square, number(1))), number(1));
  Value near = log1p(add(a, div(square, root)));
  Value far = add(log(a), number(ln2High));
  return copySign(select(greater(a, 1e9), far, near), x);
}

Value Functions::acosh(Value x) {
  Value above = sub(x, number(1));
  Value near = log1p(add(above, sqrt(mul(above, add(above, number(2))))));
  Value far = add(log(x), number(ln2High));
  Value result = select(greater(x, 1e9), far, near);
  return select(less(x, 1), number(notANumber), result);
}

Value Functions::atanh(Value x) {
  Value a = abs(x);
  Value result = log1p(div(add(a, a), sub(number(1), a)));
  return copySign(mul(result, number(0.5)), x);
}

//===----------------------------------------------------------------------===//
// Sine and cosine
//===----------------------------------------------------------------------===//

/// Payne and Hanek's reduction: of 2/pi those bits that count for the quadrant
/// and 62 after it, as an integer, times the 24 bits of x.
Functions::Angle Functions::reduceLargeAngle(Value x) {
  // The binary digits of 2/pi after the point.
  static constexpr uint32_t words[] = {0,          0xa2f9836e, 0x4e441529,
                                       0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                       0x3c439041};
  Type i64 = withElements(builder.getI64Type());
  Value all = bits(abs(x));
  // Of a number in [1, 4), whose product counts from the digits' first word on.
  Value exponent = plus(make<arith::ShRUIOp>(all, integer(23)), -128);
  Value index = make<arith::ShRUIOp>(exponent, integer(5));
  Value shift =
      make<arith::ExtUIOp>(i64, make<arith::AndIOp>(exponent, integer(31)));
  // words[index + k]; the largest exponent is 126.
  auto word = [&](unsigned k) {
    Value result = wide(words[3 + k]);
    for (unsigned i = 3; i-- > 0;)
      result = select(
          make<arith::CmpIOp>(arith::CmpIPredicate::eq, index, integer(i)),
          wide(words[i + k]), result);
    return result;
  };
  Value w[] = {word(0), word(1), word(2), word(3)};
  auto low32 = [&](Value a) {
    return make<arith::AndIOp>(a, wide(0xffffffff));
  };
  auto high32 = [&](Value a) { return make<arith::ShRUIOp>(a, wide(32)); };
  auto shifted = [&](Value high, Value low) {
    Value two = make<arith::OrIOp>(make<arith::ShLIOp>(high, wide(32)), low);
    return high32(make<arith::ShLIOp>(two, shift));
  };
  Value high = shifted(w[0], w[1]), middle = shifted(w[1], w[2]),
        low = shifted(w[2], w[3]);
  Value mantissa =
      make<arith::OrIOp>(shiftLeft(all, 8), integer(int64_t(1) << 31));
  mantissa = make<arith::ExtUIOp>(i64, mantissa);
  auto product = [&](Value a) { return make<arith::MulIOp>(mantissa, a); };
  Value sum = make<arith::AddIOp>(product(middle), high32(product(low)));
  sum = make<arith::AddIOp>(make<arith::ShLIOp>(low32(product(high)), wide(32)),
                            sum);
  // To the nearest quadrant: the rest has a sign.
  Value quadrant = make<arith::ShRUIOp>(
      make<arith::AddIOp>(sum, wide(int64_t(1) << 61)), wide(62));
  Value rest =
      make<arith::SubIOp>(sum, make<arith::ShLIOp>(quadrant, wide(62)));
  rest = make<arith::SIToFPOp>(withElements(builder.getF32Type()), rest);
  rest = mul(rest, number(std::ldexp(halfPiHigh, -62)));
  quadrant =
      make<arith::TruncIOp>(withElements(builder.getI32Type()), quadrant);
  Value negative = less(x, 0.0);
  return {
      select(negative, neg(rest), rest),
      select(negative, make<arith::SubIOp>(integer(0), quadrant), quadrant)};
}

Functions::Angle Functions::reduceAngle(Value x) {
  // Cody and Waite's reduction in three steps, as long as products of the first
  // part are exact.
  Value count = nearest(mul(x, number(0.636619772367581343)));
  Value rest = fma(count, number(-halfPiHigh), x);
  rest = fma(count, number(-halfPiLow), rest);
  rest = fma(count, number(-halfPiRest), rest);
  Value a = abs(x);
  rest = select(less(a, 0.78), x, rest);
  Angle large = reduceLargeAngle(x);
  Value isLarge = greater(a, 65536);
  rest = select(isLarge, large.rest, rest);
  return {select(less(a, infinity), rest, number(notANumber)),
          select(isLarge, large.quadrant, toInteger(count))};
}

std::pair<Value, Value> Functions::smallSinCos(Value r) {
  Value z = mul(r, r);
  Value sine = polynomial(z, {-0.166666538, 0.0083321128, -0.000195087414});
  Value cosine = polynomial(z, {0.0416666456, -0.00138872513, 2.44256826e-05});
  // The sign is that of a zero, too.
  return {copySign(fma(mul(sine, z), r, r), r),
          fma(mul(z, z), cosine, fma(z, number(-0.5), number(1)))};
}

std::pair<Value, Value> Functions::buildSinCos(Value x) {
  auto [rest, quadrant] = reduceAngle(x);
  auto [s, c] = smallSinCos(rest);
  Value isOdd = hasBit(quadrant, 1);
  Value sine = select(isOdd, c, s), cosine = select(isOdd, s, c);
  return {select(hasBit(quadrant, 2), neg(sine), sine),
          select(hasBit(plus(quadrant, 1), 2), neg(cosine), cosine)};
}

Value Functions::tan(Value x) {
  auto [rest, quadrant] = reduceAngle(x);
  auto [s, c] = smallSinCos(rest);
  Value isOdd = hasBit(quadrant, 1);
  return div(select(isOdd, neg(c), s), select(isOdd, s, c));
}

//===----------------------------------------------------------------------===//
// Inverse functions of angles
//===----------------------------------------------------------------------===//

Value Functions::smallAtan(Value t) {
  Value z = mul(t, t);
  Value p = polynomial(z, {-0.333332986, 0.199985489, -0.142642438, 0.109521925,
                           -0.0840346739, 0.0579578541, -0.0311780814,
                           0.0109147206, -0.00179364544});
  return fma(mul(p, z), t, t);
}

Value Functions::atan(Value x) {
  Value a = abs(x);
  Value isFar = greater(a, 1);
  Value r = smallAtan(select(isFar, div(number(1), a), a));
  Value far = add(sub(number(halfPiHigh), r), number(halfPiLow));
  return copySign(select(isFar, far, r), x);
}

Value Functions::atan2(Value y, Value x) {
  Value a = abs(x), b = abs(y);
  Value isSteep = less(a, b);
  Value most = select(isSteep, b, a), least = select(isSteep, a, b);
  Value t = div(least, most);
  // 0 / 0 is 0 here, and one infinite number by another 1.
  t = select(equal(most, 0), number(0), t);
  t = select(equal(least, infinity), number(1), t);
  Value r = smallAtan(t);
  r = select(isSteep, add(sub(number(halfPiHigh), r), number(halfPiLow)), r);
  Value isLeft =
      make<arith::CmpIOp>(arith::CmpIPredicate::slt, bits(x), integer(0));
  Value left = add(sub(number(2 * halfPiHigh), r), number(2 * halfPiLow));
  r = copySign(select(isLeft, left, r), y);
  return select(either(isNaN(x), isNaN(y)), number(notANumber), r);
}

Value Functions::asinRest(Value z) {
  return mul(z, polynomial(z, {0.166667521, 0.0749529675, 0.0454704314,
                               0.0241792779, 0.0421666689}));
}

Value Functions::asin(Value x) {
  Value a = abs(x);
  Value z = mul(sub(number(1), a), number(0.5));
  Value s = sqrt(z);
  Value far = fma(s, asinRest(z), s);
  far = add(sub(number(halfPiHigh), add(far, far)), number(halfPiLow));
  Value near = fma(a, asinRest(mul(a, a)), a);
  return copySign(select(greater(a, 0.5), far, near), x);
}

Value Functions::acos(Value x) {
  Value a = abs(x);
  Value z = mul(sub(number(1), a), number(0.5));
  Value s = sqrt(z);
  Value far = fma(s, asinRest(z), s);
  far = add(far, far);
  far =
      select(less(x, 0.0),
             add(sub(number(2 * halfPiHigh), far), number(2 * halfPiLow)), far);
  Value near = fma(x, asinRest(mul(x, x)), x);
  near = add(sub(number(halfPiHigh), near), number(halfPiLow));
  return select(less(a, 0.5), near, far);
}

//===----------------------------------------------------------------------===//
// The error function
//===----------------------------------------------------------------------===//

Value Functions::smallErf(Value x) {
  return mul(x, polynomial(mul(x, x),
                           {1.12837911, -0.37612626, 0.112835854, -0.0268538129,
                            0.00518832821, -0.000801019836, 7.85387747e-05}));
}

/// erfc(a) = e ** (-a * a) * p(t) / (1 + 2 * a), t = (a - 5/2) / (a + 5/2).
Value Functions::largeErfc(Value a) {
  a = clamp(a, 0.47, 10.2);
  Value t = div(sub(a, number(2.5)), add(a, number(2.5)));
  Value p = polynomial(t, {1.26483822, -0.122356772, -0.0990243629, 0.15763028,
                           -0.102970719, 0.0327556506, 0.000958683842,
                           -0.00434892299, 0.000411088986, 0.000535046798});
  Value factor = div(p, fma(a, number(2), number(1)));
  Value square = mul(a, a);
  Value lost = fma(a, a, neg(square));
  Power power = reduceExp(neg(square), neg(lost));
  return scale(fma(factor, power.rest, factor), power.n);
}

Value Functions::erf(Value x) {
  Value a = abs(x);
  Value far = copySign(sub(number(1), largeErfc(a)), x);
  return select(greater(a, 1), far, smallErf(x));
}

Value Functions::erfc(Value x) {
  Value large = largeErfc(abs(x));
  Value near = sub(number(1), smallErf(x));
  Value result = select(greater(x, 0.5), large, near);
  return select(less(x, -1), sub(number(2), large), result);
}

//===----------------------------------------------------------------------===//
// Roots and powers
//===----------------------------------------------------------------------===//

Value Functions::cbrt(Value x) {
  Value a = abs(x);
  Value factor = select(less(a, 0x1p-126), number(0x1p24), number(1));
  factor = select(greater(a, 0x1p125), number(0x1p-24), factor);
  Value scaled = mul(a, factor);
  // A third of the exponent, to about five bits, then Halley's method twice.
  Value root =
      fromBits(plus(make<arith::DivUIOp>(bits(scaled), integer(3)), 709958130));
  for (unsigned i = 0; i < 2; ++i) {
    Value cube = mul(mul(root, root), root);
    Value over = add(add(scaled, scaled), cube);
    Value under = add(add(cube, cube), scaled);
    root = mul(root, div(over, under));
  }
  // And Newton's once, with the cube in two parts.
  Value square = mul(root, root);
  Value lost = fma(root, root, neg(square));
  Value excess = fma(square, root, neg(scaled));
  excess = fma(lost, root, excess);
  root = sub(root, div(excess, mul(square, number(3))));
  root = mul(root, select(greater(factor, 1), number(0x1p-8),
                          select(less(factor, 1), number(0x1p8), number(1))));
  Value isOrdinary = both(greater(a, 0), less(a, infinity));
  return copySign(select(isOrdinary, root, a), x);
}

Value Functions::positivePow(Value a, Value y) {
  auto [e, f] = split(a);
  // ln(1 + f) = 2 * atanh(s), s = f / (2 + f) in two parts.
  Value sum = add(f, number(2));
  Value sumLost = sub(f, sub(sum, number(2)));
  Value s = div(f, sum);
  Value sLost = fma(neg(s), sum, f);
  sLost = div(fma(neg(s), sumLost, sLost), sum);
  Value z = mul(s, s);
  Value rest = mul(
      mul(polynomial(z, {0.333333313, 0.200001672, 0.14268662, 0.117909729}),
          z),
      s);
  rest = add(sLost, rest);
  rest = add(rest, rest);
  rest = fma(e, number(ln2ShortRest), rest);
  Value whole = mul(e, number(ln2Short)), twice = add(s, s);
  Value high = add(whole, twice);
  rest = add(add(sub(whole, high), twice), rest);
  // The logarithm, and its product with y, in two parts.
  Value log = add(high, rest);
  Value logLost = add(sub(high, log), rest);
  Value product = mul(y, log);
  Value lost = fma(y, logLost, fma(y, log, neg(product)));
  Value isOrdinary = less(abs(product), 104);
  Power power =
      reduceExp(clamp(product, -105, 90), select(isOrdinary, lost, number(0)));
  return scale(add(power.rest, number(1)), power.n);
}

Value Functions::pow(Value x, Value y) {
  Value a = abs(x), b = abs(y);
  Value result = positivePow(a, y);
  // From 2 ** 24 on all numbers are even.
  Value floor = make<math::FloorOp>(y);
  Value isWhole = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, floor, y);
  Value half = mul(y, number(0.5));
  Value isOdd = both(make<arith::CmpFOp>(arith::CmpFPredicate::ONE,
                                         make<math::FloorOp>(half), half),
                     both(isWhole, less(b, 0x1p24)));
  Value isNegative =
      make<arith::CmpIOp>(arith::CmpIPredicate::slt, bits(x), integer(0));
  Value falls = less(y, 0.0);
  // Of 0 and of an infinite number.
  Value isEdge = either(equal(a, 0), equal(a, infinity));
  Value edge = select(make<arith::XOrIOp>(equal(a, 0), falls), number(0),
                      number(infinity));
  result = select(isEdge, edge, result);
  result = select(both(isNegative, isOdd), neg(result), result);
  Value hasNoPower =
      both(both(isNegative,
                make<arith::XOrIOp>(isWhole, splat(builder.getBoolAttr(true)))),
           make<arith::XOrIOp>(isEdge, splat(builder.getBoolAttr(true))));
  result = select(hasNoPower, number(notANumber), result);
  // To an infinite power.
  Value grows = make<arith::XOrIOp>(less(a, 1), greater(y, 0));
  Value limit = select(grows, number(infinity), number(0));
  limit = select(equal(a, 1), number(1), limit);
  result = select(equal(b, infinity), limit, result);
  result = select(either(isNaN(x), isNaN(y)), number(notANumber), result);
  return select(either(equal(y, 0), equal(x, 1)), number(1), result);
}

//===----------------------------------------------------------------------===//

static Value buildFunction(Operation *op) {
  Functions functions(op);
  Value x = op->getOperand(0);
#define FUNCTION(Op, name) .Case([&](math::Op) { return functions.name(x); })
  return llvm::TypeSwitch<Operation *, Value>(op)
      // clang-format off
      FUNCTION(ExpOp, exp)
      FUNCTION(Exp2Op, exp2)
      FUNCTION(ExpM1Op, expm1)
      FUNCTION(LogOp, log)
      FUNCTION(Log2Op, log2)
      FUNCTION(Log10Op, log10)
      FUNCTION(Log1pOp, log1p)
      FUNCTION(SinOp, sin)
      FUNCTION(CosOp, cos)
      FUNCTION(TanOp, tan)
      FUNCTION(AsinOp, asin)
      FUNCTION(AcosOp, acos)
      FUNCTION(AtanOp, atan)
      FUNCTION(SinhOp, sinh)
      FUNCTION(CoshOp, cosh)
      FUNCTION(TanhOp, tanh)
      FUNCTION(AsinhOp, asinh)
      FUNCTION(AcoshOp, acosh)
      FUNCTION(AtanhOp, atanh)
      FUNCTION(ErfOp, erf)
      FUNCTION(ErfcOp, erfc)
      FUNCTION(CbrtOp, cbrt)
                          // clang-format on
                          .Case([&](math::Atan2Op) {
                            return functions.atan2(x, op->getOperand(1));
                          })
                          .Case([&](math::PowFOp) {
                            return functions.pow(x, op->getOperand(1));
                          })
                          .Default(Value());
#undef FUNCTION
}

void gpuasync::expandMathFunctions(Operation *root) {
  root->walk([](Operation *op) {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        !getElementTypeOrSelf(op->getOperand(0).getType()).isF32())
      return;
    Value result = buildFunction(op);
    if (!result)
      return;
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  });
}
