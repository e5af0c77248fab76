//===- LoopAllocations.h - allocations that leave loops ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that each round of a loop allocates anew, and that the next round
// needs only when this one has done with it, is allocated once for all rounds.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_LOOPALLOCATIONS_H
#define GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_LOOPALLOCATIONS_H

#include "Slabs.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::gpuasync::plan {

/// The loops of the function whose bodies allocate memory, and nothing that
/// they call or that is in ops with regions there does; the innermost ones
/// first.
SmallVector<scf::ForOp> findAllocatingLoops(FunctionOpInterface function,
                                            MemoryFacts &facts);

/// Whether each round of the loop that `block` is the body of uses these of its
/// allocations only once the round before has done with all of them.
bool isReusedInOrder(const FunctionAllocations &order,
                     const BlockAllocations &block, ArrayRef<unsigned> members);

/// Moves those in front of the loop and behind it that can be there without
/// more memory being held at any time: nothing if one is freed before another
/// one is allocated. Returns how many.
unsigned leaveLoop(scf::ForOp loop, ArrayRef<SlabOps> allocations,
                   const FunctionAllocations &order);

} // namespace mlir::gpuasync::plan

#endif // GPUASYNC_LIB_TRANSFORMS_PLANMEMORY_LOOPALLOCATIONS_H
