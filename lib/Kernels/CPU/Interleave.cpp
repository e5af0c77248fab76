//===- Interleave.cpp - several vectors of threads at once ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Interleave.h. The costs are those of LLVM's own tables, for the vectors
// that its vectoriser is going to make.
//===----------------------------------------------------------------------===//

#include "Interleave.h"

#include "GPUAsync/Kernels/CPU/Code.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;
using namespace mlir::gpuasync;

namespace {
/// One loop over threads.
class ThreadLoop {
public:
  ThreadLoop(Loop &loop, LoopInfo &loops, ScalarEvolution &evolution,
             const TargetTransformInfo &target)
      : loop(loop), evolution(evolution), target(target), order(&loop) {
    order.perform(&loops);
  }

  /// 1: it is best left alone.
  unsigned chooseVectors();

private:
  bool readBody();
  InstructionCost getCost(Instruction &op, TargetTransformInfo::TargetCostKind);
  Type *widen(Type *type) const {
    return type->isSized() && VectorType::isValidElementType(type)
               ? FixedVectorType::get(type, lanes)
               : type;
  }

  /// Operations that a processor looks ahead for some that can begin: fewer
  /// than those of today have, since not all of these are free for it.
  static constexpr unsigned window = 200;
  /// Those of a round, at most: they are to stay in the cache of instructions.
  static constexpr unsigned longestRound = 2048;
  static constexpr unsigned mostVectors = 8;

  Loop &loop;
  ScalarEvolution &evolution;
  const TargetTransformInfo &target;
  LoopBlocksDFS order;
  unsigned lanes = 1;
  // Of the body, as vectors: cycles that its longest chain takes and that all
  // of it keeps the processor busy; operations; values in registers at once, of
  // a vector's own and of all.
  int64_t chain = 0, work = 0;
  unsigned operations = 0, ownValues = 0, sharedValues = 0;
};
} // namespace

InstructionCost ThreadLoop::getCost(Instruction &op,
                                    TargetTransformInfo::TargetCostKind kind) {
  if (isa<BinaryOperator>(op))
    return target.getArithmeticInstrCost(op.getOpcode(), widen(op.getType()),
                                         kind);
  if (auto *call = dyn_cast<IntrinsicInst>(&op)) {
    SmallVector<Type *> types;
    for (const Use &argument : call->args())
      types.push_back(widen(argument->getType()));
    return target.getIntrinsicInstrCost(
        IntrinsicCostAttributes(call->getIntrinsicID(), widen(op.getType()),
                                types),
        kind);
  }
  return target.getInstructionCost(&op, kind);
}

bool ThreadLoop::readBody() {
  unsigned widest = 8;
  for (BasicBlock *block : loop.blocks())
    for (Instruction &op : *block)
      if (isa<LoadInst, StoreInst>(op))
        widest = std::max<unsigned>(
            widest, getLoadStoreType(&op)->getScalarSizeInBits());
  lanes =
      unsigned(
          target.getRegisterBitWidth(TargetTransformInfo::RGK_FixedWidthVector)
              .getFixedValue()) /
      widest;
  if (lanes < 2)
    return false;

  DenseMap<const Value *, int64_t> ends;      // of chains, in cycles
  DenseMap<const Value *, unsigned> lastUses; // by number of operation
  SmallVector<const Instruction *> body;
  SmallPtrSet<const Value *, 8> shared;
  for (BasicBlock *block : make_range(order.beginRPO(), order.endRPO()))
    for (Instruction &op : *block) {
      if (op.isDebugOrPseudoInst() || op.isTerminator() ||
          (isa<PHINode>(op) && block == loop.getHeader()))
        continue;
      // Functions are called once for each lane or vector, one by one.
      if (isa<CallBase>(op) && !isa<IntrinsicInst>(op))
        return false;
      InstructionCost latency = getCost(op, TargetTransformInfo::TCK_Latency);
      InstructionCost busy =
          getCost(op, TargetTransformInfo::TCK_RecipThroughput);
      if (!latency.isValid() || !busy.isValid())
        return false;
      int64_t begin = 0;
      for (const Value *operand : op.operands()) {
        if (const auto *inside = dyn_cast<Instruction>(operand);
            inside && loop.contains(inside)) {
          begin = std::max(begin, ends.lookup(operand));
          lastUses[operand] = body.size();
        } else if (!operand->getType()->isPointerTy() &&
                   (!isa<Constant>(operand) || isa<BinaryOperator>(op))) {
          shared.insert(operand);
        }
      }
      ends[&op] = begin + latency.getValue();
      chain = std::max(chain, ends[&op]);
      work += busy.getValue();
      body.push_back(&op);
    }
  operations = body.size();
  sharedValues = shared.size();
  // What a value's last use frees its result may take.
  SmallVector<int> freed(operations + 1);
  int live = 0;
  for (unsigned i = 0; i < operations; ++i) {
    live -= freed[i];
    auto last = lastUses.find(body[i]);
    if (last == lastUses.end())
      continue;
    ownValues = std::max<unsigned>(ownValues, ++live);
    ++freed[last->second];
  }
  return work > 0;
}

unsigned ThreadLoop::chooseVectors() {
  if (!readBody())
    return 1;
  // A processor begins the next rounds by itself, as far as it looks ahead.
  const int64_t idle = chain / work;
  if (idle < 2 || idle <= window / operations)
    return 1;
  const unsigned registers =
      target.getNumberOfRegisters(target.getRegisterClassForType(
          /*Vector=*/true,
          FixedVectorType::get(
              IntegerType::get(loop.getHeader()->getContext(), 32), lanes)));
  // A round of more threads than there are would never run, and those that are
  // left over go one by one; 0 is any number.
  const unsigned threads = evolution.getSmallConstantMaxTripCount(&loop);
  unsigned vectors = mostVectors;
  while (vectors > 1 && (vectors / 2 >= idle || vectors * lanes > threads ||
                         vectors * operations > longestRound ||
                         vectors * ownValues + sharedValues > registers))
    vectors /= 2;
  return vectors;
}

PreservedAnalyses
cpu::InterleaveThreads::run(Function &function,
                            FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<LoopAnalysis>(function);
  if (loops.empty())
    return PreservedAnalyses::all();
  auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
  auto &target = analyses.getResult<TargetIRAnalysis>(function);
  for (Loop *loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() ||
        !findOptionMDForLoop(loop, "llvm.loop.parallel_accesses") ||
        findOptionMDForLoop(loop, "llvm.loop.interleave.count"))
      continue;
    unsigned vectors =
        ThreadLoop(*loop, loops, evolution, target).chooseVectors();
    if (vectors > 1)
      addStringMetadataToLoop(loop, "llvm.loop.interleave.count", vectors);
  }
  return PreservedAnalyses::all();
}

/// Whether a minnum or maxnum is carried from round to round.
static bool carriesExtremum(Loop &loop) {
  BasicBlock *latch = loop.getLoopLatch();
  return latch && any_of(loop.getHeader()->phis(), [&](PHINode &phi) {
           auto *next =
               dyn_cast<IntrinsicInst>(phi.getIncomingValueForBlock(latch));
           return next && (next->getIntrinsicID() == Intrinsic::minnum ||
                           next->getIntrinsicID() == Intrinsic::maxnum);
         });
}

PreservedAnalyses
cpu::LeaveShortExtrema::run(Function &function,
                            FunctionAnalysisManager &analyses) {
  // Of fewer rounds LLVM makes masked vectors, and no loop for a rest.
  constexpr unsigned masked = 16;
  auto &loops = analyses.getResult<LoopAnalysis>(function);
  auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
  for (Loop *loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || !carriesExtremum(*loop))
      continue;
    const unsigned rounds = evolution.getSmallConstantMaxTripCount(loop);
    if (rounds && rounds < masked)
      addStringMetadataToLoop(loop, "llvm.loop.vectorize.width", 1);
  }
  return PreservedAnalyses::all();
}

PreservedAnalyses cpu::LeaveLongLoops::run(Function &function,
                                           FunctionAnalysisManager &analyses) {
  constexpr unsigned longest = 1 << 12;
  for (Loop *loop :
       analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder()) {
    unsigned operations = 0;
    for (BasicBlock *block : loop->blocks())
      operations += block->size();
    if (loop->isInnermost() && operations > longest)
      addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
  }
  return PreservedAnalyses::all();
}

bool cpu::isKernelCode(const Function &function) {
  return function.hasFnAttribute(cpuKernelAttribute) ||
         function.hasFnAttribute(blockFunctionAttribute);
}

PreservedAnalyses
cpu::LeaveOuterLoops::run(Loop &loop, LoopAnalysisManager &,
                          LoopStandardAnalysisResults &results, LPMUpdater &) {
  // The vectoriser may leave a few instructions of loops as short as these,
  // whose outer loop is worth unrolling.
  constexpr unsigned shortLoop = 16;
  if (!isKernelCode(*loop.getHeader()->getParent()))
    return PreservedAnalyses::all();
  const bool staysAround =
      llvm::any_of(loop.getLoopsInPreorder(), [&](Loop *inner) {
        const unsigned rounds = results.SE.getSmallConstantTripCount(inner);
        return inner != &loop && (rounds == 0 || rounds > shortLoop);
      });
  if (staysAround)
    addStringMetadataToLoop(&loop, "llvm.loop.unroll.disable", 1);
  return PreservedAnalyses::all();
}
