//===- Strided.cpp - Strided copies and fills as plain data ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Strided.h.
//===----------------------------------------------------------------------===//

#include "shim/command/Strided.h"

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

uint64_t gpuasync::denseStrides(const StridedCopy &copy, int64_t *strides) {
  uint64_t bytes = copy.elementBytes;
  for (uint32_t i = copy.rank; i-- > 0;) {
    strides[i] = static_cast<int64_t>(bytes);
    bytes *= static_cast<uint64_t>(copy.sizes[i]);
  }
  return bytes;
}

void gpuasync::copyOnHost(const ByteCopy &copy) {
  memmove(copy.destination, copy.source, copy.bytes);
}

/// `fixed`: the bytes of an element, or 0.
template <size_t fixed>
static void copyElements(const StridedCopy &copy) {
  const uint32_t last = copy.rank - 1;
  forEachOffset(copy.sizes, copy.destinationStrides, copy.sourceStrides, last,
                [&](int64_t toOffset, int64_t fromOffset) {
                  char *to = static_cast<char *>(copy.destination) + toOffset;
                  const char *from =
                      static_cast<const char *>(copy.source) + fromOffset;
                  for (int64_t i = copy.sizes[last]; i; --i) {
                    memmove(to, from, fixed ? fixed : copy.elementBytes);
                    to += copy.destinationStrides[last];
                    from += copy.sourceStrides[last];
                  }
                });
}

void gpuasync::copyOnHost(const StridedCopy &copy) {
  if (!bytesOf(copy))
    return;
  if (!copy.rank)
    return copyOnHost(ByteCopy{copy.destination, copy.source, bytesOf(copy)});
  switch (copy.elementBytes) {
  case 1:
    return copyElements<1>(copy);
  case 2:
    return copyElements<2>(copy);
  case 4:
    return copyElements<4>(copy);
  case 8:
    return copyElements<8>(copy);
  default:
    return copyElements<0>(copy);
  }
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

void gpuasync::fillOnHost(const StridedFill &fill) {
  if (!bytesOf(fill))
    return;
  const uint32_t last = fill.rank - 1;
  forEachOffset(fill.sizes, fill.strides, fill.strides, last,
                [&](int64_t offset, int64_t) {
                  fillRow(static_cast<char *>(fill.destination) + offset,
                          fill.sizes[last], fill.strides[last], fill);
                });
}
