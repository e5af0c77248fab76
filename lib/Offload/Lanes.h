//===- Lanes.h - threads that share a result --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several threads of a block, the lanes of a result, reduce some elements each:
// what they come to is combined within subgroups, and by way of workgroup
// memory.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_LANES_H
#define GPUASYNC_LIB_OFFLOAD_LANES_H

#include "Combiner.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::gpuasync::offload {

/// Whether elements that one result is made of are side by side.
bool isAlongReduction(linalg::LinalgOp op);

class Lanes {
public:
  /// Lanes of each element that the op's results have. Threads have the lanes
  /// of an element side by side (`isAlong`), or the elements.
  Lanes(OpBuilder &builder, linalg::LinalgOp op, const Combination &combination,
        int64_t results, int64_t lanes, bool isAlong);

  /// What all lanes of the result have comes to, for each of them. All threads
  /// come here. Those whose lane or result is none of so many give nothing, and
  /// get what is of no use.
  SmallVector<Value> reduce(ValueRange mine, Value result, Value lane);
  /// Whether that has a barrier.
  bool waits() const;
  /// Bytes of workgroup memory that it takes.
  int64_t countWorkgroupBytes() const;

private:
  /// As many threads as a subgroup has at least.
  static constexpr int64_t subgroup = 32;

  bool isBySubgroups() const;
  /// Of lanes that are side by side in a subgroup, without memory.
  Value reduceBySubgroups(Value mine, Value result, Value lane);
  SmallVector<Value> reduceByMemory(ValueRange mine, Value result, Value lane);
  Value index(int64_t value);
  Value isLess(Value value, int64_t limit);
  /// Values of all lanes that are in workgroup memory at a time.
  int64_t countSlots() const;
  /// For each of the op's results.
  SmallVector<Value> allocate();
  /// Where a lane of a result has its value.
  Value getSlot(Value result, Value lane);

  OpBuilder &b;
  linalg::LinalgOp op;
  Location loc;
  const Combination &combination;
  int64_t results, lanes;
  bool isAlong;
  SmallVector<Type, 2> types;
};

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_LANES_H
