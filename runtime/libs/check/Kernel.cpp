//===- Kernel.cpp - What instrumented code calls --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses of kernels, barriers, the cpu driver's hooks.
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "gpuasync/Context.h"

#include <algorithm>
#include <string.h>

using namespace gpuasync::check;

thread_local Block *gpuasync::check::currentBlock = nullptr;

/// The launch that this thread enqueues; see Entries.cpp.
extern thread_local gpuasync::check::OpIndex gpuasyncCheckLaunch;
thread_local gpuasync::check::OpIndex gpuasyncCheckLaunch = 0;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void *gpuasync::check::nowhere(uint64_t bytes, void *otherwise) {
  alignas(64) static thread_local unsigned char memory[8192];
  if (bytes > sizeof(memory))
    return otherwise;
  memset(memory, 0, bytes);
  return memory;
}

static void *currentLaunch() {
  return reinterpret_cast<void *>(uintptr_t(gpuasyncCheckLaunch));
}

static void blockBegin(void *launch, const gpuasync_cpu_block_ctx *ctx,
                       void *workgroup, uint64_t workgroupBytes,
                       uint64_t bytes) {
  // Launches that did not come through our own entry are not checked.
  if (!launch)
    return;
  static thread_local Block block;
  auto op = static_cast<OpIndex>(reinterpret_cast<uintptr_t>(launch));
  if (block.op != op) {
    std::fill(std::begin(block.known), std::end(block.known), Block::Known());
    std::fill(std::begin(block.earlier), std::end(block.earlier), 0);
  }
  block.checker = &Checker::get();
  block.op = op;
  block.number = static_cast<uint32_t>(
      ctx->blockIdx[0] +
      ctx->gridDim[0] *
          (ctx->blockIdx[1] + ctx->gridDim[1] * ctx->blockIdx[2]));
  block.ctx = ctx;
  // The kernel is called from where this is. (Under AddressSanitizer the
  // caller's variables, such as ctx, need not be on the stack.)
  block.stackEnd = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  block.workgroup = reinterpret_cast<uintptr_t>(workgroup);
  block.workgroupBytes = workgroup ? workgroupBytes : 0;
  block.allBytes = workgroup ? bytes : 0;
  block.threads = static_cast<uint32_t>(ctx->blockDim[0] * ctx->blockDim[1] *
                                        ctx->blockDim[2]);
  block.asserted = false;
  block.allEpochs = true;
  block.outsideEpoch = UINT32_MAX;
  block.thread.assign(block.threads, Block::Thread());
  block.arrivals.clear();
  ++block.generation;
  if (block.cells.size() < block.workgroupBytes / 8 + 1) {
    block.cells = std::vector<Cell>(block.workgroupBytes / 8 + 1);
    block.written = std::vector<Block::Written>(block.cells.size());
  }
  currentBlock = &block;
}

/// "in block ..., thread ... of kernel ...".
static std::string inThread(const Block &block, uint32_t thread) {
  const Op &op = Checker::get().order.at(block.op);
  return "in " + position(op, block.number, thread) + " of kernel " +
         kernelOf(block.op);
}

static std::string launchNote(const Block &block) {
  std::string launched = placeOf(Checker::get().order.at(block.op).site);
  return launched.empty() ? "" : noteAt(launched, "launched here");
}

static void reportBarrier(const Block &block, const char *site,
                          uint32_t arrivedThread, uint32_t otherThread,
                          const char *otherSite) {
  std::string place = siteLine(site, 0);
  std::string other = siteLine(otherSite, 0);
  const Op &op = Checker::get().order.at(block.op);
  std::string text =
      errorAt(place, "barrier that not all threads of the block come to: " +
                         position(op, block.number, arrivedThread) +
                         " of kernel " + kernelOf(block.op) + " does");
  std::string who = position(op, block.number, otherThread);
  text += otherSite ? noteAt(other, who + " is at another barrier")
                    : noteAt(place, who + " ends without it");
  Checker::get().report(Kind::Barrier, place, "", text + launchNote(block));
}

static void blockEnd(void *) {
  Block *block = currentBlock;
  currentBlock = nullptr;
  if (!block || block->asserted)
    return;
  // Every thread has come to as many barriers as the one with the most.
  auto most = std::max_element(
      block->thread.begin(), block->thread.end(),
      [](const auto &a, const auto &b) { return a.epoch < b.epoch; });
  if (most == block->thread.end())
    return;
  for (size_t i = 0; i < block->thread.size(); ++i)
    if (block->thread[i].epoch != most->epoch)
      return reportBarrier(*block, most->barrier,
                           static_cast<uint32_t>(most - block->thread.begin()),
                           static_cast<uint32_t>(i), nullptr);
}

static const gpuasync_cpu_check_hooks hooks = {sizeof(hooks), currentLaunch,
                                               blockBegin, blockEnd};

//===----------------------------------------------------------------------===//
// Accesses of kernels
//===----------------------------------------------------------------------===//

namespace {
/// One access as it comes from a kernel.
struct Seen {
  Block &block;
  uintptr_t address, base;
  uint64_t bytes;
  uint8_t flags;
  const char *site;
  uint32_t thread;

  std::string what() const {
    return std::string(flags & GPUASYNC_CHECK_WRITE ? "write" : "read") +
           " of " + std::to_string(bytes) + " bytes";
  }
  uint32_t epoch() const { return block.thread[thread].epoch; }
  Slot slot() const {
    return {block.op, block.number,
            Slot::pack(block.siteNumber(site), thread, epoch(), 0, flags)};
  }
};
} // namespace

static void reportBounds(const Seen &seen, const std::string &text,
                         const Allocation *allocation) {
  std::string place = siteLine(seen.site, 0);
  std::string from = allocation ? placeOf(allocation->site) : "";
  Checker::get().report(
      Kind::Bounds, place, "",
      errorAt(place, "out of bounds: " + seen.what() + " " + text + ", " +
                         inThread(seen.block, seen.thread)) +
          (from.empty() ? "" : noteAt(from, "allocated here")) +
          launchNote(seen.block));
}

static void checkCell(const Seen &seen, Cell &cell, const Slot &access,
                      uint8_t mask, uintptr_t at,
                      const Allocation *allocation) {
  Slot part = access;
  part.bits |= uint64_t(mask) << 3;
  Checker::get().check(cell, part, seen.flags & GPUASYNC_CHECK_OBSERVED,
                       seen.block, at, allocation);
}

static void checkCells(const Seen &seen, Allocation &allocation) {
  const Slot access = seen.slot();
  forCells(seen.address, seen.bytes, [&](uintptr_t at, uint8_t mask) {
    if (Cell *cell = allocation.shadow.cell(at))
      checkCell(seen, *cell, access, mask, at, &allocation);
    else
      Checker::get().noteNoShadow();
  });
}

/// Whether the access may happen.
static bool checkWorkgroup(const Seen &seen) {
  Block &block = seen.block;
  uint64_t offset = seen.address - block.workgroup;
  if (offset >= block.workgroupBytes ||
      seen.bytes > block.workgroupBytes - offset) {
    reportBounds(seen,
                 "at byte " + std::to_string(static_cast<int64_t>(offset)) +
                     " of the block's " + std::to_string(block.workgroupBytes) +
                     " bytes of workgroup memory",
                 nullptr);
    return false;
  }
  const Slot access = seen.slot();
  bool uninitialised = false;
  forCells(seen.address, seen.bytes, [&](uintptr_t at, uint8_t mask) {
    const uint64_t number = (at - (block.workgroup & ~uintptr_t(7))) / 8;
    Block::Written &written = block.written[number];
    if (written.generation != block.generation) {
      written = {block.generation, 0};
      block.cells[number] = Cell();
    }
    if ((seen.flags & GPUASYNC_CHECK_READ) && (mask & ~written.mask))
      uninitialised = true;
    if (seen.flags & GPUASYNC_CHECK_WRITE)
      written.mask |= mask;
    checkCell(seen, block.cells[number], access, mask, at, nullptr);
  });
  if (uninitialised) {
    std::string place = siteLine(seen.site, 0);
    Checker::get().report(
        Kind::Uninitialised, place, "",
        errorAt(place, "read of uninitialised workgroup memory: byte " +
                           std::to_string(offset) + " of the block's " +
                           std::to_string(block.workgroupBytes) + ", " +
                           inThread(block, seen.thread)) +
            launchNote(block));
  }
  return true;
}

static void reportFreed(const Seen &seen, const Allocation &allocation,
                        bool ordered) {
  OpIndex by = allocation.freedBy;
  std::string place = siteLine(seen.site, 0);
  std::string freed = placeOf(Checker::get().order.at(by).site);
  std::string from = placeOf(allocation.site);
  Checker::get().report(
      Kind::Freed, place, freed,
      errorAt(place, std::string(ordered ? "use of freed "
                                         : "use that is not ordered before the "
                                           "free of ") +
                         allocation.describe() + ": " + seen.what() + " " +
                         inThread(seen.block, seen.thread)) +
          noteAt(freed, "freed here") +
          (from.empty() ? "" : noteAt(from, "allocated here")) +
          launchNote(seen.block));
}

/// What an allocation's copies and fills are to an access: those that nothing
/// orders are reported. True if all come before or after the whole operation.
static bool checkRanges(const Seen &seen, Allocation &allocation) {
  Block &block = seen.block;
  Order &order = Checker::get().order;
  bool allOrdered = true;
  std::vector<std::pair<Access, uintptr_t>> races;
  {
    std::lock_guard<std::mutex> lock(allocation.rangesMutex);
    for (const Range &range : allocation.ranges) {
      OpIndex other = range.access.op;
      if (other == block.op || block.follows(other) ||
          order.before(block.op, other))
        continue;
      allOrdered = false;
      // checkAccess reports a race with the free.
      if (other == allocation.freedBy)
        continue;
      if (range.begin < seen.address + seen.bytes && seen.address < range.end &&
          (range.access.writes() || (seen.flags & GPUASYNC_CHECK_WRITE)))
        races.push_back({range.access, std::max(range.begin, seen.address)});
    }
  }
  if (!block.thread[seen.thread].acquiredOutside &&
      block.outsideEpoch >= seen.epoch())
    for (auto &[other, at] : races) {
      Slot slot = seen.slot();
      slot.bits |= uint64_t(0xff) << 3;
      Checker::get().reportRace(Kind::RaceOps, slot.unpack(), other, at,
                                &allocation);
    }
  return allOrdered;
}

/// Whether it is surely an access as many before it, of which all but the cells
/// is known.
static bool isKnown(const Seen &seen, const Block::Known &known) {
  Allocation *allocation = known.allocation;
  return allocation && known.mapVersion == seen.block.checker->mapVersion() &&
         allocation->contains(seen.base) &&
         seen.address - allocation->base < allocation->bytes &&
         seen.bytes <= allocation->base + allocation->bytes - seen.address &&
         !allocation->freedBy.load(std::memory_order_acquire) &&
         known.rangeVersion ==
             allocation->rangeVersion.load(std::memory_order_acquire) &&
         (allocation->kind != MemoryKind::HostShared ||
          !(seen.flags & GPUASYNC_CHECK_OBSERVED));
}

/// Whether the access may happen.
static bool checkAccess(const Seen &seen) {
  Block &block = seen.block;
  Checker &checker = Checker::get();
  bool inWorkgroup = seen.address - block.workgroup < block.workgroupBytes ||
                     (seen.base != seen.address &&
                      seen.base - block.workgroup < block.workgroupBytes);
  if (inWorkgroup)
    return checkWorkgroup(seen);
  const uint64_t mapVersion = checker.mapVersion();
  auto onStack = [&](uintptr_t address) {
    return address >= reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) &&
           address < block.stackEnd;
  };
  if (onStack(seen.address) || seen.address - block.workgroup < block.allBytes)
    return true;
  Allocation *allocation = checker.find(seen.address);
  if (allocation && allocation->kind == MemoryKind::Registered &&
      allocation->freedBy &&
      checker.order.before(allocation->freedBy, block.op))
    allocation = nullptr; // no longer registered
  Allocation *expected =
      seen.base == seen.address ? allocation : checker.find(seen.base);
  for (Allocation *newer : {allocation, expected})
    if (newer && newer->createdBy &&
        checker.order.before(block.op, newer->createdBy))
      return true; // of whoever had the address before
  if (expected && expected != allocation &&
      expected->kind != MemoryKind::Registered) {
    reportBounds(seen,
                 "at byte " +
                     std::to_string(
                         static_cast<int64_t>(seen.address - expected->base)) +
                     " of " + std::to_string(expected->bytes) + " bytes of " +
                     expected->describe(),
                 expected);
    return false;
  }
  std::string place;
  if (!allocation) {
    place = siteLine(seen.site, 0);
    if (onStack(seen.base)) {
      reportBounds(seen, "of the thread's private memory", nullptr);
      return false;
    }
    char address[32];
    snprintf(address, sizeof(address), "0x%llx",
             static_cast<unsigned long long>(seen.address));
    checker.report(
        Kind::HostMemory, place, "",
        errorAt(place,
                (seen.address < 4096
                     ? std::string("null pointer: ")
                     : std::string("kernel touches host memory that is neither "
                                   "registered nor host-shared: ")) +
                    seen.what() + " at " + address + ", " +
                    inThread(block, seen.thread)) +
            launchNote(block));
    return false;
  }
  if (seen.bytes > allocation->base + allocation->bytes - seen.address) {
    reportBounds(seen,
                 "at byte " + std::to_string(seen.address - allocation->base) +
                     " of " + std::to_string(allocation->bytes) + " bytes of " +
                     allocation->describe(),
                 allocation);
    return false;
  }
  OpIndex freed = allocation->freedBy;
  if (freed && allocation->kind != MemoryKind::Registered)
    if (!checker.order.before(block.op, freed)) {
      bool ordered = checker.order.before(freed, block.op);
      if (ordered || !block.thread[seen.thread].acquiredOutside)
        reportFreed(seen, *allocation, ordered);
      if (ordered || allocation->released)
        return false;
    }
  if (allocation->kind == MemoryKind::Own)
    return true;
  // A kernel that looks at memory which the host writes may be told anything.
  if (allocation->kind == MemoryKind::HostShared &&
      (seen.flags & GPUASYNC_CHECK_OBSERVED)) {
    block.thread[seen.thread].acquiredOutside = true;
    block.outsideEpoch = std::min<uint32_t>(block.outsideEpoch, seen.epoch());
    checker.order.acquire(checker.order.host(), block.op);
  }
  // Ranges come after cells, as a copy puts its range there before it looks at
  // cells: one sees the other.
  checkCells(seen, *allocation);
  const uint64_t rangeVersion =
      allocation->rangeVersion.load(std::memory_order_acquire);
  bool allOrdered = !rangeVersion || checkRanges(seen, *allocation);
  if (allOrdered && expected == allocation && !freed)
    block.knownOf(seen.base) = {allocation, mapVersion, rangeVersion};
  return true;
}

/// The number of a thread in its block.
static uint32_t linearThread(const Block &block, uint32_t packed) {
  if (packed < 1024)
    return packed < block.threads ? packed : 0;
  const int64_t *sizes = block.ctx->blockDim;
  uint64_t x = packed & 1023, y = packed >> 10 & 1023, z = packed >> 20;
  uint64_t linear = x + static_cast<uint64_t>(sizes[0]) *
                            (y + static_cast<uint64_t>(sizes[1]) * z);
  return linear < block.threads ? static_cast<uint32_t>(linear) : 0;
}

/// Does all there is to do for what nearly all accesses are: within one cell of
/// memory that is known. False, and nothing is done, for any other.
static inline bool checkCommon(const Seen &seen) {
  Block &block = seen.block;
  const uintptr_t at = seen.address & ~uintptr_t(7);
  const uint64_t first = seen.address - at;
  if (seen.bytes > 8 - first)
    return false;
  const uint64_t mask = ((uint64_t(1) << seen.bytes) - 1) << first;
  const uint64_t offset = seen.address - block.workgroup;
  Cell *cell = nullptr;
  Allocation *allocation = nullptr;
  uint64_t rangeVersion = 0;
  if (offset < block.workgroupBytes) {
    if (seen.bytes > block.workgroupBytes - offset)
      return false;
    const uint64_t number = (at - (block.workgroup & ~uintptr_t(7))) / 8;
    Block::Written &written = block.written[number];
    if (written.generation != block.generation ||
        ((seen.flags & GPUASYNC_CHECK_READ) && (mask & ~written.mask)))
      return false;
    if (seen.flags & GPUASYNC_CHECK_WRITE)
      written.mask |= static_cast<uint32_t>(mask);
    cell = &block.cells[number];
  } else {
    const Block::Known &known = block.knownOf(seen.base);
    if (!isKnown(seen, known))
      return false;
    allocation = known.allocation;
    rangeVersion = known.rangeVersion;
    cell = allocation->shadow.cell(at);
    if (!cell)
      return false;
  }
  block.checker->check(
      *cell,
      {block.op, block.number,
       Slot::pack(block.siteNumber(seen.site), seen.thread, seen.epoch(),
                  static_cast<uint32_t>(mask), seen.flags)},
      seen.flags & GPUASYNC_CHECK_OBSERVED, block, at, allocation);
  if (allocation &&
      __builtin_expect(allocation->rangeVersion.load(
                           std::memory_order_acquire) != rangeVersion,
                       0))
    checkRanges(seen, *allocation);
  return true;
}

extern "C" {

void *gpuasync_check_access(void *address, void *base, uint64_t access,
                            const char *site, uint32_t thread) noexcept {
  Block *block = currentBlock;
  if (!block || !(access >> 8))
    return address;
  Seen seen = {*block,
               reinterpret_cast<uintptr_t>(address),
               reinterpret_cast<uintptr_t>(base),
               access >> 8,
               static_cast<uint8_t>(access),
               site,
               linearThread(*block, thread)};
  if (checkCommon(seen))
    return address;
  return checkAccess(seen) ? address : nullptr;
}

void *gpuasync_check_pointer(void *address, void *base, uint64_t access,
                             const char *site, uint32_t thread) noexcept {
  void *allowed = gpuasync_check_access(address, base, access, site, thread);
  return allowed ? allowed : nowhere(access >> 8, address);
}

void gpuasync_check_index(const char *site, uint32_t thread, uint32_t write,
                          uint64_t dimension, int64_t index, int64_t count,
                          int64_t size) noexcept {
  Block *block = currentBlock;
  std::string place = siteLine(site, 0);
  std::string text = std::string("out of bounds: ") +
                     (write ? "write" : "read") + " at index " +
                     std::to_string(index);
  if (count > 1)
    text += " to " + std::to_string(index + count - 1);
  text += " of dimension " + std::to_string(dimension) + ", whose size is " +
          std::to_string(size);
  if (!block) {
    Checker::get().report(Kind::Bounds, place, "",
                          errorAt(place, text + " in " + siteLine(site, 2)));
    return;
  }
  Checker::get().report(
      Kind::Bounds, place, "",
      errorAt(place,
              text + ", " + inThread(*block, linearThread(*block, thread))) +
          launchNote(*block));
}

void gpuasync_check_arrive(const char *site, uint32_t thread) noexcept {
  Block *block = currentBlock;
  if (!block)
    return;
  if (!site) {
    block->allEpochs = false;
    return;
  }
  uint32_t number = linearThread(*block, thread);
  Block::Thread &state = block->thread[number];
  if (state.epoch == UINT16_MAX) {
    block->allEpochs = false;
    return;
  }
  state.barrier = site;
  size_t epoch = state.epoch++;
  if (block->arrivals.size() <= epoch)
    block->arrivals.push_back({site, static_cast<uint16_t>(number)});
  auto [first, firstThread] = block->arrivals[epoch];
  if (first != site && siteLine(first, 0) != siteLine(site, 0)) {
    reportBarrier(*block, site, number, firstThread, first);
    // The threads are out of step for good.
    block->allEpochs = false;
  }
}

void gpuasync_check_assert(uint32_t condition) noexcept {
  if (!condition && currentBlock)
    currentBlock->asserted = true;
}

void gpuasync_check_own(void *address, uint64_t bytes, const char *site,
                        uint32_t shared) noexcept {
  if (gpuasync_process_forked())
    return;
  Checker &checker = Checker::get();
  MemoryKind kind = shared ? MemoryKind::Global : MemoryKind::Own;
  Allocation *known = checker.find(reinterpret_cast<uintptr_t>(address));
  if (!known || known->base != reinterpret_cast<uintptr_t>(address) ||
      known->bytes != bytes || known->kind != kind)
    checker.add(address, bytes, kind, nullptr, nullptr, site);
}

void gpuasync_cpu_check_barrier(const gpuasync_cpu_block_ctx *,
                                const char *file, uint32_t line,
                                uint32_t column, int64_t arrived,
                                int64_t expected) noexcept {
  Block *block = currentBlock;
  if (!block || arrived == expected || block->asserted)
    return;
  std::string place = std::string(file ? file : "") + ":" +
                      std::to_string(line) + ":" + std::to_string(column);
  Checker::get().report(
      Kind::Barrier, place, "",
      errorAt(place, "barrier that not all threads of the block come to: " +
                         std::to_string(arrived) + " of " +
                         std::to_string(expected) + " do, in block " +
                         std::to_string(block->number) + " of kernel " +
                         kernelOf(block->op)) +
          launchNote(*block));
  // One report is enough, and the threads are out of step for good.
  block->asserted = true;
  block->allEpochs = false;
}

void gpuasync_check_start(void (*report)(void *user, const char *text),
                          void *user) noexcept {
  if (gpuasync_process_forked())
    return;
  Checker::get().start(report, user);
  gpuasync_status *status = gpuasync_cpu_check_install(&hooks);
  if (status && report)
    report(user, gpuasync_status_get_message(status));
  gpuasync_status_free(status);
}

uint64_t gpuasync_check_finish(uint64_t *unprinted) noexcept {
  if (unprinted)
    *unprinted = 0;
  if (gpuasync_process_forked())
    return 0;
  Checker &checker = Checker::get();
  while (gpuasync_context *context = checker.keeper()) {
    gpuasync_status_free(gpuasync_scope_push(context));
    gpuasync_frame frame;
    bool entered = !gpuasync_frame_enter(&frame, checker.lastFunction);
    if (entered)
      checker.drain(&frame, 0, /*all=*/true);
    gpuasync_status_free(gpuasync_frame_leave(&frame));
    gpuasync_scope_pop();
    if (!entered)
      break;
  }
  return checker.count(unprinted);
}
}
