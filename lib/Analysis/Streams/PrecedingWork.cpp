//===- PrecedingWork.cpp - what work comes before work --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See PrecedingWork.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/PrecedingWork.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/RegionTokens.h"

using namespace mlir;
using namespace mlir::gpuasync;

bool PrecedingWork::addItem(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  return work && work.getAsyncToken();
}

/// Nothing waits for frees, nor for host-shared allocations, which are there
/// once they have been enqueued.
bool PrecedingWork::isPassed(Operation *item) {
  auto alloc = dyn_cast<AllocOp>(item);
  return !cast<WorkOpInterface>(item).takesDeviceTime() &&
         (!alloc || alloc.getHostShared());
}

static Operation *getLoopAround(Operation *op) {
  do
    op = op->getParentOp();
  while (op && !isTokenLoop(op));
  return op;
}

/// Whether the work, in the loop, runs between the start of an iteration and
/// `user` in the same one, so that its latest run is not that of the last.
bool PrecedingWork::runsBefore(Operation *work, Operation *user,
                               Operation *loop) const {
  // Itself, if a loop in between has it run again.
  if (work == user)
    return getLoopAround(user) != loop;
  for (Region &region : loop->getRegions()) {
    Operation *a = region.findAncestorOpInRegion(*work);
    Operation *b = region.findAncestorOpInRegion(*user);
    if (a && b)
      return a == b || a->isBeforeInBlock(b);
    if (a || b)
      return a;
  }
  return false;
}

void PrecedingWork::visit(Operation *op, const NamedItems &before) {
  if (!getNumber(op) || before.get().empty())
    return;
  NamedItems works = before;
  if (carriedLoop) {
    // When an inner loop is entered again, its first iteration follows none.
    if (getLoopAround(carriedLoop))
      return;
    works.keepIf([&](unsigned work) {
      return isInside(work, carriedLoop) &&
             !runsBefore(getItem(work), op, carriedLoop);
    });
  }
  worksBefore[op] |= works;
}

SmallVector<Operation *> PrecedingWork::get(Operation *user) const {
  auto found = worksBefore.find(user);
  if (found == worksBefore.end())
    return {};
  return llvm::map_to_vector(found->second.get(),
                             [&](unsigned work) { return getItem(work); });
}
