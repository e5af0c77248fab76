//===- LaunchTiles.cpp - blocks and threads of parallel loops -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scf.forall and scf.parallel on memrefs become launches. Grids have one
// dimension, whose number is taken apart: its length is not limited as that of
// others is, and neither need sizes be known nor be multiples of anything.
//===----------------------------------------------------------------------===//

#include "BodyEffects.h"
#include "Contraction.h"
#include "Distribute.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "KernelNames.h"
#include "OwnMemory.h"
#include "RoundMemory.h"
#include "SameMemory.h"
#include "Schedule.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCLAUNCHTILES
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

namespace {
struct LaunchTiles
    : public gpuasync::impl::GPUAsyncLaunchTilesBase<LaunchTiles> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult launch(LoopLikeOpInterface loop);
  LogicalResult writeBlock(gpu::LaunchOp launch, Value iterations,
                           bool isThread);
  LogicalResult makeInnerLoops(gpu::LaunchOp launch, bool isShared,
                               SmallVectorImpl<Operation *> &ofThreads);
};
} // namespace

/// Whether the iterations are single elements rather than tiles.
static bool isOfElements(LoopLikeOpInterface loop) {
  return isa<scf::ParallelOp>(loop) ||
         !loop->walk([](Operation *op) {
                return isa<linalg::LinalgOp, memref::CopyOp, memref::AllocOp>(
                           op)
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

namespace {
/// The iterations of a parallel loop, counted from 0.
struct Bounds {
  Bounds(OpBuilder &builder, LoopLikeOpInterface loop) : loc(loop.getLoc()) {
    auto get = [&](OpFoldResult value) {
      return getValueOrCreateConstantIndexOp(builder, loc, value);
    };
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    total = arith::ConstantIndexOp::create(builder, loc, 1);
    for (auto [from, to, by] :
         llvm::zip(*loop.getLoopLowerBounds(), *loop.getLoopUpperBounds(),
                   *loop.getLoopSteps())) {
      lower.push_back(get(from));
      steps.push_back(get(by));
      // None where the bounds are the wrong way round.
      Value length = builder.createOrFold<arith::MaxSIOp>(
          loc, builder.createOrFold<arith::SubIOp>(loc, get(to), lower.back()),
          zero);
      counts.push_back(
          builder.createOrFold<arith::CeilDivUIOp>(loc, length, steps.back()));
      total = builder.createOrFold<arith::MulIOp>(loc, total, counts.back());
    }
  }
  /// The loop's induction variables in iteration `number`.
  SmallVector<Value> getIndices(OpBuilder &builder, Value number) const {
    SmallVector<Value> indices = delinearize(builder, loc, number, counts);
    for (auto [index, from, step] : llvm::zip(indices, lower, steps))
      index = arith::AddIOp::create(
          builder, loc, arith::MulIOp::create(builder, loc, index, step), from);
    return indices;
  }

  Location loc;
  SmallVector<Value> lower, steps, counts;
  Value total;
};
} // namespace

LogicalResult LaunchTiles::launch(LoopLikeOpInterface loop) {
  if (loop->getNumResults())
    return loop->emitError("computes tensors, and launches are made of loops "
                           "on memrefs: bufferize it first");
  Schedule schedule = Schedule::get(device);
  IRRewriter rewriter(loop);
  Location loc = loop.getLoc();
  bool isThread = isOfElements(loop);
  Bounds bounds(rewriter, loop);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  // On a CPU the threads of a block are a loop, as long as these are.
  // Elements that take longer are worth a block of fewer.
  const bool isLong = isThread && schedule.threads == 1 &&
                      loop->walk([&](LoopLikeOpInterface inner) {
                            return inner == loop ? WalkResult::advance()
                                                 : WalkResult::interrupt();
                          })
                          .wasInterrupted();
  int64_t threads = isLong ? 64 : isThread ? 256 : schedule.threads;
  Value threadCount = arith::ConstantIndexOp::create(rewriter, loc, threads);
  Value blocks =
      isThread
          ? arith::CeilDivUIOp::create(rewriter, loc, bounds.total, threadCount)
          : bounds.total;
  auto launch = gpu::LaunchOp::create(rewriter, loc, blocks, one, one,
                                      threadCount, one, one);
  if (StringRef name = getKernelName(loop); !name.empty())
    launch.setFunctionAttr(FlatSymbolRefAttr::get(&getContext(), name));
  rewriter.setInsertionPointToStart(&launch.getBody().front());
  Value number = launch.getBlockIds().x;
  Operation *end = gpu::TerminatorOp::create(rewriter, loc);
  rewriter.setInsertionPoint(end);
  if (isThread) {
    number = arith::AddIOp::create(
        rewriter, loc,
        arith::MulIOp::create(rewriter, loc, number, threadCount),
        launch.getThreadIds().x);
    auto isThere = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::ult, number, bounds.total);
    auto branch = scf::IfOp::create(rewriter, loc, isThere);
    rewriter.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  SmallVector<Value> indices = bounds.getIndices(rewriter, number);
  Block *body = &loop.getLoopRegions().front()->front();
  rewriter.eraseOp(body->getTerminator());
  rewriter.inlineBlockBefore(body, rewriter.getInsertionBlock(),
                             rewriter.getInsertionPoint(), indices);
  rewriter.eraseOp(loop);
  if (failed(separateRounds(launch)))
    return failure();
  return writeBlock(launch, bounds.total, isThread);
}

/// Parallel loops in a block. Tiles come one after the other, and the threads
/// share what is in each; single elements go to the threads in turn, with a
/// barrier behind: these loops are put into `ofThreads`.
LogicalResult
LaunchTiles::makeInnerLoops(gpu::LaunchOp launch, bool isShared,
                            SmallVectorImpl<Operation *> &ofThreads) {
  IRRewriter rewriter(&getContext());
  int64_t threads = isShared ? Schedule::get(device).threads : 1;
  SmallVector<LoopLikeOpInterface> inner;
  launch.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<scf::ForallOp, scf::ParallelOp>(op))
      inner.push_back(cast<LoopLikeOpInterface>(op));
  });
  for (LoopLikeOpInterface loop : inner) {
    if (loop->getNumResults())
      return loop->emitError("reduces values in a kernel, which is not "
                             "supported: use scf.for with iter_args");
    Location loc = loop.getLoc();
    rewriter.setInsertionPoint(loop);
    bool isOfThreads = isShared && isOfElements(loop) &&
                       llvm::none_of(ofThreads, [&](Operation *outer) {
                         return outer->isProperAncestor(loop);
                       });
    Bounds bounds(rewriter, loop);
    Value first =
        isOfThreads
            ? launch.getThreadIds().x
            : arith::ConstantIndexOp::create(rewriter, loc, 0).getResult();
    Value step = arith::ConstantIndexOp::create(rewriter, loc,
                                                isOfThreads ? threads : 1);
    auto turns = scf::ForOp::create(rewriter, loc, first, bounds.total, step);
    if (isOfThreads) {
      ofThreads.push_back(turns);
      gpu::BarrierOp::create(rewriter, loc);
    }
    rewriter.setInsertionPoint(turns.getBody()->getTerminator());
    SmallVector<Value> indices =
        bounds.getIndices(rewriter, turns.getInductionVar());
    Block *body = &loop.getLoopRegions().front()->front();
    rewriter.eraseOp(body->getTerminator());
    rewriter.inlineBlockBefore(body, turns.getBody()->getTerminator(), indices);
    rewriter.eraseOp(loop);
  }
  return success();
}

/// Whether a thread does it by itself: in a loop of the threads', or in the
/// body of a linalg op, which is of one element.
static bool isOfOneThread(Operation *op, ArrayRef<Operation *> ofThreads) {
  return op->getParentOfType<linalg::LinalgOp>() ||
         llvm::any_of(ofThreads, [&](Operation *loop) {
           return loop->isProperAncestor(op);
         });
}

/// Whether an op that is no linalg op does what all threads together do once,
/// such as a write or a call. An assertion each of them may make, and barriers
/// are for all.
static bool isForOneThread(Operation *op) {
  return !isa<linalg::LinalgOp, gpu::BarrierOp, memref::DeallocOp>(op) &&
         getOwnEffects(op).writes;
}

/// One thread does it, when all have read what was there. The others get what
/// it gives, such as the value before an atomic, behind the barrier.
static void doOnce(Operation *op, gpu::BarrierOp barrier, gpu::LaunchOp launch,
                   IRRewriter &rewriter) {
  Location loc = op->getLoc();
  rewriter.setInsertionPoint(op);
  gpu::BarrierOp::create(rewriter, loc);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  auto isFirst = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                       launch.getThreadIds().x, zero);
  auto branch = scf::IfOp::create(rewriter, loc, isFirst);
  rewriter.moveOpBefore(op, branch.thenBlock()->getTerminator());
  auto workgroup = gpu::AddressSpaceAttr::get(op->getContext(),
                                              gpu::AddressSpace::Workgroup);
  for (Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    Value memory = launch.addWorkgroupAttribution(
        MemRefType::get({1}, result.getType(), MemRefLayoutAttrInterface(),
                        workgroup),
        loc);
    rewriter.setInsertionPointAfter(barrier);
    Value known = memref::LoadOp::create(rewriter, loc, memory, zero);
    rewriter.replaceAllUsesWith(result, known);
    rewriter.setInsertionPointAfter(op);
    memref::StoreOp::create(rewriter, loc, result, memory, zero);
  }
}

/// Whether all that a fill writes is what the next writer adds to, and nothing
/// else looks at it in between: a product of more results than `threads` may
/// share by reducing them together.
static bool beginsProduct(Operation *op, Operation *next, int64_t threads) {
  auto fill = dyn_cast<linalg::FillOp>(op);
  auto product = dyn_cast_or_null<linalg::LinalgOp>(next);
  if (!fill || !product || fill->getBlock() != product->getBlock() ||
      product.getNumDpsInits() != 1 || !isContraction(product) ||
      product.getDpsInits()[0] != fill.getDpsInits()[0])
    return false;
  for (Operation *other = op->getNextNode(); other != next;
       other = other->getNextNode())
    if (!isMemoryEffectFree(other))
      return false;
  SmallVector<unsigned> loops;
  product.getParallelDims(loops);
  double results = 1;
  for (unsigned loop : loops)
    results *= findMostRounds(product, loop).value_or(1);
  OpOperand *output = product.getDpsInitOperand(0);
  return results >= threads &&
         product.getMatchingIndexingMap(output).isProjectedPermutation() &&
         llvm::none_of(product.getDpsInputs(), [&](Value input) {
           return mayBeSame(getViewed(input), getViewed(output->get()));
         });
}

/// The body of a block's or a thread's tile, of so many: loops of its linalg
/// ops.
LogicalResult LaunchTiles::writeBlock(gpu::LaunchOp launch, Value iterations,
                                      bool isThread) {
  Schedule schedule = Schedule::get(device);
  bool isShared = !isThread && schedule.threads > 1;
  IRRewriter rewriter(&getContext());
  SmallVector<Operation *> ofThreads;
  if (failed(makeInnerLoops(launch, isShared, ofThreads)))
    return failure();
  SmallVector<Operation *> memoryOfThreads;
  if (isShared) {
    // Elements of a thread come one after the other and use the same memory.
    SmallVector<Operation *> allocs =
        llvm::filter_to_vector(findAllocations(launch), [&](Operation *op) {
          return isOfOneThread(op, ofThreads);
        });
    rewriter.setInsertionPoint(launch);
    Value all = rewriter.createOrFold<arith::MulIOp>(
        launch.getLoc(), iterations, launch.getBlockSizeX());
    if (failed(keepOwn(launch, allocs, Owner::Thread, all, schedule.memory,
                       memoryOfThreads)))
      return failure();
  }
  auto keepRest = [&] {
    SmallVector<Operation *> allocs =
        llvm::filter_to_vector(findAllocations(launch), [&](Operation *op) {
          return !llvm::is_contained(memoryOfThreads, op);
        });
    return keepOwn(launch, allocs, isShared ? Owner::Block : Owner::Thread,
                   iterations, schedule.memory, memoryOfThreads);
  };
  SmallVector<memref::CopyOp> copies;
  launch.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  for (memref::CopyOp copy : copies) {
    rewriter.setInsertionPoint(copy);
    linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(),
                             copy.getTarget());
    rewriter.eraseOp(copy);
  }
  SmallVector<Operation *> writers;
  launch.getBody().walk([&](Operation *op) {
    if (isa<linalg::LinalgOp>(op) || (isShared && isForOneThread(op)))
      writers.push_back(op);
  });
  Value thread = launch.getThreadIds().x;
  SmallVector<linalg::LinalgOp> ofBlock;
  for (Operation *op : writers)
    if (op->getParentOp() == launch && isa<linalg::LinalgOp>(op))
      ofBlock.push_back(cast<linalg::LinalgOp>(op));
  if (isShared && ofBlock.size() == writers.size() &&
      (rowsByThreads(rewriter, ofBlock, thread, schedule.threads) ||
       (schedule.hasTensorCores &&
        contractByTensorCores(rewriter, launch, ofBlock, thread,
                              schedule.threads, schedule.hasWarpgroups))))
    return keepRest();
  auto share = [&](linalg::LinalgOp op) {
    distribute(rewriter, op, thread, schedule.threads, schedule.hasTensorCores);
  };
  linalg::FillOp fill;
  for (auto [place, op] : llvm::enumerate(writers)) {
    if (!isShared || isOfOneThread(op, ofThreads)) {
      if (auto structured = dyn_cast<linalg::LinalgOp>(op))
        makeLoops(rewriter, structured, {vectorRegisters, vectorBits});
      continue;
    }
    if (place + 1 < writers.size() &&
        beginsProduct(op, writers[place + 1], schedule.threads)) {
      fill = cast<linalg::FillOp>(op);
      continue;
    }
    rewriter.setInsertionPointAfter(op);
    gpu::BarrierOp barrier;
    if (op != writers.back() || op->getParentOp() != launch || !op->use_empty())
      barrier = gpu::BarrierOp::create(rewriter, op->getLoc());
    if (fill) {
      if (contractByThreads(rewriter, cast<linalg::LinalgOp>(op), thread,
                            schedule.threads, schedule.hasTensorCores,
                            fill.value())) {
        rewriter.eraseOp(std::exchange(fill, {}));
        continue;
      }
      rewriter.setInsertionPointAfter(fill);
      gpu::BarrierOp::create(rewriter, fill.getLoc());
      share(std::exchange(fill, {}));
    }
    if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
      share(structured);
      continue;
    }
    for (Value result : op->getResults())
      if (!result.use_empty() &&
          !MemRefType::isValidElementType(result.getType()))
        return op->emitError("is done once for all threads of a block, which "
                             "cannot hand on what it gives, of type ")
               << result.getType() << ": do it before the parallel loop";
    doOnce(op, barrier, launch, rewriter);
  }
  return keepRest();
}

void LaunchTiles::runOnOperation() {
  SmallVector<LoopLikeOpInterface> loops;
  getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<gpu::LaunchOp>(op))
      return WalkResult::skip();
    if (isLaunched(op) || isa<scf::ForallOp>(op)) {
      loops.push_back(cast<LoopLikeOpInterface>(op));
      return WalkResult::skip();
    }
    return WalkResult::advance();
  });
  for (LoopLikeOpInterface loop : loops) {
    Decision(*this, loop, "Launch").count(numLaunches, "launches");
    if (failed(launch(loop)))
      return signalPassFailure();
  }
}
