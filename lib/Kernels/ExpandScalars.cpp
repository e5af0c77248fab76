//===- ExpandScalars.cpp - exact arithmetic of host code ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives host code the same arithmetic as kernels of the cpu device, and, for
// tests, the functions that GPUs without their vendor's library get.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Kernels/Passes.h"
#include "Kernels/CPU/BFloats.h"
#include "Kernels/CPU/Ops/SmallFloats.h"
#include "Kernels/Common/Math.h"
#include "Kernels/Common/MathFunctions.h"
#include "Kernels/Common/Scalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCCARRYBFLOATS
#define GEN_PASS_DEF_GPUASYNCEXPANDFUNCTIONS
#define GEN_PASS_DEF_GPUASYNCEXPANDSCALARS
#include "GPUAsync/Kernels/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

/// Refuses ops that compute with small floats by code of LLVM's, which differs
/// between processors.
static LogicalResult checkSmallFloats(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    if (!isa<vector::ContractionOp, vector::MultiDimReductionOp,
             vector::OuterProductOp, vector::ScanOp, memref::AtomicRMWOp>(op) ||
        llvm::none_of(op->getOperandTypes(), cpu::isSmallFloat))
      return WalkResult::advance();
    return op->emitOpError("on ")
           << getElementTypeOrSelf(op->getOperand(0).getType())
           << " is not supported in host code: move it into a kernel";
  });
  return failure(result.wasInterrupted());
}

namespace {
struct ExpandScalars
    : public gpuasync::impl::GPUAsyncExpandScalarsBase<ExpandScalars> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    expandFloatClassification(module);
    if (failed(checkSmallFloats(module)) ||
        failed(cpu::expandSmallFloats(module)) ||
        failed(lowerMathToLibm(module)))
      return signalPassFailure();
    expandDivisions(module);
    freezeConversions(module);
  }
};

struct CarryBFloats
    : public gpuasync::impl::GPUAsyncCarryBFloatsBase<CarryBFloats> {
  void runOnOperation() override {
    cpu::carryBFloatsAsIntegers(getOperation());
  }
};

struct ExpandFunctions
    : public gpuasync::impl::GPUAsyncExpandFunctionsBase<ExpandFunctions> {
  void runOnOperation() override {
    expandIntegerPowers(getOperation(), /*floatBase=*/true);
    if (failed(expandMath(getOperation(), "the vendor's library")))
      signalPassFailure();
  }
};
} // namespace
