//===- Strided.cpp - Strided copies and fills as plain data ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Strided.h.
//===----------------------------------------------------------------------===//

#include "core/Strided.h"

#include <string.h>

using namespace gpuasync;

bool gpuasync::simplify(std::vector<Dim> &dims) {
  std::vector<Dim> kept;
  for (const Dim &dim : dims) {
    if (dim.size <= 0)
      return false;
    if (dim.size == 1)
      continue;
    if (!kept.empty() &&
        kept.back().destination == dim.destination * dim.size &&
        kept.back().source == dim.source * dim.size)
      kept.back() = {kept.back().size * dim.size, dim.destination, dim.source};
    else
      kept.push_back(dim);
  }
  dims = std::move(kept);
  return true;
}

void gpuasync::extent(const std::vector<Dim> &dims, bool destination,
                      uint64_t elementBytes, int64_t &low, int64_t &high) {
  low = 0;
  high = static_cast<int64_t>(elementBytes);
  for (const Dim &dim : dims) {
    int64_t span =
        (dim.size - 1) * (destination ? dim.destination : dim.source);
    (span < 0 ? low : high) += span;
  }
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
