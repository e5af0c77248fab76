//===- Checker.h - What is known of memory, and reports ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of libgpuasync_check.so: allocations with their shadow, the blocks
// that run, the reports.
//===----------------------------------------------------------------------===//
//
// Accesses of kernels are in cells (Shadow.h); for copies, fills and frees,
// which touch much at once, there is a list of ranges per allocation. Two
// accesses are a race if their bytes overlap, one writes, not both are atomic,
// and neither comes before the other. A cell holds four accesses, so races of
// kernels can be missed. A range is forgotten only when no race of it can be
// missed (Checker::forgetRanges). Each report is a pair that nothing orders.
//
// Locks, in this order: Checker::mutex, Allocation::rangesMutex, Cell::lock,
// those of Order, Checker::reportMutex.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_CHECK_CHECKER_H
#define GPUASYNC_LIBS_CHECK_CHECKER_H

#include "Shadow.h"
#include "shim/command/Extent.h"

#include <map>
#include <set>
#include <string>

namespace gpuasync {
namespace check {

/// A copy, fill or free of `begin` to `end`.
struct Range {
  uintptr_t begin, end;
  Access access;
};

/// An allocation forgets ranges that do not matter when it has this many.
constexpr size_t minRangeLimit = 64;
/// An allocation remembers at most this many, or copies would take time
/// quadratic in their number. More are outstanding only if the host enqueues as
/// many copies of different bytes before it waits.
constexpr size_t maxRanges = 1 << 14;

enum class MemoryKind { Device, HostShared, Registered, Global, Own };

/// Memory that kernels may touch. Never destroyed: stale pointers to it may be
/// looked at later.
struct Allocation {
  Allocation(uintptr_t base, uint64_t bytes)
      : base(base), bytes(bytes), shadow(base, bytes) {}

  const uintptr_t base;
  const uint64_t bytes;
  Allocation *older = nullptr; ///< the list of all that there ever were
  MemoryKind kind = MemoryKind::Device;
  const gpuasync_site *site = nullptr; ///< where it was allocated
  const char *ownSite = nullptr;       ///< the same of kernels' own memory
  gpuasync_context *context = nullptr;
  uint64_t frame = 0; ///< number of the frame that still owns it, or 0
  uint32_t registrations = 0;
  /// What comes before it belongs to an earlier owner of the address; 0: none.
  OpIndex createdBy = 0;
  std::atomic<OpIndex> freedBy{0};
  std::atomic<bool> released{false}; ///< given back; may be another's by now
  Shadow shadow;
  std::mutex rangesMutex;
  std::vector<Range> ranges;
  size_t rangeLimit = minRangeLimit; ///< ranges up to the next forgetRanges
  /// Counts changes of `ranges`; 0: there were none.
  std::atomic<uint64_t> rangeVersion{0};

  bool contains(uintptr_t address) const {
    return address - base < (bytes ? bytes : 1);
  }
  const char *describe() const;
};

class Checker;

/// The block that a thread runs.
struct Block {
  Checker *checker = nullptr;
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
  /// Of each cell the block that it is of, and which bytes were written.
  struct Written {
    uint32_t generation = 0;
    uint32_t mask = 0;
  };
  std::vector<Written> written;
  std::vector<std::pair<const char *, uint16_t>> arrivals;
  uint32_t victim = 0; ///< which access of a full cell is displaced

  /// \name What the operation's blocks on this thread found out
  /// @{
  /// Memory that the operation may touch: all of it, with nothing that races
  /// but what is in its cells. It holds while neither the map of memory nor the
  /// memory's ranges have changed.
  struct Known {
    Allocation *allocation = nullptr;
    uint64_t mapVersion = 0, rangeVersion = 0;
  };
  Known known[16];
  OpIndex earlier[16] = {}; ///< operations that come before
  struct Site {
    const char *site = nullptr;
    uint32_t number = 0;
  };
  Site sites[64];

  Known &knownOf(uintptr_t base) {
    return known[base * 0x9e3779b97f4a7c15 >> 60];
  }
  bool follows(OpIndex other);
  uint32_t siteNumber(const char *site) {
    Site &entry = sites[reinterpret_cast<uintptr_t>(site) / 16 % 64];
    if (__builtin_expect(entry.site != site, 0))
      entry = {site, numberOfSite(site)};
    return entry.number;
  }
  /// @}
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
  Barrier,
  Uniform
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
  /// What it allocates from here on is its own until it ends well.
  void enter(gpuasync_frame *frame);
  void leave(gpuasync_frame *frame);
  /// The newest memory that contains the address, freed or not; null if none.
  Allocation *find(uintptr_t address);
  void registerHost(void *address, uint64_t bytes, const gpuasync_site *site);
  void unregisterHost(void *address);
  /// The host has freed its memory: what was copied from it has been read.
  void forgetReads(uintptr_t address, uint64_t bytes);
  /// Frees it after the program's own order. Returns false if it is not ours to
  /// keep: unknown, or more than `keepBytes` are kept already.
  bool free(gpuasync_frame *frame, void *address, gpuasync_stream *stream,
            const gpuasync_site *site, uint64_t keepBytes);
  /// Really frees the oldest memory of the frame's context that nobody may use
  /// any more, until at most `keepBytes` are kept; or `all`, used or not.
  void drain(gpuasync_frame *frame, uint64_t keepBytes, bool all = false);
  /// A context that memory is kept of; null if there is none.
  gpuasync_context *keeper();
  /// What a failed frame allocated is gone.
  void forget(gpuasync_frame *frame);
  /// What a copy or fill may touch around its first element: the memory of that
  /// element, if nothing of the extent leaves it. Null if the copy must not
  /// happen, which is reported.
  Allocation *findWhole(const void *first, const Extent &extent, uint8_t flags,
                        OpIndex op);
  /// One contiguous piece of it.
  void accessRange(Allocation &allocation, const void *address, uint64_t bytes,
                   uint8_t flags, OpIndex op);
  uint64_t mapVersion() const {
    return version.load(std::memory_order_acquire);
  }
  /// @}

  /// \name Reports
  /// @{
  /// Where reports go from now on; there were none so far.
  void start(void (*print)(void *user, const char *text), void *user);
  /// Adds a report unless there is one of this kind at these places. The texts
  /// of the notes follow the first.
  void report(Kind kind, const std::string &where, const std::string &other,
              const std::string &text);
  /// How many different ones there were, and how many of them were not printed.
  uint64_t count(uint64_t *unprinted);
  /// @}

  /// Tells of two accesses that nothing orders, the later-seen one first.
  void reportRace(Kind kind, const Access &access, const Access &other,
                  uintptr_t address, const Allocation *allocation);
  /// Compares an access with what a cell holds and puts it there. Locks it
  /// unless it is of workgroup memory, which one thread of the host has to
  /// itself.
  void check(Cell &cell, const Slot &access, bool observed, Block &block,
             uintptr_t address, const Allocation *allocation);
  /// Warns once that memory for cells has run out, so races are missed.
  void noteNoShadow();

  std::atomic<const gpuasync_function *> lastFunction{nullptr};

private:
  /// Warns once that races are missed from here on.
  void noteMissedRaces(const char *why);
  /// Of memory that was given back, once nothing uses it any more.
  void clearShadows();
  void addRange(Allocation &allocation, uintptr_t begin, uintptr_t end,
                Access access);
  /// Removes the ranges with which nothing can race any more, and those for
  /// which the new access of `begin` to `end` stands in every later race.
  /// `rangesMutex` is held.
  void forgetRanges(Allocation &allocation, uintptr_t begin, uintptr_t end,
                    const Access &access);

  std::shared_mutex mutex;
  std::atomic<uint64_t> version{1};
  std::map<uintptr_t, Allocation *> allocations;
  Allocation *newest = nullptr;
  std::vector<Allocation *> quarantine; ///< freed by the program, oldest first
  uint64_t quarantineBytes = 0;
  std::vector<Allocation *> ending; ///< given back, but may still be used
  uint64_t frameCount = 0;
  std::unordered_map<gpuasync_frame *, uint64_t> frames; ///< their numbers
  Allocation pageable{0, 0}; ///< ranges of all other host memory
  std::mutex reportMutex;    ///< of what follows
  void (*print)(void *user, const char *text) = nullptr;
  void *printUser = nullptr;
  uint64_t found = 0, printed = 0;
  std::set<std::string> reported;
  bool missesRaces = false;
};

/// Of the calling thread; null outside blocks.
extern thread_local Block *currentBlock;

/// Whether the copy or fill that the thread enqueues may begin where
/// gpuasync_check_start_of said; tells of it if not.
bool mayCopy(bool isEmpty);

/// Zeros of the calling thread's, for an access that must not happen;
/// `otherwise` if they are too few.
void *nowhere(uint64_t bytes, void *otherwise);

/// Calls `visit(address of the cell, mask)` for the cells that an access
/// touches.
template <typename Visit>
void forCells(uintptr_t address, uint64_t bytes, Visit visit) {
  for (uintptr_t at = address, end = address + bytes; at < end;) {
    uintptr_t cell = at & ~uintptr_t(7);
    unsigned first = static_cast<unsigned>(at - cell);
    unsigned last = static_cast<unsigned>(end - cell < 8 ? end - cell : 8);
    visit(cell, static_cast<uint8_t>((0xffu << first) & (0xffu >> (8 - last))));
    at = cell + 8;
  }
}

/// Lines of a report.
std::string errorAt(const std::string &place, const std::string &text);
std::string noteAt(const std::string &place, const std::string &text);

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

#endif // GPUASYNC_LIBS_CHECK_CHECKER_H
