//===- PlanMemory.cpp - allocations become windows of one -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans each block, adds order where that lowers the peak, and rewrites.
//===----------------------------------------------------------------------===//

#include "BlockPlanner.h"
#include "GPUAsync/IR/VerifyProgram.h"
#include "GPUAsync/Transforms/Passes.h"

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
               const llvm::DenseSet<Block *> &withoutDynamic)
      : allocations(function, tables.kernels, withoutDynamic) {
    for (BlockAllocations &block : allocations.blocks) {
      if (!tables.facts)
        tables.facts.emplace(function->getParentOfType<ModuleOp>());
      BlockPlanner planner(function, allocations, block, *tables.facts);
      std::vector<Slab> slabs = planner.plan();
      if (slabs.empty() && block.hasDynamic())
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
             llvm::DenseSet<Block *> &withoutDynamic) {
  while (true) {
    auto plan =
        std::make_unique<FunctionPlan>(function, tables, withoutDynamic);
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
      llvm::DenseSet<Block *> withoutDynamic;
      std::unique_ptr<FunctionPlan> plan =
          planFunction(function, tables, withoutDynamic);
      if (space && !plan->blocks.empty())
        addOrder(function, plan, tables, withoutDynamic);
      for (auto &[planner, slabs] : plan->blocks) {
        if (remarks)
          planner.remark(slabs);
        if (!slabs.empty())
          planner.apply(slabs);
      }
    }
  }

private:
  void addOrder(FunctionOpInterface function,
                std::unique_ptr<FunctionPlan> &plan, Tables &tables,
                const llvm::DenseSet<Block *> &withoutDynamic);
};
} // namespace

/// Makes work wait for other work if the function takes less memory then. The
/// plan is made anew from the order that is there now, which is taken away if
/// any block takes more.
void PlanMemory::addOrder(FunctionOpInterface function,
                          std::unique_ptr<FunctionPlan> &plan, Tables &tables,
                          const llvm::DenseSet<Block *> &withoutDynamic) {
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
      std::make_unique<FunctionPlan>(function, tables, withoutDynamic);
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
