//===- Wait.cpp - Host waits ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A timeout lists what has not finished.
//===----------------------------------------------------------------------===//

#include "core/abi/Frame.h"
#include "gpuasync/Context.h"

#include <algorithm>

using namespace gpuasync;

std::string gpuasync::listUnfinished(Stream &stream) {
  constexpr uint32_t capacity = Stream::recentCount;
  std::string text;
  StreamControl *control = stream.context->driver->extensions.control;
  if (!control) {
    // What was enqueued since the last wait, as far as it is remembered.
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

static bool isAmong(const Stream *stream, Stream *const *streams,
                    uint32_t count) {
  return std::find(streams, streams + count, stream) != streams + count;
}

Status gpuasync::hostWait(Frame &frame, Stream *const *streams,
                          uint32_t count) {
  const Deadline deadline = callDeadline();
  // All flags first: the streams then finish while the first is polled.
  for (uint32_t i = 0; i < count; ++i) {
    Stream &stream = streams[i]->work();
    if (stream.timeline.isIdle() || !stream.timeline.wantsFlag() ||
        (&stream != streams[i] && isAmong(&stream, streams, count)))
      continue;
    RETURN_IF_ERROR(frame.makeCurrent(*stream.use));
    Status status = stream.context->timepoints.flag(stream.timeline);
    if (!status.ok())
      return stream.context->noteFault(std::move(status));
  }
  for (uint32_t i = 0; i < count; ++i) {
    Stream &stream = streams[i]->work();
    if (stream.timeline.isIdle())
      continue;
    if (frame.lastGraph.isNewestOf(stream.timeline))
      frame.lastGraph.awaited->waited();
    gpuasync_context &context = *stream.context;
    RETURN_IF_ERROR(frame.makeCurrent(*stream.use));
    bool done = false;
    Status status = context.wait(stream.timeline.newest(), deadline, done);
    std::string open;
    if (status.ok() && done) {
      stream.timeline.finish();
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
