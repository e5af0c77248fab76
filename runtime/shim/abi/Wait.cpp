//===- Wait.cpp - Host waits and queries ----------------------------------===//
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
  for (Stream *stream = frame.ended.first; stream; stream = stream->next)
    appendItem(text, stream->context->streams.listUnfinished(*stream));
  return text;
}

static bool isAmong(const Stream *stream, Stream *const *streams,
                    uint32_t count) {
  return std::find(streams, streams + count, stream) != streams + count;
}

/// Adds to an error what the stream has not finished.
static Status nameUnfinished(const Stream &stream, Status status) {
  if (stream.context->has(CapHostAccess)) // it names the launch
    return status;
  const std::string open = stream.context->streams.listUnfinished(stream);
  return open.empty() ? std::move(status)
                      : makeStatus(status.code(), "%s; not known complete: %s",
                                   status.message(), open.c_str());
}

/// The host has learned that all work on the stream is done.
static void finishStream(Stream &stream) {
  stream.timeline.finish();
  stream.context->hostCopies->reap(stream, /*idle=*/true);
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
    if (!status.ok())
      return nameUnfinished(stream, std::move(status));
    if (done) {
      finishStream(stream);
      continue;
    }
    std::string open;
    for (; i < count; ++i) {
      const Stream &left = streams[i]->work();
      appendItem(open, left.context->streams.listUnfinished(left));
    }
    return timedOut(deadline, "", open);
  }
  return Status();
}

Status gpuasync::hostQuery(Frame &frame, Stream &asked, bool &done) {
  // Work that the caller put on its own stream is not on the other one.
  if (asked.external)
    RETURN_IF_ERROR(frame.follow(asked));
  Stream &stream = asked.work();
  const Timeline &timeline = stream.timeline;
  done = !stream.external && (timeline.isIdle() || timeline.now().isTold());
  if (!done) {
    // After an error nobody writes the word.
    RETURN_IF_ERROR(frame.makeCurrent(*stream.use));
    Status status = stream.context->timepoints.query(timeline.whenIdle(), done);
    if (!status.ok())
      return nameUnfinished(stream, std::move(status));
  }
  if (done)
    finishStream(stream);
  return Status();
}
