//===- PathCover.h - a DAG on the fewest waits and streams ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Covers a DAG by paths: few waits between paths first, then few paths. Plain
// graphs, no IR.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMS_PATHCOVER_H
#define GPUASYNC_ANALYSIS_STREAMS_PATHCOVER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace mlir::gpuasync {

/// A DAG whose nodes are numbered in a topological order: an edge leads from a
/// lower number to a higher one.
class OrderGraph {
public:
  struct Node {
    llvm::SmallVector<unsigned, 2> predecessors;
    llvm::SmallVector<unsigned, 2> successors;
    /// Whether the node is an element of a path. Others only carry order.
    bool onPath = true;
    /// Whether another node may come before, or behind, it on its path.
    bool mayFollow = true, mayLead = true;
    /// The host waits for the node's predecessors: all later nodes start after
    /// them. It has no edges to those.
    bool isHostWait = false;
  };

  unsigned addNode(llvm::ArrayRef<unsigned> predecessors);
  Node &operator[](unsigned number) { return nodes[number]; }
  const Node &operator[](unsigned number) const { return nodes[number]; }
  unsigned size() const { return nodes.size(); }

  /// Removes the edges that others imply, or a host wait before the later node,
  /// and adds what is needed of host waits as edges. Takes time and memory
  /// proportional to edges times the number of chains that are open at a time.
  void reduce();

private:
  std::vector<Node> nodes;
  friend class Reduction;
};

/// Paths through a DAG such that each node with `onPath` is on exactly one and
/// each node comes after the one before it on its path by the DAG's order (not
/// necessarily by an edge).
struct PathCover {
  static constexpr unsigned none = ~0u;
  /// The neighbours on the path.
  std::vector<unsigned> next, previous;

  /// The edges between nodes on paths that are not steps of a path: an event
  /// and a wait each.
  unsigned countWaits(const OrderGraph &graph) const;
  unsigned countPaths(const OrderGraph &graph) const;
};

/// The cover of a reduced graph with the fewest waits, and of those the fewest
/// paths.
///
/// Steps along edges are a matching of the edges' ends, so that the fewest
/// waits are a maximum matching (Hopcroft and Karp 1973). A minimum vertex
/// cover (König 1931) then says which edges and nodes any maximum matching has
/// to use; among those, steps to nodes that are reachable, but not by an edge,
/// are added by augmenting paths that keep the matching maximum. Reachability
/// is searched, its closure never built. Takes O(edges * sqrt(nodes)) time.
PathCover computePathCover(const OrderGraph &graph);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMS_PATHCOVER_H
