//===- BodyEffects.h - what bodies do besides computing ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that says whether the body of a linalg op touches memory. All
// steps that move, repeat, reorder or drop a body ask here.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_BODYEFFECTS_H
#define GPUASYNC_LIB_OFFLOAD_BODYEFFECTS_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync::offload {

/// What the regions of an op do besides computing values. Memory that they
/// allocate themselves does not count, nor do tensors: these are values.
struct BodyEffects {
  /// Of memory that is there outside of the regions.
  bool reads = false;
  /// A write, an atomic, or an effect that is not known, such as a call's.
  bool writes = false;
  /// An assertion.
  bool checks = false;

  bool touchMemory() const { return reads || writes; }
  bool any() const { return touchMemory() || checks; }
};

/// What the regions of `op` do; what the op itself does is not asked.
BodyEffects getBodyEffects(Operation *op);

/// What `op` alone does, without its regions.
BodyEffects getOwnEffects(Operation *op);

/// Whether the body may run at a later place of the program, where memory may
/// hold something else. An assertion may: it stops the program there.
bool mayMove(Operation *op);

/// Whether the body may run again for the same iteration, or for iterations in
/// another order.
bool mayRepeat(Operation *op);

/// Whether the body does nothing but compute, and may do so for iterations that
/// the op does not have.
bool isPureBody(Operation *op);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_BODYEFFECTS_H
