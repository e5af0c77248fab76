//===- AccessTable.h - what ops of a function touch -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of a function in cells that are told apart, and what each op does
// to them. What comes of it is DependencyInference's.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TRANSFORMS_ACCESSTABLE_H
#define GPUASYNC_TRANSFORMS_ACCESSTABLE_H

#include "GPUAsync/Analysis/MemoryAccesses.h"
#include "GPUAsync/IR/GPUAsyncOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::gpuasync::infer {

inline bool isToken(Type type) { return isa<TokenType>(type); }

inline bool isSequential(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  return work && !work.getAsyncToken() && !work.getStream();
}

inline bool takesTokens(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isToken) ||
         llvm::any_of(op->getResultTypes(), isToken);
}

/// Cell 0 is memory anywhere. Accesses of a function whose overlaps with all
/// others are the same share a cell.
struct Cell {
  std::string name;
  std::optional<Location> loc;
  /// Cells that overlap this one, itself included, without cell 0.
  SmallVector<unsigned, 2> overlaps;
  /// Those whose overlaps are all overlaps of this one: what comes after a
  /// write here comes after what touched them.
  SmallVector<unsigned, 2> covers;
  /// The last op in program order that touches an overlapping cell, or writes.
  unsigned lastAny = 0;
  unsigned lastWrite = 0;
};

/// An access of an op to a cell.
struct Touch {
  unsigned cell;
  bool writes;
  /// Read when the op is enqueued, by a copy of memory that no device work
  /// writes: nothing need come after it.
  bool isAtEnqueue = false;
};

/// What an op does that has no device work in a region.
struct OpInfo {
  enum Kind { Sequential, Token, Host };
  Kind kind;
  SmallVector<Touch, 4> touches;
};

/// What the ops of a region op do.
struct RegionInfo {
  enum Flags {
    DeviceRead = 1,
    DeviceWrite = 2,
    TokenRead = 4,
    TokenWrite = 8,
    HostRead = 16,
    HostWrite = 32
  };
  unsigned begin = 0;
  unsigned end = 0;
  /// Position of the outermost loop around the op; nothing if there is none.
  std::optional<unsigned> loop;
  bool hasWork = false;
  /// Cells of memory that outlives the op.
  llvm::MapVector<unsigned, unsigned> touched;
};

inline bool isLoop(Operation *op) { return isa<LoopLikeOpInterface>(op); }

/// Finds out what all ops of a function touch.
class AccessTable {
public:
  AccessTable(FunctionOpInterface function, KernelTable &kernels,
              MemoryFacts &facts)
      : function(function), kernels(kernels), facts(facts) {}

  LogicalResult build();

  const OpInfo *lookup(Operation *op) const {
    auto it = infos.find(op);
    return it == infos.end() ? nullptr : &it->second;
  }
  const RegionInfo *lookupRegion(Operation *op) const {
    auto it = regions.find(op);
    return it == regions.end() ? nullptr : &it->second;
  }
  ArrayRef<Cell> getCells() const { return cells; }

private:
  unsigned addKey(Access access);
  LogicalResult visit(Operation *op);
  void addAccesses(Operation *op, OpInfo::Kind kind, ArrayRef<Access> accesses);
  void addScopeEnds();
  void makeCells();
  void makeCellsOfGroup(ArrayRef<unsigned> group);
  bool readsAtEnqueue(Value source);

  FunctionOpInterface function;
  KernelTable &kernels;
  MemoryFacts &facts;

  /// Distinct accesses but for writing, found by their hash.
  std::vector<Access> keys;
  llvm::DenseMap<size_t, SmallVector<unsigned, 1>> keysByHash;
  std::vector<unsigned> cellOfKey;
  std::vector<Cell> cells;

  /// Ops in program order; touches hold keys until cells are made.
  llvm::MapVector<Operation *, OpInfo> infos;
  llvm::MapVector<Operation *, RegionInfo> regions;
  llvm::DenseMap<Operation *, unsigned> positions;
  unsigned position = 0;
  llvm::DenseMap<Value, bool> pageable;
};

} // namespace mlir::gpuasync::infer

#endif // GPUASYNC_TRANSFORMS_ACCESSTABLE_H
