//===- Matrices.cpp - matrices of a subgroup --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu.mma_matrix for the cpu: each thread holds the left and the right factor
// whole, as a vector, and of a sum every 32nd element, from its lane on. So a
// product needs no exchange, and only stores make threads meet.
//===----------------------------------------------------------------------===//

#include "Kernels/CPU/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;
using gpu::MMAMatrixType;

bool cpu::isMatrixOp(Operation *op) {
  return isa<gpu::SubgroupMmaLoadMatrixOp, gpu::SubgroupMmaStoreMatrixOp,
             gpu::SubgroupMmaComputeOp, gpu::SubgroupMmaConstantMatrixOp,
             gpu::SubgroupMmaElementwiseOp>(op);
}

//===----------------------------------------------------------------------===//
// What a thread holds
//===----------------------------------------------------------------------===//

static bool isSum(MMAMatrixType type) { return type.getOperand() == "COp"; }

static int64_t getSize(MMAMatrixType type) {
  return type.getShape()[0] * type.getShape()[1];
}

/// The elements of a matrix of `type` that one thread holds.
static VectorType getThreadType(MMAMatrixType type) {
  Type element = type.getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    element = IntegerType::get(type.getContext(), integer.getWidth());
  int64_t count = getSize(type);
  if (isSum(type))
    count = std::max<int64_t>(1, count / warpSize);
  return VectorType::get({count}, element);
}

static LogicalResult checkType(Operation *op, MMAMatrixType type) {
  if (isSum(type) && getSize(type) % warpSize)
    return op->emitOpError("is not supported by the cpu device for ")
           << type << ": its elements are no multiple of " << warpSize;
  return success();
}

static LogicalResult checkMemRef(Operation *op, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (isa<VectorType>(type.getElementType()))
    return op->emitOpError("is not supported by the cpu device for ")
           << type << ": its elements are vectors";
  return success();
}

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

namespace {
/// A matrix op, with the matrices' types from before they became vectors; since
/// then the accessors of matrix operands do not hold.
struct MatrixOp {
  Operation *op;
  SmallVector<MMAMatrixType> operands;
  MMAMatrixType result;
};

class Expansion {
public:
  explicit Expansion(Operation *op)
      : builder(op), loc(op->getLoc()),
        index(IndexType::get(op->getContext())) {}

  FailureOr<Value> expand(gpu::SubgroupMmaLoadMatrixOp op, MMAMatrixType type);
  void expand(gpu::SubgroupMmaStoreMatrixOp op, MMAMatrixType type);
  FailureOr<Value> expand(gpu::SubgroupMmaConstantMatrixOp op,
                          MMAMatrixType type);
  Value expand(gpu::SubgroupMmaComputeOp op, const MatrixOp &matrices);
  Value expand(gpu::SubgroupMmaElementwiseOp op, MMAMatrixType type);

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulIOp::create(builder, loc, a, b);
  }
  Value load(Value memref, ValueRange indices) {
    return memref::LoadOp::create(builder, loc, memref, indices);
  }
  void store(Value value, Value memref, ValueRange indices) {
    memref::StoreOp::create(builder, loc, value, memref, indices);
  }
  /// Loops from 0 to `count`.
  scf::ForOp loop(int64_t count, ValueRange initial = {}) {
    return scf::ForOp::create(builder, loc, constant(0), constant(count),
                              constant(1), initial);
  }

  /// Memory of the thread for what it holds of a matrix.
  Value createSlot(VectorType type) {
    return memref::AllocaOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()));
  }
  Value createSlot(Value vector) {
    Value slot = createSlot(cast<VectorType>(vector.getType()));
    vector::StoreOp::create(builder, loc, vector, slot, constant(0));
    return slot;
  }
  Value loadSlot(Value slot, VectorType type) {
    return vector::LoadOp::create(builder, loc, type, slot, constant(0));
  }

  /// The matrix in memory: element (row, column) is at those indices.
  Value buildView(Value memref, ValueRange indices, int64_t leadDimension,
                  bool transpose, MMAMatrixType type);
  /// Row and column of the thread's `number`th element.
  std::pair<Value, Value> buildPlace(MMAMatrixType type, Value number);
  /// `value`, of the element type of `matrix`, for sums of type `to`.
  Value extend(Value value, Type matrix, Type to);

  OpBuilder builder;
  Location loc;
  Type index;
};
} // namespace

Value Expansion::buildView(Value memref, ValueRange indices,
                           int64_t leadDimension, bool transpose,
                           MMAMatrixType type) {
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  Value offset = metadata.getOffset();
  for (auto [position, stride] : llvm::zip(indices, metadata.getStrides()))
    offset = add(offset, mul(position, stride));
  SmallVector<int64_t> strides = {leadDimension, 1};
  if (transpose)
    std::swap(strides[0], strides[1]);
  auto from = cast<MemRefType>(memref.getType());
  auto layout = StridedLayoutAttr::get(builder.getContext(),
                                       ShapedType::kDynamic, strides);
  auto viewType = MemRefType::get(type.getShape(), from.getElementType(),
                                  layout, from.getMemorySpace());
  return memref::ReinterpretCastOp::create(
      builder, loc, viewType, metadata.getBaseBuffer(), OpFoldResult(offset),
      getAsIndexOpFoldResult(builder.getContext(), type.getShape()),
      getAsIndexOpFoldResult(builder.getContext(), strides));
}

std::pair<Value, Value> Expansion::buildPlace(MMAMatrixType type,
                                              Value number) {
  Value element = number;
  if (isSum(type)) {
    Value lane = gpu::LaneIdOp::create(builder, loc, index, IntegerAttr());
    element = add(lane, mul(number, constant(warpSize)));
  }
  Value columns = constant(type.getShape()[1]);
  return {arith::DivUIOp::create(builder, loc, element, columns),
          arith::RemUIOp::create(builder, loc, element, columns)};
}

FailureOr<Value> Expansion::expand(gpu::SubgroupMmaLoadMatrixOp op,
                                   MMAMatrixType type) {
  if (failed(checkMemRef(op, op.getSrcMemref())))
    return failure();
  Value view = buildView(op.getSrcMemref(), op.getIndices(),
                         op.getLeadDimension().getSExtValue(),
                         op.getTranspose().value_or(false), type);
  VectorType held = getThreadType(type);
  Value slot = createSlot(held);
  auto elements = loop(held.getNumElements());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(elements.getBody());
    Value number = elements.getInductionVar();
    auto [row, column] = buildPlace(type, number);
    store(load(view, {row, column}), slot, number);
  }
  return loadSlot(slot, held);
}

/// A load before the store is done by all threads before it, and one after it
/// after it, as if the subgroup ran in lockstep.
void Expansion::expand(gpu::SubgroupMmaStoreMatrixOp op, MMAMatrixType type) {
  auto meet = [&] {
    gpu::BarrierOp::create(builder, loc)
        ->setAttr(internalName, builder.getUnitAttr());
  };
  meet();
  Value view = buildView(op.getDstMemref(), op.getIndices(),
                         op.getLeadDimension().getSExtValue(),
                         op.getTranspose().value_or(false), type);
  Value slot = createSlot(op->getOperand(0));
  auto elements = loop(getThreadType(type).getNumElements());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(elements.getBody());
    Value number = elements.getInductionVar();
    auto [row, column] = buildPlace(type, number);
    store(load(slot, number), view, {row, column});
  }
  meet();
}

FailureOr<Value> Expansion::expand(gpu::SubgroupMmaConstantMatrixOp op,
                                   MMAMatrixType type) {
  VectorType held = getThreadType(type);
  if (op.getValue().getType() != held.getElementType()) {
    op.emitOpError("is not supported by the cpu device for elements of type ")
        << type.getElementType();
    return failure();
  }
  return Value(vector::BroadcastOp::create(builder, loc, held, op.getValue()));
}

Value Expansion::extend(Value value, Type matrix, Type to) {
  if (isa<FloatType>(to))
    return value.getType() == to
               ? value
               : Value(arith::ExtFOp::create(builder, loc, to, value));
  if (value.getType() == to)
    return value;
  return matrix.isUnsignedInteger()
             ? Value(arith::ExtUIOp::create(builder, loc, to, value))
             : Value(arith::ExtSIOp::create(builder, loc, to, value));
}

Value Expansion::expand(gpu::SubgroupMmaComputeOp op,
                        const MatrixOp &matrices) {
  MMAMatrixType left = matrices.operands[0], right = matrices.operands[1],
                sum = matrices.operands[2];
  // Sums of half precision are rounded once.
  Type element = getThreadType(sum).getElementType();
  Type exact = element.isF16() ? builder.getF32Type() : element;
  Value a = createSlot(op->getOperand(0)), b = createSlot(op->getOperand(1)),
        c = createSlot(op->getOperand(2));
  int64_t inner = left.getShape()[1];
  auto elements = loop(getThreadType(sum).getNumElements());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(elements.getBody());
    Value number = elements.getInductionVar();
    auto [row, column] = buildPlace(sum, number);
    auto products = loop(inner, extend(load(c, number), element, exact));
    {
      OpBuilder::InsertionGuard innerGuard(builder);
      builder.setInsertionPointToStart(products.getBody());
      Value k = products.getInductionVar(), so = products.getRegionIterArg(0);
      Value x = extend(load(a, add(mul(row, constant(inner)), k)),
                       left.getElementType(), exact);
      Value y =
          extend(load(b, add(mul(k, constant(right.getShape()[1])), column)),
                 right.getElementType(), exact);
      Value next;
      if (isa<FloatType>(exact))
        next = arith::AddFOp::create(
            builder, loc, arith::MulFOp::create(builder, loc, x, y), so);
      else
        next = add(mul(x, y), so);
      scf::YieldOp::create(builder, loc, next);
    }
    Value result = products.getResult(0);
    if (exact != element)
      result = arith::TruncFOp::create(builder, loc, element, result);
    store(result, c, number);
  }
  return loadSlot(c, getThreadType(sum));
}

Value Expansion::expand(gpu::SubgroupMmaElementwiseOp op, MMAMatrixType type) {
  using Kind = gpu::MMAElementwiseOp;
  Value a = op.getArgs()[0], b = op.getArgs().back();
  switch (op.getOpType()) {
  case Kind::ADDF:
    return arith::AddFOp::create(builder, loc, a, b);
  case Kind::MULF:
    return arith::MulFOp::create(builder, loc, a, b);
  case Kind::SUBF:
    return arith::SubFOp::create(builder, loc, a, b);
  case Kind::MAXF:
    return arith::MaximumFOp::create(builder, loc, a, b);
  case Kind::MINF:
    return arith::MinimumFOp::create(builder, loc, a, b);
  case Kind::DIVF:
    return arith::DivFOp::create(builder, loc, a, b);
  case Kind::ADDI:
    return arith::AddIOp::create(builder, loc, a, b);
  case Kind::MULI:
    return arith::MulIOp::create(builder, loc, a, b);
  case Kind::SUBI:
    return arith::SubIOp::create(builder, loc, a, b);
  case Kind::DIVS:
    return arith::DivSIOp::create(builder, loc, a, b);
  case Kind::DIVU:
    return arith::DivUIOp::create(builder, loc, a, b);
  case Kind::NEGATEF:
    return arith::NegFOp::create(builder, loc, a);
  case Kind::NEGATES: {
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getZeroAttr(a.getType()));
    return arith::SubIOp::create(builder, loc, zero, a);
  }
  case Kind::EXTF:
    return arith::ExtFOp::create(builder, loc, getThreadType(type), a);
  }
  llvm_unreachable("every kind of elementwise op is above");
}

static LogicalResult expandOp(const MatrixOp &matrices) {
  Operation *op = matrices.op;
  Expansion expansion(op);
  FailureOr<Value> result = Value();
  if (auto load = dyn_cast<gpu::SubgroupMmaLoadMatrixOp>(op)) {
    result = expansion.expand(load, matrices.result);
  } else if (auto store = dyn_cast<gpu::SubgroupMmaStoreMatrixOp>(op)) {
    if (failed(checkMemRef(op, store.getDstMemref())))
      return failure();
    expansion.expand(store, matrices.operands[0]);
  } else if (auto constant = dyn_cast<gpu::SubgroupMmaConstantMatrixOp>(op)) {
    result = expansion.expand(constant, matrices.result);
  } else if (auto compute = dyn_cast<gpu::SubgroupMmaComputeOp>(op)) {
    result = expansion.expand(compute, matrices);
  } else {
    result = expansion.expand(cast<gpu::SubgroupMmaElementwiseOp>(op),
                              matrices.result);
  }
  if (failed(result))
    return failure();
  if (*result)
    op->getResult(0).replaceAllUsesWith(*result);
  op->erase();
  return success();
}

LogicalResult cpu::expandMatrices(Operation *root) {
  SmallVector<MatrixOp> ops;
  WalkResult walked = root->walk([&](Operation *op) {
    if (!isMatrixOp(op))
      return WalkResult::advance();
    MatrixOp matrices{op, {}, {}};
    for (Type type : op->getOperandTypes())
      if (auto matrix = dyn_cast<MMAMatrixType>(type))
        matrices.operands.push_back(matrix);
    if (op->getNumResults())
      matrices.result = cast<MMAMatrixType>(op->getResult(0).getType());
    for (MMAMatrixType type : matrices.operands)
      if (failed(checkType(op, type)))
        return WalkResult::interrupt();
    if (matrices.result && failed(checkType(op, matrices.result)))
      return WalkResult::interrupt();
    ops.push_back(std::move(matrices));
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  if (ops.empty())
    return success();
  // Also where loops, branches and functions hand matrices on.
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [](MMAMatrixType type) -> Type { return getThreadType(type); });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  for (const MatrixOp &matrices : ops)
    if (failed(expandOp(matrices)))
      return failure();
  return success();
}
