//===- Exchange.cpp - Collectives by messages -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Exchange.h. Sizes are in bytes; a slice is [begins[i], begins[i + 1]).
//===----------------------------------------------------------------------===//

#include "libs/ranks/Exchange.h"

#include <algorithm>
#include <string.h>

using namespace gpuasync;
using namespace gpuasync::ranks;

/// A send only reads.
static char *readable(const char *memory) { return const_cast<char *>(memory); }

char *Exchange::reserve(size_t bytes) {
  if (bytes > staged || !staging) {
    staged = 0;
    staging = std::make_unique<char[]>(std::max<size_t>(bytes, 1));
    staged = bytes;
  }
  return staging.get();
}

/// The pieces of `bytes` bytes: calls `body(begin, size)` until an error.
template <typename Body>
static Error forEachPiece(size_t bytes, size_t most, Body body) {
  for (size_t begin = 0; begin < bytes; begin += most)
    if (Error error = body(begin, std::min(most, bytes - begin));
        !error.empty())
      return error;
  return {};
}

/// Each rank's `bytes` bytes go to all: those of the rank at i to
/// destination + i * stride.
Error Exchange::gather(const char *source, char *destination, size_t stride,
                       size_t bytes) {
  return forEachPiece(bytes, mostBytes, [&](size_t begin, size_t size) {
    char *stage = reserve(count * size);
    std::vector<Piece> sends, receives;
    for (uint32_t i = 0; i < count; ++i)
      if (i != position) {
        sends.push_back({i, readable(source + begin), size});
        receives.push_back({i, stage + i * size, size});
      }
    Error error = channel->exchange(sends, receives);
    for (uint32_t i = 0; i < count && error.empty(); ++i)
      if (char *to = destination + i * stride + begin; i != position)
        memcpy(to, stage + i * size, size);
      else if (to != source + begin)
        memcpy(to, source + begin, size);
    return error;
  });
}

Error Exchange::allToAll(const char *source, char *destination, size_t bytes) {
  const size_t part = bytes / count;
  return forEachPiece(part, mostBytes, [&](size_t begin, size_t size) {
    char *stage = reserve(count * size);
    std::vector<Piece> sends, receives;
    for (uint32_t i = 0; i < count; ++i)
      if (i != position) {
        sends.push_back({i, readable(source + i * part + begin), size});
        receives.push_back({i, stage + i * size, size});
      }
    Error error = channel->exchange(sends, receives);
    for (uint32_t i = 0; i < count && error.empty(); ++i)
      memcpy(destination + i * part + begin,
             i == position ? source + i * part + begin : stage + i * size,
             size);
    return error;
  });
}

/// The root sends a slice to each rank, and then all gather them.
Error Exchange::broadcast(uint32_t root, const char *source, char *destination,
                          size_t bytes) {
  if (position == root && source != destination && bytes)
    memcpy(destination, source, bytes);
  return forEachPiece(bytes, count * mostBytes, [&](size_t begin, size_t size) {
    const size_t slice = (size + count - 1) / count;
    const auto sizeOf = [&](uint32_t i) {
      return std::min(slice, size - std::min(size, i * slice));
    };
    char *stage = reserve(count * slice);
    std::vector<Piece> sends, receives;
    if (position == root) {
      for (uint32_t i = 0; i < count; ++i)
        if (i != root)
          sends.push_back({i, readable(source + begin + i * slice), sizeOf(i)});
    } else {
      receives.push_back({root, stage + position * slice, sizeOf(position)});
    }
    Error error = channel->exchange(sends, receives);
    if (!error.empty())
      return error;
    // The root has all of them, and its own slice is still missing elsewhere.
    sends.clear();
    receives.clear();
    const char *mine = position == root ? source + begin + position * slice
                                        : stage + position * slice;
    for (uint32_t i = 0; i < count; ++i) {
      if (i == position)
        continue;
      if (i != root)
        sends.push_back({i, readable(mine), sizeOf(position)});
      if (position != root)
        receives.push_back({i, stage + i * slice, sizeOf(i)});
    }
    error = channel->exchange(sends, receives);
    if (error.empty() && position != root)
      memcpy(destination + begin, stage, size);
    return error;
  });
}

Error Exchange::permute(const gpuasync_collective &what, const char *source,
                        char *destination, size_t bytes) {
  uint32_t from = count, to = count;
  for (uint32_t i = 0; i < what.pairCount; ++i) {
    const uint32_t *pair = what.pairs + 2 * static_cast<size_t>(i);
    if (pair[0] == position)
      to = pair[1];
    if (pair[1] == position)
      from = pair[0];
  }
  if (from == count && bytes)
    memset(destination, 0, bytes);
  else if (from == position && bytes)
    memcpy(destination, source, bytes);
  return forEachPiece(bytes, mostBytes, [&](size_t begin, size_t size) {
    char *stage = reserve(size);
    std::vector<Piece> sends, receives;
    if (to != count && to != position)
      sends.push_back({to, readable(source + begin), size});
    if (from != count && from != position)
      receives.push_back({from, stage, size});
    Error error = channel->exchange(sends, receives);
    if (error.empty() && !receives.empty())
      memcpy(destination + begin, stage, size);
    return error;
  });
}

/// Sends slice i of `source` to rank i, and reduces what comes for the own one.
Error Exchange::reduceSlices(const gpuasync_collective &what,
                             const char *source,
                             const std::vector<size_t> &begins,
                             char *destination) {
  const size_t mine = begins[position + 1] - begins[position];
  char *stage = reserve(count * mine);
  std::vector<Piece> sends, receives;
  std::vector<Memory> memory(count);
  const auto bytesOfOne = bytesOf(what.element);
  for (uint32_t i = 0; i < count; ++i) {
    memory[i].source = i == position ? source + begins[i] : stage + i * mine;
    memory[i].sourceCount = memory[i].destinationCount =
        static_cast<int64_t>(mine / bytesOfOne);
    if (i == position)
      continue;
    sends.push_back(
        {i, readable(source + begins[i]), begins[i + 1] - begins[i]});
    receives.push_back({i, stage + i * mine, mine});
  }
  if (Error error = channel->exchange(sends, receives); !error.empty())
    return error;
  memory[position].destination = destination;
  gpuasync_collective reduction = what;
  reduction.kind = GPUASYNC_ALL_REDUCE;
  combine(reduction, memory.data(), count);
  return {};
}

Error Exchange::reduceScatter(const gpuasync_collective &what,
                              const char *source, char *destination,
                              size_t bytes) {
  const size_t part = bytes / count;
  std::vector<char> slices;
  return forEachPiece(part, mostBytes, [&](size_t begin, size_t size) {
    // The slices do not lie next to each other.
    slices.resize(count * size);
    std::vector<size_t> begins;
    for (uint32_t i = 0; i < count; ++i) {
      begins.push_back(i * size);
      memcpy(slices.data() + i * size, source + i * part + begin, size);
    }
    begins.push_back(count * size);
    return reduceSlices(what, slices.data(), begins, destination + begin);
  });
}

Error Exchange::allReduce(const gpuasync_collective &what, const char *source,
                          char *destination, size_t bytes) {
  const size_t bytesOfOne = bytesOf(what.element);
  std::vector<char> slice;
  // Whole elements in each slice; mostBytes is a multiple of all sizes.
  return forEachPiece(bytes, count * mostBytes, [&](size_t begin, size_t size) {
    const size_t elements = size / bytesOfOne;
    std::vector<size_t> begins;
    for (uint32_t i = 0; i <= count; ++i)
      begins.push_back(elements * i / count * bytesOfOne);
    const auto sizeOf = [&](uint32_t i) { return begins[i + 1] - begins[i]; };
    slice.resize(sizeOf(position));
    if (Error error = reduceSlices(what, source + begin, begins, slice.data());
        !error.empty())
      return error;
    char *stage = reserve(size);
    std::vector<Piece> sends, receives;
    for (uint32_t i = 0; i < count; ++i)
      if (i != position) {
        sends.push_back({i, slice.data(), sizeOf(position)});
        receives.push_back({i, stage + begins[i], sizeOf(i)});
      }
    Error error = channel->exchange(sends, receives);
    if (error.empty()) {
      if (!slice.empty())
        memcpy(stage + begins[position], slice.data(), slice.size());
      memcpy(destination + begin, stage, size);
    }
    return error;
  });
}

Error Exchange::run(const Part &part, uint32_t itsPosition, uint32_t itsCount,
                    Channel &itsChannel) {
  position = itsPosition;
  count = itsCount;
  channel = &itsChannel;
  const gpuasync_collective &what = part.what;
  const auto *source = static_cast<const char *>(part.memory.source);
  auto *destination = static_cast<char *>(part.memory.destination);
  const size_t bytes =
      static_cast<size_t>(part.memory.sourceCount) * bytesOf(what.element);
  switch (what.kind) {
  case GPUASYNC_ALL_REDUCE:
    return allReduce(what, source, destination, bytes);
  case GPUASYNC_ALL_GATHER:
    return gather(source, destination, bytes, bytes);
  case GPUASYNC_REDUCE_SCATTER:
    return reduceScatter(what, source, destination, bytes);
  case GPUASYNC_ALL_TO_ALL:
    return allToAll(source, destination, bytes);
  case GPUASYNC_BROADCAST:
    return broadcast(what.root, source, destination, bytes);
  case GPUASYNC_PERMUTE:
    return permute(what, source, destination, bytes);
  }
  return {}; // a barrier: all have come
}
