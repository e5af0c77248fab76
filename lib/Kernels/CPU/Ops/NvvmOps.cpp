//===- NvvmOps.cpp - nvvm ops in kernels for the cpu ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nvvm ops that say what ops of gpu say too: where a thread is, barriers,
// shuffles, votes and reductions of warps. That their masks name the threads
// that come is the program's promise.
//===----------------------------------------------------------------------===//

#include "Kernels/CPU/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include <tuple>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

/// The register that `op` reads, if ops of gpu know it; else empty.
static StringRef getRegister(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (!name.consume_front("nvvm.read.ptx.sreg.") ||
      op->getResult(0).getType() != IntegerType::get(op->getContext(), 32))
    return "";
  StringRef stem = name;
  bool isKnown = name == "laneid" || name == "warpsize";
  for (StringRef dim : {".x", ".y", ".z"})
    if (stem.consume_back(dim))
      isKnown = llvm::is_contained({"tid", "ntid", "ctaid", "nctaid"}, stem);
  return isKnown ? name : "";
}

/// Ops whose threads a mask of the warp names.
static bool hasMask(Operation *op) {
  return isa<NVVM::ShflOp, NVVM::VoteSyncOp, NVVM::ReduxOp, NVVM::SyncWarpOp>(
      op);
}

bool cpu::isWarpOp(Operation *op) {
  StringRef name = getRegister(op);
  return hasMask(op) || name == "laneid" || name == "warpsize";
}

bool cpu::makesThreadsMeet(Operation *op) {
  return isCollective(op) || (hasGpuOp(op) && getRegister(op).empty());
}

bool cpu::hasGpuOp(Operation *op) {
  if (isa<NVVM::Barrier0Op>(op))
    return true;
  if (auto barrier = dyn_cast<NVVM::BarrierOp>(op))
    return !barrier->getNumOperands() && !barrier->getNumResults();
  // A mask that is computed may be another one for other threads of the warp,
  // which then meet at one op in groups.
  if (isa<NVVM::VoteSyncOp>(op))
    return matchPattern(op->getOperand(0), m_Constant());
  if (auto reduction = dyn_cast<NVVM::ReduxOp>(op))
    return matchPattern(reduction.getMaskAndClamp(), m_Constant());
  return hasMask(op) || !getRegister(op).empty();
}

/// What a shuffle's offset says: PTX looks at the five lowest bits.
static Value buildOffset(OpBuilder &builder, Location loc, NVVM::ShflOp op) {
  Value lowest = arith::ConstantIntOp::create(builder, loc, warpSize - 1, 32);
  return builder.createOrFold<arith::AndIOp>(loc, op.getOffset(), lowest);
}

/// A shuffle of pieces of the warp, as PTX has it: the lane to read from and
/// whether it is in the piece.
static std::pair<Value, Value> buildSource(OpBuilder &builder, Location loc,
                                           NVVM::ShflOp op) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIntOp::create(builder, loc, number, 32);
  };
  auto both = [&](Value a, Value b) -> Value {
    return arith::AndIOp::create(builder, loc, a, b);
  };
  Value lowest = constant(31);
  Value lane = arith::IndexCastOp::create(
      builder, loc, builder.getI32Type(),
      gpu::LaneIdOp::create(builder, loc, builder.getIndexType(),
                            IntegerAttr()));
  Value by = buildOffset(builder, loc, op);
  // Bits of the lane's number that say the piece.
  Value piece = both(
      arith::ShRUIOp::create(builder, loc, op.getMaskAndClamp(), constant(8)),
      lowest);
  Value inPiece = arith::XOrIOp::create(builder, loc, piece, lowest);
  Value first = both(lane, piece);
  Value last = arith::OrIOp::create(
      builder, loc, first, both(both(op.getMaskAndClamp(), lowest), inPiece));
  Value source;
  auto predicate = arith::CmpIPredicate::sle;
  switch (op.getKind()) {
  case NVVM::ShflKind::bfly:
    source = arith::XOrIOp::create(builder, loc, lane, by);
    break;
  case NVVM::ShflKind::up:
    source = arith::SubIOp::create(builder, loc, lane, by);
    predicate = arith::CmpIPredicate::sge;
    break;
  case NVVM::ShflKind::down:
    source = arith::AddIOp::create(builder, loc, lane, by);
    break;
  case NVVM::ShflKind::idx:
    source = arith::OrIOp::create(builder, loc, first, both(by, inPiece));
    break;
  }
  Value valid = arith::CmpIOp::create(builder, loc, predicate, source, last);
  return {arith::SelectOp::create(builder, loc, valid, source, lane), valid};
}

/// Whether all threads, in one piece, exchange values.
static bool isOfWholeWarp(NVVM::ShflOp shuffle) {
  APInt clamp;
  return matchPattern(shuffle.getMaskAndClamp(), m_ConstantInt(&clamp)) &&
         clamp == (shuffle.getKind() == NVVM::ShflKind::up ? 0 : 31);
}

/// The bits of the lanes for which `predicate` is true.
static Value buildBallot(OpBuilder &builder, Location loc, Value mask,
                         Value predicate) {
  Type i32 = builder.getI32Type();
  Value lane = arith::IndexCastOp::create(
      builder, loc, i32,
      gpu::LaneIdOp::create(builder, loc, builder.getIndexType(),
                            IntegerAttr()));
  Value bit = arith::ShLIOp::create(
      builder, loc, arith::ExtUIOp::create(builder, loc, i32, predicate), lane);
  Value bits = gpu::SubgroupReduceOp::create(
      builder, loc, bit, gpu::AllReduceOperation::OR, /*uniform=*/false);
  return arith::AndIOp::create(builder, loc, bits, mask);
}

static Value buildVote(OpBuilder &builder, Location loc, NVVM::VoteSyncOp op) {
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  auto isNone = [&](Value predicate) -> Value {
    Value bits = buildBallot(builder, loc, op.getMask(), predicate);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bits,
                                 zero);
  };
  auto negate = [&](Value value) -> Value {
    return arith::XOrIOp::create(
        builder, loc, value, arith::ConstantIntOp::create(builder, loc, 1, 1));
  };
  switch (op.getKind()) {
  case NVVM::VoteSyncKind::ballot:
    return buildBallot(builder, loc, op.getMask(), op.getPred());
  case NVVM::VoteSyncKind::any:
    return negate(isNone(op.getPred()));
  case NVVM::VoteSyncKind::all:
    return isNone(negate(op.getPred()));
  case NVVM::VoteSyncKind::uni:
    break;
  }
  return arith::OrIOp::create(builder, loc, isNone(op.getPred()),
                              isNone(negate(op.getPred())));
}

static gpu::AllReduceOperation getOperation(NVVM::ReduxOp op) {
  using Kind = gpu::AllReduceOperation;
  switch (op.getKind()) {
  case NVVM::ReduxKind::ADD:
    return Kind::ADD;
  case NVVM::ReduxKind::AND:
    return Kind::AND;
  case NVVM::ReduxKind::OR:
    return Kind::OR;
  case NVVM::ReduxKind::XOR:
    return Kind::XOR;
  case NVVM::ReduxKind::MAX:
    return Kind::MAXSI;
  case NVVM::ReduxKind::MIN:
    return Kind::MINSI;
  case NVVM::ReduxKind::UMAX:
    return Kind::MAXUI;
  case NVVM::ReduxKind::UMIN:
    return Kind::MINUI;
  case NVVM::ReduxKind::FMAX:
    return op.getNan() ? Kind::MAXIMUMF : Kind::MAXNUMF;
  case NVVM::ReduxKind::FMIN:
    break;
  }
  return op.getNan() ? Kind::MINIMUMF : Kind::MINNUMF;
}

static Value buildRegister(OpBuilder &builder, Location loc, StringRef name) {
  Type index = builder.getIndexType();
  if (name == "laneid")
    return gpu::LaneIdOp::create(builder, loc, index, IntegerAttr());
  if (name == "warpsize")
    return gpu::SubgroupSizeOp::create(builder, loc, index, IntegerAttr());
  auto dimension = gpu::Dimension(name.back() - 'x');
  if (name.starts_with("tid"))
    return gpu::ThreadIdOp::create(builder, loc, dimension);
  if (name.starts_with("ntid"))
    return gpu::BlockDimOp::create(builder, loc, dimension);
  if (name.starts_with("ctaid"))
    return gpu::BlockIdOp::create(builder, loc, dimension);
  return gpu::GridDimOp::create(builder, loc, dimension);
}

static gpu::ShuffleMode getMode(NVVM::ShflKind kind) {
  switch (kind) {
  case NVVM::ShflKind::bfly:
    return gpu::ShuffleMode::XOR;
  case NVVM::ShflKind::up:
    return gpu::ShuffleMode::UP;
  case NVVM::ShflKind::down:
    return gpu::ShuffleMode::DOWN;
  case NVVM::ShflKind::idx:
    break;
  }
  return gpu::ShuffleMode::IDX;
}

void cpu::replaceByGpuOps(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (hasGpuOp(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value value;
    if (StringRef name = getRegister(op); !name.empty()) {
      value = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                         buildRegister(builder, loc, name));
    } else if (auto shuffle = dyn_cast<NVVM::ShflOp>(op)) {
      Value width = arith::ConstantIntOp::create(builder, loc, warpSize, 32);
      gpu::ShuffleMode mode = getMode(shuffle.getKind());
      Value offset, valid;
      if (isOfWholeWarp(shuffle)) {
        offset = buildOffset(builder, loc, shuffle);
      } else {
        std::tie(offset, valid) = buildSource(builder, loc, shuffle);
        mode = gpu::ShuffleMode::IDX;
      }
      auto result = gpu::ShuffleOp::create(builder, loc, shuffle.getVal(),
                                           offset, width, mode);
      value = result.getShuffleResult();
      if (auto type = dyn_cast<LLVM::LLVMStructType>(shuffle.getType())) {
        Value pair = LLVM::PoisonOp::create(builder, loc, type);
        pair = LLVM::InsertValueOp::create(builder, loc, pair, value,
                                           ArrayRef<int64_t>{0});
        value = LLVM::InsertValueOp::create(builder, loc, pair,
                                            valid ? valid : result.getValid(),
                                            ArrayRef<int64_t>{1});
      }
    } else if (auto vote = dyn_cast<NVVM::VoteSyncOp>(op)) {
      value = buildVote(builder, loc, vote);
    } else if (auto reduction = dyn_cast<NVVM::ReduxOp>(op)) {
      Value input = reduction.getVal();
      if (reduction.getAbs())
        input = math::AbsFOp::create(builder, loc, input);
      value = gpu::SubgroupReduceOp::create(builder, loc, input,
                                            getOperation(reduction),
                                            /*uniform=*/false);
    } else {
      gpu::BarrierOp::create(builder, loc);
    }
    if (value)
      op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
}
