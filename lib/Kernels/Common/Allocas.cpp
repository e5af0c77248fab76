//===- Allocas.cpp - stack slots of kernels -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slot belongs in the entry block, where it costs nothing and has one place.
// In a loop each run of an alloca makes memory of its own, which what the loop
// carries may hold; how many can be held at once is known.
//===----------------------------------------------------------------------===//

#include "Allocas.h"
#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/MemorySlotInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::gpuasync;

bool gpuasync::isAlloca(Operation *op) {
  return isa<memref::AllocaOp, LLVM::AllocaOp>(op);
}

//===----------------------------------------------------------------------===//
// Where an address goes
//===----------------------------------------------------------------------===//

static bool isNumber(Type type) {
  return getElementTypeOrSelf(type).isIntOrIndexOrFloat() &&
         !isa<BaseMemRefType>(type);
}

/// Whether `op` only says something of the slot's memory, such as its lifetime.
static bool isMarker(Operation *op) {
  return isa<PromotableOpInterface>(op) && !op->getNumResults();
}

AddressFlow::AddressFlow(Value slot) {
  add(slot, /*inSlot=*/true);
  while (!added.empty() && !lost) {
    Value holder = added.pop_back_val();
    bool inSlot = staysInSlot(holder);
    for (OpOperand &use : holder.getUses())
      follow(use, inSlot);
  }
}

void AddressFlow::add(Value holder, bool inSlot) {
  auto [known, isNew] = holders.try_emplace(holder, inSlot);
  if (!isNew && (inSlot || !known->second))
    return;
  known->second = inSlot;
  added.push_back(holder);
}

void AddressFlow::followCall(OpOperand &use, bool inSlot) {
  auto call = cast<CallOpInterface>(use.getOwner());
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  OperandRange arguments = call.getArgOperands();
  unsigned number = use.getOperandNumber() - arguments.getBeginOperandIndex();
  if (!callee || number >= callee.getNumArguments()) {
    lost = true;
    return;
  }
  if (callee.isExternal()) {
    lost |=
        !callee.getName().starts_with("gpuasync_check_") &&
        !callee.getArgAttr(number, LLVM::LLVMDialect::getNoCaptureAttrName());
    return;
  }
  add(callee.getArgument(number), inSlot);
  for (Value result : call->getResults())
    if (!isNumber(result.getType()))
      add(result, inSlot);
}

void AddressFlow::follow(OpOperand &use, bool inSlot) {
  Operation *user = use.getOwner();
  if (auto branch = dyn_cast<BranchOpInterface>(user)) {
    if (auto argument =
            branch.getSuccessorBlockArgument(use.getOperandNumber()))
      add(*argument, inSlot);
    else
      lost = true;
    return;
  }
  auto regions = dyn_cast<RegionBranchOpInterface>(
      isa<RegionBranchTerminatorOpInterface>(user) ? user->getParentOp()
                                                   : user);
  if (regions) {
    RegionBranchSuccessorMapping successors;
    regions.getSuccessorOperandInputMapping(successors);
    auto inputs = successors.find(&use);
    if (inputs == successors.end())
      lost = true;
    else
      for (Value input : inputs->second)
        add(input, inSlot);
    return;
  }
  // Memory that a function returns is among the results of its calls.
  if (user->hasTrait<OpTrait::ReturnLike>() &&
      isa<FunctionOpInterface>(user->getParentOp())) {
    lost |= isNumber(use.get().getType());
    return;
  }
  if (isa<CallOpInterface>(user))
    return followCall(use, inSlot);
  if (isa<LLVM::AtomicRMWOp, LLVM::AtomicCmpXchgOp>(user)) {
    lost |= use.getOperandNumber() != 0;
    return;
  }

  if (isMarker(user))
    return;
  if (!isMemoryEffectFree(user) || user->getNumRegions()) {
    // An op that touches the memory needs the address; one that touches other
    // memory only may store it there.
    SmallVector<MemoryEffects::EffectInstance> effects;
    if (auto touching = dyn_cast<MemoryEffectOpInterface>(user))
      touching.getEffects(effects);
    if (llvm::none_of(effects, [&](auto &effect) {
          return effect.template getEffectValue<OpOperand *>() == &use;
        })) {
      lost = true;
      return;
    }
  }
  bool isNumberMade =
      isNumber(use.get().getType()) ||
      isa<memref::ExtractAlignedPointerAsIndexOp, LLVM::PtrToIntOp>(user);
  // Views are in bounds.
  if (auto gep = dyn_cast<LLVM::GEPOp>(user))
    inSlot &= bitEnumContainsAll(gep.getNoWrapFlags(),
                                 LLVM::GEPNoWrapFlags::inbounds);
  else
    inSlot &= isa<ViewLikeOpInterface, arith::SelectOp, LLVM::SelectOp,
                  memref::ExtractStridedMetadataOp>(user);
  for (Value result : user->getResults())
    if (!isNumber(result.getType()) ||
        (isNumberMade && !getElementTypeOrSelf(result).isInteger(1)))
      add(result, inSlot);
}

/// The values that may hold what an earlier run of `alloca` made when it runs
/// again. Such a value has to dominate the alloca, and the address of an
/// earlier run can only get there by an argument of a block that does. So these
/// arguments are enough. Fails if the address is lost, or if one of them does
/// not say which slot it is of.
static FailureOr<SmallVector<Value>> findCarriers(Operation *alloca,
                                                  DominanceInfo &dominance) {
  AddressFlow flow(alloca->getResult(0));
  if (flow.isLost())
    return failure();
  SmallVector<Value> carriers;
  for (Value holder : flow.getHolders())
    if (isa<BlockArgument>(holder) &&
        dominance.properlyDominates(holder, alloca)) {
      if (!isa<MemRefType, LLVM::LLVMPointerType>(holder.getType()) ||
          !flow.staysInSlot(holder))
        return failure();
      carriers.push_back(holder);
    }
  return carriers;
}

bool gpuasync::isFreeWhenRunAgain(Operation *alloca, DominanceInfo &dominance) {
  FailureOr<SmallVector<Value>> carriers = findCarriers(alloca, dominance);
  return succeeded(carriers) && carriers->empty();
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

std::optional<int64_t> gpuasync::getSlotBytes(Operation *alloca) {
  if (auto op = dyn_cast<memref::AllocaOp>(alloca))
    return op->getNumOperands() ? std::nullopt : getBytesInMemory(op.getType());
  auto op = cast<LLVM::AllocaOp>(alloca);
  APInt count;
  std::optional<TypeLayout> element = TypeLayout::get(op.getElemType());
  if (!element || op.getInalloca() ||
      !matchPattern(op.getArraySize(), m_ConstantInt(&count)) ||
      !count.isSignedIntN(64) || count.isNegative())
    return std::nullopt;
  return llvm::checkedMul(count.getSExtValue(), element->size);
}

int64_t gpuasync::getSlotAlignment(Operation *alloca) {
  auto atLeast = [](std::optional<uint64_t> wanted, Type element) {
    return std::max<int64_t>(wanted.value_or(1), getElementAlignment(element));
  };
  if (auto op = dyn_cast<memref::AllocaOp>(alloca))
    return atLeast(op.getAlignment(), op.getType().getElementType());
  auto op = cast<LLVM::AllocaOp>(alloca);
  return atLeast(op.getAlignment(), op.getElemType());
}

/// Another slot like that of `alloca`, at the start of `entry`. There is at
/// least a byte between the ends of two of llvm.alloca, so that an end is not
/// another one's beginning.
static Value createSlot(OpBuilder &builder, Operation *alloca, Block &entry) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&entry);
  IRMapping mapping;
  if (auto op = dyn_cast<LLVM::AllocaOp>(alloca)) {
    APInt count;
    matchPattern(op.getArraySize(), m_ConstantInt(&count));
    mapping.map(op.getArraySize(),
                LLVM::ConstantOp::create(builder, op.getLoc(),
                                         builder.getI64Type(),
                                         count.getSExtValue() + 1));
  }
  return builder.clone(*alloca, mapping)->getResult(0);
}

static Value buildAddress(OpBuilder &builder, Location loc, Value slot) {
  if (isa<MemRefType>(slot.getType()))
    return memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, slot);
  return LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), slot);
}

/// Replaces `alloca` by one of as many slots as `carriers` can hold and one
/// more: the first one that none of them holds, else the last one, since each
/// other one is then held by one of them.
static void replaceBySlots(Operation *alloca, ArrayRef<Value> carriers,
                           int64_t bytes, Block &entry) {
  OpBuilder builder(alloca);
  Location loc = alloca->getLoc();
  Value result = alloca->getResult(0);
  // An end is beyond the last byte.
  int64_t places =
      isa<LLVM::AllocaOp>(alloca) ? bytes + 1 : std::max<int64_t>(bytes, 1);
  SmallVector<Value> held;
  for (Value carrier : carriers)
    held.push_back(buildAddress(builder, loc, carrier));
  Value chosen = createSlot(builder, alloca, entry);
  for (unsigned i = 0; i < carriers.size(); ++i) {
    Value slot = createSlot(builder, alloca, entry);
    Value begin = buildAddress(builder, loc, slot), isHeld;
    for (Value address : held) {
      Value place = arith::SubIOp::create(builder, loc, address, begin);
      Value end = arith::ConstantOp::create(
          builder, loc, builder.getIntegerAttr(place.getType(), places));
      Value isInside = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::ult, place, end);
      isHeld = isHeld
                   ? Value(arith::OrIOp::create(builder, loc, isHeld, isInside))
                   : isInside;
    }
    chosen = arith::SelectOp::create(builder, loc, isHeld, chosen, slot);
  }
  // What is said of one slot does not hold of one of several.
  for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
    if (isMarker(user))
      user->erase();
  result.replaceAllUsesWith(chosen);
  alloca->erase();
}

/// Calls `visit` for the allocas of known size in `function` that are not in
/// its entry block.
static void forInnerAllocas(FunctionOpInterface function,
                            function_ref<void(Operation *)> visit) {
  SmallVector<Operation *> allocas;
  function->walk([&](Operation *op) {
    if (isAlloca(op) && op->getBlock() != &function.getFunctionBody().front())
      allocas.push_back(op);
  });
  for (Operation *op : allocas)
    if (getSlotBytes(op))
      visit(op);
}

LogicalResult gpuasync::boundCarriedAlloca(Operation *alloca, Block &entry,
                                           DominanceInfo &dominance) {
  FailureOr<SmallVector<Value>> carriers = findCarriers(alloca, dominance);
  std::optional<int64_t> bytes = getSlotBytes(alloca);
  if (failed(carriers) || !bytes)
    return failure();
  if (!carriers->empty())
    replaceBySlots(alloca, *carriers, *bytes, entry);
  return success();
}

void gpuasync::boundCarriedAllocas(Operation *root) {
  root->walk([](FunctionOpInterface function) {
    if (function.isExternal())
      return;
    DominanceInfo dominance(function);
    forInnerAllocas(function, [&](Operation *alloca) {
      (void)boundCarriedAlloca(alloca, function.getFunctionBody().front(),
                               dominance);
    });
  });
}

void gpuasync::hoistAllocas(Operation *root) {
  boundCarriedAllocas(root);
  root->walk([](FunctionOpInterface function) {
    if (function.isExternal())
      return;
    DominanceInfo dominance(function);
    SmallVector<Operation *> hoisted;
    forInnerAllocas(function, [&](Operation *alloca) {
      if (isFreeWhenRunAgain(alloca, dominance))
        hoisted.push_back(alloca);
    });
    Block &entry = function.getFunctionBody().front();
    for (Operation *alloca : llvm::reverse(hoisted)) {
      alloca->moveBefore(&entry, entry.begin());
      // The number of elements of an llvm.alloca.
      OpBuilder builder(alloca);
      for (OpOperand &operand : alloca->getOpOperands())
        operand.set(
            builder.clone(*operand.get().getDefiningOp())->getResult(0));
    }
  });
}

/// The op at whose end what `alloca` allocates is freed.
static Operation *getScope(memref::AllocaOp alloca) {
  Operation *scope = alloca->getParentOp();
  while (scope && !scope->hasTrait<OpTrait::AutomaticAllocationScope>())
    scope = scope->getParentOp();
  return scope;
}

static void freeAtEndOfRound(Block &body) {
  if (llvm::any_of(body.getTerminator()->getOperandTypes(),
                   llvm::IsaPred<BaseMemRefType>))
    return;
  auto builder = OpBuilder::atBlockBegin(&body);
  Location loc = body.getParentOp()->getLoc();
  Value stack = LLVM::StackSaveOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()));
  builder.setInsertionPoint(body.getTerminator());
  LLVM::StackRestoreOp::create(builder, loc, stack);
}

void gpuasync::freeAllocasOfRounds(Operation *root) {
  llvm::SetVector<Operation *> loops;
  root->walk([&](memref::AllocaOp alloca) {
    Operation *scope = getScope(alloca);
    if (isa_and_nonnull<LoopLikeOpInterface>(scope))
      loops.insert(scope);
  });
  for (Operation *loop : loops)
    for (Region *body : cast<LoopLikeOpInterface>(loop).getLoopRegions())
      if (body->hasOneBlock())
        freeAtEndOfRound(body->front());
}
