//===- LowerKernels.cpp - gpu-async-lower-kernels ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles each gpu.module for each target and collects the images in one
// gpu_async.binary.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/Passes.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCLOWERKERNELS
#include "GPUAsync/Conversion/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct LowerKernelsPass
    : gpuasync::impl::GPUAsyncLowerKernelsBase<LowerKernelsPass> {
  using GPUAsyncLowerKernelsBase::GPUAsyncLowerKernelsBase;

  void runOnOperation() override {
    for (auto kernels : getOperation().getOps<gpu::GPUModuleOp>()) {
      kernels.emitOpError("cannot be lowered yet");
      return signalPassFailure();
    }
  }
};
} // namespace
