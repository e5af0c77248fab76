//===- Capture.cpp - Frames under a caller's stream capture ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream that has done work in a capture can be used for nothing else until
// the capture ends, so captures have streams of their own. Each starts behind
// the point of the caller's stream where the frame found it, which adds no
// order, and is joined with that stream when the frame is left.
//===----------------------------------------------------------------------===//

#include "shim/abi/Capture.h"

using namespace gpuasync;

Status gpuasync::joinCapture(Frame &frame, NativeStream stream,
                             const CaptureState &state) {
  gpuasync_context &context = *frame.first.context;
  if (state.kind == CaptureState::Invalid)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the capture of the caller's stream has failed before "
                      "and has to be ended");
  if (state.kind == CaptureState::None) {
    if (frame.capture)
      return refuseCaptured("a stream outside the capture",
                            "pass streams of one capture, or capture none");
    return Status();
  }
  if (frame.capture) {
    if (frame.capture->id == state.id)
      return Status();
    return refuseCaptured("a stream of another capture",
                          "pass streams of one capture");
  }
  bool enqueued = frame.ended.first;
  for (Stream *other = frame.streams; other; other = other->next)
    enqueued |= other->external || !other->timeline.isIdle();
  if (enqueued)
    return refuseCaptured("work that this function enqueued before it took "
                          "that stream",
                          "take the caller's stream first");
  auto capture = std::make_unique<Capture>();
  capture->id = state.id;
  capture->root = stream;
  Status status = context.events.take(frame.first.slot, capture->start);
  if (!status.ok())
    return status;
  status = frame.first.device->recordEvent(capture->start->native, stream);
  for (Stream *other = frame.streams; status.ok() && other;
       other = other->next) {
    status = frame.first.device->streamWaitEvent(other->native,
                                                 capture->start->native);
    if (status.ok())
      other->capture = capture->id;
  }
  frame.first.capture = capture->id;
  frame.capture = capture.release(); // also after an error: leave undoes it
  context.modules.keepForGraph(*frame.first.instance, *frame.function);
  forEachService([&](const Service &each) { each.frameCaptured(frame); });
  return status;
}

Status gpuasync::takeCapturedStream(Frame &frame, Stream *&out) {
  gpuasync_context &context = *frame.first.context;
  Capture &capture = *frame.capture;
  Stream *stream = context.streams.takeCaptured(capture.id);
  if (!stream) {
    Status status = context.streams.take(frame.first.slot, stream);
    if (!status.ok())
      return status;
  }
  Status status = frame.first.device->streamWaitEvent(stream->native,
                                                      capture.start->native);
  if (!status.ok()) {
    if (stream->capture)
      context.streams.leaveToCapture(stream);
    else
      context.streams.give(frame.first.slot, stream, true);
    return status;
  }
  stream->capture = capture.id;
  out = stream;
  return Status();
}

Status gpuasync::checkCapturedAllocation(const Frame &frame,
                                         const Stream *stream,
                                         MemoryKind kind) {
  if (kind != MemoryKind::Device)
    return refuseCaptured("an allocation of host_shared memory",
                          "allocate it before the capture");
  if (!stream || !frame.first.context->has(CapStreamOrderedAlloc))
    return refuseCaptured("this allocation",
                          "allocate the memory before the capture");
  return Status();
}

/// Memory of the graph's own goes with it.
static Status forgetMemory(Frame &frame) try {
  const std::string alive =
      frame.first.context->memory.forgetCaptured(frame.first);
  if (alive.empty() || frame.failed)
    return Status();
  return refuseCaptured(
      "memory that is alive at the function's end",
      ("free what " + alive + " allocated, or allocate it before the capture")
          .c_str());
} catch (const std::bad_alloc &) {
  return outOfMemoryStatus();
}

/// The caller's stream waits for what `stream` did.
static Status joinStream(Frame &frame, Stream &stream) try {
  Event *event = nullptr;
  Status status = frame.first.context->events.take(frame.first.slot, event);
  if (!status.ok())
    return status;
  status = frame.first.context->timepoints.orderAfter(
      frame.capture->root, stream.timeline.whenIdle(), event->native);
  frame.first.context->events.give(frame.first.slot, event);
  return status;
} catch (const std::bad_alloc &) {
  return outOfMemoryStatus();
}

void gpuasync::endCapture(Frame &frame) {
  gpuasync_context &context = *frame.first.context;
  Capture &capture = *frame.capture;
  while (Stream *stream = frame.streams) {
    unlink(frame.streams, stream);
    if (stream->external) {
      context.streams.give(frame.first.slot, stream, false);
      continue;
    }
    frame.first.slot->counters.streams.destroy();
    if (stream->capture != capture.id) {
      // An error kept it out of the capture.
      context.streams.give(frame.first.slot, stream, false);
      continue;
    }
    stream->next = capture.given;
    capture.given = stream;
  }
  Status first = forgetMemory(frame);
  while (Stream *stream = capture.given) {
    capture.given = stream->next;
    Status status = joinStream(frame, *stream);
    if (first.ok() && !status.ok())
      first = context.noteFault(std::move(status));
    stream->frame = nullptr;
    stream->previous = nullptr;
    stream->timeline.finish(); // nothing has run
    context.streams.leaveToCapture(stream);
  }
  if (capture.start)
    context.events.give(frame.first.slot, capture.start);
  frame.fail(std::move(first), nullptr);
  delete frame.capture;
  frame.capture = nullptr;
  frame.first.capture = 0;
}
