//===- HostCopies.h - Copies of pageable host memory ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A service carries out copies and fills of host memory that the device does
// not reach by itself. Without the service the host waits for each of them.
//
// A pageable source is read before the call returns, or, if an earlier copy has
// yet to write it, behind that copy. A pageable destination is written at the
// latest by the host wait that covers the copy.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_HOSTCOPIES_H
#define GPUASYNC_SHIM_POOL_HOSTCOPIES_H

#include "shim/pool/StreamPool.h"

namespace gpuasync {

struct Download;
struct Sides;
struct Transfer;

/// The copies of one context. Each context has one, made when it opens. Thread
/// safe, but that a stream and a list of downloads are passed by one thread at
/// a time.
class HostCopies {
public:
  HostCopies() = default;
  HostCopies(const HostCopies &) = delete;
  virtual ~HostCopies() = default;

  //===--- Work with a side that the device does not reach (Transfer.h)
  virtual Status copy(const Transfer &transfer, ByteCopy copy,
                      const Sides &sides) = 0;
  virtual Status copy(const Transfer &transfer, const StridedCopy &copy,
                      const Sides &sides) = 0;
  /// A fill of the destination of `box`, which has no source. May change both.
  virtual Status fill(const Transfer &transfer, StridedCopy &box,
                      StridedFill &fill, const Sides &sides) = 0;

  //===--- Staging of streams, and lists of downloads of frames
  /// Drops staging that the stream no longer reads; `idle`: all of it.
  void reap(Stream &stream, bool idle) {
    if (stream.staging.first || stream.stuck.first)
      reapSome(stream, idle);
  }
  /// Finishes those of a frame's list, and of what was taken over, whose point
  /// is reached. Lists are newest first. A copy writes nothing if the work
  /// before it has failed. An error: of one of them nobody knows, or the device
  /// is lost.
  Status finish(Download *&list) {
    return mayBePending(list) ? finishReached(list) : Status();
  }
  bool mayBePending(const Download *list) const {
    return list || anyOrphans.load(std::memory_order_acquire);
  }
  /// Finishes what was taken over: at the latest now, if its point is reached.
  Status finishOrphans() {
    Download *none = nullptr;
    return finish(none);
  }
  /// Waits until those of a frame's list, and of what was taken over, have
  /// written their parts of `bytes` at `first`; `staged`: those of them that
  /// the host writes. An empty list asks the stream of `own` about errors,
  /// which may be null. The context is current.
  virtual Status settle(Download *&, const char * /*first*/, uint64_t /*bytes*/,
                        bool /*staged*/, const Timeline * /*own*/) {
    return Status();
  }
  /// Drops all of a list.
  virtual void dropAll(Download *&) {}
  /// They will write nothing, but the device may still work on their staging.
  virtual void abandon(Download *) {}
  /// Takes over a list of a frame that is left before a host wait covered it.
  virtual void adopt(Download *&) {}

protected:
  std::atomic<bool> anyOrphans{false}; ///< read by every host wait

private:
  virtual void reapSome(Stream &, bool /*idle*/) {}
  virtual Status finishReached(Download *&) { return Status(); }
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_HOSTCOPIES_H
