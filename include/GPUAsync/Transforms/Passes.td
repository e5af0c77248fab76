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
  let description = [{
    Makes what consumes a token explicit, which stream assignment and leak-free
    lowering rest on: **every token is consumed exactly once on every path.** A
    token with several consumers gets a `gpu_async.fork` right after its maker,
    with a result for each consumer in program order; one without gets a
    `gpu_async.release`, or goes away if it is a `gpu_async.wait async` without a
    past. A dependency that is listed twice is dropped first. Arguments of a
    function are owned by it and are consumed once, too; what it returns is
    consumed by the return. The pass changes nothing in the linear form.

    Tokens stay inside a block so far: a token that is used in another block or
    region than the one that makes it, or that is carried by a branch or a region
    op, is refused with an error that names both places.

    ```mlir
    // before
    %up = gpu_async.memcpy async %x, %h : memref<8xf32>, memref<8xf32>
    %a = gpu_async.memset async [%up] %y, %v : memref<8xf32>, f32
    %b = gpu_async.memset async [%up] %z, %v : memref<8xf32>, f32
    gpu_async.wait [%a]
    // after
    %up = gpu_async.memcpy async %x, %h : memref<8xf32>, memref<8xf32>
    %u1, %u2 = gpu_async.fork %up : 2
    %a = gpu_async.memset async [%u1] %y, %v : memref<8xf32>, f32
    %b = gpu_async.memset async [%u2] %z, %v : memref<8xf32>, f32
    gpu_async.release %b
    gpu_async.wait [%a]
    ```
  }];
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
