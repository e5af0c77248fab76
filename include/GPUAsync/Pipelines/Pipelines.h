//===- Pipelines.h - the pipeline from gpu to LLVM --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of this project and of MLIR in the right order: from a program of
// any form to the runtime form, in one go or stage by stage.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PIPELINES_PIPELINES_H
#define GPUASYNC_PIPELINES_PIPELINES_H

#include "GPUAsync/Options.h"
#include "GPUAsync/VectorRegisters.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::gpuasync {

/// Whether this is a build with assertions.
#ifdef NDEBUG
constexpr bool hasAssertions = false;
#else
constexpr bool hasAssertions = true;
#endif

/// Options of `gpu-async-pipeline`: `targets`, and those of Options.def.
struct GPUAsyncPipelineOptions
    : public PassPipelineOptions<GPUAsyncPipelineOptions> {
  PassOptions::ListOption<std::string> targets{
      *this, "targets",
      llvm::cl::desc("Targets of all kernels, besides those that their modules "
                     "name: cpu, nvptx:sm_90")};
#define GPUASYNC_PIPELINE_OPTION(TYPE, MEMBER, NAME, DEFAULT, CHANGES,         \
                                 DEFAULT_TEXT, TEXT)                           \
  PassOptions::Option<TYPE> MEMBER{*this, NAME, llvm::cl::desc(TEXT),          \
                                   llvm::cl::init(DEFAULT)};
#define GPUASYNC_OPTION(TYPE, MEMBER, NAME, DEFAULT, RANGE, CHANGES, TOOLS,    \
                        DEFAULT_TEXT, TEXT)                                    \
  GPUASYNC_PIPELINE_OPTION(TYPE, MEMBER, NAME, DEFAULT, CHANGES, DEFAULT_TEXT, \
                           TEXT)
#include "GPUAsync/Options.def"
};

/// The stages of the pipeline, each on a builtin.module. A stage leaves alone
/// what is lowered further than its own form already, so a file of any form
/// goes through all of them in order. Tensors are refused where `offload` does
/// not make kernels of them.

/// 0 -> 1: kernels of linalg ops, tensors and parallel loops; what of these is
/// left and affine to loops, control flow structured, kernels outlined, gpu ops
/// imported, memory planned.
void buildTokenFormPipeline(OpPassManager &pm,
                            const GPUAsyncPipelineOptions &options);
/// 1 -> 2: forks and releases made explicit.
void buildLinearFormPipeline(OpPassManager &pm,
                             const GPUAsyncPipelineOptions &options);
/// 2 -> 3: streams and events, and regions if they are to be played so.
void buildStreamFormPipeline(OpPassManager &pm,
                             const GPUAsyncPipelineOptions &options);
/// 3 -> 4: kernels compiled, host code in LLVM dialect with runtime calls.
void buildRuntimeFormPipeline(OpPassManager &pm,
                              const GPUAsyncPipelineOptions &options);

/// All stages in order, on a builtin.module.
void buildGPUAsyncPipeline(OpPassManager &pm,
                           const GPUAsyncPipelineOptions &options);

/// Registers `gpu-async-pipeline` and `gpu-async-offload`.
void registerGPUAsyncPipelines();

} // namespace mlir::gpuasync

#endif // GPUASYNC_PIPELINES_PIPELINES_H
