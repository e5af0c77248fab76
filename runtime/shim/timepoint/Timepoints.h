//===- Timepoints.h - Asking, waiting, ordering -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations on timepoints that may call the driver, and a context's own native
// events, by which timepoints last where the device writes no flags.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_TIMEPOINT_TIMEPOINTS_H
#define GPUASYNC_SHIM_TIMEPOINT_TIMEPOINTS_H

#include "device/DriverSlot.h"
#include "shim/base/Clock.h"
#include "shim/timepoint/Timepoint.h"

#include <mutex>
#include <vector>

namespace gpuasync {

/// The timepoints of one context. Thread safe; one thread at a time passes one
/// timepoint or timeline. Its lock is taken under any other's, and never held
/// over a call of the driver's.
class Timepoints {
public:
  /// `physicalEvents` counts the native events that exist.
  Timepoints(const DriverSlot &device, std::atomic<uint64_t> &physicalEvents)
      : device(device), physicalEvents(physicalEvents) {}
  Timepoints(const Timepoints &) = delete;

  /// A point after all work so far that any thread can ask for later: a word
  /// that is or becomes requested, else an event. After an error `out` stays.
  Status make(Timeline &timeline, Timepoint &out);
  /// Writes the stream's flag, behind all work so far.
  Status flag(Timeline &timeline);

  /// Whether the work before the point has been done. An event or a stream is
  /// asked, and its error is the result; `reached` then says whether the work
  /// has ended. A point that is only named is not asked for: see isTold.
  Status query(const Timepoint &point, bool &reached);
  /// As query, and drops the point when it is reached, which each point of a
  /// lost device is.
  Status settle(Timepoint &point, bool &reached);
  /// Whether the work before the point has ended, though it may have failed:
  /// nothing uses its memory any more. If so, drops the point.
  bool isOver(Timepoint &point) {
    bool reached = point.isCounted();
    if (reached)
      drop(point);
    else
      (void)settle(point, reached);
    return reached;
  }
  /// Waits on the host. The result is an error of the stream's work; `done` is
  /// false after a timeout. The native stream stays meanwhile.
  Status wait(const Timepoint &point, const Deadline &deadline, bool &done);
  /// Nobody asks any more.
  void drop(Timepoint &point) {
    if (point.kind == Timepoint::Kind::Event)
      giveEvent(point.event);
    point = Timepoint();
  }

  /// A native event of the context's own, and back.
  Status takeEvent(NativeEvent &out);
  void giveEvent(NativeEvent event);
  /// At the context's end: all have come back. `alive`: the device is not lost.
  void destroy(bool alive);

private:
  Status waitForWord(const Timepoint &point, const Deadline &deadline,
                     bool &done);

  const DriverSlot &device;
  std::atomic<uint64_t> &physicalEvents;
  std::mutex mutex;
  std::vector<NativeEvent> idle;
  size_t made = 0; ///< in all; `idle` has room for these
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_TIMEPOINT_TIMEPOINTS_H
