//===- ConvertGPUAsyncToRuntime.cpp - stream form to runtime calls --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass convert-gpu-async-to-runtime.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/Passes.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_CONVERTGPUASYNCTORUNTIME
#include "GPUAsync/Conversion/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;

namespace {
struct ConvertGPUAsyncToRuntimePass
    : gpuasync::impl::ConvertGPUAsyncToRuntimeBase<
          ConvertGPUAsyncToRuntimePass> {
  using ConvertGPUAsyncToRuntimeBase::ConvertGPUAsyncToRuntimeBase;

  void runOnOperation() override {
    getOperation().emitError("cannot be lowered yet");
    signalPassFailure();
  }
};
} // namespace
