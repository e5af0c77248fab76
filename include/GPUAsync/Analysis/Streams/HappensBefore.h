//===- HappensBefore.h - what comes before what in the token form -*- C++ -*-=//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a function in program order, through regions, loops and calls, and
// keeps for each token which ops are before it. Hazards, the plan of memory and
// stream assignment ask it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMS_HAPPENSBEFORE_H
#define GPUASYNC_ANALYSIS_STREAMS_HAPPENSBEFORE_H

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <type_traits>
#include <vector>

namespace mlir::gpuasync {

/// Numbers of items in ascending order. Of more than `most` only the last ones
/// are kept.
class NamedItems {
public:
  static constexpr size_t most = 1024;

  NamedItems() = default;
  explicit NamedItems(unsigned number) : numbers{number} {}

  NamedItems &operator|=(const NamedItems &other);
  /// Keeps what is in both, and all of `other` and this that `isKept` takes.
  void meet(const NamedItems &other, function_ref<bool(unsigned)> isKept);
  NamedItems &operator&=(const NamedItems &other) {
    meet(other, [](unsigned) { return false; });
    return *this;
  }
  void keepIf(function_ref<bool(unsigned)> isKept) {
    llvm::erase_if(numbers, [&](unsigned number) { return !isKept(number); });
  }
  ArrayRef<unsigned> get() const { return numbers; }

private:
  SmallVector<unsigned, 2> numbers;
};

/// Ops that matter, the *items*, are numbered in program order. `Set` says
/// which order is asked for:
///
/// - llvm::BitVector: all items that are done before an op starts, by tokens
///   and host waits, on every path and in every iteration. Memory grows with
///   the square of the number of items.
/// - NamedItems: the items that an op's tokens stand for themselves, not what
///   is before these. It is the order that streams keep: runs of one op follow
///   each other, and so do the values of a token that a loop carries. A token
///   of a branch stands for all that its region did, and of other items for
///   those that every region names.
///
/// Blocks of a control-flow graph are looked at one by one.
template <typename Set>
class HappensBefore {
public:
  explicit HappensBefore(FunctionOpInterface function) : function(function) {}
  virtual ~HappensBefore() = default;

protected:
  /// Whether an op without regions is to be an item; asked in program order.
  virtual bool addItem(Operation *op) = 0;
  /// Each item, each other op without regions that takes or makes tokens, and
  /// each host wait, but for forks, joins and selects: `before` are the items
  /// that are done when it starts, when it ends for a host wait, whichever way
  /// control came to it. In an iteration that follows another one
  /// (`carriedLoop`) these are items of the earlier iteration.
  virtual void visit(Operation *op, const Set &before) = 0;
  /// Whether the token of an item stands for what its op comes after, since
  /// nothing waits for the op. Asked for NamedItems only.
  virtual bool isPassed(Operation *item) { return false; }
  /// Whether `op`, a call without tokens, returns when all that has been
  /// enqueued before is done.
  virtual bool waitsForAll(Operation *op) { return false; }
  /// Whether what a call gives is after the tokens that it takes.
  virtual bool keepsOrder(Operation *call) { return false; }

  void run();
  unsigned getNumItems() const { return numItems; }
  /// The number of an item; none if the op is no item.
  std::optional<unsigned> getNumber(Operation *op) const {
    auto found = numbers.find(op);
    return found == numbers.end() ? std::nullopt
                                  : std::optional<unsigned>(found->second);
  }
  Operation *getItem(unsigned number) const { return items[number]; }
  /// The items in an op with regions: from the first to before the last.
  std::pair<unsigned, unsigned> getItemsIn(Operation *op) const {
    return inside.lookup(op);
  }
  bool isInside(unsigned item, Operation *op) const {
    auto [first, end] = getItemsIn(op);
    return first <= item && item < end;
  }
  /// Items that may have been enqueued by now; of a BitVector's walk.
  const llvm::BitVector &getEnqueued() const { return state.enqueued; }

  FunctionOpInterface function;
  /// The loop of which an iteration is looked at that follows another one: then
  /// all sets are of ops of earlier iterations.
  Operation *carriedLoop = nullptr;

private:
  static constexpr bool isNamed = std::is_same_v<Set, NamedItems>;

  /// The items that the host has waited for, and those that may have been
  /// enqueued; nothing for NamedItems.
  struct State {
    llvm::BitVector done, enqueued;
  };
  /// A place where paths meet: the items that are done on all of them, and
  /// those before each of the tokens that they bring.
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

  const Set &pastOf(Value token) const;
  Set pastOf(ValueRange values) const;
  void report(Operation *op, const Set &before) {
    if (reports)
      visit(op, before);
  }
  void walk(Region &region);
  void walk(Block &block);
  void walkOp(Operation *op);
  void walkItem(Operation *op, unsigned number);
  SmallVector<Edge> findEdges(Operation *op, Region *from);
  void meet(Operation *op, Region *from, Meeting &meeting, const Edge &edge);
  void start(const Meeting &meeting);
  void walkRegions(Operation *op);

  unsigned numItems = 0;
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::vector<Operation *> items;
  /// The items in an op with regions: from the first to before the last.
  llvm::DenseMap<Operation *, std::pair<unsigned, unsigned>> inside;
  Set nothing;
  /// The ops that are before a token, on every path to it.
  llvm::DenseMap<Value, Set> past;
  State state;
  /// Whether the sets are final.
  bool reports = false;
  /// The meetings at which control came back to each region of an op in the
  /// last round, by the loop that is looked at so; and whether it was the same
  /// in the round before.
  std::map<std::pair<Operation *, Operation *>, SmallVector<Meeting>> returning;
  bool isStable = false;
};

extern template class HappensBefore<llvm::BitVector>;
extern template class HappensBefore<NamedItems>;

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMS_HAPPENSBEFORE_H
