//===- ContractByVectors.cpp - products of one thread ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of one thread: sums of some rows and as many columns as some vectors
// have are registers. Columns are copied to where they lie one behind the
// other, for some steps of the reduction at a time.
//===----------------------------------------------------------------------===//

#include "ContractionWriter.h"
#include "Distribute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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
  VectorWriter(RewriterBase &b, Contraction &product)
      : ContractionWriter(b, product), output(op.getDpsInitOperand(0)),
        bytes(matchBytes(product)) {
    for (const Range &range : op.createLoopRanges(b, loc))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
    chooseSizes();
  }
  void write();

private:
  void chooseSizes();
  /// Calls `body` with the counter of a loop from 0 to `to`.
  void loop(Value to, int64_t step, function_ref<void(Value)> body);
  Value load(OpOperand *operand) {
    return memref::LoadOp::create(b, loc, operand->get(),
                                  product.getPlace(b, operand, indices));
  }
  void pack(Value from, Value count, Value column, Value full);
  void writeRows(Value from, Value count, Value column, Value full);
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
    return bytes ? b.getF32Type() : sumType.getElementType();
  }
  Value beginSteps();
  Value addSteps(Value sum, Value added);

  OpOperand *output;
  std::optional<Bytes> bytes;
  SmallVector<Value> sizes;
  Value depth;
  int64_t rows, columns, steps;
  VectorType sumType, columnType;
  Value packed, partial;
};
} // namespace

void VectorWriter::chooseSizes() {
  int64_t most = op.getStaticLoopRanges()[product.rowLoop];
  // Of bytes fewer: an element of a row is converted for each tile's columns.
  const int64_t mostRows = bytes ? 4 : 8;
  rows = ShapedType::isDynamic(most) ? mostRows
                                     : std::clamp<int64_t>(most, 1, mostRows);
  int64_t bits = product.getElementType(output).getIntOrFloatBitWidth();
  // Two vectors of 512 bits, more where rows are too few to fill the pipeline.
  columns = 1024 / bits * (rows <= 2 ? 4 : rows <= 4 ? 2 : 1);
  // No wider than there are columns, as of a convolution's gradient.
  if (int64_t known = op.getStaticLoopRanges()[product.columnLoop];
      !ShapedType::isDynamic(known))
    columns = std::min<int64_t>(columns, llvm::PowerOf2Ceil(known));
  int64_t stepBytes = getPackedType().getIntOrFloatBitWidth() / 8 * columns;
  // Sums of more steps lose digits.
  steps = std::clamp<int64_t>((32 << 10) / stepBytes, 16, 256);
  if (bytes)
    steps = std::min(steps, Bytes::mostSteps);
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

/// Copies `count` steps of the columns from `column` on; behind the last one
/// are zeros.
void VectorWriter::pack(Value from, Value count, Value column, Value full) {
  Type element = getPackedType();
  auto convert = [&](Value value) {
    return bytes ? toFloat(value, bytes->isColumnSigned) : value;
  };
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  Value left =
      min(arith::SubIOp::create(b, loc, sizes[product.columnLoop], column),
          index(columns));
  loop(count, 1, [&](Value step) {
    setIndices(b, loc, add(from, step), product.reductionLoops, sizes, indices);
    auto byElement = [&] {
      loop(left, 1, [&](Value each) {
        indices[product.columnLoop] = add(column, each);
        memref::StoreOp::create(b, loc, convert(load(product.columns)), packed,
                                ValueRange{step, each});
      });
    };
    auto branch = scf::IfOp::create(b, loc, full, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (isContiguous(product.columns)) {
      indices[product.columnLoop] = column;
      Value row =
          vector::LoadOp::create(b, loc, columnType, product.columns->get(),
                                 product.getPlace(b, product.columns, indices));
      vector::StoreOp::create(b, loc, convert(row), packed,
                              ValueRange{step, index(0)});
    } else {
      byElement();
    }
    b.setInsertionPointToStart(branch.elseBlock());
    byElement();
    auto rest = scf::ForOp::create(b, loc, left, index(columns), index(1));
    b.setInsertionPointToStart(rest.getBody());
    memref::StoreOp::create(b, loc, zero, packed,
                            ValueRange{step, rest.getInductionVar()});
  });
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

void VectorWriter::writeRows(Value from, Value count, Value column,
                             Value full) {
  loop(sizes[product.rowLoop], rows, [&](Value row) {
    SmallVector<Value> begin(rows, beginSteps());
    auto steps = scf::ForOp::create(b, loc, index(0), count, index(1), begin);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(steps.getBody());
      Value step = steps.getInductionVar();
      setIndices(b, loc, add(from, step), product.reductionLoops, sizes,
                 indices);
      Value column = vector::LoadOp::create(
          b, loc, VectorType::get({columns}, getPackedType()), packed,
          ValueRange{step, index(0)});
      SmallVector<Value> next;
      for (int64_t i = 0; i < rows; ++i) {
        setRow(row, i);
        Value element = load(product.rows);
        if (bytes)
          element = toFloat(element, bytes->isRowSigned);
        next.push_back(multiplyAndAdd(
            vector::BroadcastOp::create(
                b, loc, VectorType::get({columns}, element.getType()), element),
            column, steps.getRegionIterArgs()[i]));
      }
      scf::YieldOp::create(b, loc, next);
    }
    SmallVector<Value> sums = loadSums(row, column, full);
    for (auto [sum, added] : llvm::zip(sums, steps.getResults()))
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
    packed = allocate({steps, columns}, getPackedType());
    partial = allocate({columns}, sumType.getElementType());
  }
  depth = countRounds(b, loc, product.reductionLoops, sizes);
  for (unsigned each : product.otherLoops) {
    auto created = scf::ForOp::create(b, loc, index(0), sizes[each], index(1));
    b.setInsertionPointToStart(created.getBody());
    indices[each] = created.getInductionVar();
  }
  loop(depth, steps, [&](Value from) {
    Value count = min(arith::SubIOp::create(b, loc, depth, from), index(steps));
    loop(sizes[product.columnLoop], columns, [&](Value column) {
      Value full = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle,
                                         add(column, index(columns)),
                                         sizes[product.columnLoop]);
      pack(from, count, column, full);
      writeRows(from, count, column, full);
    });
  });
}

bool offload::contractByVectors(RewriterBase &rewriter, linalg::LinalgOp op) {
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
  VectorWriter(rewriter, *product).write();
  rewriter.eraseOp(op);
  return true;
}
