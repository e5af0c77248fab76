//===- StreamPool.cpp - Streams, events and fences of a context -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Idle streams are handed out last in, first out, from the thread's own list if
// it has one. A stream given back with work on it is queried before it is used
// again: nobody else can have put anything on it.
//===----------------------------------------------------------------------===//

#include "core/Frame.h"
#include "core/StatusImpl.h"

#include <algorithm>

using namespace gpuasync;

Status gpuasync_context::takeStream(ThreadContext *slot,
                                    gpuasync_stream *&out) {
  if (slot && slot->idleStreams) {
    out = slot->idleStreams;
    slot->idleStreams = out->next;
    --slot->idleStreamCount;
    out->next = nullptr;
    return Status();
  }
  {
    std::lock_guard<std::mutex> lock(poolMutex);
    if (!idleStreams)
      reapPending();
    if ((out = idleStreams)) {
      idleStreams = out->next;
      --idleStreamCount;
      out->next = nullptr;
      return Status();
    }
  }
  auto stream = std::make_unique<gpuasync_stream>();
  stream->context = this;
  std::unique_lock<std::mutex> lock(poolMutex);
  Room room(allStreams);
  if (has(CapFlagWait)) {
    if (freeFlags.empty()) {
      constexpr size_t flagsOfPage = 4096 / 64;
      Room pageRoom(flagPages);
      freeFlags.reserve(flagsOfPage * (flagPages.size() + flagPages.promised));
      lock.unlock();
      void *page = nullptr;
      Status status = driver->allocMemory(MemoryKind::Pinned, 4096, page);
      if (!status.ok())
        return status;
      lock.lock();
      flagPages.push_back(page);
      // One cache line each: a device write must not disturb another poll.
      for (size_t i = 0; i < 4096; i += 64) {
        auto *flag =
            reinterpret_cast<uint32_t *>(static_cast<char *>(page) + i);
        *flag = 0;
        freeFlags.push_back(flag);
      }
    }
    stream->flagSlot = freeFlags.back();
    freeFlags.pop_back();
    stream->flagValue = *stream->flagSlot;
  }
  lock.unlock();
  Status status = driver->createStream(stream->native);
  lock.lock();
  if (!status.ok()) {
    if (stream->flagSlot)
      freeFlags.push_back(stream->flagSlot);
    return status;
  }
  allStreams.push_back(stream.get());
  physicalStreams.fetch_add(1, std::memory_order_relaxed);
  out = stream.release();
  return Status();
}

void gpuasync_context::giveStream(ThreadContext *slot, gpuasync_stream *stream,
                                  bool idle) {
  const bool captured = stream->frame && stream->frame->capture;
  stream->frame = nullptr;
  stream->previous = nullptr;
  if (stream->external) {
    // The caller's stream cannot be queried later: what was staged for it is
    // given fences of its own when it is enqueued.
    if (stream->enqueued != stream->finished && !captured)
      noteCallerWork(stream->native);
    stream->native = nullptr;
    stream->next = slot->idleWrappers;
    slot->idleWrappers = stream;
    return;
  }
  if (idle) {
    stream->finished = stream->enqueued;
    if (stream->staging || stream->stuck)
      reapStaging(*stream, true);
    if (slot && slot->idleStreamCount < maxIdleStreamsPerThread) {
      stream->next = slot->idleStreams;
      slot->idleStreams = stream;
      ++slot->idleStreamCount;
      return;
    }
  }
  std::lock_guard<std::mutex> lock(poolMutex);
  stream->next = nullptr;
  if (!idle) {
    if (pendingTail)
      pendingTail->next = stream;
    else
      pendingHead = stream;
    pendingTail = stream;
    return;
  }
  keepIdle(stream);
}

void gpuasync_context::noteCallerWork(NativeStream stream) {
  NativeEvent event = nullptr;
  {
    std::lock_guard<std::mutex> lock(poolMutex);
    for (CallerWork &work : callerWork)
      if (work.stream == stream) {
        event = work.event;
        work = callerWork.back();
        callerWork.pop_back();
        break;
      }
  }
  try {
    if (!event && !takeFenceEvent(event).ok())
      return;
    // A stream that takes no record has failed or is gone.
    if (driver->recordEvent(event, stream).ok()) {
      std::lock_guard<std::mutex> lock(poolMutex);
      callerWork.push_back({stream, event});
      return;
    }
  } catch (const std::bad_alloc &) {
    // Then unloading relies on the driver's own waiting.
  }
  if (event)
    giveFenceEvent(event);
}

bool gpuasync_context::reapCallerWork() {
  for (size_t i = 0; i < callerWork.size();) {
    Fence fence;
    fence.event = callerWork[i].event;
    if (!reached(fence)) {
      ++i;
      continue;
    }
    callerWork[i] = callerWork.back();
    callerWork.pop_back();
  }
  return callerWork.empty();
}

/// poolMutex held.
void gpuasync_context::keepIdle(gpuasync_stream *stream) {
  if (idleStreamCount >= maxIdleStreams) {
    std::lock_guard<std::mutex> lock(memoryMutex);
    retiredStreams.push_back(stream);
    retiredCount.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  stream->next = idleStreams;
  idleStreams = stream;
  ++idleStreamCount;
}

// Nothing that a captured stream was given has run on it, so it is idle once
// the capture has ended.
void gpuasync_context::reapPending() {
  gpuasync_stream **link = &pendingHead;
  gpuasync_stream *last = nullptr;
  while (gpuasync_stream *stream = *link) {
    bool done = false;
    // An error of the work belongs to whoever waits for an event of the stream;
    // on a lost device every frame fails anyway. A query that failed itself
    // says nothing: the work may still run, so the stream stays here.
    Status status = driver->queryStream(stream->native, done);
    if (!status.ok() && status.code() == GPUASYNC_DEVICE_LOST) {
      (void)noteFault(std::move(status));
      return;
    }
    if (!done) {
      last = stream;
      link = &stream->next;
      continue;
    }
    *link = stream->next;
    driver->resetStream(stream->native);
    stream->finished = stream->enqueued;
    reapStaging(*stream, true);
    keepIdle(stream);
  }
  pendingTail = last;
  for (gpuasync_stream **link = &capturedStreams; *link;) {
    gpuasync_stream *stream = *link;
    CaptureState state;
    Status status = driver->captureState(stream->native, state);
    if (!status.ok() || state.kind != CaptureState::None) {
      (void)noteFault(std::move(status));
      link = &stream->next;
      continue;
    }
    *link = stream->next;
    stream->capture = 0;
    keepIdle(stream);
  }
}

Status gpuasync_context::waitForStreams(int64_t timeoutNs, Status *failed) {
  const int64_t deadline = timeoutNs < 0 ? -1 : nowNs() + timeoutNs;
  auto left = [&]() -> int64_t {
    return deadline < 0 ? -1 : std::max<int64_t>(deadline - nowNs(), 0);
  };
  // What a wait says: an error that is not the work's own tells nothing of it.
  auto ended = [&](Status status, bool done) -> Status {
    if (done && status.code() != GPUASYNC_DEVICE_LOST)
      return Status();
    return status.ok() ? makeStatus(GPUASYNC_TIMEOUT, "timed out")
                       : noteFault(std::move(status));
  };
  while (true) {
    gpuasync_stream *stream;
    {
      std::lock_guard<std::mutex> lock(poolMutex);
      reapPending();
      stream = pendingHead;
      if (!stream || lost.load())
        break;
      pendingHead = stream->next;
      if (!pendingHead)
        pendingTail = nullptr;
    }
    bool done = false;
    Status status = driver->waitStream(stream->native, left(), done);
    {
      std::lock_guard<std::mutex> lock(poolMutex);
      stream->next = pendingHead;
      pendingHead = stream;
      if (!pendingTail)
        pendingTail = stream;
    }
    status = ended(std::move(status), done);
    if (!status.ok())
      return status;
  }
  while (!lost.load()) {
    CallerWork work;
    {
      std::lock_guard<std::mutex> lock(poolMutex);
      if (reapCallerWork())
        break;
      work = callerWork.back();
      callerWork.pop_back();
    }
    bool done = false;
    Status status = driver->waitEvent(work.event, left(), done);
    status = ended(std::move(status), done);
    if (!status.ok()) {
      std::lock_guard<std::mutex> lock(poolMutex);
      callerWork.push_back(work); // there was room
      return status;
    }
    giveFenceEvent(work.event);
  }
  // Streams that an embedder or a session still holds.
  std::vector<gpuasync_stream *> held;
  {
    std::lock_guard<std::mutex> lock(poolMutex);
    for (gpuasync_stream *stream : allStreams)
      if (stream->embedder || stream->session)
        held.push_back(stream);
  }
  for (gpuasync_stream *stream : held) {
    if (lost.load())
      break;
    bool done = false;
    Status status = driver->waitStream(stream->native, left(), done);
    if (done && failed && stream->session && failed->ok())
      *failed = copyStatus(status);
    status = ended(std::move(status), done);
    if (!status.ok())
      return status;
  }
  return lost.load() ? check() : Status();
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

Status gpuasync_context::takeEvent(ThreadContext *slot, Event *&out) {
  if (slot && slot->idleEvents) {
    out = slot->idleEvents;
    slot->idleEvents = out->next;
    --slot->idleEventCount;
    out->next = nullptr;
    return Status();
  }
  std::unique_lock<std::mutex> lock(poolMutex);
  if ((out = idleEvents)) {
    idleEvents = out->next;
    out->next = nullptr;
    return Status();
  }
  Room room(allEvents);
  lock.unlock();
  auto event = std::make_unique<Event>();
  event->context = this;
  Status status = driver->createEvent(event->native);
  if (!status.ok())
    return status;
  lock.lock();
  allEvents.push_back(event.get());
  physicalEvents.fetch_add(1, std::memory_order_relaxed);
  out = event.release();
  return Status();
}

void gpuasync_context::giveEvent(ThreadContext *slot, Event *event) {
  event->live = false;
  event->label.clear();
  ++event->generation;
  event->frame = nullptr;
  event->previous = nullptr;
  if (slot && slot->idleEventCount < maxIdleEventsPerThread) {
    event->next = slot->idleEvents;
    slot->idleEvents = event;
    ++slot->idleEventCount;
    return;
  }
  std::lock_guard<std::mutex> lock(poolMutex);
  event->next = idleEvents;
  idleEvents = event;
}

void gpuasync_context::exportEvent(Event *event) {
  event->frame = nullptr;
  std::lock_guard<std::mutex> lock(poolMutex);
  linkFront(exported, event);
}

void gpuasync_context::importEvent(Event *event) {
  std::lock_guard<std::mutex> lock(poolMutex);
  unlink(exported, event);
}

//===----------------------------------------------------------------------===//
// Fences of our own
//===----------------------------------------------------------------------===//

Status gpuasync_context::takeFenceEvent(NativeEvent &out) {
  {
    std::lock_guard<std::mutex> lock(fenceMutex);
    if (!idleFences.empty()) {
      out = idleFences.back();
      idleFences.pop_back();
      return Status();
    }
  }
  {
    // Giving a fence back must not allocate.
    std::lock_guard<std::mutex> lock(fenceMutex);
    idleFences.reserve(++fenceCount);
  }
  Status status = driver->createEvent(out);
  if (status.ok())
    physicalEvents.fetch_add(1, std::memory_order_relaxed);
  return status;
}

void gpuasync_context::giveFenceEvent(NativeEvent event) {
  std::lock_guard<std::mutex> lock(fenceMutex);
  idleFences.push_back(event);
}

Status gpuasync_context::makeFence(gpuasync_stream &stream, Fence &out) {
  if (stream.flagSlot) {
    uint32_t value = stream.flagValue + 1;
    Status status = driver->writeFlag(stream.native, stream.flagSlot, value);
    if (!status.ok())
      return status;
    stream.flagValue = value;
    stream.stagedSinceFlag = 0;
    out.slot = stream.flagSlot;
    out.value = value;
    return Status();
  }
  NativeEvent event = nullptr;
  Status status = takeFenceEvent(event);
  if (!status.ok())
    return status;
  status = driver->recordEvent(event, stream.native);
  if (!status.ok()) {
    giveFenceEvent(event);
    return status;
  }
  out.event = event;
  return Status();
}

static bool flagReached(const Fence &fence) {
  uint32_t seen = __atomic_load_n(fence.slot, __ATOMIC_ACQUIRE);
  return static_cast<int32_t>(seen - fence.value) >= 0;
}

bool gpuasync_context::reached(Fence &fence) {
  if (fence.slot) {
    if (!flagReached(fence))
      return false;
    fence.slot = nullptr;
    return true;
  }
  if (!fence.event)
    return true;
  bool done = false;
  Status status = driver->queryEvent(fence.event, done);
  // A query that failed itself says nothing, save that nothing runs any more on
  // a lost device.
  if (!done && (status.ok() || status.code() != GPUASYNC_DEVICE_LOST))
    return false;
  giveFenceEvent(fence.event);
  fence.event = nullptr;
  return true;
}
