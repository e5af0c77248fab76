//===- Call.cpp - Library calls -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is around the call of a library's function that enqueues on a stream of
// a frame, and what such functions enqueue on the cpu device.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "shim/abi/Frame.h"
#include "shim/context/Entry.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <utility>

using namespace gpuasync;

static Frame::ActiveLibraryCall &activeCall(const gpuasync_call *call) {
  return *reinterpret_cast<Frame::ActiveLibraryCall *>(
      reinterpret_cast<uintptr_t>(call) -
      offsetof(Frame::ActiveLibraryCall, call));
}

static void keepReport(const gpuasync_call *call, const char *text) {
  Frame::ActiveLibraryCall &called = activeCall(call);
  free(called.report);
  called.report = text ? strdup(text) : nullptr;
}

/// The call begins: what its function is given but for the streams.
static gpuasync_call &beginCall(Frame &frame, const DeviceUse &use,
                                uint32_t count, bool isCaptured,
                                const gpuasync_site *site) {
  frame.libraryCall.span.begin(HostKind::Library, "call", site);
  gpuasync_call &call = frame.libraryCall.call;
  call.driver = use.context->kind.name();
  call.ordinal = use.context->ordinal;
  call.flags = isCaptured ? GPUASYNC_CALL_CAPTURED : 0;
  call.report = &keepReport;
  call.streams = &call.stream;
  call.ordinals = &call.ordinal;
  call.count = count;
  return call;
}

/// Room for the streams of a call on several.
static bool reserve(Frame::ActiveLibraryCall &active, uint32_t count) {
  auto *memory = static_cast<char *>(
      malloc(count * (sizeof(Stream *) + sizeof(void *) + sizeof(int32_t))));
  active.several = reinterpret_cast<Stream **>(memory);
  return memory;
}

/// The function has returned.
static Status endCall(Frame &frame, int32_t result, const gpuasync_site *site) {
  char *report = std::exchange(frame.libraryCall.report, nullptr);
  frame.libraryCall.on = nullptr;
  free(std::exchange(frame.libraryCall.several, nullptr));
  frame.libraryCall.span.end(HostKind::Library, "call", site);
  Status status;
  if (report &&
      (result == GPUASYNC_CALL_FAILED || result == GPUASYNC_CALL_TIMED_OUT))
    status =
        makeStatus(result == GPUASYNC_CALL_TIMED_OUT ? GPUASYNC_TIMEOUT
                                                     : GPUASYNC_DRIVER_ERROR,
                   "%s", report);
  else if (result)
    status = makeStatus(GPUASYNC_DRIVER_ERROR,
                        "the library's function returned %d%s%s", result,
                        report ? ": " : "", report ? report : "");
  free(report);
  return status;
}

/// Tells the observer of each stream's device, if there is one, of the call,
/// with the device current.
template <typename Tell>
static Status tellObservers(Frame &frame, Stream *const *streams,
                            uint32_t count, Tell tell) {
  for (uint32_t i = 0; i < count; ++i) {
    DeviceUse &use = *streams[i]->use;
    if (DeviceObserver *observer = use.device->extensions.observer) {
      RETURN_IF_ERROR(frame.makeCurrent(use));
      tell(*observer, streams[i]->native);
    }
  }
  return Status();
}

/// Puts the call on its streams, which have counted it: the thread is the
/// library's until takeThreadBack.
static Status giveThread(Frame &frame, Stream *const *streams, uint32_t count,
                         const gpuasync_site *site) {
  DeviceUse &use = *streams[0]->use;
  Frame::ActiveLibraryCall &active = frame.libraryCall;
  if (count == 1)
    active.on = streams[0];
  else if (!reserve(active, count))
    return outOfMemoryStatus();
  gpuasync_call &call = beginCall(frame, use, count, frame.capture, site);
  if (count == 1) {
    call.stream = gpuasync_context_stream_native(streams[0]);
  } else {
    auto *handles = reinterpret_cast<void **>(active.several + count);
    auto *ordinals = reinterpret_cast<int32_t *>(handles + count);
    for (uint32_t i = 0; i < count; ++i) {
      active.several[i] = streams[i];
      handles[i] = gpuasync_context_stream_native(streams[i]);
      ordinals[i] = streams[i]->context->ordinal;
    }
    call.stream = handles[0];
    call.streams = handles;
    call.ordinals = ordinals;
  }
  Status status =
      tellObservers(frame, streams, count,
                    [&](DeviceObserver &observer, NativeStream stream) {
                      observer.beginLibrary(stream, site);
                    });
  if (status.ok())
    status = frame.makeCurrent(use);
  if (status.ok())
    use.device->suspend();
  else
    (void)endCall(frame, 0, site);
  return status;
}

/// The thread is the frame's again.
static Status takeThreadBack(Frame &frame) {
  Status resumed = frame.current->device->resume();
  Status told = tellObservers(
      frame, frame.libraryCall.streams(), frame.libraryCall.call.count,
      [](DeviceObserver &observer, NativeStream stream) {
        observer.endLibrary(stream);
      });
  return resumed.ok() ? std::move(told) : std::move(resumed);
}

Status gpuasync::callLibrary(Frame &frame, Stream *const *streams,
                             uint32_t count, const LibraryCall &library,
                             const gpuasync_site *site) {
  RETURN_IF_ERROR(giveThread(frame, streams, count, site));
  const int32_t result =
      library.function(&frame.libraryCall.call, library.arguments);
  Status resumed = takeThreadBack(frame);
  Status status = endCall(frame, result, site);
  return resumed.ok() ? std::move(status) : std::move(resumed);
}

Status gpuasync::captureLibrary(Frame &frame, NativeStream stream,
                                const LibraryCall &library,
                                const gpuasync_site *site) {
  frame.first.slot->counters.capturedCalls.add(1);
  gpuasync_call &call =
      beginCall(frame, frame.first, 1, /*isCaptured=*/true, site);
  call.stream = stream;
  return endCall(frame, library.function(&call, library.arguments), site);
}

/// Whether a call can be made on these streams, of which each is the frame's;
/// fails the frame otherwise.
static bool ownsAll(Frame &frame, Stream *const *streams, uint32_t count,
                    const gpuasync_site *site) {
  if (__builtin_expect(!streams || !count, 0)) {
    frame.fail(makeStatus(GPUASYNC_INVALID_ARGUMENT,
                          streams ? "a call on no stream" : "null streams"),
               site);
    return false;
  }
  for (uint32_t i = 0; i < count; ++i)
    if (!frame.owns(streams[i], site))
      return false;
  return true;
}

/// `stream` is one of an open library call.
static Status copyInCall(Stream &stream, void *destination, const void *source,
                         uint64_t bytes) {
  Device &device = *stream.use->device;
  const gpuasync_site *site = stream.newest();
  RETURN_IF_ERROR(device.resume());
  if (source)
    return device.submit(stream.native,
                         Command(ByteCopy{destination, source, bytes}, site));
  StridedFill zeros;
  zeros.destination = destination;
  zeros.sizes[0] = static_cast<int64_t>(bytes);
  zeros.strides[0] = 1;
  zeros.rank = 1;
  zeros.elementBytes = 1;
  return device.submit(stream.native, Command(zeros, site));
}

static Status enqueueHost(gpuasync_stream &stream,
                          int32_t (*function)(void *arguments),
                          const void *arguments, uint64_t bytes) {
  gpuasync_context &context = *stream.context;
  // Errors and timeouts tell of the call that it is a part of.
  const gpuasync_site *site = stream.newest();
  RETURN_IF_ERROR(context.driver->submit(
      stream.native,
      Command(Command::HostCall{{function}, arguments, bytes}, site)));
  stream.note(site);
  return Status();
}

static Status enqueueGate(gpuasync_stream &stream,
                          const Command::HostCall &call, gpuasync_gate *&out) {
  gpuasync_context &context = *stream.context;
  StreamGates *gates = context.driver->extensions.gates;
  if (!gates)
    return makeStatus(GPUASYNC_UNSUPPORTED, "gates are of the cpu device only");
  const gpuasync_site *site = stream.newest();
  StreamGate *gate = nullptr;
  RETURN_IF_ERROR(gates->closeGate(stream.native, call, site, gate));
  stream.note(site);
  out = reinterpret_cast<gpuasync_gate *>(gate);
  return Status();
}

extern "C" {

const gpuasync_call *gpuasync_call_begin(gpuasync_frame *memory,
                                         gpuasync_stream *const *streams,
                                         uint32_t count,
                                         uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !ownsAll(*frame, streams, count, site))
    return nullptr;
  const bool ok = frame->run(site, [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i)
      RETURN_IF_ERROR(frame->flushBefore(*streams[i]));
    for (uint32_t i = 0; i < count; ++i)
      streams[i]->note(site);
    return giveThread(*frame, streams, count, site);
  });
  if (!ok)
    return nullptr;
  streams[0]->use->slot->counters.libraryCalls.add(1);
  return &frame->libraryCall.call;
}

void gpuasync_call_end(gpuasync_frame *memory, int32_t result,
                       uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (frame->canCallDriver() && frame->libraryCall.isOpen())
    frame->run(nullptr, [&] { return takeThreadBack(*frame); });
  Status status = endCall(*frame, result, site);
  if (frame->usable())
    frame->fail(std::move(status), site);
}

void gpuasync_call_replayable(
    gpuasync_frame *memory, gpuasync_stream *const *streams, uint32_t count,
    int32_t (*function)(const gpuasync_call *call, const void *arguments),
    const void *arguments, uint32_t bytes, uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  if (frame->usable() && (!function || (bytes && !arguments)))
    return frame->fail(
        makeStatus(GPUASYNC_INVALID_ARGUMENT,
                   function ? "null arguments" : "null function"),
        frame->siteAt(siteIndex));
  if (const gpuasync_call *call =
          gpuasync_call_begin(memory, streams, count, siteIndex))
    gpuasync_call_end(memory, function(call, arguments), siteIndex);
}

gpuasync_status *gpuasync_call_copy(const gpuasync_call *call,
                                    void *destination, const void *source,
                                    uint64_t bytes) noexcept {
  if (!call || (bytes && !destination))
    return nullArgument("gpuasync_call_copy").release();
  return entry([&]() -> Status {
    if (call->flags & GPUASYNC_CALL_CAPTURED)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "gpuasync_call_copy: the call is captured");
    return bytes ? copyInCall(*activeCall(call).streams()[0], destination,
                              source, bytes)
                 : Status();
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

gpuasync_status *gpuasync_stream_enqueue_gate(
    gpuasync_stream *stream, void (*arrive)(void *arguments, const char *error),
    const void *arguments, uint64_t bytes, gpuasync_gate **out) noexcept {
  if (!stream || !arrive || (!arguments && bytes) || !out)
    return nullArgument("gpuasync_stream_enqueue_gate").release();
  *out = nullptr;
  return entry(*stream->context, [&] {
    Command::HostCall call = {};
    call.arrive = arrive;
    call.arguments = arguments;
    call.bytes = bytes;
    return enqueueGate(*stream, call, *out);
  });
}

void gpuasync_gate_open(gpuasync_gate *gate, const char *error) noexcept {
  if (gate && !isForked())
    reinterpret_cast<StreamGate *>(gate)->open(
        error ? makeStatus(GPUASYNC_DRIVER_ERROR, "%s", error) : Status());
}
}
