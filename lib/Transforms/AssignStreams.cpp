//===- AssignStreams.cpp - linear form to stream form ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies a StreamAssignment: puts each work op on its stream, orders streams
// by events where nothing else does, and gives streams back where they end.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Transforms/Passes.h"

#include "GPUAsync/Analysis/StreamAssignment.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCASSIGNSTREAMS
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

static bool isToken(Value value) { return isa<TokenType>(value.getType()); }

//===----------------------------------------------------------------------===//
// What this pass can do
//===----------------------------------------------------------------------===//

static InFlightDiagnostic crosses(Operation *op, const Twine &what) {
  return op->emitOpError("a token crosses ")
         << what
         << ", which is not supported yet; wait for it before (gpu_async.wait "
            "[...]), or keep it inside";
}

/// Tokens stay inside their block; arguments and results of the function are
/// events at its boundary.
static LogicalResult checkTokens(FunctionOpInterface function) {
  Block *entry = &function.getFunctionBody().front();
  WalkResult result = function->walk([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    bool takes = llvm::any_of(op->getOperands(), isToken);
    bool makes = llvm::any_of(op->getResults(), isToken);
    if ((takes || makes) && isa<CallOpInterface>(op)) {
      crosses(op, "a call");
      return WalkResult::interrupt();
    }
    bool ours = isa<WaitOp, ForkOp, ReleaseOp, WorkOpInterface>(op);
    bool returns =
        op->hasTrait<OpTrait::ReturnLike>() && op->getParentOp() == function;
    if ((takes || makes) && !ours && !returns) {
      crosses(op, "control flow");
      return WalkResult::interrupt();
    }
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (llvm::any_of(block.getArguments(), isToken)) {
          crosses(op, "control flow");
          return WalkResult::interrupt();
        }
    for (Value operand : op->getOperands()) {
      if (!isToken(operand) || operand.getParentBlock() == op->getBlock())
        continue;
      InFlightDiagnostic diag = crosses(op, "control flow");
      diag.attachNote(operand.getLoc()) << "the token is made here";
      return WalkResult::interrupt();
    }
    if (auto work = dyn_cast<WorkOpInterface>(op);
        work && work.getStream() && work.getAsyncToken() &&
        !work.getStream().getDefiningOp<StreamExternalOp>()) {
      op->emitOpError("is on a stream that is not a caller's; only "
                      "gpu_async.stream.external names a stream before streams "
                      "are assigned");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (Block &block : function.getFunctionBody())
    if (&block != entry && llvm::any_of(block.getArguments(), isToken))
      return crosses(block.getParentOp(), "control flow");
  return success();
}

/// One name for each caller's stream, made where its pointer is.
static void nameExternalStreams(FunctionOpInterface function) {
  llvm::MapVector<Value, StreamExternalOp> names;
  SmallVector<StreamExternalOp> all;
  function->walk<WalkOrder::PreOrder>(
      [&](StreamExternalOp op) { all.push_back(op); });
  for (StreamExternalOp op : all) {
    StreamExternalOp &name = names[op.getPointer()];
    if (name) {
      op.getStream().replaceAllUsesWith(name.getStream());
      op.erase();
      continue;
    }
    name = op;
    if (Operation *made = op.getPointer().getDefiningOp())
      op->moveAfter(made);
    else
      op->moveBefore(&op.getPointer().getParentBlock()->front());
  }
}

//===----------------------------------------------------------------------===//
// The rewrite of one function
//===----------------------------------------------------------------------===//

namespace {
class StreamForm {
public:
  StreamForm(FunctionOpInterface function, unsigned maxStreams)
      : function(function), assignment(function, maxStreams),
        builder(function->getContext()),
        values(assignment.getStreams().size()) {}

  LogicalResult run();

private:
  struct Point {
    StreamPoint point;
    StreamClock clock;
    Operation *op;
    Value event; ///< made when the first one waits for it
  };

  FunctionOpInterface function;
  StreamAssignment assignment;
  OpBuilder builder;
  StreamClocks clocks;
  /// The stream values, and a new one for each stream that joins results.
  SmallVector<Value> values;
  llvm::MapVector<Value, Point> points; ///< by the token that stands for it
  llvm::DenseMap<Value, SmallVector<unsigned>> argumentWaits;
  SmallVector<Value> events;
  llvm::DenseMap<Operation *, SmallVector<Value>> sourcesOf;
  llvm::DenseMap<Operation *, SmallVector<int64_t>> afterOf;
  SmallVector<unsigned> workOn; ///< last position that takes device time
  /// Last position that can keep a stream busy: device work, or a free that
  /// waits for another stream.
  SmallVector<unsigned> busyUpTo;
  SmallVector<std::pair<Operation *, llvm::SmallBitVector>> exits;

  Value createStream(Location loc) {
    return StreamCreateOp::create(builder, loc, builder.getType<StreamType>());
  }
  Value recordEvent(Location loc, Value stream) {
    return EventRecordOp::create(builder, loc, builder.getType<EventType>(),
                                 stream);
  }
  void createStreams();
  void collect();
  Value getEvent(Point &point);
  bool wait(unsigned stream, ValueRange sources, Operation *before);
  void waitOnHost(WaitOp op);
  void placeWork(WorkOpInterface work);
  void leave(Operation *op);
  Value getResultEvent(Value token, Operation *before);
  void destroyEvents();
  void destroyStreams();
};
} // namespace

/// The op of the function's own body that `op` is, or is nested in.
static Operation *getTopLevel(Operation *op, FunctionOpInterface function) {
  return function.getFunctionBody().findAncestorOpInRegion(*op);
}

/// Streams are made outside all loops: before the first op of the function's
/// body that uses them, or at its start if the body has several blocks.
void StreamForm::createStreams() {
  Region &body = function.getFunctionBody();
  llvm::DenseMap<unsigned, Operation *> first;
  function->walk<WalkOrder::PreOrder>([&](WorkOpInterface work) {
    first.try_emplace(assignment.getStream(work), work);
  });
  for (auto [number, stream] : llvm::enumerate(assignment.getStreams())) {
    if (stream.external)
      continue;
    auto user = first.find(number);
    if (user == first.end())
      continue;
    if (body.hasOneBlock())
      builder.setInsertionPoint(getTopLevel(user->second, function));
    else
      builder.setInsertionPointToStart(&body.front());
    values[number] = createStream(user->second->getLoc());
  }
}

/// What each op waits for, before tokens are gone, and the schedule's numbers.
void StreamForm::collect() {
  llvm::DenseMap<Value, int64_t> ids;
  int64_t next = 0;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto wait = dyn_cast<WaitOp>(op)) {
      if (wait.isHostWait()) {
        SmallVector<Value> sources;
        // A free need not be waited for, what it comes after must be.
        for (Value source : getTokenSources(wait.getAsyncDependencies())) {
          if (auto dealloc = source.getDefiningOp<DeallocOp>())
            llvm::append_range(
                sources, getTokenSources(dealloc.getAsyncDependencies(), true));
          else
            sources.push_back(source);
        }
        sourcesOf[op] = std::move(sources);
      }
      return;
    }
    auto work = dyn_cast<WorkOpInterface>(op);
    if (!work)
      return;
    auto sources = getTokenSources(work.getAsyncDependencies());
    llvm::SetVector<Value> needed;
    SmallVector<int64_t> after;
    for (Value source : sources) {
      if (auto id = ids.find(source); id != ids.end())
        after.push_back(id->second);
      // Waiting for a free means waiting for what it comes after.
      if (auto dealloc = source.getDefiningOp<DeallocOp>())
        needed.insert_range(
            getTokenSources(dealloc.getAsyncDependencies(), true));
      else
        needed.insert(source);
    }
    sourcesOf[op] = llvm::to_vector(needed);
    llvm::sort(after);
    afterOf[op] = std::move(after);
    if (Value token = work.getAsyncToken())
      ids[token] = next;
    work.setId(next++);
  });
}

Value StreamForm::getEvent(Point &point) {
  if (point.event)
    return point.event;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(point.op);
  point.event = recordEvent(point.op->getLoc(), values[point.point.stream]);
  events.push_back(point.event);
  return point.event;
}

/// Makes a stream wait for what it is not known to come after, the latest
/// first, since that may imply the others. Returns whether it now waits.
bool StreamForm::wait(unsigned stream, ValueRange sources, Operation *before) {
  SmallVector<Point *> needed;
  bool waits = false;
  for (Value source : sources) {
    if (auto argument = dyn_cast<BlockArgument>(source)) {
      SmallVector<unsigned> &done = argumentWaits[argument];
      if (llvm::is_contained(done, stream))
        continue;
      done.push_back(stream);
      builder.setInsertionPoint(before);
      StreamWaitOp::create(builder, before->getLoc(), values[stream], argument);
      waits = true;
      continue;
    }
    // Not there: a host-shared allocation, which anyone may use at once.
    if (auto found = points.find(source); found != points.end())
      needed.push_back(&found->second);
  }
  llvm::sort(needed,
             [](Point *a, Point *b) { return b->op->isBeforeInBlock(a->op); });
  for (Point *point : needed) {
    if (clocks.isCovered(stream, point->point))
      continue;
    Value event = getEvent(*point);
    builder.setInsertionPoint(before);
    StreamWaitOp::create(builder, before->getLoc(), values[stream], event);
    clocks.waitOnStream(stream, point->clock);
    waits = true;
  }
  return waits;
}

void StreamForm::placeWork(WorkOpInterface work) {
  unsigned stream = assignment.getStream(work);
  bool external = static_cast<bool>(assignment.getStreams()[stream].external);
  if (external && !values[stream])
    values[stream] = work.getStream();
  bool waits = wait(stream, sourcesOf[work], work);
  StreamClock clock = clocks.enqueue(stream);
  if (workOn.size() <= stream) {
    workOn.resize(stream + 1, 0);
    busyUpTo.resize(stream + 1, 0);
  }
  if (work.takesDeviceTime())
    workOn[stream] = clocks.getSize(stream);
  if (work.takesDeviceTime() || waits)
    busyUpTo[stream] = clocks.getSize(stream);

  // Only after the op is gone from the token form is its token replaced.
  auto alloc = dyn_cast<AllocOp>(*work);
  if (Value token = work.getAsyncToken();
      token && !(alloc && alloc.getHostShared()))
    points[token] = {{stream, clocks.getSize(stream)}, clock, work, {}};
  if (!external)
    work.getStreamMutable().assign(values[stream]);
  if (!afterOf[work].empty())
    work.setAfter(ArrayRef<int64_t>(afterOf[work]));
}

void StreamForm::waitOnHost(WaitOp op) {
  SmallVector<Value> streams, waitEvents;
  SmallVector<Point *> needed;
  for (Value source : sourcesOf[op]) {
    if (isa<BlockArgument>(source))
      waitEvents.push_back(source);
    else if (auto found = points.find(source); found != points.end())
      needed.push_back(&found->second);
  }
  llvm::sort(needed,
             [](Point *a, Point *b) { return b->op->isBeforeInBlock(a->op); });
  for (Point *point : needed) {
    if (clocks.getHost().covers(point->point))
      continue;
    unsigned stream = point->point.stream;
    // A stream is waited for only where nothing later keeps it busy, and a
    // caller's stream never.
    if (busyUpTo[stream] <= point->point.position &&
        !assignment.getStreams()[stream].external) {
      streams.push_back(values[stream]);
      clocks.waitOnHost(clocks.getStream(stream)); // all of it
    } else {
      waitEvents.push_back(getEvent(*point));
      clocks.waitOnHost(point->clock);
    }
  }
  builder.setInsertionPoint(op);
  if (!streams.empty())
    StreamSynchronizeOp::create(builder, op.getLoc(), streams);
  if (!waitEvents.empty())
    EventSynchronizeOp::create(builder, op.getLoc(), waitEvents);
}

/// One event for what a returned token stands for.
Value StreamForm::getResultEvent(Value token, Operation *before) {
  SmallVector<Point *> needed;
  SmallVector<Value> arguments;
  for (Value source : getTokenSources(token)) {
    if (auto argument = dyn_cast<BlockArgument>(source))
      arguments.push_back(argument);
    else if (auto found = points.find(source); found != points.end())
      needed.push_back(&found->second);
  }
  // An argument that is handed on as it is keeps its event.
  if (needed.empty() && arguments.size() == 1 && arguments[0].hasOneUse())
    return arguments[0];
  llvm::sort(needed,
             [](Point *a, Point *b) { return b->op->isBeforeInBlock(a->op); });
  if (needed.size() == 1 && arguments.empty()) {
    builder.setInsertionPointAfter(needed[0]->op);
    return recordEvent(needed[0]->op->getLoc(),
                       values[needed[0]->point.stream]);
  }
  // Several points: a stream of its own joins them, so that no work waits.
  builder.setInsertionPoint(before);
  Value join = createStream(before->getLoc());
  for (Value argument : arguments)
    StreamWaitOp::create(builder, before->getLoc(), join, argument);
  for (Point *point : needed) {
    Value event = getEvent(*point);
    builder.setInsertionPoint(before);
    StreamWaitOp::create(builder, before->getLoc(), join, event);
  }
  builder.setInsertionPoint(before);
  Value event = recordEvent(before->getLoc(), join);
  StreamDestroyOp::create(builder, before->getLoc(), join, /*idle=*/false);
  return event;
}

/// A function that returns has completed its work, but for what its token
/// results cover, and for what it ordered into a caller's stream.
void StreamForm::leave(Operation *op) {
  StreamClock covered = clocks.getHost();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isToken(operand.get()))
      continue;
    for (Value source : getTokenSources(operand.get(), true))
      if (auto found = points.find(source); found != points.end())
        covered.merge(found->second.clock);
  }
  SmallVector<Value> open;
  llvm::SmallBitVector idle(values.size(), true);
  Value external;
  for (auto [number, stream] : llvm::enumerate(assignment.getStreams()))
    if (stream.external && values[number] && !external &&
        values[number].getParentRegion() == &function.getFunctionBody())
      external = values[number];
  for (auto [number, stream] : llvm::enumerate(assignment.getStreams())) {
    unsigned last = number < workOn.size() ? workOn[number] : 0;
    if (!stream.external && covered[number] < last)
      open.push_back(values[number]);
    // Also what a free on the stream still waits for.
    idle[number] = clocks.isIdle(number);
  }
  builder.setInsertionPoint(op);
  if (!open.empty() && external) {
    for (Value stream : open) {
      Value event = recordEvent(op->getLoc(), stream);
      StreamWaitOp::create(builder, op->getLoc(), external, event);
      EventDestroyOp::create(builder, op->getLoc(), event);
    }
  } else if (!open.empty()) {
    StreamSynchronizeOp::create(builder, op->getLoc(), open);
    for (auto [number, value] : llvm::enumerate(values))
      if (llvm::is_contained(open, value))
        idle[number] = true;
  }
  exits.push_back({op, idle});
  for (OpOperand &operand : op->getOpOperands())
    if (isToken(operand.get()))
      operand.set(getResultEvent(operand.get(), op));
}

/// Each event is given back behind its last wait.
void StreamForm::destroyEvents() {
  auto destroy = [&](Value event, Block *block) {
    Operation *last = nullptr;
    for (Operation *user : event.getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        return; // handed on to the caller
      if (!last || last->isBeforeInBlock(user))
        last = user;
    }
    Location loc = last ? last->getLoc() : event.getLoc();
    if (last)
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(block);
    EventDestroyOp::create(builder, loc, event);
  };
  for (Value event : events)
    destroy(event, event.getParentBlock());
  Block &entry = function.getFunctionBody().front();
  for (BlockArgument argument : entry.getArguments())
    if (isa<EventType>(argument.getType()))
      destroy(argument, &entry);
}

/// Behind the last use in a body of one block, else before every exit.
void StreamForm::destroyStreams() {
  Region &body = function.getFunctionBody();
  for (auto [number, value] : llvm::enumerate(values)) {
    if (!value)
      continue;
    bool external = static_cast<bool>(assignment.getStreams()[number].external);
    Block *block = value.getParentBlock();
    if (external && block->getParent() != &body) {
      // A name made inside a region ends there.
      Operation *last = value.getDefiningOp();
      for (Operation *user : value.getUsers())
        if (Operation *ancestor = block->findAncestorOpInBlock(*user);
            ancestor && last->isBeforeInBlock(ancestor))
          last = ancestor;
      builder.setInsertionPointAfter(last);
      StreamDestroyOp::create(builder, last->getLoc(), value, false);
      continue;
    }
    if (body.hasOneBlock()) {
      Operation *last = value.getDefiningOp();
      for (Operation *user : value.getUsers())
        if (Operation *ancestor = block->findAncestorOpInBlock(*user);
            last->isBeforeInBlock(ancestor))
          last = ancestor;
      bool idle = !external && !exits.empty() && exits[0].second[number];
      // Idle holds at the exit: behind the host wait, which may come later than
      // the last use of this stream by itself.
      if (idle && !isa<StreamSynchronizeOp>(last)) {
        for (Operation &op : llvm::reverse(*block)) {
          if (isa<StreamSynchronizeOp, EventSynchronizeOp>(op)) {
            if (last->isBeforeInBlock(&op))
              last = &op;
            break;
          }
        }
      }
      if (last->hasTrait<OpTrait::IsTerminator>())
        builder.setInsertionPoint(last);
      else
        builder.setInsertionPointAfter(last);
      StreamDestroyOp::create(builder, last->getLoc(), value, idle);
      continue;
    }
    for (auto &[op, idle] : exits) {
      if (external && block != &body.front() && block != op->getBlock())
        continue;
      builder.setInsertionPoint(op);
      StreamDestroyOp::create(builder, op->getLoc(), value,
                              !external && idle[number]);
    }
  }
}

LogicalResult StreamForm::run() {
  if (failed(assignment.verify()))
    return failure();
  createStreams();
  collect();
  auto visit = [&](Operation *op) {
    if (auto work = dyn_cast<WorkOpInterface>(op))
      placeWork(work);
    else if (auto wait = dyn_cast<WaitOp>(op); wait && wait.isHostWait())
      waitOnHost(wait);
    else if (op->hasTrait<OpTrait::IsTerminator>() &&
             op->getParentOp() == function && op->getNumSuccessors() == 0)
      leave(op);
  };
  for (Block &block : function.getFunctionBody())
    clocks.walk(block, visit);

  // Arguments become events, tokens go.
  Block &entry = function.getFunctionBody().front();
  for (BlockArgument argument : entry.getArguments())
    if (isToken(argument))
      argument.setType(EventType::get(argument.getContext()));
  SmallVector<Operation *> tokenOps;
  SmallVector<WorkOpInterface> works;
  function->walk([&](Operation *op) {
    if (isa<WaitOp, ForkOp, ReleaseOp>(op))
      tokenOps.push_back(op);
    else if (auto work = dyn_cast<WorkOpInterface>(op))
      works.push_back(work);
  });
  for (Operation *op : tokenOps)
    op->dropAllReferences();
  for (WorkOpInterface work : works) {
    if (!work.getAsyncToken())
      continue;
    work.getAsyncDependenciesMutable().clear();
    // A result cannot be taken off an op: it is made again without.
    builder.setInsertionPoint(work);
    OperationState state(work.getLoc(), work->getName());
    state.addOperands(work->getOperands());
    state.addAttributes(work->getAttrs());
    SmallVector<Value> kept;
    for (Value result : work->getResults())
      if (!isToken(result)) {
        state.addTypes(result.getType());
        kept.push_back(result);
      }
    state.propertiesAttr = work->getPropertiesAsAttribute();
    state.attributes.clear();
    state.addAttributes(llvm::to_vector(work->getDiscardableAttrs()));
    Operation *placed = builder.create(state);
    for (auto [before, after] : llvm::zip_equal(kept, placed->getResults()))
      before.replaceAllUsesWith(after);
    for (Value result : work->getResults())
      if (isToken(result))
        result.dropAllUses();
    work->erase();
  }
  for (Operation *op : tokenOps) {
    op->dropAllUses();
    op->erase();
  }

  destroyEvents();
  destroyStreams();

  auto type = cast<FunctionType>(function.getFunctionType());
  auto toEvents = [&](TypeRange types) {
    return llvm::map_to_vector(types, [](Type type) -> Type {
      return isa<TokenType>(type) ? EventType::get(type.getContext()) : type;
    });
  };
  function.setType(FunctionType::get(function->getContext(),
                                     toEvents(type.getInputs()),
                                     toEvents(type.getResults())));
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct AssignStreams
    : public gpuasync::impl::GPUAsyncAssignStreamsBase<AssignStreams> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<FunctionOpInterface> functions;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal() ||
          !isa<FunctionType>(function.getFunctionType()))
        continue;
      if (failed(checkTokens(function)))
        return signalPassFailure();
      bool any =
          llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<TokenType>);
      function->walk([&](Operation *op) {
        any |= isa<WaitOp, ForkOp, ReleaseOp>(op) ||
               llvm::any_of(op->getResults(), isToken);
      });
      if (any)
        functions.push_back(function);
    }
    for (FunctionOpInterface function : functions) {
      nameExternalStreams(function);
      if (failed(StreamForm(function, maxStreams).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
