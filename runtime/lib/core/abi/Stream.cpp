//===- Stream.cpp - Streams, events and host waits of a frame -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that lowered code calls; the pools are in StreamPool.cpp.
//===----------------------------------------------------------------------===//

#include "core/abi/Entry.h"
#include "core/context/Capture.h"
#include "gpuasync/Context.h"

using namespace gpuasync;

static Status wrapExternal(Frame &frame, void *native, Stream *&out) {
  gpuasync_context &context = *frame.context;
  NativeStream handle = nullptr;
  if (native && !context.has(CapVendorStreams)) {
    auto *stream = static_cast<Stream *>(native);
    if (stream->context != &context)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "the caller's stream is of another context");
    native = stream->native;
  }
  CaptureState state;
  Status status = context.driver->externalStream(native, handle);
  // Taking a captured stream for another would run now what belongs into the
  // graph, or end the capture.
  if (status.ok())
    status = context.driver->captureState(handle, state);
  if (status.ok())
    status = joinCapture(frame, handle, state);
  if (!status.ok())
    return context.noteFault(std::move(status));
  status = context.takeWrapper(handle, out);
  if (!status.ok())
    return context.noteFault(std::move(status));
  out->finished = out->enqueued;
  return Status();
}

static Status refuseHostWait() {
  return refuseCaptured("a host wait",
                        "capture a function that leaves its results on the "
                        "device");
}

static Status checkEvent(Frame &frame, gpuasync_event *handle, Event *&out) {
  out = Event::of(handle);
  if (!out->isCurrent(handle))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the event was destroyed before");
  if (out->context != frame.context)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the event belongs to another context (%s, the frame's "
                      "is %s)",
                      out->context->device.c_str(),
                      frame.context->device.c_str());
  return Status();
}

/// With the place of the record, which may have become a label meanwhile.
static Status locateAt(Event &event, Status status) {
  if (status.ok())
    return status;
  std::lock_guard<std::mutex> lock(event.context->poolMutex);
  if (event.site || event.label.empty())
    return locate(std::move(status), event.site);
  return locate(std::move(status), "", 0, 0, event.label.c_str());
}

static Status waitEvents(Frame &frame, gpuasync_event *const *events,
                         uint32_t count) {
  int64_t timeout = process().timeoutNs.load(std::memory_order_relaxed);
  int64_t deadline = timeout >= 0 ? nowNs() + timeout : -1;
  for (uint32_t i = 0; i < count; ++i) {
    if (!events[i])
      continue;
    Event *event = nullptr;
    Status status = checkEvent(frame, events[i], event);
    if (!status.ok())
      return status;
    bool done = false;
    status = frame.context->waitNativeEvent(event->native, deadline, done);
    if (!status.ok())
      return status;
    if (done)
      continue;
    std::string open;
    for (Stream *stream = frame.streams; stream; stream = stream->next) {
      std::string more = listUnfinished(*frame.context, *stream);
      if (!open.empty() && !more.empty())
        open += "; ";
      open += more;
    }
    return makeStatus(GPUASYNC_TIMEOUT,
                      "timed out after %g s waiting for the event of %s; "
                      "unfinished: %s",
                      double(timeout) / 1e9,
                      describeSite(event->site, event->label).c_str(),
                      open.empty() ? "unknown" : open.c_str());
  }
  return Status();
}

/// In the hands of an embedder.
static Status waitForToken(gpuasync_event *handle) {
  Event *event = Event::of(handle);
  if (!event->isCurrent(handle))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the event was destroyed before");
  gpuasync_context &context = *event->context;
  Visit visit(context);
  Status status = context.check();
  if (!status.ok())
    return status;
  CurrentContext current(context);
  if (!current.status.ok())
    return std::move(current.status);
  threadState().slotFor(&context)->counters.hostWaits.add(1);
  int64_t timeout = process().timeoutNs.load(std::memory_order_relaxed);
  bool done = false;
  status = context.waitNativeEvent(event->native,
                                   timeout >= 0 ? nowNs() + timeout : -1, done);
  if (status.ok() && !done)
    status = makeStatus(GPUASYNC_TIMEOUT, "timed out after %g s",
                        double(timeout) / 1e9);
  if (!status.ok())
    return locateAt(*event, std::move(status));
  if (context.orphanCount.load(std::memory_order_acquire))
    context.finishOrphans();
  return Status();
}

extern "C" {

gpuasync_stream *gpuasync_stream_create(gpuasync_frame *memory,
                                        uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable())
    return nullptr;
  Stream *stream = nullptr;
  guarded(frame, site, [&] {
    frame->check(frame->context->noteFault(
                     frame->capture
                         ? takeCapturedStream(*frame, stream)
                         : frame->context->takeStream(frame->slot, stream)),
                 site);
  });
  if (frame->failed)
    return nullptr;
  stream->frame = frame;
  linkFront(frame->streams, stream);
  frame->slot->counters.streams.create();
  return stream;
}

gpuasync_stream *gpuasync_stream_external(gpuasync_frame *memory, void *native,
                                          uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable())
    return nullptr;
  Stream *stream = nullptr;
  guarded(frame, site,
          [&] { frame->check(wrapExternal(*frame, native, stream), site); });
  if (frame->failed)
    return nullptr;
  stream->frame = frame;
  linkFront(frame->streams, stream);
  return stream;
}

void *gpuasync_stream_native(gpuasync_frame *memory, gpuasync_stream *stream,
                             uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !frame->owns(stream, site))
    return nullptr;
  stream->note(site);
  frame->driver->suspend(); // what follows is the library's
  return gpuasync_context_stream_native(stream);
}

void gpuasync_stream_destroy(gpuasync_frame *memory, gpuasync_stream *stream,
                             uint32_t flags, uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!stream || !frame->usable() || !frame->owns(stream, site))
    return;
  unlink(frame->streams, stream);
  if (!stream->external)
    frame->slot->counters.streams.destroy();
  if (stream->capture) {
    stream->frame = nullptr;
    stream->next = frame->capture->given;
    frame->capture->given = stream;
    return;
  }
  guarded(frame, site, [&] {
    frame->context->giveStream(frame->slot, stream,
                               (flags & GPUASYNC_STREAM_IDLE) ||
                                   stream->enqueued == stream->finished);
  });
}

void gpuasync_stream_wait(gpuasync_frame *memory, gpuasync_stream *stream,
                          gpuasync_event *handle, uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!handle || !frame->usable() || !frame->owns(stream, site))
    return;
  guarded(frame, site, [&] {
    Event *event = nullptr;
    if (!frame->check(checkEvent(*frame, handle, event), site))
      return;
    // Counts as an operation: a host wait on the stream covers it.
    ++stream->enqueued;
    stream->recent[(stream->enqueued - 1) % Stream::recentCount] = nullptr;
    frame->check(frame->context->noteFault(frame->driver->streamWaitEvent(
                     stream->native, event->native)),
                 site);
  });
}

int32_t gpuasync_stream_synchronize(gpuasync_frame *memory,
                                    gpuasync_stream *const *streams,
                                    uint32_t count,
                                    uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable())
    return frame->failed;
  for (uint32_t i = 0; i < count; ++i)
    if (!frame->owns(streams[i], site))
      return frame->failed;
  guarded(frame, site, [&] {
    if (frame->capture) {
      frame->fail(refuseHostWait(), site);
      return;
    }
    frame->slot->counters.hostWaits.add(1);
    if (!frame->check(
            hostWait(*frame, streams, count,
                     process().timeoutNs.load(std::memory_order_relaxed)),
            site))
      return;
    if (frame->downloads)
      frame->context->finishDownloads(frame->downloads);
    if (frame->context->orphanCount.load(std::memory_order_acquire))
      frame->context->finishOrphans();
  });
  return frame->failed;
}

gpuasync_event *gpuasync_event_record(gpuasync_frame *memory,
                                      gpuasync_stream *stream,
                                      uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !frame->owns(stream, site))
    return nullptr;
  Event *event = nullptr;
  guarded(frame, site, [&] {
    gpuasync_context &context = *frame->context;
    if (!frame->check(context.noteFault(context.takeEvent(frame->slot, event)),
                      site))
      return;
    if (!frame->check(context.noteFault(frame->driver->recordEvent(
                          event->native, stream->native)),
                      site))
      context.giveEvent(frame->slot, event);
  });
  if (frame->failed)
    return nullptr;
  event->live = true;
  event->site = site;
  event->program = frame->pin->registration;
  event->frame = frame;
  linkFront(frame->events, event);
  frame->slot->counters.events.create();
  return event->handle();
}

void gpuasync_event_destroy(gpuasync_frame *memory, gpuasync_event *handle,
                            uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!handle || !frame->usable())
    return;
  guarded(frame, site, [&] {
    Event *event = nullptr;
    if (!frame->check(checkEvent(*frame, handle, event), site))
      return;
    if (event->frame != frame) {
      frame->fail(makeStatus(GPUASYNC_INVALID_ARGUMENT,
                             "the event does not belong to this frame"),
                  site);
      return;
    }
    unlink(frame->events, event);
    frame->slot->counters.events.destroy();
    frame->context->giveEvent(frame->slot, event);
  });
}

int32_t gpuasync_event_synchronize(gpuasync_frame *memory,
                                   gpuasync_event *const *events,
                                   uint32_t count,
                                   uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable())
    return frame->failed;
  guarded(frame, site, [&] {
    if (frame->capture) {
      frame->fail(refuseHostWait(), site);
      return;
    }
    frame->slot->counters.hostWaits.add(1);
    if (!frame->check(waitEvents(*frame, events, count), site))
      return;
    if (frame->downloads)
      frame->context->finishDownloads(frame->downloads);
    if (frame->context->orphanCount.load(std::memory_order_acquire))
      frame->context->finishOrphans();
  });
  return frame->failed;
}

gpuasync_event *gpuasync_event_export(gpuasync_frame *memory,
                                      gpuasync_event *handle,
                                      uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!handle || !frame->usable())
    return nullptr;
  Event *event = Event::of(handle);
  if (!event->isCurrent(handle) || event->frame != frame) {
    frame->fail(makeStatus(GPUASYNC_INVALID_ARGUMENT,
                           "the event does not belong to this frame"),
                site);
    return nullptr;
  }
  if (frame->capture) {
    guarded(frame, site, [&] {
      frame->fail(refuseCaptured("a token that the function returns",
                                 "order what follows by the stream"),
                  site);
    });
    return nullptr;
  }
  unlink(frame->events, event);
  frame->context->exportEvent(event);
  frame->context->retainPart(); // the token may outlive the context
  return handle;
}

gpuasync_event *gpuasync_event_import(gpuasync_frame *memory,
                                      gpuasync_event *handle,
                                      uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!handle)
    return nullptr;
  if (!frame->usable()) {
    // Owned by the callee even when it failed at enter.
    if (!(refusal.load() & (RefuseForked | RefuseExiting)))
      gpuasync_event_release(handle);
    return nullptr;
  }
  Event *event = Event::of(handle);
  if (!event->isCurrent(handle) || event->frame) {
    frame->fail(makeStatus(GPUASYNC_INVALID_ARGUMENT,
                           event->frame
                               ? "the event still belongs to another frame"
                               : "the event was destroyed before"),
                site);
    return nullptr;
  }
  if (event->context != frame->context) {
    Status status = makeStatus(
        GPUASYNC_INVALID_ARGUMENT,
        "the event belongs to another context (%s, the frame's is %s)",
        event->context->device.c_str(), frame->context->device.c_str());
    gpuasync_event_release(handle);
    frame->fail(std::move(status), site);
    return nullptr;
  }
  frame->context->importEvent(event);
  // Another program's site would have to outlive this frame.
  if (event->site && event->program != frame->pin->registration) {
    event->site = site;
    event->program = frame->pin->registration;
  }
  event->frame = frame;
  linkFront(frame->events, event);
  frame->context->releasePart(); // the frame has another one
  return handle;
}

//===----------------------------------------------------------------------===//
// In the hands of an embedder
//===----------------------------------------------------------------------===//

gpuasync_status *gpuasync_event_wait(gpuasync_event *handle) noexcept {
  return handle ? entry([&] { return waitForToken(handle); }) : nullptr;
}

void gpuasync_event_release(gpuasync_event *handle) noexcept {
  if (!handle || (refusal.load(std::memory_order_relaxed) &
                  (RefuseForked | RefuseExiting)))
    return;
  Event *event = Event::of(handle);
  if (!event->isCurrent(handle) || event->frame)
    return;
  gpuasync_context *context = event->context;
  context->importEvent(event);
  context->giveEvent(nullptr, event);
  {
    std::lock_guard<std::mutex> lock(context->poolMutex);
    context->ended.events.destroy();
  }
  context->releasePart();
}
}
