//===- TakeStream.cpp - public functions on a stream of the caller's ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives public functions a stream to order their work into: their first stream
// is that one, the others begin behind it, and it goes on behind them, in place
// of the host's last wait.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCTAKESTREAM
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

struct TakeStream : public gpuasync::impl::GPUAsyncTakeStreamBase<TakeStream> {
  using Base::Base;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function.isPublic() || function.isExternal())
        continue;
      if (!SymbolTable::symbolKnownUseEmpty(function, getOperation())) {
        function.emitOpError("takes a stream of the caller's, but is used in "
                             "this module too; make what is used private");
        return signalPassFailure();
      }
      OpBuilder builder(function->getContext());
      unsigned index = function.getNumArguments();
      NamedAttrList attributes;
      attributes.set(kStreamAttrName, builder.getUnitAttr());
      if (failed(function.insertArgument(
              index, LLVM::LLVMPointerType::get(function->getContext()),
              attributes.getDictionary(function->getContext()),
              function.getLoc())))
        return signalPassFailure();
      orderInto(function, function.getArgument(index));
      Decision(*this, function, "StreamOfCaller")
          .count(numFunctions, "functions")
          .count(numHostWaits, "host-waits",
                 countOps<StreamSynchronizeOp, EventSynchronizeOp>(function));
    }
  }

private:
  void orderInto(func::FuncOp function, Value pointer);
};

} // namespace

/// Whether it calls a function that neither reads nor writes memory.
static bool callsWithoutMemory(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  Operation *callee =
      call ? SymbolTable::lookupNearestSymbolFrom(call, call.getCalleeAttr())
           : nullptr;
  return callee && callee->hasAttr("llvm.readnone");
}

/// Whether the host does what the stream's work may touch, or calls code of
/// which nothing is known here.
static bool hostTakesPart(func::FuncOp function) {
  // Device work is in functions of one block.
  if (!function.getBody().hasOneBlock())
    return true;
  return function
      ->walk([&](Operation *op) {
        if (op == function || callsWithoutMemory(op) || isAsyncOp(op) ||
            op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
          return WalkResult::advance();
        return isa<CallOpInterface>(op) || !isMemoryEffectFree(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether the memory is the device's alone. A copy to other memory may end in
/// a host wait.
static bool isDeviceMemory(Value memref, func::FuncOp function) {
  while (Operation *op = memref.getDefiningOp()) {
    if (isa<AllocOp>(op))
      return true;
    if (auto window = dyn_cast<WindowOp>(op))
      memref = window->getOperand(0);
    else if (auto view = dyn_cast<ViewLikeOpInterface>(op))
      memref = view.getViewSource();
    else
      return false;
  }
  return llvm::is_contained(function.getArguments(), memref) &&
         function->hasAttr(kArraysOnDeviceAttrName);
}

/// Whether nobody writes the memory. The host has read it when a copy of it has
/// been enqueued.
static bool isConstant(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  auto get = memref.getDefiningOp<memref::GetGlobalOp>();
  auto global = get ? SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
                          get, get.getNameAttr())
                    : memref::GlobalOp();
  return global && global.getConstant();
}

/// The accesses of an op to memory that may be the host's.
static SmallVector<WorkAccess> getHostAccesses(Operation *op,
                                               func::FuncOp function) {
  SmallVector<WorkAccess> accesses;
  if (auto work = dyn_cast<WorkOpInterface>(op))
    work.getWorkAccesses(accesses);
  llvm::erase_if(accesses, [&](const WorkAccess &access) {
    return !access.mayBePageable ||
           isDeviceMemory(access.operand->get(), function);
  });
  return accesses;
}

/// The host's wait at the end of a function, if what it waits for can be left
/// to the caller's stream; else null.
static Operation *findLastWait(func::FuncOp function) {
  bool copies =
      function
          ->walk([&](Operation *op) {
            bool leaves =
                isa<HostRegisterOp, HostUnregisterOp>(op) ||
                llvm::any_of(getHostAccesses(op, function),
                             [](const WorkAccess &access) {
                               return access.writes ||
                                      !isConstant(access.operand->get());
                             });
            return leaves ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  if (copies)
    return nullptr;
  Operation *op = function.front().getTerminator()->getPrevNode();
  while (op && isa<StreamDestroyOp, EventDestroyOp, DeallocOp>(op))
    op = op->getPrevNode();
  return isa_and_nonnull<StreamSynchronizeOp, EventSynchronizeOp>(op) ? op
                                                                      : nullptr;
}

/// Whether something is copied from or to memory that may be the host's.
static bool copiesHostMemory(func::FuncOp function) {
  return function
      ->walk([&](Operation *op) {
        return getHostAccesses(op, function).empty() ? WalkResult::advance()
                                                     : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// The stream whose work may be put on the caller's itself, the first that has
/// any, of those that are not urgent if there are such; null: none. Of two
/// calls in turn the second then needs no other streams and graphs than the
/// first. With copies of host memory the runtime has to know when these are
/// done, which it does of its own streams only.
static StreamCreateOp findFirstStream(func::FuncOp function) {
  if (copiesHostMemory(function))
    return {};
  auto mayReplace = [&](StreamCreateOp create) {
    return create && create->getParentOp() == function &&
           llvm::all_of(create->getUsers(), [&](Operation *user) {
             return !isa<StreamDestroyOp>(user) ||
                    user->getParentOp() == function;
           });
  };
  StreamCreateOp firstUrgent;
  for (Operation &op : function.front())
    if (auto work = dyn_cast<WorkOpInterface>(op);
        work && work.takesDeviceTime())
      for (Value operand : op.getOperands())
        if (auto create = operand.getDefiningOp<StreamCreateOp>();
            mayReplace(create)) {
          if (!create.getUrgent())
            return create;
          if (!firstUrgent)
            firstUrgent = create;
        }
  return firstUrgent;
}

static bool usesStream(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return llvm::any_of(inner->getOperandTypes(), llvm::IsaPred<StreamType>)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Memory that the function allocates before any work is allocated on `stream`,
/// so that all other streams begin behind that, and a region with them. Returns
/// the first op that works on a stream, or the block's end.
static Operation *allocateFirst(Value stream) {
  Operation *op = stream.getDefiningOp()->getNextNode();
  for (; !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode()) {
    if (auto alloc = dyn_cast<AllocOp>(op))
      alloc.getStreamMutable().assign(stream);
    else if (usesStream(op))
      break;
  }
  return op;
}

void TakeStream::orderInto(func::FuncOp function, Value pointer) {
  SmallVector<StreamCreateOp> streams;
  function->walk([&](StreamCreateOp op) { streams.push_back(op); });
  bool waits = hostTakesPart(function);
  if (streams.empty() && !waits)
    return;

  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  Location loc = function.getLoc();
  Value stream = StreamExternalOp::create(
      builder, loc, builder.getType<StreamType>(), pointer);
  auto recordOn = [&](Value recorded) -> Value {
    return EventRecordOp::create(builder, loc, builder.getType<EventType>(),
                                 recorded);
  };
  if (StreamCreateOp first =
          waits ? StreamCreateOp() : findFirstStream(function)) {
    for (Operation *user : llvm::make_early_inc_range(first->getUsers()))
      if (isa<StreamDestroyOp>(user))
        user->erase();
    first.getStream().replaceAllUsesWith(stream);
    streams.erase(llvm::find(streams, first));
    first->erase();
    builder.setInsertionPointAfterValue(stream);
  }
  if (waits) {
    // All that the stream has been given is done before the host begins, and
    // all of the function when it returns.
    Value begin = recordOn(stream);
    EventSynchronizeOp::create(builder, loc, begin);
    EventDestroyOp::create(builder, loc, begin);
    StreamDestroyOp::create(builder, loc, stream, /*idle=*/false);
    return;
  }
  if (!streams.empty()) {
    Operation *first = allocateFirst(stream);
    builder.setInsertionPoint(first);
    Value begin = recordOn(stream);
    Operation *last = begin.getDefiningOp();
    for (StreamCreateOp create : streams) {
      if (create->getBlock() == first->getBlock() &&
          create->isBeforeInBlock(first))
        create->moveBefore(first);
      builder.setInsertionPointAfter(create);
      last = StreamWaitOp::create(builder, loc, create.getStream(), begin);
    }
    // Behind all that waits for it, so that one region may have both.
    builder.setInsertionPointAfter(
        function.front().findAncestorOpInBlock(*last));
    EventDestroyOp::create(builder, loc, begin);
  }
  Operation *end = function.front().getTerminator();
  builder.setInsertionPoint(end);
  if (Operation *wait = findLastWait(function)) {
    builder.setInsertionPoint(wait);
    for (Value awaited : wait->getOperands()) {
      if (awaited == stream)
        continue;
      if (isa<EventType>(awaited.getType())) {
        auto record = awaited.getDefiningOp<EventRecordOp>();
        if (!record || record.getStream() != stream)
          StreamWaitOp::create(builder, loc, stream, awaited);
        continue;
      }
      Value done = recordOn(awaited);
      StreamWaitOp::create(builder, loc, stream, done);
      EventDestroyOp::create(builder, loc, done);
    }
    // No host wait covers what the streams have, and memory is free behind all
    // that was waited for.
    for (Operation *op = wait; op != end; op = op->getNextNode())
      if (auto destroy = dyn_cast<StreamDestroyOp>(op))
        destroy.setIdle(false);
      else if (auto free = dyn_cast<DeallocOp>(op))
        free.getStreamMutable().assign(stream);
    wait->erase();
    builder.setInsertionPoint(end);
  }
  StreamDestroyOp::create(builder, loc, stream, /*idle=*/false);
}
