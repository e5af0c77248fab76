//===- HappensBefore.cpp - what comes before what in the token form -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See HappensBefore.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/HappensBefore.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

NamedItems &NamedItems::operator|=(const NamedItems &other) {
  if (other.numbers.empty())
    return *this;
  if (numbers.empty() || numbers.back() < other.numbers.front()) {
    numbers.append(other.numbers);
  } else {
    SmallVector<unsigned, 2> united;
    std::set_union(numbers.begin(), numbers.end(), other.numbers.begin(),
                   other.numbers.end(), std::back_inserter(united));
    numbers = std::move(united);
  }
  if (numbers.size() > most)
    numbers.erase(numbers.begin(), numbers.end() - most);
  return *this;
}

void NamedItems::meet(const NamedItems &other,
                      function_ref<bool(unsigned)> isKept) {
  SmallVector<unsigned, 2> both;
  std::set_intersection(numbers.begin(), numbers.end(), other.numbers.begin(),
                        other.numbers.end(), std::back_inserter(both));
  *this |= other;
  keepIf([&](unsigned number) {
    return isKept(number) ||
           std::binary_search(both.begin(), both.end(), number);
  });
}

template <typename Set>
const Set &HappensBefore<Set>::pastOf(Value token) const {
  while (auto fork = token.getDefiningOp<ForkOp>())
    token = fork.getToken();
  auto found = past.find(token);
  return found == past.end() ? nothing : found->second;
}

template <typename Set>
Set HappensBefore<Set>::pastOf(ValueRange values) const {
  Set set = nothing;
  for (Value value : values)
    if (isToken(value))
      set |= pastOf(value);
  return set;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Blocks of a control-flow graph one by one.
template <typename Set>
void HappensBefore<Set>::walk(Region &region) {
  if (region.hasOneBlock())
    return walk(region.front());
  State before = state;
  llvm::BitVector enqueued = state.enqueued;
  for (Block &block : region) {
    state = before;
    walk(block);
    enqueued |= state.enqueued;
  }
  state = {before.done, std::move(enqueued)};
}

template <typename Set>
void HappensBefore<Set>::walk(Block &block) {
  for (Operation &op : block)
    walkOp(&op);
}

template <typename Set>
void HappensBefore<Set>::walkItem(Operation *op, unsigned number) {
  Set before = pastOf(op->getOperands());
  if constexpr (!isNamed)
    before |= state.done;
  report(op, before);
  auto work = dyn_cast<WorkOpInterface>(op);
  if (!work || !work.getAsyncToken())
    return;
  // The token in an iteration that follows another one is none of that one's.
  if constexpr (isNamed) {
    if (!isPassed(op))
      before = carriedLoop ? Set() : Set(number);
  } else if (!carriedLoop) {
    state.enqueued.set(number);
    before.set(number);
  }
  past[work.getAsyncToken()] = std::move(before);
}

template <typename Set>
void HappensBefore<Set>::walkOp(Operation *op) {
  if (isa<ForkOp>(op))
    return;
  if (auto wait = dyn_cast<WaitOp>(op)) {
    Set before = pastOf(op->getOperands());
    if (!wait.isHostWait()) {
      past[wait.getAsyncToken()] = std::move(before);
      return;
    }
    if constexpr (!isNamed) {
      state.done |= before;
      report(op, state.done);
    }
    return;
  }
  std::optional<unsigned> number = getNumber(op);
  if (number)
    return walkItem(op, *number);
  if (op->getNumRegions())
    return walkRegions(op);
  if (auto select = dyn_cast<SelectLikeOpInterface>(op);
      select && isToken(op->getResult(0))) {
    Set both = pastOf(select.getTrueValue());
    both &= pastOf(select.getFalseValue());
    past[op->getResult(0)] = both;
    return;
  }
  bool isCall = isa<CallOpInterface>(op);
  bool hasTokens = llvm::any_of(op->getOperands(), isToken) ||
                   llvm::any_of(op->getResults(), isToken);
  if (hasTokens) {
    Set before = nothing;
    if constexpr (!isNamed)
      before |= state.done;
    if (!isCall || keepsOrder(op))
      before |= pastOf(op->getOperands());
    report(op, before);
    for (OpResult result : op->getResults())
      if (isToken(result))
        past[result] = before;
  } else if (isCall && waitsForAll(op)) {
    state.done |= state.enqueued;
  }
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// The ways out of a region, null for the op itself. What lies behind the op
/// has the number behind that of the last region.
template <typename Set>
auto HappensBefore<Set>::findEdges(Operation *op, Region *from)
    -> SmallVector<Edge> {
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
template <typename Set>
void HappensBefore<Set>::meet(Operation *op, Region *from, Meeting &meeting,
                              const Edge &edge) {
  if constexpr (isNamed) {
    bool isLoop = isTokenLoop(op),
         isBehind = edge.target == op->getNumRegions();
    for (auto [there, here] : edge.tokens) {
      Set before = pastOf(here);
      // An item that the last iteration runs again is not the one that came
      // into it.
      if (isBehind && carriedLoop == op)
        before.keepIf([&](unsigned item) {
          return isInside(item, op) &&
                 !from->isAncestor(items[item]->getParentRegion());
        });
      auto [all, isFirst] = meeting.past.try_emplace(there, before);
      if (isFirst)
        continue;
      // At first, a loop carries only items from outside.
      if (isLoop) {
        before.keepIf([&](unsigned item) { return isInside(item, op); });
        all->second |= before;
      } else {
        all->second.meet(before,
                         [&](unsigned item) { return isInside(item, op); });
      }
    }
  } else {
    Set ordered = nothing;
    if (edge.target == op->getNumRegions()) {
      auto [first, end] = getItemsIn(op);
      ordered.set(first, end);
    }
    ordered.reset(state.enqueued);
    // A use of a token behind the meeting comes after all that is done here,
    // too.
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
  }
  meeting.isReached = true;
}

template <typename Set>
void HappensBefore<Set>::start(const Meeting &meeting) {
  state = meeting.state;
  for (const auto &[token, before] : meeting.past)
    past[token] = before;
}

/// A region after the other, as control goes. What is before a token where
/// control comes back to must be so on all ways: what came back in the last
/// round is taken for granted, and once that holds in a round it is so. Then an
/// iteration is looked at that follows another one.
template <typename Set>
void HappensBefore<Set>::walkRegions(Operation *op) {
  unsigned behind = op->getNumRegions();
  // Leaves `from`, null for the op itself; what comes back goes to `back`.
  auto leave = [&](Region *from, SmallVectorImpl<Meeting> &meetings,
                   SmallVectorImpl<Meeting> &back) {
    for (const Edge &edge : findEdges(op, from)) {
      bool isBack = from && edge.target <= from->getRegionNumber();
      meet(op, from, isBack ? back[edge.target] : meetings[edge.target], edge);
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
  llvm::BitVector ofOp, ofIterations;
  if constexpr (isNamed) {
    walkFrom(meetings, back);
  } else {
    std::pair<Operation *, Operation *> place(carriedLoop, op);
    SmallVector<Meeting> &known = returning[place];
    for (auto [meeting, returned] : llvm::zip(meetings, known))
      for (auto &[token, set] : returned.past)
        meeting.past[token] &= set;
    walkFrom(meetings, back);
    isStable &= known.size() == back.size() &&
                llvm::all_of(llvm::zip(known, back), [](const auto &both) {
                  return std::get<0>(both).past == std::get<1>(both).past;
                });
    known = back;
    ofOp = ofIterations = nothing;
    auto [first, end] = getItemsIn(op);
    ofOp.set(first, end);
    for (const Meeting &meeting : back)
      if (meeting.isReached)
        ofIterations |= meeting.state.enqueued;
    ofIterations &= ofOp;
  }

  // A loop within a loop that is looked at so has been looked at on its own.
  Meeting &result = meetings[behind];
  bool repeats = isNamed ? llvm::any_of(back,
                                        [](const Meeting &meeting) {
                                          return meeting.isReached;
                                        })
                         : ofIterations.any();
  if (!carriedLoop && repeats) {
    SmallVector<Meeting> next = std::move(back), unused(behind);
    for (Meeting &meeting : next)
      meeting.state.enqueued &= ofOp;
    next.resize(behind + 1);
    carriedLoop = op;
    walkFrom(next, unused);
    carriedLoop = nullptr;
    Meeting &later = next[behind];
    if constexpr (isNamed) {
      for (auto &[token, set] : result.past)
        set |= later.past[token];
    } else if (later.isReached) {
      // An op of the loop is before what is behind it if all of its runs are.
      auto restrict = [&](Set &all, const Set &before) {
        Set missing = ofIterations;
        missing.reset(before);
        all.reset(missing);
      };
      restrict(result.state.done, later.state.done);
      for (auto &[token, set] : result.past)
        restrict(set, later.past[token]);
    }
  }
  // Items that ran before control came back ran before the items behind, too:
  // the way that a first iteration takes out of an scf.while lacks them.
  if constexpr (!isNamed)
    if (result.isReached)
      result.state.enqueued |= ofIterations;
  if (result.isReached)
    start(result);
}

template <typename Set>
void HappensBefore<Set>::run() {
  function->walk([&](Operation *op, const WalkStage &stage) {
    if (op == function)
      return;
    if (op->getNumRegions()) {
      if (stage.isBeforeAllRegions())
        inside[op].first = numItems;
      inside[op].second = numItems;
    } else if (addItem(op)) {
      numbers[op] = numItems++;
      items.push_back(op);
    }
  });
  if constexpr (!isNamed)
    nothing.resize(numItems);
  auto walkAll = [&] {
    isStable = true;
    past.clear();
    if constexpr (!isNamed)
      state = {nothing, nothing};
    walk(function.getFunctionBody());
  };
  // Names do not depend on what comes back.
  while (!isNamed && !isStable)
    walkAll();
  reports = true;
  walkAll();
}

template class mlir::gpuasync::HappensBefore<llvm::BitVector>;
template class mlir::gpuasync::HappensBefore<NamedItems>;
