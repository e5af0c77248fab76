//===- Lanes.cpp - threads that share a result ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Lanes.h.
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

bool offload::isAlongReduction(linalg::LinalgOp op) {
  size_t most = 0;
  bool found = true;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.getNumResults() <= most || !isa<MemRefType>(input->get().getType()))
      continue;
    most = map.getNumResults();
    found = false;
    SmallVector<unsigned> loops;
    op.getReductionDims(loops);
    for (unsigned loop : loops)
      found |= map.getResult(map.getNumResults() - 1).isFunctionOfDim(loop);
  }
  return found;
}

Lanes::Lanes(OpBuilder &builder, linalg::LinalgOp op, Operation *combiner,
             int64_t results, int64_t lanes, bool isAlong)
    : b(builder), op(op), loc(op.getLoc()), combiner(combiner),
      results(results), lanes(lanes), isAlong(isAlong) {
  auto launch = op->getParentOfType<gpu::LaunchOp>();
  memory = launch.addWorkgroupAttribution(
      MemRefType::get(
          {results * lanes},
          getElementTypeOrSelf(op.getDpsInitOperand(0)->get().getType()),
          MemRefLayoutAttrInterface(),
          gpu::AddressSpaceAttr::get(b.getContext(),
                                     gpu::AddressSpace::Workgroup)),
      loc);
}

Value Lanes::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
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
  IRMapping map;
  BlockArgument argument = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  for (Value operand : combiner->getOperands())
    map.map(operand, operand == argument ? before : value);
  return b.clone(*combiner, map)->getResult(0);
}

Value Lanes::load(Value result) {
  return memref::LoadOp::create(b, loc, memory,
                                ValueRange{getSlot(result, index(0))});
}

/// Into the first lane: 16 of them at a time.
void Lanes::combine(Value mine, Value result, Value lane) {
  auto less = [&](Value value, int64_t limit) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, value,
                                 index(limit));
  };
  Value isLane =
      arith::AndIOp::create(b, loc, less(lane, lanes), less(result, results));
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
        b, loc, arith::AndIOp::create(b, loc, less(lane, left), isLane));
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
}
