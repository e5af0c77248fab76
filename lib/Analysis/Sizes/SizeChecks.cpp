//===- SizeChecks.cpp - What ops want of sizes and places -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See SizeChecks.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Sizes/SizeChecks.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Upstream/IntegerRanges.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

void SizeChecks::want(SizeCheck check) { visit(check); }

void SizeChecks::wantEqual(Operation *op, SizeTerm a, SizeTerm b,
                           const Twine &message) {
  if (facts.areEqual(a, b))
    return;
  want({op, (op->getName().getStringRef() + ": " + message).str(), {a, b}, {}});
  facts.add(a, b);
}

static Value buildIndex(OpBuilder &builder, Location loc, int64_t number) {
  return arith::ConstantIndexOp::create(builder, loc, number);
}

static Value buildCompare(OpBuilder &builder, Location loc,
                          arith::CmpIPredicate predicate, Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
}

void SizeChecks::wantAtLeastZero(Operation *op, ValueRange sizes) {
  for (Value size : sizes) {
    SizeTerm term = facts.find(terms.get(OpFoldResult(size)));
    std::optional<std::pair<int64_t, int64_t>> range = getRange(size);
    // A dimension never is negative.
    if (term.isConstant() ? term.number >= 0
                          : term.number >= 0 || (range && range->first >= 0))
      continue;
    want({op,
          (op->getName().getStringRef() + ": a size is negative").str(),
          {term},
          [](OpBuilder &builder, Location loc, ValueRange values) {
            return buildCompare(builder, loc, arith::CmpIPredicate::sge,
                                values[0], buildIndex(builder, loc, 0));
          }});
  }
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The least and the greatest value that arithmetic shows a number to have.
std::optional<std::pair<int64_t, int64_t>>
SizeChecks::getRange(OpFoldResult number) {
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return std::pair(*constant, *constant);
  if (!ranges) {
    ranges = std::make_unique<DataFlowSolver>();
    ranges->load<dataflow::DeadCodeAnalysis>();
    // The analysis of dead code asks this one.
    ranges->load<dataflow::SparseConstantPropagation>();
    ranges->load<IntegerRanges>();
    if (failed(ranges->initializeAndRun(function)))
      return std::nullopt;
  }
  auto *state = ranges->lookupState<dataflow::IntegerValueRangeLattice>(
      cast<Value>(number));
  if (!state || state->getValue().isUninitialized())
    return std::nullopt;
  const ConstantIntRanges &range = state->getValue().getValue();
  return std::pair(range.smin().getSExtValue(), range.smax().getSExtValue());
}

/// The operand that has the shape of the result, if the op computes it element
/// by element.
static Value getShapeSource(Value array) {
  Operation *maker = array.getDefiningOp();
  while (maker && OpTrait::hasElementwiseMappableTraits(maker)) {
    auto source = llvm::find_if(maker->getOperands(), [](Value operand) {
      return isa<RankedTensorType>(operand.getType());
    });
    if (source == maker->operand_end())
      break;
    array = *source;
    maker = array.getDefiningOp();
  }
  return array;
}

namespace {
/// MLIR's knowledge of sizes and numbers of type index. Its models of arith ops
/// know numbers only: asked for a size of a tensor that the op makes, they end
/// the process (MLIR 22.1). So do those of dimensions that are not there.
class KnownBounds : public ValueBoundsConstraintSet {
public:
  explicit KnownBounds(MLIRContext *context)
      : ValueBoundsConstraintSet(context, [this](Value value,
                                                 std::optional<int64_t> dim,
                                                 ValueBoundsConstraintSet &) {
          return isUnknown(value, dim) ||
                 (last >= 0 && comparePos(first, comparison, last));
        }) {}
  bool isShown(const Variable &lhs, ComparisonOperator op,
               const Variable &rhs) {
    first = insert(lhs, /*isSymbol=*/false);
    comparison = op;
    last = insert(rhs, /*isSymbol=*/false);
    processWorklist();
    return comparePos(first, op, last);
  }

private:
  static bool isUnknown(Value value, std::optional<int64_t> dim) {
    Operation *maker = value.getDefiningOp();
    if (dim)
      return maker && isa_and_nonnull<arith::ArithDialect>(maker->getDialect());
    auto size = dyn_cast_or_null<ShapedDimOpInterface>(maker);
    if (!size)
      return false;
    auto type = cast<ShapedType>(size.getShapedValue().getType());
    std::optional<int64_t> at = getConstantIntValue(size.getDimension());
    return !type.hasRank() || !at || *at < 0 || *at >= type.getRank();
  }

  int64_t first = -1, last = -1;
  ComparisonOperator comparison = EQ;
};
} // namespace

/// Constants as attributes; another constant than a number (ub.poison) as the
/// value that it is.
static SmallVector<OpFoldResult> getNumbers(ValueRange values) {
  return llvm::map_to_vector(values, [](Value value) -> OpFoldResult {
    std::optional<int64_t> number = getConstantIntValue(value);
    if (!number)
      return value;
    return IntegerAttr::get(value.getType(), *number);
  });
}

/// Whether `size` elements from `offset` on, `stride` apart, are shown to lie
/// in dimension `dim` of `array`.
bool SizeChecks::isWithin(Operation *op, OpFoldResult offset, SizeTerm size,
                          OpFoldResult stride, Value array, int64_t dim) {
  SizeTerm extent = facts.find(terms.get(array, dim));
  size = facts.find(size);
  std::optional<int64_t> step = getConstantIntValue(stride);
  if (size.isConstant(0))
    return true;
  if (!step)
    return false;
  if (size == extent && *step == 1 && isConstantIntValue(offset, 0))
    return true;
  // The elements of a loop over the dimension.
  if (auto iv = dyn_cast_if_present<BlockArgument>(dyn_cast<Value>(offset));
      iv && size.isConstant(1))
    if (auto loop =
            dyn_cast_or_null<scf::ForOp>(iv.getOwner()->getParentOp())) {
      std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound()),
                             by = getConstantIntValue(loop.getStep());
      if (iv == loop.getInductionVar() && first && *first >= 0 && by &&
          *by > 0 &&
          facts.areEqual(terms.get(OpFoldResult(loop.getUpperBound())), extent))
        return true;
    }
  if (!size.isConstant() || size.number < 0)
    return false;
  int64_t span;
  if (llvm::MulOverflow(size.number - 1, *step, span))
    return false;
  std::optional<std::pair<int64_t, int64_t>> range = getRange(offset);
  int64_t low, high;
  if (range && extent.isConstant() &&
      !llvm::AddOverflow(range->first, std::min<int64_t>(span, 0), low) &&
      !llvm::AddOverflow(range->second, std::max<int64_t>(span, 0), high) &&
      low >= 0 && high < extent.number)
    return true;
  if (isa<Attribute>(offset))
    return false;
  MLIRContext *context = op->getContext();
  AffineExpr symbol = getAffineSymbolExpr(0, context);
  auto at = [&](int64_t distance) {
    return KnownBounds::Variable(AffineMap::get(0, 1, symbol + distance),
                                 ArrayRef<KnownBounds::Variable>{offset});
  };
  OpFoldResult zero = IntegerAttr::get(IndexType::get(context), 0);
  return KnownBounds(context).isShown(at(std::min<int64_t>(span, 0)),
                                      KnownBounds::GE, zero) &&
         KnownBounds(context).isShown(
             at(std::max<int64_t>(span, 0)), KnownBounds::LT,
             KnownBounds::Variable(getShapeSource(array), dim));
}

void SizeChecks::visitSlice(Operation *op, Value array,
                            ArrayRef<OpFoldResult> offsets,
                            ArrayRef<OpFoldResult> sizes,
                            ArrayRef<OpFoldResult> strides, StringRef what) {
  for (auto [dim, offset, size, stride] :
       llvm::enumerate(offsets, sizes, strides)) {
    SizeTerm extent = terms.get(array, dim), count = terms.get(size);
    if (isWithin(op, offset, count, stride, array, dim))
      continue;
    want({op,
          (op->getName().getStringRef() + " " + what + ", in dimension " +
           Twine(dim))
              .str(),
          {terms.get(offset), count, terms.get(stride), extent},
          [repeats = isConstantIntValue(stride, 0)](
              OpBuilder &builder, Location loc, ValueRange values) {
            Value offset = values[0], size = values[1], stride = values[2],
                  extent = values[3];
            Value zero = buildIndex(builder, loc, 0);
            auto compare = [&](arith::CmpIPredicate predicate, Value a,
                               Value b) {
              return buildCompare(builder, loc, predicate, a, b);
            };
            auto both = [&](Value a, Value b) {
              return builder.createOrFold<arith::AndIOp>(loc, a, b);
            };
            Value steps = builder.createOrFold<arith::SubIOp>(
                loc, size, buildIndex(builder, loc, 1));
            Value last = builder.createOrFold<arith::AddIOp>(
                loc, offset,
                builder.createOrFold<arith::MulIOp>(loc, steps, stride));
            // As unsigned numbers negative ones are too large.
            Value lies =
                both(compare(arith::CmpIPredicate::ult, offset, extent),
                     compare(arith::CmpIPredicate::ult, last, extent));
            // Nor may the product wrap. A stride of 0 has any number of steps.
            lies = both(lies,
                        repeats
                            ? compare(arith::CmpIPredicate::sge, size, zero)
                            : compare(arith::CmpIPredicate::ule, size, extent));
            Value isEmpty = compare(arith::CmpIPredicate::eq, size, zero);
            return builder.createOrFold<arith::OrIOp>(loc, isEmpty, lies);
          }});
  }
}

//===----------------------------------------------------------------------===//
// Linalg
//===----------------------------------------------------------------------===//

/// The factors of an expression that is a sum of dimensions; the last one is
/// the constant. Nothing for others.
static std::optional<SmallVector<int64_t>> getFactors(AffineExpr expr,
                                                      unsigned numDims) {
  SmallVector<int64_t> factors;
  if (!expr.isPureAffine() ||
      failed(getFlattenedAffineExpr(expr, numDims, 0, &factors)) ||
      factors.size() != numDims + 1)
    return std::nullopt;
  return factors;
}

namespace {
/// An expression of loops: a sum, or the quotient or remainder of one.
struct Reach {
  AffineExprKind kind = AffineExprKind::Add;
  SmallVector<int64_t> factors; ///< of the sum's loops
  int64_t constant = 0;         ///< of the sum
  int64_t divisor = 1;

  static std::optional<Reach> get(AffineExpr expr, unsigned numLoops);
};
} // namespace

/// The largest sum that stays within the size.
static Value buildLastPlace(OpBuilder &builder, Location loc,
                            const Reach &reach, Value size) {
  Value last = builder.createOrFold<arith::SubIOp>(loc, size,
                                                   buildIndex(builder, loc, 1));
  if (!llvm::is_contained({AffineExprKind::FloorDiv, AffineExprKind::CeilDiv},
                          reach.kind))
    return last;
  // Sizes whose product wraps are larger than any sum. The constant that is
  // taken off the place must not wrap either.
  const int64_t most = std::numeric_limits<int64_t>::max() +
                       std::min<int64_t>(reach.constant, 0);
  Value divisor = buildIndex(builder, loc, reach.divisor);
  Value product = builder.createOrFold<arith::MulIOp>(loc, last, divisor);
  if (reach.kind == AffineExprKind::FloorDiv)
    product = builder.createOrFold<arith::AddIOp>(
        loc, product, buildIndex(builder, loc, reach.divisor - 1));
  Value wraps = buildCompare(builder, loc, arith::CmpIPredicate::sge, size,
                             buildIndex(builder, loc, most / reach.divisor));
  return builder.createOrFold<arith::SelectOp>(
      loc, wraps, buildIndex(builder, loc, most), product);
}

namespace {
/// A sum of `linear` and, if there is one, `quotient` times 1 or -1.
struct SumWithQuotient {
  AffineExpr linear;
  AffineBinaryOpExpr quotient = nullptr;
  bool isNegative = false;

  /// False: it is no such sum.
  bool add(AffineExpr expr);
};
} // namespace

static bool isQuotient(AffineExpr expr) {
  return llvm::is_contained({AffineExprKind::FloorDiv, AffineExprKind::CeilDiv},
                            expr.getKind());
}

bool SumWithQuotient::add(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && binary.getKind() == AffineExprKind::Add)
    return add(binary.getLHS()) && add(binary.getRHS());
  const bool isNegated = binary && binary.getKind() == AffineExprKind::Mul &&
                         isQuotient(binary.getLHS()) && binary.getRHS() == -1;
  if (!isNegated && !isQuotient(expr)) {
    linear = linear + expr;
    return true;
  }
  if (quotient)
    return false;
  quotient = cast<AffineBinaryOpExpr>(isNegated ? binary.getLHS() : expr);
  isNegative = isNegated;
  return true;
}

std::optional<Reach> Reach::get(AffineExpr expr, unsigned numLoops) {
  auto getDivisor = [](AffineBinaryOpExpr of) {
    auto divisor = dyn_cast<AffineConstantExpr>(of.getRHS());
    return divisor && divisor.getValue() > 0 ? divisor.getValue() : 0;
  };
  Reach reach;
  std::optional<SmallVector<int64_t>> factors;
  if (expr.getKind() == AffineExprKind::Mod) {
    auto remainder = cast<AffineBinaryOpExpr>(expr);
    reach.kind = AffineExprKind::Mod;
    reach.divisor = getDivisor(remainder);
    factors = getFactors(remainder.getLHS(), numLoops);
  } else {
    SumWithQuotient sum{getAffineConstantExpr(0, expr.getContext())};
    if (!sum.add(expr))
      return std::nullopt;
    factors = getFactors(sum.linear, numLoops);
    if (sum.quotient && factors) {
      // One quotient of all: affine expressions take out of a quotient what the
      // divisor divides. -(a floordiv b) is -a ceildiv b.
      reach.divisor = getDivisor(sum.quotient);
      reach.kind =
          (sum.quotient.getKind() == AffineExprKind::FloorDiv) != sum.isNegative
              ? AffineExprKind::FloorDiv
              : AffineExprKind::CeilDiv;
      std::optional<SmallVector<int64_t>> divided =
          getFactors(sum.quotient.getLHS(), numLoops);
      if (!divided)
        return std::nullopt;
      for (auto [factor, of] : llvm::zip_equal(*factors, *divided))
        if (llvm::MulOverflow(factor, reach.divisor, factor) ||
            (sum.isNegative ? llvm::SubOverflow(factor, of, factor)
                            : llvm::AddOverflow(factor, of, factor)))
          return std::nullopt;
    }
  }
  if (!factors || reach.divisor == 0)
    return std::nullopt;
  reach.constant = factors->pop_back_val();
  reach.factors = std::move(*factors);
  // Other sums leave numbers out between the first and the last, so their
  // remainders are not known.
  if (reach.kind == AffineExprKind::Mod) {
    if (llvm::any_of(reach.factors,
                     [](int64_t factor) { return factor < -1 || factor > 1; }))
      return std::nullopt;
    reach.constant = llvm::mod(reach.constant, reach.divisor);
  }
  return reach;
}

void SizeChecks::visitLinalg(Operation *generic) {
  auto op = cast<linalg::LinalgOp>(generic);
  unsigned numLoops = op.getNumLoops();
  // Where each loop's extent comes from: of what is indexed by it alone, a
  // constant size first.
  struct Extent {
    std::optional<SizeTerm> size;
    unsigned operand = 0, dim = 0;
  };
  SmallVector<Extent> extents(numLoops);
  auto forEachPlace = [&](auto visit) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<ShapedType>(operand.get().getType());
      if (!type || !type.hasRank() || isa<VectorType>(type))
        continue;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [dim, expr] : llvm::enumerate(map.getResults()))
        visit(operand, unsigned(dim), expr);
    }
  };
  forEachPlace([&](OpOperand &operand, unsigned dim, AffineExpr expr) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop)
      return;
    Extent &extent = extents[loop.getPosition()];
    SizeTerm size = terms.get(operand.get(), dim);
    if (!extent.size || (size.isConstant() && !extent.size->isConstant()))
      extent = {size, operand.getOperandNumber(), dim};
  });
  forEachPlace([&](OpOperand &operand, unsigned dim, AffineExpr expr) {
    SizeTerm size = terms.get(operand.get(), dim);
    unsigned number = operand.getOperandNumber();
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      const Extent &extent = extents[loop.getPosition()];
      wantEqual(op, size, *extent.size,
                "dimension " + Twine(dim) + " of operand " + Twine(number) +
                    " is not of the size of dimension " + Twine(extent.dim) +
                    " of operand " + Twine(extent.operand));
      return;
    }
    std::optional<Reach> reach = Reach::get(expr, numLoops);
    if (!reach)
      return;
    // Constant sizes, too: upstream compares the first and the last iteration
    // only, and nothing where the size of any loop is open.
    SmallVector<SizeTerm> wanted{size};
    for (const Extent &extent : extents) {
      if (!extent.size)
        return;
      wanted.push_back(facts.find(*extent.size));
    }
    want(
        {op,
         (op->getName().getStringRef() +
          ": indices of the op are outside of dimension " + Twine(dim) +
          " of operand " + Twine(number))
             .str(),
         wanted,
         [reach = *reach](OpBuilder &builder, Location loc, ValueRange values) {
           Value zero = buildIndex(builder, loc, 0),
                 one = buildIndex(builder, loc, 1);
           // How far there are elements in front of the first place and behind
           // it. Quotients are compared, since products may wrap.
           Value below = buildIndex(builder, loc, reach.constant);
           Value above = builder.createOrFold<arith::SubIOp>(
               loc, buildLastPlace(builder, loc, reach, values[0]), below);
           if (reach.kind == AffineExprKind::CeilDiv)
             below = builder.createOrFold<arith::AddIOp>(
                 loc, below, buildIndex(builder, loc, reach.divisor - 1));
           auto isThere = [&](Value left) {
             return buildCompare(builder, loc, arith::CmpIPredicate::sge, left,
                                 zero);
           };
           Value lies = builder.createOrFold<arith::AndIOp>(loc, isThere(below),
                                                            isThere(above));
           // Without iterations nothing is reached.
           Value isEmpty =
               arith::ConstantIntOp::create(builder, loc, /*value=*/0, 1);
           for (auto [factor, extent] :
                llvm::zip_equal(reach.factors, values.drop_front())) {
             isEmpty = builder.createOrFold<arith::OrIOp>(
                 loc, isEmpty,
                 buildCompare(builder, loc, arith::CmpIPredicate::eq, extent,
                              zero));
             if (factor == 0)
               continue;
             Value &left = factor < 0 ? below : above;
             Value last = builder.createOrFold<arith::SubIOp>(loc, extent, one);
             // The least number has itself as its negative, which is right for
             // an unsigned one.
             Value step = buildIndex(builder, loc,
                                     factor < 0 ? int64_t(0 - uint64_t(factor))
                                                : factor);
             lies = builder.createOrFold<arith::AndIOp>(
                 loc, lies,
                 buildCompare(
                     builder, loc, arith::CmpIPredicate::ule, last,
                     builder.createOrFold<arith::DivUIOp>(loc, left, step)));
             left = builder.createOrFold<arith::SubIOp>(
                 loc, left,
                 builder.createOrFold<arith::MulIOp>(loc, last, step));
             lies =
                 builder.createOrFold<arith::AndIOp>(loc, lies, isThere(left));
           }
           if (reach.kind == AffineExprKind::Mod)
             lies = builder.createOrFold<arith::OrIOp>(
                 loc, lies,
                 buildCompare(builder, loc, arith::CmpIPredicate::sge,
                              values[0],
                              buildIndex(builder, loc, reach.divisor)));
           return builder.createOrFold<arith::OrIOp>(loc, isEmpty, lies);
         }});
  });
}

/// Tiles of a packed tensor hold all elements of the other one, and none is
/// without.
void SizeChecks::visitPack(Operation *op) {
  auto pack = dyn_cast<linalg::PackOp>(op);
  auto unpack = dyn_cast<linalg::UnPackOp>(op);
  Value packed = pack ? pack.getDest() : unpack.getSource(),
        plain = pack ? pack.getSource() : unpack.getDest();
  ArrayRef<int64_t> outer =
      pack ? pack.getOuterDimsPerm() : unpack.getOuterDimsPerm();
  ArrayRef<int64_t> inner =
      pack ? pack.getInnerDimsPos() : unpack.getInnerDimsPos();
  SmallVector<OpFoldResult> tiles =
      pack ? pack.getMixedTiles() : unpack.getMixedTiles();
  // A packed tensor that is not padded has no tile that is filled in part.
  bool isExact = pack && !pack.getPaddingValue();
  int64_t rank = cast<ShapedType>(plain.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    // The dimension whose tiles outer dimension `dim` counts.
    int64_t of = outer.empty() ? dim : outer[dim];
    SizeTerm count = terms.get(packed, dim), size = terms.get(plain, of);
    auto tile = llvm::find(inner, of);
    if (tile == inner.end()) {
      wantEqual(op, count, size,
                "dimension " + Twine(of) +
                    " is not of the same size in the packed tensor");
      continue;
    }
    SizeTerm length = terms.get(tiles[tile - inner.begin()]);
    wantEqual(op, terms.get(packed, rank + (tile - inner.begin())), length,
              "the tiles of dimension " + Twine(of) +
                  " are not of the size of the packed tensor's");
    length = facts.find(length);
    count = facts.find(count);
    size = facts.find(size);
    if (count.isConstant() && size.isConstant() && length.isConstant())
      continue; // upstream has looked
    want({op,
          (op->getName().getStringRef() + ": the tiles of dimension " +
           Twine(of) + " do not hold just its elements")
              .str(),
          {count, length, size},
          [isExact](OpBuilder &builder, Location loc, ValueRange values) {
            Value room =
                builder.createOrFold<arith::MulIOp>(loc, values[0], values[1]);
            if (isExact)
              return buildCompare(builder, loc, arith::CmpIPredicate::eq, room,
                                  values[2]);
            Value unused =
                builder.createOrFold<arith::SubIOp>(loc, room, values[2]);
            return buildCompare(builder, loc, arith::CmpIPredicate::ult, unused,
                                values[1]);
          }});
  }
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Whether sizes, of which none is negative, multiply to `count`. The product
/// of others may be that if it wraps around.
static Value buildProductIs(OpBuilder &builder, Location loc, ValueRange sizes,
                            Value count) {
  Value zero = buildIndex(builder, loc, 0), one = buildIndex(builder, loc, 1);
  Value product = one, isRight, isEmpty, fits;
  auto add = [&](Value &all, Value next, auto combine) {
    all = all ? combine(all, next) : next;
  };
  auto both = [&](Value a, Value b) -> Value {
    return builder.createOrFold<arith::AndIOp>(loc, a, b);
  };
  auto either = [&](Value a, Value b) -> Value {
    return builder.createOrFold<arith::OrIOp>(loc, a, b);
  };
  for (Value size : sizes) {
    add(isRight,
        buildCompare(builder, loc, arith::CmpIPredicate::sge, size, zero),
        both);
    add(isEmpty,
        buildCompare(builder, loc, arith::CmpIPredicate::eq, size, zero),
        either);
    Value step = builder.createOrFold<arith::MaxUIOp>(loc, size, one);
    add(fits,
        buildCompare(builder, loc, arith::CmpIPredicate::ule, product,
                     builder.createOrFold<arith::DivUIOp>(loc, count, step)),
        both);
    product = builder.createOrFold<arith::MulIOp>(loc, product, size);
  }
  Value isCount =
      buildCompare(builder, loc, arith::CmpIPredicate::eq, product, count);
  return isRight ? both(both(isCount, isRight), either(isEmpty, fits))
                 : isCount;
}

template <typename ExpandOp>
void SizeChecks::visitExpand(ExpandOp op) {
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    SmallVector<SizeTerm> wanted{terms.get(op.getSrc(), dim)};
    SmallVector<SizeTerm> open;
    int64_t product = 1;
    for (int64_t each : group) {
      wanted.push_back(facts.find(terms.get(sizes[each])));
      if (wanted.back().isConstant())
        product *= wanted.back().number;
      else
        open.push_back(wanted.back());
    }
    SizeTerm source = facts.find(wanted.front());
    if ((open.empty() && source.isConstant(product)) ||
        (open.size() == 1 && product == 1 && open[0] == source))
      continue;
    want({op,
          (op->getName().getStringRef() + ": the sizes that dimension " +
           Twine(dim) + " becomes do not multiply to its size")
              .str(),
          wanted, [](OpBuilder &builder, Location loc, ValueRange values) {
            return buildProductIs(builder, loc, values.drop_front(), values[0]);
          }});
  }
}

/// A result of a constant size has as many elements as are put together.
void SizeChecks::wantSum(Operation *op, ArrayRef<SizeTerm> parts, Value result,
                         int64_t dim) {
  auto type = cast<ShapedType>(result.getType());
  SmallVector<SizeTerm> wanted;
  for (SizeTerm part : parts)
    wanted.push_back(facts.find(part));
  if (type.isDynamicDim(dim) ||
      llvm::all_of(wanted, [](SizeTerm part) { return part.isConstant(); }))
    return; // upstream has looked
  const int64_t size = type.getDimSize(dim);
  want({op,
        (op->getName().getStringRef() + ": dimension " + Twine(dim) +
         " is not of the size " + Twine(size))
            .str(),
        wanted, [size](OpBuilder &builder, Location loc, ValueRange values) {
          Value sum = buildIndex(builder, loc, 0);
          for (Value each : values)
            sum = builder.createOrFold<arith::AddIOp>(loc, sum, each);
          return buildCompare(builder, loc, arith::CmpIPredicate::eq, sum,
                              buildIndex(builder, loc, size));
        }});
}

/// The sizes that a tensor without dynamic ones of its own has, where its
/// elements are known one by one.
static SmallVector<OpFoldResult> getElements(Value shape) {
  if (auto made = shape.getDefiningOp<tensor::FromElementsOp>())
    return llvm::map_to_vector(made.getElements(), [](Value element) {
      return OpFoldResult(element);
    });
  return {};
}

/// Whether it is a view of an argument, and made once a call. An assert in each
/// round of a loop would keep its launches from being a graph.
static bool isOfCaller(memref::SubViewOp view) {
  Value memory = view.getSource();
  while (auto outer = memory.getDefiningOp<ViewLikeOpInterface>())
    memory = outer.getViewSource();
  auto argument = dyn_cast<BlockArgument>(memory);
  return argument && !view->getParentOfType<LoopLikeOpInterface>() &&
         isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

void SizeChecks::visitOp(Operation *op) {
  auto rankedOperands = [&] {
    return llvm::make_filter_range(op->getOperands(), [](Value operand) {
      return isa<RankedTensorType>(operand.getType());
    });
  };
  auto compareAll = [&](ValueRange values, int64_t except, StringRef what) {
    if (values.empty())
      return;
    auto type = cast<ShapedType>(values.front().getType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      for (Value other : values.drop_front())
        if (dim != except)
          wantEqual(op, terms.get(values.front(), dim), terms.get(other, dim),
                    what + " differ in the size of dimension " + Twine(dim));
  };
  if (op->hasTrait<OpTrait::Elementwise>()) {
    SmallVector<Value> values = llvm::to_vector(rankedOperands());
    compareAll(values, -1, "operands");
    // A result may have sizes that its operands leave open.
    if (!values.empty())
      compareAll({values.front(), op->getResult(0)}, -1,
                 "the operands and the result");
    return;
  }
  if (isa<linalg::LinalgOp>(op))
    return visitLinalg(op);
  if (isa<linalg::PackOp, linalg::UnPackOp>(op))
    return visitPack(op);
  auto compareCast = [&](Value from, Value to) {
    auto a = dyn_cast<ShapedType>(from.getType()),
         b = dyn_cast<ShapedType>(to.getType());
    if (!a || !b || !a.hasRank() || !b.hasRank())
      return;
    for (int64_t dim = 0; dim < a.getRank(); ++dim)
      if (!b.isDynamicDim(dim))
        wantEqual(op, terms.get(from, dim),
                  SizeTerm::constant(b.getDimSize(dim)),
                  "dimension " + Twine(dim) + " is not of the size " +
                      Twine(b.getDimSize(dim)));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](linalg::SoftmaxOp softmax) {
        compareAll({softmax.getInput(), softmax.getOutput()}, -1,
                   "input and output");
      })
      .Case<tensor::CastOp, memref::CastOp>(
          [&](auto cast) { compareCast(cast.getSource(), cast.getDest()); })
      .Case([&](memref::CopyOp copy) {
        if (isa<MemRefType>(copy.getSource().getType()) &&
            isa<MemRefType>(copy.getTarget().getType()))
          compareAll({copy.getSource(), copy.getTarget()}, -1,
                     "source and destination");
      })
      .Case([&](gpu::MemcpyOp copy) {
        compareAll({copy.getSrc(), copy.getDst()}, -1,
                   "source and destination");
      })
      .Case([&](gpuasync::MemcpyOp copy) {
        compareAll({copy.getSource(), copy.getDestination()}, -1,
                   "source and destination");
      })
      .Case([&](gpuasync::WorkOpInterface work) {
        SmallVector<WorkAccess> accesses;
        work.getWorkAccesses(accesses);
        for (const WorkAccess &access : accesses)
          visitSlice(op, access.operand->get(), access.offsets, access.sizes,
                     access.strides, "leaves its memory");
      })
      .Case([&](bufferization::MaterializeInDestinationOp write) {
        compareAll({write.getSource(), write.getDest()}, -1,
                   "source and destination");
      })
      .Case([&](tensor::ConcatOp concat) {
        compareAll(concat.getInputs(), concat.getDim(), "operands");
        SmallVector<SizeTerm> lengths;
        for (Value input : concat.getInputs())
          lengths.push_back(terms.get(input, concat.getDim()));
        wantSum(op, lengths, concat.getResult(), concat.getDim());
      })
      .Case([&](tensor::PadOp pad) {
        for (auto [dim, low, high] :
             llvm::enumerate(pad.getMixedLowPad(), pad.getMixedHighPad()))
          wantSum(op,
                  {terms.get(pad.getSource(), dim), terms.get(low),
                   terms.get(high)},
                  pad.getResult(), dim);
      })
      .Case([&](tensor::ExtractSliceOp slice) {
        wantAtLeastZero(op, slice.getSizes());
        visitSlice(op, slice.getSource(), slice.getMixedOffsets(),
                   slice.getMixedSizes(), slice.getMixedStrides(),
                   "reads outside of its source");
      })
      .Case([&](memref::SubViewOp view) {
        if (!isOfCaller(view))
          return;
        wantAtLeastZero(op, view.getSizes());
        visitSlice(op, view.getSource(), view.getMixedOffsets(),
                   view.getMixedSizes(), view.getMixedStrides(),
                   "leaves its source");
      })
      .Case([&](tensor::InsertSliceOp slice) {
        llvm::SmallBitVector dropped = slice.getDroppedDims();
        int64_t dim = 0;
        for (auto [place, size] : llvm::enumerate(slice.getMixedSizes()))
          if (!dropped.test(place)) {
            wantEqual(op, terms.get(slice.getSource(), dim), terms.get(size),
                      "dimension " + Twine(dim) +
                          " of the source is not of the slice's size");
            ++dim;
          }
        visitSlice(op, slice.getDest(), slice.getMixedOffsets(),
                   slice.getMixedSizes(), slice.getMixedStrides(),
                   "writes outside of its destination");
      })
      .Case([&](tensor::ExtractOp extract) {
        auto indices = getNumbers(extract.getIndices());
        SmallVector<OpFoldResult> ones(
            indices.size(), Builder(op->getContext()).getIndexAttr(1));
        visitSlice(op, extract.getTensor(), indices, ones, ones,
                   "reads outside of its source");
      })
      .Case([&](tensor::InsertOp insert) {
        auto indices = getNumbers(insert.getIndices());
        SmallVector<OpFoldResult> ones(
            indices.size(), Builder(op->getContext()).getIndexAttr(1));
        visitSlice(op, insert.getDest(), indices, ones, ones,
                   "writes outside of its destination");
      })
      .Case<tensor::EmptyOp, tensor::SplatOp>(
          [&](auto made) { wantAtLeastZero(op, made.getDynamicSizes()); })
      .Case([&](tensor::GenerateOp made) {
        wantAtLeastZero(op, made.getDynamicExtents());
      })
      .Case<tensor::ExpandShapeOp, memref::ExpandShapeOp>(
          [&](auto expand) { visitExpand(expand); })
      .Case([&](tensor::ReshapeOp reshape) {
        auto from = cast<ShapedType>(reshape.getSource().getType());
        auto shape = dyn_cast<RankedTensorType>(reshape.getShape().getType());
        if (!from.hasRank() || !shape || !shape.hasStaticShape())
          return;
        SmallVector<OpFoldResult> sizes = getElements(reshape.getShape());
        SmallVector<SizeTerm> wanted;
        for (int64_t dim = 0; dim < from.getRank(); ++dim)
          wanted.push_back(terms.get(reshape.getSource(), dim));
        size_t rank = wanted.size();
        for (OpFoldResult size : sizes)
          wanted.push_back(terms.get(size));
        // The elements of a shape that lies in memory are read.
        if (sizes.empty())
          wanted.push_back(SizeTerm::index(reshape.getShape()));
        SmallVector<int64_t> result(shape.getDimSize(0), ShapedType::kDynamic);
        if (auto type = dyn_cast<RankedTensorType>(reshape.getType()))
          result.assign(type.getShape().begin(), type.getShape().end());
        want({op,
              "tensor.reshape: the new shape has another number of elements",
              wanted,
              [rank, result](OpBuilder &builder, Location loc,
                             ValueRange values) {
                Value count = buildIndex(builder, loc, 1);
                for (Value size : values.take_front(rank))
                  count = builder.createOrFold<arith::MulIOp>(loc, count, size);
                SmallVector<Value> sizes(values.drop_front(rank));
                if (sizes.size() == 1 && isa<TensorType>(sizes[0].getType())) {
                  Value tensor = sizes.pop_back_val();
                  for (int64_t i = 0; i < int64_t(result.size()); ++i)
                    sizes.push_back(tensor::ExtractOp::create(
                        builder, loc, tensor, buildIndex(builder, loc, i)));
                }
                Value holds =
                    arith::ConstantIntOp::create(builder, loc, /*value=*/1, 1);
                for (auto [size, known] : llvm::zip(sizes, result)) {
                  if (!size.getType().isIndex())
                    size = builder.createOrFold<arith::IndexCastOp>(
                        loc, builder.getIndexType(), size);
                  if (!ShapedType::isDynamic(known))
                    holds = builder.createOrFold<arith::AndIOp>(
                        loc, holds,
                        buildCompare(builder, loc, arith::CmpIPredicate::eq,
                                     size, buildIndex(builder, loc, known)));
                }
                return builder.createOrFold<arith::AndIOp>(
                    loc, holds, buildProductIs(builder, loc, sizes, count));
              }});
        if (auto result = dyn_cast<RankedTensorType>(reshape.getType()))
          for (auto [dim, size] : llvm::enumerate(sizes))
            if (!result.isDynamicDim(dim) &&
                cast<Value>(size).getType().isIndex())
              wantEqual(op, terms.get(size),
                        SizeTerm::constant(result.getDimSize(dim)),
                        "dimension " + Twine(dim) +
                            " is not of the result's size");
      });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Whether the regions of `op` hold code of the host that is to be checked.
static bool isOfHost(Operation *op) {
  return !isa<linalg::LinalgOp, tensor::GenerateOp, tensor::PadOp,
              gpu::LaunchOp, memref::GenericAtomicRMWOp>(op) &&
         !op->hasTrait<OpTrait::IsIsolatedFromAbove>();
}

void SizeChecks::visitRegion(Region &region) {
  // Facts in front of the region hold in it, not the other way round.
  EqualSizes outside = facts;
  llvm::scope_exit restore([&] { facts = std::move(outside); });
  // Blocks of a graph: what one shows does not hold in all others.
  for (Block &block : region) {
    EqualSizes atBegin = facts;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      visitOp(&op);
      if (isOfHost(&op))
        for (Region &inner : op.getRegions())
          visitRegion(inner);
    }
    if (!region.hasOneBlock())
      facts = std::move(atBegin);
  }
}

void SizeChecks::forEach(Visit visitor) {
  visit = visitor;
  if (!function.isExternal())
    visitRegion(function.getFunctionBody());
  visit = nullptr;
}
