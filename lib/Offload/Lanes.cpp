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

Lanes::Lanes(OpBuilder &builder, linalg::LinalgOp op, Operation *combiner,
             int64_t results, int64_t lanes, bool isAlong)
    : b(builder), op(op), loc(op.getLoc()), combiner(combiner),
      results(results), lanes(lanes), isAlong(isAlong),
      type(getElementTypeOrSelf(op.getDpsInitOperand(0)->get())) {}

int64_t Lanes::countSlots() const {
  if (!isBySubgroups())
    return results * lanes;
  const int64_t parts = lanes / std::min(lanes, subgroup);
  return parts == 1 ? 0 : results * parts;
}

int64_t Lanes::countWorkgroupBytes() const {
  return countSlots() * getElementBytes(type).value_or(0);
}

Value Lanes::allocate() {
  auto launch = op->getParentOfType<gpu::LaunchOp>();
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  return launch.addWorkgroupAttribution(
      MemRefType::get({countSlots()}, type, MemRefLayoutAttrInterface(), space),
      loc);
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

Value Lanes::combine(Value before, Value value) {
  return offload::combine(b,
                          op.getMatchingBlockArgument(op.getDpsInitOperand(0)),
                          combiner, before, value);
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
  return isAlong && (type.isF32() || type.isInteger(32)) && findKind(combiner);
}

bool Lanes::waits() const { return !isBySubgroups() || lanes > subgroup; }

Value Lanes::reduce(Value mine, Value result, Value lane) {
  return isBySubgroups() ? reduceBySubgroups(mine, result, lane)
                         : reduceByMemory(mine, result, lane);
}

Value Lanes::reduceBySubgroups(Value mine, Value result, Value lane) {
  const int64_t together = std::min(lanes, subgroup);
  mine = gpu::SubgroupReduceOp::create(b, loc, mine, *findKind(combiner),
                                       /*uniform=*/true,
                                       static_cast<uint32_t>(together));
  const int64_t parts = lanes / together;
  if (parts == 1)
    return mine;
  // One of each subgroup writes, and all read what is of their result.
  Value memory = allocate();
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
    total = total ? combine(total, value) : value;
  }
  return total;
}

/// Into the first lane: 16 of them at a time.
Value Lanes::reduceByMemory(Value mine, Value result, Value lane) {
  Value memory = allocate();
  Value isLane = arith::AndIOp::create(b, loc, isLess(lane, lanes),
                                       isLess(result, results));
  {
    auto branch = scf::IfOp::create(b, loc, isLane);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    memref::StoreOp::create(b, loc, mine, memory,
                            ValueRange{getSlot(result, lane)});
  }
  for (int64_t left = lanes; left > 1;) {
    int64_t together = std::min<int64_t>(left, 16);
    left /= together;
    gpu::BarrierOp::create(b, loc);
    auto branch = scf::IfOp::create(
        b, loc, arith::AndIOp::create(b, loc, isLess(lane, left), isLane));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value value;
    for (int64_t i = 0; i < together; ++i) {
      Value other = arith::AddIOp::create(b, loc, lane, index(i * left));
      Value loaded = memref::LoadOp::create(b, loc, memory,
                                            ValueRange{getSlot(result, other)});
      value = value ? combine(value, loaded) : loaded;
    }
    memref::StoreOp::create(b, loc, value, memory,
                            ValueRange{getSlot(result, lane)});
  }
  gpu::BarrierOp::create(b, loc);
  Value there = arith::MinUIOp::create(b, loc, result, index(results - 1));
  return memref::LoadOp::create(b, loc, memory,
                                ValueRange{getSlot(there, index(0))});
}
