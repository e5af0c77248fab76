//===- PlanMemory.cpp - allocations become windows of one -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans each block, adds order where that lowers the peak, and rewrites.
//===----------------------------------------------------------------------===//

#include "BlockPlanner.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/VerifyProgram.h"
#include "GPUAsync/Transforms/Passes.h"
#include "LoopAllocations.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCPLANMEMORY
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::plan;

namespace {
/// What is found once for all functions, when it is asked for.
struct Tables {
  KernelTable kernels;
  BlockingTable blocking;
  std::optional<MemoryFacts> facts;

  MemoryFacts &getFacts(Operation *function) {
    if (!facts)
      facts.emplace(function->getParentOfType<ModuleOp>());
    return *facts;
  }
};

/// The plan of a function's blocks.
struct FunctionPlan {
  struct BlockPlan {
    BlockPlanner planner;
    std::vector<Slab> slabs;
  };
  FunctionAllocations allocations;
  std::vector<BlockPlan> blocks;
  /// Blocks that stay as they are since sizes are known at run time only.
  SmallVector<Block *> unplanned;

  FunctionPlan(FunctionOpInterface function, Tables &tables,
               const llvm::DenseSet<Block *> &withoutDynamic,
               FunctionAllocations::BlockFilter filter)
      : allocations(function, tables.kernels, withoutDynamic, filter) {
    for (BlockAllocations &block : allocations.blocks) {
      BlockPlanner planner(function, allocations, block,
                           tables.getFacts(function));
      // One alone stays, but may leave its loop.
      bool isAlone = planner.getCount() == 1;
      std::vector<Slab> slabs;
      if (!isAlone)
        slabs = planner.plan();
      if (!isAlone && slabs.empty() && block.hasDynamic())
        unplanned.push_back(block.block);
      blocks.push_back({std::move(planner), std::move(slabs)});
    }
  }
  FunctionPlan(const FunctionPlan &) = delete;
  unsigned getLongestChain() const {
    std::vector<unsigned> levels = findLevels(allocations);
    return levels.empty() ? 0 : *llvm::max_element(levels);
  }
};

/// Leaves out sizes that are known at run time only in the blocks that cannot
/// be planned with them: what stays has to be known before anything is.
std::unique_ptr<FunctionPlan>
planFunction(FunctionOpInterface function, Tables &tables,
             llvm::DenseSet<Block *> &withoutDynamic,
             FunctionAllocations::BlockFilter filter) {
  while (true) {
    auto plan = std::make_unique<FunctionPlan>(function, tables, withoutDynamic,
                                               filter);
    if (plan->unplanned.empty())
      return plan;
    withoutDynamic.insert_range(plan->unplanned);
  }
}

struct PlanMemory : public gpuasync::impl::GPUAsyncPlanMemoryBase<PlanMemory> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(verifyProgram(getOperation())))
      return signalPassFailure();
    Tables tables;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      llvm::DenseSet<Block *> done;
      planLoops(function, tables, done);
      std::unique_ptr<FunctionPlan> plan =
          makePlan(function, tables, [&](Block *block, size_t count) {
            return count > 1 && !done.contains(block);
          });
      for (FunctionPlan::BlockPlan &block : plan->blocks)
        apply(block);
    }
  }

private:
  std::unique_ptr<FunctionPlan>
  makePlan(FunctionOpInterface function, Tables &tables,
           FunctionAllocations::BlockFilter filter) {
    llvm::DenseSet<Block *> withoutDynamic;
    std::unique_ptr<FunctionPlan> plan =
        planFunction(function, tables, withoutDynamic, filter);
    if (space && !plan->blocks.empty())
      addOrder(function, plan, tables, withoutDynamic, filter);
    return plan;
  }
  void report(const FunctionPlan::BlockPlan &block) {
    int64_t bytes = 0;
    for (const Slab &slab : block.slabs)
      bytes += slab.getBytes();
    Decision(*this, block.planner.getFunction(), block.planner.getLoc(),
             "Planned")
        .count(numAllocations, "allocations", block.planner.getCount())
        .count(numBuffers, "buffers", block.slabs.size())
        .count(numBytesBefore, "bytes-before", block.planner.getConstantBytes())
        .count(numBytes, "bytes", bytes);
  }
  SmallVector<SlabOps> apply(FunctionPlan::BlockPlan &block) {
    if (remarks && block.planner.getCount() > 1)
      block.planner.remark(block.slabs);
    if (!block.slabs.empty())
      report(block);
    return block.planner.apply(block.slabs);
  }
  void planLoops(FunctionOpInterface function, Tables &tables,
                 llvm::DenseSet<Block *> &done);
  void addOrder(FunctionOpInterface function,
                std::unique_ptr<FunctionPlan> &plan, Tables &tables,
                const llvm::DenseSet<Block *> &withoutDynamic,
                FunctionAllocations::BlockFilter filter);
};
} // namespace

/// Plans the bodies of loops whose allocations may be made once for all rounds,
/// and makes those so. What leaves a loop belongs to the body of the next one
/// around it: so that is planned later.
void PlanMemory::planLoops(FunctionOpInterface function, Tables &tables,
                           llvm::DenseSet<Block *> &done) {
  while (true) {
    llvm::DenseSet<Block *> bodies;
    for (scf::ForOp loop :
         findAllocatingLoops(function, tables.getFacts(function)))
      if (!done.contains(loop.getBody()))
        bodies.insert(loop.getBody());
    if (bodies.empty())
      return;
    done.insert_range(bodies);
    std::unique_ptr<FunctionPlan> plan =
        makePlan(function, tables,
                 [&](Block *block, size_t) { return bodies.contains(block); });
    SmallVector<std::pair<Block *, SmallVector<SlabOps>>> reused;
    for (auto [ofBlock, blockPlan] :
         llvm::zip_equal(plan->allocations.blocks, plan->blocks)) {
      const BlockAllocations &block = ofBlock;
      SmallVector<SlabOps> held = apply(blockPlan);
      llvm::erase_if(held, [&](const SlabOps &each) {
        return !isReusedInOrder(plan->allocations, block, each.members);
      });
      if (!held.empty())
        reused.push_back({block.block, std::move(held)});
    }
    for (auto &[block, held] : reused) {
      auto loop = cast<scf::ForOp>(block->getParentOp());
      Location loc = loop.getLoc();
      unsigned count = leaveLoop(loop, held, plan->allocations);
      if (count)
        Decision(*this, function, loc, "HoistedAllocations")
            .count(numHoisted, "hoisted-buffers", count);
      if (remarks && count)
        emitRemark(loc) << "allocations of each round that are made once, "
                        << "before the loop: " << count;
    }
    // They are of the program as it was.
    tables.facts.reset();
  }
}

/// Makes work wait for other work if the function takes less memory then. The
/// plan is made anew from the order that is there now, which is taken away if
/// any block takes more.
void PlanMemory::addOrder(FunctionOpInterface function,
                          std::unique_ptr<FunctionPlan> &plan, Tables &tables,
                          const llvm::DenseSet<Block *> &withoutDynamic,
                          FunctionAllocations::BlockFilter filter) {
  StringRef whyNot = whyNoOrder(function, tables.blocking);
  if (!whyNot.empty()) {
    if (remarks)
      function.emitRemark() << "no order is added for space: " << whyNot;
    return;
  }
  std::vector<unsigned> levels = findLevels(plan->allocations);
  std::vector<AddedWait> waits;
  for (auto &[planner, slabs] : plan->blocks)
    llvm::append_range(waits, planner.findOrder(slabs, levels));
  if (waits.empty())
    return;
  for (auto [first, second] : waits)
    cast<WorkOpInterface>(second).getAsyncDependenciesMutable().append(
        cast<WorkOpInterface>(first).getAsyncToken());
  auto ordered =
      std::make_unique<FunctionPlan>(function, tables, withoutDynamic, filter);
  bool isSmaller = false, isLarger = !ordered->unplanned.empty();
  for (auto [before, after] : llvm::zip(plan->blocks, ordered->blocks)) {
    isSmaller |= after.planner.isSmaller(after.slabs, before.slabs);
    isLarger |= before.planner.isSmaller(before.slabs, after.slabs);
  }
  if (!isSmaller || isLarger) {
    for (auto [first, second] : llvm::reverse(waits)) {
      MutableOperandRange tokens =
          cast<WorkOpInterface>(second).getAsyncDependenciesMutable();
      tokens.erase(tokens.size() - 1);
    }
    return;
  }
  for (auto [first, second] : waits)
    Decision(*this, second, "WaitForMemory").count(numWaits, "waits-added");
  if (remarks) {
    for (auto [first, second] : waits) {
      InFlightDiagnostic remark = second->emitRemark();
      remark << "waits for other work now, so that allocations share bytes";
      remark.attachNote(first->getLoc()) << "for this";
    }
    for (auto [before, after] : llvm::zip(plan->blocks, ordered->blocks))
      if (after.planner.isSmaller(after.slabs, before.slabs))
        emitRemark(after.planner.getLoc())
            << "with " << waits.size() << " more waits in the function "
            << before.planner.getPeak(before.slabs) << " bytes become "
            << after.planner.getPeak(after.slabs)
            << "; its longest chain of work becomes "
            << ordered->getLongestChain() << " from "
            << plan->getLongestChain();
  }
  plan = std::move(ordered);
}
