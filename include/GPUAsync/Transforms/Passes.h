//===- Passes.h - passes of lib/Transforms --------------------------------*-
// C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations and registration of the passes of Transforms/Passes.td.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TRANSFORMS_PASSES_H
#define GPUASYNC_TRANSFORMS_PASSES_H

#include "GPUAsync/IR/GPUAsyncDialect.h"
#include "GPUAsync/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <string>

namespace mlir::gpuasync {

/// Of an argument: the caller's stream, which gpu-async-take-stream added.
inline constexpr llvm::StringLiteral kStreamAttrName =
    GPUAsyncDialect::getStreamName();

/// On a public function, a unit attribute: memory that callers give it is the
/// device's own.
inline constexpr llvm::StringLiteral kArraysOnDeviceAttrName =
    GPUAsyncDialect::getArraysOnDeviceName();

/// What gpu-async-print-schedule prints, of one function or, with an empty
/// name, of all; errors are at their ops.
FailureOr<std::string> drawSchedules(ModuleOp module, StringRef function,
                                     ScheduleFormat format);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "GPUAsync/Transforms/Passes.h.inc"

} // namespace mlir::gpuasync

#endif // GPUASYNC_TRANSFORMS_PASSES_H
