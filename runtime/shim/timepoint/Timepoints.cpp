//===- Timepoints.cpp - Asking, waiting, ordering -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Timepoints.h.
//===----------------------------------------------------------------------===//

#include "shim/timepoint/Timepoints.h"
#include "shim/process/PolledWait.h"

#include <algorithm>

using namespace gpuasync;

using Kind = Timepoint::Kind;

Status Timepoints::takeEvent(NativeEvent &out) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!idle.empty()) {
      out = idle.back();
      idle.pop_back();
      return Status();
    }
    idle.reserve(made + 1); // giving one back must not allocate
    ++made;
  }
  Status status = device->createEvent(out);
  if (status.ok()) {
    physicalEvents.fetch_add(1, std::memory_order_relaxed);
  } else {
    std::lock_guard<std::mutex> lock(mutex);
    --made;
  }
  return status;
}

void Timepoints::giveEvent(NativeEvent event) {
  std::lock_guard<std::mutex> lock(mutex);
  idle.push_back(event);
}

Status Timepoints::flag(Timeline &timeline) {
  RETURN_IF_ERROR(device->extensions.flags->writeFlag(
      timeline.native, timeline.flag, timeline.flagValue + 1));
  ++timeline.flagValue;
  timeline.stagedSinceFlag = 0;
  timeline.flagged = timeline.enqueued;
  return Status();
}

Status Timepoints::make(Timeline &timeline, Timepoint &out) {
  Timepoint point = timeline.now();
  if (point.kind == Kind::Word) {
    if (timeline.wantsFlag())
      RETURN_IF_ERROR(flag(timeline));
    timeline.stagedSinceFlag = 0;
    out = point;
    return Status();
  }
  NativeEvent event = nullptr;
  RETURN_IF_ERROR(takeEvent(event));
  Status status = device->recordEvent(event, timeline.native);
  if (!status.ok()) {
    giveEvent(event);
    return status;
  }
  point.kind = Kind::Event;
  point.event = event;
  out = point;
  return Status();
}

Status Timepoints::query(const Timepoint &point, bool &reached) {
  reached = point.isTold();
  if (point.kind == Kind::Event)
    return device->queryEvent(point.event, reached);
  if (point.kind == Kind::Idle)
    return device->queryStream(point.timeline->native, reached);
  return Status();
}

Status Timepoints::settle(Timepoint &point, bool &reached) {
  Status status = query(point, reached);
  // Nothing runs any more on a lost device.
  reached |= status.code() == GPUASYNC_DEVICE_LOST;
  if (reached)
    drop(point);
  return status;
}

/// Whether the word is seen within the spin time.
static bool pollWord(const Timepoint &point, int64_t spinNs) {
  if (point.isTold())
    return true;
  if (spinNs <= 0)
    return false;
  int64_t end = nowNs() + spinNs;
  do {
    for (int i = 0; i < 32; ++i) {
      relax();
      if (point.isTold())
        return true;
    }
  } while (nowNs() < end);
  return false;
}

Status Timepoints::waitForWord(const Timepoint &point, const Deadline &deadline,
                               bool &done) {
  // After an error nobody writes the word. So the driver is asked after a time
  // in which most work ends, then after twice the time, and so on. The last
  // question comes when the time is over.
  const int64_t pollNs = 50000, firstNs = 1000000, longestNs = 20000000;
  done = true;
  if (point.isTold())
    return Status(); // without a look at the clock
  const int64_t spin = process().spinNs.load(std::memory_order_relaxed);
  const int64_t begun = nowNs();
  if (pollWord(point, std::min(spin, pollNs)))
    return Status();
  int64_t next = begun + firstNs;
  return polledWait(deadline.left(), done, [&](bool &reached) -> Status {
    if ((reached = point.isTold()) || !point.timeline)
      return Status();
    const int64_t now = nowNs();
    if (now < next && !deadline.over())
      return Status();
    next = now + std::min(std::max(now - begun, firstNs), longestNs);
    return device->queryStream(point.timeline->native, reached);
  });
}

Status Timepoints::wait(const Timepoint &point, const Deadline &deadline,
                        bool &done) {
  done = true;
  switch (point.kind) {
  case Kind::Reached:
    break;
  case Kind::Named:
  case Kind::Idle:
    return device->waitStream(point.timeline->native, deadline.left(), done);
  case Kind::Word:
    return waitForWord(point, deadline, done);
  case Kind::Event:
    return device->waitEvent(point.event, deadline.left(), done);
  }
  return Status();
}

void Timepoints::destroy(bool alive) {
  for (NativeEvent event : idle) {
    if (alive)
      device->destroyEvent(event);
    physicalEvents.fetch_sub(1);
  }
  idle.clear();
  made = 0;
}
