//===- CallArguments.cpp - What a call is given ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the values of a call, and describes them for the program.
//===----------------------------------------------------------------------===//

#include "Library/Call.h"
#include "Library/Status.h"

using namespace llvm;
using namespace gpuexec;

gpuasync_status *Call::refuse(const char *what, size_t index,
                              const Parameter &parameter, const Twine &why) {
  return fail(GPUASYNC_INVALID_ARGUMENT,
              "@" + Twine(function.name) + ": " + what + " " + Twine(index) +
                  " of " + parameter.text + ": " + why);
}

bool gpuexec::isEmpty(const gpuasync_value &value) {
  return is_contained(ArrayRef(value.shape, value.rank), 0);
}

gpuasync_status *Call::check(const char *what, size_t index,
                             const Parameter &parameter,
                             const gpuasync_value &value, Range &range) {
  if (value.type != parameter.type &&
      withoutSign(value.type) != withoutSign(parameter.type))
    return refuse(what, index, parameter,
                  "given " + typeName(value.type) + ", expected " +
                      typeName(parameter.type));
  if (value.rank != parameter.rank)
    return refuse(what, index, parameter,
                  "given " + Twine(value.rank) + " dimensions, expected " +
                      Twine(parameter.rank));
  // All sizes before any stride: a view of the wrong size is not to be copied.
  for (uint32_t i = parameter.rank; i-- > 0;) {
    int64_t size = value.shape[i];
    bool isOpen = mlir::ShapedType::isDynamic(parameter.shape[i]);
    if (isOpen ? size < 0 : size != parameter.shape[i])
      return refuse(what, index, parameter,
                    "given the size " + Twine(size) + " in dimension " +
                        Twine(i) + ", expected " +
                        (isOpen ? "0 or more" : Twine(parameter.shape[i])));
  }
  int64_t expected = 1, low = 0, high = 0;
  bool empty = isEmpty(value), wraps = false;
  for (uint32_t i = parameter.rank; i-- > 0;) {
    int64_t size = value.shape[i], stride = empty ? 0 : value.strides[i];
    int64_t wanted =
        parameter.strides.empty() ? expected : parameter.strides[i];
    // Strides lead to no element where there is one or, in any dimension, none.
    if (!mlir::ShapedType::isDynamic(wanted) && stride != wanted && size > 1 &&
        !empty)
      return refuse(what, index, parameter,
                    "given the stride " + Twine(stride) + " in dimension " +
                        Twine(i) + ", expected " + Twine(wanted));
    int64_t span;
    wraps |=
        MulOverflow(std::max<int64_t>(size, 1) - 1, stride, span) ||
        AddOverflow(stride < 0 ? low : high, span, stride < 0 ? low : high) ||
        MulOverflow(expected, std::max<int64_t>(size, 1), expected);
  }
  int64_t first, last;
  wraps |= MulOverflow<int64_t>(low, parameter.bytes, first) ||
           MulOverflow<int64_t>(high, parameter.bytes, last) ||
           expected > (int64_t(1) << 46);
  if (wraps)
    return refuse(what, index, parameter, "such sizes fit in no memory");
  if (!value.data && !empty)
    return refuse(what, index, parameter, "its data is null");
  auto address = reinterpret_cast<uintptr_t>(value.data);
  if (parameter.kind != GPUASYNC_KIND_NUMBER) {
    // A complex number is two others.
    const bool isPair = parameter.type == GPUASYNC_TYPE_C64 ||
                        parameter.type == GPUASYNC_TYPE_C128;
    if (address % (isPair || parameter.bytes >= 16 ? parameter.bytes / 2
                                                   : parameter.bytes))
      return refuse(what, index, parameter,
                    "its data is at an address that is not a multiple of the "
                    "element's size");
    bool isWritten =
        parameter.kind == GPUASYNC_KIND_MEMREF || what == StringRef("result");
    if (isWritten && (value.flags & GPUASYNC_READ_ONLY))
      return refuse(what, index, parameter,
                    "the function may write it, but the array is read-only; "
                    "pass a copy");
    bool onDevice = value.device != GPUASYNC_HOST;
    if (value.device < GPUASYNC_HOST ||
        (onDevice && value.device != device->ordinal))
      return refuse(what, index, parameter,
                    "given on device " + Twine(value.device) +
                        ", but the executable is on " +
                        gpuasync_context_device(device->context.get()));
    if (executable.keepsArrays && parameter.kind == GPUASYNC_KIND_MEMREF &&
        !onDevice)
      return refuse(what, index, parameter,
                    "given in host memory, which place=device does not write; "
                    "pass an array on the device, or compile with place=copy");
    // The cpu device reaches all. Memrefs may be either: the program knows.
    const bool isUploaded = queue && !onDevice && what == StringRef("argument");
    if (!device->isCpu && parameter.kind == GPUASYNC_KIND_TENSOR &&
        onDevice != executable.deviceArrays && !isUploaded)
      return refuse(what, index, parameter,
                    onDevice ? "given on the device; compile with place=off "
                               "for arrays that are there"
                    : executable.keepsArrays
                        ? "given in host memory, but place=device has results "
                          "and, on a caller's stream, arguments on the device"
                        : "given in host memory, but place=off says that "
                          "arrays are on the device");
    if (onDevice && !empty)
      if (gpuasync_status *status =
              useArray(what, index, parameter, value, isWritten))
        return status;
  }
  range = empty ? Range{address, address}
                : Range{address + uintptr_t(first),
                        address + uintptr_t(last) + parameter.bytes};
  return nullptr;
}

/// Finds the array that a value on the device lies in, if it is ours.
gpuasync_status *Call::useArray(const char *what, size_t index,
                                const Parameter &parameter,
                                const gpuasync_value &value, bool isWritten) {
  DeviceArray::Found found = DeviceArray::find(value.data);
  const bool isGone = value.owner && what == StringRef("argument") &&
                      found.array != value.owner;
  if (isGone || (found.array && found.queue != device->queue.get()))
    return refuse(what, index, parameter,
                  "the array is not in the context of the executable, " +
                      Twine(gpuasync_context_device(device->context.get())) +
                      ": it is another device's, or its context was closed; "
                      "copy it to the host before, and pass that");
  if (found.array)
    used.push_back(std::move(found.ready));
  if (isWritten)
    written.push_back(value.data);
  return nullptr;
}

int64_t *Call::describeArray(const Parameter &parameter,
                             const gpuasync_value &value) {
  int64_t *descriptor = next;
  auto aligned = reinterpret_cast<int64_t>(value.data) -
                 parameter.offset * int64_t(parameter.bytes);
  descriptor[0] = descriptor[1] = aligned;
  descriptor[2] = parameter.offset;
  // The caller may have any strides for no elements; the program, which copies
  // and compares them too, has those that its type says, or of row-major order.
  bool empty = isEmpty(value);
  uint64_t rowMajor = 1;
  for (uint32_t i = parameter.rank; i-- > 0;) {
    int64_t stride = value.strides[i];
    if (empty)
      stride = parameter.strides.empty() ||
                       mlir::ShapedType::isDynamic(parameter.strides[i])
                   ? int64_t(rowMajor)
                   : parameter.strides[i];
    descriptor[3 + i] = value.shape[i];
    descriptor[3 + parameter.rank + i] = stride;
    rowMajor *= uint64_t(std::max<int64_t>(value.shape[i], 1));
  }
  next += 3 + 2 * parameter.rank;
  return descriptor;
}

/// Says where an array ends that the program is given.
void Call::announce(const Parameter &parameter, const Range &range) {
  if (parameter.kind != GPUASYNC_KIND_NUMBER)
    arrays.push_back({reinterpret_cast<const void *>(range.begin),
                      range.end - range.begin, parameter.what.c_str()});
}

gpuasync_status *Call::checkSizes(const gpuasync_value *arguments) {
  for (const SizeRule &rule : function.sizeRules) {
    int64_t size = arguments[rule.argument].shape[rule.dimension];
    int64_t wanted =
        rule.other < 0 ? rule.size : arguments[rule.other].shape[rule.size];
    if (size != wanted)
      return refuse(
          "argument", rule.argument, function.arguments[rule.argument],
          "given the size " + Twine(size) + " in dimension " +
              Twine(rule.dimension) + ", but " + rule.op + " needs " +
              Twine(wanted) +
              (rule.other < 0 ? Twine("")
                              : ", as in dimension " + Twine(rule.size) +
                                    " of argument " + Twine(rule.other)));
  }
  return nullptr;
}
