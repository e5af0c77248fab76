//===- Regions.cpp - pieces of a cut kernel ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel is prepared with before it is cut, where values of several
// pieces lie, and the loops over the threads that run a piece.
//===----------------------------------------------------------------------===//

#include "Cutter.h"
#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "Kernels/Common/Allocas.h"
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

//===----------------------------------------------------------------------===//
// What is run by the block
//===----------------------------------------------------------------------===//

bool cpu::mayTrap(Operation *op) {
  if (!isa<arith::RemUIOp, arith::RemSIOp, index::DivUOp, index::DivSOp,
           index::CeilDivUOp, index::CeilDivSOp, index::FloorDivSOp,
           index::RemUOp, index::RemSOp, LLVM::UDivOp, LLVM::SDivOp,
           LLVM::URemOp, LLVM::SRemOp>(op))
    return !isSpeculatable(op);
  APInt divisor;
  return !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
         divisor.isZero() || divisor.isAllOnes();
}

/// Whether all that the threads do is guarded by their place.
bool Cutter::isWorthGuarding() {
  if (mayFail(kernel))
    return false;
  variance = std::make_unique<ThreadVariance>(
      kernel, [](Operation *) { return false; });
  SmallVector<Operation *> piece;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (!variance->isOfBlock(&op) && !isRecomputed(&op))
      piece.push_back(&op);
  bool isGuarded = findGuard(kernel, *variance, piece).has_value();
  variance = nullptr;
  return isGuarded;
}

bool Cutter::mayFail(Operation *root) {
  return holds(root, [&](Operation *op) {
    auto call = dyn_cast<func::CallOp>(op);
    return isa<cf::AssertOp>(op) || (call && mayFailCall(call));
  });
}

void Cutter::findBlockLevel() {
  BlockLevel found = cpu::findBlockLevel(kernel, sizeX, mayFail(kernel));
  blockLevel = std::move(found.ops);
  meeting = std::move(found.meeting);
}

/// Whether everything that reaches the memory lies in one piece.
bool Cutter::staysInPiece(Operation *alloca) {
  AddressFlow flow(alloca->getResult(0));
  if (flow.isLost())
    return false;
  for (Value holder : flow.getHolders())
    for (Operation *user : holder.getUsers()) {
      // What is called is called from a user.
      if (!kernel->isAncestor(user))
        continue;
      Operation *inBlock = alloca->getBlock()->findAncestorOpInBlock(*user);
      if (!inBlock || inBlock->hasTrait<OpTrait::IsTerminator>())
        return false;
      for (Operation *op = alloca->getNextNode(); op != inBlock;
           op = op->getNextNode())
        if (blockLevel.contains(op))
          return false;
      if (blockLevel.contains(inBlock))
        return false;
    }
  return true;
}

/// Private memory that is used in several pieces is part of the thread's
/// memory.
LogicalResult Cutter::placeAllocas() {
  SmallVector<Operation *> allocas;
  kernel.walk([&](Operation *op) {
    if (isAlloca(op) &&
        (op->getParentOp() == kernel ||
         blockLevel.contains(op->getParentOp())) &&
        !staysInPiece(op))
      allocas.push_back(op);
  });
  DominanceInfo dominance(kernel);
  for (Operation *op : allocas) {
    Location loc = op->getLoc();
    builder.setInsertionPoint(op);
    // What boundCarriedAllocas() has left as it was.
    if (auto loop = op->getParentOfType<LoopLikeOpInterface>())
      if (!isFreeWhenRunAgain(op, dominance))
        return (op->emitOpError("makes memory in each round of a loop with a "
                                "barrier, and later rounds may know its "
                                "address, which is not supported by the cpu "
                                "device: put it before the loop")
                    .attachNote(loop->getLoc())
                << "the loop");
    int64_t bytes = getSlotBytes(op).value_or(-1);
    int64_t alignment = getSlotAlignment(op);
    if (bytes < 0)
      return op->emitOpError("of dynamic size or layout is used across a "
                             "barrier, which is not supported by the cpu "
                             "device: give it a static one");
    if (alignment > ThreadMemory::maxAlignment)
      return op->emitOpError("is used across a barrier and wants an alignment "
                             "of ")
             << alignment << " bytes, where the cpu device has "
             << ThreadMemory::maxAlignment;
    Value array = memory->createArray(bytes, alignment);
    Value self =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                   buildLinearThreadId(builder, loc, kernel));
    int64_t step = ThreadMemory::getStep(bytes, alignment);
    Value address = LLVM::GEPOp::create(
        builder, loc, array.getType(),
        LLVM::LLVMArrayType::get(builder.getI8Type(), step), array,
        ArrayRef<Value>{self}, LLVM::GEPNoWrapFlags::inbounds);
    if (auto alloca = dyn_cast<memref::AllocaOp>(op))
      address = buildMemRef(builder, loc, address, alloca.getType(), Value());
    op->getResult(0).replaceAllUsesWith(address);
    op->erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether LLVM may make one op of this one and another, with another result.
static bool isContracted(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, LLVM::FAddOp,
             LLVM::FSubOp, LLVM::FMulOp, vector::ContractionOp,
             vector::OuterProductOp, vector::ReductionOp,
             vector::MultiDimReductionOp>(op);
}

/// Whether a region rather computes a value again than reads it from memory.
bool Cutter::isRecomputed(Value value, unsigned &cost) {
  // What a descriptor takes is mostly optimised away.
  constexpr unsigned limit = 12;
  if (slots.contains(value))
    return false;
  if (!variance->varies(value) || getThreadIdDimension(kernel, value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() || !isPure(op) || mayTrap(op) ||
      isCollective(op) || isContracted(op) ||
      op->getName().getDialectNamespace() == "math")
    return false;
  if (!isa<MemRefType, LLVM::LLVMStructType, LLVM::LLVMPointerType>(
          value.getType()) &&
      ++cost > limit)
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return isRecomputed(operand, cost);
  });
}

bool Cutter::isRecomputed(Operation *op) {
  return op->getNumResults() && llvm::all_of(op->getResults(), [&](Value v) {
           unsigned cost = 0;
           return isRecomputed(v, cost);
         });
}

Value Cutter::createSlot(Location loc, Type type, Value &array) {
  if (isa<UnrankedMemRefType>(type)) {
    emitError(loc) << "an unranked memref is used across a barrier, which is "
                      "not supported by the cpu device: cast it to a ranked "
                      "one before";
    isRefused = true;
  } else if (!TypeLayout::get(type)) {
    emitError(loc) << "a value of type " << type
                   << " is used across a barrier, which is not supported by "
                      "the cpu device: its size is not known";
    isRefused = true;
  }
  array = memory->createArray(getElementBytes(type));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  auto placeholder = UnrealizedConversionCastOp::create(
      builder, kernel.getLoc(), type, ValueRange());
  placeholders.push_back(placeholder);
  variance->add(placeholder.getResult(0));
  slots[placeholder.getResult(0)] = array;
  return placeholder.getResult(0);
}

//===----------------------------------------------------------------------===//
// Parallel regions
//===----------------------------------------------------------------------===//

/// Loops over the threads in `box`, x innermost, around what `body` builds.
static void buildThreadLoops(OpBuilder &builder, Location loc,
                             const ThreadBox &box, LLVM::AccessGroupAttr group,
                             int64_t threads,
                             function_ref<void(ArrayRef<Value>)> body) {
  OpBuilder::InsertionGuard guard(builder);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> ids(3);
  for (int dim : {2, 1, 0}) {
    auto loop =
        scf::ForOp::create(builder, loc, box.lower[dim], box.upper[dim], one);
    ids[dim] = loop.getInductionVar();
    builder.setInsertionPointToStart(loop.getBody());
    if (dim == 0)
      loop->setAttr(annotationName, buildParallelAnnotation(group, threads));
  }
  body(ids);
}

/// Makes a function of `piece`, which the `active` threads run before `user`
/// goes on, and which ends with `assignments`.
void Cutter::buildRegion(SmallVector<Operation *> &piece,
                         ArrayRef<Assignment> assignments, const Active &active,
                         Operation *user) {
  if (piece.empty() && assignments.empty())
    return;
  Location loc = piece.empty() ? user->getLoc() : piece.front()->getLoc();
  llvm::SmallPtrSet<Operation *, 16> inside(piece.begin(), piece.end());
  auto isInside = [&](Operation *op) {
    for (; op && op != kernel; op = op->getParentOp())
      if (inside.contains(op))
        return true;
    return false;
  };
  auto isValueInside = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return isInside(op ? op : value.getParentBlock()->getParentOp());
  };

  // What comes from outside, and what of it the block computes.
  llvm::SetVector<Value> captured, uniform;
  for (Operation *op : piece)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!isValueInside(operand))
          captured.insert(operand);
    });
  for (const Assignment &assignment : assignments) {
    uniform.insert(assignment.array);
    if (!isValueInside(assignment.value))
      captured.insert(assignment.value);
  }
  if (active.mask)
    uniform.insert(active.mask);
  for (const Active::Limit &limit : active.limits) {
    uniform.insert(limit.most);
    captured.insert(limit.place);
  }
  auto isEnv = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &kernel.getBody().front() &&
           argument.getArgNumber() >= kernel.getNumArguments() - EnvSize;
  };
  auto collect = [&](auto &self, Value value) -> void {
    if (auto slot = slots.find(value); slot != slots.end())
      uniform.insert(slot->second);
    else if (isEnv(value))
      return;
    else if (!variance->varies(value))
      uniform.insert(value);
    else
      for (Value operand : value.getDefiningOp()->getOperands())
        self(self, operand);
  };
  for (Value value : captured)
    collect(collect, value);

  // Values that later pieces need get a place.
  SmallVector<Assignment> stores;
  for (Operation *op : piece)
    for (Value value : op->getResults()) {
      auto isLater = [&](OpOperand &use) {
        return use.getOwner() != user && !isInside(use.getOwner());
      };
      if (llvm::none_of(value.getUses(), isLater))
        continue;
      Value array,
          placeholder = createSlot(value.getLoc(), value.getType(), array);
      value.replaceUsesWithIf(placeholder, isLater);
      stores.push_back({array, value});
      uniform.insert(array);
    }

  // The bounds of the loops over the threads.
  builder.setInsertionPoint(user);
  Active taking = active;
  ThreadBox box =
      active.box ? *active.box : buildWholeBox(builder, loc, kernel);
  std::optional<Guard> guard;
  if (!active.mask && assignments.empty() && stores.empty())
    guard = findGuard(kernel, *variance, piece);
  if (guard) {
    box = buildBox(builder, loc, kernel, *variance, *guard, box);
    taking.addGuard(*guard, kernel);
  }

  // The function, and its calls.
  SmallVector<Type> types;
  for (Value value : uniform)
    types.push_back(value.getType());
  ValueRange env = kernel.getArguments().take_back(EnvSize);
  llvm::append_range(types, env.getTypes());
  StringRef stem = kernel.getName();
  stem.consume_back("_thread");
  auto function = func::FuncOp::create(
      loc, (stem + "_region_" + Twine(result.regions.size())).str(),
      builder.getFunctionType(types, {}));
  function.setPrivate();
  SymbolTable(kernel->getParentOp()).insert(function, Block::iterator(kernel));
  auto group = LLVM::AccessGroupAttr::get(builder.getContext());
  auto buildLoops = [&](const ThreadBox &threads, int64_t numX,
                        const IRMapping &replaced) {
    buildThreadLoops(builder, loc, threads, group, numX,
                     [&](ArrayRef<Value> ids) {
                       SmallVector<Value> operands;
                       for (Value value : uniform)
                         operands.push_back(replaced.lookupOrDefault(value));
                       llvm::append_range(operands, ids);
                       llvm::append_range(operands, env.drop_front(3));
                       func::CallOp::create(builder, loc, function, operands);
                     });
  };
  bool hasWholeRows = taking.isLimitedInX && sizeX && taking.isMostlyWhole;
  if (!hasWholeRows && taking.limits.empty()) {
    buildLoops(box, taking.isLimitedInX ? 0 : sizeX, IRMapping());
  } else {
    // Whole rows of threads are better run as loops of known length, and
    // without a test of each thread's place.
    Value isWhole;
    auto require = [&](arith::CmpIPredicate predicate, Value a, Value b) {
      Value holds = arith::CmpIOp::create(builder, loc, predicate, a, b);
      isWhole = isWhole
                    ? Value(arith::AndIOp::create(builder, loc, isWhole, holds))
                    : holds;
    };
    ThreadBox whole = box;
    if (hasWholeRows) {
      ThreadBox block = buildWholeBox(builder, loc, kernel);
      whole.lower[0] = block.lower[0];
      whole.upper[0] = block.upper[0];
      require(arith::CmpIPredicate::eq, box.lower[0], whole.lower[0]);
      require(arith::CmpIPredicate::eq, box.upper[0], whole.upper[0]);
    }
    IRMapping unlimited;
    for (const Active::Limit &limit : taking.limits) {
      require(arith::CmpIPredicate::ule, limit.greatest, limit.most);
      unlimited.map(
          limit.most,
          arith::ConstantOp::create(
              builder, loc, builder.getIntegerAttr(limit.most.getType(), -1)));
    }
    bool isCounted = hasWholeRows || !taking.isLimitedInX;
    auto branch = scf::IfOp::create(builder, loc, isWhole,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard insertion(builder);
    builder.setInsertionPoint(branch.elseBlock()->getTerminator());
    buildLoops(box, taking.isLimitedInX ? 0 : sizeX, IRMapping());
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    buildLoops(whole, isCounted ? sizeX : 0, unlimited);
  }

  // Its body: what it needs, the piece, what it leaves.
  Block *entry = function.addEntryBlock();
  IRMapping mapping;
  mapping.map(uniform.getArrayRef(), entry->getArguments().drop_back(EnvSize));
  mapping.map(env, entry->getArguments().take_back(EnvSize));
  builder.setInsertionPointToStart(entry);
  Value self =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                 buildLinearThreadId(builder, loc, function));
  auto ret = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(ret);
  auto element = [&](Value array, Type type) {
    return buildElementAddress(builder, loc, mapping.lookup(array), self, type);
  };
  bool makesMasks = llvm::any_of(assignments, [](const Assignment &a) {
    return a.kind != Assignment::Plain;
  });
  SmallVector<Type> maskTypes;
  for (const Assignment &assignment : assignments)
    if (assignment.kind != Assignment::Plain)
      maskTypes.push_back(i1);
  auto materialize = [&](auto &self, Value value) -> Value {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    if (auto slot = slots.find(value); slot != slots.end()) {
      Type type = value.getType();
      Value read = loadValue(builder, loc, element(slot->second, type), type);
      mapping.map(value, read);
      return read;
    }
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      self(self, operand);
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  };
  Value takesPart;
  if (active.mask)
    takesPart = loadValue(builder, loc, element(active.mask, i1), i1);
  for (const Active::Limit &limit : active.limits) {
    Value within = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ule,
        materialize(materialize, limit.place), mapping.lookup(limit.most));
    takesPart =
        takesPart
            ? Value(arith::AndIOp::create(builder, loc, takesPart, within))
            : within;
  }
  scf::IfOp ifActive;
  if (takesPart) {
    ifActive = scf::IfOp::create(builder, loc, maskTypes, takesPart,
                                 /*withElseRegion=*/makesMasks);
    if (makesMasks) {
      builder.setInsertionPointToStart(ifActive.elseBlock());
      Value no = arith::ConstantIntOp::create(builder, loc, 0, 1);
      scf::YieldOp::create(builder, loc,
                           SmallVector<Value>(maskTypes.size(), no));
      builder.setInsertionPointToStart(ifActive.thenBlock());
    } else {
      builder.setInsertionPoint(ifActive.thenBlock()->getTerminator());
    }
  }

  for (Value value : captured)
    materialize(materialize, value);

  Block *body = builder.getInsertionBlock();
  Block::iterator end = builder.getInsertionPoint();
  auto take = [&](Operation *op) {
    op->moveBefore(body, end);
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (Value known = mapping.lookupOrNull(operand.get()))
          operand.set(known);
    });
  };
  for (Operation *op : piece) {
    if (!guard || op != guard->branch) {
      take(op);
      continue;
    }
    for (Operation &inner : llvm::make_early_inc_range(
             guard->branch.thenBlock()->without_terminator()))
      take(&inner);
    erase(op);
  }
  auto finalValue = [&](Value value) { return mapping.lookupOrDefault(value); };
  for (const Assignment &assignment : stores)
    storeValue(builder, loc,
               element(assignment.array, assignment.value.getType()),
               finalValue(assignment.value));
  for (const Assignment &assignment : assignments)
    if (assignment.kind == Assignment::Plain)
      storeValue(builder, loc,
                 element(assignment.array, assignment.value.getType()),
                 finalValue(assignment.value));
  SmallVector<Value> masks;
  for (const Assignment &assignment : assignments) {
    if (assignment.kind == Assignment::Plain)
      continue;
    Value value = finalValue(assignment.value);
    if (assignment.kind == Assignment::NotMask) {
      Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
      value = arith::XOrIOp::create(builder, loc, value, yes);
    }
    masks.push_back(value);
  }
  if (ifActive && makesMasks) {
    scf::YieldOp::create(builder, loc, masks);
    masks.assign(ifActive.result_begin(), ifActive.result_end());
  }
  builder.setInsertionPoint(ret);
  unsigned next = 0;
  for (const Assignment &assignment : assignments)
    if (assignment.kind != Assignment::Plain)
      storeValue(builder, loc, element(assignment.array, i1), masks[next++]);

  bool mayFail = this->mayFail(function);
  result.regions.push_back({function, group, mayFail});
  if (mayFail) {
    // The threads that are left run to the barrier; then the block ends.
    if (!failedFlag)
      failedFlag = memory->createShared(1, failedOffset);
    builder.setInsertionPoint(user);
    Type i8 = builder.getI8Type();
    Value flag = LLVM::LoadOp::create(builder, loc, i8, failedFlag);
    Value zero = arith::ConstantIntOp::create(builder, loc, i8, 0);
    Value fine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       flag, zero);
    cf::AssertOp::create(builder, loc, fine, "")
        ->setAttr(silentName, builder.getUnitAttr());
  }
  piece.clear();
}
