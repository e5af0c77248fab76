//===- Extent.h - The bytes that sizes and strides span ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of sizes that come from a program. Nothing is computed from such
// sizes before they have been here.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_COMMAND_EXTENT_H
#define GPUASYNC_SHIM_COMMAND_EXTENT_H

#include "gpuasync/Status.h"

#include <stdint.h>
#include <string>

namespace gpuasync {

/// Bytes relative to the first element: from `low` up to `high`, both 0 for
/// data without elements.
struct Extent {
  int64_t low = 0, high = 0;
  uint64_t bytes() const { return static_cast<uint64_t>(high - low); }
  /// Whether all of it is in memory of `size` bytes, in which the first element
  /// is at `offset`.
  bool isWithin(uint64_t offset, uint64_t size) const {
    return offset <= size && static_cast<uint64_t>(high) <= size - offset &&
           static_cast<uint64_t>(-low) <= offset;
  }
  /// "32 bytes at offset -24 of 256 (a negative stride)": where it lies then.
  std::string describe(uint64_t offset, uint64_t size) const {
    return std::to_string(bytes()) + " bytes at offset " +
           std::to_string(static_cast<int64_t>(offset) + low) + " of " +
           std::to_string(size) + (low ? " (a negative stride)" : "");
  }
};

/// An extent of one piece.
inline Extent extentOf(uint64_t bytes) {
  return {0, static_cast<int64_t>(bytes)};
}

/// What `rank`-dimensional data spans, sizes and strides in elements of
/// `elementBytes`; null strides: data without gaps. False if a size is
/// negative, or the elements or their span are 2^63 bytes or more. Then `out`
/// is as it was.
inline bool findExtent(const int64_t *sizes, const int64_t *strides,
                       uint32_t rank, uint64_t elementBytes, Extent &out) {
  bool empty = false;
  for (uint32_t i = 0; i < rank; ++i) {
    if (sizes[i] < 0)
      return false;
    empty |= sizes[i] == 0;
  }
  if (empty) {
    out = Extent();
    return true;
  }
  int64_t bytes;
  if (__builtin_add_overflow(elementBytes, 0, &bytes))
    return false;
  Extent extent = {0, bytes};
  for (uint32_t i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(bytes, sizes[i], &bytes))
      return false;
  if (!strides)
    extent.high = bytes;
  for (uint32_t i = 0; strides && i < rank; ++i) {
    int64_t span, &end = strides[i] < 0 ? extent.low : extent.high;
    if (sizes[i] == 1)
      continue; // its stride means nothing
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &span) ||
        __builtin_mul_overflow(span, elementBytes, &span) ||
        __builtin_add_overflow(end, span, &end))
      return false;
  }
  if (__builtin_sub_overflow(extent.high, extent.low, &bytes))
    return false;
  out = extent;
  return true;
}

/// What is wrong with sizes and strides that findExtent refuses.
inline std::string describeBadExtent(const int64_t *sizes,
                                     const int64_t *strides, uint32_t rank,
                                     uint64_t elementBytes) {
  auto list = [&](const int64_t *numbers) {
    std::string text;
    for (uint32_t i = 0; i < rank; ++i)
      text += (i ? " x " : "") + std::to_string(numbers[i]);
    return text;
  };
  std::string text =
      list(sizes) + " elements of " + std::to_string(elementBytes) + " bytes";
  for (uint32_t i = 0; i < rank; ++i)
    if (sizes[i] < 0)
      return "negative size: " + text;
  if (strides)
    text += " with strides of " + list(strides);
  return "too large: " + text + " span 2^63 bytes or more";
}

/// Calls findExtent. Its error names the sizes.
Status checkExtent(const int64_t *sizes, const int64_t *strides, uint32_t rank,
                   uint64_t elementBytes, Extent &out);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_COMMAND_EXTENT_H
