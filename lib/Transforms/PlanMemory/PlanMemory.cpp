//===- PlanMemory.cpp - allocations become windows of one -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which allocations of a block share a slab, checks that no more is
// held than before, and rewrites the block.
//===----------------------------------------------------------------------===//

#include "Allocations.h"
#include "GPUAsync/Analysis/Memory/MemoryAccesses.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/IR/RegionTokens.h"
#include "GPUAsync/IR/VerifyProgram.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCPLANMEMORY
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::plan;

namespace {

/// Allocations that become windows of one slab.
struct Slab {
  /// Numbers in the block's list, ascending.
  SmallVector<unsigned> members;
  Packing packing;
  /// The op before which it is freed, and what that comes after: what the
  /// members' frees came after, a user that comes after all others, or a host
  /// wait that has covered all users by then or has to be made.
  Operation *freeBefore = nullptr;
  enum { Frees, LastUser, HostWait, NewHostWait } end = Frees;
  Operation *lastUser = nullptr;
};

/// Something else in the block that may hold memory, from a place to a place.
struct Foreign {
  unsigned first, last;
};

/// Plans one block.
class BlockPlanner {
public:
  BlockPlanner(FunctionOpInterface function, const FunctionAllocations &order,
               BlockAllocations &block, MemoryFacts &facts)
      : function(function), order(order), block(block), all(block.allocations),
        facts(facts) {}

  /// Returns the slabs, none if the block stays as it is.
  std::vector<Slab> plan();
  void apply(ArrayRef<Slab> slabs, bool remarks);

private:
  using Key = SmallVector<unsigned>;

  void findForeign();
  std::vector<Slab> makeSlabs(bool byPieces);
  void pack(Slab &slab) const;
  void placeFree(Slab &slab) const;
  bool mayWaitAtEnd() const;
  bool isBounded(ArrayRef<Slab> slabs) const;
  int64_t getMostHeld() const;
  int64_t getLeastHeld(ArrayRef<unsigned> members) const;
  unsigned placeOf(Operation *op) const { return places.lookup(op); }

  mutable FunctionOpInterface function;
  const FunctionAllocations &order;
  BlockAllocations &block;
  std::vector<Allocation> &all;
  MemoryFacts &facts;
  llvm::DenseMap<Operation *, unsigned> places;
  std::vector<Foreign> foreign;
  /// The number of the piece that each place is in: all of one piece have the
  /// same foreign memory. Whether there is any.
  std::vector<unsigned> pieceOf;
  std::vector<bool> hasForeign;
};

} // namespace

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
    } else if (isa<CallOpInterface>(op)) {
      isForeign = !facts.hostAccesses(&op);
    } else if (op.getNumRegions() && !isKernelCode(&op)) {
      isForeign = op.walk([&](Operation *inner) {
                      bool allocates =
                          isa<AllocOp>(inner) || (isa<CallOpInterface>(inner) &&
                                                  !facts.hostAccesses(inner));
                      return allocates ? WalkResult::interrupt()
                                       : WalkResult::advance();
                    }).wasInterrupted();
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
    hasForeign.resize(piece + 1);
    hasForeign[piece] = open > 0;
  }
}

//===----------------------------------------------------------------------===//
// Slabs
//===----------------------------------------------------------------------===//

void BlockPlanner::pack(Slab &slab) const {
  unsigned count = slab.members.size();
  SmallVector<int64_t> sizes;
  for (unsigned member : slab.members)
    sizes.push_back(all[member].bytes);
  if (count == all.size()) {
    slab.packing = packBuffers(sizes, block.conflicts);
    return;
  }
  Conflicts conflicts(count);
  for (unsigned i = 0; i < count; ++i)
    for (unsigned j = 0; j < count; ++j)
      if (block.conflicts.test(slab.members[i], slab.members[j]))
        conflicts.set(i, j);
  slab.packing = packBuffers(sizes, conflicts);
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
    llvm::BitVector before = order.before.lookup(slab.lastUser);
    before.set(order.numberOf.lookup(slab.lastUser));
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

/// One slab for each memory space and set of frees to come after; with
/// `byPieces` for each way to lie beside foreign memory.
std::vector<Slab> BlockPlanner::makeSlabs(bool byPieces) {
  llvm::MapVector<Attribute, unsigned> spaces;
  std::map<Key, unsigned> numbers;
  std::vector<Slab> slabs;
  for (auto [number, allocation] : llvm::enumerate(all)) {
    MemRefType type = allocation.alloc.getMemref().getType();
    Key key{
        spaces.try_emplace(type.getMemorySpace(), spaces.size()).first->second};
    if (byPieces)
      key.append({pieceOf[placeOf(allocation.alloc)],
                  pieceOf[placeOf(allocation.dealloc)]});
    for (unsigned free : allocation.freesBefore.set_bits())
      key.push_back(free);
    auto [it, isNew] = numbers.try_emplace(std::move(key), slabs.size());
    if (isNew)
      slabs.emplace_back();
    slabs[it->second].members.push_back(number);
  }
  for (Slab &slab : slabs) {
    pack(slab);
    placeFree(slab);
  }
  return slabs;
}

//===----------------------------------------------------------------------===//
// How much is held
//===----------------------------------------------------------------------===//

/// The most that a sweep over intervals holds.
static int64_t
findPeak(ArrayRef<std::tuple<unsigned, unsigned, int64_t>> intervals) {
  // Ends are exclusive, and come first.
  std::vector<std::tuple<unsigned, bool, int64_t>> changes;
  for (auto [first, last, bytes] : intervals) {
    changes.push_back({first, true, bytes});
    changes.push_back({last + 1, false, -bytes});
  }
  llvm::sort(changes);
  int64_t held = 0, peak = 0;
  for (auto [place, begins, bytes] : changes)
    peak = std::max(peak, held += bytes);
  return peak;
}

/// The larger of two sets of allocations none of which may share bytes: those in
/// use at a time as the program is written, and those that are used at one
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

/// What the program may have allocated at a time: by its text, all that no free
/// has to come before, and what may be in use.
int64_t BlockPlanner::getMostHeld() const {
  std::vector<std::tuple<unsigned, unsigned, int64_t>> written;
  int64_t atFirst = 0;
  for (const Allocation &allocation : all) {
    written.push_back({placeOf(allocation.alloc), placeOf(allocation.dealloc),
                       allocation.bytes});
    const llvm::BitVector &before = allocation.beforeAlloc;
    bool isAfterFree =
        before.any() && llvm::any_of(all, [&](const Allocation &other) {
          return placeOf(other.dealloc) < placeOf(allocation.alloc) &&
                 llvm::all_of(
                     other.users,
                     [&](Operation *user) {
                       return before.test(order.numberOf.lookup(user));
                     });
        });
    if (!isAfterFree)
      atFirst += allocation.bytes;
  }
  unsigned count = all.size();
  return std::max({findPeak(written), atFirst,
                   getLeastHeld(llvm::to_vector(llvm::seq(0u, count)))});
}

bool BlockPlanner::isBounded(ArrayRef<Slab> slabs) const {
  int64_t bytes = 0;
  for (const Slab &slab : slabs)
    bytes += slab.packing.bytes;
  if (bytes > getMostHeld())
    return false;
  if (foreign.empty())
    return true;
  // In each piece with foreign memory, by the text.
  unsigned count = pieceOf.size(), numPieces = pieceOf.back() + 1;
  auto findMost = [&](ArrayRef<std::tuple<unsigned, unsigned, int64_t>> held) {
    std::vector<int64_t> changes(count + 1), most(numPieces);
    for (auto [first, last, bytes] : held) {
      changes[first] += bytes;
      changes[last + 1] -= bytes;
    }
    int64_t now = 0;
    for (unsigned place = 0; place < count; ++place) {
      now += changes[place];
      most[pieceOf[place]] = std::max(most[pieceOf[place]], now);
    }
    return most;
  };
  std::vector<std::tuple<unsigned, unsigned, int64_t>> before, after;
  for (const Allocation &allocation : all)
    before.push_back({placeOf(allocation.alloc), placeOf(allocation.dealloc),
                      allocation.bytes});
  for (const Slab &slab : slabs)
    after.push_back({placeOf(all[slab.members.front()].alloc),
                     placeOf(slab.freeBefore), slab.packing.bytes});
  std::vector<int64_t> mostBefore = findMost(before),
                       mostAfter = findMost(after);
  for (unsigned piece = 0; piece < numPieces; ++piece)
    if (hasForeign[piece] && mostAfter[piece] > mostBefore[piece])
      return false;
  return true;
}

std::vector<Slab> BlockPlanner::plan() {
  // No sum of sizes is too large from here on.
  int64_t bytes = 0;
  for (const Allocation &allocation : all)
    if (llvm::AddOverflow(bytes, allocation.bytes, bytes))
      return {};
  // A slab takes the tokens of frees that it comes after.
  for (const Allocation &allocation : all)
    for (unsigned free : allocation.freesBefore.set_bits())
      if (!order.items[free]->getParentRegion()->isAncestor(
              block.block->getParent()))
        return {};
  findForeign();
  for (bool byPieces : {false, true}) {
    std::vector<Slab> slabs = makeSlabs(byPieces);
    if (slabs.size() < all.size() && isBounded(slabs))
      return slabs;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// A token for all of them.
static Value joinTokens(OpBuilder &builder, Location loc, ValueRange tokens) {
  llvm::SetVector<Value> unique(tokens.begin(), tokens.end());
  if (unique.size() == 1)
    return unique.front();
  return WaitOp::create(builder, loc, builder.getType<TokenType>(),
                        unique.getArrayRef())
      .getAsyncToken();
}

void BlockPlanner::apply(ArrayRef<Slab> slabs, bool remarks) {
  OpBuilder builder(function->getContext());
  auto tokenType = builder.getType<TokenType>();
  for (const Slab &slab : slabs) {
    int64_t inUse = remarks ? getLeastHeld(slab.members) : 0, before = 0;
    // An error of the slab is one of its largest allocation.
    unsigned largest = slab.members.front();
    for (unsigned member : slab.members) {
      before += all[member].bytes;
      if (all[member].bytes > all[largest].bytes)
        largest = member;
    }
    AllocOp first = all[slab.members.front()].alloc;
    Location loc = all[largest].alloc.getLoc();
    SmallVector<Value> frees;
    for (unsigned free : all[slab.members.front()].freesBefore.set_bits())
      frees.push_back(cast<DeallocOp>(order.items[free]).getAsyncToken());
    builder.setInsertionPoint(first);
    auto type = MemRefType::get(slab.packing.bytes, builder.getI8Type(),
                                MemRefLayoutAttrInterface(),
                                first.getMemref().getType().getMemorySpace());
    auto alloc = AllocOp::create(builder, loc, type, tokenType, frees, Value(),
                                 IntegerAttr(), DenseI64ArrayAttr(),
                                 ValueRange(), ValueRange(), UnitAttr());
    llvm::SetVector<Value> ends;
    if (slab.end == Slab::LastUser)
      ends.insert(cast<WorkOpInterface>(slab.lastUser).getAsyncToken());
    else if (slab.end != Slab::HostWait)
      for (unsigned member : slab.members)
        for (Value token : all[member].dealloc.getAsyncDependencies())
          ends.insert(token);
    Location end = all[slab.members.back()].dealloc.getLoc();
    builder.setInsertionPoint(slab.freeBefore);
    if (slab.end == Slab::NewHostWait)
      WaitOp::create(builder, end, Type(), ends.takeVector());
    DeallocOp::create(builder, end, tokenType, ends.getArrayRef(), Value(),
                      IntegerAttr(), DenseI64ArrayAttr(), alloc.getMemref());
    if (remarks)
      alloc.emitRemark() << slab.members.size() << " allocations of " << before
                         << " bytes in one of " << slab.packing.bytes
                         << "; at least " << inUse
                         << " bytes are in use at a time";
    for (auto [number, member] : llvm::enumerate(slab.members)) {
      AllocOp old = all[member].alloc;
      builder.setInsertionPoint(old);
      Value offset = arith::ConstantIndexOp::create(
          builder, old.getLoc(), slab.packing.offsets[number]);
      auto window =
          WindowOp::create(builder, old.getLoc(), old.getMemref().getType(),
                           alloc.getMemref(), offset, ValueRange());
      if (!old.getAsyncToken().use_empty()) {
        SmallVector<Value> tokens(old.getAsyncDependencies());
        tokens.push_back(alloc.getAsyncToken());
        old.getAsyncToken().replaceAllUsesWith(
            joinTokens(builder, old.getLoc(), tokens));
      }
      old.getMemref().replaceAllUsesWith(window.getMemref());
    }
  }
  // The frees are among what others come after.
  for (Allocation &allocation : all) {
    DeallocOp old = allocation.dealloc;
    if (old.getAsyncToken().use_empty())
      continue;
    builder.setInsertionPoint(old);
    old.getAsyncToken().replaceAllUsesWith(
        joinTokens(builder, old.getLoc(), old.getAsyncDependencies()));
  }
  for (Allocation &allocation : all) {
    allocation.dealloc.erase();
    allocation.alloc.erase();
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct PlanMemory : public gpuasync::impl::GPUAsyncPlanMemoryBase<PlanMemory> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(verifyProgram(getOperation())))
      return signalPassFailure();
    KernelTable kernels;
    std::optional<MemoryFacts> facts;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FunctionAllocations allocations(function, kernels);
      if (!facts && !allocations.blocks.empty())
        facts.emplace(getOperation());
      for (BlockAllocations &block : allocations.blocks) {
        BlockPlanner planner(function, allocations, block, *facts);
        std::vector<Slab> slabs = planner.plan();
        if (!slabs.empty())
          planner.apply(slabs, remarks);
      }
    }
  }
};
} // namespace
