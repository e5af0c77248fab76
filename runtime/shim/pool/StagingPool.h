//===- StagingPool.h - Pageable copies through pinned memory ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uploads are copied into pinned blocks when they are enqueued; downloads go
// into pinned blocks and are finished by the host wait that covers them. The
// blocks come from the memory pool, which never waits for the device.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_STAGINGPOOL_H
#define GPUASYNC_SHIM_POOL_STAGINGPOOL_H

#include "shim/pool/MemoryPool.h"
#include "shim/pool/StreamPool.h"

namespace gpuasync {

struct ContextPools;

/// An upload's staging that waits for a download; counts as a use.
struct LateLink {
  LateLink *next = nullptr;
  PoolAllocation *staging = nullptr;
};

/// One staged piece that a stream still reads: freed once the point is reached.
struct StagingUse {
  StagingUse *next = nullptr;
  PoolAllocation *staging = nullptr;
  /// With flags a word that the *next* flag writes, whoever asks for that.
  /// After an error only an idle stream may tell.
  Timepoint point;
};

/// A copy into pageable memory that a host wait has to finish. Without staging
/// the device writes the memory itself, and the entry only tells later uploads.
struct Download {
  Download *next = nullptr;
  uint64_t number = 0; ///< the context's downloads in the order of their calls
  Timepoint point;
  char *destination = nullptr;
  uint64_t bytes = 0; ///< extent of the destination
  PoolAllocation *staging = nullptr;
  LateLink *late = nullptr;
  bool isStrided = false; ///< else plain bytes
  /// The copy that the host makes, if it is strided. Without staging its
  /// destination only says where.
  union {
    StridedCopy scatter;
  };
  Download() {} ///< leaves `scatter` as it is
};

/// Thread safe, but that a stream and a list of downloads are passed by one
/// thread at a time. Under the lock of the orphans its other one, and those of
/// memory and timepoints, are taken; under the other one none.
class StagingPool {
public:
  explicit StagingPool(ContextPools &context) : context(context) {}
  StagingPool(const StagingPool &) = delete;

  /// The stream reads staging, which is dropped once it has.
  Status use(Stream &stream, PoolAllocation *staging, uint64_t bytes);
  /// Drops staging that the stream no longer reads; `idle`: all of it.
  void reap(Stream &stream, bool idle) {
    if (stream.staging.first || stream.stuck.first)
      reapSome(stream, idle);
  }

  /// Puts a copy into pageable memory on a frame's list, with the point behind
  /// it. Takes over `staging` unless it fails. `scatter` is null for bytes.
  Status expect(Download *&list, Stream &stream, char *destination,
                uint64_t bytes, PoolAllocation *staging,
                const StridedCopy *scatter);
  /// Finishes those of a frame's list, and of what was taken over, whose point
  /// is reached. Lists are newest first. An error: of one of them nobody knows.
  Status finish(Download *&list) {
    return mayBePending(list) ? finishReached(list) : Status();
  }
  bool mayBePending(const Download *list) const {
    return list || anyOrphans.load(std::memory_order_acquire);
  }
  /// Calls `visit` for those of a frame's list and of what was taken over,
  /// newest first, until it returns false. It may link and share what it gets,
  /// and keep nothing else of it.
  template <typename Visit>
  void forEachPending(Download *list, Visit visit) {
    std::unique_lock<std::mutex> lock(orphanMutex, std::defer_lock);
    Download *others = nullptr;
    if (anyOrphans.load(std::memory_order_acquire)) {
      lock.lock();
      others = orphans;
    }
    while (list || others) {
      Download *&newest = isNewer(list, others) ? list : others;
      Download *download = newest;
      newest = download->next;
      if (!visit(*download))
        return;
    }
  }
  /// Drops all of a list.
  void dropAll(Download *&list);
  /// They will write nothing, but the device may still work on their staging.
  void abandon(Download *list);
  /// Takes over a list of a frame that is left before a host wait covered it.
  void adopt(Download *&list);
  /// Finishes what was taken over: at the latest now, if its point is reached.
  Status finishOrphans() {
    Download *none = nullptr;
    return finish(none);
  }
  /// At the context's end.
  void dropOrphans() { dropAll(orphans); }

private:
  void reapSome(Stream &stream, bool idle);
  void drop(Download *download);
  void end(Download *download, bool write);
  Status finishReached(Download *&list);
  Status finishReached(Download *&list, Download *&others);
  /// Of the first ones of two lists, not both of which are empty.
  static bool isNewer(const Download *first, const Download *second) {
    return !second || (first && first->number > second->number);
  }

  ContextPools &context;
  std::atomic<bool> anyOrphans{false}; ///< read by every host wait
  alignas(64) std::mutex mutex;
  Spares<StagingUse> uses;
  Spares<Download> downloads;
  uint64_t numbered = 0; ///< downloads so far
  /// Held while orphans are finished: a waiter must find them finished.
  std::mutex orphanMutex;
  Download *orphans = nullptr; ///< newest first
};

/// Staging that is dropped unless it was passed on; once the device may work on
/// it, when the stream is idle.
class HeldStaging {
public:
  HeldStaging(ContextPools &context, Stream &stream)
      : context(context), stream(stream) {}
  HeldStaging(const HeldStaging &) = delete;
  ~HeldStaging();
  Status take(uint64_t bytes);
  /// Takes over a use of staging by the device.
  void takeOver(PoolAllocation *used) {
    staging = used;
    inUse = true;
  }
  char *data() const { return staging->pointer; }
  PoolAllocation *get() const { return staging; }
  /// The device is going to work on it.
  void use() { inUse = true; }
  void passOn() { staging = nullptr; }

private:
  ContextPools &context;
  Stream &stream;
  PoolAllocation *staging = nullptr;
  bool inUse = false;
};

/// Whether a copy into pageable memory writes a part of a source.
inline bool overlaps(const char *destination, uint64_t written,
                     const char *source, uint64_t bytes) {
  return written && destination < source + bytes &&
         source < destination + written;
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_STAGINGPOOL_H
