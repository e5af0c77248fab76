//===- ReturnByDestination.cpp - tensor results as arguments --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before bufferization, so that results are computed where the caller wants
// them: upstream's pass behind it copies, and cannot return a buffer twice.
//===----------------------------------------------------------------------===//

#include "Destinations.h"
#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCRETURNBYDESTINATION
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct ReturnByDestination
    : public gpuasync::impl::GPUAsyncReturnByDestinationBase<
          ReturnByDestination> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    offload::splitDestinations(function);
    if (function.isExternal() || !function.isPublic())
      return;
    if (!llvm::hasSingleElement(function.getBody())) {
      if (llvm::none_of(function.getResultTypes(), llvm::IsaPred<TensorType>))
        return;
      function.emitError("returns tensors from more than one block: return "
                         "them from one, as scf.if and scf.while do");
      return signalPassFailure();
    }
    OpBuilder builder(&getContext());
    function.walk([&](scf::ForOp loop) {
      Operation *yield = loop.getBody()->getTerminator();
      builder.setInsertionPoint(yield);
      for (auto [argument, yielded] :
           llvm::zip(loop.getRegionIterArgs(), yield->getOpOperands()))
        if (isa<RankedTensorType>(argument.getType()) &&
            yielded.get() != argument)
          yielded.set(bufferization::MaterializeInDestinationOp::create(
                          builder, loop.getLoc(), argument.getType(),
                          yielded.get(), argument)
                          .getResult());
    });
    for (auto [number, type] : llvm::enumerate(function.getArgumentTypes()))
      if (isa<TensorType>(type))
        function.setArgAttr(
            number, bufferization::BufferizationDialect::kWritableAttrName,
            builder.getBoolAttr(false));

    auto end = cast<func::ReturnOp>(function.front().getTerminator());
    builder.setInsertionPoint(end);
    llvm::BitVector gone(function.getNumResults());
    for (auto [number, value] : llvm::enumerate(end.getOperands())) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type)
        continue;
      if (!type.hasStaticShape()) {
        // Memory of its own, whatever else has the value.
        Value copy = bufferization::AllocTensorOp::create(
            builder, value.getLoc(), type, ValueRange(), value);
        end->setOperand(number, copy);
        continue;
      }
      unsigned argument = function.getNumArguments();
      auto memref = MemRefType::get(type.getShape(), type.getElementType());
      auto attributes = builder.getDictionaryAttr(
          {builder.getNamedAttr(kResultAttrName,
                                builder.getI64IntegerAttr(number)),
           builder.getNamedAttr(LLVM::LLVMDialect::getNoAliasAttrName(),
                                builder.getUnitAttr())});
      if (failed(function.insertArgument(argument, memref, attributes,
                                         value.getLoc())))
        return signalPassFailure();
      auto put = bufferization::MaterializeInDestinationOp::create(
          builder, value.getLoc(), value, function.getArgument(argument));
      put.setRestrict(true);
      put.setWritable(true);
      gone.set(number);
    }
    end->eraseOperands(gone);
    if (failed(function.eraseResults(gone)))
      signalPassFailure();
  }
};
} // namespace
