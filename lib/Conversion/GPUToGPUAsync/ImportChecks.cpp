//===- ImportChecks.cpp - what of upstream can be imported ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Refuses the ops, values and uses of tokens that have no meaning in the token
// form, all of them at once and each at its place.
//===----------------------------------------------------------------------===//

#include "BlockImport.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::upstream;

bool upstream::isUpstreamToken(Type type) {
  return isa<gpu::AsyncTokenType>(type);
}

bool upstream::isAsyncDialectType(Type type) {
  return isa<async::TokenType, async::ValueType, async::GroupType>(type);
}

bool upstream::isUpstreamOrder(Type type) {
  return isUpstreamToken(type) || isAsyncDialectType(type);
}

bool upstream::isUpstreamWork(Operation *op) {
  return isa<gpu::AllocOp, gpu::DeallocOp, gpu::LaunchFuncOp, gpu::MemcpyOp,
             gpu::MemsetOp>(op);
}

static bool isSparse(Operation *op) {
  return isa<gpu::CreateDnTensorOp, gpu::DestroyDnTensorOp, gpu::CreateCooOp,
             gpu::CreateCooAoSOp, gpu::CreateCsrOp, gpu::CreateCscOp,
             gpu::CreateBsrOp, gpu::Create2To4SpMatOp, gpu::DestroySpMatOp,
             gpu::SpMVBufferSizeOp, gpu::SpMVOp, gpu::SpMMBufferSizeOp,
             gpu::SpMMOp, gpu::SDDMMBufferSizeOp, gpu::SDDMMOp,
             gpu::SpGEMMCreateDescrOp, gpu::SpGEMMDestroyDescrOp,
             gpu::SpGEMMWorkEstimationOrComputeOp, gpu::SpGEMMCopyOp,
             gpu::SpMatGetSizeOp, gpu::SetCsrPointersOp>(op);
}

/// Refuses ops that no rule of ours covers, each by name.
static LogicalResult checkOp(Operation *op) {
  Dialect *dialect = op->getDialect();
  if (isa_and_nonnull<gpu::GPUDialect>(dialect)) {
    if (isa<gpu::LaunchOp>(op))
      return op->emitOpError("has its kernel inline: run gpu-kernel-outlining "
                             "first, as gpu-async-pipeline does");
    if (isa<gpu::SetDefaultDeviceOp>(op))
      return op->emitOpError(
          "is not supported: a frame's device is the caller's choice (an "
          "explicit context, a ContextScope, or GPU_ASYNC_DEVICE); remove the "
          "op and choose the device there");
    if (isSparse(op))
      return op->emitOpError("is an op of cuSPARSE, which is not supported: "
                             "call the library from host code, or write the "
                             "operation as a kernel");
    if (!isUpstreamWork(op) &&
        !isa<gpu::HostRegisterOp, gpu::HostUnregisterOp, gpu::WaitOp>(op))
      return op->emitOpError("is not supported in host code");
    if (!op->getParentOfType<FunctionOpInterface>())
      return op->emitOpError("expected to be in a function");
    if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op)) {
      Value object = launch.getAsyncObject();
      if (object && !isa<LLVM::LLVMPointerType>(object.getType()))
        return op->emitOpError("expected the caller's stream to be an "
                               "!llvm.ptr, got ")
               << object.getType();
    }
  } else if (isa_and_nonnull<async::AsyncDialect>(dialect)) {
    if (!isa<async::ExecuteOp, async::YieldOp, async::AwaitOp>(op))
      return op->emitOpError("is not supported: of the async dialect only "
                             "async.execute, async.yield and async.await are");
  }
  return success();
}

constexpr StringLiteral structureFirst =
    "run gpu-async-structure-control-flow first, which turns control-flow "
    "graphs into scf ops";

/// Refuses a token that `op` makes in a way that we do not follow.
static LogicalResult checkResult(Operation *op, OpResult result) {
  Type type = result.getType();
  if (!isUpstreamOrder(type) || isUpstreamWork(op) ||
      isa<gpu::WaitOp, async::ExecuteOp, async::AwaitOp, func::CallOp>(op))
    return success();
  if (isUpstreamToken(type) && (carriesTokens(op) || isa<arith::SelectOp>(op)))
    return success();
  if (isUpstreamToken(type) && runsOneRegionOnce(op))
    return op->emitOpError("returns a token from a region of several blocks: ")
           << structureFirst;
  if (isUpstreamToken(type) && op->getNumRegions())
    return op->emitOpError(
        "returns a token: of ops with regions only scf.if, scf.index_switch, "
        "scf.execute_region, scf.for and scf.while can; wait for the token "
        "(gpu.wait) in the region that makes it");
  return op->emitOpError("makes a value of type ")
         << type << ", which is not supported";
}

static LogicalResult checkArgument(BlockArgument argument) {
  Type type = argument.getType();
  Block *block = argument.getOwner();
  Operation *parent = block->getParentOp();
  if (!isUpstreamOrder(type) || isa<async::ExecuteOp>(parent))
    return success();
  bool isEntry = isa<FunctionOpInterface>(parent) && block->isEntryBlock();
  if (isUpstreamToken(type) && (isEntry || carriesTokens(parent)))
    return success();
  if (isEntry)
    return parent->emitOpError("takes an argument of type ")
           << type
           << ", which is not supported: the async runtime's values cannot be "
              "passed in; take a !gpu.async.token instead";
  InFlightDiagnostic diagnostic =
      parent->emitOpError("has a block argument that is a token: ");
  if (isUpstreamToken(type) && !block->isEntryBlock())
    diagnostic << structureFirst;
  else
    diagnostic << "only a !gpu.async.token can be one, of scf.for and "
                  "scf.while; wait for it before";
  diagnostic.attachNote(argument.getLoc()) << "this argument";
  return diagnostic;
}

/// Refuses a use of a token that cannot be followed from where it is made.
static LogicalResult checkUse(OpOperand &use) {
  Value token = use.get();
  Operation *user = use.getOwner();
  auto refuse = [&](const Twine &what) {
    InFlightDiagnostic diagnostic = user->emitOpError(what);
    diagnostic.attachNote(token.getLoc()) << "the token is made here";
    return diagnostic;
  };
  bool isToken = isUpstreamToken(token.getType());
  for (Block *block = user->getBlock(); block != token.getParentBlock();) {
    Operation *parent = block->getParentOp();
    if (block->getParent() == token.getParentRegion() ||
        (runsOneRegionOnce(parent) && !carriesTokens(parent)))
      return refuse("takes a token of another block: ") << structureFirst;
    if (!isa<async::ExecuteOp>(parent) && !(isToken && carriesTokens(parent)))
      return refuse("takes a token from outside of '")
             << parent->getName()
             << "', which is not supported: wait for it (gpu.wait, "
                "async.await) before";
    block = parent->getBlock();
  }
  if (auto ordered = dyn_cast<gpu::AsyncOpInterface>(user)) {
    OperandRange dependencies = ordered.getAsyncDependencies();
    unsigned first =
        dependencies.empty() ? 0 : dependencies.getBeginOperandIndex();
    if (use.getOperandNumber() - first >= dependencies.size())
      return refuse("takes a token, but not to start after it: device code has "
                    "no tokens; list it behind 'async'");
  }
  if (isUpstreamWork(user) || isa<gpu::WaitOp, func::CallOp, async::ExecuteOp,
                                  async::YieldOp, async::AwaitOp>(user))
    return success();
  if (isToken) {
    if (isa<func::ReturnOp, arith::SelectOp>(user) || carriesTokens(user))
      return success();
    if (isa<scf::YieldOp, scf::ConditionOp>(user) &&
        carriesTokens(user->getParentOp()))
      return success();
    if (user->getNumSuccessors())
      return refuse("takes a token to another block: ") << structureFirst;
  }
  if (user->hasTrait<OpTrait::IsTerminator>() || user->getNumRegions())
    return refuse(
        "takes a token, which it cannot carry: wait for it (gpu.wait, "
        "async.await) before");
  return refuse("takes a token, which is not supported");
}

LogicalResult upstream::checkImportable(Operation *root) {
  bool failedAny = false;
  auto check = [&](LogicalResult result) { failedAny |= failed(result); };
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (holdsKernels(op))
      return WalkResult::skip();
    if (failed(checkOp(op))) {
      failedAny = true;
      return WalkResult::skip();
    }
    for (OpResult result : op->getResults())
      check(checkResult(op, result));
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      if (function.isExternal() &&
          llvm::any_of(function.getArgumentTypes(), isAsyncDialectType))
        check(op->emitOpError("takes values of the async dialect, which is "
                              "not supported"));
      if (llvm::any_of(function.getResultTypes(), isAsyncDialectType))
        check(op->emitOpError("returns values of the async dialect, which is "
                              "not supported; return a !gpu.async.token"));
    }
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          check(checkArgument(argument));
    for (OpOperand &use : op->getOpOperands())
      if (isUpstreamOrder(use.get().getType()))
        check(checkUse(use));
    return WalkResult::advance();
  });
  return failure(failedAny);
}
