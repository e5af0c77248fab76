//===- DeferredUpload.cpp - Sources yet to be written ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See DeferredUpload.h.
//===----------------------------------------------------------------------===//

#include "services/hostcopy/DeferredUpload.h"
#include "services/hostcopy/StagingPool.h"
#include "shim/command/Strided.h"

#include <algorithm>
#include <string.h>

using namespace gpuasync;

void DeferredUpload::claim(const char *at, uint64_t bytes, uint64_t writer) {
  if (at + bytes <= source)
    return;
  const uint64_t begin = at < source ? 0 : static_cast<uint64_t>(at - source);
  const uint64_t end = static_cast<uint64_t>(at + bytes - source);
  auto it = unclaimed.upper_bound(begin);
  if (it != unclaimed.begin() && std::prev(it)->second > begin)
    --it;
  while (it != unclaimed.end() && it->first < end) {
    const auto [from, to] = *it;
    it = unclaimed.erase(it);
    if (from < begin)
      unclaimed[from] = begin;
    if (to > end)
      unclaimed[end] = to;
    parts.push_back({std::max(from, begin), std::min(to, end), writer});
  }
}

bool DeferredUpload::claim(const Download &download) {
  const size_t before = parts.size();
  if (!download.isStrided) {
    claim(download.destination, download.bytes, download.number);
    return parts.size() > before;
  }
  const StridedCopy &copy = download.scatter;
  uint32_t rank = copy.rank;
  uint64_t bytes = copy.elementBytes;
  while (rank && copy.destinationStrides[rank - 1] == int64_t(bytes))
    bytes *= static_cast<uint64_t>(copy.sizes[--rank]);
  forEachOffset(copy.sizes, copy.destinationStrides, copy.destinationStrides,
                rank, [&](int64_t offset, int64_t) {
                  claim(static_cast<char *>(copy.destination) + offset, bytes,
                        download.number);
                });
  return parts.size() > before;
}

void DeferredUpload::copy(uint64_t begin, uint64_t end) {
  memcpy(staging + begin, source + begin, end - begin);
}

void DeferredUpload::fillUnclaimed() {
  for (auto [begin, end] : unclaimed)
    copy(begin, end);
}

void DeferredUpload::fill(const Download &download) {
  std::lock_guard<std::mutex> lock(mutex);
  for (Part &part : parts)
    if (part.writer == download.number) {
      copy(part.begin, part.end);
      part.writer = 0;
    }
}

void DeferredUpload::fillAll() {
  std::lock_guard<std::mutex> lock(mutex);
  for (Part &part : parts)
    if (part.writer) {
      copy(part.begin, part.end);
      part.writer = 0;
    }
}
