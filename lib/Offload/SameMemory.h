//===- SameMemory.h - whether memrefs may be one memory ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before kernels are outlined, when memrefs are arguments, allocations and
// views.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_SAMEMEMORY_H
#define GPUASYNC_LIB_OFFLOAD_SAMEMEMORY_H

#include "mlir/IR/Value.h"

namespace mlir::gpuasync::offload {

/// The memref that a view is of; the memref itself if it is no view.
Value getViewed(Value memory);

/// Whether two memrefs that are no views may be the same memory. Different
/// arguments may, unless one says that it is not (`llvm.noalias`), and so may
/// what a select, a region or a call gives.
bool mayBeSame(Value one, Value other);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_SAMEMEMORY_H
