//===- Combiner.h - what a reduction combines by ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions that several threads or blocks take parts of begin each part with
// the neutral element of the op that combines, or with what there was before.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_COMBINER_H
#define GPUASYNC_LIB_OFFLOAD_COMBINER_H

#include "Choice.h"

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

/// How all results of a reduction combine what its parts come to.
class Combination {
public:
  /// None: nothing but the op's rounds, one after the other, is known to give
  /// its results.
  static std::optional<Combination> match(linalg::LinalgOp op);

  /// Whether the elements of a part follow each other, and parts are combined
  /// in their order. Each begins with what the outputs hold, which is not
  /// combined with the parts again.
  bool isInOrder() const { return choice.has_value(); }
  /// The op that combines, if there is one result and one such op.
  Operation *getOnly() const {
    return combiners.size() == 1 ? combiners.front() : nullptr;
  }
  /// Whether floats are added up.
  bool addsFloats() const;

  /// Returns what a part begins with, where the outputs hold `outputs`.
  SmallVector<Value> begin(OpBuilder &builder, ValueRange outputs) const;
  SmallVector<Value> combine(OpBuilder &builder, ValueRange before,
                             ValueRange later) const;

private:
  explicit Combination(linalg::LinalgOp op) : op(op) {}

  linalg::LinalgOp op;
  /// An op for each result, or none.
  SmallVector<Operation *, 2> combiners;
  std::optional<Choice> choice;
};

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_COMBINER_H
