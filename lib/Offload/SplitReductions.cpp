//===- SplitReductions.cpp - few results of many elements -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block computes results from their first element to their last, so a sum
// over everything would leave the rest of the device without work. It is taken
// in two steps: a part for each block, and what the parts come to.
//===----------------------------------------------------------------------===//

#include "BodyEffects.h"
#include "Combiner.h"
#include "Contraction.h"
#include "GPUAsync/Offload/Passes.h"
#include "Schedule.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCSPLITREDUCTIONS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// Whether partial results can be combined: each result by an op that takes
/// them in any order.
static bool canBeSplit(linalg::LinalgOp op) {
  // The parts of a result are computed in any order.
  if (!op.getNumReductionLoops() || op.hasIndexSemantics() ||
      getBodyEffects(op).writes)
    return false;
  // An input of one row or column, as a mean that keeps its dimension, is read
  // in the only place there is.
  for (OpOperand &operand : op->getOpOperands())
    if (!op.getMatchingIndexingMap(&operand).isProjectedPermutation(
            /*allowZeroInResults=*/op.isDpsInput(&operand)))
      return false;
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  for (auto [result, output] : llvm::enumerate(op.getDpsInitsMutable())) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    // What is computed along with a reduction may have an element for each
    // round.
    auto hasOne = [&](unsigned loop) { return map.isFunctionOfDim(loop); };
    // Upstream finds no neutral element of numbers of the index type.
    if (llvm::any_of(loops, hasOne) || !findCombiner(op, result) ||
        getElementTypeOrSelf(output.get().getType()).isIndex())
      return false;
  }
  return true;
}

/// Blocks begin with the neutral elements themselves, in place of a kernel that
/// writes those first: upstream's fills, of which those of sums are 0, where -0
/// is neutral. `isOwn`: in memory of their own, where what a block adds up lies
/// side by side; the parts of different blocks do in the result.
static void fillInBlocks(scf::ForallOp loop, ArrayRef<TypedAttr> neutral,
                         bool isOwn, RewriterBase &rewriter) {
  for (auto [place, output] : llvm::enumerate(loop.getOutputsMutable())) {
    auto fill = output.get().getDefiningOp<linalg::FillOp>();
    if (!fill)
      continue;
    BlockArgument argument = loop.getRegionOutArgs()[place];
    TypedAttr begin = neutral[place];
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers()))
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user)) {
        rewriter.setInsertionPointAfter(slice);
        Value place = slice.getResult();
        if (isOwn && slice.getType().hasStaticShape())
          place = bufferization::AllocTensorOp::create(
              rewriter, fill.getLoc(), slice.getType(), ValueRange{});
        Value value = arith::ConstantOp::create(rewriter, fill.getLoc(), begin);
        auto filled =
            linalg::FillOp::create(rewriter, fill.getLoc(), value, place);
        rewriter.replaceAllUsesExcept(slice.getResult(), filled.getResult(0),
                                      filled);
        if (slice->use_empty())
          rewriter.eraseOp(slice);
      }
    output.set(fill.getDpsInits()[0]);
    if (fill->use_empty())
      rewriter.eraseOp(fill);
  }
}

static LogicalResult split(linalg::LinalgOp op, ArrayRef<int64_t> tile,
                           bool isOwn, RewriterBase &rewriter) {
  SmallVector<OpFoldResult> sizes;
  SmallVector<unsigned> loops;
  for (auto [loop, size] : llvm::enumerate(tile)) {
    sizes.push_back(rewriter.getIndexAttr(size));
    if (size)
      loops.push_back(loop);
  }
  scf::SCFTilingOptions options;
  options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  options.setReductionTilingStrategy(
      ReductionTilingStrategy::PartialReductionOuterParallel);
  options.setReductionDims(loops);
  options.setTileSizes(sizes);
  options.setMapping(mapToBlocks(rewriter.getContext(), loops.size()));
  SmallVector<TypedAttr> neutral;
  for (unsigned output = 0; output < op.getNumDpsInits(); ++output)
    neutral.push_back(*getNeutralElement(findCombiner(op, output)));
  rewriter.setInsertionPoint(op);
  FailureOr<scf::SCFTilingResult> result = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(op.getOperation()), options);
  if (failed(result))
    return op.emitOpError("cannot be cut into partial reductions");
  fillInBlocks(cast<scf::ForallOp>(result->loops.front().getOperation()),
               neutral, isOwn, rewriter);
  rewriter.replaceOp(op, result->replacements);
  return success();
}

namespace {
struct SplitReductions
    : public gpuasync::impl::GPUAsyncSplitReductionsBase<SplitReductions> {
  using Base::Base;

  void runOnOperation() override {
    Schedule schedule = Schedule::get(device);
    SmallVector<std::pair<linalg::LinalgOp, SmallVector<int64_t>>> found;
    SmallVector<std::pair<linalg::LinalgOp, int64_t>> products;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<scf::ForallOp, scf::ParallelOp>(op))
        return WalkResult::skip();
      auto structured = dyn_cast<linalg::LinalgOp>(op);
      if (!structured || !structured.hasPureTensorSemantics() ||
          op->hasAttr(kTileAttrName))
        return WalkResult::advance();
      if (canBeSplit(structured))
        if (SmallVector<int64_t> tile = schedule.chooseParts(structured);
            !tile.empty()) {
          found.emplace_back(structured, std::move(tile));
          return WalkResult::advance();
        }
      if (std::optional<unsigned> steps = findSteps(structured);
          steps && blas == BlasMode::Off)
        if (int64_t parts = schedule.chooseProductParts(structured, *steps);
            parts > 1)
          products.emplace_back(structured, parts);
      return WalkResult::advance();
    });
    IRRewriter rewriter(&getContext());
    for (auto &[op, tile] : found)
      if (failed(split(op, tile, schedule.threads == 1, rewriter)))
        return signalPassFailure();
    for (auto &[op, parts] : products)
      splitProduct(rewriter, op, parts);
  }
};
} // namespace
