//===- KernelCommon.cpp - lowering steps that all targets share -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stack slots, copies and math ops of kernels, before they become LLVM dialect.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::gpuasync;

void gpuasync::registerConvertToLLVMInterfaces(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertComplexToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  registerConvertToLLVMDependentDialectLoading(registry);
}

LogicalResult gpuasync::checkAllLowered(Operation *root, StringRef target) {
  auto isLowered = [](Operation *op) {
    return isa<ModuleOp, gpu::GPUModuleOp>(op) ||
           isa_and_nonnull<LLVM::LLVMDialect, NVVM::NVVMDialect>(
               op->getDialect());
  };
  // Casts are what an op that was not converted leaves around itself.
  for (bool casts : {false, true}) {
    WalkResult result = root->walk([&](Operation *op) -> WalkResult {
      if (isLowered(op) || isa<UnrealizedConversionCastOp>(op) != casts)
        return WalkResult::advance();
      return op->emitError("'")
             << op->getName() << "' cannot be lowered for " << target;
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult gpuasync::checkNoHostOps(Operation *root) {
  return failure(root->walk([](vector::PrintOp op) -> WalkResult {
                       return op.emitOpError(
                           "is not for kernels: use gpu.printf");
                     })
                     .wasInterrupted());
}

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
// Vectors
//===----------------------------------------------------------------------===//

void gpuasync::lowerVectors(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  vector::populateVectorMultiReductionLoweringPatterns(
      patterns, vector::VectorMultiReductionLowering::InnerParallel);
  vector::populateVectorScanLoweringPatterns(patterns);
  vector::populateVectorGatherLoweringPatterns(patterns);
  vector::populateVectorBitCastLoweringPatterns(patterns);
  vector::populateVectorShapeCastLoweringPatterns(patterns);
  (void)applyPatternsGreedily(root, std::move(patterns));
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

/// Upstream compares and exchanges values of the memref's own type, which LLVM
/// only has for integers and pointers.
void gpuasync::expandFloatAtomics(Operation *root) {
  SmallVector<memref::GenericAtomicRMWOp> ops;
  root->walk([&](memref::GenericAtomicRMWOp op) {
    if (isa<FloatType>(op.getResult().getType()))
      ops.push_back(op);
  });
  for (memref::GenericAtomicRMWOp op : ops) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type type = op.getResult().getType();
    unsigned width = type.getIntOrFloatBitWidth();
    auto integer = builder.getIntegerType(width);
    auto i64 = builder.getI64Type();
    auto memrefType = cast<MemRefType>(op.getMemref().getType());

    // The element's address.
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, op.getMemref());
    Value element = metadata.getOffset();
    for (auto [index, stride] :
         llvm::zip_equal(op.getIndices(), metadata.getStrides()))
      element = arith::AddIOp::create(
          builder, loc, element,
          arith::MulIOp::create(builder, loc, index, stride));
    Value base = memref::ExtractAlignedPointerAsIndexOp::create(
        builder, loc, metadata.getBaseBuffer());
    Value size = arith::ConstantIndexOp::create(builder, loc, width / 8);
    Value address = arith::AddIOp::create(
        builder, loc, base, arith::MulIOp::create(builder, loc, element, size));
    address = arith::IndexCastOp::create(builder, loc, i64, address);
    unsigned space = 0;
    if (auto number =
            dyn_cast_or_null<IntegerAttr>(memrefType.getMemorySpace()))
      space = number.getInt();
    else if (auto gpuSpace = dyn_cast_or_null<gpu::AddressSpaceAttr>(
                 memrefType.getMemorySpace()))
      space = gpuSpace.getValue() == gpu::AddressSpace::Workgroup ? 3
              : gpuSpace.getValue() == gpu::AddressSpace::Private ? 5
                                                                  : 1;
    Value pointer = LLVM::IntToPtrOp::create(
        builder, loc, LLVM::LLVMPointerType::get(op.getContext(), space),
        address);

    Value first = LLVM::LoadOp::create(
        builder, loc, integer, pointer, /*alignment=*/width / 8,
        /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic);
    auto loop = scf::WhileOp::create(
        builder, loc, TypeRange{integer}, ValueRange{first},
        [&](OpBuilder &nested, Location, ValueRange current) {
          IRMapping mapping;
          mapping.map(op.getCurrentValue(),
                      arith::BitcastOp::create(nested, loc, type, current[0]));
          for (Operation &inner : op.getRegion().front().without_terminator())
            nested.clone(inner, mapping);
          auto yield = cast<memref::AtomicYieldOp>(
              op.getRegion().front().getTerminator());
          Value wanted = arith::BitcastOp::create(
              nested, loc, integer, mapping.lookupOrDefault(yield.getResult()));
          auto exchange = LLVM::AtomicCmpXchgOp::create(
              nested, loc, pointer, current[0], wanted,
              LLVM::AtomicOrdering::acq_rel, LLVM::AtomicOrdering::monotonic);
          Value seen = LLVM::ExtractValueOp::create(nested, loc, exchange, 0);
          Value done = LLVM::ExtractValueOp::create(nested, loc, exchange, 1);
          Value one = arith::ConstantIntOp::create(nested, loc, 1, 1);
          Value again = arith::XOrIOp::create(nested, loc, done, one);
          scf::ConditionOp::create(nested, loc, again, seen);
        },
        [&](OpBuilder &nested, Location, ValueRange seen) {
          scf::YieldOp::create(nested, loc, seen);
        });
    op.replaceAllUsesWith(
        Value(arith::BitcastOp::create(builder, loc, type, loop.getResult(0))));
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

/// base ** exponent by repeated squaring, `exponent` not negative. Scalars
/// only.
static Value buildPower(OpBuilder &builder, Location loc, Value base,
                        Value exponent) {
  Type type = base.getType(), exponentType = exponent.getType();
  bool isFloat = isa<FloatType>(type);
  auto multiply = [&](OpBuilder &nested, Value a, Value b) -> Value {
    if (isFloat)
      return arith::MulFOp::create(nested, loc, a, b);
    return arith::MulIOp::create(nested, loc, a, b);
  };
  TypedAttr oneAttr = isFloat ? TypedAttr(builder.getFloatAttr(type, 1.0))
                              : TypedAttr(builder.getIntegerAttr(type, 1));
  Value one = arith::ConstantOp::create(builder, loc, oneAttr);
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(exponentType, 0));
  Value bit = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(exponentType, 1));
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange{type, type, exponentType},
      ValueRange{one, base, exponent},
      [&](OpBuilder &nested, Location, ValueRange values) {
        Value more = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::ne, values[2], zero);
        scf::ConditionOp::create(nested, loc, more, values);
      },
      [&](OpBuilder &nested, Location, ValueRange values) {
        Value low = arith::AndIOp::create(nested, loc, values[2], bit);
        Value odd = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ne,
                                          low, zero);
        Value product = multiply(nested, values[0], values[1]);
        Value result =
            arith::SelectOp::create(nested, loc, odd, product, values[0]);
        Value square = multiply(nested, values[1], values[1]);
        Value rest = arith::ShRUIOp::create(nested, loc, values[2], bit);
        scf::YieldOp::create(nested, loc, ValueRange{result, square, rest});
      });
  return loop.getResult(0);
}

void gpuasync::expandIntegerPowers(Operation *root, bool floatBase) {
  root->walk([](math::IPowIOp op) {
    Type type = op.getType();
    if (!type.isInteger())
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(builder, loc,
                                       builder.getIntegerAttr(type, value));
    };
    auto equal = [&](Value a, Value b) -> Value {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a,
                                   b);
    };
    Value base = op.getLhs(), exponent = op.getRhs();
    Value zero = constant(0), one = constant(1), minusOne = constant(-1);
    Value negative = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, exponent, zero);
    Value power = buildPower(
        builder, loc, base,
        arith::SelectOp::create(builder, loc, negative, zero, exponent));
    // 1 / base ** -exponent is not zero for 1 and -1 only.
    Value odd = equal(arith::AndIOp::create(builder, loc, exponent, one), one);
    Value sign = arith::SelectOp::create(builder, loc, odd, minusOne, one);
    Value inverse = arith::SelectOp::create(builder, loc, equal(base, minusOne),
                                            sign, zero);
    inverse =
        arith::SelectOp::create(builder, loc, equal(base, one), one, inverse);
    op.replaceAllUsesWith(
        Value(arith::SelectOp::create(builder, loc, negative, inverse, power)));
    op.erase();
  });
  if (!floatBase)
    return;
  root->walk([](math::FPowIOp op) {
    Type type = op.getType(), exponentType = op.getRhs().getType();
    if (!isa<FloatType>(type))
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(exponentType, 0));
    Value one = arith::ConstantOp::create(builder, loc,
                                          builder.getFloatAttr(type, 1.0));
    Value negative = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, op.getRhs(), zero);
    Value minus = arith::SubIOp::create(builder, loc, zero, op.getRhs());
    Value magnitude =
        arith::SelectOp::create(builder, loc, negative, minus, op.getRhs());
    Value power = buildPower(builder, loc, op.getLhs(), magnitude);
    Value inverse = arith::DivFOp::create(builder, loc, one, power);
    op.replaceAllUsesWith(
        Value(arith::SelectOp::create(builder, loc, negative, inverse, power)));
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
