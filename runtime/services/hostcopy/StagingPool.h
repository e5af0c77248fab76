//===- StagingPool.h - Pageable copies through pinned memory ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uploads are copied into pinned blocks when they are enqueued; downloads go
// into pinned blocks and are finished by the host wait that covers them. The
// blocks come from the memory pool, which never waits for the device.
//===----------------------------------------------------------------------===//
//
// A pageable source is read before the call returns, unless it is itself the
// destination of a download that is not finished: then the copy starts from
// that download's staging, in the order that the program states, or, where the
// device writes host memory itself, from staging that gets it late. A pageable
// destination is written at the latest by the host wait that covers the copy.
// On a caller's stream nobody of ours waits; there the driver makes the copy
// itself, which may block the caller (docs/reference/Runtime.md).
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_HOSTCOPY_STAGINGPOOL_H
#define GPUASYNC_SERVICES_HOSTCOPY_STAGINGPOOL_H

#include "shim/pool/ContextPools.h"

namespace gpuasync {

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
  bool hasFailed = false; ///< it is over, and nobody knows what was copied
  /// The copy that the host makes, if it is strided. Without staging its
  /// destination only says where.
  union {
    StridedCopy scatter;
  };
  Download() {} ///< leaves `scatter` as it is
};

/// Whether a copy into pageable memory writes a part of `bytes` at `first`.
inline bool overlaps(const char *destination, uint64_t written,
                     const char *first, uint64_t bytes) {
  return written && destination < first + bytes &&
         first < destination + written;
}

/// Under the lock of the orphans its other one, and those of memory and
/// timepoints, are taken; under the other one none.
class StagingPool final : public HostCopies {
public:
  explicit StagingPool(ContextPools &context) : context(context) {}

  // HostCopy.cpp
  Status copy(const Transfer &transfer, ByteCopy copy,
              const Sides &sides) override;
  Status copy(const Transfer &transfer, const StridedCopy &copy,
              const Sides &sides) override;
  Status fill(const Transfer &transfer, StridedCopy &box, StridedFill &fill,
              const Sides &sides) override;

  /// The stream reads staging, which is dropped once it has.
  Status use(Stream &stream, PoolAllocation *staging, uint64_t bytes);
  /// Puts a copy into pageable memory on a frame's list, with the point behind
  /// it. Takes over `staging` unless it fails. `scatter` is null for bytes.
  Status expect(Download *&list, Stream &stream, char *destination,
                uint64_t bytes, PoolAllocation *staging,
                const StridedCopy *scatter);
  /// Calls `visit` for downloads that have yet to write a part of some memory,
  /// newest first, until it returns false: those of a frame's list, and of
  /// frames that were left before anybody waited, behind which a token may
  /// order the source's copy. `visit` may link and share what it gets, and keep
  /// nothing else of it.
  template <typename Visit>
  Status forEachWriter(Download *&list, const char *first, uint64_t bytes,
                       Visit visit) {
    if (!mayBePending(list))
      return Status();
    RETURN_IF_ERROR(finish(list));
    std::unique_lock<std::mutex> lock(orphanMutex, std::defer_lock);
    Download *own = list, *others = nullptr;
    if (anyOrphans.load(std::memory_order_acquire)) {
      lock.lock();
      others = orphans;
    }
    while (own || others) {
      Download *&newest = isNewer(own, others) ? own : others;
      Download *download = newest;
      newest = download->next;
      if (overlaps(download->destination, download->bytes, first, bytes) &&
          !visit(*download))
        break;
    }
    return Status();
  }
  Status settle(Download *&list, const char *first, uint64_t bytes, bool staged,
                const Timeline *own) override;
  Status isPending(Download *&list, const char *source, uint64_t bytes,
                   bool &pending) {
    pending = false;
    return forEachWriter(list, source, bytes,
                         [&](Download &) { return !(pending = true); });
  }

  void dropAll(Download *&list) override;
  void abandon(Download *list) override;
  void adopt(Download *&list) override;
  /// At the context's end.
  void dropOrphans() { dropAll(orphans); }

private:
  void reapSome(Stream &stream, bool idle) override;
  Status finishReached(Download *&list) override;
  Status finishReached(Download *&list, Download *&others);
  void drop(Download *download);
  void end(Download *download, bool write);
  /// Of the first ones of two lists, not both of which are empty.
  static bool isNewer(const Download *first, const Download *second) {
    return !second || (first && first->number > second->number);
  }

  ContextPools &context;
  alignas(64) std::mutex mutex;
  Spares<StagingUse> uses;
  Spares<Download> downloads;
  uint64_t numbered = 0; ///< downloads so far
  /// Held while orphans are finished: a waiter must find them finished.
  std::mutex orphanMutex;
  Download *orphans = nullptr; ///< newest first
};

/// The pool of a context; each has one.
inline StagingPool &stagingOf(ContextPools &context) {
  return static_cast<StagingPool &>(*context.hostCopies);
}

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

} // namespace gpuasync

#endif // GPUASYNC_SERVICES_HOSTCOPY_STAGINGPOOL_H
