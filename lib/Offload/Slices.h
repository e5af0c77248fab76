//===- Slices.h - slices that leave out dimensions --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream guesses which dimensions of one element a slice leaves out, from the
// types alone. Where sizes become constants or several dimensions have one
// element, it guesses wrong.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_SLICES_H
#define GPUASYNC_LIB_OFFLOAD_SLICES_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::gpuasync::offload {

/// Whether upstream may take the slice `op` for one that leaves out other
/// dimensions. False for other ops.
bool isAmbiguousSlice(Operation *op);

/// Makes an extract_slice, insert_slice or parallel_insert_slice that leaves
/// out dimensions a slice of all of them and a reshape. Dimensions of which a
/// slice has one element get the step 1. Other ops stay as they are.
void sliceAllDimensions(Operation *op, RewriterBase &rewriter);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_SLICES_H
