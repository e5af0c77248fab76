//===- Registrations.cpp - Host memory that programs registered -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Registrations.h.
//===----------------------------------------------------------------------===//

#include "shim/pool/Registrations.h"
#include "shim/pool/ContextPools.h"
#include "shim/pool/DeviceUse.h"

#include <algorithm>

using namespace gpuasync;

/// The mutex is held, as in the next four.
void Registrations::countUp(DeviceUse &use, Range &range, uint64_t bytes,
                            const gpuasync_site *site) {
  Part *part = nullptr;
  for (Part &each : range.parts)
    if (each.use == &use && each.bytes == bytes)
      part = &each;
  if (!part) {
    range.parts.push_back({&use, bytes, 0});
    part = &range.parts.back();
  }
  ++part->count;
  ++use.registrations;
  range.reach = std::max(range.reach, bytes);
  if (!range.count++)
    range.origin = {site, use.pin->registration, {}};
}

/// Drops the part if nothing is left of it.
void Registrations::Range::countDown(Part &part, uint32_t less) {
  count -= less;
  if (part.count -= less)
    return;
  part = parts.back();
  parts.pop_back();
  reach = 0;
  for (const Part &each : parts)
    reach = std::max(reach, each.bytes);
}

/// Calls `visit` with the beginning and the range of those in which the address
/// lies, until it returns true.
template <typename Visit>
void Registrations::visitAround(uintptr_t address, Visit visit) {
  for (Place place = ranges.upper_bound(address); place != ranges.begin();) {
    --place;
    const uint64_t offset = address - place->first;
    if (offset >= longest)
      return;
    if (offset < place->second.bytes && visit(place->first, place->second))
      return;
  }
}

/// A range has come to a count of zero, or may go for another reason.
void Registrations::retire() {
  context.retiredCount.fetch_add(1, std::memory_order_relaxed);
}

void Registrations::erase(Place place) {
  ranges.erase(place);
  if (ranges.empty())
    longest = 0;
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

/// Ends registrations that nobody counts on of a part of these `bytes`: the
/// driver would take that part for registered, until they end. The lock is
/// held, but not while the driver is called.
void Registrations::endOverlapped(std::unique_lock<std::mutex> &lock,
                                  uintptr_t address, uint64_t bytes) {
  for (Place place = ranges.begin();
       place != ranges.end() && place->first < address + bytes;) {
    Range &range = place->second;
    if (place->first + range.bytes <= address || range.count || range.busy ||
        !range.owned || isNeeded(place)) {
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

void Registrations::makeRoom(char *pointer, uint64_t bytes) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  std::unique_lock<std::mutex> lock(mutex);
  Place place = ranges.find(address);
  // Then `add` counts on that one.
  if (place == ranges.end() || place->second.bytes < bytes)
    endOverlapped(lock, address, bytes);
}

Status Registrations::add(DeviceUse &use, char *pointer, uint64_t bytes,
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
    countUp(use, place->second, bytes, site);
    return Status();
  }
  if (place != ranges.end() && place->second.count) {
    if (!context.has(CapHostAccess))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "%p is registered already, with %ju bytes only; "
                        "register all %ju bytes before that part",
                        static_cast<void *>(pointer), place->second.bytes,
                        bytes);
    // The driver need not learn of it.
    countUp(use, place->second, bytes, site);
    place->second.bytes = bytes;
    longest = std::max(longest, bytes);
    return Status();
  }
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
    longest = std::max(longest, bytes);
    countUp(use, range, bytes, site);
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

Status Registrations::remove(DeviceUse &use, const void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  Place place = ranges.find(reinterpret_cast<uintptr_t>(pointer));
  if (place == ranges.end() || !place->second.count)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "%p is not registered",
                      pointer);
  Range &range = place->second;
  // The frame's own come first, those of other open frames last.
  auto rank = [&](const Part &part) {
    return std::make_pair(part.use == &use ? 0 : part.use ? 2 : 1, part.bytes);
  };
  Part &part = *std::min_element(
      range.parts.begin(), range.parts.end(),
      [&](const Part &a, const Part &b) { return rank(a) < rank(b); });
  if (part.use == &use)
    --use.registrations;
  range.countDown(part, 1);
  if (!range.count)
    retire();
  return Status();
}

void Registrations::leave(DeviceUse &use, bool undo) {
  use.registrations = 0;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[base, range] : ranges) {
    const bool isCounted = range.count;
    for (size_t i = 0; i < range.parts.size();) {
      Part &part = range.parts[i];
      if (part.use != &use) {
        ++i;
        continue;
      }
      if (undo) {
        range.countDown(part, part.count);
        continue;
      }
      auto left = std::find_if(range.parts.begin(), range.parts.end(),
                               [&](const Part &each) {
                                 return !each.use && each.bytes == part.bytes;
                               });
      part.use = nullptr;
      if (left == range.parts.end()) {
        ++i;
        continue;
      }
      left->count += part.count;
      part = range.parts.back();
      range.parts.pop_back();
    }
    if (isCounted && !range.count)
      retire();
  }
}

bool Registrations::cover(const void *first, const Extent &extent,
                          bool &partly) {
  partly = false;
  if (!size.load(std::memory_order_acquire))
    return false;
  auto address = reinterpret_cast<uintptr_t>(first);
  std::lock_guard<std::mutex> lock(mutex);
  bool isCovered = false;
  visitAround(address, [&](uintptr_t base, const Range &range) {
    // Memory that nobody counts on the driver still takes for registered. It
    // may have been given back, and other memory lie there now.
    isCovered = range.count && extent.isWithin(address - base, range.reach);
    partly = !isCovered;
    return isCovered;
  });
  return isCovered;
}

uint64_t Registrations::findPart(const void *first, uint64_t bytes) {
  if (!size.load(std::memory_order_acquire))
    return bytes;
  auto address = reinterpret_cast<uintptr_t>(first);
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t inside = 0; // of one that somebody counts on
  uint64_t outside = bytes;
  if (Place after = ranges.upper_bound(address); after != ranges.end())
    outside = std::min<uint64_t>(outside, after->first - address);
  visitAround(address, [&](uintptr_t base, const Range &range) {
    const uint64_t offset = address - base;
    if (range.count && offset < range.reach)
      inside = std::max(inside, range.reach - offset);
    else
      outside = std::min(outside, range.bytes - offset);
    return inside >= bytes;
  });
  return inside ? std::min(bytes, inside) : outside;
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
