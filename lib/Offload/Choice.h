//===- Choice.h - reductions that choose an element -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An arg max compares what it has with an element, and keeps one of the two:
// its results, a value and an index, are chosen together. No op of its body
// combines a result by itself, so nothing names its kind. Whether threads may
// take parts of it is found out by trial.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_CHOICE_H
#define GPUASYNC_LIB_OFFLOAD_CHOICE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::gpuasync::offload {

class Choice {
public:
  /// None if the op's body does more than compare and choose, or if it gives
  /// something else when it goes through parts of its elements, in their order,
  /// that each begin with what the outputs hold, and then through what the
  /// parts come to. Which of two zeros is chosen is not looked at, where both
  /// are.
  static std::optional<Choice> match(linalg::LinalgOp op);

  /// Chooses, for each output, of what a part comes to and what a later part
  /// comes to.
  SmallVector<Value> combine(OpBuilder &builder, ValueRange before,
                             ValueRange later) const;

private:
  explicit Choice(linalg::LinalgOp op) : op(op) {}
  bool isInParts();

  linalg::LinalgOp op;
  /// Values of the body: what it computes of an element for each output.
  SmallVector<Value, 2> elements;
};

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_CHOICE_H
