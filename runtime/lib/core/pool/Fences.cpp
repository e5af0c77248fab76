//===- Fences.cpp - Points of streams that a context waits for ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Fences.h.
//===----------------------------------------------------------------------===//

#include "core/pool/Fences.h"
#include "core/context/ContextImpl.h"

using namespace gpuasync;

Status Fences::takeEvent(NativeEvent &out) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!idle.empty()) {
      out = idle.back();
      idle.pop_back();
      return Status();
    }
    idle.reserve(made + 1); // giving one back must not allocate
    ++made;
  }
  Status status = context.driver->createEvent(out);
  if (status.ok()) {
    context.physicalEvents.fetch_add(1, std::memory_order_relaxed);
  } else {
    std::lock_guard<std::mutex> lock(mutex);
    --made;
  }
  return status;
}

void Fences::giveEvent(NativeEvent event) {
  std::lock_guard<std::mutex> lock(mutex);
  idle.push_back(event);
}

Status Fences::flag(Stream &stream) {
  RETURN_IF_ERROR(context.driver->extensions.flags->writeFlag(
      stream.native, stream.flagSlot, stream.flagValue + 1));
  ++stream.flagValue;
  stream.stagedSinceFlag = 0;
  stream.flagged = stream.enqueued;
  return Status();
}

Status Fences::make(Stream &stream, Fence &out) {
  if (stream.isSignalled()) { // which comes to that by itself
    stream.stagedSinceFlag = 0;
    out.slot = stream.signalSlot;
    out.value = stream.signalValue;
    return Status();
  }
  if (stream.flagSlot) {
    if (!stream.isFlagged())
      RETURN_IF_ERROR(flag(stream));
    out.slot = stream.flagSlot;
    out.value = stream.flagValue;
    return Status();
  }
  NativeEvent event = nullptr;
  Status status = takeEvent(event);
  if (!status.ok())
    return status;
  status = context.driver->recordEvent(event, stream.native);
  if (status.ok())
    out.event = event;
  else
    giveEvent(event);
  return status;
}

Status Fences::query(Fence &fence, bool &reached) {
  reached = true;
  Status status;
  if (fence.slot) {
    uint32_t seen = __atomic_load_n(fence.slot, __ATOMIC_ACQUIRE);
    reached = static_cast<int32_t>(seen - fence.value) >= 0;
  } else if (fence.event) {
    status = context.driver->queryEvent(fence.event, reached);
    // Nothing runs any more on a lost device.
    reached |= status.code() == GPUASYNC_DEVICE_LOST;
  }
  if (!reached)
    return status;
  drop(fence);
  return Status();
}

void Fences::drop(Fence &fence) {
  if (fence.event)
    giveEvent(fence.event);
  fence = Fence();
}

void Fences::destroy(bool alive) {
  for (NativeEvent event : idle) {
    if (alive)
      context.driver->destroyEvent(event);
    context.physicalEvents.fetch_sub(1);
  }
  idle.clear();
  made = 0;
}
