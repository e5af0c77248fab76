//===- HoistInvariants.cpp - what is the same in each round of a loop -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's pass moves destinations and broadcasts out of loops, too: these
// belong where they are used, since fusion then needs no memory for them.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCHOISTINVARIANTS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

static bool isStatic(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return !shaped || (shaped.hasRank() && shaped.hasStaticShape());
}

/// Whether the op computes something whatever its operands are: no offset or
/// size may be wrong. A loop may have no rounds, and then nothing says that
/// what its rounds do is right.
static bool isTotal(Operation *op) {
  if (!llvm::all_of(op->getOperandTypes(), isStatic) ||
      !llvm::all_of(op->getResultTypes(), isStatic))
    return false;
  if (auto slices = dyn_cast<OffsetSizeAndStrideOpInterface>(op))
    return llvm::none_of(llvm::concat<const int64_t>(slices.getStaticOffsets(),
                                                     slices.getStaticSizes(),
                                                     slices.getStaticStrides()),
                         ShapedType::isDynamic);
  if (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) ||
      isa<tensor::EmptyOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return true;
  return isa<linalg::LinalgOp>(op) &&
         !op->walk([](Operation *inner) {
              return isa_and_nonnull<tensor::TensorDialect>(inner->getDialect())
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            }).wasInterrupted();
}

/// Whether each run of the loop runs the block.
static bool hasRound(LoopLikeOpInterface loop, Block &block) {
  if (auto turns = dyn_cast<scf::WhileOp>(loop.getOperation()))
    return &block == turns.getBeforeBody();
  auto counts = cast<scf::ForOp>(loop.getOperation());
  std::optional<int64_t> from = getConstantIntValue(counts.getLowerBound());
  std::optional<int64_t> to = getConstantIntValue(counts.getUpperBound());
  return !counts.getUnsignedCmp() && from && to && *from < *to;
}

namespace {
/// The ops of one block of a loop that compute the same in each round.
class Invariants {
public:
  Invariants(LoopLikeOpInterface loop, Block &block);
  /// Returns how many ops have left the loop.
  unsigned hoist();

private:
  bool isInvariant(Value value) {
    if (loop.isDefinedOutsideOfLoop(value))
      return true;
    Operation *from = value.getDefiningOp();
    return from && all.contains(from);
  }
  /// Elements that are read for the value if it is computed where it is used.
  std::optional<int64_t> countRead(Value value);
  bool isWorthwhile(linalg::LinalgOp op);
  Value hoist(Value value);

  LoopLikeOpInterface loop;
  llvm::SetVector<Operation *> all;
  llvm::SmallPtrSet<Operation *, 8> hoisted;
  llvm::DenseMap<Value, int64_t> read;
  IRMapping outside;
};
} // namespace

static SmallVector<Value> findUsed(Operation *op) {
  SetVector<Value> used;
  used.insert_range(op->getOperands());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return used.takeVector();
}

Invariants::Invariants(LoopLikeOpInterface loop, Block &block) : loop(loop) {
  // Until something has an effect, as an assertion that ends the program.
  bool runs = hasRound(loop, block);
  for (Operation &op : block.without_terminator()) {
    if (!isMemoryEffectFree(&op)) {
      runs = false;
      continue;
    }
    if (isSpeculatable(&op) && (runs || isTotal(&op)) &&
        llvm::all_of(findUsed(&op),
                     [&](Value value) { return isInvariant(value); }))
      all.insert(&op);
  }
}

std::optional<int64_t> Invariants::countRead(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  Operation *from = value.getDefiningOp();
  if (!from || !all.contains(from) || hoisted.contains(from)) {
    if (isa_and_nonnull<tensor::EmptyOp>(from))
      return 0;
    return type.hasStaticShape() ? std::optional(type.getNumElements())
                                 : std::nullopt;
  }
  if (auto known = read.find(value); known != read.end())
    return known->second;
  int64_t count = 0;
  for (Value used : findUsed(from)) {
    std::optional<int64_t> each = countRead(used);
    if (!each)
      return std::nullopt;
    count += *each;
  }
  read[value] = count;
  return count;
}

/// An op that is not larger than what it is computed of costs no more to read,
/// and reductions are work.
bool Invariants::isWorthwhile(linalg::LinalgOp op) {
  if (isa<linalg::FillOp>(op) || op->getNumResults() == 0)
    return false;
  if (op.getNumReductionLoops())
    return true;
  int64_t made = 0, count = 0;
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return false;
    made += tensor.getNumElements();
  }
  for (Value used : findUsed(op)) {
    std::optional<int64_t> each = countRead(used);
    if (!each)
      return false;
    count += *each;
  }
  return count > 0 && made <= count;
}

/// The value in front of the loop. What it is computed of is computed there,
/// too, and may stay in the loop for others.
Value Invariants::hoist(Value value) {
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  if (Value there = outside.lookupOrNull(value))
    return there;
  Operation *from = value.getDefiningOp();
  for (Value used : findUsed(from))
    outside.map(used, hoist(used));
  OpBuilder(loop).clone(*from, outside);
  return outside.lookup(value);
}

unsigned Invariants::hoist() {
  for (Operation *op : all) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (!structured || !isWorthwhile(structured))
      continue;
    hoisted.insert(op);
    read.clear();
    for (OpResult result : op->getResults())
      result.replaceAllUsesWith(hoist(result));
  }
  // The ops that only these used.
  for (Operation *op : llvm::reverse(all))
    if (isOpTriviallyDead(op))
      op->erase();
  return hoisted.size();
}

namespace {
struct HoistInvariants
    : public gpuasync::impl::GPUAsyncHoistInvariantsBase<HoistInvariants> {
  void runOnOperation() override {
    hoistNumbers();
    // The innermost first: what leaves one loop may leave the next.
    getOperation()->walk([&](LoopLikeOpInterface loop) {
      if (!isa<scf::ForOp, scf::WhileOp>(loop))
        return;
      for (Region *region : loop.getLoopRegions())
        if (llvm::hasSingleElement(*region))
          if (unsigned count = Invariants(loop, region->front()).hoist())
            Decision(*this, loop, "Hoisted")
                .count(numHoisted, "hoisted-ops", count);
    });
  }

private:
  /// Only the host can ask for numbers of ranks, and loops become kernels.
  void hoistNumbers() {
    Block &entry = getOperation().front();
    getOperation()->walk([&](Operation *op) {
      if (isa<RankOp, SizeOp>(op) && isPure(op))
        op->moveBefore(&entry, entry.begin());
    });
  }
};
} // namespace
