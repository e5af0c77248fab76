//===- Hazards.cpp - unordered ops that touch the same memory -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a function in program order and keeps, for each token, the set of ops
// that are before it on every path; see Hazards.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Hazards.h"
#include "GPUAsync/IR/GPUAsyncOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::gpuasync;

StringRef Hazard::getName() const {
  if (!secondAccess.writes)
    return "read-after-write";
  return firstAccess.writes ? "write-after-write" : "write-after-read";
}

void gpuasync::printMemory(raw_ostream &os, const Access &access) {
  bool isPart = !access.window.isAny();
  switch (access.base.kind) {
  case Base::Allocation:
    os << (isPart ? "a part of the buffer of " : "the buffer of ")
       << access.base.identity.getValue().getLoc();
    break;
  case Base::Argument:
  case Base::NoAliasArgument:
    os << (isPart ? "a part of argument " : "argument ")
       << cast<BlockArgument>(access.base.identity.getValue()).getArgNumber();
    break;
  case Base::Global:
    os << "global @" << cast<StringAttr>(access.base.symbol).getValue();
    break;
  case Base::Module:
    os << "the globals of @" << cast<StringAttr>(access.base.symbol).getValue();
    break;
  case Base::Output:
    os << "what kernels print";
    break;
  case Base::Unknown:
    os << "memory that may be anywhere";
    break;
  }
}

namespace {

bool isToken(Value value) { return isa<TokenType>(value.getType()); }

class HazardFinder {
public:
  HazardFinder(FunctionOpInterface function, KernelTable &kernels,
               MemoryFacts &facts)
      : function(function), kernels(kernels), facts(facts) {}

  std::vector<Hazard> run();

private:
  using Set = llvm::BitVector;

  struct Item {
    Operation *op;
    Accesses accesses;
    bool isHost;
  };

  const Set &pastOf(Value token) {
    auto it = past.find(token);
    return it == past.end() ? nothing : it->second;
  }
  Set pastOf(ValueRange values) {
    Set set = nothing;
    for (Value value : values)
      if (isToken(value))
        set |= pastOf(value);
    return set;
  }
  void check(unsigned number, const Set &before);
  void walk(Block &block);
  void walkOp(Operation *op);
  void walkBranches(Operation *op);
  void walkLoop(Operation *op);

  FunctionOpInterface function;
  KernelTable &kernels;
  MemoryFacts &facts;
  std::vector<Item> items;
  llvm::DenseMap<Operation *, unsigned> numbers;
  Set nothing;

  /// The ops that are before a token, on every path to it.
  llvm::DenseMap<Value, Set> past;
  /// What the host has waited for, and what may have been enqueued.
  Set done;
  Set enqueued;
  /// Whether hazards are kept.
  bool reports = true;
  /// The loop of which an iteration is looked at that follows another one: then
  /// all sets are of ops of earlier iterations.
  Operation *carriedLoop = nullptr;
  std::vector<Hazard> hazards;
};

void HazardFinder::check(unsigned number, const Set &before) {
  if (!reports)
    return;
  const Item &second = items[number];
  Accesses accesses = second.accesses;
  if (carriedLoop)
    for (Access &access : accesses)
      access.leave(carriedLoop);
  for (unsigned other : enqueued.set_bits()) {
    if (before.test(other))
      continue;
    const Item &first = items[other];
    [&] {
      for (const Access &a : first.accesses)
        for (const Access &b : accesses) {
          if ((!a.writes && !b.writes) || !facts.mayOverlap(a, b))
            continue;
          // Memory of an iteration's own is another one in the next.
          if (carriedLoop && a.base == b.base &&
              a.base.identity.isMadeIn(carriedLoop))
            continue;
          // The host can use host-shared memory at once.
          if (second.isHost && isa<AllocOp>(first.op))
            continue;
          hazards.push_back(
              {first.op, second.op, a, b, carriedLoop != nullptr});
          return;
        }
    }();
  }
}

void HazardFinder::walk(Block &block) {
  for (Operation &op : block)
    walkOp(&op);
}

void HazardFinder::walkOp(Operation *op) {
  if (auto wait = dyn_cast<WaitOp>(op)) {
    Set before = pastOf(op->getOperands());
    if (wait.isHostWait())
      done |= before;
    else
      past[wait.getAsyncToken()] = before;
    return;
  }
  if (op->getNumRegions() && !numbers.count(op))
    return isa<LoopLikeOpInterface>(op) ? walkLoop(op) : walkBranches(op);
  auto found = numbers.find(op);
  if (found != numbers.end()) {
    unsigned number = found->second;
    Set before = pastOf(op->getOperands());
    before |= done;
    check(number, before);
    if (items[number].isHost)
      return;
    if (!carriedLoop) {
      enqueued.set(number);
      before.set(number);
    }
    past[cast<WorkOpInterface>(op).getAsyncToken()] = std::move(before);
    return;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op); select && isToken(select)) {
    Set both = pastOf(select.getTrueValue());
    both &= pastOf(select.getFalseValue());
    past[select.getResult()] = both;
    return;
  }
  bool hasTokens = false;
  for (OpResult result : op->getResults())
    if (isToken(result)) {
      hasTokens = true;
      Set before = pastOf(op->getOperands());
      before |= done;
      past[result] = std::move(before);
    }
  hasTokens |= llvm::any_of(op->getOperands(), isToken);
  // An opaque call waits for all that is outstanding.
  if (isa<CallOpInterface>(op) && !hasTokens && !facts.hostAccesses(op))
    done |= enqueued;
}

/// Regions that run at most once.
void HazardFinder::walkBranches(Operation *op) {
  Set doneBefore = done;
  Set enqueuedBefore = enqueued;
  std::optional<Set> doneAfter;
  Set enqueuedAfter = enqueued;
  SmallVector<Set> results;
  Set all = nothing;
  auto opsOf = [&](Region &region) {
    Set ops = nothing;
    region.walk([&](Operation *inner) {
      auto it = numbers.find(inner);
      if (it != numbers.end())
        ops.set(it->second);
    });
    return ops;
  };
  for (Region &region : op->getRegions())
    all |= opsOf(region);
  for (Region &region : op->getRegions()) {
    // What runs in other regions has not run on this path: nothing of it is
    // unordered, but for earlier iterations.
    Set others = carriedLoop ? nothing : all;
    others.reset(opsOf(region));
    done = doneBefore;
    enqueued = enqueuedBefore;
    if (!region.empty()) {
      walk(region.front());
      Operation *terminator = region.front().getTerminator();
      results.resize(terminator->getNumOperands());
      for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
        if (!isToken(value))
          continue;
        Set before = pastOf(value);
        before |= others;
        if (results[index].empty())
          results[index] = std::move(before);
        else
          results[index] &= before;
      }
    }
    done |= others;
    if (doneAfter)
      *doneAfter &= done;
    else
      doneAfter = done;
    enqueuedAfter |= enqueued;
  }
  done = doneAfter.value_or(doneBefore);
  enqueued = enqueuedAfter;
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (isToken(result) && index < results.size() && !results[index].empty())
      past[result] = results[index];
}

/// The first iteration follows what was before the loop, the others follow an
/// iteration: what is before a carried token must be so on both ways.
void HazardFinder::walkLoop(Operation *op) {
  Block *first = &op->getRegion(0).front();
  bool isWhile = isa<scf::WhileOp>(op);
  Block *last = isWhile ? &op->getRegion(1).front() : first;
  if (!isa<scf::ForOp, scf::WhileOp>(op))
    return;
  ValueRange inits = isWhile ? ValueRange(op->getOperands())
                             : cast<scf::ForOp>(op).getInitArgs();
  ValueRange arguments =
      isWhile ? ValueRange(first->getArguments())
              : ValueRange(cast<scf::ForOp>(op).getRegionIterArgs());
  ValueRange yields = last->getTerminator()->getOperands();
  auto walkBody = [&] {
    walk(*first);
    if (!isWhile)
      return;
    auto condition = cast<scf::ConditionOp>(first->getTerminator());
    for (auto [value, argument] :
         llvm::zip_equal(condition.getArgs(), last->getArguments()))
      if (isToken(argument))
        past[argument] = pastOf(value);
    walk(*last);
  };
  auto leaving = [&]() -> ValueRange {
    if (isWhile)
      return cast<scf::ConditionOp>(first->getTerminator()).getArgs();
    return yields;
  };

  bool wasReporting = reports;
  Set doneBefore = done;
  Set enqueuedBefore = enqueued;
  auto start = [&] {
    done = doneBefore;
    enqueued = enqueuedBefore;
  };
  for (auto [init, argument] : llvm::zip_equal(inits, arguments))
    if (isToken(argument))
      past[argument] = pastOf(init);
  // Until the carried tokens' pasts hold in all iterations.
  reports = false;
  for (bool isStable = false; !isStable;) {
    isStable = true;
    start();
    walkBody();
    for (auto [argument, yield] : llvm::zip_equal(arguments, yields)) {
      if (!isToken(argument))
        continue;
      Set both = past[argument];
      both &= pastOf(yield);
      isStable &= both == past[argument];
      past[argument] = std::move(both);
    }
  }
  reports = wasReporting;
  start();
  walkBody();
  Set body = enqueued;
  Set doneAfter = done;
  body.reset(enqueuedBefore);
  Set enqueuedAfter = enqueued;
  SmallVector<Set> results;
  for (Value value : leaving())
    results.push_back(isToken(value) ? pastOf(value) : Set());

  // An iteration after another one. A loop within a loop that is looked at so
  // has been looked at on its own.
  if (!carriedLoop) {
    SmallVector<Set> carried;
    for (Value yield : yields)
      carried.push_back(isToken(yield) ? pastOf(yield) : Set());
    carriedLoop = op;
    done = doneAfter;
    enqueued = body;
    for (auto [argument, set] : llvm::zip_equal(arguments, carried))
      if (isToken(argument))
        past[argument] = set;
    walkBody();
    carriedLoop = nullptr;
    // An op of the body is before a result if all of its runs are.
    for (auto [value, result] : llvm::zip_equal(leaving(), results)) {
      if (!isToken(value))
        continue;
      Set missing = body;
      missing.reset(pastOf(value));
      result.reset(missing);
    }
  }
  for (auto [value, result] : llvm::zip(op->getResults(), results))
    if (isToken(value))
      past[value] = result;
  done = doneBefore;
  enqueued = enqueuedAfter;
}

std::vector<Hazard> HazardFinder::run() {
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return;
    if (auto work = dyn_cast<WorkOpInterface>(op)) {
      if (!work.getAsyncToken())
        return;
      numbers[op] = items.size();
      items.push_back({op, deviceAccesses(op, kernels), /*isHost=*/false});
      return;
    }
    if (op->getNumRegions() || isa<WaitOp>(op) ||
        op->hasTrait<OpTrait::IsTerminator>() ||
        llvm::any_of(op->getOperands(), isToken) ||
        llvm::any_of(op->getResults(), isToken))
      return;
    std::optional<Accesses> accesses = isa<HostUnregisterOp>(op)
                                           ? deviceAccesses(op, kernels)
                                           : facts.hostAccesses(op);
    if (!accesses || accesses->empty())
      return;
    numbers[op] = items.size();
    items.push_back({op, std::move(*accesses), /*isHost=*/true});
  });
  nothing.resize(items.size());
  for (Block &block : function.getFunctionBody()) {
    done = nothing;
    enqueued = nothing;
    walk(block);
  }
  llvm::sort(hazards, [&](const Hazard &a, const Hazard &b) {
    return std::tuple(a.isCarried, numbers.at(a.second), numbers.at(a.first)) <
           std::tuple(b.isCarried, numbers.at(b.second), numbers.at(b.first));
  });
  // Two ops that are unordered in one iteration are so in two, and what is in
  // several loops is seen in each.
  llvm::DenseSet<std::pair<Operation *, Operation *>> pairs;
  llvm::erase_if(hazards, [&](const Hazard &hazard) {
    return !pairs.insert({hazard.first, hazard.second}).second;
  });
  return std::move(hazards);
}

} // namespace

std::vector<Hazard> gpuasync::findHazards(FunctionOpInterface function,
                                          KernelTable &kernels,
                                          MemoryFacts &facts) {
  return HazardFinder(function, kernels, facts).run();
}
