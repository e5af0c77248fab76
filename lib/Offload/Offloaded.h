//===- Offloaded.h - functions that kernels are made of ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mark by which passes know the functions that are offloaded. They have it
// from gpu-async-mark-offloaded to gpu-async-report-host-work.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_OFFLOADED_H
#define GPUASYNC_LIB_OFFLOAD_OFFLOADED_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::gpuasync::offload {

/// Whether kernels are made of such ops.
bool isParallelWork(Operation *op);

/// Whether the function has work for kernels to be made of, or tensors.
bool hasWork(func::FuncOp function);

/// Returns the names of functions that kernels call, directly or by others.
llvm::StringSet<> findKernelCode(ModuleOp module);

/// Returns the functions that have work for kernels, and no device work of
/// their own.
SmallVector<func::FuncOp> collectOffloadable(ModuleOp module);

/// On a function, a unit attribute: kernels are made of it.
inline constexpr llvm::StringLiteral kOffloadedAttrName = "gpu_async.offloaded";

/// Returns the functions with the mark, in the order of the module.
SmallVector<func::FuncOp> getOffloaded(ModuleOp module);

/// Whether the function returns a tensor of constant size. If it is offloaded,
/// such a result becomes an argument.
bool returnsConstantSizes(func::FuncOp function);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_OFFLOADED_H
