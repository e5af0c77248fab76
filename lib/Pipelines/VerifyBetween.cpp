//===- VerifyBetween.cpp - form checks between phases ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See VerifyBetween.h.
//===----------------------------------------------------------------------===//

#include "VerifyBetween.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// Whether `op` can only stand in the stream form.
static bool isOfStreamForm(Operation *op) {
  if (auto work = dyn_cast<WorkOpInterface>(op))
    return work.getStream() && !work.getAsyncToken();
  return isStreamFormOp(op);
}

namespace {

struct VerifyBetweenPass
    : public PassWrapper<VerifyBetweenPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyBetweenPass)

  VerifyBetweenPass() = default;
  VerifyBetweenPass(const VerifyBetweenPass &other) : PassWrapper(other) {
    form = other.form;
  }

  StringRef getArgument() const final { return "gpu-async-verify-between"; }
  StringRef getDescription() const final {
    return "Check the invariant of a form, unless the program is lowered "
           "further";
  }

  void runOnOperation() final {
    if (form == Form::Token || form == Form::Linear) {
      WalkResult result = getOperation().walk([](Operation *op) {
        return isOfStreamForm(op) ? WalkResult::interrupt()
                                  : WalkResult::advance();
      });
      if (result.wasInterrupted())
        return;
    }
    OpPassManager pm(ModuleOp::getOperationName());
    GPUAsyncVerifyFormOptions options;
    options.form = form;
    pm.addPass(createGPUAsyncVerifyForm(options));
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }

  Option<Form> form{*this, "form", llvm::cl::desc("The form"),
                    llvm::cl::init(Form::Token)};
};

} // namespace

std::unique_ptr<Pass> gpuasync::createVerifyBetweenPass(Form form) {
  auto pass = std::make_unique<VerifyBetweenPass>();
  pass->form = form;
  return pass;
}
