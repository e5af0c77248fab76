//===- AccessTable.h - what ops of a function touch -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of a function in cells that are told apart, and what each op does
// to them. What comes of it is DependencyInference's.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_INFERDEPENDENCIES_ACCESSTABLE_H
#define GPUASYNC_LIB_TRANSFORMS_INFERDEPENDENCIES_ACCESSTABLE_H

#include "Indices.h"

#include "GPUAsync/Analysis/Memory/MemoryAccesses.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::gpuasync::infer {

inline bool isSequential(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  return work && !work.getAsyncToken() && !work.getStream();
}

inline bool takesTokens(Operation *op) {
  return llvm::any_of(op->getOperands(), isToken) ||
         llvm::any_of(op->getResults(), isToken);
}

/// Accesses of a function whose overlaps with all others are the same share a
/// cell. Two are special: `anywhere` is memory that nothing is known of; what
/// touches any other memory touches `allMemory` besides if there is such, which
/// overlaps `anywhere` and not itself; all device work is listed there as if it
/// wrote.
struct Cell {
  std::string name;
  std::optional<Location> loc;
  /// Cells that overlap this one in one iteration, in most cases itself too.
  SmallVector<CellIndex, 2> overlaps;
  /// Those whose overlaps are all overlaps of this one, now and in later
  /// iterations: what comes after a write here comes after what touched them.
  SmallVector<CellIndex, 2> covers;
  /// The loop each of whose iterations makes this memory anew, and the cell
  /// that it is of as seen from its other iterations and from outside.
  Operation *loop = nullptr;
  CellIndex outer{};
  /// The last op in program order that touches an overlapping cell, or writes.
  Position lastAny{};
  Position lastWrite{};
  /// The last one that touches an overlapping cell otherwise than to free it.
  Position lastUse{};
};
using Cells = IndexedVector<CellIndex, Cell>;

constexpr CellIndex anywhere{0}, allMemory{1};

/// An access of an op to a cell.
struct Touch {
  CellIndex cell;
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
  Position begin{};
  Position end{};
  /// Position of the outermost loop around the op; nothing if there is none.
  std::optional<Position> loop;
  bool hasWork = false;
  /// Cells of memory that outlives the op, as they are seen from outside.
  llvm::MapVector<CellIndex, unsigned> touched;
  /// Of a loop: cells that are another memory in each iteration.
  SmallVector<CellIndex> ownCells;
};

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
  const Cells &getCells() const { return cells; }

private:
  /// Accesses that differ in nothing but whether they write.
  struct Key {
    Access access;
    /// As in Cell; a key.
    Operation *loop = nullptr;
    KeyIndex outer{};
    CellIndex cell = anywhere;
  };
  /// A touch, before there are cells.
  struct KeyTouch {
    KeyIndex key;
    bool writes;
    bool isAtEnqueue = false;
  };
  using KeyTouches = SmallVector<KeyTouch, 4>;
  /// Keys in classes of which none is told apart from the others in it.
  using Classes = IndexedVector<ClassIndex, SmallVector<KeyIndex>>;

  KeyIndex intern(Access access);
  KeyIndex addKey(const Access &access, Operation *op);
  LogicalResult visit(Operation *op);
  void addAccesses(Operation *op, OpInfo::Kind kind, ArrayRef<Access> accesses);
  void addScopeEnds();
  void makeCells();
  Classes dropWindows(ArrayRef<KeyIndex> group);
  void makeCellsOfGroup(ArrayRef<KeyIndex> group);
  CellIndex leave(CellIndex cell, Operation *loop) const;
  bool covers(CellIndex cell, CellIndex other) const;
  void addToRegions(Operation *op, OpInfo::Kind kind,
                    ArrayRef<KeyTouch> touches, const Touch *ofAllMemory);
  bool readsAtEnqueue(Value source);

  FunctionOpInterface function;
  KernelTable &kernels;
  MemoryFacts &facts;

  IndexedVector<KeyIndex, Key> keys;
  llvm::DenseMap<size_t, SmallVector<KeyIndex, 1>> keysByHash;
  llvm::DenseMap<Operation *, KeyTouches> keyTouches;
  Cells cells;

  /// Ops in program order.
  llvm::MapVector<Operation *, OpInfo> infos;
  llvm::MapVector<Operation *, RegionInfo> regions;
  Position addPosition() { return Position(++numPositions); }

  llvm::DenseMap<Operation *, Position> positions;
  unsigned numPositions = 0;
  llvm::DenseMap<Value, bool> pageable;
};

} // namespace mlir::gpuasync::infer

#endif // GPUASYNC_LIB_TRANSFORMS_INFERDEPENDENCIES_ACCESSTABLE_H
