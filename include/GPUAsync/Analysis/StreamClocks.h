//===- StreamClocks.h - what is known to have happened ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks over streams: for every point of a function in program order,
// how far each stream is known to have come.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMCLOCKS_H
#define GPUASYNC_ANALYSIS_STREAMCLOCKS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace mlir::gpuasync {

/// A point: the work up to number `position` (from 1) of stream `stream`.
struct StreamPoint {
  unsigned stream = 0;
  unsigned position = 0;
};

/// For each stream, the number of the last work item known to be done. Streams
/// beyond the end are at 0.
class StreamClock {
public:
  unsigned operator[](unsigned stream) const {
    return stream < positions.size() ? positions[stream] : 0;
  }
  void set(unsigned stream, unsigned position);
  void merge(const StreamClock &other);
  bool covers(StreamPoint point) const {
    return (*this)[point.stream] >= point.position;
  }
  bool covers(const StreamClock &other) const;

private:
  SmallVector<unsigned, 8> positions;
};

/// The state while a function is walked in program order: how much each stream
/// holds, what its next item will start after, and what the host has seen.
///
/// What is learned inside a region holds only where the region ran, so it is
/// forgotten behind it, except that work made there and waited for there is
/// done.
class StreamClocks {
public:
  /// Number of items enqueued on the stream so far.
  unsigned getSize(unsigned stream) const {
    return stream < sizes.size() ? sizes[stream] : 0;
  }
  unsigned getNumStreams() const { return sizes.size(); }
  const StreamClock &getHost() const { return host; }
  const StreamClock &getStream(unsigned stream);

  /// All that the host has seen and the stream is known to come after.
  bool isCovered(unsigned stream, StreamPoint point);
  /// Everything on the stream is known to be done by the host.
  bool isIdle(unsigned stream) const { return host[stream] >= getSize(stream); }

  /// The stream waits for a point with this clock.
  void waitOnStream(unsigned stream, const StreamClock &clock);
  /// The host waits for a point with this clock.
  void waitOnHost(const StreamClock &clock) { host.merge(clock); }
  /// Takes a stream for idle from here on.
  void setIdle(unsigned stream) { host.set(stream, getSize(stream)); }
  /// Forgets what the host has seen, for a walk that goes on elsewhere.
  void forgetHost() { host = {}; }
  /// Enqueues an item and returns its clock, itself included.
  StreamClock enqueue(unsigned stream);

  /// Calls `visit` for each op of `block` in order; for an op with regions,
  /// then walks their blocks.
  void walk(Block &block, llvm::function_ref<void(Operation *)> visit);

private:
  SmallVector<unsigned, 8> sizes;
  std::vector<StreamClock> streams;
  StreamClock host;
  void grow(unsigned stream);
};

/// The blocks of a function's body, each after those that lead to it, as far as
/// loops allow; the layout need not be in that order. Unreachable ones are
/// last.
SmallVector<Block *> getBlocksInOrder(Region &body);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMCLOCKS_H
