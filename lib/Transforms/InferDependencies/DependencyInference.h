//===- DependencyInference.h - tokens of one function -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes through a function and keeps, for each cell of memory, the tokens of
// what touched it last.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_INFERDEPENDENCIES_DEPENDENCYINFERENCE_H
#define GPUASYNC_LIB_TRANSFORMS_INFERDEPENDENCIES_DEPENDENCYINFERENCE_H

#include "AccessTable.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync::infer {

struct Entry {
  Value token;
  Location loc;
};
using Entries = SmallVector<Entry, 2>;

/// Lists of a cell: what wrote last, and what has read since. Work whose order
/// the program states is listed apart, since none is ever put behind another.
enum ListKind : unsigned {
  Writers,
  Readers,
  TokenWriters,
  TokenReaders,
  NumLists
};
constexpr ListKind allLists[] = {Writers, Readers, TokenWriters, TokenReaders};
struct CellState {
  Entries lists[NumLists];
};

/// A token that a loop carries for a list of a cell.
struct Slot {
  CellIndex cell;
  ListKind kind;
  Entries init;
  Value argument;
  /// The list at the end of the body.
  SmallVector<Value> yields;
  /// scf.while: the list at the condition, and the second region's argument.
  SmallVector<Value> condition;
  Value afterArgument;
  /// Never changed by the loop.
  bool isInvariant = false;
  bool isLive = false;
  /// Needless: nothing is ever in the list when an iteration begins.
  bool isGone = false;
  /// The slot that stands for this one.
  unsigned leader;
  Value result;
};

class DependencyInference {
public:
  DependencyInference(FunctionOpInterface function, const AccessTable &table,
                      bool remarks)
      : function(function), table(table), wantsRemarks(remarks),
        tokenType(TokenType::get(function.getContext())),
        state(table.getCells().size()) {}

  void run();

private:
  struct Hazard {
    const char *name;
    CellIndex cell;
    Entry entry;
  };
  struct Scope {
    llvm::MapVector<CellIndex, CellState> saved;
    SmallVector<Value> done;
  };
  struct Remark {
    Location loc;
    std::string text;
    Location other;
    CellIndex cell;
    Value token;
  };

  // State.
  CellState &modify(CellIndex cell);
  void dropDone(Entries &entries);
  SmallVector<Hazard> findConflicts(const OpInfo &info) const;
  void addToList(CellIndex cell, ListKind kind, Entry entry,
                 const llvm::SetVector<Value> &dependencies);
  void enter(const OpInfo &info, Entry entry, bool isTokenWork,
             const llvm::SetVector<Value> &dependencies);
  void clearAll();
  bool isDone(Value token) const { return done.contains(token); }
  void setDone(ArrayRef<Value> tokens);
  void pushScope() { scopes.emplace_back(); }
  llvm::MapVector<CellIndex, CellState> popScope();
  SmallVector<Value> past(Value token) const;
  void setPast(Value token, ArrayRef<Value> tokens) {
    pastOf[token].assign(tokens.begin(), tokens.end());
    pastOrder.push_back(token);
  }
  bool reaches(ArrayRef<Value> from, ArrayRef<Value> tokens, Operation *within);

  // Ops.
  void process(Block &block);
  void makeAsync(Operation *op, const OpInfo &info);
  void gatherUsers(Operation *free, llvm::SetVector<Value> &dependencies);
  void orderTokenWork(Operation *op, const OpInfo &info);
  void waitBefore(Operation *op, const OpInfo &info);
  void hostWait(ArrayRef<Hazard> hazards, Operation *before);
  void processBranches(Operation *op, const RegionInfo &info);
  void processLoop(Operation *op, const RegionInfo &info);
  void endIteration(const RegionInfo &info);
  bool isLiveAfter(CellIndex cell, ListKind kind, const RegionInfo &info) const;

  // Loops.
  std::vector<Slot> findSlots(Operation *op, const RegionInfo &info);
  void reduceSlots(Operation *op, MutableArrayRef<Slot> slots);
  void dropSlot(Operation *op, Slot &slot);
  void mergeSlots(Operation *op, MutableArrayRef<Slot> slots);
  Value join(ArrayRef<Value> tokens, OpBuilder &builder, Location loc);

  void remark(Location loc, StringRef what, ArrayRef<Hazard> hazards);

  FunctionOpInterface function;
  const AccessTable &table;
  bool wantsRemarks;
  TokenType tokenType;
  IndexedVector<CellIndex, CellState> state;
  /// Cells that may have something in their lists.
  SmallVector<CellIndex> used;
  SmallVector<Scope> scopes;
  llvm::DenseSet<Value> done;
  /// Tokens of device work in program order, and their places in it.
  std::vector<Value> order;
  llvm::DenseMap<Value, size_t> placeOf;
  /// Tokens that an op of their own block depends on.
  llvm::DenseSet<Value> taken;
  /// What is before a token of a region op or of a block.
  llvm::DenseMap<Value, SmallVector<Value, 2>> pastOf;
  /// The tokens that have got one, in this order.
  std::vector<Value> pastOrder;
  SmallVector<Remark> remarks;
};

inline SmallVector<Value> tokensOf(ArrayRef<Entry> entries) {
  return llvm::map_to_vector(entries,
                             [](const Entry &entry) { return entry.token; });
}

} // namespace mlir::gpuasync::infer

#endif // GPUASYNC_LIB_TRANSFORMS_INFERDEPENDENCIES_DEPENDENCYINFERENCE_H
