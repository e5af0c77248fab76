//===- Canonicalize.cpp - canonicalisation without wrong code -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's canonicalisation, with a guard on each pattern that is wrong for some
// ops.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Upstream/Faults.h"
#include "GPUAsync/Upstream/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCCANONICALIZE
#include "GPUAsync/Upstream/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// Ops that each of them is right for
//===----------------------------------------------------------------------===//

/// The pattern moves an scf.if behind its loop's condition. It replaces all
/// uses of a result when it comes to the first one in scf.condition, and finds
/// the others no more.
static bool forwardsEachOnce(Operation *op) {
  llvm::SmallPtrSet<Value, 8> seen;
  return llvm::all_of(
      cast<scf::WhileOp>(op).getConditionOp().getArgs(), [&](Value value) {
        return !value.getDefiningOp<scf::IfOp>() || seen.insert(value).second;
      });
}

/// The pattern makes one conversion of two. That is the same only where the
/// first one does not round.
template <typename FromInteger>
static bool convertsExactly(Operation *op) {
  auto conversion =
      cast<arith::TruncFOp>(op).getIn().getDefiningOp<FromInteger>();
  if (!conversion)
    return false;
  unsigned bits =
      getElementTypeOrSelf(conversion.getIn()).getIntOrFloatBitWidth();
  auto middle = cast<FloatType>(getElementTypeOrSelf(conversion.getType()));
  return bits <= APFloat::semanticsPrecision(middle.getFloatSemantics()) &&
         int(bits) <= APFloat::semanticsMaxExponent(middle.getFloatSemantics());
}

/// The pattern replaces two casts by what they are of. The first one must not
/// have made it narrower.
static bool keepsNumber(Operation *op) {
  Operation *inner = op->getOperand(0).getDefiningOp();
  if (!inner || inner->getName() != op->getName())
    return false;
  auto getWidth = [](Value value) {
    Type type = getElementTypeOrSelf(value);
    return type.isIndex() ? IndexType::kInternalStorageBitWidth
                          : type.getIntOrFloatBitWidth();
  };
  return getWidth(inner->getResult(0)) >= getWidth(inner->getOperand(0));
}

/// The pattern makes one op with one constant of two ops, and says of it what
/// both said: that nothing wraps around. The constant, or the op, may.
static bool sharesNoFlags(Operation *op) {
  auto getFlags = [](Operation *op) {
    auto arithmetic =
        dyn_cast_or_null<arith::ArithIntegerOverflowFlagsInterface>(op);
    return arithmetic ? arithmetic.getOverflowAttr().getValue()
                      : arith::IntegerOverflowFlags::none;
  };
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return (getFlags(op) & getFlags(operand.getDefiningOp())) ==
           arith::IntegerOverflowFlags::none;
  });
}

/// The pattern guesses which dimensions of the destination a source of lower
/// rank lacks.
template <typename InsertSlice>
static bool keepsRank(Operation *op) {
  auto insert = cast<InsertSlice>(op);
  return insert.getSourceType().getRank() == insert.getDestType().getRank();
}

/// The pattern takes what a loop carries for a tensor of constant size if the
/// first one is, and casts what the rounds yield to that without a check.
static bool keepsSizes(Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  return llvm::all_of(
      llvm::zip_equal(loop.getInitArgs(), loop.getYieldedValues()),
      [](auto each) {
        auto [first, next] = each;
        auto cast = first.template getDefiningOp<tensor::CastOp>();
        auto other = next.template getDefiningOp<tensor::CastOp>();
        return !cast || (other && other.getSource().getType() ==
                                      cast.getSource().getType());
      });
}

/// The pattern takes insert number k for that of output number k. So there must
/// be one for each output, in the order of the outputs.
static bool insertsInOrder(Operation *op) {
  auto loop = cast<scf::ForallOp>(op);
  SmallVector<Value> into;
  for (Operation &each : loop.getTerminator().getYieldingOps()) {
    auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(each);
    if (!insert)
      return false;
    into.push_back(insert.getDest());
  }
  return llvm::equal(into, loop.getRegionIterArgs());
}

static bool isOfOpenSize(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && !tensor.hasStaticShape();
}

/// The pattern selects one of two tensors by a boolean. arith.select computes
/// each element on its own, so the two must be of one size.
static bool selectsNoSizes(Operation *op) {
  return llvm::none_of(op->getResultTypes(), isOfOpenSize);
}

/// The same for the arguments of a block that both branches go to.
static bool branchesWithNoSizes(Operation *op) {
  return llvm::none_of(
      cast<cf::CondBranchOp>(op).getTrueDest()->getArgumentTypes(),
      isOfOpenSize);
}

/// The pattern gives lanes that the mask leaves out the source in place of the
/// accumulator.
static bool isNotMasked(Operation *op) {
  return !cast<vector::MaskableOpInterface>(op).isMasked();
}

/// The pattern forgets the mask where there is no accumulator.
static bool isNotMaskedAlone(Operation *op) {
  return isNotMasked(op) || cast<vector::ReductionOp>(op).getAcc();
}

/// The pattern reads the tensor, though memory may have been written since.
static bool isOfValue(Operation *) { return false; }

/// The pattern merges a block with the only one that branches to it. In a loop
/// that nothing reaches an op then uses itself: x = x + 1 becomes x = x + 2 and
/// so on, and x = x + 0 is folded to itself for ever.
static bool isReached(Operation *op) {
  if (!cast<cf::BranchOp>(op).getDest()->getSinglePredecessor())
    return true;
  SetVector<Block *> before;
  before.insert(op->getBlock());
  for (unsigned i = 0; i < before.size(); ++i) {
    if (before[i]->isEntryBlock())
      return true;
    before.insert(before[i]->pred_begin(), before[i]->pred_end());
  }
  return false;
}

namespace {
struct Fault {
  /// A pattern class of MLIR's.
  StringLiteral pattern;
  /// Whether the pattern is right for its op, `root`.
  bool (*isRight)(Operation *root);
};
} // namespace

/// docs/reference/Upstream.md tells of each, test/Upstream/upstream-faults.mlir
/// whether it is still there.
static constexpr Fault faults[] = {
    {"LoadOfToBuffer", isOfValue},
    // The pattern of cf.br is a function and has no name.
    {"", isReached},
    {"WhileMoveIfDown", forwardsEachOnce},
    {"ForOpTensorCastFolder", keepsSizes},
    {"ForallOpSingleOrZeroIterationDimsFolder", insertsInOrder},
    {"FoldTensorCastOfOutputIntoForallOp", insertsInOrder},
    {"ConvertTrivialIfToSelect", selectsNoSizes},
    {"CombineNestedIfs", selectsNoSizes},
    {"SimplifyCondBranchIdenticalSuccessors", branchesWithNoSizes},
    {"TruncFSIToFPToSIToFP", convertsExactly<arith::SIToFPOp>},
    {"TruncFUIToFPToUIToFP", convertsExactly<arith::UIToFPOp>},
    {"IndexCastOfIndexCast", keepsNumber},
    {"IndexCastUIOfIndexCastUI", keepsNumber},
    {"AddIAddConstant", sharesNoFlags},
    {"AddISubConstantLHS", sharesNoFlags},
    {"AddISubConstantRHS", sharesNoFlags},
    {"MulIMulIConstant", sharesNoFlags},
    {"SubILHSAddConstant", sharesNoFlags},
    {"SubILHSSubConstantLHS", sharesNoFlags},
    {"SubILHSSubConstantRHS", sharesNoFlags},
    {"SubIRHSSubConstantLHS", sharesNoFlags},
    {"SubIRHSSubConstantRHS", sharesNoFlags},
    {"ElideUnitDimsInMultiDimReduction", isNotMasked},
    {"ElideSingleElementReduction", isNotMaskedAlone},
    {"InsertSliceOpConstantArgumentFolder<mlir::tensor::InsertSliceOp>",
     keepsRank<tensor::InsertSliceOp>},
    {"InsertSliceOpConstantArgumentFolder<mlir::tensor::ParallelInsertSliceOp>",
     keepsRank<tensor::ParallelInsertSliceOp>},
};

//===----------------------------------------------------------------------===//
// The guard
//===----------------------------------------------------------------------===//

namespace {
/// A pattern that is applied only to ops for which it is right.
struct GuardedPattern : public RewritePattern {
  GuardedPattern(std::unique_ptr<RewritePattern> pattern, const Fault &fault)
      : RewritePattern(pattern->getRootKind()->getStringRef(),
                       pattern->getBenefit(), pattern->getContext()),
        pattern(std::move(pattern)), fault(fault) {
    setDebugName(this->pattern->getDebugName());
    setHasBoundedRewriteRecursion(this->pattern->hasBoundedRewriteRecursion());
  }

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!fault.isRight(op))
      return rewriter.notifyMatchFailure(op, "MLIR's pattern would be wrong");
    return pattern->matchAndRewrite(op, rewriter);
  }

  std::unique_ptr<RewritePattern> pattern;
  const Fault &fault;
};
} // namespace

/// The namespace in front of a name is written in different ways.
static bool isOf(const RewritePattern &pattern, const Fault &fault) {
  StringRef name = pattern.getDebugName();
  return fault.pattern.empty() ? name.empty() && pattern.getRootKind() &&
                                     pattern.getRootKind()->getStringRef() ==
                                         cf::BranchOp::getOperationName()
                               : name.ends_with(fault.pattern);
}

void gpuasync::guardFaultyPatterns(RewritePatternSet &patterns) {
  for (std::unique_ptr<RewritePattern> &pattern : patterns.getNativePatterns())
    for (const Fault &fault : faults)
      if (isOf(*pattern, fault)) {
        pattern = std::make_unique<GuardedPattern>(std::move(pattern), fault);
        break;
      }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct Canonicalize
    : public gpuasync::impl::GPUAsyncCanonicalizeBase<Canonicalize> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet all(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(all);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      op.getCanonicalizationPatterns(all, context);
    guardFaultyPatterns(all);
    patterns = std::make_shared<FrozenRewritePatternSet>(std::move(all));
    return success();
  }

  void runOnOperation() override {
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Normal);
    // Best effort: what is not canonical yet is right all the same.
    (void)applyPatternsGreedily(getOperation(), *patterns, config);
  }

  std::shared_ptr<FrozenRewritePatternSet> patterns;
};
} // namespace
