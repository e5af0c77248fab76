//===- CheckSizes.cpp - gpu-async-check-sizes -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asserts what SizeChecks finds, as early as the sizes are known: in front of
// device work an assert costs a comparison, between it a region would end
// there.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Sizes/SizeChecks.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCCHECKSIZES
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

/// Ops that were made for a condition, so that what it folded away can go.
struct MadeOps : public OpBuilder::Listener {
  SmallVector<Operation *> ops;
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override {
    ops.push_back(op);
  }
};

/// A condition's way out of the loops around its op.
class Placement {
public:
  explicit Placement(const SizeCheck &check) : before(check.op) {
    for (const SizeTerm &term : check.terms)
      if (!term.isConstant())
        needed.push_back(term.value);
  }
  /// False if it has no place on the host.
  bool find();
  /// At the place, behind `last`, which was made before, if that is in the same
  /// block: conditions are asserted in the order of their ops.
  void setInsertionPoint(OpBuilder &builder, Operation *last) const;
  Block *getBlock() const { return before->getBlock(); }
  /// Whether the loops that it has left have no iteration.
  Value buildNoIteration(OpBuilder &builder, Location loc) const;

private:
  /// Of a loop's dimension; none of it runs unless first < end.
  struct Bounds {
    OpFoldResult first, end;
    arith::CmpIPredicate isEmpty;
  };
  bool leave(Operation *loop);

  Operation *before;
  SmallVector<Value> needed;
  SmallVector<Bounds> left;
};

} // namespace

static bool isParallel(Operation *op) {
  return isa<scf::ForallOp, scf::ParallelOp, affine::AffineParallelOp>(op);
}

/// Leaves a loop whose iterations all have the same condition.
bool Placement::leave(Operation *loop) {
  bool isSame = llvm::all_of(needed, [&](Value value) {
    return !loop->isAncestor(value.getParentBlock()->getParentOp());
  });
  if (!isSame)
    return false;
  SmallVector<Bounds> bounds;
  if (isa<RegionOp>(loop)) {
    // It runs once, and no host code may be inside.
  } else if (auto op = dyn_cast<scf::ForOp>(loop)) {
    bounds.push_back({op.getLowerBound(), op.getUpperBound(),
                      op.getUnsignedCmp() ? arith::CmpIPredicate::uge
                                          : arith::CmpIPredicate::sge});
  } else if (auto op = dyn_cast<scf::ForallOp>(loop)) {
    for (auto [first, end] :
         llvm::zip_equal(op.getMixedLowerBound(), op.getMixedUpperBound()))
      bounds.push_back({first, end, arith::CmpIPredicate::sge});
  } else if (auto op = dyn_cast<scf::ParallelOp>(loop)) {
    for (auto [first, end] :
         llvm::zip_equal(op.getLowerBound(), op.getUpperBound()))
      bounds.push_back({first, end, arith::CmpIPredicate::sge});
  } else {
    return false;
  }
  for (Bounds &each : bounds) {
    for (OpFoldResult bound : {each.first, each.end})
      if (auto value = dyn_cast<Value>(bound))
        needed.push_back(value);
    left.push_back(each);
  }
  before = loop;
  return true;
}

bool Placement::find() {
  while (leave(before->getParentOp()))
    ;
  for (Operation *parent = before->getParentOp(); parent;
       parent = parent->getParentOp())
    if (isParallel(parent) || isa<RegionOp>(parent))
      return false;
  return true;
}

void Placement::setInsertionPoint(OpBuilder &builder, Operation *last) const {
  Block *block = before->getBlock();
  for (Value value : needed) {
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == block && (!last || last->isBeforeInBlock(op)))
      last = op;
  }
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(block);
}

static Value buildTerm(OpBuilder &builder, Location loc, const SizeTerm &term) {
  if (term.isConstant())
    return arith::ConstantIndexOp::create(builder, loc, term.number);
  if (term.number < 0)
    return term.value;
  if (isa<TensorType>(term.value.getType()))
    return builder.createOrFold<tensor::DimOp>(loc, term.value, term.number);
  return builder.createOrFold<memref::DimOp>(loc, term.value, term.number);
}

Value Placement::buildNoIteration(OpBuilder &builder, Location loc) const {
  Value none;
  for (const Bounds &bounds : left) {
    auto toValue = [&](OpFoldResult bound) {
      if (auto value = dyn_cast<Value>(bound))
        return value;
      return arith::ConstantIndexOp::create(builder, loc,
                                            *getConstantIntValue(bound))
          .getResult();
    };
    Value isEmpty = builder.createOrFold<arith::CmpIOp>(
        loc, bounds.isEmpty, toValue(bounds.first), toValue(bounds.end));
    none =
        none ? builder.createOrFold<arith::OrIOp>(loc, none, isEmpty) : isEmpty;
  }
  return none;
}

namespace {
/// The asserts of one function.
class Asserts {
public:
  void add(const SizeCheck &check);
  unsigned finish();

private:
  void resolveSizes(cf::AssertOp op);
  void moveUp(cf::AssertOp op, Operation *behind);

  /// In each block, in their order.
  llvm::MapVector<Block *, SmallVector<cf::AssertOp>> made;
};
} // namespace

void Asserts::add(const SizeCheck &check) {
  Placement placement(check);
  if (!placement.find())
    return;
  MadeOps newOps;
  OpBuilder builder(check.op->getContext(), &newOps);
  SmallVector<cf::AssertOp> &there = made[placement.getBlock()];
  placement.setInsertionPoint(builder, there.empty() ? nullptr : there.back());
  Location loc = check.op->getLoc();
  SmallVector<Value> values;
  for (const SizeTerm &term : check.terms)
    values.push_back(buildTerm(builder, loc, term));
  Value holds = check.isEquality()
                    ? builder.createOrFold<arith::CmpIOp>(
                          loc, arith::CmpIPredicate::eq, values[0], values[1])
                    : check.build(builder, loc, values);
  if (Value none = placement.buildNoIteration(builder, loc))
    holds = builder.createOrFold<arith::OrIOp>(loc, none, holds);
  if (!matchPattern(holds, m_One()))
    there.push_back(cf::AssertOp::create(builder, loc, holds, check.message));
  for (Operation *op : llvm::reverse(newOps.ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

/// The ops that the condition is computed by, in the same block, with the
/// assert, in the order of the block.
static SmallVector<Operation *> findSlice(cf::AssertOp op) {
  llvm::SetVector<Operation *> found;
  SmallVector<Operation *> worklist{op};
  while (!worklist.empty()) {
    Operation *next = worklist.pop_back_val();
    if (!found.insert(next))
      continue;
    for (Value operand : next->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && maker->getBlock() == op->getBlock() && isPure(maker) &&
          !maker->getNumRegions() &&
          llvm::none_of(maker->getResultTypes(), llvm::IsaPred<ShapedType>))
        worklist.push_back(maker);
  }
  SmallVector<Operation *> slice = found.takeVector();
  llvm::sort(slice,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return slice;
}

/// Computes sizes of what an op makes from those of its operands: where a cast
/// to a constant size is folded into the op, its own are the cast's.
void Asserts::resolveSizes(cf::AssertOp op) {
  RewritePatternSet patterns(op.getContext());
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  SmallVector<Operation *> dims;
  for (Operation *each : findSlice(op))
    if (isa<tensor::DimOp>(each))
      dims.push_back(each);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  // It may be that nothing is left to do.
  (void)applyOpPatternsGreedily(dims, std::move(patterns), config);
}

/// Moves it to where its sizes are known, and behind `behind`. Kernels in
/// between may rely on it.
void Asserts::moveUp(cf::AssertOp op, Operation *behind) {
  Block *block = op->getBlock();
  SmallVector<Operation *> slice = findSlice(op);
  llvm::SmallPtrSet<Operation *, 8> moved(slice.begin(), slice.end());
  Operation *last = behind;
  for (Operation *each : slice)
    for (Value operand : each->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && maker->getBlock() == block && !moved.contains(maker) &&
          (!last || last->isBeforeInBlock(maker)))
        last = maker;
  for (Operation *each : slice) {
    // Another assert may have taken it along.
    if (last && each->isBeforeInBlock(last))
      continue;
    if (last)
      each->moveAfter(last);
    else
      each->moveBefore(block, block->begin());
    last = each;
  }
}

unsigned Asserts::finish() {
  unsigned number = 0;
  for (auto &[block, asserts] : made) {
    number += asserts.size();
    Operation *behind = nullptr;
    for (cf::AssertOp each : asserts) {
      resolveSizes(each);
      moveUp(each, behind);
      behind = each;
    }
  }
  return number;
}

namespace {

struct CheckSizesPass
    : public gpuasync::impl::GPUAsyncCheckSizesBase<CheckSizesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Asserts asserts;
      SizeChecks(function).forEach(
          [&](const SizeCheck &check) { asserts.add(check); });
      if (unsigned number = asserts.finish())
        Decision(*this, function, "SizeChecks")
            .count(numAsserts, "asserts", number);
    }
  }
};

} // namespace
