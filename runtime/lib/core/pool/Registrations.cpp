//===- Registrations.cpp - Host memory that programs registered -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Registrations.h.
//===----------------------------------------------------------------------===//

#include "core/pool/Registrations.h"
#include "core/abi/Frame.h"

#include <algorithm>

using namespace gpuasync;

/// The mutex is held, as in the next two.
void Registrations::countUp(Frame &frame, Range &range,
                            const gpuasync_site *site) {
  Part *part = nullptr;
  for (Part &each : range.parts)
    if (each.frame == &frame)
      part = &each;
  if (!part) {
    range.parts.push_back({&frame, 0});
    part = &range.parts.back();
  }
  ++part->count;
  ++frame.registrations;
  if (!range.count++)
    range.origin = {site, frame.pin->registration, {}};
}

/// A range has come to a count of zero, or may go for another reason.
void Registrations::retire() {
  context.retiredCount.fetch_add(1, std::memory_order_relaxed);
}

void Registrations::erase(Place place) {
  ranges.erase(place);
  size.store(ranges.size(), std::memory_order_release);
}

/// Whether a registration of a part of it needs that of `place`: the driver
/// took the memory for registered then.
bool Registrations::isNeeded(Place place) {
  const uintptr_t end = place->first + place->second.bytes;
  for (auto other = ranges.begin(); other != ranges.end() && other->first < end;
       ++other) {
    const Range &range = other->second;
    if (other != place && other->first + range.bytes > place->first &&
        range.count && !range.owned)
      return true;
  }
  return false;
}

/// Ends registrations that nobody counts on of a part of these `bytes`, which
/// begin elsewhere: the driver would take that part for registered, until they
/// end. The lock is held, but not while the driver is called.
void Registrations::endOverlapped(std::unique_lock<std::mutex> &lock,
                                  uintptr_t address, uint64_t bytes) {
  for (Place place = ranges.begin();
       place != ranges.end() && place->first < address + bytes;) {
    Range &range = place->second;
    if (place->first == address || place->first + range.bytes <= address ||
        range.count || range.busy || !range.owned || isNeeded(place)) {
      ++place;
      continue;
    }
    range.busy = true;
    lock.unlock();
    context.driver->unregisterHost(reinterpret_cast<void *>(place->first));
    lock.lock();
    erase(place++);
    settled.notify_all();
  }
}

Status Registrations::add(Frame &frame, char *pointer, uint64_t bytes,
                          const gpuasync_site *site) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  std::unique_lock<std::mutex> lock(mutex);
  Place place = ranges.find(address);
  for (; place != ranges.end() && place->second.busy;
       place = ranges.find(address)) {
    const Uncancelled uncancelled;
    settled.wait(lock);
  }
  // One that has ended and is somebody else's may have ended there, too.
  if (place != ranges.end() && place->second.bytes >= bytes &&
      (place->second.count || place->second.owned)) {
    countUp(frame, place->second, site);
    return Status();
  }
  if (place != ranges.end() && place->second.count)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "%p is registered already, with %ju bytes only",
                      static_cast<void *>(pointer), place->second.bytes);
  // All memory first: afterwards nothing may fail any more.
  if (place == ranges.end()) {
    Range made;
    made.parts.reserve(1);
    place = ranges.emplace(address, std::move(made)).first;
    size.store(ranges.size(), std::memory_order_release);
  }
  Range &range = place->second;
  range.busy = true;
  // A smaller registration of the same place waits for the device to be idle.
  // It has to go first, even if that waits for running kernels.
  endOverlapped(lock, address, bytes);
  lock.unlock();
  if (range.owned)
    context.driver->unregisterHost(pointer);
  Status status = context.driver->registerHost(pointer, bytes, range.owned);
  lock.lock();
  range.busy = false;
  range.bytes = 0;
  if (status.ok()) {
    range.bytes = bytes;
    countUp(frame, range, site);
  } else if (range.owned) {
    // Registered, but of no use: it ends once the device is idle. As one of no
    // bytes it gives way to another registration of the place.
    retire();
  } else {
    erase(place);
  }
  settled.notify_all();
  return status;
}

Status Registrations::remove(Frame &frame, const void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  Place place = ranges.find(reinterpret_cast<uintptr_t>(pointer));
  if (place == ranges.end() || !place->second.count)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "%p is not registered",
                      pointer);
  Range &range = place->second;
  uint32_t counted = 0;
  Part *part = nullptr;
  for (Part &each : range.parts) {
    counted += each.count;
    if (each.frame == &frame)
      part = &each;
  }
  if (part)
    --frame.registrations;
  else if (counted == range.count)
    part = &range.parts.back();
  if (part && !--part->count) {
    *part = range.parts.back();
    range.parts.pop_back();
  }
  if (!--range.count)
    retire();
  return Status();
}

void Registrations::leave(Frame &frame, bool undo) {
  if (!frame.registrations)
    return;
  frame.registrations = 0;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[base, range] : ranges)
    for (Part &part : range.parts) {
      if (part.frame != &frame)
        continue;
      uint32_t count = part.count;
      part = range.parts.back();
      range.parts.pop_back();
      if (undo && !(range.count -= count))
        retire();
      break;
    }
}

bool Registrations::cover(const void *first, const Extent &extent,
                          bool &partly) {
  partly = false;
  if (!size.load(std::memory_order_acquire))
    return false;
  auto address = reinterpret_cast<uintptr_t>(first);
  std::lock_guard<std::mutex> lock(mutex);
  Place after = ranges.upper_bound(address);
  if (after == ranges.begin())
    return false;
  auto &[base, range] = *std::prev(after);
  uint64_t offset = address - base;
  if (offset >= range.bytes)
    return false;
  // What nobody counts on the driver still takes for registered, but it may
  // have been given back, and other memory lie there now.
  partly = !range.count || !extent.isWithin(offset, range.bytes);
  return !partly;
}

uint64_t Registrations::findPart(const void *first, uint64_t bytes) {
  if (!size.load(std::memory_order_acquire))
    return bytes;
  auto address = reinterpret_cast<uintptr_t>(first);
  std::lock_guard<std::mutex> lock(mutex);
  Place after = ranges.upper_bound(address);
  if (after != ranges.end())
    bytes = std::min<uint64_t>(bytes, after->first - address);
  if (after == ranges.begin())
    return bytes;
  auto &[base, range] = *std::prev(after);
  uint64_t offset = address - base;
  return offset < range.bytes ? std::min(bytes, range.bytes - offset) : bytes;
}

void Registrations::unregister(bool all) {
  std::unique_lock<std::mutex> lock(mutex);
  for (Place place = ranges.begin(); place != ranges.end();) {
    Range &range = place->second;
    if (range.busy || (!all && (range.count || isNeeded(place)))) {
      ++place;
      continue;
    }
    // It stays meanwhile, so that nobody takes the memory for registered.
    range.count = 0;
    range.busy = true;
    lock.unlock();
    if (range.owned && !context.lost.load())
      context.driver->unregisterHost(reinterpret_cast<void *>(place->first));
    lock.lock();
    erase(place++);
    settled.notify_all();
  }
}

void Registrations::keepLabels(const Registration *gone) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[base, range] : ranges)
    range.origin.keepLabel(gone);
}
