//===- Host.cpp - What instrumented host code calls -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses of host code, and the host memory that it allocates. Its bounds are
// in the runtime's own table (gpuasync/Memory.h), beside those of memory that
// the program was given.
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "gpuasync/Context.h"
#include "gpuasync/Memory.h"

using namespace gpuasync::check;

/// What host code allocates is called, by this address.
static const char ownMemory[] = "host memory";

namespace {
/// Memory that host code may touch all of, and nothing beyond when it has a
/// pointer to it.
struct Bounds {
  uintptr_t base;
  uint64_t bytes;
  const char *what;
  const gpuasync_site *site; ///< of an allocation of the runtime's
  const char *place;         ///< of the host's own

  bool contains(uintptr_t address, uint64_t count) const {
    uint64_t offset = address - base;
    return offset <= bytes && count <= bytes - offset;
  }
  std::string from() const { return site ? placeOf(site) : siteLine(place, 0); }
  /// "at byte -4 of 16 bytes of host memory".
  std::string position(uintptr_t address) const {
    return "at byte " + std::to_string(static_cast<int64_t>(address - base)) +
           " of " + std::to_string(bytes) + " bytes of " + what;
  }
};
} // namespace

/// What of the program's allocations `address` lies in. Registering host memory
/// says nothing of where it ends.
static Allocation *findAllocation(uintptr_t address) {
  Allocation *found = Checker::get().find(address);
  return found && !found->released &&
                 (found->kind == MemoryKind::Device ||
                  found->kind == MemoryKind::HostShared)
             ? found
             : nullptr;
}

/// What `bytes` at `address` begin in; false if it is not known.
static bool findBounds(uintptr_t address, uint64_t bytes, Bounds &out) {
  if (Allocation *allocation = findAllocation(address)) {
    out = {allocation->base, allocation->bytes, allocation->describe(),
           allocation->site, nullptr};
    return true;
  }
  const void *base = nullptr;
  if (!gpuasync_host_memory_find(reinterpret_cast<void *>(address), bytes,
                                 &base, &out.bytes, &out.what, &out.place))
    return false;
  out.base = reinterpret_cast<uintptr_t>(base);
  return true;
}

/// "write of 4 bytes".
static std::string describe(uint64_t access) {
  return std::string(access & GPUASYNC_CHECK_WRITE ? "write" : "read") +
         " of " + std::to_string(access >> 8) + " bytes";
}

static void reportHost(Kind kind, const char *site, const std::string &text,
                       const std::string &from,
                       const char *note = "allocated here") {
  std::string place = siteLine(site, 0);
  Checker::get().report(kind, place, from,
                        errorAt(place, text + " in " + siteLine(site, 2)) +
                            (from.empty() ? "" : noteAt(from, note)));
}

/// The host may poll what kernels write: it knows then what they did.
static void acquire(Allocation &allocation, uintptr_t address, uint64_t bytes) {
  Checker &checker = Checker::get();
  forCells(address, bytes, [&](uintptr_t at, uint8_t mask) {
    Cell *cell = allocation.shadow.existing(at);
    if (!cell)
      return;
    OpIndex seen[4] = {};
    cell->lock();
    for (unsigned i = 0; i < 4; ++i)
      if (cell->slots[i].writes() && (cell->slots[i].mask() & mask))
        seen[i] = cell->slots[i].op;
    cell->unlock();
    for (OpIndex op : seen)
      if (op)
        checker.order.acquireOnHost(op);
  });
}

/// A copy or fill that the thread is about to enqueue and that begins outside
/// of its memory. Without a destructor: threads copy while they end, too.
static thread_local struct NextCopy {
  const char *site; ///< null: none
  uintptr_t address;
  Bounds bounds;
} nextCopy;

bool gpuasync::check::mayCopy(bool isEmpty) {
  const char *site = nextCopy.site;
  if (__builtin_expect(!site, 1))
    return true;
  nextCopy.site = nullptr;
  if (!isEmpty && !gpuasync_process_forked())
    reportHost(Kind::Bounds, site,
               "out of bounds: " + siteLine(site, 1) + " begins " +
                   nextCopy.bounds.position(nextCopy.address),
               nextCopy.bounds.from());
  return isEmpty;
}

extern "C" {

void *gpuasync_check_host(void *pointer, void *base, uint64_t access,
                          const char *site) noexcept {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  uint64_t bytes = access >> 8;
  if (!bytes || gpuasync_process_forked())
    return pointer;
  if (address < 4096) {
    reportHost(Kind::HostMemory, site, "null pointer: " + describe(access), "");
    return nullptr;
  }
  Bounds bounds = {};
  if ((findBounds(reinterpret_cast<uintptr_t>(base), 1, bounds) ||
       findBounds(address, bytes, bounds)) &&
      !bounds.contains(address, bytes)) {
    reportHost(Kind::Bounds, site,
               "out of bounds: " + describe(access) + " " +
                   bounds.position(address),
               bounds.from());
    return nullptr;
  }
  Allocation *allocation = findAllocation(address);
  if (!allocation)
    return pointer;
  if (allocation->kind == MemoryKind::Device) {
    // It is done: here it works.
    reportHost(Kind::HostTouchesDevice, site,
               "host code touches device memory: " + describe(access),
               placeOf(allocation->site));
    return pointer;
  }
  if (OpIndex freed = allocation->freedBy) {
    reportHost(Kind::Freed, site,
               std::string("use of freed ") + allocation->describe() + ": " +
                   describe(access),
               placeOf(Checker::get().order.at(freed).site), "freed here");
    return nullptr;
  }
  if (access & GPUASYNC_CHECK_READ)
    acquire(*allocation, address, bytes);
  return pointer;
}

void *gpuasync_check_host_pointer(void *address, void *base, uint64_t access,
                                  const char *site) noexcept {
  void *allowed = gpuasync_check_host(address, base, access, site);
  return allowed ? allowed : nowhere(access >> 8, address);
}

void gpuasync_check_start_of(void *pointer, void *base,
                             const char *site) noexcept {
  if (gpuasync_process_forked())
    return;
  auto address = reinterpret_cast<uintptr_t>(pointer);
  Bounds bounds = {};
  if (!findBounds(reinterpret_cast<uintptr_t>(base), 1, bounds) ||
      bounds.contains(address, 0))
    return;
  nextCopy = {site, address, bounds};
}

void gpuasync_check_host_alloc(void *address, uint64_t bytes,
                               const char *site) noexcept {
  if (address)
    gpuasync_status_free(
        gpuasync_host_memory_add(address, bytes, ownMemory, site));
}

void *gpuasync_check_host_free(void *pointer, const char *site) noexcept {
  if (gpuasync_process_forked())
    return pointer;
  auto address = reinterpret_cast<uintptr_t>(pointer);
  if (Allocation *allocation = findAllocation(address)) {
    reportHost(Kind::HostMemory, site,
               std::string("host code frees ") + allocation->describe() +
                   " as if it were its own",
               placeOf(allocation->site));
    return nullptr;
  }
  const char *what = nullptr;
  const void *base = nullptr;
  uint64_t bytes = 0;
  if (pointer &&
      gpuasync_host_memory_find(pointer, 1, &base, &bytes, &what, nullptr)) {
    if (what != ownMemory) {
      reportHost(Kind::HostMemory, site,
                 std::string("host code frees what it was given: ") + what, "");
      return nullptr;
    }
    Checker::get().forgetReads(reinterpret_cast<uintptr_t>(base), bytes);
  }
  gpuasync_host_memory_remove(pointer);
  return pointer;
}
}
