//===- Wait.cpp - Host waits ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A timeout lists what has not finished.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "shim/abi/Frame.h"

#include <algorithm>

using namespace gpuasync;

std::string gpuasync::listUnfinished(const Frame &frame) {
  std::string text;
  for (Stream *stream = frame.streams; stream; stream = stream->next)
    appendItem(text, stream->context->streams.listUnfinished(*stream));
  return text;
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
      context.hostCopies->reap(stream, /*idle=*/true);
      continue;
    }
    if (!status.ok()) {
      if (!context.has(CapHostAccess)) // else it names the launch
        open = context.streams.listUnfinished(stream);
      return open.empty()
                 ? std::move(status)
                 : makeStatus(status.code(), "%s; not known complete: %s",
                              status.message(), open.c_str());
    }
    for (; i < count; ++i)
      appendItem(open,
                 streams[i]->context->streams.listUnfinished(*streams[i]));
    return timedOut(deadline, "", open);
  }
  return Status();
}
