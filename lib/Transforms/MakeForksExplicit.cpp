//===- MakeForksExplicit.cpp - from the token to the linear form ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives every token exactly one consumer: forks where it has several, a release
// where it has none.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCMAKEFORKSEXPLICIT
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

bool isToken(Value value) { return isa<TokenType>(value.getType()); }

/// The list of dependencies of an op that orders by tokens, if it is one.
std::optional<MutableOperandRange> dependenciesOf(Operation *op) {
  if (auto work = dyn_cast<WorkOpInterface>(op))
    return work.getAsyncDependenciesMutable();
  if (auto wait = dyn_cast<WaitOp>(op))
    return wait.getAsyncDependenciesMutable();
  return std::nullopt;
}

/// Waiting twice for one point is waiting once.
void removeDuplicates(Operation *op) {
  std::optional<MutableOperandRange> dependencies = dependenciesOf(op);
  if (!dependencies)
    return;
  llvm::SmallPtrSet<void *, 8> seen;
  SmallVector<Value> unique;
  for (OpOperand &operand : *dependencies)
    if (seen.insert(operand.get().getAsOpaquePointer()).second)
      unique.push_back(operand.get());
  if (unique.size() != dependencies->size())
    dependencies->assign(unique);
}

/// Ops that own the tokens they make or take without a region or branch.
bool keepsTokensInBlock(Operation *op) {
  if (op->getNumRegions() || op->getNumSuccessors())
    return false;
  if (op->hasTrait<OpTrait::IsTerminator>())
    return isa<FunctionOpInterface>(op->getParentOp()) &&
           op->hasTrait<OpTrait::ReturnLike>();
  return isa_and_nonnull<GPUAsyncDialect>(op->getDialect()) ||
         isa<CallOpInterface>(op);
}

LogicalResult checkToken(Value token) {
  Operation *maker = token.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(token)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (!isa<FunctionOpInterface>(parent) ||
        !argument.getOwner()->isEntryBlock()) {
      InFlightDiagnostic diagnostic = parent->emitOpError(
          "carries a token as a block argument: tokens that cross control flow "
          "are not supported yet; wait for the token before (gpu_async.wait)");
      diagnostic.attachNote(argument.getLoc()) << "the argument";
      return diagnostic;
    }
  } else if (!keepsTokensInBlock(maker)) {
    if (maker->getNumRegions())
      return maker->emitOpError(
          "returns a token: tokens that cross control flow are not supported "
          "yet; wait for the token in the region that makes it");
    return maker->emitOpError("makes a token: only ops of gpu_async and calls "
                              "can");
  }
  for (OpOperand &use : token.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != token.getParentBlock()) {
      InFlightDiagnostic diagnostic = user->emitOpError(
          "takes a token of another block: tokens that cross control flow are "
          "not supported yet; wait for it (gpu_async.wait) where it is made, "
          "or "
          "keep its users in that block");
      diagnostic.attachNote(token.getLoc()) << "the token is made here";
      return diagnostic;
    }
    if (!keepsTokensInBlock(user)) {
      InFlightDiagnostic diagnostic =
          user->hasTrait<OpTrait::IsTerminator>() || user->getNumRegions()
              ? user->emitOpError("takes a token: tokens that cross control "
                                  "flow are not supported yet; wait for it "
                                  "before (gpu_async.wait)")
              : user->emitOpError("takes a token: only ops of gpu_async, calls "
                                  "and returns can");
      diagnostic.attachNote(token.getLoc()) << "the token is made here";
      return diagnostic;
    }
  }
  return success();
}

/// One consumer for `token`, all of whose uses are in its block.
void consumeOnce(Value token) {
  if (token.hasOneUse())
    return;
  OpBuilder builder(token.getContext());
  builder.setInsertionPointAfterValue(token);
  if (token.use_empty()) {
    auto wait = token.getDefiningOp<WaitOp>();
    if (wait && wait.getAsyncDependencies().empty())
      wait.erase();
    else
      ReleaseOp::create(builder, token.getLoc(), token);
    return;
  }
  // Consumers in program order, so that the result does not depend on the order
  // of the use list.
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : token.getUses())
    uses.push_back(&use);
  llvm::sort(uses, [](OpOperand *a, OpOperand *b) {
    if (a->getOwner() == b->getOwner())
      return a->getOperandNumber() < b->getOperandNumber();
    return a->getOwner()->isBeforeInBlock(b->getOwner());
  });
  auto fork = ForkOp::create(builder, token.getLoc(), token, uses.size());
  for (auto [use, branch] : llvm::zip_equal(uses, fork.getTokens()))
    use->set(branch);
}

struct MakeForksExplicit
    : public gpuasync::impl::GPUAsyncMakeForksExplicitBase<MakeForksExplicit> {
  void runOnOperation() override {
    SmallVector<Value> tokens;
    bool failedAny = false;
    auto visit = [&](Value value) {
      if (!isToken(value))
        return;
      if (failed(checkToken(value)))
        failedAny = true;
      tokens.push_back(value);
    };
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<gpu::GPUModuleOp>(op))
        return WalkResult::skip();
      removeDuplicates(op);
      for (OpResult result : op->getResults())
        visit(result);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            visit(argument);
      return WalkResult::advance();
    });
    if (failedAny)
      return signalPassFailure();
    // Backwards: erasing a wait that is taken by nobody touches no later token.
    for (Value token : llvm::reverse(tokens))
      consumeOnce(token);
  }
};

} // namespace
