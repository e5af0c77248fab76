//===- Subgroups.cpp - subgroup ops of GPUs ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What upstream's lowerings for NVIDIA and AMD devices leave out of the ops by
// which threads exchange values becomes shuffles that they know; what does not
// is an error that says so.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Upstream/IntegerRanges.h"
#include "GPULowering.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
class SubgroupOps {
public:
  SubgroupOps(gpu::GPUModuleOp module, int64_t size, StringRef target,
              bool hasRedux)
      : module(module), size(size), target(target), hasRedux(hasRedux),
        builder(module.getContext()) {}

  LogicalResult run();

private:
  LogicalResult rewrite(Operation *op);
  LogicalResult rewrite(gpu::ShuffleOp op);
  LogicalResult rewrite(gpu::RotateOp op);
  LogicalResult rewrite(gpu::SubgroupBroadcastOp op);
  LogicalResult check(gpu::SubgroupReduceOp op);
  bool isForNvptx() const { return target.starts_with("nvptx:"); }
  void findLaneOffsets();
  bool isRight(gpu::ShuffleOp op);
  bool hasInstruction(gpu::SubgroupReduceOp op);
  LogicalResult reduceBlocks();
  LogicalResult reduceByShuffles();
  /// Those of 64 bits into two.
  LogicalResult splitShuffles();
  /// Shuffles `value` in words of 32 or 64 bits. Null: there are none of it.
  Value shuffle(Value value, Value offset, Value width, gpu::ShuffleMode mode,
                Value &valid);
  /// The value of each lane's `source`, a lane below `width` or itself.
  Value exchange(Value value, Value source, Value lane, Value width);
  Value i32(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value buildLane() {
    return arith::IndexCastOp::create(
        builder, loc, builder.getI32Type(),
        gpu::LaneIdOp::create(builder, loc, IntegerAttr()));
  }
  InFlightDiagnostic refuse(Operation *op, const Twine &what) {
    return op->emitOpError() << what << " is not supported for " << target;
  }

  gpu::GPUModuleOp module;
  int64_t size;
  StringRef target;
  bool hasRedux;
  /// Of NVIDIA devices: the lanes that a lane's shuffles wait for; null: those
  /// below the width.
  Value participants;
  /// Shuffles whose offset is known to be less than `size`.
  DenseSet<Operation *> byLaneOffset;
  OpBuilder builder;
  Location loc = UnknownLoc::get(builder.getContext());
};
} // namespace

Value SubgroupOps::shuffle(Value value, Value offset, Value width,
                           gpu::ShuffleMode mode, Value &valid) {
  Type type = value.getType();
  if (auto vector = dyn_cast<VectorType>(type)) {
    if (vector.getRank() != 1 || vector.isScalable())
      return Value();
    Value result = value;
    for (int64_t i = 0; i < vector.getNumElements(); ++i) {
      Value element = shuffle(vector::ExtractOp::create(builder, loc, value, i),
                              offset, width, mode, valid);
      if (!element)
        return Value();
      result = vector::InsertOp::create(builder, loc, element, result, i);
    }
    return result;
  }
  if (type.isIndex()) {
    Value bits = shuffle(
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value),
        offset, width, mode, valid);
    return arith::IndexCastOp::create(builder, loc, type, bits);
  }
  if (!type.isIntOrFloat())
    return Value();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (participants && bits == 64) {
    Type wide = builder.getI64Type(), word = builder.getI32Type();
    Value bits = arith::BitcastOp::create(builder, loc, wide, value);
    Value half = arith::ConstantIntOp::create(builder, loc, 32, 64);
    auto part = [&](Value from) -> Value {
      from = arith::TruncIOp::create(builder, loc, word, from);
      from = shuffle(from, offset, width, mode, valid);
      return arith::ExtUIOp::create(builder, loc, wide, from);
    };
    Value low = part(bits);
    Value high = part(arith::ShRUIOp::create(builder, loc, bits, half));
    high = arith::ShLIOp::create(builder, loc, high, half);
    return arith::BitcastOp::create(
        builder, loc, type, arith::OrIOp::create(builder, loc, low, high));
  }
  if (participants && bits == 32)
    return NVVM::ShflOp::create(builder, loc, type, participants, value, offset,
                                i32(31), NVVM::ShflKind::idx, UnitAttr());
  if (bits == 32 || bits == 64) {
    auto op = gpu::ShuffleOp::create(builder, loc, value, offset, width, mode);
    valid = op.getValid();
    return op.getShuffleResult();
  }
  if (bits > 64)
    return Value();
  Type narrow = builder.getIntegerType(bits);
  Type wide = builder.getIntegerType(bits < 32 ? 32 : 64);
  if (type != narrow)
    value = arith::BitcastOp::create(builder, loc, narrow, value);
  value = arith::ExtUIOp::create(builder, loc, wide, value);
  value = shuffle(value, offset, width, mode, valid);
  value = arith::TruncIOp::create(builder, loc, narrow, value);
  return type == narrow
             ? value
             : Value(arith::BitcastOp::create(builder, loc, type, value));
}

Value SubgroupOps::exchange(Value value, Value source, Value lane,
                            Value width) {
  // On NVIDIA devices a shuffle waits for the lanes that it names, and its own
  // must be among them: the lanes below the width for each other, which are all
  // there, and each lane behind them, which may be elsewhere, for itself.
  if (isForNvptx())
    participants = arith::SelectOp::create(
        builder, loc,
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, lane,
                              width),
        arith::ShRUIOp::create(
            builder, loc, i32(-1),
            arith::SubIOp::create(builder, loc, i32(size), width)),
        arith::ShLIOp::create(builder, loc, i32(1), lane));
  Value ignored;
  Value result =
      shuffle(value, source, i32(size), gpu::ShuffleMode::IDX, ignored);
  participants = Value();
  return result;
}

/// Fills byLaneOffset.
void SubgroupOps::findLaneOffsets() {
  SmallVector<gpu::ShuffleOp> others;
  module.walk([&](gpu::ShuffleOp op) {
    APInt offset;
    if (!matchPattern(op.getOffset(), m_ConstantInt(&offset)))
      others.push_back(op);
    else if (offset.ult(size))
      byLaneOffset.insert(op);
  });
  if (others.empty())
    return;
  DataFlowSolver solver;
  dataflow::loadBaselineAnalyses(solver);
  solver.load<IntegerRanges>();
  if (failed(solver.initializeAndRun(module)))
    return;
  for (gpu::ShuffleOp op : others) {
    auto *range =
        solver.lookupState<dataflow::IntegerValueRangeLattice>(op.getOffset());
    if (range && !range->getValue().isUninitialized() &&
        range->getValue().getValue().umax().ult(size))
      byLaneOffset.insert(op);
  }
}

/// Whether upstream's lowering does what `op` says. NVIDIA's instruction looks
/// at the lowest bits of the offset only; in fewer threads than a subgroup the
/// lanes behind them find results valid, and `up` reads the last of the
/// subgroup's. On AMD devices `up` reads before the first thread.
bool SubgroupOps::isRight(gpu::ShuffleOp op) {
  APInt width;
  return byLaneOffset.contains(op) &&
         matchPattern(op.getWidth(), m_ConstantInt(&width)) &&
         width.getSExtValue() == size &&
         (isForNvptx() || op.getMode() != gpu::ShuffleMode::UP);
}

LogicalResult SubgroupOps::rewrite(gpu::ShuffleOp op) {
  Type type = op.getValue().getType();
  Value offset = op.getOffset(), valid, result;
  if (isRight(op)) {
    if (type.isIntOrFloat() && (type.getIntOrFloatBitWidth() == 32 ||
                                type.getIntOrFloatBitWidth() == 64))
      return success();
    result = shuffle(op.getValue(), offset, op.getWidth(), op.getMode(), valid);
  } else {
    Value lane = buildLane(), source;
    switch (op.getMode()) {
    case gpu::ShuffleMode::XOR:
      source = arith::XOrIOp::create(builder, loc, lane, offset);
      break;
    case gpu::ShuffleMode::UP:
      source = arith::SubIOp::create(builder, loc, lane, offset);
      break;
    case gpu::ShuffleMode::DOWN:
      source = arith::AddIOp::create(builder, loc, lane, offset);
      break;
    case gpu::ShuffleMode::IDX:
      source = offset;
      break;
    }
    Value width =
        arith::MinUIOp::create(builder, loc, op.getWidth(), i32(size));
    auto isBelow = [&](Value a, Value b) -> Value {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a,
                                   b);
    };
    valid = arith::AndIOp::create(builder, loc, isBelow(lane, width),
                                  isBelow(source, width));
    source = arith::SelectOp::create(builder, loc, valid, source, lane);
    result = exchange(op.getValue(), source, lane, width);
  }
  if (!result)
    return refuse(op, "") << ": values of type " << type;
  op.replaceAllUsesWith(ValueRange{result, valid});
  op.erase();
  return success();
}

LogicalResult SubgroupOps::rewrite(gpu::RotateOp op) {
  int64_t width = op.getWidth();
  if (width > size)
    return op.emitOpError("is wider than a subgroup of ")
           << size << " threads (" << target << ")";
  Value lane = buildLane();
  Value turned = arith::AndIOp::create(
      builder, loc,
      arith::AddIOp::create(builder, loc, lane, i32(op.getOffset())),
      i32(width - 1));
  Value source = arith::OrIOp::create(
      builder, loc, turned,
      arith::AndIOp::create(builder, loc, lane, i32(~(width - 1))));
  Value valid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                      lane, i32(width));
  Value result = exchange(op.getValue(), source, lane, i32(width));
  if (!result)
    return refuse(op, "") << ": values of type " << op.getValue().getType();
  op.replaceAllUsesWith(ValueRange{result, valid});
  op.erase();
  return success();
}

/// Whether all threads of a block surely have the same `values`.
static bool areUniform(ValueRange values) {
  llvm::SetVector<Value> needed(values.begin(), values.end());
  for (size_t i = 0; i < needed.size(); ++i) {
    if (Operation *op = needed[i].getDefiningOp()) {
      if (isa<gpu::BlockIdOp, gpu::BlockDimOp, gpu::GridDimOp>(op))
        continue;
      if (!isa_and_present<arith::ArithDialect, index::IndexDialect>(
              op->getDialect()) ||
          !isMemoryEffectFree(op))
        return false;
      needed.insert(op->operand_begin(), op->operand_end());
      continue;
    }
    auto argument = cast<BlockArgument>(needed[i]);
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      if (argument != loop.getInductionVar())
        return false;
      needed.insert_range(ValueRange{loop.getLowerBound(), loop.getUpperBound(),
                                     loop.getStep()});
      continue;
    }
    auto kernel = dyn_cast<gpu::GPUFuncOp>(parent);
    if (!kernel || !kernel.isKernel() || !argument.getOwner()->isEntryBlock())
      return false;
  }
  return true;
}

/// Whether surely all threads of a block reach `op`, or none.
static bool isReachedByAll(Operation *op) {
  SmallVector<Value> deciding;
  while (op->getBlock()->isEntryBlock()) {
    op = op->getParentOp();
    if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op))
      return kernel.isKernel() && areUniform(deciding);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      deciding.push_back(branch.getCondition());
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      deciding.append(
          {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    else
      return false;
  }
  return false;
}

LogicalResult SubgroupOps::rewrite(gpu::SubgroupBroadcastOp op) {
  // AMD devices have instructions for both.
  if (!isForNvptx())
    return success();
  if (!op.getLane())
    return refuse(op, "from the first active lane");
  // The instruction names the lanes that it waits for.
  if (!isReachedByAll(op))
    return refuse(op, "that only some threads of a subgroup may reach")
           << "; use gpu.shuffle where the subgroup's first 'width' lanes do";
  Value ignored, result = shuffle(op.getSrc(), op.getLane(), i32(size),
                                  gpu::ShuffleMode::IDX, ignored);
  if (!result)
    return refuse(op, "") << ": values of type " << op.getSrc().getType();
  op.replaceAllUsesWith(result);
  op.erase();
  return success();
}

/// Whether all subgroups of the kernel that holds `op` are full.
static bool hasFullSubgroups(Operation *op, int64_t size) {
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  auto known = kernel ? kernel.getKnownBlockSize() : std::nullopt;
  if (!known)
    return false;
  int64_t threads = 1;
  for (int32_t extent : *known)
    threads *= extent;
  return threads % size == 0;
}

/// Whether upstream makes an nvvm.redux.sync of `op`.
bool SubgroupOps::hasInstruction(gpu::SubgroupReduceOp op) {
  using Kind = gpu::AllReduceOperation;
  return hasRedux && op.getType().isInteger(32) && !op.getClusterSize() &&
         llvm::is_contained({Kind::ADD, Kind::AND, Kind::OR, Kind::XOR,
                             Kind::MINSI, Kind::MAXSI},
                            op.getOp());
}

/// Upstream's shuffles read the values of threads that a subgroup lacks.
LogicalResult SubgroupOps::check(gpu::SubgroupReduceOp op) {
  if (!op.getUniform())
    return refuse(op, "that is not 'uniform'")
           << "; where all threads of the subgroup reach it, say so";
  if (hasInstruction(op) || hasFullSubgroups(op, size))
    return success();
  return refuse(op, "in subgroups that may lack threads")
         << "; it is where the kernel's known_block_size is a multiple of "
         << size << " threads";
}

LogicalResult SubgroupOps::rewrite(Operation *op) {
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<gpu::ShuffleOp, gpu::RotateOp, gpu::SubgroupBroadcastOp>(
          [&](auto exchange) { return rewrite(exchange); })
      .Case<gpu::SubgroupReduceOp>(
          [&](gpu::SubgroupReduceOp reduction) { return check(reduction); })
      .Case<gpu::SubgroupSizeOp>([&](auto) {
        op->replaceAllUsesWith(ValueRange{
            arith::ConstantIndexOp::create(builder, loc, size).getResult()});
        op->erase();
        return success();
      })
      .Case<gpu::NumSubgroupsOp>([&](auto) {
        Value threads;
        for (gpu::Dimension dim :
             {gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z}) {
          Value extent = gpu::BlockDimOp::create(builder, loc, dim);
          threads =
              threads
                  ? Value(arith::MulIOp::create(builder, loc, threads, extent))
                  : extent;
        }
        Value last = arith::ConstantIndexOp::create(builder, loc, size - 1);
        threads = arith::AddIOp::create(builder, loc, threads, last);
        op->replaceAllUsesWith(
            ValueRange{arith::DivUIOp::create(
                           builder, loc, threads,
                           arith::ConstantIndexOp::create(builder, loc, size))
                           .getResult()});
        op->erase();
        return success();
      })
      .Default([](Operation *) { return success(); });
}

LogicalResult SubgroupOps::reduceByShuffles() {
  // Vectors and what fits in 32 bits, then what is wider.
  for (unsigned bits : {32, 64}) {
    RewritePatternSet set(module.getContext());
    populateGpuBreakDownSubgroupReducePatterns(set, bits, PatternBenefit(2));
    populateGpuLowerSubgroupReduceToShufflePatterns(set, size, bits);
    populateGpuLowerClusteredSubgroupReduceToShufflePatterns(set, size, bits);
    FrozenRewritePatternSet patterns(std::move(set));
    SmallVector<Operation *> left;
    module.walk([&](gpu::SubgroupReduceOp op) {
      if (!hasInstruction(op))
        left.push_back(op);
    });
    if (failed(applyOpPatternsGreedily(left, patterns)))
      return failure();
  }
  return success();
}

LogicalResult SubgroupOps::reduceBlocks() {
  WalkResult result = module.walk([&](gpu::AllReduceOp op) -> WalkResult {
    if (op.getUniform())
      return WalkResult::advance();
    return refuse(op, "that is not 'uniform'")
           << "; where all threads of the block reach it, say so";
  });
  if (result.wasInterrupted())
    return failure();
  RewritePatternSet patterns(module.getContext());
  populateGpuAllReducePatterns(patterns);
  populateGpuGlobalIdPatterns(patterns);
  populateGpuSubgroupIdPatterns(patterns);
  // Each reduction makes blocks, and so another round.
  GreedyRewriteConfig config;
  config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
  return applyPatternsGreedily(module, std::move(patterns), config);
}

LogicalResult SubgroupOps::splitShuffles() {
  RewritePatternSet patterns(module.getContext());
  populateGpuShufflePatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

LogicalResult SubgroupOps::run() {
  // Each step leaves ops to the next.
  if (failed(reduceBlocks()))
    return failure();
  findLaneOffsets();
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (failed(rewrite(op)))
      return failure();
  return success(succeeded(reduceByShuffles()) && succeeded(splitShuffles()));
}

LogicalResult gpuasync::expandSubgroupOps(gpu::GPUModuleOp module, int64_t size,
                                          StringRef target, bool hasRedux) {
  return SubgroupOps(module, size, target, hasRedux).run();
}
