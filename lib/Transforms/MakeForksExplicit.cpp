//===- MakeForksExplicit.cpp - from the token to the linear form ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives every token exactly one consumer.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Transforms/Passes.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCMAKEFORKSEXPLICIT
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

struct MakeForksExplicit
    : public gpuasync::impl::GPUAsyncMakeForksExplicitBase<MakeForksExplicit> {
  void runOnOperation() override {
    getOperation().emitError("gpu-async-make-forks-explicit is not there yet");
    signalPassFailure();
  }
};

} // namespace
