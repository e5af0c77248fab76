//===- Lanes.h - threads that share a result --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several threads of a block, the lanes of a result, reduce some elements each:
// what they come to is combined by way of workgroup memory.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_LANES_H
#define GPUASYNC_LIB_OFFLOAD_LANES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::gpuasync::offload {

/// Whether elements that one result is made of are side by side.
bool isAlongReduction(linalg::LinalgOp op);

class Lanes {
public:
  /// Of the op's first result, which `combiner` adds to, or the like. Threads
  /// have the lanes of a result side by side (`isAlong`), or the results.
  Lanes(OpBuilder &builder, linalg::LinalgOp op, Operation *combiner,
        int64_t results, int64_t lanes, bool isAlong);

  /// One step of the op's reduction.
  Value combine(Value before, Value value);
  /// Combines what each lane has, with barriers: all threads come here. Those
  /// whose lane or result is none of so many give nothing.
  void combine(Value mine, Value result, Value lane);
  /// What they came to: for the first lane of the result, and behind a barrier
  /// for all.
  Value load(Value result);

private:
  Value index(int64_t value);
  /// Where a lane of a result has its value.
  Value getSlot(Value result, Value lane);

  OpBuilder &b;
  linalg::LinalgOp op;
  Location loc;
  Operation *combiner;
  int64_t results, lanes;
  bool isAlong;
  Value memory;
};

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_LANES_H
