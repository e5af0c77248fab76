//===- Arguments.cpp - What a program is called with ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and outputs are written as for iree-run-module: 3, i32=3,
// 4xf32=1,2,3,4, 2x3xi8, @file.npy.
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Npy.h"

#include "gpuasync/Memory.h"
#include "gpuasync/Status.h"
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

static std::string shapeText(ArrayRef<int64_t> shape,
                             const ElementType &element) {
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

static Expected<Value> makeArgument(mlir::Type type, StringRef text,
                                    StringRef name) {
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
  if (!value.data)
    return createStringError(name + ": out of memory: " + Twine(bytes) +
                             " bytes for '" + text + "'");
  if (input->file) {
    if (Error error = input->file->read({value.data.data(), size_t(bytes)}))
      return createStringError(name + ": " + toString(std::move(error)));
  } else if (Error error = fillElements(value, input->values, name)) {
    return std::move(error);
  }
  value.initial.assign(value.data.data(), value.data.data() + bytes);

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

/// What is wrong with a type as argument or result, "" if nothing.
static std::string unsupported(mlir::Type type, bool isResult) {
  mlir::Type element = type;
  if (auto memref = mlir::dyn_cast<mlir::MemRefType>(type)) {
    element = memref.getElementType();
    if (memref.getMemorySpace() && memref.getMemorySpaceAsInt() != 0)
      return "is in another memory space; the runner passes host memory";
    if (mlir::isa<mlir::LLVM::LLVMPointerType>(element))
      element = mlir::Type();
  }
  if (!element || !ElementType::get(element))
    return "is not a number or a ranked memref of numbers (i1 to i64, index, "
           "f16, bf16, f32, f64)";
  return "";
}

//===----------------------------------------------------------------------===//
// CallFrame
//===----------------------------------------------------------------------===//

Expected<CallFrame> CallFrame::create(StringRef function,
                                      mlir::TypeRange arguments,
                                      mlir::TypeRange results,
                                      ArrayRef<std::string> inputs) {
  std::string signature;
  raw_string_ostream os(signature);
  os << "@" << function << "(";
  interleaveComma(arguments, os);
  os << ")";

  CallFrame frame;
  for (auto [i, type] : enumerate(arguments)) {
    std::string wrong = unsupported(type, /*isResult=*/false);
    if (!wrong.empty())
      return createStringError("argument " + Twine(i) + " of " + signature +
                               " " + wrong);
  }
  for (auto [i, type] : enumerate(results)) {
    std::string wrong = unsupported(type, /*isResult=*/true);
    if (!wrong.empty())
      return createStringError("result " + Twine(i) + " of @" + function +
                               ", " + typeText(type) + ", " + wrong);
  }
  if (inputs.size() != arguments.size())
    return createStringError(
        signature + " takes " + Twine(arguments.size()) +
        (arguments.size() == 1 ? " argument" : " arguments") + ", but " +
        Twine(inputs.size()) + " --input were given");
  for (auto [i, type] : enumerate(arguments)) {
    std::string name = "--input " + std::to_string(i) + " of " +
                       std::to_string(arguments.size());
    Expected<Value> value = makeArgument(type, inputs[i], name);
    if (!value)
      return value.takeError();
    value->name = name + " (" + shapeText(value->shape, value->element) + ")";
    frame.arguments.push_back(std::move(*value));
  }

  // The results lie one after the other as in a struct of C.
  size_t offset = 0;
  for (mlir::Type type : results) {
    Value value;
    value.type = type;
    size_t bytes, align;
    if (auto memref = mlir::dyn_cast<mlir::MemRefType>(type)) {
      value.isMemRef = true;
      value.element = *ElementType::get(memref.getElementType());
      bytes = (3 + 2 * memref.getRank()) * 8;
      align = 8;
    } else {
      value.element = *ElementType::get(type);
      bytes = align = value.element.bytes();
    }
    offset = alignTo(offset, align);
    frame.resultOffsets.push_back(offset);
    offset += bytes;
    frame.results.push_back(std::move(value));
  }
  frame.resultStorage = AlignedBytes(offset);
  return frame;
}

void CallFrame::reset() {
  for (Value &value : arguments)
    if (!value.initial.empty())
      std::memcpy(value.data.data(), value.initial.data(),
                  value.initial.size());
  std::memset(resultStorage.data(), 0, resultStorage.size());
}

void **CallFrame::pack(void **status) {
  packed.clear();
  for (Value &value : arguments)
    packed.push_back(value.storage());
  packed.push_back(resultStorage.data());
  packed.push_back(status);
  return packed.data();
}

Error CallFrame::announce() {
  for (Value &value : arguments) {
    if (!value.isMemRef)
      continue;
    gpuasync::Status status(gpuasync_host_memory_add(
        value.data.data(), value.elements() * value.element.bytes(),
        value.name.c_str(), nullptr));
    if (!status.ok())
      return createStringError(status.message());
  }
  return Error::success();
}

void CallFrame::forget() {
  for (Value &value : arguments)
    if (value.isMemRef)
      gpuasync_host_memory_remove(value.data.data());
}

/// An error if elements of a memref lie outside of the array that they begin
/// in, as far as it is known.
static Error checkBounds(const Value &value, size_t number) {
  ArrayRef<int64_t> descriptor = value.descriptor;
  unsigned bytes = value.element.bytes();
  int64_t low = descriptor[2], high = low;
  bool wraps = false;
  for (auto [size, stride] :
       zip(value.shape, descriptor.drop_front(3 + value.shape.size()))) {
    int64_t span, &end = stride < 0 ? low : high;
    wraps |= MulOverflow(size - 1, stride, span) || AddOverflow(end, span, end);
  }
  int64_t first, last;
  wraps |= MulOverflow<int64_t>(low, bytes, first) ||
           MulOverflow<int64_t>(high, bytes, last);
  auto fail = [&](const Twine &why) {
    return createStringError("result " + Twine(number) + ", " +
                             shapeText(value.shape, value.element) + ", " +
                             why);
  };
  if (wraps)
    return fail("has strides that lead nowhere");
  const char *begin = reinterpret_cast<const char *>(descriptor[1]) + first;
  uint64_t length = uint64_t(last - first) + bytes, known = 0;
  const void *array = nullptr;
  const char *what = nullptr;
  if (!gpuasync_host_memory_find(begin, length, &array, &known, &what, nullptr))
    return Error::success();
  int64_t offset = begin - static_cast<const char *>(array);
  if (offset >= 0 && length <= known - uint64_t(offset))
    return Error::success();
  return fail("is " + Twine(length) + " bytes at byte " + Twine(offset) +
              " of the " + Twine(known) + " bytes of " + what);
}

Error CallFrame::readResults() {
  for (auto [i, pair] : enumerate(zip(results, resultOffsets))) {
    auto &[value, offset] = pair;
    const char *from = resultStorage.data() + offset;
    if (!value.isMemRef) {
      value.data = AlignedBytes(value.element.bytes());
      std::memcpy(value.data.data(), from, value.element.bytes());
      continue;
    }
    size_t rank = mlir::cast<mlir::MemRefType>(value.type).getRank();
    value.descriptor.resize(3 + 2 * rank);
    std::memcpy(value.descriptor.data(), from, value.descriptor.size() * 8);
    ArrayRef<int64_t> descriptor = value.descriptor;
    value.shape.assign(descriptor.slice(3, rank).begin(),
                       descriptor.slice(3, rank).end());
    ArrayRef<int64_t> strides = descriptor.drop_front(3 + rank);
    unsigned bytes = value.element.bytes();
    std::optional<uint64_t> size = value.bytes();
    if (size)
      value.data = AlignedBytes(*size);
    if (!size || !value.data)
      return createStringError("result " + Twine(i) + " is " +
                               shapeText(value.shape, value.element) +
                               ", which does not fit in memory");
    uint64_t count = value.elements();
    if (Error error = count ? checkBounds(value, i) : Error::success())
      return error;
    auto *aligned = reinterpret_cast<const char *>(descriptor[1]);
    SmallVector<int64_t> index(rank, 0);
    for (uint64_t i = 0; i < count; ++i) {
      int64_t at = descriptor[2];
      for (size_t d = 0; d < rank; ++d)
        at += index[d] * strides[d];
      std::memcpy(value.data.data() + i * bytes, aligned + at * bytes, bytes);
      for (size_t d = rank; d-- > 0;) {
        if (++index[d] < value.shape[d])
          break;
        index[d] = 0;
      }
    }
  }
  return Error::success();
}

Expected<std::vector<CallFrame::Target>>
CallFrame::resolveOutputs(ArrayRef<std::string> outputs) const {
  std::vector<Target> targets;
  size_t position = 0;
  for (StringRef output : outputs) {
    auto [name, where] = output.split('=');
    bool isArg = name.starts_with("arg"), isResult = name.starts_with("result");
    unsigned index = 0;
    Target target;
    if ((isArg || isResult) && output.contains('=') &&
        !name.drop_front(isArg ? 3 : 6).getAsInteger(10, index)) {
      target = {isResult, index, where};
    } else {
      // In order: the arguments, then the results.
      isResult = position >= arguments.size();
      target = {isResult,
                unsigned(isResult ? position - arguments.size() : position),
                output};
      ++position;
    }
    size_t count = target.isResult ? results.size() : arguments.size();
    if (target.index >= count)
      return createStringError("--output=" + output + ": the function has " +
                               Twine(arguments.size()) + " arguments and " +
                               Twine(results.size()) +
                               " results, counted in this order");
    if (!target.where.empty() && target.where != "-" &&
        (!target.where.consume_front("@") || target.where.empty()))
      return createStringError("--output=" + output +
                               ": expected -, @file.npy or nothing");
    targets.push_back(target);
  }
  return targets;
}

Error CallFrame::checkOutputs(ArrayRef<std::string> outputs) const {
  return resolveOutputs(outputs).takeError();
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

Error CallFrame::writeOutputs(ArrayRef<std::string> outputs, raw_ostream &os) {
  Expected<std::vector<Target>> targets = resolveOutputs(outputs);
  if (!targets)
    return targets.takeError();
  if (outputs.empty())
    for (unsigned i = 0; i < results.size(); ++i)
      targets->push_back({true, i, "-"});
  for (const Target &target : *targets) {
    Value &value = (target.isResult ? results : arguments)[target.index];
    if (target.where.empty())
      continue;
    if (target.where == "-") {
      os << (target.isResult ? "result[" : "arg[") << target.index
         << "]: " << shapeText(value.shape, value.element) << "=";
      uint64_t at = 0;
      printElements(os, value, 0, at);
      os << "\n";
      continue;
    }
    size_t bytes = value.elements() * value.element.bytes();
    if (Error error = writeNpy(target.where, value.element.descr(), value.shape,
                               ArrayRef<char>(value.data.data(), bytes)))
      return error;
  }
  return Error::success();
}

void CallFrame::printPlainResult(raw_ostream &os) {
  if (results.size() != 1 || results[0].isMemRef)
    return;
  const Value &value = results[0];
  float single;
  double number;
  if (value.element.kind == ElementType::Float && value.element.bits == 32) {
    std::memcpy(&single, value.data.data(), sizeof(single));
    os << single;
  } else if (value.element.kind == ElementType::Float &&
             value.element.bits == 64) {
    std::memcpy(&number, value.data.data(), sizeof(number));
    os << number;
  } else {
    printScalar(os, value.element, value.data.data());
  }
  os << "\n";
}

} // namespace gpurunner
