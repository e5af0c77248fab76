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
#include "mlir/IR/Dominance.h"
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
    if (auto work = dyn_cast<WorkOpInterface>(op);
        work && !work.getAsyncToken()) {
      op->emitOpError("is on a stream already, in a function that has tokens; "
                      "make it 'async', or assign the streams of all its work");
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
        work && work.getStream() &&
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

/// One name for each caller's stream, made where its pointer is. A pointer that
/// is made in a later block of the function's body has a name in each block
/// that uses it, since there is no one place where such a name would end.
static void nameExternalStreams(FunctionOpInterface function) {
  Region &body = function.getFunctionBody();
  llvm::MapVector<std::pair<Value, Block *>, StreamExternalOp> names;
  SmallVector<StreamExternalOp> all;
  function->walk<WalkOrder::PreOrder>(
      [&](StreamExternalOp op) { all.push_back(op); });
  OpBuilder builder(function->getContext());
  for (StreamExternalOp op : all) {
    Value pointer = op.getPointer();
    Block *home = pointer.getParentBlock();
    bool perBlock = home->getParent() == &body && !home->isEntryBlock();
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      Block *block =
          perBlock ? body.findAncestorBlockInRegion(*use.getOwner()->getBlock())
                   : home;
      StreamExternalOp &name = names[{pointer, block}];
      if (!name) {
        Operation *made = pointer.getDefiningOp();
        if (made && block == home)
          builder.setInsertionPointAfter(made);
        else
          builder.setInsertionPointToStart(block);
        name = StreamExternalOp::create(builder, op.getLoc(),
                                        builder.getType<StreamType>(), pointer);
      }
      use.set(name.getStream());
    }
    op.erase();
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
    Operation *op; ///< null for a token argument
    Value event;   ///< made when the first one waits for it

    /// Whether this point is the later one, in program order.
    bool isAfter(const Point &other) const {
      if (!op || !other.op) // arguments come first
        return op ? true : !other.op && point.stream > other.point.stream;
      return other.op->isBeforeInBlock(op);
    }
  };
  /// What a block of the function's body does to the streams, by their numbers.
  struct BlockState {
    SmallVector<unsigned> sizesAtEntry, sizesAtEnd, workAtEnd;
    /// The first position that the block itself enqueues, not a region in it,
    /// so that it is there whenever the block has run.
    SmallVector<unsigned> first;
    StreamClock hostAtEnd;
    /// Streams with device work not waited for, and streams that are not idle,
    /// when the block is entered.
    llvm::SmallBitVector openAtEntry, busyAtEntry;
  };

  FunctionOpInterface function;
  StreamAssignment assignment;
  OpBuilder builder;
  StreamClocks clocks;
  /// The stream values, and a new one for each stream that joins results.
  SmallVector<Value> values;
  llvm::MapVector<Value, Point> points; ///< by the token that stands for it
  SmallVector<Value> events;
  llvm::DenseMap<Operation *, SmallVector<Value>> sourcesOf;
  llvm::DenseMap<Operation *, SmallVector<int64_t>> afterOf;
  SmallVector<unsigned> workOn; ///< last position that takes device time
  /// Last position that can keep a stream busy: device work, or a free that
  /// waits for another stream.
  SmallVector<unsigned> busyUpTo;
  SmallVector<std::pair<Operation *, llvm::SmallBitVector>> exits;
  llvm::MapVector<Block *, BlockState> blocks;

  Value createStream(Location loc) {
    return StreamCreateOp::create(builder, loc, builder.getType<StreamType>());
  }
  Value recordEvent(Location loc, Value stream) {
    return EventRecordOp::create(builder, loc, builder.getType<EventType>(),
                                 stream);
  }
  void createStreams();
  void collect();
  void enqueueArguments();
  void walkBody();
  bool isOpen(const BlockState &state, unsigned stream,
              const StreamClock &covered) const;
  bool isBusy(const BlockState &state, unsigned stream) const;
  SmallVector<Point *> getPoints(ValueRange sources);
  Value getEvent(Point &point);
  bool wait(unsigned stream, ValueRange sources, Operation *before);
  void waitOnHost(WaitOp op);
  void placeWork(WorkOpInterface work);
  void leave(Operation *op, const BlockState &state);
  Value getExternalStream(Operation *exit);
  Value getResultEvent(Value token, Operation *before);
  void destroyEvents();
  void destroyExternalStreams();
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
        sourcesOf[op] = llvm::to_vector(
            getTokenSources(wait.getAsyncDependencies(), Through::Unwaited));
      }
      return;
    }
    auto work = dyn_cast<WorkOpInterface>(op);
    if (!work)
      return;
    SmallVector<int64_t> after;
    for (Value source : getTokenSources(work.getAsyncDependencies()))
      if (auto id = ids.find(source); id != ids.end())
        after.push_back(id->second);
    sourcesOf[op] = llvm::to_vector(
        getTokenSources(work.getAsyncDependencies(), Through::Unwaited));
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
  point.event = recordEvent(point.op->getLoc(),
                            cast<WorkOpInterface>(point.op).getStream());
  events.push_back(point.event);
  return point.event;
}

/// The points of the sources, the latest first, since that may imply the
/// others.
SmallVector<StreamForm::Point *> StreamForm::getPoints(ValueRange sources) {
  SmallVector<Point *> needed;
  for (Value source : sources)
    if (auto found = points.find(source); found != points.end())
      needed.push_back(&found->second);
  llvm::sort(needed, [](Point *a, Point *b) { return a->isAfter(*b); });
  return needed;
}

/// Makes a stream wait for what it is not known to come after. Returns whether
/// it now waits.
bool StreamForm::wait(unsigned stream, ValueRange sources, Operation *before) {
  bool waits = false;
  for (Point *point : getPoints(sources)) {
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
  if (external)
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

  Block *block = work->getBlock();
  if (block->getParent() == &function.getFunctionBody()) {
    SmallVector<unsigned> &first = blocks[block].first;
    if (first.size() <= stream)
      first.resize(stream + 1, 0);
    if (!first[stream])
      first[stream] = clocks.getSize(stream);
  }
  // Only after the op is gone from the token form is its token replaced.
  points[work.getAsyncToken()] = {
      {stream, clocks.getSize(stream)}, clock, work, {}};
  if (!external)
    work.getStreamMutable().assign(values[stream]);
  if (!afterOf[work].empty())
    work.setAfter(ArrayRef<int64_t>(afterOf[work]));
}

void StreamForm::waitOnHost(WaitOp op) {
  SmallVector<Value> streams, waitEvents;
  for (Point *point : getPoints(sourcesOf[op])) {
    if (clocks.getHost().covers(point->point))
      continue;
    unsigned stream = point->point.stream;
    // A stream is waited for only where nothing later keeps it busy, and a
    // caller's stream never.
    if (!assignment.getStreams()[stream].external &&
        busyUpTo[stream] <= point->point.position) {
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
  StreamClock covered;
  auto sources = getTokenSources(token, Through::Unwaited);
  for (Point *point : getPoints(sources.getArrayRef())) {
    if (covered.covers(point->point))
      continue;
    covered.merge(point->clock);
    needed.push_back(point);
  }
  if (needed.size() == 1 && needed[0]->op) {
    builder.setInsertionPointAfter(needed[0]->op);
    return recordEvent(needed[0]->op->getLoc(),
                       cast<WorkOpInterface>(needed[0]->op).getStream());
  }
  // An argument that is handed on as it is keeps its event.
  if (needed.size() == 1 && needed[0]->event.hasOneUse())
    return needed[0]->event;
  // Several points: a stream of its own joins them, so that no work waits.
  builder.setInsertionPoint(before);
  Value join = createStream(before->getLoc());
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

/// A caller's stream by a name that is good at `exit`, if there is one.
Value StreamForm::getExternalStream(Operation *exit) {
  Region &body = function.getFunctionBody();
  for (const StreamAssignment::Stream &stream : assignment.getStreams()) {
    Value pointer = stream.external;
    if (!pointer || isToken(pointer) || pointer.getParentRegion() != &body)
      continue;
    Block *home = pointer.getParentBlock();
    Block *block = home->isEntryBlock() ? home : exit->getBlock();
    for (Operation *user : pointer.getUsers())
      if (isa<StreamExternalOp>(user) && user->getBlock() == block)
        return user->getResult(0);
    if (!DominanceInfo(function).properlyDominates(pointer, exit))
      continue;
    builder.setInsertionPoint(exit);
    return StreamExternalOp::create(builder, exit->getLoc(),
                                    builder.getType<StreamType>(), pointer);
  }
  return {};
}

/// A function that returns has completed its work, but for what its token
/// results cover, and for what it ordered into a caller's stream.
void StreamForm::leave(Operation *op, const BlockState &state) {
  StreamClock covered = state.hostAtEnd;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isToken(operand.get()))
      continue;
    for (Value source : getTokenSources(operand.get(), Through::Floating))
      if (auto found = points.find(source); found != points.end())
        covered.merge(found->second.clock);
  }
  SmallVector<Value> open;
  llvm::SmallBitVector idle(values.size(), true);
  for (auto [number, stream] : llvm::enumerate(assignment.getStreams())) {
    if (!stream.external && isOpen(state, number, covered))
      open.push_back(values[number]);
    // Also what a free on the stream still waits for.
    idle[number] = !isBusy(state, number);
  }
  Value external = open.empty() ? Value() : getExternalStream(op);
  builder.setInsertionPoint(op);
  if (external) {
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

/// A name in the entry block of several is good up to every exit, any other one
/// ends behind its last use: all of them are in its block.
void StreamForm::destroyExternalStreams() {
  Region &body = function.getFunctionBody();
  SmallVector<StreamExternalOp> names;
  function->walk([&](StreamExternalOp name) { names.push_back(name); });
  for (StreamExternalOp name : names) {
    Block *block = name->getBlock();
    if (block == &body.front() && !body.hasOneBlock()) {
      for (auto &[op, idle] : exits) {
        builder.setInsertionPoint(op);
        StreamDestroyOp::create(builder, op->getLoc(), name.getStream(), false);
      }
      continue;
    }
    Operation *last = name;
    for (Operation *user : name->getUsers())
      if (Operation *ancestor = block->findAncestorOpInBlock(*user);
          last->isBeforeInBlock(ancestor))
        last = ancestor;
    builder.setInsertionPointAfter(last);
    StreamDestroyOp::create(builder, last->getLoc(), name.getStream(), false);
  }
}

/// Behind the last use in a body of one block, else before every exit.
void StreamForm::destroyStreams() {
  Region &body = function.getFunctionBody();
  for (auto [number, value] : llvm::enumerate(values)) {
    if (!value || assignment.getStreams()[number].external)
      continue;
    Block *block = value.getParentBlock();
    if (body.hasOneBlock()) {
      Operation *last = value.getDefiningOp();
      for (Operation *user : value.getUsers())
        if (Operation *ancestor = block->findAncestorOpInBlock(*user);
            last->isBeforeInBlock(ancestor))
          last = ancestor;
      bool idle = !exits.empty() && exits[0].second[number];
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
      builder.setInsertionPoint(op);
      StreamDestroyOp::create(builder, op->getLoc(), value, idle[number]);
    }
  }
}

/// A token argument is the first point of a stream of its own.
void StreamForm::enqueueArguments() {
  for (auto [number, stream] : llvm::enumerate(assignment.getStreams())) {
    if (!stream.external || !isToken(stream.external))
      continue;
    StreamClock clock = clocks.enqueue(number);
    points[stream.external] = {
        {static_cast<unsigned>(number), 1}, clock, nullptr, stream.external};
  }
}

static unsigned at(ArrayRef<unsigned> positions, unsigned stream) {
  return stream < positions.size() ? positions[stream] : 0;
}

/// Whether the stream has device work at the end of the block that `covered`
/// does not cover.
bool StreamForm::isOpen(const BlockState &state, unsigned stream,
                        const StreamClock &covered) const {
  unsigned last = at(state.workAtEnd, stream);
  if (last > at(state.sizesAtEntry, stream) && covered[stream] < last)
    return true;
  unsigned first = at(state.first, stream);
  bool isPastCovered = first && covered[stream] >= first;
  return state.openAtEntry[stream] && !isPastCovered;
}

/// Whether the stream may not be idle at the end of the block.
bool StreamForm::isBusy(const BlockState &state, unsigned stream) const {
  unsigned last = at(state.sizesAtEnd, stream);
  if (last > at(state.sizesAtEntry, stream) && state.hostAtEnd[stream] < last)
    return true;
  unsigned first = at(state.first, stream);
  bool isPastCovered = first && state.hostAtEnd[stream] >= first;
  return state.busyAtEntry[stream] && !isPastCovered;
}

/// Each block is walked as if all streams were idle at its start; what they
/// really are comes from the blocks that lead to it, around loops too.
void StreamForm::walkBody() {
  auto visit = [&](Operation *op) {
    if (auto work = dyn_cast<WorkOpInterface>(op))
      placeWork(work);
    else if (auto wait = dyn_cast<WaitOp>(op); wait && wait.isHostWait())
      waitOnHost(wait);
  };
  unsigned count = assignment.getStreams().size();
  for (Block *block : getBlocksInOrder(function.getFunctionBody())) {
    SmallVector<unsigned> sizesAtEntry;
    for (unsigned stream = 0; stream < count; ++stream) {
      sizesAtEntry.push_back(clocks.getSize(stream));
      if (!block->isEntryBlock())
        clocks.setIdle(stream);
    }
    clocks.walk(*block, visit);
    BlockState &state = blocks[block];
    state.sizesAtEntry = std::move(sizesAtEntry);
    for (unsigned stream = 0; stream < count; ++stream)
      state.sizesAtEnd.push_back(clocks.getSize(stream));
    state.workAtEnd = workOn;
    state.hostAtEnd = clocks.getHost();
    state.openAtEntry.resize(count);
    state.busyAtEntry.resize(count);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[block, state] : blocks) {
      llvm::SmallBitVector open(count), busy(count);
      for (unsigned stream = 0; stream < count; ++stream) {
        open[stream] = isOpen(state, stream, state.hostAtEnd);
        busy[stream] = isBusy(state, stream);
      }
      for (Block *successor : block->getSuccessors()) {
        BlockState &next = blocks[successor];
        changed |= open.test(next.openAtEntry) || busy.test(next.busyAtEntry);
        next.openAtEntry |= open;
        next.busyAtEntry |= busy;
      }
    }
  }
  for (auto &[block, state] : blocks) {
    if (block->empty() || !block->mightHaveTerminator())
      continue;
    Operation *terminator = block->getTerminator();
    if (terminator->getNumSuccessors() == 0)
      leave(terminator, state);
  }
}

LogicalResult StreamForm::run() {
  if (failed(assignment.verify()))
    return failure();
  createStreams();
  collect();
  enqueueArguments();
  walkBody();

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
  destroyExternalStreams();
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
      bool any =
          llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<TokenType>);
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
      if (failed(checkTokens(function)))
        return signalPassFailure();
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
