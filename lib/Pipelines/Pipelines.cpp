//===- Pipelines.cpp - the pipeline from gpu to LLVM ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes in order. Each stage ends with the check of the form that it
// makes.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Pipelines/Pipelines.h"
#include "BoolVectors.h"
#include "GPUAsync/Conversion/Passes.h"
#include "GPUAsync/Kernels/Passes.h"
#include "GPUAsync/Offload/Offload.h"
#include "GPUAsync/Transforms/Passes.h"
#include "GPUAsync/Upstream/Passes.h"
#include "HoistAllocas.h"
#include "Kernels/Common/Addresses.h"
#include "PrepareInput.h"
#include "VerifyBetween.h"
#include "WhereNeeded.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Conversion/MathToFuncs/MathToFuncs.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::gpuasync;

static void printStatistics(OpPassManager &pm, const Twine &title,
                            const GPUAsyncPipelineOptions &options) {
  if (!options.printStatistics)
    return;
  GPUAsyncPrintStatisticsOptions print;
  print.title = title.str();
  pm.addPass(createGPUAsyncPrintStatistics(print));
}

static void endForm(OpPassManager &pm, Form form,
                    const GPUAsyncPipelineOptions &options) {
  if (form != Form::Runtime)
    printStatistics(pm, getWord(form) + " form", options);
  if (options.verifyForms)
    pm.addPass(createVerifyBetweenPass(form));
}

/// Adds a pass for programs with ops of `dialect`.
static void addFor(OpPassManager &pm, StringRef dialect,
                   std::unique_ptr<Pass> pass) {
  pm.addPass(createWhereNeededPass(dialect, std::move(pass)));
}

void gpuasync::buildTokenFormPipeline(OpPassManager &pm,
                                      const GPUAsyncPipelineOptions &options) {
  pm.addPass(createGPUAsyncAvoidFaults());
  pm.addPass(createGPUAsyncCheckSizes());
  OffloadOptions offload;
  offload.device = getOffloadDevice(options.targets);
#define GPUASYNC_OFFLOAD_OPTION(TYPE, MEMBER, NAME, DEFAULT, RANGE, CHANGES,   \
                                TOOLS, DEFAULT_TEXT, TEXT)                     \
  offload.MEMBER = options.MEMBER;
#define GPUASYNC_OFFLOAD_PIPELINE_OPTION(TYPE, MEMBER, NAME, DEFAULT, CHANGES, \
                                         DEFAULT_TEXT, TEXT)                   \
  offload.MEMBER = options.MEMBER;
#include "GPUAsync/Options.def"
  buildGPUAsyncOffloadPipeline(pm, offload);
  // Structured ops become loops on the host and inside kernels alike. None of
  // these passes folds or canonicalises: the file may be in the linear form.
  pm.addPass(createPrepareInputPass());
  addFor(pm, "affine", createLowerAffinePass());
  pm.addPass(createGPUAsyncStructureControlFlow());

  // Kernels take as few arguments as possible: constants and sizes move in.
  pm.addPass(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(createGpuKernelOutliningPass());
  // A checker's reports name the places of each.
  if (!options.check)
    pm.addPass(createGPUAsyncMergeKernels());

  ConvertGPUToGPUAsyncOptions import;
  import.importMode = options.importMode;
  pm.addPass(createConvertGPUToGPUAsync(import));
  if (options.linkModules)
    pm.addPass(createGPUAsyncLinkModules());
  printStatistics(pm, "imported", options);
  pm.addPass(createGPUAsyncCheckCollectives());

  // What has no tokens is ordered by the memory that it touches.
  pm.addPass(createGPUAsyncInferDependencies());
  // Nothing is inferred any more: windows of one allocation may share bytes.
  if (options.memory != MemoryMode::Keep) {
    GPUAsyncPlanMemoryOptions plan;
    plan.space = options.memory == MemoryMode::Space;
    pm.addPass(createGPUAsyncPlanMemory(plan));
  }
  pm.addPass(createGPUAsyncReduceDependencies());
  endForm(pm, Form::Token, options);
}

void gpuasync::buildLinearFormPipeline(OpPassManager &pm,
                                       const GPUAsyncPipelineOptions &options) {
  pm.addPass(createGPUAsyncMakeForksExplicit());
  endForm(pm, Form::Linear, options);
}

void gpuasync::buildStreamFormPipeline(OpPassManager &pm,
                                       const GPUAsyncPipelineOptions &options) {
  // No canonicalisation between the linear and the stream form: it would merge
  // or drop tokens.
  GPUAsyncAssignStreamsOptions assign;
  assign.maxStreams = options.maxStreams >= 0         ? options.maxStreams
                      : options.play == Play::Streams ? 8
                                                      : 32;
  pm.addPass(createGPUAsyncAssignStreams(assign));
  if (options.takeStream)
    pm.addPass(createGPUAsyncTakeStream());
  endForm(pm, Form::Stream, options);
  if (options.verifySchedule)
    pm.addPass(createGPUAsyncVerifySchedule());
  if (options.play == Play::Streams)
    return;
  GPUAsyncFormRegionsOptions regions;
  regions.play = options.play;
  pm.addPass(createGPUAsyncFormRegions(regions));
  endForm(pm, Form::Stream, options);
  if (options.verifySchedule)
    pm.addPass(createGPUAsyncVerifySchedule());
}

void gpuasync::buildRuntimeFormPipeline(
    OpPassManager &pm, const GPUAsyncPipelineOptions &options) {
  GPUAsyncLowerKernelsOptions kernels;
  kernels.targets.assign(options.targets.begin(), options.targets.end());
  kernels.optLevel = options.optLevel;
  kernels.subgroupSize = options.subgroupSize;
  kernels.ptxas = options.ptxas;
  kernels.libdevice = options.libdevice;
  kernels.rocm = options.rocm;
  kernels.toolTimeout = options.toolTimeout;
  pm.addPass(createGPUAsyncLowerKernels(kernels));

  // The host program: structured ops become a control-flow graph, and what has
  // no direct lowering to LLVM is expanded. A pass comes after those that make
  // ops for it.
  pm.addPass(createGPUAsyncAvoidFaults());
  addFor(pm, "memref", createHoistAllocasPass());
  addFor(pm, "vector", createConvertVectorToSCFPass());
  addFor(pm, "vector", createBoolVectorsPass());
  addFor(pm, "scf", createForallToForLoopPass());
  addFor(pm, "complex", createConvertComplexToStandardPass());
  addFor(pm, "scf", createSCFToControlFlowPass());
  addFor(pm, "memref", memref::createExpandOpsPass());
  addFor(pm, "affine", createLowerAffinePass());
  addFor(pm, "memref", createLowerViewsPass());
  pm.addPass(createGPUAsyncExpandScalars());
  addFor(pm, "vector", createConvertVectorToLLVMPass());
  // LLVM's intrinsics where they exist, else functions of our own or of libm.
  addFor(pm, "math", createConvertMathToFuncs());
  addFor(pm, "math", createConvertMathToLLVMPass());

  ConvertGPUAsyncToRuntimeOptions runtime;
  runtime.onError = options.onError;
  runtime.packedWrappers = options.packedWrappers;
  runtime.aotDestructor = options.aotDestructor;
  pm.addPass(createConvertGPUAsyncToRuntime(runtime));
  pm.addPass(createGPUAsyncCarryBFloats());
  endForm(pm, Form::Runtime, options);
}

void gpuasync::buildGPUAsyncPipeline(OpPassManager &pm,
                                     const GPUAsyncPipelineOptions &options) {
  buildTokenFormPipeline(pm, options);
  buildLinearFormPipeline(pm, options);
  buildStreamFormPipeline(pm, options);
  buildRuntimeFormPipeline(pm, options);
}

void gpuasync::registerGPUAsyncPipelines() {
  registerPass(createPrepareInputPass);
  registerPass(createBoolVectorsPass);
  registerPass(createHoistAllocasPass);
  registerPass([] { return createVerifyBetweenPass(); });
  registerPass(createLowerViewsPass);
  registerPass([] { return createWhereNeededPass(); });
  PassPipelineRegistration<GPUAsyncPipelineOptions>(
      "gpu-async-pipeline",
      "From the gpu dialect, or any form of gpu_async, to LLVM dialect with "
      "calls of the gpu_async runtime",
      buildGPUAsyncPipeline);
  registerGPUAsyncOffloadPipeline();
}
