//===- ThreadOrder.cpp - what one thread does stays in order --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ThreadOrder.h. LLVM makes one wide access of several that have the same
// stride and are less than a stride apart (InterleavedAccessInfo): loads move
// up to the first of their group, stores down to the last. All else that the
// vectoriser makes keeps the order of the loop's body.
//===----------------------------------------------------------------------===//

#include "ThreadOrder.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/LoopVersioning.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;
using namespace mlir::gpuasync;

namespace {
/// The analyses of a function that are asked.
struct Analyses {
  LoopInfo &loops;
  ScalarEvolution &evolution;
  DominatorTree &dominators;
  AssumptionCache &assumptions;
  AAResults &aliases;
};

/// One innermost loop over threads.
class ThreadLoop {
public:
  ThreadLoop(Loop &loop, const Analyses &analyses, const LoopAccessInfo &info)
      : loop(loop), analyses(analyses), info(info),
        evolution(analyses.evolution, loop), aliases(analyses.aliases) {}

  /// Whether anything was changed.
  bool run();

private:
  struct Access {
    Instruction *op;
    const SCEV *address;
    int64_t bytes;
    /// In units of `bytes`; 0 if no group takes it.
    int64_t stride;
    /// Where in the body a group may move it: up if it loads, down if it
    /// stores.
    unsigned target;
    bool isStore() const { return isa<StoreInst>(op); }
  };
  /// Numbers of accesses, the first before the second.
  using Pair = std::pair<unsigned, unsigned>;
  /// Accesses whose addresses are the same number of bytes apart in all
  /// threads.
  struct Neighbours {
    SmallVector<unsigned> accesses;
    RuntimeCheckingPtrGroup inThread, inLoop;
  };

  /// Of the accesses of a group, at most: LLVM's -max-interleave-group-factor.
  static constexpr int64_t longestStride = 8;
  static constexpr size_t mostChecks = 32;

  bool collect();
  void findTargets();
  std::optional<int64_t> getDistance(const Access &a, const Access &b);
  bool mayTouchSame(const Access &a, const Access &b);
  SmallVector<Pair> findBroken();
  bool findChecks(ArrayRef<Pair> broken);
  Loop *version();

  Loop &loop;
  const Analyses &analyses;
  const LoopAccessInfo &info;
  PredicatedScalarEvolution evolution;
  BatchAAResults aliases;
  /// In the order of the body.
  SmallVector<Access> accesses;
  std::vector<Neighbours> neighbours;
  SmallVector<RuntimePointerCheck> checks;
};
} // namespace

/// The loads and stores of a loop in the order of its body.
static SmallVector<Instruction *> getAccesses(Loop &loop, LoopInfo &loops) {
  SmallVector<Instruction *> accesses;
  LoopBlocksRPO order(&loop);
  order.perform(&loops);
  for (BasicBlock *block : order)
    for (Instruction &op : *block)
      if (isa<LoadInst, StoreInst>(op))
        accesses.push_back(&op);
  return accesses;
}

/// Whether the loop stores, and some of it may be moved.
bool ThreadLoop::collect() {
  const DataLayout &layout = loop.getHeader()->getDataLayout();
  bool isStrided = false, stores = false;
  for (Instruction *op : getAccesses(loop, analyses.loops)) {
    Value *address = getLoadStorePointerOperand(op);
    Type *type = getLoadStoreType(op);
    // As the vectoriser asks, which may assume more once it has checked it.
    int64_t stride =
        getPtrStride(evolution, type, address, &loop, analyses.dominators,
                     info.getSymbolicStrides(), /*Assume=*/true,
                     /*ShouldCheckWrap=*/false)
            .value_or(0);
    if (std::abs(stride) < 2 || std::abs(stride) > longestStride)
      stride = 0;
    isStrided |= stride != 0;
    stores |= isa<StoreInst>(op);
    accesses.push_back(
        {op,
         replaceSymbolicStrideSCEV(evolution, info.getSymbolicStrides(),
                                   address),
         int64_t(layout.getTypeAllocSize(type).getKnownMinValue()), stride,
         unsigned(accesses.size())});
  }
  return isStrided && stores;
}

/// How far the address of `b` is behind that of `a` in one and the same thread.
std::optional<int64_t> ThreadLoop::getDistance(const Access &a,
                                               const Access &b) {
  const auto *distance = dyn_cast<SCEVConstant>(
      analyses.evolution.getMinusSCEV(b.address, a.address));
  if (!distance || distance->getAPInt().getSignificantBits() > 32)
    return std::nullopt;
  return distance->getAPInt().getSExtValue();
}

/// A group may hold all accesses that look alike and are less than a stride
/// apart.
void ThreadLoop::findTargets() {
  for (unsigned j = 0; j < accesses.size(); ++j)
    for (unsigned i = 0; i < j; ++i) {
      Access &a = accesses[i], &b = accesses[j];
      if (!a.stride || b.stride != a.stride || b.bytes != a.bytes ||
          b.isStore() != a.isStore())
        continue;
      std::optional<int64_t> distance = getDistance(a, b);
      if (!distance || std::abs(*distance) >= std::abs(a.stride) * a.bytes)
        continue;
      if (a.isStore())
        a.target = std::max(a.target, j);
      else
        b.target = std::min(b.target, i);
    }
}

bool ThreadLoop::mayTouchSame(const Access &a, const Access &b) {
  if (std::optional<int64_t> distance = getDistance(a, b))
    return *distance < a.bytes && -*distance < b.bytes;
  return !aliases.isNoAlias(MemoryLocation::get(a.op),
                            MemoryLocation::get(b.op));
}

/// Stores, each with a later access that may touch the same memory and might
/// come first then.
SmallVector<ThreadLoop::Pair> ThreadLoop::findBroken() {
  SmallVector<Pair> broken;
  for (unsigned i = 0; i < accesses.size(); ++i)
    for (unsigned j = i + 1; accesses[i].isStore() && j < accesses.size();
         ++j) {
      const Access &a = accesses[i], &b = accesses[j];
      bool isMoved = a.target != i || b.target != j;
      if (isMoved && a.target >= b.target && mayTouchSame(a, b))
        broken.push_back({i, j});
    }
  return broken;
}

//===----------------------------------------------------------------------===//
// Accesses that stay where they are
//===----------------------------------------------------------------------===//

/// The same address, computed by a number that LLVM knows nothing of.
static Value *hideStride(Value *address, Loop &loop, IRBuilderBase &builder) {
  auto *gep = dyn_cast<GetElementPtrInst>(address);
  if (!gep || !loop.contains(gep))
    return builder.CreateFreeze(address);
  Instruction *copy = gep->clone();
  for (Use &operand : copy->operands())
    if (!loop.isLoopInvariant(operand))
      operand.set(operand->getType()->isPointerTy()
                      ? hideStride(operand, loop, builder)
                      : builder.CreateFreeze(operand));
  return builder.Insert(copy);
}

static void hideStride(Instruction *access, Loop &loop) {
  IRBuilder<> builder(access);
  unsigned operand = isa<StoreInst>(access)
                         ? StoreInst::getPointerOperandIndex()
                         : LoadInst::getPointerOperandIndex();
  access->setOperand(operand,
                     hideStride(access->getOperand(operand), loop, builder));
}

//===----------------------------------------------------------------------===//
// Checks before the loop
//===----------------------------------------------------------------------===//

/// Finds out how the program can tell, before the loop, that no thread has a
/// broken pair. False if that is not possible, or takes too much.
bool ThreadLoop::findChecks(ArrayRef<Pair> broken) {
  ScalarEvolution &evolution = analyses.evolution;
  BasicBlock *before = loop.getLoopPreheader();
  const SCEV *rounds = evolution.getBackedgeTakenCount(&loop);
  const SCEV *mostRounds = evolution.getSymbolicMaxBackedgeTakenCount(&loop);
  if (!before || !loop.isLoopSimplifyForm() || !loop.getUniqueExitBlock() ||
      isa<SCEVCouldNotCompute>(rounds))
    return false;
  SCEVExpander expander(evolution, "order");
  auto isComputable = [&](const SCEV *value) {
    return !isa<SCEVCouldNotCompute>(value) &&
           evolution.isLoopInvariant(value, &loop) &&
           expander.isSafeToExpandAt(value, before->getTerminator());
  };
  // The bytes that accesses touch in the first thread, and in all.
  RuntimePointerChecking inThread(*info.getRuntimePointerChecking());
  inThread.reset();
  RuntimePointerChecking inLoop(inThread);
  std::optional<ScalarEvolution::LoopGuards> guards;
  DenseMap<unsigned, unsigned> groupOf;
  auto add = [&](unsigned number) {
    if (groupOf.count(number))
      return true;
    const Access &access = accesses[number];
    Value *address = getLoadStorePointerOperand(access.op);
    const auto *steps = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(address));
    if (!steps || steps->getLoop() != &loop || !steps->isAffine())
      return false;
    const SCEV *first = steps->getStart();
    const SCEV *end = evolution.getAddExpr(
        first,
        evolution.getConstant(evolution.getEffectiveSCEVType(first->getType()),
                              uint64_t(access.bytes)));
    auto [low, high] = getStartAndEndForAccess(
        &loop, steps, getLoadStoreType(access.op), rounds, mostRounds,
        &evolution, nullptr, &analyses.dominators, &analyses.assumptions,
        guards);
    for (const SCEV *value : {first, end, low, high})
      if (!isComputable(value))
        return false;
    for (auto [checking, begin, last] :
         {std::tuple(&inThread, first, end), std::tuple(&inLoop, low, high)})
      checking->Pointers.emplace_back(address, begin, last, access.isStore(),
                                      /*DependencySetId=*/0, /*AliasSetId=*/0,
                                      steps, /*NeedsFreeze=*/true);
    unsigned index = inThread.Pointers.size() - 1;
    for (Neighbours &group : neighbours) {
      const Access &member = accesses[group.accesses.front()];
      if (member.isStore() != access.isStore() || !getDistance(member, access))
        continue;
      RuntimeCheckingPtrGroup thread = group.inThread, all = group.inLoop;
      if (!thread.addPointer(index, inThread) || !all.addPointer(index, inLoop))
        continue;
      group.inThread = thread;
      group.inLoop = all;
      group.accesses.push_back(number);
      groupOf[number] = &group - neighbours.data();
      return true;
    }
    groupOf[number] = neighbours.size();
    neighbours.push_back({{number},
                          RuntimeCheckingPtrGroup(index, inThread),
                          RuntimeCheckingPtrGroup(index, inLoop)});
    return true;
  };
  SetVector<Pair> pairs;
  for (auto [i, j] : broken) {
    if (!add(i) || !add(j) || groupOf[i] == groupOf[j])
      return false;
    pairs.insert(std::minmax(groupOf[i], groupOf[j]));
  }
  if (pairs.size() > mostChecks)
    return false;
  for (auto [i, j] : pairs) {
    auto getStep = [&](const Neighbours &group) {
      Value *address =
          getLoadStorePointerOperand(accesses[group.accesses.front()].op);
      return cast<SCEVAddRecExpr>(evolution.getSCEV(address))
          ->getStepRecurrence(evolution);
    };
    // What goes on by the same step meets in all threads or in none.
    if (getStep(neighbours[i]) == getStep(neighbours[j]))
      checks.push_back({&neighbours[i].inThread, &neighbours[j].inThread});
    else
      checks.push_back({&neighbours[i].inLoop, &neighbours[j].inLoop});
  }
  return true;
}

/// Puts the checks before the loop. Returns the copy that runs if one fails.
Loop *ThreadLoop::version() {
  formLCSSARecursively(loop, analyses.dominators, &analyses.loops,
                       &analyses.evolution);
  LoopVersioning versioning(info, checks, &loop, &analyses.loops,
                            &analyses.dominators, &analyses.evolution);
  versioning.versionLoop();
  return versioning.getNonVersionedLoop();
}

bool ThreadLoop::run() {
  if (!collect())
    return false;
  findTargets();
  SmallVector<Pair> broken = findBroken();
  if (broken.empty())
    return false;
  SetVector<unsigned> moved;
  for (auto [i, j] : broken)
    for (unsigned number : {i, j})
      if (accesses[number].target != number)
        moved.insert(number);
  Loop &slow = findChecks(broken) ? *version() : loop;
  SmallVector<Instruction *> there = getAccesses(slow, analyses.loops);
  for (unsigned number : moved)
    hideStride(there[number], slow);
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void allowVectorizing(Loop &loop) {
  loop.setLoopID(makePostTransformationMetadata(
      loop.getHeader()->getContext(), loop.getLoopID(),
      {"llvm.loop.vectorize.enable"}, {}));
}

PreservedAnalyses cpu::KeepThreadOrder::run(Function &function,
                                            FunctionAnalysisManager &manager) {
  auto &loops = manager.getResult<LoopAnalysis>(function);
  bool changed = false;
  for (Loop *loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() ||
        !findOptionMDForLoop(loop, "llvm.loop.parallel_accesses"))
      continue;
    allowVectorizing(*loop);
    // LLVM looks for dependences where another access is in the loop.
    if (!loop->isAnnotatedParallel())
      continue;
    Analyses analyses{loops,
                      manager.getResult<ScalarEvolutionAnalysis>(function),
                      manager.getResult<DominatorTreeAnalysis>(function),
                      manager.getResult<AssumptionAnalysis>(function),
                      manager.getResult<AAManager>(function)};
    // As the vectoriser does it.
    changed |= simplifyLoop(loop, &analyses.dominators, &loops,
                            &analyses.evolution, &analyses.assumptions,
                            /*MSSAU=*/nullptr, /*PreserveLCSSA=*/false);
    auto &infos = manager.getResult<LoopAccessAnalysis>(function);
    if (!ThreadLoop(*loop, analyses, infos.getInfo(*loop)).run())
      continue;
    changed = true;
    infos.clear();
    analyses.evolution.forgetAllLoops();
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}
