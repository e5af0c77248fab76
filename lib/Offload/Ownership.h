//===- Ownership.h - whose memory a program frees ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bufferization allocates memory for tensors, and deallocation frees it. What a
// program has as memrefs is its own business: who frees that, it says itself.
// Passes before bufferization say so to gpu-async-deallocate by attributes.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_OWNERSHIP_H
#define GPUASYNC_LIB_OFFLOAD_OWNERSHIP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::gpuasync::offload {

/// Whether the function frees memory itself.
bool freesMemory(func::FuncOp function);

/// On a function, array<i64: ...>: numbers of the results that are memrefs in
/// the program.
inline constexpr llvm::StringLiteral kMemRefResultsAttrName = "memref_results";

/// On a function, a unit attribute: it frees memory itself.
inline constexpr llvm::StringLiteral kFreesAttrName = "frees_memory";

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_OWNERSHIP_H
