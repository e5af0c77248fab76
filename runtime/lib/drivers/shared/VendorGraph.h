//===- VendorGraph.h - Graphs of cuda and hip -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a NativeGraph points to, and how VendorContext tells a vendor of a
// kernel node.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DRIVERS_SHARED_VENDORGRAPH_H
#define GPUASYNC_DRIVERS_SHARED_VENDORGRAPH_H

#include "drivers/shared/VendorTable.h"

#include <vector>

namespace gpuasync {

/// A kernel node's arguments; the parameters come in one of two ways.
struct VendorKernelNode {
  FunctionHandle function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
  void **parameters = nullptr;
  void **extra = nullptr;
};

struct VendorGraph {
  /// A node of the program's is one node here.
  struct Node {
    GraphNodeHandle handle = nullptr;
    bool isCopy = false; ///< a copy node; all others are kernels
    /// Of a copy node: the side of its last update that is no host memory.
    const void *device = nullptr;
    bool enabled = true;
    /// It is made ready before one that it comes after has ended, or one that
    /// comes after it is: it cannot be disabled.
    bool overlaps = false;
    // Of a launch: what no update changes.
    uint32_t flags = 0;
    int64_t cluster[3] = {};
  };
  /// Stays as long as what is made of it: its nodes are the names by which
  /// those of the executable are updated.
  GraphHandle graph = nullptr;
  GraphExecHandle executable = nullptr;
  std::vector<Node> nodes;
  /// Nodes are such that updates change all but flags and clusters: copies are
  /// kernels, none of which overlap.
  bool takesAnyUpdate = false;
  /// Which of VendorContext::signals is this graph's, and the node behind all
  /// others that writes to it; null: none.
  uint32_t signalIndex = noSignal;
  GraphNodeHandle signal = nullptr;
  bool signals = false; ///< it is enabled
  static constexpr uint32_t noSignal = ~0u;
};

} // namespace gpuasync

#endif // GPUASYNC_DRIVERS_SHARED_VENDORGRAPH_H
