//===- Strided.cpp - Strided copies and fills as plain data ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Strided.h.
//===----------------------------------------------------------------------===//

#include "core/command/Strided.h"

#include <string.h>

using namespace gpuasync;

/// Whether `outer` is the stride of rows of `size` elements, `inner` apart.
static bool continues(int64_t outer, int64_t inner, int64_t size) {
  int64_t row;
  return !__builtin_mul_overflow(inner, size, &row) && outer == row;
}

void gpuasync::makeDims(const int64_t *sizes, const int64_t *destinationStrides,
                        const int64_t *sourceStrides, uint32_t rank,
                        uint32_t elementBytes, Dims &out) {
  out.rank = 0;
  for (uint32_t i = 0; i < rank; ++i) {
    if (sizes[i] == 1)
      continue; // its strides mean nothing
    Dim dim = {sizes[i], destinationStrides[i] * int64_t(elementBytes),
               sourceStrides[i] * int64_t(elementBytes)};
    Dim *outer = out.rank ? &out.at[out.rank - 1] : nullptr;
    if (outer && continues(outer->destination, dim.destination, dim.size) &&
        continues(outer->source, dim.source, dim.size))
      *outer = {outer->size * dim.size, dim.destination, dim.source};
    else
      out.at[out.rank++] = dim;
  }
}

Extent gpuasync::extentOf(const Dims &dims, bool destination,
                          uint64_t elementBytes) {
  Extent extent = {0, static_cast<int64_t>(elementBytes)};
  for (uint32_t i = 0; i < dims.rank; ++i) {
    const Dim &dim = dims.at[i];
    int64_t span =
        (dim.size - 1) * (destination ? dim.destination : dim.source);
    (span < 0 ? extent.low : extent.high) += span;
  }
  return extent;
}

uint64_t gpuasync::denseStrides(const StridedCopy &copy, int64_t *strides) {
  uint64_t bytes = copy.elementBytes;
  for (uint32_t i = copy.rank; i-- > 0;) {
    strides[i] = static_cast<int64_t>(bytes);
    bytes *= static_cast<uint64_t>(copy.sizes[i]);
  }
  return bytes;
}

static void copyFrom(const StridedCopy &copy, uint32_t dim, char *to,
                     const char *from) {
  if (dim == copy.rank) {
    memmove(to, from, copy.elementBytes);
    return;
  }
  for (int64_t i = 0; i < copy.sizes[dim]; ++i)
    copyFrom(copy, dim + 1, to + i * copy.destinationStrides[dim],
             from + i * copy.sourceStrides[dim]);
}

void gpuasync::copyOnHost(const ByteCopy &copy) {
  memmove(copy.destination, copy.source, copy.bytes);
}

void gpuasync::copyOnHost(const StridedCopy &copy) {
  copyFrom(copy, 0, static_cast<char *>(copy.destination),
           static_cast<const char *>(copy.source));
}

static void fillRow(char *to, int64_t count, int64_t stride,
                    const StridedFill &fill) {
  uint32_t size = fill.elementBytes;
  if (stride != size) {
    for (int64_t i = 0; i < count; ++i)
      memcpy(to + i * stride, fill.pattern, size);
    return;
  }
  bool bytesEqual = true;
  for (uint32_t i = 1; i < size; ++i)
    bytesEqual &= fill.pattern[i] == fill.pattern[0];
  uint64_t total = static_cast<uint64_t>(count) * size;
  if (bytesEqual) {
    memset(to, fill.pattern[0], total);
    return;
  }
  // Doubles the filled part, so long rows are copied in large pieces.
  memcpy(to, fill.pattern, size);
  for (uint64_t filled = size; filled < total;) {
    uint64_t piece = filled < total - filled ? filled : total - filled;
    memcpy(to + filled, to, piece);
    filled += piece;
  }
}

static void fillFrom(const StridedFill &fill, uint32_t dim, char *to) {
  if (dim + 1 == fill.rank) {
    fillRow(to, fill.sizes[dim], fill.strides[dim], fill);
    return;
  }
  for (int64_t i = 0; i < fill.sizes[dim]; ++i)
    fillFrom(fill, dim + 1, to + i * fill.strides[dim]);
}

void gpuasync::fillOnHost(const StridedFill &fill) {
  fillFrom(fill, 0, static_cast<char *>(fill.destination));
}
