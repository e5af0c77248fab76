//===- TokenWalk.h - what comes before what in the token form ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a function in program order, through regions and loops, and keeps for
// each token which ops are before it on every path. Hazards and the plan of
// memory ask it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMS_TOKENWALK_H
#define GPUASYNC_ANALYSIS_STREAMS_TOKENWALK_H

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <vector>

namespace mlir::gpuasync {

/// Ops that matter, the *items*, are numbered in program order; sets of them
/// are bits, so that memory grows with the square of their number. Blocks of a
/// control-flow graph are looked at one by one.
class TokenWalk {
public:
  using Set = llvm::BitVector;

  explicit TokenWalk(FunctionOpInterface function) : function(function) {}
  virtual ~TokenWalk() = default;

protected:
  /// Whether an op without regions is to be an item; asked in program order.
  virtual bool addItem(Operation *op) = 0;
  /// Each item, each other op without regions that takes or makes tokens, and
  /// each host wait, but for joins and selects: `before` are the items that are
  /// done when it starts, when it ends for a host wait, whichever way control
  /// came to it. In an iteration that follows another one (`carriedLoop`) these
  /// are items of the earlier iteration.
  virtual void visit(Operation *op, const Set &before) = 0;
  /// Whether `op`, a call without tokens, returns when all that has been
  /// enqueued before is done.
  virtual bool waitsForAll(Operation *op) { return false; }
  /// Whether what a call gives is after the tokens that it takes.
  virtual bool keepsOrder(Operation *call) { return false; }

  void run();
  unsigned getNumItems() const { return numItems; }
  /// Of an item.
  std::optional<unsigned> getNumber(Operation *op) const {
    auto found = numbers.find(op);
    return found == numbers.end() ? std::nullopt
                                  : std::optional<unsigned>(found->second);
  }
  /// The items in an op with regions: from the first to before the last.
  std::pair<unsigned, unsigned> getItemsIn(Operation *op) const {
    return inside.lookup(op);
  }
  /// Items that may have been enqueued by now.
  const Set &getEnqueued() const { return state.enqueued; }

  FunctionOpInterface function;
  /// The loop of which an iteration is looked at that follows another one: then
  /// all sets are of ops of earlier iterations.
  Operation *carriedLoop = nullptr;

private:
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

  const Set &pastOf(Value token) const {
    auto it = past.find(token);
    return it == past.end() ? nothing : it->second;
  }
  Set pastOf(ValueRange values) const;
  void report(Operation *op, const Set &before) {
    if (reports)
      visit(op, before);
  }
  void walk(Region &region);
  void walk(Block &block);
  void walkOp(Operation *op);
  SmallVector<Edge> findEdges(Operation *op, Region *from);
  void meet(Meeting &meeting, const Edge &edge, const Set &ended);
  void start(const Meeting &meeting);
  void walkRegions(Operation *op);

  unsigned numItems = 0;
  llvm::DenseMap<Operation *, unsigned> numbers;
  /// The items in an op with regions: from the first to before the last.
  llvm::DenseMap<Operation *, std::pair<unsigned, unsigned>> inside;
  Set nothing;
  /// The ops that are before a token, on every path to it.
  llvm::DenseMap<Value, Set> past;
  State state;
  /// Whether the sets are final.
  bool reports = false;
  /// What came back to each region of an op in the last round, by the loop that
  /// is looked at so; and whether it was the same in the round before.
  std::map<std::pair<Operation *, Operation *>, SmallVector<Meeting>> returning;
  bool isStable = false;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMS_TOKENWALK_H
