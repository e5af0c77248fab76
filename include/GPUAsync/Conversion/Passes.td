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
  let description = [{
    Gives a program of upstream's `gpu` ops, and of `async.execute` around them,
    the token form. A function without a token, an op of the async dialect or a
    stream operand becomes sequential ops one by one, without host waits (a
    `gpu.wait` goes): gpu-async-infer-dependencies orders them. In the others,
    tokens are trusted: between ops that carry them no edge and no host wait is
    added but by this rule. It holds in each block and, for tokens that go through
    control flow, across blocks:

    - `tail(%t)` is the newest earlier op that depends on `%t` and whose result
      has no use, else `%t` itself. A use of `%t` means `tail(%t)`, and an unused
      result becomes the tail of all its dependencies. So ops that are issued one
      by one on a token keep their order, as on upstream's streams, and explicit
      forks stay forks.
    - An allocation precedes the users of its memref.
    - A sync op starts after all tails and after every outstanding op that may
      touch the same memory, one of them writing; then the host waits for it. A
      sync free is waited for before it rather than after; a sync allocation is
      not waited for.
    - Host code that touches memory waits for tails that may conflict. What it
      shares with work whose token is taken is the program's business: a host may
      poll memory that a kernel writes. Host code without effects never waits.
      An opaque call, and an op whose effects nobody knows, starts after all
      outstanding work. A call that takes or returns tokens is ordered by them.
    - What is outstanding at the end of a function is waited for before its
      return, and a remark says so. A function may return tokens instead, and one
      that is given a stream leaves it to stream assignment to order the work into
      that stream.
    - Tokens go through `scf.if`, `scf.index_switch`, `scf.execute_region`,
      `scf.for`, `scf.while` and `arith.select`: carried, returned or used inside.
      A use inside means the tail in that block, else the tail at the op. Tails
      that ops inside become, and a join of what else is outstanding at a region's
      end, are further results of the op, which loops carry: no host wait is made
      for them, and iterations that share a token stay in order. The token of an
      allocation goes to its users inside. Of other ops with regions each block
      waits for its own work at its end, with a remark.
    - Which token an `arith.select`, a branch or a loop took is not known: waiting
      for the result does not count as waiting for the others, and one that they
      drop is complete when the function returns. A sync op, host code or an opaque
      call in a region waits, before the region, for outside work as above.
    - `async.execute` is inlined in program order. Within it, waits of sync ops,
      `gpu.wait` and `async.await` are put off: what comes later in the body
      starts after them on the device, and the host waits only before host code
      that may see the difference. So independent bodies overlap. The token and
      the values stand for all device work of the body, and `async.await` outside
      of a body is a host wait.
    - A launch with a stream operand goes to `gpu_async.stream.external`, in the
      order of the program. It starts after conflicting work and its tokens, and
      is never waited for by the host.

    Two memrefs conflict unless they come, through views and casts, from
    different allocations of the function, or one from such an allocation and the
    other from an argument or a global, or one is an `llvm.noalias` argument. A
    kernel reads or writes a memref as its body says, if that is in the module;
    `!llvm.ptr` and other arguments that are no numbers touch anything.

    Work in the token form already keeps its tokens as they are; the ends of
    blocks and opaque calls wait for it too. Functions in a later form are left
    alone.

    Refused, with an error at the op: tokens that go from block to block of a
    control-flow graph (run `gpu-async-structure-control-flow` first) or through
    other ops with regions, values of the async dialect through any (but
    `async.execute`); `gpu.launch` (run `gpu-kernel-outlining` first);
    `gpu.set_default_device`; cuSPARSE ops; all of the async dialect but
    `async.execute`, `async.yield` and `async.await`; values of the async dialect
    in function types.

    `import=check` also warns of ops that may touch the same memory without an
    order (`import=strict` orders them), in a block; both see no kernel argument
    more precisely than as a whole buffer.

    ```mlir
    // before: two ops on one token, a third that waits
    %t = gpu.wait async
    %0 = gpu.memcpy async [%t] %x, %h : memref<8xf32>, memref<8xf32>
    %1 = gpu.launch_func async [%t] @k::@f blocks in (...) threads in (...) args(%x : memref<8xf32>)
    gpu.wait [%t]
    // after
    %t = gpu_async.wait async
    %0 = gpu_async.memcpy async [%t] %x, %h : memref<8xf32>, memref<8xf32>
    %1 = gpu_async.launch async [%0] @k::@f blocks in (...) threads in (...) args(%x : memref<8xf32>)
    gpu_async.wait [%1]
    ```
  }];
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [
    Option<"importMode", "import", "::mlir::gpuasync::ImportMode",
           /*default=*/"::mlir::gpuasync::ImportMode::Trust",
           "What to do about ops that may race">,
  ];
  let statistics = [
    Statistic<"numImported", "imported-ops",
              "Ops of upstream's dialects that were imported">
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
    is no `out`. Functions without device work stay as they are. Tokens at
    function boundaries are event handles: arguments become the frame's at
    enter, results leave it. docs/reference/ABI.md has a lowered function of each kind.

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
    Option<"onError", "on-error", "::mlir::gpuasync::OnError",
           /*default=*/"::mlir::gpuasync::OnError::Abort",
           "What a public function does with an error">,
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
