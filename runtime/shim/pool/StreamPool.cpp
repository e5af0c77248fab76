//===- StreamPool.cpp - Streams of a context ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See StreamPool.h.
//===----------------------------------------------------------------------===//

#include "shim/pool/ContextPools.h"
#include "shim/pool/DeviceUse.h"

#include <algorithm>

using namespace gpuasync;

const StreamHolder gpuasync::embedder;

static constexpr uint32_t maxIdlePerThread = 16, maxIdle = 64;
static constexpr size_t flagPageBytes = 4096;
/// One cache line each: a device write must not disturb another poll.
static constexpr size_t flagBytes = 64;

StreamPool::~StreamPool() {
  for (Stream *stream : all)
    delete stream;
  while (Stream *stream = bare.pop())
    delete stream;
}

Status StreamPool::take(ThreadContext *slot, bool isUrgent, Stream *&out) {
  if (slot && (out = slot->idleStreams.pop()))
    return Status();
  isUrgent = isUrgent && context.hasPriorities();
  std::unique_lock<std::mutex> lock(mutex);
  if (!idle[isUrgent].first)
    reapFirst(/*looks=*/4);
  if ((out = idle[isUrgent].pop()))
    return Status();
  Stream *stream = bare.pop();
  if (!stream) {
    stream = new Stream;
    stream->context = &context.context;
  }
  // Without a native stream, also if something is thrown, it is bare again.
  struct Bare {
    StreamPool &pool;
    std::unique_lock<std::mutex> &lock;
    Stream *stream;
    ~Bare() {
      if (!stream)
        return;
      if (!lock.owns_lock())
        lock.lock();
      pool.keepBare(*stream);
    }
  } without{*this, lock, stream};
  Room room(all);
  if (context.has(CapFlagWait))
    RETURN_IF_ERROR(takeFlag(lock, *stream));
  lock.unlock();
  RETURN_IF_ERROR(
      isUrgent ? context.driver->extensions.priorities->createUrgentStream(
                     stream->native)
               : context.driver->createStream(stream->native));
  lock.lock();
  without.stream = nullptr;
  stream->isUrgent = isUrgent;
  all.push_back(stream);
  context.physicalStreams.fetch_add(1, std::memory_order_relaxed);
  out = stream;
  return Status();
}

/// The mutex is held.
void StreamPool::keepBare(Stream &stream) {
  if (uint32_t *flag = stream.timeline.releaseFlag())
    freeFlags.push_back(flag);
  stream.native = nullptr;
  stream.waitRound = 0;
  bare.push(&stream);
}

Status StreamPool::takeFlag(std::unique_lock<std::mutex> &lock,
                            Stream &stream) {
  if (freeFlags.empty()) {
    Room room(flagPages);
    freeFlags.reserve(flagPageBytes / flagBytes *
                      (flagPages.size() + flagPages.promised));
    lock.unlock();
    void *page = nullptr;
    Status status =
        context.driver->allocMemory(MemoryKind::Pinned, flagPageBytes, page);
    lock.lock();
    if (!status.ok())
      return status;
    flagPages.push_back(page);
    for (size_t at = 0; at < flagPageBytes; at += flagBytes) {
      auto *flag = reinterpret_cast<uint32_t *>(static_cast<char *>(page) + at);
      *flag = 0;
      freeFlags.push_back(flag);
    }
  }
  stream.timeline.takeFlag(freeFlags.back());
  freeFlags.pop_back();
  return Status();
}

void StreamPool::give(ThreadContext *slot, Stream *stream, bool idle) {
  const bool captured = stream->frame && stream->use->capture;
  stream->frame = nullptr;
  stream->aliasOf = nullptr;
  stream->previous = nullptr;
  if (stream->external)
    return context.callerStreams.give(stream,
                                      !stream->timeline.isIdle() && !captured);
  if (idle) {
    stream->timeline.finish();
    context.hostCopies->reap(*stream, /*idle=*/true);
    if (slot && !stream->isUrgent && slot->idleStreams.count < maxIdlePerThread)
      return slot->idleStreams.push(stream);
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (idle)
    return keepIdle(stream);
  if (stream->isAbandoned)
    context.abandoned.fetch_add(1);
  pending.append(stream);
}

void StreamPool::takeBack(ThreadContext &slot) {
  std::lock_guard<std::mutex> lock(mutex);
  while (Stream *stream = slot.idleStreams.pop())
    keepIdle(stream);
}

/// The mutex is held, as in the next.
void StreamPool::keepIdle(Stream *stream) {
  if (idle[0].count + idle[1].count < maxIdle)
    return idle[stream->isUrgent].push(stream);
  retired.push(stream);
  context.retiredCount.fetch_add(1, std::memory_order_relaxed);
}

/// Whether a pending stream, which is on no list or goes from its list if so,
/// was done and is idle now.
bool StreamPool::reapOne(Stream *stream, bool &isLost) {
  Device &driver = *context.driver;
  bool done = false;
  // An error of the work belongs to whoever waits for an event of the stream;
  // on a lost device every frame fails anyway. A query that failed itself
  // says nothing: the work may still run, so the stream stays here.
  Status status = context.timepoints.query(stream->timeline.whenIdle(), done);
  if (status.code() == GPUASYNC_DEVICE_LOST) {
    (void)context.noteFault(std::move(status));
    isLost = true;
  }
  if (isLost || !done || stream->awaited)
    return false;
  if (StreamControl *control = driver.extensions.control)
    control->resetStream(stream->native);
  stream->timeline.finish(/*withError=*/!status.ok());
  context.hostCopies->reap(*stream, /*idle=*/true);
  if (stream->isAbandoned)
    context.abandoned.fetch_sub(1);
  stream->isAbandoned = false;
  keepIdle(stream);
  return true;
}

/// For a call that wants a stream: many calls may be ahead of it, whose streams
/// are pending, so that to ask all of them takes longer than to make one. Those
/// that are not done go to the list's end, for others to have their turn.
void StreamPool::reapFirst(unsigned looks) {
  bool isLost = false;
  Stream *last = pending.last;
  while (looks-- && !isLost) {
    Stream *stream = pending.pop();
    if (!stream)
      break;
    if (!reapOne(stream, isLost))
      pending.append(stream);
    if (stream == last)
      break;
  }
  if (!isLost)
    keepEnded();
}

void StreamPool::reapPending() {
  bool isLost = false;
  pending.removeIf(
      [&](Stream *stream) { return !isLost && reapOne(stream, isLost); });
  if (!isLost)
    keepEnded();
}

void StreamPool::keepEnded() {
  if (!context.captured)
    return;
  Stack<Stream> ended = context.captured->takeEnded();
  while (Stream *stream = ended.pop())
    keepIdle(stream);
}

//===----------------------------------------------------------------------===//
// Held outside of frames
//===----------------------------------------------------------------------===//

void StreamPool::hold(Stream *stream, const StreamHolder *holder) {
  std::lock_guard<std::mutex> lock(mutex);
  stream->holder = holder;
}

bool StreamPool::giveEmbedder(Stream *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  if (stream->holder != &embedder)
    return false; // a frame's, or destroyed before
  stream->holder = nullptr;
  stream->isAbandoned = stream->isOverdue.exchange(false);
  // Its work may still run.
  if (!destroyed) {
    if (stream->isAbandoned)
      context.abandoned.fetch_add(1);
    pending.append(stream);
  }
  return true;
}

void StreamPool::resetHeld(Stream &stream) {
  std::lock_guard<std::mutex> lock(mutex);
  StreamControl *control = context.driver->extensions.control;
  if (control && !stream.awaited)
    control->resetStream(stream.native);
}

uint64_t StreamPool::countEmbedders() {
  std::lock_guard<std::mutex> lock(mutex);
  return static_cast<uint64_t>(
      std::count_if(all.begin(), all.end(), [](Stream *stream) {
        return stream->holder == &embedder;
      }));
}

const StreamHolder *StreamPool::findBusyHolder() {
  std::lock_guard<std::mutex> lock(mutex);
  for (Stream *stream : all)
    if (stream->holder && stream->holder->leavesWork)
      return stream->holder;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Rest
//===----------------------------------------------------------------------===//

bool StreamPool::reap() {
  std::lock_guard<std::mutex> lock(mutex);
  reapPending();
  return !pending.first;
}

Stream *StreamPool::beginWait(uint64_t round, Waited which) {
  std::lock_guard<std::mutex> lock(mutex);
  Stream *next = nullptr;
  if (which == Waited::Pending || which == Waited::Abandoned) {
    reapPending();
    next = pending.first;
    while (next && which == Waited::Abandoned && !next->isAbandoned)
      next = next->next;
  } else {
    for (Stream *stream : all)
      if (!next && stream->waitRound != round &&
          (which == Waited::Any ? !stream->capture : stream->holder != nullptr))
        next = stream;
  }
  if (next)
    next->awaited = true;
  return next;
}

bool StreamPool::endWait(Stream *stream, uint64_t round) {
  std::lock_guard<std::mutex> lock(mutex);
  stream->awaited = false;
  stream->waitRound = round;
  return stream->holder && stream->holder->leavesWork;
}

std::string StreamPool::listUnfinished(const Stream &stream) {
  constexpr uint32_t capacity = Stream::recentCount;
  std::string text;
  StreamControl *control = context.driver->extensions.control;
  if (!control) {
    // Lists the work since the last wait, as far as it is remembered.
    const uint64_t end = stream.timeline.position();
    uint64_t first = stream.timeline.finishedPosition();
    if (end - first > capacity)
      first = end - capacity;
    for (uint64_t i = first; i < end; ++i)
      if (const gpuasync_site *site = stream.recent[i % capacity])
        appendItem(text, describeSite(site, ""));
    return text;
  }
  const gpuasync_site *sites[capacity];
  const uint32_t count = control->unfinished(stream.native, sites, capacity);
  for (uint32_t i = 0; i < count; ++i)
    appendItem(text, describeSite(sites[i], ""));
  return text;
}

std::string StreamPool::describePending(bool abandonedOnly) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string open;
  for (Stream *stream = pending.first; stream; stream = stream->next)
    if (stream->isAbandoned || !abandonedOnly)
      appendItem(open, listUnfinished(*stream));
  return open;
}

void StreamPool::forgetSites(const Registration *gone) {
  std::lock_guard<std::mutex> lock(mutex);
  // On a lost device work stays pending for ever.
  for (Stream *stream = pending.first; stream; stream = stream->next)
    for (const gpuasync_site *&site : stream->recent)
      if (!gone || gone->holds(site))
        site = nullptr;
}

NativeStream StreamPool::any() {
  std::lock_guard<std::mutex> lock(mutex);
  return all.empty() ? nullptr : all.front()->native;
}

void StreamPool::destroyRetired() {
  std::unique_lock<std::mutex> lock(mutex);
  while (Stream *stream = retired.pop()) {
    lock.unlock();
    if (!context.lost.load())
      context.driver->destroyStream(stream->native);
    stream->timeline.releaseSignal(context.driver->extensions.signals);
    context.physicalStreams.fetch_sub(1);
    lock.lock();
    all.erase(std::find(all.begin(), all.end(), stream));
    keepBare(*stream);
  }
}

void StreamPool::destroy(bool alive) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    destroyed = true;
    idle[0] = idle[1] = retired = {};
    pending = {};
  }
  for (Stream *stream : all) {
    context.hostCopies->reap(*stream, /*idle=*/true);
    if (!stream->native)
      continue; // a close before this one came so far
    if (alive)
      context.driver->destroyStream(stream->native);
    stream->native = nullptr;
    context.physicalStreams.fetch_sub(1);
  }
  for (void *page : flagPages)
    if (alive)
      context.driver->freeMemory(MemoryKind::Pinned, page);
  flagPages.clear();
}
