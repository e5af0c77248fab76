//===- TensorMaps.cpp - tensor maps as kernels of nvptx see them ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch passes a tensor map descriptor by value; the kernel hands its
// address in parameter space to the copies, so it takes no device memory.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "NVPTXLowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace mlir::gpuasync;

TensorMapParams gpuasync::passTensorMapsByAddress(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  TensorMapParams params;
  for (FunctionOpInterface kernel : getKernels(module)) {
    unsigned number = 0;
    for (Type type : kernel.getArgumentTypes()) {
      if (isa<nvgpu::TensorMapDescriptorType>(type))
        params[SymbolTable::getSymbolName(kernel)].push_back(number);
      // The pass has checked the types.
      number += getKernelParamTypes(type, context, [&] {
                  return kernel.emitError();
                })->size();
    }
  }

  SmallVector<std::pair<OpOperand *, Type>> operands;
  SmallVector<nvgpu::TmaFenceOp> fences;
  module.walk([&](Operation *op) {
    if (!isa_and_nonnull<nvgpu::NVGPUDialect>(op->getDialect()))
      return;
    // A parameter never changes, and may not be fenced: PTX wants an address of
    // global memory there. Only a pointer that was cast can be one.
    auto fence = dyn_cast<nvgpu::TmaFenceOp>(op);
    if (fence && !fence.getTensorMapDescriptor()
                      .getDefiningOp<UnrealizedConversionCastOp>()) {
      fences.push_back(fence);
      return;
    }
    for (OpOperand &operand : op->getOpOperands())
      if (isa<nvgpu::TensorMapDescriptorType>(operand.get().getType()))
        operands.emplace_back(&operand, operand.get().getType());
  });
  for (nvgpu::TmaFenceOp fence : fences)
    fence.erase();

  // Pointers everywhere, but where ops that are yet to be lowered take them.
  Type pointer = LLVM::LLVMPointerType::get(context);
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](nvgpu::TensorMapDescriptorType) -> Type { return pointer; });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  for (auto [operand, type] : operands) {
    OpBuilder builder(operand->getOwner());
    operand->set(
        UnrealizedConversionCastOp::create(
            builder, operand->getOwner()->getLoc(), type, operand->get())
            .getResult(0));
  }
  return params;
}

void gpuasync::markTensorMapParams(gpu::GPUModuleOp module,
                                   const TensorMapParams &params) {
  OpBuilder builder(module.getContext());
  auto type = TypeAttr::get(getTensorMapType(module.getContext()));
  for (const auto &[name, numbers] : params) {
    auto kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    for (unsigned number : numbers) {
      kernel.setArgAttr(number, LLVM::LLVMDialect::getByValAttrName(), type);
      kernel.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(tensorMapAlignment));
      kernel.setArgAttr(number, NVVM::NVVMDialect::getGridConstantAttrName(),
                        builder.getUnitAttr());
    }
  }
}
