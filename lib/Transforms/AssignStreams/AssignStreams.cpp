//===- AssignStreams.cpp - linear form to stream form ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what can be assigned, decides which joins stay, and has each function
// rewritten (StreamForm.h).
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/RegionTokens.h"
#include "GPUAsync/Transforms/Passes.h"

#include "GPUAsync/Analysis/Streams/TokenSources.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/VerifyProgram.h"
#include "StreamForm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCASSIGNSTREAMS
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// What this pass can do
//===----------------------------------------------------------------------===//

static LogicalResult checkRegionOp(Operation *op) {
  if (!isa<RegionBranchOpInterface>(op))
    return op->emitOpError(
        "has device work or tokens in its regions, and how "
        "they run is not known; lower it to scf or cf first");
  for (Region &region : op->getRegions())
    if (!region.empty() && !region.hasOneBlock())
      return op->emitOpError("has a region of several blocks; run "
                             "gpu-async-structure-control-flow first");
  if (isTokenLoop(op))
    return success();
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    if (cast<RegionBranchOpInterface>(op).isRepetitiveRegion(i))
      return op->emitOpError("is a loop other than scf.for and scf.while with "
                             "device work or tokens in it; run "
                             "gpu-async-structure-control-flow first");
  return success();
}

static LogicalResult checkOp(Operation *op, FunctionOpInterface function) {
  auto work = dyn_cast<WorkOpInterface>(op);
  if (work && !work.getAsyncToken())
    return op->emitOpError(work.getStream()
                               ? "is on a stream already, in a function that "
                                 "has tokens; make it 'async', or assign the "
                                 "streams of all its work"
                               : "is sequential; run "
                                 "gpu-async-infer-dependencies first");
  if (work && work.getStream() &&
      !work.getStream().getDefiningOp<StreamExternalOp>())
    return op->emitOpError("is on a stream that is not a caller's; only "
                           "gpu_async.stream.external names a stream before "
                           "streams are assigned");
  bool takes = llvm::any_of(op->getOperands(), isToken);
  bool makes = llvm::any_of(op->getResults(), isToken);
  if (!takes && !makes)
    return success();
  if (isa<CallOpInterface>(op) && !isa<func::CallOp>(op))
    return op->emitOpError("passes tokens to code that is not named; only "
                           "func.call can take or return tokens");
  bool known =
      work || isa<WaitOp, ForkOp, ReleaseOp, func::CallOp>(op) ||
      op->getNumRegions() ||
      (op->hasTrait<OpTrait::IsTerminator>() && op->getNumSuccessors() == 0);
  if (!known)
    return op->emitOpError("takes or makes a token; only ops of gpu_async, "
                           "calls and structured control flow can (run "
                           "gpu-async-make-forks-explicit)");
  for (Value operand : op->getOperands()) {
    if (!isToken(operand))
      continue;
    for (Operation *parent = op->getParentOp();
         parent != operand.getParentBlock()->getParentOp();
         parent = parent->getParentOp()) {
      if (!isTokenLoop(parent))
        continue;
      InFlightDiagnostic diag = op->emitOpError(
          "takes a token from outside of the loop around it; run "
          "gpu-async-make-forks-explicit, which makes the loop carry it");
      diag.attachNote(parent->getLoc()) << "the loop";
      diag.attachNote(operand.getLoc()) << "the token is made here";
      return diag;
    }
  }
  return success();
}

static LogicalResult checkFunction(FunctionOpInterface function) {
  if (!function.getFunctionBody().hasOneBlock())
    return function->emitOpError(
        "has device work and a body of several blocks; run "
        "gpu-async-structure-control-flow first");
  llvm::DenseSet<Operation *> checked;
  WalkResult result = function->walk([&](Operation *op) {
    if (op == function.getOperation())
      return WalkResult::advance();
    if (failed(checkOp(op, function)))
      return WalkResult::interrupt();
    bool matters = isa<WorkOpInterface, WaitOp>(op) ||
                   llvm::any_of(op->getOperands(), isToken) ||
                   llvm::any_of(op->getResults(), isToken);
    for (Operation *parent = op->getNumRegions() ? op : op->getParentOp();
         matters && parent != function.getOperation() &&
         checked.insert(parent).second;
         parent = parent->getParentOp())
      if (failed(checkRegionOp(parent)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// One name for each caller's stream, made where its pointer is.
static void nameExternalStreams(FunctionOpInterface function) {
  llvm::MapVector<Value, StreamExternalOp> names;
  SmallVector<StreamExternalOp> all;
  function->walk<WalkOrder::PreOrder>(
      [&](StreamExternalOp op) { all.push_back(op); });
  OpBuilder builder(function->getContext());
  for (StreamExternalOp op : all) {
    Value pointer = op.getPointer();
    StreamExternalOp &name = names[pointer];
    if (!name) {
      builder.setInsertionPointAfterValue(pointer);
      name = StreamExternalOp::create(builder, op.getLoc(),
                                      builder.getType<StreamType>(), pointer);
    }
    op.getStream().replaceAllUsesWith(name.getStream());
    op.erase();
  }
}

//===----------------------------------------------------------------------===//
// Joins
//===----------------------------------------------------------------------===//

/// Whether one join of `makers` points for `takers` ops costs less than the
/// edges between them: each side has one edge for free on its stream.
static bool isJoinCheaper(size_t makers, size_t takers) {
  if (makers < 2 || takers < 2)
    return false;
  return makers + takers - 2 < makers * takers - std::min(makers, takers);
}

/// Makes joins points of their own where that saves waits: those of the program
/// with several takers, and new ones for ops that take the same points. What
/// becomes an event of other code is one point, too.
static void keepJoins(FunctionOpInterface function, TokenSources &sources) {
  // Takers of a join are those of its forks.
  SmallVector<WaitOp> joins;
  function->walk([&](WaitOp op) {
    if (!op.isHostWait() && op.getAsyncDependencies().size() > 1)
      joins.push_back(op);
  });
  for (WaitOp join : joins) {
    llvm::SmallPtrSet<Operation *, 8> takers;
    SmallVector<Value> worklist{join.getAsyncToken()};
    while (!worklist.empty())
      for (Operation *user : worklist.pop_back_val().getUsers()) {
        if (auto fork = dyn_cast<ForkOp>(user))
          llvm::append_range(worklist, fork.getTokens());
        else if (auto wait = dyn_cast<WaitOp>(user);
                 !isa<ReleaseOp, DeallocOp>(user) &&
                 !(wait && wait.isHostWait()))
          takers.insert(user);
      }
    if (isJoinCheaper(
            sources.get(join.getAsyncDependencies(), Through::Floating).size(),
            takers.size()))
      sources.keep(join);
  }

  // Ops of a block that take the same points, as far as none implies another.
  OpBuilder builder(function->getContext());
  llvm::MapVector<Block *, SmallVector<Operation *>> opsIn;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto work = dyn_cast<WorkOpInterface>(op);
    auto wait = dyn_cast<WaitOp>(op);
    if ((work && work.takesDeviceTime()) ||
        (wait && (wait.isHostWait() || sources.isKept(wait))))
      opsIn[op->getBlock()].push_back(op);
  });
  SmallVector<WaitOp> made;
  for (auto &[block, ops] : opsIn) {
    OrderGraph graph;
    llvm::DenseMap<Value, unsigned> nodeOf;
    SmallVector<std::pair<unsigned, WorkOpInterface>> works;
    for (Operation *op : ops) {
      auto work = dyn_cast<WorkOpInterface>(op);
      auto wait = dyn_cast<WaitOp>(op);
      ValueRange tokens = work ? ValueRange(work.getAsyncDependencies())
                               : ValueRange(wait.getAsyncDependencies());
      bool isHostWait = wait && wait.isHostWait();
      SmallVector<unsigned> predecessors;
      for (Value point : isHostWait
                             ? sources.getExpanded(tokens, Through::Floating)
                             : sources.get(tokens, Through::Floating)) {
        auto known = nodeOf.find(point);
        if (known == nodeOf.end())
          known = nodeOf.try_emplace(point, graph.addNode({})).first;
        predecessors.push_back(known->second);
      }
      unsigned node = graph.addNode(predecessors);
      if (isHostWait)
        graph[node].isHostWait = true;
      else
        nodeOf[work ? work.getAsyncToken() : wait.getAsyncToken()] = node;
      if (work)
        works.push_back({node, work});
    }
    graph.reduce();
    llvm::MapVector<ArrayAttr, SmallVector<WorkOpInterface>> byPoints;
    for (auto [node, work] : works) {
      SmallVector<int64_t> key;
      for (unsigned predecessor : graph[node].predecessors)
        if (!graph[predecessor].isHostWait)
          key.push_back(predecessor);
      if (key.size() > 1)
        byPoints[builder.getI64ArrayAttr(key)].push_back(work);
    }
    for (auto &[key, takers] : byPoints) {
      if (!isJoinCheaper(key.size(), takers.size()))
        continue;
      WorkOpInterface first = takers.front();
      builder.setInsertionPoint(first);
      // Tokens that stand for none of the points stay with their taker.
      auto isPointOf = [&](Value token) {
        return !sources.get(token, Through::Floating).empty();
      };
      auto join =
          WaitOp::create(builder, first->getLoc(), builder.getType<TokenType>(),
                         llvm::to_vector(llvm::make_filter_range(
                             first.getAsyncDependencies(), isPointOf)));
      for (WorkOpInterface taker : takers) {
        SmallVector<Value> rest;
        for (Value token : taker.getAsyncDependencies())
          if (!isPointOf(token) || sources.get(token, Through::Floating) !=
                                       sources.get(token, Through::Unwaited))
            rest.push_back(token);
        rest.push_back(join.getAsyncToken());
        taker.getAsyncDependenciesMutable().assign(rest);
      }
      made.push_back(join);
    }
  }
  for (WaitOp join : made)
    sources.keep(join);

  // Tokens that become events of other code: each of one point of its block,
  // that is ours or goes on as it is.
  auto addJoin = [&](Operation *before, Value token) {
    builder.setInsertionPoint(before);
    made.push_back(WaitOp::create(builder, before->getLoc(),
                                  builder.getType<TokenType>(), token));
    return made.back().getAsyncToken();
  };
  SmallVector<OpOperand *> handedOn;
  SmallVector<ReleaseOp> releases;
  function->walk([&](Operation *op) {
    if (auto release = dyn_cast<ReleaseOp>(op))
      releases.push_back(release);
    if (!isa<CallOpInterface>(op) &&
        !(op->hasTrait<OpTrait::IsTerminator>() &&
          op->getParentOp() == function.getOperation()))
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (isToken(operand.get()))
        handedOn.push_back(&operand);
  });
  made.clear();
  for (OpOperand *operand : handedOn) {
    Value token = operand->get();
    auto points = sources.get(token, Through::Unwaited);
    if (points.empty())
      continue;
    Value point = points.front();
    Operation *maker = point.getDefiningOp();
    Block *home = point.getParentBlock();
    bool isEvent = maker ? isa<CallOpInterface>(maker)
                         : home->getParentOp() == function.getOperation();
    // A carried token is seen in the region, and behind the op.
    Block *block = operand->getOwner()->getBlock();
    if (isa<BlockArgument>(point) && !isEvent &&
        !home->getParentOp()->isAncestor(operand->getOwner()))
      home = home->getParentOp()->getBlock();
    // What a call left open has to be complete in the end, whatever the one
    // that takes it now does.
    bool goesOn = point == token && point.hasOneUse() &&
                  !(maker && isa<CallOpInterface>(operand->getOwner()));
    if (points.size() == 1 && home == block && (!isEvent || goesOn))
      continue;
    operand->set(addJoin(operand->getOwner(), token));
  }
  // What a call leaves open is complete when the function returns, though
  // nobody takes the token.
  for (ReleaseOp release : releases)
    if (llvm::any_of(sources.get(release.getToken(), Through::Floating),
                     [](Value point) {
                       Operation *maker = point.getDefiningOp();
                       return maker && isa<CallOpInterface>(maker);
                     }))
      addJoin(release, release.getToken());
  for (WaitOp join : made)
    sources.keep(join);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct AssignStreams
    : public gpuasync::impl::GPUAsyncAssignStreamsBase<AssignStreams> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(verifyProgram(getOperation())))
      return signalPassFailure();
    SmallVector<FunctionOpInterface> functions, declarations;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (!isa<FunctionType>(function.getFunctionType()))
        continue;
      bool any =
          llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<TokenType>) ||
          llvm::any_of(function.getResultTypes(), llvm::IsaPred<TokenType>);
      if (function.isExternal()) {
        if (any)
          declarations.push_back(function);
        continue;
      }
      function->walk([&](Operation *op) {
        any |= isa<WaitOp, ForkOp, ReleaseOp>(op) ||
               llvm::any_of(op->getResults(), isToken);
      });
      // A name that nobody uses needs no end.
      function->walk([&](StreamExternalOp op) {
        if (op->use_empty())
          op.erase();
      });
      if (!any)
        continue;
      if (failed(checkFunction(function)))
        return signalPassFailure();
      functions.push_back(function);
    }
    for (FunctionOpInterface function : functions) {
      nameExternalStreams(function);
      TokenSources sources(function);
      keepJoins(function, sources);
      if (failed(StreamForm(function, sources, maxStreams).run()))
        return signalPassFailure();
      convertType(function);
      Decision(*this, function, "Streams")
          .count(numStreams, "streams", countOps<StreamCreateOp>(function))
          .count(numEvents, "events", countOps<EventRecordOp>(function))
          .count(numWaits, "waits", countOps<StreamWaitOp>(function))
          .count(numHostWaits, "host-waits",
                 countOps<StreamSynchronizeOp, EventSynchronizeOp>(function));
    }
    for (FunctionOpInterface function : declarations)
      convertType(function);
  }

  /// Tokens are events at a function's boundary.
  static void convertType(FunctionOpInterface function) {
    auto type = cast<FunctionType>(function.getFunctionType());
    auto toEvents = [&](TypeRange types) {
      return llvm::map_to_vector(types, [](Type type) -> Type {
        return isa<TokenType>(type) ? EventType::get(type.getContext()) : type;
      });
    };
    function.setType(FunctionType::get(function->getContext(),
                                       toEvents(type.getInputs()),
                                       toEvents(type.getResults())));
  }
};
} // namespace
