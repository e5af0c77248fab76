//===- PrecedingWork.h - what work comes before work ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `after` of work ops, read off the tokens of the linear form.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMS_PRECEDINGWORK_H
#define GPUASYNC_ANALYSIS_STREAMS_PRECEDINGWORK_H

#include "GPUAsync/Analysis/Streams/HappensBefore.h"

namespace mlir::gpuasync {

/// Which work is before a work op by the meaning of `after`
/// (gpu-async-assign-streams): whenever the op is enqueued, the latest run of
/// that work is before it.
class PrecedingWork : public HappensBefore<NamedItems> {
public:
  explicit PrecedingWork(FunctionOpInterface function)
      : HappensBefore(function) {
    run();
  }

  /// The works in program order.
  SmallVector<Operation *> get(Operation *user) const;

private:
  bool addItem(Operation *op) override;
  bool isPassed(Operation *item) override;
  void visit(Operation *op, const NamedItems &before) override;
  bool runsBefore(Operation *work, Operation *user, Operation *loop) const;

  llvm::DenseMap<Operation *, NamedItems> worksBefore;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMS_PRECEDINGWORK_H
