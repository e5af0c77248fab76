//===- TypeLayout.cpp - how values lie in memory --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See TypeLayout.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::gpuasync;

/// Numbers, pointers and vectors are aligned to their size, integers of more
/// than 16 bytes to that.
static TypeLayout layoutOfBits(int64_t bits, bool isInteger) {
  int64_t bytes = llvm::divideCeil(bits, 8);
  if (isInteger && bytes > 16)
    return {int64_t(llvm::alignTo(bytes, 16)), 16};
  bytes = llvm::PowerOf2Ceil(bytes);
  return {bytes, bytes};
}

int64_t gpuasync::getPackedBits(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.isScalable() || vector.getRank() != 1
               ? 0
               : llvm::checkedMul(getPackedBits(vector.getElementType()),
                                  vector.getNumElements())
                     .value_or(0);
  if (isa<LLVM::LLVMPointerType, IndexType>(type))
    return 64;
  return isa<IntegerType, FloatType>(type) ? type.getIntOrFloatBitWidth() : 0;
}

/// `count` values of `type`.
static std::optional<TypeLayout> repeat(Type type, int64_t count) {
  std::optional<TypeLayout> layout = TypeLayout::get(type);
  if (!layout || llvm::MulOverflow(layout->size, count, layout->size))
    return std::nullopt;
  return layout;
}

/// Nothing from 2^63 bytes on.
static std::optional<int64_t> alignTo(int64_t bytes, int64_t alignment) {
  if (bytes > std::numeric_limits<int64_t>::max() - alignment)
    return std::nullopt;
  return int64_t(llvm::alignTo(bytes, alignment));
}

std::optional<SmallVector<int64_t>>
gpuasync::getOffsets(ArrayRef<Type> types, bool isPacked, TypeLayout &whole) {
  SmallVector<int64_t> offsets;
  whole = {};
  for (Type type : types) {
    std::optional<TypeLayout> layout = TypeLayout::get(type);
    if (!layout)
      return std::nullopt;
    int64_t alignment = isPacked ? 1 : layout->alignment;
    std::optional<int64_t> offset = alignTo(whole.size, alignment);
    if (!offset || llvm::AddOverflow(*offset, layout->size, whole.size))
      return std::nullopt;
    offsets.push_back(*offset);
    whole.alignment = std::max(whole.alignment, alignment);
  }
  std::optional<int64_t> end = alignTo(whole.size, whole.alignment);
  if (!end)
    return std::nullopt;
  whole.size = *end;
  return offsets;
}

std::optional<TypeLayout> TypeLayout::get(Type type) {
  if (int64_t bits = getPackedBits(type))
    return layoutOfBits(bits, isa<IntegerType>(type));
  if (auto complex = dyn_cast<ComplexType>(type))
    return repeat(complex.getElementType(), 2);
  if (auto vector = dyn_cast<VectorType>(type)) {
    if (vector.isScalable())
      return std::nullopt;
    // An array of vectors along the last dimension.
    ArrayRef<int64_t> shape = vector.getShape();
    auto row = VectorType::get(shape.empty() ? 1 : shape.back(),
                               vector.getElementType());
    std::optional<int64_t> rows = 1;
    for (int64_t size : shape.drop_back(!shape.empty()))
      rows = rows ? llvm::checkedMul(*rows, size) : std::nullopt;
    return rows && getPackedBits(row) ? repeat(row, *rows) : std::nullopt;
  }
  if (auto memref = dyn_cast<MemRefType>(type))
    return TypeLayout{8 * (3 + 2 * memref.getRank()), 8};
  if (isa<UnrankedMemRefType>(type))
    return TypeLayout{16, 8};
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return repeat(array.getElementType(), array.getNumElements());
  auto record = dyn_cast<LLVM::LLVMStructType>(type);
  TypeLayout whole;
  if (!record || record.isOpaque() ||
      !getOffsets(record.getBody(), record.isPacked(), whole))
    return std::nullopt;
  return whole;
}

int64_t gpuasync::getElementBytes(Type type) {
  std::optional<TypeLayout> layout = TypeLayout::get(type);
  return layout ? layout->size : 0;
}

int64_t gpuasync::getElementAlignment(Type type) {
  return TypeLayout::get(type).value_or(TypeLayout()).alignment;
}

LogicalResult gpuasync::getStridesAndOffset(MemRefType type,
                                            SmallVectorImpl<int64_t> &strides,
                                            int64_t &offset) {
  std::optional<int64_t> stride = 1;
  if (type.getLayout().isIdentity() && type.getRank())
    for (int64_t size : llvm::reverse(type.getShape().drop_front())) {
      // Those further out are not known either.
      if (ShapedType::isDynamic(size))
        break;
      stride = llvm::checkedMul(*stride, size);
      if (!stride)
        return failure();
    }
  return type.getStridesAndOffset(strides, offset);
}
