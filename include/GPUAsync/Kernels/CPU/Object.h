//===- Object.h - #gpu_async.cpu as a target to serialise -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu-module-to-binary makes shared objects of modules with this target.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_KERNELS_CPU_OBJECT_H
#define GPUASYNC_KERNELS_CPU_OBJECT_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::gpuasync {

/// Makes #gpu_async.cpu a target attribute of gpu.module that can be
/// serialised.
void registerCPUTargetInterface(DialectRegistry &registry);

/// Fills LLVM's registry of targets with this machine's, once: the registry has
/// no lock. From any thread.
void initializeNativeTarget();

/// The property that marks a gpu.object as such an object.
constexpr llvm::StringLiteral cpuObjectProperty = "gpu_async.target";

} // namespace mlir::gpuasync

#endif // GPUASYNC_KERNELS_CPU_OBJECT_H
