//===- Pipelines.cpp - the pipeline from gpu to LLVM ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes in order. Each stage ends with the check of the form that it makes.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Pipelines/Pipelines.h"
#include "GPUAsync/Conversion/Passes.h"
#include "GPUAsync/Transforms/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::gpuasync;

static void verifyForm(OpPassManager &pm, StringRef form,
                       const GPUAsyncPipelineOptions &options) {
  if (!options.verifyForms)
    return;
  GPUAsyncVerifyFormOptions verify;
  verify.form = form.str();
  pm.addPass(createGPUAsyncVerifyForm(verify));
}

void gpuasync::buildTokenFormPipeline(OpPassManager &pm,
                                      const GPUAsyncPipelineOptions &options) {
  // Structured ops become loops on the host and inside kernels alike, before
  // kernels are outlined: what is constant or invariant can then be sunk.
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createLowerAffinePass());

  pm.addPass(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(createGpuKernelOutliningPass());

  pm.addPass(createConvertGPUToGPUAsync());
  verifyForm(pm, "token", options);
}

void gpuasync::buildLinearFormPipeline(OpPassManager &pm,
                                       const GPUAsyncPipelineOptions &options) {
  pm.addPass(createGPUAsyncMakeForksExplicit());
  verifyForm(pm, "linear", options);
}

void gpuasync::buildStreamFormPipeline(OpPassManager &pm,
                                       const GPUAsyncPipelineOptions &options) {
  // No canonicalisation between the linear and the stream form: it would merge
  // or drop tokens.
  GPUAsyncAssignStreamsOptions assign;
  assign.maxStreams = options.maxStreams;
  pm.addPass(createGPUAsyncAssignStreams(assign));
  verifyForm(pm, "stream", options);
}

void gpuasync::buildRuntimeFormPipeline(
    OpPassManager &pm, const GPUAsyncPipelineOptions &options) {
  GPUAsyncLowerKernelsOptions kernels;
  kernels.targets.assign(options.targets.begin(), options.targets.end());
  pm.addPass(createGPUAsyncLowerKernels(kernels));

  // The host program: what has no direct lowering to LLVM is expanded first.
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());

  ConvertGPUAsyncToRuntimeOptions runtime;
  runtime.onError = options.onError;
  runtime.packedWrappers = options.packedWrappers;
  runtime.aotDestructor = options.aotDestructor;
  pm.addPass(createConvertGPUAsyncToRuntime(runtime));
  verifyForm(pm, "runtime", options);
}

void gpuasync::buildGPUAsyncPipeline(OpPassManager &pm,
                                     const GPUAsyncPipelineOptions &options) {
  buildTokenFormPipeline(pm, options);
  buildLinearFormPipeline(pm, options);
  buildStreamFormPipeline(pm, options);
  buildRuntimeFormPipeline(pm, options);
}

void gpuasync::registerGPUAsyncPipelines() {
  PassPipelineRegistration<GPUAsyncPipelineOptions>(
      "gpu-async-pipeline",
      "From the gpu dialect, or any form of gpu_async, to LLVM dialect with "
      "calls of the gpu_async runtime",
      buildGPUAsyncPipeline);
}
