//===- StreamClocks.cpp - what is known to have happened ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks over streams.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/StreamClocks.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::gpuasync;

static auto findStream(llvm::ArrayRef<StreamPoint> points, unsigned stream) {
  return llvm::lower_bound(
      points, stream,
      [](StreamPoint point, unsigned stream) { return point.stream < stream; });
}

unsigned StreamClock::operator[](unsigned stream) const {
  auto found = findStream(points, stream);
  return found != llvm::ArrayRef<StreamPoint>(points).end() &&
                 found->stream == stream
             ? found->position
             : 0;
}

void StreamClock::set(unsigned stream, unsigned position) {
  auto *place = points.begin() + (findStream(points, stream) -
                                  llvm::ArrayRef<StreamPoint>(points).begin());
  if (place != points.end() && place->stream == stream)
    place->position = position;
  else
    points.insert(place, {stream, position});
}

void StreamClock::merge(const StreamClock &other) {
  if (other.points.empty())
    return;
  if (points.empty()) {
    points = other.points;
    return;
  }
  llvm::SmallVector<StreamPoint, 8> merged;
  merged.reserve(std::max(points.size(), other.points.size()));
  const StreamPoint *a = points.begin(), *aEnd = points.end();
  const StreamPoint *b = other.points.begin(), *bEnd = other.points.end();
  while (a != aEnd || b != bEnd) {
    if (b == bEnd || (a != aEnd && a->stream < b->stream))
      merged.push_back(*a++);
    else if (a == aEnd || b->stream < a->stream)
      merged.push_back(*b++);
    else {
      merged.push_back({a->stream, std::max(a->position, b->position)});
      ++a, ++b;
    }
  }
  points = std::move(merged);
}

void StreamClock::intersect(const StreamClock &other) {
  for (StreamPoint &point : points)
    point.position = std::min(point.position, other[point.stream]);
  llvm::erase_if(points, [](StreamPoint point) { return point.position == 0; });
}

bool StreamClock::covers(const StreamClock &other) const {
  return llvm::all_of(other.points,
                      [&](StreamPoint point) { return covers(point); });
}

void StreamClocks::grow(unsigned stream) {
  if (sizes.size() > stream)
    return;
  sizes.resize(stream + 1, 0);
  streams.resize(stream + 1);
}

const StreamClock &StreamClocks::getStream(unsigned stream) {
  grow(stream);
  return streams[stream];
}

bool StreamClocks::isCovered(unsigned stream, StreamPoint point) {
  return point.stream == stream || host.covers(point) ||
         getStream(stream).covers(point);
}

void StreamClocks::waitOnStream(unsigned stream, const StreamClock &clock) {
  grow(stream);
  streams[stream].merge(clock);
}

StreamClock StreamClocks::enqueue(unsigned stream) {
  grow(stream);
  // The host has seen its part before it enqueues.
  streams[stream].merge(host);
  streams[stream].set(stream, ++sizes[stream]);
  return streams[stream];
}

void StreamClocks::skipItemsOf(const StreamClocks &other) {
  for (unsigned stream = 0; stream < other.sizes.size(); ++stream) {
    grow(stream);
    unsigned size = sizes[stream], newSize = other.sizes[stream];
    if (size == newSize)
      continue;
    // A stream without items is known to its end by everyone.
    auto skip = [&](StreamClock &clock) {
      if (clock[stream] >= size)
        clock.set(stream, newSize);
    };
    skip(host);
    for (StreamClock &clock : streams)
      skip(clock);
    sizes[stream] = newSize;
  }
  // Those that only the other way knows know what this way's others know of
  // streams without items.
  grow(other.streams.empty() ? 0 : other.streams.size() - 1);
}

void StreamClocks::intersect(const StreamClocks &other) {
  host.intersect(other.host);
  streams.resize(std::max(streams.size(), other.streams.size()));
  sizes.resize(streams.size());
  for (unsigned stream = 0; stream < streams.size(); ++stream)
    if (stream < other.streams.size())
      streams[stream].intersect(other.streams[stream]);
    else
      streams[stream] = {};
}
