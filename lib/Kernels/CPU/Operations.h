//===- Operations.h - how many operations a thread runs ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a launch is small enough for the thread that enqueues it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_OPERATIONS_H
#define GPUASYNC_LIB_KERNELS_CPU_OPERATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::gpuasync::cpu {

/// The most operations that a thread of a kernel runs.
struct OperationCount {
  /// A number for all launches; nothing if it is not known before.
  std::optional<int64_t> constant;
  /// Computes it of a launch: takes the kernel's arguments, returns an f64.
  /// Null if `constant` says it, or no bound is known.
  func::FuncOp function;
};

/// Counts the operations of a kernel in structured loops, with its Env behind
/// its own arguments, and of the functions that it calls. A function that
/// computes them is created behind the kernel. `whilesEnd`: every scf.while has
/// no more rounds than a number has bits.
OperationCount countOperations(FunctionOpInterface kernel, StringRef name,
                               bool whilesEnd);

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_OPERATIONS_H
