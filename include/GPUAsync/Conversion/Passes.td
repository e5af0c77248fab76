//===- Passes.td - conversions into and out of gpu_async ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that change dialects: upstream gpu to gpu_async, kernels to images,
// gpu_async to runtime calls.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CONVERSION_PASSES_TD
#define GPUASYNC_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertGPUToGPUAsync
    : Pass<"convert-gpu-to-gpu-async", "::mlir::ModuleOp"> {
  let summary = "Import upstream gpu and async ops into the token form";
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def GPUAsyncLowerKernels
    : Pass<"gpu-async-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Compile each gpu.module for each target into one gpu_async.binary";
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let options = [
    ListOption<"targets", "targets", "std::string",
               "Targets besides those that the modules name: cpu, nvptx:sm_90">,
  ];
}

def ConvertGPUAsyncToRuntime
    : Pass<"convert-gpu-async-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Lower the stream form to calls of the runtime library";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"onError", "on-error", "std::string", /*default=*/"\"abort\"",
           "What a public function does with an error: abort or status">,
  ];
}

#endif // GPUASYNC_CONVERSION_PASSES_TD
