//===- Order.h - What comes before what -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks of streams and of the host: whether the program orders two
// device operations, whatever order they really ran in.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_CHECK_ORDER_H
#define GPUASYNC_LIBS_CHECK_ORDER_H

#include "gpuasync/RuntimeABI.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace gpuasync {
namespace check {

/// How far one knows each strand to be. Strand 0 is the host: all its threads
/// together, since how they wait for each other is not seen.
using Clock = std::vector<uint32_t>;

/// A device operation, or the host between two of them. Never changed once it
/// has an index, never destroyed.
struct Op {
  uint32_t strand = 0, count = 0;
  Clock clock; ///< of itself and of all that comes before it
  const gpuasync_site *site = nullptr; ///< null: the host
  int64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
};

/// Of an Op; 0 is none.
using OpIndex = uint32_t;

class Order {
public:
  /// \name Of whoever enqueues. Thread safe.
  /// @{
  void createStream(gpuasync_stream *stream, gpuasync_frame *frame);
  void createExternal(gpuasync_stream *stream, gpuasync_frame *frame,
                      void *native);
  void destroyStream(gpuasync_stream *stream);
  void recordEvent(gpuasync_event *event, gpuasync_stream *stream);
  void moveEvent(gpuasync_event *from, gpuasync_event *to);
  void destroyEvent(gpuasync_event *event);
  void waitOnStream(gpuasync_stream *stream, gpuasync_event *event);
  void waitOnHost(gpuasync_stream *stream);
  void waitOnHost(gpuasync_event *event);
  /// The host has waited for all streams of a frame that failed.
  void endFailed(gpuasync_frame *frame);
  /// A new operation at the end of the stream; null: of the host.
  OpIndex add(gpuasync_stream *stream, const gpuasync_site *site,
              const gpuasync_launch_config *block = nullptr);
  /// The same for a free, which nobody waits for by itself.
  OpIndex addFree(gpuasync_stream *stream, const gpuasync_site *site);
  /// The host as it is now.
  OpIndex host();
  /// @}

  const Op &at(OpIndex index) const {
    return chunks[index / chunkSize].load(
        std::memory_order_acquire)[index % chunkSize];
  }
  /// Whether `first` ends before `second` starts.
  bool before(OpIndex first, OpIndex second) const;
  /// Whether the host has waited for an operation, or for all that comes before
  /// a free.
  bool isDue(OpIndex op);
  /// Returns whether nothing can race with `op` any more: the host has waited
  /// for it, and every launch that may still run comes after it.
  bool isSettled(OpIndex op);
  /// Returns whether a launch that may still run, or comes later, and races
  /// with `earlier` also races with `later`. `earlier` comes before `later`,
  /// and `later` touches at least the same bytes in at least the same way.
  bool isHidden(OpIndex earlier, OpIndex later);

  /// `later` has seen, by an atomic, what `earlier` did before its own: what
  /// follows `later` follows `earlier`.
  void acquire(OpIndex earlier, OpIndex later);
  /// The host has seen what `op` wrote.
  void acquireOnHost(OpIndex op);

private:
  static constexpr uint32_t chunkSize = 4096, maxChunks = 1 << 16;
  struct Strand {
    uint32_t id = 0;
    Clock clock;
  };
  /// What a frame calls a stream; several can be one strand.
  struct Name {
    std::shared_ptr<Strand> strand;
    gpuasync_frame *frame = nullptr;
  };

  OpIndex addLocked(Strand &strand, const gpuasync_site *site,
                    const gpuasync_launch_config *block, bool isFree);
  uint32_t takeStrand();
  void tickHost();
  bool directly(OpIndex first, OpIndex second) const;
  bool isDueLocked(OpIndex op) const;
  /// Returns whether every launch on which the host has not waited comes after
  /// `op`. Launches that do not come before `later` are left out, unless it
  /// is 0.
  bool precedesLaunches(OpIndex op, OpIndex later);

  std::mutex mutex;
  Clock hostClock{1};
  OpIndex hostOp = 0;
  uint32_t opCount = 0;
  std::vector<uint32_t> counts{1}; ///< per strand, its last operation
  std::vector<uint32_t> works{1};  ///< the last that is no free
  /// Per strand, the launches for which the host has not waited, oldest first.
  /// Their accesses are seen only when they run.
  std::vector<std::deque<OpIndex>> launches{1};
  std::vector<uint32_t> retiredStrands; ///< of destroyed streams
  std::unordered_map<gpuasync_stream *, Name> streams;
  std::unordered_map<void *, std::shared_ptr<Strand>> externals;
  std::unordered_map<gpuasync_event *, Clock> events;
  std::atomic<Op *> chunks[maxChunks] = {};

  mutable std::shared_mutex edgesMutex;
  std::vector<std::pair<OpIndex, OpIndex>> edges;
  std::atomic<bool> hasEdges{false};
};

} // namespace check
} // namespace gpuasync

#endif // GPUASYNC_LIBS_CHECK_ORDER_H
