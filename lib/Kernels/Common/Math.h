//===- Math.h - math ops of kernels -------------------------*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What upstream's lowerings of math ops lack, or do not do well enough, for the
// cpu device and for GPUs with and without their vendor's library.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_MATH_H
#define GPUASYNC_LIB_KERNELS_COMMON_MATH_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync {

/// Rewrites math.isfinite, isinf, isnan and isnormal to integer arithmetic,
/// whatever the type of float: upstream's lowering has two of the four, of the
/// types that LLVM has.
void expandFloatClassification(Operation *root);

/// cpu: calls libm where LLVM has no intrinsic of the same accuracy.
LogicalResult lowerMathToLibm(Operation *root);

/// math.ipowi, and math.fpowi with exponents of other than 32 bits, or with
/// `floatBase` of any, as loops.
void expandIntegerPowers(Operation *root, bool floatBase);
/// What upstream's lowering has no pattern for: math on integers, truncation.
LogicalResult lowerIntrinsicMath(Operation *root);
/// Without the vendor's math library: makes arithmetic of functions in single
/// and half precision, and reports an error at one in double precision.
/// `missing` says what was not found.
LogicalResult expandMath(Operation *root, StringRef missing);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_MATH_H
