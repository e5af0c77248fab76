//===- Types.cpp - Numbers and arrays that programs take ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Types.h.
//===----------------------------------------------------------------------===//

#include "Execution/Types.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace gpuexec {

SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;
       stride *= std::max<int64_t>(shape[i], 1))
    strides[i] = stride;
  return strides;
}

std::string typeText(mlir::Type type) {
  std::string text;
  raw_string_ostream os(text);
  os << type;
  return text;
}

//===----------------------------------------------------------------------===//
// ElementType
//===----------------------------------------------------------------------===//

std::string ElementType::name() const {
  switch (kind) {
  case Int:
    return "i" + std::to_string(bits);
  case UInt:
    return "ui" + std::to_string(bits);
  case Float:
    return "f" + std::to_string(bits);
  case BFloat:
    return "bf16";
  case Complex:
    return "complex<" + part().name() + ">";
  case Pointer:
    return "ptr";
  }
  return "";
}

std::string ElementType::descr() const {
  if (bits == 1)
    return "|b1";
  std::string text = bytes() == 1 ? "|" : "<";
  // NumPy has no bfloat16 of its own; ml_dtypes reads it from two raw bytes.
  text += kind == Float     ? "f"
          : kind == BFloat  ? "V"
          : kind == UInt    ? "u"
          : kind == Complex ? "c"
                            : "i";
  return text + std::to_string(bytes());
}

std::optional<ElementType> ElementType::get(mlir::Type type) {
  if (mlir::isa<mlir::IndexType>(type))
    return ElementType{Int, 64};
  if (auto integer = mlir::dyn_cast<mlir::IntegerType>(type)) {
    if (!is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth()))
      return std::nullopt;
    return ElementType{integer.isUnsigned() ? UInt : Int, integer.getWidth()};
  }
  if (type.isBF16())
    return ElementType{BFloat, 16};
  if (type.isF16() || type.isF32() || type.isF64())
    return ElementType{Float, type.getIntOrFloatBitWidth()};
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type)) {
    mlir::Type part = complex.getElementType();
    if (part.isF32() || part.isF64())
      return ElementType{Complex, 2 * part.getIntOrFloatBitWidth()};
    return std::nullopt;
  }
  if (mlir::isa<mlir::LLVM::LLVMPointerType>(type))
    return ElementType{Pointer, 64};
  return std::nullopt;
}

std::optional<ElementType> ElementType::parse(StringRef name) {
  if (name == "index")
    return ElementType{Int, 64};
  if (name == "bf16")
    return ElementType{BFloat, 16};
  if (name.consume_front("complex<") && name.consume_back(">")) {
    std::optional<ElementType> part = parse(name);
    if (!part || part->kind != Float || part->bits == 16)
      return std::nullopt;
    return ElementType{Complex, 2 * part->bits};
  }
  Kind kind;
  if (name.consume_front("f"))
    kind = Float;
  else if (name.consume_front("ui") || name.consume_front("u"))
    kind = UInt;
  else if (name.consume_front("si") || name.consume_front("i"))
    kind = Int;
  else
    return std::nullopt;
  unsigned bits = 0;
  if (name.getAsInteger(10, bits))
    return std::nullopt;
  bool known = kind == Float ? is_contained({16u, 32u, 64u}, bits)
                             : is_contained({1u, 8u, 16u, 32u, 64u}, bits);
  if (!known)
    return std::nullopt;
  return ElementType{kind, bits};
}

std::optional<ElementType> ElementType::fromDescr(StringRef descr) {
  if (descr.size() < 3)
    return std::nullopt;
  unsigned bytes = 0;
  if (descr.drop_front(2).getAsInteger(10, bytes))
    return std::nullopt;
  switch (descr[1]) {
  case 'b':
    return ElementType{Int, 1};
  case 'i':
  case 'u':
    if (!is_contained({1u, 2u, 4u, 8u}, bytes))
      return std::nullopt;
    return ElementType{descr[1] == 'i' ? Int : UInt, bytes * 8};
  case 'f':
    if (!is_contained({2u, 4u, 8u}, bytes))
      return std::nullopt;
    return ElementType{Float, bytes * 8};
  case 'c':
    if (!is_contained({8u, 16u}, bytes))
      return std::nullopt;
    return ElementType{Complex, bytes * 8};
  case 'V':
    if (bytes != 2)
      return std::nullopt;
    return ElementType{BFloat, 16};
  default:
    return std::nullopt;
  }
}

bool ElementType::fits(const ElementType &other) const {
  auto isInt = [](Kind kind) { return kind == Int || kind == UInt; };
  return bits == other.bits &&
         (kind == other.kind || (isInt(kind) && isInt(other.kind)));
}

ValueType ValueType::get(mlir::Type type) {
  ValueType result;
  auto shaped = mlir::dyn_cast<mlir::ShapedType>(type);
  if (shaped) {
    result.isArray = true;
    result.rank = shaped.getRank();
    append_range(result.shape, shaped.getShape());
    type = shaped.getElementType();
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type)) {
      append_range(result.shape, vector.getShape());
      type = vector.getElementType();
    }
  }
  result.element = *ElementType::get(type);
  return result;
}

unsigned bytesOf(const ElementType &element, ArrayRef<int64_t> vectorShape) {
  unsigned bytes = element.bytes();
  for (int64_t size : vectorShape)
    bytes *= size;
  return bytes;
}

unsigned ValueType::elementBytes() const {
  return bytesOf(element, ArrayRef(shape).drop_front(rank));
}

std::string shapeText(ArrayRef<int64_t> shape, const ElementType &element) {
  std::string text;
  for (int64_t dim : shape)
    text += std::to_string(dim) + "x";
  return text + element.name();
}

std::string unsupported(mlir::Type type) {
  mlir::Type element = type;
  auto memref = mlir::dyn_cast<mlir::MemRefType>(type);
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (memref || tensor)
    element = mlir::cast<mlir::ShapedType>(type).getElementType();
  if (memref && memref.getMemorySpace() && memref.getMemorySpaceAsInt() != 0)
    return "is in another memory space; a caller passes host memory";
  if (tensor && tensor.getEncoding())
    return "has an encoding; a caller passes arrays without";
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(element);
      vector && (memref || tensor)) {
    std::optional<ElementType> each = ElementType::get(vector.getElementType());
    if (vector.isScalable() || !vector.getRank() || !each || each->bits == 1 ||
        !isPowerOf2_64(vector.getShape().back() * each->bytes()))
      return "has vectors with gaps between them in memory; a caller passes "
             "arrays without: vectors of 2, 4, 8, ... numbers of 8 bits or "
             "more";
    element = vector.getElementType();
  }
  if ((memref || tensor) && mlir::isa<mlir::LLVM::LLVMPointerType>(element))
    element = mlir::Type();
  if (!element || !ElementType::get(element))
    return "is not a number, or a ranked memref or tensor of numbers (i1 to "
           "i64, index, f16, bf16, f32, f64, complex<f32>, complex<f64>)";
  return "";
}

CallLayout CallLayout::get(size_t argumentCount, ArrayRef<ValueType> results,
                           ArrayRef<int64_t> destinations) {
  CallLayout layout;
  // What is returned lies one after the other as in a struct of C.
  for (auto [result, destination] : zip_equal(results, destinations)) {
    layout.resultOffsets.push_back(0);
    if (destination >= 0)
      continue;
    size_t bytes = result.element.bytes(), align = bytes;
    if (result.isArray) {
      bytes = (3 + 2 * result.rank) * 8;
      align = 8;
    } else if (result.element.kind == ElementType::Complex) {
      align = result.element.part().bytes();
    }
    layout.resultBytes = alignTo(layout.resultBytes, align);
    layout.resultOffsets.back() = layout.resultBytes;
    layout.resultBytes += bytes;
  }
  unsigned place = 0;
  while (layout.arguments.size() < argumentCount) {
    if (!is_contained(destinations, int64_t(place)))
      layout.arguments.push_back(place);
    ++place;
  }
  layout.storage =
      argumentCount + count_if(destinations, [](int64_t d) { return d >= 0; });
  return layout;
}

} // namespace gpuexec
