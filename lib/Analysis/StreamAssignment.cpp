//===- StreamAssignment.cpp - which stream work runs on -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two walks: what takes device time gets its streams first, then allocations
// and frees are placed where they order nothing that was unordered.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/StreamAssignment.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::gpuasync;

llvm::SetVector<Value> mlir::gpuasync::getTokenSources(ValueRange tokens,
                                                       Through through) {
  llvm::SetVector<Value> sources;
  SmallVector<Value> worklist(llvm::reverse(tokens));
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value token = worklist.pop_back_val();
    if (!seen.insert(token).second)
      continue;
    Operation *op = token.getDefiningOp();
    if (auto fork = dyn_cast_if_present<ForkOp>(op)) {
      worklist.push_back(fork.getToken());
      continue;
    }
    ValueRange dependencies;
    if (auto join = dyn_cast_if_present<WaitOp>(op)) {
      dependencies = join.getAsyncDependencies();
    } else {
      auto work = dyn_cast_if_present<WorkOpInterface>(op);
      auto alloc = dyn_cast_if_present<AllocOp>(op);
      bool stands =
          !work || work.takesDeviceTime() || through == Through::Nothing ||
          (through == Through::Unwaited && alloc && !alloc.getHostShared());
      if (stands) {
        sources.insert(token);
        continue;
      }
      dependencies = work.getAsyncDependencies();
    }
    for (Value dependency : llvm::reverse(dependencies))
      worklist.push_back(dependency);
  }
  return sources;
}

StreamAssignment::StreamAssignment(FunctionOpInterface function,
                                   unsigned maxStreams)
    : function(function), maxStreams(maxStreams) {
  assignWork();
  assignFloating();
}

unsigned StreamAssignment::addStream(Value external) {
  streams.push_back({external});
  items.emplace_back();
  floats.emplace_back();
  return streams.size() - 1;
}

bool StreamAssignment::mayAddStream() const {
  return maxStreams == 0 || llvm::count_if(streams, [](const Stream &stream) {
                              return !stream.external;
                            }) < maxStreams;
}

unsigned StreamAssignment::getExternalStream(Value stream) {
  Value pointer = stream.getDefiningOp<StreamExternalOp>().getPointer();
  for (auto [number, known] : llvm::enumerate(streams))
    if (known.external == pointer)
      return number;
  return addStream(pointer);
}

unsigned
StreamAssignment::pick(ValueRange sources, const StreamClock &required,
                       const llvm::DenseMap<Value, StreamPoint> &points,
                       const StreamClocks &clocks) {
  // Behind its latest predecessor that nothing follows yet: no wait is needed.
  std::optional<StreamPoint> last;
  std::optional<unsigned> lastOrder;
  for (Value source : sources) {
    auto found = points.find(source);
    if (found == points.end())
      continue;
    StreamPoint point = found->second;
    if (streams[point.stream].external ||
        clocks.getSize(point.stream) != point.position)
      continue;
    unsigned order = orderOf.lookup(source.getDefiningOp());
    if (!lastOrder || order > *lastOrder) {
      last = point;
      lastOrder = order;
    }
  }
  if (last)
    return last->stream;

  std::optional<unsigned> oldest;
  unsigned oldestOrder = 0;
  for (unsigned stream = 0; stream < streams.size(); ++stream) {
    if (streams[stream].external)
      continue;
    if (required[stream] >= clocks.getSize(stream))
      return stream;
    unsigned order = items[stream].empty() ? 0 : items[stream].back().order;
    if (!oldest || order < oldestOrder) {
      oldest = stream;
      oldestOrder = order;
    }
  }
  if (!oldest || mayAddStream())
    return addStream({});
  return *oldest;
}

void StreamAssignment::assignWork() {
  StreamClocks clocks;
  llvm::DenseMap<Value, StreamPoint> points;
  llvm::DenseMap<Value, StreamClock> clockOf;
  unsigned order = 0;

  // A token argument is a point on a stream of the caller's.
  for (BlockArgument argument : function.getFunctionBody().getArguments()) {
    if (!isa<TokenType>(argument.getType()))
      continue;
    unsigned stream = addStream(argument);
    clockOf[argument] = clocks.enqueue(stream);
  }

  auto requiredBy = [&](ValueRange sources) {
    StreamClock required = clocks.getHost();
    for (Value source : sources)
      if (auto found = clockOf.find(source); found != clockOf.end())
        required.merge(found->second);
    return required;
  };
  auto visit = [&](Operation *op) {
    orderOf[op] = ++order;
    if (auto wait = dyn_cast<WaitOp>(op); wait && wait.isHostWait()) {
      auto sources =
          getTokenSources(wait.getAsyncDependencies(), Through::Floating);
      StreamClock required = requiredBy(sources.getArrayRef());
      requiredOf[op] = required;
      clocks.waitOnHost(required);
      return;
    }
    auto work = dyn_cast<WorkOpInterface>(op);
    if (!work)
      return;
    auto sources =
        getTokenSources(work.getAsyncDependencies(), Through::Floating);
    StreamClock required = requiredBy(sources.getArrayRef());
    requiredOf[op] = required;
    if (!work.takesDeviceTime())
      return;
    unsigned stream = work.getStream() ? getExternalStream(work.getStream())
                                       : pick(sources.getArrayRef(), required,
                                              points, clocks);
    streamOf[op] = stream;
    clocks.waitOnStream(stream, required);
    StreamClock clock = clocks.enqueue(stream);
    items[stream].push_back({order, clocks.getSize(stream), clock});
    if (Value token = work.getAsyncToken()) {
      points[token] = {stream, clocks.getSize(stream)};
      clockOf[token] = std::move(clock);
    }
  };
  // A block starts with the streams idle that all ways to it leave so. What
  // comes around a loop is taken to be idle too: streams are used again.
  llvm::DenseMap<Block *, llvm::SmallBitVector> busyAtEnd;
  for (Block *block : getBlocksInOrder(function.getFunctionBody())) {
    if (!block->isEntryBlock()) {
      llvm::SmallBitVector busy(clocks.getNumStreams());
      for (Block *predecessor : block->getPredecessors())
        if (auto found = busyAtEnd.find(predecessor); found != busyAtEnd.end())
          busy |= found->second;
      clocks.forgetHost();
      for (unsigned stream = 0; stream < clocks.getNumStreams(); ++stream)
        if (!busy[stream])
          clocks.setIdle(stream);
    }
    clocks.walk(*block, visit);
    llvm::SmallBitVector busy(clocks.getNumStreams());
    for (unsigned stream = 0; stream < clocks.getNumStreams(); ++stream)
      busy[stream] = !clocks.isIdle(stream);
    busyAtEnd[block] = std::move(busy);
  }
}

void StreamAssignment::assignFloating() {
  // Who waits for an allocation's token: device work, frees, host waits and,
  // behind a return, the caller.
  llvm::DenseMap<Value, SmallVector<Operation *>> consumers;
  SmallVector<WorkOpInterface> floating;
  auto visit = [&](Operation *op) {
    ValueRange tokens;
    if (auto wait = dyn_cast<WaitOp>(op)) {
      if (!wait.isHostWait())
        return;
      tokens = wait.getAsyncDependencies();
    } else if (auto work = dyn_cast<WorkOpInterface>(op)) {
      tokens = work.getAsyncDependencies();
      if (!work.takesDeviceTime())
        floating.push_back(work);
    } else if (op->hasTrait<OpTrait::ReturnLike>() &&
               op->getParentOp() == function) {
      tokens = op->getOperands();
    } else {
      return;
    }
    for (Value token : tokens) {
      if (!isa<TokenType>(token.getType()))
        continue;
      for (Value source : getTokenSources(token, Through::Unwaited))
        if (SmallVector<Operation *> &all = consumers[source];
            all.empty() || all.back() != op)
          all.push_back(op);
    }
  };
  // In program order, which the layout of blocks need not be.
  for (Block *block : getBlocksInOrder(function.getFunctionBody()))
    block->walk<WalkOrder::PreOrder>(visit);

  // The stream's work before and behind an op, in program order.
  auto itemsAround = [&](unsigned stream, Operation *op) {
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
  // The stream's next work starts after all that `op` starts after anyway.
  auto keepsLaterOrder = [&](unsigned stream, Operation *op) {
    const Item *next = itemsAround(stream, op).second;
    return !next || next->clock.covers(requiredFor(op));
  };
  std::optional<unsigned> stock; // a stream on which nothing but frees runs
  // Beyond the limit order is added, as it is for work.
  auto addOrTake = [&](ArrayRef<unsigned> candidates) -> unsigned {
    if (mayAddStream())
      return addStream({});
    if (!candidates.empty())
      return candidates.front();
    for (unsigned stream = 0; stream < streams.size(); ++stream)
      if (!streams[stream].external)
        return stream;
    return addStream({});
  };

  for (WorkOpInterface work : floating) {
    SmallVector<unsigned> candidates;
    auto addCandidate = [&](Operation *op) {
      if (auto found = streamOf.find(op);
          found != streamOf.end() && !streams[found->second].external)
        candidates.push_back(found->second);
    };
    std::optional<unsigned> chosen;
    if (auto alloc = dyn_cast<AllocOp>(*work)) {
      ArrayRef<Operation *> users;
      if (Value token = alloc.getAsyncToken())
        if (auto found = consumers.find(token); found != consumers.end())
          users = found->second;
      for (Operation *user : users)
        addCandidate(user);
      llvm::SmallSetVector<unsigned, 8> others(candidates.begin(),
                                               candidates.end());
      candidates.assign(others.begin(), others.end());
      for (unsigned stream = 0; stream < streams.size(); ++stream)
        if (!streams[stream].external)
          candidates.push_back(stream);
      // Whoever uses the memory comes after what is on the stream by then.
      auto keepsUsersOrder = [&](unsigned stream) {
        const Item *previous = itemsAround(stream, work).first;
        unsigned order = orderOf.lookup(work);
        auto comesAfter = [&](const StreamClock &clock) {
          if (previous && !clock.covers({stream, previous->position}))
            return false;
          for (const Float &other : llvm::reverse(floats[stream])) {
            if (previous && other.order < previous->order)
              break;
            if (other.order < order && !clock.covers(other.clock))
              return false;
          }
          return true;
        };
        if (comesAfter(requiredFor(work)))
          return true;
        return !users.empty() && llvm::all_of(users, [&](Operation *user) {
          auto found = streamOf.find(user);
          return (found != streamOf.end() && found->second == stream &&
                  !isa<AllocOp, DeallocOp>(user)) ||
                 comesAfter(requiredFor(user));
        });
      };
      for (unsigned stream : candidates) {
        if (!keepsUsersOrder(stream) || !keepsLaterOrder(stream, work))
          continue;
        chosen = stream;
        break;
      }
      if (!chosen)
        chosen = addOrTake(candidates);
    } else {
      auto sources =
          getTokenSources(work.getAsyncDependencies(), Through::Floating);
      for (Value source : llvm::reverse(sources))
        addCandidate(source.getDefiningOp());
      // Then where the memory comes from, then anywhere.
      for (Value source : getTokenSources(work.getAsyncDependencies()))
        addCandidate(source.getDefiningOp());
      for (unsigned stream = 0; stream < streams.size(); ++stream)
        if (!streams[stream].external && !items[stream].empty())
          candidates.push_back(stream);
      for (unsigned stream : candidates) {
        if (!keepsLaterOrder(stream, work))
          continue;
        chosen = stream;
        break;
      }
      if (!chosen)
        chosen = stock ? *stock : *(stock = addOrTake(candidates));
    }
    streamOf[work] = *chosen;
    floats[*chosen].push_back({orderOf.lookup(work), requiredFor(work)});
  }
}

LogicalResult StreamAssignment::verify() const {
  WalkResult result = function->walk([&](WorkOpInterface work) {
    auto found = streamOf.find(work.getOperation());
    if (found == streamOf.end() || found->second >= streams.size()) {
      work->emitOpError("has no stream");
      return WalkResult::interrupt();
    }
    if (Value stream = work.getStream()) {
      auto external = stream.getDefiningOp<StreamExternalOp>();
      if (!external ||
          streams[found->second].external != external.getPointer()) {
        work->emitOpError("was moved off its caller's stream");
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void StreamAssignment::print(raw_ostream &os) const {
  for (unsigned stream = 0; stream < streams.size(); ++stream) {
    os << "stream " << stream;
    if (streams[stream].external)
      os << " (caller's " << streams[stream].external << ")";
    os << "\n";
    for (auto [op, number] : streamOf)
      if (number == stream)
        os << "  " << *op << "\n";
  }
}

void StreamAssignment::dump() const { print(llvm::errs()); }
