//===- CpuGuards.cpp - ifs on a thread's place ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `if (i < n)`, where i is a thread's id plus what the threads agree about, is
// true for a box of threads. Loops over just those need no masks, which saves
// more than the test: masks of 64-bit numbers take wider vectors than the data.
//===----------------------------------------------------------------------===//

#include "CpuKernel.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

namespace {
/// Signed bounds of an integer, both included. Twice as wide as what is
/// computed, so that sums and products of bounds are exact.
struct Bounds {
  __int128 least, most;
  bool contains(Bounds other) const {
    return least <= other.least && other.most <= most;
  }
};

class GuardFinder {
public:
  GuardFinder(func::FuncOp kernel, const ThreadVariance &variance)
      : kernel(kernel), variance(variance) {}

  bool addConjunction(Value condition, Guard &guard);

private:
  static unsigned getWidth(Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  }
  static Bounds getFull(Type type) {
    __int128 half = __int128(1) << (getWidth(type) - 1);
    return {-half, half - 1};
  }
  Bounds getRange(Value value, unsigned depth = 0);
  Bounds getExactRange(Operation *op, unsigned depth);
  std::optional<unsigned> getDimension(Value value);
  bool isExact(Operation *op);

  func::FuncOp kernel;
  const ThreadVariance &variance;
};
} // namespace

/// What `op` would yield if its type had no bounds.
Bounds GuardFinder::getExactRange(Operation *op, unsigned depth) {
  auto operand = [&](unsigned i) {
    return getRange(op->getOperand(i), depth + 1);
  };
  if (isa<arith::AddIOp>(op)) {
    Bounds a = operand(0), b = operand(1);
    return {a.least + b.least, a.most + b.most};
  }
  if (isa<arith::SubIOp>(op)) {
    Bounds a = operand(0), b = operand(1);
    return {a.least - b.most, a.most - b.least};
  }
  if (isa<arith::MulIOp>(op)) {
    Bounds a = operand(0), b = operand(1);
    __int128 products[] = {a.least * b.least, a.least * b.most,
                           a.most * b.least, a.most * b.most};
    return {*llvm::min_element(products), *llvm::max_element(products)};
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return operand(0);
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op)) {
    Bounds range = operand(0);
    if (range.least >= 0)
      return range;
    return {0, (__int128(1) << getWidth(op->getOperand(0).getType())) - 1};
  }
  return getFull(op->getResult(0).getType());
}

Bounds GuardFinder::getRange(Value value, unsigned depth) {
  constexpr unsigned deepest = 12;
  Bounds full = getFull(value.getType());
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.getBitWidth() <= 64)
    return {constant.getSExtValue(), constant.getSExtValue()};
  for (unsigned dim : {0, 1, 2}) {
    if (value == getEnv(kernel, ThreadId + dim))
      return {0, maxThreadsPerBlock - 1};
    if (value == getEnv(kernel, BlockDim + dim))
      return {1, maxThreadsPerBlock};
    if (value == getEnv(kernel, BlockId + dim))
      return {0, maxBlocksPerGrid - 1};
    if (value == getEnv(kernel, GridDim + dim))
      return {1, maxBlocksPerGrid};
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || depth > deepest ||
      !isa<IntegerType, IndexType>(value.getType()))
    return full;
  if (!llvm::all_of(op->getOperandTypes(), [](Type type) {
        return isa<IntegerType, IndexType>(type);
      }))
    return full;
  Bounds exact = getExactRange(op, depth);
  if (full.contains(exact))
    return exact;
  return full;
}

/// Whether `op` yields what it would if its type had no bounds.
bool GuardFinder::isExact(Operation *op) {
  if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
    if (flags.hasNoSignedWrap())
      return true;
  return getFull(op->getResult(0).getType()).contains(getExactRange(op, 0));
}

/// The d for which `value` is the thread's id in dimension d plus a number that
/// the threads agree about, in whole numbers that nowhere wrap around.
std::optional<unsigned> GuardFinder::getDimension(Value value) {
  for (unsigned dim : {0, 1, 2})
    if (value == getEnv(kernel, ThreadId + dim))
      return dim;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    bool first = variance.varies(op->getOperand(0));
    bool second = variance.varies(op->getOperand(1));
    if (first == second || (second && isa<arith::SubIOp>(op)) || !isExact(op))
      return std::nullopt;
    return getDimension(op->getOperand(second));
  }
  if (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
                      arith::ExtUIOp, arith::TruncIOp>(op)) {
    if (!isa<IntegerType, IndexType>(op->getOperand(0).getType()))
      return std::nullopt;
    // The same number as before, not just one that its new type can hold.
    Bounds before = getRange(op->getOperand(0));
    bool isSame =
        getFull(value.getType()).contains(before) &&
        (before.least >= 0 || !isa<arith::IndexCastUIOp, arith::ExtUIOp>(op));
    if (isSame)
      return getDimension(op->getOperand(0));
  }
  return std::nullopt;
}

/// The predicate that says of b and a what `predicate` says of a and b.
static arith::CmpIPredicate getSwapped(arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::slt:
    return Predicate::sgt;
  case Predicate::sle:
    return Predicate::sge;
  case Predicate::sgt:
    return Predicate::slt;
  case Predicate::sge:
    return Predicate::sle;
  case Predicate::ult:
    return Predicate::ugt;
  case Predicate::ule:
    return Predicate::uge;
  case Predicate::ugt:
    return Predicate::ult;
  case Predicate::uge:
    return Predicate::ule;
  case Predicate::eq:
  case Predicate::ne:
    return predicate;
  }
  llvm_unreachable("no other predicates");
}

/// Adds what `condition` says; false if it cannot be said by a box.
bool GuardFinder::addConjunction(Value condition, Guard &guard) {
  if (!variance.varies(condition)) {
    guard.uniform.push_back(condition);
    return true;
  }
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return addConjunction(both.getLhs(), guard) &&
           addConjunction(both.getRhs(), guard);
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return false;
  Value id = compare.getLhs(), bound = compare.getRhs();
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (variance.varies(bound)) {
    std::swap(id, bound);
    predicate = getSwapped(predicate);
  }
  if (variance.varies(bound) || !isa<IntegerType, IndexType>(id.getType()) ||
      getWidth(id.getType()) < 32 || predicate == arith::CmpIPredicate::ne)
    return false;
  bool isUnsigned =
      llvm::is_contained({arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
                          arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge},
                         predicate);
  std::optional<unsigned> dim = getDimension(id);
  if (!dim || (isUnsigned && getRange(id).least < 0))
    return false;
  guard.limits.push_back({*dim, predicate, id, bound});
  return true;
}

std::optional<Guard> cpu::findGuard(func::FuncOp kernel,
                                    const ThreadVariance &variance,
                                    ArrayRef<Operation *> piece) {
  Guard guard;
  for (Operation *op : piece) {
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && !guard.branch &&
                                               !branch.getNumResults() &&
                                               !branch.elseBlock()) {
      guard.branch = branch;
      continue;
    }
    // Nothing is missed where a thread does not run these.
    if (!isMemoryEffectFree(op) &&
        !isa<memref::LoadOp, memref::AllocaOp, LLVM::AllocaOp>(op))
      return std::nullopt;
  }
  if (!guard.branch || !GuardFinder(kernel, variance)
                            .addConjunction(guard.branch.getCondition(), guard))
    return std::nullopt;
  return guard;
}

/// `value` for the thread whose ids are zero.
static Value buildForFirst(OpBuilder &builder, func::FuncOp kernel,
                           const ThreadVariance &variance, Value value,
                           IRMapping &mapping) {
  if (!variance.varies(value))
    return value;
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op) {
    Value zero = arith::ConstantIndexOp::create(builder, value.getLoc(), 0);
    mapping.map(value, zero);
    return zero;
  }
  for (Value operand : op->getOperands()) {
    Value known = buildForFirst(builder, kernel, variance, operand, mapping);
    mapping.map(operand, known);
  }
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

ThreadBox cpu::buildWholeBox(OpBuilder &builder, Location loc,
                             func::FuncOp kernel) {
  ThreadBox box;
  box.lower.fill(arith::ConstantIndexOp::create(builder, loc, 0));
  for (unsigned dim : {0, 1, 2})
    box.upper[dim] = getEnv(kernel, BlockDim + dim);
  return box;
}

ThreadBox cpu::buildBox(OpBuilder &builder, Location loc, func::FuncOp kernel,
                        const ThreadVariance &variance, const Guard &guard,
                        ThreadBox box) {
  using Predicate = arith::CmpIPredicate;
  Type index = builder.getIndexType();
  IRMapping first;
  for (const Guard::Limit &limit : guard.limits) {
    // An id of x is worth start + x, and there are `size` ids.
    Value start = buildForFirst(builder, kernel, variance, limit.id, first);
    Type type = start.getType();
    Value size = getEnv(kernel, BlockDim + limit.dim);
    if (!type.isIndex())
      size = arith::IndexCastOp::create(builder, loc, type, size);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(builder, loc,
                                       builder.getIntegerAttr(type, value));
    };
    auto compare = [&](Predicate predicate, Value a, Value b) -> Value {
      return arith::CmpIOp::create(builder, loc, predicate, a, b);
    };
    auto least = [&](Value a, Value b) -> Value {
      return arith::MinUIOp::create(builder, loc, a, b);
    };
    auto select = [&](Value condition, Value a, Value b) -> Value {
      return arith::SelectOp::create(builder, loc, condition, a, b);
    };
    auto add = [&](Value a, Value b) -> Value {
      return arith::AddIOp::create(builder, loc, a, b);
    };
    Value zero = constant(0), one = constant(1);
    // Where the bound is above the start, their distance is exact as an
    // unsigned number, whatever the bound.
    Value distance = arith::SubIOp::create(builder, loc, limit.bound, start);
    auto upTo = [&](Predicate above) {
      return select(compare(above, limit.bound, start), least(distance, size),
                    zero);
    };
    auto upToIncluded = [&](Predicate atLeast) {
      Value last =
          least(distance, arith::SubIOp::create(builder, loc, size, one));
      return select(compare(atLeast, limit.bound, start), add(last, one), zero);
    };
    auto toIndex = [&](Value value) -> Value {
      return type.isIndex() ? value
                            : Value(arith::IndexCastUIOp::create(builder, loc,
                                                                 index, value));
    };
    Value lower, upper;
    switch (limit.predicate) {
    case Predicate::slt:
      upper = upTo(Predicate::sgt);
      break;
    case Predicate::ult:
      upper = upTo(Predicate::ugt);
      break;
    case Predicate::sle:
      upper = upToIncluded(Predicate::sge);
      break;
    case Predicate::ule:
      upper = upToIncluded(Predicate::uge);
      break;
    case Predicate::sge:
      lower = upTo(Predicate::sgt);
      break;
    case Predicate::uge:
      lower = upTo(Predicate::ugt);
      break;
    case Predicate::sgt:
      lower = upToIncluded(Predicate::sge);
      break;
    case Predicate::ugt:
      lower = upToIncluded(Predicate::uge);
      break;
    case Predicate::eq:
      lower = select(compare(Predicate::sge, limit.bound, start),
                     least(distance, size), size);
      upper = least(add(lower, one), size);
      break;
    case Predicate::ne:
      llvm_unreachable("not a guard");
    }
    if (lower)
      box.lower[limit.dim] = arith::MaxUIOp::create(
          builder, loc, box.lower[limit.dim], toIndex(lower));
    if (upper)
      box.upper[limit.dim] = arith::MinUIOp::create(
          builder, loc, box.upper[limit.dim], toIndex(upper));
  }
  Value none = arith::ConstantIndexOp::create(builder, loc, 0);
  for (Value condition : guard.uniform)
    box.upper[2] =
        arith::SelectOp::create(builder, loc, condition, box.upper[2], none);
  return box;
}
