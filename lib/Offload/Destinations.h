//===- Destinations.h - what ops on tensors write to ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where several ops begin with one tensor, bufferization would copy it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_DESTINATIONS_H
#define GPUASYNC_LIB_OFFLOAD_DESTINATIONS_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync::offload {

/// What is filled for several ops is filled for each, and what they only write
/// is empty for each. CSE undoes it.
void splitDestinations(Operation *root);

/// Computes a tensor where it is copied to in the end, if nothing else is read
/// from there on its way.
LogicalResult computeInDestinations(Operation *root);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_DESTINATIONS_H
