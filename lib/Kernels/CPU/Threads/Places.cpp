//===- Places.cpp - numbers computed from threads' ids ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of integers that are computed from ids and sizes, and which of them
// are a thread's place.
//===----------------------------------------------------------------------===//

#include "Places.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

/// What `op` would yield if its type had no bounds.
Bounds Places::getExactRange(Operation *op, unsigned depth) {
  auto operand = [&](unsigned i) {
    return getRange(op->getOperand(i), depth + 1);
  };
  if (isa<arith::AddIOp>(op)) {
    Bounds a = operand(0), b = operand(1);
    return {a.least + b.least, a.most + b.most};
  }
  if (isa<arith::SubIOp>(op)) {
    Bounds a = operand(0), b = operand(1);
    return {a.least - b.most, a.most - b.least};
  }
  if (isa<arith::MulIOp>(op)) {
    Bounds a = operand(0), b = operand(1);
    __int128 products[] = {a.least * b.least, a.least * b.most,
                           a.most * b.least, a.most * b.most};
    return {*llvm::min_element(products), *llvm::max_element(products)};
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return operand(0);
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op)) {
    Bounds range = operand(0);
    if (range.least >= 0)
      return range;
    return {0, (__int128(1) << getWidth(op->getOperand(0).getType())) - 1};
  }
  return getFull(op->getResult(0).getType());
}

Bounds Places::getRange(Value value, unsigned depth) {
  constexpr unsigned deepest = 12;
  Bounds full = getFull(value.getType());
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.getBitWidth() <= 64)
    return {constant.getSExtValue(), constant.getSExtValue()};
  if (getThreadIdDimension(kernel, value))
    return {0, (kernel->hasAttr(runsName) ? GPUASYNC_CPU_RUN_THREADS
                                          : maxThreadsPerBlock) -
                   1};
  for (unsigned dim : {0, 1, 2}) {
    if (value == getEnv(kernel, BlockDim + dim))
      return {1, maxThreadsPerBlock};
    if (value == getEnv(kernel, BlockId + dim))
      return {0, maxBlocksPerGrid - 1};
    if (value == getEnv(kernel, GridDim + dim))
      return {1, maxBlocksPerGrid};
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || depth > deepest ||
      !isa<IntegerType, IndexType>(value.getType()))
    return full;
  if (!llvm::all_of(op->getOperandTypes(), [](Type type) {
        return isa<IntegerType, IndexType>(type);
      }))
    return full;
  Bounds exact = getExactRange(op, depth);
  if (full.contains(exact))
    return exact;
  return full;
}

/// Whether `op` yields what it would if its type had no bounds.
bool Places::isExact(Operation *op) {
  if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
    if (flags.hasNoSignedWrap())
      return true;
  return getFull(op->getResult(0).getType()).contains(getExactRange(op, 0));
}

/// Whether `cast` yields the same number as before, not just one that its new
/// type can hold.
bool Places::isSameNumber(Operation *cast) {
  Type from = cast->getOperand(0).getType(), to = cast->getResult(0).getType();
  if (!isa<IntegerType, IndexType>(from) || !isa<IntegerType, IndexType>(to))
    return false;
  Bounds before = getRange(cast->getOperand(0));
  return getFull(to).contains(before) &&
         (before.least >= 0 ||
          !isa<arith::IndexCastUIOp, arith::ExtUIOp>(cast));
}

std::optional<unsigned> Places::getDimension(Value value) {
  if (std::optional<unsigned> dim = getThreadIdDimension(kernel, value))
    return dim;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    bool first = variance.varies(op->getOperand(0));
    bool second = variance.varies(op->getOperand(1));
    if (first == second || (second && isa<arith::SubIOp>(op)) || !isExact(op))
      return std::nullopt;
    return getDimension(op->getOperand(second));
  }
  if (op && isCast(op) && isSameNumber(op))
    return getDimension(op->getOperand(0));
  return std::nullopt;
}

bool Places::growsWithIds(Value value) {
  if (!variance.varies(value) || getThreadIdDimension(kernel, value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isCast(op))
    return isSameNumber(op) && growsWithIds(op->getOperand(0));
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) || !isExact(op))
    return false;
  Value a = op->getOperand(0), b = op->getOperand(1);
  if (isa<arith::AddIOp>(op))
    return growsWithIds(a) && growsWithIds(b);
  if (isa<arith::SubIOp>(op))
    return growsWithIds(a) && !variance.varies(b);
  if (variance.varies(a) && variance.varies(b))
    return false;
  Value factor = variance.varies(a) ? b : a;
  return getRange(factor).least >= 0 && growsWithIds(a) && growsWithIds(b);
}

Value cpu::buildPlace(OpBuilder &builder, const ThreadVariance &variance,
                      Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (!variance.varies(value))
    return value;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    buildPlace(builder, variance, operand, mapping);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

Value cpu::buildLeastPlace(OpBuilder &builder, func::FuncOp kernel,
                           const ThreadVariance &variance, Value value) {
  IRMapping mapping;
  Value zero = arith::ConstantIndexOp::create(builder, value.getLoc(), 0);
  for (unsigned dim : {0, 1, 2})
    mapping.map(getEnv(kernel, ThreadId + dim), zero);
  return buildPlace(builder, variance, value, mapping);
}

Value cpu::buildGreatestPlace(OpBuilder &builder, func::FuncOp kernel,
                              const ThreadVariance &variance, Value value) {
  IRMapping mapping;
  Value one = arith::ConstantIndexOp::create(builder, value.getLoc(), 1);
  for (unsigned dim : {0, 1, 2})
    mapping.map(getEnv(kernel, ThreadId + dim),
                arith::SubIOp::create(
                    builder, value.getLoc(),
                    buildNumIds(builder, value.getLoc(), kernel, dim), one));
  return buildPlace(builder, variance, value, mapping);
}
