//===- PathCover.cpp - a DAG on the fewest waits and streams --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transitive reduction by chains, and two matchings: along edges, then along
// reachability without disturbing the first.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/PathCover.h"
#include "GPUAsync/Analysis/Streams/StreamClocks.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;

static constexpr unsigned none = PathCover::none;

unsigned OrderGraph::addNode(llvm::ArrayRef<unsigned> predecessors) {
  unsigned number = nodes.size();
  nodes.emplace_back().predecessors.assign(predecessors.begin(),
                                           predecessors.end());
  return number;
}

//===----------------------------------------------------------------------===//
// Transitive reduction
//===----------------------------------------------------------------------===//

namespace mlir::gpuasync {
/// Goes through the nodes in order. How far the past of a node reaches is known
/// for each chain as if it were a stream. Chains are those of a greedy cover:
/// few where the graph is narrow, which keeps the clocks short.
class Reduction {
public:
  explicit Reduction(OrderGraph &graph)
      : nodes(graph.nodes), clocks(nodes.size()), points(nodes.size()),
        usesLeft(nodes.size(), 0) {}

  void run() {
    for (OrderGraph::Node &node : nodes)
      for (unsigned predecessor : node.predecessors)
        ++usesLeft[predecessor];
    for (unsigned number = 0; number < nodes.size(); ++number)
      visit(number);
    for (unsigned number = 0; number < nodes.size(); ++number)
      for (unsigned predecessor : nodes[number].predecessors)
        nodes[predecessor].successors.push_back(number);
  }

private:
  std::vector<OrderGraph::Node> &nodes;
  std::vector<StreamClock> clocks;
  std::vector<StreamPoint> points;
  std::vector<unsigned> usesLeft;
  std::vector<unsigned> chainSizes;
  /// By chain: the nodes that will be asked for.
  std::vector<unsigned> numUsed;
  StreamClock host;
  unsigned lastHostWait = none;
  /// Chains that the host has seen the end of.
  std::vector<unsigned> idleChains;

  void release(llvm::ArrayRef<unsigned> predecessors) {
    for (unsigned predecessor : predecessors)
      if (--usesLeft[predecessor] == 0) {
        clocks[predecessor] = StreamClock();
        --numUsed[points[predecessor].stream];
      }
  }

  bool isEnd(StreamPoint point) {
    return chainSizes[point.stream] == point.position;
  }

  unsigned pickChain(llvm::ArrayRef<unsigned> kept, const StreamClock &past) {
    for (unsigned predecessor : kept)
      if (isEnd(points[predecessor]))
        return points[predecessor].stream;
    for (StreamPoint entry : past.get())
      if (isEnd(entry))
        return entry.stream;
    while (!idleChains.empty()) {
      unsigned chain = idleChains.back();
      idleChains.pop_back();
      if (host.covers({chain, chainSizes[chain]}))
        return chain;
    }
    chainSizes.push_back(0);
    numUsed.push_back(0);
    return chainSizes.size() - 1;
  }

  void visit(unsigned number) {
    OrderGraph::Node &node = nodes[number];
    llvm::SmallVector<unsigned, 8> all(node.predecessors.begin(),
                                       node.predecessors.end());
    // The latest first: it may imply the others.
    llvm::sort(all, std::greater<>());
    llvm::SmallVector<unsigned, 8> kept;
    StreamClock past;
    unsigned previous = none;
    for (unsigned predecessor : all) {
      if (predecessor == previous)
        continue;
      previous = predecessor;
      if (host.covers(points[predecessor]) || past.covers(points[predecessor]))
        continue;
      kept.push_back(predecessor);
      past.merge(clocks[predecessor]);
    }
    // What the host knows everyone knows, and chains that have ended are of no
    // interest: clocks stay as short as the graph is wide here.
    past.forgetIf([&](StreamPoint entry) {
      return host.covers(entry) ||
             (numUsed[entry.stream] == 0 && !isEnd(entry));
    });
    unsigned chain = pickChain(kept, past);
    points[number] = {chain, ++chainSizes[chain]};
    past.set(chain, points[number].position);
    numUsed[chain] += usesLeft[number] > 0;
    release(all);
    if (node.isHostWait) {
      host.merge(past);
      host.forgetIf([&](StreamPoint entry) {
        return numUsed[entry.stream] == 0 && !isEnd(entry);
      });
      for (StreamPoint entry : past.get())
        if (isEnd(entry))
          idleChains.push_back(entry.stream);
    }
    // What the host has waited for by now comes before everything later.
    if (lastHostWait != none)
      kept.push_back(lastHostWait);
    if (node.isHostWait)
      lastHostWait = number;
    else
      clocks[number] = std::move(past);
    node.predecessors.assign(kept.rbegin(), kept.rend());
    llvm::sort(node.predecessors);
  }
};
} // namespace mlir::gpuasync

void OrderGraph::reduce() { Reduction(*this).run(); }

//===----------------------------------------------------------------------===//
// Path cover
//===----------------------------------------------------------------------===//

unsigned PathCover::countWaits(const OrderGraph &graph) const {
  unsigned waits = 0;
  for (unsigned number = 0; number < graph.size(); ++number) {
    if (!graph[number].onPath)
      continue;
    for (unsigned successor : graph[number].successors)
      waits += graph[successor].onPath && next[number] != successor;
  }
  return waits;
}

unsigned PathCover::countPaths(const OrderGraph &graph) const {
  unsigned paths = 0;
  for (unsigned number = 0; number < graph.size(); ++number)
    paths += graph[number].onPath && previous[number] == none;
  return paths;
}

namespace {

/// Both matchings by phases of shortest augmenting paths. A search goes from
/// the end of a path to nodes that could follow it, and from there to the end
/// of what precedes them now. In the second matching it also passes through
/// nodes to what is reachable behind them.
class Matching {
public:
  explicit Matching(const OrderGraph &graph) : graph(graph) {
    cover.next.assign(graph.size(), none);
    cover.previous.assign(graph.size(), none);
  }

  PathCover run() {
    while (runPhase()) {
    }
    findVertexCover();
    followsReachable = true;
    while (runPhase()) {
    }
    return std::move(cover);
  }

private:
  const OrderGraph &graph;
  PathCover cover;
  bool followsReachable = false;
  /// The minimum vertex cover of the edges: in `leadCover` the ends that edges
  /// leave, in `followCover` those that they enter.
  std::vector<bool> leadCover, followCover;

  /// A vertex of the search: the end of a path, or a node that is passed.
  struct Vertex {
    unsigned node;
    bool isPassed;
  };
  unsigned indexOf(Vertex vertex) const {
    return vertex.node + (vertex.isPassed ? graph.size() : 0);
  }

  // Of a phase, by `indexOf`.
  std::vector<unsigned> level, arc;
  unsigned lastLevel = none;

  bool isEdge(unsigned lead, unsigned follow) const {
    if (!graph[lead].onPath || !graph[lead].mayLead || !graph[follow].onPath ||
        !graph[follow].mayFollow)
      return false;
    // Only edges that meet the cover at one end are in any maximum matching.
    return !followsReachable || leadCover[lead] != followCover[follow];
  }

  /// Calls `follow` for each node that could come behind `vertex` on its path,
  /// and `pass` for each that can be passed, until one returns true.
  template <typename Follow, typename Pass>
  bool visitArcs(Vertex vertex, unsigned &arcNumber, Follow follow, Pass pass) {
    const OrderGraph::Node &node = graph[vertex.node];
    unsigned numArcs = 2 * node.successors.size();
    while (arcNumber < numArcs) {
      unsigned successor = node.successors[arcNumber / 2];
      bool isStep = arcNumber++ % 2 == 0;
      if (isStep) {
        bool mayFollow = vertex.isPassed ? graph[successor].onPath &&
                                               graph[successor].mayFollow &&
                                               !followCover[successor]
                                         : isEdge(vertex.node, successor);
        if (mayFollow && follow(successor))
          return true;
      } else if (followsReachable &&
                 (vertex.isPassed || !leadCover[vertex.node])) {
        if (pass(successor))
          return true;
      }
    }
    return false;
  }

  /// Numbers what can be reached from the ends of paths by the number of steps
  /// that change. Returns whether a free node is reached.
  bool findLevels() {
    level.assign(2 * graph.size(), none);
    lastLevel = none;
    std::vector<Vertex> current, following;
    for (unsigned node = 0; node < graph.size(); ++node)
      if (graph[node].onPath && graph[node].mayLead &&
          cover.next[node] == none) {
        level[node] = 0;
        current.push_back({node, false});
      }
    for (unsigned depth = 0; !current.empty() && lastLevel == none; ++depth) {
      while (!current.empty()) {
        Vertex vertex = current.back();
        current.pop_back();
        unsigned arcNumber = 0;
        visitArcs(
            vertex, arcNumber,
            [&](unsigned follow) {
              unsigned holder = cover.previous[follow];
              if (holder == none)
                lastLevel = depth;
              else if (level[holder] == none) {
                level[holder] = depth + 1;
                following.push_back({holder, false});
              }
              return false;
            },
            [&](unsigned passed) {
              if (level[graph.size() + passed] == none) {
                level[graph.size() + passed] = depth;
                current.push_back({passed, true});
              }
              return false;
            });
      }
      std::swap(current, following);
    }
    return lastLevel != none;
  }

  /// Looks for a path from `root` along the levels, and changes the steps on
  /// it.
  bool augment(unsigned root) {
    struct Frame {
      Vertex vertex;
      unsigned lead;   ///< the end of a path that the search is at
      unsigned follow; ///< the node that it came through, but for the root
    };
    llvm::SmallVector<Frame, 32> stack;
    stack.push_back({{root, false}, root, none});
    while (!stack.empty()) {
      Frame frame = stack.back();
      unsigned depth = level[indexOf(frame.vertex)];
      unsigned found = none;
      bool goesOn = visitArcs(
          frame.vertex, arc[indexOf(frame.vertex)],
          [&](unsigned follow) {
            unsigned holder = cover.previous[follow];
            if (holder == none) {
              if (depth != lastLevel)
                return false;
              found = follow;
              return true;
            }
            if (level[holder] != depth + 1)
              return false;
            stack.push_back({{holder, false}, holder, follow});
            return true;
          },
          [&](unsigned passed) {
            if (level[graph.size() + passed] != depth)
              return false;
            stack.push_back({{passed, true}, frame.lead, none});
            return true;
          });
      if (!goesOn) {
        // A dead end, for all who come here in this phase.
        stack.pop_back();
        continue;
      }
      if (found == none)
        continue;
      bool isPassedNext = false;
      for (Frame &step : llvm::reverse(stack)) {
        // Other paths may pass where this one did.
        if (isPassedNext)
          --arc[indexOf(step.vertex)];
        isPassedNext = step.vertex.isPassed;
        if (step.vertex.isPassed)
          continue;
        cover.next[step.lead] = found;
        cover.previous[found] = step.lead;
        // Used up: no other path goes through it in this phase.
        level[step.lead] = none;
        found = step.follow;
      }
      return true;
    }
    return false;
  }

  bool runPhase() {
    if (!findLevels())
      return false;
    arc.assign(2 * graph.size(), 0);
    bool any = false;
    for (unsigned node = 0; node < graph.size(); ++node)
      if (level[node] == 0 && cover.next[node] == none)
        any |= augment(node);
    return any;
  }

  /// König: from the ends that no edge of the matching leaves, along edges and
  /// back along the matching.
  void findVertexCover() {
    leadCover.assign(graph.size(), false);
    followCover.assign(graph.size(), false);
    std::vector<bool> reached(graph.size(), false);
    std::vector<unsigned> worklist;
    for (unsigned node = 0; node < graph.size(); ++node)
      if (cover.next[node] == none) {
        reached[node] = true;
        worklist.push_back(node);
      }
    while (!worklist.empty()) {
      unsigned lead = worklist.back();
      worklist.pop_back();
      for (unsigned successor : graph[lead].successors) {
        if (!isEdge(lead, successor) || followCover[successor])
          continue;
        followCover[successor] = true;
        unsigned holder = cover.previous[successor];
        if (holder != none && !reached[holder]) {
          reached[holder] = true;
          worklist.push_back(holder);
        }
      }
    }
    for (unsigned node = 0; node < graph.size(); ++node)
      leadCover[node] = !reached[node];
  }
};

} // namespace

PathCover mlir::gpuasync::computePathCover(const OrderGraph &graph) {
  return Matching(graph).run();
}
