//===- TypeLayout.cpp - how values lie in memory --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See TypeLayout.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

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
               : getPackedBits(vector.getElementType()) *
                     vector.getNumElements();
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

std::optional<SmallVector<int64_t>>
gpuasync::getOffsets(ArrayRef<Type> types, bool isPacked, TypeLayout &whole) {
  SmallVector<int64_t> offsets;
  whole = {};
  for (Type type : types) {
    std::optional<TypeLayout> layout = TypeLayout::get(type);
    if (!layout)
      return std::nullopt;
    int64_t alignment = isPacked ? 1 : layout->alignment;
    offsets.push_back(llvm::alignTo(whole.size, alignment));
    if (llvm::AddOverflow(offsets.back(), layout->size, whole.size))
      return std::nullopt;
    whole.alignment = std::max(whole.alignment, alignment);
  }
  whole.size = llvm::alignTo(whole.size, whole.alignment);
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
    return getPackedBits(row)
               ? repeat(row, vector.getNumElements() / row.getNumElements())
               : std::nullopt;
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
