//===- Exponentials.cpp - exponentials as arithmetic ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Exponentials.h. The way is that of MathFunctions.cpp, which writes ops of
// MLIR for all GPUs: here the processor decides, which only LLVM knows.
//===----------------------------------------------------------------------===//

#include "Exponentials.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/MC/MCSubtargetInfo.h"

using namespace llvm;
using namespace mlir::gpuasync;

/// Without them an fma and the nearest integer would be calls.
static bool hasInstructions(const TargetMachine &machine) {
  const Triple &triple = machine.getTargetTriple();
  return triple.isAArch64() ||
         (triple.isX86() &&
          machine.getMCSubtargetInfo()->checkFeatures("+fma"));
}

namespace {
/// Builds in front of one call.
class Exponential {
public:
  explicit Exponential(IntrinsicInst *call)
      : b(call), x(call->getArgOperand(0)), type(x->getType()),
        integers(type->getWithNewType(b.getInt32Ty())) {}
  Value *ofE();
  Value *of2();

private:
  Value *number(double value) { return ConstantFP::get(type, value); }
  Value *integer(int32_t value) {
    return ConstantInt::getSigned(integers, value);
  }
  Value *fma(Value *a, Value *c, Value *d) {
    return b.CreateIntrinsic(Intrinsic::fma, type, {a, c, d});
  }
  Value *nearest(Value *a) {
    return b.CreateUnaryIntrinsic(Intrinsic::roundeven, a);
  }
  /// A NaN stays one.
  Value *clamp(Value *a, double low, double high) {
    a = b.CreateSelect(b.CreateFCmpOLT(a, number(low)), number(low), a);
    return b.CreateSelect(b.CreateFCmpOGT(a, number(high)), number(high), a);
  }
  /// e ** r for |r| <= ln(2) / 2.
  Value *ofSmall(Value *r);
  /// a * 2 ** n for |n| <= 200, in two steps: the power may be no number.
  Value *scale(Value *a, Value *n);
  Value *power(Value *n) {
    return b.CreateBitCast(b.CreateShl(b.CreateAdd(n, integer(127)), 23), type);
  }

  IRBuilder<> b;
  Value *x;
  Type *type, *integers;
};
} // namespace

Value *Exponential::ofSmall(Value *r) {
  Value *q = number(0.0013950495);
  for (double each : {0.00836888328, 0.041666206, 0.166665182, 0.5})
    q = fma(q, r, number(each));
  return b.CreateFAdd(fma(b.CreateFMul(r, r), q, r), number(1));
}

Value *Exponential::scale(Value *a, Value *n) {
  // A NaN has no integer.
  Value *known = b.CreateSelect(b.CreateFCmpORD(n, n), n, number(0));
  Value *all = b.CreateFPToSI(known, integers);
  Value *half = b.CreateAShr(all, 1);
  return b.CreateFMul(b.CreateFMul(a, power(half)),
                      power(b.CreateSub(all, half)));
}

Value *Exponential::ofE() {
  Value *a = clamp(x, -105, 90);
  Value *n = nearest(b.CreateFMul(a, number(1.44269502162933349609375)));
  // ln(2) in two parts.
  Value *r = fma(n, number(-0.693147182464599609375), a);
  r = fma(n, number(1.90465421e-9), r);
  return scale(ofSmall(r), n);
}

Value *Exponential::of2() {
  Value *a = clamp(x, -151, 129);
  Value *n = nearest(a);
  Value *r = b.CreateFMul(b.CreateFSub(a, n), number(0.693147182464599609375));
  return scale(ofSmall(r), n);
}

void cpu::expandExponentials(Function &function, const TargetMachine &machine) {
  if (!hasInstructions(machine))
    return;
  for (Instruction &instruction :
       make_early_inc_range(instructions(function))) {
    auto *call = dyn_cast<IntrinsicInst>(&instruction);
    if (!call || !call->getType()->getScalarType()->isFloatTy())
      continue;
    Intrinsic::ID id = call->getIntrinsicID();
    if (id != Intrinsic::exp && id != Intrinsic::exp2)
      continue;
    Exponential writer(call);
    call->replaceAllUsesWith(id == Intrinsic::exp ? writer.ofE()
                                                  : writer.of2());
    call->eraseFromParent();
  }
}
