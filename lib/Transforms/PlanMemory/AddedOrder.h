//===- AddedOrder.h - order that makes memory shareable ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For memory=space: which allocations could share bytes if some work waited for
// other work, and the fewest waits that it takes.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_ADDEDORDER_H
#define GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_ADDEDORDER_H

#include "Allocations.h"
#include "GPUAsync/Analysis/Memory/KernelBlocking.h"

namespace mlir::gpuasync::plan {

/// Why nothing in the function may wait for more than it does, empty if it may:
/// a kernel that waits for other work, or work that is not known here, could
/// then wait for what waits for it.
StringRef whyNoOrder(FunctionOpInterface function, BlockingTable &kernels);

/// Of each item the ops that take device time in the longest chain that ends
/// with it.
std::vector<unsigned> findLevels(const FunctionAllocations &order);

/// The conflicts of the block that are left if users of an allocation may be
/// made to wait for those of one that the program uses before, all of them in
/// the block itself, where the first of these is at least `rise` levels above
/// the last of those. From 1 on no chain becomes longer than the longest.
Conflicts relaxConflicts(const BlockAllocations &block,
                         const FunctionAllocations &order,
                         ArrayRef<unsigned> levels, int64_t rise);

/// A wait that is not there yet: of the second for the first.
using AddedWait = std::pair<Operation *, Operation *>;

/// Waits that put the users of each first allocation before those of the second
/// one, by number in the block; no more than these need.
std::vector<AddedWait>
findWaits(const BlockAllocations &block, const FunctionAllocations &order,
          ArrayRef<std::pair<unsigned, unsigned>> sharing);

} // namespace mlir::gpuasync::plan

#endif // GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_ADDEDORDER_H
