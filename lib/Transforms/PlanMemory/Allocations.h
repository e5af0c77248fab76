//===- Allocations.h - allocations that can be planned ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which allocations of a function can become windows, who uses them, and which
// of them are in use at a time.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_ALLOCATIONS_H
#define GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_ALLOCATIONS_H

#include "GPUAsync/Analysis/Memory/KernelEffects.h"
#include "GPUAsync/Analysis/Memory/MemoryAccesses.h"
#include "GPUAsync/Analysis/Memory/Packing.h"
#include "GPUAsync/IR/GPUAsyncOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync::plan {

/// An allocation of a block that can become a window.
struct Allocation {
  AllocOp alloc;
  DeallocOp dealloc;
  /// A multiple of WindowOp::alignment, at least that; 0 if sizes are no
  /// constants.
  int64_t bytes = 0;
  /// Then the bytes are this times the dynamic sizes.
  int64_t scale = 0;
  /// Device work that touches the memory, in regions of ops of the block too.
  llvm::SetVector<Operation *> users;
  /// Numbers of the first and last of these in program order.
  unsigned firstUser = 0, lastUser = 0;
  /// Items that are done before any of the users starts, and are in none of the
  /// ops with regions that hold a user: what uses only these may share its
  /// bytes.
  llvm::BitVector before;
  /// Items that are done before the allocation itself.
  llvm::BitVector beforeAlloc;
  /// Frees that stay, of these.
  llvm::BitVector freesBefore;
};

/// The allocations of one block that can be planned, in program order.
struct BlockAllocations {
  Block *block;
  std::vector<Allocation> allocations;
  /// Those that may be in use at a time.
  Conflicts conflicts;

  bool hasDynamic() const {
    return llvm::any_of(allocations, [](const Allocation &allocation) {
      return allocation.scale != 0;
    });
  }
};

/// What a function allocates, as far as it can be planned, and its order.
struct FunctionAllocations {
  std::vector<BlockAllocations> blocks;
  /// Work that takes device time, and frees that stay, as bits have them.
  std::vector<Operation *> items;
  llvm::DenseMap<Operation *, unsigned> numberOf;
  /// How many items are before each: fewer if it is before another one.
  std::vector<unsigned> depths;
  /// Of host waits in blocks with such: the items that are done then.
  llvm::DenseMap<Operation *, llvm::BitVector> doneAt;
  /// Of each item those that are done before it starts.
  std::vector<llvm::BitVector> before;
  /// Of users of what the body of a loop allocates: the items of earlier rounds
  /// that are done before it starts.
  llvm::DenseMap<Operation *, llvm::BitVector> inEarlierRounds;

  /// Whether a block with so many allocations is to be looked at.
  using BlockFilter = llvm::function_ref<bool(Block *, size_t)>;
  /// Sizes are constants or, but in `withoutDynamic`, values that are there
  /// where the first of the block is allocated.
  FunctionAllocations(FunctionOpInterface function, KernelTable &kernels,
                      const llvm::DenseSet<Block *> &withoutDynamic,
                      BlockFilter filter);
};

/// Whether an op other than an allocation may allocate device memory: a call of
/// what is not known here, or an op with such or with allocations in it.
bool mayAllocate(Operation *op, MemoryFacts &facts);

} // namespace mlir::gpuasync::plan

#endif // GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_ALLOCATIONS_H
