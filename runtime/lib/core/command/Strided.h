//===- Strided.h - Strided copies and fills as plain data -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bringing sizes and strides into the least rank, and doing a copy or a fill on
// the host, for staging and for the cpu driver.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_COMMAND_STRIDED_H
#define GPUASYNC_CORE_COMMAND_STRIDED_H

#include "core/command/Extent.h"
#include "drivers/Driver.h"

#include <vector>

namespace gpuasync {

/// One dimension, strides in bytes.
struct Dim {
  int64_t size, destination, source;
};

/// The dimensions of data whose sizes have been checked on both sides
/// (Extent.h), strides in elements: without unit dimensions, and neighbours
/// that are contiguous on both sides as one.
std::vector<Dim> makeDims(const int64_t *sizes,
                          const int64_t *destinationStrides,
                          const int64_t *sourceStrides, uint32_t rank,
                          uint32_t elementBytes);

/// The bytes that an access of `dims` touches, relative to the base pointer.
Extent extentOf(const std::vector<Dim> &dims, bool destination,
                uint64_t elementBytes);

/// Of all elements of a StridedCopy or StridedFill.
template <typename Strided>
uint64_t bytesOf(const Strided &access) {
  uint64_t bytes = access.elementBytes;
  for (uint32_t i = 0; i < access.rank; ++i)
    bytes *= static_cast<uint64_t>(access.sizes[i]);
  return bytes;
}

/// Carries the copy out on the calling thread. Either side may overlap itself.
void copyOnHost(const StridedCopy &copy);
void fillOnHost(const StridedFill &fill);

} // namespace gpuasync

#endif // GPUASYNC_CORE_COMMAND_STRIDED_H
