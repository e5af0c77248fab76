//===- CpuBlocking.cpp - which kernels may wait for other work --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that can spin on memory must not hold up a thread that other work
// needs.
//===----------------------------------------------------------------------===//

#include "CpuLowering.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

namespace {
/// Goes through a kernel and what it calls.
class BlockingAnalysis {
public:
  static bool isObservedAtomic(Operation *op) {
    // An atomic whose old value nobody looks at cannot be waited on.
    if (isa<memref::AtomicRMWOp, memref::GenericAtomicRMWOp, LLVM::AtomicRMWOp,
            LLVM::AtomicCmpXchgOp>(op))
      return !op->use_empty();
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      return load.getVolatile_() ||
             load.getOrdering() != LLVM::AtomicOrdering::not_atomic;
    return false;
  }

  /// Whether the blocks of a region can run again after themselves.
  static bool hasCycle(Region &region) {
    enum State { New, Open, Done };
    llvm::DenseMap<Block *, State> state;
    SmallVector<std::pair<Block *, unsigned>> stack;
    if (region.empty())
      return false;
    stack.push_back({&region.front(), 0});
    state[&region.front()] = Open;
    while (!stack.empty()) {
      auto &[block, next] = stack.back();
      if (next == block->getNumSuccessors()) {
        state[block] = Done;
        stack.pop_back();
        continue;
      }
      Block *successor = block->getSuccessor(next++);
      State &seen = state[successor];
      if (seen == Open)
        return true;
      if (seen == New) {
        seen = Open;
        stack.push_back({successor, 0});
      }
    }
    return false;
  }

  bool visit(FunctionOpInterface function, bool inLoop) {
    if (function.isExternal())
      return !function->hasAttr("llvm.readnone") &&
             !function.getName().starts_with("gpuasync_check_");
    if (active.contains(function))
      return true; // recursion
    if (ended.contains({function, inLoop}))
      return false;
    active.insert(function);
    WalkResult result = function->walk([&](Operation *op) -> WalkResult {
      for (Region &region : op->getRegions())
        if (hasCycle(region))
          return WalkResult::interrupt();
      if (isa<scf::WhileOp>(op))
        return WalkResult::interrupt();
      bool repeated = inLoop;
      for (Operation *parent = op->getParentOp();
           !repeated && parent && parent != function;
           parent = parent->getParentOp())
        repeated = isa<LoopLikeOpInterface>(parent);
      if (repeated && isObservedAtomic(op))
        return WalkResult::interrupt();
      if (auto call = dyn_cast<CallOpInterface>(op)) {
        auto callee =
            dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
        if (!callee || visit(callee, repeated))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    active.erase(function);
    if (!result.wasInterrupted())
      ended.insert({function, inLoop});
    return result.wasInterrupted();
  }

  llvm::SmallPtrSet<Operation *, 8> active;
  /// Functions that end, and whether in a loop.
  llvm::DenseSet<std::pair<Operation *, unsigned>> ended;
};
} // namespace

bool cpu::mayBlock(FunctionOpInterface kernel) {
  return BlockingAnalysis().visit(kernel, /*inLoop=*/false);
}
