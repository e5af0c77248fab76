//===- Memory.cpp - Buffers and registrations of a frame ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that lowered code calls; the pools are in shim/pool.
//===----------------------------------------------------------------------===//

#include "shim/abi/FrameCapture.h"
#include "shim/pool/HostMemory.h"

using namespace gpuasync;

/// Finds the device, of which the stream is, if there is one.
static Status enterDevice(Frame &frame, uint32_t device, const Stream *stream,
                          DeviceUse *&out) {
  RETURN_IF_ERROR(frame.enterDevice(device, out));
  if (__builtin_expect(!stream || stream->use == out, 1))
    return Status();
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "the stream is not of device %u, which has the memory",
                    device);
}

extern "C" {

void *gpuasync_alloc(gpuasync_frame *memory, uint32_t device,
                     gpuasync_stream *stream, uint64_t bytes, uint32_t flags,
                     uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || (stream && !frame->holdsOrFails(stream, site)))
    return nullptr;
  PoolAllocation *block = nullptr;
  bool ok = frame->run(site, [&]() -> Status {
    DeviceUse *use = nullptr;
    RETURN_IF_ERROR(enterDevice(*frame, device, stream, use));
    gpuasync_context &context = *use->context;
    if (flags & ~uint32_t(GPUASYNC_ALLOC_HOST_SHARED))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "unknown allocation flags %u", flags);
    MemoryKind kind = flags & GPUASYNC_ALLOC_HOST_SHARED
                          ? MemoryKind::HostShared
                          : MemoryKind::Device;
    if (frame->capture)
      RETURN_IF_ERROR(frame->capture->checkAllocation(*frame, stream, kind));
    Stream *on = stream ? &stream->work() : nullptr;
    bool enqueued = false;
    RETURN_IF_ERROR(
        context.memory.allocate(*use, on, bytes, kind, site, block, enqueued));
    if (enqueued)
      on->noteMemory(site);
    return Status();
  });
  return ok ? block->pointer : nullptr;
}

void gpuasync_dealloc(gpuasync_frame *memory, uint32_t device,
                      gpuasync_stream *stream, void *pointer,
                      uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!pointer || !frame->usable() ||
      (stream && !frame->holdsOrFails(stream, site)))
    return;
  frame->run(site, [&]() -> Status {
    DeviceUse *use = nullptr;
    RETURN_IF_ERROR(enterDevice(*frame, device, stream, use));
    gpuasync_context &context = *use->context;
    PoolAllocation *block = nullptr;
    RETURN_IF_ERROR(frame->flush());
    RETURN_IF_ERROR(context.memory.giveUp(*use, stream, pointer, block));
    Stream *on = stream ? &stream->work() : nullptr;
    const bool awaited = on && frame->isWaitExpected(*on);
    // Of a caller's stream only the driver knows whether it is idle: the point
    // of other memory has to be behind what is on it.
    if (on && !block->ofPool)
      frame->noteFree(*on, site);
    bool enqueued = false;
    Status status = context.memory.free(on, block, awaited, enqueued);
    if (enqueued)
      frame->noteFree(*on, site);
    return status;
  });
}

} // extern "C"

/// Registers the memory with each device of the frame, or with none.
static Status registerOnAll(Frame &frame, char *pointer, uint64_t bytes,
                            const gpuasync_site *site) {
  uint32_t done = 0;
  Status status;
  if (frame.more)
    frame.forEachDevice([&](DeviceUse &use) {
      if (status.ok())
        status = frame.makeCurrent(use);
      if (status.ok())
        use.context->registrations.makeRoom(pointer, bytes);
    });
  frame.forEachDevice([&](DeviceUse &use) {
    if (!status.ok())
      return;
    status = frame.makeCurrent(use);
    if (status.ok())
      status = use.context->registrations.add(use, pointer, bytes, site);
    done += status.ok();
  });
  if (__builtin_expect(status.ok(), 1))
    return status;
  frame.forEachDevice([&](DeviceUse &use) {
    if (done && done--)
      (void)use.context->registrations.remove(use, pointer);
  });
  return status;
}

extern "C" {

void gpuasync_host_register(gpuasync_frame *memory, void *pointer,
                            uint64_t bytes, uint32_t siteIndex) noexcept {
  if (!bytes)
    return;
  Frame::enter(memory, siteIndex, [&](Frame &frame, auto *site) -> Status {
    if (!pointer)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null pointer");
    if (bytes > INT64_MAX ||
        bytes > UINT64_MAX - reinterpret_cast<uintptr_t>(pointer))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "too large: %ju bytes from %p on", bytes, pointer);
    // Who frees memory by another name does not see whether it is empty.
    RETURN_IF_ERROR(checkHostMemory(pointer, extentOf(bytes), "registration",
                                    /*isPlace=*/true));
    if (frame.capture)
      return refuseCaptured("a registration of host memory",
                            "register it before the capture");
    // From now on the device writes it at once: older copies come first.
    RETURN_IF_ERROR(frame.flush());
    char *const first = static_cast<char *>(pointer);
    RETURN_IF_ERROR(settleDownloads(frame, first, bytes, /*staged=*/true));
    return registerOnAll(frame, first, bytes, site);
  });
}

void gpuasync_host_unregister(gpuasync_frame *memory, void *pointer,
                              uint32_t siteIndex) noexcept {
  if (!pointer)
    return;
  Frame::enter(memory, siteIndex, [&](Frame &frame, auto *) -> Status {
    if (frame.capture)
      return refuseCaptured("the end of a registration",
                            "end it after the last run of the graph");
    RETURN_IF_ERROR(frame.flush());
    Status first;
    frame.forEachDevice([&](DeviceUse &use) {
      Status status = frame.makeCurrent(use);
      if (status.ok())
        status = use.context->registrations.remove(use, pointer);
      if (first.ok())
        first = std::move(status);
    });
    return first;
  });
}
}
