//===- Boxes.h - An array of any rank in boxes of few dimensions *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy is made in one piece if its rank is small and its memory is of one
// kind. Else it is made box by box.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_COMMAND_BOXES_H
#define GPUASYNC_SHIM_COMMAND_BOXES_H

#include "shim/command/Strided.h"

namespace gpuasync {

/// Walks over the elements of an array in row-major order, box by box. A box
/// has one index of each outer dimension, some indices of one dimension, and
/// all indices of the inner dimensions. Each box begins as large as it can be.
/// The caller may make it smaller before it goes on.
class Boxes {
public:
  /// `dims` has a dimension, and outlives this. Boxes have at most `maxRank`
  /// dimensions.
  Boxes(const Dims &dims, uint32_t maxRank)
      : dims(dims), outermost(dims.rank > maxRank ? dims.rank - maxRank : 0) {
    for (uint32_t i = 0; i < dims.rank; ++i)
      index[i] = 0;
    begin();
  }
  bool done() const { return ended; }
  /// Halves the box. Returns false if it is one element.
  bool halve() {
    if (count > 1)
      count /= 2;
    else if (level + 1 < dims.rank)
      count = dims.at[++level].size;
    else
      return false;
    return true;
  }
  /// Goes on behind the box.
  void next() {
    index[level] += count;
    while (index[level] == dims.at[level].size) {
      index[level] = 0;
      if (!level) {
        ended = true;
        return;
      }
      ++index[--level];
    }
    begin();
  }
  /// Moves `out`, which is at the array's first element, to the box. Its rank
  /// is 0 for one element.
  void read(StridedCopy &out) const {
    // Numbers: a fill has no source, and strides can go down from null.
    auto to = reinterpret_cast<uintptr_t>(out.destination);
    auto from = reinterpret_cast<uintptr_t>(out.source);
    out.rank = 0;
    for (uint32_t i = 0; i < dims.rank; ++i) {
      const Dim &dim = dims.at[i];
      if (i <= level) {
        to += static_cast<uintptr_t>(index[i] * dim.destination);
        from += static_cast<uintptr_t>(index[i] * dim.source);
      }
      const int64_t size = i < level ? 1 : i == level ? count : dim.size;
      if (size == 1)
        continue;
      out.sizes[out.rank] = size;
      out.destinationStrides[out.rank] = dim.destination;
      out.sourceStrides[out.rank++] = dim.source;
    }
    out.destination = reinterpret_cast<void *>(to);
    out.source = reinterpret_cast<const void *>(from);
  }

private:
  /// The largest box that starts here.
  void begin() {
    level = dims.rank - 1;
    while (level > outermost && index[level] == 0)
      --level;
    count = dims.at[level].size - index[level];
  }

  const Dims &dims;
  const uint32_t outermost; ///< the first dimension that a box can have
  uint32_t level = 0;       ///< the dimension of which the box has some indices
  int64_t count = 0;        ///< how many
  bool ended = false;
  int64_t index[Dims::maxRank];
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_COMMAND_BOXES_H
