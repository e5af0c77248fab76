//===- Places.h - numbers computed from threads' ids ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of a thread's place, its ids plus and times what all threads of
// the block agree about, in whole numbers that do not wrap around.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_THREADS_PLACES_H
#define GPUASYNC_LIB_KERNELS_CPU_THREADS_PLACES_H

#include "Kernels/CPU/Kernel.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::gpuasync::cpu {

/// Signed bounds of an integer, both included. Twice as wide as what is
/// computed, so that sums and products of bounds are exact.
struct Bounds {
  __int128 least, most;
  bool contains(Bounds other) const {
    return least <= other.least && other.most <= most;
  }
};

class Places {
public:
  Places(func::FuncOp kernel, const ThreadVariance &variance)
      : kernel(kernel), variance(variance) {}

  /// Bits of an integer or an index.
  static unsigned getWidth(Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  }
  /// Whether `op` makes an integer or an index of another one.
  static bool isCast(Operation *op) {
    return isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
               arith::ExtUIOp, arith::TruncIOp>(op);
  }
  /// What `value`, an integer or an index, may be.
  Bounds getRange(Value value) { return getRange(value, 0); }
  /// The d for which `value` is the thread's id in dimension d plus a number
  /// that the threads agree about, in whole numbers that nowhere wrap around.
  std::optional<unsigned> getDimension(Value value);
  /// Whether `value` is, in whole numbers that nowhere wrap around, computed
  /// from ids such that it never falls where an id grows.
  bool growsWithIds(Value value);

private:
  static Bounds getFull(Type type) {
    __int128 half = __int128(1) << (getWidth(type) - 1);
    return {-half, half - 1};
  }
  Bounds getRange(Value value, unsigned depth);
  Bounds getExactRange(Operation *op, unsigned depth);
  bool isExact(Operation *op);
  bool isSameNumber(Operation *cast);

  func::FuncOp kernel;
  const ThreadVariance &variance;
};

/// Computes again, at `builder`, what varies of a place. `mapping` says what to
/// take for the ids that it is made from, and gets what is built.
Value buildPlace(OpBuilder &builder, const ThreadVariance &variance,
                 Value value, IRMapping &mapping);
/// The same for the thread of the block with the least ids, which are zero, or
/// with the greatest.
Value buildLeastPlace(OpBuilder &builder, func::FuncOp kernel,
                      const ThreadVariance &variance, Value value);
Value buildGreatestPlace(OpBuilder &builder, func::FuncOp kernel,
                         const ThreadVariance &variance, Value value);

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_THREADS_PLACES_H
