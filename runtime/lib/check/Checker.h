//===- Checker.h - What is known of memory, and reports ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of libgpuasync_check.so: allocations with their shadow, the blocks
// that run, the reports.
//===----------------------------------------------------------------------===//
//
// Shadow: for each 8 bytes of memory a cell of up to four accesses, in pages
// that are made when a kernel first touches them; for copies, fills and frees,
// which touch much at once, a list of ranges per allocation. Two accesses are a
// race if their bytes overlap, one writes, not both are atomic, and neither
// comes before the other. The list of a cell is short, so races can be missed;
// what is reported is always a pair that nothing orders.
//
// Locks, in this order: Checker::mutex, Allocation::rangesMutex, Cell::lock,
// those of Order, Checker::reportMutex.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CHECK_CHECKER_H
#define GPUASYNC_CHECK_CHECKER_H

#include "Order.h"
#include "gpuasync/Check.h"

#include <map>
#include <set>
#include <string>

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

struct Cell {
  std::atomic<uint8_t> busy{0};
  uint8_t next = 0;        ///< which access the next one replaces
  uint8_t initialised = 0; ///< workgroup memory: bytes that were written
  uint32_t generation = 0; ///< workgroup memory: of which block
  Access accesses[4];

  void lock() {
    while (busy.exchange(1, std::memory_order_acquire)) {
    }
  }
  void unlock() { busy.store(0, std::memory_order_release); }
};

/// A copy, fill or free of `begin` to `end`.
struct Range {
  uintptr_t begin, end;
  Access access;
};

enum class MemoryKind { Device, HostShared, Registered, Global, Own };

/// Memory that kernels may touch. Never destroyed: stale pointers to it may be
/// looked at later.
struct Allocation {
  static constexpr uint64_t pageBytes = 1024, pageCells = pageBytes / 8;
  uintptr_t base = 0;
  uint64_t bytes = 0;
  MemoryKind kind = MemoryKind::Device;
  const gpuasync_site *site = nullptr; ///< where it was allocated
  const char *ownSite = nullptr;       ///< the same of kernels' own memory
  gpuasync_frame *frame = nullptr;
  uint32_t registrations = 0;
  /// What comes before it belongs to an earlier owner of the address; 0: none.
  OpIndex createdBy = 0;
  std::atomic<OpIndex> freedBy{0};
  std::atomic<bool> released{false}; ///< given back; may be another's by now
  std::unique_ptr<std::atomic<Cell *>[]> pages;
  std::mutex rangesMutex;
  std::vector<Range> ranges;
  std::atomic<uint32_t> rangeCount{0};

  bool contains(uintptr_t address) const {
    return address - base < (bytes ? bytes : 1);
  }
  Cell &cell(uintptr_t address);
  /// Null if no kernel has touched the page.
  Cell *existing(uintptr_t address) const;
  const char *describe() const;
};

/// The block that a thread runs.
struct Block {
  OpIndex op = 0;
  uint32_t number = 0;
  const gpuasync_cpu_block_ctx *ctx = nullptr;
  uintptr_t stackEnd = 0; ///< above all that its threads have on the stack
  uintptr_t workgroup = 0;
  uint64_t workgroupBytes = 0;
  uint64_t allBytes = 0; ///< with what threads keep over barriers
  uint32_t threads = 0;
  bool asserted = false; ///< a thread has ended early, and rightly so
  bool allEpochs = true; ///< false: more barriers than can be counted
  /// An atomic has shown a thread what others did before: of other blocks and
  /// operations, as seen by the block's threads after `outsideEpoch`, and of
  /// threads of this block.
  uint32_t outsideEpoch = UINT32_MAX;
  struct Thread {
    uint16_t epoch = 0;
    bool acquiredOutside = false, acquiredInside = false;
    const char *barrier = nullptr; ///< the last one
  };
  std::vector<Thread> thread;
  uint32_t generation = 0;
  std::vector<Cell> cells; ///< of workgroup memory
  std::vector<std::pair<const char *, uint16_t>> arrivals;
};

enum class Kind {
  Bounds,
  Freed,
  HostMemory,
  HostTouchesDevice,
  RaceThreads,
  RaceBlocks,
  RaceOps,
  Uninitialised,
  Barrier
};

class Checker {
public:
  static Checker &get();

  Order order;

  /// \name Memory
  /// @{
  Allocation *add(void *address, uint64_t bytes, MemoryKind kind,
                  const gpuasync_site *site, gpuasync_frame *frame,
                  const char *ownSite = nullptr, OpIndex createdBy = 0);
  /// The newest memory that contains the address, freed or not; null if none.
  Allocation *find(uintptr_t address);
  void registerHost(void *address, uint64_t bytes, const gpuasync_site *site);
  void unregisterHost(void *address);
  /// Frees it after the program's own order. Returns false if it is not ours to
  /// keep: unknown, or more than `keepBytes` are kept already.
  bool free(void *address, gpuasync_stream *stream, const gpuasync_site *site,
            uint64_t keepBytes);
  /// Really frees the oldest memory that nobody may use any more, until at most
  /// `keepBytes` are kept; with 0, all.
  void drain(gpuasync_frame *frame, uint64_t keepBytes);
  /// What a failed frame allocated is gone.
  void forget(gpuasync_frame *frame);
  /// An access of a copy or fill. False if it must not happen.
  bool accessRange(const void *address, uint64_t bytes, uint8_t flags,
                   OpIndex op);
  /// @}

  /// \name Reports
  /// @{
  /// Adds a report unless there is one of this kind at these places. The texts
  /// of the notes follow the first.
  void report(Kind kind, const std::string &where, const std::string &other,
              const std::string &text);
  void (*print)(void *user, const char *text) = nullptr;
  void *printUser = nullptr;
  std::atomic<uint64_t> found{0};
  uint64_t printed = 0;
  /// @}

  /// Tells of two accesses that nothing orders, the later-seen one first.
  void reportRace(Kind kind, const Access &access, const Access &other,
                  uintptr_t address, const Allocation *allocation);
  /// Compares an access with what a cell holds and puts it there.
  void check(Cell &cell, Access access, Block &block, uintptr_t address,
             const Allocation *allocation);

  std::atomic<const gpuasync_function *> lastFunction{nullptr};

private:
  void addRange(Allocation &allocation, uintptr_t begin, uintptr_t end,
                Access access);
  bool isRace(const Access &access, const Access &other, Block &block,
              Kind &kind, const Allocation *allocation);

  std::shared_mutex mutex;
  std::atomic<uint64_t> mapVersion{1};
  std::map<uintptr_t, Allocation *> allocations;
  std::vector<Allocation *> quarantine; ///< freed by the program, oldest first
  uint64_t quarantineBytes = 0;
  Allocation pageable; ///< ranges of all other host memory
  std::mutex reportMutex;
  std::set<std::string> reported;
};

/// Of the calling thread; null outside blocks.
extern thread_local Block *currentBlock;

/// "file:line:column" of an op, and what it is; "" where nothing is known.
std::string placeOf(const gpuasync_site *site);
/// "store of 4 bytes by block (0, 0, 0), thread (1, 0, 0) of kernel..." and the
/// place.
std::string describe(const Access &access);
std::string placeOf(const Access &access);
/// The three lines of a site.
std::string siteLine(const char *site, int line);
/// The kernel of a launch, as "k::@f".
std::string kernelOf(OpIndex op);
/// "block (0, 0, 0), thread (1, 0, 0)".
std::string position(const Op &op, uint32_t block, uint32_t thread);

} // namespace check
} // namespace gpuasync

#endif // GPUASYNC_CHECK_CHECKER_H
