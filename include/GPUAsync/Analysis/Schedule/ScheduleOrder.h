//===- ScheduleOrder.h - does a stream form keep its order? -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves on a function in stream form that each op runs after the ops that its
// `after` names, that `idle` holds and that a return leaves no work open.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_SCHEDULE_SCHEDULEORDER_H
#define GPUASYNC_ANALYSIS_SCHEDULE_SCHEDULEORDER_H

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::gpuasync {

/// One thing that a schedule does not keep.
struct ScheduleFinding {
  enum Kind {
    /// Work `at` may start before the latest run of `other`, which its `after`
    /// names.
    NotOrdered,
    /// The `after` of work `at` names `id`, which no op of the function has.
    UnknownId,
    /// Works `other` and `at` have one id.
    DuplicateId,
    /// Work `at` is on no stream, so that nothing is known about its order.
    NotOnStream,
    /// `at` gives back, as idle, a stream on which `other` may still run.
    NotIdle,
    /// `at` returns while `other` may still run, work or a call that returned
    /// an
    /// event; no host wait, returned event or caller's stream covers it.
    LeftOpen,
  };
  Kind kind;
  Operation *at;
  Operation *other = nullptr;
  uint64_t id = 0;
};

/// Works on streams with one id, and ids in `after` that no work has, in
/// program order.
SmallVector<ScheduleFinding> findIdErrors(FunctionOpInterface function);

/// All that the function's schedule does not keep, in program order of `at`.
///
/// The meaning of `after`: whenever work v with after=[u] is enqueued, and u
/// has run since the last entry (not iteration) of the outermost region op that
/// contains u but not v, or since the function was entered if there is none,
/// then the latest run of u is before v. A free and a host-shared allocation
/// count as done once they are enqueued: nobody waits for them.
///
/// A forward dataflow. For each holder of a past (stream, event, host) it keeps
/// the set of works whose latest run may not be in that past: united where
/// paths meet, up to a fixpoint in loops. What a stream waits for, and what the
/// host waits for before it enqueues, goes out of the set. Calls order nothing,
/// and the events that they return stand for no work of the function.
///
/// The sets of different holders are not correlated: an order that holds by one
/// stream on one path and by another one on another path is not seen.
///
/// A work has a bit only from where it runs to the last work that names it, so
/// that sets stay as small as the schedule is wide; in a loop, or a function of
/// several blocks, to its end.
SmallVector<ScheduleFinding> findScheduleErrors(FunctionOpInterface function);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_SCHEDULE_SCHEDULEORDER_H
