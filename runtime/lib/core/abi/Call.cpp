//===- Call.cpp - Library calls -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is around the call of a library's function that enqueues on a stream of
// a frame, and what such functions enqueue on the cpu device.
//===----------------------------------------------------------------------===//

#include "core/context/Entry.h"
#include "core/region/Recorder.h"
#include "gpuasync/Context.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <utility>

using namespace gpuasync;

static void keepReport(const gpuasync_call *call, const char *text) {
  auto *called = reinterpret_cast<Frame::ActiveLibraryCall *>(
      reinterpret_cast<uintptr_t>(call) -
      offsetof(Frame::ActiveLibraryCall, call));
  free(called->report);
  called->report = text ? strdup(text) : nullptr;
}

/// What the function is given; its call begins.
static const gpuasync_call &beginCall(Frame &frame, void *stream,
                                      uint32_t flags,
                                      const gpuasync_site *site) {
  frame.libraryCall.span.begin(HostKind::Library, "call", site);
  gpuasync_call &call = frame.libraryCall.call;
  call.driver = frame.context->kind.name();
  call.stream = stream;
  call.ordinal = frame.context->ordinal;
  call.flags = flags;
  call.report = &keepReport;
  return call;
}

/// It has returned.
static Status endCall(Frame &frame, int32_t result, const gpuasync_site *site) {
  char *report = std::exchange(frame.libraryCall.report, nullptr);
  frame.libraryCall.span.end(HostKind::Library, "call", site);
  Status status;
  if (result)
    status = makeStatus(GPUASYNC_DRIVER_ERROR,
                        "the library's function returned %d%s%s", result,
                        report ? ": " : "", report ? report : "");
  free(report);
  return status;
}

Status gpuasync::callLibrary(Frame &frame, Stream &stream,
                             const LibraryCall &library,
                             const gpuasync_site *site) {
  const gpuasync_call &call =
      beginCall(frame, gpuasync_context_stream_native(&stream),
                frame.capture ? GPUASYNC_CALL_CAPTURED : 0, site);
  if (LibraryObserver *observer = frame.driver->extensions.observer)
    observer->beginLibrary(stream.native, site);
  frame.driver->suspend();
  Status status =
      endCall(frame, library.function(&call, library.arguments), site);
  Status resumed = frame.driver->resume();
  if (LibraryObserver *observer = frame.driver->extensions.observer)
    observer->endLibrary(stream.native);
  return resumed.ok() ? std::move(status) : std::move(resumed);
}

Status gpuasync::captureLibrary(Frame &frame, NativeStream stream,
                                const LibraryCall &library,
                                const gpuasync_site *site) {
  frame.slot->counters.capturedCalls.add(1);
  const gpuasync_call &call =
      beginCall(frame, stream, GPUASYNC_CALL_CAPTURED, site);
  return endCall(frame, library.function(&call, library.arguments), site);
}

static Status enqueueHost(gpuasync_stream &stream,
                          int32_t (*function)(void *arguments),
                          const void *arguments, uint64_t bytes) {
  gpuasync_context &context = *stream.context;
  // Errors and timeouts tell of the call that it is a part of.
  const gpuasync_site *site = stream.newest();
  RETURN_IF_ERROR(context.driver->submit(
      stream.native,
      Command(Command::HostCall{function, arguments, bytes}, site)));
  stream.note(site);
  return Status();
}

extern "C" {

const gpuasync_call *gpuasync_call_begin(gpuasync_frame *memory,
                                         gpuasync_stream *stream,
                                         uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  void *native = gpuasync_stream_native(memory, stream, siteIndex);
  if (frame->failed)
    return nullptr;
  const gpuasync_site *site = frame->siteAt(siteIndex);
  const gpuasync_call &call = beginCall(
      *frame, native, frame->capture ? GPUASYNC_CALL_CAPTURED : 0, site);
  frame->slot->counters.libraryCalls.add(1);
  frame->libraryCall.on = stream->native;
  if (LibraryObserver *observer = frame->driver->extensions.observer)
    observer->beginLibrary(stream->native, site);
  frame->driver->suspend();
  return &call;
}

void gpuasync_call_end(gpuasync_frame *memory, int32_t result,
                       uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  Status status = endCall(*frame, result, site);
  if (!frame->usable())
    return;
  frame->run(nullptr, [&] { return frame->driver->resume(); });
  if (LibraryObserver *observer = frame->driver->extensions.observer)
    observer->endLibrary(frame->libraryCall.on);
  frame->fail(std::move(status), site);
}

void gpuasync_call_replayable(gpuasync_frame *memory, gpuasync_stream *stream,
                              int32_t (*function)(const gpuasync_call *call,
                                                  const void *arguments),
                              const void *arguments, uint32_t bytes,
                              uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !frame->owns(stream, site))
    return;
  frame->run(site, [&]() -> Status {
    if (!function || (bytes && !arguments))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        function ? "null arguments" : "null function");
    frame->slot->counters.libraryCalls.add(1);
    const LibraryCall library = {function, arguments, bytes};
    if (frame->region)
      return frame->region->call(*stream, library, site);
    stream->note(site);
    return callLibrary(*frame, *stream, library, site);
  });
}

gpuasync_status *
gpuasync_stream_enqueue_host(gpuasync_stream *stream,
                             int32_t (*function)(void *arguments),
                             const void *arguments, uint64_t bytes) noexcept {
  if (!stream || !function || (!arguments && bytes))
    return nullArgument("gpuasync_stream_enqueue_host").release();
  return entry(*stream->context, [&] {
    return enqueueHost(*stream, function, arguments, bytes);
  });
}
}
