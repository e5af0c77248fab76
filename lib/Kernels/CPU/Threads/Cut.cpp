//===- Cut.cpp - the cut of a kernel ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes through the control flow that the block runs and makes a piece of what
// is between two cuts.
//===----------------------------------------------------------------------===//

#include "Cutter.h"
#include "Places.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

/// Whether any thread of the block is active, by the block.
Value Cutter::buildAnyActive(Value mask, Location loc) {
  Type i8 = builder.getI8Type();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value none = arith::ConstantIntOp::create(builder, loc, i8, 0);
  auto loop = scf::ForOp::create(builder, loc, zero, memory->getNumThreads(),
                                 one, ValueRange{none});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value index = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                           loop.getInductionVar());
  Value active = LLVM::LoadOp::create(
      builder, loc, i8, buildElementAddress(builder, loc, mask, index, i1));
  Value any =
      arith::OrIOp::create(builder, loc, loop.getRegionIterArg(0), active);
  scf::YieldOp::create(builder, loc, any);
  builder.setInsertionPointAfter(loop);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                               loop.getResult(0), none);
}

/// Cuts what `block` holds. What follows the last cut is left in `piece`.
void Cutter::cut(Block &block, const Active &active,
                 SmallVector<Operation *> &piece) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (op.hasAttr(onceName)) {
      buildRegion(piece, {}, active, &op);
    } else if (!blockLevel.contains(&op)) {
      if (variance->isOfBlock(&op)) {
        // An assert before it may be what keeps it from trapping.
        if (mayTrap(&op) && llvm::any_of(piece, [&](Operation *before) {
              return mayFail(before);
            }))
          buildRegion(piece, {}, active, &op);
        continue;
      }
      if (templates.contains(&op))
        continue;
      if (op.getNumResults() && isRecomputed(&op))
        templates.insert(&op);
      else
        piece.push_back(&op);
    } else if (isa<gpu::BarrierOp>(op)) {
      buildRegion(piece, {}, active, &op);
      erase(&op);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      cutIf(branch, active, piece);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      cutFor(loop, active, piece);
    } else {
      cutWhile(cast<scf::WhileOp>(op), active, piece);
    }
  }
}

/// Arrays for those of `values` that vary, null for the others; `values` are
/// replaced by the elements of the arrays.
SmallVector<Value> Cutter::createSlots(ValueRange values) {
  SmallVector<Value> arrays;
  for (Value value : values) {
    Value array;
    if (variance->varies(value))
      value.replaceAllUsesWith(
          createSlot(value.getLoc(), value.getType(), array));
    arrays.push_back(array);
  }
  return arrays;
}

/// Replaces those of `results` that have an array by its elements.
void Cutter::replaceBySlots(ValueRange results, ArrayRef<Value> arrays) {
  for (auto [result, array] : llvm::zip_equal(results, arrays))
    if (array)
      for (auto &[placeholder, known] : slots)
        if (known == array)
          result.replaceAllUsesWith(placeholder);
}

static SmallVector<Assignment> assign(ValueRange values,
                                      ArrayRef<Value> arrays) {
  SmallVector<Assignment> assignments;
  for (auto [value, array] : llvm::zip_equal(values, arrays))
    if (array)
      assignments.push_back({array, value});
  return assignments;
}

/// The values that have no array.
static SmallVector<Value> getRest(ValueRange values, ArrayRef<Value> arrays) {
  SmallVector<Value> rest;
  for (auto [value, array] : llvm::zip_equal(values, arrays))
    if (!array)
      rest.push_back(value);
  return rest;
}

/// Erases the arguments from `first` on that have an array.
void Cutter::eraseArguments(Block &block, unsigned first,
                            ArrayRef<Value> arrays) {
  for (unsigned i = arrays.size(); i-- > 0;)
    if (arrays[i]) {
      variance->forget(block.getArgument(first + i));
      block.eraseArgument(first + i);
    }
}

/// Cuts a block whose terminator passes `arrays.size()` values on.
void Cutter::cutBody(Block &block, ArrayRef<Value> arrays,
                     const Active &active) {
  SmallVector<Operation *> piece;
  cut(block, active, piece);
  Operation *yield = block.getTerminator();
  buildRegion(piece, assign(yield->getOperands(), arrays), active, yield);
  yield->setOperands(getRest(yield->getOperands(), arrays));
}

void Cutter::cutIf(scf::IfOp op, const Active &active,
                   SmallVector<Operation *> &piece) {
  Location loc = op.getLoc();
  Value condition = op.getCondition();
  bool hasElse = op.elseBlock();
  if (!variance->varies(condition)) {
    buildRegion(piece, {}, active, op);
    SmallVector<Value> arrays = createSlots(op.getResults());
    SmallVector<Value> results = getRest(op.getResults(), arrays);
    builder.setInsertionPoint(op);
    auto byBlock = scf::IfOp::create(
        builder, loc, ValueRange(results).getTypes(), condition,
        /*addThenBlock=*/false, /*addElseBlock=*/false);
    byBlock.getThenRegion().takeBody(op.getThenRegion());
    byBlock.getElseRegion().takeBody(op.getElseRegion());
    for (auto [old, value] : llvm::zip_equal(results, byBlock.getResults()))
      old.replaceAllUsesWith(value);
    erase(op);
    cutBody(*byBlock.thenBlock(), arrays, active);
    if (hasElse)
      cutBody(*byBlock.elseBlock(), arrays, active);
    return;
  }

  if (!meeting.contains(op)) {
    cutGuard(op, active, piece);
    return;
  }

  // Each side for the threads that take it, if there are any.
  assert(!active.box && active.limits.empty() &&
         "threads do not meet where only a box of them is");
  SmallVector<Assignment> masks{
      {memory->createArray(1), condition, Assignment::Mask}};
  if (hasElse)
    masks.push_back({memory->createArray(1), condition, Assignment::NotMask});
  buildRegion(piece, masks, active, op);
  SmallVector<Value> arrays = createSlots(op.getResults());
  for (auto [side, taken] : llvm::enumerate(masks)) {
    Active taking;
    taking.mask = taken.array;
    builder.setInsertionPoint(op);
    Value any = buildAnyActive(taken.array, loc);
    auto byBlock =
        scf::IfOp::create(builder, loc, TypeRange(), any,
                          /*addThenBlock=*/false, /*addElseBlock=*/false);
    byBlock.getThenRegion().takeBody(op->getRegion(side));
    cutBody(*byBlock.thenBlock(), arrays, taking);
  }
  erase(op);
}

/// Cuts the inside of `op`, for the threads of a box.
void Cutter::cutGuard(scf::IfOp op, const Active &active,
                      SmallVector<Operation *> &piece) {
  Location loc = op.getLoc();
  std::optional<Guard> guard = findGuard(kernel, *variance, op);
  assert(guard && "what no threads meet in is run for a box of them");
  builder.setInsertionPoint(op);
  ThreadBox box =
      active.box ? *active.box : buildWholeBox(builder, loc, kernel);
  box = buildBox(builder, loc, kernel, *variance, *guard, box);
  Active inside = active;
  inside.box = box;
  inside.addGuard(*guard, kernel);
  // What the block computes inside might trap where no thread is.
  Value any;
  for (unsigned dim : {0, 1, 2}) {
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       box.lower[dim], box.upper[dim]);
    any = any ? Value(arith::AndIOp::create(builder, loc, any, some)) : some;
  }
  buildRegion(piece, {}, active, op);
  builder.setInsertionPoint(op);
  auto byBlock = scf::IfOp::create(builder, loc, TypeRange(), any,
                                   /*addThenBlock=*/false,
                                   /*addElseBlock=*/false);
  byBlock.getThenRegion().takeBody(op.getThenRegion());
  erase(op);
  cutBody(*byBlock.thenBlock(), {}, inside);
}

/// What a thread's counter is beyond the first thread's in a loop that begins
/// at the thread's place, and what it is at most.
Cutter::Distance Cutter::buildDistance(scf::ForOp op) {
  Location loc = op.getLoc();
  Value start = op.getLowerBound();
  builder.setInsertionPoint(op);
  Distance result;
  result.dim = findThreadStart(kernel, *variance, op)->dim;
  result.first = buildLeastPlace(builder, kernel, *variance, start);
  auto subtract = [&](Value place) -> Value {
    return arith::SubIOp::create(builder, loc, place, result.first,
                                 arith::IntegerOverflowFlags::nsw);
  };
  if (!result.dim)
    result.most =
        subtract(buildGreatestPlace(builder, kernel, *variance, start));
  IRMapping ids;
  for (unsigned dim : {0, 1, 2}) {
    Value id = getEnv(kernel, ThreadId + dim);
    ids.map(id, id);
  }
  Operation *before = op->getPrevNode();
  result.own = subtract(buildPlace(builder, *variance, start, ids));
  // Each region computes it again.
  Block::iterator begin =
      before ? std::next(before->getIterator()) : op->getBlock()->begin();
  for (Operation &made : llvm::make_range(begin, op->getIterator())) {
    variance->add(made.getResult(0));
    templates.insert(&made);
  }
  return result;
}

/// Those of the `active` threads that run a round of `byBlock`, which counts
/// for the first thread. What used its counter uses the thread's own.
Active Cutter::buildRound(scf::ForOp byBlock, const Distance &distance,
                          Active active) {
  Location loc = byBlock.getLoc();
  Value counter = byBlock.getInductionVar();
  builder.setInsertionPointToStart(byBlock.getBody());
  // Active threads' counters are below the upper bound.
  auto own = arith::AddIOp::create(builder, loc, counter, distance.own,
                                   byBlock.getUnsignedCmp()
                                       ? arith::IntegerOverflowFlags::nuw
                                       : arith::IntegerOverflowFlags::nsw);
  variance->forget(counter);
  counter.replaceAllUsesExcept(own, own);
  variance->add(own);
  templates.insert(own);

  // More than 0, and exact as an unsigned number.
  Value left =
      arith::SubIOp::create(builder, loc, byBlock.getUpperBound(), counter);
  if (!distance.dim) {
    Value one = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(left.getType(), 1));
    Value most = arith::SubIOp::create(builder, loc, left, one);
    active.limits.push_back({distance.own, most, distance.most});
    return active;
  }
  if (!left.getType().isIndex())
    left = arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        left);
  if (!active.box)
    active.box = buildWholeBox(builder, loc, kernel);
  Value &upper = active.box->upper[*distance.dim];
  upper = arith::MinUIOp::create(builder, loc, upper, left);
  active.isLimitedInX |= *distance.dim == 0;
  return active;
}

void Cutter::cutFor(scf::ForOp op, const Active &active,
                    SmallVector<Operation *> &piece) {
  std::optional<Distance> distance;
  if (variance->hasVaryingControl(op))
    distance = buildDistance(op);
  SmallVector<Value> inits(op.getInitArgs());
  // The results are what the arguments are after the last round.
  SmallVector<Value> arrays = createSlots(op.getRegionIterArgs());
  replaceBySlots(op.getResults(), arrays);
  buildRegion(piece, assign(inits, arrays), active, op);
  builder.setInsertionPoint(op);
  auto byBlock = scf::ForOp::create(
      builder, op.getLoc(), distance ? distance->first : op.getLowerBound(),
      op.getUpperBound(), op.getStep(), getRest(inits, arrays));
  byBlock.setUnsignedCmp(op.getUnsignedCmp());
  byBlock.getRegion().takeBody(op.getRegion());
  for (auto [old, value] :
       llvm::zip_equal(getRest(op.getResults(), arrays), byBlock.getResults()))
    old.replaceAllUsesWith(value);
  erase(op);
  eraseArguments(*byBlock.getBody(), 1, arrays);
  cutBody(*byBlock.getBody(), arrays,
          distance ? buildRound(byBlock, *distance, active) : active);
}

void Cutter::cutWhile(scf::WhileOp op, const Active &active,
                      SmallVector<Operation *> &piece) {
  Location loc = op.getLoc();
  bool isMasked = variance->hasVaryingControl(op);
  Active inside = active;
  SmallVector<Value> inits(op.getInits());
  SmallVector<Value> before = createSlots(op.getBeforeArguments());
  // The results are what was passed on last.
  SmallVector<Value> after = createSlots(op.getAfterArguments());
  replaceBySlots(op.getResults(), after);
  SmallVector<Assignment> start = assign(inits, before);
  if (isMasked) {
    // The threads that are still in the loop.
    builder.setInsertionPoint(op);
    Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
    inside.mask = memory->createArray(1);
    start.push_back({inside.mask, yes, Assignment::Mask});
    buildRegion(piece, start, active, op);
  } else {
    buildRegion(piece, start, active, op);
  }

  builder.setInsertionPoint(op);
  SmallVector<Value> results = getRest(op.getResults(), after);
  auto byBlock = scf::WhileOp::create(
      builder, loc, ValueRange(results).getTypes(), getRest(inits, before));
  byBlock.getBefore().takeBody(op.getBefore());
  byBlock.getAfter().takeBody(op.getAfter());
  for (auto [old, value] : llvm::zip_equal(results, byBlock.getResults()))
    old.replaceAllUsesWith(value);
  erase(op);
  eraseArguments(*byBlock.getBeforeBody(), 0, before);
  eraseArguments(*byBlock.getAfterBody(), 0, after);

  SmallVector<Operation *> beforePiece;
  cut(*byBlock.getBeforeBody(), inside, beforePiece);
  scf::ConditionOp condition = byBlock.getConditionOp();
  SmallVector<Assignment> end = assign(condition.getArgs(), after);
  if (isMasked)
    end.push_back({inside.mask, condition.getCondition(), Assignment::Mask});
  buildRegion(beforePiece, end, inside, condition);
  SmallVector<Value> operands{condition.getCondition()};
  if (isMasked) {
    builder.setInsertionPoint(condition);
    operands[0] = buildAnyActive(inside.mask, loc);
  }
  llvm::append_range(operands, getRest(condition.getArgs(), after));
  condition->setOperands(operands);
  cutBody(*byBlock.getAfterBody(), before, inside);
}

FailureOr<std::optional<CutKernel>> Cutter::run() {
  if (!kernel.getBody().hasOneBlock())
    return std::optional<CutKernel>();
  findBlockLevel();
  if (blockLevel.empty() && !isWorthGuarding())
    return std::optional<CutKernel>();
  memory = std::make_unique<ThreadMemory>(kernel, workgroupBytes);
  if (failed(expandCollectives(kernel, *memory, sizeX, subgroupSize)))
    return failure();
  blockLevel.clear();
  findBlockLevel();
  if (failed(placeAllocas()))
    return failure();
  variance = std::make_unique<ThreadVariance>(
      kernel, [&](Operation *op) { return blockLevel.contains(op); });

  SmallVector<Operation *> piece;
  Block &entry = kernel.getBody().front();
  cut(entry, Active(), piece);
  buildRegion(piece, {}, Active(), entry.getTerminator());
  for (Operation *op : llvm::reverse(templates))
    op->erase();
  for (Operation *op : placeholders)
    op->erase();
  result.failedOffset = -1;
  if (failedFlag) {
    builder.setInsertionPointAfter(failedFlag.getDefiningOp());
    Value zero = arith::ConstantIntOp::create(builder, kernel.getLoc(),
                                              builder.getI8Type(), 0);
    LLVM::StoreOp::create(builder, kernel.getLoc(), zero, failedFlag);
    result.failedOffset = failedOffset;
  }
  if (isRefused)
    return failure();
  memory->finish();
  result.workgroupBytes = memory->getWorkgroupBytes();
  result.threadBytes = memory->getThreadBytes();
  return std::optional<CutKernel>(std::move(result));
}

FailureOr<std::optional<CutKernel>>
cpu::cutAtBarriers(func::FuncOp kernel, int64_t workgroupBytes, int64_t sizeX,
                   int64_t subgroupSize,
                   function_ref<bool(func::CallOp)> mayFail) {
  return Cutter(kernel, workgroupBytes, sizeX, subgroupSize, mayFail).run();
}
