//===- Passes.td - conversions into and out of gpu_async ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that change dialects: upstream gpu to gpu_async, kernels to images,
// gpu_async to runtime calls.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_KERNELS_PASSES_TD
#define GPUASYNC_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def GPUAsyncLowerKernels
    : Pass<"gpu-async-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Compile each gpu.module for each target into one gpu_async.binary";
  let description = [{
    Replaces every `gpu.module` under its name by a `gpu_async.binary`: the table
    of its kernels with the sizes of their parameters, and its images. A ready
    `gpu.binary` is taken over. Each target gets its own copy of the kernels,
    made before anything of an ISA is in them, so one program can have several
    targets. The targets are those of the module's own `targets` attribute and
    those of `targets=`.

    - `nvptx:<chip>` (`#nvvm.target<chip = "sm_90">`): a PTX image, and a cubin
      when ptxas is found. A chip that LLVM does not know is an error; LLVM picks
      the lowest PTX version for the chip. No CUDA toolkit is needed: without
      libdevice, math ops become MLIR's expansions for f32 and are an error at
      the op for f64 (docs/reference/Kernels.md has the accuracy).
    - `amdgcn:<chip>` (`#rocdl.target<chip = "gfx90a">`), also with features
      (`amdgcn:gfx90a:sramecc+:xnack-`): a code object. Links with `ld.lld`; no
      ROCm is needed: without its device libraries math ops are expanded as for
      nvptx without libdevice.
    - `cpu` (`#gpu_async.cpu`): a private block function for each kernel in the
      program itself (`gpuasync_cpu_block_fn`), which runs the threads of one
      block as loops, x innermost. Kernels are cut where threads meet.

    Launches must have been imported (`convert-gpu-to-gpu-async`); upstream's
    `gpu.launch_func` cannot refer to a `gpu_async.binary`.

    ```mlir
    gpu.module @k { gpu.func @f(%x: memref<?xf32>, %a: f32) kernel { ... } }
    // becomes with targets=cpu,nvptx:sm_90
    gpu_async.binary @k
      kernels [#gpu_async.kernel<"f", params = [8, 8, 8, 8, 8, 4]>]
      images [#gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@k_f_block>]>,
              #gpu_async.image<ptx, "sm_90" data = "...">]
    llvm.func internal @k_f_block(%ctx: !llvm.ptr, %params: !llvm.ptr, %workgroup: !llvm.ptr)
    ```
  }];
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let options = [
    ListOption<"targets", "targets", "std::string",
               "Targets besides those that the modules name: cpu, nvptx:sm_90, "
               "amdgcn:gfx90a">,
    Option<"optLevel", "opt-level", "int", /*default=*/"3",
           "Optimisation level of the targets of targets=, 0 to 3">,
    Option<"subgroupSize", "subgroup-size", "int", /*default=*/"32",
           "Threads in a subgroup on the cpu device, a power of two from 1 to "
           "64, where #gpu_async.cpu does not say it">,
    Option<"ptxas", "ptxas", "std::string", /*default=*/"\"auto\"",
           "ptxas to make cubins with: auto (PATH, CUDA_ROOT, CUDA_HOME, "
           "CUDA_PATH, /usr/local/cuda), none, or its path">,
    Option<"libdevice", "libdevice", "std::string", /*default=*/"\"auto\"",
           "CUDA toolkit folder with nvvm/libdevice: auto (the same places), "
           "none, or its path">,
    Option<"rocm", "rocm", "std::string", /*default=*/"\"auto\"",
           "ROCm folder with amdgcn/bitcode: auto (ROCM_PATH, ROCM_ROOT, "
           "ROCM_HOME, /opt/rocm, Debian's), none, or its path">,
    Option<"toolTimeout", "tool-timeout", "int64_t", /*default=*/"600",
           "Seconds that ptxas or a linker may take, 0 for no limit">,
  ];
  let statistics = [
    Statistic<"numModules", "modules",
              "Modules of kernels that were compiled">,
    Statistic<"numImages", "images",
              "Images that they became">,
    Statistic<"numImageBytes", "image-bytes",
              "Bytes of the images">
  ];
}

def GPUAsyncInstrumentAccesses
    : Pass<"gpu-async-instrument-accesses", "::mlir::ModuleOp"> {
  let summary = "Call the checker before each access, for gpu-runner --check";
  let description = [{
    On the stream form, whose only target will be `cpu`. In kernels, each access
    to memory becomes conditional: its indices are compared with the sizes of the
    memref, and `gpuasync_check_access` (gpuasync/Check.h) is asked about its
    address; an access that fails is not made and reads zeros. Barriers and
    asserts are told of, as are the module's variables. In host code,
    `gpuasync_check_host` is told of accesses to memory that may be the device's.
    The calls carry the op's place, name and function as text.

    Not instrumented: gathers, scatters, masked and compressing vector ops, rows
    after the first of vectors with several dimensions.

    ```mlir
    %v = memref.load %x[%i] : memref<4xf32>
    // becomes
    %ok = scf.if %inside -> i1 { llvm.call @gpuasync_check_access(...) ... }
          else { llvm.call @gpuasync_check_index(...) ... }
    %v = scf.if %ok -> f32 { memref.load ... } else { 0.0 }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def GPUAsyncExpandScalars
    : Pass<"gpu-async-expand-scalars", "::mlir::ModuleOp"> {
  let summary = "Give host code the arithmetic of the cpu device's kernels";
  let description = [{
    Rewrites ops of arith and math that MLIR and LLVM have no exact lowering of:
    what kind of number a float is, floats of 8 bits and bf16 (computed in single
    precision and rounded by integer arithmetic), functions of the C library
    where LLVM's intrinsic is less accurate, divisions that round up or down.
    Sums, products and reductions of vectors of such floats, and atomics on them,
    are refused: kernels have them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def GPUAsyncCarryBFloats
    : Pass<"gpu-async-carry-bfloats", "::mlir::ModuleOp"> {
  let summary = "Hold numbers of bf16 as integers in the LLVM dialect";
  let description = [{
    Values of bf16, and arguments and results of internal functions, become i16:
    LLVM's code generator for x86 takes a bf16 from block to block as a number of
    single precision, and comes back by an instruction that makes 0 of what is
    below the smallest normal number. Around what computes with bf16, and at
    functions that others call, stand bitcasts.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def GPUAsyncExpandFunctions : Pass<"gpu-async-expand-functions"> {
  let summary = "Compute functions as for a GPU without its vendor's library";
  let description = [{
    For tests: functions of the math dialect on f32, f16 and bf16 become the
    arithmetic that kernels for a GPU get where libdevice or ocml is missing. On
    the cpu device, with `-O0`, it has the same results as on a GPU. One on f64 is
    an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // GPUASYNC_KERNELS_PASSES_TD
