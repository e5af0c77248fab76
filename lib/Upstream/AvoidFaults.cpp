//===- AvoidFaults.cpp - ops that MLIR makes wrong code of ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces ops whose folds, canonicalisation or lowering are wrong by others
// that mean the same.
//===----------------------------------------------------------------------===//

#include "CeilDivs.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/IndexSwitch.h"
#include "GPUAsync/Upstream/Faults.h"
#include "GPUAsync/Upstream/Passes.h"
#include "MaskedTransfers.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCAVOIDFAULTS
#include "GPUAsync/Upstream/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// The index dialect
//===----------------------------------------------------------------------===//

static arith::CmpIPredicate getPredicate(index::IndexCmpPredicate predicate) {
  using From = index::IndexCmpPredicate;
  using To = arith::CmpIPredicate;
  switch (predicate) {
  case From::EQ:
    return To::eq;
  case From::NE:
    return To::ne;
  case From::SLT:
    return To::slt;
  case From::SLE:
    return To::sle;
  case From::SGT:
    return To::sgt;
  case From::SGE:
    return To::sge;
  case From::ULT:
    return To::ult;
  case From::ULE:
    return To::ule;
  case From::UGT:
    return To::ugt;
  case From::UGE:
    return To::uge;
  }
  llvm_unreachable("unknown predicate");
}

/// The same of arith, or null where `op` is none of the index dialect's.
static Value buildOfArith(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
#define BINARY(From, To)                                                       \
  .Case<index::From>([&](auto) -> Value {                                      \
    return arith::To::create(builder, loc, op->getOperand(0),                  \
                             op->getOperand(1));                               \
  })
  return llvm::TypeSwitch<Operation *, Value>(op)
      // clang-format off
      BINARY(AddOp, AddIOp)
      BINARY(SubOp, SubIOp)
      BINARY(MulOp, MulIOp)
      BINARY(DivSOp, DivSIOp)
      BINARY(DivUOp, DivUIOp)
      BINARY(CeilDivSOp, CeilDivSIOp)
      BINARY(CeilDivUOp, CeilDivUIOp)
      BINARY(FloorDivSOp, FloorDivSIOp)
      BINARY(RemSOp, RemSIOp)
      BINARY(RemUOp, RemUIOp)
      BINARY(MaxSOp, MaxSIOp)
      BINARY(MaxUOp, MaxUIOp)
      BINARY(MinSOp, MinSIOp)
      BINARY(MinUOp, MinUIOp)
      BINARY(ShlOp, ShLIOp)
      BINARY(ShrSOp, ShRSIOp)
      BINARY(ShrUOp, ShRUIOp)
      BINARY(AndOp, AndIOp)
      BINARY(OrOp, OrIOp)
      BINARY(XOrOp, XOrIOp)
                          // clang-format on
                          .Case([&](index::CmpOp cmp) -> Value {
                            return arith::CmpIOp::create(
                                builder, loc, getPredicate(cmp.getPred()),
                                cmp.getLhs(), cmp.getRhs());
                          })
                          .Case([&](index::CastSOp cast) -> Value {
                            return arith::IndexCastOp::create(
                                builder, loc, cast.getType(), cast.getInput());
                          })
                          .Case([&](index::CastUOp cast) -> Value {
                            return arith::IndexCastUIOp::create(
                                builder, loc, cast.getType(), cast.getInput());
                          })
                          .Case([&](index::ConstantOp constant) -> Value {
                            return arith::ConstantOp::create(
                                builder, loc, constant.getValueAttr());
                          })
                          .Case([&](index::BoolConstantOp constant) -> Value {
                            return arith::ConstantOp::create(
                                builder, loc, constant.getValueAttr());
                          })
                          // On all devices, whatever the data layout says.
                          .Case([&](index::SizeOfOp) -> Value {
                            return arith::ConstantIndexOp::create(builder, loc,
                                                                  64);
                          })
                          .Default(Value());
#undef BINARY
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Drops dimensions of `op` by a view of their own, of the same elements. MLIR
/// compares the strides of the result with those of the source to find out
/// which ones are dropped, as if no steps came between, and crashes.
static void dropAfterwards(memref::SubViewOp op) {
  auto isOne = [](OpFoldResult value) { return isConstantIntValue(value, 1); };
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  MemRefType source = op.getSourceType();
  const int64_t dropped = source.getRank() - op.getType().getRank();
  if (dropped == 0 || llvm::count(op.getStaticSizes(), 1) == dropped ||
      llvm::all_of(op.getMixedStrides(), isOne))
    return;
  OpBuilder builder(op);
  auto whole = memref::SubViewOp::create(builder, op.getLoc(), op.getSource(),
                                         op.getMixedOffsets(), sizes,
                                         op.getMixedStrides());
  SmallVector<OpFoldResult> zeros(sizes.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(sizes.size(), builder.getIndexAttr(1));
  Value view = memref::SubViewOp::create(builder, op.getLoc(), op.getType(),
                                         whole, zeros, sizes, ones);
  op.replaceAllUsesWith(view);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Complex numbers
//===----------------------------------------------------------------------===//

namespace {
/// The parts of a complex number, in f64 if they are narrower.
struct WideComplex {
  ComplexType complexType;
  FloatType narrow, type;
  Value re, im;

  WideComplex(OpBuilder &b, Location loc, Value value)
      : complexType(cast<ComplexType>(value.getType())),
        narrow(cast<FloatType>(complexType.getElementType())),
        type(narrow.getWidth() < 64 ? b.getF64Type() : narrow) {
    re = complex::ReOp::create(b, loc, narrow, value);
    im = complex::ImOp::create(b, loc, narrow, value);
    if (!isExtended())
      return;
    re = arith::ExtFOp::create(b, loc, type, re);
    im = arith::ExtFOp::create(b, loc, type, im);
  }
  bool isExtended() const { return type != narrow; }
  Value number(OpBuilder &b, Location loc, double value) const {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }
  /// Builds a number of the original type.
  Value create(OpBuilder &b, Location loc, Value first, Value second) const {
    if (isExtended()) {
      first = arith::TruncFOp::create(b, loc, narrow, first);
      second = arith::TruncFOp::create(b, loc, narrow, second);
    }
    return complex::CreateOp::create(b, loc, complexType, first, second);
  }
};
} // namespace

/// Returns log1p(|z|^2 - 1) / 2 where |z| is near 1, else `length`. Squares of
/// f64 are computed with their rounding errors, since their sum less 1 is
/// small. `above` is the real part of z, or 1 + `re` if that is given.
static Value selectNearOne(OpBuilder &b, Location loc, Value re, Value above,
                           Value im, Value length) {
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc,
                                     b.getFloatAttr(above.getType(), value));
  };
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, loc, x, y);
  };
  auto multiply = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, loc, x, y);
  };
  Value minusOne = number(-1);
  Value a = multiply(above, above), c = multiply(im, im);
  auto errorOf = [&](Value x, Value square) -> Value {
    return math::FmaOp::create(b, loc, x, x,
                               arith::NegFOp::create(b, loc, square));
  };
  Value errors = add(errorOf(above, a), errorOf(im, c));
  if (re) {
    Value lost =
        arith::SubFOp::create(b, loc, re, add(above, minusOne)); // of 1 + re
    errors = add(errors, multiply(multiply(number(2), above), lost));
  }
  Value larger = arith::MaximumFOp::create(b, loc, a, c);
  Value smaller = arith::MinimumFOp::create(b, loc, a, c);
  Value excess = add(add(add(larger, minusOne), smaller), errors);
  Value isNear =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                            math::AbsFOp::create(b, loc, excess), number(0.5));
  Value near = multiply(number(0.5), math::Log1pOp::create(b, loc, excess));
  return arith::SelectOp::create(b, loc, isNear, near, length);
}

/// Builds log(z), or log(1 + z), of a complex number. MLIR's lowerings square
/// the parts, which may overflow, or divide the smaller part by the larger one
/// and take the NaN of 0 / 0 for that of two infinities: their log1p(-1) is 0.
/// The terms cancel if |z| is near 1. So types below f64 are computed in f64,
/// and f64 by selectNearOne.
template <typename Log>
static Value buildLog(OpBuilder &b, Log op) {
  constexpr bool isOfSum = std::is_same_v<Log, complex::Log1pOp>;
  Location loc = op.getLoc();
  arith::FastMathFlags flags = op.getFastmath();
  const WideComplex z(b, loc, op.getComplex());
  FloatType type = z.type;
  Value re = z.re, im = z.im;
  auto number = [&](double value) { return z.number(b, loc, value); };
  Value one = number(1);
  // The number of which the logarithm is, and its real part less 1.
  Value above = isOfSum ? arith::AddFOp::create(b, loc, re, one, flags) : re;
  Value below = isOfSum ? re : arith::SubFOp::create(b, loc, re, one, flags);
  Value a = math::AbsFOp::create(b, loc, above, flags);
  Value c = math::AbsFOp::create(b, loc, im, flags);
  Value most = arith::MaximumFOp::create(b, loc, a, c, flags);
  Value least = arith::MinimumFOp::create(b, loc, a, c, flags);
  // log |z| = log(most) + log1p((least / most)^2) / 2. Near 1, log1p of `most`
  // less 1 is more exact. Near 0, `most` less 1 is not.
  Value isReal =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, above, c, flags);
  Value lessOne = arith::SubFOp::create(b, loc, most, one, flags);
  Value exact = arith::SelectOp::create(b, loc, isReal, below, lessOne);
  Value isSmall = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, most,
                                        number(0.5), flags);
  Value ofMost = arith::SelectOp::create(
      b, loc, isSmall, math::LogOp::create(b, loc, most, flags),
      math::Log1pOp::create(b, loc, exact, flags));
  Value ratio = arith::DivFOp::create(b, loc, least, most, flags);
  Value square = arith::MulFOp::create(b, loc, ratio, ratio, flags);
  Value half = arith::MulFOp::create(
      b, loc, number(0.5), math::Log1pOp::create(b, loc, square, flags), flags);
  Value sum = arith::AddFOp::create(b, loc, half, ofMost, flags);
  // `least` is infinity if both parts are, and NaN if one is.
  Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, sum,
                                      sum, arith::FastMathFlags::none);
  Value length = arith::SelectOp::create(b, loc, isNaN, least, sum);
  Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, most,
                                       number(0), arith::FastMathFlags::none);
  Value infinity = arith::ConstantOp::create(
      b, loc,
      b.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics(),
                                           /*Negative=*/true)));
  length = arith::SelectOp::create(b, loc, isZero, infinity, length);
  if (!z.isExtended())
    length = selectNearOne(b, loc, isOfSum ? re : Value(), above, im, length);
  Value angle = math::Atan2Op::create(b, loc, im, above, flags);
  return z.create(b, loc, length, angle);
}

/// Builds the square root of a complex number. MLIR's lowering takes it from
/// the angle, so that the root of -4 has a negative real part.
static Value buildSqrt(OpBuilder &b, complex::SqrtOp op) {
  Location loc = op.getLoc();
  const WideComplex z(b, loc, op.getComplex());
  FloatType type = z.type;
  Value re = z.re, im = z.im;
  auto number = [&](double value) { return z.number(b, loc, value); };
  auto multiply = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, loc, x, y);
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value x,
                     Value y) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, loc, condition, yes, no);
  };
  Value a = math::AbsFOp::create(b, loc, re),
        c = math::AbsFOp::create(b, loc, im);
  Value most = arith::MaximumFOp::create(b, loc, a, c);
  Value least = arith::MinimumFOp::create(b, loc, a, c);
  Value zero = number(0), half = number(0.5);
  Value ratio = arith::DivFOp::create(b, loc, least, most);
  // Half of |z|, which does not overflow. Then the larger part of the root.
  Value length = multiply(
      multiply(half, most),
      math::SqrtOp::create(
          b, loc,
          arith::AddFOp::create(b, loc, number(1), multiply(ratio, ratio))));
  Value isZero = compare(arith::CmpFPredicate::OEQ, most, zero);
  length = select(isZero, zero, length);
  Value large = math::SqrtOp::create(
      b, loc, arith::AddFOp::create(b, loc, multiply(half, a), length));
  Value small = select(isZero, zero,
                       arith::DivFOp::create(b, loc, multiply(half, c), large));
  // The real part of the root is not negative. Its imaginary part has the sign
  // of z's.
  Value isRight = compare(arith::CmpFPredicate::OGE, re, zero);
  Value first = select(isRight, large, small);
  Value second =
      math::CopySignOp::create(b, loc, select(isRight, small, large), im);
  Value infinity = arith::ConstantOp::create(
      b, loc, b.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics())));
  Value isInfinite = compare(arith::CmpFPredicate::OEQ, c, infinity);
  first = select(isInfinite, infinity, first);
  second = select(isInfinite, im, second);
  return z.create(b, loc, first, second);
}

/// Calls `report` with each op before it is replaced by others.
static LogicalResult avoidFaults(Operation *root,
                                 function_ref<void(Operation *)> report) {
  selectInMaskedTransfers(root);
  root->walk([&](Operation *op) {
    if (auto branch = dyn_cast<scf::IndexSwitchOp>(op)) {
      report(op);
      return makeIfs(branch);
    }
    if (auto view = dyn_cast<memref::SubViewOp>(op))
      return dropAfterwards(view);
    // MLIR folds two truncations to one, and keeps what the second one says.
    if (auto truncation = dyn_cast<arith::TruncIOp>(op))
      return truncation.setOverflowFlags(arith::IntegerOverflowFlags::none);
    OpBuilder builder(op);
    Value same;
    if (auto clamp = dyn_cast<math::ClampFOp>(op)) {
      arith::FastMathFlags flags = clamp.getFastmath();
      Value least = arith::MinimumFOp::create(
          builder, op->getLoc(), clamp.getValue(), clamp.getMax(), flags);
      same = arith::MaximumFOp::create(builder, op->getLoc(), least,
                                       clamp.getMin(), flags);
    } else if (auto log = dyn_cast<complex::Log1pOp>(op)) {
      same = buildLog(builder, log);
    } else if (auto log = dyn_cast<complex::LogOp>(op)) {
      same = buildLog(builder, log);
    } else if (auto root = dyn_cast<complex::SqrtOp>(op)) {
      same = buildSqrt(builder, root);
    } else {
      same = buildOfArith(builder, op);
    }
    if (!same)
      return;
    report(op);
    op->getResult(0).replaceAllUsesWith(same);
    op->erase();
  });
  return lowerCeilDivs(root);
}

LogicalResult gpuasync::avoidFaults(Operation *root) {
  return ::avoidFaults(root, [](Operation *) {});
}

namespace {
struct AvoidFaults
    : public gpuasync::impl::GPUAsyncAvoidFaultsBase<AvoidFaults> {
  void runOnOperation() override {
    auto report = [&](Operation *op) {
      Decision(*this, op, "ReplacedOp").count(numReplaced, "replaced-ops");
    };
    if (failed(::avoidFaults(getOperation(), report)))
      signalPassFailure();
  }
};
} // namespace
