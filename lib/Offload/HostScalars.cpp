//===- HostScalars.cpp - numbers that the host computes -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Front ends make tensors of loop counters and offsets. What is computed of
// numbers that the host has stays with the host: a kernel would make it wait
// for the device each time that control depends on them.
//===----------------------------------------------------------------------===//

#include "BodyEffects.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "GPUAsync/Upstream/Faults.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
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
using namespace mlir::gpuasync::offload;

static bool hasOneElement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::all_of(tensor.getShape(),
                                [](int64_t size) { return size == 1; });
}

static bool hasOneIteration(linalg::LinalgOp op) {
  return llvm::all_of(op.getStaticLoopRanges(),
                      [](int64_t size) { return size == 1; });
}

namespace {
/// A linalg op on single elements that the host has becomes what it computes.
struct ComputeOnHost : public OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    // A body that touches memory goes where the memory is.
    if (!hasOneIteration(op) || !op.hasPureTensorSemantics() || !mayMove(op))
      return failure();
    auto isOnHost = [](Value value) {
      return !isa<TensorType>(value.getType()) ||
             (hasOneElement(value.getType()) &&
              (value.getDefiningOp<tensor::FromElementsOp>() ||
               matchPattern(value, m_Constant())));
    };
    if (!llvm::all_of(op->getResultTypes(), hasOneElement))
      return failure();
    SmallVector<OpOperand *> read;
    for (OpOperand &operand : op->getOpOperands()) {
      const bool isRead = op.payloadUsesValueFromOperand(&operand);
      if ((isRead || op.isDpsInput(&operand)) && !isOnHost(operand.get()))
        return failure();
      if (isRead)
        read.push_back(&operand);
    }
    IRMapping map;
    Value zero = arith::ConstantIndexOp::create(rewriter, op.getLoc(), 0);
    for (OpOperand *each : read) {
      OpOperand &operand = *each;
      BlockArgument argument = op.getMatchingBlockArgument(&operand);
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      map.map(argument, type ? tensor::ExtractOp::create(
                                   rewriter, op.getLoc(), operand.get(),
                                   SmallVector<Value>(type.getRank(), zero))
                                   .getResult()
                             : operand.get());
    }
    for (Operation &inner : op.getBlock()->without_terminator())
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        map.map(index.getResult(), zero);
      else
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

/// Numbers that a loop hands on in tensors.
class CarriedNumbers {
public:
  explicit CarriedNumbers(scf::WhileOp loop) : loop(loop) {}
  /// Of the arguments of the first region, which the host can have, if it has
  /// the first ones: those whose next value follows from such.
  llvm::BitVector find();
  bool isOnHost(Value value, const llvm::BitVector &carried);

private:
  scf::WhileOp loop;
};

/// A loop carries numbers that the host can have as numbers.
struct CarryNumbers : public OpRewritePattern<scf::WhileOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::WhileOp loop,
                                PatternRewriter &rewriter) const override;
};

/// A loop that counts becomes an scf.for, unless somebody wants the counter's
/// last value: upstream's rewrite gives the one before.
struct CountRounds : public OpRewritePattern<scf::WhileOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::WhileOp loop,
                                PatternRewriter &rewriter) const override {
    auto compared = loop.getConditionOp().getCondition().getDefiningOp();
    if (!compared)
      return failure();
    for (auto [value, result] :
         llvm::zip(loop.getConditionOp().getArgs(), loop.getResults()))
      if (llvm::is_contained(compared->getOperands(), value) &&
          !result.use_empty())
        return failure();
    return scf::upliftWhileToForLoop(rewriter, loop);
  }
};

struct HostScalars
    : public gpuasync::impl::GPUAsyncHostScalarsBase<HostScalars> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ComputeOnHost, CarryNumbers, CountRounds>(&getContext());
    tensor::ExtractOp::getCanonicalizationPatterns(patterns, &getContext());
    // A number in another shape.
    tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                         &getContext());
    scf::WhileOp::getCanonicalizationPatterns(patterns, &getContext());
    scf::ForOp::getCanonicalizationPatterns(patterns, &getContext());
    guardFaultyPatterns(patterns);
    auto countNumbers = [&] {
      uint64_t count = 0;
      getOperation()->walk(
          [&](linalg::LinalgOp op) { count += !op.getNumLoops(); });
      return count;
    };
    uint64_t before = countNumbers();
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    if (uint64_t after = countNumbers(); after < before)
      Decision(*this, getOperation(), "OnHost")
          .count(numMoved, "moved-ops", before - after);
  }
};
} // namespace

static bool isNumberTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 &&
         tensor.getElementType().isIntOrIndexOrFloat();
}

/// If the loop's arguments `carried` are.
bool CarriedNumbers::isOnHost(Value value, const llvm::BitVector &carried) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber();
    if (argument.getOwner() == loop.getBeforeBody())
      return carried.test(number);
    if (argument.getOwner() == loop.getAfterBody())
      return isOnHost(loop.getConditionOp().getArgs()[number], carried);
    return !isa<TensorType>(value.getType());
  }
  if (!isa<TensorType>(value.getType()) || matchPattern(value, m_Constant()) ||
      value.getDefiningOp<tensor::FromElementsOp>())
    return true;
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || op.getNumLoops() || !mayMove(op))
    return false;
  for (OpOperand &operand : op->getOpOperands())
    if (!op.getMatchingBlockArgument(&operand).use_empty() &&
        !isOnHost(operand.get(), carried))
      return false;
  return true;
}

llvm::BitVector CarriedNumbers::find() {
  const llvm::BitVector none(loop.getBeforeArguments().size());
  llvm::BitVector carried = none;
  for (auto [number, init] : llvm::enumerate(loop.getInits()))
    if (isNumberTensor(init.getType()) && isOnHost(init, none))
      carried.set(number);
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned number : carried.set_bits())
      if (!isOnHost(loop.getYieldOp().getOperand(number), carried)) {
        carried.reset(number);
        changed = true;
      }
  }
  return carried;
}

LogicalResult CarryNumbers::matchAndRewrite(scf::WhileOp loop,
                                            PatternRewriter &rewriter) const {
  CarriedNumbers numbers(loop);
  const llvm::BitVector before = numbers.find();
  llvm::BitVector after(loop.getNumResults());
  for (auto [number, value] : llvm::enumerate(loop.getConditionOp().getArgs()))
    if (isNumberTensor(value.getType()) && numbers.isOnHost(value, before))
      after.set(number);
  if (before.none() && after.none())
    return failure();
  Location loc = loop.getLoc();
  auto unpack = [&](ValueRange values, const llvm::BitVector &which) {
    SmallVector<Value> unpacked(values);
    for (unsigned number : which.set_bits())
      unpacked[number] =
          tensor::ExtractOp::create(rewriter, loc, values[number]);
    return unpacked;
  };
  auto pack = [&](ValueRange values, TypeRange types,
                  const llvm::BitVector &which) {
    SmallVector<Value> packed(values);
    for (unsigned number : which.set_bits())
      packed[number] = tensor::FromElementsOp::create(
          rewriter, loc, types[number], values[number]);
    return packed;
  };
  SmallVector<Type> types(loop.getResultTypes());
  for (unsigned number : after.set_bits())
    types[number] = cast<TensorType>(types[number]).getElementType();
  auto created = scf::WhileOp::create(rewriter, loc, types,
                                      unpack(loop.getInits(), before));
  struct Part {
    Block *from;
    Region &to;
    SmallVector<Type> types;
    const llvm::BitVector &arguments, &results;
    unsigned firstResult;
  } parts[] = {{loop.getBeforeBody(), created.getBefore(),
                llvm::to_vector(loop.getBeforeBody()->getArgumentTypes()),
                before, after, 1},
               {loop.getAfterBody(), created.getAfter(),
                llvm::to_vector(loop.getAfterBody()->getArgumentTypes()), after,
                before, 0}};
  for (Part &part : parts) {
    OpBuilder::InsertionGuard guard(rewriter);
    SmallVector<Type> own(part.types);
    for (unsigned number : part.arguments.set_bits())
      own[number] = cast<TensorType>(own[number]).getElementType();
    Block *block = rewriter.createBlock(&part.to, {}, own,
                                        SmallVector<Location>(own.size(), loc));
    rewriter.setInsertionPointToStart(block);
    SmallVector<Value> arguments =
        pack(block->getArguments(), part.types, part.arguments);
    Operation *end = part.from->getTerminator();
    rewriter.mergeBlocks(part.from, block, arguments);
    rewriter.setInsertionPoint(end);
    SmallVector<Value> results =
        unpack(end->getOperands().drop_front(part.firstResult), part.results);
    rewriter.modifyOpInPlace(end, [&] {
      end->setOperands(part.firstResult, results.size(), results);
    });
  }
  rewriter.setInsertionPointAfter(created);
  rewriter.replaceOp(loop,
                     pack(created.getResults(), loop.getResultTypes(), after));
  return success();
}
