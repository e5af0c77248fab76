//===- Destinations.cpp - what ops on tensors write to --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Destinations.h.
//===----------------------------------------------------------------------===//

#include "Destinations.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::gpuasync;

void offload::splitDestinations(Operation *root) {
  OpBuilder builder(root->getContext());
  SmallVector<Operation *> destinations;
  root->walk([&](Operation *op) {
    if (isa<linalg::FillOp, tensor::EmptyOp>(op) && op->getNumResults())
      destinations.push_back(op);
  });
  // Users before what they use: a copy of a fill is a user more.
  for (Operation *op : llvm::reverse(destinations)) {
    bool isFirst = true;
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      if (!std::exchange(isFirst, false)) {
        builder.setInsertionPoint(op);
        use.set(builder.clone(*op)->getResult(0));
      }
    }
  }
}

/// The tensor that takes the place of what the op uses, if there is one.
static Value getSuccessor(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto loop = dyn_cast<scf::ForallOp>(user))
    return loop.getTiedOpResult(&use);
  if (auto loop = dyn_cast<scf::ForOp>(user))
    return loop.getTiedLoopResult(&use);
  if (isa<scf::YieldOp>(user))
    return user->getParentOp()->getResult(use.getOperandNumber());
  if (auto writer = dyn_cast<DestinationStyleOpInterface>(user))
    return writer.isDpsInit(&use) ? writer.getTiedOpResult(&use) : OpResult();
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(user))
    return &use == &insert.getDestMutable() ? insert.getResult() : Value();
  if (auto cast = dyn_cast<tensor::CastOp>(user))
    return cast.getResult();
  return Value();
}

/// Whether the source, and what becomes of `memory` until then, are read by
/// nothing that comes after a write to what the op writes.
static bool isForSourceOnly(Value memory, Value source) {
  while (memory && memory != source) {
    if (!memory.hasOneUse())
      return false;
    memory = getSuccessor(*memory.use_begin());
  }
  return memory != nullptr;
}

LogicalResult offload::computeInDestinations(Operation *root) {
  IRRewriter rewriter(root->getContext());
  bufferization::OneShotBufferizationOptions options;
  options.allowReturnAllocsFromLoops = true;
  bufferization::OneShotAnalysisState state(root, options);
  if (failed(bufferization::analyzeOp(root, state)))
    return failure();
  // That a memref is written is no matter of tensors: upstream's analysis does
  // not see that it ends what was there.
  return bufferization::eliminateEmptyTensors(
      rewriter, root, state,
      [](RewriterBase &rewriter, SubsetInsertionOpInterface op,
         tensor::EmptyOp empty, Operation *user) -> Value {
        auto copy = dyn_cast<bufferization::MaterializeInDestinationOp>(
            op.getOperation());
        if (copy && isa<BaseMemRefType>(copy.getDest().getType()) &&
            !isForSourceOnly(empty, copy.getSource()))
          return Value();
        return bufferization::buildSubsetExtraction(rewriter, op, empty, user);
      });
}
