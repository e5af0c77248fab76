//===- Memory.cpp - Allocations, copies and frees -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Freed memory is kept a while, so that its addresses mean nothing else and
// late uses are found.
//===----------------------------------------------------------------------===//

#include "gpuasync/Memory.h"
#include "Checker.h"

#include <algorithm>

using namespace gpuasync::check;

Checker &Checker::get() {
  // Never destroyed: kernels may run until the process ends.
  static Checker *checker = new Checker;
  return *checker;
}

//===----------------------------------------------------------------------===//
// The map
//===----------------------------------------------------------------------===//

Allocation *Checker::add(void *pointer, uint64_t bytes, MemoryKind kind,
                         const gpuasync_site *site, gpuasync_frame *frame,
                         const char *ownSite, OpIndex createdBy) {
  auto allocation =
      std::make_unique<Allocation>(reinterpret_cast<uintptr_t>(pointer), bytes);
  allocation->kind = kind;
  allocation->site = site;
  allocation->ownSite = ownSite;
  allocation->createdBy = createdBy;
  std::unique_lock<std::shared_mutex> lock(mutex);
  if (frame) {
    allocation->context = gpuasync_check_context(frame);
    auto entered = frames.find(frame);
    allocation->frame = entered == frames.end() ? 0 : entered->second;
  }
  // What lay there before is gone.
  auto first = allocations.lower_bound(allocation->base);
  if (first != allocations.begin()) {
    auto previous = std::prev(first);
    if (previous->second->contains(allocation->base) &&
        previous->second->freedBy)
      first = previous;
  }
  while (first != allocations.end() &&
         first->first < allocation->base + (bytes ? bytes : 1))
    first =
        first->second->freedBy ? allocations.erase(first) : std::next(first);
  allocations[allocation->base] = allocation.get();
  version.fetch_add(1, std::memory_order_release);
  allocation->older = newest;
  newest = allocation.get();
  return allocation.release();
}

void Checker::enter(gpuasync_frame *frame) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  frames[frame] = ++frameCount;
}

void Checker::leave(gpuasync_frame *frame) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  frames.erase(frame);
}

Allocation *Checker::find(uintptr_t address) {
  struct Found {
    uint64_t version = 0;
    Allocation *allocation = nullptr;
  };
  static thread_local Found cache[8];
  static thread_local unsigned next = 0;
  uint64_t now = mapVersion();
  for (Found &found : cache)
    if (found.version == now && found.allocation->contains(address))
      return found.allocation;
  std::shared_lock<std::shared_mutex> lock(mutex);
  auto entry = allocations.upper_bound(address);
  // Registered host memory may lie inside other registered memory.
  for (int looks = 0; looks < 8 && entry != allocations.begin(); ++looks) {
    --entry;
    if (!entry->second->contains(address))
      continue;
    cache[next++ % 8] = {now, entry->second};
    return entry->second;
  }
  return nullptr;
}

void Checker::registerHost(void *pointer, uint64_t bytes,
                           const gpuasync_site *site) {
  uint32_t before = 0; // registrations of fewer bytes there
  {
    std::unique_lock<std::shared_mutex> lock(mutex);
    auto found = allocations.find(reinterpret_cast<uintptr_t>(pointer));
    if (found != allocations.end() && !found->second->freedBy) {
      before = found->second->registrations;
      if (found->second->bytes >= bytes) {
        ++found->second->registrations;
        return;
      }
    }
  }
  add(pointer, bytes, MemoryKind::Registered, site, nullptr)->registrations =
      before + 1;
}

void Checker::unregisterHost(void *pointer) {
  OpIndex now = order.add(nullptr, nullptr);
  std::unique_lock<std::shared_mutex> lock(mutex);
  auto found = allocations.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == allocations.end() || !found->second->registrations ||
      --found->second->registrations)
    return;
  // Kernels that were enqueued before may still run.
  found->second->freedBy = now;
}

bool Checker::free(gpuasync_frame *frame, void *pointer,
                   gpuasync_stream *stream, const gpuasync_site *site,
                   uint64_t keepBytes) {
  Allocation *allocation = find(reinterpret_cast<uintptr_t>(pointer));
  if (!allocation || allocation->base != reinterpret_cast<uintptr_t>(pointer) ||
      (allocation->kind != MemoryKind::Device &&
       allocation->kind != MemoryKind::HostShared) ||
      allocation->released)
    return false;
  OpIndex op = order.addFree(stream, site);
  if (OpIndex before = allocation->freedBy) {
    std::string place = placeOf(site), other = placeOf(order.at(before).site);
    report(Kind::Freed, place, other,
           place + ": error: memory is freed a second time\n" + other +
               ": note: it was freed here\n");
    return true;
  }
  Access access;
  access.op = op;
  access.flags = GPUASYNC_CHECK_WRITE;
  addRange(*allocation, allocation->base,
           allocation->base + std::max<uint64_t>(allocation->bytes, 1), access);
  if (allocation->bytes <= keepBytes)
    drain(frame, keepBytes - allocation->bytes);
  std::unique_lock<std::shared_mutex> lock(mutex);
  allocation->freedBy = op;
  if (quarantineBytes + allocation->bytes > keepBytes) {
    allocation->released = true;
    ending.push_back(allocation);
    return false;
  }
  quarantine.push_back(allocation);
  quarantineBytes += allocation->bytes;
  return true;
}

void Checker::clearShadows() {
  std::unique_lock<std::shared_mutex> lock(mutex);
  ending.erase(std::remove_if(ending.begin(), ending.end(),
                              [&](Allocation *freed) {
                                if (!order.isDue(freed->freedBy))
                                  return false;
                                freed->shadow.clear();
                                return true;
                              }),
               ending.end());
}

void Checker::drain(gpuasync_frame *frame, uint64_t keepBytes, bool all) {
  clearShadows();
  gpuasync_context *context = gpuasync_check_context(frame);
  while (true) {
    Allocation *oldest = nullptr;
    {
      std::unique_lock<std::shared_mutex> lock(mutex);
      if (!all && quarantineBytes <= keepBytes)
        return;
      auto found = std::find_if(
          quarantine.begin(), quarantine.end(),
          [&](Allocation *freed) { return freed->context == context; });
      // While the host has not waited for the free, work may still come first.
      if (found == quarantine.end() ||
          (!all && !order.isDue((*found)->freedBy)))
        return;
      oldest = *found;
      quarantine.erase(found);
      quarantineBytes -= oldest->bytes;
      oldest->released = true;
      oldest->shadow.clear();
    }
    gpuasync_dealloc(frame, 0, nullptr, reinterpret_cast<void *>(oldest->base),
                     GPUASYNC_NO_SITE);
  }
}

gpuasync_context *Checker::keeper() {
  std::shared_lock<std::shared_mutex> lock(mutex);
  return quarantine.empty() ? nullptr : quarantine.back()->context;
}

void Checker::forget(gpuasync_frame *frame) {
  OpIndex now = order.host();
  std::unique_lock<std::shared_mutex> lock(mutex);
  auto entered = frames.find(frame);
  if (entered == frames.end())
    return;
  uint64_t number = entered->second;
  frames.erase(entered);
  for (auto &[base, allocation] : allocations)
    if (allocation->frame == number) {
      if (!allocation->freedBy)
        allocation->freedBy = now;
      allocation->released = true;
      allocation->shadow.clear();
    }
  for (size_t i = 0; i < quarantine.size();)
    if (quarantine[i]->frame == number) {
      quarantineBytes -= quarantine[i]->bytes;
      quarantine.erase(quarantine.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
}

//===----------------------------------------------------------------------===//
// Copies, fills and frees
//===----------------------------------------------------------------------===//

void Checker::forgetRanges(Allocation &allocation, uintptr_t begin,
                           uintptr_t end, const Access &access) {
  std::vector<Range> &ranges = allocation.ranges;
  ranges.erase(
      std::remove_if(ranges.begin(), ranges.end(),
                     [&](const Range &range) {
                       OpIndex op = range.access.op;
                       // Every later use of freed memory is an error.
                       if (op == allocation.freedBy)
                         return false;
                       return order.isSettled(op) ||
                              (begin <= range.begin && range.end <= end &&
                               (access.writes() || !range.access.writes()) &&
                               order.before(op, access.op) &&
                               order.isHidden(op, access.op));
                     }),
      ranges.end());
  if (ranges.size() >= maxRanges) {
    ranges.erase(ranges.begin(), ranges.begin() + maxRanges / 2);
    noteMissedRaces("more copies and fills are outstanding on one allocation "
                    "than it remembers");
  }
  allocation.rangeLimit =
      std::min(maxRanges, std::max(minRangeLimit, 2 * ranges.size()));
}

void Checker::forgetReads(uintptr_t address, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(pageable.rangesMutex);
  std::vector<Range> &ranges = pageable.ranges;
  ranges.erase(std::remove_if(ranges.begin(), ranges.end(),
                              [&](const Range &range) {
                                return !range.access.writes() &&
                                       range.begin >= address &&
                                       range.end <= address + bytes;
                              }),
               ranges.end());
}

void Checker::addRange(Allocation &allocation, uintptr_t begin, uintptr_t end,
                       Access access) {
  auto unordered = [&](const Access &other) {
    return other.flags && other.op != access.op &&
           (other.writes() || access.writes()) &&
           !order.before(other.op, access.op) &&
           !order.before(access.op, other.op);
  };
  {
    std::lock_guard<std::mutex> lock(allocation.rangesMutex);
    std::vector<Range> &ranges = allocation.ranges;
    for (const Range &range : ranges)
      if (range.begin < end && begin < range.end && unordered(range.access))
        reportRace(Kind::RaceOps, access, range.access,
                   std::max(begin, range.begin), &allocation);
    if (ranges.size() >= allocation.rangeLimit)
      forgetRanges(allocation, begin, end, access);
    ranges.push_back({begin, end, access});
    allocation.rangeVersion.fetch_add(1, std::memory_order_release);
  }
  for (uintptr_t at = begin & ~uintptr_t(7); at < end;) {
    Cell *cell = allocation.shadow.existing(at);
    if (!cell) {
      // On with the next page.
      uint64_t offset = at - (allocation.base & ~uintptr_t(7));
      at += Shadow::pageBytes - offset % Shadow::pageBytes;
      continue;
    }
    Slot slots[4];
    cell->lock();
    std::copy(cell->slots, cell->slots + 4, slots);
    cell->unlock();
    for (const Slot &slot : slots) {
      if (!slot.used())
        continue;
      Access other = slot.unpack();
      for (unsigned byte = 0; byte < 8; ++byte)
        if ((other.mask >> byte & 1) && at + byte >= begin && at + byte < end) {
          if (unordered(other))
            reportRace(Kind::RaceOps, access, other, at + byte, &allocation);
          break;
        }
    }
    at += 8;
  }
}

Allocation *Checker::findWhole(const void *first, const Extent &extent,
                               uint8_t flags, OpIndex op) {
  auto address = reinterpret_cast<uintptr_t>(first);
  Access access;
  access.op = op;
  access.flags = flags;
  const char *verb = flags & GPUASYNC_CHECK_WRITE ? "writes" : "reads";
  auto leaves = [&](uintptr_t base, uint64_t size, const char *what,
                    const std::string &from) {
    int64_t offset = static_cast<int64_t>(address - base);
    if (offset >= 0 && extent.isWithin(static_cast<uint64_t>(offset), size))
      return false;
    std::string place = placeOf(access);
    report(Kind::Bounds, place, from,
           place + ": error: out of bounds: " + describe(access) + " " + verb +
               " " + std::to_string(extent.bytes()) + " bytes at byte " +
               std::to_string(offset + extent.low) + " of " +
               std::to_string(size) + " bytes of " + what + "\n" +
               (from.empty() ? "" : from + ": note: allocated here\n"));
    return true;
  };
  Allocation *allocation = find(address);
  if (allocation && allocation->kind != MemoryKind::Registered) {
    if (leaves(allocation->base, allocation->bytes, allocation->describe(),
               placeOf(allocation->site)))
      return nullptr;
    OpIndex freed = allocation->freedBy;
    if (!freed || !order.before(freed, op))
      return allocation;
    std::string place = placeOf(access), from = placeOf(allocation->site);
    std::string other = placeOf(order.at(freed).site);
    report(Kind::Freed, place, other,
           place + ": error: use of freed " + allocation->describe() + ": " +
               describe(access) + " " + verb + " " +
               std::to_string(extent.bytes()) + " bytes\n" +
               (other.empty() ? "" : other + ": note: freed here\n") +
               (from.empty() ? "" : from + ": note: allocated here\n"));
    return nullptr;
  }
  const void *base = nullptr;
  uint64_t size = 0;
  const char *what = nullptr, *allocated = nullptr;
  if ((gpuasync_host_memory_find(first, 1, &base, &size, &what, &allocated) ||
       gpuasync_host_memory_find(static_cast<const char *>(first) + extent.low,
                                 extent.bytes(), &base, &size, &what,
                                 &allocated)) &&
      leaves(reinterpret_cast<uintptr_t>(base), size, what,
             siteLine(allocated, 0)))
    return nullptr;
  // Memory whose registration has ended is the host's again.
  return allocation && !allocation->freedBy ? allocation : &pageable;
}

void Checker::accessRange(Allocation &allocation, const void *address,
                          uint64_t bytes, uint8_t flags, OpIndex op) {
  auto begin = reinterpret_cast<uintptr_t>(address);
  uintptr_t end = begin + bytes;
  if (&allocation != &pageable) {
    // What leaves a registration goes on in memory of the host's.
    begin = std::max(begin, allocation.base);
    end = std::min(end, allocation.base + allocation.bytes);
  }
  Access access;
  access.op = op;
  access.flags = flags;
  if (begin < end)
    addRange(allocation, begin, end, access);
}
