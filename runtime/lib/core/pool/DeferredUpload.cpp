//===- DeferredUpload.cpp - Sources that downloads have yet to write
//----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See DeferredUpload.h.
//===----------------------------------------------------------------------===//

#include "core/pool/DeferredUpload.h"
#include "core/command/Strided.h"
#include "core/context/ContextImpl.h"

#include <algorithm>
#include <string.h>

using namespace gpuasync;

/// Calls `visit` with the beginning and the size of each piece without gaps
/// that a copy writes, in the order of its dimensions.
template <typename Visit>
static void forPieces(const StridedCopy &copy, uint32_t dim, char *at,
                      Visit &visit) {
  uint32_t rest = copy.rank;
  uint64_t piece = copy.elementBytes;
  while (rest > dim &&
         copy.destinationStrides[rest - 1] == static_cast<int64_t>(piece))
    piece *= static_cast<uint64_t>(copy.sizes[--rest]);
  if (rest == dim)
    return visit(at, piece);
  for (int64_t i = 0; i < copy.sizes[dim]; ++i)
    forPieces(copy, dim + 1, at + i * copy.destinationStrides[dim], visit);
}

bool DeferredUpload::claim(const Download &download, uint32_t number) {
  std::vector<Range> written;
  auto add = [&](const char *at, uint64_t count) {
    const char *end = source + bytes;
    const char *first = std::max<const char *>(at, source);
    const char *last = std::min<const char *>(at + count, end);
    if (first >= last)
      return;
    uint64_t begin = static_cast<uint64_t>(first - source);
    if (!written.empty() && written.back().end == begin)
      written.back().end = static_cast<uint64_t>(last - source);
    else
      written.push_back({begin, static_cast<uint64_t>(last - source), number});
  };
  if (download.scatter)
    forPieces(*download.scatter, 0,
              static_cast<char *>(download.scatter->destination), add);
  else
    add(download.destination, download.bytes);
  std::sort(written.begin(), written.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });

  // What newer downloads write stays theirs; of its own pieces, which may
  // overlap, each byte is taken once.
  std::vector<Range> merged;
  merged.reserve(ranges.size() + 2 * written.size());
  bool any = false;
  size_t next = 0;
  uint64_t at = 0; // all before it is in `merged`, or nobody's
  for (const Range &range : written) {
    at = std::max(at, range.begin);
    while (at < range.end) {
      while (next < ranges.size() && ranges[next].begin <= at) {
        at = std::max(at, ranges[next].end);
        merged.push_back(ranges[next++]);
      }
      uint64_t end = next < ranges.size()
                         ? std::min(range.end, ranges[next].begin)
                         : range.end;
      if (at >= end)
        continue;
      merged.push_back({at, end, number});
      any = true;
      at = end;
    }
  }
  merged.insert(merged.end(), ranges.begin() + static_cast<ptrdiff_t>(next),
                ranges.end());
  ranges.swap(merged);
  return any;
}

void DeferredUpload::copy(uint64_t begin, uint64_t end) {
  memcpy(staging + begin, source + begin, end - begin);
}

void DeferredUpload::fillUnclaimed() {
  uint64_t at = 0;
  for (const Range &range : ranges) {
    copy(at, range.begin);
    at = range.end;
  }
  copy(at, bytes);
}

void DeferredUpload::fill(uint32_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  for (Range &range : ranges)
    if (range.part == number) {
      copy(range.begin, range.end);
      range.part = filled;
    }
}

void DeferredUpload::fillAll() {
  std::lock_guard<std::mutex> lock(mutex);
  for (Range &range : ranges)
    if (range.part != filled) {
      copy(range.begin, range.end);
      range.part = filled;
    }
}
