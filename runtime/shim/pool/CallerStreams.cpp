//===- CallerStreams.cpp - Wrappers of callers' streams -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See CallerStreams.h.
//===----------------------------------------------------------------------===//

#include "shim/pool/CallerStreams.h"
#include "shim/pool/ContextPools.h"

#include <algorithm>
#include <new>

using namespace gpuasync;

Status gpuasync::refuseCaptured(const char *what, const char *instead) {
  return makeStatus(GPUASYNC_UNSUPPORTED,
                    "the caller's stream is being captured into a graph, which "
                    "cannot hold %s: %s",
                    what, instead);
}

CallerStreams::~CallerStreams() {
  for (Stream *wrapper : all)
    delete wrapper;
}

Status CallerStreams::take(NativeStream native, Stream *&out) {
  std::unique_lock<std::mutex> lock(mutex);
  for (Stream *wrapper : busy)
    if (wrapper->native == native && !wrapper->taken) {
      wrapper->taken = true;
      out = wrapper;
      return Status();
    }
  if (!idle.first)
    (void)reapBusy();
  out = idle.pop();
  if (!out) {
    lock.unlock();
    auto made = std::make_unique<Stream>(/*external=*/true);
    made->context = &context.context;
    NativeEvent event = nullptr;
    RETURN_IF_ERROR(context.timepoints.takeEvent(event));
    made->tail = Timepoint::ofEvent(event);
    lock.lock();
    try {
      busy.reserve(all.size() + 1);
      all.push_back(made.get());
    } catch (...) {
      context.timepoints.drop(made->tail);
      throw;
    }
    out = made.release();
  }
  out->native = native;
  out->taken = true;
  return Status();
}

/// Puts the tail of a wrapper behind all work of its stream; the mutex is held.
Status CallerStreams::moveTail(Stream &wrapper) try {
  // One that a thread waits for without the lock is that thread's.
  if (!wrapper.awaited)
    return context.driver->recordEvent(wrapper.tail.event, wrapper.native);
  return context.timepoints.make(wrapper.timeline, wrapper.tail);
} catch (const std::bad_alloc &) {
  return outOfMemoryStatus();
}

void CallerStreams::give(Stream *wrapper, bool more) {
  std::lock_guard<std::mutex> lock(mutex);
  wrapper->next = nullptr;
  if (more) {
    Status status = moveTail(*wrapper);
    if (!status.ok()) {
      // The stream has failed or is gone, and nobody can say when its work is
      // done: what is staged for it stays until the close, as the wrapper does,
      // and unloading relies on the driver's own waiting.
      (void)context.noteFault(std::move(status));
      return;
    }
    if (!wrapper->busy)
      busy.push_back(wrapper);
    wrapper->busy = true;
  }
  wrapper->taken = false;
  if (!wrapper->busy)
    idle.push(wrapper);
}

/// The mutex is held.
bool CallerStreams::reapBusy() {
  auto isOver = [&](Stream *wrapper) {
    bool done = false;
    Status status = context.timepoints.query(wrapper->tail, done);
    // A query that failed itself says nothing, save that nothing runs any more
    // on a lost device.
    done |= status.code() == GPUASYNC_DEVICE_LOST;
    if (!done || wrapper->awaited)
      return false;
    wrapper->busy = false;
    if (!wrapper->taken) { // else the frame goes on with it
      context.hostCopies->reap(*wrapper, /*idle=*/true);
      idle.push(wrapper);
    }
    return true;
  };
  busy.erase(std::remove_if(busy.begin(), busy.end(), isOver), busy.end());
  return busy.empty();
}

bool CallerStreams::reap() {
  std::lock_guard<std::mutex> lock(mutex);
  return reapBusy();
}

Stream *CallerStreams::beginWait(Timepoint &tail) {
  std::lock_guard<std::mutex> lock(mutex);
  if (reapBusy())
    return nullptr;
  busy.front()->awaited = true;
  tail = busy.front()->tail;
  return busy.front();
}

void CallerStreams::endWait(Stream *wrapper, Timepoint tail) {
  std::lock_guard<std::mutex> lock(mutex);
  wrapper->awaited = false;
  if (wrapper->tail.event != tail.event)
    context.timepoints.drop(tail); // a frame has marked another one meanwhile
}

void CallerStreams::destroy() {
  std::lock_guard<std::mutex> lock(mutex);
  for (Stream *wrapper : all) {
    context.hostCopies->reap(*wrapper, /*idle=*/true);
    context.timepoints.drop(wrapper->tail);
    delete wrapper;
  }
  all.clear();
  busy.clear();
  idle = {};
}
