//===- Ownership.h - made once, consumed once, on every path ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows tokens (linear form), streams and events (stream form) from where
// they are made to where they are consumed, along every path.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMS_OWNERSHIP_H
#define GPUASYNC_ANALYSIS_STREAMS_OWNERSHIP_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <optional>

namespace mlir::gpuasync {

/// What is wrong with one token, stream or event, and where.
struct OwnershipFinding {
  enum Kind {
    /// Nothing consumes it; `at` is the end of a path.
    NeverConsumed,
    /// `at` ends a path that does not consume it; `other` consumes it on
    /// another path.
    LeftAtEnd,
    /// `at` branches, with it alive, to where another path comes after `other`
    /// has consumed it.
    LeftOnBranch,
    /// `at` ends an iteration in which it was made and is not consumed.
    LeftInIteration,
    /// `at` is a way through a region op that does not consume it: the end of a
    /// region, or the op itself where it can enter none. `other` does on
    /// another way.
    LeftInRegion,
    /// `at` consumes it after `other` has, on one path.
    ConsumedTwice,
    /// `at` takes it twice.
    ConsumedTwiceAtOnce,
    /// `at` uses it after `other` has consumed it, on one path.
    UsedAfterConsumed,
    /// `at` consumes it in the loop `other`, which is entered with it alive:
    /// the
    /// second iteration would consume it again.
    ConsumedInLoop,
    /// `at` consumes a stream or event in a region nested in the one that makes
    /// it; `other` is the op that holds the region.
    ConsumedInRegion,
    /// `at` uses it in `other`, an op or a branch whose control flow nothing is
    /// known about.
    UnknownControlFlow,
  };
  Kind kind;
  Value value;
  Operation *at = nullptr;
  Operation *other = nullptr;
};

/// Checks owners one by one: op results and block arguments of type token,
/// stream or event. Every use of a token consumes it. A stream is consumed by
/// its destruction and by a call that takes it, an event by a return, too.
///
/// A path is one through the blocks of the owner's region; a region op on it is
/// entered as its RegionBranchOpInterface says. What a branch forwards is
/// consumed on that edge only. Paths that never end (infinite loops, traps)
/// leak nothing, unreachable blocks are on no path.
///
/// The cost of an owner is in proportion to its uses and to the blocks between
/// them. Not thread safe: keeps the shape of regions it has met, which must not
/// change.
class OwnershipAnalysis {
public:
  OwnershipAnalysis();
  ~OwnershipAnalysis();

  /// The first thing that is wrong with `owner`, if any is.
  std::optional<OwnershipFinding> check(Value owner);

  /// Whether any path leads from the region's entry to the block.
  bool isReachable(Block *block);

private:
  struct RegionShape;
  class Walk;
  llvm::DenseMap<Region *, std::unique_ptr<RegionShape>> shapes;
  const RegionShape &getShape(Region &region);
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMS_OWNERSHIP_H
