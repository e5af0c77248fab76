//===- Values.cpp - Numbers and arrays of them ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Values.h.
//===----------------------------------------------------------------------===//

#include "Values.h"
#include "Npy.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace llvm;

namespace gpurunner {

/// More elements than this are cut off when a value is printed.
static constexpr uint64_t maxPrintedElements = 1024;

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
  text += kind == Float ? "f" : kind == BFloat ? "V" : kind == UInt ? "u" : "i";
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
  if (mlir::isa<mlir::LLVM::LLVMPointerType>(type))
    return ElementType{Pointer, 64};
  return std::nullopt;
}

std::optional<ElementType> ElementType::parse(StringRef name) {
  if (name == "index")
    return ElementType{Int, 64};
  if (name == "bf16")
    return ElementType{BFloat, 16};
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

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

AlignedBytes::AlignedBytes(size_t size) : length(size) {
  size_t rounded = alignTo(std::max<size_t>(size, 1), 64);
  memory.reset(static_cast<char *>(std::aligned_alloc(64, rounded)));
  if (memory)
    std::memset(memory.get(), 0, rounded);
}

uint64_t Value::elements() const {
  uint64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

std::optional<uint64_t> Value::bytes() const {
  // More than any address space. Strides are products that leave zeros out.
  constexpr uint64_t most = uint64_t(1) << 46;
  uint64_t bytes = element.bytes();
  for (int64_t dim : shape) {
    if (dim < 0 || bytes > most / std::max<uint64_t>(dim, 1))
      return std::nullopt;
    bytes *= std::max<int64_t>(dim, 1);
  }
  return elements() * element.bytes();
}

static const fltSemantics &semantics(const ElementType &element) {
  if (element.kind == ElementType::BFloat)
    return APFloat::BFloat();
  return element.bits == 16   ? APFloat::IEEEhalf()
         : element.bits == 32 ? APFloat::IEEEsingle()
                              : APFloat::IEEEdouble();
}

/// Writes one number to `out`. Returns what is wrong with it, "" if nothing.
static std::string parseScalar(StringRef text, const ElementType &element,
                               char *out) {
  if (element.kind == ElementType::Pointer) {
    if (text != "null" && text != "0")
      return "a pointer argument takes 'null' only";
    std::memset(out, 0, sizeof(void *));
    return "";
  }
  if (element.kind == ElementType::Float ||
      element.kind == ElementType::BFloat) {
    APFloat number(semantics(element));
    auto parsed = number.convertFromString(text, APFloat::rmNearestTiesToEven);
    if (Error error = parsed.takeError()) {
      consumeError(std::move(error));
      return ("'" + text + "' is not a number").str();
    }
    if (*parsed & APFloat::opOverflow)
      return ("'" + text + "' does not fit in " + element.name()).str();
    uint64_t bits = number.bitcastToAPInt().getZExtValue();
    std::memcpy(out, &bits, element.bytes());
    return "";
  }
  if (text == "true" || text == "false") {
    uint64_t bits = text == "true";
    std::memcpy(out, &bits, element.bytes());
    return "";
  }
  StringRef digits = text;
  bool negative = digits.consume_front("-");
  uint64_t magnitude = 0;
  if (digits.empty() || digits.getAsInteger(0, magnitude))
    return ("'" + text + "' is not a whole number of 64 bits or less").str();
  // Either reading of the bits is welcome: -128 to 255 for i8.
  uint64_t limit = negative ? uint64_t(1) << (element.bits - 1)
                            : maskTrailingOnes<uint64_t>(element.bits);
  if (magnitude > limit)
    return ("'" + text + "' does not fit in " + element.name()).str();
  uint64_t bits = negative ? -magnitude : magnitude;
  std::memcpy(out, &bits, element.bytes());
  return "";
}

static void printScalar(raw_ostream &os, const ElementType &element,
                        const char *data) {
  uint64_t bits = 0;
  std::memcpy(&bits, data, element.bytes());
  switch (element.kind) {
  case ElementType::Pointer:
    os << format_hex(bits, 0);
    return;
  case ElementType::UInt:
    os << bits;
    return;
  case ElementType::Int:
    // i1 prints as 0 or 1.
    os << (element.bits == 1 ? int64_t(bits & 1)
                             : SignExtend64(bits, element.bits));
    return;
  case ElementType::Float:
  case ElementType::BFloat:
    break;
  }
  APFloat number(semantics(element), APInt(element.bits, bits));
  if (number.isNaN()) {
    os << (number.isNegative() ? "-nan" : "nan");
    return;
  }
  bool inexact = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  // The fewest digits that read back as the same number.
  char buffer[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof(buffer), "%.*g", digits,
                  number.convertToDouble());
    APFloat back(semantics(element), buffer);
    if (element.bits < 64)
      back.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &inexact);
    if (back.bitwiseIsEqual(number))
      break;
  }
  os << buffer;
}

std::string shapeText(ArrayRef<int64_t> shape, const ElementType &element) {
  std::string text;
  for (int64_t dim : shape)
    text += std::to_string(dim) + "x";
  return text + element.name();
}

/// An --input value before it meets its argument.
struct ParsedInput {
  ElementType element;
  SmallVector<int64_t> shape;
  bool typed = false; ///< the text said the type and shape
  StringRef values;   ///< text of the elements, empty: zeros
  std::optional<NpyFile> file;
};

static Expected<ParsedInput> parseInput(StringRef text, StringRef name) {
  ParsedInput input;
  if (text.consume_front("@")) {
    Expected<NpyFile> array = NpyFile::open(text);
    if (!array)
      return createStringError(name + ": " + toString(array.takeError()));
    auto element = ElementType::fromDescr(array->descr);
    if (!element)
      return createStringError(name + ": '" + text +
                               "' has elements of type '" + array->descr +
                               "'; integers, f16, bf16, f32 and f64 are read");
    input.element = *element;
    input.shape = array->shape;
    input.typed = true;
    input.file = std::move(*array);
    return input;
  }
  auto [type, values] = text.split('=');
  StringRef rest = type.trim();
  SmallVector<int64_t> shape;
  for (;;) {
    auto [dim, after] = rest.split('x');
    int64_t size = 0;
    if (after.empty() || dim.getAsInteger(10, size) || size < 0)
      break;
    shape.push_back(size);
    rest = after;
  }
  if (auto element = ElementType::parse(rest)) {
    input.element = *element;
    input.shape = std::move(shape);
    input.typed = true;
    input.values = values.trim();
    return input;
  }
  if (text.contains('='))
    return createStringError(name + ": '" + type +
                             "' is not a type; expected something like i32=3, "
                             "4xf32=1,2,3,4, 2x3xi8 or @file.npy");
  if (text.trim().empty())
    return createStringError(name + " is empty; expected something like 3, "
                                    "4xf32=1,2,3,4, 2x3xi8 or @file.npy");
  input.values = text.trim();
  return input;
}

/// The strides of `type` for the shape, or what is wrong: arguments are stored
/// without gaps.
static std::string rowMajorStrides(mlir::MemRefType type,
                                   ArrayRef<int64_t> shape,
                                   SmallVectorImpl<int64_t> &strides) {
  strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;
       stride *= std::max<int64_t>(shape[i], 1))
    strides[i] = stride;
  SmallVector<int64_t> declared;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(declared, offset)))
    return "has a layout that is not strided";
  bool fits = offset == 0 || mlir::ShapedType::isDynamic(offset);
  for (auto [mine, theirs] : zip(strides, declared))
    fits &= mlir::ShapedType::isDynamic(theirs) || mine == theirs;
  return fits ? "" : "has a layout with gaps; the runner passes arrays without";
}

/// Whether an array of `shape` can be passed as `type`.
static bool shapeFits(mlir::MemRefType type, ArrayRef<int64_t> shape) {
  return type.getRank() == int64_t(shape.size()) &&
         all_of(zip(type.getShape(), shape), [](auto dims) {
           return mlir::ShapedType::isDynamic(std::get<0>(dims)) ||
                  std::get<0>(dims) == std::get<1>(dims);
         });
}

static Error fillElements(Value &value, StringRef text, StringRef name) {
  // Brackets only group: [1 2][3 4] is 1,2,3,4.
  std::string flat = text.str();
  for (char &c : flat)
    if (StringRef("[],;\n\t").contains(c))
      c = ' ';
  SmallVector<StringRef> items;
  SplitString(flat, items, " ");
  uint64_t count = value.elements();
  unsigned bytes = value.element.bytes();
  if (items.size() != count && items.size() != 1 && !items.empty())
    return createStringError(
        name + ": " + Twine(items.size()) + " values for " +
        shapeText(value.shape, value.element) + ", which has " + Twine(count));
  for (auto [i, item] : enumerate(items)) {
    if (i >= count)
      break;
    std::string wrong =
        parseScalar(item, value.element, value.data.data() + i * bytes);
    if (!wrong.empty())
      return createStringError(name + ": " + wrong);
  }
  // One value stands for all elements.
  if (items.size() == 1)
    for (uint64_t i = 1; i < count; ++i)
      std::memcpy(value.data.data() + i * bytes, value.data.data(), bytes);
  return Error::success();
}

Expected<Value> makeArgument(mlir::Type type, StringRef text, StringRef name) {
  Value value;
  value.type = type;
  auto memref = mlir::dyn_cast<mlir::MemRefType>(type);
  value.isMemRef = bool(memref);
  ElementType expected =
      *ElementType::get(memref ? memref.getElementType() : type);

  Expected<ParsedInput> input = parseInput(text, name);
  if (!input)
    return input.takeError();
  if (!input->typed) {
    if (memref && memref.getRank() != 0)
      return createStringError(
          name + ": '" + text + "' has no shape, but the argument is a " +
          typeText(type) + "; write for example " +
          shapeText(SmallVector<int64_t>(memref.getRank(), 4), expected) +
          " (zeros) or @file.npy");
    input->element = expected;
  }
  if (!input->element.fits(expected))
    return createStringError(name + ": '" + text + "' has elements of type " +
                             input->element.name() + ", but the argument is " +
                             (memref ? "a " : "of type ") + typeText(type));
  if (memref ? !shapeFits(memref, input->shape) : !input->shape.empty())
    return createStringError(name + ": '" + text + "' has the shape " +
                             shapeText(input->shape, input->element) +
                             ", but the argument is " +
                             (memref ? "a " : "of type ") + typeText(type));
  value.element = input->element;
  value.shape = input->shape;

  std::optional<uint64_t> size = value.bytes();
  if (!size)
    return createStringError(name + ": '" + text + "' does not fit in memory");
  uint64_t bytes = *size;
  value.data = AlignedBytes(bytes);
  value.initial = AlignedBytes(bytes);
  if (!value.data || !value.initial)
    return createStringError(name + ": out of memory: " + Twine(bytes) +
                             " bytes for '" + text + "'");
  if (input->file) {
    if (Error error = input->file->read({value.data.data(), size_t(bytes)}))
      return createStringError(name + ": " + toString(std::move(error)));
  } else if (Error error = fillElements(value, input->values, name)) {
    return std::move(error);
  }
  std::memcpy(value.initial.data(), value.data.data(), bytes);

  if (memref) {
    SmallVector<int64_t> strides;
    std::string wrong = rowMajorStrides(memref, value.shape, strides);
    if (!wrong.empty())
      return createStringError(name + ": " + typeText(type) + " " + wrong);
    auto address = reinterpret_cast<int64_t>(value.data.data());
    value.descriptor = {address, address, 0};
    append_range(value.descriptor, value.shape);
    append_range(value.descriptor, strides);
  }
  return value;
}

std::string unsupported(mlir::Type type) {
  mlir::Type element = type;
  if (auto memref = mlir::dyn_cast<mlir::MemRefType>(type)) {
    element = memref.getElementType();
    if (memref.getMemorySpace() && memref.getMemorySpaceAsInt() != 0)
      return "is in another memory space; the runner passes host memory";
    if (mlir::isa<mlir::LLVM::LLVMPointerType>(element))
      element = mlir::Type();
  }
  if (mlir::isa<mlir::TensorType>(type))
    return "is a tensor, and the runner passes memory; mlir-opt's "
           "--one-shot-bufferize=\"bufferize-function-boundaries "
           "function-boundary-type-conversion=identity-layout-map\" makes "
           "memrefs of tensors";
  if (!element || !ElementType::get(element))
    return "is not a number or a ranked memref of numbers (i1 to i64, index, "
           "f16, bf16, f32, f64)";
  return "";
}

/// [1 2][3 4]: the last dimension is a list, the others group.
static void printElements(raw_ostream &os, const Value &value, size_t dim,
                          uint64_t &at) {
  if (at >= maxPrintedElements)
    return;
  if (dim == value.shape.size()) {
    printScalar(os, value.element,
                value.data.data() + at * value.element.bytes());
    if (++at == maxPrintedElements && at < value.elements())
      os << "...";
    return;
  }
  bool last = dim + 1 == value.shape.size();
  for (int64_t i = 0; i < value.shape[dim] && at < maxPrintedElements; ++i) {
    if (last && i)
      os << ' ';
    if (!last)
      os << '[';
    printElements(os, value, dim + 1, at);
    if (!last)
      os << ']';
  }
}

void printValue(raw_ostream &os, const Value &value) {
  os << shapeText(value.shape, value.element) << "=";
  uint64_t at = 0;
  printElements(os, value, 0, at);
  os << "\n";
}

void printPlain(raw_ostream &os, const Value &value) {
  bool isFloat = value.element.kind == ElementType::Float;
  float single;
  double number;
  if (isFloat && value.element.bits == 32) {
    std::memcpy(&single, value.data.data(), sizeof(single));
    os << single;
  } else if (isFloat && value.element.bits == 64) {
    std::memcpy(&number, value.data.data(), sizeof(number));
    os << number;
  } else {
    printScalar(os, value.element, value.data.data());
  }
  os << "\n";
}

} // namespace gpurunner
