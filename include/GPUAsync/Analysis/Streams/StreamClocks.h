//===- StreamClocks.h - what is known to have happened ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks over streams: for every point of a function in program order,
// how far each stream is known to have come.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMS_STREAMCLOCKS_H
#define GPUASYNC_ANALYSIS_STREAMS_STREAMCLOCKS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace mlir::gpuasync {

/// A point: the work up to number `position` (from 1) of stream `stream`.
struct StreamPoint {
  unsigned stream = 0;
  unsigned position = 0;
};

/// For each stream, the number of the last item known to be done; 0 for streams
/// that are not listed. Positions are those of the program text. A clock that
/// covers an item covers all that was enqueued there before it, in whatever
/// round of a loop.
class StreamClock {
public:
  unsigned operator[](unsigned stream) const;
  void set(unsigned stream, unsigned position);
  void merge(const StreamClock &other);
  /// Keeps what both know.
  void intersect(const StreamClock &other);
  bool covers(StreamPoint point) const {
    return (*this)[point.stream] >= point.position;
  }
  bool covers(const StreamClock &other) const;
  /// Forgets points; others of their streams are not known then, either.
  template <typename Predicate>
  void forgetIf(Predicate isForgotten) {
    llvm::erase_if(points, isForgotten);
  }
  llvm::ArrayRef<StreamPoint> get() const { return points; }

private:
  /// Sorted by stream.
  llvm::SmallVector<StreamPoint, 8> points;
  friend class StreamClocks;
};

/// The state while a function is walked in program order: how much each stream
/// holds, what its next item will start after, and what the host has seen. A
/// copy is the state on another way.
class StreamClocks {
public:
  /// Number of items enqueued on the stream so far, on all ways.
  unsigned getSize(unsigned stream) const {
    return stream < sizes.size() ? sizes[stream] : 0;
  }
  const StreamClock &getHost() const { return host; }
  const StreamClock &getStream(unsigned stream);

  /// The host has seen the point, or the stream is known to come after it.
  bool isCovered(unsigned stream, StreamPoint point);

  /// The stream waits for a point with this clock.
  void waitOnStream(unsigned stream, const StreamClock &clock);
  /// The host waits for a point with this clock.
  void waitOnHost(const StreamClock &clock) { host.merge(clock); }
  /// Enqueues an item and returns its clock, itself included.
  StreamClock enqueue(unsigned stream);

  /// Takes over the sizes of `other`: its new items are on ways that are not
  /// taken here, so that who knew the end of a stream knows it still.
  void skipItemsOf(const StreamClocks &other);
  /// Two ways meet: what is known on both. The sizes are the same.
  void intersect(const StreamClocks &other);

private:
  llvm::SmallVector<unsigned, 8> sizes;
  std::vector<StreamClock> streams;
  StreamClock host;
  void grow(unsigned stream);
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMS_STREAMCLOCKS_H
