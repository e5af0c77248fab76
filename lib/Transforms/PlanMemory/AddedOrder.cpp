//===- AddedOrder.cpp - order that makes memory shareable -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AddedOrder.h.
//===----------------------------------------------------------------------===//

#include "AddedOrder.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::plan;

StringRef mlir::gpuasync::plan::whyNoOrder(FunctionOpInterface function,
                                           BlockingTable &kernels) {
  auto isToken = llvm::IsaPred<TokenType>;
  StringRef outside = "work from outside of the function could wait for it";
  if (llvm::any_of(function.getArgumentTypes(), isToken))
    return outside;
  StringRef why;
  function->walk([&](Operation *op) {
    // Such work may hang on any of a stream of the caller's, or on a callee's.
    bool isKnown = isa<WorkOpInterface, WaitOp, ForkOp, SelectLikeOpInterface,
                       RegionBranchOpInterface>(op);
    if (isa<StreamExternalOp>(op) ||
        (!isKnown && llvm::any_of(op->getResultTypes(), isToken)))
      why = outside;
    else if (kernels.lookup(op))
      why = cast<WorkOpInterface>(op).callsLibrary()
                ? "a library's function may wait for other work"
                : "a kernel may wait for other work";
    return why.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return why;
}

std::vector<unsigned>
mlir::gpuasync::plan::findLevels(const FunctionAllocations &order) {
  std::vector<unsigned> levels;
  for (auto [number, item] : llvm::enumerate(order.items)) {
    unsigned level = 0;
    for (unsigned before : order.before[number].set_bits())
      level = std::max(level, levels[before]);
    levels.push_back(level + cast<WorkOpInterface>(item).takesDeviceTime());
  }
  return levels;
}

Conflicts mlir::gpuasync::plan::relaxConflicts(const BlockAllocations &block,
                                               const FunctionAllocations &order,
                                               ArrayRef<unsigned> levels,
                                               int64_t rise) {
  struct Users {
    bool areInBlock = true;
    int64_t lowest = std::numeric_limits<int64_t>::max(), highest = 0;
  };
  std::vector<Users> users;
  for (const Allocation &allocation : block.allocations) {
    Users &these = users.emplace_back();
    for (Operation *user : allocation.users) {
      int64_t level = levels[order.numberOf.lookup(user)];
      these.areInBlock &= user->getBlock() == block.block;
      these.lowest = std::min(these.lowest, level);
      these.highest = std::max(these.highest, level);
    }
  }
  unsigned count = users.size();
  Conflicts left(count);
  for (unsigned a = 0; a < count; ++a)
    block.conflicts.forEach(a, [&](unsigned b) {
      if (b < a)
        return;
      auto [first, second] = std::pair(a, b);
      if (block.allocations[b].firstUser < block.allocations[a].firstUser)
        std::swap(first, second);
      bool mayOrder = users[first].areInBlock && users[second].areInBlock &&
                      block.allocations[first].lastUser <
                          block.allocations[second].firstUser &&
                      users[second].lowest - users[first].highest >= rise;
      if (!mayOrder)
        left.set(a, b);
    });
  left.mirror();
  return left;
}

std::vector<AddedWait> mlir::gpuasync::plan::findWaits(
    const BlockAllocations &block, const FunctionAllocations &order,
    ArrayRef<std::pair<unsigned, unsigned>> sharing) {
  unsigned count = order.items.size();
  // Of each item what it has to come after.
  llvm::DenseMap<unsigned, llvm::BitVector> required;
  for (auto [first, second] : sharing)
    for (Operation *user : block.allocations[second].users) {
      llvm::BitVector &these = required[order.numberOf.lookup(user)];
      these.resize(count);
      for (Operation *before : block.allocations[first].users)
        these.set(order.numberOf.lookup(before));
    }
  // Of items that wait for more than before, in program order: all that is
  // before them now, but for what is before what they waited for already.
  llvm::MapVector<unsigned, llvm::BitVector> more;
  auto pastOf = [&](unsigned item) {
    llvm::BitVector past = order.before[item];
    for (auto &[other, added] : more)
      if (other == item || order.before[item].test(other))
        past |= added;
    return past;
  };
  std::vector<AddedWait> waits;
  for (unsigned item = 0; item < count; ++item) {
    auto found = required.find(item);
    if (found == required.end())
      continue;
    llvm::BitVector missing = found->second, past = pastOf(item);
    missing.reset(past);
    // The last of what is missing is before none of the rest.
    for (int last = missing.find_last(); last >= 0;
         last = missing.find_last()) {
      waits.push_back({order.items[last], order.items[item]});
      past |= pastOf(last);
      past.set(last);
      missing.reset(past);
      more[item] = past;
    }
  }
  return waits;
}
