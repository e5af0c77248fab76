//===- DeviceMirrorCache.cpp - Arguments that stay on the device ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See DeviceMirrorCache.h.
//===----------------------------------------------------------------------===//

#include "core/pool/DeviceMirrorCache.h"
#include "core/abi/Frame.h"
#include "core/pool/HostMemory.h"
#include "gpuasync/Memory.h"

using namespace gpuasync;

Status DeviceMirrorCache::find(OpenFrame &frame, const void *pointer,
                               uint64_t bytes, void *&out) {
  out = const_cast<void *>(pointer);
  if (!bytes)
    return Status();
  if (!pointer)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null pointer");
  if (bytes > INT64_MAX)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "too large: %ju bytes", bytes);
  RETURN_IF_ERROR(
      checkHostMemory(pointer, extentOf(bytes), "resident argument"));
  if (context.has(CapHostAccess))
    return Status();
  const Place place = {reinterpret_cast<uintptr_t>(pointer), bytes};
  auto use = [&](Copy &copy) {
    copy.captured |= frame.useOf(context).capture != 0;
    out = copy.block->pointer;
  };
  std::unique_lock<std::mutex> lock(mutex);
  for (auto known = copies.find(place); known != copies.end();
       known = copies.find(place)) {
    if (known->second.block) {
      use(known->second);
      return Status();
    }
    const Uncancelled uncancelled;
    settled.wait(lock);
  }
  // All memory first: afterwards nothing may fail any more.
  givenUp.reserve(givenUp.size() + copies.size() + 1);
  copies.emplace(place, Copy());
  size.store(copies.size(), std::memory_order_release);
  if (longest < bytes)
    longest = bytes;
  lock.unlock();
  PoolAllocation *block = nullptr;
  Status status = guard([&] { return make(frame, pointer, bytes, block); });
  lock.lock();
  auto made = copies.find(place);
  made->second.block = block;
  if (block)
    use(made->second);
  if (made->second.changed)
    retire(made->second);
  if (!block || made->second.changed)
    copies.erase(made);
  size.store(copies.size(), std::memory_order_release);
  settled.notify_all();
  return status;
}

/// Without a block and without an error it is memory that the device reaches.
Status DeviceMirrorCache::make(OpenFrame &frame, const void *pointer,
                               uint64_t bytes, PoolAllocation *&out) {
  bool ours = false;
  Status held =
      context.memory.check(pointer, extentOf(bytes), "resident argument", ours);
  if (ours)
    return held;
  PointerKind kind = context.driver->pointerKind(pointer);
  if (kind == PointerKind::Device || kind == PointerKind::Managed)
    return Status();
  Status status = context.uploads.make(pointer, bytes, out);
  if (status.code() == GPUASYNC_OUT_OF_MEMORY &&
      context.modules.makeRoom(
          {frame.useOf(context).pin, frame.function, /*loading=*/true}, bytes,
          /*everything=*/true))
    status = context.uploads.make(pointer, bytes, out);
  if (status.ok())
    frame.useOf(context).slot->counters.residentUploads.add(1);
  return status;
}

/// The mutex is held, and there is room. What a graph may read stays until the
/// context's end.
void DeviceMirrorCache::retire(Copy &copy) {
  if (!copy.block || copy.captured)
    return;
  givenUp.push_back(copy.block);
  context.retiredCount.fetch_add(1, std::memory_order_relaxed);
}

void DeviceMirrorCache::giveUp(const void *pointer, uint64_t bytes) {
  if (!bytes || !size.load(std::memory_order_acquire))
    return;
  auto begin = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard<std::mutex> lock(mutex);
  uintptr_t from = begin > longest ? begin - longest : 0;
  for (auto at = copies.lower_bound({from, 0});
       at != copies.end() &&
       (at->first.first <= begin || at->first.first - begin < bytes);) {
    auto next = std::next(at);
    auto &[place, copy] = *at;
    if (place.first >= begin || begin - place.first < place.second) {
      if (copy.block) {
        retire(copy);
        copies.erase(at);
      } else {
        copy.changed = true;
      }
    }
    at = next;
  }
  size.store(copies.size(), std::memory_order_release);
}

void DeviceMirrorCache::keepForGraph() {
  if (!size.load(std::memory_order_acquire))
    return;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[place, copy] : copies)
    copy.captured = true;
}

void DeviceMirrorCache::freeGivenUp() {
  std::unique_lock<std::mutex> lock(mutex);
  // One by one: the room stays, and nothing is allocated.
  while (!givenUp.empty()) {
    PoolAllocation *block = givenUp.back();
    givenUp.pop_back();
    lock.unlock();
    context.memory.dropKept(block);
    lock.lock();
  }
}

void DeviceMirrorCache::forgetAll() {
  std::lock_guard<std::mutex> lock(mutex);
  copies.clear();
  givenUp.clear();
  size.store(0, std::memory_order_release);
}

void gpuasync_host_memory_changed(const void *pointer,
                                  uint64_t bytes) noexcept {
  if (refusal.load(std::memory_order_relaxed) & RefuseForked)
    return;
  Process &shared = process();
  std::lock_guard<std::mutex> lock(shared.mutex);
  for (gpuasync_context *context : shared.contexts)
    context->mirrors.giveUp(pointer, bytes);
}
