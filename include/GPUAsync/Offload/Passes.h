//===- Passes.h - passes of lib/Offload -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations and registration of the passes of Offload/Passes.td.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_OFFLOAD_PASSES_H
#define GPUASYNC_OFFLOAD_PASSES_H

#include "GPUAsync/IR/GPUAsyncDialect.h"
#include "GPUAsync/Options.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::gpuasync {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "GPUAsync/Offload/Passes.h.inc"

/// On an argument of a lowered function, an i64: the number of the tensor
/// result that the caller gets there. The function writes all of it, and reads
/// nothing that was there before.
inline constexpr llvm::StringLiteral kResultAttrName =
    GPUAsyncDialect::getResultName();
/// On a tensor argument, a unit attribute: the caller gives its memory up,
/// which a result may take.
inline constexpr llvm::StringLiteral kDonatedAttrName =
    GPUAsyncDialect::getDonatedName();
/// Beside gpu_async.result, an i64: the number of the donated argument, of
/// those that are no results, whose memory this is. The caller passes one
/// memory for both, with the argument's elements in it.
inline constexpr llvm::StringLiteral kTakesAttrName =
    GPUAsyncDialect::getTakesName();
/// On a linalg op, array<i64: ...>: sizes of its tiles, one for each loop.
inline constexpr llvm::StringLiteral kTileAttrName =
    GPUAsyncDialect::getTileName();
/// On a linalg op that is a matrix product, a bool: a library may compute it,
/// and it adds to what is in its destination (true), or that may be anything,
/// and the sums begin with 0, whatever the op itself says (false).
inline constexpr llvm::StringLiteral kProductAttrName =
    GPUAsyncDialect::getProductName();

} // namespace mlir::gpuasync

#endif // GPUASYNC_OFFLOAD_PASSES_H
