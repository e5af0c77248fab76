//===- Ops.cpp - lowering steps that all targets share ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and vectors of kernels, before they become LLVM dialect, and checks.
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
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
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
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  registerConvertToLLVMDependentDialectLoading(registry);
}

LogicalResult gpuasync::checkAllLowered(Operation *root, StringRef dialect,
                                        StringRef target) {
  auto isLowered = [&](Operation *op) {
    return isa<ModuleOp, gpu::GPUModuleOp>(op) ||
           isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()) ||
           op->getName().getDialectNamespace() == dialect;
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
  return failure(
      root->walk([](Operation *op) -> WalkResult {
            if (isa<vector::PrintOp>(op))
              return op->emitOpError("is not for kernels: use gpu.printf");
            if (isa<nvgpu::TmaCreateDescriptorOp>(op))
              return op->emitOpError("is not for kernels: make the descriptor "
                                     "on the host and pass it");
            return WalkResult::advance();
          })
          .wasInterrupted());
}

LogicalResult gpuasync::checkNoTensorMaps(gpu::GPUModuleOp module,
                                          StringRef device) {
  for (FunctionOpInterface kernel : getKernels(module))
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
      if (isa<nvgpu::TensorMapDescriptorType>(type))
        return emitError(kernel.getLoc())
               << "kernel argument " << i
               << " is a tensor map descriptor, which only NVIDIA devices "
                  "have, not "
               << device;
  return success();
}

bool gpuasync::isKernel(FunctionOpInterface op) {
  if (auto function = dyn_cast<gpu::GPUFuncOp>(op.getOperation()))
    return function.isKernel();
  return isa<LLVM::LLVMFuncOp>(op.getOperation()) && !op.isExternal() &&
         (op->hasAttr(gpu::GPUDialect::getKernelFuncAttrName()) ||
          op->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
          op->hasAttr(ROCDL::ROCDLDialect::getKernelFuncAttrName()));
}

SmallVector<FunctionOpInterface> gpuasync::getKernels(gpu::GPUModuleOp module) {
  SmallVector<FunctionOpInterface> kernels;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (isKernel(function))
      kernels.push_back(function);
  return kernels;
}

bool gpuasync::isWorkgroupSpace(Attribute space) {
  if (auto gpuSpace = dyn_cast_or_null<gpu::AddressSpaceAttr>(space))
    return gpuSpace.getValue() == gpu::AddressSpace::Workgroup;
  if (auto number = dyn_cast_or_null<IntegerAttr>(space))
    return number.getInt() == 3;
  return false;
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
  vector::populateVectorToVectorCanonicalizationPatterns(patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorContractLoweringPatterns(
      patterns, vector::VectorContractLowering::Dot);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  vector::populateVectorInterleaveLoweringPatterns(patterns);
  vector::populateVectorTransposeLoweringPatterns(
      patterns, vector::VectorTransposeLowering::EltWise);
  vector::populateVectorTransferLoweringPatterns(patterns,
                                                 /*maxTransferRank=*/1);
  vector::populateVectorMaskMaterializationPatterns(
      patterns, /*force32BitVectorIndices=*/true);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  vector::populateVectorStepLoweringPatterns(patterns);
  vector::populateVectorRankReducingFMAPattern(patterns);
  (void)applyPatternsGreedily(root, std::move(patterns));
}
