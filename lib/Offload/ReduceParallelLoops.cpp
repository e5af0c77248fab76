//===- ReduceParallelLoops.cpp - values that parallel loops reduce --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iterations of a kernel hand nothing to each other: each writes its value to
// memory, and a linalg op reduces what is there. Within another parallel loop,
// whose iterations are threads, they go one after the other.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCREDUCEPARALLELLOOPS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

/// Whether kernels can reduce what the loop reduces: numbers, by code that does
/// nothing else.
static bool isWanted(scf::ParallelOp loop) {
  if (!loop.getNumResults() || loop->getParentOfType<gpu::LaunchOp>() ||
      !llvm::all_of(loop.getResultTypes(), [](Type type) {
        return type.isIntOrIndexOrFloat() || isa<ComplexType>(type);
      }))
    return false;
  auto reduce = cast<scf::ReduceOp>(loop.getBody()->getTerminator());
  return llvm::all_of(reduce.getReductions(), [](Region &combiner) {
    return llvm::all_of(combiner.front(), [](Operation &op) {
      return isMemoryEffectFree(&op) || op.hasTrait<OpTrait::IsTerminator>();
    });
  });
}

static bool isInThread(scf::ParallelOp loop) {
  return loop->getParentOfType<scf::ParallelOp>() ||
         loop->getParentOfType<scf::ForallOp>();
}

/// What a combiner makes of two values.
static Value combine(OpBuilder &b, Block &combiner, Value before, Value value) {
  IRMapping map;
  map.map(combiner.getArguments(), ValueRange{before, value});
  for (Operation &op : combiner.without_terminator())
    b.clone(op, map);
  return map.lookupOrDefault(combiner.getTerminator()->getOperand(0));
}

/// One result: what the iterations have written, reduced.
static Value reduce(OpBuilder &b, Location loc, Value buffer, Value init,
                    Block &combiner) {
  auto type = cast<MemRefType>(buffer.getType());
  Value values = bufferization::ToTensorOp::create(
      b, loc, RankedTensorType::get(type.getShape(), type.getElementType()),
      buffer,
      /*restrict=*/true);
  Value start = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>(),
                                        type.getElementType());
  start = linalg::FillOp::create(b, loc, init, start).getResult(0);
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  AffineMap none = AffineMap::get(type.getRank(), 0, b.getContext());
  SmallVector<utils::IteratorType> kinds(type.getRank(),
                                         utils::IteratorType::reduction);
  auto reduced = linalg::GenericOp::create(
      b, loc, start.getType(), values, start, ArrayRef({all, none}), kinds,
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        linalg::YieldOp::create(
            b, loc, combine(b, combiner, arguments[1], arguments[0]));
      });
  return tensor::ExtractOp::create(b, loc, reduced.getResult(0), ValueRange());
}

static void reduceByBuffers(scf::ParallelOp loop, IRRewriter &rewriter) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  AffineExpr low, high, step;
  bindSymbols(rewriter.getContext(), low, high, step);
  SmallVector<OpFoldResult> counts;
  for (auto [from, to, by] :
       llvm::zip(loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
    OpFoldResult count = affine::makeComposedFoldedAffineApply(
        rewriter, loc, (high - low).ceilDiv(step),
        getAsOpFoldResult(ValueRange{from, to, by}));
    // A loop may have no iterations.
    counts.push_back(affine::makeComposedFoldedAffineMax(
        rewriter, loc,
        AffineMap::get(0, 1,
                       {rewriter.getAffineSymbolExpr(0),
                        rewriter.getAffineConstantExpr(0)},
                       rewriter.getContext()),
        count));
  }
  SmallVector<int64_t> shape;
  SmallVector<Value> open;
  dispatchIndexOpFoldResults(counts, open, shape);
  SmallVector<Value> buffers;
  for (Type type : loop.getResultTypes())
    buffers.push_back(memref::AllocOp::create(
        rewriter, loc, MemRefType::get(shape, type), open));

  auto writes = scf::ParallelOp::create(rewriter, loc, loop.getLowerBound(),
                                        loop.getUpperBound(), loop.getStep());
  auto reduction = cast<scf::ReduceOp>(loop.getBody()->getTerminator());
  rewriter.eraseOp(writes.getBody()->getTerminator());
  rewriter.mergeBlocks(loop.getBody(), writes.getBody(),
                       writes.getInductionVars());
  rewriter.setInsertionPoint(reduction);
  SmallVector<Value> place;
  for (auto [iteration, from, by] : llvm::zip(
           writes.getInductionVars(), loop.getLowerBound(), loop.getStep()))
    place.push_back(arith::DivUIOp::create(
        rewriter, loc, arith::SubIOp::create(rewriter, loc, iteration, from),
        by));
  for (auto [value, buffer] : llvm::zip(reduction.getOperands(), buffers))
    memref::StoreOp::create(rewriter, loc, value, buffer, place);
  scf::ReduceOp::create(rewriter, loc);

  rewriter.setInsertionPointAfter(writes);
  SmallVector<Value> results;
  for (auto [buffer, init, combiner] :
       llvm::zip(buffers, loop.getInitVals(), reduction.getReductions()))
    results.push_back(reduce(rewriter, loc, buffer, init, combiner.front()));
  rewriter.eraseOp(reduction);
  rewriter.replaceOp(loop, results);
}

static void reduceInThread(scf::ParallelOp loop, IRRewriter &rewriter) {
  auto reduction = cast<scf::ReduceOp>(loop.getBody()->getTerminator());
  rewriter.setInsertionPoint(loop);
  scf::LoopNest nest = scf::buildLoopNest(
      rewriter, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
      loop.getStep(), loop.getInitVals(),
      [&](OpBuilder &b, Location, ValueRange iteration, ValueRange before) {
        IRMapping map;
        map.map(loop.getInductionVars(), iteration);
        for (Operation &op : loop.getBody()->without_terminator())
          b.clone(op, map);
        SmallVector<Value> results;
        for (auto [value, sum, combiner] : llvm::zip(
                 reduction.getOperands(), before, reduction.getReductions()))
          results.push_back(
              combine(b, combiner.front(), sum, map.lookupOrDefault(value)));
        return results;
      });
  rewriter.replaceOp(loop, nest.results);
}

namespace {
struct ReduceParallelLoops
    : public gpuasync::impl::GPUAsyncReduceParallelLoopsBase<
          ReduceParallelLoops> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<scf::ParallelOp> loops;
    getOperation()->walk([&](scf::ParallelOp loop) {
      if (isWanted(loop))
        loops.push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    // Inner ones come first.
    for (scf::ParallelOp loop : loops) {
      bool inThread = isInThread(loop);
      if (inThread)
        Decision(*this, loop, "ReducedInThread")
            .count(numInThread, "in-threads");
      else
        Decision(*this, loop, "ReducedByBuffers")
            .count(numByBuffers, "by-buffers");
      inThread ? reduceInThread(loop, rewriter)
               : reduceByBuffers(loop, rewriter);
    }
  }
};
} // namespace
