//===- VendorGraph.h - Graphs of cuda and hip -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a NativeGraph points to, and how VendorContext tells a vendor of a
// kernel node.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDOR_VENDORGRAPH_H
#define GPUASYNC_DEVICE_VENDOR_VENDORGRAPH_H

#include "device/vendor/BuiltinKernels.h"
#include "device/vendor/VendorTable.h"

#include <memory>
#include <vector>

namespace gpuasync {

/// Whether the launch has flags or clusters, which the vendors' plain calls and
/// nodes do not take.
inline bool isExtended(const gpuasync_launch_config &block) {
  return block.flags || block.cluster[0] > 1 || block.cluster[1] > 1 ||
         block.cluster[2] > 1;
}

/// A kernel node's arguments; the parameters come in one of two ways.
struct VendorKernelNode {
  FunctionHandle function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
  void **parameters = nullptr;
  void **extra = nullptr;
};

/// The launch of a built-in kernel; the block's parameters are beside it.
struct BuiltinLaunch {
  BuiltinArguments arguments;
  gpuasync_launch_config block = {};
};

/// What a kernel that tells the host of its end takes behind its parameters:
/// GPUASYNC_KERNELS_SIGNAL_SYMBOL.
struct KernelSignal {
  uint32_t *slot = nullptr; ///< null: it tells nobody
  uint64_t *count = nullptr;
  /// Whether it can tell the end of a launch of so many blocks.
  static bool counts(const int64_t *grid) {
    return grid[0] <= INT32_MAX && grid[1] <= INT32_MAX &&
           grid[2] <= INT32_MAX && grid[0] * grid[1] <= INT32_MAX &&
           grid[0] * grid[1] * grid[2] <= INT32_MAX;
  }
  /// Where it lies behind so many bytes.
  static size_t placeAfter(size_t bytes) { return (bytes + 7) & ~size_t(7); }
};

/// What a kernel node is given, in buffers that live while it is.
struct KernelNode {
  VendorKernelNode arguments;
  BuiltinLaunch builtin;
  size_t bytes = 0;
  void *extra[5] = {};
  std::vector<void *> pointers;
  /// The parameters, and a KernelSignal at the end.
  std::vector<unsigned char> signalled;
  KernelSignal signal;
};

struct VendorGraph {
  /// A node of the program's is one node here.
  struct Node {
    GraphNodeHandle handle = nullptr;
    /// A copy node; all others are kernels, or children that were captured.
    bool isCopy = false;
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
  /// Which of VendorContext::signals is this graph's.
  uint32_t signalIndex = noSignal;
  /// The node behind all others that writes to it, or the one of the program's
  /// kernels that comes after all others, which does so itself; null: none.
  GraphNodeHandle signal = nullptr;
  std::unique_ptr<KernelNode> last;
  uint32_t lastIndex = 0; ///< its place in `nodes`
  bool signals = false;   ///< it is enabled
  static constexpr uint32_t noSignal = ~0u;
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_VENDOR_VENDORGRAPH_H
