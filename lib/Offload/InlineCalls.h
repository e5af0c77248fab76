//===- InlineCalls.h - calls of functions that become kernels ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory and kernels are chosen for one function at a time.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_INLINECALLS_H
#define GPUASYNC_LIB_OFFLOAD_INLINECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::gpuasync::offload {

/// Puts functions without device work of their own in place of calls of them in
/// `functions`. Those that call themselves stay calls, and so do those of
/// several blocks where only one can be, and long ones without work for kernels
/// (`hasWork`). An error at a call of one with such work where the caller would
/// have too many operations.
LogicalResult inlineCalls(ArrayRef<func::FuncOp> functions,
                          function_ref<bool(func::FuncOp)> hasWork);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_INLINECALLS_H
