//===- Distribute.cpp - a block's linalg ops as loops ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Distribute.h.
//===----------------------------------------------------------------------===//

#include "Distribute.h"

#include "BodyEffects.h"
#include "Combiner.h"
#include "Contraction.h"
#include "Schedule.h"
#include "Sums.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// Writes the loops of one op, at the builder's place.
class LoopWriter {
public:
  LoopWriter(RewriterBase &rewriter, linalg::LinalgOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()),
        indices(op.getNumLoops()) {
    for (const Range &range : op.createLoopRanges(rewriter, loc))
      sizes.push_back(
          getValueOrCreateConstantIndexOp(rewriter, loc, range.size));
    zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    SmallVector<unsigned> dims;
    op.getParallelDims(dims);
    parallel.assign(dims.begin(), dims.end());
    dims.clear();
    op.getReductionDims(dims);
    // Rounds of an op that only asserts may come in any order.
    const bool isOrdered =
        op.getNumDpsInits() || offload::getBodyEffects(op).writes;
    (isOrdered ? reduction : parallel).append(dims.begin(), dims.end());
  }

  void writeOneThread();
  void writeThreads(Value thread, int64_t threads);

private:
  /// Opens loops; the builder is in the last one then.
  void open(ArrayRef<unsigned> loops);
  /// Computes what is the same in each round of a loop.
  void computeAround(unsigned loop);
  SmallVector<Value> getPlace(OpOperand &operand);
  SmallVector<Value> compute(ValueRange outputs);
  void setInput(OpOperand *input);
  /// The outputs' elements at the current indices; null for those that the body
  /// does not read.
  SmallVector<Value> load();
  Value loadOne(OpOperand &output);
  void store(ValueRange values);
  /// Whether an output has one element for all rounds of the reduction loops.
  bool isReduced(OpOperand &output);
  /// Writes what is left when all parallel loops are open. Sums are registers,
  /// pieces of which have up to `most` elements.
  void reduce(int64_t most);
  /// Writes the rest of a nest and returns the sums behind it.
  SmallVector<Value> reduceNest(ArrayRef<offload::SumLoop> nest,
                                ValueRange sums);
  SmallVector<Value> reduceOne(ValueRange sums);
  /// Writes what is left when all parallel loops but one are open. Sums stay in
  /// memory, which that loop, the innermost one, walks along.
  void reduceAlong(unsigned innermost);
  /// Writes the rest of such a nest. `rows`: for each output the memory of a
  /// piece's sums; null: the output itself.
  void reduceRows(ArrayRef<offload::SumLoop> nest, ArrayRef<Value> rows);
  /// Writes the last loop of such a nest. It takes several rounds at a time,
  /// each in its order.
  void reduceLast(const offload::SumLoop &piece, ArrayRef<Value> rows);
  /// Adds so many rounds of `loop`, from `first` on, to the sums in memory.
  void addRounds(unsigned loop, Value first, int64_t count,
                 ArrayRef<Value> rows);
  int64_t countRoundsTogether(const offload::SumLoop &piece);
  std::optional<int64_t> getStride(OpOperand *input, unsigned loop);
  /// Allocates such memory, and begins the sums in it.
  SmallVector<Value> makeRows();
  /// Opens the innermost loop, through the columns whose sums are in memory.
  void openColumns();
  /// The element of an output, or of its row in memory.
  Value loadRow(Value row, OpOperand &output);
  void storeRow(Value value, Value row, OpOperand &output);
  /// The first round of a loop of a nest, and the one behind its last.
  std::pair<Value, Value> getBounds(const offload::SumLoop &piece);
  /// Opens a loop of a nest. The builder is in it then.
  scf::ForOp openPiece(const offload::SumLoop &piece, ValueRange carried);
  unsigned findInnermost();

  RewriterBase &rewriter;
  linalg::LinalgOp op;
  Location loc;
  SmallVector<Value> sizes, indices;
  SmallVector<unsigned> parallel, reduction;
  Value zero, one;
  /// Values of the body that are computed.
  IRMapping known;
  /// The loop whose sums are in memory, some columns at a time: the first one
  /// (null: 0), how many there are, which of them it is, and the most of them.
  unsigned column = 0;
  Value firstColumn, columnCount, counter;
  int64_t rowSize = 0;
};
} // namespace

/// Most elements of a sum's innermost piece: those that are side by side become
/// vectors, of 8 or more at a time; in memory each piece has a row of its own.
static constexpr int64_t mostOfVectors = 1024, mostOfThread = 64,
                         mostInMemory = 64;
/// Columns whose sums are in memory at a time: some pages of each row are read
/// at once.
static constexpr int64_t mostColumns = 2048;
/// Rows that are added to such sums at a time.
static constexpr int64_t mostRounds = 8;

void LoopWriter::open(ArrayRef<unsigned> loops) {
  for (unsigned loop : loops) {
    auto created = scf::ForOp::create(rewriter, loc, zero, sizes[loop], one);
    indices[loop] = created.getInductionVar();
    rewriter.setInsertionPointToStart(created.getBody());
  }
}

SmallVector<Value> LoopWriter::getPlace(OpOperand &operand) {
  return offload::applyMap(rewriter, loc, op.getMatchingIndexingMap(&operand),
                           indices);
}

bool LoopWriter::isReduced(OpOperand &output) {
  AffineMap map = op.getMatchingIndexingMap(&output);
  return llvm::none_of(
      reduction, [&](unsigned loop) { return map.isFunctionOfDim(loop); });
}

SmallVector<Value> LoopWriter::load() {
  SmallVector<Value> values;
  for (OpOperand &output : op.getDpsInitsMutable())
    values.push_back(loadOne(output));
  return values;
}

Value LoopWriter::loadOne(OpOperand &output) {
  if (!op.payloadUsesValueFromOperand(&output))
    return Value();
  return memref::LoadOp::create(rewriter, loc, output.get(), getPlace(output));
}

void LoopWriter::store(ValueRange values) {
  for (auto [output, value] : llvm::zip(op.getDpsInitsMutable(), values))
    memref::StoreOp::create(rewriter, loc, value, output.get(),
                            getPlace(output));
}

void LoopWriter::computeAround(unsigned loop) {
  auto isKnown = [&](Value value) {
    return known.contains(value) || value.getParentBlock() != op.getBlock();
  };
  for (OpOperand *input : op.getDpsInputOperands())
    if (!op.getMatchingIndexingMap(input).isFunctionOfDim(loop))
      setInput(input);
  // What the body reads nothing writes meanwhile, but where there are no rounds
  // it may not be there.
  const bool mayLoad =
      op.getStaticLoopRanges()[loop] > 0 && offload::mayRepeat(op);
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      if (index.getDim() != loop)
        known.map(index.getResult(), indices[index.getDim()]);
    } else if (inner.getNumRegions() == 0 &&
               (isPure(&inner) || (mayLoad && isa<memref::LoadOp>(inner))) &&
               llvm::all_of(inner.getOperands(), isKnown)) {
      rewriter.clone(inner, known);
    }
  }
}

void LoopWriter::setInput(OpOperand *input) {
  BlockArgument argument = op.getMatchingBlockArgument(input);
  if (!argument.use_empty() && !known.contains(argument))
    known.map(argument, offload::loadInput(rewriter, op, input, indices));
}

/// The body at the current indices.
SmallVector<Value> LoopWriter::compute(ValueRange outputs) {
  for (OpOperand *input : op.getDpsInputOperands())
    setInput(input);
  IRMapping map(known);
  for (auto [output, value] : llvm::zip(op.getDpsInitsMutable(), outputs))
    if (value)
      map.map(op.getMatchingBlockArgument(&output), value);
  return offload::cloneBody(rewriter, op, indices, map);
}

/// A sum may be added up in any order: in several registers at a time, which is
/// faster and loses fewer digits.
static void allowAnyOrder(Value after, Value before) {
  Operation *op = after.getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::MulFOp>(op) ||
      llvm::count(op->getOperands(), before) != 1)
    return;
  auto flags = cast<arith::ArithFastMathInterface>(op);
  op->setAttr(flags.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(
                  op->getContext(), flags.getFastMathFlagsAttr().getValue() |
                                        arith::FastMathFlags::reassoc));
}

std::pair<Value, Value> LoopWriter::getBounds(const offload::SumLoop &piece) {
  Value from = indices[piece.loop] ? indices[piece.loop] : zero;
  Value to = sizes[piece.loop];
  if (piece.rounds) {
    std::optional<int64_t> size = getConstantIntValue(to);
    Value end = rewriter.createOrFold<arith::AddIOp>(
        loc, from, arith::ConstantIndexOp::create(rewriter, loc, piece.rounds));
    to = size && *size % piece.rounds == 0
             ? end
             : arith::MinSIOp::create(rewriter, loc, end, to);
  }
  return {from, to};
}

scf::ForOp LoopWriter::openPiece(const offload::SumLoop &piece,
                                 ValueRange carried) {
  auto [from, to] = getBounds(piece);
  Value step = arith::ConstantIndexOp::create(rewriter, loc, piece.step);
  auto loop = scf::ForOp::create(rewriter, loc, from, to, step, carried);
  indices[piece.loop] = loop.getInductionVar();
  rewriter.setInsertionPointToStart(loop.getBody());
  return loop;
}

SmallVector<Value> LoopWriter::reduceNest(ArrayRef<offload::SumLoop> nest,
                                          ValueRange sums) {
  if (nest.empty())
    return reduceOne(sums);
  const offload::SumLoop &piece = nest.front();
  SmallVector<Value> begin(sums);
  SmallVector<Operation *> combiners;
  SmallVector<OpOperand *> outputs;
  for (auto [result, output] : llvm::enumerate(op.getDpsInitsMutable()))
    if (piece.isOwn && isReduced(output)) {
      outputs.push_back(&output);
      combiners.push_back(offload::findSum(op, result));
      begin[combiners.size() - 1] =
          offload::createNeutral(rewriter, combiners.back());
    }
  Value outer = indices[piece.loop];
  scf::ForOp loop = openPiece(piece, begin);
  SmallVector<Value> inner =
      reduceNest(nest.drop_front(), loop.getRegionIterArgs());
  if (!inner.empty())
    scf::YieldOp::create(rewriter, loc, inner);
  rewriter.setInsertionPointAfter(loop);
  indices[piece.loop] = outer;
  SmallVector<Value> results(loop.getResults());
  if (piece.isOwn)
    for (auto [place, output] : llvm::enumerate(outputs))
      results[place] =
          offload::combine(rewriter, op.getMatchingBlockArgument(output),
                           combiners[place], sums[place], results[place]);
  return results;
}

/// One element of the reduction.
SmallVector<Value> LoopWriter::reduceOne(ValueRange sums) {
  SmallVector<Value> before, results;
  size_t next = 0;
  // An output that the reduction loops go along is written here.
  for (OpOperand &output : op.getDpsInitsMutable())
    before.push_back(isReduced(output) ? sums[next++] : loadOne(output));
  SmallVector<Value> after = compute(before);
  for (auto [output, sum, value] :
       llvm::zip(op.getDpsInitsMutable(), before, after)) {
    if (isReduced(output)) {
      allowAnyOrder(value, sum);
      results.push_back(value);
    } else {
      memref::StoreOp::create(rewriter, loc, value, output.get(),
                              getPlace(output));
    }
  }
  return results;
}

void LoopWriter::reduce(int64_t most) {
  if (reduction.empty())
    return store(compute(load()));
  SmallVector<Value> sums;
  for (OpOperand &output : op.getDpsInitsMutable())
    if (isReduced(output))
      sums.push_back(memref::LoadOp::create(rewriter, loc, output.get(),
                                            getPlace(output)));
  SmallVector<Value> results = reduceNest(offload::cutSums(op, most), sums);
  size_t next = 0;
  for (OpOperand &output : op.getDpsInitsMutable())
    if (isReduced(output))
      memref::StoreOp::create(rewriter, loc, results[next++], output.get(),
                              getPlace(output));
}

void LoopWriter::reduceAlong(unsigned innermost) {
  SmallVector<offload::SumLoop> nest = offload::cutSums(op, mostInMemory);
  const bool isCut = llvm::any_of(
      nest, [](const offload::SumLoop &piece) { return piece.isOwn; });
  column = innermost;
  columnCount = sizes[innermost];
  std::optional<int64_t> count = offload::findMostRounds(op, innermost);
  if (isCut && (!count || *count > mostColumns)) {
    Value step = arith::ConstantIndexOp::create(rewriter, loc, mostColumns);
    auto loop = scf::ForOp::create(rewriter, loc, zero, sizes[innermost], step);
    rewriter.setInsertionPointToStart(loop.getBody());
    firstColumn = loop.getInductionVar();
    columnCount = arith::MinSIOp::create(
        rewriter, loc, step,
        arith::SubIOp::create(rewriter, loc, sizes[innermost], firstColumn));
  }
  rowSize = isCut && !firstColumn ? *count : mostColumns;
  reduceRows(nest, SmallVector<Value>(op.getNumDpsInits()));
}

void LoopWriter::openColumns() {
  auto loop = scf::ForOp::create(rewriter, loc, zero, columnCount, one);
  rewriter.setInsertionPointToStart(loop.getBody());
  counter = loop.getInductionVar();
  indices[column] =
      firstColumn ? arith::AddIOp::create(rewriter, loc, firstColumn, counter)
                  : counter;
}

Value LoopWriter::loadRow(Value row, OpOperand &output) {
  return row ? memref::LoadOp::create(rewriter, loc, row, counter).getResult()
             : loadOne(output);
}

void LoopWriter::storeRow(Value value, Value row, OpOperand &output) {
  if (row)
    memref::StoreOp::create(rewriter, loc, value, row, counter);
  else
    memref::StoreOp::create(rewriter, loc, value, output.get(),
                            getPlace(output));
}

SmallVector<Value> LoopWriter::makeRows() {
  SmallVector<Value> rows;
  for (auto [result, output] : llvm::enumerate(op.getDpsInitsMutable())) {
    rows.push_back(nullptr);
    if (!isReduced(output))
      continue;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      if (auto launch = op->getParentOfType<gpu::LaunchOp>())
        rewriter.setInsertionPointToStart(&launch.getBody().front());
      rows.back() = memref::AllocaOp::create(
          rewriter, loc,
          MemRefType::get({rowSize},
                          getElementTypeOrSelf(output.get().getType())),
          rewriter.getI64IntegerAttr(64));
    }
  }
  OpBuilder::InsertionGuard guard(rewriter);
  openColumns();
  for (auto [result, row] : llvm::enumerate(rows))
    if (row)
      memref::StoreOp::create(
          rewriter, loc,
          offload::createNeutral(rewriter, offload::findSum(op, result)), row,
          counter);
  return rows;
}

/// How many bytes of an input are from one round of a loop to the next, if that
/// is known.
std::optional<int64_t> LoopWriter::getStride(OpOperand *input, unsigned loop) {
  auto type = dyn_cast<MemRefType>(input->get().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  std::optional<int64_t> bytes =
      offload::getElementBytes(type.getElementType());
  AffineMap map = op.getMatchingIndexingMap(input);
  for (auto [place, stride] : llvm::zip(map.getResults(), strides))
    if (place == rewriter.getAffineDimExpr(loop) && bytes &&
        !ShapedType::isDynamic(stride) && stride > 0)
      return llvm::checkedMul(stride, *bytes);
  return std::nullopt;
}

/// A column's sum is loaded and stored once for all of them, and as many rows
/// of memory are read side by side: fewer where these lie whole pages apart and
/// share few places in the cache. Rows with little between them are read
/// fastest one behind the other.
int64_t LoopWriter::countRoundsTogether(const offload::SumLoop &piece) {
  std::optional<int64_t> columns = offload::findMostRounds(op, column);
  if (!columns || !offload::isPureBody(op))
    return 1;
  // Minima and maxima of floats are several instructions, which wait for each
  // other.
  for (auto [result, output] : llvm::enumerate(op.getDpsInitsMutable()))
    if (!isReduced(output) || !isa_and_nonnull<arith::AddFOp, arith::AddIOp>(
                                  offload::findSum(op, result)))
      return 1;
  constexpr int64_t page = 4096;
  int64_t most = mostRounds;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!op.getMatchingIndexingMap(input).isFunctionOfDim(column))
      continue;
    std::optional<int64_t> stride = getStride(input, piece.loop),
                           element = offload::getElementBytes(
                               getElementTypeOrSelf(input->get().getType()));
    if (!stride || !element ||
        *stride <= 2 * *element * std::min(*columns, mostColumns))
      return 1;
    if (*stride % page == 0)
      most = mostRounds / 2;
  }
  const int64_t all = op.getStaticLoopRanges()[piece.loop];
  const int64_t rounds = piece.rounds                 ? piece.rounds
                         : ShapedType::isDynamic(all) ? most
                                                      : all;
  return offload::countTogether(op, rounds, most);
}

void LoopWriter::addRounds(unsigned loop, Value first, int64_t count,
                           ArrayRef<Value> rows) {
  OpBuilder::InsertionGuard guard(rewriter);
  const IRMapping around(known);
  SmallVector<Value> numbers{first};
  for (int64_t i = 1; i < count; ++i)
    numbers.push_back(arith::AddIOp::create(
        rewriter, loc, first,
        arith::ConstantIndexOp::create(rewriter, loc, i)));
  std::vector<IRMapping> ofRounds;
  for (Value number : numbers) {
    indices[loop] = number;
    known = around;
    computeAround(column);
    ofRounds.push_back(known);
  }
  openColumns();
  SmallVector<Value> values;
  for (auto [row, output] : llvm::zip(rows, op.getDpsInitsMutable()))
    values.push_back(loadRow(row, output));
  for (auto [number, ofRound] : llvm::zip(numbers, ofRounds)) {
    indices[loop] = number;
    known = ofRound;
    values = compute(values);
  }
  for (auto [value, row, output] :
       llvm::zip(values, rows, op.getDpsInitsMutable()))
    storeRow(value, row, output);
  known = around;
}

void LoopWriter::reduceLast(const offload::SumLoop &piece,
                            ArrayRef<Value> rows) {
  assert(piece.step == 1 && "expected the innermost loop");
  auto [from, to] = getBounds(piece);
  const int64_t together = countRoundsTogether(piece);
  auto loop = [&](Value from, Value to, int64_t step) {
    OpBuilder::InsertionGuard guard(rewriter);
    auto turns =
        scf::ForOp::create(rewriter, loc, from, to,
                           arith::ConstantIndexOp::create(rewriter, loc, step));
    rewriter.setInsertionPointToStart(turns.getBody());
    addRounds(piece.loop, turns.getInductionVar(), step, rows);
  };
  if (together == 1)
    return loop(from, to, 1);
  Value count = rewriter.createOrFold<arith::SubIOp>(loc, to, from);
  Value rest = rewriter.createOrFold<arith::RemUIOp>(
      loc, count, arith::ConstantIndexOp::create(rewriter, loc, together));
  Value last = rewriter.createOrFold<arith::SubIOp>(loc, to, rest);
  loop(from, last, together);
  loop(last, to, 1);
}

void LoopWriter::reduceRows(ArrayRef<offload::SumLoop> nest,
                            ArrayRef<Value> rows) {
  OpBuilder::InsertionGuard guard(rewriter);
  const offload::SumLoop &piece = nest.front();
  SmallVector<Value> own(rows);
  if (piece.isOwn)
    own = makeRows();
  Value outer = indices[piece.loop];
  if (nest.size() == 1) {
    reduceLast(piece, own);
  } else {
    OpBuilder::InsertionGuard guard(rewriter);
    openPiece(piece, {});
    reduceRows(nest.drop_front(), own);
  }
  indices[piece.loop] = outer;
  if (!piece.isOwn)
    return;
  openColumns();
  // An output with an element for each round has got it in that round.
  for (auto [result, output, row, around] :
       llvm::enumerate(op.getDpsInitsMutable(), own, rows))
    if (row)
      storeRow(offload::combine(
                   rewriter, op.getMatchingBlockArgument(&output),
                   offload::findSum(op, result), loadRow(around, output),
                   memref::LoadOp::create(rewriter, loc, row, counter)),
               around, output);
}

/// The loop that the operand of most dimensions has as its last one of more
/// than one round; of several such, most of them.
unsigned LoopWriter::findInnermost() {
  SmallVector<int64_t> rounds = op.getStaticLoopRanges();
  auto isOnce = [&](AffineExpr place) {
    auto dim = dyn_cast<AffineDimExpr>(place);
    return dim && rounds[dim.getPosition()] == 1;
  };
  // The number of dimensions, and how many operands have so many.
  SmallVector<std::pair<unsigned, unsigned>> votes(indices.size());
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto results = map.getResults();
    while (!results.empty() && isOnce(results.back()))
      results = results.drop_back();
    if (results.empty())
      continue;
    auto dim = dyn_cast<AffineDimExpr>(results.back());
    if (!dim)
      continue;
    auto &[most, count] = votes[dim.getPosition()];
    if (map.getNumResults() > most) {
      most = map.getNumResults();
      count = 0;
    }
    count += map.getNumResults() == most;
  }
  return std::distance(votes.begin(), llvm::max_element(votes));
}

void LoopWriter::writeOneThread() {
  OpBuilder::InsertionGuard guard(rewriter);
  if (!indices.empty()) {
    unsigned innermost = findInnermost();
    if (auto found = llvm::find(parallel, innermost); found != parallel.end()) {
      parallel.erase(found);
      if (!reduction.empty()) {
        open(parallel);
        return reduceAlong(innermost);
      }
      open(parallel);
      computeAround(innermost);
      open(innermost);
      return reduce(mostOfVectors);
    }
  }
  open(parallel);
  reduce(mostOfVectors);
}

void LoopWriter::writeThreads(Value thread, int64_t threads) {
  OpBuilder::InsertionGuard guard(rewriter);
  Value count = offload::countRounds(rewriter, loc, parallel, sizes);
  Value step = arith::ConstantIndexOp::create(rewriter, loc, threads);
  auto turns = scf::ForOp::create(rewriter, loc, thread, count, step);
  rewriter.setInsertionPointToStart(turns.getBody());
  offload::setIndices(rewriter, loc, turns.getInductionVar(), parallel, sizes,
                      indices);
  reduce(mostOfThread);
}

int64_t offload::countTogether(linalg::LinalgOp op,
                               std::optional<int64_t> ofThread, int64_t most) {
  // A long body is not worth its code so often.
  constexpr int64_t mostCode = 128;
  int64_t code = 0;
  op.getBlock()->walk([&](Operation *) { ++code; });
  most = std::clamp<int64_t>(mostCode / code, 1, most);
  if (!ofThread)
    return std::min<int64_t>(most, 4);
  // Turns of about as many.
  int64_t own = std::max<int64_t>(*ofThread, 1);
  return llvm::divideCeil(own, llvm::divideCeil(own, most));
}

SmallVector<Value> offload::applyMap(OpBuilder &builder, Location loc,
                                     AffineMap map, ArrayRef<Value> indices) {
  SmallVector<Value> place;
  for (AffineExpr expression : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expression)) {
      place.push_back(indices[dim.getPosition()]);
      continue;
    }
    // Those that it does not take may be of loops that are closed, or none.
    SmallVector<Value> known(indices);
    Value zero;
    for (auto [dim, index] : llvm::enumerate(known))
      if (!expression.isFunctionOfDim(dim)) {
        if (!zero)
          zero = arith::ConstantIndexOp::create(builder, loc, 0);
        index = zero;
      }
    AffineMap one = AffineMap::get(map.getNumDims(), 0, expression);
    place.push_back(affine::AffineApplyOp::create(builder, loc, one, known));
  }
  return place;
}

SmallVector<Value> offload::delinearize(OpBuilder &builder, Location loc,
                                        Value number, ArrayRef<Value> sizes) {
  SmallVector<Value> result(sizes.size());
  // The first one of more than one is what is left.
  size_t first = 0;
  while (first + 1 < sizes.size() && getConstantIntValue(sizes[first]) == 1)
    result[first++] = arith::ConstantIndexOp::create(builder, loc, 0);
  for (size_t i = sizes.size(); i-- > first;) {
    result[i] = number;
    if (i == first)
      break;
    result[i] = arith::RemUIOp::create(builder, loc, number, sizes[i]);
    number = arith::DivUIOp::create(builder, loc, number, sizes[i]);
  }
  return result;
}

Value offload::countRounds(OpBuilder &builder, Location loc,
                           ArrayRef<unsigned> loops, ArrayRef<Value> sizes) {
  Value count;
  for (unsigned loop : loops)
    count = count ? builder.createOrFold<arith::MulIOp>(loc, count, sizes[loop])
                  : sizes[loop];
  return count ? count
               : arith::ConstantIndexOp::create(builder, loc, 1).getResult();
}

void offload::setIndices(OpBuilder &builder, Location loc, Value number,
                         ArrayRef<unsigned> loops, ArrayRef<Value> sizes,
                         MutableArrayRef<Value> indices) {
  SmallVector<Value> own;
  for (unsigned loop : loops)
    own.push_back(sizes[loop]);
  for (auto [loop, index] :
       llvm::zip(loops, delinearize(builder, loc, number, own)))
    indices[loop] = index;
}

Value offload::loadInput(OpBuilder &builder, linalg::LinalgOp op,
                         OpOperand *input, ArrayRef<Value> indices) {
  if (!isa<MemRefType>(input->get().getType()))
    return input->get();
  return memref::LoadOp::create(builder, op.getLoc(), input->get(),
                                applyMap(builder, op.getLoc(),
                                         op.getMatchingIndexingMap(input),
                                         indices));
}

SmallVector<Value> offload::cloneBody(OpBuilder &builder, linalg::LinalgOp op,
                                      ArrayRef<Value> indices, IRMapping &map) {
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (inner.getNumResults() && llvm::all_of(inner.getResults(), [&](Value v) {
          return map.contains(v);
        }))
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      map.map(index.getResult(), indices[index.getDim()]);
    else
      builder.clone(inner, map);
  }
  SmallVector<Value> results;
  for (Value value : op.getBlock()->getTerminator()->getOperands())
    results.push_back(map.lookupOrDefault(value));
  return results;
}

/// The dimension from which on the operand goes through memory by the op's
/// loops from `first` on, one element after the other: the rank if by none of
/// them, nothing if otherwise.
static std::optional<unsigned> findDense(linalg::LinalgOp op,
                                         OpOperand &operand, unsigned first) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  const unsigned loops = op.getNumLoops();
  auto isOfFirst = [&](AffineExpr each) {
    return llvm::any_of(llvm::seq(first, loops), [&](unsigned loop) {
      return each.isFunctionOfDim(loop);
    });
  };
  if (llvm::none_of(map.getResults(), isOfFirst))
    return map.getNumResults();
  const unsigned count = loops - first;
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type || map.getNumResults() < count)
    return std::nullopt;
  const unsigned dimension = map.getNumResults() - count;
  for (auto [place, each] : llvm::enumerate(map.getResults()))
    if (place < dimension ? isOfFirst(each)
                          : each != getAffineDimExpr(first + place - dimension,
                                                     op.getContext()))
      return std::nullopt;
  SmallVector<ReassociationIndices> groups(1);
  for (unsigned place = dimension; place < map.getNumResults(); ++place)
    groups.back().push_back(place);
  return memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups)
             ? std::optional(dimension)
             : std::nullopt;
}

/// Whether it is memory that the kernel allocates, whose type may change yet.
static bool isOwn(Value memory, linalg::LinalgOp op) {
  while (Operation *from = memory.getDefiningOp()) {
    if (auto view = dyn_cast<ViewLikeOpInterface>(from))
      memory = view.getViewSource();
    else
      return from->getParentOfType<gpu::LaunchOp>() ==
             op->getParentOfType<gpu::LaunchOp>();
  }
  return false;
}

/// Makes one loop of the innermost ones, as many as go through all operands one
/// element after the other: a loop of ten rounds is no loop of vectors. Returns
/// the op in the place of this one, or this one.
static linalg::LinalgOp flatten(RewriterBase &rewriter, linalg::LinalgOp op) {
  const unsigned loops = op.getNumLoops();
  if (!isa<linalg::GenericOp>(op) || op.getNumParallelLoops() != loops ||
      !op.hasPureBufferSemantics() || op->walk([](linalg::IndexOp) {
                                          return WalkResult::interrupt();
                                        }).wasInterrupted() ||
      llvm::any_of(op->getOperands(),
                   [&](Value each) { return isOwn(each, op); }))
    return op;
  unsigned first = loops;
  while (first > 0 && llvm::all_of(op->getOpOperands(), [&](OpOperand &each) {
           return findDense(op, each, first - 1).has_value();
         }))
    --first;
  if (loops - first < 2)
    return op;
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    const unsigned dimension = *findDense(op, operand, first);
    SmallVector<AffineExpr> results =
        llvm::to_vector(map.getResults().take_front(dimension));
    Value value = operand.get();
    if (dimension < map.getNumResults()) {
      results.push_back(getAffineDimExpr(first, context));
      SmallVector<ReassociationIndices> groups;
      for (unsigned place = 0; place < map.getNumResults(); ++place) {
        if (place <= dimension)
          groups.emplace_back();
        groups.back().push_back(place);
      }
      value = memref::CollapseShapeOp::create(rewriter, loc, value, groups);
    }
    operands.push_back(value);
    maps.push_back(AffineMap::get(first + 1, 0, results, context));
  }
  const unsigned inputs = op.getNumDpsInputs();
  auto flat = linalg::GenericOp::create(
      rewriter, loc, TypeRange(), ArrayRef(operands).take_front(inputs),
      ArrayRef(operands).drop_front(inputs), maps,
      SmallVector<utils::IteratorType>(first + 1,
                                       utils::IteratorType::parallel));
  rewriter.inlineRegionBefore(op->getRegion(0), flat.getRegion(),
                              flat.getRegion().end());
  rewriter.eraseOp(op);
  return flat;
}

void offload::makeLoops(RewriterBase &rewriter, linalg::LinalgOp op,
                        VectorRegisters registers) {
  if (contractByVectors(rewriter, op, registers))
    return;
  op = flatten(rewriter, op);
  rewriter.setInsertionPoint(op);
  LoopWriter(rewriter, op).writeOneThread();
  rewriter.eraseOp(op);
}

std::optional<int64_t> offload::findMostRounds(linalg::LinalgOp op,
                                               unsigned loop) {
  int64_t rounds = op.getStaticLoopRanges()[loop];
  if (!ShapedType::isDynamic(rounds))
    return rounds;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [place, result] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(result);
      if (!dim || dim.getPosition() != loop)
        continue;
      FailureOr<int64_t> most = ValueBoundsConstraintSet::computeConstantBound(
          presburger::BoundType::UB,
          ValueBoundsConstraintSet::Variable(operand.get(), int64_t(place)),
          nullptr, /*closedUB=*/true);
      if (succeeded(most))
        return *most;
    }
  }
  return std::nullopt;
}

void offload::distribute(RewriterBase &rewriter, linalg::LinalgOp op,
                         Value thread, int64_t threads, bool hasAsyncCopies) {
  // A product of few results is a reduction.
  if (reduceByThreads(rewriter, op, thread, threads) ||
      contractByThreads(rewriter, op, thread, threads, hasAsyncCopies) ||
      elementsByThreads(rewriter, op, thread, threads))
    return;
  rewriter.setInsertionPoint(op);
  LoopWriter(rewriter, op).writeThreads(thread, threads);
  rewriter.eraseOp(op);
}
