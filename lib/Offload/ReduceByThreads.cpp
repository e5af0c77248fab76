//===- ReduceByThreads.cpp - few sums of many elements --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction with fewer results than the block has threads: several threads
// reduce some elements each, and what they come to is combined by way of
// workgroup memory.
//===----------------------------------------------------------------------===//

#include "Distribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

Operation *offload::findCombiner(linalg::LinalgOp op, unsigned result) {
  BlockArgument before =
      op.getMatchingBlockArgument(op.getDpsInitOperand(result));
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(result).getDefiningOp();
  if (!combiner || combiner->getBlock() != op.getBlock() ||
      !before.hasOneUse() || *before.user_begin() != combiner ||
      combiner->getNumOperands() != 2 || combiner->getNumResults() != 1 ||
      !arith::getNeutralElement(combiner))
    return nullptr;
  return combiner;
}

namespace {
class ReductionWriter {
public:
  ReductionWriter(RewriterBase &b, linalg::LinalgOp op, Value thread,
                  Operation *combiner, int64_t results, int64_t lanes)
      : b(b), op(op), loc(op.getLoc()), output(op.getDpsInitOperand(0)),
        thread(thread), combiner(combiner), results(results), lanes(lanes),
        indices(op.getNumLoops()) {}
  void write();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value combine(Value before, Value value);
  bool isAlongReduction();
  Value reduceOwn(Value lane);
  void combineLanes(Value result, Value lane, Value isLane);
  /// Where a lane of a result has its value.
  Value getSlot(Value result, Value lane) {
    Value outer = isAlongReduction() ? result : lane;
    Value inner = isAlongReduction() ? lane : result;
    return arith::AddIOp::create(
        b, loc,
        arith::MulIOp::create(b, loc, outer,
                              index(isAlongReduction() ? lanes : results)),
        inner);
  }

  RewriterBase &b;
  linalg::LinalgOp op;
  Location loc;
  OpOperand *output;
  Value thread;
  Operation *combiner;
  int64_t results, lanes;
  SmallVector<Value> sizes, indices;
  Value memory;
};
} // namespace

Value ReductionWriter::combine(Value before, Value value) {
  IRMapping map;
  BlockArgument argument = op.getMatchingBlockArgument(output);
  for (Value operand : combiner->getOperands())
    map.map(operand, operand == argument ? before : value);
  return b.clone(*combiner, map)->getResult(0);
}

/// Whether elements that one result is made of are side by side.
bool ReductionWriter::isAlongReduction() {
  size_t most = 0;
  bool found = true;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.getNumResults() <= most || !isa<MemRefType>(input->get().getType()))
      continue;
    most = map.getNumResults();
    found = false;
    SmallVector<unsigned> loops;
    op.getReductionDims(loops);
    for (unsigned loop : loops)
      found |= map.getResult(map.getNumResults() - 1).isFunctionOfDim(loop);
  }
  return found;
}

/// What the thread's elements come to.
Value ReductionWriter::reduceOwn(Value lane) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  SmallVector<Value> own;
  Value count = index(1);
  for (unsigned loop : loops) {
    own.push_back(sizes[loop]);
    count = arith::MulIOp::create(b, loc, count, sizes[loop]);
  }
  Value neutral =
      arith::ConstantOp::create(b, loc, *arith::getNeutralElement(combiner));
  auto turns = scf::ForOp::create(b, loc, lane, count, index(lanes), neutral);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(turns.getBody());
  for (auto [loop, value] :
       llvm::zip(loops, delinearize(b, loc, turns.getInductionVar(), own)))
    indices[loop] = value;
  IRMapping map;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (argument.use_empty())
      continue;
    Value value = input->get();
    if (isa<MemRefType>(value.getType()))
      value = memref::LoadOp::create(
          b, loc, value,
          applyMap(b, loc, op.getMatchingIndexingMap(input), indices));
    map.map(argument, value);
  }
  map.map(op.getMatchingBlockArgument(output), turns.getRegionIterArgs()[0]);
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto number = dyn_cast<linalg::IndexOp>(inner))
      map.map(number.getResult(), indices[number.getDim()]);
    else
      b.clone(inner, map);
  }
  scf::YieldOp::create(
      b, loc,
      map.lookupOrDefault(op.getBlock()->getTerminator()->getOperand(0)));
  return turns.getResult(0);
}

/// Into the first lane: 16 of them at a time.
void ReductionWriter::combineLanes(Value result, Value lane, Value isLane) {
  for (int64_t left = lanes; left > 1;) {
    int64_t together = std::min<int64_t>(left, 16);
    left /= together;
    gpu::BarrierOp::create(b, loc);
    auto isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                         lane, index(left));
    auto branch = scf::IfOp::create(
        b, loc, arith::AndIOp::create(b, loc, isFirst, isLane));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value value;
    for (int64_t i = 0; i < together; ++i) {
      Value other = arith::AddIOp::create(b, loc, lane, index(i * left));
      Value loaded = memref::LoadOp::create(b, loc, memory,
                                            ValueRange{getSlot(result, other)});
      value = value ? combine(value, loaded) : loaded;
    }
    memref::StoreOp::create(b, loc, value, memory,
                            ValueRange{getSlot(result, lane)});
  }
}

void ReductionWriter::write() {
  OpBuilder::InsertionGuard guard(b);
  auto launch = op->getParentOfType<gpu::LaunchOp>();
  memory = launch.addWorkgroupAttribution(
      MemRefType::get({results * lanes},
                      getElementTypeOrSelf(output->get().getType()),
                      MemRefLayoutAttrInterface(),
                      gpu::AddressSpaceAttr::get(b.getContext(),
                                                 gpu::AddressSpace::Workgroup)),
      loc);
  for (const Range &range : op.createLoopRanges(b, loc))
    sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
  Value inner = index(isAlongReduction() ? lanes : results);
  Value low = arith::RemUIOp::create(b, loc, thread, inner);
  Value high = arith::DivUIOp::create(b, loc, thread, inner);
  Value result = isAlongReduction() ? high : low;
  Value lane = isAlongReduction() ? low : high;
  // Threads behind the last result do as that of it, and write nothing.
  SmallVector<unsigned> loops;
  op.getParallelDims(loops);
  SmallVector<Value> own;
  Value count = index(1);
  for (unsigned loop : loops) {
    own.push_back(sizes[loop]);
    count = arith::MulIOp::create(b, loc, count, sizes[loop]);
  }
  Value place = arith::MinUIOp::create(
      b, loc, result, arith::SubIOp::create(b, loc, count, index(1)));
  for (auto [loop, value] : llvm::zip(loops, delinearize(b, loc, place, own)))
    indices[loop] = value;

  Value mine = reduceOwn(lane);
  // Threads that are too many are no lanes.
  auto isLane = arith::AndIOp::create(
      b, loc,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, lane,
                            index(lanes)),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, result,
                            index(results)));
  auto branch = scf::IfOp::create(b, loc, isLane);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    memref::StoreOp::create(b, loc, mine, memory,
                            ValueRange{getSlot(result, lane)});
  }
  combineLanes(result, lane, isLane);
  auto writes = arith::AndIOp::create(
      b, loc,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, index(0)),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, result, count));
  auto write = scf::IfOp::create(b, loc, writes);
  b.setInsertionPointToStart(write.thenBlock());
  SmallVector<Value> known(indices);
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  for (unsigned loop : reduced)
    known[loop] = index(0);
  SmallVector<Value> to =
      applyMap(b, loc, op.getMatchingIndexingMap(output), known);
  Value before = memref::LoadOp::create(b, loc, output->get(), to);
  Value all =
      memref::LoadOp::create(b, loc, memory, ValueRange{getSlot(result, lane)});
  memref::StoreOp::create(b, loc, combine(before, all), output->get(), to);
}

bool offload::reduceByThreads(RewriterBase &rewriter, linalg::LinalgOp op,
                              Value thread, int64_t threads) {
  if (!op.getNumReductionLoops() || op.getNumDpsInits() != 1 ||
      !op->getParentOfType<gpu::LaunchOp>())
    return false;
  Operation *combiner = findCombiner(op, 0);
  if (!combiner)
    return false;
  // One element of the result for all rounds of the reduction loops.
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (llvm::any_of(loops,
                   [&](unsigned loop) { return map.isFunctionOfDim(loop); }))
    return false;
  loops.clear();
  op.getParallelDims(loops);
  int64_t results = 1;
  for (unsigned loop : loops) {
    std::optional<int64_t> most = findMostRounds(op, loop);
    if (!most || *most > threads)
      return false;
    results *= std::max<int64_t>(*most, 1);
    if (results > threads)
      return false;
  }
  int64_t lanes = llvm::bit_floor(uint64_t(threads / results));
  if (lanes < 4)
    return false;
  rewriter.setInsertionPoint(op);
  ReductionWriter(rewriter, op, thread, combiner, results, lanes).write();
  rewriter.eraseOp(op);
  return true;
}
