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

Status DeviceMirrorCache::find(OpenFrame &frame, const void *pointer,
                               uint64_t bytes, void *&out) {
  out = const_cast<void *>(pointer);
  bool isReached = false;
  RETURN_IF_ERROR(context.uploads.checkResident(pointer, bytes, isReached));
  if (isReached)
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

Status DeviceMirrorCache::make(OpenFrame &frame, const void *pointer,
                               uint64_t bytes, PoolAllocation *&out) {
  Status status = context.uploads.makeResident(pointer, bytes, out);
  if (status.code() == GPUASYNC_OUT_OF_MEMORY && context.modules.policy &&
      context.modules.policy->makeRoom(
          {frame.useOf(context).pin, frame.function, /*loading=*/true}, bytes,
          /*everything=*/true))
    status = context.uploads.makeResident(pointer, bytes, out);
  if (out)
    frame.useOf(context).slot->counters.residentUploads.add(1);
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

extern "C" {

void *gpuasync_resident(gpuasync_frame *memory, uint32_t device,
                        const void *pointer, uint64_t bytes,
                        uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  if (!frame->usable())
    return nullptr;
  void *found = nullptr;
  bool ok = frame->run(frame->siteAt(siteIndex), [&]() -> Status {
    DeviceUse *use = nullptr;
    RETURN_IF_ERROR(frame->enterDevice(device, use));
    return mirrorsOf(*use->context).find(*frame, pointer, bytes, found);
  });
  return ok ? found : nullptr;
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
}
