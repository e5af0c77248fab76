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
#include "Destinations.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "KernelNames.h"
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

/// Whether the body asks for the number of the round of a reduction.
static bool asksForRound(linalg::LinalgOp op) {
  return op
      ->walk([&](linalg::IndexOp index) {
        return op.getIteratorTypesArray()[index.getDim()] ==
                       utils::IteratorType::reduction
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether partial results can be combined: each result by an op that takes
/// them in any order.
/// `windows`: inputs may be windows, of which only the loops that go over whole
/// pieces of them are cut.
static bool canBeSplit(linalg::LinalgOp op, bool windows) {
  // The parts of a result are computed in any order, and count from 0 each.
  if (!op.getNumReductionLoops() || asksForRound(op) ||
      getBodyEffects(op).writes)
    return false;
  // An input of one row or column, as a mean that keeps its dimension, is read
  // in the only place there is.
  for (OpOperand &operand : op->getOpOperands())
    if (!(windows && op.isDpsInput(&operand)) &&
        !op.getMatchingIndexingMap(&operand).isProjectedPermutation(
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
  const std::string name = "partial_" + nameKernel(op);
  rewriter.setInsertionPoint(op);
  FailureOr<scf::SCFTilingResult> result = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(op.getOperation()), options);
  if (failed(result))
    return op.emitOpError("cannot be cut into partial reductions");
  setKernelName(result->loops.front(), name);
  fillInBlocks(cast<scf::ForallOp>(result->loops.front().getOperation()),
               neutral, isOwn, rewriter);
  rewriter.replaceOp(op, result->replacements);
  return success();
}

/// Blocks choose of a part of the elements each, and what they have chosen is
/// chosen from in turn, in the parts' order. All begin with what the outputs
/// hold.
static LogicalResult splitChoice(linalg::LinalgOp op, ArrayRef<int64_t> tile,
                                 RewriterBase &rewriter) {
  Location loc = op.getLoc();
  // The outermost loop alone: elements of a part follow each other.
  const unsigned loop = std::distance(
      tile.begin(), llvm::find_if(tile, [](int64_t size) { return size; }));
  const int64_t size = op.getStaticLoopRanges()[loop], step = tile[loop];
  const int64_t parts = llvm::divideCeil(size, step);
  rewriter.setInsertionPoint(op);
  SmallVector<Value> memories;
  SmallVector<RankedTensorType> types;
  for (Value output : op.getDpsInits()) {
    types.push_back(cast<RankedTensorType>(output.getType()));
    SmallVector<int64_t> shape{parts};
    llvm::append_range(shape, types.back().getShape());
    memories.push_back(tensor::EmptyOp::create(rewriter, loc, shape,
                                               types.back().getElementType()));
  }
  auto forall = scf::ForallOp::create(
      rewriter, loc, ArrayRef<OpFoldResult>{rewriter.getIndexAttr(parts)},
      memories, rewriter.getArrayAttr(mapToBlocks(rewriter.getContext(), 1)));
  setKernelName(forall, "partial_" + nameKernel(op));
  rewriter.setInsertionPointToStart(forall.getBody());
  Value part = forall.getInductionVar(0);
  // A part's place in what all parts come to.
  auto getPlace = [&](RankedTensorType type) {
    SmallVector<OpFoldResult> offsets{part}, sizes{rewriter.getIndexAttr(1)};
    offsets.append(type.getRank(), rewriter.getIndexAttr(0));
    for (int64_t each : type.getShape())
      sizes.push_back(rewriter.getIndexAttr(each));
    SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
    return std::make_tuple(offsets, sizes, strides);
  };
  SmallVector<Value> begin;
  for (auto [output, memory, type] :
       llvm::zip_equal(op.getDpsInits(), forall.getRegionIterArgs(), types)) {
    auto [offsets, sizes, strides] = getPlace(type);
    Value place = tensor::ExtractSliceOp::create(rewriter, loc, type, memory,
                                                 offsets, sizes, strides);
    auto fill = output.getDefiningOp<linalg::FillOp>();
    begin.push_back(
        fill ? linalg::FillOp::create(rewriter, loc, fill.value(), place)
                   .getResult(0)
             : linalg::CopyOp::create(rewriter, loc, output, place)
                   .getResult(0));
  }
  // The op on a part of its elements.
  Value from = affine::AffineApplyOp::create(
      rewriter, loc, rewriter.getAffineDimExpr(0) * step, ValueRange{part});
  Value length =
      size % step
          ? affine::AffineMinOp::create(
                rewriter, loc,
                AffineMap::get(1, 0,
                               {rewriter.getAffineConstantExpr(step),
                                rewriter.getAffineConstantExpr(size) -
                                    rewriter.getAffineDimExpr(0)},
                               rewriter.getContext()),
                ValueRange{from})
                .getResult()
          : arith::ConstantIndexOp::create(rewriter, loc, step).getResult();
  SmallVector<OpFoldResult> offsets(tile.size(), rewriter.getIndexAttr(0)),
      sizes;
  for (int64_t each : op.getStaticLoopRanges())
    sizes.push_back(rewriter.getIndexAttr(each));
  offsets[loop] = from;
  sizes[loop] = getAsOpFoldResult(length);
  FailureOr<TilingResult> tiled =
      cast<TilingInterface>(op.getOperation())
          .getTiledImplementation(rewriter, offsets, sizes);
  if (failed(tiled))
    return op.emitOpError("cannot be cut into parts to choose from");
  auto chosen = cast<linalg::LinalgOp>(tiled->tiledOps.front());
  rewriter.modifyOpInPlace(chosen, [&] {
    for (auto [init, value] :
         llvm::zip_equal(chosen.getDpsInitsMutable(), begin))
      init.set(value);
  });
  for (Operation *slice : tiled->generatedSlices)
    if (slice->use_empty())
      rewriter.eraseOp(slice);
  rewriter.setInsertionPointToStart(forall.getTerminator().getBody());
  for (auto [result, memory, type] : llvm::zip_equal(
           chosen->getResults(), forall.getRegionIterArgs(), types)) {
    auto [offsets, sizes, strides] = getPlace(type);
    tensor::ParallelInsertSliceOp::create(rewriter, loc, result, memory,
                                          offsets, sizes, strides);
  }
  // The parts are the one reduction loop of what they come to, and the first.
  rewriter.setInsertionPoint(op);
  const Combination combination = *Combination::match(op);
  const unsigned rank = types.front().getRank();
  AffineMap all = rewriter.getMultiDimIdentityMap(rank + 1);
  SmallVector<AffineMap> maps(types.size(), all);
  maps.append(types.size(), all.dropResult(0));
  SmallVector<utils::IteratorType> kinds{utils::IteratorType::reduction};
  kinds.append(rank, utils::IteratorType::parallel);
  rewriter.replaceOpWithNewOp<linalg::GenericOp>(
      op, TypeRange(op->getResultTypes()), forall.getResults(),
      op.getDpsInits(), maps, kinds,
      [&](OpBuilder &b, Location loc, ValueRange values) {
        linalg::YieldOp::create(
            b, loc,
            combination.combine(b, values.drop_front(types.size()),
                                values.take_front(types.size())));
      });
  return success();
}

/// Whether what blocks choose of parts can be chosen from.
static bool canBeSplitChoice(linalg::LinalgOp op) {
  if (!op.getNumReductionLoops() || getBodyEffects(op).writes)
    return false;
  for (OpOperand &operand : op->getOpOperands())
    if (!isa<RankedTensorType>(operand.get().getType()) ||
        !op.getMatchingIndexingMap(&operand).isProjectedPermutation(
            /*allowZeroInResults=*/op.isDpsInput(&operand)))
      return false;
  // Outputs that are chosen together have the same places, in the order of the
  // loops.
  SmallVector<unsigned> loops;
  op.getParallelDims(loops);
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    if (map.getNumResults() != loops.size())
      return false;
    for (auto [result, loop] : llvm::zip_equal(map.getResults(), loops))
      if (!result.isFunctionOfDim(loop))
        return false;
  }
  std::optional<Combination> combination = Combination::match(op);
  return combination && combination->isInOrder();
}

namespace {
struct SplitReductions
    : public gpuasync::impl::GPUAsyncSplitReductionsBase<SplitReductions> {
  using Base::Base;

  void runOnOperation() override {
    splitDestinations(getOperation());
    Schedule schedule = Schedule::get(device);
    SmallVector<std::pair<linalg::LinalgOp, SmallVector<int64_t>>> found,
        choices;
    SmallVector<std::pair<linalg::LinalgOp, int64_t>> products;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<scf::ForallOp, scf::ParallelOp>(op))
        return WalkResult::skip();
      auto structured = dyn_cast<linalg::LinalgOp>(op);
      if (!structured || !structured.hasPureTensorSemantics() ||
          op->hasAttr(kTileAttrName))
        return WalkResult::advance();
      if (canBeSplit(structured, /*windows=*/device != OffloadDevice::CPU))
        if (SmallVector<int64_t> tile = schedule.chooseParts(structured);
            !tile.empty()) {
          found.emplace_back(structured, std::move(tile));
          return WalkResult::advance();
        }
      if (canBeSplitChoice(structured))
        if (SmallVector<int64_t> tile =
                schedule.chooseParts(structured, /*isInOrder=*/true);
            !tile.empty()) {
          choices.emplace_back(structured, std::move(tile));
          return WalkResult::advance();
        }
      if (std::optional<unsigned> steps = findSteps(structured);
          steps && blas == BlasMode::Off)
        if (int64_t parts = schedule.chooseProductParts(structured, *steps);
            parts > 1)
          products.emplace_back(structured, parts);
      return WalkResult::advance();
    });
    for (linalg::LinalgOp op : llvm::concat<linalg::LinalgOp>(
             llvm::make_first_range(found), llvm::make_first_range(choices)))
      Decision(*this, op, "SplitReduction")
          .count(numReductions, "split-reductions");
    for (linalg::LinalgOp op : llvm::make_first_range(products))
      Decision(*this, op, "SplitProduct").count(numProducts, "split-products");
    IRRewriter rewriter(&getContext());
    for (auto &[op, tile] : found)
      if (failed(split(op, tile, schedule.threads == 1, rewriter)))
        return signalPassFailure();
    for (auto &[op, tile] : choices)
      if (failed(splitChoice(op, tile, rewriter)))
        return signalPassFailure();
    for (auto &[op, parts] : products)
      splitProduct(rewriter, op, parts);
  }
};
} // namespace
