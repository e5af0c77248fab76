//===- ContextPools.h - A context's pools, and what they share --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a context below programs and frames: the open device, its
// faults, the pools, and the counts of what they hold.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_CONTEXTPOOLS_H
#define GPUASYNC_SHIM_POOL_CONTEXTPOOLS_H

#include "device/DriverSlot.h"
#include "shim/pool/CallerStreams.h"
#include "shim/pool/EventPool.h"
#include "shim/pool/HostCopies.h"
#include "shim/pool/MemoryPool.h"
#include "shim/pool/Registrations.h"
#include "shim/pool/StreamPool.h"
#include "shim/pool/Uploads.h"
#include "shim/process/Thread.h"
#include "shim/timepoint/Timepoints.h"

#include <string>

namespace gpuasync {

class Tracer;

/// The base of each context, and of nothing else.
struct ContextPools {
  ContextPools(gpuasync_context &context, Driver &driver, int32_t ordinal);
  ContextPools(const ContextPools &) = delete;

  //===--- Read by every frame, written by cold calls only
  alignas(64) Driver &kind;
  DriverSlot driver;
  /// The device's first fault; frames fail with it from then on.
  std::atomic<gpuasync_status *> lost{nullptr};
  /// The first error of a library's work that the driver does not know of.
  /// Frames and waits fail with it from then on, and the device serves.
  std::atomic<gpuasync_status *> failure{nullptr};
  /// More than 0: something waits for an idle context.
  std::atomic<uint32_t> retiredCount{0};
  /// A call that ends with an error may leave work on the device that goes on
  /// to read and write what the call was given. Later calls of the context
  /// begin behind it. How many streams, events and contexts it is behind that
  /// are not known to be done; the pools have them.
  std::atomic<uint32_t> abandoned{0};
  uint32_t capabilities = 0;
  const int32_t ordinal;
  const uint64_t id;  ///< unique in the process
  std::string device; ///< "cuda:0"
  DeviceInfo info;
  gpuasync_context &context;              ///< the whole
  std::unique_ptr<HostCopies> hostCopies; ///< a service makes it

  //===--- Pools, each on lines of its own
  alignas(64) StreamPool streams{*this};
  std::unique_ptr<CapturedStreams> captured; ///< null: no service for captures
  alignas(64) CallerStreams callerStreams{*this};
  alignas(64) EventPool events{*this};
  alignas(64) MemoryPool memory{*this};
  alignas(64) Timepoints timepoints{driver, physicalEvents};
  alignas(64) Registrations registrations{*this};
  alignas(64) Uploads uploads{*this};

  std::atomic<uint64_t> physicalStreams{0}, physicalEvents{0},
      physicalModules{0}, physicalGraphs{0}, physicalBuffers{0},
      physicalBytes{0};

  bool has(Capability capability) const { return capabilities & capability; }
  bool hasPriorities() const { return driver->extensions.priorities; }
  /// Puts a device that notes what passes around the context's. Process::mutex
  /// is held.
  void attach(Tracer &tracer);
  /// The error of a lost device, or Ok.
  Status checkLost();
  /// Whether `lost` or `failure` is there.
  bool hasFailed() const {
    return (reinterpret_cast<uintptr_t>(lost.load(std::memory_order_relaxed)) |
            reinterpret_cast<uintptr_t>(
                failure.load(std::memory_order_relaxed))) != 0;
  }
  /// The failure, or Ok.
  Status checkFailure();
  void noteFailure(const char *error);
  /// Remembers a device fault; passes the status on.
  Status noteFault(Status status);
  /// A host wait, whose fault is remembered.
  Status wait(const Timepoint &point, const Deadline &deadline, bool &done) {
    Status status = timepoints.wait(point, deadline, done);
    if (__builtin_expect(!status.ok(), 0))
      return noteFault(std::move(status));
    // The work may have ended because it failed.
    return __builtin_expect(failure.load(std::memory_order_acquire) != nullptr,
                            0) &&
                   done
               ? checkFailure()
               : Status();
  }

protected:
  ~ContextPools();
};

/// "cpu", "cuda:0".
std::string deviceName(Driver &driver, int32_t ordinal);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_CONTEXTPOOLS_H
