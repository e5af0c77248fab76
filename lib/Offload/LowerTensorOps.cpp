//===- LowerTensorOps.cpp - tensor ops before anything is folded ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's canonicalization, bufferization and tiling each take for granted
// something that valid programs do not keep to. What they would get wrong is
// made of simpler ops first.
//===----------------------------------------------------------------------===//

#include "BodyEffects.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "OutputMaps.h"
#include "SharedOutputs.h"
#include "Slices.h"
#include "Snapshots.h"
#include "Tile.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCLOWERTENSOROPS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// A place of the result is one of the coordinates', then one of the source's
/// without the dimensions that these say.
static void generateGathered(tensor::GatherOp gather, IRRewriter &rewriter) {
  Location loc = gather.getLoc();
  RankedTensorType type = gather.getResultType();
  const int64_t batch = gather.getIndicesType().getRank() - 1;
  const bool isReduced =
      type.getRank() < batch + gather.getSourceType().getRank();
  llvm::SmallDenseSet<int64_t> gathered(gather.getGatherDims().begin(),
                                        gather.getGatherDims().end());
  // The source's dimension of each of the result's behind the batch.
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < gather.getSourceType().getRank(); ++dim)
    if (!isReduced || !gathered.contains(dim))
      dims.push_back(dim);
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(
          dim < batch
              ? tensor::DimOp::create(rewriter, loc, gather.getIndices(), dim)
              : tensor::DimOp::create(rewriter, loc, gather.getSource(),
                                      dims[dim - batch]));
  rewriter.replaceOpWithNewOp<tensor::GenerateOp>(
      gather, type, sizes,
      [&](OpBuilder &builder, Location loc, ValueRange indices) {
        SmallVector<Value> place(gather.getSourceType().getRank());
        for (auto [dim, index] : llvm::zip(dims, indices.drop_front(batch)))
          place[dim] = index;
        SmallVector<Value> at(indices.take_front(batch));
        for (auto [number, dim] : llvm::enumerate(gather.getGatherDims())) {
          at.push_back(arith::ConstantIndexOp::create(builder, loc, number));
          Value index =
              tensor::ExtractOp::create(builder, loc, gather.getIndices(), at);
          if (!index.getType().isIndex())
            index = arith::IndexCastOp::create(builder, loc,
                                               builder.getIndexType(), index);
          place[dim] = index;
          at.pop_back();
        }
        tensor::YieldOp::create(
            builder, loc,
            tensor::ExtractOp::create(builder, loc, gather.getSource(), place)
                .getResult());
      });
}

/// A pad of no elements is what is around in all places. Upstream refuses
/// slices of tensors without elements.
static tensor::GenerateOp generateAround(tensor::PadOp pad,
                                         RewriterBase &rewriter) {
  Location loc = pad.getLoc();
  rewriter.setInsertionPoint(pad);
  auto value = [&](OpFoldResult amount) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, amount);
  };
  SmallVector<Value> sizes;
  for (auto [size, low, high, length] :
       llvm::zip_equal(tensor::getMixedSizes(rewriter, loc, pad.getSource()),
                       pad.getMixedLowPad(), pad.getMixedHighPad(),
                       pad.getResultType().getShape())) {
    if (!ShapedType::isDynamic(length))
      continue;
    Value sum =
        rewriter.createOrFold<arith::AddIOp>(loc, value(size), value(low));
    sizes.push_back(
        rewriter.createOrFold<arith::AddIOp>(loc, sum, value(high)));
  }
  auto generate =
      tensor::GenerateOp::create(rewriter, loc, pad.getResultType(), sizes);
  generate.getRegion().takeBody(pad.getRegion());
  rewriter.replaceOp(pad, generate);
  return generate;
}

/// Negative amounts take elements away: place `i` of the result has element
/// `i - low` of the source if there is one, else what is around. The pad
/// becomes one of a slice, whose amounts are none or more, or a tensor.generate
/// if no element of the source is left.
static Operation *cropPad(tensor::PadOp pad, RewriterBase &rewriter) {
  Location loc = pad.getLoc();
  rewriter.setInsertionPoint(pad);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  auto value = [&](OpFoldResult amount) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, amount);
  };
  auto add = [&](Value x, Value y) {
    return rewriter.createOrFold<arith::AddIOp>(loc, x, y);
  };
  auto subtract = [&](Value x, Value y) {
    return rewriter.createOrFold<arith::SubIOp>(loc, x, y);
  };
  auto most = [&](Value x, Value y) {
    return rewriter.createOrFold<arith::MaxSIOp>(loc, x, y);
  };
  auto least = [&](Value x, Value y) {
    return rewriter.createOrFold<arith::MinSIOp>(loc, x, y);
  };
  SmallVector<OpFoldResult> offsets, lengths, low, high;
  for (auto [size, below, above] :
       llvm::zip_equal(tensor::getMixedSizes(rewriter, loc, pad.getSource()),
                       pad.getMixedLowPad(), pad.getMixedHighPad())) {
    Value all = value(size), before = value(below), behind = value(above);
    Value whole = add(add(all, before), behind);
    Value begin = most(subtract(zero, before), zero);
    Value cut = most(subtract(zero, behind), zero);
    Value length = most(subtract(subtract(all, begin), cut), zero);
    // A slice of no elements begins within the source, too.
    begin = least(begin, most(subtract(all, one), zero));
    // Where all of the source is cut away, the rest is around it.
    Value first = least(most(before, zero), whole);
    offsets.push_back(getAsOpFoldResult(begin));
    lengths.push_back(getAsOpFoldResult(length));
    low.push_back(getAsOpFoldResult(first));
    high.push_back(getAsOpFoldResult(subtract(subtract(whole, first), length)));
  }
  if (llvm::is_contained(lengths, OpFoldResult(rewriter.getIndexAttr(0))))
    return generateAround(pad, rewriter);
  SmallVector<OpFoldResult> ones(offsets.size(), rewriter.getIndexAttr(1));
  auto slice = tensor::ExtractSliceOp::create(rewriter, loc, pad.getSource(),
                                              offsets, lengths, ones);
  RankedTensorType type = pad.getResultType();
  auto getStatic = [](ArrayRef<OpFoldResult> amounts) {
    return decomposeMixedValues(amounts).first;
  };
  RankedTensorType inferred = tensor::PadOp::inferResultType(
      slice.getType(), getStatic(low), getStatic(high), type.getShape());
  auto padded = tensor::PadOp::create(rewriter, loc, inferred, slice, low, high,
                                      pad.getNofold());
  padded.getRegion().takeBody(pad.getRegion());
  Value result = padded;
  if (inferred != type)
    result = tensor::CastOp::create(rewriter, loc, type, result);
  rewriter.replaceOp(pad, result);
  return padded;
}

/// Computes it where it is, if its region touches memory or asserts. To
/// upstream a pad does nothing but compute, and an element of a tensor.generate
/// is computed where it is extracted, be it behind a write to what the region
/// reads.
static LogicalResult keepInPlace(Operation *op, RewriterBase &rewriter) {
  if (!getBodyEffects(op).any())
    return success();
  rewriter.setInsertionPoint(op);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return linalg::rewriteInDestinationPassingStyle(rewriter, pad);
  return linalg::rewriteInDestinationPassingStyle(rewriter,
                                                  cast<tensor::GenerateOp>(op));
}

/// Whether elements are taken away, as far as is known.
static bool mayCrop(tensor::PadOp pad) {
  auto mayBeNegative = [](OpFoldResult amount) {
    std::optional<int64_t> known = getConstantIntValue(amount);
    return !known || *known < 0;
  };
  return llvm::any_of(pad.getMixedLowPad(), mayBeNegative) ||
         llvm::any_of(pad.getMixedHighPad(), mayBeNegative);
}

/// A dimension from which more is taken than there is.
static LogicalResult verifyPad(tensor::PadOp pad) {
  for (auto [dim, size, below, above] :
       llvm::enumerate(pad.getSourceType().getShape(), pad.getMixedLowPad(),
                       pad.getMixedHighPad())) {
    std::optional<int64_t> low = getConstantIntValue(below),
                           high = getConstantIntValue(above);
    if (!ShapedType::isDynamic(size) && low && high && size + *low + *high < 0)
      return pad.emitOpError()
             << "takes " << -(*low + *high) << " elements away from dimension "
             << dim << ", which has " << size
             << ": take away no more than there is";
  }
  return success();
}

/// Whether the op becomes loops. A reduction's sums are in registers otherwise,
/// where a body that reads them from memory does not find them.
static bool needsLoops(linalg::LinalgOp op) {
  return !writesWholeOutputs(op) ||
         (op.hasPureBufferSemantics() && op.getNumReductionLoops() &&
          getBodyEffects(op).touchMemory());
}

namespace {
/// Whether an op is gone.
struct ErasureListener : public RewriterBase::Listener {
  void notifyOperationErased(Operation *) override { hasErased = true; }
  bool hasErased = false;
};

struct LowerTensorOps
    : public gpuasync::impl::GPUAsyncLowerTensorOpsBase<LowerTensorOps> {
  void runOnOperation() override;

private:
  LogicalResult lower(Operation *op, IRRewriter &rewriter);
};
} // namespace

LogicalResult LowerTensorOps::lower(Operation *op, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  // Of a single tile upstream makes one slice, of wrong sizes if there are
  // dimensions without tiles.
  constexpr bool byOneSlice = false;
  if (auto pack = dyn_cast<linalg::PackOp>(op)) {
    if (failed(linalg::lowerPack(rewriter, pack, byOneSlice)))
      return op->emitError("cannot be made of a pad and a transposition: "
                           "give it tiles of constant sizes");
  } else if (auto unpack = dyn_cast<linalg::UnPackOp>(op)) {
    if (failed(linalg::lowerUnPack(rewriter, unpack, byOneSlice)))
      return op->emitError("cannot be made of a transposition and a slice: "
                           "give it tiles of constant sizes");
  } else if (auto gather = dyn_cast<tensor::GatherOp>(op)) {
    generateGathered(gather, rewriter);
  } else if (auto cast = dyn_cast<tensor::BitcastOp>(op)) {
    auto isPlain = [](Value value) {
      Type element = getElementTypeOrSelf(value.getType());
      return element.isSignlessInteger() || isa<FloatType>(element);
    };
    if (isPlain(cast.getSource()) && isPlain(cast.getResult()))
      rewriter.replaceOpWithNewOp<arith::BitcastOp>(cast, cast.getType(),
                                                    cast.getSource());
  } else if (isAmbiguousSlice(op)) {
    sliceAllDimensions(op, rewriter);
  } else if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    if (failed(verifyPad(pad)))
      return failure();
    Operation *now = pad;
    if (llvm::is_contained(pad.getSourceType().getShape(), 0))
      now = generateAround(pad, rewriter);
    else if (mayCrop(pad))
      now = cropPad(pad, rewriter);
    return keepInPlace(now, rewriter);
  } else if (auto reduce = dyn_cast<scf::ReduceOp>(op)) {
    if (llvm::any_of(reduce.getOperandTypes(), llvm::IsaPred<TensorType>))
      return op->emitError("reduces tensors: use linalg.reduce, or an scf.for "
                           "that carries the tensor");
  } else if (isa<tensor::GenerateOp>(op)) {
    return keepInPlace(op, rewriter);
  } else if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    if (!dropWithoutIterations(rewriter, structured) && needsLoops(structured))
      makeIterationLoops(rewriter, structured);
  }
  return success();
}

/// A body computes an element in a thread: ops for which threads are made have
/// no place there.
static LogicalResult refuseWorkInBodies(func::FuncOp function) {
  WalkResult walk = function.walk([](Operation *op) {
    Operation *body = op->getParentOp();
    while (body && !isa<linalg::LinalgOp, tensor::GenerateOp, tensor::PadOp,
                        scf::ForallOp, scf::ParallelOp>(body))
      body = body->getParentOp();
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    bool isWork =
        (structured && structured.getNumLoops() != 0) ||
        isa<tensor::GenerateOp, tensor::PadOp, scf::ForallOp, scf::ParallelOp>(
            op) ||
        (OpTrait::hasElementwiseMappableTraits(op) &&
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>));
    if (!isWork || !body || isa<scf::ForallOp, scf::ParallelOp>(body))
      return WalkResult::advance();
    InFlightDiagnostic text =
        op->emitError() << "computes a tensor or memref in the body of "
                        << body->getName()
                        << ", which is a thread's for one element: compute it "
                           "in front of that op, or use scf.forall for it";
    return WalkResult(failure());
  });
  return failure(walk.wasInterrupted());
}

void LowerTensorOps::runOnOperation() {
  if (failed(verifyTiles(getOperation())))
    return signalPassFailure();
  getOperation()->walk([](scf::ForallOp loop) { readBeforeLoop(loop); });
  SmallVector<Operation *> ops;
  getOperation()->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    ErasureListener listener;
    IRRewriter rewriter(&getContext(), &listener);
    Location loc = op->getLoc();
    if (failed(lower(op, rewriter)))
      return signalPassFailure();
    if (listener.hasErased)
      Decision(*this, getOperation(), loc, "LoweredOp")
          .count(numLowered, "lowered-ops");
  }
  if (failed(refuseWorkInBodies(getOperation())))
    return signalPassFailure();
  takeSnapshots(getOperation().getFunctionBody());
}
