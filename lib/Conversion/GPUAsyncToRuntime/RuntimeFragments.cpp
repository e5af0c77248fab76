//===- RuntimeFragments.cpp - commands of regions as tables ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts the blocks of a region into fragments: straight runs of launches, copies
// and fills. Streams and events that live within a fragment become lanes and
// indices of its table.
//===----------------------------------------------------------------------===//
//
// All commands of a fragment are given to the runtime by one call, where the
// last of them is. Host code between them stays in its place, and so runs
// before the call. Therefore only host code without effects is between them.
//
// Calls that remain (events that cross fragments, streams that do) also run
// before the call of the fragment around them. So they concern streams that the
// fragment has not touched so far; else the fragment ends before them.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "RuntimeLowering.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::runtime;

//===----------------------------------------------------------------------===//
// Single commands
//===----------------------------------------------------------------------===//

bool runtime::isOnePiece(MemRefType type) {
  return type.getLayout().isIdentity() ||
         type.areTrailingDimsContiguous(type.getRank());
}

std::optional<gpuasync_launch_config>
runtime::getConstantConfig(LaunchOp launch, int64_t paramBytes) {
  gpuasync_launch_config config = {};
  auto set = [](int64_t &field, Value value) {
    APInt constant;
    if (!value)
      return true;
    if (!matchPattern(value, m_ConstantInt(&constant)))
      return false;
    field = constant.getSExtValue();
    return true;
  };
  Value grid[] = {launch.getGridSizeX(), launch.getGridSizeY(),
                  launch.getGridSizeZ()};
  Value block[] = {launch.getBlockSizeX(), launch.getBlockSizeY(),
                   launch.getBlockSizeZ()};
  for (int i = 0; i < 3; ++i)
    if (!set(config.grid[i], grid[i]) || !set(config.block[i], block[i]))
      return std::nullopt;
  for (auto [i, size] : llvm::enumerate(launch.getClusterSizes()))
    if (!set(config.cluster[i], size))
      return std::nullopt;
  if (!set(config.dynamicSharedBytes, launch.getDynamicSharedMemorySize()))
    return std::nullopt;
  config.flags = launch.getCooperative() ? GPUASYNC_LAUNCH_COOPERATIVE : 0;
  config.paramBytes = static_cast<uint32_t>(paramBytes);
  return config;
}

/// Staging that the runtime gives one graph.
constexpr int64_t maxStagedBytes = 4 << 20;

/// Whether `memref` lies in memory that the program has of the device, so that
/// the runtime need not look where it is.
static bool isDeviceMemory(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    if (auto alloc = dyn_cast<AllocOp>(op))
      return !alloc.getHostShared();
    if (isa<ConstantOp, ResidentOp>(op))
      return true;
    if (auto window = dyn_cast<WindowOp>(op))
      memref = window.getSlab();
    else if (auto view = dyn_cast<ViewLikeOpInterface>(op))
      memref = view.getViewSource();
    else
      return false;
  }
  return false;
}

/// Bytes of staging that a copy may need: more than a graph keeps if they are
/// not known, or if a graph may not hold the copy at all.
static int64_t getStagedBytes(MemcpyOp copy) {
  if (isDeviceMemory(copy.getDestination()) && isDeviceMemory(copy.getSource()))
    return 0;
  auto type = cast<MemRefType>(copy.getDestination().getType());
  // No graph has pageable memory on a caller's stream.
  const bool mayBeHeld =
      type.hasStaticShape() && copy.getStream() &&
      copy.getStream().getDefiningOp<StreamCreateOp>() != nullptr;
  const int64_t bytes = mayBeHeld ? getElementBytes(type.getElementType()) : 0;
  return bytes && type.getNumElements() <= maxStagedBytes / bytes
             ? type.getNumElements() * bytes
             : maxStagedBytes + 1;
}

CommandShape CommandShape::copy() {
  return {GPUASYNC_COMMAND_COPY, sizeof(gpuasync_copy)};
}

CommandShape CommandShape::copyStrided(unsigned rank) {
  return {GPUASYNC_COMMAND_COPY_STRIDED,
          int64_t(sizeof(gpuasync_copy_strided)) + 24 * int64_t(rank)};
}

CommandShape CommandShape::fill() {
  return {GPUASYNC_COMMAND_FILL, sizeof(gpuasync_fill)};
}

CommandShape CommandShape::fillStrided(unsigned rank) {
  return {GPUASYNC_COMMAND_FILL_STRIDED,
          int64_t(sizeof(gpuasync_fill)) + 16 * int64_t(rank)};
}

std::optional<CommandShape> CommandShape::call(WorkOpInterface op,
                                               FlatSymbolRefAttr callee,
                                               ValueRange arguments) {
  // As callLibrary has it.
  Operation *declared = SymbolTable::lookupNearestSymbolFrom(op, callee);
  if (declared ? !declared->hasAttr(GPUAsyncDialect::getReplayableName())
               : !op.isReplayable())
    return std::nullopt;
  int64_t scalars = 0;
  for (Value argument : arguments)
    scalars += FunctionState::countParts(argument);
  return CommandShape{GPUASYNC_COMMAND_CALL,
                      int64_t(sizeof(gpuasync_replayable)) + 8 * scalars};
}

CommandShape CommandShape::on(ValueRange memrefs) const {
  CommandShape shape = *this;
  if (llvm::all_of(memrefs, isDeviceMemory))
    shape.flags |= GPUASYNC_COMMAND_DEVICE_MEMORY;
  return shape;
}

/// Nothing for an op that no fragment holds.
static std::optional<CommandShape> getShape(Operation *op,
                                            FunctionState &state) {
  auto work = dyn_cast<WorkOpInterface>(op);
  if (!work || !work.getStream() || work.getAsyncToken() ||
      !work.getAsyncDependencies().empty())
    return std::nullopt;
  return state.tables.lowerings.getShape(op, state);
}

//===----------------------------------------------------------------------===//
// Fragments of a block
//===----------------------------------------------------------------------===//

namespace {

/// The last command of each lane that something starts after, by lane; `before`
/// is all that the lane has been given before the fragment.
using Front = SmallVector<std::pair<unsigned, int64_t>, 4>;
constexpr int64_t before = -1;

void join(Front &front, const Front &other) {
  for (auto entry : other) {
    auto *known = llvm::find_if(
        front, [&](auto mine) { return mine.first == entry.first; });
    if (known == front.end())
      front.push_back(entry);
    else
      known->second = std::max(known->second, entry.second);
  }
}

/// A fragment while it is being put together.
struct OpenFragment {
  struct Lane {
    Value stream;
    bool isOwn;
    Front front;
    /// Events that it has waited for since its last command.
    SmallVector<Value, 2> waited;
  };
  struct Command {
    Operation *op;
    unsigned lane;
    CommandShape shape;
    Front after;
  };
  SmallVector<Lane, 4> lanes;
  SmallVector<Command> commands;
  int64_t bytes = 0;
  llvm::DenseMap<Value, Front> events;
  /// Events that have a wait still to come.
  llvm::SmallSetVector<Value, 4> open;
  /// Ops that become a part of the table.
  SmallVector<Operation *> absorbed;
  /// The last place without an event that would cross an end there, and the
  /// number of commands before it.
  Operation *end = nullptr;
  size_t endSize = 0;
};

/// Streams whose next command waits for events of earlier fragments.
struct Waiting {
  SmallVector<Value, 2> events;
  SmallVector<Value, 2> pasts; ///< streams: all that they have been given
};

/// Plans the fragments of one region. A decision that turns out to be wrong is
/// changed for good, and the fragment or the block is planned again.
///
/// An event of straight code that crosses the end of a fragment stands for all
/// that its lanes have been given up to there: no call is needed for it.
class Planner {
public:
  Planner(RegionOp region, FunctionState &state)
      : region(region), state(state) {}

  LogicalResult run();

private:
  enum class Result { Done, FragmentAgain, BlockAgain };

  Result planBlock();
  Result add(Operation *op);
  Result addCommand(Operation *op, CommandShape shape);
  Result record(EventRecordOp op);
  Result wait(StreamWaitOp op);
  /// A call that concerns `stream` comes next.
  Result beginCall(Value stream);
  Result makeRoom(Value stream);
  Result flush();
  Result flushLast();
  void isolateCopies();
  void finishBlock();
  void finish(OpenFragment &open);

  /// Whether the host may run `op` before the commands that come before it.
  static bool isPure(Operation *op) {
    return isa<WindowOp, ConstantOp, EventReadyOp, StreamCreateOp,
               nvgpu::TmaCreateDescriptorOp>(op) ||
           (op->getNumRegions() == 0 && isMemoryEffectFree(op));
  }
  /// Whether all of the stream is within one fragment of the block.
  bool isOwn(Value stream);
  /// Whether the event is waited for and destroyed in the block, and no call.
  bool isLocal(Value event);
  static bool areDistinct(Value a, Value b);
  bool isLane(Value stream) const {
    return llvm::any_of(fragment.lanes, [&](const OpenFragment::Lane &lane) {
      return lane.stream == stream;
    });
  }
  bool isTouched(Value stream) const {
    return llvm::any_of(fragment.lanes, [&](const OpenFragment::Lane &lane) {
      return !areDistinct(lane.stream, stream);
    });
  }
  /// Whether `streams` can be lanes beside those that are there.
  bool haveRoom(ArrayRef<Value> streams) const;
  /// The stream's lane in the fragment, which has room for it.
  unsigned laneOf(Value stream);

  RegionOp region;
  FunctionState &state;
  RegionPlan *plan = nullptr;
  SmallVector<Operation *> erased;
  bool hasCalls = false; ///< of events, or work that is in no fragment

  /// \name Decisions
  /// @{
  llvm::DenseSet<Value> crossing;   ///< events that stay calls
  llvm::DenseSet<Value> shared;     ///< streams that stay calls
  llvm::DenseSet<Operation *> cuts; ///< ops before which a fragment ends
  /// @}

  /// \name Of the block
  /// @{
  Block *block = nullptr;
  llvm::DenseMap<Value, bool> mayBeOwn;
  std::vector<OpenFragment> done;
  OpenFragment fragment;
  Operation *next = nullptr; ///< the op to add
  /// Waits for an event that are still to come.
  llvm::DenseMap<Value, unsigned> waitsLeft;
  /// Events of earlier fragments: the streams whose past they stand for.
  llvm::DenseMap<Value, SmallVector<Value, 2>> pasts;
  llvm::MapVector<Value, Waiting> waiting;
  /// Where the fragment begins, and `waiting` there.
  Operation *begin = nullptr;
  llvm::MapVector<Value, Waiting> waitingAtBegin;
  /// @}
};

} // namespace

bool Planner::isOwn(Value stream) {
  auto [entry, isNew] = mayBeOwn.try_emplace(stream, false);
  if (auto create = stream.getDefiningOp<StreamCreateOp>(); create && isNew)
    entry->second = create->getBlock() == block &&
                    llvm::all_of(stream.getUsers(), [&](Operation *user) {
                      return user->getBlock() == block &&
                             isa<WorkOpInterface, StreamWaitOp, EventRecordOp,
                                 StreamDestroyOp>(user);
                    });
  return entry->second && !shared.contains(stream);
}

bool Planner::isLocal(Value event) {
  Operation *op = event.getDefiningOp();
  return isa_and_nonnull<EventRecordOp>(op) && op->getBlock() == block &&
         !crossing.contains(event) &&
         llvm::all_of(event.getUsers(), [&](Operation *user) {
           return user->getBlock() == block &&
                  isa<StreamWaitOp, EventDestroyOp>(user);
         });
}

/// Two values may be one stream, unless one of them makes a stream and the
/// other one cannot be that.
bool Planner::areDistinct(Value a, Value b) {
  if (a == b)
    return false;
  auto isMade = [](Value value) {
    return value.getDefiningOp<StreamCreateOp>() != nullptr;
  };
  auto isKnown = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument
               ? isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
                     argument.getOwner()->isEntryBlock()
               : isa<StreamCreateOp, StreamExternalOp>(value.getDefiningOp());
  };
  return isKnown(a) && isKnown(b) && (isMade(a) || isMade(b));
}

bool Planner::haveRoom(ArrayRef<Value> streams) const {
  SmallVector<Value> added;
  for (Value stream : streams) {
    if (isLane(stream) || llvm::is_contained(added, stream))
      continue;
    if (isTouched(stream) || llvm::any_of(added, [&](Value other) {
          return !areDistinct(stream, other);
        }))
      return false;
    added.push_back(stream);
  }
  return fragment.lanes.size() + added.size() <= GPUASYNC_FRAGMENT_COMMANDS;
}

unsigned Planner::laneOf(Value stream) {
  for (auto [i, lane] : llvm::enumerate(fragment.lanes))
    if (lane.stream == stream)
      return i;
  unsigned number = fragment.lanes.size();
  fragment.lanes.push_back({stream, isOwn(stream), {}, {}});
  Front front;
  if (!fragment.lanes.back().isOwn)
    front.push_back({number, before});
  if (auto known = waiting.find(stream); known != waiting.end()) {
    Waiting its = std::move(known->second);
    waiting.erase(known);
    for (Value past : its.pasts)
      join(front, {{laneOf(past), before}});
    fragment.lanes[number].waited = its.events;
  }
  fragment.lanes[number].front = std::move(front);
  return number;
}

/// So that the stream can be a lane, and those that it waits for.
Planner::Result Planner::makeRoom(Value stream) {
  auto hasRoom = [&] {
    SmallVector<Value> streams = {stream};
    if (auto known = waiting.find(stream); known != waiting.end())
      llvm::append_range(streams, known->second.pasts);
    return haveRoom(streams);
  };
  if (isLane(stream) || hasRoom())
    return Result::Done;
  if (Result result = flush(); result != Result::Done)
    return result;
  if (hasRoom())
    return Result::Done;
  ArrayRef<Value> events = waiting.find(stream)->second.events;
  crossing.insert(events.begin(), events.end());
  return Result::BlockAgain;
}

Planner::Result Planner::addCommand(Operation *op, CommandShape shape) {
  int64_t bytes = llvm::alignTo(shape.bytes, 16);
  Value stream = cast<WorkOpInterface>(op).getStream();
  if (fragment.commands.size() == GPUASYNC_FRAGMENT_COMMANDS ||
      fragment.bytes + bytes > GPUASYNC_FRAGMENT_BYTES) {
    // No event crosses an earlier end, if it is not too early.
    if (fragment.end != op &&
        2 * fragment.endSize >= fragment.commands.size() &&
        cuts.insert(fragment.end).second)
      return Result::FragmentAgain;
    if (Result result = flush(); result != Result::Done)
      return result;
    if (Result result = makeRoom(stream); result != Result::Done)
      return result;
  }
  unsigned number = laneOf(stream);
  OpenFragment::Lane &lane = fragment.lanes[number];
  int64_t index = fragment.commands.size();
  fragment.commands.push_back({op, number, std::move(shape), lane.front});
  fragment.bytes += bytes;
  lane.front = {{number, index}};
  lane.waited.clear();
  return Result::Done;
}

Planner::Result Planner::beginCall(Value stream) {
  hasCalls = true;
  // It comes after the waits that the stream has not made yet.
  size_t known = crossing.size() + shared.size();
  for (OpenFragment::Lane &lane : fragment.lanes)
    if (!areDistinct(lane.stream, stream))
      crossing.insert(lane.waited.begin(), lane.waited.end());
  for (auto &[other, its] : waiting)
    if (!areDistinct(other, stream))
      crossing.insert(its.events.begin(), its.events.end());
  if (isOwn(stream))
    shared.insert(stream);
  if (crossing.size() + shared.size() != known)
    return Result::BlockAgain;
  return isTouched(stream) ? flush() : Result::Done;
}

Planner::Result Planner::record(EventRecordOp op) {
  Value event = op.getEvent();
  if (!isLocal(event))
    return beginCall(op.getStream());
  if (Result result = makeRoom(op.getStream()); result != Result::Done)
    return result;
  fragment.events[event] = fragment.lanes[laneOf(op.getStream())].front;
  if (waitsLeft.lookup(event))
    fragment.open.insert(event);
  fragment.absorbed.push_back(op);
  return Result::Done;
}

Planner::Result Planner::wait(StreamWaitOp op) {
  Value event = op.getEvent();
  if (event.getDefiningOp<EventReadyOp>()) {
    fragment.absorbed.push_back(op);
    return Result::Done;
  }
  if (!isLocal(event))
    return beginCall(op.getStream());
  if (Result result = makeRoom(op.getStream()); result != Result::Done)
    return result;
  unsigned number = laneOf(op.getStream());
  Front front;
  if (auto known = fragment.events.find(event);
      known != fragment.events.end()) {
    front = known->second;
  } else {
    if (!haveRoom(pasts[event])) {
      crossing.insert(event);
      return Result::BlockAgain;
    }
    for (Value past : pasts[event])
      front.push_back({laneOf(past), before});
  }
  join(fragment.lanes[number].front, front);
  fragment.lanes[number].waited.push_back(event);
  fragment.absorbed.push_back(op);
  if (--waitsLeft[event] == 0)
    fragment.open.remove(event);
  return Result::Done;
}

Planner::Result Planner::add(Operation *op) {
  if (cuts.contains(op) && begin != op)
    if (Result result = flush(); result != Result::Done)
      return result;
  if (auto record = dyn_cast<EventRecordOp>(op))
    return this->record(record);
  if (auto wait = dyn_cast<StreamWaitOp>(op))
    return this->wait(wait);
  if (isa<StreamCreateOp, StreamDestroyOp>(op))
    return Result::Done;
  if (auto destroy = dyn_cast<EventDestroyOp>(op)) {
    Value event = destroy.getEvent();
    if (isLocal(event) || event.getDefiningOp<EventReadyOp>())
      fragment.absorbed.push_back(op);
    return Result::Done;
  }
  std::optional<CommandShape> shape = getShape(op, state);
  if (shape && shape->bytes <= GPUASYNC_FRAGMENT_BYTES) {
    Value stream = cast<WorkOpInterface>(op).getStream();
    if (Result result = makeRoom(stream); result != Result::Done)
      return result;
    return addCommand(op, std::move(*shape));
  }
  hasCalls |= isa<WorkOpInterface>(op);
  for (Value operand : op->getOperands())
    if (isa<StreamType>(operand.getType()))
      if (Result result = beginCall(operand); result != Result::Done)
        return result;
  return isPure(op) ? Result::Done : flush();
}

/// Ends the fragment before the op that is to be added.
Planner::Result Planner::flush() {
  bool holds = true;
  // A stream that is needed later is not the fragment's own.
  auto share = [&](OpenFragment::Lane &lane) {
    if (lane.isOwn)
      holds &= !shared.insert(lane.stream).second;
  };
  auto keep = [&](const Front &front) {
    SmallVector<Value, 2> streams;
    for (auto [number, index] : front) {
      share(fragment.lanes[number]);
      streams.push_back(fragment.lanes[number].stream);
    }
    return streams;
  };
  for (OpenFragment::Lane &lane : fragment.lanes) {
    bool isOver =
        !lane.isOwn ||
        llvm::all_of(lane.stream.getUsers(), [&](Operation *user) {
          return isa<StreamDestroyOp>(user) || user->isBeforeInBlock(next);
        });
    if (!isOver)
      share(lane);
    else if (!lane.isOwn && !lane.waited.empty())
      waiting[lane.stream] = {lane.waited, keep(lane.front)};
  }
  for (Value event : fragment.open)
    pasts[event] = keep(fragment.events[event]);
  if (!holds)
    return Result::FragmentAgain;
  done.push_back(std::move(fragment));
  fragment = OpenFragment();
  begin = next;
  waitingAtBegin = waiting;
  return Result::Done;
}

/// Ends the last fragment of the block. Waits behind the last command of a
/// stream concern what comes on it later.
Planner::Result Planner::flushLast() {
  size_t known = crossing.size();
  for (OpenFragment::Lane &lane : fragment.lanes)
    if (!lane.isOwn)
      crossing.insert(lane.waited.begin(), lane.waited.end());
  for (auto &[stream, its] : waiting)
    crossing.insert(its.events.begin(), its.events.end());
  if (crossing.size() != known)
    return Result::BlockAgain;
  done.push_back(std::move(fragment));
  return Result::Done;
}

Planner::Result Planner::planBlock() {
  done.clear();
  fragment = OpenFragment();
  pasts.clear();
  waiting.clear();
  waitingAtBegin.clear();
  waitsLeft.clear();
  for (auto wait : block->getOps<StreamWaitOp>())
    ++waitsLeft[wait.getEvent()];
  next = begin = &block->front();
  while (next != block->getTerminator()) {
    Result result = add(next);
    if (result == Result::BlockAgain)
      return result;
    if (result == Result::FragmentAgain) {
      for (Operation *op : fragment.absorbed)
        if (auto wait = dyn_cast<StreamWaitOp>(op))
          ++waitsLeft[wait.getEvent()];
      fragment = OpenFragment();
      waiting = waitingAtBegin;
      next = begin;
      continue;
    }
    next = next->getNextNode();
    bool isClean =
        fragment.open.empty() && !fragment.commands.empty() &&
        llvm::all_of(fragment.lanes, [](const OpenFragment::Lane &lane) {
          return lane.isOwn || lane.waited.empty();
        });
    if (isClean) {
      fragment.end = next;
      fragment.endSize = fragment.commands.size();
    }
  }
  return flushLast();
}

/// A copy that the runtime may be unable to record is a fragment of its own:
/// the others become graphs.
void Planner::isolateCopies() {
  int64_t staged = 0;
  for (auto copy : block->getOps<MemcpyOp>()) {
    staged += getStagedBytes(copy);
    if (staged <= maxStagedBytes)
      continue;
    staged = 0;
    cuts.insert(copy);
    cuts.insert(copy->getNextNode());
  }
}

/// Puts the fragment into the function's state, with what its table says.
void Planner::finish(OpenFragment &open) {
  llvm::append_range(erased, open.absorbed);
  if (open.commands.empty())
    return;
  auto made = std::make_unique<Fragment>();
  made->plan = plan;
  // Lanes that something is on, or waits for the past of.
  SmallVector<bool> isUsed(open.lanes.size(), false);
  for (OpenFragment::Command &command : open.commands) {
    isUsed[command.lane] = true;
    for (auto [lane, index] : command.after)
      isUsed[lane] = true;
  }
  Operation *last = open.commands.back().op;
  OpBuilder builder(last);
  SmallVector<uint32_t> numbers(open.lanes.size());
  for (auto [i, lane] : llvm::enumerate(open.lanes)) {
    if (!isUsed[i])
      continue;
    numbers[i] = made->lanes.size();
    // The op that makes the stream goes when it is lowered.
    made->lanes.push_back(
        lane.isOwn ? Value()
                   : fromLLVM(builder, state.tables.ptr(), lane.stream));
  }
  for (OpenFragment::Command &command : open.commands) {
    Fragment::Command entry;
    entry.lane = numbers[command.lane];
    if (open.lanes[command.lane].isOwn)
      cast<WorkOpInterface>(command.op).getStreamMutable().clear();
    entry.kind = command.shape.kind;
    entry.flags = command.shape.flags;
    entry.config = command.shape.config;
    entry.bytes = command.shape.bytes;
    entry.argument = made->bytes;
    made->bytes += llvm::alignTo(entry.bytes, 16);
    SmallVector<uint32_t> pasts;
    for (auto [lane, index] : command.after) {
      if (index != before)
        entry.after.push_back(index);
      if (lane == command.lane)
        continue;
      if (index == before)
        pasts.push_back(GPUASYNC_FRAGMENT_BEFORE | numbers[lane]);
      else
        entry.wait.push_back(index);
    }
    llvm::sort(entry.after);
    llvm::sort(entry.wait);
    llvm::sort(pasts);
    llvm::append_range(entry.wait, pasts);
    state.commands[command.op] = {made.get(), made->commands.size()};
    made->commands.push_back(std::move(entry));
  }
  plan->fragments.push_back(std::move(made));
}

void Planner::finishBlock() {
  SmallVector<StreamDestroyOp> destroys(block->getOps<StreamDestroyOp>());
  for (auto create : block->getOps<StreamCreateOp>())
    if (isOwn(create.getStream()))
      erased.push_back(create);
  for (OpenFragment &open : done)
    finish(open);
  // Others end when all fragments of the block have been given.
  for (StreamDestroyOp destroy : destroys)
    if (isOwn(destroy.getStream()))
      erased.push_back(destroy);
    else
      destroy->moveBefore(block->getTerminator());
}

LogicalResult Planner::run() {
  WalkResult known = region.walk([&](LaunchOp launch) {
    return state.tables.getParams(launch) ? WalkResult::advance()
                                          : WalkResult::interrupt();
  });
  if (known.wasInterrupted())
    return failure();
  plan = &state.regions[region];
  for (Block &each : region.getBody()) {
    block = &each;
    mayBeOwn.clear();
    isolateCopies();
    while (planBlock() != Result::Done) {
    }
    finishBlock();
  }
  for (Operation *op : llvm::reverse(erased))
    op->erase();
  size_t count = plan->fragments.size();
  if (hasCalls || count > 1)
    plan->form = RegionPlan::Calls;
  else if (!count)
    plan->form = RegionPlan::Empty;
  else
    plan->form =
        region.getBody().hasOneBlock() ? RegionPlan::Run : RegionPlan::Calls;
  return success();
}

LogicalResult runtime::planFragments(FunctionState &state) {
  WalkResult result = state.func.walk([&](RegionOp region) {
    return WalkResult(Planner(region, state).run());
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Commands and calls
//===----------------------------------------------------------------------===//

/// The call that gives the fragment to the runtime.
static void callFragment(Fragment &fragment, FunctionState &state,
                         OpBuilder &builder, Location loc) {
  Tables &tables = state.tables;
  SmallVector<gpuasync_command> table;
  for (const Fragment::Command &each : fragment.commands) {
    gpuasync_command entry = {};
    entry.kind = each.kind;
    entry.flags = each.flags;
    entry.lane = each.lane;
    entry.site = each.site;
    entry.argument = each.argument;
    entry.argumentBytes = each.bytes;
    entry.config =
        each.config ? tables.addConfig(*each.config) : GPUASYNC_NO_CONFIG;
    entry.after = tables.addIndices(each.after);
    entry.afterCount = each.after.size();
    entry.wait = tables.addIndices(each.wait);
    entry.waitCount = each.wait.size();
    table.push_back(entry);
  }
  FlatSymbolRefAttr symbol = tables.addFragment(
      table, fragment.lanes.size(), fragment.bytes, fragment.plan->site);
  SmallVector<Value> lanes;
  for (Value lane : fragment.lanes) {
    // It is a cast of the stream, which is a cast of a pointer now.
    if (auto cast =
            lane ? lane.getDefiningOp<UnrealizedConversionCastOp>() : nullptr)
      lane = toLLVM(builder, state.converter, cast.getOperand(0));
    lanes.push_back(lane ? lane
                         : LLVM::ZeroOp::create(builder, loc, tables.ptr()));
  }
  Value address = tables.addressOf(builder, loc, symbol);
  Value pointers = state.storeAll(builder, loc, FunctionState::Pointers, lanes);
  StringRef entry = fragment.plan->form == RegionPlan::Run
                        ? gpuasync_region_run_name
                        : gpuasync_region_add_name;
  tables.call(builder, loc, entry, {},
              {state.frame, address, pointers,
               state.getStorage(FunctionState::Arguments, fragment.bytes)});
}

/// The entry of the runtime that makes such a command by itself.
static StringRef getEntry(uint32_t kind) {
  switch (gpuasync_command_kind(kind)) {
  case GPUASYNC_COMMAND_LAUNCH:
    return gpuasync_launch_name;
  case GPUASYNC_COMMAND_COPY:
    return gpuasync_memcpy_name;
  case GPUASYNC_COMMAND_COPY_STRIDED:
    return gpuasync_memcpy_strided_name;
  case GPUASYNC_COMMAND_FILL:
    return gpuasync_memset_name;
  case GPUASYNC_COMMAND_FILL_STRIDED:
    return gpuasync_memset_strided_name;
  case GPUASYNC_COMMAND_CALL:
    return gpuasync_call_replayable_name;
  }
  llvm_unreachable("unknown command");
}

LogicalResult runtime::addToFragment(const gpuasync::Command &made,
                                     Operation *op, FunctionState &state,
                                     OpBuilder &builder) {
  auto [fragment, number] = state.commands.lookup(op);
  Fragment::Command &command = fragment->commands[number];
  if (command.isMade)
    return op->emitOpError("makes a second command, where its lowering's "
                           "getShape says one");
  if (made.entry != getEntry(command.kind))
    return op->emitOpError()
           << "makes a command by " << made.entry
           << ", where its lowering's getShape says " << getEntry(command.kind);
  command.isMade = true;
  Location loc = op->getLoc();
  int64_t end = command.argument;
  auto store = [&](const gpuasync::Command::Buffer &buffer, int64_t bytes) {
    state.storeArguments(builder, loc, buffer, end);
    end += bytes;
  };
  auto storeBuffer = [&](Storages::Storage storage) {
    for (const gpuasync::Command::Buffer &buffer : made.buffers)
      if (buffer.storage == storage)
        store(buffer, buffer.bytes);
  };
  // The scalars, in the order of the entry.
  SmallVector<OpFoldResult> scalars;
  for (const gpuasync::Command::Operand &operand : made.operands)
    if (operand.kind == gpuasync::Command::Operand::Scalar)
      scalars.push_back(operand.value);
  auto storeHead = [&](ArrayRef<OpFoldResult> words) {
    gpuasync::Command::Buffer head{
        Storages::Sizes, int64_t(8 * words.size()), {}};
    for (auto [i, word] : llvm::enumerate(words))
      head.fields.push_back({int64_t(8 * i), word});
    store(head, head.bytes);
  };
  auto word = [&](uint64_t low, uint64_t high = 0) -> OpFoldResult {
    return state.tables.integerAttr(state.tables.i64(), high << 32 | low);
  };
  auto number32 = [](OpFoldResult value) -> uint64_t {
    return cast<IntegerAttr>(cast<Attribute>(value)).getInt();
  };
  switch (command.kind) {
  case GPUASYNC_COMMAND_LAUNCH:
    for (const gpuasync::Command::Buffer &buffer : made.buffers)
      if (buffer.storage == Storages::Block && !command.config)
        store(buffer, sizeof(gpuasync_launch_config));
    storeBuffer(Storages::Params);
    break;
  case GPUASYNC_COMMAND_COPY: // to, from, bytes
    storeHead({scalars[0], scalars[1], scalars[2], word(0)});
    break;
  case GPUASYNC_COMMAND_COPY_STRIDED: // to, from, rank, element
    storeHead({scalars[0], scalars[1],
               word(number32(scalars[2]), number32(scalars[3])), word(0)});
    storeBuffer(Storages::Sizes);
    storeBuffer(Storages::StridesA);
    storeBuffer(Storages::StridesB);
    break;
  case GPUASYNC_COMMAND_FILL: // to, element, count
    storeHead({scalars[0], scalars[2], word(number32(scalars[1])), word(0)});
    storeBuffer(Storages::Pattern);
    break;
  case GPUASYNC_COMMAND_FILL_STRIDED: // to, rank, element
    storeHead({scalars[0], word(0),
               word(number32(scalars[2]), number32(scalars[1])), word(0)});
    storeBuffer(Storages::Pattern);
    storeBuffer(Storages::Sizes);
    storeBuffer(Storages::StridesA);
    break;
  case GPUASYNC_COMMAND_CALL: // streams, function, bytes, site
    storeHead({scalars[1], word(0)});
    storeBuffer(Storages::CallArguments);
    break;
  }
  if (end - command.argument != command.bytes)
    return op->emitOpError()
           << "makes a command with arguments of " << end - command.argument
           << " bytes, where its lowering's getShape says " << command.bytes;
  state.storeZeros(builder, loc, end, llvm::alignTo(end, 16) - end);
  KernelRef kernel{made.module, made.kernel, {}};
  command.site = state.tables.addSite(op, &kernel);
  if (number + 1 == fragment->commands.size())
    callFragment(*fragment, state, builder, loc);
  return success();
}
