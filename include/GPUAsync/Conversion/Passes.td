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
  let description = [{
    Turns a module in the stream form, after scf-to-cf and after
    `gpu-async-lower-kernels`, into LLVM dialect and calls of the functions of
    RuntimeABI.h. Everything else of the host program (func, memref, arith, cf,
    math, vector, ...) is lowered in the same conversion, by the patterns that
    the dialects offer through `ConvertToLLVMPatternInterface`. What cannot be
    lowered is an error; no other op is ever left behind.

    *Tables.* `gpu_async.binary` ops, ops and functions become constant tables:
    one `gpuasync_program`, a `gpuasync_site` for each op, a `gpuasync_function`
    for each public function with device work.

    *Frames.* A public function that does device work, itself or through a call,
    enters a frame first and leaves it on every exit. A private one takes the
    frame as a hidden first argument. A public function that is also called
    within the module is split into a private body and a public wrapper, so that
    the whole call tree shares one frame. After host waits, host-shared
    allocations and calls of functions that can fail, and on the back edges of
    loops that hold device work, a failed frame branches to the function's one
    error exit. A call of code that is not known (a declaration, an indirect
    call) is followed by `gpuasync_frame_resume`.

    *Errors.* With `on-error=abort` signatures stay and an error ends the
    process at the exit of the public function. With `on-error=status` a public
    function with device work

    ```mlir
    func.func @f(%x: memref<?xf32>) -> i32
    ```

    becomes `gpuasync_status *f(<x>, int32_t *out)`: null is success, and only
    then is `*out` written; several results are a struct; without results there
    is no `out`. Functions without device work stay as they are.

    Limits: loops that are not natural loops get no check on their back edges;
    the address of a function with device work can only be taken where its type
    does not change (public, `on-error=abort`).

    ```mlir
    // before                                // after, within @f
    gpu_async.stream.synchronize %s          %p = llvm.getelementptr %streams[0] ...
                                             llvm.store %s, %p
                                             %e = llvm.call @gpuasync_stream_synchronize(%frame, %streams, %c1, %site)
                                             llvm.cond_br %failed weights([1, 2000000]), ^error, ^next
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect"];
  let options = [
    Option<"onError", "on-error", "std::string", /*default=*/"\"abort\"",
           "What a public function does with an error: abort or status">,
    Option<"packedWrappers", "packed-wrappers", "bool", /*default=*/"false",
           "Also emit `void _gpuasync_packed_f(void **args)` for each public "
           "function f: args point to the arguments, then to storage for the "
           "results, then to a `gpuasync_status *`">,
    Option<"aotDestructor", "aot-destructor", "bool", /*default=*/"false",
           "For code compiled ahead of time: release the program in a global "
           "destructor, and keep `_gpuasync_program` internal">,
  ];
}

#endif // GPUASYNC_CONVERSION_PASSES_TD
