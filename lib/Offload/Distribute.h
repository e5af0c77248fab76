//===- Distribute.h - a block's linalg ops as loops -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the elements of a linalg op on memrefs go to the threads of a block.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_DISTRIBUTE_H
#define GPUASYNC_LIB_OFFLOAD_DISTRIBUTE_H

#include "GPUAsync/VectorRegisters.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::gpuasync::offload {

/// Replaces the op by loops of one thread: its reduction loops are the
/// innermost ones, with their results in registers, but where another loop goes
/// through the operands' last dimensions. A product keeps as many sums as there
/// are registers.
void makeLoops(RewriterBase &rewriter, linalg::LinalgOp op,
               VectorRegisters registers = {});

/// Replaces the op by loops of thread number `thread` of so many: threads take
/// turns at the results' elements, in the order of memory. `hasAsyncCopies`:
/// these are for NVIDIA's devices from sm_80 on.
void distribute(RewriterBase &rewriter, linalg::LinalgOp op, Value thread,
                int64_t threads, bool hasAsyncCopies);

/// Replaces the op by loops of the block's threads, of which several work on
/// one result; between them are barriers. False, with nothing done, if it is no
/// reduction of a known kind, or if it has as many results as there are
/// threads.
bool reduceByThreads(RewriterBase &rewriter, linalg::LinalgOp op, Value thread,
                     int64_t threads);

/// Replaces an op without reduction by loops of the block's threads, which load
/// several elements each before they store any. False, with nothing done, if
/// its body writes, or there is nothing to load from outside of the block.
bool elementsByThreads(RewriterBase &rewriter, linalg::LinalgOp op,
                       Value thread, int64_t threads);

/// Replaces all of a block's ops by what its threads do, each with elements of
/// a row that stay in registers. False, with nothing done, if the ops do not
/// reduce rows and compute with what they come to, or sizes are not known.
bool rowsByThreads(RewriterBase &rewriter, ArrayRef<linalg::LinalgOp> ops,
                   Value thread, int64_t threads);

/// The most rounds that a loop of an op on memrefs has, if that is known.
std::optional<int64_t> findMostRounds(linalg::LinalgOp op, unsigned loop);

/// How many of its `ofThread` elements, none: it is not known, a thread loads
/// before it computes with any: up to `most`, fewer of a long body.
int64_t countTogether(linalg::LinalgOp op, std::optional<int64_t> ofThread,
                      int64_t most);

/// A map's results at these indices, null for those that it does not take.
SmallVector<Value> applyMap(OpBuilder &builder, Location loc, AffineMap map,
                            ArrayRef<Value> indices);

/// The indices in a space of `sizes` of the element of number `number`.
SmallVector<Value> delinearize(OpBuilder &builder, Location loc, Value number,
                               ArrayRef<Value> sizes);

/// How many rounds these loops have together.
Value countRounds(OpBuilder &builder, Location loc, ArrayRef<unsigned> loops,
                  ArrayRef<Value> sizes);

/// Sets the indices of these loops to those of their round number `number`.
void setIndices(OpBuilder &builder, Location loc, Value number,
                ArrayRef<unsigned> loops, ArrayRef<Value> sizes,
                MutableArrayRef<Value> indices);

/// The element at these indices of an op's input: the input if it is a number.
Value loadInput(OpBuilder &builder, linalg::LinalgOp op, OpOperand *input,
                ArrayRef<Value> indices);

/// What the op's body gives at these indices. `map` has its arguments and
/// whatever else is computed.
SmallVector<Value> cloneBody(OpBuilder &builder, linalg::LinalgOp op,
                             ArrayRef<Value> indices, IRMapping &map);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_DISTRIBUTE_H
