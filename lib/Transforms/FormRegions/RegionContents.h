//===- RegionContents.h - what a region may hold ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to lib/Transforms. Which ops of a function are borders of regions.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_FORMREGIONS_REGIONCONTENTS_H
#define GPUASYNC_LIB_TRANSFORMS_FORMREGIONS_REGIONCONTENTS_H

#include "GPUAsync/Analysis/Memory/KernelBlocking.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::gpuasync::regions {

/// An op that no region holds, and why.
struct Border {
  Operation *at = nullptr;
  StringRef reason;
  /// Of a launch that may block.
  BlockingPoint point = {};
};

/// Whether a call only computes, and ends soon: what that calls included. A
/// region may hold it.
bool onlyComputes(CallOpInterface call);

/// Answers for one function, which must not change meanwhile but for stretches
/// that become regions.
///
/// Of kernels that may block: no region holds one, nor anything on a stream
/// that may still be waiting for one, since all of a region may start only
/// after all that its streams were given before.
class RegionContents {
public:
  RegionContents(FunctionOpInterface function, BlockingTable &kernels);

  /// Nothing if a region may hold `op` and all that is in it.
  std::optional<Border> findBorder(Operation *op);

  /// Ops of device work in `op`; those of loops count twice, since they run
  /// more than once.
  static unsigned countWork(Operation *op);

private:
  /// Streams and events behind which a kernel may block.
  using Blocked = llvm::DenseSet<Value>;
  void flow(Operation *op, Blocked &blocked);
  void flow(Region &region, Blocked &blocked);
  std::optional<Border> findBorderIn(Operation *op);

  FunctionOpInterface function;
  BlockingTable &kernels;
  /// Ops on streams that may be waiting for a kernel that may block.
  llvm::DenseSet<Operation *> behindBlocked;
  llvm::DenseMap<Operation *, std::optional<Border>> borders;
};

} // namespace mlir::gpuasync::regions

#endif // GPUASYNC_LIB_TRANSFORMS_FORMREGIONS_REGIONCONTENTS_H
