//===- Arguments.cpp - What a program is called with ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Arguments.h.
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Npy.h"

#include "gpuasync/Memory.h"
#include "gpuasync/Status.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace llvm;

namespace gpurunner {

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
    std::string wrong = unsupported(type);
    if (!wrong.empty())
      return createStringError("argument " + Twine(i) + " of " + signature +
                               " " + wrong);
  }
  for (auto [i, type] : enumerate(results)) {
    std::string wrong = unsupported(type);
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
    if (value.initial)
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
        value.data.data(), value.data.size(), value.name.c_str(), nullptr));
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
      os << (target.isResult ? "result[" : "arg[") << target.index << "]: ";
      printValue(os, value);
      continue;
    }
    if (Error error =
            writeNpy(target.where, value.element.descr(), value.shape,
                     ArrayRef<char>(value.data.data(), value.data.size())))
      return error;
  }
  return Error::success();
}

void CallFrame::printPlainResult(raw_ostream &os) {
  if (results.size() == 1 && !results[0].isMemRef)
    printPlain(os, results[0]);
}

} // namespace gpurunner
