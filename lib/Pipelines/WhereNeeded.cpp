//===- WhereNeeded.cpp - passes for programs that have work for them ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See WhereNeeded.h.
//===----------------------------------------------------------------------===//

#include "WhereNeeded.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

struct WhereNeededPass
    : public PassWrapper<WhereNeededPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WhereNeededPass)

  WhereNeededPass() = default;
  WhereNeededPass(const WhereNeededPass &other)
      : PassWrapper(other), inner(other.inner) {
    dialect = other.dialect;
    pipeline = other.pipeline;
  }
  WhereNeededPass(StringRef ofOps, std::unique_ptr<Pass> pass) {
    dialect = ofOps.str();
    std::string text;
    llvm::raw_string_ostream stream(text);
    pass->printAsTextualPipeline(stream);
    pipeline = text;
    inner.addPass(std::move(pass));
  }

  StringRef getArgument() const final { return "gpu-async-where-needed"; }
  StringRef getDescription() const final {
    return "Run passes on a program that has ops of a dialect, besides "
           "constants";
  }
  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) final {
    if (failed(PassWrapper::initializeOptions(options, errorHandler)))
      return failure();
    if (failed(parsePassPipeline(pipeline, inner)))
      return errorHandler("'pipeline' is no pipeline");
    return success();
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    inner.getDependentDialects(registry);
  }

  void runOnOperation() final {
    WalkResult found = getOperation().walk([&](Operation *op) {
      return op->getName().getDialectNamespace() == dialect &&
                     !op->hasTrait<OpTrait::ConstantLike>()
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (found.wasInterrupted() && failed(runPipeline(inner, getOperation())))
      signalPassFailure();
  }

  Option<std::string> dialect{*this, "dialect",
                              llvm::cl::desc("Whose ops are looked for")};
  Option<std::string> pipeline{*this, "pipeline",
                               llvm::cl::desc("The passes to run")};
  OpPassManager inner{ModuleOp::getOperationName()};
};

} // namespace

std::unique_ptr<Pass>
gpuasync::createWhereNeededPass(StringRef dialect, std::unique_ptr<Pass> pass) {
  if (!pass)
    return std::make_unique<WhereNeededPass>();
  return std::make_unique<WhereNeededPass>(dialect, std::move(pass));
}
