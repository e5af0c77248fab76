//===- SharedOutputs.cpp - what threads read of shared outputs ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See SharedOutputs.h. Upstream's bufferization sees no conflict between two
// tensor.parallel_insert_slice of one iteration, which become copies one after
// the other, nor between iterations.
//===----------------------------------------------------------------------===//

#include "SharedOutputs.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// Whether elements of the tensor go into an output as they are.
static bool isInserted(Value tensor) {
  return llvm::any_of(tensor.getUsers(), [](Operation *user) {
    if (isa<tensor::ParallelInsertSliceOp>(user))
      return true;
    return isa<tensor::ExtractSliceOp, tensor::CastOp, tensor::CollapseShapeOp,
               tensor::ExpandShapeOp>(user) &&
           isInserted(user->getResult(0));
  });
}

/// Whether what is computed of the tensor goes into another output. Where later
/// folds leave nothing of the computation, that is the tensor itself, and it is
/// not known which of the two outputs is written first.
static bool goesElsewhere(Value tensor, tensor::ParallelInsertSliceOp insert) {
  SmallVector<Value> open{tensor};
  llvm::SmallPtrSet<Value, 8> seen{tensor};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<tensor::ParallelInsertSliceOp>(user) && user != insert)
        return true;
      Operation *maker =
          user->hasTrait<OpTrait::IsTerminator>() ? user->getParentOp() : user;
      for (Value result : maker->getResults())
        if (seen.insert(result).second)
          open.push_back(result);
    }
  return false;
}

/// Whether `user` is a slice of the output that this iteration alone writes,
/// after it has computed with it.
static bool isOwnSlice(Operation *user, Value output,
                       tensor::ParallelInsertSliceOp insert) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
  return slice && insert && slice.getSource() == output &&
         slice.getMixedOffsets() == insert.getMixedOffsets() &&
         slice.getMixedSizes() == insert.getMixedSizes() &&
         slice.getMixedStrides() == insert.getMixedStrides() &&
         !isInserted(slice.getResult()) &&
         !goesElsewhere(slice.getResult(), insert);
}

void offload::readBeforeLoop(scf::ForallOp loop) {
  for (BlockArgument output : loop.getRegionIterArgs()) {
    SmallVector<tensor::ParallelInsertSliceOp> inserts;
    for (Operation *user : output.getUsers())
      if (auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(user);
          insert && insert.getDest() == output)
        inserts.push_back(insert);
    tensor::ParallelInsertSliceOp only =
        inserts.size() == 1 ? inserts.front() : nullptr;
    Value before = loop.getTiedOpOperand(output)->get();
    output.replaceUsesWithIf(before, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(user);
      const bool isWritten = insert && &use == &insert.getDestMutable();
      return !isWritten && !isa<tensor::DimOp>(user) &&
             !isOwnSlice(user, output, only);
    });
  }
}
