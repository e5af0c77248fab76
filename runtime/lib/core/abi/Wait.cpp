//===- Wait.cpp - Host waits ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Poll a completion flag, then ask for errors, then sleep; a timeout lists what
// has not finished.
//===----------------------------------------------------------------------===//

#include "core/abi/Frame.h"

using namespace gpuasync;

static void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Sets `done` once the flag is seen, within the spin time.
static bool pollFlag(const uint32_t *slot, uint32_t value, int64_t spinNs) {
  auto seen = [&] {
    return static_cast<int32_t>(__atomic_load_n(slot, __ATOMIC_ACQUIRE) -
                                value) >= 0;
  };
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

static void appendSite(std::string &text, const gpuasync_site *site) {
  if (!text.empty())
    text += "; ";
  text += describeSite(site, "");
}

std::string gpuasync::listUnfinished(gpuasync_context &context,
                                     Stream &stream) {
  constexpr uint32_t capacity = Stream::recentCount;
  const gpuasync_site *sites[capacity];
  uint32_t count = context.driver->unfinished(stream.native, sites, capacity);
  std::string text;
  if (count == UINT32_MAX) {
    // What was enqueued since the last wait, as far as it is remembered.
    uint64_t first = stream.finished;
    if (stream.enqueued - first > capacity)
      first = stream.enqueued - capacity;
    for (uint64_t i = first; i < stream.enqueued; ++i)
      if (const gpuasync_site *site = stream.recent[i % capacity])
        appendSite(text, site);
    return text;
  }
  for (uint32_t i = 0; i < count; ++i)
    appendSite(text, sites[i]);
  return text;
}

Status gpuasync_context::waitStream(gpuasync_stream &stream, int64_t deadlineNs,
                                    bool flagWritten) {
  if (flagWritten) {
    int64_t spin = process().spinNs.load(std::memory_order_relaxed);
    if (pollFlag(stream.flagSlot, stream.flagValue, spin))
      return Status();
    bool done = false;
    Status status = driver->queryStream(stream.native, done);
    if (!status.ok() || done)
      return noteFault(std::move(status));
  }
  int64_t left = -1;
  if (deadlineNs >= 0) {
    left = deadlineNs - nowNs();
    if (left < 0)
      left = 0;
  }
  bool done = false;
  Status status = driver->waitStream(stream.native, left, done);
  if (!status.ok())
    return noteFault(std::move(status));
  if (done)
    return Status();
  return makeStatus(GPUASYNC_TIMEOUT, "timed out");
}

Status gpuasync::hostWait(Frame &frame, Stream *const *streams, uint32_t count,
                          int64_t timeoutNs) {
  gpuasync_context &context = *frame.context;
  int64_t started = timeoutNs >= 0 ? nowNs() : 0;
  int64_t deadline = timeoutNs >= 0 ? started + timeoutNs : -1;
  bool flags = context.has(CapFlagWait);
  uint32_t written = 0;
  if (flags)
    // All flags first: the streams then finish while the first is polled.
    for (; written < count; ++written) {
      Stream &stream = *streams[written];
      if (stream.enqueued == stream.finished || !stream.flagSlot)
        continue;
      Status status = context.driver->writeFlag(stream.native, stream.flagSlot,
                                                stream.flagValue + 1);
      if (!status.ok())
        return context.noteFault(std::move(status));
      ++stream.flagValue;
    }
  for (uint32_t i = 0; i < count; ++i) {
    Stream &stream = *streams[i];
    if (stream.enqueued == stream.finished)
      continue;
    Status status =
        context.waitStream(stream, deadline, flags && stream.flagSlot);
    if (status.ok()) {
      stream.finished = stream.enqueued;
      if (stream.staging || stream.stuck)
        context.reapStaging(stream, true);
      continue;
    }
    if (status.code() != GPUASYNC_TIMEOUT) {
      if (context.has(CapHostAccess))
        return status; // it names the launch
      std::string open = listUnfinished(context, stream);
      if (open.empty())
        return status;
      return makeStatus(status.code(), "%s; not known complete: %s",
                        status.message(), open.c_str());
    }
    std::string open;
    for (uint32_t j = i; j < count; ++j) {
      std::string more = listUnfinished(context, *streams[j]);
      if (!open.empty() && !more.empty())
        open += "; ";
      open += more;
    }
    return makeStatus(GPUASYNC_TIMEOUT, "timed out after %g s; unfinished: %s",
                      double(timeoutNs) / 1e9,
                      open.empty() ? "unknown" : open.c_str());
  }
  return Status();
}

Status gpuasync_context::waitNativeEvent(NativeEvent event, int64_t deadlineNs,
                                         bool &done) {
  done = false;
  Status status = driver->queryEvent(event, done);
  if (!status.ok() || done)
    return noteFault(std::move(status));
  int64_t left = -1;
  if (deadlineNs >= 0) {
    left = deadlineNs - nowNs();
    if (left < 0)
      left = 0;
  }
  return noteFault(driver->waitEvent(event, left, done));
}
