//===- Interchange.cpp - loops around the loops over threads ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop inside the loop over the threads keeps LLVM from vectorising over
// them, and strides of a whole block tear cache lines. Threads do not depend on
// each other between barriers, so a block may run such a loop itself.
//===----------------------------------------------------------------------===//

#include "Interchange.h"
#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "Kernels/CPU/Lowering.h"
#include "Kernels/Common/Allocas.h"
#include "Places.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

std::optional<ThreadStart> cpu::findThreadStart(func::FuncOp kernel,
                                                const ThreadVariance &variance,
                                                scf::ForOp loop) {
  Value start = loop.getLowerBound();
  if (!variance.varies(start) || variance.varies(loop.getUpperBound()) ||
      variance.varies(loop.getStep()) || Places::getWidth(start.getType()) > 64)
    return std::nullopt;
  Places places(kernel, variance);
  if (!places.growsWithIds(start) ||
      (loop.getUnsignedCmp() && places.getRange(start).least < 0))
    return std::nullopt;
  return ThreadStart{places.getDimension(start)};
}

namespace {
class LoopFinder {
public:
  LoopFinder(func::FuncOp kernel, const llvm::DenseSet<Operation *> &meeting)
      : kernel(kernel), meeting(meeting) {}

  /// Loops that are worth it; their number is bounded by what the threads are
  /// known to agree about if the block runs all control flow.
  SmallVector<scf::ForOp> findCandidates();
  /// Whether the block can run `loop` and what is around it.
  bool isRunByBlock(scf::ForOp loop, const ThreadVariance &variance);

private:
  std::optional<int64_t> getStrideInX(Value value);
  std::optional<int64_t> computeStrideInX(Value value);
  std::optional<int64_t> getDistanceInX(Value memref, ValueRange indices);
  bool isWorthwhile(scf::ForOp loop);
  bool isThreadLoopWorthwhile(scf::ForOp loop, ArrayRef<scf::ForOp> candidates);
  bool isCheap(scf::ForOp loop);
  bool areNeighbours(Value memref, ValueRange indices, int64_t elements);
  bool isForeign(Operation *op);
  bool hasLargePrivateMemory();

  func::FuncOp kernel;
  const llvm::DenseSet<Operation *> &meeting;
  std::optional<ThreadVariance> variance;
  llvm::DenseMap<Value, std::optional<int64_t>> strideInX;
};
} // namespace

//===----------------------------------------------------------------------===//
// What it is worth
//===----------------------------------------------------------------------===//

/// By how many the value of a thread grows from one x to the next.
std::optional<int64_t> LoopFinder::getStrideInX(Value value) {
  if (!variance->varies(value))
    return 0;
  if (auto known = strideInX.find(value); known != strideInX.end())
    return known->second;
  std::optional<int64_t> stride = computeStrideInX(value);
  strideInX[value] = stride;
  return stride;
}

std::optional<int64_t> LoopFinder::computeStrideInX(Value value) {
  if (std::optional<unsigned> dim = getThreadIdDimension(kernel, value))
    return dim == 0;
  Operation *op = value.getDefiningOp();
  if (!op) {
    // In one round all counters are as far from where they began.
    auto loop = dyn_cast<scf::ForOp>(value.getParentBlock()->getParentOp());
    if (!loop || value != loop.getInductionVar() ||
        !findThreadStart(kernel, *variance, loop))
      return std::nullopt;
    return getStrideInX(loop.getLowerBound());
  }
  if (op->getNumRegions() || !dependsOnOperandsOnly(op))
    return std::nullopt;
  SmallVector<int64_t> strides;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> stride = getStrideInX(operand);
    if (!stride)
      return std::nullopt;
    strides.push_back(*stride);
  }
  if (Places::isCast(op))
    return strides[0];
  if (isa<arith::AddIOp>(op))
    return llvm::checkedAdd(strides[0], strides[1]);
  if (isa<arith::SubIOp>(op))
    return llvm::checkedSub(strides[0], strides[1]);
  if (llvm::all_of(strides, [](int64_t stride) { return stride == 0; }))
    return 0;
  APInt factor;
  if (isa<arith::MulIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&factor)) &&
      factor.getSignificantBits() <= 64)
    return llvm::checkedMul(strides[0], factor.getSExtValue());
  return std::nullopt;
}

/// How many elements there are from a thread's access to its neighbour's in x.
/// Nothing is known where the memory itself is another for each.
std::optional<int64_t> LoopFinder::getDistanceInX(Value memref,
                                                  ValueRange indices) {
  std::optional<int64_t> apart = 0;
  auto add = [&](std::optional<int64_t> stride, int64_t elements) {
    if (stride == 0)
      return true;
    if (!stride || ShapedType::isDynamic(elements))
      return false;
    apart = llvm::checkedMulAdd(*stride, elements, *apart);
    return apart.has_value();
  };
  auto type = cast<MemRefType>(memref.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  for (auto [index, elements] : llvm::zip_equal(indices, strides))
    if (!add(getStrideInX(index), elements))
      return std::nullopt;
  while (variance->varies(memref)) {
    auto view = memref.getDefiningOp<memref::SubViewOp>();
    if (!view || llvm::any_of(view.getStrides(), [&](Value stride) {
          return variance->varies(stride);
        }))
      return std::nullopt;
    memref = view.getSource();
    auto [strides, offset] = view.getSourceType().getStridesAndOffset();
    for (auto [start, elements] :
         llvm::zip_equal(view.getMixedOffsets(), strides))
      if (auto value = dyn_cast<Value>(start))
        if (!add(getStrideInX(value), elements))
          return std::nullopt;
  }
  return apart;
}

/// Whether a loop that all threads run alike is better run around them: where
/// neighbours in x touch neighbouring elements in all accesses that differ
/// between them.
bool LoopFinder::isWorthwhile(scf::ForOp loop) {
  bool contiguous = false;
  auto takesAccess = [&](Value memref, ValueRange indices) {
    std::optional<int64_t> apart = getDistanceInX(memref, indices);
    contiguous |= apart == 1;
    return apart == 0 || apart == 1;
  };
  WalkResult walked = loop.getBody()->walk([&](Operation *op) -> WalkResult {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return WalkResult(
          success(takesAccess(load.getMemref(), load.getIndices())));
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return WalkResult(
          success(takesAccess(store.getMemref(), store.getIndices())));
    if (isa<scf::ForOp, scf::WhileOp>(op))
      return WalkResult::interrupt();
    return WalkResult(
        success(isa<scf::IfOp, scf::YieldOp>(op) || isMemoryEffectFree(op)));
  });
  return !walked.wasInterrupted() && contiguous;
}

/// Whether the accesses of neighbours in x, to `elements` each, are to the same
/// cache lines, but not to the same elements.
bool LoopFinder::areNeighbours(Value memref, ValueRange indices,
                               int64_t elements) {
  constexpr int64_t furthest = 32; // bytes
  std::optional<int64_t> apart = getDistanceInX(memref, indices);
  int64_t bytes =
      getElementBytes(cast<MemRefType>(memref.getType()).getElementType());
  return bytes && apart && *apart >= 1 &&
         *apart <= std::max(elements, furthest / bytes);
}

/// Whether `op` might wait or end, or reaches memory of the thread, of which
/// there would be one for each thread of the block.
bool LoopFinder::isForeign(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
        call, call.getCalleeAttr());
    if (!callee || callee.isExternal() || mayBlock(callee))
      return true;
  } else if (isa<CallOpInterface>(op) || isAlloca(op)) {
    return true;
  }
  return llvm::any_of(op->getOperands(), [](Value value) {
    while (Operation *source = value.getDefiningOp()) {
      if (isAlloca(source))
        return true;
      auto view = dyn_cast<ViewLikeOpInterface>(source);
      if (!view && !isa<LLVM::GEPOp>(source))
        return false;
      value = view ? view.getViewSource() : source->getOperand(0);
    }
    return false;
  });
}

/// Whether a loop that begins at the thread's place costs little if the block
/// runs it.
bool LoopFinder::isCheap(scf::ForOp loop) {
  // What it carries is written to memory and read in each round.
  constexpr int64_t mostCarried = 64; // bytes
  int64_t carried = 0;
  for (Value value : loop.getRegionIterArgs()) {
    if (!isa<IntegerType, IndexType, FloatType, VectorType>(value.getType()))
      return false;
    carried += getElementBytes(value.getType());
  }
  return carried <= mostCarried && !hasLargePrivateMemory() &&
         llvm::none_of(*loop.getBody(), [&](Operation &inner) {
           return holds(&inner, [&](Operation *op) { return isForeign(op); });
         });
}

/// Whether a cheap loop that begins at the thread's place is better run around
/// the threads. Thread by thread each access is to a cache line of its own
/// then, so that one access where neighbours share them is enough.
bool LoopFinder::isThreadLoopWorthwhile(scf::ForOp loop,
                                        ArrayRef<scf::ForOp> candidates) {
  bool contiguous = false;
  WalkResult walked = loop.getBody()->walk([&](Operation *op) -> WalkResult {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      contiguous |= areNeighbours(load.getMemref(), load.getIndices(), 1);
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      contiguous |= areNeighbours(store.getMemref(), store.getIndices(), 1);
    else if (auto load = dyn_cast<vector::LoadOp>(op))
      contiguous |= areNeighbours(load.getBase(), load.getIndices(),
                                  load.getVectorType().getNumElements());
    else if (auto store = dyn_cast<vector::StoreOp>(op))
      contiguous |= areNeighbours(store.getBase(), store.getIndices(),
                                  store.getVectorType().getNumElements());
    // What is inside runs thread by thread if it is not worth it itself.
    if (isa<LoopLikeOpInterface>(op))
      return WalkResult(success(llvm::any_of(candidates, [&](scf::ForOp inner) {
        return op->isAncestor(inner);
      })));
    return WalkResult::advance();
  });
  return !walked.wasInterrupted() && contiguous;
}

/// Whether the private memory of the threads of a block, which is used in
/// several pieces once loops are cut, might push other things from the cache.
bool LoopFinder::hasLargePrivateMemory() {
  constexpr int64_t most = 256; // bytes of a thread
  int64_t bytes = 0;
  kernel.walk([&](memref::AllocaOp alloca) {
    bytes += std::min(getBytesInMemory(alloca.getType()).value_or(most + 1),
                      most + 1);
  });
  return bytes > most;
}

SmallVector<scf::ForOp> LoopFinder::findCandidates() {
  variance.emplace(kernel, [](Operation *op) {
    return isControlFlow(op) || isCollective(op);
  });
  strideInX.clear();
  SmallVector<scf::ForOp> candidates;
  kernel.walk([&](scf::ForOp loop) {
    if (meeting.contains(loop) || !isRunByBlock(loop, *variance))
      return;
    for (Operation *op = loop; op != kernel; op = op->getParentOp())
      if (auto around = dyn_cast<scf::ForOp>(op);
          around && variance->hasVaryingControl(around) && !isCheap(around))
        return;
    if (variance->hasVaryingControl(loop)
            ? isThreadLoopWorthwhile(loop, candidates)
            : isWorthwhile(loop))
      candidates.push_back(loop);
  });
  return candidates;
}

//===----------------------------------------------------------------------===//
// What can be run by the block
//===----------------------------------------------------------------------===//

bool LoopFinder::isRunByBlock(scf::ForOp loop, const ThreadVariance &variance) {
  bool isInThreadLoop = false;
  for (Operation *op = loop; op != kernel; op = op->getParentOp()) {
    if (!isControlFlow(op))
      return false;
    if (!variance.hasVaryingControl(op))
      continue;
    // Threads that meet there are told apart by masks.
    if (meeting.contains(op))
      return false;
    if (auto parent = dyn_cast<scf::ForOp>(op)) {
      if (!findThreadStart(kernel, variance, parent))
        return false;
      isInThreadLoop = true;
      continue;
    }
    // The threads of a box, which the first thread has to be one of where a
    // loop counts from its place.
    auto branch = dyn_cast<scf::IfOp>(op);
    std::optional<Guard> guard;
    if (branch)
      guard = findGuard(kernel, variance, branch);
    if (!guard || (isInThreadLoop && !guard->takesFirst()))
      return false;
  }
  return true;
}

BlockLevel cpu::findBlockLevel(func::FuncOp kernel, int64_t sizeX,
                               bool mayFail) {
  BlockLevel result;
  auto add = [&](llvm::DenseSet<Operation *> &ops, Operation *op) {
    for (; op != kernel; op = op->getParentOp())
      if (!ops.insert(op).second)
        return;
  };
  kernel.walk([&](Operation *op) {
    if (isCollective(op))
      add(result.meeting, op);
  });
  result.ops = result.meeting;
  // A thread that fails ends the block at the next cut, which has to be a
  // barrier of the program then.
  if (mayFail)
    return result;
  // With few threads in x there is nothing to vectorise over.
  if (sizeX && sizeX < 4)
    return result;
  // A cut is no reason to refuse what cannot outlive it.
  DominanceInfo dominance(kernel);
  auto isPlaceable = [&](Operation *op) {
    auto alloca = dyn_cast<memref::AllocaOp>(op);
    return !isa<LLVM::AllocaOp>(op) &&
           llvm::none_of(op->getResultTypes(),
                         llvm::IsaPred<UnrankedMemRefType>) &&
           (!alloca || (getBytesInMemory(alloca.getType()) &&
                        alloca.getAlignment().value_or(1) <=
                            uint64_t(ThreadMemory::maxAlignment) &&
                        isFreeWhenRunAgain(alloca, dominance)));
  };
  if (holds(kernel, [&](Operation *op) { return !isPlaceable(op); }))
    return result;
  LoopFinder finder(kernel, result.meeting);
  SmallVector<scf::ForOp> loops = finder.findCandidates();
  // The block knows less: what ops in a piece yield is for their threads only.
  while (!loops.empty()) {
    llvm::DenseSet<Operation *> ops = result.meeting;
    for (scf::ForOp loop : loops)
      add(ops, loop);
    ThreadVariance known(kernel,
                         [&](Operation *op) { return ops.contains(op); });
    auto unknown = llvm::remove_if(loops, [&](scf::ForOp loop) {
      return !finder.isRunByBlock(loop, known);
    });
    if (unknown == loops.end()) {
      result.ops = std::move(ops);
      break;
    }
    loops.erase(unknown, loops.end());
  }
  return result;
}
