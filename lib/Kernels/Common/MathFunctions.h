//===- MathFunctions.h - functions in single precision ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the math dialect as arithmetic, for GPUs without their
// vendor's library.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_MATHFUNCTIONS_H
#define GPUASYNC_LIB_KERNELS_COMMON_MATHFUNCTIONS_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync {

/// Replaces each function of the math dialect on f32, or on vectors of it, by
/// arithmetic on f32 and integers: additions, products, fma, divisions, square
/// roots, comparisons and selects, each rounded to the nearest. Special
/// arguments have the results of C's Annex F, and numbers below the smallest
/// normal one are as good as others. docs/reference/Kernels.md states the
/// accuracy.
void expandMathFunctions(Operation *root);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_MATHFUNCTIONS_H
