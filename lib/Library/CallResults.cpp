//===- CallResults.cpp - The memory of results ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds or makes the memory of results: the caller's, that of donated
// arguments, or new one.
//===----------------------------------------------------------------------===//

#include "Library/Call.h"
#include "Library/Status.h"

#include <cstdlib>
#include <cstring>

using namespace llvm;
using namespace gpuexec;

/// Finds out which donated arguments the call takes over.
gpuasync_status *Call::findTaken(const gpuasync_value *results) {
  if (!given || !function.takesAny)
    return nullptr;
  taken.assign(function.results.size(), false);
  for (auto [result, number] : enumerate(function.takes)) {
    if (number < 0 || results[result].data || !given[number].owner)
      continue;
    const gpuasync_value &value = given[number];
    DeviceArray *array = DeviceArray::of(value);
    taken[result] = queue ? array && array->isWhole(value.data, queue)
                          : value.device == GPUASYNC_HOST &&
                                value.data == value.owner &&
                                !(value.flags & GPUASYNC_READ_ONLY);
    if (!taken[result])
      continue;
    for (auto [other, range] : enumerate(ranges))
      if (int64_t(other) != number && range.overlaps(ranges[number]))
        return refuse("argument", number, function.arguments[number],
                      "it is donated, but argument " + Twine(other) +
                          " overlaps it; pass a copy of one of them");
  }
  return nullptr;
}

/// On the host, puts arguments where the results are computed of them.
gpuasync_status *Call::makeHostMemory(MutableArrayRef<gpuasync_value> arguments,
                                      ArrayRef<gpuasync_value> results) {
  takenOnHost.assign(results.size(), nullptr);
  for (auto [result, number] : enumerate(function.takes)) {
    if (number < 0)
      continue;
    gpuasync_value &value = arguments[number];
    void *memory = value.data;
    if (!isTaken(result)) {
      const Parameter &parameter = function.results[result];
      const uint64_t bytes = countBytes(parameter);
      memory = results[result].data;
      if (!memory) {
        memory = std::aligned_alloc(64, alignTo(bytes, 64));
        if (!memory)
          return fail(GPUASYNC_OUT_OF_MEMORY,
                      "@" + Twine(function.name) +
                          ": no host memory for result " + Twine(result) +
                          " of " + parameter.text);
        allocated.push_back(memory);
      }
      std::memcpy(memory, value.data, bytes);
      ranges[number] = {reinterpret_cast<uintptr_t>(memory),
                        reinterpret_cast<uintptr_t>(memory) + bytes};
      value.data = memory;
    }
    takenOnHost[result] = memory;
  }
  return nullptr;
}

/// Takes over the memory of donated arguments. The program is about to begin.
void Call::takeOver() {
  for (auto [result, number] : enumerate(function.takes)) {
    if (!isTaken(result))
      continue;
    gpuasync_value &value = given[number];
    if (DeviceArray *array = DeviceArray::of(value)) {
      (void)array->release();
      delete array;
    } else {
      allocated.push_back(value.owner);
    }
    value.owner = value.data = nullptr;
  }
  taken.clear();
}

/// Checks the memory that the caller has for a result.
gpuasync_status *Call::checkResult(size_t index, const gpuasync_value &result) {
  if (!result.data)
    return nullptr;
  const Parameter &parameter = function.results[index];
  if (function.destinations[index] < 0 &&
      parameter.kind != GPUASYNC_KIND_NUMBER)
    return refuse("result", index, parameter,
                  "given memory, but the function returns its own; leave "
                  "data null");
  Range range;
  if (gpuasync_status *status =
          check("result", index, parameter, result, range))
    return status;
  const size_t arguments = function.arguments.size();
  for (auto [other, taken] : enumerate(ranges))
    if (range.overlaps(taken))
      return refuse("result", index, parameter,
                    other < arguments
                        ? "its memory overlaps that of argument " +
                              Twine(other) +
                              "; pass other memory, or a copy of the argument"
                        : Twine("its memory overlaps that of another result; "
                                "pass other memory"));
  ranges.push_back(range);
  return nullptr;
}

/// Finds or makes the memory of a result by destination.
gpuasync_status *Call::prepareResult(size_t index, gpuasync_value &result) {
  const Parameter &parameter = function.results[index];
  int64_t destination = function.destinations[index];
  gpuasync_value value = result;
  Range range;
  if (result.data) {
    range.begin = reinterpret_cast<uintptr_t>(result.data);
    range.end = range.begin + (isEmpty(result) ? 0 : countBytes(parameter));
  } else if (index < takenOnHost.size() && takenOnHost[index]) {
    value = gpuasync_value_make(takenOnHost[index], parameter.type,
                                parameter.rank, parameter.shape.data());
    value.owner = takenOnHost[index];
    range.begin = reinterpret_cast<uintptr_t>(takenOnHost[index]);
    range.end = range.begin + countBytes(parameter);
  } else if (destination >= 0 && queue) {
    value = gpuasync_value_make(kept[index], parameter.type, parameter.rank,
                                parameter.shape.data());
    value.device = queue->getOrdinal();
    range.begin = reinterpret_cast<uintptr_t>(kept[index]);
    range.end = range.begin + countBytes(parameter);
  } else if (destination >= 0) {
    if (executable.deviceArrays)
      return refuse("result", index, parameter,
                    executable.keepsArrays
                        ? "a call on a caller's stream writes to memory of the "
                          "device that the caller gives in data (in Python: "
                          "out); a call without a stream makes it"
                        : "place=off writes to memory of the device, which the "
                          "caller gives in data");
    const uint64_t bytes = countBytes(parameter);
    void *memory =
        std::aligned_alloc(64, alignTo(std::max<uint64_t>(bytes, 1), 64));
    if (!memory)
      return fail(GPUASYNC_OUT_OF_MEMORY,
                  "@" + Twine(function.name) + ": no host memory for result " +
                      Twine(index) + " of " + parameter.text);
    value = gpuasync_value_make(memory, parameter.type, parameter.rank,
                                parameter.shape.data());
    value.owner = memory;
    allocated.push_back(memory);
    range.begin = reinterpret_cast<uintptr_t>(memory);
    range.end = range.begin + bytes;
  }
  if (destination >= 0) {
    packed[destination] = describeArray(parameter, value);
    announce(parameter, range);
  }
  result = value;
  return nullptr;
}

/// Reads a result that the function has returned.
void Call::readResult(size_t index, gpuasync_value &result) {
  const Parameter &parameter = function.results[index];
  if (function.destinations[index] >= 0)
    return;
  const char *from = reinterpret_cast<const char *>(storage.data()) +
                     function.layout.resultOffsets[index];
  if (parameter.kind == GPUASYNC_KIND_NUMBER) {
    if (!result.data) {
      void *memory = std::malloc(16);
      if (!memory)
        report_bad_alloc_error("no host memory for a number");
      result = gpuasync_value_make(memory, parameter.type, 0, nullptr);
      result.owner = memory;
    }
    std::memcpy(result.data, from, parameter.bytes);
    return;
  }
  SmallVector<int64_t, 3 + 2 * GPUASYNC_MAX_RANK> descriptor(
      3 + 2 * parameter.rank);
  std::memcpy(descriptor.data(), from, descriptor.size() * 8);
  result = gpuasync_value();
  result.data = reinterpret_cast<char *>(descriptor[1]) +
                descriptor[2] * int64_t(parameter.bytes);
  result.type = parameter.type;
  result.rank = parameter.rank;
  result.device = GPUASYNC_HOST;
  for (uint32_t i = 0; i < parameter.rank; ++i) {
    result.shape[i] = descriptor[3 + i];
    result.strides[i] = descriptor[3 + parameter.rank + i];
  }
  auto address = reinterpret_cast<uintptr_t>(result.data);
  if (parameter.kind == GPUASYNC_KIND_TENSOR)
    result.owner = reinterpret_cast<void *>(descriptor[0]);
  else if (none_of(ranges,
                   [&](const Range &range) {
                     return range.begin <= address && address < range.end;
                   }) &&
           executable.linked.isReadOnly(result.data))
    result.flags = GPUASYNC_READ_ONLY;
}
