//===- Bufferize.cpp - memory for tensors ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's bufferization, in one order each time, and a second time without
// its analysis for functions in which the analysis finds no order.
//===----------------------------------------------------------------------===//

#include "Destinations.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "Offloaded.h"
#include "Ownership.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferUtils.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Threading.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCBUFFERIZE
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct Bufferize : public gpuasync::impl::GPUAsyncBufferizeBase<Bufferize> {
  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    bufferization::createOneShotBufferizePass()->getDependentDialects(registry);
  }
  void runOnOperation() override;

private:
  LogicalResult bufferize(ArrayRef<func::FuncOp> functions);
};
} // namespace

/// Says who frees what, for gpu-async-deallocate: all tensors become memrefs.
static void recordOwnership(ModuleOp module, ArrayRef<func::FuncOp> functions) {
  Builder builder(module.getContext());
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<int64_t> numbers;
    for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
      if (isa<BaseMemRefType>(type))
        numbers.push_back(number);
    if (!numbers.empty())
      function->setAttr(offload::kMemRefResultsAttrName,
                        builder.getDenseI64ArrayAttr(numbers));
  }
  for (func::FuncOp function : functions)
    if (offload::freesMemory(function))
      function->setAttr(offload::kFreesAttrName, builder.getUnitAttr());
}

/// Makes the globals of constant tensors, in the order of the program.
/// Bufferization would make them in an order that depends on the addresses of
/// functions, and so name them differently in each run.
static LogicalResult makeGlobals(ModuleOp module, uint64_t alignment) {
  SymbolTableCollection symbols;
  for (auto function : module.getOps<func::FuncOp>()) {
    WalkResult result =
        function.walk([&](arith::ConstantOp constant) -> WalkResult {
          if (!isa<RankedTensorType>(constant.getType()))
            return WalkResult::advance();
          return success(succeeded(
              bufferization::getGlobalFor(constant, symbols, alignment)));
        });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult Bufferize::bufferize(ArrayRef<func::FuncOp> functions) {
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  options.allowReturnAllocsFromLoops = true;
  if (failed(makeGlobals(getOperation(), options.bufferAlignment)))
    return failure();
  auto leaveOutCopying = [&] {
    for (func::FuncOp function : functions)
      if (function->removeAttr(offload::kCopiesAttrName)) {
        options.noAnalysisFuncFilter.push_back(function.getName().str());
        Decision(*this, function, "CopyBeforeWrite")
            .count(numCopying, "copying-functions");
      }
  };
  auto bufferizeAll = [&] {
    OpPassManager whole(ModuleOp::getOperationName());
    whole.addPass(bufferization::createOneShotBufferizePass(options));
    return runPipeline(whole, getOperation());
  };
  leaveOutCopying();
  std::vector<Diagnostic> said;
  {
    ScopedDiagnosticHandler keep(
        &getContext(), [&, thread = llvm::get_threadid()](Diagnostic &text) {
          if (thread != llvm::get_threadid())
            return failure();
          said.push_back(std::move(text));
          return success();
        });
    if (succeeded(bufferizeAll()))
      return success();
  }
  // Ops that now compute in their destinations may have taken the last order
  // away.
  bool isOther = false;
  for (func::FuncOp function : functions) {
    if (llvm::is_contained(options.noAnalysisFuncFilter,
                           function.getName().str()))
      continue;
    if (failed(offload::checkOrder(function)))
      return failure();
    isOther |= function->hasAttr(offload::kCopiesAttrName);
  }
  if (!isOther) {
    for (Diagnostic &text : said)
      getContext().getDiagEngine().emit(std::move(text));
    return failure();
  }
  leaveOutCopying();
  return bufferizeAll();
}

void Bufferize::runOnOperation() {
  SmallVector<func::FuncOp> functions = offload::getOffloaded(getOperation());
  if (functions.empty())
    return markAllAnalysesPreserved();
  recordOwnership(getOperation(), functions);
  if (failed(bufferize(functions)))
    signalPassFailure();
}
