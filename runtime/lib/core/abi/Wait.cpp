//===- Wait.cpp - Host waits ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Poll a completion flag, ask for errors now and then, and sleep; a timeout
// lists what has not finished.
//===----------------------------------------------------------------------===//

#include "core/abi/Frame.h"
#include "core/process/PolledWait.h"
#include "gpuasync/Context.h"

#include <algorithm>

using namespace gpuasync;

/// Whether the flag is seen within the spin time.
static bool pollFlag(const uint32_t *slot, uint32_t value, int64_t spinNs) {
  auto seen = [&] { return isReached(slot, value); };
  if (seen())
    return true;
  if (spinNs <= 0)
    return false;
  int64_t end = nowNs() + spinNs;
  do {
    for (int i = 0; i < 32; ++i) {
      relax();
      if (seen())
        return true;
    }
  } while (nowNs() < end);
  return false;
}

std::string gpuasync::listUnfinished(Stream &stream) {
  constexpr uint32_t capacity = Stream::recentCount;
  std::string text;
  StreamControl *control = stream.context->driver->extensions.control;
  if (!control) {
    // What was enqueued since the last wait, as far as it is remembered.
    uint64_t first = stream.finished;
    if (stream.enqueued - first > capacity)
      first = stream.enqueued - capacity;
    for (uint64_t i = first; i < stream.enqueued; ++i)
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

std::string gpuasync::listUnfinished(const Frame &frame) {
  std::string text;
  for (Stream *stream = frame.streams; stream; stream = stream->next)
    appendItem(text, listUnfinished(*stream));
  return text;
}

Status gpuasync::timedOut(const Deadline &deadline, const std::string &what,
                          const std::string &open) {
  if (gpuasync_process_exiting() == 2)
    return checkRefusal();
  return makeStatus(GPUASYNC_TIMEOUT, "timed out after %g s%s; unfinished: %s",
                    double(deadline.timeoutNs) / 1e9, what.c_str(),
                    open.empty() ? "unknown" : open.c_str());
}

Status gpuasync_context::waitStream(gpuasync_stream &stream,
                                    const Deadline &deadline, bool polled,
                                    bool &done) {
  done = true;
  if (!polled)
    return noteFault(driver->waitStream(stream.native, deadline.left(), done));
  const bool signalled = stream.isSignalled();
  const uint32_t *slot = signalled ? stream.signalSlot : stream.flagSlot;
  const uint32_t value = signalled ? stream.signalValue : stream.flagValue;
  // Where there was an error nobody writes the flag. The driver is asked after
  // a time in which most work ends, then after twice the time, and so on, and
  // last when the time is over.
  const int64_t pollNs = 50000, firstNs = 1000000, longestNs = 20000000;
  const int64_t spin = process().spinNs.load(std::memory_order_relaxed);
  const int64_t begun = nowNs();
  if (pollFlag(slot, value, std::min(spin, pollNs)))
    return Status();
  int64_t next = begun + firstNs;
  return noteFault(
      polledWait(deadline.left(), done, [&](bool &reached) -> Status {
        if ((reached = isReached(slot, value)))
          return Status();
        const int64_t now = nowNs();
        if (now < next && !deadline.over())
          return Status();
        next = now + std::min(std::max(now - begun, firstNs), longestNs);
        return driver->queryStream(stream.native, reached);
      }));
}

static bool isAmong(const Stream *stream, Stream *const *streams,
                    uint32_t count) {
  return std::find(streams, streams + count, stream) != streams + count;
}

Status gpuasync::hostWait(Frame &frame, Stream *const *streams,
                          uint32_t count) {
  gpuasync_context &context = *frame.context;
  const Deadline deadline = callDeadline();
  bool flags = context.has(CapFlagWait);
  uint32_t written = 0;
  if (flags)
    // All flags first: the streams then finish while the first is polled.
    for (; written < count; ++written) {
      Stream &stream = streams[written]->work();
      if (stream.enqueued == stream.finished || !stream.flagSlot ||
          stream.isSignalled() || stream.isFlagged() ||
          (&stream != streams[written] && isAmong(&stream, streams, count)))
        continue;
      Status status = context.fences.flag(stream);
      if (!status.ok())
        return context.noteFault(std::move(status));
    }
  for (uint32_t i = 0; i < count; ++i) {
    Stream &stream = streams[i]->work();
    if (stream.enqueued == stream.finished)
      continue;
    if (frame.lastGraph.on == &stream &&
        frame.lastGraph.position == stream.enqueued)
      frame.lastGraph.awaited->waited();
    bool done = false;
    Status status =
        context.waitStream(stream, deadline, flags && stream.flagSlot, done);
    std::string open;
    if (status.ok() && done) {
      stream.finished = stream.enqueued;
      context.staging.reap(stream, /*idle=*/true);
      continue;
    }
    if (!status.ok()) {
      if (!context.has(CapHostAccess)) // else it names the launch
        open = listUnfinished(stream);
      return open.empty()
                 ? std::move(status)
                 : makeStatus(status.code(), "%s; not known complete: %s",
                              status.message(), open.c_str());
    }
    for (; i < count; ++i)
      appendItem(open, listUnfinished(*streams[i]));
    return timedOut(deadline, "", open);
  }
  return Status();
}

Status gpuasync_context::waitNativeEvent(NativeEvent event,
                                         const Deadline &deadline, bool &done) {
  done = false;
  Status status = driver->queryEvent(event, done);
  if (!status.ok() || done)
    return noteFault(std::move(status));
  return noteFault(driver->waitEvent(event, deadline.left(), done));
}
