//===- Values.cpp - Numbers and arrays of them ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Values.h.
//===----------------------------------------------------------------------===//

#include "Values.h"
#include "Npy.h"

#include "libs/aot/NpyHeader.h"
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

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

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
  if (element.bits == 1)
    bits &= 1; // -1 is true
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
    os << (element.bits == 1 ? int64_t(bits != 0)
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
  if (element.bits == 1)
    return bits != 0;
  if (!element.isFloat())
    return element.kind == ElementType::Int
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
  auto checkElements = [&]() -> Error {
    std::string wrong = gpuasync::checkNpyElements(
        input->file->descr, value.data.data(), size_t(bytes));
    return wrong.empty()
               ? Error::success()
               : createStringError(name + ": '" + text + "' " + wrong);
  };
  if (input->file) {
    value.data = input->file->map(bytes);
    if (value.data && keepInitial)
      value.initial = input->file->map(bytes);
    if (value.data && (value.initial || !keepInitial)) {
      if (Error error = checkElements())
        return std::move(error);
      return value;
    }
  }
  value.data = AlignedBytes(bytes);
  if (!value.data)
    return createStringError(name + ": out of memory: " + Twine(bytes) +
                             " bytes for '" + text + "'");
  if (input->file) {
    if (Error error = input->file->read({value.data.data(), size_t(bytes)}))
      return createStringError(name + ": " + toString(std::move(error)));
    if (Error error = checkElements())
      return std::move(error);
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
