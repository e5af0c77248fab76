//===- OwnMemory.h - what the blocks of a launch allocate -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where memory lies that a block or a thread has for itself.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_OWNMEMORY_H
#define GPUASYNC_LIB_OFFLOAD_OWNMEMORY_H

#include "GPUAsync/KernelMemory.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::gpuasync::offload {

enum class Owner { Block, Thread };

/// Gives each of these allocations in a launch memory of its owner's:
/// workgroup memory of a block, private memory of a thread. Of what would
/// exceed the bounds, the largest, each of the launch's `owners` first blocks
/// or threads, which allocate, has a part of one allocation that is made before
/// the launch and freed behind it. Private memory is made by ops that are added
/// to `slots`. An error at an allocation whose size has no bound.
LogicalResult keepOwn(gpu::LaunchOp launch, ArrayRef<Operation *> allocs,
                      Owner owner, Value owners, const KernelMemory &bounds,
                      SmallVectorImpl<Operation *> &slots);

/// The allocations in a launch, whatever their owner. Those whose size alone
/// was of interest are gone.
SmallVector<Operation *> findAllocations(gpu::LaunchOp launch);

/// Whether a launch on a GPU, with what it has and what its blocks allocate,
/// can have so many more bytes of workgroup memory.
bool hasWorkgroupMemory(gpu::LaunchOp launch, int64_t bytes);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_OWNMEMORY_H
