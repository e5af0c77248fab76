//===- Hazards.cpp - unordered ops that touch the same memory -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a function in program order and keeps, for each token, the set of ops
// that are before it on every path; see Hazards.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/Hazards.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/BitVector.h"

#include <map>

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
  /// What the host has waited for, and what may have been enqueued.
  struct State {
    Set done, enqueued;
  };
  /// Where paths meet: what is done on all of them, and before each of the
  /// tokens that they bring.
  struct Meeting {
    bool isReached = false;
    State state;
    llvm::DenseMap<Value, Set> past;
  };
  /// A way from one region of an op to the next one, or behind the op.
  struct Edge {
    unsigned target;
    SmallVector<std::pair<Value, Value>> tokens; ///< as named there, and here
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
  void walk(Region &region);
  void walk(Block &block);
  void walkOp(Operation *op);
  SmallVector<Edge> findEdges(Operation *op, Region *from);
  void meet(Meeting &meeting, const Edge &edge, const Set &ended);
  void start(const Meeting &meeting);
  void walkRegions(Operation *op);

  FunctionOpInterface function;
  KernelTable &kernels;
  MemoryFacts &facts;
  std::vector<Item> items;
  llvm::DenseMap<Operation *, unsigned> numbers;
  /// The items in an op with regions: from the first to before the last.
  llvm::DenseMap<Operation *, std::pair<unsigned, unsigned>> inside;
  Set nothing;

  /// The ops that are before a token, on every path to it.
  llvm::DenseMap<Value, Set> past;
  State state;
  /// Whether hazards are kept.
  bool reports = false;
  /// The loop of which an iteration is looked at that follows another one: then
  /// all sets are of ops of earlier iterations.
  Operation *carriedLoop = nullptr;
  /// What came back to each region of an op in the last round, by the loop that
  /// is looked at so; and whether it was the same in the round before.
  std::map<std::pair<Operation *, Operation *>, SmallVector<Meeting>> returning;
  bool isStable = false;
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
  for (unsigned other : state.enqueued.set_bits()) {
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

/// Blocks of a control-flow graph one by one.
void HazardFinder::walk(Region &region) {
  if (region.hasOneBlock())
    return walk(region.front());
  State before = state;
  Set enqueued = state.enqueued;
  for (Block &block : region) {
    state = before;
    walk(block);
    enqueued |= state.enqueued;
  }
  state = {before.done, std::move(enqueued)};
}

void HazardFinder::walk(Block &block) {
  for (Operation &op : block)
    walkOp(&op);
}

void HazardFinder::walkOp(Operation *op) {
  if (auto wait = dyn_cast<WaitOp>(op)) {
    Set before = pastOf(op->getOperands());
    if (wait.isHostWait())
      state.done |= before;
    else
      past[wait.getAsyncToken()] = before;
    return;
  }
  if (op->getNumRegions() && !numbers.count(op))
    return walkRegions(op);
  auto found = numbers.find(op);
  if (found != numbers.end()) {
    unsigned number = found->second;
    Set before = pastOf(op->getOperands());
    before |= state.done;
    check(number, before);
    if (items[number].isHost)
      return;
    if (!carriedLoop) {
      state.enqueued.set(number);
      before.set(number);
    }
    past[cast<WorkOpInterface>(op).getAsyncToken()] = std::move(before);
    return;
  }
  if (auto select = dyn_cast<SelectLikeOpInterface>(op);
      select && isToken(op->getResult(0))) {
    Set both = pastOf(select.getTrueValue());
    both &= pastOf(select.getFalseValue());
    past[op->getResult(0)] = both;
    return;
  }
  bool hasTokens = false;
  for (OpResult result : op->getResults())
    if (isToken(result)) {
      hasTokens = true;
      Set before = pastOf(op->getOperands());
      before |= state.done;
      past[result] = std::move(before);
    }
  hasTokens |= llvm::any_of(op->getOperands(), isToken);
  // An opaque call waits for all that is outstanding.
  if (isa<CallOpInterface>(op) && !hasTokens && !facts.hostAccesses(op))
    state.done |= state.enqueued;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// The ways out of a region, null for the op itself. What lies behind the op
/// has the number behind that of the last region.
SmallVector<HazardFinder::Edge> HazardFinder::findEdges(Operation *op,
                                                        Region *from) {
  SmallVector<Edge> edges;
  unsigned behind = op->getNumRegions();
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch) {
    // Nothing is known: each region may run once, or none.
    if (!from)
      for (Region &region : op->getRegions())
        if (!region.empty())
          edges.push_back({region.getRegionNumber(), {}});
    edges.push_back({behind, {}});
    return edges;
  }
  SmallVector<RegionBranchPoint> points;
  if (!from)
    points.push_back(RegionBranchPoint::parent());
  else
    for (Block &block : *from)
      if (auto end = dyn_cast<RegionBranchTerminatorOpInterface>(block.back()))
        points.push_back(RegionBranchPoint(end));
  for (RegionBranchPoint point : points) {
    SmallVector<RegionSuccessor> successors;
    branch.getSuccessorRegions(point, successors);
    for (const RegionSuccessor &successor : successors) {
      Edge &edge = edges.emplace_back();
      edge.target = successor.isParent()
                        ? behind
                        : successor.getSuccessor()->getRegionNumber();
      auto end = dyn_cast_or_null<RegionBranchTerminatorOpInterface>(
          point.getTerminatorPredecessorOrNull());
      OperandRange operands = end ? end.getSuccessorOperands(successor)
                                  : branch.getEntrySuccessorOperands(successor);
      for (auto [there, here] :
           llvm::zip(successor.getSuccessorInputs(), operands))
        if (isToken(there))
          edge.tokens.push_back({there, here});
    }
  }
  return edges;
}

/// Adds a path, from where the walk is. What has not run on the way, and cannot
/// any more, is unordered with nothing.
void HazardFinder::meet(Meeting &meeting, const Edge &edge, const Set &ended) {
  Set ordered = ended;
  ordered.reset(state.enqueued);
  // What uses a token behind the meeting comes after what is done here, too.
  ordered |= state.done;
  auto add = [&](Set &all, Set before) {
    before |= ordered;
    if (meeting.isReached)
      all &= before;
    else
      all = std::move(before);
  };
  add(meeting.state.done, state.done);
  for (auto [there, here] : edge.tokens)
    add(meeting.past[there], pastOf(here));
  if (meeting.isReached)
    meeting.state.enqueued |= state.enqueued;
  else
    meeting.state.enqueued = state.enqueued;
  meeting.isReached = true;
}

void HazardFinder::start(const Meeting &meeting) {
  state = meeting.state;
  for (const auto &[token, before] : meeting.past)
    past[token] = before;
}

/// A region after the other, as control goes. What is before a token where
/// control comes back to must be so on all ways: what came back in the last
/// round is taken for granted, and once that holds in a round it is so. Then an
/// iteration is looked at that follows another one.
void HazardFinder::walkRegions(Operation *op) {
  unsigned behind = op->getNumRegions();
  Set ofOp = nothing;
  ofOp.set(inside[op].first, inside[op].second);
  // Leaves `from`, null for the op itself; what comes back goes to `back`.
  auto leave = [&](Region *from, SmallVectorImpl<Meeting> &meetings,
                   SmallVectorImpl<Meeting> &back) {
    for (const Edge &edge : findEdges(op, from)) {
      bool isBack = from && edge.target <= from->getRegionNumber();
      meet(isBack ? back[edge.target] : meetings[edge.target], edge,
           edge.target == behind ? ofOp : nothing);
    }
  };
  auto walkFrom = [&](SmallVectorImpl<Meeting> &meetings,
                      SmallVectorImpl<Meeting> &back) {
    for (Region &region : op->getRegions()) {
      Meeting &meeting = meetings[region.getRegionNumber()];
      if (!meeting.isReached)
        continue;
      start(meeting);
      walk(region);
      leave(&region, meetings, back);
    }
  };

  SmallVector<Meeting> meetings(behind + 1), back(behind);
  leave(nullptr, meetings, back);
  std::pair<Operation *, Operation *> place(carriedLoop, op);
  for (auto [meeting, known] : llvm::zip(meetings, returning[place]))
    for (auto &[token, set] : known.past)
      meeting.past[token] &= set;
  walkFrom(meetings, back);
  Meeting &result = meetings[behind];
  SmallVector<Meeting> &known = returning[place];
  isStable &= known.size() == back.size() &&
              llvm::all_of(llvm::zip(known, back), [](const auto &both) {
                return std::get<0>(both).past == std::get<1>(both).past;
              });
  known = back;

  // A loop within a loop that is looked at so has been looked at on its own.
  Set ofIterations = nothing;
  for (const Meeting &meeting : back)
    if (meeting.isReached)
      ofIterations |= meeting.state.enqueued;
  ofIterations &= ofOp;
  if (!carriedLoop && ofIterations.any()) {
    SmallVector<Meeting> next = std::move(back), unused(behind);
    for (Meeting &meeting : next)
      meeting.state.enqueued &= ofOp;
    next.resize(behind + 1);
    carriedLoop = op;
    walkFrom(next, unused);
    carriedLoop = nullptr;
    // An op of the loop is before what is behind it if all of its runs are.
    auto restrict = [&](Set &all, const Set &before) {
      Set missing = ofIterations;
      missing.reset(before);
      all.reset(missing);
    };
    if (Meeting &later = next[behind]; later.isReached) {
      restrict(result.state.done, later.state.done);
      for (auto &[token, set] : result.past)
        restrict(set, later.past[token]);
    }
  }
  if (result.isReached)
    start(result);
}

std::vector<Hazard> HazardFinder::run() {
  function->walk([&](Operation *op, const WalkStage &stage) {
    if (op == function)
      return;
    if (op->getNumRegions()) {
      if (stage.isBeforeAllRegions())
        inside[op].first = items.size();
      inside[op].second = items.size();
      return;
    }
    if (auto work = dyn_cast<WorkOpInterface>(op)) {
      if (!work.getAsyncToken())
        return;
      numbers[op] = items.size();
      items.push_back({op, deviceAccesses(op, kernels), /*isHost=*/false});
      return;
    }
    if (isa<WaitOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
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
  auto walkAll = [&] {
    isStable = true;
    past.clear();
    state = {nothing, nothing};
    walk(function.getFunctionBody());
  };
  while (!isStable)
    walkAll();
  reports = true;
  walkAll();
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
