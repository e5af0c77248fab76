//===- Stretch.cpp - a stretch of a block that becomes a region -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Stretch.h.
//===----------------------------------------------------------------------===//

#include "Stretch.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::regions;

namespace {
/// Where in the stretch the ops of a block are.
class Positions {
public:
  explicit Positions(ArrayRef<Operation *> ops)
      : block(ops.front()->getBlock()) {
    for (auto [index, op] : llvm::enumerate(ops))
      positions[op] = index;
  }
  /// Of the op that is or holds `op`; nothing outside of the stretch.
  std::optional<unsigned> find(Operation *op) const {
    Operation *own = op ? block->findAncestorOpInBlock(*op) : nullptr;
    auto found = positions.find(own);
    if (!own || found == positions.end())
      return std::nullopt;
    return found->second;
  }
  bool allInside(Value::user_range users) const {
    return llvm::all_of(
        users, [&](Operation *user) { return find(user).has_value(); });
  }

private:
  Block *block;
  llvm::DenseMap<Operation *, unsigned> positions;
};
} // namespace

/// The streams that `op`, or what it holds, puts anything on.
static void forEachStream(Operation *op, function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    if (isa<StreamCreateOp, StreamDestroyOp>(inner))
      return;
    for (Value operand : inner->getOperands())
      if (isa<StreamType>(operand.getType()))
        visit(operand);
  });
}

SmallVector<unsigned> Stretch::place() {
  Positions positions(ops);
  places.assign(ops.size(), Inside);
  size = 0;
  llvm::SmallSetVector<unsigned, 4> cuts;

  // An event that is recorded and used up here.
  auto isLocal = [&](Value event) {
    Operation *record = event.getDefiningOp();
    return isa_and_nonnull<EventRecordOp>(record) && positions.find(record) &&
           positions.allInside(event.getUsers());
  };
  // From the front: what may go before. `used` are streams that have something
  // in the stretch that stays.
  llvm::DenseSet<Value> used;
  auto cutAt = [&](unsigned index) {
    cuts.insert(index);
    used.clear();
  };
  for (unsigned index = 0; index < ops.size(); ++index) {
    Operation *op = ops[index];
    if (auto wait = dyn_cast<StreamWaitOp>(op);
        wait && !isLocal(wait.getEvent())) {
      // Of an event that is also used elsewhere: its record is cut out, below.
      if (positions.find(wait.getEvent().getDefiningOp()))
        continue;
      if (used.contains(wait.getStream()))
        cutAt(index);
      else
        places[index] = Before;
      continue;
    }
    if (op->getNumRegions()) {
      // A wait within for an event from outside cannot be moved.
      WalkResult foreign = op->walk([&](Operation *inner) {
        auto wait = dyn_cast<StreamWaitOp>(inner);
        Operation *record = wait ? wait.getEvent().getDefiningOp() : nullptr;
        bool isKnown = !wait || (record && positions.find(record));
        return isKnown ? WalkResult::advance() : WalkResult::interrupt();
      });
      if (foreign.wasInterrupted()) {
        cutAt(index);
        continue;
      }
    }
    if (isa<EventReadyOp>(op)) {
      places[index] = Before;
      continue;
    }
    forEachStream(op, [&](Value stream) { used.insert(stream); });
  }
  // From the back: what may go behind.
  used.clear();
  for (unsigned index = ops.size(); index-- > 0;) {
    Operation *op = ops[index];
    if (places[index] == Before)
      continue;
    if (auto record = dyn_cast<EventRecordOp>(op);
        record && !isLocal(record.getEvent())) {
      bool isUsedHere =
          llvm::any_of(record.getEvent().getUsers(), [&](Operation *user) {
            return positions.find(user).has_value();
          });
      if (isUsedHere || used.contains(record.getStream()))
        cutAt(index);
      else
        places[index] = Behind;
      continue;
    }
    if (auto destroy = dyn_cast<EventDestroyOp>(op);
        destroy && !isLocal(destroy.getEvent())) {
      places[index] = Behind;
      continue;
    }
    forEachStream(op, [&](Value stream) { used.insert(stream); });
  }
  if (!cuts.empty()) {
    SmallVector<unsigned> sorted = cuts.takeVector();
    llvm::sort(sorted);
    return sorted;
  }
  // Streams of which all is inside.
  for (unsigned index = 0; index < ops.size(); ++index) {
    Operation *op = ops[index];
    Value stream;
    if (auto create = dyn_cast<StreamCreateOp>(op))
      stream = create.getStream();
    else if (auto destroy = dyn_cast<StreamDestroyOp>(op))
      stream = destroy.getStream();
    else
      continue;
    bool isOwn = positions.find(stream.getDefiningOp()) &&
                 llvm::all_of(stream.getUsers(), [&](Operation *user) {
                   auto position = positions.find(user);
                   return position && places[*position] == Inside;
                 });
    if (!isOwn)
      places[index] = isa<StreamCreateOp>(op) ? Before : Behind;
  }
  // What the host computes goes before, unless it needs what is inside.
  for (unsigned index = 0; index < ops.size(); ++index) {
    Operation *op = ops[index];
    unsigned work = RegionContents::countWork(op);
    size += work;
    if (work || (isAsyncOp(op) && !isMemoryEffectFree(op)))
      continue;
    bool needsInside = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (auto position = positions.find(operand.getDefiningOp()))
          needsInside |= *position != index && places[*position] == Inside;
    });
    if (!needsInside)
      places[index] = Before;
  }
  return {};
}

RegionOp Stretch::form() {
  SmallVector<Operation *> inside, behind;
  llvm::DenseSet<Operation *> isInside;
  Location first = ops.front()->getLoc(), last = first;
  bool hasWork = false;
  for (auto [op, place] : llvm::zip_equal(ops, places)) {
    if (place == Behind)
      behind.push_back(op);
    if (place != Inside)
      continue;
    inside.push_back(op);
    isInside.insert(op);
    if (!RegionContents::countWork(op))
      continue;
    if (!hasWork)
      first = op->getLoc();
    hasWork = true;
    last = op->getLoc();
  }
  // Streams and events do not leave: those that would are outside.
  Block *block = ops.front()->getBlock();
  SmallVector<Value> results;
  for (Operation *op : inside)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !isInside.contains(block->findAncestorOpInBlock(*user));
          }))
        results.push_back(result);

  OpBuilder builder(ops.front()->getContext());
  builder.setInsertionPointAfter(ops.back());
  auto region =
      RegionOp::create(builder, first, ValueRange(results).getTypes());
  Block &body = region.getBody().front();
  for (Operation *op : inside)
    op->moveBefore(&body, body.end());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, last, results);
  for (auto [value, result] : llvm::zip_equal(results, region.getResults()))
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !region->isProperAncestor(use.getOwner());
    });
  Operation *place = region;
  for (Operation *op : behind) {
    op->moveAfter(place);
    place = op;
  }
  return region;
}
