//===- StreamForm.cpp - the rewrite of one function -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts each work op on its stream, orders streams by events where nothing else
// does, and gives streams and events back where they end.
//===----------------------------------------------------------------------===//

#include "StreamForm.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;

template <typename Range>
static void grow(Range &range, unsigned stream) {
  if (range.size() <= stream)
    range.resize(stream + 1);
}

static unsigned at(ArrayRef<unsigned> positions, unsigned stream) {
  return stream < positions.size() ? positions[stream] : 0;
}

StreamForm::StreamForm(FunctionOpInterface function, TokenSources &sources,
                       unsigned maxStreams)
    : function(function), sources(sources),
      assignment(function, sources, maxStreams), maxStreams(maxStreams),
      builder(function->getContext()),
      streams(assignment.getStreams().begin(), assignment.getStreams().end()) {}

/// Numbers the work, and finds the region ops that matter.
void StreamForm::prepare() {
  int64_t next = 0;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto work = dyn_cast<WorkOpInterface>(op);
    if (work)
      work.setId(next++);
    if (op == function.getOperation() ||
        (!work && !llvm::any_of(op->getOperands(), isToken) &&
         !llvm::any_of(op->getResults(), isToken)))
      return;
    for (Operation *parent = op; parent != function.getOperation();
         parent = parent->getParentOp())
      if (parent->getNumRegions() && !regionOps.insert(parent).second)
        break;
  });
}

/// The streams that each region op uses.
void StreamForm::findUses() {
  auto use = [&](Operation *op, unsigned stream) {
    for (; op != function.getOperation(); op = op->getParentOp())
      if (op->getNumRegions() && !usedIn[op].insert(stream))
        break;
  };
  usedIn.clear();
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto work = dyn_cast<WorkOpInterface>(op)) {
      if (auto found = floatStreams.find(op); found != floatStreams.end())
        use(op, found->second);
      else if (work.takesDeviceTime())
        use(op, assignment.getStream(work.getAsyncToken()));
    } else if (auto join = dyn_cast<WaitOp>(op)) {
      if (sources.isKept(join))
        use(op, assignment.getStream(join.getAsyncToken()));
    } else if (regionOps.contains(op)) {
      for (const CarriedToken &carried : getCarriedTokens(op))
        if (assignment.hasStream(carried.names.front()))
          use(op, assignment.getStream(carried.names.front()));
      for (auto [stream, point] : assignment.getEntryWaits(op))
        use(op, stream);
    }
  });
}

//===----------------------------------------------------------------------===//
// Points and waits
//===----------------------------------------------------------------------===//

StreamClock StreamForm::enqueue(unsigned stream, bool isBusy, bool isWork,
                                bool isUse) {
  StreamClock clock = clocks.enqueue(stream);
  unsigned position = clocks.getSize(stream);
  grow(busyUpTo, stream);
  grow(workOn, stream);
  if (isBusy || isWork)
    busyUpTo[stream] = position;
  if (isWork)
    workOn[stream] = position;
  grow(usedUpTo, stream);
  if (isUse)
    usedUpTo[stream] = position;
  if (!isEmitting) {
    grow(items, stream);
    items[stream].push_back({order, position, clock, block});
  }
  return clock;
}

/// Ours are made at the start of the body, and moved to their first use later.
Value StreamForm::getStreamValue(unsigned stream) {
  grow(values, stream);
  if (!values[stream]) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getFunctionBody().front());
    values[stream] = StreamCreateOp::create(builder, function.getLoc(),
                                            builder.getType<StreamType>());
  }
  return values[stream];
}

Value StreamForm::recordAt(const Point &point) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = function.getLoc();
  if (point.op) {
    builder.setInsertionPointAfter(point.op);
    loc = point.op->getLoc();
  } else {
    builder.setInsertionPointToStart(point.block);
    loc = point.block->getParentOp()->getLoc();
  }
  return EventRecordOp::create(builder, loc, builder.getType<EventType>(),
                               getStreamValue(point.point.stream));
}

Value StreamForm::getEvent(Point &point) {
  if (!point.event) {
    point.event = recordAt(point);
    events.push_back(point.event);
  }
  return point.event;
}

/// The latest first, since that may imply the others.
SmallVector<StreamForm::Point *>
StreamForm::getPoints(const llvm::SetVector<Value> &tokens) {
  SmallVector<Point *> needed;
  for (Value token : tokens)
    if (auto found = points.find(token); found != points.end())
      needed.push_back(&found->second);
  llvm::sort(needed, [](Point *a, Point *b) { return a->order > b->order; });
  return needed;
}

/// Makes a stream wait for what it is not known to come after. Returns whether
/// it now waits.
bool StreamForm::wait(unsigned stream, const llvm::SetVector<Value> &tokens,
                      Operation *before) {
  bool waits = false;
  for (Point *point : getPoints(tokens)) {
    if (clocks.isCovered(stream, point->point))
      continue;
    if (isEmitting) {
      Value event = getEvent(*point);
      Value value = getStreamValue(stream);
      builder.setInsertionPoint(before);
      StreamWaitOp::create(builder, before->getLoc(), value, event);
    }
    clocks.waitOnStream(stream, point->clock);
    waits = true;
  }
  return waits;
}

/// Whether a call may have left open what the tokens stand for.
static bool isFromCall(const llvm::SetVector<Value> &tokens) {
  return llvm::any_of(tokens, [](Value token) {
    Operation *maker = token.getDefiningOp();
    return maker && isa<CallOpInterface>(maker);
  });
}

/// The same where no op of the stream comes next: the wait is what keeps the
/// stream busy. What a call left open has to be waited for until the end.
void StreamForm::waitAlone(unsigned stream, ValueRange tokens,
                           Operation *before) {
  llvm::SetVector<Value> needed = sources.get(tokens, getThrough());
  if (wait(stream, needed, before))
    enqueue(stream, /*isBusy=*/true, /*isWork=*/isFromCall(needed));
}

/// Where an allocation may not stand behind what its user does not come after.
void StreamForm::addConsumer(Operation *op, ValueRange tokens,
                             bool isOrderedByHost) {
  if (isEmitting)
    return;
  for (Value source : sources.getExpanded(tokens, Through::Unwaited))
    consumers[source].push_back(op);
  StreamClock required = clocks.getHost();
  if (!isOrderedByHost)
    for (Point *point :
         getPoints(sources.getExpanded(tokens, Through::Floating)))
      required.merge(point->clock);
  requiredOf[op] = required;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void StreamForm::walk() {
  clocks = {};
  points.clear();
  numPoints = order = 0;
  numStreams = streams.size();
  workOn.clear();
  busyUpTo.clear();
  usedUpTo.clear();
  findUses();
  Block &body = function.getFunctionBody().front();
  // A token argument is the first point of a stream of its own.
  for (BlockArgument argument : body.getArguments()) {
    if (!isToken(argument))
      continue;
    unsigned stream = numStreams++;
    StreamClock clock = clocks.enqueue(stream);
    points[argument] = {{stream, 1}, clock, numPoints++,
                        nullptr,     &body, argument};
  }
  walkBlock(body);
}

void StreamForm::walkBlock(Block &block) {
  SmallVector<Operation *> ops = llvm::map_to_vector(
      block.getOperations(), [](Operation &op) { return &op; });
  for (Operation *op : ops)
    visit(op);
}

void StreamForm::visit(Operation *op) {
  orderOf[op] = ++order;
  block = op->getBlock();
  if (auto wait = dyn_cast<WaitOp>(op)) {
    if (wait.isHostWait())
      visitHostWait(wait);
    else if (sources.isKept(wait))
      visitJoin(wait);
  } else if (auto work = dyn_cast<WorkOpInterface>(op)) {
    visitWork(work);
  } else if (isa<CallOpInterface>(op)) {
    visitCall(op);
  } else if (regionOps.contains(op)) {
    if (isTokenLoop(op))
      visitLoop(op);
    else
      visitBranch(op);
  } else if (op->hasTrait<OpTrait::IsTerminator>() &&
             op->getParentOp() == function.getOperation()) {
    visitReturn(op);
  }
}

void StreamForm::visitWork(WorkOpInterface work) {
  Value token = work.getAsyncToken();
  ValueRange dependencies = work.getAsyncDependencies();
  if (!isEmitting) {
    for (Value source : sources.getExpanded(dependencies, Through::Unwaited))
      consumers[source].push_back(work);
    StreamClock required = clocks.getHost();
    for (Point *point : getPoints(sources.get(dependencies, Through::Floating)))
      required.merge(point->clock);
    requiredOf[work] = required;
    if (!work.takesDeviceTime()) {
      floating.push_back(work);
      return;
    }
  }
  bool floats = !work.takesDeviceTime();
  unsigned stream =
      floats ? floatStreams.lookup(work) : assignment.getStream(token);
  bool isExternal = static_cast<bool>(streams[stream].external);
  if (isExternal && isEmitting) {
    grow(values, stream);
    values[stream] = work.getStream();
  }
  llvm::SetVector<Value> needed = sources.get(dependencies, getThrough());
  bool waits = wait(stream, needed, work);
  StreamClock clock =
      enqueue(stream, waits, !floats || (waits && isFromCall(needed)));
  points[token] = {{stream, clocks.getSize(stream)},
                   clock,
                   numPoints++,
                   work,
                   nullptr,
                   Value()};
  if (!isEmitting)
    return;
  SmallVector<int64_t> after;
  for (Operation *before : preceding->get(work))
    after.push_back(*cast<WorkOpInterface>(before).getId());
  if (!after.empty())
    work.setAfter(ArrayRef<int64_t>(after));
  if (!isExternal)
    work.getStreamMutable().assign(getStreamValue(stream));
}

void StreamForm::visitJoin(WaitOp join) {
  Value token = join.getAsyncToken();
  unsigned stream = assignment.getStream(token);
  addConsumer(join, join.getAsyncDependencies());
  waitAlone(stream, join.getAsyncDependencies(), join);
  StreamClock clock = enqueue(stream, false, false, /*isUse=*/false);
  points[token] = {{stream, clocks.getSize(stream)},
                   clock,
                   numPoints++,
                   join,
                   nullptr,
                   Value()};
}

void StreamForm::visitHostWait(WaitOp op) {
  ValueRange tokens = op.getAsyncDependencies();
  addConsumer(op, tokens);
  if (!isEmitting) {
    clocks.waitOnHost(requiredOf[op]);
    return;
  }
  SmallVector<Value> waitStreams, waitEvents;
  for (Point *point :
       getPoints(sources.getExpanded(tokens, Through::Unwaited))) {
    if (clocks.getHost().covers(point->point))
      continue;
    unsigned stream = point->point.stream;
    // A stream is waited for only where nothing later keeps it busy, and a
    // caller's stream never.
    bool isOurs = stream < streams.size() && !streams[stream].external;
    if (isOurs && at(busyUpTo, stream) <= point->point.position) {
      waitStreams.push_back(getStreamValue(stream));
      clocks.waitOnHost(clocks.getStream(stream)); // all of it
    } else {
      waitEvents.push_back(getEvent(*point));
      clocks.waitOnHost(point->clock);
    }
  }
  builder.setInsertionPoint(op);
  if (!waitStreams.empty())
    StreamSynchronizeOp::create(builder, op.getLoc(), waitStreams);
  if (!waitEvents.empty())
    EventSynchronizeOp::create(builder, op.getLoc(), waitEvents);
}

/// The event of a token that other code takes over. keepJoins
/// (AssignStreams.cpp) has seen to it that the token is one point, and an event
/// of its own if it is one that was handed to us.
Value StreamForm::handOn(Value token, Operation *before) {
  SmallVector<Point *> needed =
      getPoints(sources.get(token, Through::Unwaited));
  if (needed.empty()) {
    builder.setInsertionPoint(before);
    return EventReadyOp::create(builder, before->getLoc(),
                                builder.getType<EventType>());
  }
  Point &point = *needed.front();
  bool isOurs = point.point.stream < streams.size();
  return isOurs ? recordAt(point) : point.event;
}

void StreamForm::visitCall(Operation *call) {
  addConsumer(call, call->getOperands(), /*isOrderedByHost=*/true);
  if (isEmitting)
    for (OpOperand &operand : call->getOpOperands())
      if (isToken(operand.get()))
        operand.set(handOn(operand.get(), call));
  for (Value result : call->getResults()) {
    if (!isToken(result))
      continue;
    unsigned stream = numStreams++;
    StreamClock clock = clocks.enqueue(stream);
    points[result] = {{stream, 1}, clock, numPoints++, call, nullptr, result};
  }
}

/// A token that control flow carries is the end of its stream as it is behind
/// an op, or at the start of a block.
void StreamForm::setPoint(const CarriedToken &carried, Operation *behind,
                          Block *startOf) {
  Value name = carried.names.front();
  unsigned stream = assignment.getStream(name);
  StreamClock clock = enqueue(stream, false, false, /*isUse=*/false);
  points[name] = {{stream, clocks.getSize(stream)},
                  clock,
                  numPoints++,
                  behind,
                  startOf,
                  Value()};
}

/// The streams of carried tokens wait for what becomes of these.
void StreamForm::update(ArrayRef<CarriedToken> carried, unsigned region,
                        Operation *terminator) {
  SmallVector<Value> updates;
  for (const CarriedToken &token : carried) {
    updates.push_back(token.updates[region]);
    waitAlone(assignment.getStream(token.names.front()), token.updates[region],
              terminator);
  }
  addConsumer(terminator, updates, /*isOrderedByHost=*/true);
}

void StreamForm::visitLoop(Operation *op) {
  SmallVector<CarriedToken> entering, leaving;
  for (CarriedToken &carried : getCarriedTokens(op))
    if (assignment.hasStream(carried.names.front()))
      (carried.init ? entering : leaving).push_back(std::move(carried));
  SmallVector<Value> inits;
  for (const CarriedToken &carried : entering) {
    inits.push_back(carried.init);
    waitAlone(assignment.getStream(carried.names.front()), carried.init, op);
  }
  addConsumer(op, inits, /*isOrderedByHost=*/true);
  for (auto [stream, point] : assignment.getEntryWaits(op))
    waitAlone(stream, point, op);

  StreamClocks skipped = clocks;
  // What earlier rounds left on the streams.
  for (unsigned stream : usedIn[op])
    enqueue(stream, /*isBusy=*/true, /*isWork=*/false);
  auto start = [&](ArrayRef<CarriedToken> tokens, Block *block) {
    for (const CarriedToken &carried : tokens)
      setPoint(carried, nullptr, block);
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    start(entering, loop.getBody());
    walkBlock(*loop.getBody());
    update(entering, 0, loop.getBody()->getTerminator());
    skipped.skipItemsOf(clocks);
    clocks.intersect(skipped);
    leaving = std::move(entering);
  } else {
    auto whileOp = cast<scf::WhileOp>(op);
    start(entering, whileOp.getBeforeBody());
    walkBlock(*whileOp.getBeforeBody());
    update(leaving, 0, whileOp.getConditionOp());
    StreamClocks exit = clocks;
    start(leaving, whileOp.getAfterBody());
    walkBlock(*whileOp.getAfterBody());
    update(entering, 0, whileOp.getYieldOp());
    exit.skipItemsOf(clocks);
    clocks = std::move(exit);
  }
  for (const CarriedToken &carried : leaving)
    setPoint(carried, op, nullptr);
}

void StreamForm::visitBranch(Operation *op) {
  SmallVector<CarriedToken> carried;
  for (CarriedToken &token : getCarriedTokens(op))
    if (assignment.hasStream(token.names.front()))
      carried.push_back(std::move(token));
  StreamClocks before = clocks;
  SmallVector<StreamClocks> exits;
  unsigned number = 0;
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    StreamClocks entry = before;
    entry.skipItemsOf(clocks);
    clocks = std::move(entry);
    walkBlock(region.front());
    if (region.front().mightHaveTerminator())
      update(carried, number++, region.front().getTerminator());
    exits.push_back(clocks);
  }
  SmallVector<RegionSuccessor> successors;
  cast<RegionBranchOpInterface>(op).getSuccessorRegions(
      RegionBranchPoint::parent(), successors);
  if (llvm::any_of(successors, [](RegionSuccessor &successor) {
        return successor.isParent();
      }))
    exits.push_back(before);
  StreamClocks all = clocks;
  for (auto [index, exit] : llvm::enumerate(exits)) {
    exit.skipItemsOf(all);
    if (index == 0)
      clocks = exit;
    else
      clocks.intersect(exit);
  }
  for (const CarriedToken &token : carried)
    setPoint(token, op, nullptr);
}

/// The number of a caller's stream that has a name in the function's body.
std::optional<unsigned> StreamForm::getExternalStream() {
  Block *body = &function.getFunctionBody().front();
  for (auto [number, stream] : llvm::enumerate(streams))
    if (stream.external && stream.external.getParentBlock() == body)
      return number;
  return std::nullopt;
}

/// A function that returns has completed its work, but for what its token
/// results cover, and for what it ordered into a caller's stream.
void StreamForm::visitReturn(Operation *op) {
  addConsumer(op, op->getOperands(), /*isOrderedByHost=*/true);
  if (!isEmitting)
    return;
  StreamClock covered = clocks.getHost();
  for (Point *point :
       getPoints(sources.getExpanded(op->getOperands(), Through::Floating)))
    covered.merge(point->clock);
  std::optional<unsigned> external = getExternalStream();
  if (external)
    covered.merge(clocks.getStream(*external));
  SmallVector<Value> open;
  idleAtExit.resize(streams.size(), true);
  for (auto [number, stream] : llvm::enumerate(streams)) {
    if (stream.external)
      continue;
    bool isOpen = at(workOn, number) > covered[number];
    if (isOpen)
      open.push_back(getStreamValue(number));
    idleAtExit[number] = at(usedUpTo, number) <= clocks.getHost()[number];
  }
  builder.setInsertionPoint(op);
  if (external) {
    for (Value stream : open) {
      Value event = EventRecordOp::create(builder, op->getLoc(),
                                          builder.getType<EventType>(), stream);
      StreamWaitOp::create(builder, op->getLoc(), values[*external], event);
      EventDestroyOp::create(builder, op->getLoc(), event);
    }
  } else if (!open.empty()) {
    StreamSynchronizeOp::create(builder, op->getLoc(), open);
    for (auto [number, value] : llvm::enumerate(values))
      if (number < streams.size() && llvm::is_contained(open, value))
        idleAtExit.set(number);
  }
  for (OpOperand &operand : op->getOpOperands())
    if (isToken(operand.get()))
      operand.set(handOn(operand.get(), op));
}

//===----------------------------------------------------------------------===//
// Allocations and frees
//===----------------------------------------------------------------------===//

unsigned StreamForm::addStream() {
  streams.push_back({});
  return streams.size() - 1;
}

bool StreamForm::mayAddStream() const {
  return maxStreams == 0 ||
         llvm::count_if(streams, [](const StreamAssignment::Stream &stream) {
           return !stream.external;
         }) < maxStreams;
}

/// Puts each where it adds no order between ops that the program leaves
/// unordered.
void StreamForm::assignFloating() {
  // What is known when an allocation or free on a stream has been enqueued.
  struct Float {
    unsigned order;
    StreamClock clock;
  };
  std::vector<std::vector<Float>> floats;
  auto isOurs = [&](unsigned stream) { return !streams[stream].external; };
  // The stream's items before and behind an op, in program order.
  auto itemsAround = [&](unsigned stream, Operation *op) {
    grow(items, stream);
    const std::vector<Item> &all = items[stream];
    auto next = llvm::upper_bound(
        all, orderOf.lookup(op),
        [](unsigned order, const Item &item) { return order < item.order; });
    return std::pair<const Item *, const Item *>(
        next == all.begin() ? nullptr : &*std::prev(next),
        next == all.end() ? nullptr : &*next);
  };
  const StreamClock nothing;
  auto requiredFor = [&](Operation *op) -> const StreamClock & {
    auto found = requiredOf.find(op);
    return found == requiredOf.end() ? nothing : found->second;
  };
  // The stream's next work starts after all that `op` starts after anyway. On
  // the way to the next item that certainly runs there may be some in regions.
  auto keepsLaterOrder = [&](unsigned stream, Operation *op) {
    const Item *next = itemsAround(stream, op).second;
    for (; next && next <= &items[stream].back(); ++next) {
      if (!next->clock.covers(requiredFor(op)))
        return false;
      if (next->block == op->getBlock())
        break;
    }
    return true;
  };
  std::optional<unsigned> stock; // a stream on which nothing but frees runs
  // Beyond the limit order is added, as it is for work.
  auto addOrTake = [&](ArrayRef<unsigned> candidates) -> unsigned {
    if (mayAddStream())
      return addStream();
    if (!candidates.empty())
      return candidates.front();
    for (unsigned stream = 0; stream < streams.size(); ++stream)
      if (isOurs(stream))
        return stream;
    return addStream();
  };
  auto streamOfOp = [&](Operation *op) -> std::optional<unsigned> {
    if (auto found = floatStreams.find(op); found != floatStreams.end())
      return found->second;
    auto work = dyn_cast<WorkOpInterface>(op);
    if (!work || !work.takesDeviceTime())
      return std::nullopt;
    return assignment.getStream(work.getAsyncToken());
  };

  for (WorkOpInterface work : floating) {
    SmallVector<unsigned> candidates;
    auto addCandidate = [&](std::optional<unsigned> stream) {
      if (stream && isOurs(*stream))
        candidates.push_back(*stream);
    };
    auto addSources = [&](const llvm::SetVector<Value> &points) {
      for (Value point : llvm::reverse(points)) {
        if (assignment.hasStream(point))
          addCandidate(assignment.getStream(point));
        else if (Operation *op = point.getDefiningOp())
          addCandidate(streamOfOp(op));
      }
    };
    std::optional<unsigned> chosen;
    if (auto alloc = dyn_cast<AllocOp>(*work)) {
      ArrayRef<Operation *> users;
      if (auto found = consumers.find(alloc.getAsyncToken());
          found != consumers.end())
        users = found->second;
      for (Operation *user : users)
        addCandidate(streamOfOp(user));
      llvm::SmallSetVector<unsigned, 8> unique(candidates.begin(),
                                               candidates.end());
      candidates.assign(unique.begin(), unique.end());
      for (unsigned stream = 0; stream < streams.size(); ++stream)
        addCandidate(stream);
      // Whoever uses the memory comes after what is on the stream by then.
      auto keepsUsersOrder = [&](unsigned stream) {
        const Item *previous = itemsAround(stream, work).first;
        unsigned workOrder = orderOf.lookup(work);
        auto comesAfter = [&](const StreamClock &clock) {
          if (previous && !clock.covers({stream, previous->position}))
            return false;
          if (stream >= floats.size())
            return true;
          for (const Float &other : llvm::reverse(floats[stream])) {
            if (previous && other.order < previous->order)
              break;
            if (other.order < workOrder && !clock.covers(other.clock))
              return false;
          }
          return true;
        };
        if (comesAfter(requiredFor(work)))
          return true;
        return !users.empty() && llvm::all_of(users, [&](Operation *user) {
          return (streamOfOp(user) == stream &&
                  !isa<AllocOp, DeallocOp>(user)) ||
                 comesAfter(requiredFor(user));
        });
      };
      // Users on other streams wait for the allocation, unless they come after
      // what is behind it anyway.
      auto countWaits = [&](unsigned stream) {
        const Item *next = itemsAround(stream, work).second;
        if (next && next->block != work->getBlock())
          next = nullptr;
        return llvm::count_if(users, [&](Operation *user) {
          return streamOfOp(user) != stream &&
                 !(next && requiredFor(user).covers({stream, next->position}));
        });
      };
      int64_t fewestWaits = 0;
      for (unsigned stream : candidates) {
        if (!keepsUsersOrder(stream) || !keepsLaterOrder(stream, work))
          continue;
        int64_t waits = countWaits(stream);
        if (chosen && waits >= fewestWaits)
          continue;
        chosen = stream;
        fewestWaits = waits;
        if (!waits)
          break;
      }
      if (!chosen)
        chosen = addOrTake(candidates);
    } else {
      addSources(
          sources.getExpanded(work.getAsyncDependencies(), Through::Floating));
      // Then where the memory comes from, then anywhere.
      addSources(
          sources.getExpanded(work.getAsyncDependencies(), Through::Nothing));
      for (unsigned stream = 0; stream < streams.size(); ++stream)
        if (stream < items.size() && !items[stream].empty())
          addCandidate(stream);
      for (unsigned stream : candidates) {
        if (!keepsLaterOrder(stream, work))
          continue;
        chosen = stream;
        break;
      }
      if (!chosen)
        chosen = stock ? *stock : *(stock = addOrTake(candidates));
    }
    floatStreams[work] = *chosen;
    grow(floats, *chosen);
    floats[*chosen].push_back({orderOf.lookup(work), requiredFor(work)});
  }
}

//===----------------------------------------------------------------------===//
// What is left to do
//===----------------------------------------------------------------------===//

/// The op again without operands, results and block arguments that are tokens.
static void rebuildWithoutTokens(Operation *op, OpBuilder &builder) {
  SmallVector<Value> operands(
      llvm::make_filter_range(op->getOperands(), std::not_fn(isToken)));
  SmallVector<Value> kept(
      llvm::make_filter_range(op->getResults(), std::not_fn(isToken)));
  // Properties hold the inherent attributes, operand segments too.
  Operation *rebuilt = Operation::create(
      op->getLoc(), op->getName(), ValueRange(kept).getTypes(), operands,
      op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
      /*successors=*/{}, op->getNumRegions());
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), rebuilt->getRegions())) {
    to.takeBody(from);
    for (Block &block : to)
      block.eraseArguments(
          [](BlockArgument argument) { return isToken(argument); });
  }
  builder.setInsertionPoint(op);
  builder.insert(rebuilt);
  for (auto [before, after] : llvm::zip_equal(kept, rebuilt->getResults()))
    before.replaceAllUsesWith(after);
  op->erase();
}

void StreamForm::removeTokens() {
  SmallVector<Operation *> tokenOps, rebuilt;
  SmallVector<Value> handles; ///< what other code hands to us
  Block &body = function.getFunctionBody().front();
  function->walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (op == function.getOperation())
      return;
    if (isa<WaitOp, ForkOp, ReleaseOp>(op)) {
      tokenOps.push_back(op);
    } else if (auto work = dyn_cast<WorkOpInterface>(op)) {
      work.getAsyncDependenciesMutable().clear();
      if (work.getAsyncToken())
        rebuilt.push_back(op);
    } else if (isa<CallOpInterface>(op)) {
      llvm::append_range(handles,
                         llvm::make_filter_range(op->getResults(), isToken));
    } else if (op->getNumRegions() &&
               (llvm::any_of(op->getOperands(), isToken) ||
                llvm::any_of(op->getResults(), isToken) ||
                llvm::any_of(op->getRegions(), [](Region &region) {
                  return !region.empty() &&
                         llvm::any_of(region.front().getArguments(), isToken);
                }))) {
      rebuilt.push_back(op);
    }
  });
  llvm::append_range(handles,
                     llvm::make_filter_range(body.getArguments(), isToken));
  for (Operation *op : tokenOps)
    op->dropAllReferences();
  auto dropTokens = [](Operation *op) {
    for (unsigned i = op->getNumOperands(); i-- > 0;)
      if (isToken(op->getOperand(i)))
        op->eraseOperand(i);
  };
  for (Operation *op : rebuilt) {
    if (!op->getNumRegions())
      continue;
    dropTokens(op);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.mightHaveTerminator())
          dropTokens(block.getTerminator());
  }
  for (Operation *op : tokenOps) {
    op->dropAllUses();
    op->erase();
  }
  for (Operation *op : rebuilt)
    rebuildWithoutTokens(op, builder);
  for (Value handle : handles)
    handle.setType(EventType::get(handle.getContext()));
}

/// Each event is given back behind its last wait, unless other code has it now.
void StreamForm::destroyEvents() {
  Block &body = function.getFunctionBody().front();
  for (BlockArgument argument : body.getArguments())
    if (isa<EventType>(argument.getType()))
      events.push_back(argument);
  function->walk([&](CallOpInterface call) {
    for (Value result : call->getResults())
      if (isa<EventType>(result.getType()))
        events.push_back(result);
  });
  for (Value event : events) {
    Block *block = event.getParentBlock();
    Operation *last = nullptr;
    bool isHandedOn = false;
    for (Operation *user : event.getUsers()) {
      isHandedOn |=
          isa<CallOpInterface>(user) || user->hasTrait<OpTrait::IsTerminator>();
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (!last || last->isBeforeInBlock(ancestor))
        last = ancestor;
    }
    if (isHandedOn)
      continue;
    if (!last)
      last = event.getDefiningOp();
    Location loc = last ? last->getLoc() : event.getLoc();
    if (last)
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(block);
    EventDestroyOp::create(builder, loc, event);
  }
}

/// The name of a caller's stream ends behind its last use.
void StreamForm::destroyExternalStreams() {
  SmallVector<StreamExternalOp> names;
  function->walk([&](StreamExternalOp name) { names.push_back(name); });
  for (StreamExternalOp name : names) {
    Block *block = name->getBlock();
    Operation *last = name;
    for (Operation *user : name->getUsers())
      if (Operation *ancestor = block->findAncestorOpInBlock(*user);
          last->isBeforeInBlock(ancestor))
        last = ancestor;
    builder.setInsertionPointAfter(last);
    StreamDestroyOp::create(builder, last->getLoc(), name.getStream(), false);
  }
}

/// Each stream is made before its first use in the function's body and given
/// back behind its last.
void StreamForm::placeStreams() {
  Block &body = function.getFunctionBody().front();
  Operation *lastHostWait = nullptr; // or what it is in
  function->walk([&](Operation *op) {
    if (!isa<StreamSynchronizeOp, EventSynchronizeOp>(op))
      return;
    Operation *ancestor = body.findAncestorOpInBlock(*op);
    if (!lastHostWait || lastHostWait->isBeforeInBlock(ancestor))
      lastHostWait = ancestor;
  });
  for (auto [number, value] : llvm::enumerate(values)) {
    if (!value || number >= streams.size() || streams[number].external)
      continue;
    Operation *create = value.getDefiningOp();
    Operation *first = nullptr, *last = nullptr;
    for (Operation *user : value.getUsers()) {
      Operation *ancestor = body.findAncestorOpInBlock(*user);
      if (!first || ancestor->isBeforeInBlock(first))
        first = ancestor;
      if (!last || last->isBeforeInBlock(ancestor))
        last = ancestor;
    }
    if (!first) {
      create->erase();
      continue;
    }
    create->moveBefore(first);
    create->setLoc(first->getLoc());
    // Other ranks wait for collectives, and for what is before them.
    cast<StreamCreateOp>(create).setUrgent(
        llvm::any_of(value.getUsers(), llvm::IsaPred<CollectiveOp>));
    // Idle holds at the exit: behind the host wait, which may come later than
    // the last use of this stream by itself.
    bool idle = idleAtExit.size() > number && idleAtExit[number];
    if (idle && lastHostWait && last->isBeforeInBlock(lastHostWait))
      last = lastHostWait;
    if (last->hasTrait<OpTrait::IsTerminator>())
      builder.setInsertionPoint(last);
    else
      builder.setInsertionPointAfter(last);
    StreamDestroyOp::create(builder, last->getLoc(), value, idle);
  }
}

LogicalResult StreamForm::run() {
  if (failed(assignment.verify()))
    return failure();
  prepare();
  walk();
  assignFloating();
  isEmitting = true;
  PrecedingWork ofTokens(function);
  preceding = &ofTokens;
  walk();
  removeTokens();
  destroyEvents();
  destroyExternalStreams();
  placeStreams();
  return success();
}
