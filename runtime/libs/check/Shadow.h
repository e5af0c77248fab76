//===- Shadow.h - Who touched which bytes -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each 8 bytes of memory a cell of up to four accesses, 64 bytes, in pages
// that are made when a kernel first touches them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_CHECK_SHADOW_H
#define GPUASYNC_LIBS_CHECK_SHADOW_H

#include "Order.h"
#include "gpuasync/Check.h"

namespace gpuasync {
namespace check {

/// Who accessed some bytes, and how.
struct Access {
  OpIndex op = 0;
  uint32_t block = 0;         ///< number in the grid, x fastest
  const char *site = nullptr; ///< null: the op itself
  uint16_t thread = 0;        ///< number in the block, x fastest
  uint16_t epoch = 0;         ///< barriers that the thread has come to
  uint8_t mask = 0;           ///< bytes of the cell
  uint8_t flags = 0;          ///< gpuasync_check_flags; 0: no access

  bool writes() const { return flags & GPUASYNC_CHECK_WRITE; }
  bool atomic() const { return flags & GPUASYNC_CHECK_ATOMIC; }
};

/// \name Numbers of sites, which are less than their addresses. 0 is null. The
/// sites beyond the first million share the last number. Thread safe.
/// @{
uint32_t numberOfSite(const char *site);
const char *siteOfNumber(uint32_t number);
/// @}

/// An access in 16 bytes. From the lowest bit: flags 3, mask 8, epoch 16,
/// thread 16, site 20; the highest bit is the cell's lock.
struct Slot {
  OpIndex op = 0;
  uint32_t block = 0;
  uint64_t bits = 0; ///< no access if all but the lock is 0

  static constexpr uint64_t flagBits = 7, maskBits = uint64_t(0xff) << 3,
                            epochBits = uint64_t(0xffff) << 11,
                            threadBits = uint64_t(0xffff) << 27,
                            busy = uint64_t(1) << 63;
  static constexpr uint32_t maxSites = 1u << 20;
  static uint64_t pack(uint32_t site, uint32_t thread, uint32_t epoch,
                       uint32_t mask, uint32_t flags) {
    return uint64_t(site) << 43 | uint64_t(thread) << 27 |
           uint64_t(epoch) << 11 | uint64_t(mask) << 3 | (flags & 7);
  }
  Slot() = default;
  Slot(OpIndex op, uint32_t block, uint64_t bits)
      : op(op), block(block), bits(bits) {}
  Slot(const Slot &other) : Slot(other.op, other.block, other.load()) {}
  Slot &operator=(const Slot &other) {
    op = other.op;
    block = other.block;
    store(other.load());
    return *this;
  }
  /// Who holds the lock has the slot, but others try its bit meanwhile.
  uint64_t load() const { return __atomic_load_n(&bits, __ATOMIC_RELAXED); }
  void store(uint64_t value) {
    __atomic_store_n(&bits, value, __ATOMIC_RELAXED);
  }
  bool used() const { return load() & ~busy; }
  bool writes() const { return load() & GPUASYNC_CHECK_WRITE; }
  bool atomic() const { return load() & GPUASYNC_CHECK_ATOMIC; }
  uint8_t flags() const { return load() & 7; }
  uint8_t mask() const { return static_cast<uint8_t>(load() >> 3); }
  uint16_t epoch() const { return static_cast<uint16_t>(load() >> 11); }
  uint16_t thread() const { return static_cast<uint16_t>(load() >> 27); }
  uint32_t site() const { return load() >> 43 & (maxSites - 1); }
  Access unpack() const;
};

struct alignas(64) Cell {
  Slot slots[4];

  void lock() {
    while (__atomic_fetch_or(&slots[0].bits, Slot::busy, __ATOMIC_ACQUIRE) &
           Slot::busy) {
    }
  }
  void unlock() {
    __atomic_store_n(&slots[0].bits, slots[0].load() & ~Slot::busy,
                     __ATOMIC_RELEASE);
  }
};
static_assert(sizeof(Cell) == 64, "one line of the processor's cache");

/// Shadow of one allocation.
class Shadow {
public:
  static constexpr uint64_t pageCells = 512, pageBytes = pageCells * 8;

  /// For memory at `base`. Nothing is allocated before it is touched.
  Shadow(uintptr_t base, uint64_t bytes);
  /// The cell of an address in the memory; null if the machine has no memory
  /// for it. Thread safe, as are the others.
  Cell *cell(uintptr_t address) {
    uint64_t number = (address >> 3) - first;
    std::atomic<Cell *> *pages = this->pages.load(std::memory_order_acquire);
    Cell *cells =
        pages ? pages[number / pageCells].load(std::memory_order_acquire)
              : nullptr;
    if (__builtin_expect(!cells, 0) && !(cells = make(number / pageCells)))
      return nullptr;
    return cells + number % pageCells;
  }
  /// Null if no kernel has touched the page.
  Cell *existing(uintptr_t address) const;
  /// Gives the pages back. Who comes later makes new ones.
  void clear();

private:
  Cell *make(uint64_t page);
  uint64_t cellsOf(uint64_t page) const;
  std::atomic<Cell *> *table();

  uint64_t first, cells;
  std::atomic<std::atomic<Cell *> *> pages{nullptr};
};

} // namespace check
} // namespace gpuasync

#endif // GPUASYNC_LIBS_CHECK_SHADOW_H
