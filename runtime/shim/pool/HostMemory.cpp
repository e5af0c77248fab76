//===- HostMemory.cpp - Callers' memory whose bounds are known ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See HostMemory.h and gpuasync/Memory.h.
//===----------------------------------------------------------------------===//

#include "shim/pool/HostMemory.h"
#include "shim/process/Thread.h"

#include <map>
#include <new>

using namespace gpuasync;

std::atomic<uint64_t> gpuasync::knownHostMemory{0};
__thread gpuasync_call_arrays *gpuasync::callArrays;

namespace {

struct Known {
  uint64_t bytes;
  const char *what, *place;
};

struct Table {
  std::mutex mutex;
  std::map<uintptr_t, Known> known; ///< by address; they do not overlap

  using Entry = std::map<uintptr_t, Known>::iterator;

  /// The first entry that `bytes` at `address` touch, else the end. One without
  /// bytes is where it begins. The mutex is held.
  Entry find(uintptr_t address, uint64_t bytes) {
    auto entry = known.upper_bound(address);
    if (entry != known.begin()) {
      auto before = std::prev(entry);
      uint64_t offset = address - before->first;
      if (offset < before->second.bytes || offset == 0)
        return before;
    }
    return entry != known.end() && entry->first - address < bytes ? entry
                                                                  : known.end();
  }
};

/// Never destroyed: nothing of ours is at exit.
Table &table() {
  static Table *table = new Table;
  return *table;
}

} // namespace

static Status makeExceeds(const char *role, const char *what,
                          const Extent &extent, uint64_t offset,
                          uint64_t bytes) {
  return makeStatus(GPUASYNC_INVALID_ARGUMENT, "the %s exceeds %s: %s", role,
                    what ? what : "an array of the call",
                    extent.describe(offset, bytes).c_str());
}

/// An array without elements is where it begins.
static bool holds(const gpuasync_call_array &array, uintptr_t address) {
  uint64_t offset = address - reinterpret_cast<uintptr_t>(array.begin);
  return offset < array.bytes || offset == 0;
}

static Status checkCallArrays(uintptr_t address, const Extent &extent,
                              const char *role) {
  const gpuasync_call_array *left = nullptr;
  for (auto *call = callArrays; call; call = call->outer)
    for (uint64_t i = 0; i < call->count; ++i) {
      const gpuasync_call_array &array = call->arrays[i];
      if (!array.begin || !holds(array, address))
        continue;
      if (extent.isWithin(address - reinterpret_cast<uintptr_t>(array.begin),
                          array.bytes))
        return Status();
      if (!left || left->bytes < array.bytes)
        left = &array;
    }
  if (!left)
    return Status();
  return makeExceeds(role, left->what, extent,
                     address - reinterpret_cast<uintptr_t>(left->begin),
                     left->bytes);
}

Status gpuasync::checkKnownHostMemory(const void *first, const Extent &extent,
                                      const char *role, bool isPlace) {
  auto address = reinterpret_cast<uintptr_t>(first);
  RETURN_IF_ERROR(checkCallArrays(address, extent, role));
  if (!knownHostMemory.load(std::memory_order_acquire))
    return Status();
  std::lock_guard<std::mutex> lock(table().mutex);
  auto &known = table().known;
  auto entry = table().find(address, 1);
  if (entry == known.end())
    entry = table().find(address + static_cast<uint64_t>(extent.low),
                         extent.bytes());
  if (entry == known.end())
    return Status();
  auto [base, memory] = *entry;
  if (isPlace && !memory.bytes && address == base)
    return Status();
  auto number = [](uint64_t value) {
    return static_cast<unsigned long long>(value);
  };
  if (address < base)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the %s begins %llu bytes before %s: %llu bytes, of "
                      "which it has %llu",
                      role, number(base - address), memory.what,
                      number(extent.bytes()), number(memory.bytes));
  if (!extent.isWithin(address - base, memory.bytes))
    return makeExceeds(role, memory.what, extent, address - base, memory.bytes);
  return Status();
}

extern "C" {

void gpuasync_call_arrays_push(gpuasync_call_arrays *arrays) noexcept {
  if (!arrays)
    return;
  arrays->outer = callArrays;
  callArrays = arrays;
}

void gpuasync_call_arrays_pop() noexcept {
  if (callArrays)
    callArrays = callArrays->outer;
}

gpuasync_status *gpuasync_host_memory_add(const void *pointer, uint64_t bytes,
                                          const char *what,
                                          const char *place) noexcept {
  if (Status status = checkRefusal(); !status.ok())
    return status.release();
  auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!pointer || bytes > UINT64_MAX - address)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "%s: %llu bytes at %p",
                      what ? what : "host memory",
                      static_cast<unsigned long long>(bytes), pointer)
        .release();
  try {
    Table &known = table();
    std::lock_guard<std::mutex> lock(known.mutex);
    for (auto old = known.find(address, bytes ? bytes : 1);
         old != known.known.end(); old = known.find(address, bytes ? bytes : 1))
      known.known.erase(old);
    // Should there be no memory for it, then for this one only.
    knownHostMemory.store(known.known.size(), std::memory_order_release);
    known.known[address] = {bytes, what ? what : "host memory", place};
    knownHostMemory.store(known.known.size(), std::memory_order_release);
    return nullptr;
  } catch (const std::bad_alloc &) {
    return outOfMemoryStatus().release();
  }
}

void gpuasync_host_memory_remove(const void *pointer) noexcept {
  if (!knownHostMemory.load(std::memory_order_acquire) ||
      (refusal.load(std::memory_order_relaxed) & RefuseForked))
    return;
  Table &known = table();
  uint64_t bytes = 0;
  {
    std::lock_guard<std::mutex> lock(known.mutex);
    auto entry = known.known.find(reinterpret_cast<uintptr_t>(pointer));
    if (entry == known.known.end())
      return;
    bytes = entry->second.bytes;
    known.known.erase(entry);
    knownHostMemory.store(known.known.size(), std::memory_order_release);
  }
  gpuasync_host_memory_changed(pointer, bytes);
}

int32_t gpuasync_host_memory_find(const void *address, uint64_t bytes,
                                  const void **pointer, uint64_t *knownBytes,
                                  const char **what,
                                  const char **place) noexcept {
  if (!knownHostMemory.load(std::memory_order_acquire) ||
      (refusal.load(std::memory_order_relaxed) & RefuseForked))
    return 0;
  Table &known = table();
  std::lock_guard<std::mutex> lock(known.mutex);
  auto entry = known.find(reinterpret_cast<uintptr_t>(address), bytes);
  if (entry == known.known.end())
    return 0;
  if (pointer)
    *pointer = reinterpret_cast<const void *>(entry->first);
  if (knownBytes)
    *knownBytes = entry->second.bytes;
  if (what)
    *what = entry->second.what;
  if (place)
    *place = entry->second.place;
  return 1;
}
}
