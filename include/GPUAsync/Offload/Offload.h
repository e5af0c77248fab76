//===- Offload.h - from tensors and parallel loops to kernels ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What comes before gpu-async-pipeline for programs of linalg ops, tensors and
// parallel loops.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_OFFLOAD_OFFLOAD_H
#define GPUASYNC_OFFLOAD_OFFLOAD_H

#include "GPUAsync/Offload/Passes.h"
#include "GPUAsync/VectorRegisters.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::gpuasync {

struct OffloadOptions {
  OffloadMode mode = OffloadMode::Auto;
  OffloadDevice device = OffloadDevice::CPU;
  PlaceMode place = PlaceMode::Copy;
  BlasMode blas = BlasMode::Off;
  bool donate = false;
  bool check = false;
  /// The cpu device has these.
  VectorRegisters registers;
};

/// Adds `gpu-async-offload`, for a builtin.module. docs/reference/Offload.md
/// describes what becomes of functions and their types.
void buildGPUAsyncOffloadPipeline(OpPassManager &pm,
                                  const OffloadOptions &options);

/// Whether the pass would make kernels of a function. Changes nothing.
bool needsOffload(ModuleOp module);

/// Adds how upstream's ops are tiled, bufferized and freed to a registry that
/// has their dialects. Part of registerAllGPUAsyncDialects.
void registerOffloadInterfaces(DialectRegistry &registry);

/// For which device work is to be cut: a GPU if one of the targets is one's.
OffloadDevice getOffloadDevice(ArrayRef<std::string> targets);

} // namespace mlir::gpuasync

#endif // GPUASYNC_OFFLOAD_OFFLOAD_H
