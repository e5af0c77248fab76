//===- Ownership.cpp - made once, consumed once, on every path ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward dataflow for each owner over the blocks between its uses.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/Ownership.h"

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/RegionGraphTraits.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// The shape of a region
//===----------------------------------------------------------------------===//

/// For each reachable block of a region of several, the number of its strongly
/// connected component in topological order.
struct OwnershipAnalysis::RegionShape {
  struct Place {
    unsigned component;
    bool isOnCycle;
  };
  llvm::DenseMap<Block *, Place> places;
};

OwnershipAnalysis::OwnershipAnalysis() = default;
OwnershipAnalysis::~OwnershipAnalysis() = default;

const OwnershipAnalysis::RegionShape &
OwnershipAnalysis::getShape(Region &region) {
  std::unique_ptr<RegionShape> &shape = shapes[&region];
  if (shape)
    return *shape;
  shape = std::make_unique<RegionShape>();
  // Components come last first.
  unsigned component = region.getBlocks().size();
  for (auto it = llvm::scc_begin(&region); !it.isAtEnd(); ++it) {
    --component;
    for (Block *block : *it)
      shape->places[block] = {component, it.hasCycle()};
  }
  return *shape;
}

bool OwnershipAnalysis::isReachable(Block *block) {
  return block->isEntryBlock() ||
         getShape(*block->getParent()).places.contains(block);
}

//===----------------------------------------------------------------------===//
// What a use does
//===----------------------------------------------------------------------===//

static bool consumes(OpOperand &use) {
  Type type = use.get().getType();
  Operation *op = use.getOwner();
  if (isa<TokenType>(type) || isa<CallOpInterface>(op))
    return true;
  if (isa<StreamType>(type))
    return isa<StreamDestroyOp>(op);
  return isa<EventDestroyOp>(op) || op->hasTrait<OpTrait::IsTerminator>();
}

/// Whether a path ends here, rather than going on or never getting beyond.
static bool endsPath(Operation *op) {
  return op->getNumSuccessors() == 0 &&
         !isa<LLVM::UnreachableOp, ub::UnreachableOp>(op);
}

/// The op at which a path through the block's end ends.
static Operation *getEnd(Block &block) {
  return block.empty() ? block.getParentOp() : &block.back();
}

//===----------------------------------------------------------------------===//
// The walk of one owner
//===----------------------------------------------------------------------===//

class OwnershipAnalysis::Walk {
public:
  Walk(OwnershipAnalysis &analysis, Value owner)
      : analysis(analysis), owner(owner), home(*owner.getParentRegion()),
        isToken(isa<TokenType>(owner.getType())) {}

  std::optional<OwnershipFinding> run();

private:
  /// What the paths to a point have done. None: no path leads there.
  struct State {
    bool isLive = false, isGone = false;
    Operation *consumer = nullptr; ///< where it went, if it is gone

    bool merge(const State &other) {
      bool changed = (other.isLive && !isLive) || (other.isGone && !isGone);
      isLive |= other.isLive;
      isGone |= other.isGone;
      if (!consumer)
        consumer = other.consumer;
      return changed;
    }
  };
  /// A block's state at its entry, and the branches that brought it: the first
  /// with the owner alive on all paths, and the first with it alive on some.
  struct Entry {
    State state;
    Operation *aliveFrom = nullptr, *mixedFrom = nullptr;
  };
  /// An op that uses the owner, or that holds one which does.
  struct Touch {
    Operation *op;
    SmallVector<OpOperand *, 1> uses;
    Operation *inner = nullptr; ///< a user inside, one that consumes if any
    bool innerConsumes = false;
  };

  OwnershipAnalysis &analysis;
  Value owner;
  Region &home;
  bool isToken;
  /// By block, in program order.
  llvm::DenseMap<Block *, SmallVector<Touch, 2>> touches;
  /// The last component of a region that holds a touch.
  llvm::DenseMap<Region *, unsigned> lastTouched;
  std::optional<OwnershipFinding> finding;
  /// Whether to look at all blocks, to see where paths meet that disagree.
  bool findsMerges = false;

  /// Always fails.
  LogicalResult report(OwnershipFinding::Kind kind, Operation *at,
                       Operation *other = nullptr) {
    finding = OwnershipFinding{kind, owner, at, other};
    return failure();
  }
  void collectTouches();
  LogicalResult consume(Operation *op, State &state);
  LogicalResult enter(const Touch &touch, State &state);
  LogicalResult flowThroughBlock(Block &block, State &state);
  LogicalResult flowThroughRegion(Block &start, State state, State &out,
                                  Operation *&liveAt);
  LogicalResult flowAlongEdges(Block &block, const State &state,
                               llvm::DenseMap<Block *, Entry> &entries,
                               SmallVectorImpl<Block *> &pending);
  LogicalResult reportLeft(Block *end,
                           const llvm::DenseMap<Block *, Entry> &entries);
};

void OwnershipAnalysis::Walk::collectTouches() {
  llvm::DenseMap<Operation *, unsigned> indexOf;
  auto touch = [&](Operation *op) -> std::pair<Touch &, bool> {
    SmallVector<Touch, 2> &list = touches[op->getBlock()];
    auto [known, isNew] = indexOf.try_emplace(op, list.size());
    if (isNew)
      list.push_back({op, {}});
    return {list[known->second], isNew};
  };
  for (OpOperand &use : owner.getUses()) {
    Operation *user = use.getOwner();
    touch(user).first.uses.push_back(&use);
    bool isConsumer = consumes(use);
    for (Operation *op = user; op->getParentRegion() != &home;) {
      op = op->getParentOp();
      auto [holder, isNew] = touch(op);
      bool isNews = !holder.inner || (isConsumer && !holder.innerConsumes);
      if (isNews)
        holder.inner = user;
      holder.innerConsumes |= isConsumer;
      if (!isNew && !isNews)
        break;
    }
  }
  for (auto &[block, list] : touches) {
    llvm::sort(list, [](const Touch &a, const Touch &b) {
      return a.op->isBeforeInBlock(b.op);
    });
    Region &region = *block->getParent();
    if (region.hasOneBlock())
      continue;
    const auto &places = analysis.getShape(region).places;
    if (auto place = places.find(block); place != places.end())
      lastTouched[&region] =
          std::max(lastTouched[&region], place->second.component);
  }
}

LogicalResult OwnershipAnalysis::Walk::consume(Operation *op, State &state) {
  if (state.isGone)
    return report(state.consumer == op ? OwnershipFinding::ConsumedInLoop
                                       : OwnershipFinding::ConsumedTwice,
                  op, state.consumer == op ? nullptr : state.consumer);
  state = {false, true, op};
  return success();
}

/// A region op that holds uses.
LogicalResult OwnershipAnalysis::Walk::enter(const Touch &touch, State &state) {
  Operation *op = touch.op;
  if (!isToken) {
    if (touch.innerConsumes)
      return report(OwnershipFinding::ConsumedInRegion, touch.inner, op);
    if (state.isGone)
      return report(OwnershipFinding::UsedAfterConsumed, touch.inner,
                    state.consumer);
    return success();
  }
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch)
    return report(OwnershipFinding::UnknownControlFlow, touch.inner, op);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (auto found = touches.find(&block);
          found != touches.end() &&
          branch.isRepetitiveRegion(region.getRegionNumber())) {
        const Touch &first = found->second.front();
        return report(OwnershipFinding::ConsumedInLoop,
                      first.inner ? first.inner : first.op, op);
      }

  SmallVector<State> entries(op->getNumRegions());
  SmallVector<Region *> pending;
  State out;
  Operation *liveAt = nullptr;
  auto reach = [&](Operation *from, const State &state,
                   ArrayRef<RegionSuccessor> successors) {
    for (const RegionSuccessor &successor : successors) {
      if (successor.isParent()) {
        out.merge(state);
        if (state.isLive && !liveAt)
          liveAt = from;
      } else if (entries[successor.getSuccessor()->getRegionNumber()].merge(
                     state)) {
        pending.push_back(successor.getSuccessor());
      }
    }
  };
  SmallVector<RegionSuccessor> successors;
  branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
  reach(op, state, successors);
  for (size_t next = 0; next < pending.size(); ++next) {
    Region *region = pending[next];
    State end;
    Operation *endAt = nullptr;
    if (failed(flowThroughRegion(
            region->front(), entries[region->getRegionNumber()], end, endAt)))
      return failure();
    successors.clear();
    branch.getSuccessorRegions(*region, successors);
    reach(endAt ? endAt : op, end, successors);
  }
  if (out.isLive && out.isGone)
    return report(OwnershipFinding::LeftInRegion, liveAt, out.consumer);
  state = out;
  return success();
}

/// Up to and with the terminator, but for what it forwards to successors.
LogicalResult OwnershipAnalysis::Walk::flowThroughBlock(Block &block,
                                                        State &state) {
  auto found = touches.find(&block);
  if (found == touches.end())
    return success();
  for (const Touch &touch : found->second) {
    if (!state.isLive && !state.isGone)
      return success(); // no path gets here
    bool isBranch = touch.op->getNumSuccessors() != 0;
    if (isBranch && !isa<BranchOpInterface>(touch.op))
      return report(OwnershipFinding::UnknownControlFlow, touch.op, touch.op);
    unsigned consumptions = 0;
    if (!isBranch)
      for (OpOperand *use : touch.uses)
        consumptions += consumes(*use);
    if (consumptions > 1)
      return report(OwnershipFinding::ConsumedTwiceAtOnce, touch.op);
    if (consumptions == 1 && failed(consume(touch.op, state)))
      return failure();
    if (consumptions == 0 && !isBranch && !touch.uses.empty() && state.isGone)
      return report(OwnershipFinding::UsedAfterConsumed, touch.op,
                    state.consumer);
    if (touch.inner && failed(enter(touch, state)))
      return failure();
  }
  return success();
}

/// Brings the state at the end of a block to its successors.
LogicalResult
OwnershipAnalysis::Walk::flowAlongEdges(Block &block, const State &state,
                                        llvm::DenseMap<Block *, Entry> &entries,
                                        SmallVectorImpl<Block *> &pending) {
  Operation *terminator = &block.back();
  Region &region = *block.getParent();
  const auto &places = analysis.getShape(region).places;
  auto branch = dyn_cast<BranchOpInterface>(terminator);
  for (auto [number, successor] : llvm::enumerate(block.getSuccessors())) {
    State brought = state;
    unsigned forwarded = 0;
    if (branch)
      forwarded = llvm::count(
          branch.getSuccessorOperands(number).getForwardedOperands(), owner);
    if (forwarded > 1)
      return report(OwnershipFinding::ConsumedTwiceAtOnce, terminator);
    if (forwarded == 1 && failed(consume(terminator, brought)))
      return failure();
    // Each time around a loop it is made anew.
    if (successor == owner.getParentBlock()) {
      if (brought.isLive)
        return report(OwnershipFinding::LeftInIteration, terminator);
      continue;
    }
    // Nothing can happen to what is gone where nothing touches it.
    auto last = lastTouched.find(&region);
    if (!brought.isLive && !findsMerges &&
        (last == lastTouched.end() ||
         places.lookup(successor).component > last->second))
      continue;
    Entry &entry = entries[successor];
    if (brought.isLive) {
      Operation *&from = brought.isGone ? entry.mixedFrom : entry.aliveFrom;
      if (!from)
        from = terminator;
    }
    if (entry.state.merge(brought))
      pending.push_back(successor);
  }
  return success();
}

/// The block ends a path of the owner's region with the owner alive.
LogicalResult OwnershipAnalysis::Walk::reportLeft(
    Block *end, const llvm::DenseMap<Block *, Entry> &entries) {
  // Back along paths on which it is alive, to where one first met another on
  // which it is gone.
  Operation *at = getEnd(*end);
  Operation *consumer = nullptr;
  auto kind = OwnershipFinding::LeftAtEnd;
  llvm::SmallPtrSet<Block *, 8> seen;
  while (seen.insert(end).second) {
    auto found = entries.find(end);
    if (found == entries.end() || !found->second.state.isGone)
      break;
    const Entry &entry = found->second;
    at = entry.aliveFrom ? entry.aliveFrom : entry.mixedFrom;
    consumer = entry.state.consumer;
    kind = OwnershipFinding::LeftOnBranch;
    end = at->getBlock();
  }
  if (kind == OwnershipFinding::LeftOnBranch)
    return report(kind, at, consumer);
  // The end of a loop's body is the end of an iteration.
  if (auto loop = dyn_cast<RegionBranchOpInterface>(home.getParentOp());
      loop && loop.isRepetitiveRegion(home.getRegionNumber()))
    return report(OwnershipFinding::LeftInIteration, at);
  // Any consumption that this path misses.
  Operation *other = nullptr;
  for (OpOperand &use : owner.getUses())
    if (consumes(use) &&
        (!other || (use.getOwner()->getBlock() == other->getBlock() &&
                    use.getOwner()->isBeforeInBlock(other))))
      other = use.getOwner();
  return report(other ? kind : OwnershipFinding::NeverConsumed, at, other);
}

/// From the start of a block to the ends of its region. `out` is the state at
/// these, `liveAt` an end at which it is alive.
LogicalResult OwnershipAnalysis::Walk::flowThroughRegion(Block &start,
                                                         State state,
                                                         State &out,
                                                         Operation *&liveAt) {
  llvm::DenseMap<Block *, Entry> entries;
  SmallVector<Block *> pending{&start};
  llvm::SetVector<Block *> ends;
  for (size_t next = 0; next < pending.size(); ++next) {
    Block *block = pending[next];
    State here = block == &start ? state : entries[block].state;
    if (failed(flowThroughBlock(*block, here)))
      return failure();
    if (!here.isLive && !here.isGone)
      continue;
    if (!block->empty() && block->back().getNumSuccessors()) {
      if (failed(flowAlongEdges(*block, here, entries, pending)))
        return failure();
      continue;
    }
    if (!block->empty() && !endsPath(&block->back()))
      continue;
    out.merge(here);
    if (here.isLive) {
      ends.insert(block);
      if (!liveAt)
        liveAt = getEnd(*block);
    }
  }
  // In a region that the owner comes from outside of, the op that holds the
  // region compares its ways.
  if (start.getParent() == &home && !ends.empty())
    return reportLeft(ends.front(), entries);
  return success();
}

std::optional<OwnershipFinding> OwnershipAnalysis::Walk::run() {
  Block &start = *owner.getParentBlock();
  if (!analysis.isReachable(&start))
    return std::nullopt;
  collectTouches();
  auto flow = [&] {
    State out;
    Operation *liveAt = nullptr;
    return flowThroughRegion(start, {true, false, nullptr}, out, liveAt);
  };
  if (failed(flow()) && finding->kind == OwnershipFinding::LeftAtEnd) {
    findsMerges = true;
    (void)flow();
  }
  return finding;
}

std::optional<OwnershipFinding> OwnershipAnalysis::check(Value owner) {
  // Most owners: consumed once, in the block that makes them.
  if (owner.hasOneUse()) {
    OpOperand &use = *owner.use_begin();
    Operation *user = use.getOwner();
    if (user->getBlock() == owner.getParentBlock() &&
        user->getNumSuccessors() == 0 && consumes(use))
      return std::nullopt;
  }
  return Walk(*this, owner).run();
}
