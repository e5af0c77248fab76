//===- StreamAssignment.cpp - which stream work runs on -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks become graphs from the inside out, graphs are covered by paths, and
// paths get streams from the outside in.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/StreamAssignment.h"
#include "GPUAsync/Analysis/Streams/StreamClocks.h"
#include "GPUAsync/IR/RegionTokens.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::gpuasync;

static constexpr unsigned none = PathCover::none;

/// Whether there is anything to order in `op`.
static bool hasTokens(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<WorkOpInterface, WaitOp>(inner) ||
                       llvm::any_of(inner->getResults(), isToken) ||
                       llvm::any_of(inner->getOperands(), isToken)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// What a region op makes of one carried token in one block: the name that it
/// has at the start, and the operand that updates it at the end.
struct StreamAssignment::Binding {
  unsigned strand;
  Value in, out;
};

struct StreamAssignment::BlockPlan {
  /// What a node of the graph is; neither for nodes that only carry order.
  struct Item {
    Value point;
    const RegionPlan *regionOp = nullptr;
    unsigned strand = 0;
  };

  OrderGraph graph;
  std::vector<Item> items;
  llvm::DenseMap<Value, unsigned> nodeOf;
  /// Points from elsewhere: their nodes only carry order.
  SmallVector<std::pair<unsigned, Value>> outside;
  std::vector<SmallVector<unsigned>> paths;
  /// By path: the strand that a carried token binds it to, or none.
  SmallVector<unsigned> boundTo;
  SmallVector<std::unique_ptr<RegionPlan>> regionOps;

  unsigned addNode(ArrayRef<unsigned> predecessors, Item item) {
    items.push_back(item);
    return graph.addNode(predecessors);
  }
  unsigned addOrder(ArrayRef<unsigned> predecessors) {
    unsigned node = addNode(predecessors, {});
    graph[node].onPath = false;
    return node;
  }
  SmallVector<unsigned> getNodes(const llvm::SetVector<Value> &points) {
    SmallVector<unsigned> nodes;
    for (Value point : points) {
      auto known = nodeOf.find(point);
      if (known == nodeOf.end()) {
        known = nodeOf.try_emplace(point, addOrder({})).first;
        outside.push_back({known->second, point});
      }
      nodes.push_back(known->second);
    }
    return nodes;
  }

  void coverByPaths(ArrayRef<std::pair<unsigned, unsigned>> ends,
                    ArrayRef<Binding> bindings);
  llvm::BitVector getPast(ArrayRef<unsigned> nodes) const;
  SmallVector<unsigned> pack(unsigned maxStreams) const;
};

struct StreamAssignment::RegionPlan {
  Operation *op;
  SmallVector<std::unique_ptr<BlockPlan>> blocks;
  /// By block, by path.
  SmallVector<SmallVector<unsigned>> strandOf;
  /// By strand: the carried tokens bound to it.
  SmallVector<SmallVector<Value, 1>> carried;
  /// By strand: what has to come before it, from outside of the op.
  SmallVector<llvm::SetVector<Value>> needs;
};

/// The nodes and all that come before them.
llvm::BitVector
StreamAssignment::BlockPlan::getPast(ArrayRef<unsigned> nodes) const {
  llvm::BitVector past(graph.size());
  SmallVector<unsigned> worklist(nodes);
  while (!worklist.empty()) {
    unsigned node = worklist.pop_back_val();
    if (past[node])
      continue;
    past.set(node);
    llvm::append_range(worklist, graph[node].predecessors);
  }
  return past;
}

/// Covers the graph; then each binding's name and update are on one path, the
/// name first, the update last. `ends` are their nodes.
void StreamAssignment::BlockPlan::coverByPaths(
    ArrayRef<std::pair<unsigned, unsigned>> ends, ArrayRef<Binding> bindings) {
  graph.reduce();
  PathCover cover = computePathCover(graph);
  std::vector<unsigned> pathOf(graph.size(), none);
  for (unsigned node = 0; node < graph.size(); ++node) {
    if (!graph[node].onPath || cover.previous[node] != none)
      continue;
    SmallVector<unsigned> &path = paths.emplace_back();
    for (unsigned next = node; next != none; next = cover.next[next]) {
      path.push_back(next);
      pathOf[next] = paths.size() - 1;
    }
  }

  auto headOf = [&](unsigned path) { return paths[path].front(); };
  SmallVector<std::pair<unsigned, unsigned>> apart; // name, update
  for (auto [in, out] : ends) {
    if (out == none)
      continue;
    unsigned path = pathOf[out];
    bool fits = in != none ? pathOf[in] == path : graph[headOf(path)].mayFollow;
    if (fits)
      continue;
    paths[path].pop_back();
    apart.push_back({in, out});
  }
  for (auto [in, out] : apart) {
    if (in == none) {
      pathOf[out] = paths.size();
      paths.push_back({out});
      continue;
    }
    // What the update does not come after goes elsewhere, so that nobody who
    // waits for the update waits for it.
    SmallVector<unsigned> rest;
    SmallVector<unsigned> &path = paths[pathOf[in]];
    llvm::BitVector past = getPast(out);
    while (path.size() > 1 && !past[path.back()])
      rest.push_back(path.pop_back_val());
    path.push_back(out);
    pathOf[out] = pathOf[in];
    if (rest.empty())
      continue;
    for (unsigned node : rest)
      pathOf[node] = paths.size();
    paths.emplace_back(rest.rbegin(), rest.rend());
  }

  boundTo.assign(paths.size(), none);
  for (auto [binding, nodes] : llvm::zip_equal(bindings, ends))
    boundTo[pathOf[nodes.second != none ? nodes.second : nodes.first]] =
        binding.strand;
}

std::unique_ptr<StreamAssignment::BlockPlan>
StreamAssignment::plan(Block &block, ArrayRef<Binding> bindings) {
  auto result = std::make_unique<BlockPlan>();
  BlockPlan &plan = *result;
  SmallVector<std::pair<unsigned, unsigned>> ends;
  for (const Binding &binding : bindings) {
    unsigned in = none;
    if (binding.in) {
      in = plan.addNode({}, {binding.in});
      plan.graph[in].mayFollow = false;
      plan.nodeOf[binding.in] = in;
    }
    ends.push_back({in, none});
  }

  llvm::DenseMap<unsigned, unsigned> lastExternal;
  for (Operation &op : block) {
    if (auto wait = dyn_cast<WaitOp>(op)) {
      ValueRange tokens = wait.getAsyncDependencies();
      if (wait.isHostWait()) {
        SmallVector<unsigned> predecessors =
            plan.getNodes(sources.getExpanded(tokens, Through::Floating));
        if (!predecessors.empty())
          plan.graph[plan.addOrder(predecessors)].isHostWait = true;
      } else if (sources.isKept(wait)) {
        SmallVector<unsigned> predecessors =
            plan.getNodes(sources.get(tokens, Through::Floating));
        plan.nodeOf[wait.getAsyncToken()] =
            plan.addNode(predecessors, {wait.getAsyncToken()});
      }
      continue;
    }
    if (auto work = dyn_cast<WorkOpInterface>(op)) {
      if (!work.takesDeviceTime())
        continue;
      SmallVector<unsigned> predecessors = plan.getNodes(
          sources.get(work.getAsyncDependencies(), Through::Floating));
      Value token = work.getAsyncToken();
      if (Value stream = work.getStream()) {
        unsigned number = getExternalStream(stream);
        streamOf[token] = number;
        auto [last, isFirst] = lastExternal.try_emplace(number, 0);
        if (!isFirst)
          predecessors.push_back(last->second);
        plan.nodeOf[token] = last->second = plan.addOrder(predecessors);
      } else {
        plan.nodeOf[token] = plan.addNode(predecessors, {token});
      }
      continue;
    }
    if (op.getNumRegions() && hasTokens(&op))
      planRegionOp(&op, plan);
  }

  for (auto [binding, nodes] : llvm::zip_equal(bindings, ends)) {
    if (!binding.out)
      continue;
    SmallVector<unsigned> predecessors =
        plan.getNodes(sources.get(binding.out, Through::Floating));
    nodes.second = plan.addNode(predecessors, {});
    plan.graph[nodes.second].mayLead = false;
  }
  plan.coverByPaths(ends, bindings);
  return result;
}

/// Plans the regions of `op` and adds its strands to `parent`.
void StreamAssignment::planRegionOp(Operation *op, BlockPlan &parent) {
  auto owned = std::make_unique<RegionPlan>();
  RegionPlan &plan = *owned;
  plan.op = op;
  SmallVector<Block *> blocks;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      blocks.push_back(&block);

  // Strands of carried tokens.
  SmallVector<SmallVector<Binding>> bindings(blocks.size());
  auto addStrand = [&] {
    plan.carried.emplace_back();
    plan.needs.emplace_back();
  };
  // Of the strand added last, in a block.
  auto bind = [&](unsigned block) -> Binding & {
    unsigned strand = plan.carried.size() - 1;
    if (!bindings[block].empty() && bindings[block].back().strand == strand)
      return bindings[block].back();
    return bindings[block].emplace_back(Binding{strand, {}, {}});
  };
  SmallVector<CarriedToken> all;
  for (CarriedToken &carried : getCarriedTokens(op))
    if (sources.isPoint(carried.names.front()) && sources.isNeeded(carried))
      all.push_back(std::move(carried));
  if (isa<scf::WhileOp>(op)) {
    // The condition hands a token on under another name: on the same strand,
    // if it is the token that came in, or else in the same place.
    SmallVector<CarriedToken *> entering, leaving;
    for (CarriedToken &carried : all)
      (carried.init ? entering : leaving).push_back(&carried);
    llvm::DenseMap<CarriedToken *, CarriedToken *> partner;
    llvm::DenseSet<CarriedToken *> taken;
    auto pair = [&](CarriedToken *in, CarriedToken *out) {
      if (!partner.count(in) && taken.insert(out).second)
        partner[in] = out;
    };
    for (CarriedToken *out : leaving) {
      auto points = sources.get(out->updates.front(), Through::Floating);
      for (CarriedToken *in : entering)
        if (points.size() == 1 && points.front() == in->names.front())
          pair(in, out);
    }
    if (entering.size() == leaving.size())
      for (auto [in, out] : llvm::zip_equal(entering, leaving))
        pair(in, out);
    auto addLeaving = [&](CarriedToken *out) {
      bind(0).out = out->updates.front();
      bind(1).in = out->names.front();
      plan.carried.back().push_back(out->names.front());
    };
    for (CarriedToken *in : entering) {
      addStrand();
      bind(0).in = in->names.front();
      bind(1).out = in->updates.front();
      plan.carried.back().push_back(in->names.front());
      plan.needs.back() = sources.get(in->init, Through::Floating);
      if (CarriedToken *out = partner.lookup(in))
        addLeaving(out);
    }
    for (CarriedToken *out : leaving)
      if (!taken.contains(out)) {
        addStrand();
        addLeaving(out);
      }
  } else {
    for (CarriedToken &carried : all) {
      addStrand();
      plan.carried.back().push_back(carried.names.front());
      for (unsigned block = 0; block < blocks.size(); ++block) {
        Binding &binding = bind(block);
        binding.out = carried.updates[block];
        if (carried.init)
          binding.in = carried.names.front();
      }
      if (carried.init)
        plan.needs.back() = sources.get(carried.init, Through::Floating);
    }
  }
  unsigned numBound = plan.carried.size();

  // The other paths of the regions: one over the other if only one region runs.
  unsigned numAll = numBound;
  for (auto [block, bound] : llvm::zip_equal(blocks, bindings)) {
    plan.blocks.push_back(this->plan(*block, bound));
    SmallVector<unsigned> &strandOf = plan.strandOf.emplace_back();
    unsigned next = isTokenLoop(op) ? numAll : numBound;
    for (auto [path, boundTo] : llvm::enumerate(plan.blocks.back()->boundTo)) {
      bool isEmpty = plan.blocks.back()->paths[path].empty();
      strandOf.push_back(boundTo != none ? boundTo : isEmpty ? none : next++);
    }
    numAll = std::max(numAll, next);
  }
  while (plan.carried.size() < numAll)
    addStrand();

  // What a strand needs before its first op, and whether the host has waited
  // for all of it when the region ends.
  SmallVector<bool> isKnown(numAll, false), isDone(numAll, true);
  llvm::DenseSet<Value> comeIn;
  for (const CarriedToken &carried : all)
    if (carried.init)
      comeIn.insert(carried.names.front());
  for (unsigned strand = 0; strand < numBound; ++strand)
    isKnown[strand] = llvm::any_of(plan.carried[strand], [&](Value point) {
      return comeIn.contains(point);
    });
  for (auto [block, strandOf] : llvm::zip_equal(plan.blocks, plan.strandOf)) {
    SmallVector<unsigned> hostWaits;
    for (unsigned node = 0; node < block->graph.size(); ++node)
      if (block->graph[node].isHostWait)
        hostWaits.push_back(node);
    llvm::BitVector done = block->getPast(hostWaits);
    for (auto [path, strand] : llvm::enumerate(strandOf)) {
      if (strand == none)
        continue;
      const SmallVector<unsigned> &nodes = block->paths[path];
      if (!done[nodes.back()])
        isDone[strand] = false;
      if (isTokenLoop(op) && isKnown[strand])
        continue;
      llvm::SetVector<Value> needs;
      if (!block->outside.empty()) {
        llvm::BitVector past = block->getPast(nodes.front());
        for (auto [node, point] : block->outside)
          if (past[node] && !isInside(point, op))
            needs.insert(point);
      }
      if (isKnown[strand])
        plan.needs[strand].remove_if(
            [&](Value point) { return !needs.contains(point); });
      else
        plan.needs[strand] = std::move(needs);
      isKnown[strand] = true;
    }
  }
  SmallVector<unsigned> doneStrands;
  for (unsigned strand = 0; strand < numAll; ++strand) {
    SmallVector<unsigned> predecessors = parent.getNodes(plan.needs[strand]);
    unsigned node = parent.addNode(predecessors, {Value(), &plan, strand});
    for (Value point : plan.carried[strand])
      parent.nodeOf[point] = node;
    // Where the regions may not run, the host has not waited for what the
    // strand comes after.
    if (isDone[strand] && plan.needs[strand].empty())
      doneStrands.push_back(node);
  }
  if (!doneStrands.empty())
    parent.graph[parent.addOrder(doneStrands)].isHostWait = true;
  parent.regionOps.push_back(std::move(owned));
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// Deals the nodes out to `maxStreams` streams in program order.
SmallVector<unsigned>
StreamAssignment::BlockPlan::pack(unsigned maxStreams) const {
  unsigned size = graph.size();
  std::vector<unsigned> before(size, none), after(size, none);
  for (const SmallVector<unsigned> &path : paths)
    for (unsigned i = 1; i < path.size(); ++i) {
      before[path[i]] = path[i - 1];
      after[path[i - 1]] = path[i];
    }
  // The longest way to the end, in ops.
  std::vector<unsigned> rest(size, 0);
  for (unsigned node = size; node-- > 0;)
    for (unsigned successor : graph[node].successors)
      rest[node] = std::max(rest[node], rest[successor] + graph[node].onPath);

  SmallVector<unsigned> stream(size, none);
  // How far each stream is known to have come when a node has run.
  std::vector<StreamClock> clocks(size);
  std::vector<unsigned> finish(size, 0);
  struct State {
    unsigned count = 0, last = none, finish = 0;
  };
  SmallVector<State> streams;
  for (unsigned node = 0; node < size; ++node) {
    StreamClock &clock = clocks[node];
    unsigned start = 0;
    for (unsigned predecessor : graph[node].predecessors) {
      start = std::max(start, finish[predecessor]);
      clock.merge(clocks[predecessor]);
    }
    finish[node] = start;
    if (!graph[node].onPath)
      continue;
    // In this order: behind its predecessor on the path, where no order is
    // added and no path goes on, a new stream, where no order is added, where
    // it can start first.
    unsigned best = none;
    std::tuple<unsigned, unsigned, unsigned> bestCost;
    for (auto [number, state] : llvm::enumerate(streams)) {
      bool addsOrder = clock[number] < state.count;
      unsigned following = after[state.last];
      bool goesOn = following != none && following > node;
      unsigned kind = state.last == before[node] && before[node] != none ? 0
                      : !addsOrder && !goesOn                            ? 1
                      : !addsOrder                                       ? 3
                                                                         : 4;
      std::tuple<unsigned, unsigned, unsigned> cost(
          kind, std::max(start, state.finish), goesOn ? rest[following] : 0);
      if (best == none || cost < bestCost) {
        best = number;
        bestCost = cost;
      }
    }
    if ((best == none || std::get<0>(bestCost) > 2) &&
        streams.size() < maxStreams) {
      best = streams.size();
      streams.emplace_back();
    }
    State &state = streams[best];
    if (state.last != none)
      clock.merge(clocks[state.last]);
    clock.set(best, ++state.count);
    state.last = node;
    state.finish = finish[node] = std::max(start, state.finish) + 1;
    stream[node] = best;
  }
  return stream;
}

StreamAssignment::StreamAssignment(FunctionOpInterface function,
                                   const TokenSources &sources,
                                   unsigned maxStreams)
    : function(function), sources(sources) {
  std::unique_ptr<BlockPlan> body =
      plan(function.getFunctionBody().front(), {});
  SmallVector<unsigned> streamOfNode;
  unsigned count = body->paths.size();
  if (maxStreams && count > maxStreams) {
    streamOfNode = body->pack(maxStreams);
    count = maxStreams;
  } else {
    streamOfNode.assign(body->graph.size(), none);
    for (auto [number, path] : llvm::enumerate(body->paths))
      for (unsigned node : path)
        streamOfNode[node] = number;
  }
  // Callers' streams were numbered first.
  unsigned first = streams.size();
  streams.resize(first + count);
  for (unsigned &number : streamOfNode)
    if (number != none)
      number += first;
  place(*body, streamOfNode);
}

StreamAssignment::~StreamAssignment() = default;

unsigned StreamAssignment::getExternalStream(Value stream) {
  Value pointer = stream.getDefiningOp<StreamExternalOp>().getPointer();
  for (auto [number, known] : llvm::enumerate(streams))
    if (known.external == pointer)
      return number;
  streams.push_back({pointer});
  return streams.size() - 1;
}

void StreamAssignment::place(const BlockPlan &plan,
                             ArrayRef<unsigned> streamOfNode) {
  llvm::MapVector<const RegionPlan *, SmallVector<unsigned>> strands;
  for (auto [node, item] : llvm::enumerate(plan.items)) {
    if (item.point)
      streamOf[item.point] = streamOfNode[node];
    if (!item.regionOp)
      continue;
    SmallVector<unsigned> &ofOp = strands[item.regionOp];
    ofOp.resize(item.regionOp->carried.size());
    ofOp[item.strand] = streamOfNode[node];
  }
  for (auto &[regionOp, streamOfStrand] : strands) {
    for (auto [strand, stream] : llvm::enumerate(streamOfStrand)) {
      for (Value point : regionOp->carried[strand])
        streamOf[point] = stream;
      if (isTokenLoop(regionOp->op))
        for (Value point : regionOp->needs[strand])
          entryWaits[regionOp->op].push_back({stream, point});
    }
    for (auto [block, strandOf] :
         llvm::zip_equal(regionOp->blocks, regionOp->strandOf)) {
      SmallVector<unsigned> streamOfInner(block->graph.size(), none);
      for (auto [path, strand] : llvm::enumerate(strandOf))
        for (unsigned node : block->paths[path])
          streamOfInner[node] = streamOfStrand[strand];
      place(*block, streamOfInner);
    }
  }
}

ArrayRef<StreamAssignment::EntryWait>
StreamAssignment::getEntryWaits(Operation *loop) const {
  auto found = entryWaits.find(loop);
  return found == entryWaits.end() ? ArrayRef<EntryWait>() : found->second;
}

LogicalResult StreamAssignment::verify() const {
  WalkResult result = function->walk([&](WorkOpInterface work) {
    if (!work.takesDeviceTime())
      return WalkResult::advance();
    auto found = streamOf.find(work.getAsyncToken());
    if (found == streamOf.end() || found->second >= streams.size()) {
      work->emitOpError("has no stream");
      return WalkResult::interrupt();
    }
    Value external = streams[found->second].external;
    Value stream = work.getStream();
    if (stream
            ? external != stream.getDefiningOp<StreamExternalOp>().getPointer()
            : static_cast<bool>(external)) {
      work->emitOpError("is not on its own stream");
      return WalkResult::interrupt();
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
    for (auto [point, number] : streamOf)
      if (number == stream)
        os << "  " << point << "\n";
  }
}

void StreamAssignment::dump() const { print(llvm::errs()); }
