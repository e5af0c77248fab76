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

/// Options of `gpu-async-pipeline`, named as on the command line.
struct GPUAsyncPipelineOptions
    : public PassPipelineOptions<GPUAsyncPipelineOptions> {
  PassOptions::ListOption<std::string> targets{
      *this, "targets",
      llvm::cl::desc("Targets of all kernels, besides those that their modules "
                     "name: cpu, nvptx:sm_90")};
  PassOptions::Option<OffloadMode> offload{
      *this, "offload",
      llvm::cl::desc("What becomes of linalg ops, tensors and parallel loops "
                     "in functions without device work of their own"),
      llvm::cl::init(OffloadMode::Auto)};
  PassOptions::Option<PlaceMode> place{
      *this, "place",
      llvm::cl::desc("Where arguments and results of these functions are"),
      llvm::cl::init(PlaceMode::Copy)};
  PassOptions::Option<BlasMode> blas{
      *this, "blas",
      llvm::cl::desc("Who computes matrix products in these functions that are "
                     "fused with nothing"),
      llvm::cl::init(BlasMode::Off)};
  PassOptions::Option<bool> donate{
      *this, "donate",
      llvm::cl::desc("Callers give up the memory of arguments with "
                     "gpu_async.donated, unless arrays are copied to a GPU"),
      llvm::cl::init(false)};
  PassOptions::Option<bool> check{
      *this, "check",
      llvm::cl::desc("What runs as threads stays threads, of which a checker "
                     "finds races"),
      llvm::cl::init(false)};
  PassOptions::Option<int64_t> vectorRegisters{
      *this, "vector-registers",
      llvm::cl::desc("Vector registers of the cpu device's processor, which "
                     "hold the sums of matrix products"),
      llvm::cl::init(VectorRegisters().count)};
  PassOptions::Option<int64_t> vectorBits{
      *this, "vector-bits", llvm::cl::desc("Bits of each"),
      llvm::cl::init(VectorRegisters().bits)};
  PassOptions::Option<int> maxStreams{
      *this, "max-streams",
      llvm::cl::desc("Most streams that a function uses at a time; 0: no "
                     "limit; negative: 8 with play=streams, else 32, since in "
                     "a graph they cost little"),
      llvm::cl::init(-1)};
  PassOptions::Option<bool> takeStream{
      *this, "take-stream",
      llvm::cl::desc("Order public functions into a stream of the caller's, an "
                     "argument more"),
      llvm::cl::init(false)};
  PassOptions::Option<Play> play{
      *this, "play",
      llvm::cl::desc("How device work is played that the host does not "
                     "observe"),
      llvm::cl::init(Play::Auto)};
  PassOptions::Option<OnError> onError{
      *this, "on-error",
      llvm::cl::desc("What a public function does with an error"),
      llvm::cl::init(OnError::Abort)};
  PassOptions::Option<ImportMode> importMode{
      *this, "import",
      llvm::cl::desc("What to do about ops of the input that may race"),
      llvm::cl::init(ImportMode::Trust)};
  PassOptions::Option<MemoryMode> memory{
      *this, "memory",
      llvm::cl::desc("What becomes of the program's allocations of device "
                     "memory"),
      llvm::cl::init(MemoryMode::Plan)};
  PassOptions::Option<bool> linkModules{
      *this, "link-modules",
      llvm::cl::desc("Make one gpu.module of those that have the same "
                     "attributes, so that a program has one image a target"),
      llvm::cl::init(true)};
  PassOptions::Option<int> optLevel{
      *this, "opt-level",
      llvm::cl::desc("Optimisation level of kernels of `targets`, 0 to 3"),
      llvm::cl::init(3)};
  PassOptions::Option<int> subgroupSize{
      *this, "subgroup-size",
      llvm::cl::desc("Threads in a subgroup on the cpu device, a power of two "
                     "from 1 to 64"),
      llvm::cl::init(32)};
  PassOptions::Option<std::string> ptxas{
      *this, "ptxas",
      llvm::cl::desc("ptxas to make cubins with: auto, none, or its path"),
      llvm::cl::init("auto")};
  PassOptions::Option<std::string> libdevice{
      *this, "libdevice",
      llvm::cl::desc("CUDA toolkit folder with nvvm/libdevice: auto, none, or "
                     "its path"),
      llvm::cl::init("auto")};
  PassOptions::Option<std::string> rocm{
      *this, "rocm",
      llvm::cl::desc("ROCm folder with amdgcn/bitcode: auto, none, or its "
                     "path"),
      llvm::cl::init("auto")};
  PassOptions::Option<int64_t> toolTimeout{
      *this, "tool-timeout",
      llvm::cl::desc("Seconds that ptxas or a linker may take, 0 for no limit"),
      llvm::cl::init(600)};
  PassOptions::Option<bool> packedWrappers{
      *this, "packed-wrappers",
      llvm::cl::desc("Also emit a wrapper of one signature for each public "
                     "function, which a runner can call"),
      llvm::cl::init(false)};
  PassOptions::Option<bool> aotDestructor{
      *this, "aot-destructor",
      llvm::cl::desc("Release the program in a global destructor (code "
                     "compiled ahead of time)"),
      llvm::cl::init(false)};
  PassOptions::Option<bool> printStatistics{
      *this, "print-statistics",
      llvm::cl::desc("Print how many ops order device work after each phase"),
      llvm::cl::init(false)};
  PassOptions::Option<bool> verifyForms{
      *this, "verify-forms",
      llvm::cl::desc("Check the invariant of each form between the phases"),
      llvm::cl::init(true)};
  PassOptions::Option<bool> verifySchedule{
      *this, "verify-schedule",
      llvm::cl::desc("Prove that the stream form keeps the order of the tokens "
                     "(default: in builds with assertions)"),
#ifdef NDEBUG
      llvm::cl::init(false)
#else
      llvm::cl::init(true)
#endif
  };
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

/// Registers `gpu-async-pipeline`.
void registerGPUAsyncPipelines();

} // namespace mlir::gpuasync

#endif // GPUASYNC_PIPELINES_PIPELINES_H
