//===- Apart.h - memory that is copied piece by piece -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two copies of one memory do not see what is written to the other. So memory
// that is copied must be apart, and callers alone know whether it is.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_APART_H
#define GPUASYNC_LIB_OFFLOAD_APART_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::gpuasync::offload {

/// Asserts where the function begins that the memrefs of each pair have no
/// address in common, from the first element of each to its last. They are
/// arguments, or globals that the function gets somewhere.
void assertApart(func::FuncOp function,
                 ArrayRef<std::pair<Value, Value>> pairs);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_APART_H
