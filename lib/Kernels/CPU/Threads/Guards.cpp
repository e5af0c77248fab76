//===- Guards.cpp - ifs on a thread's place ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `if (i < n)`, where i is a thread's id plus what the threads agree about, is
// true for a box of threads. Loops over just those need no masks, which saves
// more than the test: masks of 64-bit numbers take wider vectors than the data.
//===----------------------------------------------------------------------===//

#include "Kernels/Common/Allocas.h"
#include "Places.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

namespace {
class GuardFinder {
public:
  GuardFinder(func::FuncOp kernel, const ThreadVariance &variance)
      : variance(variance), places(kernel, variance) {}

  bool addConjunction(Value condition, Guard &guard);

private:
  const ThreadVariance &variance;
  Places places;
};
} // namespace

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
      Places::getWidth(id.getType()) < 32 ||
      predicate == arith::CmpIPredicate::ne)
    return false;
  bool isUnsigned =
      llvm::is_contained({arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
                          arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge},
                         predicate);
  std::optional<unsigned> dim = places.getDimension(id);
  if (!dim || (isUnsigned && places.getRange(id).least < 0))
    return false;
  guard.limits.push_back({*dim, predicate, id, bound});
  return true;
}

std::optional<Guard> cpu::findGuard(func::FuncOp kernel,
                                    const ThreadVariance &variance,
                                    scf::IfOp branch) {
  Guard guard;
  guard.branch = branch;
  if (branch.getNumResults() || branch.elseBlock() ||
      !GuardFinder(kernel, variance)
           .addConjunction(branch.getCondition(), guard))
    return std::nullopt;
  return guard;
}

std::optional<Guard> cpu::findGuard(func::FuncOp kernel,
                                    const ThreadVariance &variance,
                                    ArrayRef<Operation *> piece) {
  std::optional<Guard> guard;
  for (Operation *op : piece) {
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && !guard)
      if ((guard = findGuard(kernel, variance, branch)))
        continue;
    // Nothing is missed where a thread does not run these.
    if (!isMemoryEffectFree(op) && !isa<memref::LoadOp>(op) && !isAlloca(op))
      return std::nullopt;
  }
  return guard;
}

ThreadBox cpu::buildWholeBox(OpBuilder &builder, Location loc,
                             func::FuncOp kernel) {
  ThreadBox box;
  box.lower.fill(arith::ConstantIndexOp::create(builder, loc, 0));
  for (unsigned dim : {0, 1, 2})
    box.upper[dim] = buildNumIds(builder, loc, kernel, dim);
  return box;
}

ThreadBox cpu::buildBox(OpBuilder &builder, Location loc, func::FuncOp kernel,
                        const ThreadVariance &variance, const Guard &guard,
                        ThreadBox box) {
  using Predicate = arith::CmpIPredicate;
  Type index = builder.getIndexType();
  for (const Guard::Limit &limit : guard.limits) {
    // An id of x is worth start + x, and there are `size` ids.
    Value start = buildLeastPlace(builder, kernel, variance, limit.id);
    Type type = start.getType();
    Value size = buildNumIds(builder, loc, kernel, limit.dim);
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
