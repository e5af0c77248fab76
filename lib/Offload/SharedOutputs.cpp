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

/// Whether `index` is always less than `bound`: it counts up to it.
static bool isBelow(Value index, OpFoldResult bound) {
  auto iv = dyn_cast<BlockArgument>(index);
  auto counting =
      iv ? dyn_cast<scf::ForOp>(iv.getOwner()->getParentOp()) : scf::ForOp();
  return counting && counting.getInductionVar() == iv &&
         isEqualConstantIntOrValue(counting.getUpperBound(), bound);
}

/// Whether `user` reads one element that no iteration writes, or that this
/// iteration writes after it. In the first case an index of the element differs
/// from the one that all iterations write.
static bool isUnwrittenElement(Operation *user, Value output,
                               tensor::ParallelInsertSliceOp insert) {
  auto extract = dyn_cast<tensor::ExtractOp>(user);
  if (!extract || !insert || extract.getTensor() != output)
    return false;
  auto loop = insert->getParentOfType<scf::ForallOp>();
  bool isOwn = true;
  for (auto [index, offset, size] :
       llvm::zip_equal(extract.getIndices(), insert.getMixedOffsets(),
                       insert.getMixedSizes())) {
    if (!isConstantIntValue(size, 1)) {
      isOwn = false;
      continue;
    }
    auto written = dyn_cast<Value>(offset);
    const bool isSame = !written || loop.isDefinedOutsideOfLoop(written);
    if (isSame && isBelow(index, offset))
      return true;
    isOwn &= isEqualConstantIntOrValue(index, offset);
  }
  return isOwn;
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
             !isOwnSlice(user, output, only) &&
             !isUnwrittenElement(user, output, only);
    });
  }
}
