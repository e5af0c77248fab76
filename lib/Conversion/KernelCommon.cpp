//===- KernelCommon.cpp - lowering steps that all targets share -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stack slots, copies and math ops of kernels, before they become LLVM dialect.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::gpuasync;

bool gpuasync::isKernel(FunctionOpInterface op) {
  if (auto function = dyn_cast<gpu::GPUFuncOp>(op.getOperation()))
    return function.isKernel();
  return isa<LLVM::LLVMFuncOp>(op.getOperation()) && !op.isExternal() &&
         (op->hasAttr(gpu::GPUDialect::getKernelFuncAttrName()) ||
          op->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()));
}

SmallVector<FunctionOpInterface> gpuasync::getKernels(gpu::GPUModuleOp module) {
  SmallVector<FunctionOpInterface> kernels;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (isKernel(function))
      kernels.push_back(function);
  return kernels;
}

//===----------------------------------------------------------------------===//
// Stack slots
//===----------------------------------------------------------------------===//

/// Whether nothing can still hold `memref` when its op runs again: it is not
/// carried around a loop, nor stored.
static bool staysLocal(Value memref) {
  for (OpOperand &use : memref.getUses()) {
    Operation *user = use.getOwner();
    if (user->hasTrait<OpTrait::IsTerminator>())
      return false;
    if (isa<ViewLikeOpInterface>(user) || isa<memref::CastOp>(user)) {
      if (!staysLocal(user->getResult(0)))
        return false;
      continue;
    }
    if (isa<memref::LoadOp, memref::AtomicRMWOp, memref::GenericAtomicRMWOp,
            memref::CopyOp, memref::DimOp, vector::TransferReadOp,
            vector::TransferWriteOp, vector::LoadOp, vector::StoreOp>(user) ||
        user->getName().getStringRef().starts_with("affine."))
      continue;
    auto store = dyn_cast<memref::StoreOp>(user);
    if (store && store.getValueToStore() != memref)
      continue;
    return false;
  }
  return true;
}

void gpuasync::hoistAllocas(Operation *root) {
  root->walk([](FunctionOpInterface function) {
    if (function.isExternal())
      return;
    Block &entry = function.getFunctionBody().front();
    SmallVector<memref::AllocaOp> allocas;
    function->walk([&](memref::AllocaOp op) {
      if (op->getBlock() != &entry && op->getOperands().empty() &&
          staysLocal(op.getMemref()))
        allocas.push_back(op);
    });
    for (memref::AllocaOp op : llvm::reverse(allocas))
      op->moveBefore(&entry, entry.begin());
  });
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void gpuasync::expandCopies(Operation *root) {
  SmallVector<memref::CopyOp> copies;
  root->walk([&](memref::CopyOp op) {
    if (isa<MemRefType>(op.getSource().getType()) &&
        isa<MemRefType>(op.getTarget().getType()))
      copies.push_back(op);
  });
  for (memref::CopyOp op : copies) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getTarget().getType());
    SmallVector<Value> indices;
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value size =
          type.isDynamicDim(dim)
              ? Value(memref::DimOp::create(builder, loc, op.getTarget(), dim))
              : Value(arith::ConstantIndexOp::create(builder, loc,
                                                     type.getDimSize(dim)));
      auto loop = scf::ForOp::create(builder, loc, zero, size, one);
      indices.push_back(loop.getInductionVar());
      builder.setInsertionPointToStart(loop.getBody());
    }
    Value element =
        memref::LoadOp::create(builder, loc, op.getSource(), indices);
    memref::StoreOp::create(builder, loc, element, op.getTarget(), indices);
    op.erase();
  }
}

//===----------------------------------------------------------------------===//
// Math
//===----------------------------------------------------------------------===//

/// What upstream's lowering to NVVM leaves out, and LLVM has an exact intrinsic
/// for.
static bool isIntrinsicMath(Operation *op) {
  return isa<math::AbsIOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp, math::IsFiniteOp,
             math::IsInfOp, math::IsNaNOp, math::IsNormalOp, math::TruncOp>(op);
}

/// What LLVM's code generators do without a library, to the last bit.
static bool isNativeMath(Operation *op) {
  return isIntrinsicMath(op) ||
         isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp,
             math::FmaOp, math::RoundEvenOp, math::RoundOp, math::RsqrtOp,
             math::SqrtOp>(op);
}

/// Ops that are nothing but several others.
static void expandCompositeMath(Operation *root, bool expandLog10 = false) {
  RewritePatternSet patterns(root->getContext());
  math::populateExpansionPatterns(patterns, {"clampf"});
  (void)applyPatternsGreedily(root, std::move(patterns));
  root->walk([&](math::Log10Op op) {
    // MLIR has no expansion of its own; in single precision the factor costs
    // half a unit in the last place.
    Type element = getElementTypeOrSelf(op.getType());
    if (!expandLog10 || element.isF64())
      return;
    OpBuilder builder(op);
    Value log = math::LogOp::create(builder, op.getLoc(), op.getOperand(),
                                    op.getFastmathAttr());
    TypedAttr factor = builder.getFloatAttr(element, 0.43429448190325182765);
    if (auto shaped = dyn_cast<ShapedType>(op.getType()))
      factor = DenseElementsAttr::get(shaped, factor);
    Value scale = arith::ConstantOp::create(builder, op.getLoc(), factor);
    op.replaceAllUsesWith(
        Value(arith::MulFOp::create(builder, op.getLoc(), log, scale)));
    op.erase();
  });
  root->walk([](math::SincosOp op) {
    OpBuilder builder(op);
    Value sine = math::SinOp::create(builder, op.getLoc(), op.getOperand(),
                                     op.getFastmathAttr());
    Value cosine = math::CosOp::create(builder, op.getLoc(), op.getOperand(),
                                       op.getFastmathAttr());
    op.replaceAllUsesWith(ValueRange{sine, cosine});
    op.erase();
  });
}

LogicalResult gpuasync::lowerIntrinsicMath(Operation *root) {
  expandCompositeMath(root);
  MLIRContext *context = root->getContext();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  LLVMTypeConverter converter(context, options);
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addDynamicallyLegalDialect<math::MathDialect>(
      [](Operation *op) { return !isIntrinsicMath(op); });
  RewritePatternSet patterns(context);
  populateMathToLLVMConversionPatterns(converter, patterns,
                                       /*approximateLog1p=*/false);
  return applyPartialConversion(root, target, std::move(patterns));
}

LogicalResult gpuasync::lowerMathToLibm(Operation *root) {
  expandCompositeMath(root);
  MLIRContext *context = root->getContext();
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  // LLVM has intrinsics for the others, which can fold and vectorise; it knows
  // expm1 and log1p only as less accurate combinations.
  target.addIllegalOp<math::AcosOp, math::AcoshOp, math::AsinOp, math::AsinhOp,
                      math::AtanOp, math::Atan2Op, math::AtanhOp, math::CbrtOp,
                      math::CoshOp, math::ErfOp, math::ErfcOp, math::ExpM1Op,
                      math::Log1pOp, math::SinhOp, math::TanOp, math::TanhOp>();
  RewritePatternSet patterns(context);
  populateMathToLibmConversionPatterns(patterns);
  return applyPartialConversion(root, target, std::move(patterns));
}

LogicalResult gpuasync::expandMath(Operation *root) {
  expandCompositeMath(root, /*expandLog10=*/true);
  auto check = [&](function_ref<bool(Operation *)> isRefused) {
    return failure(
        root->walk([&](Operation *op) -> WalkResult {
              if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
                  isNativeMath(op) || !isRefused(op))
                return WalkResult::advance();
              return op->emitOpError("on ")
                     << op->getOperand(0).getType()
                     << " needs CUDA's libdevice, which was not "
                        "found (set CUDA_HOME, or libdevice= of "
                        "gpu-async-lower-kernels)";
            })
            .wasInterrupted());
  };
  // First, so that the error names what the program says.
  if (failed(check([](Operation *op) {
        return getElementTypeOrSelf(op->getOperand(0).getType()).isF64();
      })))
    return failure();

  MLIRContext *context = root->getContext();
  RewritePatternSet patterns(context);
  auto any = [](StringRef) { return true; };
  // Half precision is computed in single precision.
  populateMathF32ExpansionPatterns(patterns, any, /*benefit=*/3);
  populateMathPolynomialApproximationPatterns(patterns, any, /*benefit=*/2);
  math::populateExpansionPatterns(patterns,
                                  {"sinh", "cosh", "tan", "asinh", "acosh",
                                   "atanh", "exp2", "powf", "fpowi"});
  if (failed(applyPatternsGreedily(root, std::move(patterns))))
    return failure();
  return check([](Operation *) { return true; });
}
