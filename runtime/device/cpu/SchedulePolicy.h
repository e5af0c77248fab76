//===- SchedulePolicy.h - Who decides which stream runs next ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without a policy, streams of the CPU device run as they become runnable. The
// adversary of libgpuasync_check.so is the one policy that there is. The device
// opens that library when GPU_ASYNC_CPU_SCHEDULE or gpuasync_set_cpu_schedule
// asks for it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_CPU_SCHEDULEPOLICY_H
#define GPUASYNC_DEVICE_CPU_SCHEDULEPOLICY_H

#include "gpuasync/Status.h"

#include <memory>
#include <stddef.h>
#include <stdint.h>

namespace gpuasync {
namespace cpu {

struct Stream;

/// The value of GPU_ASYNC_CPU_SCHEDULE or gpuasync_set_cpu_schedule.
struct Schedule {
  bool adversarial = false;
  uint64_t seed = 1;
  static Status parse(const char *text, Schedule &out);
  /// Returns the schedule of contexts that are opened from now on.
  static Status current(Schedule &out);
};

/// A position that a host thread waits for. It lives on that thread's stack.
struct Awaited {
  Stream *stream;
  uint64_t position;
  Awaited *next;
};

/// Runs the streams that a policy lets go.
class StreamRunner {
public:
  /// Runs one operation of the stream on the calling thread.
  virtual void runHere(Stream *stream) = 0;
  /// Gives the stream to one of the device's threads.
  virtual void runOnThread(Stream *stream) = 0;

protected:
  ~StreamRunner() = default;
};

/// Decides when each runnable stream runs its next operation. Thread safe.
class SchedulePolicy {
public:
  virtual ~SchedulePolicy() = default;
  /// Joins the policy's threads. The policy holds no stream, and no thread of
  /// the device is left.
  virtual void stop() = 0;
  /// Makes room for `streams` streams, so that later calls allocate nothing.
  /// Throws std::bad_alloc.
  virtual void reserve(size_t streams) = 0;
  /// Takes streams that became runnable, linked by Stream::nextRunnable.
  virtual void hold(Stream *list) = 0;
  /// A stream that was let go ran one operation, or parked. `list`: streams
  /// that can run now, possibly this one among them.
  virtual void cameBack(bool mayBlock, Stream *list) = 0;
  virtual void beginWait(Awaited &wait) = 0;
  virtual void endWait(Awaited &wait) = 0;
  /// Called by the thread that is about to run an operation.
  virtual void delay() = 0;
  /// Returns a number for an operation: how many the host enqueued before it.
  virtual uint64_t nextSequence() = 0;
};

/// Returns the adversary for `schedule`, or null in `out` for a fair schedule.
/// Fails if libgpuasync_check.so cannot be opened.
Status makePolicy(const Schedule &schedule, StreamRunner &runner,
                  std::unique_ptr<SchedulePolicy> &out);

/// The function by which libgpuasync_check.so makes its policy. `streamBytes`
/// is sizeof(Stream) of the caller, since both libraries use the same struct.
/// Returns null if that differs. Throws std::bad_alloc and std::system_error.
using MakePolicy = SchedulePolicy *(StreamRunner &runner, uint64_t seed,
                                    size_t streamBytes);

} // namespace cpu
} // namespace gpuasync

extern "C" GPUASYNC_API gpuasync::cpu::MakePolicy gpuasyncMakeSchedulePolicy;

#endif // GPUASYNC_DEVICE_CPU_SCHEDULEPOLICY_H
