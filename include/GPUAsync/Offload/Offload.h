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
#include "mlir/Pass/PassOptions.h"

namespace mlir::gpuasync {

/// Options of `gpu-async-offload`: `device`, and those of Options.def.
struct OffloadOptions : public PassPipelineOptions<OffloadOptions> {
  PassOptions::Option<OffloadDevice> device{
      *this, "device", llvm::cl::desc("the kind of device that tiles are for"),
      llvm::cl::init(OffloadDevice::CPU)};
#define GPUASYNC_OFFLOAD_OPTION(TYPE, MEMBER, NAME, DEFAULT, RANGE, CHANGES,   \
                                TOOLS, DEFAULT_TEXT, TEXT)                     \
  PassOptions::Option<TYPE> MEMBER{*this, NAME, llvm::cl::desc(TEXT),          \
                                   llvm::cl::init(DEFAULT)};
#define GPUASYNC_OFFLOAD_PIPELINE_OPTION(TYPE, MEMBER, NAME, DEFAULT, CHANGES, \
                                         DEFAULT_TEXT, TEXT)                   \
  GPUASYNC_OFFLOAD_OPTION(TYPE, MEMBER, NAME, DEFAULT, Any, CHANGES, Nobody,   \
                          DEFAULT_TEXT, TEXT)
#include "GPUAsync/Options.def"
};

/// Adds the passes that make kernels of linalg ops, tensors and parallel loops,
/// for a builtin.module. docs/reference/Offload.md describes what becomes of
/// functions and their types.
void buildGPUAsyncOffloadPipeline(OpPassManager &pm,
                                  const OffloadOptions &options);

/// Registers `gpu-async-offload`.
void registerGPUAsyncOffloadPipeline();

/// Whether the pipeline would make kernels of a function. Changes nothing.
bool needsOffload(ModuleOp module);

/// Adds how upstream's ops are tiled, bufferized and freed to a registry that
/// has their dialects. Part of registerAllGPUAsyncDialects.
void registerOffloadInterfaces(DialectRegistry &registry);

/// For which device work is to be cut: a GPU if one of the targets is one's.
OffloadDevice getOffloadDevice(ArrayRef<std::string> targets);

} // namespace mlir::gpuasync

#endif // GPUASYNC_OFFLOAD_OFFLOAD_H
