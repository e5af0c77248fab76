//===- Distribute.h - a block's linalg ops as loops -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the elements of a linalg op on memrefs go to the threads of a block.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_DISTRIBUTE_H
#define GPUASYNC_LIB_OFFLOAD_DISTRIBUTE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::gpuasync::offload {

/// Replaces the op by loops of one thread: its reduction loops are the
/// innermost ones, with their results in registers, but where another loop goes
/// through the operands' last dimensions.
void makeLoops(RewriterBase &rewriter, linalg::LinalgOp op);

/// Replaces the op by loops of thread number `thread` of so many: threads take
/// turns at the results' elements, in the order of memory.
void distribute(RewriterBase &rewriter, linalg::LinalgOp op, Value thread,
                int64_t threads);

/// A map's results at these indices.
SmallVector<Value> applyMap(OpBuilder &builder, Location loc, AffineMap map,
                            ArrayRef<Value> indices);

/// The indices in a space of `sizes` of the element of number `number`.
SmallVector<Value> delinearize(OpBuilder &builder, Location loc, Value number,
                               ArrayRef<Value> sizes);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_DISTRIBUTE_H
