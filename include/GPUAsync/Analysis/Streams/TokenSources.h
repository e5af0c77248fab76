//===- TokenSources.h - the points that tokens stand for --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows tokens of the linear form back through forks, joins and structured
// control flow to the points of the device's work that they stand for.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMS_TOKENSOURCES_H
#define GPUASYNC_ANALYSIS_STREAMS_TOKENSOURCES_H

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync {

/// Which work stands for what comes before it, besides forks and joins.
enum class Through {
  Nothing,
  /// What no one waits for: frees, and host-shared allocations, which are there
  /// once they have been enqueued.
  Unwaited,
  /// All allocations and frees: what takes device time remains.
  Floating,
};

/// A value of token type that a region op hands on from region to region: each
/// time around a loop, or out of a branch.
struct CarriedToken {
  /// Where it is seen: block arguments and the op's result.
  SmallVector<Value, 2> names;
  /// What it is at first, null but for loops.
  Value init;
  /// Operands of terminators that set it.
  SmallVector<Value, 2> updates;
};

/// The region op whose region `block` is, or null for a function's body.
Operation *getRegionOp(Block *block);

/// Whether `value` is made in a region of `op`, or is an argument of one.
bool isInside(Value value, Operation *op);

/// The region op that carries the token, null for other tokens.
Operation *getCarrier(Value token);

/// The tokens that `op`, an scf.for, an scf.while or an op whose regions run at
/// most once, hands on. Those of an scf.while are the ones that enter the
/// condition, then those that leave it.
SmallVector<CarriedToken> getCarriedTokens(Operation *op);

/// A *point* is one of: the token of a work op, of a join that is kept, of a
/// call, of the function's arguments; or the first name of a token that control
/// flow carries. Tokens that a loop carries unchanged, and that leave a branch
/// as they entered it, are no points of their own. Results are valid as long as
/// the function does not change.
class TokenSources {
public:
  explicit TokenSources(FunctionOpInterface function) : function(function) {}

  /// The points that `tokens` stand for, in a deterministic order. Ready tokens
  /// stand for none.
  llvm::SetVector<Value> get(ValueRange tokens, Through through) const;

  /// Makes the join a point of its own.
  void keep(WaitOp join);
  bool isKept(WaitOp join) const { return kept.contains(join); }
  /// The same, without looking at kept joins.
  llvm::SetVector<Value> getExpanded(ValueRange tokens, Through through) const;

  /// Whether an op other than gpu_async.release takes the carried token, here
  /// or on another way round.
  bool isNeeded(const CarriedToken &carried) const;
  /// Whether `name`, the first one of a carried token, is a point: it is not if
  /// the token always is another one.
  bool isPoint(Value name) const;

private:
  mutable FunctionOpInterface function;
  llvm::DenseSet<Operation *> kept;
  /// What each region op carries, inner ones first; each by its first name.
  mutable llvm::MapVector<Operation *, SmallVector<CarriedToken>> carriedBy;
  mutable llvm::DenseMap<Value, const CarriedToken *> carriedAs;
  /// For a name of a carried token: what it stands for.
  mutable llvm::DenseMap<Value, SmallVector<Value, 1>> meaning;
  mutable bool isAnalyzed = false, hasNeeds = false;
  mutable llvm::DenseSet<Value> needed;

  void analyzeAll() const;
  void analyze(Operation *regionOp, ArrayRef<CarriedToken> all) const;
  void findNeeds() const;
  void resolve(ValueRange tokens, Through through, bool expandKept,
               llvm::SetVector<Value> &points) const;
  /// The carried token of that first name, null for other values.
  const CarriedToken *getCarried(Value name) const {
    return carriedAs.lookup(name);
  }
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMS_TOKENSOURCES_H
