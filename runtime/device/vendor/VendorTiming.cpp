//===- VendorTiming.cpp - When work ran on cuda and hip -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two events with a time around each operation, and a point at which both the
// device's clock and the host's are known.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorContext.h"
#include "shim/base/Clock.h"

using namespace gpuasync;

/// The clocks drift, and the vendors say times as floats: a point of both is
/// good for so long.
static constexpr int64_t anchorAgeNs = 500000000;
/// The event of a point is on a stream of its own and comes at once, unless
/// that shares a queue with one that does not go on.
static constexpr int64_t anchorWaitNs = 200000;
static constexpr int anchorTries = 5;

static int64_t toNs(float milliseconds) {
  return static_cast<int64_t>(double(milliseconds) * 1e6);
}

Status VendorContext::takeTimed(NativeEvent &out) {
  {
    std::lock_guard<std::mutex> lock(timingMutex);
    if (!timedEvents.empty()) {
      out = timedEvents.back();
      timedEvents.pop_back();
      return Status();
    }
  }
  OutsideCapture outside(driver);
  EventHandle event = nullptr;
  RETURN_IF_ERROR(made(VENDOR_CALL(eventCreate, &event, 0)));
  out = event;
  return Status();
}

Status VendorContext::beginTiming(NativeStream stream, DeviceTiming &timing) {
  if (!table.eventElapsed)
    return makeStatus(GPUASYNC_UNSUPPORTED, "no times of the device");
  Status status = takeTimed(timing.from);
  if (status.ok())
    status = takeTimed(timing.to);
  if (status.ok())
    status = recordEvent(timing.from, stream);
  if (!status.ok())
    dropTiming(timing);
  return status;
}

Status VendorContext::endTiming(NativeStream stream, DeviceTiming &timing) {
  return recordEvent(timing.to, stream);
}

Status VendorContext::readTiming(DeviceTiming &timing) {
  if (silent())
    return Status();
  OutsideCapture outside(driver);
  // Of the operation itself: a float says a short time better than a long one.
  float begin = 0, length = 0;
  bool done = false;
  RETURN_IF_ERROR(query(VENDOR_CALL(eventElapsed, &length, asEvent(timing.from),
                                    asEvent(timing.to)),
                        done));
  if (!done)
    return Status();
  RETURN_IF_ERROR(readClocks());
  {
    // Nobody changes the point meanwhile.
    std::lock_guard<std::mutex> lock(timingMutex);
    if (!anchor.event)
      return Status();
    RETURN_IF_ERROR(check(VENDOR_CALL(
        eventElapsed, &begin, asEvent(anchor.event), asEvent(timing.from))));
    timing.begin = anchor.at + toNs(begin);
  }
  timing.end = timing.begin + toNs(length);
  timing.known.store(true, std::memory_order_release);
  return Status();
}

void VendorContext::dropTiming(DeviceTiming &timing) noexcept {
  for (NativeEvent *event : {&timing.from, &timing.to}) {
    if (!*event)
      continue;
    try {
      std::lock_guard<std::mutex> lock(timingMutex);
      timedEvents.push_back(*event);
    } catch (const std::bad_alloc &) {
      destroyEvent(*event);
    }
    *event = nullptr;
  }
}

int64_t VendorContext::timingError() {
  std::lock_guard<std::mutex> lock(timingMutex);
  return anchor.error;
}

Status VendorContext::readClocksOnce(NativeEvent event, int64_t &middle,
                                     int64_t &error, bool &done) {
  const int64_t before = nowNs();
  int64_t after = before;
  RETURN_IF_ERROR(recordEvent(event, timingStream));
  do {
    RETURN_IF_ERROR(query(VENDOR_CALL(eventQuery, asEvent(event)), done));
    after = nowNs();
  } while (!done && after < before + anchorWaitNs);
  error = (after - before) / 2;
  middle = before + error;
  return Status();
}

Status VendorContext::readClocks() {
  {
    std::lock_guard<std::mutex> lock(timingMutex);
    if (anchor.event && nowNs() < anchor.at + anchorAgeNs)
      return Status();
  }
  if (!timingStream)
    RETURN_IF_ERROR(createStream(timingStream));
  // The closest of some.
  Anchor best;
  Status status;
  for (int i = 0; i < anchorTries && status.ok(); ++i) {
    Anchor next;
    bool done = false;
    status = takeTimed(next.event);
    if (status.ok())
      status = readClocksOnce(next.event, next.at, next.error, done);
    if (status.ok() && done && (!best.event || next.error < best.error))
      std::swap(best, next);
    DeviceTiming unused;
    unused.from = next.event;
    dropTiming(unused);
    if (!done)
      break; // the next one would be behind it
  }
  if (best.event) {
    std::lock_guard<std::mutex> lock(timingMutex);
    std::swap(best, anchor);
  }
  DeviceTiming unused;
  unused.from = best.event;
  dropTiming(unused);
  return status;
}

void VendorContext::closeTiming() noexcept {
  if (anchor.event)
    destroyEvent(anchor.event);
  anchor = {};
  for (NativeEvent event : timedEvents)
    destroyEvent(event);
  timedEvents.clear();
  if (timingStream)
    destroyStream(timingStream);
  timingStream = nullptr;
}
