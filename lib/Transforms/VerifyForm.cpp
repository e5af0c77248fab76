//===- VerifyForm.cpp - the invariants of the forms of IR -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the op verifiers cannot see: which ops belong to a form, and that
// tokens, streams and events are made once and consumed once on every path.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Transforms/Passes.h"

#include "FormRegions/RegionContents.h"
#include "GPUAsync/Analysis/Streams/Ownership.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/IR/RegionTokens.h"
#include "ScheduleErrors.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCVERIFYFORM
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

template <typename Type>
static bool has(TypeRange types) {
  return llvm::any_of(types, llvm::IsaPred<Type>);
}

template <typename Type>
static bool hasAnywhere(Operation *op) {
  if (has<Type>(op->getOperandTypes()) || has<Type>(op->getResultTypes()))
    return true;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (has<Type>(block.getArgumentTypes()))
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Which ops belong to a form
//===----------------------------------------------------------------------===//

static LogicalResult verifyTokenOps(Operation *op) {
  if (isUpstreamOp(op))
    return op->emitOpError("does not belong to the token and linear forms; "
                           "import it with convert-gpu-to-gpu-async");
  if (isStreamFormOp(op))
    return op->emitOpError("belongs to the stream form");
  auto work = dyn_cast<WorkOpInterface>(op);
  if (!work)
    return success();
  if (!work.getAsyncToken())
    return op->emitOpError("makes no token; in the token and linear forms work "
                           "is 'async' (gpu-async-infer-dependencies makes it "
                           "so)");
  if (work.getStream() && !work.getStream().getDefiningOp<StreamExternalOp>())
    return op->emitOpError("is on a stream that is not a caller's");
  return success();
}

/// What runs on the host in a region does so while nothing has started yet.
static LogicalResult verifyRegion(RegionOp region) {
  if (!region.getBody().hasOneBlock())
    return region.emitOpError("has a control-flow graph; in the stream form a "
                              "region is one block");
  WalkResult result = region.getBody().walk([&](Operation *op) {
    if (isAsyncOp(op) ||
        isa_and_nonnull<nvgpu::NVGPUDialect>(op->getDialect()) ||
        op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
        isMemoryEffectFree(op))
      return WalkResult::advance();
    if (auto call = dyn_cast<CallOpInterface>(op);
        call && regions::onlyComputes(call))
      return WalkResult::advance();
    InFlightDiagnostic diag = region.emitOpError("holds '")
                              << op->getName()
                              << "', which no region may: the host touches no "
                                 "memory there, and calls what only computes";
    diag.attachNote(op->getLoc()) << "the op is here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult verifyStreamOps(Operation *op) {
  if (auto region = dyn_cast<RegionOp>(op);
      region && failed(verifyRegion(region)))
    return failure();
  if (auto work = dyn_cast<WorkOpInterface>(op);
      work && !work.getStream() && !work.getAsyncToken())
    return op->emitOpError("is on no stream; in the stream form work is 'on' "
                           "one (gpu-async-assign-streams)");
  if (isUpstreamOp(op))
    return op->emitOpError("does not belong to the stream form");
  if (isa<WaitOp, ForkOp, ReleaseOp>(op) || hasAnywhere<TokenType>(op))
    return op->emitOpError("has a token; in the stream form work is ordered by "
                           "streams and events (gpu-async-assign-streams)");
  // What goes through another op could be destroyed under two names.
  bool owns = (isAsyncOp(op) && !isa<RegionOp, YieldOp>(op)) ||
              isa<CallOpInterface, FunctionOpInterface>(op) ||
              (op->hasTrait<OpTrait::ReturnLike>() &&
               isa<FunctionOpInterface>(op->getParentOp()) &&
               !has<StreamType>(op->getOperandTypes()));
  if (owns || (!hasAnywhere<StreamType>(op) && !hasAnywhere<EventType>(op)))
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("has a stream or an event, which do not go through "
                      "control flow or ops other than calls and returns");
  for (Value operand : op->getOperands())
    if (isa<StreamType, EventType>(operand.getType()))
      diag.attachNote(operand.getLoc())
          << "the " << (isa<StreamType>(operand.getType()) ? "stream" : "event")
          << " is made here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Made once, consumed once, not used after, on every path
//===----------------------------------------------------------------------===//

/// Who may make and take tokens in the linear form. What else hands one on
/// (arith.select) would have it under two names.
static LogicalResult verifyLinearOps(Operation *op) {
  if (failed(verifyTokenOps(op)))
    return failure();
  bool owns =
      isAsyncOp(op) ||
      isa<CallOpInterface, FunctionOpInterface, BranchOpInterface,
          RegionBranchOpInterface, RegionBranchTerminatorOpInterface>(op) ||
      op->hasTrait<OpTrait::ReturnLike>();
  if (owns || !hasAnywhere<TokenType>(op))
    return success();
  InFlightDiagnostic diag = op->emitOpError(
      "makes or takes a token, which only ops of gpu_async, calls and control "
      "flow do (gpu-async-make-forks-explicit turns arith.select into scf.if)");
  for (Value operand : op->getOperands())
    if (isToken(operand))
      diag.attachNote(operand.getLoc()) << "the token is made here";
  return diag;
}

namespace {
/// The terms for one kind of owner.
struct Terms {
  explicit Terms(Value owner) {
    if (isToken(owner))
      return;
    bool isStream = isa<StreamType>(owner.getType());
    a = isStream ? "a stream" : "an event";
    the = isStream ? "the stream" : "the event";
    consume = "destroy";
    consumes = "destroys";
    consuming = "destroying";
    consumed = "destroyed";
    remedy = isStream ? "destroy it (gpu_async.stream.destroy)"
                      : "destroy it (gpu_async.event.destroy)";
  }
  StringRef a = "a token", the = "the token", consume = "consume",
            consumes = "consumes", consuming = "consuming",
            consumed = "consumed", remedy = "release it (gpu_async.release)";
};
} // namespace

static void emit(const OwnershipFinding &finding) {
  Terms terms(finding.value);
  bool isOfToken = isToken(finding.value);
  auto start = [&](const Twine &what) {
    return finding.at->emitOpError() << what;
  };
  auto made = [&](InFlightDiagnostic &diag) {
    diag.attachNote(finding.value.getLoc()) << terms.the << " is made here";
  };
  auto other = [&](InFlightDiagnostic &diag, const Twine &what) {
    if (finding.other)
      diag.attachNote(finding.other->getLoc()) << what;
  };
  switch (finding.kind) {
  case OwnershipFinding::NeverConsumed: {
    Operation *maker = finding.value.getDefiningOp();
    InFlightDiagnostic diag =
        maker ? maker->emitOpError("makes ")
              : mlir::emitError(finding.value.getLoc(), "this is ");
    diag << terms.a << " that is never " << terms.consumed << "; "
         << terms.remedy;
    diag.attachNote(finding.at->getLoc()) << "a path ends here with it";
    return;
  }
  case OwnershipFinding::LeftAtEnd: {
    InFlightDiagnostic diag =
        start("ends a path that does not " + terms.consume + " " + terms.a +
              "; " + terms.remedy + " on this path");
    made(diag);
    other(diag, "another path " + terms.consumes + " it here");
    return;
  }
  case OwnershipFinding::LeftOnBranch: {
    InFlightDiagnostic diag = start(
        "goes on with " + terms.a + " to where another path has " +
        terms.consumed + " it; " + terms.remedy +
        " on this way, in a block of its own if the branch has other ways");
    made(diag);
    other(diag, "the other path " + terms.consumes + " it here");
    return;
  }
  case OwnershipFinding::LeftInIteration: {
    InFlightDiagnostic diag =
        start("ends an iteration without " + terms.consuming + " " + terms.a +
              " that it made; " +
              (isOfToken ? "carry it into the next one, or " : StringRef()) +
              terms.remedy);
    made(diag);
    return;
  }
  case OwnershipFinding::LeftInRegion: {
    bool isOp = finding.at->getNumRegions() != 0;
    InFlightDiagnostic diag = start(
        isOp ? terms.consumes + " " + terms.a +
                   " in a region, but can go on without entering one; "
                   "give it a region that does, too"
             : "ends a region that does not " + terms.consume + " " + terms.a +
                   ", which another region of the same op "
                   "does; " +
                   terms.remedy + " here, too");
    made(diag);
    other(diag, "the other region " + terms.consumes + " it here");
    return;
  }
  case OwnershipFinding::ConsumedTwice: {
    InFlightDiagnostic diag = start(
        isOfToken ? Twine("consumes a token that another op consumes too; "
                          "fork it (gpu_async.fork)")
                  : terms.consumes + " " + terms.a + " that is gone");
    other(diag, "it is " + terms.consumed + " here");
    made(diag);
    return;
  }
  case OwnershipFinding::ConsumedTwiceAtOnce: {
    InFlightDiagnostic diag =
        start(isOfToken ? "takes a token twice; fork it (gpu_async.fork)"
                        : "hands on " + terms.a + " twice");
    made(diag);
    return;
  }
  case OwnershipFinding::UsedAfterConsumed: {
    InFlightDiagnostic diag =
        start("uses " + terms.a + " that has been " + terms.consumed);
    other(diag, "it is " + terms.consumed + " here");
    made(diag);
    return;
  }
  case OwnershipFinding::ConsumedInLoop: {
    InFlightDiagnostic diag = start(
        terms.consumes + " inside a loop " + terms.a +
        " that is made outside of it" +
        (isOfToken ? "; carry it through the loop, forked in each iteration"
                   : ""));
    made(diag);
    other(diag, "the loop is here");
    return;
  }
  case OwnershipFinding::ConsumedInRegion: {
    InFlightDiagnostic diag = start(terms.consumes + " " + terms.a +
                                    " that is made outside of this region; " +
                                    terms.consume + " it where it is made");
    made(diag);
    other(diag, "the region is in this op");
    return;
  }
  case OwnershipFinding::UnknownControlFlow: {
    InFlightDiagnostic diag =
        start("uses " + terms.a +
              " under an op that does not say how control flows through it");
    made(diag);
    other(diag, "this op");
    return;
  }
  }
}

/// Checks all owners of the given types outside device code, each on its own.
template <typename... Types>
static LogicalResult verifyOwners(Operation *root) {
  OwnershipAnalysis analysis;
  bool failed = false;
  auto check = [&](Value value) {
    if (!isa<Types...>(value.getType()))
      return;
    if (auto finding = analysis.check(value)) {
      emit(*finding);
      failed = true;
    }
  };
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (holdsKernels(op))
      return WalkResult::skip();
    if (op != root && !analysis.isReachable(op->getBlock()))
      return WalkResult::skip();
    llvm::for_each(op->getResults(), check);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), check);
    return WalkResult::advance();
  });
  return failure(failed);
}

//===----------------------------------------------------------------------===//
// The numbers of the schedule
//===----------------------------------------------------------------------===//

static LogicalResult verifyIds(Operation *root) {
  bool failed = false;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (holdsKernels(op))
      return WalkResult::skip();
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function)
      return WalkResult::advance();
    for (const ScheduleFinding &finding : findIdErrors(function)) {
      emitScheduleError(finding);
      failed = true;
    }
    return WalkResult::skip();
  });
  return failure(failed);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct VerifyForm : public gpuasync::impl::GPUAsyncVerifyFormBase<VerifyForm> {
  using Base::Base;

  LogicalResult verifyOps(function_ref<LogicalResult(Operation *)> verify) {
    bool failed = false;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (holdsKernels(op))
        return WalkResult::skip();
      failed |= mlir::failed(verify(op));
      return WalkResult::advance();
    });
    return failure(failed);
  }

  void runOnOperation() override {
    LogicalResult result = success();
    if (form == Form::Token) {
      result = verifyOps(verifyTokenOps);
    } else if (form == Form::Linear) {
      result = verifyOps(verifyLinearOps);
      if (succeeded(result))
        result = verifyOwners<TokenType>(getOperation());
    } else if (form == Form::Stream) {
      result = verifyOps(verifyStreamOps);
      if (succeeded(result))
        result = verifyIds(getOperation());
      if (succeeded(result))
        result = verifyOwners<StreamType, EventType>(getOperation());
    } else {
      bool failed = false;
      getOperation()->walk([&](Operation *op) {
        StringRef dialect = op->getName().getDialectNamespace();
        if (dialect != "gpu" && dialect != "gpu_async")
          return;
        op->emitOpError("is left in the runtime form");
        failed = true;
      });
      result = failure(failed);
    }
    if (failed(result))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
