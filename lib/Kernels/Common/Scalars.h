//===- Scalars.h - exact arithmetic of scalars ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of arith and math that MLIR or LLVM have no exact lowering of, on host,
// cpu device and GPUs.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_SCALARS_H
#define GPUASYNC_LIB_KERNELS_COMMON_SCALARS_H

#include "mlir/IR/Builders.h"

namespace mlir::gpuasync {

/// Replaces each op for which `is` holds, on a vector of fixed size, by one on
/// each of its elements.
void scalarize(Operation *root, function_ref<bool(Operation *)> is);

/// Rewrites arith.remf to long division of the mantissas, which is exact. (LLVM
/// computes x - trunc(x / y) * y for GPUs.) Makes scf.while.
void expandRemainders(Operation *root);

/// Rewrites divisions that round to plus or minus infinity, and conversions
/// with a scale. MLIR's own pass for these rewrites minima and maxima too, and
/// takes one zero for the other there.
void expandDivisions(Operation *root);

/// Some value in place of poison. LLVM ends a program that branches on poison,
/// and takes no bounds of it for true.
Value freeze(OpBuilder &builder, Value value);

/// Has each conversion of a float to an integer be some integer, also where the
/// float is out of range: LLVM has poison there, arith does not.
void freezeConversions(Operation *root);

/// Rewrites conversions for LLVM's code generators for GPUs, which convert
/// floats to i1 the wrong way round, i1 to floats with the wrong sign, and
/// integers to bf16 by rounding them twice.
void expandConversions(Operation *root);

/// Rewrites math.copysign on floats of 16 bits, which LLVM converts to single
/// precision on GPUs: a NaN loses its sign there.
void expandCopySign(Operation *root);

/// Computes math.fma on floats for which `is` holds, of at most 16 bits, in
/// double precision, rounded once.
void expandFma(Operation *root, function_ref<bool(Type)> is);

/// a * b + c in double precision, of numbers with at most 26 bits. The last bit
/// is 1 unless the sum is exact, so that rounding the result to fewer bits is
/// rounding once.
Value buildFmaToOdd(OpBuilder &builder, Location loc, Value a, Value b,
                    Value c);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_SCALARS_H
