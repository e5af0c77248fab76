//===- Arguments.cpp - What a program is called with ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Arguments.h.
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Compare.h"
#include "Npy.h"

#include "gpuasync/Memory.h"
#include "gpuasync/Status.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#if LLVM_ADDRESS_SANITIZER_BUILD
#include <sanitizer/lsan_interface.h>
#endif

using namespace llvm;

namespace gpurunner {

/// Returns the reason to put before an error about arguments or results where
/// the function has parts of lowered memrefs: two pointers and an offset among
/// the arguments, or a struct as a result. Else empty.
static const char *explainLowered(const Signature &signature) {
  ArrayRef<mlir::Type> types = signature.arguments;
  for (; types.size() > 2; types = types.drop_front())
    if (mlir::isa<mlir::LLVM::LLVMPointerType>(types[0]) &&
        mlir::isa<mlir::LLVM::LLVMPointerType>(types[1]) &&
        types[2].isInteger(64))
      return "the file is lowered already, to one argument for each part of "
             "a memref: give the file from before; ";
  if (any_of(signature.results, llvm::IsaPred<mlir::LLVM::LLVMStructType>))
    return "the file is lowered already, to structs of what a function "
           "returns: give the file from before; ";
  return "";
}

Expected<CallFrame> CallFrame::create(const Signature &signature,
                                      ArrayRef<std::string> inputs) {
  std::string text;
  raw_string_ostream os(text);
  os << "@" << signature.name << "(";
  interleaveComma(signature.arguments, os);
  os << ")";

  CallFrame frame;
  size_t count = signature.arguments.size();
  for (auto [i, type] : enumerate(signature.arguments)) {
    std::string wrong = unsupported(type);
    if (!wrong.empty())
      return createStringError(explainLowered(signature) + Twine("argument ") +
                               Twine(i) + " of " + text + " " + wrong);
  }
  for (auto [i, type] : enumerate(signature.results)) {
    std::string wrong = unsupported(type);
    if (!wrong.empty())
      return createStringError(explainLowered(signature) + Twine("result ") +
                               Twine(i) + " of @" + signature.name + ", " +
                               typeText(type) + ", " + wrong);
  }
  if (inputs.size() != count)
    return createStringError(
        explainLowered(signature) + text + " takes " + Twine(count) +
        (count == 1 ? " argument" : " arguments") + ", but " +
        Twine(inputs.size()) + " --input were given");
  for (auto [i, type] : enumerate(signature.arguments)) {
    std::string name =
        "--input " + std::to_string(i) + " of " + std::to_string(count);
    Expected<Value> value = makeArgument(type, inputs[i], name);
    if (!value)
      return createStringError(explainLowered(signature) +
                               toString(value.takeError()));
    value->name = name + " (" + shapeText(value->shape, value->element) + ")";
    frame.arguments.push_back(std::move(*value));
  }
  for (const SizeRule &rule : signature.sizeRules) {
    int64_t size = frame.arguments[rule.argument].shape[rule.dimension];
    int64_t wanted = rule.other < 0
                         ? rule.size
                         : frame.arguments[rule.other].shape[rule.size];
    std::string source =
        rule.other < 0 ? ""
                       : ", as in dimension " + std::to_string(rule.size) +
                             " of --input " + std::to_string(rule.other);
    if (size != wanted)
      return createStringError(
          "--input " + Twine(rule.argument) + " of " + Twine(count) + ": '" +
          inputs[rule.argument] + "' has the size " + Twine(size) +
          " in dimension " + Twine(rule.dimension) + ", but " + rule.op +
          " needs " + Twine(wanted) + source);
  }
  for (mlir::Type type : signature.results) {
    ValueType described = ValueType::get(type);
    Value value;
    value.type = type;
    value.element = described.element;
    value.isArray = described.isArray;
    value.rank = described.rank;
    value.shape = described.shape;
    frame.results.push_back(std::move(value));
  }
  return frame;
}

Error CallFrame::setDestinations(ArrayRef<int64_t> numbers) {
  destinations.assign(numbers.begin(), numbers.end());
  SmallVector<ValueType> types;
  for (auto [i, value, destination] : enumerate(results, destinations)) {
    types.push_back(ValueType::get(value.type));
    if (destination < 0)
      continue;
    std::optional<uint64_t> size = value.bytes();
    if (size)
      value.data = AlignedBytes(*size);
    if (!value.data)
      return createStringError("result " + Twine(i) + ", " +
                               typeText(value.type) +
                               ", does not fit in memory");
    value.name = "result " + std::to_string(i) + " (" +
                 shapeText(value.shape, value.element) + ")";
    value.describe();
  }
  layout = CallLayout::get(arguments.size(), types, destinations);
  resultStorage = AlignedBytes(layout.resultBytes);
  return Error::success();
}

void CallFrame::reset() {
  for (Value &value : arguments)
    if (value.initial && called)
      std::memcpy(value.data.data(), value.initial.data(),
                  value.initial.size());
  // What the program leaves out shows: NaN, or -1.
  for (auto [value, destination] : zip(results, destinations))
    if (destination >= 0)
      std::memset(value.data.data(), 0xff, value.data.size());
  std::memset(resultStorage.data(), 0, resultStorage.size());
  called = true;
}

void **CallFrame::pack(void **status) {
  packed.resize(layout.storage + 2);
  for (auto [value, place] : zip(arguments, layout.arguments))
    packed[place] = value.storage();
  for (auto [value, destination] : zip(results, destinations))
    if (destination >= 0)
      packed[destination] = value.storage();
  packed[layout.storage] = resultStorage.data();
  packed[layout.storage + 1] = status;
  return packed.data();
}

void CallFrame::forEachArray(function_ref<void(Value &)> visit) {
  for (Value &value : arguments)
    if (value.isArray)
      visit(value);
  for (auto [value, destination] : zip(results, destinations))
    if (destination >= 0)
      visit(value);
}

Error CallFrame::announce() {
  std::string wrong;
  forEachArray([&](Value &value) {
    gpuasync::Status status(gpuasync_host_memory_add(
        value.data.data(), value.data.size(), value.name.c_str(), nullptr));
    if (!status.ok() && wrong.empty())
      wrong = status.message();
  });
  return wrong.empty() ? Error::success() : createStringError(wrong);
}

void CallFrame::forget() {
  forEachArray(
      [](Value &value) { gpuasync_host_memory_remove(value.data.data()); });
}

void CallFrame::freeResults() {
  // One array may be several results, or an argument.
  SmallPtrSet<void *, 4> kept;
  forEachArray([&](Value &value) { kept.insert(value.data.data()); });
  for (auto [value, destination, offset] :
       zip(results, destinations, layout.resultOffsets)) {
    if (destination >= 0 ||
        !mlir::isa<mlir::TensorType, mlir::MemRefType>(value.type))
      continue;
    void *allocated = nullptr;
    std::memcpy(&allocated, resultStorage.data() + offset, sizeof(allocated));
    // Memory that the program returns as a memref may still be its own.
    if (!mlir::isa<mlir::TensorType>(value.type)) {
#if LLVM_ADDRESS_SANITIZER_BUILD
      __lsan_ignore_object(allocated);
#endif
      continue;
    }
    if (!allocated || !kept.insert(allocated).second)
      continue;
    // --check has noted it.
    const void *known = nullptr;
    if (gpuasync_host_memory_find(allocated, 1, &known, nullptr, nullptr,
                                  nullptr) &&
        known == allocated)
      gpuasync_host_memory_remove(allocated);
    std::free(allocated);
  }
}

/// An error if elements of a memref lie outside of the array that they begin
/// in, as far as it is known.
static Error checkBounds(const Value &value, size_t number) {
  ArrayRef<int64_t> descriptor = value.descriptor;
  unsigned bytes = value.elementBytes();
  int64_t low = descriptor[2], high = low;
  bool wraps = false;
  for (auto [size, stride] : zip(ArrayRef(value.shape).take_front(value.rank),
                                 descriptor.drop_front(3 + value.rank))) {
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
  for (auto [i, each] :
       enumerate(zip(results, layout.resultOffsets, destinations))) {
    auto &[value, offset, destination] = each;
    if (destination >= 0)
      continue;
    const char *from = resultStorage.data() + offset;
    if (!value.isArray) {
      value.data = AlignedBytes(value.element.bytes());
      std::memcpy(value.data.data(), from, value.element.bytes());
      continue;
    }
    size_t rank = value.rank;
    value.descriptor.resize(3 + 2 * rank);
    std::memcpy(value.descriptor.data(), from, value.descriptor.size() * 8);
    ArrayRef<int64_t> descriptor = value.descriptor;
    llvm::copy(descriptor.slice(3, rank), value.shape.begin());
    ArrayRef<int64_t> strides = descriptor.drop_front(3 + rank);
    unsigned bytes = value.elementBytes();
    std::optional<uint64_t> size = value.bytes();
    if (size)
      value.data = AlignedBytes(*size);
    if (!size || !value.data)
      return createStringError("result " + Twine(i) + " is " +
                               shapeText(value.shape, value.element) +
                               ", which does not fit in memory");
    uint64_t count = *size / bytes;
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

/// "no results", "1 result (result0)", "2 results (result0 to result1)".
static std::string nameAll(size_t count, StringRef noun, StringRef name) {
  if (!count)
    return ("no " + noun + "s").str();
  std::string text =
      (Twine(count) + " " + noun + (count == 1 ? "" : "s") + " (" + name + "0")
          .str();
  if (count > 1)
    text += (" to " + name + Twine(count - 1)).str();
  return text + ")";
}

Expected<std::vector<CallFrame::Target>>
CallFrame::resolve(StringRef option, ArrayRef<std::string> texts,
                   size_t first) const {
  std::vector<Target> targets;
  size_t position = first;
  for (StringRef text : texts) {
    auto [name, where] = text.split('=');
    bool isArg = name.starts_with("arg"), isResult = name.starts_with("result");
    unsigned index = 0;
    Target target;
    if ((isArg || isResult) && text.contains('=') &&
        !name.drop_front(isArg ? 3 : 6).getAsInteger(10, index)) {
      target = {isResult, index, where};
    } else {
      // In order: the arguments, then the results.
      isResult = position >= arguments.size();
      target = {isResult,
                unsigned(isResult ? position - arguments.size() : position),
                text};
      ++position;
    }
    size_t count = target.isResult ? results.size() : arguments.size();
    if (target.index >= count)
      return createStringError(option + "=" + text + ": the function has " +
                               nameAll(arguments.size(), "argument", "arg") +
                               " and " +
                               nameAll(results.size(), "result", "result"));
    targets.push_back(target);
  }
  return targets;
}

Expected<std::vector<CallFrame::Target>>
CallFrame::resolveOutputs(ArrayRef<std::string> outputs) const {
  Expected<std::vector<Target>> targets = resolve("--output", outputs, 0);
  if (!targets)
    return targets;
  for (auto [target, output] : zip(*targets, outputs))
    if (!target.where.empty() && target.where != "-" &&
        (!target.where.consume_front("@") || target.where.empty()))
      return createStringError("--output=" + output +
                               ": expected -, @file.npy or nothing");
  return targets;
}

Error CallFrame::setExpected(ArrayRef<std::string> expected) {
  Expected<std::vector<Target>> targets =
      resolve("--expect", expected, arguments.size());
  if (!targets)
    return targets.takeError();
  for (auto [target, text] : zip(*targets, expected)) {
    Value &value = valueOf(target);
    Expected<Value> reference =
        makeReference(value.type, target.where, "--expect of " + target.name());
    if (!reference)
      return reference.takeError();
    expectations.push_back({target, std::move(*reference)});
  }
  // Without names, all results are meant.
  bool isByPlace = llvm::any_of(zip(*targets, expected), [](auto pair) {
    return std::get<0>(pair).where == std::get<1>(pair);
  });
  for (unsigned i = 0; isByPlace && i < results.size(); ++i)
    if (llvm::none_of(*targets, [&](const Target &target) {
          return target.isResult && target.index == i;
        }))
      return createStringError(
          "--expect: there is none for result" + Twine(i) +
          ": give one for each result, or name those to compare "
          "(--expect=result0=...)");
  return Error::success();
}

Error CallFrame::checkExpected(double tolerance, raw_ostream &os) {
  std::string wrong;
  for (const Expectation &expectation : expectations) {
    std::string name = expectation.target.name();
    const Value &value = valueOf(expectation.target);
    const Value &reference = expectation.reference;
    if (value.shape != reference.shape) {
      wrong += "\n  " + name + " is " + shapeText(value.shape, value.element) +
               ", expected " + shapeText(reference.shape, reference.element);
      continue;
    }
    Difference difference = compare(value, reference);
    std::string error;
    raw_string_ostream text(error);
    printDifference(text, difference);
    os << name << ": " << error << "\n";
    if (!(difference.relative <= tolerance))
      wrong += "\n  " + name + ": " + error + ", " +
               worstElement(value, reference, difference);
  }
  if (wrong.empty())
    return Error::success();
  std::string limit;
  raw_string_ostream(limit) << format("%g", tolerance);
  return createStringError("not as --expect says, with --tolerance=" + limit +
                           ":" + wrong);
}

Error CallFrame::checkOutputs(ArrayRef<std::string> outputs) const {
  return resolveOutputs(outputs).takeError();
}

Error CallFrame::writeOutputs(ArrayRef<std::string> outputs, raw_ostream &os,
                              std::vector<NewFile> &files) {
  Expected<std::vector<Target>> targets = resolveOutputs(outputs);
  if (!targets)
    return targets.takeError();
  if (outputs.empty())
    for (unsigned i = 0; i < results.size(); ++i)
      targets->push_back({true, i, "-"});
  for (const Target &target : *targets) {
    Value &value = valueOf(target);
    if (target.where.empty())
      continue;
    if (target.where == "-") {
      os << target.name() << ": ";
      printValue(os, value);
      continue;
    }
    Expected<NewFile> file =
        makeNpy(target.where, value.element.descr(), value.shape,
                ArrayRef<char>(value.data.data(), value.data.size()));
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
  }
  return Error::success();
}

void CallFrame::printPlainResult(raw_ostream &os) {
  if (results.size() == 1 && !results[0].isArray)
    printPlain(os, results[0]);
}

} // namespace gpurunner
