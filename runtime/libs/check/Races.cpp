//===- Races.cpp - Accesses that nothing orders ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares an access of a kernel with those that a cell holds. This is what a
// checked program spends its time with.
//===----------------------------------------------------------------------===//

#include "Checker.h"

#include <algorithm>

using namespace gpuasync::check;

/// Whether `other` ends before the block's operation starts.
bool Block::follows(OpIndex other) {
  OpIndex &entry = earlier[other % 16];
  if (entry == other)
    return true;
  if (!checker->order.before(other, op))
    return false;
  entry = other;
  return true;
}

/// Whether two accesses of the same bytes, of which not both read and not both
/// are atomic, have no order.
static bool isRace(const Slot &access, const Slot &other, Block &block,
                   Kind &kind, const Allocation *allocation) {
  const Block::Thread &thread = block.thread[access.thread()];
  bool outside = thread.acquiredOutside || block.outsideEpoch < access.epoch();
  if (other.op != access.op) {
    kind = Kind::RaceOps;
    return !block.follows(other.op) && !outside &&
           !block.checker->order.before(access.op, other.op);
  }
  if (allocation && other.block != access.block) {
    kind = Kind::RaceBlocks;
    return !outside;
  }
  kind = Kind::RaceThreads;
  return other.thread() != access.thread() && other.epoch() == access.epoch() &&
         block.allEpochs && !thread.acquiredInside;
}

/// An atomic that sees another's shows what came before that one.
static void acquire(const Slot &access, const Slot &other, Block &block) {
  Block::Thread &thread = block.thread[access.thread()];
  if (other.op == access.op && other.block == access.block) {
    thread.acquiredInside = true;
    return;
  }
  thread.acquiredOutside = true;
  block.outsideEpoch = std::min<uint32_t>(block.outsideEpoch, access.epoch());
  if (other.op != access.op)
    block.checker->order.acquire(other.op, access.op);
}

/// The slot that a new access takes in a full cell. What came before the
/// block's last barrier goes first: only another block or operation can race
/// with it.
static Slot *displaced(Cell &cell, const Slot &access, Block &block) {
  for (unsigned i = 0; i < 4; ++i) {
    Slot &slot = cell.slots[(block.victim + i) % 4];
    if (slot.op == access.op && slot.block == access.block &&
        slot.epoch() == access.epoch())
      continue;
    block.victim += i + 1;
    return &slot;
  }
  return &cell.slots[block.victim++ % 4];
}

/// Does what Checker::check does for an access that surely races with nothing
/// and learns nothing; false, and nothing is done, for any other.
static bool checkQuickly(Cell &cell, const Slot &access, Block &block) {
  Slot *same = nullptr, *hidden = nullptr, *unused = nullptr;
  const Slot *reader = nullptr;
  bool covered = false;
  const uint64_t mine = access.bits;
  for (Slot &other : cell.slots) {
    const uint64_t bits = other.load(), difference = bits ^ mine;
    if (!(bits & mine & Slot::maskBits)) {
      if (!(bits & ~Slot::busy))
        unused = &other;
      continue;
    }
    const bool race = ((bits | mine) & GPUASYNC_CHECK_WRITE) &&
                      !(bits & mine & GPUASYNC_CHECK_ATOMIC);
    // Whether this one stands for the other from now on.
    bool hides =
        !(difference & (Slot::maskBits | GPUASYNC_CHECK_ATOMIC)) &&
        ((mine & GPUASYNC_CHECK_WRITE) || !(bits & GPUASYNC_CHECK_WRITE));
    if (other.op != access.op) {
      if (block.earlier[other.op % 16] != other.op)
        return false;
    } else if (other.block != access.block) {
      if (race)
        return false;
      hides = false;
    } else if (!(difference & Slot::threadBits)) {
      // Its own write between the same barriers says more than this read.
      if (!(difference & (Slot::maskBits | GPUASYNC_CHECK_ATOMIC))) {
        if (hides)
          same = &other;
        else
          covered |= !(difference & Slot::epochBits);
      }
      continue;
    } else if (!(difference & Slot::epochBits)) {
      if (race)
        return false;
      hides = false;
    }
    if (hides)
      hidden = &other;
    // What races with this read, now or later, races with one of two others:
    // of two threads between the same barriers, or of two blocks.
    if (!(difference & (Slot::maskBits | Slot::flagBits)) &&
        !(mine & (GPUASYNC_CHECK_WRITE | GPUASYNC_CHECK_ATOMIC)) &&
        other.op == access.op &&
        (other.block != access.block || !(difference & Slot::epochBits))) {
      if (reader &&
          (reader->block != other.block || other.block == access.block))
        covered = true;
      reader = &other;
    }
  }
  if (covered && !same)
    return true;
  Slot *slot = same ? same : hidden ? hidden : unused;
  if (!slot)
    slot = displaced(cell, access, block);
  slot->op = access.op;
  slot->block = access.block;
  slot->store(mine | (slot->load() & Slot::busy));
  return true;
}

void Checker::check(Cell &cell, const Slot &access, bool observed, Block &block,
                    uintptr_t address, const Allocation *allocation) {
  if (allocation)
    cell.lock();
  if (__builtin_expect(!observed && checkQuickly(cell, access, block), 1)) {
    if (allocation)
      cell.unlock();
    return;
  }
  Slot *slot = nullptr, racing[4], seen[4];
  Kind kinds[4];
  unsigned races = 0, acquired = 0;
  bool covered = false;
  const uint8_t mask = access.mask();
  const bool writes = access.writes(), atomic = access.atomic();
  for (Slot &other : cell.slots) {
    if (!other.used()) {
      slot = slot && slot->used() ? slot : &other;
      continue;
    }
    if (!(other.mask() & mask))
      continue;
    const bool sameBlock = other.op == access.op && other.block == access.block;
    if (sameBlock && other.thread() == access.thread()) {
      // One entry stands for what a thread does to the same bytes.
      if (other.mask() == mask && other.atomic() == atomic) {
        if (writes || !other.writes())
          slot = &other;
        else
          covered |= other.epoch() == access.epoch();
      }
      continue;
    }
    if (observed && other.atomic() && other.writes())
      seen[acquired++] = other;
    if ((writes || other.writes()) && !(atomic && other.atomic()) &&
        isRace(access, other, block, kinds[races], allocation)) {
      racing[races++] = other;
      continue;
    }
    // What comes before this one and is hidden by it makes room.
    if (other.mask() == mask && (writes || !other.writes()) &&
        (!slot || !slot->used()) && atomic == other.atomic() &&
        (other.op != access.op ? block.follows(other.op)
                               : sameBlock && other.epoch() != access.epoch()))
      slot = &other;
  }
  // Only what follows this one is ordered by it: it might have come first.
  for (unsigned i = 0; i < acquired; ++i)
    acquire(access, seen[i], block);
  if (!covered) {
    if (!slot)
      slot = displaced(cell, access, block);
    slot->op = access.op;
    slot->block = access.block;
    slot->store(access.bits | (slot->load() & Slot::busy));
  }
  if (allocation)
    cell.unlock();
  for (unsigned i = 0; i < races; ++i)
    reportRace(
        kinds[i], access.unpack(), racing[i].unpack(),
        address + static_cast<unsigned>(__builtin_ctz(mask & racing[i].mask())),
        allocation);
}
