//===- StreamPool.cpp - Streams and events of a context -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Idle streams are handed out last in, first out, from the thread's own list if
// it has one. A stream given back with work on it is queried before it is used
// again: nobody else can have put anything on it.
//===----------------------------------------------------------------------===//

#include "core/abi/Frame.h"
#include "core/process/StatusImpl.h"

#include <algorithm>
#include <chrono>

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
  if (stream->external)
    return giveWrapper(stream,
                       stream->enqueued != stream->finished && !captured);
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
  idle ? keepIdle(stream) : keepPending(stream);
}

void gpuasync_context::keepPending(gpuasync_stream *stream) {
  stream->next = nullptr;
  if (pendingTail)
    pendingTail->next = stream;
  else
    pendingHead = stream;
  pendingTail = stream;
}

void gpuasync_context::giveEmbedderStream(gpuasync_stream *stream) {
  {
    std::lock_guard<std::mutex> lock(poolMutex);
    if (!stream->embedder)
      return; // a frame's, or destroyed before
    stream->embedder = false;
    ended.streams.destroy();
    // Its work may still run. Of a closed context nothing is left of it.
    if (state.load() != State::Closed)
      keepPending(stream);
  }
  releasePart();
}

void gpuasync_context::keepIdle(gpuasync_stream *stream) {
  if (idleStreamCount >= maxIdleStreams) {
    std::lock_guard<std::mutex> lock(memoryMutex);
    stream->next = retiredStreams;
    retiredStreams = stream;
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
    if (!done || stream->awaited) {
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

/// The next stream that nobody's frame holds and that may have work, of those
/// that round `round` has not waited for (poolMutex held).
static gpuasync_stream *nextAwaited(gpuasync_context &context, uint64_t round) {
  context.reapPending();
  if (context.pendingHead)
    return context.pendingHead;
  if (!context.reapWrappers())
    return context.busyWrappers;
  // Those of an embedder or a session.
  for (gpuasync_stream *stream : context.allStreams)
    if ((stream->embedder || stream->session) && stream->waitRound != round)
      return stream;
  return nullptr;
}

// Whoever asks meanwhile whether the context rests must find the stream, and
// nobody may give it away: it stays on its list.
Status gpuasync_context::waitForStreams(const Deadline &deadline,
                                        Status *failed) {
  std::unique_lock<std::timed_mutex> one(waitMutex, std::defer_lock);
  if (deadline.timeoutNs < 0)
    one.lock();
  else if (!one.try_lock_for(std::chrono::nanoseconds(deadline.left())))
    return makeStatus(GPUASYNC_TIMEOUT, "timed out");
  const uint64_t round = ++waitRounds;
  while (true) {
    gpuasync_stream *stream;
    NativeEvent tail;
    {
      std::lock_guard<std::mutex> lock(poolMutex);
      stream = nextAwaited(*this, round);
      if (!stream || lost.load())
        break;
      stream->awaited = true;
      tail = stream->tail;
    }
    bool done = false;
    Status status =
        tail ? driver->waitEvent(tail, deadline.left(), done)
             : driver->waitStream(stream->native, deadline.left(), done);
    bool session;
    {
      std::lock_guard<std::mutex> lock(poolMutex);
      stream->awaited = false;
      stream->waitRound = round;
      session = stream->session;
      if (stream->tail != tail)
        fences.giveEvent(tail); // a frame has marked another one meanwhile
    }
    if (done && failed && session && failed->ok())
      *failed = copyStatus(status);
    // An error that is not the work's own tells nothing of it.
    if (!done || status.code() == GPUASYNC_DEVICE_LOST)
      return status.ok() ? makeStatus(GPUASYNC_TIMEOUT, "timed out")
                         : noteFault(std::move(status));
  }
  return lost.load() ? check() : Status();
}

//===----------------------------------------------------------------------===//
// Wrappers of callers' streams
//===----------------------------------------------------------------------===//

// A caller's stream may be gone once the caller has it back, so an event of our
// own says when the work of our frames there is done. Until then its wrapper
// serves no other stream: what is staged for one must not be taken for done
// because the other is.
Status gpuasync_context::takeWrapper(NativeStream native,
                                     gpuasync_stream *&out) {
  {
    std::lock_guard<std::mutex> lock(poolMutex);
    for (out = busyWrappers; out; out = out->nextBusy)
      if (out->native == native && !out->taken) {
        out->taken = true;
        return Status();
      }
    if (!idleWrappers)
      (void)reapWrappers();
    if ((out = idleWrappers)) {
      idleWrappers = out->next;
      out->next = nullptr;
      out->native = native;
      out->taken = true;
      return Status();
    }
  }
  auto made = std::make_unique<gpuasync_stream>();
  made->context = this;
  made->external = true;
  made->native = native;
  made->taken = true;
  Status status = fences.takeEvent(made->tail);
  if (!status.ok())
    return status;
  std::lock_guard<std::mutex> lock(poolMutex);
  try {
    wrappers.push_back(made.get());
  } catch (...) {
    fences.giveEvent(made->tail);
    throw;
  }
  out = made.release();
  return Status();
}

/// Puts the tail of a wrapper behind all work of its stream (poolMutex held).
static Status moveTail(gpuasync_context &context,
                       gpuasync_stream &wrapper) try {
  // One that a thread waits for without the lock is that thread's.
  NativeEvent tail = wrapper.tail;
  if (wrapper.awaited)
    if (Status status = context.fences.takeEvent(tail); !status.ok())
      return status;
  Status status = context.driver->recordEvent(tail, wrapper.native);
  if (status.ok())
    wrapper.tail = tail;
  else if (wrapper.tail != tail)
    context.fences.giveEvent(tail);
  return status;
} catch (const std::bad_alloc &) {
  return outOfMemoryStatus();
}

void gpuasync_context::giveWrapper(gpuasync_stream *wrapper, bool more) {
  std::lock_guard<std::mutex> lock(poolMutex);
  wrapper->next = nullptr;
  if (more) {
    Status status = moveTail(*this, *wrapper);
    if (!status.ok()) {
      // The stream has failed or is gone, and nobody can say when its work is
      // done: what is staged for it stays until the close, as the wrapper does,
      // and unloading relies on the driver's own waiting.
      (void)noteFault(std::move(status));
      return;
    }
    if (!wrapper->busy) {
      wrapper->busy = true;
      wrapper->nextBusy = nullptr;
      gpuasync_stream **end = &busyWrappers; // the oldest work ends first
      while (*end)
        end = &(*end)->nextBusy;
      *end = wrapper;
    }
  }
  wrapper->taken = false;
  if (wrapper->busy)
    return;
  wrapper->next = idleWrappers;
  idleWrappers = wrapper;
}

bool gpuasync_context::reapWrappers() {
  for (gpuasync_stream **link = &busyWrappers; *link;) {
    gpuasync_stream *wrapper = *link;
    bool done = false;
    Status status = driver->queryEvent(wrapper->tail, done);
    // A query that failed itself says nothing, save that nothing runs any more
    // on a lost device.
    done |= status.code() == GPUASYNC_DEVICE_LOST;
    if (!done || wrapper->awaited) {
      link = &wrapper->nextBusy;
      continue;
    }
    *link = wrapper->nextBusy;
    wrapper->busy = false;
    if (wrapper->taken)
      continue; // the frame goes on with it
    reapStaging(*wrapper, true);
    wrapper->next = idleWrappers;
    idleWrappers = wrapper;
  }
  return !busyWrappers;
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
