//===- Stream.cpp - Streams, events and host waits of a frame -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that lowered code calls; the pools are in StreamPool.cpp.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "shim/abi/Commands.h"
#include "shim/abi/FrameCapture.h"
#include "shim/context/Entry.h"

using namespace gpuasync;

static Status join(Frame &frame, NativeStream stream,
                   const CaptureState &state) {
  if (frame.more)
    return refuseCaptured("work of several devices",
                          "capture a function of one device");
  return joinCapture
             ? joinCapture(frame, stream, state)
             : makeStatus(GPUASYNC_UNSUPPORTED,
                          "the caller's stream is being captured into a graph, "
                          "which this runtime cannot do: it was built with "
                          "GPUASYNC_RUNTIME_SERVICES=none");
}

static Status wrapExternal(Frame &frame, DeviceUse &use, void *native,
                           Stream *&out) {
  gpuasync_context &context = *use.context;
  NativeStream handle = nullptr;
  if (native && !context.has(CapVendorStreams)) {
    auto *stream = static_cast<Stream *>(native);
    if (!canBeStream(native))
      return makeStatus(
          GPUASYNC_INVALID_ARGUMENT,
          "the caller's stream, 0x%llx, is none of "
          "gpuasync_context_stream_native",
          static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(native)));
    if (stream->context != &context)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "the caller's stream is of another context");
    native = stream->native;
  }
  CaptureState state;
  RETURN_IF_ERROR(context.driver->externalStream(native, handle));
  // Taking a captured stream for another would run now what belongs into the
  // graph, or end the capture.
  RETURN_IF_ERROR(captureStateOf(*context.driver, handle, state));
  if (__builtin_expect(state.kind != CaptureState::None || frame.capture, 0))
    RETURN_IF_ERROR(join(frame, handle, state));
  RETURN_IF_ERROR(context.callerStreams.take(handle, out));
  out->timeline.finish();
  return Status();
}

static Status checkEvent(Frame &frame, gpuasync_event *handle, Event *&out) {
  out = Event::of(handle);
  if (!out->isCurrent(handle))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the event was destroyed before");
  if (__builtin_expect(out->context != frame.first.context, 0) &&
      !frame.findUse(out->context))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the event belongs to another context (%s, the frame's "
                      "is %s)",
                      out->context->device.c_str(),
                      frame.first.context->device.c_str());
  return Status();
}

static Status refuseOther(Frame &frame, gpuasync_event *handle) {
  Event *event = nullptr;
  RETURN_IF_ERROR(checkEvent(frame, handle, event));
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "the event does not belong to this frame");
}

/// The same of an event that the frame itself has recorded or imported.
static Status checkOwn(Frame &frame, gpuasync_event *handle, Event *&out) {
  out = Event::of(handle);
  return __builtin_expect(out->isCurrent(handle) && out->frame == &frame, 1)
             ? Status()
             : refuseOther(frame, handle);
}

static Status waitEvents(Frame &frame, gpuasync_event *const *events,
                         uint32_t count) {
  if (count && !events)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null events");
  const Deadline deadline = callDeadline();
  for (uint32_t i = 0; i < count; ++i) {
    if (!events[i])
      continue;
    Event *event = nullptr;
    RETURN_IF_ERROR(checkEvent(frame, events[i], event));
    RETURN_IF_ERROR(frame.makeCurrent(frame.useOf(*event->context)));
    bool done = false;
    RETURN_IF_ERROR(event->context->wait(event->point(), deadline, done));
    if (!done)
      return timedOut(deadline,
                      " waiting for the event of " + event->origin.text(),
                      listUnfinished(frame));
  }
  return Status();
}

/// Writes what copies into pageable memory have brought.
static Status finishDownloads(Frame &frame) {
  if (__builtin_expect(!frame.more, 1))
    return frame.first.context->hostCopies->finish(frame.first.downloads);
  Status status;
  frame.forEachDevice([&](DeviceUse &use) {
    HostCopies &copies = *use.context->hostCopies;
    if (!status.ok() || !copies.mayBePending(use.downloads))
      return;
    status = frame.makeCurrent(use);
    if (status.ok())
      status = copies.finish(use.downloads);
  });
  return status;
}

/// Before a token leaves a frame: whoever waits for it finishes the downloads
/// of the event's context only, so the host waits for those of other devices
/// here.
static Status finishOthers(Frame &frame, const Event &event) {
  Status status;
  frame.forEachDevice([&](DeviceUse &use) {
    HostCopies &copies = *use.context->hostCopies;
    if (!status.ok() || use.context == event.context ||
        !copies.mayBePending(use.downloads))
      return;
    status = frame.makeCurrent(use);
    auto *const all = reinterpret_cast<const char *>(1);
    if (status.ok())
      status = copies.settle(use.downloads, all, INT64_MAX, /*staged=*/true,
                             nullptr);
  });
  return status;
}

/// A host wait of a frame, with what it covers.
template <typename Wait>
static int32_t waitInFrame(Frame *frame, const gpuasync_site *site, Wait wait) {
  frame->run(site, [&]() -> Status {
    if (frame->capture)
      return refuseCaptured("a host wait",
                            "capture a function that leaves its results on the "
                            "device");
    RETURN_IF_ERROR(frame->flush());
    frame->first.slot->counters.hostWaits.add(1);
    const HostScope span(HostKind::Wait, "host wait", site);
    RETURN_IF_ERROR(wait());
    RETURN_IF_ERROR(finishDownloads(*frame));
    if (__builtin_expect(frame->timedPass.end != nullptr, 0))
      frame->timedPass.end(*frame, /*waited=*/true);
    return Status();
  });
  return frame->failed;
}

/// In the hands of an embedder.
static Status waitForToken(gpuasync_event *handle) {
  Event *event = Event::of(handle);
  if (!event->isCurrent(handle))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the event was destroyed before");
  gpuasync_context &context = *event->context;
  WaitVisit visit(context);
  RETURN_IF_ERROR(visit.check());
  CurrentContext current(context);
  if (!current.status.ok())
    return std::move(current.status);
  threadState().slotFor(&context)->counters.hostWaits.add(1);
  const HostScope span(HostKind::Wait, "wait for a token", nullptr);
  const Deadline deadline = callDeadline();
  bool done = false;
  Status status = context.wait(event->point(), deadline, done);
  event->isOverdue.store(!done, std::memory_order_relaxed);
  if (status.ok() && !done)
    status = makeStatus(GPUASYNC_TIMEOUT, "timed out after %g s",
                        double(deadline.timeoutNs) / 1e9);
  if (!status.ok())
    return context.events.locate(*event, std::move(status));
  return context.hostCopies->finishOrphans();
}

template <bool isUrgent>
static gpuasync_stream *createStream(gpuasync_frame *memory, uint32_t device,
                                     uint32_t siteIndex) {
  Stream *stream = nullptr;
  Frame::enter(memory, siteIndex, [&](Frame &frame, auto *) -> Status {
    DeviceUse *use = nullptr;
    RETURN_IF_ERROR(frame.enterDevice(device, use));
    stream = frame.region ? frame.region->takeGiven() : nullptr;
    if (!stream && frame.ended.count >= 16)
      frame.reapEnded();
    if (!stream)
      RETURN_IF_ERROR(frame.capture
                          ? frame.capture->takeStream(frame, stream)
                          : use->context->streams.take(
                                isUrgent && use->context->hasPriorities()
                                    ? nullptr
                                    : use->slot,
                                isUrgent, stream));
    frame.take(*stream, *use);
    use->slot->counters.streams.create();
    return Status();
  });
  return stream;
}

extern "C" {

gpuasync_stream *gpuasync_stream_create(gpuasync_frame *memory, uint32_t device,
                                        uint32_t siteIndex) noexcept {
  return createStream</*isUrgent=*/false>(memory, device, siteIndex);
}

gpuasync_stream *gpuasync_stream_create_urgent(gpuasync_frame *memory,
                                               uint32_t device,
                                               uint32_t siteIndex) noexcept {
  return createStream</*isUrgent=*/true>(memory, device, siteIndex);
}

gpuasync_stream *gpuasync_stream_external(gpuasync_frame *memory,
                                          uint32_t device, void *native,
                                          uint32_t siteIndex) noexcept {
  Stream *stream = nullptr;
  Frame::enter(memory, siteIndex, [&](Frame &frame, auto *) -> Status {
    DeviceUse *use = nullptr;
    RETURN_IF_ERROR(frame.enterDevice(device, use));
    // It may turn out to be captured.
    RETURN_IF_ERROR(frame.flush());
    RETURN_IF_ERROR(wrapExternal(frame, *use, native, stream));
    frame.take(*stream, *use);
    return Status();
  });
  return stream;
}

void *gpuasync_stream_native(gpuasync_frame *memory, gpuasync_stream *stream,
                             uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !frame->owns(stream, site) ||
      !frame->run(site, [&]() -> Status {
        RETURN_IF_ERROR(frame->flushBefore(*stream));
        return frame->makeCurrent(*stream->use);
      }))
    return nullptr;
  stream->note(site);
  stream->use->device->suspend(); // what follows is the library's
  return gpuasync_context_stream_native(stream);
}

void gpuasync_stream_destroy(gpuasync_frame *memory, gpuasync_stream *stream,
                             uint32_t flags, uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!stream || !frame->usable())
    return;
  if (!frame->holdsOrFails(stream, site))
    return;
  const bool idle = (flags & GPUASYNC_STREAM_IDLE) || stream->timeline.isIdle();
  frame->resolveAliases(*stream, idle);
  unlink(frame->streams, stream);
  if (!stream->external)
    stream->use->slot->counters.streams.destroy();
  if (stream->capture)
    return frame->capture->giveStream(*stream);
  if (stream->region && stream->region->give(*stream))
    return;
  frame->run(site, [&]() -> Status {
    RETURN_IF_ERROR(frame->makeCurrent(*stream->use));
    frame->end(*stream, idle);
    return Status();
  });
}

void gpuasync_stream_wait(gpuasync_frame *memory, gpuasync_stream *stream,
                          gpuasync_event *handle, uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!handle || !frame->usable() || !frame->owns(stream, site))
    return;
  frame->run(site, [&]() -> Status {
    Event *event = nullptr;
    RETURN_IF_ERROR(checkEvent(*frame, handle, event));
    return frame->region ? frame->region->wait(*stream, *event)
                         : waitOn(*frame, *stream, *event);
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
    if (!frame->holdsOrFails(streams ? streams[i] : nullptr, site))
      return frame->failed;
  return waitInFrame(frame, site,
                     [&] { return hostWait(*frame, streams, count); });
}

int32_t gpuasync_stream_query(gpuasync_frame *memory, gpuasync_stream *stream,
                              uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !frame->holdsOrFails(stream, site))
    return 0;
  bool done = false;
  return frame->run(site, [&]() -> Status {
    if (frame->capture)
      return refuseCaptured("a query", "ask outside of the capture");
    RETURN_IF_ERROR(frame->flush());
    RETURN_IF_ERROR(hostQuery(*frame, *stream, done));
    return done ? finishDownloads(*frame) : Status();
  }) && done;
}

gpuasync_event *gpuasync_event_record(gpuasync_frame *memory,
                                      gpuasync_stream *stream,
                                      uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !frame->owns(stream, site))
    return nullptr;
  Event *event = nullptr;
  return frame->run(site,
                    [&] { return recordOn(*frame, *stream, site, event); })
             ? event->handle()
             : nullptr;
}

void gpuasync_event_destroy(gpuasync_frame *memory, gpuasync_event *handle,
                            uint32_t siteIndex) noexcept {
  if (!handle)
    return;
  Frame::enter(memory, siteIndex, [&](Frame &frame, auto *) -> Status {
    Event *event = nullptr;
    RETURN_IF_ERROR(checkOwn(frame, handle, event));
    giveBack(frame, *event);
    return Status();
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
  return waitInFrame(frame, site,
                     [&] { return waitEvents(*frame, events, count); });
}

gpuasync_event *gpuasync_event_export(gpuasync_frame *memory,
                                      gpuasync_event *handle,
                                      uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!handle || !frame->usable())
    return nullptr;
  Event *event = nullptr;
  if (!frame->run(site, [&]() -> Status {
        RETURN_IF_ERROR(checkOwn(*frame, handle, event));
        if (event->region)
          RETURN_IF_ERROR(event->region->flush());
        if (frame->capture)
          return refuseCaptured("a token that the function returns",
                                "order what follows by the stream");
        return __builtin_expect(!frame->more, 1) ? Status()
                                                 : finishOthers(*frame, *event);
      }))
    return nullptr;
  unlink(frame->events, event);
  event->stream = nullptr;
  event->context->events.leaveFrame(event);
  event->context->retainPart(); // the token may outlive the context
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
    if (!hasEnded())
      gpuasync_event_release(handle);
    return nullptr;
  }
  Event *event = Event::of(handle);
  Status status = checkEvent(*frame, handle, event);
  if (event->isCurrent(handle) && event->frame)
    status = makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "the event still belongs to another frame");
  if (!status.ok()) {
    gpuasync_event_release(handle); // if it is anybody's to release
    frame->fail(std::move(status), site);
    return nullptr;
  }
  event->context->events.enterFrame(event);
  // Another program's site would have to outlive this frame.
  if (event->origin.site &&
      event->origin.program != frame->first.pin->registration) {
    event->origin.site = site;
    event->origin.program = frame->first.pin->registration;
  }
  event->frame = frame;
  event->isImported = true;
  linkFront(frame->events, event);
  event->context->releasePart(); // the frame has another one
  return handle;
}

//===----------------------------------------------------------------------===//
// In the hands of an embedder
//===----------------------------------------------------------------------===//

gpuasync_status *gpuasync_event_wait(gpuasync_event *handle) noexcept {
  if (!handle)
    return nullptr;
  gpuasync_status *result = waitEntry([&] { return waitForToken(handle); });
  Event *event = Event::of(handle);
  return waitInExit(
      *event->context, result, [&](int64_t timeoutNs, bool &done) {
        done = !event->isCurrent(handle); // it was destroyed before
        return done ? Status()
                    : event->context->timepoints.wait(
                          event->point(), Deadline(timeoutNs), done);
      });
}

void gpuasync_event_release(gpuasync_event *handle) noexcept {
  if (!handle || hasEnded())
    return;
  Event *event = Event::of(handle);
  if (!event->isCurrent(handle) || event->frame)
    return;
  gpuasync_context *context = event->context;
  context->events.enterFrame(event);
  if (event->isOverdue.load(std::memory_order_relaxed))
    context->events.abandon(event);
  else
    context->events.give(nullptr, event);
  {
    std::lock_guard<std::mutex> lock(context->poolMutex);
    context->ended.events.destroy();
  }
  context->releasePart();
}
}
