//===- RowsByThreads.cpp - rows that stay in registers --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block that reduces rows and computes with what they come to, as softmax and
// layer norm do: each thread has the same elements of a row in all of its ops,
// so that they are read once, and what the ops hand on is in registers.
//===----------------------------------------------------------------------===//

#include "BodyEffects.h"
#include "Combiner.h"
#include "Contraction.h"
#include "Distribute.h"
#include "Lanes.h"
#include "OwnMemory.h"
#include "SameMemory.h"
#include "Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

static bool isParallel(utils::IteratorType kind) {
  return kind == utils::IteratorType::parallel;
}

namespace {
class RowWriter {
public:
  RowWriter(RewriterBase &b, ArrayRef<linalg::LinalgOp> ops, Value thread,
            int64_t threads)
      : b(b), ops(ops), loc(thread.getLoc()), thread(thread), threads(threads) {
  }

  /// False if the ops do not go through the same rows.
  bool match();
  void write();

private:
  /// Most elements of a row that a thread has, and most values that it keeps.
  static constexpr int64_t mostOwn = 32, mostKept = 128;

  /// What an op, or an operand of one, has an element for.
  enum class Extent { Element, Row, Other };

  bool matchShape(linalg::LinalgOp op);
  bool matchOp(linalg::LinalgOp op);
  bool matchOperand(OpOperand &operand);
  /// The loops that have more than one round.
  static SmallVector<unsigned> getLoops(linalg::LinalgOp op) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    return llvm::filter_to_vector(
        llvm::seq<unsigned>(0, sizes.size()),
        [&](unsigned loop) { return sizes[loop] != 1; });
  }
  bool isReduction(linalg::LinalgOp op) {
    return op.getNumReductionLoops() != 0;
  }
  bool isElementwise(linalg::LinalgOp op) {
    return !isReduction(op) &&
           getLoops(op).size() == rowSizes.size() + columnSizes.size();
  }
  Extent getExtent(OpOperand &operand);
  /// Whether nothing but these ops uses it.
  bool isOwn(Value memory);
  static bool isMemory(Value value) { return isa<MemRefType>(value.getType()); }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value isBelow(Value value, int64_t limit) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, value,
                                 index(limit));
  }
  Lanes getLanes(linalg::LinalgOp op, const Combination &combination) {
    return Lanes(b, op, combination, rows, lanes, /*isAlong=*/true);
  }
  void setPlaces();
  /// Of how many elements a thread computes the op.
  int64_t countOwn(linalg::LinalgOp op) {
    return isReduction(op) || isElementwise(op) ? own : 1;
  }
  /// The op's indices at one of the thread's elements.
  SmallVector<Value> getIndices(linalg::LinalgOp op, int64_t element) {
    SmallVector<Value> all(op.getNumLoops(), zero);
    for (auto [loop, index] : llvm::zip(getLoops(op), indices[element]))
      all[loop] = index;
    return all;
  }
  bool differs(OpOperand &operand);
  ArrayRef<Value> getValues(OpOperand &operand);
  Value getValue(OpOperand &operand, int64_t element);
  Value load(OpOperand &operand, int64_t element);
  void waitForReaders(linalg::LinalgOp op);
  void setValues(OpOperand &operand, ArrayRef<Value> values, int64_t from = 0);
  SmallVector<IRMapping> mapInputs(linalg::LinalgOp op, int64_t from,
                                   int64_t to);
  void writeElements(linalg::LinalgOp op);
  void writeReduction(linalg::LinalgOp op);

  RewriterBase &b;
  ArrayRef<linalg::LinalgOp> ops;
  Location loc;
  Value thread;
  const int64_t threads;
  SmallVector<int64_t> rowSizes, columnSizes;
  int64_t rows = 1, columns = 1;
  /// Threads of a row, and elements that each of them has.
  int64_t lanes = 0, own = 0;
  /// Memory of the block's own that registers stand for, and what it holds.
  llvm::SmallMapVector<Value, Extent, 8> ownMemory;

  Value row, lane, zero;
  /// Of each of the thread's elements, the indices of rows and columns.
  SmallVector<SmallVector<Value>> indices;
  /// Whether the element is there; null: it is.
  SmallVector<Value> isThere;
  /// What memory holds at the thread's elements, or one for the row.
  llvm::DenseMap<std::pair<Value, AffineMap>, SmallVector<Value>> known;
  /// Memory that was read, since the last barrier, where another thread may
  /// write it.
  llvm::SmallSetVector<Value, 4> readElsewhere;
};
} // namespace

/// Of a reduction: rows are its parallel loops, columns the others.
bool RowWriter::matchShape(linalg::LinalgOp op) {
  if (!isAlongReduction(op))
    return false;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (unsigned loop : getLoops(op)) {
    bool isRow = isParallel(op.getIteratorTypesArray()[loop]);
    int64_t &product = isRow ? rows : columns;
    if (sizes[loop] <= 0 || llvm::MulOverflow(product, sizes[loop], product))
      return false;
    (isRow ? rowSizes : columnSizes).push_back(sizes[loop]);
  }
  if (rows > threads || columnSizes.empty())
    return false;
  lanes = llvm::bit_floor(uint64_t(threads / rows));
  own = llvm::divideCeil(columns, lanes);
  return lanes >= 4 && own <= mostOwn;
}

RowWriter::Extent RowWriter::getExtent(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  auto type = cast<MemRefType>(operand.get().getType());
  SmallVector<unsigned> loops = getLoops(op);
  unsigned next = 0;
  for (auto [place, result] :
       llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
    if (type.getDimSize(place) == 1)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim || next == loops.size() || dim.getPosition() != loops[next++])
      return Extent::Other;
  }
  return next == rowSizes.size() + columnSizes.size() ? Extent::Element
         : next == rowSizes.size()                    ? Extent::Row
                                                      : Extent::Other;
}

bool RowWriter::isOwn(Value memory) {
  return memory.getDefiningOp<memref::AllocOp>() &&
         llvm::all_of(memory.getUsers(), [&](Operation *user) {
           return isa<memref::DeallocOp>(user) ||
                  llvm::is_contained(ops, dyn_cast<linalg::LinalgOp>(user));
         });
}

bool RowWriter::matchOperand(OpOperand &operand) {
  Value memory = operand.get();
  if (!isMemory(memory))
    return true;
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  Extent extent = getExtent(operand);
  Extent ofOp = isElementwise(op) ? Extent::Element : Extent::Row;
  if (op.isDpsInit(&operand) && extent != ofOp)
    return false;
  if (!isOwn(memory))
    return true;
  return extent != Extent::Other &&
         ownMemory.try_emplace(memory, extent).first->second == extent;
}

bool RowWriter::matchOp(linalg::LinalgOp op) {
  // Threads behind the last row or column do as another one.
  if (!op.hasPureBufferSemantics() || isContraction(op) ||
      getBodyEffects(op).writes)
    return false;
  SmallVector<int64_t> sizes, all(rowSizes);
  llvm::append_range(all, columnSizes);
  for (unsigned loop : getLoops(op)) {
    bool isRow = sizes.size() < rowSizes.size();
    if (isReduction(op) &&
        isRow != isParallel(op.getIteratorTypesArray()[loop]))
      return false;
    sizes.push_back(op.getStaticLoopRanges()[loop]);
  }
  if (isReduction(op)
          ? sizes != all || op.getNumDpsInits() != 1 || !findCombiner(op, 0)
          : sizes != all && sizes != rowSizes)
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    return matchOperand(operand);
  });
}

bool RowWriter::match() {
  auto first =
      llvm::find_if(ops, [&](linalg::LinalgOp op) { return isReduction(op); });
  if (first == ops.end() || !matchShape(*first) ||
      !llvm::all_of(ops, [&](linalg::LinalgOp op) { return matchOp(op); }) ||
      llvm::none_of(ops,
                    [&](linalg::LinalgOp op) { return isElementwise(op); }))
    return false;
  // What others see is written when all has been read, and in registers there
  // is what a thread has for all of its elements.
  bool isWritten = false;
  llvm::SmallDenseSet<Value> elements, written;
  for (linalg::LinalgOp op : ops) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value memory = operand.get();
      if (!isMemory(memory))
        continue;
      bool isRead =
          op.isDpsInput(&operand) || op.payloadUsesValueFromOperand(&operand);
      if (isRead &&
          (ownMemory.contains(memory) ? !written.contains(memory) : isWritten))
        return false;
      if (getExtent(operand) == Extent::Element)
        elements.insert(memory);
    }
    for (Value memory : op.getDpsInits()) {
      written.insert(memory);
      isWritten |= !ownMemory.contains(memory);
    }
  }
  if (int64_t(elements.size()) * own > mostKept)
    return false;
  int64_t bytes = 0;
  for (linalg::LinalgOp op : ops)
    if (isReduction(op))
      bytes += getLanes(op, *Combination::match(op)).countWorkgroupBytes();
  return hasWorkgroupMemory(ops.front()->getParentOfType<gpu::LaunchOp>(),
                            bytes);
}

void RowWriter::setPlaces() {
  zero = index(0);
  lane = arith::RemUIOp::create(b, loc, thread, index(lanes));
  row = arith::DivUIOp::create(b, loc, thread, index(lanes));
  auto constants = [&](ArrayRef<int64_t> sizes) {
    return llvm::map_to_vector(sizes,
                               [&](int64_t size) { return index(size); });
  };
  // Threads behind the last row do as that of it, and write nothing. Behind the
  // last column a thread has its first element again, or if it has none that of
  // the last column.
  Value there = rows * lanes == threads
                    ? row
                    : arith::MinUIOp::create(b, loc, row, index(rows - 1));
  SmallVector<Value> ofRow = delinearize(b, loc, there, constants(rowSizes));
  for (int64_t i = 0; i < own; ++i) {
    Value column = arith::AddIOp::create(b, loc, lane, index(i * lanes));
    isThere.push_back(Value());
    if ((i + 1) * lanes > columns) {
      isThere.back() = isBelow(column, columns);
      column = i ? arith::SelectOp::create(b, loc, isThere.back(), column, lane)
                       .getResult()
                 : arith::MinUIOp::create(b, loc, column, index(columns - 1));
    }
    indices.push_back(ofRow);
    llvm::append_range(indices.back(),
                       delinearize(b, loc, column, constants(columnSizes)));
  }
}

/// Nobody writes what another thread has yet to read.
void RowWriter::waitForReaders(linalg::LinalgOp op) {
  if (llvm::none_of(op.getDpsInits(), [&](Value init) {
        return !ownMemory.contains(init) &&
               llvm::any_of(readElsewhere, [&](Value read) {
                 return mayBeSame(read, getViewed(init));
               });
      }))
    return;
  gpu::BarrierOp::create(b, loc);
  readElsewhere.clear();
}

Value RowWriter::load(OpOperand &operand, int64_t element) {
  if (isMemory(operand.get()) &&
      (getExtent(operand) != Extent::Element || rows * lanes != threads ||
       (own == 1 && isThere.front())))
    readElsewhere.insert(getViewed(operand.get()));
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  return loadInput(b, op, &operand, getIndices(op, element));
}

/// Whether a row has more than one element of it.
bool RowWriter::differs(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  return llvm::any_of(ArrayRef(getLoops(op)).drop_front(rowSizes.size()),
                      [&](unsigned loop) { return map.isFunctionOfDim(loop); });
}

/// One for each of the thread's elements, or the one that all of them have.
ArrayRef<Value> RowWriter::getValues(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  const bool isKept = ownMemory.contains(operand.get());
  SmallVector<Value> &values =
      known[{operand.get(), isKept ? AffineMap() : map}];
  if (!values.empty())
    return values;
  assert(!isKept && "read before it is written");
  for (int64_t i = 0; i < (differs(operand) ? own : 1); ++i)
    values.push_back(load(operand, i));
  return values;
}

/// That of one element, which nobody asks for again if it is the last op's.
Value RowWriter::getValue(OpOperand &operand, int64_t element) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (op == ops.back() && differs(operand) &&
      !ownMemory.contains(operand.get()) &&
      !known.contains({operand.get(), map}))
    return load(operand, element);
  ArrayRef<Value> values = getValues(operand);
  return values[values.size() == 1 ? 0 : element];
}

/// From the thread's element number `from` on.
void RowWriter::setValues(OpOperand &operand, ArrayRef<Value> values,
                          int64_t from) {
  if (ownMemory.contains(operand.get())) {
    known[{operand.get(), AffineMap()}].assign(values.begin(), values.end());
    return;
  }
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  for (auto [place, value] : llvm::enumerate(values)) {
    const int64_t i = from + place;
    Value writes = rows * lanes == threads ? Value() : isBelow(row, rows);
    auto onlyIf = [&](Value also) {
      if (also)
        writes = writes ? arith::AndIOp::create(b, loc, writes, also) : also;
    };
    onlyIf(isElementwise(op) ? isThere[i] : isBelow(lane, 1));
    OpBuilder::InsertionGuard guard(b);
    if (writes)
      b.setInsertionPointToStart(scf::IfOp::create(b, loc, writes).thenBlock());
    memref::StoreOp::create(b, loc, value, operand.get(),
                            applyMap(b, loc,
                                     op.getMatchingIndexingMap(&operand),
                                     getIndices(op, i)));
  }
}

/// Of some of the thread's elements. All are loaded before the first is used.
SmallVector<IRMapping> RowWriter::mapInputs(linalg::LinalgOp op, int64_t from,
                                            int64_t to) {
  SmallVector<IRMapping> maps(to - from);
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty() || (isReduction(op) && op.isDpsInit(&operand)))
      continue;
    for (auto [place, map] : llvm::enumerate(maps))
      map.map(argument, getValue(operand, from + place));
  }
  return maps;
}

void RowWriter::writeElements(linalg::LinalgOp op) {
  // What the last op loads besides takes registers: a few elements at a time,
  // if none is another thread's.
  const bool isByFew = op == ops.back() && rows * lanes == threads;
  const int64_t count = countOwn(op), together = isByFew ? 4 : count;
  for (int64_t from = 0; from < count; from += together) {
    const int64_t to = std::min(from + together, count);
    SmallVector<SmallVector<Value>> results(op.getNumDpsInits());
    for (auto [place, map] : llvm::enumerate(mapInputs(op, from, to)))
      for (auto [result, value] : llvm::zip(
               results, cloneBody(b, op, getIndices(op, from + place), map)))
        result.push_back(value);
    waitForReaders(op);
    for (auto [init, values] : llvm::zip(op.getDpsInitsMutable(), results))
      setValues(init, values, from);
  }
}

void RowWriter::writeReduction(linalg::LinalgOp op) {
  OpOperand &output = *op.getDpsInitOperand(0);
  const Combination combination = *Combination::match(op);
  Value before = getValues(output).front();
  Value mine = combination.begin(b, before).front();
  for (auto [i, map] : llvm::enumerate(mapInputs(op, 0, own))) {
    map.map(op.getMatchingBlockArgument(&output), mine);
    Value now = cloneBody(b, op, getIndices(op, i), map).front();
    mine = isThere[i] ? arith::SelectOp::create(b, loc, isThere[i], now, mine)
                      : now;
  }
  Lanes all = getLanes(op, combination);
  SmallVector<Value> total =
      combination.combine(b, before, all.reduce(mine, row, lane));
  if (all.waits())
    readElsewhere.clear();
  waitForReaders(op);
  setValues(output, total);
}

void RowWriter::write() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(ops.front());
  setPlaces();
  for (linalg::LinalgOp op : ops) {
    b.setInsertionPoint(op);
    loc = op.getLoc();
    if (isReduction(op))
      writeReduction(op);
    else
      writeElements(op);
  }
  for (linalg::LinalgOp op : ops)
    b.eraseOp(op);
  for (auto [memory, extent] : ownMemory) {
    for (Operation *user : llvm::make_early_inc_range(memory.getUsers()))
      b.eraseOp(user);
    b.eraseOp(memory.getDefiningOp());
  }
}

bool offload::rowsByThreads(RewriterBase &rewriter,
                            ArrayRef<linalg::LinalgOp> ops, Value thread,
                            int64_t threads) {
  if (ops.size() < 2)
    return false;
  RowWriter writer(rewriter, ops, thread, threads);
  if (!writer.match())
    return false;
  writer.write();
  return true;
}
