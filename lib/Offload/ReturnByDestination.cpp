//===- ReturnByDestination.cpp - tensor results as arguments --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before bufferization, so that results are computed where the caller wants
// them: upstream's pass behind it copies, and cannot return a buffer twice.
//===----------------------------------------------------------------------===//

#include "Destinations.h"
#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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
    if (function.isExternal())
      return;
    if (function.isPublic()) {
      if (failed(checkBlocks()))
        return signalPassFailure();
      if (llvm::hasSingleElement(function.getBody())) {
        function.walk(keepInPlace);
        if (failed(returnResults()))
          return signalPassFailure();
      }
    }
    if (failed(offload::computeInDestinations(function)))
      signalPassFailure();
  }

private:
  LogicalResult checkBlocks() {
    func::FuncOp function = getOperation();
    if (llvm::hasSingleElement(function.getBody()) ||
        llvm::none_of(function.getResultTypes(), llvm::IsaPred<TensorType>))
      return success();
    return function.emitError(
        "returns tensors from more than one block: return "
        "them from one, as scf.if and scf.while do");
  }
  static void keepInPlace(scf::ForOp loop);
  LogicalResult returnResults();
};
} // namespace

/// Whether it may be what the loop carried into the round, at another place.
static bool mayBeCarried(Value value, scf::ForOp loop) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return llvm::is_contained(loop.getRegionIterArgs(), value);
  if (isa<tensor::CastOp, tensor::ExtractSliceOp, tensor::CollapseShapeOp,
          tensor::ExpandShapeOp>(op))
    return mayBeCarried(op->getOperand(0), loop);
  return loop->isProperAncestor(op) &&
         isa<scf::IfOp, scf::IndexSwitchOp, arith::SelectOp>(op);
}

/// Whether inner loops leave the value in the place of `argument` already, one
/// after the other. Else those that begin there begin with a copy.
static bool staysInInnerLoops(Value value, BlockArgument argument) {
  bool isAlone = argument.hasOneUse();
  SmallVector<OpOperand *> begins;
  SmallVector<Value> worklist{value};
  llvm::SmallDenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!seen.insert(next).second ||
        !isa_and_nonnull<scf::ForOp, scf::WhileOp>(op))
      continue;
    isAlone &= next.hasOneUse() && isa<scf::ForOp>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      auto loop = dyn_cast<scf::ForOp>(op);
      if (!isa<TensorType>(operand.get().getType()) ||
          (loop && loop.getTiedLoopResult(&operand) != next))
        continue;
      worklist.push_back(operand.get());
      if (operand.get() == argument)
        begins.push_back(&operand);
    }
  }
  if (begins.empty() || isAlone)
    return !begins.empty();
  for (OpOperand *begin : begins) {
    OpBuilder builder(begin->getOwner());
    begin->set(bufferization::AllocTensorOp::create(
        builder, begin->getOwner()->getLoc(),
        cast<RankedTensorType>(argument.getType()), ValueRange(), argument));
  }
  return false;
}

/// What the next round begins with takes the place of what this one began with.
void ReturnByDestination::keepInPlace(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  OpBuilder builder(yield);
  Location loc = loop.getLoc();
  SmallVector<std::pair<BlockArgument, OpOperand *>> moved;
  for (auto [argument, yielded] :
       llvm::zip(loop.getRegionIterArgs(), yield->getOpOperands()))
    if (isa<RankedTensorType>(argument.getType()) &&
        yielded.get() != argument &&
        !staysInInnerLoops(yielded.get(), argument))
      moved.push_back({argument, &yielded});
  // If they change places: all are read before one is written.
  if (moved.size() > 1)
    for (auto [argument, yielded] : moved)
      if (mayBeCarried(yielded->get(), loop)) {
        auto type = cast<RankedTensorType>(argument.getType());
        yielded->set(bufferization::AllocTensorOp::create(
            builder, loc, type, ValueRange(), yielded->get()));
      }
  // One value may go to several places.
  llvm::SmallDenseMap<Value, Value> placed;
  for (auto [argument, yielded] : moved) {
    Value &value =
        placed.try_emplace(yielded->get(), yielded->get()).first->second;
    value = bufferization::MaterializeInDestinationOp::create(
                builder, loc, argument.getType(), value, argument)
                .getResult();
    yielded->set(value);
  }
}

LogicalResult ReturnByDestination::returnResults() {
  func::FuncOp function = getOperation();
  OpBuilder builder(&getContext());
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
      return failure();
    auto put = bufferization::MaterializeInDestinationOp::create(
        builder, value.getLoc(), value, function.getArgument(argument));
    put.setRestrict(true);
    put.setWritable(true);
    gone.set(number);
  }
  end->eraseOperands(gone);
  return function.eraseResults(gone);
}
