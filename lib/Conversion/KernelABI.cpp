//===- KernelABI.cpp - how kernels are called ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See KernelABI.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/KernelABI.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;

static constexpr int64_t tensorMapBytes = 128;

LLVM::LLVMArrayType gpuasync::getTensorMapType(MLIRContext *context) {
  return LLVM::LLVMArrayType::get(IntegerType::get(context, 64),
                                  tensorMapBytes / 8);
}

/// The size of a parameter of LLVM type `type`, 0 if there is no such
/// parameter. The layout is the one that the host and all devices agree on, so
/// it does not depend on a module's data layout.
static int64_t getParamSize(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return 8;
  int64_t size = 0;
  if (type.isIntOrFloat() ||
      isa<VectorType, LLVM::LLVMStructType, LLVM::LLVMArrayType>(type))
    size = DataLayout().getTypeSize(type).getFixedValue();
  return size <= 16 && llvm::isPowerOf2_64(size) ? size : 0;
}

FailureOr<SmallVector<Type>>
gpuasync::getKernelParamTypes(TypeRange types, MLIRContext *context,
                              function_ref<InFlightDiagnostic()> emitError) {
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  LLVMTypeConverter converter(context, options);
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type index = IntegerType::get(context, 64);

  SmallVector<Type> params;
  for (auto [i, type] : llvm::enumerate(types)) {
    if (auto memref = dyn_cast<MemRefType>(type)) {
      params.append(2, pointer);
      params.append(1 + 2 * memref.getRank(), index);
      continue;
    }
    if (isa<UnrankedMemRefType>(type)) {
      params.push_back(index);
      params.push_back(pointer);
      continue;
    }
    if (isa<nvgpu::TensorMapDescriptorType>(type)) {
      params.push_back(getTensorMapType(context));
      continue;
    }
    Type converted = isa<LLVM::LLVMPointerType>(type)
                         ? pointer
                         : converter.convertType(type);
    if (!converted || !getParamSize(converted))
      return emitError() << "kernel argument " << i << " of type " << type
                         << " cannot be passed: a parameter is an integer, "
                            "float, pointer, vector or complex number of 1, 2, "
                            "4, 8 or 16 bytes, a memref, or a tensor map "
                            "descriptor";
    params.push_back(converted);
  }
  return params;
}

FailureOr<SmallVector<int64_t>>
gpuasync::getKernelParamSizes(TypeRange types, MLIRContext *context,
                              function_ref<InFlightDiagnostic()> emitError) {
  FailureOr<SmallVector<Type>> params =
      getKernelParamTypes(types, context, emitError);
  if (failed(params))
    return failure();
  // No other parameter is that large.
  return llvm::map_to_vector(*params, [&](Type type) {
    return type == getTensorMapType(context) ? tensorMapBytes
                                             : getParamSize(type);
  });
}

SmallVector<int64_t> gpuasync::getKernelParamOffsets(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> offsets;
  int64_t end = 0;
  for (int64_t size : sizes) {
    end = llvm::alignTo(end,
                        size == tensorMapBytes
                            ? tensorMapAlignment
                            : std::min<int64_t>(llvm::PowerOf2Ceil(size), 16));
    offsets.push_back(end);
    end += size;
  }
  return offsets;
}

uint32_t gpuasync::getKernelFlags(CpuKernelAttr function) {
  return (function.getMayBlock() ? GPUASYNC_KERNEL_MAY_BLOCK : 0) |
         (function.getTakesRuns() ? GPUASYNC_KERNEL_TAKES_RUNS : 0);
}
