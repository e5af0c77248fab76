//===- ApartProducts.h - matrix products that are fused with nothing ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With blas=auto, a large product is better a library's, with what follows it
// in a kernel of its own, than one kernel of both.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_APARTPRODUCTS_H
#define GPUASYNC_LIB_OFFLOAD_APARTPRODUCTS_H

#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::gpuasync::offload {

/// The fill of zeros that a product's sums begin with; null: none. Of sums that
/// begin with -0 a library may make 0.
linalg::FillOp findZeros(linalg::LinalgOp product);

/// Whether a library takes less time for the product than a kernel, by more
/// than one more pass over its result takes.
bool isApart(linalg::LinalgOp op, OffloadDevice device);

/// Lets a product that a library may compute write its result in the order of
/// dimensions that a transposition behind it makes.
void absorbTranspositions(RewriterBase &rewriter, Operation *function);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_APARTPRODUCTS_H
