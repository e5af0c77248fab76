//===- CpuNvvmOps.cpp - nvvm ops in kernels for the cpu ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nvvm ops that say what ops of gpu say too: where a thread is, barriers of
// the block, shuffles of whole subgroups.
//===----------------------------------------------------------------------===//

#include "CpuKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::gpuasync;

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

bool cpu::isWarpOp(Operation *op) {
  StringRef name = getRegister(op);
  return isa<NVVM::ShflOp>(op) || name == "laneid" || name == "warpsize";
}

bool cpu::hasGpuOp(Operation *op) {
  if (isa<NVVM::Barrier0Op>(op))
    return true;
  if (auto barrier = dyn_cast<NVVM::BarrierOp>(op))
    return !barrier->getNumOperands() && !barrier->getNumResults();
  if (auto shuffle = dyn_cast<NVVM::ShflOp>(op)) {
    // All threads, and no pieces of a subgroup.
    APInt mask, clamp;
    return matchPattern(shuffle.getThreadMask(), m_ConstantInt(&mask)) &&
           mask.isAllOnes() &&
           matchPattern(shuffle.getMaskAndClamp(), m_ConstantInt(&clamp)) &&
           clamp == (shuffle.getKind() == NVVM::ShflKind::up ? 0 : 31);
  }
  return !getRegister(op).empty();
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
      auto result = gpu::ShuffleOp::create(builder, loc, shuffle.getVal(),
                                           shuffle.getOffset(), width,
                                           getMode(shuffle.getKind()));
      value = result.getShuffleResult();
      if (auto type = dyn_cast<LLVM::LLVMStructType>(shuffle.getType())) {
        Value pair = LLVM::PoisonOp::create(builder, loc, type);
        pair = LLVM::InsertValueOp::create(builder, loc, pair, value,
                                           ArrayRef<int64_t>{0});
        value = LLVM::InsertValueOp::create(
            builder, loc, pair, result.getValid(), ArrayRef<int64_t>{1});
      }
    } else {
      gpu::BarrierOp::create(builder, loc);
    }
    if (value)
      op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
}
