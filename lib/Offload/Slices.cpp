//===- Slices.cpp - slices that leave out dimensions ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Slices.h.
//===----------------------------------------------------------------------===//

#include "Slices.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// The dimensions of a slice, of which some are left out, as groups of those
/// that are kept.
static SmallVector<ReassociationIndices>
findGroups(ArrayRef<int64_t> sizes, const llvm::SmallBitVector &dropped) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices group;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    group.push_back(dim);
    if (!dropped.test(dim)) {
      groups.push_back(group);
      group.clear();
    }
  }
  if (!groups.empty())
    llvm::append_range(groups.back(), group);
  return groups;
}

/// The type without the dimensions that the slice leaves out. Null: it leaves
/// out none, or is no slice.
static RankedTensorType getReducedType(Operation *op) {
  RankedTensorType reduced, whole;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    reduced = slice.getType();
    whole = slice.getSourceType();
  } else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
    reduced = slice.getSourceType();
    whole = slice.getDestType();
  } else if (auto slice = dyn_cast<tensor::ParallelInsertSliceOp>(op)) {
    reduced = slice.getSourceType();
    whole = slice.getDestType();
  }
  return reduced && reduced.getRank() < whole.getRank() ? reduced
                                                        : RankedTensorType();
}

bool offload::isAmbiguousSlice(Operation *op) {
  RankedTensorType reduced = getReducedType(op);
  if (!reduced)
    return false;
  auto slice = cast<OffsetSizeAndStrideOpInterface>(op);
  ArrayRef<int64_t> sizes = slice.getStaticSizes();
  auto whole = RankedTensorType::get(sizes, reduced.getElementType());
  return ShapedType::isDynamicShape(sizes) ||
         tensor::ExtractSliceOp::inferCanonicalRankReducedResultType(
             reduced.getRank(), whole, slice.getMixedSizes()) != reduced;
}

/// The source of an insertion, with all dimensions of the slice.
template <typename Insertion>
static void expandSource(Insertion slice, RewriterBase &rewriter) {
  RankedTensorType type = slice.getSourceType();
  SmallVector<int64_t> shape(slice.getStaticSizes());
  Value whole = tensor::ExpandShapeOp::create(
      rewriter, slice.getLoc(),
      RankedTensorType::get(shape, type.getElementType()), slice.getSource(),
      findGroups(shape, slice.getDroppedDims()), slice.getMixedSizes());
  rewriter.modifyOpInPlace(slice,
                           [&] { slice.getSourceMutable().assign(whole); });
}

/// Behind a single element there is no next one, so that the step to it is no
/// matter. Upstream cannot say which dimensions a view leaves out if it is not
/// one.
template <typename Slice>
static void dropSteps(Slice slice, RewriterBase &rewriter) {
  SmallVector<int64_t> steps(slice.getStaticStrides());
  for (auto [size, step] : llvm::zip_equal(slice.getStaticSizes(), steps))
    if (size == 1 && !ShapedType::isDynamic(step))
      step = 1;
  rewriter.modifyOpInPlace(slice, [&] { slice.setStaticStrides(steps); });
}

void offload::sliceAllDimensions(Operation *op, RewriterBase &rewriter) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<tensor::ExtractSliceOp, tensor::InsertSliceOp,
            tensor::ParallelInsertSliceOp>(
          [&](auto slice) { dropSteps(slice, rewriter); });
  RankedTensorType reduced = getReducedType(op);
  if (!reduced)
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    Value whole = tensor::ExtractSliceOp::create(
        rewriter, op->getLoc(), slice.getSource(), slice.getMixedOffsets(),
        slice.getMixedSizes(), slice.getMixedStrides());
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        slice, reduced, whole,
        findGroups(slice.getStaticSizes(), slice.getDroppedDims()));
  } else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
    expandSource(slice, rewriter);
  } else {
    // Nothing but insertions is in the region around it.
    rewriter.setInsertionPoint(op->getParentOp());
    expandSource(cast<tensor::ParallelInsertSliceOp>(op), rewriter);
  }
}
