//===- Memory.cpp - Buffers and registrations of a frame ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that lowered code calls; the allocator is in Allocator.cpp.
//===----------------------------------------------------------------------===//

#include "core/context/Capture.h"
#include "core/pool/HostMemory.h"

using namespace gpuasync;

/// The frame's part of a range, made if it has none; memoryMutex held.
static HostRange::Part &partOf(Frame &frame, HostRange &range) {
  for (HostRange::Part &part : range.parts)
    if (part.frame == &frame)
      return part;
  range.parts.push_back({&frame, 0});
  return range.parts.back();
}

/// One more; memoryMutex held.
static void countUp(Frame &frame, HostRange &range, const gpuasync_site *site) {
  ++partOf(frame, range).count;
  ++frame.registrations;
  if (range.count++)
    return;
  range.site = site;
  range.program = frame.pin->registration;
  range.label.clear();
}

/// One less, of the frame's own if it has made any, else of what frames that
/// were left have made; at zero the range is retired. memoryMutex held.
static void countDown(Frame &frame, HostRange &range) {
  uint32_t counted = 0;
  HostRange::Part *part = nullptr;
  for (HostRange::Part &each : range.parts) {
    counted += each.count;
    if (each.frame == &frame)
      part = &each;
  }
  if (part && part->count)
    --frame.registrations;
  else
    part = counted == range.count ? &range.parts.back() : nullptr;
  if (part && !--part->count) {
    *part = range.parts.back();
    range.parts.pop_back();
  }
  if (!--range.count)
    frame.context->retireRange(&range);
}

/// What stands in the table for a place, once nobody calls the driver for it:
/// null if nothing does. `lock`: memoryMutex, held.
static HostRange *findSettled(gpuasync_context &context, uintptr_t address,
                              std::unique_lock<std::mutex> &lock) {
  while (true) {
    auto found = context.ranges.find(address);
    if (found == context.ranges.end())
      return nullptr;
    if (!found->second->busy)
      return found->second;
    lock.unlock();
    sleepNs(20000);
    lock.lock();
  }
}

static Status registerRange(Frame &frame, char *pointer, uint64_t bytes,
                            const gpuasync_site *site) {
  gpuasync_context &context = *frame.context;
  auto address = reinterpret_cast<uintptr_t>(pointer);
  std::unique_lock<std::mutex> lock(context.memoryMutex);
  HostRange *range = findSettled(context, address, lock);
  if (range && range->bytes >= bytes) {
    countUp(frame, *range, site); // also takes one back from the retire list
    return Status();
  }
  if (range && range->count)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "%p is registered already, with %ju bytes only",
                      static_cast<void *>(pointer), range->bytes);
  // All memory first: afterwards nothing may fail any more.
  if (range) {
    context.unretireRange(range);
  } else {
    auto made = std::make_unique<HostRange>();
    made->pointer = pointer;
    made->parts.reserve(1);
    context.ranges.emplace(address, made.get());
    range = made.release();
  }
  range->busy = true;
  lock.unlock();
  // A smaller registration of the same place waits for the device to be idle.
  // It has to go first, even if that waits for running kernels.
  if (range->owned)
    context.driver->unregisterHost(pointer);
  Status status = context.driver->registerHost(pointer, bytes, range->owned);
  lock.lock();
  range->busy = false;
  range->bytes = 0;
  if (status.ok()) {
    range->bytes = bytes;
    countUp(frame, *range, site);
    return status;
  }
  if (range->owned) {
    // Registered, but of no use: it ends once the device is idle. As one of no
    // bytes it gives way to another registration of the place.
    context.retireRange(range);
  } else {
    context.ranges.erase(address);
    delete range;
  }
  return status;
}

void gpuasync::releaseRegistrations(Frame &frame, bool undo) {
  if (!frame.registrations)
    return;
  frame.registrations = 0;
  gpuasync_context &context = *frame.context;
  std::lock_guard<std::mutex> lock(context.memoryMutex);
  for (auto &[base, range] : context.ranges)
    for (HostRange::Part &part : range->parts) {
      if (part.frame != &frame)
        continue;
      uint32_t count = part.count;
      part = range->parts.back();
      range->parts.pop_back();
      if (undo && !(range->count -= count))
        context.retireRange(range);
      break;
    }
}

extern "C" {

void *gpuasync_alloc(gpuasync_frame *memory, gpuasync_stream *stream,
                     uint64_t bytes, uint32_t flags,
                     uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || (stream && !frame->owns(stream, site)))
    return nullptr;
  Block *block = nullptr;
  bool ok = frame->run(site, [&]() -> Status {
    gpuasync_context &context = *frame->context;
    if (flags & ~uint32_t(GPUASYNC_ALLOC_HOST_SHARED))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "unknown allocation flags %u", flags);
    MemoryKind kind = flags & GPUASYNC_ALLOC_HOST_SHARED
                          ? MemoryKind::HostShared
                          : MemoryKind::Device;
    RETURN_IF_ERROR(frame->capture
                        ? allocateCaptured(*frame, stream, bytes, kind, block)
                        : context.allocate(stream, bytes, kind, block));
    if (stream)
      stream->note(site);
    std::lock_guard<std::mutex> lock(context.memoryMutex);
    block->live = true;
    block->bytes = bytes;
    block->site = site;
    block->program = frame->pin->registration;
    block->frame = frame;
    linkFront(frame->buffers, block);
    context.liveBytes += bytes;
    frame->slot->counters.buffers.create();
    return Status();
  });
  return ok ? block->pointer : nullptr;
}

void gpuasync_dealloc(gpuasync_frame *memory, gpuasync_stream *stream,
                      void *pointer, uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!pointer || !frame->usable() || (stream && !frame->owns(stream, site)))
    return;
  frame->run(site, [&]() -> Status {
    gpuasync_context &context = *frame->context;
    Block *block = nullptr;
    {
      std::lock_guard<std::mutex> lock(context.memoryMutex);
      block = context.findBlock(pointer);
      if (!block || block->pointer != pointer || block->internal)
        return makeStatus(
            GPUASYNC_INVALID_ARGUMENT,
            "%p was not allocated by this runtime in this context", pointer);
      if (!block->live)
        return makeStatus(GPUASYNC_INVALID_ARGUMENT, "%p was freed before",
                          pointer);
      if (frame->capture)
        RETURN_IF_ERROR(checkCapturedFree(*frame, stream, *block));
      block->live = false;
      if (block->frame)
        unlink(block->frame->buffers, block);
      block->frame = nullptr;
      block->site = nullptr;
      block->label.clear();
      context.liveBytes -= block->bytes;
    }
    frame->slot->counters.buffers.destroy();
    if (stream)
      stream->note(site);
    return context.deallocate(stream, block);
  });
}

void gpuasync_host_register(gpuasync_frame *memory, void *pointer,
                            uint64_t bytes, uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !bytes)
    return;
  frame->run(site, [&]() -> Status {
    if (!pointer)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null pointer");
    if (bytes > INT64_MAX ||
        bytes > UINT64_MAX - reinterpret_cast<uintptr_t>(pointer))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "too large: %ju bytes from %p on", bytes, pointer);
    RETURN_IF_ERROR(checkHostMemory(pointer, extentOf(bytes), "registration"));
    if (frame->capture)
      return refuseCaptured("a registration of host memory",
                            "register it before the capture");
    return registerRange(*frame, static_cast<char *>(pointer), bytes, site);
  });
}

void gpuasync_host_unregister(gpuasync_frame *memory, void *pointer,
                              uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!pointer || !frame->usable())
    return;
  frame->run(site, [&]() -> Status {
    gpuasync_context &context = *frame->context;
    if (frame->capture)
      return refuseCaptured("the end of a registration",
                            "end it after the last run of the graph");
    std::lock_guard<std::mutex> lock(context.memoryMutex);
    auto found = context.ranges.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == context.ranges.end() || !found->second->count)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT, "%p is not registered",
                        pointer);
    countDown(*frame, *found->second);
    return Status();
  });
}
}
