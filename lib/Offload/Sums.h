//===- Sums.h - long sums of floats, in pieces ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sum of n floats that is added up in order is off by up to n roundings. In
// pieces, whose sums are added up in turn, it is off by a few.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_SUMS_H
#define GPUASYNC_LIB_OFFLOAD_SUMS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::gpuasync::offload {

/// One loop of the nest that goes through a reduction.
struct SumLoop {
  /// The loop of the op whose rounds it goes through.
  unsigned loop;
  /// How many of these rounds one round of this loop has.
  int64_t step;
  /// How many of these rounds it goes through in all. Zero: all that there are.
  int64_t rounds = 0;
  /// Whether it begins a sum of its own, which is added to the one around it.
  bool isOwn = false;
};

/// Returns the nest of an op's reduction loops, the outermost loop first. Sums
/// have up to `most` elements in the innermost piece. Only sums of floats are
/// cut, and only if no result depends on the order in which they are taken.
SmallVector<SumLoop> cutSums(linalg::LinalgOp op, int64_t most);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_SUMS_H
