//===- Shadow.cpp - Who touched which bytes -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Shadow.h. Memory for cells comes in large pieces, which are never given
// back to the system: a kernel that nothing orders before the free of its
// memory may still look at them.
//===----------------------------------------------------------------------===//

#include "Shadow.h"

#include <new>
#include <stdlib.h>
#include <sys/mman.h>

using namespace gpuasync::check;

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

namespace {
struct Sites {
  std::mutex mutex;
  std::unordered_map<const char *, uint32_t> numbers;
  uint32_t count = 1;
  /// Read without the mutex, by who has the number from it. Most of it is
  /// never touched.
  const char **addresses =
      static_cast<const char **>(calloc(Slot::maxSites, sizeof(const char *)));
};
Sites &sites() {
  static Sites *sites = new Sites;
  return *sites;
}
} // namespace

uint32_t gpuasync::check::numberOfSite(const char *site) {
  if (!site)
    return 0;
  Sites &known = sites();
  if (!known.addresses)
    return 0;
  std::lock_guard<std::mutex> lock(known.mutex);
  auto [entry, isNew] = known.numbers.try_emplace(site, known.count);
  if (isNew) {
    if (known.count == Slot::maxSites) {
      entry->second = known.count - 1;
      return entry->second;
    }
    __atomic_store_n(&known.addresses[known.count++], site, __ATOMIC_RELEASE);
  }
  return entry->second;
}

const char *gpuasync::check::siteOfNumber(uint32_t number) {
  if (!number)
    return nullptr;
  return __atomic_load_n(&sites().addresses[number], __ATOMIC_ACQUIRE);
}

Access Slot::unpack() const {
  Access access;
  access.op = op;
  access.block = block;
  access.site = siteOfNumber(site());
  access.thread = thread();
  access.epoch = epoch();
  access.mask = mask();
  access.flags = flags();
  return access;
}

//===----------------------------------------------------------------------===//
// Memory for cells
//===----------------------------------------------------------------------===//

namespace {
/// Pieces of 1, 2, 4 ... 512 cells.
class Pieces {
public:
  /// Empty cells; null without memory.
  Cell *take(uint64_t cells) {
    unsigned kind = kindOf(cells);
    Cell *piece = nullptr;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (idle[kind].empty())
        return carve(uint64_t(1) << kind);
      piece = idle[kind].back();
      idle[kind].pop_back();
    }
    for (uint64_t i = 0; i < uint64_t(1) << kind; ++i) {
      // Who comes late may hold its lock.
      piece[i].lock();
      uint64_t held = piece[i].slots[0].bits & Slot::busy;
      for (Slot &slot : piece[i].slots)
        slot = Slot();
      piece[i].slots[0].bits = held;
      piece[i].unlock();
    }
    return piece;
  }

  void give(Cell *piece, uint64_t cells) {
    std::lock_guard<std::mutex> lock(mutex);
    idle[kindOf(cells)].push_back(piece);
  }

private:
  static constexpr uint64_t chunkBytes = 32u << 20;

  static unsigned kindOf(uint64_t cells) {
    return cells < 2 ? 0
                     : 64 - static_cast<unsigned>(__builtin_clzll(cells - 1));
  }

  Cell *carve(uint64_t cells) {
    if (left < cells) {
      void *chunk = mmap(nullptr, chunkBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (chunk == MAP_FAILED)
        return nullptr;
      madvise(chunk, chunkBytes, MADV_HUGEPAGE);
      next = static_cast<Cell *>(chunk);
      left = chunkBytes / sizeof(Cell);
    }
    Cell *piece = next;
    next += cells;
    left -= cells;
    return piece;
  }

  std::mutex mutex;
  std::vector<Cell *> idle[10];
  Cell *next = nullptr;
  uint64_t left = 0;
};
Pieces &pieces() {
  static Pieces *pieces = new Pieces;
  return *pieces;
}
} // namespace

//===----------------------------------------------------------------------===//
// Shadow
//===----------------------------------------------------------------------===//

Shadow::Shadow(uintptr_t base, uint64_t bytes)
    : first(base >> 3),
      cells(((base + (bytes ? bytes : 1) - 1) >> 3) - first + 1) {}

uint64_t Shadow::cellsOf(uint64_t page) const {
  uint64_t left = cells - page * pageCells;
  return left < pageCells ? left : pageCells;
}

std::atomic<Cell *> *Shadow::table() {
  std::atomic<Cell *> *known = pages.load(std::memory_order_acquire);
  if (known)
    return known;
  uint64_t count = (cells + pageCells - 1) / pageCells;
  auto *made = new (std::nothrow) std::atomic<Cell *>[count]();
  if (made &&
      !pages.compare_exchange_strong(known, made, std::memory_order_acq_rel)) {
    delete[] made;
    return known;
  }
  return made;
}

Cell *Shadow::make(uint64_t page) {
  std::atomic<Cell *> *pages = table();
  Cell *made = pages ? pieces().take(cellsOf(page)) : nullptr;
  Cell *known = nullptr;
  if (made && !pages[page].compare_exchange_strong(known, made,
                                                   std::memory_order_acq_rel)) {
    pieces().give(made, cellsOf(page));
    return known;
  }
  return made;
}

Cell *Shadow::existing(uintptr_t address) const {
  uint64_t number = (address >> 3) - first;
  std::atomic<Cell *> *known = pages.load(std::memory_order_acquire);
  Cell *made = known && number < cells
                   ? known[number / pageCells].load(std::memory_order_acquire)
                   : nullptr;
  return made ? made + number % pageCells : nullptr;
}

void Shadow::clear() {
  std::atomic<Cell *> *known = pages.load(std::memory_order_acquire);
  for (uint64_t page = 0; known && page * pageCells < cells; ++page)
    if (Cell *made = known[page].exchange(nullptr, std::memory_order_acq_rel))
      pieces().give(made, cellsOf(page));
}
