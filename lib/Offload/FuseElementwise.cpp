//===- FuseElementwise.cpp - fusion where no work is done twice -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's fusion of elementwise ops, with a control of ours: upstream's
// puts an exp into a matmul's operand, where it is computed for each column.
//===----------------------------------------------------------------------===//

#include "BodyEffects.h"
#include "Contraction.h"
#include "Destinations.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "OutputMaps.h"
#include "Schedule.h"
#include "Slices.h"
#include "Tile.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCFUSEELEMENTWISE
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// Whether doing it again costs little more than reading its result: of what it
/// reads, no more than one has an element for each of the result's. Else a sum
/// that each layer of a network adds to would be added up again in each.
static bool isCheap(linalg::GenericOp op) {
  if (llvm::count_if(op.getDpsInputOperands(), [&](OpOperand *input) {
        return op.getMatchingIndexingMap(input).getNumResults() ==
               op.getNumLoops();
      }) > 1)
    return false;
  int64_t count = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
            arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
            arith::CeilDivUIOp, arith::FloorDivSIOp>(inner) ||
        !isa_and_nonnull<arith::ArithDialect, linalg::LinalgDialect>(
            inner.getDialect()))
      return false;
    count += !isa<arith::ConstantOp, linalg::IndexOp>(inner);
  }
  return count <= 2;
}

/// Whether it only says where an element comes from.
static bool movesOnly(linalg::GenericOp op) {
  return llvm::hasSingleElement(*op.getBody()) && op.getNumDpsInputs() == 1 &&
         op.getNumParallelLoops() == op.getNumLoops();
}

/// Of which type an operand's elements are before an op that does nothing but
/// write them as f32; their own type if there is none.
static Type getWidened(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  auto producer = value.getDefiningOp<linalg::GenericOp>();
  if (!producer || !type.isF32() || producer.getNumDpsInputs() != 1 ||
      producer.getNumReductionLoops() ||
      !llvm::hasNItems(*producer.getBody(), 2))
    return type;
  auto cast = dyn_cast<arith::ExtFOp>(producer.getBody()->front());
  return cast && cast.getIn() == producer.getBody()->getArgument(0)
             ? cast.getIn().getType()
             : type;
}

/// Tensor cores multiply elements of 16 bits, without loss.
static bool areForTensorCores(linalg::GenericOp product) {
  Type first = getWidened(product.getInputs().front());
  return (first.isF16() || first.isBF16()) &&
         llvm::all_of(product.getInputs(),
                      [&](Value input) { return getWidened(input) == first; });
}

/// Whether it computes of what its outputs held: fused, it still writes them.
static bool readsOutputs(linalg::GenericOp op) {
  return llvm::any_of(op.getDpsInitsMutable(), [&](OpOperand &output) {
    return op.payloadUsesValueFromOperand(&output);
  });
}

/// Whether the bodies are short enough for one op. Fusion copies them for each
/// op that joins, so a chain of thousands would take minutes.
static bool areShort(linalg::GenericOp producer, linalg::GenericOp consumer) {
  constexpr size_t most = 256;
  size_t count = 0;
  for (linalg::GenericOp op : {producer, consumer})
    for (auto it = op.getBody()->begin(); it != op.getBody()->end(); ++it)
      if (++count > most)
        return false;
  return true;
}

/// Whether each element of an input is for one iteration only.
static bool usesElementsOnce(OpOperand &input) {
  auto op = cast<linalg::LinalgOp>(input.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&input);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  return map.isProjectedPermutation() &&
         llvm::all_of(llvm::seq<unsigned>(0, sizes.size()), [&](unsigned loop) {
           return sizes[loop] == 1 || map.isFunctionOfDim(loop);
         });
}

static bool mayFuse(OpOperand *operand, bool hasTensorCores) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || producer->getBlock() != consumer->getBlock() ||
      !mayMove(producer) || !areShort(producer, consumer))
    return false;
  // Each element once.
  if (readsOutputs(producer) &&
      !consumer.getMatchingIndexingMap(operand).isPermutation())
    return false;
  // A vector's product takes each element of its matrix once, as a sum does.
  if (isContraction(consumer) &&
      !(isVectorProduct(consumer) && usesElementsOnce(*operand)))
    return movesOnly(producer) ||
           (hasTensorCores && areForTensorCores(consumer) &&
            getWidened(operand->get()) !=
                getElementTypeOrSelf(operand->get().getType()));
  if (isCheap(producer))
    return true;
  return operand->get().hasOneUse() && producer->hasOneUse() &&
         consumer.getMatchingIndexingMap(operand).isPermutation();
}

namespace {
/// What an op reads of the fill that it overwrites, each element once, is the
/// fill's value. Else an op that it is fused with would need the fill in
/// memory.
struct ReadFillValue : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &output : op.getDpsInitsMutable()) {
      auto fill = output.get().getDefiningOp<linalg::FillOp>();
      if (!fill || !op.payloadUsesValueFromOperand(&output) ||
          !op.getMatchingIndexingMap(&output).isPermutation())
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        op.getMatchingBlockArgument(&output).replaceAllUsesWith(fill.value());
        output.set(fill.output());
      });
      return success();
    }
    return rewriter.notifyMatchFailure(op, "expected an output that is a fill");
  }
};

/// The elements of a constant that an op goes on from, all equal, are filled
/// in. Else the constant would be copied to where the op writes, from the host.
struct FillSplatOutput : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &output : op.getDpsInitsMutable()) {
      SplatElementsAttr splat;
      auto type = dyn_cast<RankedTensorType>(output.get().getType());
      if (!type || !matchPattern(output.get(), m_Constant(&splat)))
        continue;
      auto element = dyn_cast<TypedAttr>(splat.getSplatValue<Attribute>());
      if (!element ||
          !isa<IntegerType, FloatType, IndexType>(type.getElementType()))
        continue;
      Value value = arith::ConstantOp::create(rewriter, op.getLoc(), element);
      Value empty =
          tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                  type.getElementType(), type.getEncoding());
      auto fill = linalg::FillOp::create(rewriter, op.getLoc(), value, empty);
      rewriter.modifyOpInPlace(op, [&] { output.set(fill.getResult(0)); });
      return success();
    }
    return rewriter.notifyMatchFailure(
        op, "expected an output that is a constant of equal elements");
  }
};

/// A number that an op reads as a tensor's only element is passed by value.
/// Else the host would put it into memory, for the device to copy.
struct ReadNumber : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand *input : op.getDpsInputOperands()) {
      auto number = input->get().getDefiningOp<tensor::FromElementsOp>();
      BlockArgument argument = op.getMatchingBlockArgument(input);
      if (!number || number.getElements().size() != 1 || argument.use_empty())
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        argument.replaceAllUsesWith(number.getElements().front());
      });
      return success();
    }
    return rewriter.notifyMatchFailure(op, "expected a number as an input");
  }
};

/// Outputs that an op writes in full and does not read need not be there before
/// it.
struct DropUnreadOutputs : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<OpOperand *> unread;
    for (OpOperand &output : op.getDpsInitsMutable())
      if (isa<RankedTensorType>(output.get().getType()) &&
          !output.get().getDefiningOp<tensor::EmptyOp>() &&
          !op.payloadUsesValueFromOperand(&output))
        unread.push_back(&output);
    if (unread.empty() || !writesWholeOutputs(op))
      return rewriter.notifyMatchFailure(op, "expected outputs that are only "
                                             "written");
    for (OpOperand *output : unread) {
      auto type = cast<RankedTensorType>(output->get().getType());
      Value empty = tensor::EmptyOp::create(
          rewriter, op.getLoc(),
          tensor::getMixedSizes(rewriter, op.getLoc(), output->get()),
          type.getElementType(), type.getEncoding());
      rewriter.modifyOpInPlace(op, [&] { output->set(empty); });
    }
    return success();
  }
};

/// A result that nobody reads is not written: what the op reads of its output,
/// each element once, is an input.
struct ReadUnusedResult : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op.getNumDpsInits() < 2)
      return rewriter.notifyMatchFailure(op, "expected several tensors");
    auto isUnused = [&](OpOperand &output) {
      return op.getTiedOpResult(&output).use_empty() &&
             op.payloadUsesValueFromOperand(&output) &&
             op.getMatchingIndexingMap(&output).isPermutation();
    };
    auto outputs = op.getDpsInitsMutable();
    auto unused = llvm::find_if(outputs, isUnused);
    if (unused == outputs.end())
      return rewriter.notifyMatchFailure(op, "expected an unused result");
    const unsigned number = unused - outputs.begin();
    SmallVector<Value> inputs(op.getInputs()), inits(op.getOutputs());
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    inputs.push_back(inits[number]);
    inits.erase(inits.begin() + number);
    AffineMap map = maps[op.getNumDpsInputs() + number];
    maps.erase(maps.begin() + op.getNumDpsInputs() + number);
    maps.insert(maps.begin() + op.getNumDpsInputs(), map);
    auto created = linalg::GenericOp::create(
        rewriter, op.getLoc(), ValueRange(inits).getTypes(), inputs, inits,
        maps, op.getIteratorTypesArray());
    Block *body = op.getBody();
    const unsigned place = op.getNumDpsInputs() + number;
    BlockArgument argument = body->insertArgument(
        op.getNumDpsInputs(), body->getArgument(place).getType(),
        body->getArgument(place).getLoc());
    rewriter.replaceAllUsesWith(body->getArgument(place + 1), argument);
    body->eraseArgument(place + 1);
    Operation *yield = body->getTerminator();
    rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperand(number); });
    rewriter.inlineRegionBefore(op.getRegion(), created.getRegion(),
                                created.getRegion().begin());
    SmallVector<Value> results(created.getResults());
    results.insert(results.begin() + number, op.getOutputs()[number]);
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

/// The elements of a tensor as those of another type of floats.
static Value castElements(Value value, Type element, Location loc,
                          IRRewriter &rewriter) {
  auto type = cast<RankedTensorType>(value.getType());
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, value), element);
  AffineMap same = rewriter.getMultiDimIdentityMap(type.getRank());
  return linalg::GenericOp::create(
             rewriter, loc, empty.getType(), value, empty,
             ArrayRef<AffineMap>{same, same},
             SmallVector<utils::IteratorType>(type.getRank(),
                                              utils::IteratorType::parallel),
             [&](OpBuilder &builder, Location loc, ValueRange values) {
               Value made =
                   element.isF32()
                       ? arith::ExtFOp::create(builder, loc, element, values[0])
                             .getResult()
                       : arith::TruncFOp::create(builder, loc, element,
                                                 values[0]);
               linalg::YieldOp::create(builder, loc, made);
             })
      .getResult(0);
}

/// What a sum of f16 or bf16 adds to it; null: it is no such sum.
static Value findSummand(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      !op.getNumReductionLoops())
    return Value();
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  auto sum = op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  BlockArgument output = op.getRegionOutputArgs().front();
  if (!isa_and_nonnull<arith::AddFOp>(sum) ||
      !(element.isF16() || element.isBF16()) || !output.hasOneUse() ||
      llvm::count(sum->getOperands(), output) != 1)
    return Value();
  return sum->getOperand(sum->getOperand(0) == output);
}

/// Takes sums of f16 and bf16 in f32, and rounds them once: of 256 ones and
/// another one bf16 makes 256 again.
static void widenSums(Operation *root, bool hasTensorCores) {
  IRRewriter rewriter(root->getContext());
  SmallVector<linalg::GenericOp> ops;
  root->walk([&](linalg::GenericOp op) {
    // These do so by themselves.
    if (findSummand(op) && !(hasTensorCores && isForTensorCores(op)))
      ops.push_back(op);
  });
  Type wide = rewriter.getF32Type();
  for (linalg::GenericOp op : ops) {
    Location loc = op.getLoc();
    rewriter.setInsertionPoint(op);
    Value init = op.getOutputs().front();
    Type narrow = getElementTypeOrSelf(init.getType());
    if (auto fill = init.getDefiningOp<linalg::FillOp>()) {
      Value empty = tensor::EmptyOp::create(
          rewriter, loc, tensor::getMixedSizes(rewriter, loc, init), wide);
      Value value =
          rewriter.createOrFold<arith::ExtFOp>(loc, wide, fill.value());
      init = linalg::FillOp::create(rewriter, fill.getLoc(), value, empty)
                 .getResult(0);
    } else {
      init = castElements(init, wide, loc, rewriter);
    }
    auto created = linalg::GenericOp::create(
        rewriter, loc, init.getType(), op.getInputs(), init,
        op.getIndexingMapsArray(), op.getIteratorTypesArray(),
        [&](OpBuilder &builder, Location loc, ValueRange arguments) {
          IRMapping map;
          map.map(op.getBody()->getArguments(), arguments);
          Value summand = findSummand(op);
          auto widen = [&](Value value) -> Value {
            return arith::ExtFOp::create(builder, loc, wide,
                                         map.lookupOrDefault(value));
          };
          Operation *sum =
              op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
          for (Operation &inner : op.getBody()->without_terminator())
            if (&inner != sum)
              builder.clone(inner, map);
          // Products of two of these are exact in f32.
          Value next;
          if (auto product = summand.getDefiningOp<arith::MulFOp>();
              product && product->getBlock() == op.getBody())
            next = arith::MulFOp::create(builder, loc, widen(product.getLhs()),
                                         widen(product.getRhs()));
          else
            next = widen(summand);
          linalg::YieldOp::create(
              builder, loc,
              arith::AddFOp::create(builder, loc, arguments.back(), next)
                  .getResult());
        });
    Value result = castElements(created.getResult(0), narrow, loc, rewriter);
    keepTile(op, created);
    rewriter.replaceOp(op, result);
  }
}

namespace {
/// Upstream's pattern leaves a producer that asserts, though the op that it has
/// become part of asserts the same.
class FuseProducer : public OpRewritePattern<linalg::GenericOp> {
public:
  FuseProducer(MLIRContext *context, bool hasTensorCores)
      : OpRewritePattern(context), hasTensorCores(hasTensorCores) {}

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      // Without outputs an op's loops are as long as its inputs.
      if (!op.getNumDpsInits() || !linalg::areElementwiseOpsFusable(&operand) ||
          !mayFuse(&operand, hasTensorCores))
        continue;
      Operation *producer = operand.get().getDefiningOp();
      auto fused = linalg::fuseElementwiseOps(rewriter, &operand);
      if (failed(fused))
        return rewriter.notifyMatchFailure(op, "expected ops that can be one");
      for (auto [before, now] : fused->replacements)
        if (before.getDefiningOp() == op)
          rewriter.replaceAllUsesWith(before, now);
      rewriter.eraseOp(op);
      if (producer->use_empty())
        rewriter.eraseOp(producer);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "expected a producer to fuse");
  }

private:
  bool hasTensorCores;
};

/// An op that only asserts or stores has no outputs, and its loops are as long
/// as its inputs. Upstream folds a constant into the body even if it is the
/// last input: it stays as an empty one.
struct KeepExtents : public OpRewritePattern<linalg::GenericOp> {
  explicit KeepExtents(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumDpsInits() || !op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "expected an op without outputs");
    for (OpOperand *input : op.getDpsInputOperands()) {
      SplatElementsAttr constant;
      auto type = dyn_cast<RankedTensorType>(input->get().getType());
      if (!type || !matchPattern(input->get(), m_Constant(&constant)))
        continue;
      Operation *maker = input->get().getDefiningOp();
      Operation *value = maker->getDialect()->materializeConstant(
          rewriter, constant.getSplatValue<Attribute>(), type.getElementType(),
          op.getLoc());
      if (!value)
        continue;
      rewriter.replaceAllUsesWith(op.getMatchingBlockArgument(input),
                                  value->getResult(0));
      rewriter.modifyOpInPlace(op, [&] {
        input->set(tensor::EmptyOp::create(
            rewriter, op.getLoc(), type.getShape(), type.getElementType()));
      });
      return success();
    }
    return rewriter.notifyMatchFailure(op, "expected a constant input");
  }
};
} // namespace

/// Whether nothing of the block computes with it, nor a region in it: what is
/// behind does.
static bool isForLater(Value value, Operation *but = nullptr) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return user == but || (user->hasTrait<OpTrait::IsTerminator>() &&
                           user->getBlock() == value.getParentBlock());
  });
}

/// What a block gives out with something that is computed of it, element by
/// element, is computed by one op: of the state of a recurrent network, say.
/// Whether there was any.
static bool computeTogether(Operation *root) {
  IRRewriter rewriter(root->getContext());
  bool changed = false;
  SmallVector<linalg::GenericOp> ops;
  root->walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops) {
    if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() ||
        op->use_empty() || !llvm::all_of(op->getResults(), [](Value result) {
          return isForLater(result);
        }))
      continue;
    for (OpOperand *input : op.getDpsInputOperands()) {
      auto producer = input->get().getDefiningOp<linalg::GenericOp>();
      if (!producer || producer->getBlock() != op->getBlock() ||
          producer->getNumResults() != 1 || producer.getNumReductionLoops() ||
          !mayMove(producer) || !areShort(producer, op) ||
          !isForLater(input->get(), op) ||
          // Read at another place, too, it has to be there before.
          llvm::count(op->getOperands(), input->get()) != 1 ||
          !op.getMatchingIndexingMap(input).isIdentity() ||
          !producer.getIndexingMapMatchingResult(producer->getOpResult(0))
               .isIdentity() ||
          !linalg::areElementwiseOpsFusable(input))
        continue;
      rewriter.setInsertionPoint(op);
      auto fused = linalg::fuseElementwiseOps(rewriter, input);
      if (failed(fused))
        continue;
      for (auto [before, now] : fused->replacements)
        rewriter.replaceAllUsesWith(before, now);
      keepTile(op, fused->fusedOp);
      rewriter.eraseOp(op);
      rewriter.eraseOp(producer);
      changed = true;
      break;
    }
  }
  return changed;
}

namespace {
struct FuseElementwise
    : public gpuasync::impl::GPUAsyncFuseElementwiseBase<FuseElementwise> {
  using Base::Base;
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    if (failed(verifyTiles(getOperation())))
      return signalPassFailure();
    KeepTile keepTile;
    greedily.setListener(&keepTile);
    {
      RewritePatternSet patterns(context);
      linalg::populateElementwiseToLinalgConversionPatterns(patterns);
      if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                       greedily)))
        return signalPassFailure();
    }
    auto countLinalg = [&] {
      uint64_t count = 0;
      getOperation()->walk([&](linalg::LinalgOp) { ++count; });
      return count;
    };
    uint64_t before = countLinalg();
    if (failed(generalize()))
      return signalPassFailure();
    widenSums(getOperation(), Schedule::get(device).hasTensorCores);
    if (failed(fuse()))
      return signalPassFailure();
    if (computeTogether(getOperation()) && failed(fuse()))
      return signalPassFailure();
    readElements();
    loopOverIterations();
    splitDestinations(getOperation());
    if (uint64_t after = countLinalg(); after != before)
      Decision(*this, getOperation(), "Fused")
          .count(numBefore, "ops-before", before)
          .count(numAfter, "ops-after", after);
  }

private:
  LogicalResult generalize();
  LogicalResult fuse();
  void readElements();
  void loopOverIterations();

  GreedyRewriteConfig greedily;
};
} // namespace

LogicalResult FuseElementwise::fuse() {
  RewritePatternSet patterns(&getContext());
  patterns.add<FuseProducer>(&getContext(),
                             Schedule::get(device).hasTensorCores);
  patterns.add<KeepExtents>(&getContext());
  // What upstream folds besides fusing.
  linalg::populateElementwiseOpsFusionPatterns(
      patterns, [](OpOperand *) { return false; });
  // It forgets what a reduction without elements leaves.
  llvm::erase_if(patterns.getNativePatterns(), [](const auto &pattern) {
    return pattern->getDebugName().ends_with("RemoveOutsDependency");
  });
  patterns.add<DropUnreadOutputs>(&getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  patterns.add<FillSplatOutput, ReadFillValue, ReadNumber, ReadUnusedResult>(
      &getContext());
  linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
  tensor::populateFoldTensorEmptyPatterns(patterns);
  return applyPatternsGreedily(getOperation(), std::move(patterns), greedily);
}

/// A reduction reads its output no more where folding found its result, which
/// holds if there are elements.
void FuseElementwise::loopOverIterations() {
  IRRewriter rewriter(&getContext());
  SmallVector<linalg::LinalgOp> ops;
  getOperation()->walk([&](linalg::LinalgOp op) {
    if (!writesWholeOutputs(op))
      ops.push_back(op);
  });
  for (linalg::LinalgOp op : ops)
    makeIterationLoops(rewriter, op);
}

static bool hasNoElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::is_contained(tensor.getShape(), 0);
}

/// Each element is read where it is, or what is around.
static void padByElements(tensor::PadOp pad, Value around, Value memory,
                          IRRewriter &rewriter) {
  Location loc = pad.getLoc();
  unsigned rank = pad.getResultType().getRank();
  SmallVector<Value> low;
  for (OpFoldResult each : pad.getMixedLowPad())
    low.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, each));
  auto created = linalg::GenericOp::create(
      rewriter, loc, memory.getType(), ValueRange(), memory,
      AffineMap::getMultiDimIdentityMap(rank, rewriter.getContext()),
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &builder, Location loc, ValueRange) {
        Value isThere;
        SmallVector<Value> place;
        for (unsigned dim = 0; dim < rank; ++dim) {
          int64_t size = pad.getSourceType().getDimSize(dim);
          auto constant = [&](int64_t value) {
            return arith::ConstantIndexOp::create(builder, loc, value);
          };
          Value index = arith::SubIOp::create(
              builder, loc, linalg::IndexOp::create(builder, loc, dim),
              low[dim]);
          // One in front of the first is a large number, too.
          Value isIn = arith::CmpIOp::create(
              builder, loc, arith::CmpIPredicate::ult, index, constant(size));
          isThere = isThere ? arith::AndIOp::create(builder, loc, isThere, isIn)
                            : isIn;
          place.push_back(
              arith::SelectOp::create(builder, loc, isIn, index, constant(0)));
        }
        Value value =
            tensor::ExtractOp::create(builder, loc, pad.getSource(), place);
        linalg::YieldOp::create(
            builder, loc,
            arith::SelectOp::create(builder, loc, isThere, value, around)
                .getResult());
      });
  Value result = created.getResult(0);
  if (result.getType() != pad.getResultType())
    result = tensor::CastOp::create(rewriter, loc, pad.getResultType(), result);
  rewriter.replaceOp(pad, result);
}

/// A fill, and a copy into it, if what is around is one value: what is computed
/// is computed there. Upstream's makes fills of constants of arith only.
static bool padByFill(tensor::PadOp pad, IRRewriter &rewriter) {
  Value around = pad.getConstantPaddingValue();
  ReifiedRankedShapedTypeDims shape;
  if (!around || failed(reifyResultShapes(rewriter, pad, shape)))
    return false;
  if (pad.getRegion().isAncestor(around.getParentRegion()))
    around = rewriter.clone(*around.getDefiningOp())->getResult(0);
  Location loc = pad.getLoc();
  RankedTensorType type = pad.getResultType();
  Value memory = tensor::EmptyOp::create(
      rewriter, loc, shape.front(), type.getElementType(), type.getEncoding());
  if (isa<BlockArgument>(pad.getSource()) && type.getRank() &&
      pad.getSourceType().hasStaticShape() &&
      !hasNoElements(pad.getSourceType())) {
    padByElements(pad, around, memory, rewriter);
    return true;
  }
  Operation *made = around.getDefiningOp();
  if (made && made->hasTrait<OpTrait::ConstantLike>() &&
      type.hasStaticShape()) {
    // It is there before what is computed there.
    rewriter.moveOpBefore(memory.getDefiningOp(), pad->getBlock(),
                          pad->getBlock()->begin());
    rewriter.setInsertionPointAfter(memory.getDefiningOp());
    around = rewriter.clone(*made)->getResult(0);
  }
  Value filled =
      linalg::FillOp::create(rewriter, loc, around, memory).getResult(0);
  rewriter.setInsertionPoint(pad);
  SmallVector<OpFoldResult> ones(type.getRank(), rewriter.getIndexAttr(1));
  Value result = filled;
  if (!hasNoElements(pad.getSourceType()))
    result = tensor::InsertSliceOp::create(
        rewriter, loc, pad.getSource(), filled, pad.getMixedLowPad(),
        tensor::getMixedSizes(rewriter, loc, pad.getSource()), ones);
  if (result.getType() != type)
    result = tensor::CastOp::create(rewriter, loc, type, result);
  rewriter.replaceOp(pad, result);
  return true;
}

/// Tensors without elements are computed by nothing, and put nowhere: upstream
/// refuses slices of these, which begin where there is nothing.
static void dropNothing(Operation *root, IRRewriter &rewriter) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    if (!isa_and_nonnull<tensor::TensorDialect, linalg::LinalgDialect>(
            op->getDialect()))
      continue;
    ReifiedRankedShapedTypeDims shapes;
    for (OpResult result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type || !hasNoElements(type) || isa<tensor::EmptyOp>(op) ||
          (shapes.empty() && failed(reifyResultShapes(rewriter, op, shapes))))
        continue;
      Value empty = tensor::EmptyOp::create(rewriter, op->getLoc(),
                                            shapes[result.getResultNumber()],
                                            type.getElementType());
      if (empty.getType() != type)
        empty = tensor::CastOp::create(rewriter, op->getLoc(), type, empty);
      rewriter.replaceAllUsesWith(result, empty);
    }
    if (isOpTriviallyDead(op)) {
      rewriter.eraseOp(op);
      continue;
    }
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
      if (hasNoElements(insert.getSourceType()))
        rewriter.replaceOp(insert, insert.getDest());
    } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
      SmallVector<Value> inputs =
          llvm::filter_to_vector(concat.getInputs(), [](Value input) {
            return !hasNoElements(input.getType());
          });
      if (inputs.size() < concat.getInputs().size() && !inputs.empty())
        concat.getInputsMutable().assign(inputs);
    }
  }
}

/// A number in each element is computed where it is used.
static void generalizeSplat(tensor::SplatOp splat, IRRewriter &rewriter) {
  Location loc = splat.getLoc();
  auto type = splat.getType();
  unsigned rank = type.getRank();
  SmallVector<OpFoldResult> known;
  size_t next = 0;
  for (int64_t size : type.getShape())
    known.push_back(ShapedType::isDynamic(size)
                        ? OpFoldResult(splat.getDynamicSizes()[next++])
                        : rewriter.getIndexAttr(size));
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, known, type.getElementType());
  MLIRContext *context = rewriter.getContext();
  rewriter.replaceOpWithNewOp<linalg::GenericOp>(
      splat, TypeRange(type), ValueRange(splat.getInput()), ValueRange(empty),
      ArrayRef<AffineMap>{AffineMap::get(rank, 0, context),
                          AffineMap::getMultiDimIdentityMap(rank, context)},
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [](OpBuilder &builder, Location loc, ValueRange values) {
        linalg::YieldOp::create(builder, loc, values.front());
      });
}

/// Fills alone keep their names: they are values that need no kernel.
LogicalResult FuseElementwise::generalize() {
  IRRewriter rewriter(&getContext());
  dropNothing(getOperation(), rewriter);
  getOperation()->walk(
      [&](Operation *op) { sliceAllDimensions(op, rewriter); });
  SmallVector<Operation *> named;
  getOperation()->walk([&](Operation *op) {
    if (isa<linalg::SoftmaxOp, tensor::PadOp, tensor::GenerateOp,
            tensor::SplatOp>(op) ||
        (isa<linalg::LinalgOp>(op) &&
         !isa<linalg::GenericOp, linalg::FillOp>(op)))
      named.push_back(op);
  });
  for (Operation *op : named) {
    rewriter.setInsertionPoint(op);
    if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op)) {
      FailureOr<SmallVector<Value>> values =
          softmax.decomposeOperation(rewriter);
      if (failed(values))
        return failure();
      rewriter.replaceOp(softmax, *values);
    } else if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
      generalizeSplat(splat, rewriter);
    } else if (auto pad = dyn_cast<tensor::PadOp>(op)) {
      if (!padByFill(pad, rewriter) &&
          failed(linalg::rewriteInDestinationPassingStyle(rewriter, pad)))
        return failure();
    } else if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
      if (failed(linalg::rewriteInDestinationPassingStyle(rewriter, generate)))
        return failure();
    } else {
      Attribute tile = op->getDiscardableAttr(kTileAttrName);
      auto generalized =
          linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(op));
      if (failed(generalized))
        return failure();
      if (tile)
        generalized->getOperation()->setDiscardableAttr(kTileAttrName, tile);
    }
  }
  return success();
}

/// Whether tiles of the loops are tiles of the operand: an index runs backwards
/// nowhere, and is no remainder or quotient.
static bool isCutLikeLoops(AffineMap map) {
  return llvm::all_of(map.getResults(), [&](AffineExpr result) {
    bool isForward = true;
    result.walk([&](AffineExpr part) {
      if (auto constant = dyn_cast<AffineConstantExpr>(part))
        isForward &= constant.getValue() >= 0;
      isForward &=
          !llvm::is_contained({AffineExprKind::Mod, AffineExprKind::FloorDiv,
                               AffineExprKind::CeilDiv},
                              part.getKind());
    });
    return isForward;
  });
}

/// Loops of which only operands told how long they are that are no operands any
/// more, as of a sum over an array that is read backwards: an operand that
/// nobody reads tells it.
static void addExtents(linalg::GenericOp op, ArrayRef<AffineMap> known,
                       SmallVectorImpl<Value> &inputs,
                       SmallVectorImpl<AffineMap> &maps, IRRewriter &rewriter) {
  llvm::SmallBitVector isKnown(op.getNumLoops());
  for (AffineMap map : known)
    for (AffineExpr result : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(result))
        isKnown.set(dim.getPosition());
  if (isKnown.all())
    return;
  SmallVector<Range> ranges = cast<linalg::LinalgOp>(op.getOperation())
                                  .createLoopRanges(rewriter, op.getLoc());
  SmallVector<OpFoldResult> sizes;
  SmallVector<AffineExpr> dims;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (!isKnown.test(loop)) {
      sizes.push_back(ranges[loop].size);
      dims.push_back(rewriter.getAffineDimExpr(loop));
    }
  if (op.hasPureTensorSemantics()) {
    inputs.push_back(tensor::EmptyOp::create(rewriter, op.getLoc(), sizes,
                                             rewriter.getI8Type()));
  } else {
    // Any memory will do.
    Value memory = op.getDpsInputOperand(0)->get();
    SmallVector<int64_t> shape;
    for (OpFoldResult size : sizes)
      shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
    SmallVector<int64_t> zeros(shape.size(), 0);
    SmallVector<OpFoldResult> strides(shape.size(), rewriter.getIndexAttr(0));
    auto type = cast<MemRefType>(memory.getType());
    auto layout =
        StridedLayoutAttr::get(rewriter.getContext(), /*offset=*/0, zeros);
    inputs.push_back(memref::ReinterpretCastOp::create(
        rewriter, op.getLoc(),
        MemRefType::get(shape, type.getElementType(), layout,
                        type.getMemorySpace()),
        memory, OpFoldResult(rewriter.getIndexAttr(0)), sizes, strides));
  }
  maps.push_back(
      AffineMap::get(op.getNumLoops(), 0, dims, rewriter.getContext()));
}

/// The numbers of the results that somebody reads. Fusion leaves others where
/// these alone tell how long a loop is.
static SmallVector<unsigned> findUsedResults(linalg::GenericOp op) {
  SmallVector<unsigned> used;
  for (OpResult result : op->getResults())
    if (!result.use_empty() ||
        !op.getMatchingBlockArgument(op.getTiedOpOperand(result)).use_empty())
      used.push_back(result.getResultNumber());
  return used;
}

/// An operand that tiles of the loops do not cut into tiles is read element by
/// element, from wherever it is.
void FuseElementwise::readElements() {
  IRRewriter rewriter(&getContext());
  SmallVector<linalg::GenericOp> ops;
  getOperation()->walk([&](linalg::GenericOp op) {
    if (!op.hasPureTensorSemantics() && !op.hasPureBufferSemantics())
      return;
    const size_t used = findUsedResults(op).size();
    if ((used != 0 && used != op->getNumResults()) ||
        llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
          return !isCutLikeLoops(op.getMatchingIndexingMap(input));
        }))
      ops.push_back(op);
  });
  for (linalg::GenericOp op : ops) {
    Location loc = op.getLoc();
    rewriter.setInsertionPoint(op);
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (OpOperand *input : op.getDpsInputOperands())
      if (isCutLikeLoops(op.getMatchingIndexingMap(input))) {
        inputs.push_back(input->get());
        maps.push_back(op.getMatchingIndexingMap(input));
      }
    SmallVector<unsigned> used = findUsedResults(op);
    if (used.empty())
      used = llvm::to_vector(llvm::seq<unsigned>(op.getNumDpsInits()));
    SmallVector<Value> outputs;
    SmallVector<AffineMap> outputMaps;
    for (unsigned number : used) {
      OpOperand *output = op.getDpsInitOperand(number);
      outputs.push_back(output->get());
      outputMaps.push_back(op.getMatchingIndexingMap(output));
    }
    const size_t read = inputs.size();
    addExtents(op, llvm::to_vector(llvm::concat<AffineMap>(maps, outputMaps)),
               inputs, maps, rewriter);
    llvm::append_range(maps, outputMaps);
    auto created = linalg::GenericOp::create(
        rewriter, loc,
        op->getNumResults() ? TypeRange(ValueRange(outputs)) : TypeRange(),
        inputs, outputs, maps, op.getIteratorTypesArray(),
        [&](OpBuilder &builder, Location loc, ValueRange arguments) {
          IRMapping map;
          SmallVector<Value> indices;
          for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
            indices.push_back(linalg::IndexOp::create(builder, loc, loop));
          unsigned next = 0;
          for (OpOperand *input : op.getDpsInputOperands()) {
            AffineMap place = op.getMatchingIndexingMap(input);
            Value value;
            if (isCutLikeLoops(place)) {
              value = arguments[next++];
            } else {
              SmallVector<Value> at;
              for (AffineExpr result : place.getResults())
                at.push_back(affine::AffineApplyOp::create(
                    builder, loc, AffineMap::get(place.getNumDims(), 0, result),
                    indices));
              value =
                  op->getNumResults()
                      ? tensor::ExtractOp::create(builder, loc, input->get(),
                                                  at)
                            .getResult()
                      : memref::LoadOp::create(builder, loc, input->get(), at)
                            .getResult();
            }
            map.map(op.getMatchingBlockArgument(input), value);
          }
          next += inputs.size() - read;
          for (unsigned number : used)
            map.map(op.getMatchingBlockArgument(op.getDpsInitOperand(number)),
                    arguments[next++]);
          for (Operation &inner : op.getBody()->without_terminator())
            builder.clone(inner, map);
          SmallVector<Value> results;
          for (unsigned number : used)
            results.push_back(map.lookupOrDefault(
                op.getBody()->getTerminator()->getOperand(number)));
          linalg::YieldOp::create(builder, loc, results);
        });
    keepTile(op, created);
    for (auto [number, result] : llvm::zip(used, created.getResults()))
      rewriter.replaceAllUsesWith(op->getResult(number), result);
    rewriter.eraseOp(op);
  }
}
