//===- Combiner.h - what a reduction combines by ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions that several threads or blocks take parts of begin each part with
// the neutral element of the op that combines.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_COMBINER_H
#define GPUASYNC_LIB_OFFLOAD_COMBINER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::gpuasync::offload {

/// The op that combines an element with output number `output`, if it has a
/// neutral element and gives nothing but that output; else null.
Operation *findCombiner(linalg::LinalgOp op, unsigned output);

/// The value that leaves any other as it is, bit for bit: of a sum of floats it
/// is -0, since 0 + -0 is 0. None: the op has no such value.
std::optional<TypedAttr> getNeutralElement(Operation *combiner);

/// The same, and complex.add, for reductions that combine results one by one.
Operation *findSum(linalg::LinalgOp op, unsigned output);

/// Creates the neutral element of what findSum returned.
Value createNeutral(OpBuilder &builder, Operation *combiner);

/// Combines two values as `combiner` does, whose operand `argument` is the
/// result so far.
Value combine(OpBuilder &builder, BlockArgument argument, Operation *combiner,
              Value before, Value value);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_COMBINER_H
