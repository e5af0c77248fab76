//===- Strided.h - Strided copies and fills as plain data -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bringing sizes and strides into the least rank, and doing a copy or a fill on
// the host, for staging and for the cpu driver.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_COMMAND_STRIDED_H
#define GPUASYNC_SHIM_COMMAND_STRIDED_H

#include "device/Command.h"
#include "shim/command/Extent.h"

namespace gpuasync {

/// One dimension, strides in bytes.
struct Dim {
  int64_t size, destination, source;
};

/// The dimensions of an array, outermost first, each of two indices or more.
/// An array has less than 2^63 bytes, so there are at most 62.
struct Dims {
  static constexpr uint32_t maxRank = 62;
  uint32_t rank = 0;
  Dim at[maxRank]; ///< not initialised
};

/// Writes to `out` the dimensions of an array with elements, whose sizes have
/// been checked on both sides (Extent.h). Strides are in elements. Drops unit
/// dimensions, and merges neighbours that are contiguous on both sides.
void makeDims(const int64_t *sizes, const int64_t *destinationStrides,
              const int64_t *sourceStrides, uint32_t rank,
              uint32_t elementBytes, Dims &out);

/// Returns the bytes that one side of an access touches, relative to its first
/// element.
inline Extent extentOf(const int64_t *sizes, const int64_t *strides,
                       uint32_t rank, uint64_t elementBytes) {
  Extent extent = {0, static_cast<int64_t>(elementBytes)};
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t span = (sizes[i] - 1) * strides[i];
    (span < 0 ? extent.low : extent.high) += span;
  }
  return extent;
}
inline Extent sourceExtent(const StridedCopy &copy) {
  return extentOf(copy.sizes, copy.sourceStrides, copy.rank, copy.elementBytes);
}
inline Extent destinationExtent(const StridedCopy &copy) {
  return extentOf(copy.sizes, copy.destinationStrides, copy.rank,
                  copy.elementBytes);
}

/// Calls `visit(a, b)` with the offsets of each element of an array, by two
/// lists of strides, in row-major order. No size is 0.
template <typename Visit>
void forEachOffset(const int64_t *sizes, const int64_t *aStrides,
                   const int64_t *bStrides, uint32_t rank, Visit visit) {
  int64_t index[StridedCopy::maxRank] = {};
  int64_t a = 0, b = 0;
  for (uint32_t dim = rank;;) {
    if (dim == rank)
      visit(a, b);
    if (!dim)
      return;
    --dim;
    a += aStrides[dim];
    b += bStrides[dim];
    if (++index[dim] < sizes[dim]) {
      dim = rank;
      continue;
    }
    a -= sizes[dim] * aStrides[dim];
    b -= sizes[dim] * bStrides[dim];
    index[dim] = 0;
  }
}

/// Writes the strides of an array without gaps with the copy's elements.
/// Returns its bytes.
uint64_t denseStrides(const StridedCopy &copy, int64_t *strides);

/// Makes one side of a copy an array without gaps. Returns its bytes.
inline uint64_t makeDense(ByteCopy &copy, bool) { return copy.bytes; }
inline uint64_t makeDense(StridedCopy &copy, bool source) {
  return denseStrides(copy,
                      source ? copy.sourceStrides : copy.destinationStrides);
}

/// Returns the bytes of all elements.
inline uint64_t bytesOf(const ByteCopy &copy) { return copy.bytes; }
template <typename Strided>
uint64_t bytesOf(const Strided &access) {
  uint64_t bytes = access.elementBytes;
  for (uint32_t i = 0; i < access.rank; ++i)
    bytes *= static_cast<uint64_t>(access.sizes[i]);
  return bytes;
}

/// Carries the copy out on the calling thread. Either side may overlap itself.
void copyOnHost(const ByteCopy &copy);
void copyOnHost(const StridedCopy &copy);
void fillOnHost(const StridedFill &fill);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_COMMAND_STRIDED_H
