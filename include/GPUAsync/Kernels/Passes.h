//===- Passes.h - passes of lib/Kernels --------------------------------*-
// C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations and registration of the passes of Kernels/Passes.td.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_KERNELS_PASSES_H
#define GPUASYNC_KERNELS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::gpuasync {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "GPUAsync/Kernels/Passes.h.inc"

/// The files that `gpu-async-lower-kernels` runs or reads with its options'
/// defaults, as far as they are found: ptxas, libdevice, ld.lld, and all device
/// libraries that the folders of ROCm hold. Whoever keeps results of the
/// pipeline has them in the key.
SmallVector<std::string> findKernelToolchains();

/// Returns what is wrong with one value of the option `targets` of
/// `gpu-async-lower-kernels`, or an empty string. For tools that read options
/// before there is a program.
std::string describeWrongTarget(StringRef text);

} // namespace mlir::gpuasync

#endif // GPUASYNC_KERNELS_PASSES_H
