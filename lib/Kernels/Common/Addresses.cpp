//===- Addresses.cpp - arithmetic that addresses are made by --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Addresses.h. Upstream multiplies an index by its stride with nsw and nuw,
// and adds the sum to the address with inbounds and nuw.
//===----------------------------------------------------------------------===//

#include "Addresses.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

namespace {
/// Takes their promises from ops that are built.
struct Weakening : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
      op->setAttr(flags.getIntegerOverflowAttrName(),
                  arith::IntegerOverflowFlagsAttr::get(
                      op->getContext(), arith::IntegerOverflowFlags::none));
  }
};

/// Upstream's lowering takes a group of dimensions to have one of unknown size
/// at most.
bool isBeyondUpstream(memref::ExpandShapeOp op) {
  return llvm::any_of(op.getReassociationIndices(), [&](auto &group) {
    return llvm::count_if(group, [&](int64_t dim) {
             return op.getResultType().isDynamicDim(dim);
           }) > 1;
  });
}

/// The view from its sizes and its source's strides.
void lowerExpandShape(memref::ExpandShapeOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto source =
      memref::ExtractStridedMetadataOp::create(builder, loc, op.getSrc());
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape(),
                            strides(sizes.size());
  for (auto [group, stride] : llvm::zip(op.getReassociationIndices(),
                                        source.getConstifiedMixedStrides())) {
    OpFoldResult next = stride;
    for (int64_t dim : llvm::reverse(group)) {
      strides[dim] = next;
      next = affine::makeComposedFoldedAffineApply(
          builder, loc,
          getAffineSymbolExpr(0, builder.getContext()) *
              getAffineSymbolExpr(1, builder.getContext()),
          {next, sizes[dim]});
    }
  }
  auto view = memref::ReinterpretCastOp::create(
      builder, loc, op.getResultType(), source.getBaseBuffer(),
      source.getConstifiedMixedOffset(), sizes, strides);
  op.replaceAllUsesWith(view.getResult());
  op.erase();
}

struct LowerViewsPass : PassWrapper<LowerViewsPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerViewsPass)

  StringRef getArgument() const override { return "gpu-async-lower-views"; }
  StringRef getName() const override { return "LowerViews"; }
  StringRef getDescription() const override {
    return "Expand views of memrefs by arithmetic that may wrap";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    buildPipeline("any").getDependentDialects(registry);
    registry.insert<affine::AffineDialect, arith::ArithDialect,
                    memref::MemRefDialect>();
  }

  void runOnOperation() override {
    Operation *root = getOperation();
    root->walk([](memref::ExpandShapeOp op) {
      if (isBeyondUpstream(op))
        lowerExpandShape(op);
    });
    OpPassManager pipeline = buildPipeline(root->getName().getStringRef());
    if (failed(runPipeline(pipeline, root)))
      return signalPassFailure();
    expandViews(root);
    // The program's own ops are lowered: these are the views'.
    Weakening weakening;
    root->walk([&](affine::AffineApplyOp op) {
      OpBuilder builder(op, &weakening);
      std::optional<SmallVector<Value, 8>> values = affine::expandAffineMap(
          builder, op.getLoc(), op.getAffineMap(), op.getOperands());
      if (!values)
        return;
      op.replaceAllUsesWith(values->front());
      op.erase();
    });
  }

private:
  static OpPassManager buildPipeline(StringRef op) {
    OpPassManager pm(op);
    pm.addPass(createLowerAffinePass());
    return pm;
  }

  /// Does upstream's expand-strided-metadata, which also folds every op of the
  /// module, at views and what they become only.
  static void expandViews(Operation *root) {
    SmallVector<Operation *> views;
    root->walk([&](Operation *op) {
      if (isa<ViewLikeOpInterface, memref::ExtractStridedMetadataOp,
              memref::ExtractAlignedPointerAsIndexOp>(op))
        views.push_back(op);
    });
    if (views.empty())
      return;
    RewritePatternSet patterns(root->getContext());
    memref::populateExpandStridedMetadataPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    (void)applyOpPatternsGreedily(views, std::move(patterns), config);
  }
};
} // namespace

std::unique_ptr<Pass> gpuasync::createLowerViewsPass() {
  return std::make_unique<LowerViewsPass>();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Weakens the sum of products that `index` is.
static void weakenIndex(Value index) {
  Operation *op = index.getDefiningOp();
  if (!isa_and_nonnull<LLVM::AddOp, LLVM::MulOp>(op))
    return;
  auto flags = cast<LLVM::IntegerOverflowFlagsInterface>(op);
  if (!flags.hasNoSignedWrap() || !flags.hasNoUnsignedWrap())
    return;
  flags.setOverflowFlags(LLVM::IntegerOverflowFlags::none);
  if (isa<LLVM::AddOp>(op))
    for (Value operand : op->getOperands())
      weakenIndex(operand);
}

void gpuasync::weakenAddresses(Operation *root) {
  using Flags = LLVM::GEPNoWrapFlags;
  root->walk([](LLVM::GEPOp op) {
    if (op.getNoWrapFlags() != (Flags::inbounds | Flags::nuw))
      return;
    op.setNoWrapFlags(Flags::nusw);
    for (Value index : op.getDynamicIndices())
      weakenIndex(index);
  });
}

namespace {
struct WeakenAddressesPass : PassWrapper<WeakenAddressesPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WeakenAddressesPass)

  StringRef getArgument() const override {
    return "gpu-async-weaken-addresses";
  }
  StringRef getName() const override { return "WeakenAddresses"; }
  void runOnOperation() override { weakenAddresses(getOperation()); }
};
} // namespace

std::unique_ptr<Pass> gpuasync::createWeakenAddressesPass() {
  return std::make_unique<WeakenAddressesPass>();
}
