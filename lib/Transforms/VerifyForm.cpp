//===- VerifyForm.cpp - the invariants of the forms of IR -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the op verifiers cannot see: which ops belong to a form, and that
// tokens, streams and events are made once and consumed once on every path.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Transforms/Passes.h"

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCVERIFYFORM
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

/// Ops and symbols of device code are not the business of the host's forms.
static bool isDeviceCode(Operation *op) {
  return isa<gpu::GPUModuleOp, gpu::BinaryOp, BinaryOp>(op);
}

static bool isStreamFormOp(Operation *op) {
  return isa<StreamCreateOp, StreamDestroyOp, StreamWaitOp, StreamSynchronizeOp,
             EventRecordOp, EventReadyOp, EventDestroyOp, EventSynchronizeOp>(op);
}

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

/// An upstream op that the import has to have replaced.
static bool isUpstreamOp(Operation *op) {
  if (isa<gpu::GPUDialect>(op->getDialect()))
    return true;
  return op->getName().getDialectNamespace() == "async";
}

static LogicalResult verifyTokenOps(Operation *op) {
  if (op->getDialect() && isUpstreamOp(op))
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

static LogicalResult verifyStreamOps(Operation *op) {
  if (op->getDialect() && isUpstreamOp(op))
    return op->emitOpError("does not belong to the stream form");
  if (isa<WaitOp, ForkOp, ReleaseOp>(op) || hasAnywhere<TokenType>(op))
    return op->emitOpError("has a token; in the stream form work is ordered by "
                           "streams and events (gpu-async-assign-streams)");
  // What goes through another op could be destroyed under two names.
  bool owns = isa_and_nonnull<GPUAsyncDialect>(op->getDialect()) ||
              isa<CallOpInterface, FunctionOpInterface>(op) ||
              (op->hasTrait<OpTrait::ReturnLike>() &&
               isa<FunctionOpInterface>(op->getParentOp()) &&
               !has<StreamType>(op->getOperandTypes()));
  if (!owns && (hasAnywhere<StreamType>(op) || hasAnywhere<EventType>(op)))
    return op->emitOpError("has a stream or an event, which do not go through "
                           "control flow or ops other than calls and returns");
  return success();
}

//===----------------------------------------------------------------------===//
// Linear form: every token is consumed exactly once on every path
//===----------------------------------------------------------------------===//

static LogicalResult verifyConsumedOnce(Value token) {
  if (token.use_empty()) {
    Operation *op = token.getDefiningOp();
    Location loc = token.getLoc();
    return (op ? op->emitOpError("makes a token that is never consumed")
               : mlir::emitError(loc, "the token is never consumed"))
           << "; release it (gpu_async.release)";
  }
  if (!token.hasOneUse()) {
    auto use = token.use_begin();
    Operation *last = use->getOwner();
    Operation *first = std::next(use)->getOwner();
    InFlightDiagnostic diag =
        last->emitOpError("consumes a token that another op consumes too; fork "
                          "it (gpu_async.fork)");
    diag.attachNote(first->getLoc()) << "the other use is here";
    diag.attachNote(token.getLoc()) << "the token is made here";
    return diag;
  }
  Operation *user = *token.user_begin();
  if (user->getBlock() != token.getParentBlock()) {
    InFlightDiagnostic diag = user->emitOpError(
        "consumes a token of another block, so that not every path consumes it "
        "once");
    diag.attachNote(token.getLoc()) << "the token is made here";
    return diag;
  }
  return success();
}

static LogicalResult verifyLinear(FunctionOpInterface function) {
  WalkResult result = function->walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (isa<TokenType>(value.getType()) && failed(verifyConsumedOnce(value)))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value value : block.getArguments())
          if (isa<TokenType>(value.getType()) &&
              failed(verifyConsumedOnce(value)))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Stream form: made once, destroyed once, not used after, on every path
//===----------------------------------------------------------------------===//

namespace {
/// Follows one stream or event through the blocks of the region that makes it.
/// Ops in nested regions count as the op that holds them, so a destruction
/// there is refused: it need not happen exactly once.
class Lifetime {
public:
  explicit Lifetime(Value resource)
      : resource(resource), region(*resource.getParentRegion()) {
    isStream = isa<StreamType>(resource.getType());
  }

  LogicalResult verify();

private:
  enum State { Unknown, Live, Gone };

  Value resource;
  Region &region;
  bool isStream;
  struct Use {
    Operation *op;    ///< in the region that makes the resource
    Operation *inner; ///< the user: `op` or an op nested in it
  };
  llvm::DenseMap<Block *, SmallVector<Use, 4>> usesIn;
  llvm::DenseMap<Block *, State> atEntry;
  Operation *destruction = nullptr;
  /// The first exit that is reached with the resource alive; reported last,
  /// since paths that disagree say more.
  Operation *leak = nullptr;

  StringRef getKind() const { return isStream ? "stream" : "event"; }
  StringRef getArticle() const { return isStream ? "a " : "an "; }
  LogicalResult report(Operation *op, const Twine &what, Operation *other,
                       StringRef otherWhat);
  void collectUses();
  LogicalResult walk(Block *block, State &state);
  static bool destroys(Operation *op) {
    return isa<StreamDestroyOp, EventDestroyOp>(op);
  }
};
} // namespace

LogicalResult Lifetime::report(Operation *op, const Twine &what,
                               Operation *other, StringRef otherWhat) {
  InFlightDiagnostic diag = op->emitOpError(what);
  diag.attachNote(resource.getLoc()) << "the " << getKind() << " is made here";
  if (other)
    diag.attachNote(other->getLoc()) << otherWhat;
  return diag;
}

/// The uses by block, in order. Only these are looked at: the cost does not
/// depend on how much else there is.
void Lifetime::collectUses() {
  llvm::DenseMap<Operation *, Operation *> innerOf;
  for (Operation *user : resource.getUsers()) {
    Operation *op = region.findAncestorOpInRegion(*user);
    auto [known, isNew] = innerOf.try_emplace(op, user);
    if (isNew)
      usesIn[op->getBlock()].push_back({op, nullptr});
    else if (!destroys(known->second))
      known->second = user;
  }
  for (auto &[block, uses] : usesIn) {
    for (Use &use : uses)
      use.inner = innerOf.lookup(use.op);
    llvm::sort(uses, [](const Use &a, const Use &b) {
      return a.op->isBeforeInBlock(b.op);
    });
  }
}

LogicalResult Lifetime::walk(Block *block, State &state) {
  if (block == resource.getParentBlock())
    state = Live;
  auto isExit = [](Operation *op) {
    return op->hasTrait<OpTrait::IsTerminator>() && op->getNumSuccessors() == 0;
  };
  for (auto [op, use] : usesIn.lookup(block)) {
    if (state == Gone)
      return report(
          use,
          destroys(use)
              ? "destroys " + getArticle() + getKind() + " that is gone"
              : "uses " + getArticle() + getKind() + " that has been destroyed",
          destruction, "it is destroyed here");
    if (destroys(use)) {
      if (use != op)
        return report(use,
                      "destroys " + getArticle() + getKind() +
                          " that is made outside of this region; destroy it "
                          "where it is made",
                      nullptr, "");
      state = Gone;
      destruction = use;
      continue;
    }
    // A returned event goes to the caller.
    if (!isStream && use == op && isExit(op)) {
      if (llvm::count(op->getOperands(), resource) > 1)
        return report(op, "hands one event on twice", nullptr, "");
      state = Gone;
    }
  }
  if (state == Live && !leak && !block->empty() && isExit(&block->back()))
    leak = &block->back();
  return success();
}

LogicalResult Lifetime::verify() {
  collectUses();
  SmallVector<Block *> worklist{resource.getParentBlock()};
  atEntry[resource.getParentBlock()] = Unknown;
  llvm::SmallPtrSet<Block *, 8> walked;
  while (!worklist.empty()) {
    Block *block = worklist.pop_back_val();
    if (!walked.insert(block).second)
      continue;
    State state = atEntry[block];
    if (failed(walk(block, state)))
      return failure();
    // Nothing is left to see where all uses are in the block that makes it.
    if (state == Gone && block == resource.getParentBlock() &&
        usesIn.size() == 1)
      return success();
    for (Block *successor : block->getSuccessors()) {
      // Each time around a loop it is made anew.
      if (successor == resource.getParentBlock()) {
        if (state == Live)
          return report(block->getTerminator(),
                        "goes back to where " + getArticle() + getKind() +
                            " is made without destroying it",
                        nullptr, "");
        continue;
      }
      auto [known, isNew] = atEntry.try_emplace(successor, state);
      if (!isNew && known->second != state)
        return report(&successor->front(),
                      "is reached with " + getArticle() + getKind() +
                          " destroyed on one path and not on another",
                      destruction, "it is destroyed here");
      worklist.push_back(successor);
    }
  }
  if (leak)
    return report(leak, "leaves without destroying " + getArticle() + getKind(),
                  nullptr, "");
  return success();
}

static LogicalResult verifyStreams(FunctionOpInterface function) {
  auto check = [](Value value) {
    if (!isa<StreamType, EventType>(value.getType()))
      return success();
    return Lifetime(value).verify();
  };
  WalkResult result = function->walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (failed(check(value)))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value value : block.getArguments())
          if (failed(check(value)))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
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
      if (isDeviceCode(op))
        return WalkResult::skip();
      failed |= mlir::failed(verify(op));
      return WalkResult::advance();
    });
    return failure(failed);
  }

  LogicalResult
  verifyFunctions(function_ref<LogicalResult(FunctionOpInterface)> verify) {
    bool failed = false;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (!function.isExternal())
        failed |= mlir::failed(verify(function));
    return failure(failed);
  }

  void runOnOperation() override {
    LogicalResult result = success();
    if (form == "token") {
      result = verifyOps(verifyTokenOps);
    } else if (form == "linear") {
      result = verifyOps(verifyTokenOps);
      if (succeeded(result))
        result = verifyFunctions(verifyLinear);
    } else if (form == "stream") {
      result = verifyOps(verifyStreamOps);
      if (succeeded(result))
        result = verifyFunctions(verifyStreams);
    } else if (form == "runtime") {
      bool failed = false;
      getOperation()->walk([&](Operation *op) {
        StringRef dialect = op->getName().getDialectNamespace();
        if (dialect != "gpu" && dialect != "gpu_async")
          return;
        op->emitOpError("is left in the runtime form");
        failed = true;
      });
      result = failure(failed);
    } else {
      getOperation().emitError("unknown form '")
          << form << "'; expected token, linear, stream or runtime";
      result = failure();
    }
    if (failed(result))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
