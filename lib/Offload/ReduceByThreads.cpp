//===- ReduceByThreads.cpp - few sums of many elements --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction with fewer results than the block has threads: several threads
// reduce some elements each, and what they come to is combined by way of
// workgroup memory.
//===----------------------------------------------------------------------===//

#include "BodyEffects.h"
#include "Combiner.h"
#include "Distribute.h"
#include "Lanes.h"
#include "OwnMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <vector>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

namespace {
class ReductionWriter {
public:
  ReductionWriter(RewriterBase &b, linalg::LinalgOp op, Value thread,
                  Operation *combiner, int64_t results, int64_t lanes)
      : b(b), op(op), loc(op.getLoc()), output(op.getDpsInitOperand(0)),
        thread(thread), combiner(combiner), results(results), lanes(lanes),
        indices(op.getNumLoops()) {}
  bool fits();
  void write();

private:
  Lanes getLanes() {
    return Lanes(b, op, combiner, results, lanes, isAlongReduction(op));
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value reduceOwn(Value lane);

  RewriterBase &b;
  linalg::LinalgOp op;
  Location loc;
  OpOperand *output;
  Value thread;
  Operation *combiner;
  int64_t results, lanes;
  SmallVector<Value> sizes, indices;
};
} // namespace

/// What the thread's elements come to.
Value ReductionWriter::reduceOwn(Value lane) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  Value count = countRounds(b, loc, loops, sizes);
  Value neutral =
      arith::ConstantOp::create(b, loc, *getNeutralElement(combiner));
  std::optional<int64_t> rounds = getConstantIntValue(count);
  std::optional<int64_t> ofThread;
  if (rounds)
    ofThread = llvm::divideCeil(*rounds, lanes);
  const int64_t together = mayRepeat(op) ? countTogether(op, ofThread, 16) : 1;
  const bool isWhole = rounds && *rounds % (lanes * together) == 0;
  // A long sum of floats is taken in pieces, which loses fewer digits.
  constexpr int64_t most = 64;
  const int64_t step = lanes * together;
  const int64_t piece = step * std::max<int64_t>(most / together, 1);
  scf::ForOp pieces;
  OpBuilder::InsertionGuard guard(b);
  Value first = lane, end = count;
  if (isa<arith::AddFOp>(combiner) && (!ofThread || *ofThread > 2 * most)) {
    pieces = scf::ForOp::create(b, loc, lane, count, index(piece), neutral);
    b.setInsertionPointToStart(pieces.getBody());
    first = pieces.getInductionVar();
    end = arith::MinUIOp::create(
        b, loc, arith::AddIOp::create(b, loc, first, index(piece)), count);
  }
  auto turns = scf::ForOp::create(b, loc, first, end, index(step), neutral);
  b.setInsertionPointToStart(turns.getBody());
  Value last = b.createOrFold<arith::SubIOp>(loc, count, index(1));
  // Of an element, its indices, whether it is there, and what is loaded of it;
  // behind the last one the last one is loaded.
  struct Element {
    SmallVector<Value> indices;
    Value isThere;
    IRMapping loaded;
  };
  std::vector<Element> elements(together);
  for (auto [place, element] : llvm::enumerate(elements)) {
    Value number = b.createOrFold<arith::AddIOp>(loc, turns.getInductionVar(),
                                                 index(place * lanes));
    if (place && !isWhole) {
      element.isThere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                              number, count);
      number = arith::MinUIOp::create(b, loc, number, last);
    }
    setIndices(b, loc, number, loops, sizes, indices);
    element.indices = indices;
    for (OpOperand *input : op.getDpsInputOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(input);
      if (!argument.use_empty())
        element.loaded.map(argument, loadInput(b, op, input, indices));
    }
  }
  Value sum = turns.getRegionIterArgs()[0];
  for (Element &element : elements) {
    element.loaded.map(op.getMatchingBlockArgument(output), sum);
    Value next = cloneBody(b, op, element.indices, element.loaded).front();
    sum = element.isThere
              ? arith::SelectOp::create(b, loc, element.isThere, next, sum)
              : next;
  }
  scf::YieldOp::create(b, loc, sum);
  if (!pieces)
    return turns.getResult(0);
  b.setInsertionPointAfter(turns);
  scf::YieldOp::create(b, loc,
                       offload::combine(b, op.getMatchingBlockArgument(output),
                                        combiner, pieces.getRegionIterArgs()[0],
                                        turns.getResult(0)));
  return pieces.getResult(0);
}

/// Whether the block has the workgroup memory for it.
bool ReductionWriter::fits() {
  return hasWorkgroupMemory(op->getParentOfType<gpu::LaunchOp>(),
                            getLanes().countWorkgroupBytes());
}

void ReductionWriter::write() {
  OpBuilder::InsertionGuard guard(b);
  for (const Range &range : op.createLoopRanges(b, loc))
    sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
  const bool isAlong = isAlongReduction(op);
  Value inner = index(isAlong ? lanes : results);
  Value low = arith::RemUIOp::create(b, loc, thread, inner);
  Value high = arith::DivUIOp::create(b, loc, thread, inner);
  Value result = isAlong ? high : low;
  Value lane = isAlong ? low : high;
  // Threads behind the last result do as that of it, and write nothing.
  SmallVector<unsigned> loops;
  op.getParallelDims(loops);
  Value count = countRounds(b, loc, loops, sizes);
  if (!getConstantIntValue(count)) {
    // There may be no last result.
    auto branch = scf::IfOp::create(
        b, loc,
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, count,
                              index(0)));
    b.setInsertionPointToStart(branch.thenBlock());
  }
  Value place = arith::MinUIOp::create(
      b, loc, result, arith::SubIOp::create(b, loc, count, index(1)));
  setIndices(b, loc, place, loops, sizes, indices);

  Lanes all = getLanes();
  // Threads behind the last lane do as that, and their sums are not used.
  Value own = isAlong
                  ? lane
                  : b.createOrFold<arith::MinUIOp>(loc, lane, index(lanes - 1));
  Value total = all.reduce(reduceOwn(own), result, lane);
  auto writes = arith::AndIOp::create(
      b, loc,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, index(0)),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, result, count));
  auto write = scf::IfOp::create(b, loc, writes);
  b.setInsertionPointToStart(write.thenBlock());
  SmallVector<Value> to =
      applyMap(b, loc, op.getMatchingIndexingMap(output), indices);
  Value before = memref::LoadOp::create(b, loc, output->get(), to);
  memref::StoreOp::create(b, loc, all.combine(before, total), output->get(),
                          to);
}

bool offload::reduceByThreads(RewriterBase &rewriter, linalg::LinalgOp op,
                              Value thread, int64_t threads) {
  if (!op.getNumReductionLoops() || op.getNumDpsInits() != 1 ||
      !op->getParentOfType<gpu::LaunchOp>())
    return false;
  // Threads behind the last result do as that of it, and the elements of a
  // result are in no order.
  Operation *combiner = findCombiner(op, 0);
  if (!combiner || getBodyEffects(op).writes)
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
  ReductionWriter writer(rewriter, op, thread, combiner, results, lanes);
  if (!writer.fits())
    return false;
  writer.write();
  rewriter.eraseOp(op);
  return true;
}
