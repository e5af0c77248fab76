//===- Lanes.cpp - threads that share a result ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Lanes.h.
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "Combiner.h"
#include "Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

bool offload::isAlongReduction(linalg::LinalgOp op) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  size_t most = 0;
  bool found = true;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto type = dyn_cast<MemRefType>(input->get().getType());
    if (!type)
      continue;
    // A dimension of one element is none.
    SmallVector<AffineExpr> places;
    for (auto [size, place] : llvm::zip(
             type.getShape(), op.getMatchingIndexingMap(input).getResults()))
      if (size != 1)
        places.push_back(place);
    if (places.size() <= most)
      continue;
    most = places.size();
    found = llvm::any_of(loops, [&](unsigned loop) {
      return places.back().isFunctionOfDim(loop);
    });
  }
  return found;
}

Lanes::Lanes(OpBuilder &builder, linalg::LinalgOp op,
             const Combination &combination, int64_t results, int64_t lanes,
             bool isAlong)
    : b(builder), op(op), loc(op.getLoc()), combination(combination),
      results(results), lanes(lanes), isAlong(isAlong) {
  for (Value output : op.getDpsInits())
    types.push_back(getElementTypeOrSelf(output));
}

int64_t Lanes::countSlots() const {
  if (!isBySubgroups())
    return results * lanes;
  const int64_t parts = lanes / std::min(lanes, subgroup);
  return parts == 1 ? 0 : results * parts;
}

int64_t Lanes::countWorkgroupBytes() const {
  int64_t bytes = 0;
  for (Type type : types)
    bytes += countSlots() * getElementBytes(type).value_or(0);
  return bytes;
}

SmallVector<Value> Lanes::allocate() {
  auto launch = op->getParentOfType<gpu::LaunchOp>();
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  return llvm::map_to_vector(types, [&](Type type) -> Value {
    return launch.addWorkgroupAttribution(
        MemRefType::get({countSlots()}, type, MemRefLayoutAttrInterface(),
                        space),
        loc);
  });
}

Value Lanes::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value Lanes::isLess(Value value, int64_t limit) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, value,
                               index(limit));
}

Value Lanes::getSlot(Value result, Value lane) {
  Value outer = isAlong ? result : lane;
  Value inner = isAlong ? lane : result;
  return arith::AddIOp::create(
      b, loc,
      arith::MulIOp::create(b, loc, outer, index(isAlong ? lanes : results)),
      inner);
}

/// What a subgroup reduces by as the op does; none if it has no such.
static std::optional<gpu::AllReduceOperation> findKind(Operation *combiner) {
  using Kind = gpu::AllReduceOperation;
  return TypeSwitch<Operation *, std::optional<Kind>>(combiner)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Kind::ADD; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Kind::MUL; })
      .Case<arith::MinUIOp>([](auto) { return Kind::MINUI; })
      .Case<arith::MinSIOp>([](auto) { return Kind::MINSI; })
      .Case<arith::MaxUIOp>([](auto) { return Kind::MAXUI; })
      .Case<arith::MaxSIOp>([](auto) { return Kind::MAXSI; })
      .Case<arith::AndIOp>([](auto) { return Kind::AND; })
      .Case<arith::OrIOp>([](auto) { return Kind::OR; })
      .Case<arith::XOrIOp>([](auto) { return Kind::XOR; })
      .Case<arith::MinNumFOp>([](auto) { return Kind::MINNUMF; })
      .Case<arith::MaxNumFOp>([](auto) { return Kind::MAXNUMF; })
      .Case<arith::MinimumFOp>([](auto) { return Kind::MINIMUMF; })
      .Case<arith::MaximumFOp>([](auto) { return Kind::MAXIMUMF; })
      .Default([](Operation *) { return std::nullopt; });
}

bool Lanes::isBySubgroups() const {
  Operation *combiner = combination.getOnly();
  return isAlong && combiner &&
         (types.front().isF32() || types.front().isInteger(32)) &&
         findKind(combiner);
}

bool Lanes::waits() const { return !isBySubgroups() || lanes > subgroup; }

SmallVector<Value> Lanes::reduce(ValueRange mine, Value result, Value lane) {
  if (isBySubgroups())
    return {reduceBySubgroups(mine.front(), result, lane)};
  return reduceByMemory(mine, result, lane);
}

Value Lanes::reduceBySubgroups(Value mine, Value result, Value lane) {
  const int64_t together = std::min(lanes, subgroup);
  mine = gpu::SubgroupReduceOp::create(
      b, loc, mine, *findKind(combination.getOnly()),
      /*uniform=*/true, static_cast<uint32_t>(together));
  const int64_t parts = lanes / together;
  if (parts == 1)
    return mine;
  // One of each subgroup writes, and all read what is of their result.
  Value memory = allocate().front();
  Value first = arith::MulIOp::create(b, loc, result, index(parts));
  Value isOne = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::eq,
      arith::RemUIOp::create(b, loc, lane, index(together)), index(0));
  Value writes = arith::AndIOp::create(b, loc, isOne, isLess(result, results));
  {
    auto branch = scf::IfOp::create(b, loc, writes);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value part = arith::DivUIOp::create(b, loc, lane, index(together));
    memref::StoreOp::create(
        b, loc, mine, memory,
        arith::AddIOp::create(b, loc, first, part).getResult());
  }
  gpu::BarrierOp::create(b, loc);
  Value there =
      arith::MinUIOp::create(b, loc, first, index((results - 1) * parts));
  Value total;
  for (int64_t part = 0; part < parts; ++part) {
    Value place = arith::AddIOp::create(b, loc, there, index(part));
    Value value = memref::LoadOp::create(b, loc, memory, place);
    total = total ? combination.combine(b, total, value).front() : value;
  }
  return total;
}

/// Into the first lane: 16 of them at a time. These follow each other where
/// order counts; else they are far apart, and threads side by side read what is
/// side by side.
SmallVector<Value> Lanes::reduceByMemory(ValueRange mine, Value result,
                                         Value lane) {
  SmallVector<Value> memories = allocate();
  Value isLane = arith::AndIOp::create(b, loc, isLess(lane, lanes),
                                       isLess(result, results));
  auto load = [&](Value slot) {
    return llvm::map_to_vector(memories, [&](Value memory) -> Value {
      return memref::LoadOp::create(b, loc, memory, slot);
    });
  };
  auto store = [&](ValueRange values, Value slot) {
    for (auto [value, memory] : llvm::zip_equal(values, memories))
      memref::StoreOp::create(b, loc, value, memory, slot);
  };
  {
    auto branch = scf::IfOp::create(b, loc, isLane);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    store(mine, getSlot(result, lane));
  }
  for (int64_t left = lanes; left > 1;) {
    const int64_t together = std::min<int64_t>(left, 16);
    // Lanes that have a value, and how far apart they are.
    const int64_t apart = lanes / left;
    left /= together;
    const int64_t step = combination.isInOrder() ? apart : left;
    gpu::BarrierOp::create(b, loc);
    auto branch = scf::IfOp::create(
        b, loc, arith::AndIOp::create(b, loc, isLess(lane, left), isLane));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value first = lane;
    if (combination.isInOrder())
      first = arith::MulIOp::create(b, loc, lane, index(apart * together));
    SmallVector<Value> values;
    for (int64_t i = 0; i < together; ++i) {
      Value other = arith::AddIOp::create(b, loc, first, index(i * step));
      SmallVector<Value> loaded = load(getSlot(result, other));
      values = i ? combination.combine(b, values, loaded) : loaded;
    }
    store(values, getSlot(result, first));
  }
  gpu::BarrierOp::create(b, loc);
  Value there = arith::MinUIOp::create(b, loc, result, index(results - 1));
  return load(getSlot(there, index(0)));
}
