//===- Call.cpp - Library calls -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is around the call of a library's function that enqueues on a stream of
// a frame, and what such functions enqueue on the cpu device.
//===----------------------------------------------------------------------===//

#include "core/abi/Entry.h"
#include "core/abi/Frame.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

using namespace gpuasync;

static void keepReport(const gpuasync_call *call, const char *text) {
  auto *called = reinterpret_cast<Frame::Called *>(
      reinterpret_cast<uintptr_t>(call) - offsetof(Frame::Called, call));
  free(called->report);
  called->report = text ? strdup(text) : nullptr;
}

static Status enqueueHost(gpuasync_stream &stream,
                          int32_t (*function)(void *arguments),
                          const void *arguments, uint64_t bytes) {
  gpuasync_context &context = *stream.context;
  // Errors and timeouts tell of the call that it is a part of.
  const gpuasync_site *site =
      stream.enqueued
          ? stream.recent[(stream.enqueued - 1) % Stream::recentCount]
          : nullptr;
  RETURN_IF_ERROR(context.driver->callHost(stream.native, function, arguments,
                                           bytes, site));
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
  const gpuasync_context &context = *frame->context;
  frame->called.on = stream->native;
  frame->called.span.begin(HostKind::Library, "call", frame->siteAt(siteIndex));
  frame->driver->beginLibrary(stream->native, frame->siteAt(siteIndex));
  frame->driver->suspend();
  gpuasync_call &call = frame->called.call;
  call.driver = context.kind.name();
  call.stream = native;
  call.ordinal = context.ordinal;
  call.flags = frame->capture ? GPUASYNC_CALL_CAPTURED : 0;
  call.report = &keepReport;
  return &call;
}

void gpuasync_call_end(gpuasync_frame *memory, int32_t result,
                       uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  char *report = frame->called.report;
  frame->called.report = nullptr;
  frame->called.span.end(HostKind::Library, "call", frame->siteAt(siteIndex));
  if (frame->usable()) {
    frame->run(nullptr, [&] { return frame->driver->resume(); });
    frame->driver->endLibrary(frame->called.on);
    if (result)
      frame->fail(makeStatus(GPUASYNC_DRIVER_ERROR,
                             "the library's function returned %d%s%s", result,
                             report ? ": " : "", report ? report : ""),
                  frame->siteAt(siteIndex));
  }
  free(report);
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
