//===- ImpliedTokens.cpp - tokens that others of an op imply --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ImpliedTokens.h. The question is always which tokens are complete once
// one token is. For what a loop carries, the answer is found by induction over
// the iterations: it holds for the initial values, and if it holds for the
// values that an iteration begins with, it holds for those that it ends with.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/ImpliedTokens.h"

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#include <memory>
#include <optional>

using namespace mlir;
using namespace mlir::gpuasync;

using Set = llvm::BitVector;

static Value skipForks(Value token) {
  while (auto fork = token.getDefiningOp<ForkOp>())
    token = fork.getToken();
  return token;
}

/// The points that a token stands for: a join stands for what it joins.
static SmallVector<Value> getPoints(Value token) {
  SmallVector<Value> points, worklist{token};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = skipForks(worklist.pop_back_val());
    if (!seen.insert(next).second)
      continue;
    if (auto join = next.getDefiningOp<WaitOp>())
      llvm::append_range(worklist, join.getAsyncDependencies());
    else
      points.push_back(next);
  }
  return points;
}

static OperandRange getDependencies(Operation *op) {
  if (auto work = dyn_cast<WorkOpInterface>(op))
    return work.getAsyncDependencies();
  if (auto wait = dyn_cast<WaitOp>(op))
    return wait.getAsyncDependencies();
  return {op->operand_end(), op->operand_end()};
}

static auto getTokens(ValueRange values) {
  return llvm::to_vector(llvm::make_filter_range(values, isToken));
}

namespace {
/// A function or a loop, and the points that matter in it. A loop has a region
/// or, as scf.while, two that run in turn.
struct Scope {
  explicit Scope(FunctionOpInterface function) : owner(function) {
    blocks.push_back(&function.getFunctionBody().front());
    number();
  }
  explicit Scope(Operation *loop) : owner(loop) {
    for (Region &region : loop->getRegions())
      blocks.push_back(&region.front());
    for (Block *block : blocks) {
      arguments.push_back(getTokens(block->getArguments()));
      Operation *end = block->getTerminator();
      auto condition = dyn_cast<scf::ConditionOp>(end);
      ends.push_back(getTokens(condition ? ValueRange(condition.getArgs())
                                         : ValueRange(end->getOperands())));
    }
    number();
  }

  /// Whether the value is there when an iteration begins, or before.
  bool isOutside(Value token) const {
    return !owner->isAncestor(token.getParentBlock()->getParentOp());
  }

  Operation *owner;
  SmallVector<Block *, 2> blocks;
  /// Tokens of a loop: the arguments of each block, and what its terminator
  /// gives to the arguments of the next one.
  SmallVector<SmallVector<Value>, 2> arguments, ends;
  llvm::DenseMap<Value, unsigned> numbers;
  SmallVector<Value> outside; ///< those of the points that are
  /// What is complete with each argument of the first block, as far as the
  /// induction has not failed yet.
  std::vector<Set> carried;
  /// The last visit of a loop: what was complete with the initial values and
  /// with the points outside, and what is with the results.
  std::vector<Set> began, beganOutside, results;
  bool isVisited = false;

private:
  void number();
  void number(Block &block, Operation *loop);
  void add(Value token);
};

/// What is complete with each token, of the points of a scope.
class Complete {
public:
  explicit Complete(const Scope &scope) : scope(scope) {}

  Set get(Value token) const {
    token = skipForks(token);
    auto found = complete.find(token);
    if (found != complete.end())
      return found->second;
    Set set(scope.numbers.size());
    // A join from outside is not walked.
    for (Value point : getPoints(token)) {
      if (auto known = complete.find(point); known != complete.end())
        set |= known->second;
      if (auto number = scope.numbers.find(point);
          number != scope.numbers.end())
        set.set(number->second);
    }
    return set;
  }
  void set(Value token, Set set) {
    if (auto number = scope.numbers.find(token); number != scope.numbers.end())
      set.set(number->second);
    complete[token] = std::move(set);
  }
  /// The numbers of the points of `token`; none if one of them has no number.
  std::optional<SmallVector<unsigned>> find(Value token) const {
    SmallVector<unsigned> found;
    for (Value point : getPoints(token)) {
      auto number = scope.numbers.find(point);
      if (number == scope.numbers.end())
        return std::nullopt;
      found.push_back(number->second);
    }
    return found;
  }
  /// Whether the points of `token` are in the set.
  bool has(const Set &set, Value token) const {
    auto found = find(token);
    return found && llvm::all_of(*found, [&](unsigned number) {
             return set.test(number);
           });
  }

  const Scope &scope;

private:
  llvm::DenseMap<Value, Set> complete;
};

class Finder {
public:
  explicit Finder(FunctionOpInterface function) {
    Scope scope(function);
    Complete complete(scope);
    walk(*scope.blocks.front(), complete, /*isLast=*/true);
  }

  llvm::DenseSet<OpOperand *> implied;

private:
  void walk(Block &block, Complete &complete, bool isLast);
  void walkBranch(Operation *op, Complete &complete, bool isLast);
  void walkLoop(Operation *op, Complete &outer, bool isLast);
  void walkIteration(Scope &scope, Complete &complete, bool isLast);
  void reduce(Operation *op, const Complete &complete);

  llvm::DenseMap<Operation *, std::unique_ptr<Scope>> loops;
};
} // namespace

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

void Scope::add(Value token) {
  for (Value point : getPoints(token)) {
    if (!numbers.try_emplace(point, numbers.size()).second)
      continue;
    if (isOutside(point))
      outside.push_back(point);
    // It is compared with other results by what each region yields.
    Operation *op = point.getDefiningOp();
    if (op && !isOutside(point) && runsOneRegionOnce(op) && carriesTokens(op))
      for (Region &region : op->getRegions())
        if (!region.empty())
          add(region.front().getTerminator()->getOperand(
              cast<OpResult>(point).getResultNumber()));
  }
}

/// `loop` is the outermost one in the scope that the block is in.
void Scope::number(Block &block, Operation *loop) {
  for (Operation &op : block) {
    bool isLoop = isTokenLoop(&op);
    for (Value operand : op.getOperands())
      if (isToken(operand) &&
          (isOutside(operand) || (isLoop && !loop) ||
           (loop &&
            !loop->isAncestor(operand.getParentBlock()->getParentOp()))))
        add(operand);
    if (isLoop && !loop)
      for (Value result : op.getResults())
        if (isToken(result))
          add(result);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        number(inner, loop ? loop : isLoop ? &op : nullptr);
  }
}

void Scope::number() {
  for (const SmallVector<Value> &tokens : arguments)
    llvm::for_each(tokens, [&](Value token) { add(token); });
  for (const SmallVector<Value> &tokens : ends)
    llvm::for_each(tokens, [&](Value token) { add(token); });
  for (Block *block : blocks)
    number(*block, nullptr);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Notes which dependencies of an op may go. Later ones go first, so that ops
/// that take the same tokens keep the same ones.
void Finder::reduce(Operation *op, const Complete &complete) {
  auto mayGo = [&](Value token) {
    token = skipForks(token);
    if (complete.scope.isOutside(token) || isa<BlockArgument>(token))
      return true;
    return isTokenLoop(token.getDefiningOp());
  };
  OperandRange tokens = getDependencies(op);
  if (llvm::none_of(tokens, mayGo))
    return;
  std::vector<Set> before; // what is complete with those before each one
  Set all(complete.scope.numbers.size());
  for (Value token : tokens) {
    before.push_back(all);
    all |= complete.get(token);
  }
  Set behind(all.size());
  for (size_t i = tokens.size(); i-- > 0;) {
    Set others = before[i];
    others |= behind;
    if (mayGo(tokens[i]) && complete.has(others, tokens[i]))
      implied.insert(&op->getOpOperand(tokens.getBeginOperandIndex() + i));
    else
      behind |= complete.get(tokens[i]);
  }
}

void Finder::walk(Block &block, Complete &complete, bool isLast) {
  for (Operation &op : block) {
    if (isLast)
      reduce(&op, complete);
    if (isTokenLoop(&op) && carriesTokens(&op)) {
      walkLoop(&op, complete, isLast);
    } else if (runsOneRegionOnce(&op) && carriesTokens(&op)) {
      walkBranch(&op, complete, isLast);
    } else if (auto wait = dyn_cast<WaitOp>(op);
               isa<WorkOpInterface>(op) || (wait && !wait.isHostWait())) {
      Set before(complete.scope.numbers.size());
      for (Value token : getDependencies(&op))
        before |= complete.get(token);
      for (Value result : op.getResults())
        if (isToken(result))
          complete.set(result, before);
    }
  }
}

void Finder::walkBranch(Operation *op, Complete &complete, bool isLast) {
  SmallVector<Operation *> ends;
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    walk(region.front(), complete, isLast);
    ends.push_back(region.front().getTerminator());
  }
  for (OpResult result : op->getResults()) {
    if (!isToken(result))
      continue;
    Set onAll(complete.scope.numbers.size(), true);
    SmallVector<Set> onEach;
    for (Operation *end : ends) {
      onEach.push_back(complete.get(end->getOperand(result.getResultNumber())));
      onAll &= onEach.back();
    }
    for (OpResult other : op->getResults()) {
      auto number = complete.scope.numbers.find(other);
      if (number != complete.scope.numbers.end() &&
          llvm::all_of(llvm::zip(ends, onEach), [&](const auto &path) {
            const auto &[end, set] = path;
            return complete.has(set, end->getOperand(other.getResultNumber()));
          }))
        onAll.set(number->second);
    }
    complete.set(result, std::move(onAll));
  }
}

/// What is complete with each of `targets` when it gets the value in `values`
/// beside it: of the targets, and of `outside`, as far as they are points of
/// the scope `to`.
static std::vector<Set> handOver(ArrayRef<Value> values,
                                 ArrayRef<Value> targets,
                                 ArrayRef<Value> outside, const Complete &from,
                                 const Scope &to) {
  // The points of a value, and the number of what has it there. Most values
  // are a point.
  SmallVector<std::pair<unsigned, unsigned>> ofPoints;
  std::vector<std::pair<Set, unsigned>> ofJoins;
  auto add = [&](Value value, Value target) {
    auto number = to.numbers.find(target);
    if (number == to.numbers.end())
      return;
    auto points = from.find(value);
    if (!points)
      return;
    if (points->size() == 1)
      return ofPoints.push_back({points->front(), number->second});
    Set set(from.scope.numbers.size());
    for (unsigned point : *points)
      set.set(point);
    ofJoins.push_back({std::move(set), number->second});
  };
  for (auto [value, target] : llvm::zip(values, targets))
    add(value, target);
  for (Value point : outside)
    add(point, point);
  std::vector<Set> sets;
  for (Value value : values) {
    const Set complete = from.get(value);
    Set &set = sets.emplace_back(to.numbers.size());
    for (auto [point, target] : ofPoints)
      if (complete.test(point))
        set.set(target);
    for (const auto &[points, target] : ofJoins)
      if (!points.test(complete)) // none is missing
        set.set(target);
  }
  return sets;
}

/// The regions of a loop in turn. Keeps of `carried` what still holds when
/// control comes back.
void Finder::walkIteration(Scope &scope, Complete &complete, bool isLast) {
  std::vector<Set> begin = scope.carried;
  for (size_t i = 0; i < scope.blocks.size(); ++i) {
    for (auto [argument, set] : llvm::zip(scope.arguments[i], begin))
      complete.set(argument, set);
    walk(*scope.blocks[i], complete, isLast);
    begin =
        handOver(scope.ends[i], scope.arguments[(i + 1) % scope.blocks.size()],
                 scope.outside, complete, scope);
  }
  for (auto [all, set] : llvm::zip(scope.carried, begin))
    all &= set;
}

/// A round of the induction costs the square of the number of tokens, and a
/// loop that shifts n tokens takes n rounds.
static constexpr unsigned maxRounds = 64;

/// The induction. What it came to at the last visit holds as long as the loop
/// begins with the same: visits are as many as the loops around have rounds.
void Finder::walkLoop(Operation *op, Complete &outer, bool isLast) {
  std::unique_ptr<Scope> &known = loops[op];
  if (!known)
    known = std::make_unique<Scope>(op);
  Scope &scope = *known;
  // Tokens among the operands are initial values.
  std::vector<Set> begin =
      handOver(getTokens(op->getOperands()), scope.arguments.front(),
               scope.outside, outer, scope);
  std::vector<Set> outside =
      handOver(scope.outside, scope.outside, {}, outer, scope);
  const bool isKnown =
      scope.isVisited && scope.began == begin && scope.beganOutside == outside;

  auto walkOnce = [&](std::optional<Complete> &complete, bool isLast) {
    complete.emplace(scope);
    for (auto [point, set] : llvm::zip(scope.outside, outside))
      complete->set(point, set);
    walkIteration(scope, *complete, isLast);
  };
  std::optional<Complete> complete;
  if (!isKnown) {
    if (scope.carried.empty())
      scope.carried = begin;
    for (auto [all, set] : llvm::zip(scope.carried, begin))
      all &= set;
    // At least once: an scf.while may carry tokens through its body alone.
    std::vector<Set> before;
    unsigned rounds = 0;
    do {
      if (++rounds > maxRounds) // that nothing is complete always holds
        for (Set &set : scope.carried)
          set.reset();
      before = scope.carried;
      walkOnce(complete, /*isLast=*/false);
    } while (before != scope.carried);
    // A result is what the argument of the last block is.
    scope.results =
        handOver(scope.arguments.back(), getTokens(op->getResults()),
                 scope.outside, *complete, outer.scope);
    scope.began = std::move(begin);
    scope.beganOutside = outside;
    scope.isVisited = true;
  }
  if (isLast)
    walkOnce(complete, isLast);
  for (auto [result, set] :
       llvm::zip(getTokens(op->getResults()), scope.results))
    outer.set(result, set);
}

llvm::DenseSet<OpOperand *>
mlir::gpuasync::findImpliedTokens(FunctionOpInterface function) {
  if (!function.getFunctionBody().hasOneBlock())
    return {};
  return Finder(function).implied;
}
