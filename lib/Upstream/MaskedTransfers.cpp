//===- MaskedTransfers.cpp - masked transfers of whole tensors ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mask of a transfer as an arith.select.
//===----------------------------------------------------------------------===//

#include "MaskedTransfers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// Whether the vector is as large as the tensor: no other transfer is folded.
static bool isOfWholeTensor(VectorTransferOpInterface op) {
  auto tensor = dyn_cast<RankedTensorType>(op.getShapedType());
  return tensor && tensor.getRank() > 0 &&
         op.getPermutationMap().isMinorIdentity() &&
         op.getVectorType().getShape() == tensor.getShape();
}

/// All elements, where they are there.
static vector::TransferReadOp readAll(OpBuilder &builder, Location loc,
                                      VectorTransferOpInterface like,
                                      Value padding) {
  SmallVector<bool> inBounds(like.getTransferRank(), false);
  return vector::TransferReadOp::create(
      builder, loc, like.getVectorType(), like.getBase(), like.getIndices(),
      AffineMapAttr::get(like.getPermutationMap()), padding, /*mask=*/Value(),
      builder.getBoolArrayAttr(inBounds));
}

static void select(vector::TransferReadOp read) {
  OpBuilder builder(read);
  Location loc = read.getLoc();
  Value padding = vector::BroadcastOp::create(
      builder, loc, read.getVectorType(), read.getPadding());
  Value all = readAll(builder, loc, read, read.getPadding());
  Value selected =
      arith::SelectOp::create(builder, loc, read.getMask(), all, padding);
  read.replaceAllUsesWith(selected);
  read.erase();
}

static void select(vector::TransferWriteOp write, Value mask,
                   Operation *outer) {
  OpBuilder builder(outer);
  Location loc = write.getLoc();
  Value zero = arith::ConstantOp::create(
      builder, loc,
      builder.getZeroAttr(write.getVectorType().getElementType()));
  Value old = readAll(builder, loc, write, zero);
  write.getMaskMutable().clear();
  write.getValueToStoreMutable().assign(
      arith::SelectOp::create(builder, loc, mask, write.getVector(), old));
  if (outer == write)
    return;
  write->moveBefore(outer);
  outer->replaceAllUsesWith(write->getResults());
  outer->erase();
}

void gpuasync::selectInMaskedTransfers(Operation *root) {
  SmallVector<VectorTransferOpInterface> transfers;
  root->walk([&](VectorTransferOpInterface op) {
    if (isOfWholeTensor(op))
      transfers.push_back(op);
  });
  for (VectorTransferOpInterface op : transfers) {
    auto read = dyn_cast<vector::TransferReadOp>(*op);
    auto write = dyn_cast<vector::TransferWriteOp>(*op);
    auto mask = dyn_cast<vector::MaskOp>(op->getParentOp());
    if (read && read.getMask())
      select(read);
    else if (write && write.getMask())
      select(write, write.getMask(), write);
    else if (write && mask)
      select(write, mask.getMask(), mask);
  }
}
