//===- PrecedingWork.h - what work comes before work ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `after` of work ops, read off the tokens of the linear form.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMS_PRECEDINGWORK_H
#define GPUASYNC_ANALYSIS_STREAMS_PRECEDINGWORK_H

#include "GPUAsync/Analysis/Streams/TokenSources.h"

namespace mlir::gpuasync {

/// Which work is before a work op by the meaning of `after`
/// (gpu-async-assign-streams): whenever the op is enqueued, the latest run of
/// that work is before it. Tokens are followed through forks, joins and control
/// flow. What a token stands for behind an op is found once for each, so that
/// an op costs as much as it has predecessors and loops around it. Valid as
/// long as the function does not change.
class PrecedingWork {
public:
  /// Of more works than that only those count that come last in the text.
  static constexpr size_t maxWorks = 1024;

  PrecedingWork(FunctionOpInterface function, const TokenSources &sources);

  /// The tokens of the works, in the order of the text. Those of calls and of
  /// the function's arguments are among them.
  SmallVector<Value> get(WorkOpInterface user);

private:
  /// Numbers, in ascending order.
  using Numbers = SmallVector<unsigned>;
  /// What tokens stand for at an op: works, and points that are not the same to
  /// all who look at them.
  struct Frontier {
    Numbers works, open;
    /// In any order, until sorted.
    void add(const Frontier &other);
    void sort();
  };
  /// Such a point: what a loop carries, as seen in the loop, and what branches
  /// share of that. It rests on those of lower numbers only.
  struct OpenPoint {
    Operation *op;
    /// What it is at first, or has passed the condition; or that of each
    /// branch, of which what all have counts, and what the branch did.
    SmallVector<Frontier, 0> parts;
    /// The work in the loop that a round hands on to the next one.
    Numbers ofRound;
  };

  void number(Region &region);
  void findBehind(Operation *op);
  const Frontier &ofJoin(WaitOp join);
  Frontier find(ValueRange tokens, Operation *at);
  void add(Value token, Operation *at, Frontier &frontier,
           SmallVectorImpl<WaitOp> *missing);
  Numbers close(const Frontier &frontier, Operation *user, Operation *within);
  Numbers close(const OpenPoint &point, Operation *user,
                const llvm::DenseMap<unsigned, Numbers> &closed) const;
  bool isInside(unsigned work, Operation *op) const;
  bool runsBefore(unsigned work, Operation *user, Operation *loop) const;

  const TokenSources &sources;
  std::vector<Value> works;
  llvm::DenseMap<Value, unsigned> numberOf;
  /// The works in an op with regions: from the first to before the last.
  llvm::DenseMap<Operation *, std::pair<unsigned, unsigned>> inside;
  llvm::DenseMap<Operation *, SmallVector<CarriedToken>> carriedBy;
  std::vector<OpenPoint> points;
  /// By the first name of what is carried.
  llvm::DenseMap<Value, unsigned> pointOf;
  /// What a carried token stands for behind the op.
  llvm::DenseMap<Value, Frontier> behind;
  llvm::DenseMap<Operation *, Frontier> joins;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMS_PRECEDINGWORK_H
