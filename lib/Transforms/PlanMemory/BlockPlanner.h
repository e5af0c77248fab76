//===- BlockPlanner.h - which allocations share memory ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which allocations of a block share a slab, and checks that no more is
// held than before.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_BLOCKPLANNER_H
#define GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_BLOCKPLANNER_H

#include "AddedOrder.h"
#include "Slabs.h"

namespace mlir::gpuasync::plan {

/// Something else in the block that may hold memory, from a place to a place.
struct Foreign {
  unsigned first, last;
};

/// Plans one block.
class BlockPlanner {
public:
  BlockPlanner(FunctionOpInterface function, const FunctionAllocations &order,
               BlockAllocations &block, MemoryFacts &facts)
      : function(function), order(order), block(block), all(block.allocations),
        facts(facts) {}

  /// Returns the slabs, none if the block stays as it is; then `whyNot` says
  /// why.
  std::vector<Slab> plan();
  /// Whether one plan of the block takes less than another, and of no size that
  /// is known at run time only more.
  bool isSmaller(ArrayRef<Slab> slabs, ArrayRef<Slab> others) const;
  /// What has to wait for what so that a plan takes less than `slabs`: none if
  /// none does.
  std::vector<AddedWait> findOrder(ArrayRef<Slab> slabs,
                                   ArrayRef<unsigned> levels);
  void remark(ArrayRef<Slab> slabs) const;
  /// The most bytes of constant sizes that may be held at a time, and where
  /// first; without slabs what the program may hold.
  int64_t getPeak(ArrayRef<Slab> slabs, unsigned *where = nullptr) const;
  size_t getCount() const { return all.size(); }
  /// Returns the bytes of the allocations of constant sizes.
  int64_t getConstantBytes() const {
    int64_t bytes = 0;
    for (const Allocation &allocation : all)
      bytes += allocation.scale ? 0 : allocation.bytes;
    return bytes;
  }
  FunctionOpInterface getFunction() const { return function; }
  Location getLoc() const { return all.front().alloc->getLoc(); }
  SmallVector<SlabOps> apply(ArrayRef<Slab> slabs) {
    return makeWindows(order, block, slabs);
  }

private:
  using Key = SmallVector<unsigned>;

  void findForeign();
  bool mayPlanDynamic() const;
  bool isInReach(const Allocation &allocation) const;
  Slab makeSlab(SmallVector<unsigned> members) const;
  std::vector<Slab> makeSlabs() const;
  template <typename Result>
  Result ask(Result (*function)(ArrayRef<int64_t>, ArrayRef<unsigned>,
                                const Conflicts &),
             ArrayRef<unsigned> members) const;
  bool isAfterFree(const Allocation &allocation) const;
  void placeFree(Slab &slab) const;
  bool mayWaitAtEnd() const;
  std::vector<int64_t>
  findMost(ArrayRef<std::tuple<unsigned, unsigned, int64_t>> held) const;
  bool splitAround(std::vector<Slab> &slabs, unsigned number, unsigned first,
                   unsigned last, bool inHalves) const;
  bool splitInPieces(std::vector<Slab> &slabs) const;
  bool splitAtPeak(std::vector<Slab> &slabs, unsigned place) const;
  int64_t getMostHeld(bool atFirst) const;
  int64_t getLeastHeld(ArrayRef<unsigned> members) const;
  unsigned placeOf(Operation *op) const { return places.lookup(op); }

  mutable FunctionOpInterface function;
  const FunctionAllocations &order;
  BlockAllocations &block;
  std::vector<Allocation> &all;
  MemoryFacts &facts;
  llvm::DenseMap<Operation *, unsigned> places;
  std::vector<Foreign> foreign;
  /// The number of the piece that each place is in: all of one piece have the
  /// same foreign memory. Whether there is any.
  std::vector<unsigned> pieceOf;
  std::vector<bool> hasForeign;
  /// The first and last place of each piece.
  std::vector<std::pair<unsigned, unsigned>> pieces;
  /// Host waits of the block, and the items that are done then: ever more.
  std::vector<std::pair<unsigned, const llvm::BitVector *>> waits;
  StringRef whyNot;
};

} // namespace mlir::gpuasync::plan

#endif // GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_BLOCKPLANNER_H
