//===- AvoidFaults.cpp - ops that MLIR makes wrong code of ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces ops whose folds, canonicalisation or lowering are wrong by others
// that mean the same.
//===----------------------------------------------------------------------===//

#include "CeilDivs.h"
#include "GPUAsync/Upstream/Faults.h"
#include "GPUAsync/Upstream/Passes.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCAVOIDFAULTS
#include "GPUAsync/Upstream/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// The index dialect
//===----------------------------------------------------------------------===//

static arith::CmpIPredicate getPredicate(index::IndexCmpPredicate predicate) {
  using From = index::IndexCmpPredicate;
  using To = arith::CmpIPredicate;
  switch (predicate) {
  case From::EQ:
    return To::eq;
  case From::NE:
    return To::ne;
  case From::SLT:
    return To::slt;
  case From::SLE:
    return To::sle;
  case From::SGT:
    return To::sgt;
  case From::SGE:
    return To::sge;
  case From::ULT:
    return To::ult;
  case From::ULE:
    return To::ule;
  case From::UGT:
    return To::ugt;
  case From::UGE:
    return To::uge;
  }
  llvm_unreachable("unknown predicate");
}

/// The same of arith, or null where `op` is none of the index dialect's.
static Value buildOfArith(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
#define BINARY(From, To)                                                       \
  .Case<index::From>([&](auto) -> Value {                                      \
    return arith::To::create(builder, loc, op->getOperand(0),                  \
                             op->getOperand(1));                               \
  })
  return llvm::TypeSwitch<Operation *, Value>(op)
      // clang-format off
      BINARY(AddOp, AddIOp)
      BINARY(SubOp, SubIOp)
      BINARY(MulOp, MulIOp)
      BINARY(DivSOp, DivSIOp)
      BINARY(DivUOp, DivUIOp)
      BINARY(CeilDivSOp, CeilDivSIOp)
      BINARY(CeilDivUOp, CeilDivUIOp)
      BINARY(FloorDivSOp, FloorDivSIOp)
      BINARY(RemSOp, RemSIOp)
      BINARY(RemUOp, RemUIOp)
      BINARY(MaxSOp, MaxSIOp)
      BINARY(MaxUOp, MaxUIOp)
      BINARY(MinSOp, MinSIOp)
      BINARY(MinUOp, MinUIOp)
      BINARY(ShlOp, ShLIOp)
      BINARY(ShrSOp, ShRSIOp)
      BINARY(ShrUOp, ShRUIOp)
      BINARY(AndOp, AndIOp)
      BINARY(OrOp, OrIOp)
      BINARY(XOrOp, XOrIOp)
                          // clang-format on
                          .Case([&](index::CmpOp cmp) -> Value {
                            return arith::CmpIOp::create(
                                builder, loc, getPredicate(cmp.getPred()),
                                cmp.getLhs(), cmp.getRhs());
                          })
                          .Case([&](index::CastSOp cast) -> Value {
                            return arith::IndexCastOp::create(
                                builder, loc, cast.getType(), cast.getInput());
                          })
                          .Case([&](index::CastUOp cast) -> Value {
                            return arith::IndexCastUIOp::create(
                                builder, loc, cast.getType(), cast.getInput());
                          })
                          .Case([&](index::ConstantOp constant) -> Value {
                            return arith::ConstantOp::create(
                                builder, loc, constant.getValueAttr());
                          })
                          .Case([&](index::BoolConstantOp constant) -> Value {
                            return arith::ConstantOp::create(
                                builder, loc, constant.getValueAttr());
                          })
                          // On all devices, whatever the data layout says.
                          .Case([&](index::SizeOfOp) -> Value {
                            return arith::ConstantIndexOp::create(builder, loc,
                                                                  64);
                          })
                          .Default(Value());
#undef BINARY
}

LogicalResult gpuasync::avoidFaults(Operation *root) {
  root->walk([&](Operation *op) {
    OpBuilder builder(op);
    Value same;
    if (auto clamp = dyn_cast<math::ClampFOp>(op)) {
      arith::FastMathFlags flags = clamp.getFastmath();
      Value least = arith::MinimumFOp::create(
          builder, op->getLoc(), clamp.getValue(), clamp.getMax(), flags);
      same = arith::MaximumFOp::create(builder, op->getLoc(), least,
                                       clamp.getMin(), flags);
    } else {
      same = buildOfArith(builder, op);
    }
    if (!same)
      return;
    op->getResult(0).replaceAllUsesWith(same);
    op->erase();
  });
  return lowerCeilDivs(root);
}

namespace {
struct AvoidFaults
    : public gpuasync::impl::GPUAsyncAvoidFaultsBase<AvoidFaults> {
  void runOnOperation() override {
    if (failed(avoidFaults(getOperation())))
      signalPassFailure();
  }
};
} // namespace
