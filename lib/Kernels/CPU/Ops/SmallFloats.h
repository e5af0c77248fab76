//===- SmallFloats.h - arithmetic of small floats ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats of 8 bits and bf16 on the cpu device, which has no instructions for
// them, or such as differ between processors.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_OPS_SMALLFLOATS_H
#define GPUASYNC_LIB_KERNELS_CPU_OPS_SMALLFLOATS_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync::cpu {

/// Refuses floats of less than 8 bits, and tf32.
LogicalResult checkFloats(Operation *op);
/// Whether `type` is such a float, or a vector of them.
bool isSmallFloat(Type type);
/// Rewrites what computes with such floats to single precision.
LogicalResult expandSmallFloats(Operation *root);

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_OPS_SMALLFLOATS_H
