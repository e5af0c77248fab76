//===- Tools.cpp - gpu-runner and gpu-opt for the wheel -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands of the wheel are programs of a few lines that call these
// functions. So the wheel has LLVM once. They are no part of the interface.
//===----------------------------------------------------------------------===//

#include "gpu-opt/Opt.h"
#include "gpu-runner/Main.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Async/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

/// Registers the passes of upstream that are in the library anyway, or small.
/// All of them would make the wheel a third larger.
static void registerFewPasses() {
  mlir::registerTransformsPasses();
  mlir::affine::registerAffinePasses();
  mlir::arith::registerArithPasses();
  mlir::registerAsyncPasses();
  mlir::bufferization::registerBufferizationPasses();
  mlir::func::registerFuncPasses();
  mlir::registerGPUPasses();
  mlir::registerLinalgPasses();
  mlir::memref::registerMemRefPasses();
  mlir::registerSCFPasses();
  mlir::tensor::registerTensorPasses();
  mlir::registerArithToLLVMConversionPass();
  mlir::registerConvertControlFlowToLLVMPass();
  mlir::registerConvertFuncToLLVMPass();
  mlir::registerConvertIndexToLLVMPass();
  mlir::registerConvertMathToLLVMPass();
  mlir::registerConvertParallelLoopToGpuPass();
  mlir::registerConvertToLLVMPass();
  mlir::registerFinalizeMemRefToLLVMConversionPass();
  mlir::registerLowerAffinePass();
  mlir::registerReconcileUnrealizedCastsPass();
  mlir::registerSCFToControlFlowPass();
}

extern "C" int gpuasync_tool_runner(int argc, char **argv) {
  return gpurunner::runMain(argc, argv);
}

extern "C" int gpuasync_tool_opt(int argc, char **argv) {
  registerFewPasses();
  return gpuopt::runMain(argc, argv);
}
