//===- Destinations.h - what ops on tensors write to ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where several ops begin with one tensor, bufferization would copy it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_DESTINATIONS_H
#define GPUASYNC_LIB_OFFLOAD_DESTINATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::gpuasync::offload {

/// What is filled for several ops is filled for each, and what they only write
/// is empty for each. CSE undoes it.
void splitDestinations(Operation *root);

/// Computes a tensor where it is copied to in the end, if nothing else is read
/// from there on its way.
/// A function for which bufferization finds no order of reads and writes is
/// left as it is and marked with kCopiesAttrName.
LogicalResult computeInDestinations(func::FuncOp function);

/// Marks the function with kCopiesAttrName if bufferization finds no order for
/// it as it is now.
LogicalResult checkOrder(func::FuncOp function);

/// On a function: an op writes to a copy of its destination, each time.
inline constexpr llvm::StringLiteral kCopiesAttrName = "copy_before_write";

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_DESTINATIONS_H
