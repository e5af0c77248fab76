//===- ConvertGPUToGPUAsync.cpp - import of upstream gpu and async --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From upstream's gpu and async ops to the token form.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/Passes.h"
#include "GPUAsync/IR/GPUAsyncOps.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_CONVERTGPUTOGPUASYNC
#include "GPUAsync/Conversion/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

struct ConvertGPUToGPUAsync
    : public gpuasync::impl::ConvertGPUToGPUAsyncBase<ConvertGPUToGPUAsync> {
  void runOnOperation() override {
    getOperation().emitError("convert-gpu-to-gpu-async is not there yet");
    signalPassFailure();
  }
};

} // namespace
