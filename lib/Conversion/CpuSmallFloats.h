//===- CpuSmallFloats.h - arithmetic of floats of 8 bits --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats of 8 bits on the cpu device, which has no instructions for them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_CONVERSION_CPUSMALLFLOATS_H
#define GPUASYNC_LIB_CONVERSION_CPUSMALLFLOATS_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync::cpu {

/// Refuses floats of less than 8 bits, and tf32.
LogicalResult checkFloats(Operation *op);
/// Rewrites atomics on floats of 8 bits as those whose new value a region
/// makes.
void makeSmallFloatAtomicsGeneric(Operation *root);
/// Rewrites what computes with floats of 8 bits to single precision.
LogicalResult expandSmallFloats(Operation *root);

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_CONVERSION_CPUSMALLFLOATS_H
