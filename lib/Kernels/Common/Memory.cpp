//===- Memory.cpp - how values lie in memory ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of values in the memory of kernels, as the lowering to LLVM lays them
// out, and what may be an address there.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "KernelLowering.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::gpuasync;

Type gpuasync::getTypeInMemory(Type type) {
  // Vectors of a loop over bits are worse than vectors of bytes.
  if (type.isInteger(1))
    return IntegerType::get(type.getContext(), 8);
  return LLVMTypeConverter(type.getContext()).convertType(type);
}

std::optional<int64_t> gpuasync::getBytesInMemory(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  std::optional<TypeLayout> element = TypeLayout::get(type.getElementType());
  if (!element || !type.hasStaticShape() ||
      failed(getStridesAndOffset(type, strides, offset)) ||
      ShapedType::isDynamic(offset))
    return std::nullopt;
  if (llvm::is_contained(type.getShape(), 0))
    return 0;
  std::optional<int64_t> elements = llvm::checkedAdd<int64_t>(offset, 1);
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (stride < 0) // or dynamic
      return std::nullopt;
    if (elements)
      elements = llvm::checkedMulAdd(size - 1, stride, *elements);
  }
  return elements ? llvm::checkedMul(*elements, element->size) : std::nullopt;
}

void gpuasync::makeNullValid(Operation *root) {
  root->walk([](LLVM::LLVMFuncOp function) {
    if (function.isExternal())
      return;
    SmallVector<Attribute> attributes;
    if (ArrayAttr present = function.getPassthroughAttr())
      llvm::append_range(attributes, present);
    attributes.push_back(
        StringAttr::get(function.getContext(), "null_pointer_is_valid"));
    function.setPassthroughAttr(
        ArrayAttr::get(function.getContext(), attributes));
  });
}
