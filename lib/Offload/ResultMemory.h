//===- ResultMemory.h - results computed where they are wanted --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After bufferization, on memrefs. A chain of writes to parts of an argument
// begins with a copy of the argument, and its end is copied to the result.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_RESULTMEMORY_H
#define GPUASYNC_LIB_OFFLOAD_RESULTMEMORY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::gpuasync::offload {

/// Puts what is copied to a result in the end into the result's memory from
/// the beginning, where nothing tells the difference. Call before deallocation.
void computeInResults(func::FuncOp function);

/// Computes results in the memory of donated arguments, each in one of its type
/// that nothing reads any more, and says so on the result (`gpu_async.takes`).
/// Prefers the argument that a result is a changed copy of. Warns of donated
/// arguments that no result takes. Call where the results' copies are gone.
void takeDonated(func::FuncOp function);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_RESULTMEMORY_H
