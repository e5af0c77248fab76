//===- Operations.cpp - how many operations a thread runs -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bound from the rounds of loops, whose bounds are intervals: of arguments
// they are exact, of ids they are the grid's. All is computed with doubles,
// which do not wrap around; rounding is of no interest here.
//===----------------------------------------------------------------------===//

#include "Operations.h"

#include "Kernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

namespace {
/// A number that is known here, or a value of the function that counts.
struct Number {
  Number(double constant = 0) : constant(constant) {}
  Number(Value value) : value(value) {}
  bool isKnown() const { return !value; }
  /// There is no bound.
  bool isInfinite() const { return isKnown() && std::isinf(constant); }

  double constant = 0;
  Value value;
};

/// An integer lies between these. `isNonNegative`: the low one is not below
/// zero, whatever it is.
struct Interval {
  Number low = -HUGE_VAL, high = HUGE_VAL;
  bool isNonNegative = false;
};

class Counter {
public:
  Counter(FunctionOpInterface kernel, StringRef name, bool whilesEnd)
      : kernel(kernel), name(name), whilesEnd(whilesEnd),
        builder(kernel.getContext()) {}

  OperationCount count();

private:
  /// Of all ops of these, once each; infinite if there is no bound.
  Number countRegion(Region &region);
  Number countBlock(Block &block);
  Number countOp(Operation *op);
  Number countCall(func::CallOp call);
  /// Of the rounds of a loop.
  Number countRounds(const Interval &lower, const Interval &upper,
                     const Interval &step);

  Interval getInterval(Value value);
  Interval findInterval(Value value);
  Interval getArgument(BlockArgument argument);
  Interval getResult(Operation *op);
  Interval getSize(memref::DimOp dim);
  Interval multiply(const Interval &a, const Interval &b);
  Interval divide(Interval a, Interval b);
  Interval getUnsigned(const Interval &a);

  Number add(Number a, Number b);
  Number subtract(Number a, Number b);
  Number multiply(Number a, Number b);
  Number divide(Number a, Number b);
  /// Truth values, of numbers.
  Number isAtLeast(Number a, Number b);
  Number both(Number a, Number b);
  Number select(Number condition, Number a, Number b);
  Number least(Number a, Number b);
  Number most(Number a, Number b);
  /// An integer of the kernel's arguments, in the function that counts.
  Number convert(Value integer);
  func::FuncOp getFunction();
  Value getValue(Number number);

  FunctionOpInterface kernel;
  StringRef name;
  const bool whilesEnd;
  OpBuilder builder;
  func::FuncOp function;
  llvm::DenseMap<Value, Interval> known;
  /// Functions whose body is being counted.
  llvm::SmallPtrSet<Operation *, 4> active;
  /// Ops that may still be looked at: a function is, for each of its calls.
  int64_t left = 1 << 20;
  /// Of values whose interval is being found.
  int depth = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

func::FuncOp Counter::getFunction() {
  if (function)
    return function;
  builder.setInsertionPointAfter(kernel);
  function = func::FuncOp::create(
      builder, kernel.getLoc(), name,
      builder.getFunctionType(kernel.getArgumentTypes(), builder.getF64Type()));
  function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

Value Counter::getValue(Number number) {
  if (number.value)
    return number.value;
  return arith::ConstantFloatOp::create(
      builder, kernel.getLoc(), builder.getF64Type(), APFloat(number.constant));
}

Number Counter::add(Number a, Number b) {
  if (a.isKnown() && b.isKnown())
    return a.constant + b.constant;
  for (auto [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (one.isInfinite())
      return one;
    if (one.isKnown() && one.constant == 0)
      return other;
  }
  return Value(arith::AddFOp::create(builder, kernel.getLoc(), getValue(a),
                                     getValue(b)));
}

Number Counter::subtract(Number a, Number b) {
  if (a.isKnown() && b.isKnown())
    return a.constant - b.constant;
  if (a.isInfinite())
    return a;
  if (b.isInfinite())
    return -b.constant;
  return Value(arith::SubFOp::create(builder, kernel.getLoc(), getValue(a),
                                     getValue(b)));
}

/// Of finite numbers.
Number Counter::multiply(Number a, Number b) {
  if (a.isKnown() && b.isKnown())
    return a.constant * b.constant;
  for (Number each : {a, b})
    if (each.isKnown() && each.constant == 0)
      return 0.0;
  if (b.isKnown() && b.constant == 1)
    return a;
  return Value(arith::MulFOp::create(builder, kernel.getLoc(), getValue(a),
                                     getValue(b)));
}

Number Counter::divide(Number a, Number b) {
  if (b.isKnown() && b.constant == 1)
    return a;
  if (a.isKnown() && (b.isKnown() || a.isInfinite()))
    return b.isKnown() ? a.constant / b.constant : a.constant;
  return Value(arith::DivFOp::create(builder, kernel.getLoc(), getValue(a),
                                     getValue(b)));
}

Number Counter::least(Number a, Number b) {
  if (a.isKnown() && b.isKnown())
    return std::min(a.constant, b.constant);
  for (auto [one, other] : {std::pair(a, b), std::pair(b, a)})
    if (one.isInfinite())
      return one.constant > 0 ? other : one;
  return Value(arith::MinimumFOp::create(builder, kernel.getLoc(), getValue(a),
                                         getValue(b)));
}

Number Counter::most(Number a, Number b) {
  if (a.isKnown() && b.isKnown())
    return std::max(a.constant, b.constant);
  for (auto [one, other] : {std::pair(a, b), std::pair(b, a)})
    if (one.isInfinite())
      return one.constant < 0 ? other : one;
  return Value(arith::MaximumFOp::create(builder, kernel.getLoc(), getValue(a),
                                         getValue(b)));
}

Number Counter::isAtLeast(Number a, Number b) {
  if (a.isKnown() && b.isKnown())
    return a.constant >= b.constant;
  for (auto [one, isLeft] : {std::pair(a, true), std::pair(b, false)})
    if (one.isInfinite())
      return (one.constant > 0) == isLeft;
  return Value(arith::CmpFOp::create(builder, kernel.getLoc(),
                                     arith::CmpFPredicate::OGE, getValue(a),
                                     getValue(b)));
}

Number Counter::both(Number a, Number b) {
  if (a.isKnown())
    return a.constant ? b : a;
  if (b.isKnown())
    return b.constant ? a : b;
  return Value(
      arith::AndIOp::create(builder, kernel.getLoc(), a.value, b.value));
}

Number Counter::select(Number condition, Number a, Number b) {
  if (condition.isKnown())
    return condition.constant ? a : b;
  return Value(arith::SelectOp::create(
      builder, kernel.getLoc(), condition.value, getValue(a), getValue(b)));
}

Number Counter::convert(Value integer) {
  Location loc = kernel.getLoc();
  if (integer.getType().isIndex())
    integer =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), integer);
  return Value(
      arith::SIToFPOp::create(builder, loc, builder.getF64Type(), integer));
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

static bool isNonNegative(const Interval &interval) {
  return interval.isNonNegative ||
         (interval.low.isKnown() && interval.low.constant >= 0);
}

Interval Counter::multiply(const Interval &a, const Interval &b) {
  auto isFinite = [](const Interval &each) {
    return !each.low.isInfinite() && !each.high.isInfinite();
  };
  if (!isFinite(a) || !isFinite(b))
    return Interval();
  if (isNonNegative(a) && isNonNegative(b))
    return {multiply(a.low, b.low), multiply(a.high, b.high),
            /*isNonNegative=*/true};
  Interval result{HUGE_VAL, -HUGE_VAL};
  for (Number x : {a.low, a.high})
    for (Number y : {b.low, b.high}) {
      Number product = multiply(x, y);
      result.low = least(result.low, product);
      result.high = most(result.high, product);
    }
  return result;
}

/// As an op reads it that takes integers as unsigned: one below zero is large.
Interval Counter::getUnsigned(const Interval &a) {
  if (isNonNegative(a))
    return a;
  return {most(a.low, 0.0), select(isAtLeast(a.low, 0.0), a.high, HUGE_VAL),
          /*isNonNegative=*/true};
}

/// Of what is not negative by what is positive; a quotient that is rounded
/// down, or up, is one off at most.
Interval Counter::divide(Interval a, Interval b) {
  a = getUnsigned(a);
  b = getUnsigned(b);
  if (a.high.isInfinite() || b.high.isInfinite())
    return {0.0, HUGE_VAL};
  return {most(subtract(divide(a.low, most(b.high, 1.0)), 1.0), 0.0),
          add(divide(a.high, most(b.low, 1.0)), 1.0), /*isNonNegative=*/true};
}

Interval Counter::getInterval(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  // A chain that is longer than this is no bound that anybody wrote.
  if (depth > 200)
    return Interval();
  ++depth;
  Interval interval = findInterval(value);
  --depth;
  // What has few bits may have wrapped around.
  if (auto type = dyn_cast<IntegerType>(value.getType());
      type && type.getWidth() < 64) {
    const double end = std::ldexp(1.0, std::max(type.getWidth(), 2u) - 1);
    Number isIn = both(isAtLeast(interval.low, -end),
                       isAtLeast(2 * end - 1, interval.high));
    interval.low = select(isIn, interval.low, type.isInteger(1) ? 0.0 : -end);
    interval.high = select(isIn, interval.high, 2 * end - 1);
  }
  known[value] = interval;
  return interval;
}

Interval Counter::findInterval(Value value) {
  if (!value.getType().isIntOrIndex())
    return Interval();
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    auto number = double(constant.getSExtValue());
    return {number, number};
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getArgument(argument);
  return getResult(value.getDefiningOp());
}

Interval Counter::getArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (parent == kernel && argument.getOwner()->isEntryBlock()) {
    const unsigned number = argument.getArgNumber();
    const unsigned env = kernel.getNumArguments() - EnvSize;
    if (number < env) {
      Number exact = convert(getFunction().getArgument(number));
      return {exact, exact};
    }
    const unsigned which = number - env;
    if (which >= RunBlocks)
      return Interval();
    static_assert(BlockDim - ThreadId == GridDim - BlockId);
    const bool isId = which < BlockDim;
    Number size = convert(
        getFunction().getArgument(number + (isId ? BlockDim - ThreadId : 0)));
    return {isId ? Number(0.0) : size, size, /*isNonNegative=*/true};
  }
  if (auto loop = dyn_cast<scf::ForOp>(parent);
      loop && argument == loop.getInductionVar()) {
    Interval lower = getInterval(loop.getLowerBound());
    return {lower.low, getInterval(loop.getUpperBound()).high,
            isNonNegative(lower)};
  }
  return Interval();
}

/// The size of one of the kernel's arguments.
Interval Counter::getSize(memref::DimOp dim) {
  auto memory = dyn_cast<BlockArgument>(dim.getSource());
  std::optional<int64_t> index = dim.getConstantIndex();
  if (!memory || !index || !memory.getOwner()->isEntryBlock() ||
      memory.getOwner()->getParentOp() != kernel)
    return {0.0, HUGE_VAL};
  func::FuncOp counter = getFunction();
  Number exact = convert(memref::DimOp::create(
      builder, dim.getLoc(), counter.getArgument(memory.getArgNumber()),
      *index));
  return {exact, exact, /*isNonNegative=*/true};
}

Interval Counter::getResult(Operation *op) {
  auto operand = [&](unsigned number) {
    return getInterval(op->getOperand(number));
  };
  return TypeSwitch<Operation *, Interval>(op)
      .Case<arith::AddIOp>([&](auto) -> Interval {
        Interval a = operand(0), b = operand(1);
        return {add(a.low, b.low), add(a.high, b.high),
                isNonNegative(a) && isNonNegative(b)};
      })
      .Case<arith::SubIOp>([&](auto) -> Interval {
        Interval a = operand(0), b = operand(1);
        return {subtract(a.low, b.high), subtract(a.high, b.low)};
      })
      .Case<arith::MulIOp>(
          [&](auto) { return multiply(operand(0), operand(1)); })
      .Case<arith::DivUIOp, arith::DivSIOp, arith::CeilDivUIOp,
            arith::CeilDivSIOp, arith::FloorDivSIOp>(
          [&](auto) { return divide(operand(0), operand(1)); })
      .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) -> Interval {
        // Signed ones may be below zero, and are no larger for it.
        Interval a = getUnsigned(operand(0)), b = getUnsigned(operand(1));
        Number high = least(a.high, b.high);
        if (isa<arith::RemUIOp>(op))
          return {0.0, high};
        return {subtract(0.0, high), high};
      })
      .Case<arith::AndIOp>([&](auto) -> Interval {
        return {0.0, least(getUnsigned(operand(0)).high,
                           getUnsigned(operand(1)).high)};
      })
      .Case<arith::ShRUIOp>(
          [&](auto) -> Interval { return {0.0, getUnsigned(operand(0)).high}; })
      .Case<arith::ShLIOp>([&](auto) {
        APInt by;
        if (!matchPattern(op->getOperand(1), m_ConstantInt(&by)) || by.uge(63))
          return Interval();
        const double factor = std::ldexp(1.0, by.getZExtValue());
        return multiply(operand(0), Interval{factor, factor});
      })
      .Case<arith::MinSIOp, arith::MinUIOp>([&](auto) -> Interval {
        Interval a = operand(0), b = operand(1);
        if (isa<arith::MinUIOp>(op)) {
          a = getUnsigned(a);
          b = getUnsigned(b);
        }
        return {least(a.low, b.low), least(a.high, b.high),
                isNonNegative(a) && isNonNegative(b)};
      })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([&](auto) -> Interval {
        Interval a = operand(0), b = operand(1);
        if (isa<arith::MaxUIOp>(op)) {
          a = getUnsigned(a);
          b = getUnsigned(b);
        }
        return {most(a.low, b.low), most(a.high, b.high),
                isNonNegative(a) || isNonNegative(b)};
      })
      .Case<arith::SelectOp>([&](arith::SelectOp select) -> Interval {
        Interval a = getInterval(select.getTrueValue()),
                 b = getInterval(select.getFalseValue());
        return {least(a.low, b.low), most(a.high, b.high),
                isNonNegative(a) && isNonNegative(b)};
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp>(
          [&](auto) { return operand(0); })
      .Case<arith::IndexCastUIOp, arith::ExtUIOp>(
          [&](auto) { return getUnsigned(operand(0)); })
      .Case<arith::TruncIOp>([&](auto) { return operand(0); })
      .Case<memref::DimOp>([&](memref::DimOp dim) { return getSize(dim); })
      .Default([](Operation *) { return Interval(); });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Number Counter::countRounds(const Interval &lower, const Interval &upper,
                            const Interval &step) {
  Number length = most(subtract(upper.high, lower.low), 0.0);
  if (step.low.isKnown() && step.low.constant <= 1)
    return length;
  // One more, in place of rounding up.
  return add(divide(length, most(step.low, 1.0)), 1.0);
}

/// Whether a block of the region comes behind itself.
static bool hasCycle(Region &region) {
  llvm::DenseMap<Block *, bool> isOpen;
  SmallVector<std::pair<Block *, unsigned>> path{{&region.front(), 0}};
  isOpen[&region.front()] = true;
  while (!path.empty()) {
    auto &[block, next] = path.back();
    if (next == block->getNumSuccessors()) {
      isOpen[block] = false;
      path.pop_back();
      continue;
    }
    Block *successor = block->getSuccessor(next++);
    auto [found, isNew] = isOpen.try_emplace(successor, true);
    if (isNew)
      path.push_back({successor, 0});
    else if (found->second)
      return true;
  }
  return false;
}

Number Counter::countRegion(Region &region) {
  if (region.empty())
    return 0.0;
  if (!region.hasOneBlock() && hasCycle(region))
    return HUGE_VAL;
  Number total = 0.0;
  for (Block &block : region)
    total = add(total, countBlock(block));
  return total;
}

Number Counter::countBlock(Block &block) {
  // What is known of all ops is added up here, and the rest behind it.
  double constant = 0;
  Number total = 0.0;
  for (Operation &op : block) {
    Number count = countOp(&op);
    if (count.isKnown())
      constant += count.constant;
    else
      total = add(total, count);
  }
  return add(total, constant);
}

/// Elements of the largest vector that an op takes or gives, about as many
/// operations.
static double countElements(Operation *op) {
  double most = 1;
  auto look = [&](Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      most = std::max<double>(most, vector.getNumElements());
  };
  llvm::for_each(op->getOperandTypes(), look);
  llvm::for_each(op->getResultTypes(), look);
  return most;
}

Number Counter::countCall(func::CallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  // A function of a library computes a number.
  if (!callee || callee.isExternal())
    return 32.0;
  if (!active.insert(callee).second)
    return HUGE_VAL;
  // Its arguments are those of this call.
  for (auto [argument, operand] :
       llvm::zip(callee.getArguments(), call.getArgOperands()))
    known[argument] = getInterval(operand);
  Number count = countRegion(callee.getBody());
  callee.walk([&](Operation *op) {
    for (Value result : op->getResults())
      known.erase(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          known.erase(argument);
  });
  active.erase(callee);
  return count;
}

Number Counter::countOp(Operation *op) {
  if (--left < 0)
    return HUGE_VAL;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    Number rounds = countRounds(getInterval(loop.getLowerBound()),
                                getInterval(loop.getUpperBound()),
                                getInterval(loop.getStep()));
    if (rounds.isInfinite())
      return rounds;
    Number body = countRegion(loop.getRegion());
    return body.isInfinite() ? body : add(multiply(rounds, body), 1.0);
  }
  if (auto loop = dyn_cast<scf::ParallelOp>(op)) {
    Number count = countRegion(loop.getRegion());
    for (auto [lower, upper, step] : llvm::zip(
             loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
      Number rounds = countRounds(getInterval(lower), getInterval(upper),
                                  getInterval(step));
      if (rounds.isInfinite() || count.isInfinite())
        return HUGE_VAL;
      count = multiply(rounds, count);
    }
    return add(count, 1.0);
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    Number body =
        add(countRegion(loop.getBefore()), countRegion(loop.getAfter()));
    if (!whilesEnd || body.isInfinite())
      return HUGE_VAL;
    return multiply(body, 64.0);
  }
  if (auto call = dyn_cast<func::CallOp>(op))
    return countCall(call);
  if (auto call = dyn_cast<LLVM::CallOp>(op)) {
    auto callee =
        call.getCallee()
            ? SymbolTable::lookupNearestSymbolFrom(op, call.getCalleeAttr())
            : nullptr;
    auto body = dyn_cast_or_null<FunctionOpInterface>(callee);
    if (!body || body.isExternal())
      return 32.0;
    if (!active.insert(callee).second)
      return HUGE_VAL;
    Number count = countRegion(body.getFunctionBody());
    active.erase(callee);
    return count;
  }
  if (op->hasTrait<OpTrait::ConstantLike>() ||
      op->hasTrait<OpTrait::IsTerminator>())
    return 0.0;
  Number count = countElements(op);
  if (isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
      isCollective(op) ||
      isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
          arith::RemUIOp, arith::RemFOp>(op))
    count.constant *= 16;
  if (isa<gpu::PrintfOp>(op))
    count.constant = 1000;
  for (Region &region : op->getRegions())
    count = add(count, countRegion(region));
  return count;
}

OperationCount Counter::count() {
  active.insert(kernel);
  Number total = countRegion(kernel.getFunctionBody());
  OperationCount result;
  if (total.isKnown()) {
    if (total.constant < std::ldexp(1.0, 62))
      result.constant = int64_t(total.constant);
    if (function)
      function.erase();
    return result;
  }
  func::ReturnOp::create(builder, kernel.getLoc(), total.value);
  result.function = function;
  return result;
}

OperationCount cpu::countOperations(FunctionOpInterface kernel, StringRef name,
                                    bool whilesEnd) {
  return Counter(kernel, name, whilesEnd).count();
}
