//===- ScheduleOrder.cpp - does a stream form keep its order? -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ScheduleOrder.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Schedule/ScheduleOrder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/RegionGraphTraits.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/TypeSwitch.h"

#include <queue>
#include <set>

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

/// What is known at a point of the program: for each holder, the bits of what
/// may have run without being in its past. A stream's or event's past counts
/// what the host has waited for, since nothing uses them before that.
struct State {
  bool isReached = false;
  llvm::BitVector host;
  SmallVector<llvm::BitVector, 0> streams;
  llvm::DenseMap<Value, llvm::BitVector> events;
  /// For each stream, the marks of events that it waits for behind its work.
  SmallVector<llvm::BitVector, 0> waits;
  /// Marks of events of calls that neither a stream nor the host may have
  /// waited for.
  llvm::BitVector untaken;

  template <typename Visit>
  void forEach(Visit visit) {
    visit(host);
    for (llvm::BitVector &stream : streams)
      visit(stream);
    for (auto &entry : events)
      visit(entry.second);
  }
  void reset(ArrayRef<unsigned> bits) {
    forEach([&](llvm::BitVector &missing) {
      for (unsigned bit : bits)
        missing.reset(bit);
    });
  }
  /// Joins another path. Returns whether anything is new.
  bool merge(const State &other);
};

class ScheduleOrder {
public:
  explicit ScheduleOrder(FunctionOpInterface function) : function(function) {}
  SmallVector<ScheduleFinding> run();

private:
  /// A stream of ours, a caller's by its pointer, or one that is an argument.
  struct Stream {
    bool isCallers = false;
    /// Bits of the latest work that takes device time, of that of streams that
    /// had this name before (in a loop), and of the latest work of any kind.
    unsigned work, olderWork, anyWork;
    /// Of the latest wait for an event of a call, and of the latest one with no
    /// work behind it.
    unsigned callWait, wait;
  };
  /// A work op, for those that look at it from outside of `forgottenBy`, the
  /// region op whose entry makes them forget it (null: none).
  using Subject = std::pair<Operation *, Operation *>;
  /// From `start`, before which it means nothing, to the op of number `last`.
  struct Interval {
    Operation *start;
    unsigned first, last;
    unsigned bit = 0;
  };
  struct Numbers {
    unsigned first, last; ///< in program order: its own, the last one inside
  };
  struct Check {
    Operation *other;
    unsigned bit;
  };

  FunctionOpInterface function;
  SmallVector<ScheduleFinding> findings;
  llvm::DenseMap<Operation *, Numbers> numbers;
  llvm::MapVector<Value, Stream> streams;
  llvm::DenseMap<Value, unsigned> streamOf; ///< by stream value
  /// Streams whose pointer a block or op makes anew.
  llvm::DenseMap<Block *, SmallVector<unsigned>> renamedIn;
  llvm::DenseMap<Operation *, SmallVector<unsigned>> renamedBy;
  llvm::MapVector<Subject, Interval> subjects;
  llvm::DenseMap<Operation *, SmallVector<Check, 2>> checks;
  llvm::DenseMap<Operation *, SmallVector<unsigned, 2>> bitsOf, cleanedAt,
      forgottenAt;
  llvm::DenseMap<Block *, Operation *> outermostLoops;
  /// A bit each for the points of events that stand for the work of a call, or
  /// that a stream waits for with no work behind the wait.
  llvm::MapVector<Value, unsigned> marks;
  unsigned numBits = 0;

  /// Of loops inside loops, while the outermost is walked: where the next
  /// round starts from.
  struct Rounds {
    SmallVector<State> entries;
    State out;
  };
  llvm::DenseMap<Operation *, Rounds> rounds;
  unsigned loopDepth = 0;
  llvm::DenseSet<std::pair<Operation *, Operation *>> reported;

  void report(ScheduleFinding::Kind kind, Operation *at,
              Operation *other = nullptr, uint64_t id = 0) {
    if (reported.insert({at, other}).second)
      findings.push_back({kind, at, other, id});
  }
  unsigned addStream(Value key, bool isCallers);
  void collectStreams();
  void collectWork();
  void collectMarks();
  void assignBits();
  bool contains(Operation *op, Operation *inner) {
    Numbers outer = numbers.lookup(op);
    unsigned number = numbers.lookup(inner).first;
    return outer.first <= number && number <= outer.last;
  }
  Operation *getOutermostLoop(Operation *op);

  Operation *getLastUser(unsigned stream, Operation *at,
                         function_ref<bool(Operation *)> matches);
  const llvm::BitVector &getEvent(State &state, Value event) {
    auto found = state.events.find(event);
    return found == state.events.end() ? state.host : found->second;
  }
  void enqueue(State &state, unsigned stream, ArrayRef<unsigned> bits);
  void waitOnHost(State &state, llvm::BitVector missing);
  void renew(State &state, unsigned stream);
  void addOpaqueEvent(State &state, Value event);
  void visitWork(WorkOpInterface work, State &state);
  void visitReturn(Operation *op, State &state);
  void visit(Operation *op, State &state);
  void flowThroughRegions(Operation *op, State &state);
  void flowThroughBlock(Block &block, State &state);
  void flowThroughRegion(Region &region, State &state);
};

} // namespace

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

bool State::merge(const State &other) {
  if (!other.isReached)
    return false;
  if (!isReached) {
    *this = other;
    return true;
  }
  bool changed = false;
  auto unite = [&](llvm::BitVector &mine, const llvm::BitVector &theirs) {
    if (!theirs.test(mine))
      return;
    mine |= theirs;
    changed = true;
  };
  unite(host, other.host);
  unite(untaken, other.untaken);
  for (auto [mine, theirs] : llvm::zip_equal(streams, other.streams))
    unite(mine, theirs);
  for (auto [mine, theirs] : llvm::zip_equal(waits, other.waits))
    unite(mine, theirs);
  // An event that only one path has made has no use from here on.
  SmallVector<Value> ended;
  for (auto &[event, mine] : events) {
    auto theirs = other.events.find(event);
    if (theirs == other.events.end())
      ended.push_back(event);
    else
      unite(mine, theirs->second);
  }
  for (Value event : ended)
    events.erase(event);
  return changed;
}

//===----------------------------------------------------------------------===//
// What there is to look at
//===----------------------------------------------------------------------===//

unsigned ScheduleOrder::addStream(Value key, bool isCallers) {
  auto [known, isNew] = streams.try_emplace(key);
  if (isNew) {
    known->second = {isCallers,   numBits,     numBits + 1,
                     numBits + 2, numBits + 3, numBits + 4};
    numBits += 5;
  }
  return known - streams.begin();
}

void ScheduleOrder::collectStreams() {
  auto collect = [&](Value value) {
    if (!isa<StreamType>(value.getType()))
      return;
    auto external = value.getDefiningOp<StreamExternalOp>();
    if (!external) {
      streamOf[value] = addStream(value, isa<BlockArgument>(value));
      return;
    }
    // Names for one pointer are one stream. One whose pointer is made anew in a
    // loop is another stream each time.
    Value pointer = external.getPointer();
    unsigned before = streams.size();
    unsigned stream = addStream(pointer, /*isCallers=*/true);
    streamOf[value] = stream;
    if (streams.size() == before)
      return;
    if (Operation *op = pointer.getDefiningOp())
      renamedBy[op].push_back(stream);
    else if (!pointer.getParentBlock()->isEntryBlock() ||
             pointer.getParentRegion() != &function.getFunctionBody())
      renamedIn[pointer.getParentBlock()].push_back(stream);
  };
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::for_each(op->getResults(), collect);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), collect);
  });
}

static bool mayRepeat(Operation *op) {
  for (Region &region : op->getRegions())
    if (!region.empty() && !region.hasOneBlock())
      return true;
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  return !branch || branch.hasLoop();
}

Operation *ScheduleOrder::getOutermostLoop(Operation *op) {
  Block *block = op->getBlock();
  Operation *parent = block->getParentOp();
  auto [known, isNew] = outermostLoops.try_emplace(block);
  if (!isNew)
    return known->second;
  Operation *loop = nullptr;
  if (parent == function)
    loop = block->getParent()->hasOneBlock() ? nullptr : parent;
  else if (Operation *outer = getOutermostLoop(parent))
    loop = outer;
  else
    loop = mayRepeat(parent) ? parent : nullptr;
  return outermostLoops[block] = loop;
}

/// Nobody waits for a free, nor for a host-shared allocation, which is there
/// once it has been enqueued.
static bool isWaitedFor(Operation *op) {
  auto alloc = dyn_cast<AllocOp>(op);
  return !isa<DeallocOp>(op) && !(alloc && alloc.getHostShared());
}

SmallVector<ScheduleFinding>
mlir::gpuasync::findIdErrors(FunctionOpInterface function) {
  SmallVector<ScheduleFinding> findings;
  llvm::DenseMap<int64_t, Operation *> opOf;
  SmallVector<WorkOpInterface> later;
  function->walk<WalkOrder::PreOrder>([&](WorkOpInterface work) {
    if (!work.getStream())
      return;
    if (std::optional<uint64_t> id = work.getId()) {
      auto [known, isNew] = opOf.try_emplace(*id, work);
      if (!isNew)
        findings.push_back(
            {ScheduleFinding::DuplicateId, work, known->second, *id});
    }
    if (work.getAfter())
      later.push_back(work);
  });
  for (WorkOpInterface work : later)
    for (int64_t id : work.getAfter().value_or(ArrayRef<int64_t>()))
      if (!opOf.contains(id))
        findings.push_back({ScheduleFinding::UnknownId, work, nullptr,
                            static_cast<uint64_t>(id)});
  return findings;
}

void ScheduleOrder::collectWork() {
  findings = findIdErrors(function);
  // Ids, and numbers in program order.
  llvm::DenseMap<int64_t, Operation *> opOf;
  SmallVector<WorkOpInterface> works;
  unsigned next = 0;
  auto number = [&](auto &self, Operation *op) -> void {
    unsigned first = next++;
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        self(self, &inner);
    numbers[op] = {first, next - 1};
    auto work = dyn_cast<WorkOpInterface>(op);
    if (!work)
      return;
    if (!work.getStream()) {
      report(ScheduleFinding::NotOnStream, op);
      return;
    }
    works.push_back(work);
    if (std::optional<uint64_t> id = work.getId())
      opOf.try_emplace(*id, op);
  };
  number(number, function);

  for (WorkOpInterface work : works) {
    for (int64_t id : work.getAfter().value_or(ArrayRef<int64_t>())) {
      Operation *other = opOf.lookup(id);
      if (!other || !isWaitedFor(other))
        continue;
      // The outermost region op that contains the other op but not this one.
      Operation *forgottenBy = nullptr;
      for (Operation *parent = other->getParentOp(); !contains(parent, work);
           parent = parent->getParentOp())
        forgottenBy = parent;
      auto [known, isNew] = subjects.try_emplace(
          {other, forgottenBy},
          Interval{other, numbers[other].first, numbers[other].first});
      Interval &interval = known->second;
      for (Operation *op : {work.getOperation(), forgottenBy,
                            getOutermostLoop(other), getOutermostLoop(work)}) {
        if (!op)
          continue;
        Numbers range = numbers[op];
        if (range.first < interval.first) {
          interval.first = range.first;
          interval.start = op;
        }
        interval.last = std::max(interval.last, range.last);
      }
      // The index for now, the bit once it is known.
      checks[work].push_back(
          {other, static_cast<unsigned>(known - subjects.begin())});
    }
  }
}

static bool isOfCall(Value event) {
  return isa_and_nonnull<CallOpInterface>(event.getDefiningOp());
}

void ScheduleOrder::collectMarks() {
  auto mark = [&](Value event) {
    if (!event.getDefiningOp<EventReadyOp>() &&
        marks.try_emplace(event, numBits).second)
      ++numBits;
  };
  // A wait counts as part of the work behind it in its block.
  llvm::MapVector<unsigned, SmallVector<Value>> open;
  auto close = [&] {
    for (auto &[stream, events] : open)
      llvm::for_each(events, mark);
    open.clear();
  };
  function->walk([&](Block *block) {
    for (Operation &op : *block) {
      if (auto wait = dyn_cast<StreamWaitOp>(op)) {
        open[streamOf.lookup(wait.getStream())].push_back(wait.getEvent());
      } else if (auto work = dyn_cast<WorkOpInterface>(op)) {
        if (work.getStream())
          open[streamOf.lookup(work.getStream())].clear();
      } else if (op.getNumRegions()) {
        close();
      } else if (isa<CallOpInterface>(op)) {
        for (Value result : op.getResults())
          if (isa<EventType>(result.getType()))
            mark(result);
      }
    }
    close();
  });
}

/// Bits are used again: linear scan over the intervals.
void ScheduleOrder::assignBits() {
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, subjects.size()));
  auto at = [&](unsigned index) -> Interval & {
    return (subjects.begin() + index)->second;
  };
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(at(a).first, a) < std::pair(at(b).first, b);
  });
  using Busy = std::pair<unsigned, unsigned>; // last, bit
  std::priority_queue<Busy, std::vector<Busy>, std::greater<Busy>> busy;
  for (unsigned index : order) {
    Interval &interval = at(index);
    if (!busy.empty() && busy.top().first < interval.first) {
      interval.bit = busy.top().second;
      busy.pop();
    } else {
      interval.bit = numBits++;
    }
    busy.push({interval.last, interval.bit});
  }
  for (auto &[subject, interval] : subjects) {
    auto [op, forgottenBy] = subject;
    bitsOf[op].push_back(interval.bit);
    if (forgottenBy)
      forgottenAt[forgottenBy].push_back(interval.bit);
    // The bit may still say what it meant before.
    if (interval.start != op)
      cleanedAt[interval.start].push_back(interval.bit);
  }
  for (auto &entry : checks)
    for (Check &check : entry.second)
      check.bit = at(check.bit).bit;
}

//===----------------------------------------------------------------------===//
// What ops do
//===----------------------------------------------------------------------===//

/// The latest work on a stream before `at`, as far as the text tells.
Operation *ScheduleOrder::getLastUser(unsigned stream, Operation *at,
                                      function_ref<bool(Operation *)> matches) {
  Operation *last = nullptr, *any = nullptr;
  unsigned end = numbers[at].first;
  auto look = [&](Value value) {
    for (Operation *user : value.getUsers()) {
      if (!matches(user))
        continue;
      unsigned number = numbers[user].first;
      if (!any || numbers[any].first < number)
        any = user;
      if (number < end && (!last || numbers[last].first < number))
        last = user;
    }
  };
  Value key = (streams.begin() + stream)->first;
  if (isa<StreamType>(key.getType())) {
    look(key);
  } else {
    for (Operation *name : key.getUsers())
      if (isa<StreamExternalOp>(name))
        look(name->getResult(0));
  }
  return last ? last : any;
}

/// What these bits stand for runs anew, on the stream.
void ScheduleOrder::enqueue(State &state, unsigned stream,
                            ArrayRef<unsigned> bits) {
  state.forEach([&](llvm::BitVector &missing) {
    for (unsigned bit : bits)
      missing.set(bit);
  });
  for (unsigned bit : bits)
    state.streams[stream].reset(bit);
}

void ScheduleOrder::waitOnHost(State &state, llvm::BitVector missing) {
  state.forEach([&](llvm::BitVector &mine) { mine &= missing; });
  state.untaken &= state.host;
  // Of what a stream waits for the host knows by what comes behind the wait, or
  // by the events. Where paths meet, either will do for all of them.
  for (auto [number, waits] : llvm::enumerate(state.waits)) {
    unsigned wait = (streams.begin() + number)->second.wait;
    if (!state.host.test(wait))
      waits.reset();
    else if (!waits.anyCommon(state.host))
      state.reset(wait);
  }
}

/// The stream's name now stands for a stream that has no past but the host's.
void ScheduleOrder::renew(State &state, unsigned number) {
  Stream &stream = (streams.begin() + number)->second;
  // Whoever lacks the latest work of the former stream lacks it still.
  state.forEach([&](llvm::BitVector &missing) {
    if (missing.test(stream.work))
      missing.set(stream.olderWork);
    missing.reset(stream.work);
    missing.reset(stream.anyWork);
    missing.reset(stream.wait);
  });
  state.streams[number] = state.host;
  state.waits[number].reset();
}

/// An event that comes from elsewhere: a point of its own.
void ScheduleOrder::addOpaqueEvent(State &state, Value event) {
  auto mark = marks.find(event);
  if (mark != marks.end()) {
    state.forEach([&](llvm::BitVector &missing) { missing.set(mark->second); });
    state.untaken.set(mark->second);
  }
  llvm::BitVector missing = state.host;
  if (mark != marks.end())
    missing.reset(mark->second);
  state.events[event] = std::move(missing);
}

void ScheduleOrder::visitWork(WorkOpInterface work, State &state) {
  auto found = streamOf.find(work.getStream());
  if (!work.getStream() || found == streamOf.end())
    return;
  unsigned number = found->second;
  const llvm::BitVector &missing = state.streams[number];
  for (Check check : checks.lookup(work))
    if (missing.test(check.bit))
      report(ScheduleFinding::NotOrdered, work, check.other);
  Stream &stream = (streams.begin() + number)->second;
  SmallVector<unsigned, 4> bits(bitsOf.lookup(work));
  bits.push_back(stream.anyWork);
  if (work.takesDeviceTime())
    bits.push_back(stream.work);
  enqueue(state, number, bits);
  state.waits[number].reset();
  state.reset(stream.wait);
}

void ScheduleOrder::visitReturn(Operation *op, State &state) {
  llvm::BitVector open = state.host;
  for (Value operand : op->getOperands())
    if (isa<EventType>(operand.getType()))
      open &= getEvent(state, operand);
  for (auto [number, entry] : llvm::enumerate(streams))
    if (entry.second.isCallers)
      open &= state.streams[number];
  for (auto [number, entry] : llvm::enumerate(streams)) {
    const Stream &stream = entry.second;
    if (stream.isCallers ||
        (!open.test(stream.work) && !open.test(stream.olderWork)))
      continue;
    report(ScheduleFinding::LeftOpen, op,
           getLastUser(number, op, [](Operation *user) {
             auto work = dyn_cast<WorkOpInterface>(user);
             return work && work.takesDeviceTime();
           }));
  }
  // What a call has left is done, too, if all streams that wait for its event
  // are covered, whichever does on a path.
  for (auto [event, mark] : marks) {
    if (!isOfCall(event) || !open.test(mark))
      continue;
    bool isTaken = !state.untaken.test(mark);
    for (Operation *user : event.getUsers())
      if (auto wait = dyn_cast<StreamWaitOp>(user))
        isTaken &=
            !open.test((streams.begin() + streamOf.lookup(wait.getStream()))
                           ->second.callWait);
    if (!isTaken)
      report(ScheduleFinding::LeftOpen, op, event.getDefiningOp());
  }
}

void ScheduleOrder::visit(Operation *op, State &state) {
  if (auto cleaned = cleanedAt.find(op); cleaned != cleanedAt.end())
    state.reset(cleaned->second);
  auto numberOf = [&](Value stream) { return streamOf.lookup(stream); };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](WorkOpInterface work) { visitWork(work, state); })
      .Case([&](StreamCreateOp create) {
        renew(state, numberOf(create.getStream()));
      })
      .Case([&](StreamDestroyOp destroy) {
        unsigned number = numberOf(destroy.getStream());
        const Stream &stream = (streams.begin() + number)->second;
        if (destroy.getIdle() && (state.host.test(stream.anyWork) ||
                                  (state.host.test(stream.wait) &&
                                   state.waits[number].anyCommon(state.host))))
          report(ScheduleFinding::NotIdle, op,
                 getLastUser(number, op, [](Operation *user) {
                   return isa<WorkOpInterface, StreamWaitOp>(user);
                 }));
      })
      .Case([&](StreamWaitOp wait) {
        unsigned number = numberOf(wait.getStream());
        state.streams[number] &= getEvent(state, wait.getEvent());
        if (auto mark = marks.find(wait.getEvent()); mark != marks.end()) {
          const Stream &stream = (streams.begin() + number)->second;
          state.waits[number].set(mark->second);
          state.untaken.reset(mark->second);
          enqueue(state, number, stream.wait);
          if (isOfCall(wait.getEvent()))
            enqueue(state, number, stream.callWait);
        }
      })
      .Case([&](StreamSynchronizeOp wait) {
        for (Value stream : wait.getStreams())
          waitOnHost(state, state.streams[numberOf(stream)]);
      })
      .Case([&](EventSynchronizeOp wait) {
        for (Value event : wait.getEvents())
          waitOnHost(state, getEvent(state, event));
      })
      .Case([&](EventRecordOp record) {
        unsigned number = numberOf(record.getStream());
        if (auto mark = marks.find(record.getEvent()); mark != marks.end())
          enqueue(state, number, mark->second);
        state.events[record.getEvent()] = state.streams[number];
      })
      .Case([&](EventDestroyOp destroy) {
        state.events.erase(destroy.getEvent());
      })
      .Default([&](Operation *op) {
        // A call owns the events that it takes.
        if (isa<CallOpInterface>(op))
          for (Value operand : op->getOperands())
            state.events.erase(operand);
        for (Value result : op->getResults()) {
          if (isa<EventType>(result.getType()))
            addOpaqueEvent(state, result);
          else if (isa<StreamType>(result.getType()) &&
                   !isa<StreamExternalOp>(op))
            renew(state, numberOf(result));
        }
        if (op->getNumRegions())
          flowThroughRegions(op, state);
        else if (op->hasTrait<OpTrait::ReturnLike>() &&
                 op->getParentOp() == function)
          visitReturn(op, state);
      });
  if (auto renamed = renamedBy.find(op); renamed != renamedBy.end())
    for (unsigned stream : renamed->second)
      renew(state, stream);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void ScheduleOrder::flowThroughBlock(Block &block, State &state) {
  if (auto renamed = renamedIn.find(&block); renamed != renamedIn.end())
    for (unsigned stream : renamed->second)
      renew(state, stream);
  for (BlockArgument argument : block.getArguments())
    if (isa<EventType>(argument.getType()))
      addOpaqueEvent(state, argument);
  for (Operation &op : block) {
    visit(&op, state);
    if (isa<LLVM::UnreachableOp, ub::UnreachableOp>(op))
      state.isReached = false;
    if (!state.isReached)
      return;
  }
}

/// From the state at the region's entry to that at its ends.
void ScheduleOrder::flowThroughRegion(Region &region, State &state) {
  if (region.hasOneBlock()) {
    flowThroughBlock(region.front(), state);
    return;
  }
  SmallVector<Block *> blocks;
  llvm::DenseMap<Block *, unsigned> indexOf;
  for (Block *block :
       llvm::ReversePostOrderTraversal<Block *>(&region.front())) {
    indexOf[block] = blocks.size();
    blocks.push_back(block);
  }
  SmallVector<State> entries(blocks.size());
  entries[0] = std::move(state);
  State out;
  std::set<unsigned> pending{0};
  while (!pending.empty()) {
    unsigned index = *pending.begin();
    pending.erase(pending.begin());
    State here = entries[index];
    flowThroughBlock(*blocks[index], here);
    if (blocks[index]->getNumSuccessors() == 0)
      out.merge(here);
    for (Block *successor : blocks[index]->getSuccessors()) {
      unsigned next = indexOf[successor];
      if (entries[next].merge(here))
        pending.insert(next);
    }
  }
  state = std::move(out);
}

void ScheduleOrder::flowThroughRegions(Operation *op, State &state) {
  if (op->hasTrait<OpTrait::IsIsolatedFromAbove>())
    return;
  if (auto forgotten = forgottenAt.find(op); forgotten != forgottenAt.end())
    state.reset(forgotten->second);

  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  auto getSuccessors = [&](Region *from) {
    SmallVector<RegionSuccessor> successors;
    if (!branch) {
      // Nothing is known: any region, in any order, any number of times.
      for (Region &region : op->getRegions())
        if (!region.empty())
          successors.emplace_back(&region);
      successors.emplace_back(op, op->getResults());
    } else if (from) {
      branch.getSuccessorRegions(*from, successors);
    } else {
      branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
    }
    return successors;
  };
  // A loop inside another one goes on from where its last walk ended: what
  // comes in only grows.
  bool isLoop = mayRepeat(op);
  bool goesOn = isLoop && loopDepth > 0;
  Rounds local;
  if (goesOn)
    local = std::move(rounds[op]);
  local.entries.resize(op->getNumRegions());
  loopDepth += isLoop;

  std::set<unsigned> pending;
  auto reach = [&](const State &from, ArrayRef<RegionSuccessor> successors) {
    for (const RegionSuccessor &successor : successors) {
      if (successor.isParent()) {
        local.out.merge(from);
        continue;
      }
      unsigned index = successor.getSuccessor()->getRegionNumber();
      if (local.entries[index].merge(from))
        pending.insert(index);
    }
  };
  reach(state, getSuccessors(nullptr));
  while (!pending.empty()) {
    unsigned index = *pending.begin();
    pending.erase(pending.begin());
    Region &region = op->getRegion(index);
    State here = local.entries[index];
    flowThroughRegion(region, here);
    reach(here, getSuccessors(&region));
  }

  loopDepth -= isLoop;
  state = goesOn ? local.out : std::move(local.out);
  if (goesOn)
    rounds[op] = std::move(local);
  else if (isLoop && loopDepth == 0)
    rounds.clear();
}

SmallVector<ScheduleFinding> ScheduleOrder::run() {
  collectStreams();
  collectWork();
  collectMarks();
  assignBits();
  State state;
  state.isReached = true;
  state.host.resize(numBits);
  state.streams.assign(streams.size(), llvm::BitVector(numBits));
  state.untaken.resize(numBits);
  state.waits.assign(streams.size(), llvm::BitVector(numBits));
  flowThroughRegion(function.getFunctionBody(), state);
  // Loops are walked more than once, blocks in no order.
  auto key = [&](const ScheduleFinding &finding) {
    return std::tuple(numbers.lookup(finding.at).first, finding.kind,
                      numbers.lookup(finding.other).first, finding.id);
  };
  llvm::sort(findings, [&](const ScheduleFinding &a, const ScheduleFinding &b) {
    return key(a) < key(b);
  });
  return std::move(findings);
}

SmallVector<ScheduleFinding>
mlir::gpuasync::findScheduleErrors(FunctionOpInterface function) {
  return ScheduleOrder(function).run();
}
