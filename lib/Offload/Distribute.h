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

/// Replaces the op by loops of the block's threads, of which several work on
/// one result; between them are barriers. False, with nothing done, if it is no
/// reduction of a known kind, or if it has as many results as there are
/// threads.
bool reduceByThreads(RewriterBase &rewriter, linalg::LinalgOp op, Value thread,
                     int64_t threads);

/// The op that adds an element to result number `result`, or the like, if it
/// has a neutral element; else null.
Operation *findCombiner(linalg::LinalgOp op, unsigned result);

/// The most rounds that a loop of an op on memrefs has, if that is known.
std::optional<int64_t> findMostRounds(linalg::LinalgOp op, unsigned loop);

/// A map's results at these indices, null for those that it does not take.
SmallVector<Value> applyMap(OpBuilder &builder, Location loc, AffineMap map,
                            ArrayRef<Value> indices);

/// The indices in a space of `sizes` of the element of number `number`.
SmallVector<Value> delinearize(OpBuilder &builder, Location loc, Value number,
                               ArrayRef<Value> sizes);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_DISTRIBUTE_H
