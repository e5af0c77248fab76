//===- LoopAllocations.cpp - allocations that leave loops -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No order is added: where rounds may overlap, each keeps memory of its own. A
// loop that runs no round allocates no bytes.
//===----------------------------------------------------------------------===//

#include "LoopAllocations.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::plan;

SmallVector<scf::ForOp> plan::findAllocatingLoops(FunctionOpInterface function,
                                                  MemoryFacts &facts) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) {
    bool allocates = false;
    for (Operation &op : *loop.getBody()) {
      if (isa<AllocOp>(op))
        allocates = true;
      else if (mayAllocate(&op, facts))
        return;
    }
    if (allocates)
      loops.push_back(loop);
  });
  return loops;
}

bool plan::isReusedInOrder(const FunctionAllocations &order,
                           const BlockAllocations &block,
                           ArrayRef<unsigned> members) {
  llvm::BitVector used(order.items.size());
  for (unsigned member : members)
    for (Operation *user : block.allocations[member].users)
      used.set(order.numberOf.lookup(user));
  return llvm::all_of(used.set_bits(), [&](unsigned item) {
    auto before = order.inEarlierRounds.find(order.items[item]);
    return before != order.inEarlierRounds.end() && !used.test(before->second);
  });
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// The ops of the body that compute the sizes, if they can be in front of the
/// loop as well.
static FailureOr<SetVector<Operation *>> findMakers(scf::ForOp loop,
                                                    ValueRange sizes) {
  SetVector<Operation *> makers;
  SmallVector<Value> worklist(sizes);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (loop.isDefinedOutsideOfLoop(value))
      continue;
    Operation *maker = value.getDefiningOp();
    if (!maker || maker->getBlock() != loop.getBody() ||
        maker->getNumRegions() || !isPure(maker))
      return failure();
    if (makers.insert(maker))
      llvm::append_range(worklist, maker->getOperands());
  }
  return topologicalSort(makers);
}

static bool runsARound(scf::ForOp loop) {
  if (loop.getUnsignedCmp())
    return false;
  if (std::optional<APInt> rounds = loop.getStaticTripCount())
    return !rounds->isZero();
  return loop.getLowerBound().getType().isIndex() &&
         ValueBoundsConstraintSet::compare(loop.getLowerBound(),
                                           ValueBoundsConstraintSet::LT,
                                           loop.getUpperBound());
}

/// Which result of the loop is reached once a token of the body, in the last
/// round, is.
static unsigned carryOut(scf::ForOp &loop, Value init, Value token,
                         const FunctionAllocations &order) {
  auto find = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    auto found = maker ? order.numberOf.find(maker) : order.numberOf.end();
    return found == order.numberOf.end() ? std::nullopt
                                         : std::optional(found->second);
  };
  Operation *yield = loop.getBody()->getTerminator();
  std::optional<unsigned> item = find(token);
  for (auto [number, yielded] : llvm::enumerate(yield->getOperands())) {
    std::optional<unsigned> later = find(yielded);
    if (yielded == token || (item && later && order.before[*later].test(*item)))
      return number;
  }
  unsigned number = yield->getNumOperands();
  loop = cast<scf::ForOp>(appendTokens(loop, init, 1));
  loop.getBody()->addArgument(token.getType(), token.getLoc());
  yield->insertOperands(number, token);
  return number;
}

unsigned plan::leaveLoop(scf::ForOp loop, ArrayRef<SlabOps> allocations,
                         const FunctionAllocations &order) {
  Operation *firstFree = nullptr, *lastAlloc = nullptr;
  for (Operation &op : *loop.getBody()) {
    if (isa<DeallocOp>(op) && !firstFree)
      firstFree = &op;
    if (isa<AllocOp>(op))
      lastAlloc = &op;
  }
  if (firstFree->isBeforeInBlock(lastAlloc))
    return 0;

  unsigned count = 0;
  OpBuilder builder(loop);
  Value runs, none;
  for (const SlabOps &each : allocations) {
    AllocOp old = each.alloc;
    DeallocOp oldFree = each.dealloc;
    auto makers = findMakers(loop, old.getDynamicSizes());
    if (failed(makers) || old.getStream() || oldFree.getStream() ||
        !llvm::all_of(old.getAsyncDependencies(), [&](Value token) {
          return loop.isDefinedOutsideOfLoop(token);
        }))
      continue;
    ++count;
    builder.setInsertionPoint(loop);
    Location loc = old.getLoc();
    bool isCertain = runsARound(loop);
    if (!isCertain && !runs) {
      auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                        : arith::CmpIPredicate::slt;
      runs = arith::CmpIOp::create(builder, loop.getLoc(), less,
                                   loop.getLowerBound(), loop.getUpperBound());
      none = arith::ConstantIndexOp::create(builder, loop.getLoc(), 0);
    }
    auto ifAny = [&](Value size) -> Value {
      return isCertain
                 ? size
                 : arith::SelectOp::create(builder, loc, runs, size, none);
    };
    for (Operation *maker : *makers)
      maker->moveBefore(loop);
    MemRefType type = old.getMemref().getType();
    SmallVector<Value> sizes;
    for (Value size : old.getDynamicSizes())
      sizes.push_back(ifAny(size));
    // One of constant sizes becomes bytes whose number is no constant.
    if (sizes.empty() && !isCertain) {
      type =
          MemRefType::get(ShapedType::kDynamic, builder.getI8Type(),
                          MemRefLayoutAttrInterface(), type.getMemorySpace());
      sizes.push_back(
          ifAny(arith::ConstantIndexOp::create(builder, loc, each.bytes)));
    }
    auto alloc =
        AllocOp::create(builder, loc, type, old.getAsyncToken().getType(),
                        old.getAsyncDependencies(), Value(), IntegerAttr(),
                        DenseI64ArrayAttr(), sizes, ValueRange(), UnitAttr());
    if (type == old.getMemref().getType())
      old.getMemref().replaceAllUsesWith(alloc.getMemref());
    else
      replaceMemory(old, alloc.getMemref(), none);
    old.getAsyncToken().replaceAllUsesWith(alloc.getAsyncToken());

    llvm::SetVector<Value> ends;
    llvm::SetVector<unsigned> results;
    for (Value token : oldFree.getAsyncDependencies())
      if (loop.isDefinedOutsideOfLoop(token))
        ends.insert(token);
      else
        results.insert(carryOut(loop, alloc.getAsyncToken(), token, order));
    for (unsigned result : results)
      ends.insert(loop.getResult(result));
    if (!isCertain || results.empty())
      ends.insert(alloc.getAsyncToken());
    builder.setInsertionPointAfter(loop);
    DeallocOp::create(builder, oldFree.getLoc(),
                      oldFree.getAsyncToken().getType(), ends.getArrayRef(),
                      Value(), IntegerAttr(), DenseI64ArrayAttr(),
                      alloc.getMemref());
    eraseFree(oldFree);
    old.erase();
  }
  return count;
}
