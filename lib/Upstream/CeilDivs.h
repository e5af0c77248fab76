//===- CeilDivs.h - ceildiv of affine expressions ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of gpu-async-avoid-faults.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_UPSTREAM_CEILDIVS_H
#define GPUASYNC_LIB_UPSTREAM_CEILDIVS_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync {

/// If an op of the affine dialect in `root` has a ceildiv, computes that by
/// arith.ceildivsi and lowers all affine ops of `root`. MLIR lowers a ceildiv
/// by way of the negated dividend, and its simplification of expressions brings
/// others into that form.
LogicalResult lowerCeilDivs(Operation *root);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_UPSTREAM_CEILDIVS_H
