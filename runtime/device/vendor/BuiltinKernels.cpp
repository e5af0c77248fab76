//===- BuiltinKernels.cpp - The runtime's own kernels ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a copy or fill to the arguments of the kernel that does it.
//===----------------------------------------------------------------------===//

#include "device/vendor/BuiltinKernels.h"

#include <string.h>

using namespace gpuasync;

static const uint32_t paramOffsets[] = {0};
static const uint32_t paramSizes[] = {sizeof(BuiltinArguments)};
static const uint32_t signalOffsets[] = {offsetof(SignalArguments, slot),
                                         offsetof(SignalArguments, index)};
static const uint32_t signalSizes[] = {sizeof(SignalArguments::slot),
                                       sizeof(SignalArguments::index)};
static const gpuasync_kernel kernels[BuiltinKernelCount] = {
    {"gpuasync_copy", paramOffsets, paramSizes, 1, sizeof(BuiltinArguments)},
    {"gpuasync_fill", paramOffsets, paramSizes, 1, sizeof(BuiltinArguments)},
    {"gpuasync_nothing", nullptr, nullptr, 0, 0},
    {"gpuasync_signal", signalOffsets, signalSizes, 2,
     sizeof(SignalArguments)}};
static const gpuasync_module module = {"gpuasync_builtin", kernels, nullptr,
                                       BuiltinKernelCount, 0};

const gpuasync_kernel *gpuasync::builtinKernels() { return kernels; }
const gpuasync_module &gpuasync::builtinKernelModule() { return module; }

/// The largest unit that addresses, strides and the element allow.
static uint32_t commonUnit(uint64_t bits) {
  uint32_t unit = 16;
  while (bits & (unit - 1))
    unit /= 2;
  return unit;
}

BuiltinArguments gpuasync::builtinCopyArguments(const StridedCopy &copy) {
  BuiltinArguments result;
  result.destination = copy.destination;
  result.source = copy.source;
  uint64_t bits = reinterpret_cast<uintptr_t>(copy.destination) |
                  reinterpret_cast<uintptr_t>(copy.source) | copy.elementBytes;
  uint64_t count = 1;
  for (uint32_t i = 0; i < copy.rank; ++i) {
    bits |= uint64_t(copy.destinationStrides[i]);
    bits |= uint64_t(copy.sourceStrides[i]);
    result.sizes[i] = copy.sizes[i];
    result.destinationStrides[i] = copy.destinationStrides[i];
    result.sourceStrides[i] = copy.sourceStrides[i];
    count *= uint64_t(copy.sizes[i]);
  }
  result.unit = commonUnit(bits);
  result.rank = copy.rank;
  if (copy.elementBytes != result.unit) {
    uint32_t inner = result.rank++;
    result.sizes[inner] = int64_t(copy.elementBytes / result.unit);
    result.destinationStrides[inner] = result.sourceStrides[inner] =
        result.unit;
    count *= uint64_t(result.sizes[inner]);
  }
  result.count = count;
  return result;
}

BuiltinArguments gpuasync::builtinFillArguments(const StridedFill &fill) {
  BuiltinArguments result;
  result.destination = fill.destination;
  result.unit = fill.elementBytes;
  result.rank = fill.rank;
  memcpy(result.pattern, fill.pattern, fill.elementBytes);
  result.count = 1;
  for (uint32_t i = 0; i < fill.rank; ++i) {
    result.sizes[i] = fill.sizes[i];
    result.destinationStrides[i] = fill.strides[i];
    result.count *= uint64_t(fill.sizes[i]);
  }
  uint64_t bits = reinterpret_cast<uintptr_t>(fill.destination);
  for (uint32_t i = 0; i < fill.rank; ++i)
    bits |= uint64_t(fill.strides[i]);
  // An element that is not aligned to its size is filled in smaller units.
  if (const uint32_t unit = commonUnit(bits | fill.elementBytes);
      unit < fill.elementBytes) {
    const uint32_t inner = result.rank++;
    result.unit = unit;
    result.sizes[inner] = fill.elementBytes / unit;
    result.destinationStrides[inner] = result.sourceStrides[inner] = unit;
    result.count *= fill.elementBytes / unit;
    return result;
  }
  // Elements side by side, two at a time as long as all is aligned for that.
  bits = reinterpret_cast<uintptr_t>(fill.destination);
  for (uint32_t i = 0; i + 1 < fill.rank; ++i)
    bits |= uint64_t(fill.strides[i]);
  if (fill.rank == 0 || fill.strides[fill.rank - 1] != int64_t(result.unit))
    return result;
  int64_t &width = result.sizes[fill.rank - 1];
  while (result.unit < sizeof(result.pattern) && width % 2 == 0 &&
         bits % (2 * result.unit) == 0) {
    memcpy(result.pattern + result.unit, result.pattern, result.unit);
    result.unit *= 2;
    width /= 2;
    result.count /= 2;
  }
  result.destinationStrides[fill.rank - 1] = result.unit;
  return result;
}
