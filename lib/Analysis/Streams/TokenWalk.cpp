//===- TokenWalk.cpp - what comes before what in the token form -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See TokenWalk.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/TokenWalk.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;

TokenWalk::Set TokenWalk::pastOf(ValueRange values) const {
  Set set = nothing;
  for (Value value : values)
    if (isToken(value))
      set |= pastOf(value);
  return set;
}

/// Blocks of a control-flow graph one by one.
void TokenWalk::walk(Region &region) {
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

void TokenWalk::walk(Block &block) {
  for (Operation &op : block)
    walkOp(&op);
}

void TokenWalk::walkOp(Operation *op) {
  if (auto wait = dyn_cast<WaitOp>(op)) {
    Set before = pastOf(op->getOperands());
    if (!wait.isHostWait()) {
      past[wait.getAsyncToken()] = std::move(before);
      return;
    }
    state.done |= before;
    report(op, state.done);
    return;
  }
  std::optional<unsigned> number = getNumber(op);
  if (op->getNumRegions() && !number)
    return walkRegions(op);
  if (number) {
    Set before = pastOf(op->getOperands());
    before |= state.done;
    report(op, before);
    auto work = dyn_cast<WorkOpInterface>(op);
    if (!work || !work.getAsyncToken())
      return;
    if (!carriedLoop) {
      state.enqueued.set(*number);
      before.set(*number);
    }
    past[work.getAsyncToken()] = std::move(before);
    return;
  }
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
    Set before = state.done;
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
SmallVector<TokenWalk::Edge> TokenWalk::findEdges(Operation *op, Region *from) {
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
void TokenWalk::meet(Meeting &meeting, const Edge &edge, const Set &ended) {
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

void TokenWalk::start(const Meeting &meeting) {
  state = meeting.state;
  for (const auto &[token, before] : meeting.past)
    past[token] = before;
}

/// A region after the other, as control goes. What is before a token where
/// control comes back to must be so on all ways: what came back in the last
/// round is taken for granted, and once that holds in a round it is so. Then an
/// iteration is looked at that follows another one.
void TokenWalk::walkRegions(Operation *op) {
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
  // The way that a first iteration takes out of an scf.while does not have what
  // runs before control comes back.
  if (result.isReached) {
    result.state.enqueued |= ofIterations;
    start(result);
  }
}

void TokenWalk::run() {
  function->walk([&](Operation *op, const WalkStage &stage) {
    if (op == function)
      return;
    if (op->getNumRegions()) {
      if (stage.isBeforeAllRegions())
        inside[op].first = numItems;
      inside[op].second = numItems;
    } else if (addItem(op)) {
      numbers[op] = numItems++;
    }
  });
  nothing.resize(numItems);
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
}
