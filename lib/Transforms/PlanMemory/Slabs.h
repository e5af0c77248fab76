//===- Slabs.h - allocations that share memory ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a plan of a block says, and how the block becomes what it says.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_SLABS_H
#define GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_SLABS_H

#include "Allocations.h"
#include "GPUAsync/Analysis/Memory/PackingBound.h"

namespace mlir::gpuasync::plan {

/// Allocations that become windows of one slab; or one that stays as it is.
struct Slab {
  /// Numbers in the block's list, ascending.
  SmallVector<unsigned> members;
  /// Of members of constant sizes, and of each set of members of equal sizes
  /// that are known at run time only: then in units of one member.
  struct Part {
    SmallVector<unsigned> members;
    Packing packing;
  };
  SmallVector<Part> parts;
  /// Bytes of members of constant sizes.
  int64_t getBytes() const { return parts.front().packing.bytes; }
  /// The op before which it is freed, and what that comes after: what the
  /// members' frees came after, a user that comes after all others, or a host
  /// wait that has covered all users by then or has to be made.
  Operation *freeBefore = nullptr;
  enum { Frees, LastUser, HostWait, NewHostWait } end = Frees;
  Operation *lastUser = nullptr;
  /// Places: of the first of its allocations, of the last op before its free,
  /// and of the host wait that says that all has been used, or the last place.
  unsigned first = 0, last = 0, gone = 0;

  bool stays() const { return members.size() == 1; }
};

/// Ops that hold memory now.
struct SlabOps {
  AllocOp alloc;
  DeallocOp dealloc;
  /// Of constant sizes.
  int64_t bytes;
  /// What has its memory from them: numbers in the block's list.
  SmallVector<unsigned> members;
};

/// Makes one allocation of each slab, and windows of it of what was allocated.
/// Without slabs each allocation stays as it is. What the block allocates then.
SmallVector<SlabOps> makeWindows(const FunctionAllocations &order,
                                 BlockAllocations &block, ArrayRef<Slab> slabs);

/// Makes windows at `offset` of the slab, and there of windows, of all that has
/// its memory from `old`, but for its free.
void replaceMemory(AllocOp old, Value slab, Value offset);

/// What comes after the free comes after what the free came after.
void eraseFree(DeallocOp free);

} // namespace mlir::gpuasync::plan

#endif // GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_SLABS_H
