//===- ContractByVectors.cpp - products of one thread ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of one thread: the sums of some rows and of some vectors of columns
// are registers of the processor. Columns are copied to where they lie one
// behind the other, for some steps of the reduction at a time; where steps lie
// so in memory, squares of columns and steps are turned in registers. The
// reduction stays a nest of loops: no step divides.
//===----------------------------------------------------------------------===//

#include "ContractionWriter.h"
#include "Distribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

namespace {
/// A product of bytes. Processors multiply floats faster than integers: the
/// sums of some steps are exact in f32, and are added up as integers.
struct Bytes {
  bool isRowSigned, isColumnSigned;
  /// The sums are less than 2^24.
  static constexpr int64_t mostSteps = (1 << 24) / (255 * 255);
};
} // namespace

static std::optional<Bytes> matchBytes(Contraction &product) {
  linalg::LinalgOp op = product.op;
  Block &body = *op.getBlock();
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddIOp>();
  if (!sum || sum.getType().getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  BlockArgument before = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  Value other = sum.getLhs() == before ? sum.getRhs() : sum.getLhs();
  auto times = other.getDefiningOp<arith::MulIOp>();
  if (!times || (sum.getLhs() != before && sum.getRhs() != before))
    return std::nullopt;
  OpOperand *inputs[] = {product.rows, product.columns};
  std::optional<bool> isSigned[2];
  for (Value factor : times->getOperands()) {
    Operation *cast = factor.getDefiningOp();
    if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(cast) ||
        !cast->getOperand(0).getType().isInteger(8))
      return std::nullopt;
    for (auto [place, input] : llvm::enumerate(inputs))
      if (cast->getOperand(0) == op.getMatchingBlockArgument(input))
        isSigned[place] = isa<arith::ExtSIOp>(cast);
  }
  if (!isSigned[0] || !isSigned[1])
    return std::nullopt;
  return Bytes{*isSigned[0], *isSigned[1]};
}

namespace {
/// Writes the loops, at the builder's place.
class VectorWriter : ContractionWriter {
public:
  VectorWriter(RewriterBase &b, Contraction &product, VectorRegisters registers)
      : ContractionWriter(b, product), output(op.getDpsInitOperand(0)),
        bytes(matchBytes(product)) {
    for (const Range &range : op.createLoopRanges(b, loc))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
    chooseSums(registers);
    chooseSteps();
  }
  void write();

private:
  void chooseSums(VectorRegisters registers);
  void chooseSteps();
  /// Calls `body` with the counter of a loop from 0 to `to`.
  void loop(Value to, int64_t step, function_ref<void(Value)> body);
  Value load(OpOperand *operand) {
    return memref::LoadOp::create(b, loc, operand->get(),
                                  product.getPlace(b, operand, indices));
  }
  /// Loops over the steps that are packed, `count` rounds of the loop that is
  /// cut. Sets the indices of the reduction, and calls `body` with the place of
  /// a step's columns in `packed` and with the sums before it. Returns the sums
  /// behind the last step.
  SmallVector<Value>
  loopSteps(Value from, Value count, ValueRange sums,
            function_ref<SmallVector<Value>(Value, ValueRange)> body);
  void pack(Value from, Value count, Value column, Value full);
  void packByElement(Value from, Value count, Value column, Value left);
  /// Whether columns are read by vectors of steps.
  bool hasVectorsOfSteps();
  void packSquares(Value from, Value count, Value column);
  /// `isPacked`: the columns are read from there, else where they are.
  void writeRows(Value from, Value count, Value column, Value full,
                 bool isPacked);
  /// Whether each column is used for one tile of rows only, and columns lie
  /// side by side: then to pack them is work for nothing.
  bool readsColumnsOnce();
  SmallVector<Value> loadSums(Value row, Value column, Value full);
  void storeSums(ValueRange sums, Value row, Value column, Value full);
  bool isContiguous(OpOperand *operand);
  void setRow(Value row, int64_t further);
  Type getPackedType() {
    return bytes ? b.getF32Type() : product.getElementType(product.columns);
  }
  /// A byte, or a vector of them, as it is multiplied.
  Value toFloat(Value byte, bool isSigned);
  Value multiplyAndAdd(Value row, Value column, Value sum);
  /// The sums of some steps are taken by themselves, which loses fewer digits
  /// of floats than one sum of all does: their type, what they begin with, and
  /// the sums of all steps behind them.
  Type getStepType() {
    return bytes ? b.getF32Type() : product.getElementType(output);
  }
  Value beginSteps();
  Value addSteps(Value sum, Value added);

  OpOperand *output;
  std::optional<Bytes> bytes;
  SmallVector<Value> sizes;
  int64_t rows, columns, lanes;
  /// Loops of the reduction: those around what is packed, the one of which
  /// `rounds` rounds are packed, and those that are packed as a whole, which
  /// are `wholeSteps` steps.
  ArrayRef<unsigned> aroundLoops, wholeLoops;
  unsigned cutLoop;
  int64_t rounds, wholeSteps = 1;
  VectorType sumType, columnType;
  Value packed, partial;
};
} // namespace

/// The sums that the registers hold and that take the least time: two products
/// or loads start in a cycle, and a sum is ready for the next product after
/// about five.
void VectorWriter::chooseSums(VectorRegisters registers) {
  Type sum = getStepType();
  lanes = std::max<int64_t>(registers.bits / sum.getIntOrFloatBitWidth(), 1);
  // For an element of a row, and what its product takes: of integers several
  // instructions, where a processor has none for it.
  const int64_t spare = isa<FloatType>(sum) ? 2 : 6;
  // Of bytes fewer: an element of a row is converted for each tile's columns.
  const int64_t mostRows = bytes ? 4 : 8;
  const SmallVector<int64_t> known = op.getStaticLoopRanges();
  const int64_t allRows = known[product.rowLoop];
  // No wider than there are columns, as of a convolution's gradient.
  int64_t widest = 8 * lanes;
  if (int64_t all = known[product.columnLoop]; !ShapedType::isDynamic(all))
    widest = std::min<int64_t>(widest, llvm::PowerOf2Ceil(all));
  rows = 1;
  columns = std::min(lanes, widest);
  double least = HUGE_VAL;
  for (int64_t down = mostRows; down >= 1; --down)
    for (int64_t across = 1; across == 1 || across * lanes <= widest;
         across *= 2) {
      if (down * across + across + spare > registers.count)
        continue;
      double turns = 1. / down;
      if (!ShapedType::isDynamic(allRows))
        turns = double(llvm::divideCeil(allRows, down)) /
                std::max<int64_t>(allRows, 1);
      double cycles = std::max({down * across / 2., (down + across) / 2., 5.});
      double time = turns * cycles / across;
      // Rather more rows, for which a vector of columns is loaded once.
      if (time >= least)
        continue;
      least = time;
      rows = down;
      columns = std::min(across * lanes, widest);
    }
}

/// As many steps as columns of them stay in the nearest cache.
void VectorWriter::chooseSteps() {
  int64_t stepBytes = getPackedType().getIntOrFloatBitWidth() / 8 * columns;
  // Sums of more steps lose digits.
  int64_t most = std::clamp<int64_t>((32 << 10) / stepBytes, 16, 256);
  if (bytes)
    most = std::min(most, Bytes::mostSteps);
  const SmallVector<int64_t> known = op.getStaticLoopRanges();
  ArrayRef<unsigned> loops = product.reductionLoops;
  size_t cut = loops.size() - 1;
  for (; cut > 0; --cut) {
    int64_t size = known[loops[cut]];
    if (ShapedType::isDynamic(size) || size < 1 || size > most / wholeSteps)
      break;
    wholeSteps *= size;
  }
  aroundLoops = loops.take_front(cut);
  cutLoop = loops[cut];
  wholeLoops = loops.drop_front(cut + 1);
  rounds = most / wholeSteps;
  // Pieces of about the same length.
  if (int64_t size = known[cutLoop]; !ShapedType::isDynamic(size) && size > 0)
    rounds = llvm::divideCeil(size, llvm::divideCeil(size, rounds));
}

Value VectorWriter::toFloat(Value byte, bool isSigned) {
  Type type = b.getF32Type();
  if (auto vector = dyn_cast<VectorType>(byte.getType()))
    type = vector.cloneWith(std::nullopt, type);
  if (isSigned)
    return arith::SIToFPOp::create(b, loc, type, byte);
  return arith::UIToFPOp::create(b, loc, type, byte);
}

Value VectorWriter::multiplyAndAdd(Value row, Value column, Value sum) {
  if (!bytes)
    return product.compute(b, row, column, sum);
  Value times = arith::MulFOp::create(b, loc, row, column);
  return arith::AddFOp::create(b, loc, sum, times);
}

Value VectorWriter::beginSteps() {
  Type element = getStepType();
  TypedAttr zero = b.getZeroAttr(element);
  // The one that changes no number, not the sign of a zero either.
  if (auto type = dyn_cast<FloatType>(element); type && !bytes)
    zero = b.getFloatAttr(type, -0.0);
  return arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(VectorType::get({columns}, element), zero));
}

Value VectorWriter::addSteps(Value sum, Value added) {
  if (bytes)
    added = arith::FPToSIOp::create(b, loc, sumType, added);
  if (isa<FloatType>(sumType.getElementType()))
    return arith::AddFOp::create(b, loc, sum, added);
  return arith::AddIOp::create(b, loc, sum, added);
}

void VectorWriter::loop(Value to, int64_t step,
                        function_ref<void(Value)> body) {
  OpBuilder::InsertionGuard guard(b);
  body(open(to, step));
}

/// Whether columns that are side by side are so in memory.
bool VectorWriter::isContiguous(OpOperand *operand) {
  AffineMap map = op.getMatchingIndexingMap(operand);
  auto type = cast<MemRefType>(operand->get().getType());
  return map.getResult(map.getNumResults() - 1) ==
             b.getAffineDimExpr(product.columnLoop) &&
         type.isLastDimUnitStride();
}

SmallVector<Value> VectorWriter::loopSteps(
    Value from, Value count, ValueRange sums,
    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<scf::ForOp> loops;
  SmallVector<Value> before(sums);
  auto open = [&](Value to) {
    auto loop = scf::ForOp::create(b, loc, index(0), to, index(1), before);
    b.setInsertionPointToStart(loop.getBody());
    before.assign(loop.getRegionIterArgs().begin(),
                  loop.getRegionIterArgs().end());
    loops.push_back(loop);
    return loop.getInductionVar();
  };
  Value place = open(count);
  indices[cutLoop] = add(from, place);
  for (unsigned each : wholeLoops) {
    Value counter = open(sizes[each]);
    indices[each] = counter;
    place = add(arith::MulIOp::create(b, loc, place, sizes[each]), counter);
  }
  SmallVector<Value> next = body(place, before);
  for (scf::ForOp loop : llvm::reverse(loops)) {
    b.setInsertionPointToEnd(loop.getBody());
    if (!sums.empty())
      scf::YieldOp::create(b, loc, next);
    next = llvm::to_vector(ValueRange(loop.getResults()));
  }
  return next;
}

bool VectorWriter::hasVectorsOfSteps() {
  AffineMap map = op.getMatchingIndexingMap(product.columns);
  auto type = cast<MemRefType>(product.columns->get().getType());
  // Two different loops: a convolution's steps may overlap its columns.
  return wholeLoops.empty() && lanes > 1 && columns % lanes == 0 &&
         type.isLastDimUnitStride() && map.isProjectedPermutation() &&
         map.getResult(map.getNumResults() - 1) == b.getAffineDimExpr(cutLoop);
}

/// Turns a square of vectors: lane i of vector j becomes lane j of vector i.
static void turn(OpBuilder &b, Location loc, MutableArrayRef<Value> square) {
  const int64_t size = square.size();
  // At each distance, squares of that size beside the diagonal change places.
  for (int64_t distance = 1; distance < size; distance *= 2)
    for (int64_t i = 0; i < size; ++i) {
      if (i & distance)
        continue;
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < size; ++lane) {
        const bool isSecond = lane & distance;
        low.push_back(isSecond ? size + lane - distance : lane);
        high.push_back(isSecond ? size + lane : lane + distance);
      }
      Value one = square[i], other = square[i + distance];
      square[i] = vector::ShuffleOp::create(b, loc, one, other, low);
      square[i + distance] =
          vector::ShuffleOp::create(b, loc, one, other, high);
    }
}

/// Packs all columns of `count` steps, which are a multiple of the lanes.
void VectorWriter::packSquares(Value from, Value count, Value column) {
  Type element = product.getElementType(product.columns);
  auto type = VectorType::get({lanes}, element);
  loop(count, lanes, [&](Value step) {
    loop(index(columns), lanes, [&](Value first) {
      indices[cutLoop] = add(from, step);
      SmallVector<Value> square;
      for (int64_t i = 0; i < lanes; ++i) {
        indices[product.columnLoop] = add(column, add(first, index(i)));
        Value steps = vector::LoadOp::create(
            b, loc, type, product.columns->get(),
            product.getPlace(b, product.columns, indices));
        square.push_back(bytes ? toFloat(steps, bytes->isColumnSigned) : steps);
      }
      turn(b, loc, square);
      for (auto [i, each] : llvm::enumerate(square))
        vector::StoreOp::create(b, loc, each, packed,
                                ValueRange{add(step, index(i)), first});
    });
  });
}

/// Packs `left` columns one by one; behind the last one are zeros.
void VectorWriter::packByElement(Value from, Value count, Value column,
                                 Value left) {
  Type element = getPackedType();
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  loopSteps(from, count, {}, [&](Value step, ValueRange) {
    loop(left, 1, [&](Value each) {
      indices[product.columnLoop] = add(column, each);
      Value value = load(product.columns);
      memref::StoreOp::create(
          b, loc, bytes ? toFloat(value, bytes->isColumnSigned) : value, packed,
          ValueRange{step, each});
    });
    auto rest = scf::ForOp::create(b, loc, left, index(columns), index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rest.getBody());
    memref::StoreOp::create(b, loc, zero, packed,
                            ValueRange{step, rest.getInductionVar()});
    return SmallVector<Value>();
  });
}

/// Copies the columns from `column` on of the steps.
void VectorWriter::pack(Value from, Value count, Value column, Value full) {
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, loc, full, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  if (isContiguous(product.columns)) {
    loopSteps(from, count, {}, [&](Value step, ValueRange) {
      indices[product.columnLoop] = column;
      Value row =
          vector::LoadOp::create(b, loc, columnType, product.columns->get(),
                                 product.getPlace(b, product.columns, indices));
      vector::StoreOp::create(b, loc,
                              bytes ? toFloat(row, bytes->isColumnSigned) : row,
                              packed, ValueRange{step, index(0)});
      return SmallVector<Value>();
    });
  } else if (hasVectorsOfSteps()) {
    Value rest = arith::RemUIOp::create(b, loc, count, index(lanes));
    Value squares = arith::SubIOp::create(b, loc, count, rest);
    packSquares(from, squares, column);
    auto last = scf::ForOp::create(b, loc, squares, count, index(1));
    b.setInsertionPointToStart(last.getBody());
    indices[cutLoop] = add(from, last.getInductionVar());
    loop(index(columns), 1, [&](Value each) {
      indices[product.columnLoop] = add(column, each);
      Value value = load(product.columns);
      memref::StoreOp::create(
          b, loc, bytes ? toFloat(value, bytes->isColumnSigned) : value, packed,
          ValueRange{last.getInductionVar(), each});
    });
  } else {
    packByElement(from, count, column, index(columns));
  }
  b.setInsertionPointToStart(branch.elseBlock());
  packByElement(
      from, count, column,
      arith::SubIOp::create(b, loc, sizes[product.columnLoop], column));
}

/// A row behind the last one is the last one.
void VectorWriter::setRow(Value row, int64_t further) {
  Value wanted = further ? add(row, index(further)) : row;
  Value last = arith::SubIOp::create(b, loc, sizes[product.rowLoop], index(1));
  indices[product.rowLoop] = further ? min(wanted, last) : wanted;
}

SmallVector<Value> VectorWriter::loadSums(Value row, Value column, Value full) {
  SmallVector<Type> types(rows, sumType);
  auto branch = scf::IfOp::create(b, loc, types, full, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  Value left = nullptr;
  for (bool isFull : {true, false}) {
    b.setInsertionPointToStart(isFull ? branch.thenBlock()
                                      : branch.elseBlock());
    if (!isFull)
      left = arith::SubIOp::create(b, loc, sizes[product.columnLoop], column);
    SmallVector<Value> sums;
    for (int64_t i = 0; i < rows; ++i) {
      setRow(row, i);
      indices[product.columnLoop] = column;
      if (isFull && isContiguous(output)) {
        sums.push_back(
            vector::LoadOp::create(b, loc, sumType, output->get(),
                                   product.getPlace(b, output, indices)));
        continue;
      }
      loop(isFull ? index(columns) : left, 1, [&](Value each) {
        indices[product.columnLoop] = add(column, each);
        memref::StoreOp::create(b, loc, load(output), partial,
                                ValueRange{each});
      });
      sums.push_back(vector::LoadOp::create(b, loc, sumType, partial,
                                            ValueRange{index(0)}));
    }
    scf::YieldOp::create(b, loc, sums);
  }
  return branch.getResults();
}

void VectorWriter::storeSums(ValueRange sums, Value row, Value column,
                             Value full) {
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value there = less(add(row, index(i)), sizes[product.rowLoop]);
    auto isThere = scf::IfOp::create(b, loc, there);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(isThere.thenBlock());
    indices[product.rowLoop] = add(row, index(i));
    auto branch = scf::IfOp::create(b, loc, full, /*withElseRegion=*/true);
    for (bool isFull : {true, false}) {
      b.setInsertionPointToStart(isFull ? branch.thenBlock()
                                        : branch.elseBlock());
      indices[product.columnLoop] = column;
      if (isFull && isContiguous(output)) {
        vector::StoreOp::create(b, loc, sum, output->get(),
                                product.getPlace(b, output, indices));
        continue;
      }
      Value left =
          isFull
              ? index(columns)
              : arith::SubIOp::create(b, loc, sizes[product.columnLoop], column)
                    .getResult();
      vector::StoreOp::create(b, loc, sum, partial, ValueRange{index(0)});
      loop(left, 1, [&](Value each) {
        indices[product.columnLoop] = add(column, each);
        Value element =
            memref::LoadOp::create(b, loc, partial, ValueRange{each});
        memref::StoreOp::create(b, loc, element, output->get(),
                                product.getPlace(b, output, indices));
      });
    }
  }
}

bool VectorWriter::readsColumnsOnce() {
  const SmallVector<int64_t> known = op.getStaticLoopRanges();
  const int64_t all = known[product.rowLoop];
  return !ShapedType::isDynamic(all) && all <= rows &&
         product.splitOtherLoops().second.empty() &&
         isContiguous(product.columns);
}

void VectorWriter::writeRows(Value from, Value count, Value column, Value full,
                             bool isPacked) {
  loop(sizes[product.rowLoop], rows, [&](Value row) {
    SmallVector<Value> begin(rows, beginSteps());
    auto addStep = [&](Value step, ValueRange before) {
      Value ofStep;
      if (isPacked) {
        ofStep = vector::LoadOp::create(
            b, loc, VectorType::get({columns}, getPackedType()), packed,
            ValueRange{step, index(0)});
      } else {
        indices[product.columnLoop] = column;
        ofStep = vector::LoadOp::create(
            b, loc, columnType, product.columns->get(),
            product.getPlace(b, product.columns, indices));
        if (bytes)
          ofStep = toFloat(ofStep, bytes->isColumnSigned);
      }
      SmallVector<Value> next;
      for (int64_t i = 0; i < rows; ++i) {
        setRow(row, i);
        Value element = load(product.rows);
        if (bytes)
          element = toFloat(element, bytes->isRowSigned);
        next.push_back(multiplyAndAdd(
            vector::BroadcastOp::create(
                b, loc, VectorType::get({columns}, element.getType()), element),
            ofStep, before[i]));
      }
      return next;
    };
    SmallVector<Value> ofSteps = loopSteps(from, count, begin, addStep);
    SmallVector<Value> sums = loadSums(row, column, full);
    for (auto [sum, added] : llvm::zip(sums, ofSteps))
      sum = addSteps(sum, added);
    storeSums(sums, row, column, full);
  });
}

void VectorWriter::write() {
  OpBuilder::InsertionGuard guard(b);
  sumType = VectorType::get({columns}, product.getElementType(output));
  columnType =
      VectorType::get({columns}, product.getElementType(product.columns));
  {
    OpBuilder::InsertionGuard guard(b);
    if (auto launch = op->getParentOfType<gpu::LaunchOp>())
      b.setInsertionPointToStart(&launch.getBody().front());
    auto allocate = [&](ArrayRef<int64_t> shape, Type element) {
      return memref::AllocaOp::create(b, loc, MemRefType::get(shape, element),
                                      b.getI64IntegerAttr(64));
    };
    packed = allocate({rounds * wholeSteps, columns}, getPackedType());
    partial = allocate({columns}, sumType.getElementType());
  }
  // Rows of an image have the same columns: these are packed for all of them.
  auto others = product.splitOtherLoops();
  for (ArrayRef<unsigned> around : {ArrayRef(others.first), aroundLoops})
    for (unsigned each : around)
      indices[each] = open(sizes[each], 1);
  loop(sizes[cutLoop], rounds, [&](Value from) {
    Value count =
        min(arith::SubIOp::create(b, loc, sizes[cutLoop], from), index(rounds));
    loop(sizes[product.columnLoop], columns, [&](Value column) {
      Value full = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle,
                                         add(column, index(columns)),
                                         sizes[product.columnLoop]);
      OpBuilder::InsertionGuard guard(b);
      if (readsColumnsOnce()) {
        auto branch = scf::IfOp::create(b, loc, full, /*withElseRegion=*/true);
        b.setInsertionPointToStart(branch.thenBlock());
        writeRows(from, count, column, full, /*isPacked=*/false);
        b.setInsertionPointToStart(branch.elseBlock());
      }
      pack(from, count, column, full);
      for (unsigned each : llvm::reverse(others.second))
        indices[each] = open(sizes[each], 1);
      writeRows(from, count, column, full, /*isPacked=*/true);
    });
  });
}

bool offload::contractByVectors(RewriterBase &rewriter, linalg::LinalgOp op,
                                VectorRegisters registers) {
  std::optional<Contraction> product = Contraction::match(op);
  if (!product || !op.hasPureBufferSemantics())
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    Type type = product->getElementType(&operand);
    // Sums of these are in f32, or in i32.
    const bool isSum = &operand == op.getDpsInitOperand(0);
    if (!isSum && (type.isF16() || type.isBF16() || type.isInteger(8) ||
                   type.isInteger(16)))
      continue;
    if (!type.isF32() && !type.isF64() && !type.isInteger(32) &&
        !type.isInteger(64))
      return false;
  }
  rewriter.setInsertionPoint(op);
  VectorWriter(rewriter, *product, registers).write();
  rewriter.eraseOp(op);
  return true;
}
