//===- Passes.td - passes on the gpu_async dialect ----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the token form to the linear form to the stream form, and the checks
// between them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TRANSFORMS_PASSES_TD
#define GPUASYNC_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def GPUAsyncMakeForksExplicit
    : Pass<"gpu-async-make-forks-explicit", "::mlir::ModuleOp"> {
  let summary = "Token form to linear form: consume every token exactly once";
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect"];
}

def GPUAsyncAssignStreams
    : Pass<"gpu-async-assign-streams", "::mlir::ModuleOp"> {
  let summary = "Linear form to stream form: streams and events instead of tokens";
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect"];
  let options = [
    Option<"maxStreams", "max-streams", "unsigned", /*default=*/"8",
           "Most streams that one block of a function uses; 0: no limit">,
  ];
}

def GPUAsyncVerifyForm
    : Pass<"gpu-async-verify-form", "::mlir::ModuleOp"> {
  let summary = "Check the invariant of one form of IR";
  let options = [
    Option<"form", "form", "std::string", /*default=*/"\"\"",
           "token, linear, stream or runtime">,
  ];
}

#endif // GPUASYNC_TRANSFORMS_PASSES_TD
