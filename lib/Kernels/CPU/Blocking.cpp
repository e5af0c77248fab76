//===- Blocking.cpp - which kernels may wait for other work -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that can spin on memory must not hold up a thread that other work
// needs.
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

/// `x` times or divided by what `step` has for its constant; none where it is
/// another op.
static std::optional<APInt> stepOnce(Operation *step, const APInt &x) {
  APInt by;
  if (step->getNumOperands() != 2)
    return std::nullopt;
  if (isa<arith::AddIOp>(step) && step->getOperand(0) == step->getOperand(1))
    return x + x;
  if (!matchPattern(step->getOperand(1), m_ConstantInt(&by)))
    return std::nullopt;
  if (isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(step)) {
    if (by.isZero() || by.uge(x.getBitWidth()))
      return std::nullopt;
    return isa<arith::ShLIOp>(step)    ? x.shl(by)
           : isa<arith::ShRUIOp>(step) ? x.lshr(by)
                                       : x.ashr(by);
  }
  if (!by.sgt(1))
    return std::nullopt;
  if (isa<arith::MulIOp>(step))
    return x * by;
  if (isa<arith::DivUIOp>(step))
    return x.udiv(by);
  if (isa<arith::DivSIOp>(step))
    return x.sdiv(by);
  return std::nullopt;
}

/// Whether a loop provably ends after no more turns than a number has bits,
/// since its counter is halved (or the like) each turn until it is 0, or
/// doubled from a constant up to a constant or the size of the block.
static bool isGeometric(scf::WhileOp loop) {
  scf::ConditionOp condition = loop.getConditionOp();
  auto compare = condition.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return false;
  auto counter = dyn_cast<BlockArgument>(compare.getLhs());
  if (!counter || counter.getOwner() != loop.getBeforeBody())
    return false;
  unsigned place = counter.getArgNumber();
  Operation *step = loop.getYieldOp().getOperand(place).getDefiningOp();
  if (!step || step->getNumOperands() != 2)
    return false;
  auto stepped = dyn_cast<BlockArgument>(step->getOperand(0));
  if (!stepped || stepped.getOwner() != loop.getAfterBody() ||
      condition.getArgs()[stepped.getArgNumber()] != counter)
    return false;

  unsigned width = counter.getType().isIndex()
                       ? IndexType::kInternalStorageBitWidth
                       : counter.getType().getIntOrFloatBitWidth();
  arith::CmpIPredicate predicate = compare.getPredicate();
  APInt bound;
  bool isConstant = matchPattern(compare.getRhs(), m_ConstantInt(&bound));
  auto goesOn = [&](const APInt &x) {
    return arith::applyCmpPredicate(predicate, x, bound);
  };
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::ShRUIOp, arith::ShRSIOp>(step))
    return isConstant && stepOnce(step, APInt::getZero(width)) &&
           !goesOn(APInt::getZero(width)) &&
           (!isa<arith::ShRSIOp>(step) || !goesOn(APInt::getAllOnes(width)));

  if (!isConstant) {
    // No block is larger; what ends there ends at any smaller size.
    bool rises = llvm::is_contained(
        {arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
         arith::CmpIPredicate::ult, arith::CmpIPredicate::ule},
        predicate);
    if (!rises || width != 64 ||
        !compare.getRhs().getDefiningOp<gpu::BlockDimOp>())
      return false;
    bound = APInt(width, uint64_t(1) << 31);
  }
  APInt x;
  if (!matchPattern(loop.getInits()[place], m_ConstantInt(&x)))
    return false;
  for (unsigned turn = 0; turn <= width; ++turn) {
    if (!goesOn(x))
      return true;
    std::optional<APInt> next = stepOnce(step, x);
    if (!next)
      return false;
    x = *next;
  }
  return false;
}

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
      if (auto loop = dyn_cast<scf::WhileOp>(op); loop && !isGeometric(loop))
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
