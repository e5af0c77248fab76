//===- Memory.cpp - Buffers and registrations of a frame ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that lowered code calls; the allocator is in Allocator.cpp.
//===----------------------------------------------------------------------===//

#include "core/Capture.h"

using namespace gpuasync;

static Status foreignPointer(void *pointer) {
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "%p was not allocated by this runtime in this context",
                    pointer);
}

static Status registerRange(Frame &frame, char *pointer, uint64_t bytes,
                            const gpuasync_site *site) {
  gpuasync_context &context = *frame.context;
  auto address = reinterpret_cast<uintptr_t>(pointer);
  HostRange *replaced = nullptr;
  {
    std::lock_guard<std::mutex> lock(context.memoryMutex);
    auto found = context.ranges.find(address);
    if (found != context.ranges.end()) {
      HostRange &range = *found->second;
      if (range.bytes >= bytes) {
        // Also takes one back from the retire list.
        if (range.count++ == 0) {
          range.site = site;
          range.program = frame.pin->registration;
          range.frame = &frame;
          range.label.clear();
          ++frame.registrations;
        }
        return Status();
      }
      if (range.count)
        return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                          "%p is registered already, with %llu bytes only",
                          static_cast<void *>(pointer),
                          static_cast<unsigned long long>(range.bytes));
      replaced = &range;
      context.ranges.erase(found);
    }
  }
  if (replaced) {
    // A smaller registration of the same place waits for the device to be
    // idle. It has to go first, even if that waits for running kernels.
    std::lock_guard<std::mutex> lock(context.retireMutex);
    for (auto &entry : context.retiredRanges)
      if (entry == replaced) {
        entry = context.retiredRanges.back();
        context.retiredRanges.pop_back();
        context.retiredCount.fetch_sub(1, std::memory_order_relaxed);
        break;
      }
    if (replaced->owned)
      context.driver->unregisterHost(replaced->pointer);
    delete replaced;
  }
  // All memory first: afterwards nothing may fail any more.
  auto range = std::make_unique<HostRange>();
  std::map<uintptr_t, HostRange *> entry;
  entry.emplace(address, range.get());
  Status status = context.driver->registerHost(pointer, bytes, range->owned);
  range->pointer = pointer;
  if (!status.ok() && range->owned) {
    // Registered, but of no use: it ends once the device is idle. As one of no
    // bytes it gives way to another registration of the place.
    std::lock_guard<std::mutex> lock(context.memoryMutex);
    context.ranges.insert(entry.extract(entry.begin()));
    context.retireRange(range.release());
  }
  if (!status.ok())
    return context.noteFault(std::move(status));
  range->bytes = bytes;
  range->count = 1;
  range->frame = &frame;
  range->site = site;
  range->program = frame.pin->registration;
  ++frame.registrations;
  std::lock_guard<std::mutex> lock(context.memoryMutex);
  context.ranges.insert(entry.extract(entry.begin()));
  (void)range.release();
  return Status();
}

/// One count off; at zero it goes to the retire list (memoryMutex held).
static void countDown(gpuasync_context &context, HostRange &range) {
  if (--range.count)
    return;
  range.frame = nullptr;
  context.retireRange(&range);
}

void gpuasync::releaseRegistrations(Frame &frame) {
  if (!frame.registrations)
    return;
  gpuasync_context &context = *frame.context;
  std::lock_guard<std::mutex> lock(context.memoryMutex);
  for (auto &[base, range] : context.ranges)
    if (range->frame == &frame && range->count) {
      range->count = 1;
      countDown(context, *range);
    }
}

extern "C" {

void *gpuasync_alloc(gpuasync_frame *memory, gpuasync_stream *stream,
                     uint64_t bytes, uint32_t flags,
                     const gpuasync_site *site) noexcept {
  Frame *frame = Frame::of(memory);
  if (!frame->usable() || (stream && !frame->owns(stream, site)))
    return nullptr;
  Block *block = nullptr;
  guarded(frame, site, [&] {
    gpuasync_context &context = *frame->context;
    if (flags & ~uint32_t(GPUASYNC_ALLOC_HOST_SHARED)) {
      frame->fail(makeStatus(GPUASYNC_INVALID_ARGUMENT,
                             "unknown allocation flags %u", flags),
                  site);
      return;
    }
    MemoryKind kind = flags & GPUASYNC_ALLOC_HOST_SHARED
                          ? MemoryKind::HostShared
                          : MemoryKind::Device;
    if (!frame->check(
            context.noteFault(
                frame->capture
                    ? allocateCaptured(*frame, stream, bytes, kind, block)
                    : context.allocate(stream, bytes, kind, block)),
            site)) {
      block = nullptr;
      return;
    }
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
  });
  return block ? block->pointer : nullptr;
}

void gpuasync_dealloc(gpuasync_frame *memory, gpuasync_stream *stream,
                      void *pointer, const gpuasync_site *site) noexcept {
  Frame *frame = Frame::of(memory);
  if (!pointer || !frame->usable() || (stream && !frame->owns(stream, site)))
    return;
  guarded(frame, site, [&] {
    gpuasync_context &context = *frame->context;
    Block *block = nullptr;
    {
      std::lock_guard<std::mutex> lock(context.memoryMutex);
      block = context.findBlock(pointer);
      if (!block || block->pointer != pointer || block->internal) {
        frame->fail(foreignPointer(pointer), site);
        return;
      }
      if (!block->live) {
        frame->fail(makeStatus(GPUASYNC_INVALID_ARGUMENT, "%p was freed before",
                               pointer),
                    site);
        return;
      }
      if (frame->capture &&
          !frame->check(checkCapturedFree(*frame, stream, *block), site))
        return;
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
    frame->check(context.noteFault(context.deallocate(stream, block)), site);
  });
}

void gpuasync_host_register(gpuasync_frame *memory, void *pointer,
                            uint64_t bytes,
                            const gpuasync_site *site) noexcept {
  Frame *frame = Frame::of(memory);
  if (!frame->usable() || !bytes)
    return;
  guarded(frame, site, [&] {
    if (!pointer) {
      frame->fail(makeStatus(GPUASYNC_INVALID_ARGUMENT, "null pointer"), site);
      return;
    }
    if (frame->capture) {
      frame->fail(refuseCaptured("a registration of host memory",
                                 "register it before the capture"),
                  site);
      return;
    }
    frame->check(
        registerRange(*frame, static_cast<char *>(pointer), bytes, site), site);
  });
}

void gpuasync_host_unregister(gpuasync_frame *memory, void *pointer,
                              const gpuasync_site *site) noexcept {
  Frame *frame = Frame::of(memory);
  if (!pointer || !frame->usable())
    return;
  guarded(frame, site, [&] {
    gpuasync_context &context = *frame->context;
    if (frame->capture) {
      frame->fail(refuseCaptured("the end of a registration",
                                 "end it after the last run of the graph"),
                  site);
      return;
    }
    std::lock_guard<std::mutex> lock(context.memoryMutex);
    auto found = context.ranges.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == context.ranges.end() || !found->second->count) {
      frame->fail(makeStatus(GPUASYNC_INVALID_ARGUMENT, "%p is not registered",
                             pointer),
                  site);
      return;
    }
    countDown(context, *found->second);
  });
}
}
