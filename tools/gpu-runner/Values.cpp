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
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace llvm;

namespace gpurunner {

/// More elements than this are cut off when a value is printed.
static constexpr uint64_t maxPrintedElements = 1024;

/// The strides of an array without gaps.
static SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
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

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

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

static unsigned bytesOf(const ElementType &element,
                        ArrayRef<int64_t> vectorShape) {
  unsigned bytes = element.bytes();
  for (int64_t size : vectorShape)
    bytes *= size;
  return bytes;
}

unsigned ValueType::elementBytes() const {
  return bytesOf(element, ArrayRef(shape).drop_front(rank));
}

unsigned Value::elementBytes() const {
  return bytesOf(element, ArrayRef(shape).drop_front(rank));
}

void Value::describe() {
  auto address = reinterpret_cast<int64_t>(data.data());
  descriptor = {address, address, 0};
  ArrayRef<int64_t> sizes = ArrayRef(shape).take_front(rank);
  append_range(descriptor, sizes);
  append_range(descriptor, rowMajorStrides(sizes));
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

/// Where the imaginary part of "1+2j" begins: at its sign.
static size_t findImaginary(StringRef text) {
  for (size_t i = text.size(); i-- > 1;)
    if ((text[i] == '+' || text[i] == '-') &&
        !StringRef("eEpP").contains(text[i - 1]))
      return i;
  return 0;
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
  if (element.kind == ElementType::Complex) {
    ElementType part = element.part();
    StringRef real = text, imaginary = "0";
    if (real.consume_back("j") || real.consume_back("i")) {
      size_t split = findImaginary(real);
      imaginary = real.drop_front(split);
      real = split ? real.take_front(split) : "0";
    }
    // A sign in front of the imaginary part, as of 1+2j.
    imaginary.consume_front("+");
    std::string wrong = parseScalar(real, part, out);
    return wrong.empty() ? parseScalar(imaginary, part, out + part.bytes())
                         : wrong;
  }
  if (element.isFloat()) {
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

void printScalar(raw_ostream &os, const ElementType &element,
                 const char *data) {
  if (element.kind == ElementType::Complex) {
    std::string imaginary;
    raw_string_ostream text(imaginary);
    printScalar(text, element.part(), data + element.part().bytes());
    printScalar(os, element.part(), data);
    os << (StringRef(imaginary).starts_with("-") ? "" : "+") << imaginary
       << "j";
    return;
  }
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
  case ElementType::Complex:
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

long double numberAt(const ElementType &element, const char *data,
                     bool imaginary) {
  if (element.kind == ElementType::Complex)
    return numberAt(element.part(),
                    data + (imaginary ? element.part().bytes() : 0), false);
  if (imaginary)
    return 0;
  uint64_t bits = 0;
  std::memcpy(&bits, data, element.bytes());
  if (!element.isFloat())
    return element.kind == ElementType::Int && element.bits > 1
               ? static_cast<long double>(SignExtend64(bits, element.bits))
               : static_cast<long double>(bits);
  if (element.bits == 64)
    return llvm::bit_cast<double>(bits);
  if (element.bits == 32)
    return llvm::bit_cast<float>(uint32_t(bits));
  APFloat number(semantics(element), APInt(element.bits, bits));
  bool inexact = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

void fillRandom(Value &value, uint64_t seed) {
  ElementType element = value.element;
  uint64_t count = value.elements();
  if (element.kind == ElementType::Complex) {
    element = element.part();
    count *= 2;
  }
  char *out = value.data.data();
  for (uint64_t i = 1; i <= count; ++i, out += element.bytes()) {
    // SplitMix64: Steele, Lea, Flood, Fast Splittable Pseudorandom Number
    // Generators, OOPSLA 2014.
    uint64_t bits = seed + i * 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    bits ^= bits >> 31;
    if (element.isFloat()) {
      // Between -1 and 1, of as many of 24 bits as the type holds exactly.
      unsigned precision =
          std::min(APFloat::semanticsPrecision(semantics(element)), 24u);
      double number =
          std::ldexp(double(bits >> (64 - precision)), 1 - int(precision)) - 1;
      if (element.bits == 64) {
        bits = llvm::bit_cast<uint64_t>(number);
      } else if (element.bits == 32) {
        bits = llvm::bit_cast<uint32_t>(float(number));
      } else {
        APFloat narrow(number);
        bool inexact = false;
        narrow.convert(semantics(element), APFloat::rmNearestTiesToEven,
                       &inexact);
        bits = narrow.bitcastToAPInt().getZExtValue();
      }
    } else if (element.bits == 1) {
      bits >>= 63;
    } else if (element.kind == ElementType::UInt) {
      bits >>= 56;
    } else {
      bits = uint64_t(int64_t(bits) >> 56);
    }
    std::memcpy(out, &bits, element.bytes());
  }
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
  bool typed = false;           ///< the text said the type and shape
  StringRef values;             ///< text of the elements, empty: zeros
  std::optional<uint64_t> seed; ///< of random elements
  bool shaped = false;          ///< the text said the shape alone
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
                               "'; bool, integers, f16, bf16, f32, f64 and "
                               "complex of these two are read");
    input.element = *element;
    input.shape = array->shape;
    input.typed = true;
    input.file = std::move(*array);
    return input;
  }
  if (StringRef seed = text; seed.consume_front("random:")) {
    auto [number, sizes] = seed.split(':');
    if (number.getAsInteger(10, input.seed.emplace()))
      return createStringError(name + ": '" + text +
                               "' has no seed; write for example random:7, or "
                               "random:7:4x8 with the sizes");
    input.shaped = seed.contains(':');
    for (StringRef size : split(sizes, 'x'))
      if (input.shaped && (size.getAsInteger(10, input.shape.emplace_back()) ||
                           input.shape.back() < 0))
        return createStringError(name + ": '" + text +
                                 "' has sizes that are "
                                 "none; write for example random:7:4x8");
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
                             "4xf32=1,2,3,4, 2x3xi8, @file.npy or random:7");
  if (text.trim().empty())
    return createStringError(name + " is empty; expected something like 3, "
                                    "4xf32=1,2,3,4, 2x3xi8, @file.npy or "
                                    "random:7");
  input.values = text.trim();
  return input;
}

/// What is wrong with the layout of `type` for an array of `shape` without
/// gaps, "" if nothing.
static std::string checkLayout(mlir::MemRefType type, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> declared;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(declared, offset)))
    return "has a layout that is not strided";
  bool fits = offset == 0 || mlir::ShapedType::isDynamic(offset);
  for (auto [mine, theirs] : zip(rowMajorStrides(shape), declared))
    fits &= mlir::ShapedType::isDynamic(theirs) || mine == theirs;
  return fits ? "" : "has a layout with gaps; the runner passes arrays without";
}

/// Whether an array of `shape` can be passed where `expected` is.
static bool shapeFits(ArrayRef<int64_t> expected, ArrayRef<int64_t> shape) {
  return expected.size() == shape.size() &&
         all_of(zip(expected, shape), [](auto dims) {
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

/// An element type that `input` may have: that of an argument, or one of the
/// same kind.
using ElementCheck = bool (*)(const ElementType &, const ElementType &);

/// A value of `type` without descriptor, which the text stands for; `what` is
/// "the argument is" in errors. Large files are mapped.
static Expected<Value> readValue(mlir::Type type, StringRef text,
                                 StringRef name, StringRef what,
                                 ElementCheck fits, bool keepInitial) {
  ValueType expected = ValueType::get(type);
  std::string wanted =
      (what + (expected.isArray ? " a " : " of type ") + typeText(type)).str();
  Expected<ParsedInput> input = parseInput(text, name);
  if (!input)
    return input.takeError();
  if (input->seed && !input->shaped) {
    if (!expected.isStatic())
      return createStringError(
          name + ": '" + text + "' has no sizes, but " + wanted +
          "; write for example random:" + Twine(*input->seed) + ":" +
          join(map_range(expected.shape,
                         [](int64_t size) {
                           return std::to_string(
                               mlir::ShapedType::isDynamic(size) ? 4 : size);
                         }),
               "x"));
    input->shape = expected.shape;
  }
  if (input->seed && expected.element.kind == ElementType::Pointer)
    return createStringError(name + ": a pointer argument takes 'null' only");
  if (!input->typed) {
    if (!input->seed && !expected.shape.empty())
      return createStringError(
          name + ": '" + text + "' has no shape, but " + wanted +
          "; write for example " +
          shapeText(SmallVector<int64_t>(expected.shape.size(), 4),
                    expected.element) +
          " (zeros) or @file.npy");
    input->element = expected.element;
  }
  if (!fits(input->element, expected.element))
    return createStringError(name + ": '" + text + "' has elements of type " +
                             input->element.name() + ", but " + wanted);
  if (!shapeFits(expected.shape, input->shape))
    return createStringError(name + ": '" + text + "' has the shape " +
                             shapeText(input->shape, input->element) +
                             ", but " + wanted);
  Value value;
  value.type = type;
  value.isArray = expected.isArray;
  value.rank = expected.rank;
  value.element = input->element;
  value.shape = input->shape;

  std::optional<uint64_t> size = value.bytes();
  if (!size)
    return createStringError(name + ": '" + text + "' does not fit in memory");
  uint64_t bytes = *size;
  if (input->file) {
    value.data = input->file->map(bytes);
    if (value.data && keepInitial)
      value.initial = input->file->map(bytes);
    if (value.data && (value.initial || !keepInitial))
      return value;
  }
  value.data = AlignedBytes(bytes);
  if (!value.data)
    return createStringError(name + ": out of memory: " + Twine(bytes) +
                             " bytes for '" + text + "'");
  if (input->file) {
    if (Error error = input->file->read({value.data.data(), size_t(bytes)}))
      return createStringError(name + ": " + toString(std::move(error)));
    if (value.element.bits == 1 &&
        any_of(ArrayRef(value.data.data(), bytes),
               [](char byte) { return byte != 0 && byte != 1; }))
      return createStringError(name + ": '" + text +
                               "' has a bool that is neither 0 nor 1");
  } else if (input->seed) {
    fillRandom(value, *input->seed);
  } else if (Error error = fillElements(value, input->values, name)) {
    return std::move(error);
  }
  if (keepInitial) {
    value.initial = AlignedBytes(bytes);
    if (!value.initial)
      return createStringError(name + ": out of memory: " + Twine(bytes) +
                               " bytes for '" + text + "'");
    std::memcpy(value.initial.data(), value.data.data(), bytes);
  }
  return value;
}

Expected<Value> makeArgument(mlir::Type type, StringRef text, StringRef name) {
  // A tensor is never written.
  Expected<Value> value = readValue(
      type, text, name, "the argument is",
      [](const ElementType &given, const ElementType &expected) {
        return given.fits(expected);
      },
      /*keepInitial=*/!mlir::isa<mlir::TensorType>(type));
  if (!value)
    return value;
  if (auto memref = mlir::dyn_cast<mlir::MemRefType>(type)) {
    std::string wrong =
        checkLayout(memref, ArrayRef(value->shape).take_front(value->rank));
    if (!wrong.empty())
      return createStringError(name + ": " + typeText(type) + " " + wrong);
  }
  if (value->isArray)
    value->describe();
  return value;
}

Expected<Value> makeReference(mlir::Type type, StringRef text, StringRef name) {
  return readValue(
      type, text, name, "the result is",
      [](const ElementType &given, const ElementType &expected) {
        auto kind = [](const ElementType &type) {
          return type.kind == ElementType::UInt     ? ElementType::Int
                 : type.kind == ElementType::BFloat ? ElementType::Float
                                                    : type.kind;
        };
        return kind(given) == kind(expected);
      },
      /*keepInitial=*/false);
}

std::string unsupported(mlir::Type type) {
  mlir::Type element = type;
  auto memref = mlir::dyn_cast<mlir::MemRefType>(type);
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (memref || tensor)
    element = mlir::cast<mlir::ShapedType>(type).getElementType();
  if (memref && memref.getMemorySpace() && memref.getMemorySpaceAsInt() != 0)
    return "is in another memory space; the runner passes host memory";
  if (tensor && tensor.getEncoding())
    return "has an encoding; the runner passes arrays without";
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(element);
      vector && (memref || tensor)) {
    std::optional<ElementType> each = ElementType::get(vector.getElementType());
    if (vector.isScalable() || !vector.getRank() || !each || each->bits == 1 ||
        !isPowerOf2_64(vector.getShape().back() * each->bytes()))
      return "has vectors with gaps between them in memory; the runner passes "
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
