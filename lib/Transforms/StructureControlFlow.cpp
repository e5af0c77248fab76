//===- StructureControlFlow.cpp - control-flow graphs to scf --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives host functions with device work structured control flow only, and those
// that are to get some (StructureControlFlow.h): blocks and branches become scf
// ops (by upstream's transformCFGToSCF), parallel host loops sequential ones.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Transforms/StructureControlFlow.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/IR/RegionTokens.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCSTRUCTURECONTROLFLOW
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

/// A token that has been reached, marked as one that no path uses; a null value
/// if `type` is no token.
Value createReadyToken(OpBuilder &builder, Location loc, Type type) {
  Operation *op = nullptr;
  if (isa<TokenType>(type))
    op = WaitOp::create(builder, loc, type, ValueRange());
  else if (isa<gpu::AsyncTokenType>(type))
    op = gpu::WaitOp::create(builder, loc, type, ValueRange());
  if (!op)
    return Value();
  op->setAttr(kUndefinedTokenAttrName, builder.getUnitAttr());
  return op->getResult(0);
}

/// Upstream's, but tokens and tensors are never poison, which bufferization
/// does not take, and scf.execute_region can end in an infinite loop, too.
class Lifting : public ControlFlowToSCFTransformation {
public:
  Value getUndefValue(Location loc, OpBuilder &builder, Type type) override {
    if (Value token = createReadyToken(builder, loc, type))
      return token;
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      // With an element, since memory of none is not registered like other.
      SmallVector<Value> sizes(
          tensor.getNumDynamicDims(),
          arith::ConstantIndexOp::create(builder, loc, 1).getResult());
      return tensor::EmptyOp::create(builder, loc, tensor, sizes);
    }
    return ControlFlowToSCFTransformation::getUndefValue(loc, builder, type);
  }

  FailureOr<Operation *> createUnreachableTerminator(Location loc,
                                                     OpBuilder &builder,
                                                     Region &region) override {
    SmallVector<Value> values;
    for (Type type : resultTypes(region))
      values.push_back(getUndefValue(loc, builder, type));
    if (isa<scf::ExecuteRegionOp>(region.getParentOp()))
      return scf::YieldOp::create(builder, loc, values).getOperation();
    return func::ReturnOp::create(builder, loc, values).getOperation();
  }

private:
  static TypeRange resultTypes(Region &region) {
    if (auto function = dyn_cast<func::FuncOp>(region.getParentOp()))
      return function.getResultTypes();
    return region.getParentOp()->getResultTypes();
  }
};

//===----------------------------------------------------------------------===//
// Which functions and regions
//===----------------------------------------------------------------------===//

bool hasTokens(TypeRange types) {
  return llvm::any_of(types, [](Type type) {
    return isa<TokenType, gpu::AsyncTokenType, async::TokenType,
               async::ValueType, async::GroupType>(type);
  });
}

/// Whether anything in `root` does device work or orders it.
bool isAboutDevice(Operation *root) {
  return root
      ->walk<WalkOrder::PreOrder>([](Operation *op) {
        bool isDevice = isUpstreamOp(op) || isAsyncOp(op) ||
                        hasTokens(op->getOperandTypes()) ||
                        hasTokens(op->getResultTypes());
        return isDevice ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether the function's streams have been assigned already.
bool isInStreamForm(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        auto work = dyn_cast<WorkOpInterface>(op);
        bool isOfStreamForm =
            work ? work.getStream() && !work.getAsyncToken()
                 : isa<StreamCreateOp, StreamSynchronizeOp, StreamWaitOp,
                       StreamDestroyOp, EventRecordOp, EventReadyOp,
                       EventSynchronizeOp, EventDestroyOp>(op);
        return isOfStreamForm ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Refuses what upstream's transformation cannot take, at the terminator.
LogicalResult checkRegion(Region &region) {
  Operation *parent = region.getParentOp();
  auto refuse = [&](Operation *op, const Twine &why) {
    InFlightDiagnostic diagnostic =
        op->emitOpError("cannot be made structured control flow, which a "
                        "function with device work needs: ")
        << why;
    diagnostic.attachNote(parent->getLoc())
        << "in this '" << parent->getName() << "'";
    return diagnostic;
  };
  for (Block &block : region) {
    Operation *terminator = block.getTerminator();
    if (!isa<func::FuncOp, scf::ExecuteRegionOp>(parent))
      return refuse(terminator, "only functions and scf.execute_region may "
                                "have several blocks there");
    if (auto branch = dyn_cast<cf::SwitchOp>(terminator);
        branch && branch.getFlag().getType().getIntOrFloatBitWidth() > 64)
      return refuse(terminator, "its flag has more than 64 bits");
    if (!isa<cf::BranchOp, cf::CondBranchOp, cf::SwitchOp, func::ReturnOp,
             scf::YieldOp, LLVM::UnreachableOp, ub::UnreachableOp>(terminator))
      return refuse(terminator, "only cf.br, cf.cond_br and cf.switch can");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Rewrites
//===----------------------------------------------------------------------===//

/// Returns of one kind only, so that one block is left: a path that ends where
/// nobody comes may as well return anything, and attributes go.
void uniteExits(Region &region, Lifting &lifting) {
  for (Block &block : region) {
    Operation *terminator = block.getTerminator();
    if (isa<LLVM::UnreachableOp, ub::UnreachableOp>(terminator)) {
      OpBuilder builder(terminator);
      (void)lifting.createUnreachableTerminator(terminator->getLoc(), builder,
                                                region);
      terminator->erase();
    } else if (terminator->getNumSuccessors() == 0) {
      terminator->setDiscardableAttrs(ArrayRef<NamedAttribute>());
    }
  }
}

/// Runs the iterations of a host loop one after the other: the order of a host
/// loop is not the order of its device work.
LogicalResult serialise(Operation *op, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  if (auto forall = dyn_cast<scf::ForallOp>(op)) {
    if (forall.getNumResults())
      return op->emitOpError("has results and device work: bufferize it first");
    return scf::forallToForLoop(rewriter, forall);
  }
  auto parallel = cast<scf::ParallelOp>(op);
  auto reduce = cast<scf::ReduceOp>(parallel.getBody()->getTerminator());
  scf::LoopNest nest = scf::buildLoopNest(
      rewriter, op->getLoc(), parallel.getLowerBound(),
      parallel.getUpperBound(), parallel.getStep(), parallel.getInitVals(),
      [&](OpBuilder &builder, Location loc, ValueRange indices,
          ValueRange accumulators) -> scf::ValueVector {
        Block *block = builder.getInsertionBlock();
        rewriter.inlineBlockBefore(parallel.getBody(), block, block->end(),
                                   indices);
        scf::ValueVector results;
        for (auto [accumulator, operand, region] : llvm::zip_equal(
                 accumulators, reduce.getOperands(), reduce.getReductions())) {
          Operation *last = region.front().getTerminator();
          rewriter.inlineBlockBefore(&region.front(), reduce,
                                     {accumulator, operand});
          results.push_back(last->getOperand(0));
          rewriter.eraseOp(last);
        }
        rewriter.eraseOp(reduce);
        builder.setInsertionPointToEnd(block);
        return results;
      });
  rewriter.replaceOp(op, nest.results);
  return success();
}

} // namespace

LogicalResult gpuasync::structureControlFlow(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  // From the inside out; nothing in a kernel is looked at.
  SmallVector<ub::PoisonOp> poison;
  SmallVector<Region *> graphs;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isKernelCode(op))
      return WalkResult::skip();
    if (auto undefined = dyn_cast<ub::PoisonOp>(op))
      poison.push_back(undefined);
    for (Region &region : op->getRegions())
      if (!region.empty() && !region.hasOneBlock())
        graphs.push_back(&region);
    return WalkResult::advance();
  });
  for (ub::PoisonOp op : poison) {
    rewriter.setInsertionPoint(op);
    if (Value token =
            createReadyToken(rewriter, op.getLoc(), op.getResult().getType()))
      rewriter.replaceOp(op, token);
  }
  bool failedAny = false;
  for (Region *region : llvm::reverse(graphs)) {
    (void)eraseUnreachableBlocks(rewriter, *region);
    failedAny |= failed(checkRegion(*region));
  }
  if (failedAny)
    return failure();

  Lifting lifting;
  for (Region *region : llvm::reverse(graphs)) {
    uniteExits(*region, lifting);
    DominanceInfo dominance(region->getParentOp());
    if (failed(transformCFGToSCF(*region, lifting, dominance)))
      return failure();
    assert(region->hasOneBlock() && "one kind of exit gives one block");
  }
  return success();
}

namespace {
//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct StructureControlFlow
    : public gpuasync::impl::GPUAsyncStructureControlFlowBase<
          StructureControlFlow> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isKernelCode(op))
        return WalkResult::skip();
      auto function = dyn_cast<func::FuncOp>(op);
      if (!function || function.isExternal())
        return WalkResult::advance();
      if ((isAboutDevice(function) || hasTokens(function.getArgumentTypes())) &&
          !isInStreamForm(function))
        functions.push_back(function);
      return WalkResult::skip();
    });
    bool failedAny = false;
    for (func::FuncOp function : functions)
      failedAny |= failed(run(function));
    if (failedAny)
      signalPassFailure();
  }

  LogicalResult run(func::FuncOp function) {
    // From the inside out; nothing in a kernel is looked at.
    SmallVector<Operation *> parallel;
    unsigned graphs = 0;
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isKernelCode(op))
        return WalkResult::skip();
      graphs += llvm::count_if(op->getRegions(), [](Region &region) {
        return !region.empty() && !region.hasOneBlock();
      });
      if (isa<scf::ParallelOp, scf::ForallOp>(op) && isAboutDevice(op))
        parallel.push_back(op);
      return WalkResult::advance();
    });
    if (failed(structureControlFlow(function)))
      return failure();
    IRRewriter rewriter(&getContext());
    for (Operation *op : llvm::reverse(parallel))
      if (failed(serialise(op, rewriter)))
        return failure();
    if (graphs || !parallel.empty())
      Decision(*this, function, "StructuredControlFlow")
          .count(numGraphs, "graphs", graphs)
          .count(numLoops, "serial-loops", parallel.size());
    return success();
  }
};

} // namespace
