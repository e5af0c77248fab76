//===- HostScalars.cpp - numbers that the host computes -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Front ends make tensors of loop counters and offsets. What is computed of
// numbers that the host has stays with the host: a kernel would make it wait
// for the device each time that control depends on them.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCHOSTSCALARS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// A linalg op on single elements that the host has becomes what it computes.
struct ComputeOnHost : public OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumLoops() || !op.hasPureTensorSemantics())
      return failure();
    auto isOnHost = [](Value value) {
      return !isa<TensorType>(value.getType()) ||
             value.getDefiningOp<tensor::FromElementsOp>() ||
             matchPattern(value, m_Constant());
    };
    if (!llvm::all_of(op.getDpsInputs(), isOnHost))
      return failure();
    IRMapping map;
    for (OpOperand &operand : op->getOpOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(&operand);
      if (argument.use_empty())
        continue;
      if (op.isDpsInit(&operand) && !isOnHost(operand.get()))
        return failure();
      map.map(argument, isa<TensorType>(operand.get().getType())
                            ? tensor::ExtractOp::create(rewriter, op.getLoc(),
                                                        operand.get())
                                  .getResult()
                            : operand.get());
    }
    for (Operation &inner : op.getBlock()->without_terminator())
      rewriter.clone(inner, map);
    SmallVector<Value> results;
    for (auto [result, value] : llvm::zip(
             op->getResults(), op.getBlock()->getTerminator()->getOperands()))
      results.push_back(tensor::FromElementsOp::create(
          rewriter, op.getLoc(), result.getType(), map.lookupOrDefault(value)));
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct HostScalars
    : public gpuasync::impl::GPUAsyncHostScalarsBase<HostScalars> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ComputeOnHost>(&getContext());
    tensor::ExtractOp::getCanonicalizationPatterns(patterns, &getContext());
    scf::WhileOp::getCanonicalizationPatterns(patterns, &getContext());
    scf::ForOp::getCanonicalizationPatterns(patterns, &getContext());
    scf::populateUpliftWhileToForPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
