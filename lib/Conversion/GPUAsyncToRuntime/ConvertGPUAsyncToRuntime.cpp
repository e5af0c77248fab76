//===- ConvertGPUAsyncToRuntime.cpp - stream form to runtime calls --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass convert-gpu-async-to-runtime: device work becomes runtime calls in
// LLVM dialect, then the whole host program is converted to LLVM dialect.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/Passes.h"
#include "GPUAsync/IR/VerifyProgram.h"
#include "GPUAsync/Kernels/Common/IntegersInMemory.h"
#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "Kernels/Common/Addresses.h"
#include "RuntimeLowering.h"
#include "mlir/Analysis/DataLayoutAnalysis.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_CONVERTGPUASYNCTORUNTIME
#include "GPUAsync/Conversion/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::runtime;

/// Handles are pointers, tensor maps values, and every memory space is the
/// host's one address space: the host never looks into device memory.
static void addConversions(LLVMTypeConverter &converter) {
  converter.addConversion([](Type type) -> std::optional<Type> {
    if (isa<TokenType, StreamType, EventType>(type))
      return LLVM::LLVMPointerType::get(type.getContext());
    if (isa<nvgpu::TensorMapDescriptorType>(type))
      return getTensorMapType(type.getContext());
    return std::nullopt;
  });
  converter.addTypeAttributeConversion(
      [](BaseMemRefType type, Attribute space) -> Attribute {
        return IntegerAttr::get(IntegerType::get(type.getContext(), 64), 0);
      });
}

/// A tensor map is a value, and C programs pass none of that form.
static LogicalResult checkTensorMaps(ModuleOp module) {
  auto isTensorMap = [](Type type) {
    return isa<nvgpu::TensorMapDescriptorType>(type);
  };
  for (auto func : module.getOps<func::FuncOp>())
    if ((func.isPublic() || func.isExternal()) &&
        (llvm::any_of(func.getArgumentTypes(), isTensorMap) ||
         llvm::any_of(func.getResultTypes(), isTensorMap)))
      return func.emitOpError(
          "takes or returns a tensor map descriptor across the border of the "
          "program: only private functions with a body can");
  return success();
}

/// Folds `to` = cast(cast(`from`)) where both are descriptors of one memref
/// that differ in the pointers' address space: a pass that ran before kept the
/// memory space, which means nothing on the host.
static void foldDescriptorCasts(ArrayRef<UnrealizedConversionCastOp> casts) {
  for (UnrealizedConversionCastOp cast : casts) {
    if (cast.getNumOperands() != 1 || cast.getNumResults() != 1)
      continue;
    auto inner = cast.getOperand(0).getDefiningOp<UnrealizedConversionCastOp>();
    auto to = dyn_cast<LLVM::LLVMStructType>(cast.getResult(0).getType());
    if (!inner || inner.getNumOperands() != 1 || !to ||
        !isa<BaseMemRefType>(cast.getOperand(0).getType()))
      continue;
    Value source = inner.getOperand(0);
    auto from = dyn_cast<LLVM::LLVMStructType>(source.getType());
    auto agree = [](auto types) {
      auto [a, b] = types;
      return a == b ||
             (isa<LLVM::LLVMPointerType>(a) && isa<LLVM::LLVMPointerType>(b));
    };
    if (!from || from.getBody().size() != to.getBody().size() ||
        !llvm::all_of(llvm::zip_equal(from.getBody(), to.getBody()), agree))
      continue;
    OpBuilder builder(cast);
    Location loc = cast.getLoc();
    Value result = LLVM::PoisonOp::create(builder, loc, to);
    for (auto [i, type] : llvm::enumerate(to.getBody())) {
      Value field = LLVM::ExtractValueOp::create(builder, loc, source, i);
      if (field.getType() != type)
        field = LLVM::AddrSpaceCastOp::create(builder, loc, type, field);
      result = LLVM::InsertValueOp::create(builder, loc, result, field, i);
    }
    cast.getResult(0).replaceAllUsesWith(result);
  }
}

/// Forgets what was said of arguments to us: the translation to LLVM IR warns
/// of attributes that it does not know.
static void dropArgumentAttributes(ModuleOp module) {
  for (auto function : module.getOps<FunctionOpInterface>())
    for (unsigned i = 0; i != function.getNumArguments(); ++i)
      for (NamedAttribute attribute : function.getArgAttrs(i))
        if (isa_and_nonnull<GPUAsyncDialect>(attribute.getNameDialect()))
          function.removeArgAttr(i, attribute.getName());
}

/// Explains an op that no pattern lowers.
static void emitLeftOver(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (llvm::any_of(op->getOperandTypes(), isTensor) ||
      llvm::any_of(op->getResultTypes(), isTensor) ||
      (function && (llvm::any_of(function.getArgumentTypes(), isTensor) ||
                    llvm::any_of(function.getResultTypes(), isTensor)))) {
    op->emitOpError("works on tensors, which this pipeline does not lower: "
                    "bufferize the program first (one-shot-bufferize)");
    return;
  }
  if (op->getNumRegions() && !function && !isa<gpu::GPUModuleOp>(op)) {
    op->emitOpError("has no lowering to LLVM dialect here: lower structured "
                    "ops to cf first");
    return;
  }
  if (isa<memref::ReallocOp>(op)) {
    op->emitOpError("has no lowering to LLVM dialect here: run "
                    "expand-realloc before this pipeline");
    return;
  }
  op->emitOpError("has no lowering to LLVM dialect here: lower it before this "
                  "pipeline");
}

namespace {

struct ConvertGPUAsyncToRuntimePass
    : gpuasync::impl::ConvertGPUAsyncToRuntimeBase<
          ConvertGPUAsyncToRuntimePass> {
  using ConvertGPUAsyncToRuntimeBase::ConvertGPUAsyncToRuntimeBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyProgram(module)) || failed(checkTensorMaps(module)))
      return signalPassFailure();
    const auto &layouts = getAnalysis<DataLayoutAnalysis>();
    LowerToLLVMOptions options(&getContext(), layouts.getAtOrAbove(module));
    // Kernels and tables are for 64-bit hosts.
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(&getContext(), options, &layouts);
    addConversions(converter);

    // A promise has been read by now.
    module.walk([](UniformOp uniform) {
      uniform.replaceAllUsesWith(uniform.getValue());
      uniform.erase();
    });
    if (failed(lowerDeviceWork(module, converter)) ||
        failed(lowerHostCode(module, converter)))
      signalPassFailure();
  }

private:
  LogicalResult lowerDeviceWork(ModuleOp module,
                                const LLVMTypeConverter &converter) {
    SymbolTable symbols(module);
    Tables tables(module, symbols);
    populateGPUAsyncToRuntimeLowerings(tables.lowerings);
    for (Dialect *dialect : getContext().getLoadedDialects())
      if (auto *own = dyn_cast<RuntimeLoweringInterface>(dialect))
        own->populate(tables.lowerings);
    SmallVector<PublicFunction> functions;
    if (packedWrappers)
      functions = collectPublicFunctions(module);
    llvm::DenseSet<StringAttr> statusFunctions;
    if (failed(lowerFunctions(module, tables, symbols, converter, onError,
                              statusFunctions)) ||
        failed(tables.finish(aotDestructor)))
      return failure();
    if (!packedWrappers)
      return success();
    return emitPackedWrappers(module, functions, converter, statusFunctions);
  }

  LogicalResult lowerHostCode(ModuleOp module, LLVMTypeConverter &converter) {
    LLVMConversionTarget target(getContext());
    target.addLegalOp<ModuleOp>();
    // The tables are done, and they are most of what is there.
    target.markOpRecursivelyLegal<LLVM::GlobalOp>();
    target.addIllegalDialect<GPUAsyncDialect, gpu::GPUDialect>();
    RewritePatternSet patterns(&getContext());
    for (Dialect *dialect : getContext().getLoadedDialects()) {
      // Those of gpu are for kernels, or call another runtime.
      if (isa<gpu::GPUDialect>(dialect))
        continue;
      if (auto *lowering = dyn_cast<ConvertToLLVMPatternInterface>(dialect))
        lowering->populateConvertToLLVMConversionPatterns(target, converter,
                                                          patterns);
    }
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      return failure();
    weakenAddresses(module);
    dropArgumentAttributes(module);
    accessIntegersAsBytes(module);

    SmallVector<UnrealizedConversionCastOp> casts, remaining;
    module.walk(
        [&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
    reconcileUnrealizedCasts(casts, &remaining);
    foldDescriptorCasts(remaining);
    for (bool changed = true; changed;) {
      changed = false;
      module.walk([&](UnrealizedConversionCastOp cast) {
        if (!cast->use_empty())
          return;
        cast.erase();
        changed = true;
      });
    }

    // Report each op that is left, but nothing inside it; and casts only where
    // nothing else explains them.
    SmallVector<Operation *> left, leftCasts;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<ModuleOp>(op) ||
          isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()) ||
          op->getName().getDialectNamespace() == "nvvm")
        return WalkResult::advance();
      (isa<UnrealizedConversionCastOp>(op) ? leftCasts : left).push_back(op);
      return WalkResult::skip();
    });
    for (Operation *op : left.empty() ? leftCasts : left)
      emitLeftOver(op);
    return success(left.empty() && leftCasts.empty());
  }
};

} // namespace
