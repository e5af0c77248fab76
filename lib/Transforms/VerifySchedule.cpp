//===- VerifySchedule.cpp - the order of a stream form --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports what the analysis ScheduleOrder finds, with the places that matter.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Transforms/Passes.h"

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "ScheduleErrors.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCVERIFYSCHEDULE
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

/// The first record on the work's stream behind it in its block.
static EventRecordOp getRecordBehind(WorkOpInterface work) {
  EventRecordOp first;
  for (Operation *user : work.getStream().getUsers())
    if (auto record = dyn_cast<EventRecordOp>(user);
        record && record->getBlock() == work->getBlock() &&
        work->isBeforeInBlock(record) &&
        (!first || record->isBeforeInBlock(first)))
      first = record;
  return first;
}

static void noteStream(InFlightDiagnostic &diag, WorkOpInterface work,
                       const Twine &what) {
  diag.attachNote(work.getStream().getLoc()) << what << " is made here";
}

static void emitNotOrdered(WorkOpInterface work, WorkOpInterface other) {
  InFlightDiagnostic diag = work->emitOpError("can start before op ")
                            << *other.getId()
                            << " is done, which its 'after' names: ";
  EventRecordOp record = getRecordBehind(other);
  StreamWaitOp wait;
  if (record)
    for (Operation *user : record.getEvent().getUsers())
      if (auto found = dyn_cast<StreamWaitOp>(user);
          found && found.getStream() == work.getStream())
        wait = found;
  if (!record)
    diag << "no event is recorded behind that op, nor does the host wait for "
            "its stream on every path to here";
  else if (!wait)
    diag << "its stream does not wait on every path for an event behind that "
            "op, nor does the host";
  else
    diag << "its stream does not wait for the event behind that op on every "
            "path to here";
  diag.attachNote(other.getLoc())
      << "op " << *other.getId() << " is enqueued here";
  if (work.getStream() == other.getStream()) {
    noteStream(diag, work, "their stream, made anew between them,");
    return;
  }
  noteStream(diag, other, "the stream of op " + Twine(*other.getId()));
  noteStream(diag, work, "the stream of the op that should wait");
  if (record)
    diag.attachNote(record.getLoc()) << "the event behind that op";
  if (wait)
    diag.attachNote(wait.getLoc()) << "this wait is not on every path";
}

void gpuasync::emitScheduleError(const ScheduleFinding &finding) {
  Operation *at = finding.at;
  switch (finding.kind) {
  case ScheduleFinding::NotOrdered:
    emitNotOrdered(cast<WorkOpInterface>(at),
                   cast<WorkOpInterface>(finding.other));
    return;
  case ScheduleFinding::UnknownId:
    at->emitOpError("comes after op ")
        << finding.id << ", but no op of the function has that id";
    return;
  case ScheduleFinding::DuplicateId: {
    InFlightDiagnostic diag = at->emitOpError("has id ")
                              << finding.id << ", which another op has, too";
    diag.attachNote(finding.other->getLoc()) << "the other op";
    return;
  }
  case ScheduleFinding::NotOnStream:
    at->emitOpError("is on no stream, so that nothing tells its order; "
                    "gpu-async-verify-schedule takes the stream form "
                    "(gpu-async-assign-streams)");
    return;
  case ScheduleFinding::NotIdle: {
    InFlightDiagnostic diag =
        at->emitOpError("says 'idle', but no host wait on every path to here "
                        "covers all of the stream; wait for it "
                        "(gpu_async.stream.synchronize) or drop 'idle'");
    if (finding.other)
      diag.attachNote(finding.other->getLoc())
          << (isa<WorkOpInterface>(finding.other)
                  ? "this work may still run"
                  : "the stream may still wait for this");
    return;
  }
  case ScheduleFinding::LeftOpen: {
    InFlightDiagnostic diag = at->emitOpError(
        "leaves work behind that may still run: no host wait, returned event "
        "or caller's stream covers it on every path to here");
    if (finding.other) {
      auto work = dyn_cast<WorkOpInterface>(finding.other);
      diag.attachNote(finding.other->getLoc())
          << (work ? "this work may still run"
                   : "what this call has left may still run");
      if (work)
        noteStream(diag, work, "its stream");
    }
    return;
  }
  }
}

/// Whether the function has work, streams or events of its own.
static bool hasSchedule(FunctionOpInterface function) {
  return function
      ->walk([](Operation *op) {
        bool has = isa<WorkOpInterface>(op) ||
                   llvm::any_of(op->getResultTypes(),
                                llvm::IsaPred<StreamType, EventType>);
        return has ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct VerifySchedule
    : public gpuasync::impl::GPUAsyncVerifyScheduleBase<VerifySchedule> {
  using Base::Base;

  void runOnOperation() override {
    bool failed = false;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<gpu::GPUModuleOp>(op))
        return WalkResult::skip();
      auto function = dyn_cast<FunctionOpInterface>(op);
      if (!function)
        return WalkResult::advance();
      if (function.isExternal() || !hasSchedule(function))
        return WalkResult::skip();
      for (const ScheduleFinding &finding : findScheduleErrors(function)) {
        emitScheduleError(finding);
        failed = true;
      }
      return WalkResult::skip();
    });
    if (failed)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
