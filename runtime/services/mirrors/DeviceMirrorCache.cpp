//===- DeviceMirrorCache.cpp - Arguments that stay on the device ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See DeviceMirrorCache.h.
//===----------------------------------------------------------------------===//

#include "services/mirrors/DeviceMirrorCache.h"
#include "gpuasync/Memory.h"
#include "shim/abi/Frame.h"

using namespace gpuasync;

Status DeviceMirrorCache::find(Frame &frame, DeviceUse &use,
                               const void *pointer, uint64_t bytes,
                               PoolAllocation *&out) {
  const Place place = {reinterpret_cast<uintptr_t>(pointer), bytes};
  std::unique_lock<std::mutex> lock(mutex);
  for (auto known = copies.find(place); known != copies.end();
       known = copies.find(place)) {
    if ((out = known->second.block)) {
      known->second.captured |= use.capture != 0;
      return Status();
    }
    const Uncancelled uncancelled;
    settled.wait(lock);
  }
  copies.emplace(place, Copy());
  size.store(copies.size(), std::memory_order_release);
  if (longest < bytes)
    longest = bytes;
  lock.unlock();
  Status status = guard([&] { return make(frame, use, pointer, bytes, out); });
  lock.lock();
  auto made = copies.find(place);
  made->second.block = out;
  made->second.captured |= use.capture != 0;
  if (made->second.changed)
    retire(made->second);
  if (!out || made->second.changed)
    copies.erase(made);
  size.store(copies.size(), std::memory_order_release);
  settled.notify_all();
  return status;
}

Status DeviceMirrorCache::make(Frame &frame, DeviceUse &use,
                               const void *pointer, uint64_t bytes,
                               PoolAllocation *&out) {
  Status status = context.uploads.makeResident(pointer, bytes, out);
  if (status.code() == GPUASYNC_OUT_OF_MEMORY && context.modules.policy &&
      context.modules.policy->makeRoom(
          {use.pin, frame.function, /*loading=*/true}, bytes,
          /*everything=*/true))
    status = context.uploads.makeResident(pointer, bytes, out);
  if (out)
    use.slot->counters.residentUploads.add(1);
  return status;
}

/// The mutex is held. What a graph may read stays until the context's end.
void DeviceMirrorCache::retire(Copy &copy) {
  if (!copy.block || copy.captured)
    return;
  context.uploads.giveUp(copy.block);
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
  context.uploads.keepGivenUp();
  if (!size.load(std::memory_order_acquire))
    return;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[place, copy] : copies)
    copy.captured = true;
}

void DeviceMirrorCache::forgetAll() {
  std::lock_guard<std::mutex> lock(mutex);
  copies.clear();
  size.store(0, std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// The service
//===----------------------------------------------------------------------===//

/// The cache of a context; each has one.
static DeviceMirrorCache &mirrorsOf(gpuasync_context &context) {
  return static_cast<DeviceMirrorCache &>(*context.mirrors);
}

namespace {
class MirrorService final : public Service {
  Status contextOpening(gpuasync_context &context) const override {
    context.mirrors = std::make_unique<DeviceMirrorCache>(context);
    return Status();
  }
  void contextEnding(gpuasync_context &context) const override {
    mirrorsOf(context).forgetAll();
  }
  void frameCaptured(Frame &frame) const override {
    mirrorsOf(*frame.first.context).keepForGraph();
  }
};
} // namespace

namespace gpuasync {
const Service &mirrorService() noexcept {
  static constexpr MirrorService service;
  return service;
}
} // namespace gpuasync

Status gpuasync::findResident(Frame &frame, DeviceUse &use, const void *pointer,
                              uint64_t bytes, PoolAllocation *&out) {
  return mirrorsOf(*use.context).find(frame, use, pointer, bytes, out);
}

void gpuasync_host_memory_changed(const void *pointer,
                                  uint64_t bytes) noexcept {
  if (refusal.load(std::memory_order_relaxed) & RefuseForked)
    return;
  Process &shared = process();
  std::lock_guard<std::mutex> lock(shared.mutex);
  for (gpuasync_context *context : shared.contexts)
    mirrorsOf(*context).giveUp(pointer, bytes);
}
