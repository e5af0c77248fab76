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
                  const Combination &combination, int64_t results,
                  int64_t lanes)
      : b(b), op(op), loc(op.getLoc()), thread(thread),
        combination(combination), results(results), lanes(lanes),
        indices(op.getNumLoops()) {}
  bool fits();
  void write();

private:
  Lanes getLanes() {
    return Lanes(b, op, combination, results, lanes, isAlongReduction(op));
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  SmallVector<Value> loadOutputs();
  void storeOutputs(ValueRange values);
  SmallVector<Value> reduceOwn(Value lane, ValueRange begin);

  RewriterBase &b;
  linalg::LinalgOp op;
  Location loc;
  Value thread;
  const Combination &combination;
  int64_t results, lanes;
  SmallVector<Value> sizes, indices;
};
} // namespace

/// At the current indices.
SmallVector<Value> ReductionWriter::loadOutputs() {
  SmallVector<Value> values;
  for (OpOperand &output : op.getDpsInitsMutable())
    values.push_back(memref::LoadOp::create(
        b, loc, output.get(),
        applyMap(b, loc, op.getMatchingIndexingMap(&output), indices)));
  return values;
}

void ReductionWriter::storeOutputs(ValueRange values) {
  for (auto [output, value] : llvm::zip_equal(op.getDpsInitsMutable(), values))
    memref::StoreOp::create(
        b, loc, value, output.get(),
        applyMap(b, loc, op.getMatchingIndexingMap(&output), indices));
}

/// The thread's elements, with `begin` before the first of them: each lane has
/// its turn, or as many that follow each other.
SmallVector<Value> ReductionWriter::reduceOwn(Value lane, ValueRange begin) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  Value count = countRounds(b, loc, loops, sizes);
  std::optional<int64_t> rounds = getConstantIntValue(count);
  std::optional<int64_t> ofThread;
  if (rounds)
    ofThread = llvm::divideCeil(*rounds, lanes);
  const int64_t together = mayRepeat(op) ? countTogether(op, ofThread, 16) : 1;
  const bool isInOrder = combination.isInOrder();
  const bool isWhole = rounds && *rounds % (lanes * together) == 0;
  // A long sum of floats is taken in pieces, which loses fewer digits.
  constexpr int64_t most = 64;
  const int64_t apart = isInOrder ? 1 : lanes;
  const int64_t step = apart * together;
  const int64_t piece = step * std::max<int64_t>(most / together, 1);
  scf::ForOp pieces;
  OpBuilder::InsertionGuard guard(b);
  Value first = lane, end = count;
  if (isInOrder) {
    Value own = arith::CeilDivUIOp::create(b, loc, count, index(lanes));
    first = arith::MulIOp::create(b, loc, lane, own);
    end = arith::MinUIOp::create(
        b, loc, arith::AddIOp::create(b, loc, first, own), count);
  }
  if (combination.addsFloats() && (!ofThread || *ofThread > 2 * most)) {
    pieces = scf::ForOp::create(b, loc, lane, count, index(piece), begin);
    b.setInsertionPointToStart(pieces.getBody());
    first = pieces.getInductionVar();
    end = arith::MinUIOp::create(
        b, loc, arith::AddIOp::create(b, loc, first, index(piece)), count);
  }
  auto turns = scf::ForOp::create(b, loc, first, end, index(step), begin);
  b.setInsertionPointToStart(turns.getBody());
  Value last =
      b.createOrFold<arith::SubIOp>(loc, isInOrder ? end : count, index(1));
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
                                                 index(place * apart));
    if (place && (isInOrder || !isWhole)) {
      // A choice may come to its last element again.
      if (!isInOrder)
        element.isThere = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::ult, number, count);
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
  SmallVector<Value> sums(turns.getRegionIterArgs());
  for (Element &element : elements) {
    element.loaded.map(op.getRegionOutputArgs(), sums);
    SmallVector<Value> next = cloneBody(b, op, element.indices, element.loaded);
    for (auto [sum, value] : llvm::zip_equal(sums, next))
      sum = element.isThere
                ? arith::SelectOp::create(b, loc, element.isThere, value, sum)
                : value;
  }
  scf::YieldOp::create(b, loc, sums);
  if (!pieces)
    return turns.getResults();
  b.setInsertionPointAfter(turns);
  scf::YieldOp::create(
      b, loc,
      combination.combine(b, pieces.getRegionIterArgs(), turns.getResults()));
  return pieces.getResults();
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
  const bool isInOrder = combination.isInOrder();
  SmallVector<Value> before;
  if (isInOrder)
    before = loadOutputs();
  SmallVector<Value> total =
      all.reduce(reduceOwn(own, combination.begin(b, before)), result, lane);
  auto writes = arith::AndIOp::create(
      b, loc,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, index(0)),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, result, count));
  auto write = scf::IfOp::create(b, loc, writes);
  b.setInsertionPointToStart(write.thenBlock());
  storeOutputs(isInOrder ? total
                         : combination.combine(b, loadOutputs(), total));
}

bool offload::reduceByThreads(RewriterBase &rewriter, linalg::LinalgOp op,
                              Value thread, int64_t threads) {
  if (!op.getNumReductionLoops() || !op->getParentOfType<gpu::LaunchOp>())
    return false;
  // Threads behind the last result do as that of it, and parts of a result are
  // taken side by side.
  std::optional<Combination> combination = Combination::match(op);
  if (!combination || getBodyEffects(op).writes)
    return false;
  SmallVector<unsigned> loops;
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
  ReductionWriter writer(rewriter, op, thread, *combination, results, lanes);
  if (!writer.fits())
    return false;
  writer.write();
  rewriter.eraseOp(op);
  return true;
}
