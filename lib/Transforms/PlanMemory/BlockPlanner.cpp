//===- BlockPlanner.cpp - which allocations share memory ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that share a slab are first those that may, and slabs are split where
// they would hold more than the program does.
//===----------------------------------------------------------------------===//

#include "BlockPlanner.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

#include <map>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::plan;

//===----------------------------------------------------------------------===//
// What else holds memory
//===----------------------------------------------------------------------===//

void BlockPlanner::findForeign() {
  llvm::DenseSet<Operation *> planned;
  for (Allocation &allocation : all)
    planned.insert(allocation.alloc);
  unsigned count = 0;
  for (Operation &op : *block.block)
    places[&op] = count++;
  for (Operation &op : *block.block) {
    if (auto done = order.doneAt.find(&op); done != order.doneAt.end())
      waits.push_back({placeOf(&op), &done->second});
    unsigned place = placeOf(&op), last = place;
    bool isForeign = false;
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      isForeign = !planned.contains(&op);
      last = count - 1;
      SmallVector<Operation *> frees;
      for (Operation *user : alloc.getMemref().getUsers())
        if (isa<DeallocOp>(user))
          frees.push_back(user);
      if (frees.size() == 1 && frees.front()->getBlock() == block.block)
        last = placeOf(frees.front());
    } else {
      isForeign = mayAllocate(&op, facts);
    }
    if (isForeign)
      foreign.push_back({place, last});
  }
  std::vector<int> changes(count + 1);
  std::vector<bool> begins(count + 1);
  for (const Foreign &each : foreign) {
    ++changes[each.first];
    --changes[each.last + 1];
    begins[each.first] = begins[each.last + 1] = true;
  }
  unsigned piece = 0;
  int open = 0;
  for (unsigned place = 0; place < count; ++place) {
    open += changes[place];
    if (begins[place] && place)
      ++piece;
    pieceOf.push_back(piece);
    pieces.resize(piece + 1, {place, place});
    pieces.back().second = place;
    hasForeign.resize(piece + 1);
    hasForeign[piece] = open > 0;
  }
}

//===----------------------------------------------------------------------===//
// Slabs
//===----------------------------------------------------------------------===//

/// What a function of Analysis/Memory/Packing* says of the members.
template <typename Result>
Result BlockPlanner::ask(Result (*function)(ArrayRef<int64_t>,
                                            ArrayRef<unsigned>,
                                            const Conflicts &),
                         ArrayRef<unsigned> members) const {
  unsigned count = members.size();
  SmallVector<int64_t> sizes;
  SmallVector<unsigned> depths;
  for (unsigned member : members) {
    const Allocation &allocation = all[member];
    sizes.push_back(std::max<int64_t>(allocation.bytes, 1));
    depths.push_back(
        allocation.users.empty() ? 0 : order.depths[allocation.firstUser]);
  }
  if (count == all.size())
    return function(sizes, depths, block.conflicts);
  Conflicts conflicts(count);
  for (unsigned i = 0; i < count; ++i)
    for (unsigned j = 0; j < count; ++j)
      if (block.conflicts.test(members[i], members[j]))
        conflicts.set(i, j);
  return function(sizes, depths, conflicts);
}

/// Whether all work of the block is waited for at its end anyway.
bool BlockPlanner::mayWaitAtEnd() const {
  Operation *end = block.block->getTerminator();
  if (block.block->getParentOp() != function.getOperation() ||
      !end->hasTrait<OpTrait::ReturnLike>() ||
      llvm::any_of(function.getResultTypes(), llvm::IsaPred<TokenType>))
    return false;
  // What is on a caller's stream is not waited for.
  return !function
              ->walk([](StreamExternalOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

/// A free that comes after work on several streams makes one wait for the
/// others; behind a host wait that covers them all, and at the end, none does.
void BlockPlanner::placeFree(Slab &slab) const {
  if (slab.stays()) {
    slab.freeBefore = all[slab.members.front()].dealloc;
    return;
  }
  llvm::BitVector users(order.items.size());
  Operation *lastFree = nullptr;
  for (unsigned member : slab.members) {
    const Allocation &allocation = all[member];
    for (Operation *user : allocation.users)
      users.set(order.numberOf.lookup(user));
    if (!lastFree || placeOf(lastFree) < placeOf(allocation.dealloc))
      lastFree = allocation.dealloc;
  }
  slab.freeBefore = lastFree;
  if (int last = users.find_last(); last >= 0)
    slab.lastUser = order.items[last];
  auto areDone = [&](const llvm::BitVector &done) {
    llvm::BitVector open = users;
    open.reset(done);
    return open.none();
  };
  for (Operation *op = lastFree; op; op = op->getPrevNode())
    if (auto done = order.doneAt.find(op); done != order.doneAt.end()) {
      if (areDone(done->second)) {
        slab.end = Slab::HostWait;
        return;
      }
      break;
    }
  if (!slab.lastUser)
    return;
  if (slab.lastUser->getBlock() == block.block) {
    unsigned last = order.numberOf.lookup(slab.lastUser);
    llvm::BitVector before = order.before[last];
    before.set(last);
    if (areDone(before)) {
      slab.end = Slab::LastUser;
      return;
    }
  }
  unsigned piece = pieceOf[placeOf(lastFree)];
  for (Operation *op = lastFree; op; op = op->getNextNode()) {
    if (pieceOf[placeOf(op)] != piece)
      return;
    if (auto done = order.doneAt.find(op);
        done != order.doneAt.end() && areDone(done->second)) {
      slab.freeBefore = op->getNextNode();
      slab.end = Slab::HostWait;
      return;
    }
  }
  if (!mayWaitAtEnd())
    return;
  slab.freeBefore = block.block->getTerminator();
  slab.end = Slab::NewHostWait;
}

Slab BlockPlanner::makeSlab(SmallVector<unsigned> members) const {
  Slab slab;
  slab.members = std::move(members);
  // The first part is that of constant sizes, if only of none.
  slab.parts.emplace_back();
  std::map<std::pair<int64_t, SmallVector<void *>>, unsigned> numbers;
  for (unsigned member : slab.members) {
    const Allocation &allocation = all[member];
    AllocOp alloc = allocation.alloc;
    unsigned part = 0;
    if (allocation.scale) {
      SmallVector<void *> sizes;
      for (Value size : alloc.getDynamicSizes())
        sizes.push_back(size.getAsOpaquePointer());
      auto [it, isNew] =
          numbers.try_emplace({allocation.scale, sizes}, slab.parts.size());
      if (isNew)
        slab.parts.emplace_back();
      part = it->second;
    }
    slab.parts[part].members.push_back(member);
  }
  for (Slab::Part &part : slab.parts)
    part.packing = ask(packBuffers, part.members);
  placeFree(slab);
  slab.first = placeOf(all[slab.members.front()].alloc);
  slab.last = placeOf(slab.freeBefore);
  if (!slab.stays())
    --slab.last;
  llvm::BitVector users(order.items.size());
  for (unsigned member : slab.members)
    for (Operation *user : all[member].users)
      users.set(order.numberOf.lookup(user));
  auto wait = llvm::partition_point(waits, [&](const auto &wait) {
    return wait.first < slab.last || users.test(*wait.second);
  });
  slab.gone = wait == waits.end() ? pieceOf.size() - 1 : wait->first;
  return slab;
}

/// Whether a slab can come after what the allocation comes after: it takes the
/// tokens of frees.
bool BlockPlanner::isInReach(const Allocation &allocation) const {
  return llvm::all_of(allocation.freesBefore.set_bits(), [&](unsigned free) {
    return order.items[free]->getParentRegion()->isAncestor(
        block.block->getParent());
  });
}

/// One slab for each memory space and set of frees to come after.
std::vector<Slab> BlockPlanner::makeSlabs() const {
  llvm::MapVector<Attribute, unsigned> spaces;
  std::map<Key, unsigned> numbers;
  std::vector<SmallVector<unsigned>> members;
  for (auto [number, allocation] : llvm::enumerate(all)) {
    if (!isInReach(allocation)) {
      members.push_back({unsigned(number)});
      continue;
    }
    AllocOp alloc = allocation.alloc;
    Attribute space = alloc.getMemref().getType().getMemorySpace();
    Key key{spaces.try_emplace(space, spaces.size()).first->second};
    for (unsigned free : allocation.freesBefore.set_bits())
      key.push_back(free);
    auto [it, isNew] = numbers.try_emplace(std::move(key), members.size());
    if (isNew)
      members.emplace_back();
    members[it->second].push_back(number);
  }
  std::vector<Slab> slabs;
  for (SmallVector<unsigned> &some : members)
    slabs.push_back(makeSlab(std::move(some)));
  return slabs;
}

//===----------------------------------------------------------------------===//
// How much is held
//===----------------------------------------------------------------------===//

/// The most that a sweep over intervals holds, and where it first does.
static int64_t
findPeak(ArrayRef<std::tuple<unsigned, unsigned, int64_t>> intervals,
         unsigned *where = nullptr) {
  // Ends are exclusive, and come first.
  std::vector<std::tuple<unsigned, bool, int64_t>> changes;
  for (auto [first, last, bytes] : intervals) {
    changes.push_back({first, true, bytes});
    changes.push_back({last + 1, false, -bytes});
  }
  llvm::sort(changes);
  int64_t held = 0, peak = 0;
  for (auto [place, begins, bytes] : changes) {
    held += bytes;
    if (where && held > peak)
      *where = place;
    peak = std::max(peak, held);
  }
  return peak;
}

/// The larger of two sets of allocations none of which may share bytes: those
/// in use at a time as the program is written, and those that are used at one
/// depth, since an op has more ops before it than each of these has.
int64_t BlockPlanner::getLeastHeld(ArrayRef<unsigned> members) const {
  std::vector<std::tuple<unsigned, unsigned, int64_t>> written, early;
  for (unsigned member : members) {
    const Allocation &allocation = all[member];
    if (allocation.users.empty())
      continue;
    written.push_back(
        {allocation.firstUser, allocation.lastUser, allocation.bytes});
    auto &[first, last, bytes] =
        early.emplace_back(order.items.size(), 0u, allocation.bytes);
    for (Operation *user : allocation.users) {
      unsigned depth = order.depths[order.numberOf.lookup(user)];
      first = std::min(first, depth);
      last = std::max(last, depth);
    }
  }
  return std::max(findPeak(written), findPeak(early));
}

/// Whether a free of another one has to come before it.
bool BlockPlanner::isAfterFree(const Allocation &allocation) const {
  const llvm::BitVector &before = allocation.beforeAlloc;
  return before.any() && llvm::any_of(all, [&](const Allocation &other) {
           return placeOf(other.dealloc) < placeOf(allocation.alloc) &&
                  llvm::all_of(
                      other.users,
                      [&](Operation *user) {
                        return before.test(order.numberOf.lookup(user));
                      });
         });
}

/// What the program may have allocated at a time, of constant sizes: all that
/// no free has to come before, which is all that is looked at with `atFirst`,
/// by its text, and what may be in use.
int64_t BlockPlanner::getMostHeld(bool atFirst) const {
  std::vector<std::tuple<unsigned, unsigned, int64_t>> written;
  int64_t bytesAtFirst = 0;
  for (const Allocation &allocation : all) {
    written.push_back({placeOf(allocation.alloc), placeOf(allocation.dealloc),
                       allocation.bytes});
    if (!isAfterFree(allocation))
      bytesAtFirst += allocation.bytes;
  }
  if (atFirst)
    return bytesAtFirst;
  unsigned count = all.size();
  return std::max({findPeak(written), bytesAtFirst,
                   getLeastHeld(llvm::to_vector(llvm::seq(0u, count)))});
}

/// Splits the largest slab that is held at a place and can be split there.
bool BlockPlanner::splitAtPeak(std::vector<Slab> &slabs, unsigned place) const {
  SmallVector<unsigned> there;
  for (auto [number, slab] : llvm::enumerate(slabs))
    if (!slab.stays() && slab.first <= place && slab.gone >= place)
      there.push_back(number);
  llvm::sort(there, [&](unsigned a, unsigned b) {
    return std::pair(slabs[b].getBytes(), a) <
           std::pair(slabs[a].getBytes(), b);
  });
  return llvm::any_of(there, [&](unsigned number) {
    return splitAround(slabs, number, place, place, /*inHalves=*/false);
  });
}

/// Of sizes that are not known here: all may be allocated at the same time.
bool BlockPlanner::mayPlanDynamic() const {
  return foreign.empty() && llvm::none_of(all, [&](const Allocation &one) {
           return one.scale && (isAfterFree(one) || !isInReach(one));
         });
}

/// In each piece the most that is held, by the text.
std::vector<int64_t> BlockPlanner::findMost(
    ArrayRef<std::tuple<unsigned, unsigned, int64_t>> held) const {
  std::vector<int64_t> changes(pieceOf.size() + 1), most(pieces.size());
  for (auto [first, last, bytes] : held) {
    changes[first] += bytes;
    changes[last + 1] -= bytes;
  }
  int64_t now = 0;
  for (auto [place, piece] : llvm::enumerate(pieceOf))
    most[piece] = std::max(most[piece], now += changes[place]);
  return most;
}

//===----------------------------------------------------------------------===//
// Slabs that hold too much
//===----------------------------------------------------------------------===//

/// Makes of a slab one of what is gone before `first`, one of what comes after
/// `last`, and one of what is held between; of what is all of one kind halves,
/// or nothing.
bool BlockPlanner::splitAround(std::vector<Slab> &slabs, unsigned number,
                               unsigned first, unsigned last,
                               bool inHalves) const {
  std::array<SmallVector<unsigned>, 3> groups;
  ArrayRef<unsigned> members = slabs[number].members;
  for (unsigned member : members) {
    bool isLater = placeOf(all[member].alloc) > last;
    bool isGone = placeOf(all[member].dealloc) < first;
    groups[isGone ? 0 : isLater ? 2 : 1].push_back(member);
  }
  if (llvm::any_of(groups, [&](ArrayRef<unsigned> group) {
        return group.size() == members.size();
      })) {
    if (!inHalves)
      return false;
    size_t half = members.size() / 2;
    groups = {SmallVector<unsigned>(members.take_front(half)),
              SmallVector<unsigned>(members.drop_front(half)),
              {}};
  }
  slabs.erase(slabs.begin() + number);
  for (SmallVector<unsigned> &group : groups)
    if (!group.empty())
      slabs.push_back(makeSlab(std::move(group)));
  return true;
}

/// Of each piece with foreign memory in which the slabs hold more than the
/// allocations did the slab that adds most to it is split, each at the one
/// of its pieces in which most is too much, the middle one of such. Whether
/// there was one.
bool BlockPlanner::splitInPieces(std::vector<Slab> &slabs) const {
  std::vector<std::tuple<unsigned, unsigned, int64_t>> before, after;
  for (const Allocation &allocation : all)
    before.push_back({placeOf(allocation.alloc), placeOf(allocation.dealloc),
                      allocation.bytes});
  for (const Slab &slab : slabs)
    after.push_back({slab.first, slab.last, slab.getBytes()});
  std::vector<int64_t> mostBefore = findMost(before),
                       mostAfter = findMost(after);
  std::map<unsigned, SmallVector<unsigned>> splits;
  for (unsigned piece = 0; piece < pieces.size(); ++piece) {
    if (!hasForeign[piece] || mostAfter[piece] <= mostBefore[piece])
      continue;
    auto [first, last] = pieces[piece];
    std::optional<unsigned> offender;
    std::pair<int64_t, int64_t> largest;
    for (auto [number, slab] : llvm::enumerate(slabs)) {
      if (slab.stays() || slab.first > last || slab.last < first)
        continue;
      std::vector<std::tuple<unsigned, unsigned, int64_t>> there;
      for (unsigned member : slab.members) {
        auto [from, to, bytes] = before[member];
        if (from <= last && to >= first)
          there.push_back({std::max(from, first), std::min(to, last), bytes});
      }
      std::pair<int64_t, int64_t> excess{slab.getBytes() - findPeak(there),
                                         slab.getBytes()};
      if (!offender || excess > largest) {
        offender = number;
        largest = excess;
      }
    }
    // What stays is held as before: one of the others is there.
    assert(offender && "a piece that only holds what stays");
    splits[*offender].push_back(piece);
  }
  // From behind, since what is split goes to the end.
  for (auto &[number, some] : llvm::reverse(splits)) {
    auto rank = [&, &some = some](unsigned piece) {
      int64_t beside = int64_t(piece) - some[some.size() / 2];
      return std::pair(mostAfter[piece] - mostBefore[piece], -std::abs(beside));
    };
    auto [first, last] = pieces[*llvm::max_element(
        some, [&](unsigned a, unsigned b) { return rank(a) < rank(b); })];
    splitAround(slabs, number, first, last, /*inHalves=*/true);
  }
  return !splits.empty();
}

std::vector<Slab> BlockPlanner::plan() {
  // No sum of sizes is too large from here on.
  int64_t bytes = 0;
  for (const Allocation &allocation : all)
    if (llvm::AddOverflow(bytes, allocation.bytes, bytes)) {
      whyNot = "their bytes add up to 2^63 or more";
      return {};
    }
  if (places.empty())
    findForeign();
  if (block.hasDynamic() && !mayPlanDynamic()) {
    whyNot = "of sizes that are known at run time more might be held";
    return {};
  }
  int64_t most = getMostHeld(/*atFirst=*/block.hasDynamic());
  std::vector<Slab> slabs = makeSlabs();
  whyNot = "each needs a slab of its own";
  while (slabs.size() < all.size()) {
    whyNot = "a plan might hold more than the program does";
    if (splitInPieces(slabs))
      continue;
    // By tokens and host waits, whatever the text says.
    unsigned place = 0;
    if (getPeak(slabs, &place) <= most) {
      llvm::sort(slabs, [](const Slab &a, const Slab &b) {
        return a.members.front() < b.members.front();
      });
      return slabs;
    }
    if (!splitAtPeak(slabs, place))
      break;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Order for space
//===----------------------------------------------------------------------===//

int64_t BlockPlanner::getPeak(ArrayRef<Slab> slabs, unsigned *where) const {
  if (slabs.empty())
    return getMostHeld(block.hasDynamic());
  std::vector<std::tuple<unsigned, unsigned, int64_t>> held;
  for (const Slab &slab : slabs)
    held.push_back({slab.first, slab.gone, slab.getBytes()});
  return findPeak(held, where);
}

bool BlockPlanner::isSmaller(ArrayRef<Slab> slabs,
                             ArrayRef<Slab> others) const {
  int64_t bytes = getPeak(slabs), otherBytes = getPeak(others);
  if (!block.hasDynamic())
    return bytes < otherBytes;
  if (slabs.size() != others.size() || bytes > otherBytes)
    return false;
  bool isSmaller = bytes < otherBytes;
  for (auto [slab, other] : llvm::zip(slabs, others)) {
    if (slab.parts.size() != other.parts.size())
      return false;
    for (auto [part, otherPart] :
         llvm::drop_begin(llvm::zip(slab.parts, other.parts))) {
      if (part.packing.bytes > otherPart.packing.bytes)
        return false;
      isSmaller |= part.packing.bytes < otherPart.packing.bytes;
    }
  }
  return isSmaller;
}

std::vector<AddedWait> BlockPlanner::findOrder(ArrayRef<Slab> slabs,
                                               ArrayRef<unsigned> levels) {
  llvm::SaveAndRestore keptWhyNot(whyNot);
  auto planWith = [&](int64_t rise) {
    Conflicts conflicts = relaxConflicts(block, order, levels, rise);
    std::swap(conflicts, block.conflicts);
    std::vector<Slab> result = plan();
    std::swap(conflicts, block.conflicts);
    return result;
  };
  // With the order of the text, all of it; then with as little that makes
  // chains longer as takes no more bytes.
  int64_t all = -int64_t(levels.size()) - 1, none = levels.size() + 1;
  std::vector<Slab> best = planWith(all);
  if (best.empty() || !isSmaller(best, slabs))
    return {};
  constexpr size_t many = 1024;
  while (block.allocations.size() <= many && all + 1 < none) {
    int64_t rise = all + (none - all) / 2;
    std::vector<Slab> next = planWith(rise);
    if (next.empty() || isSmaller(best, next)) {
      none = rise;
    } else {
      all = rise;
      best = std::move(next);
    }
  }
  std::vector<std::pair<unsigned, unsigned>> sharing;
  for (const Slab &slab : best)
    for (const Slab::Part &part : slab.parts)
      for (unsigned i = 0; i < part.members.size(); ++i)
        for (unsigned j = 0; j < i; ++j) {
          unsigned a = part.members[j], b = part.members[i];
          auto [low, high] = std::pair(j, i);
          if (part.packing.offsets[high] < part.packing.offsets[low])
            std::swap(low, high);
          int64_t size =
              std::max<int64_t>(this->all[part.members[low]].bytes, 1);
          if (!block.conflicts.test(a, b) ||
              part.packing.offsets[low] + size <= part.packing.offsets[high])
            continue;
          if (this->all[b].firstUser < this->all[a].firstUser)
            std::swap(a, b);
          sharing.push_back({a, b});
        }
  return findWaits(block, order, sharing);
}

//===----------------------------------------------------------------------===//
// What a plan saves
//===----------------------------------------------------------------------===//

/// Says so at the first of the allocations, before they are rewritten; without
/// slabs, that they stay.
void BlockPlanner::remark(ArrayRef<Slab> slabs) const {
  AllocOp first = all.front().alloc;
  InFlightDiagnostic remark = first.emitRemark();
  remark << all.size() << " allocations ";
  if (places.empty()) {
    remark << "stay: " << whyNot;
    return;
  }
  // How many ops that take device time are before each place, by the text.
  SmallVector<int64_t> steps;
  int64_t step = 0;
  for (Operation &op : *block.block) {
    steps.push_back(step);
    op.walk([&](WorkOpInterface work) { step += work.takesDeviceTime(); });
  }
  auto stepsBetween = [&](Operation *first, Operation *last) {
    return double(steps[placeOf(last)] - steps[placeOf(first)]);
  };
  int64_t bytes = 0, bytesBefore = 0, bound = 0;
  double held = 0, heldBefore = 0;
  llvm::MapVector<Attribute, SmallVector<unsigned>> ofConstantSizes;
  for (auto [number, allocation] : llvm::enumerate(all)) {
    if (allocation.scale)
      continue;
    AllocOp alloc = allocation.alloc;
    bytesBefore += allocation.bytes;
    heldBefore += allocation.bytes * stepsBetween(alloc, allocation.dealloc);
    ofConstantSizes[alloc.getMemref().getType().getMemorySpace()].push_back(
        number);
  }
  for (auto &[space, members] : ofConstantSizes)
    bound += ask(findPackingBound, members);
  for (const Slab &slab : slabs) {
    bytes += slab.getBytes();
    held += slab.getBytes() *
            stepsBetween(all[slab.members.front()].alloc, slab.freeBefore);
  }
  remark << "of " << bytesBefore << " bytes ";
  if (slabs.empty())
    remark << "stay: " << whyNot;
  else
    remark << "become " << slabs.size() << " of " << bytes;
  if (size_t stay =
          llvm::count_if(slabs, [](const Slab &slab) { return slab.stays(); }))
    remark << ", " << stay << " as before";
  remark << "; the program may hold " << getMostHeld(block.hasDynamic())
         << " at a time, and its order needs " << bound << "; "
         << llvm::formatv("{0:f0}", heldBefore).str() << " bytes times steps";
  if (!slabs.empty())
    remark << " become " << llvm::formatv("{0:f0}", held).str();
  for (const Slab &slab : slabs)
    for (const Slab::Part &part : llvm::drop_begin(slab.parts))
      remark << "; " << part.members.size()
             << " of equal sizes, known at run time, are in "
             << part.packing.bytes << " places, and their order needs "
             << ask(findPackingBound, part.members);
}
