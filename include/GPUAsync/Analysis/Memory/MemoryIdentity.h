//===- MemoryIdentity.h - which memory a value means ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value of the text in one iteration of the loops around it: what analyses
// tell memory apart by.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_MEMORY_MEMORYIDENTITY_H
#define GPUASYNC_ANALYSIS_MEMORY_MEMORYIDENTITY_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/Hashing.h"

namespace mlir::gpuasync {

/// What an SSA value stands for at run time: a buffer, a view, a result of
/// memref.distinct_objects. A value that is made in a loop is another one in
/// each iteration, so this is a pair of *value and iteration*, where the
/// iteration is that of the loops around both uses of it. Hence:
///
/// - Equal identities are one thing, and different ones that are made to be
///   distinct are so, only where both are looked at in one iteration of each
///   loop that makes the value anew: within the body, or in regions of it.
/// - Between iterations of a loop, and behind it, nothing is known of an
///   identity for which isMadeIn(loop) holds. Who goes there takes it out of
///   what it knows (Access::leave).
/// - A window of a planned allocation (gpu_async.window) is a thing of its own
///   that is made where the allocation is. Those of one allocation can be the
///   same bytes (mayAlias).
/// - An argument of a function, and what the function makes outside of all
///   loops, is one thing for a call of the function. Nothing is said of two
///   calls, recursive ones included.
/// - A value of a control-flow graph counts as made in the op that holds the
///   graph, unless it is of the entry block, which runs once: no other block is
///   known to.
///
/// A plain value; valid as long as the value is.
class MemoryIdentity {
public:
  MemoryIdentity() = default;
  explicit MemoryIdentity(Value value) : value(value) {}

  /// Null: no identity.
  explicit operator bool() const { return static_cast<bool>(value); }
  Value getValue() const { return value; }
  Operation *getDefiningOp() const {
    return value ? value.getDefiningOp() : nullptr;
  }

  /// Whether iterations of `op`, or executions of what is in it, each make
  /// their own.
  bool isMadeIn(Operation *op) const;

  /// In one iteration.
  bool operator==(const MemoryIdentity &other) const {
    return value == other.value;
  }
  bool operator!=(const MemoryIdentity &other) const {
    return value != other.value;
  }
  friend llvm::hash_code hash_value(const MemoryIdentity &identity) {
    return mlir::hash_value(identity.value);
  }

private:
  Value value;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_MEMORYIDENTITY_H
