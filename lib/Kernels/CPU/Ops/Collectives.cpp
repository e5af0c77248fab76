//===- Collectives.cpp - shuffles and reductions ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads exchange values through an array with an element for each of them:
// they write, meet, and read. What a reduction does between is done once for
// the block.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "Kernels/CPU/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Utils/GPUUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

namespace {
class Expansion {
public:
  Expansion(func::FuncOp kernel, ThreadMemory &memory, int64_t sizeX,
            int64_t subgroupSize)
      : kernel(kernel), memory(memory), sizeX(sizeX),
        subgroupSize(subgroupSize), builder(kernel.getContext()),
        loc(kernel.getLoc()), variance(kernel, isControlFlow) {}

  LogicalResult run();

private:
  LogicalResult expand(gpu::ShuffleOp op);
  LogicalResult expand(gpu::RotateOp op);
  LogicalResult expand(gpu::AllReduceOp op);
  LogicalResult expand(gpu::SubgroupReduceOp op);
  LogicalResult expand(gpu::SubgroupBroadcastOp op);
  /// Fails with an error if subgroups have fewer than `width` threads.
  LogicalResult checkWidth(Operation *op, int64_t width);

  using CombineFn = function_ref<Value(Value, Value)>;
  /// Combines what the threads hand in. Clusters are `size` threads, each
  /// `stride` from the one before, in pieces of `size * stride` threads; the
  /// result of a cluster is for its threads.
  Value reduce(Operation *op, Value value, Value size, Value stride,
               CombineFn combine);
  /// Reads another thread's value, or this one's own if there is no such
  /// thread. `lane` is an index into the subgroup.
  Value exchange(Operation *op, Value value, Value lane, Value inRange);
  Value permute(Value value, ArrayRef<int32_t> sources);
  std::optional<SmallVector<int32_t>> getKnownSources(gpu::ShuffleOp op);
  Value combine(gpu::AllReduceOperation kind, Value a, Value b);
  /// Threads disagree about the new values as they did about the op's.
  void replace(Operation *op, ValueRange values) {
    for (Value value : values)
      variance.add(value);
    op->replaceAllUsesWith(values);
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulIOp::create(builder, loc, a, b);
  }
  Value rem(Value a, Value b) {
    return arith::RemUIOp::create(builder, loc, a, b);
  }
  Value less(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value toIndex(Value value) {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      value);
  }
  Value threadId() { return buildLinearThreadId(builder, loc, kernel); }
  Value lane(Value thread) { return rem(thread, index(subgroupSize)); }

  Value load(Value array, Value thread, Type type) {
    return loadValue(builder, loc, element(array, thread, type), type);
  }
  void store(Value array, Value thread, Value value) {
    storeValue(builder, loc, element(array, thread, value.getType()), value);
  }
  Value element(Value array, Value thread, Type type) {
    Value number =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), thread);
    return buildElementAddress(builder, loc, array, number, type);
  }
  void meet() {
    gpu::BarrierOp::create(builder, loc)
        ->setAttr(internalName, builder.getUnitAttr());
  }
  /// Runs `body` once for the block.
  void once(function_ref<void()> body) {
    auto region = scf::ExecuteRegionOp::create(builder, loc, TypeRange());
    region->setAttr(onceName, builder.getUnitAttr());
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&region.getRegion());
    body();
    scf::YieldOp::create(builder, loc);
  }
  void loop(Value lower, Value upper, Value step,
            function_ref<void(Value)> body) {
    auto op = scf::ForOp::create(builder, loc, lower, upper, step);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }

  func::FuncOp kernel;
  ThreadMemory &memory;
  int64_t sizeX, subgroupSize;
  OpBuilder builder;
  Location loc;
  ThreadVariance variance;
};
} // namespace

Value Expansion::exchange(Operation *op, Value value, Value source,
                          Value inRange) {
  Value array = memory.createArray(getElementBytes(value.getType()));
  Value self = threadId();
  store(array, self, value);
  meet();
  // The last subgroup may have fewer threads.
  Value other = add(sub(self, lane(self)), source);
  Value there = arith::AndIOp::create(builder, loc, inRange,
                                      less(other, memory.getNumThreads()));
  return load(array, select(there, other, self), value.getType());
}

/// What each thread gets that has the value of lane `sources[lane]`, in
/// subgroups that are whole. The block permutes the array by vectors: what it
/// leaves is read in order, and there is no test and no gather.
Value Expansion::permute(Value value, ArrayRef<int32_t> sources) {
  Type type = value.getType();
  Value array = memory.createArray(getElementBytes(type));
  Value permuted = memory.createArray(getElementBytes(type));
  Value self = threadId();
  unsigned align = std::min<int64_t>(16, getElementBytes(type) * subgroupSize);
  store(array, self, value);
  meet();
  once([&] {
    loop(index(0), memory.getNumThreads(), index(subgroupSize),
         [&](Value begin) {
           auto subgroup = VectorType::get({subgroupSize}, type);
           Value lanes = LLVM::LoadOp::create(
               builder, loc, subgroup, element(array, begin, type), align);
           Value moved = LLVM::ShuffleVectorOp::create(builder, loc, lanes,
                                                       lanes, sources);
           LLVM::StoreOp::create(builder, loc, moved,
                                 element(permuted, begin, type), align);
         });
  });
  return load(permuted, self, type);
}

/// The lane whose value each lane gets, if the program says it and permute()
/// can do it.
std::optional<SmallVector<int32_t>>
Expansion::getKnownSources(gpu::ShuffleOp op) {
  Type type = op.getValue().getType();
  APInt offset, width;
  if (sizeX <= 0 || sizeX % subgroupSize || !type.isIntOrFloat() ||
      !llvm::is_contained({8u, 16u, 32u, 64u}, type.getIntOrFloatBitWidth()) ||
      !LLVM::isCompatibleType(type) ||
      !matchPattern(op.getOffset(), m_ConstantInt(&offset)) ||
      !matchPattern(op.getWidth(), m_ConstantInt(&width)))
    return std::nullopt;
  SmallVector<int32_t> sources;
  for (int64_t lane = 0; lane < subgroupSize; ++lane) {
    int64_t source = offset.getSExtValue();
    switch (op.getMode()) {
    case gpu::ShuffleMode::XOR:
      source ^= lane;
      break;
    case gpu::ShuffleMode::UP:
      source = lane - source;
      break;
    case gpu::ShuffleMode::DOWN:
      source += lane;
      break;
    case gpu::ShuffleMode::IDX:
      break;
    }
    int64_t limit = width.getSExtValue();
    bool isThere = lane < limit && source >= 0 && source < limit;
    sources.push_back(isThere ? source : lane);
  }
  return sources;
}

LogicalResult Expansion::checkWidth(Operation *op, int64_t width) {
  if (width >= 0 && width <= subgroupSize)
    return success();
  return op->emitOpError("has a width of ")
         << width << " where subgroups have " << subgroupSize << " threads";
}

LogicalResult Expansion::expand(gpu::ShuffleOp op) {
  Value self = lane(threadId());
  Value offset = toIndex(op.getOffset()), width = toIndex(op.getWidth());
  APInt known;
  if (!matchPattern(op.getWidth(), m_ConstantInt(&known)))
    width = arith::MinUIOp::create(builder, loc, width, index(subgroupSize));
  else if (failed(checkWidth(op, known.getSExtValue())))
    return failure();
  Value source, valid;
  switch (op.getMode()) {
  case gpu::ShuffleMode::XOR:
    source = arith::XOrIOp::create(builder, loc, self, offset);
    break;
  case gpu::ShuffleMode::UP:
    source = sub(self, offset);
    break;
  case gpu::ShuffleMode::DOWN:
    source = add(self, offset);
    break;
  case gpu::ShuffleMode::IDX:
    source = offset;
    break;
  }
  // As unsigned numbers, what lies before the first lane is too large.
  valid = arith::AndIOp::create(builder, loc, less(self, width),
                                arith::CmpIOp::create(builder, loc,
                                                      arith::CmpIPredicate::ult,
                                                      source, width));
  if (std::optional<SmallVector<int32_t>> sources = getKnownSources(op))
    replace(op, {permute(op.getValue(), *sources), valid});
  else
    replace(op, {exchange(op, op.getValue(), source, valid), valid});
  return success();
}

LogicalResult Expansion::expand(gpu::RotateOp op) {
  Value self = lane(threadId());
  int64_t width = op.getWidth();
  if (failed(checkWidth(op, width)))
    return failure();
  Value inPiece = rem(add(self, index(op.getOffset())), index(width));
  Value source = add(sub(self, rem(self, index(width))), inPiece);
  Value valid = less(self, index(width));
  Value result =
      exchange(op, op.getValue(), source, less(source, index(subgroupSize)));
  replace(op, {result, valid});
  return success();
}

LogicalResult Expansion::expand(gpu::SubgroupBroadcastOp op) {
  if (Value from = op.getLane()) {
    Value source = toIndex(from);
    Value inRange = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, source, index(subgroupSize));
    replace(op, exchange(op, op.getSrc(), source, inRange));
    return success();
  }
  // The first active lane's value is what a reduction leaves that always keeps
  // what it has.
  replace(op, reduce(op, op.getSrc(), index(subgroupSize), index(1),
                     [](Value kept, Value) { return kept; }));
  return success();
}

Value Expansion::reduce(Operation *op, Value value, Value size, Value stride,
                        CombineFn combine) {
  Type type = value.getType(), i8 = builder.getI8Type();
  Value values = memory.createArray(getElementBytes(type));
  Value results = memory.createArray(getElementBytes(type));
  Value zero = index(0), one = index(1), threads = memory.getNumThreads();
  auto byte = [&](int64_t number) -> Value {
    return arith::ConstantIntOp::create(builder, loc, i8, number);
  };
  // Where threads may stay away, those that come say so.
  Value present;
  Value self = threadId();
  if (variance.isDivergent(op)) {
    present = memory.createArray(1);
    meet();
    once([&] {
      loop(zero, threads, one,
           [&](Value thread) { store(present, thread, byte(0)); });
    });
    store(present, self, byte(1));
  }
  store(values, self, value);
  meet();

  Value piece = mul(size, stride);
  once([&] {
    loop(zero, threads, piece, [&](Value begin) {
      Value end =
          arith::MinSIOp::create(builder, loc, add(begin, stride), threads);
      loop(begin, end, one, [&](Value first) {
        Value last =
            arith::MinSIOp::create(builder, loc, add(begin, piece), threads);
        if (!present) {
          auto members =
              scf::ForOp::create(builder, loc, add(first, stride), last, stride,
                                 ValueRange{load(values, first, type)});
          {
            OpBuilder::InsertionGuard guard(builder);
            builder.setInsertionPointToStart(members.getBody());
            Value next = load(values, members.getInductionVar(), type);
            Value sum = combine(members.getRegionIterArg(0), next);
            scf::YieldOp::create(builder, loc, sum);
          }
          store(results, first, members.getResult(0));
          return;
        }
        Value none = arith::ConstantIntOp::create(builder, loc, 0, 1);
        Value some = arith::ConstantIntOp::create(builder, loc, 1, 1);
        auto members =
            scf::ForOp::create(builder, loc, first, last, stride,
                               ValueRange{load(values, first, type), none});
        {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToStart(members.getBody());
          Value member = members.getInductionVar();
          Value comes =
              arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                    load(present, member, i8), byte(0));
          auto taken =
              scf::IfOp::create(builder, loc, TypeRange{type, none.getType()},
                                comes, /*withElseRegion=*/true);
          {
            OpBuilder::InsertionGuard inner(builder);
            builder.setInsertionPointToStart(taken.thenBlock());
            Value next = load(values, member, type);
            Value sum = combine(members.getRegionIterArg(0), next);
            Value kept = select(members.getRegionIterArg(1), sum, next);
            scf::YieldOp::create(builder, loc, ValueRange{kept, some});
            builder.setInsertionPointToStart(taken.elseBlock());
            scf::YieldOp::create(builder, loc, members.getRegionIterArgs());
          }
          scf::YieldOp::create(builder, loc, taken.getResults());
        }
        store(results, first, members.getResult(0));
      });
    });
  });
  Value place = rem(self, piece);
  Value first = add(sub(self, place), rem(place, stride));
  return load(results, first, type);
}

/// The order of a reduction is not specified, so sums of floats may be taken in
/// any.
Value Expansion::combine(gpu::AllReduceOperation kind, Value a, Value b) {
  auto anyOrder = arith::FastMathFlagsAttr::get(builder.getContext(),
                                                arith::FastMathFlags::reassoc);
  return vector::makeArithReduction(
      builder, loc, gpu::convertReductionKind(kind), a, b, anyOrder);
}

LogicalResult Expansion::expand(gpu::AllReduceOp op) {
  if (!op.getBody().empty() && !op.getBody().hasOneBlock())
    return op.emitOpError("with several blocks in its region is not supported "
                          "by the cpu device");
  replace(op, reduce(op, op.getValue(), memory.getNumThreads(), index(1),
                     [&](Value a, Value b) -> Value {
                       if (op.getBody().empty())
                         return combine(*op.getOp(), a, b);
                       Block &body = op.getBody().front();
                       IRMapping mapping;
                       mapping.map(body.getArguments(), ValueRange{a, b});
                       for (Operation &inner : body.without_terminator())
                         builder.clone(inner, mapping);
                       return mapping.lookupOrDefault(
                           body.getTerminator()->getOperand(0));
                     }));
  return success();
}

LogicalResult Expansion::expand(gpu::SubgroupReduceOp op) {
  int64_t size = op.getClusterSize().value_or(subgroupSize);
  int64_t stride = op.getClusterStride();
  if (size * stride > subgroupSize)
    return op.emitOpError("has clusters that are wider than a subgroup of ")
           << subgroupSize << " threads";
  replace(op,
          reduce(op, op.getValue(), index(size), index(stride),
                 [&](Value a, Value b) { return combine(op.getOp(), a, b); }));
  return success();
}

LogicalResult Expansion::run() {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (isCollective(op) && !isa<gpu::BarrierOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    loc = op->getLoc();
    builder.setInsertionPoint(op);
    LogicalResult expanded =
        TypeSwitch<Operation *, LogicalResult>(op)
            .Case<gpu::ShuffleOp, gpu::RotateOp, gpu::SubgroupBroadcastOp,
                  gpu::AllReduceOp, gpu::SubgroupReduceOp>(
                [&](auto collective) { return expand(collective); });
    if (failed(expanded))
      return failure();
    variance.forget(op);
    op->erase();
  }
  return success();
}

LogicalResult cpu::expandCollectives(func::FuncOp kernel, ThreadMemory &memory,
                                     int64_t sizeX, int64_t subgroupSize) {
  return Expansion(kernel, memory, sizeX, subgroupSize).run();
}
