//===- RoundMemory.h - what parallel loops allocate -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the iterations of parallel loops allocate has one place each. In a loop
// each round's is its own, and later rounds may hold it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_ROUNDMEMORY_H
#define GPUASYNC_LIB_OFFLOAD_ROUNDMEMORY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::gpuasync::offload {

/// The most bytes that what is allocated may have.
std::optional<int64_t> findMostBytes(Value memory);

/// Whether the loop becomes a launch, if it is in none.
bool isLaunched(Operation *loop);

/// Nothing is freed in a loop that becomes a launch: its iterations own no
/// memory that anything else has.
void dropFreesOfLaunched(func::FuncOp function);

/// What a loop in the launch carries to later rounds becomes one of as many
/// allocations around that loop as it can hold at once, and one more. What the
/// launch allocates is not freed any more.
LogicalResult separateRounds(gpu::LaunchOp launch);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_ROUNDMEMORY_H
