//===- KernelBlocking.cpp - which kernels may wait for others -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See KernelBlocking.h. What decides about another turn of a loop is followed
// back through the loop; nothing is counted.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/KernelBlocking.h"

#include "GPUAsync/Analysis/Memory/KernelEffects.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// Who may write memory that a thread reads: nobody, its block, anybody.
enum class Reach { None, Block, All };
} // namespace

/// Of the memory that a memref or pointer leads to.
static Reach reachOf(Value memory, SymbolTableCollection &symbols) {
  while (true) {
    if (isOfBlock(memory.getType()))
      return Reach::Block;
    Operation *op = memory.getDefiningOp();
    if (!op)
      return Reach::All;
    if (isa<memref::AllocaOp, LLVM::AllocaOp>(op))
      return Reach::Block;
    if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
      auto global = symbols.lookupNearestSymbolFrom<memref::GlobalOp>(
          op, get.getNameAttr());
      return global && global.getConstant() ? Reach::None : Reach::All;
    }
    if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
      auto global = symbols.lookupNearestSymbolFrom<LLVM::GlobalOp>(
          op, address.getGlobalNameAttr());
      return global && global.getConstant() ? Reach::None : Reach::All;
    }
    if (auto view = dyn_cast<ViewLikeOpInterface>(op))
      memory = view.getViewSource();
    else if (isa<LLVM::GEPOp, LLVM::AddrSpaceCastOp>(op))
      memory = op->getOperand(0);
    else
      return Reach::All;
  }
}

namespace {

/// Goes through a function and what it calls.
class BlockingSearch {
public:
  BlockingSearch(SymbolTableCollection &symbols, Asks asks)
      : symbols(symbols), asks(asks) {}

  /// False if the function may block, as `found` says.
  bool visit(FunctionOpInterface function, bool inLoop);

  BlockingPoint found;

private:
  friend class Loop;
  bool fail(Operation *at, StringRef reason) {
    found = {at, reason};
    return false;
  }
  bool visitCall(CallOpInterface call, bool inLoop);
  /// The promise says nothing of how long it takes.
  bool isPromised(FunctionOpInterface function) {
    return asks == Asks::Waits &&
           function->hasAttr(GPUAsyncDialect::getNonblockingName());
  }
  bool visitGraph(Region &region);
  bool visitRegionOp(Operation *op);
  /// Who may have written what `op` itself reads.
  Reach getReads(Operation *op);
  FunctionOpInterface resolve(CallOpInterface call) {
    return dyn_cast_or_null<FunctionOpInterface>(
        call.resolveCallableInTable(&symbols));
  }

  SymbolTableCollection &symbols;
  Asks asks;
  llvm::SmallPtrSet<Operation *, 8> active;
  /// Functions that do not block, and whether in a loop.
  llvm::DenseSet<std::pair<Operation *, unsigned>> done;
  /// What functions read, with all that they call.
  llvm::DenseMap<Operation *, Reach> readsOf;
};

/// One loop: of a region op, or of blocks of a control-flow graph.
class Loop {
public:
  Loop(BlockingSearch &search, Operation *op)
      : search(search), region(nullptr), op(op) {}
  Loop(BlockingSearch &search, Region &region, ArrayRef<Block *> blocks)
      : search(search), region(&region), op(nullptr),
        blocks(blocks.begin(), blocks.end()) {}

  /// What is read to decide about another turn, directly or by way of the
  /// thread's own memory; the op that reads it, or none.
  Operation *findDecidingRead(ArrayRef<Value> deciding);
  /// An op of the loop that reads what anybody may write.
  Operation *findRead();

private:
  bool holds(Block *block) {
    if (op)
      return op->isAncestor(block->getParentOp());
    Block *own = region->findAncestorBlockInRegion(*block);
    return own && blocks.contains(own);
  }
  void pushArgument(BlockArgument argument);
  void pushRegionOp(Operation *inner);
  void push(ValueRange values) {
    for (Value value : values)
      if (seen.insert(value).second)
        worklist.push_back(value);
  }
  void pushConditions(Block &block);

  BlockingSearch &search;
  Region *region;
  Operation *op;
  llvm::SmallPtrSet<Block *, 8> blocks;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> worklist;
};

} // namespace

Reach BlockingSearch::getReads(Operation *op) {
  if (isMemoryEffectFree(op))
    return Reach::None;
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    FunctionOpInterface callee = resolve(call);
    if (!callee || callee.isExternal())
      return Reach::All;
    auto [known, isNew] = readsOf.try_emplace(callee, Reach::None);
    if (!isNew)
      return known->second;
    Reach reads = Reach::None;
    callee->walk([&](Operation *inner) {
      if (inner != callee)
        reads = std::max(reads, getReads(inner));
    });
    return readsOf[callee] = reads;
  }
  // What is in its regions counts by itself.
  if (op->getNumRegions() && op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return Reach::None;
  // What an op may read that does not say what: all that it is given.
  Reach reads = Reach::None;
  auto readAll = [&] {
    for (Value operand : op->getOperands())
      if (leadsToMemory(operand.getType()) ||
          isa<LLVM::LLVMPointerType>(operand.getType()))
        reads = std::max(reads, reachOf(operand, symbols));
  };
  if (isa<LLVM::InlineAsmOp, LLVM::CallIntrinsicOp, NVVM::InlinePtxOp>(op))
    return Reach::All;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects) {
    readAll();
    return reads;
  }
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  for (const MemoryEffects::EffectInstance &effect : instances) {
    // An atomic may say that it writes only.
    bool readsBack = isa<MemoryEffects::Write>(effect.getEffect()) &&
                     llvm::any_of(op->getResultTypes(),
                                  [](Type type) { return !isMemory(type); });
    if (!isa<MemoryEffects::Read>(effect.getEffect()) && !readsBack)
      continue;
    if (effect.getValue())
      reads = std::max(reads, reachOf(effect.getValue(), symbols));
    else
      readAll();
  }
  return reads;
}

//===----------------------------------------------------------------------===//
// What decides about another turn
//===----------------------------------------------------------------------===//

/// What a terminator looks at rather than hands on.
static SmallVector<Value> getConditions(Operation *terminator) {
  llvm::SmallPtrSet<OpOperand *, 8> forwarded;
  auto note = [&](OperandRange operands) {
    // An empty range begins nowhere.
    for (unsigned i = 0; i < operands.size(); ++i)
      forwarded.insert(
          &terminator->getOpOperand(operands.getBeginOperandIndex() + i));
  };
  if (auto branch = dyn_cast<BranchOpInterface>(terminator)) {
    for (unsigned i = 0; i < terminator->getNumSuccessors(); ++i)
      note(branch.getSuccessorOperands(i).getForwardedOperands());
  } else if (auto exit =
                 dyn_cast<RegionBranchTerminatorOpInterface>(terminator)) {
    SmallVector<RegionSuccessor> successors;
    exit.getSuccessorRegions(
        SmallVector<Attribute>(terminator->getNumOperands()), successors);
    for (const RegionSuccessor &successor : successors)
      note(exit.getSuccessorOperands(successor));
  }
  SmallVector<Value> conditions;
  for (OpOperand &operand : terminator->getOpOperands())
    if (!forwarded.contains(&operand))
      conditions.push_back(operand.get());
  return conditions;
}

void Loop::pushConditions(Block &block) {
  if (block.mightHaveTerminator())
    push(getConditions(block.getTerminator()));
}

/// All that the results and arguments of an op inside can come from.
void Loop::pushRegionOp(Operation *inner) {
  push(inner->getOperands());
  for (Region &region : inner->getRegions())
    for (Block &block : region)
      if (block.mightHaveTerminator())
        push(block.getTerminator()->getOperands());
}

void Loop::pushArgument(BlockArgument argument) {
  Block *block = argument.getOwner();
  if (!holds(block))
    return;
  Operation *parent = block->getParentOp();
  if (block->isEntryBlock()) {
    // Of this loop, precisely: what other turns hand on.
    auto branch = dyn_cast<RegionBranchOpInterface>(parent);
    if (parent != op || !branch)
      return pushRegionOp(parent);
    for (Region &from : op->getRegions())
      for (Block &last : from) {
        auto exit = last.mightHaveTerminator()
                        ? dyn_cast<RegionBranchTerminatorOpInterface>(
                              last.getTerminator())
                        : RegionBranchTerminatorOpInterface();
        if (!exit)
          continue;
        SmallVector<RegionSuccessor> successors;
        exit.getSuccessorRegions(SmallVector<Attribute>(exit->getNumOperands()),
                                 successors);
        for (const RegionSuccessor &successor : successors) {
          if (successor.getSuccessor() != block->getParent())
            continue;
          for (auto [input, operand] :
               llvm::zip(successor.getSuccessorInputs(),
                         exit.getSuccessorOperands(successor)))
            if (input == argument)
              push(operand);
        }
      }
    return;
  }
  // Where several ways of the loop meet, what decides among them counts, too.
  unsigned ways = 0;
  for (auto it = block->pred_begin(); it != block->pred_end(); ++it) {
    if (!holds(*it))
      continue;
    ++ways;
    auto branch = dyn_cast<BranchOpInterface>((*it)->getTerminator());
    Value handed;
    if (branch)
      handed = branch.getSuccessorOperands(
          it.getSuccessorIndex())[argument.getArgNumber()];
    if (handed)
      push(handed);
    else
      push((*it)->getTerminator()->getOperands());
  }
  if (ways > 1)
    for (Block &other : *block->getParent())
      if (holds(&other))
        pushConditions(other);
}

Operation *Loop::findRead() {
  Operation *read = nullptr;
  auto look = [&](Operation *inner) {
    if (inner == op || search.getReads(inner) != Reach::All)
      return WalkResult::advance();
    read = inner;
    return WalkResult::interrupt();
  };
  if (op)
    op->walk(look);
  else
    for (Block &block : *region)
      if (!read && blocks.contains(&block))
        block.walk(look);
  return read;
}

Operation *Loop::findDecidingRead(ArrayRef<Value> deciding) {
  push(deciding);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      pushArgument(argument);
      continue;
    }
    Operation *maker = value.getDefiningOp();
    if (!holds(maker->getBlock()))
      continue;
    Reach reads = search.getReads(maker);
    if (reads == Reach::All)
      return maker;
    // What is in the thread's or the block's own memory may have been read
    // anywhere in the loop.
    if (reads != Reach::None)
      return findRead();
    if (maker->getNumRegions())
      pushRegionOp(maker);
    else
      push(maker->getOperands());
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Loops that end
//===----------------------------------------------------------------------===//

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

/// An atomic whose old value nobody looks at cannot be waited on.
static bool isObservedAtomic(Operation *op) {
  if (isa<memref::AtomicRMWOp, memref::GenericAtomicRMWOp, LLVM::AtomicRMWOp,
          LLVM::AtomicCmpXchgOp>(op))
    return !op->use_empty();
  auto load = dyn_cast<LLVM::LoadOp>(op);
  return load && (load.getVolatile_() ||
                  load.getOrdering() != LLVM::AtomicOrdering::not_atomic);
}

//===----------------------------------------------------------------------===//
// Loops and calls of a function
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral
    rereads = "it reads memory here to decide about another turn of a loop",
    neverEnds = "nothing ends this loop",
    mayNotEnd = "nothing says that this loop ends",
    polls = "it polls memory here",
    callsUnknown = "it calls what has no body here",
    callsItself = "it calls itself",
    hasAssembly = "inline assembly may do anything",
    meetsCluster = "it waits for the other blocks of its cluster";

/// A loop whose trip count is known when it begins.
static bool isCounted(Operation *op) {
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  return loop &&
         (loop.getLoopUpperBounds() || isa<affine::AffineParallelOp>(op));
}

bool BlockingSearch::visitRegionOp(Operation *op) {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch || !branch.hasLoop() || isCounted(op))
    return true;
  if (asks == Asks::Delays) {
    auto loop = dyn_cast<scf::WhileOp>(op);
    return (loop && isGeometric(loop)) || fail(op, mayNotEnd);
  }
  SmallVector<Value> deciding;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (block.mightHaveTerminator())
        llvm::append_range(deciding, getConditions(block.getTerminator()));
  if (Operation *read = Loop(*this, op).findDecidingRead(deciding))
    return fail(read, rereads);
  return true;
}

/// The loops of a control-flow graph.
bool BlockingSearch::visitGraph(Region &region) {
  if (region.empty() || region.hasOneBlock())
    return true;
  DominanceInfo dominance(region.getParentOp());
  CFGLoopInfo loops(dominance.getDomTree(&region));
  for (CFGLoop *loop : loops.getLoopsInPreorder()) {
    SmallVector<Block *> exiting;
    loop->getExitingBlocks(exiting);
    if (asks == Asks::Delays)
      return fail(loop->getHeader()->getTerminator(), mayNotEnd);
    if (exiting.empty())
      return fail(loop->getHeader()->getTerminator(), neverEnds);
    SmallVector<Value> deciding;
    for (Block *block : exiting)
      llvm::append_range(deciding, getConditions(block->getTerminator()));
    Loop blocks(*this, region, loop->getBlocks());
    if (Operation *read = blocks.findDecidingRead(deciding))
      return fail(read, rereads);
  }
  // A cycle with several entries is no such loop: it is not looked into.
  llvm::DenseMap<Block *, bool> isOpen;
  SmallVector<std::pair<Block *, unsigned>> path = {{&region.front(), 0}};
  isOpen[&region.front()] = true;
  while (!path.empty()) {
    auto &[block, next] = path.back();
    if (next == block->getNumSuccessors()) {
      isOpen[block] = false;
      path.pop_back();
      continue;
    }
    Block *successor = block->getSuccessor(next++);
    auto [known, isNew] = isOpen.try_emplace(successor, true);
    if (isNew) {
      path.push_back({successor, 0});
    } else if (known->second && !dominance.dominates(successor, block)) {
      if (asks == Asks::Delays)
        return fail(block->getTerminator(), mayNotEnd);
      SmallVector<Block *> all;
      for (Block &other : region)
        all.push_back(&other);
      if (Operation *read = Loop(*this, region, all).findRead())
        return fail(read, rereads);
    }
  }
  return true;
}

bool BlockingSearch::visitCall(CallOpInterface call, bool inLoop) {
  if (isMath(call))
    return true;
  FunctionOpInterface callee = resolve(call);
  if (!callee)
    return fail(call, callsUnknown);
  if (active.contains(callee))
    return fail(call, callsItself);
  if (!callee.isExternal())
    return visit(callee, inLoop);
  bool isKnown = isPromised(callee) || callee->hasAttr("llvm.readnone") ||
                 // Of --check, which notes accesses.
                 callee.getName().starts_with("gpuasync_check_");
  return isKnown || fail(call, callsUnknown);
}

bool BlockingSearch::visit(FunctionOpInterface function, bool inLoop) {
  // Where loops that poll do not count, it does not matter who calls.
  inLoop &= asks == Asks::Delays;
  if (isPromised(function) || done.contains({function, inLoop}))
    return true;
  if (function.isExternal())
    return fail(function, callsUnknown);
  active.insert(function);
  auto visitOp = [&](Operation *op) {
    if (!visitRegionOp(op))
      return false;
    for (Region &region : op->getRegions())
      if (!visitGraph(region))
        return false;
    bool isRepeated = inLoop;
    for (Operation *parent = op->getParentOp();
         asks == Asks::Delays && !isRepeated && parent && parent != function;
         parent = parent->getParentOp())
      isRepeated = isa<LoopLikeOpInterface>(parent);
    if (isRepeated && isObservedAtomic(op))
      return fail(op, polls);
    if (auto call = dyn_cast<CallOpInterface>(op))
      return visitCall(call, isRepeated);
    if (isa<LLVM::InlineAsmOp, NVVM::InlinePtxOp>(op) &&
        !isMemoryEffectFree(op))
      return fail(op, hasAssembly);
    if (isa<NVVM::ClusterArriveOp, NVVM::ClusterArriveRelaxedOp,
            NVVM::ClusterWaitOp>(op))
      return fail(op, meetsCluster);
    return true;
  };
  WalkResult result = function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    return visitOp(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  active.erase(function);
  if (result.wasInterrupted())
    return false;
  done.insert({function, inLoop});
  return true;
}

std::optional<BlockingPoint>
gpuasync::findBlockingPoint(FunctionOpInterface function,
                            SymbolTableCollection &symbols, Asks asks) {
  BlockingSearch search(symbols, asks);
  if (search.visit(function, /*inLoop=*/false))
    return std::nullopt;
  return search.found;
}

std::optional<BlockingPoint> BlockingTable::lookup(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  if (!work || op->hasAttr(GPUAsyncDialect::getNonblockingName()))
    return std::nullopt;
  if (StringRef reason = work.getBlockingReason(); !reason.empty())
    return BlockingPoint{op, reason};
  SymbolRefAttr code = work.getCode();
  if (!code)
    return std::nullopt;
  Operation *symbol = symbols.lookupNearestSymbolFrom(op, code);
  if (!runsKernel(op)) {
    if (symbol && symbol->hasAttr(GPUAsyncDialect::getNonblockingName()))
      return std::nullopt;
    return BlockingPoint{op, "a library's function may wait for anything"};
  }
  auto kernel = dyn_cast_or_null<FunctionOpInterface>(symbol);
  if (!kernel)
    return BlockingPoint{nullptr, "its kernel has no body here"};
  auto [known, isNew] = points.try_emplace(kernel);
  if (isNew)
    known->second = findBlockingPoint(kernel, symbols, Asks::Waits);
  return known->second;
}
