//===- Capture.cpp - Captures of callers' streams -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A frame whose caller's stream is being captured into a graph runs nothing.
// All its streams are part of the capture, and what a graph cannot hold is
// refused.
//
// A stream that has done work in a capture can be used for nothing else until
// the capture ends, so captures have streams of their own. Each starts at the
// point of the caller's stream where the frame found it, which adds no order.
// The caller's stream waits for all of them when the frame is left.
//===----------------------------------------------------------------------===//

#include "shim/abi/FrameCapture.h"

#include <new>

using namespace gpuasync;

namespace {

/// The streams of a context that frames have left to captures. Thread safe.
class LeftStreams final : public CapturedStreams {
public:
  explicit LeftStreams(gpuasync_context &context) : context(context) {}

  /// Returns a stream that an earlier frame left to the capture, or null.
  Stream *take(uint64_t capture) {
    std::lock_guard<std::mutex> lock(mutex);
    Stack<Stream> others;
    Stream *found = nullptr;
    while (Stream *stream = left.pop()) {
      if (!found && stream->capture == capture)
        found = stream;
      else
        others.push(stream);
    }
    left = others;
    return found;
  }
  /// The stream serves nothing else until its capture ends.
  void leave(Stream *stream) {
    std::lock_guard<std::mutex> lock(mutex);
    left.push(stream);
  }
  // Nothing that a captured stream was given has run on it, so it is idle once
  // the capture has ended.
  Stack<Stream> takeEnded() override {
    std::lock_guard<std::mutex> lock(mutex);
    Stack<Stream> ended, still;
    while (Stream *stream = left.pop()) {
      CaptureState state;
      Status status = captureStateOf(*context.driver, stream->native, state);
      if (!status.ok() || state.kind != CaptureState::None) {
        (void)context.noteFault(std::move(status));
        still.push(stream);
        continue;
      }
      stream->capture = 0;
      ended.push(stream);
    }
    left = still;
    return ended;
  }
  bool isEmpty() override {
    std::lock_guard<std::mutex> lock(mutex);
    return !left.first;
  }

private:
  gpuasync_context &context;
  std::mutex mutex;
  Stack<Stream> left;
};

LeftStreams &leftStreamsOf(gpuasync_context &context) {
  return static_cast<LeftStreams &>(*context.captured);
}

class Capture final : public FrameCapture {
public:
  Capture(uint64_t id, NativeStream root) : id(id), root(root) {}

  const uint64_t id;
  /// Makes the caller's stream, and the streams that the frame has, part of the
  /// capture.
  Status begin(Frame &frame);
  Status takeStream(Frame &frame, Stream *&out) override;
  void giveStream(Stream &stream) override;
  Status checkAllocation(const Frame &frame, const Stream *stream,
                         MemoryKind kind) override;
  void end(Frame &frame) override;

private:
  Status joinStream(Frame &frame, Stream &stream);

  const NativeStream root; ///< the caller's stream
  Event *start = nullptr;  ///< of the root, before anything of the frame
  Stack<Stream> given;     ///< given back by the program before the end
};

} // namespace

Status Capture::begin(Frame &frame) {
  gpuasync_context &context = *frame.first.context;
  Device &device = *frame.first.device;
  Status status = context.events.take(frame.first.slot, start);
  if (!status.ok())
    return status;
  status = device.recordEvent(start->native, root);
  for (Stream *other = frame.streams; status.ok() && other;
       other = other->next) {
    status = device.streamWaitEvent(other->native, start->native);
    if (status.ok())
      other->capture = id;
  }
  return status;
}

static Status join(Frame &frame, NativeStream stream,
                   const CaptureState &state) {
  if (state.kind == CaptureState::Invalid)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the capture of the caller's stream has failed before "
                      "and has to be ended");
  if (state.kind == CaptureState::None)
    return refuseCaptured("a stream outside the capture",
                          "pass streams of one capture, or capture none");
  if (frame.capture) {
    if (static_cast<Capture *>(frame.capture)->id == state.id)
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
  auto capture = std::make_unique<Capture>(state.id, stream);
  Status status = capture->begin(frame);
  frame.first.capture = state.id;
  frame.capture = capture.release(); // also after an error: leave undoes it
  frame.first.context->modules.keepForGraph(*frame.first.instance,
                                            *frame.function);
  forEachService([&](const Service &each) { each.frameCaptured(frame); });
  return status;
}

Status Capture::takeStream(Frame &frame, Stream *&out) {
  gpuasync_context &context = *frame.first.context;
  LeftStreams &left = leftStreamsOf(context);
  Stream *stream = left.take(id);
  if (!stream)
    RETURN_IF_ERROR(
        context.streams.take(frame.first.slot, /*isUrgent=*/false, stream));
  Status status =
      frame.first.device->streamWaitEvent(stream->native, start->native);
  if (!status.ok()) {
    if (stream->capture)
      left.leave(stream);
    else
      context.streams.give(frame.first.slot, stream, true);
    return status;
  }
  stream->capture = id;
  out = stream;
  return Status();
}

void Capture::giveStream(Stream &stream) {
  stream.frame = nullptr;
  given.push(&stream);
}

Status Capture::checkAllocation(const Frame &frame, const Stream *stream,
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
Status Capture::joinStream(Frame &frame, Stream &stream) try {
  Event *event = nullptr;
  Status status = frame.first.context->events.take(frame.first.slot, event);
  if (!status.ok())
    return status;
  status = frame.first.device->recordEvent(event->native, stream.native);
  if (status.ok())
    status = frame.first.device->streamWaitEvent(root, event->native);
  frame.first.context->events.give(frame.first.slot, event);
  return status;
} catch (const std::bad_alloc &) {
  return outOfMemoryStatus();
}

void Capture::end(Frame &frame) {
  gpuasync_context &context = *frame.first.context;
  while (Stream *stream = frame.streams) {
    unlink(frame.streams, stream);
    if (stream->external) {
      context.streams.give(frame.first.slot, stream, false);
      continue;
    }
    frame.first.slot->counters.streams.destroy();
    // An error may have kept it out of the capture.
    if (stream->capture == id)
      giveStream(*stream);
    else
      context.streams.give(frame.first.slot, stream, false);
  }
  Status first = forgetMemory(frame);
  while (Stream *stream = given.pop()) {
    Status status = joinStream(frame, *stream);
    if (first.ok() && !status.ok())
      first = context.noteFault(std::move(status));
    stream->previous = nullptr;
    stream->timeline.finish(); // nothing has run
    leftStreamsOf(context).leave(stream);
  }
  if (start)
    context.events.give(frame.first.slot, start);
  frame.fail(std::move(first), nullptr);
  frame.capture = nullptr;
  frame.first.capture = 0;
  delete this;
}

//===----------------------------------------------------------------------===//
// The service
//===----------------------------------------------------------------------===//

namespace {
class CaptureService final : public Service {
  Status contextOpening(gpuasync_context &context) const override {
    context.captured = std::make_unique<LeftStreams>(context);
    return Status();
  }
};
} // namespace

namespace gpuasync {
JoinCapture *const joinCapture = join;

const Service &captureService() noexcept {
  static constexpr CaptureService service;
  return service;
}
} // namespace gpuasync
