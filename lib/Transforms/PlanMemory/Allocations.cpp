//===- Allocations.cpp - allocations that can be planned ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Allocations.h.
//===----------------------------------------------------------------------===//

#include "Allocations.h"
#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/Analysis/Streams/HappensBefore.h"
#include "GPUAsync/IR/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::plan;

//===----------------------------------------------------------------------===//
// Single allocations
//===----------------------------------------------------------------------===//

/// Fails if the bytes cannot be known, or are too many.
static LogicalResult findBytes(Allocation &allocation) {
  AllocOp alloc = allocation.alloc;
  MemRefType type = alloc.getMemref().getType();
  int64_t bytes = getElementBytes(type.getElementType());
  if (!type.getLayout().isIdentity() || !bytes ||
      !alloc.getSymbolOperands().empty())
    return failure();
  auto multiply = [&](int64_t size) {
    return size >= 0 && !llvm::MulOverflow(bytes, size, bytes);
  };
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size) && !multiply(size))
      return failure();
  std::optional<SmallVector<int64_t>> sizes = getConstantIntValues(
      getAsOpFoldResult(ValueRange(alloc.getDynamicSizes())));
  if (sizes && !llvm::all_of(*sizes, multiply))
    return failure();
  if (bytes > std::numeric_limits<int64_t>::max() - WindowOp::alignment)
    return failure();
  if (sizes)
    allocation.bytes =
        llvm::alignTo(std::max<int64_t>(bytes, 1), WindowOp::alignment);
  else
    allocation.scale = bytes;
  return success();
}

/// Follows the memref through views. Fails if it goes where it cannot be
/// followed, or is not freed once, in its block.
static LogicalResult findUsers(Allocation &allocation) {
  Value memref = allocation.alloc.getMemref();
  Block *block = allocation.alloc->getBlock();
  SmallVector<Value> worklist{memref};
  llvm::SmallPtrSet<void *, 8> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value.getAsOpaquePointer()).second)
      continue;
    for (Operation *user : value.getUsers()) {
      if (auto dealloc = dyn_cast<DeallocOp>(user)) {
        Value source = value;
        while (auto cast = source.getDefiningOp<memref::CastOp>())
          source = cast.getSource();
        bool isOwn = source == memref;
        if (!isOwn || allocation.dealloc || dealloc->getBlock() != block ||
            !dealloc.getAsyncToken())
          return failure();
        allocation.dealloc = dealloc;
      } else if (auto work = dyn_cast<WorkOpInterface>(user)) {
        if (!work.getAsyncToken() || !work.takesDeviceTime())
          return failure();
        allocation.users.insert(user);
      } else if (isa<memref::DimOp, memref::RankOp>(user)) {
        continue;
      } else if (isa<ViewLikeOpInterface, WindowOp, memref::AssumeAlignmentOp,
                     memref::DistinctObjectsOp,
                     memref::ExtractStridedMetadataOp, arith::SelectOp>(user) &&
                 isMemoryEffectFree(user) && !user->getNumRegions()) {
        for (Value view : user->getResults()) {
          if (isMemory(view.getType()))
            worklist.push_back(view);
          else if (!isa<memref::ExtractStridedMetadataOp>(user))
            return failure(); // an address
        }
      } else {
        return failure();
      }
    }
  }
  return success(allocation.dealloc != nullptr);
}

bool plan::mayAllocate(Operation *op, MemoryFacts &facts) {
  if (isa<CallOpInterface>(op))
    return !facts.hostAccesses(op);
  if (!op->getNumRegions() || isKernelCode(op))
    return false;
  return op
      ->walk([&](Operation *inner) {
        bool allocates = isa<AllocOp>(inner) || (isa<CallOpInterface>(inner) &&
                                                 !facts.hostAccesses(inner));
        return allocates ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether the op may touch memory that it does not name.
static bool touchesAnything(Operation *op, KernelTable &kernels) {
  return llvm::any_of(deviceAccesses(op, kernels), [](const Access &access) {
    return access.base.kind == Base::Unknown;
  });
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

namespace {
class OrderWalk : public HappensBefore<llvm::BitVector> {
public:
  OrderWalk(FunctionOpInterface function, FunctionAllocations &result)
      : HappensBefore(function), result(result) {
    for (BlockAllocations &block : result.blocks) {
      blocks.insert(block.block);
      for (Allocation &allocation : block.allocations) {
        planned.insert(allocation.dealloc);
        allocationOf[allocation.alloc] = &allocation;
        for (Operation *user : allocation.users)
          usedBy[user].push_back(&allocation);
      }
    }
  }
  void find();

private:
  bool addItem(Operation *op) override;
  void visit(Operation *op, const llvm::BitVector &before) override;

  FunctionAllocations &result;
  llvm::DenseSet<Block *> blocks;
  llvm::DenseSet<Operation *> planned;
  llvm::DenseMap<Operation *, Allocation *> allocationOf;
  llvm::DenseMap<Operation *, SmallVector<Allocation *, 2>> usedBy;
  llvm::BitVector keptFrees;
};
} // namespace

bool OrderWalk::addItem(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  bool isFree = isa<DeallocOp>(op) && !planned.contains(op);
  if (!work || !work.getAsyncToken() || (!work.takesDeviceTime() && !isFree))
    return false;
  unsigned number = getNumItems();
  result.items.push_back(op);
  result.numberOf[op] = number;
  result.depths.push_back(0);
  result.before.emplace_back();
  for (Allocation *allocation : usedBy.lookup(op)) {
    if (allocation->users.front() == op)
      allocation->firstUser = number;
    if (allocation->users.back() == op)
      allocation->lastUser = number;
  }
  return true;
}

void OrderWalk::visit(Operation *op, const llvm::BitVector &before) {
  if (carriedLoop) {
    for (Allocation *allocation : usedBy.lookup(op))
      if (allocation->alloc->getParentOp() == carriedLoop)
        result.inEarlierRounds[op] = before;
    return;
  }
  if (auto allocation = allocationOf.find(op);
      allocation != allocationOf.end()) {
    allocation->second->beforeAlloc = before;
    allocation->second->freesBefore = before;
    allocation->second->freesBefore &= keptFrees;
  } else if (isa<WaitOp>(op)) {
    if (blocks.contains(op->getBlock()))
      result.doneAt[op] = before;
  }
  if (isa<DeallocOp>(op) && getNumber(op)) {
    keptFrees.resize(getNumItems());
    keptFrees.set(*getNumber(op));
  }
  if (std::optional<unsigned> number = getNumber(op)) {
    result.depths[*number] = before.count();
    result.before[*number] = before;
  }
  auto users = usedBy.find(op);
  if (users == usedBy.end())
    return;
  for (Allocation *allocation : users->second) {
    if (allocation->before.empty())
      allocation->before.resize(getNumItems(), true);
    allocation->before &= before;
    // What is in one op with regions comes after itself in the next iteration.
    Operation *ancestor =
        allocation->alloc->getBlock()->findAncestorOpInBlock(*op);
    if (ancestor != op) {
      auto [first, end] = getItemsIn(ancestor);
      allocation->before.reset(first, end);
    }
  }
}

/// Conflicts of an allocation: with what is in use, by program order, when its
/// first user comes, and with what uses an item that is not before all of its
/// users.
static void findConflicts(BlockAllocations &block,
                          const FunctionAllocations &order) {
  std::vector<Allocation> &all = block.allocations;
  std::vector<SmallVector<unsigned, 2>> usedBy(order.items.size());
  SmallVector<unsigned> byFirstUser;
  for (auto [number, allocation] : llvm::enumerate(all)) {
    for (Operation *user : allocation.users)
      usedBy[order.numberOf.lookup(user)].push_back(number);
    if (!allocation.users.empty())
      byFirstUser.push_back(number);
  }
  block.conflicts = Conflicts(all.size());
  llvm::sort(byFirstUser, [&](unsigned a, unsigned b) {
    return std::pair(all[a].firstUser, a) < std::pair(all[b].firstUser, b);
  });
  SmallVector<unsigned> inUse;
  for (unsigned number : byFirstUser) {
    const Allocation &allocation = all[number];
    llvm::erase_if(inUse, [&](unsigned other) {
      return all[other].lastUser < allocation.firstUser;
    });
    for (unsigned other : inUse)
      block.conflicts.set(number, other);
    inUse.push_back(number);
    for (int item = allocation.before.find_first_unset();
         item >= 0 && unsigned(item) < allocation.firstUser;
         item = allocation.before.find_next_unset(item))
      for (unsigned other : usedBy[item])
        block.conflicts.set(number, other);
  }
  block.conflicts.mirror();
}

void OrderWalk::find() {
  run();
  // Nothing is known to be before what no path leads to.
  for (llvm::BitVector &before : result.before)
    before.resize(getNumItems());
  for (BlockAllocations &block : result.blocks)
    findConflicts(block, result);
}

//===----------------------------------------------------------------------===//
// A function's allocations
//===----------------------------------------------------------------------===//

FunctionAllocations::FunctionAllocations(
    FunctionOpInterface function, KernelTable &kernels,
    const llvm::DenseSet<Block *> &withoutDynamic, BlockFilter filter) {
  llvm::MapVector<Block *, std::vector<Allocation>> all;
  function->walk<WalkOrder::PreOrder>([&](AllocOp alloc) {
    if (alloc.getHostShared() || !alloc.getAsyncToken())
      return;
    Allocation allocation;
    allocation.alloc = alloc;
    if (failed(findBytes(allocation)) ||
        (allocation.scale && withoutDynamic.contains(alloc->getBlock())))
      return;
    if (succeeded(findUsers(allocation)))
      all[alloc->getBlock()].push_back(std::move(allocation));
  });
  for (auto &[block, allocations] : all) {
    AllocOp first = allocations.front().alloc;
    llvm::erase_if(allocations, [&](Allocation &allocation) {
      return allocation.scale &&
             llvm::any_of(allocation.alloc.getDynamicSizes(), [&](Value size) {
               Operation *maker = size.getDefiningOp();
               return maker && maker->getBlock() == first->getBlock() &&
                      !maker->isBeforeInBlock(first);
             });
    });
    if (!allocations.empty() && filter(block, allocations.size()))
      blocks.push_back({block, std::move(allocations), Conflicts()});
  }
  if (blocks.empty())
    return;

  // What may touch anything may touch what is allocated then, in the blocks
  // around it.
  function->walk([&](WorkOpInterface work) {
    if (!work.takesDeviceTime() || !touchesAnything(work, kernels))
      return;
    for (BlockAllocations &block : blocks) {
      Operation *ancestor = block.block->findAncestorOpInBlock(*work);
      if (!ancestor)
        continue;
      for (Allocation &allocation : block.allocations)
        if (allocation.alloc->isBeforeInBlock(ancestor) &&
            ancestor->isBeforeInBlock(allocation.dealloc))
          allocation.users.insert(work);
    }
  });
  // In program order.
  llvm::DenseMap<Operation *, unsigned> places;
  function->walk([&](WorkOpInterface work) { places[work] = places.size(); });
  for (BlockAllocations &block : blocks)
    for (Allocation &allocation : block.allocations) {
      SmallVector<Operation *> users = allocation.users.takeVector();
      llvm::sort(users, [&](Operation *a, Operation *b) {
        return places.lookup(a) < places.lookup(b);
      });
      allocation.users.insert(users.begin(), users.end());
    }
  OrderWalk(function, *this).find();
}
