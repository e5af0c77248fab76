//===- KernelABI.h - how kernels are called ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout of a kernel's packed parameter buffer, shared by the lowering of
// kernels and that of launches.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_KERNELS_COMMON_KERNELABI_H
#define GPUASYNC_KERNELS_COMMON_KERNELABI_H

#include "GPUAsync/IR/GPUAsyncDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeRange.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::gpuasync {

/// A tensor map descriptor of nvgpu is a value of 128 bytes on the host, of
/// this type, and a parameter passed by value, which a kernel knows by its
/// address.
LLVM::LLVMArrayType getTensorMapType(MLIRContext *context);
/// What a descriptor is aligned to, in memory and among the parameters.
inline constexpr int64_t tensorMapAlignment = 64;

/// The LLVM types of the parameters that kernel arguments of `types` become:
/// a ranked memref is the scalars of its descriptor (allocated pointer, aligned
/// pointer, offset, sizes, strides), an unranked one its rank and the pointer
/// to its descriptor, anything else one parameter of the converted type.
/// `index` is 64 bits, a tensor map descriptor its value. Pointers lose their
/// address space: every pointer parameter is 8 bytes. Reports an error through
/// `emitError` and fails for a type that no kernel can take.
FailureOr<SmallVector<Type>>
getKernelParamTypes(TypeRange types, MLIRContext *context,
                    function_ref<InFlightDiagnostic()> emitError);

/// The size in bytes of each parameter of getKernelParamTypes. A parameter is
/// aligned to its size, which is 1, 2, 4, 8 or 16; or it is a tensor map.
FailureOr<SmallVector<int64_t>>
getKernelParamSizes(TypeRange types, MLIRContext *context,
                    function_ref<InFlightDiagnostic()> emitError);

/// What carries a value of LLVM type `type` from a launch to a kernel: the type
/// itself where every compiler has it at a multiple of its size, and nothing
/// but its bits; else an integer of its size, or a vector of four of 32 bits.
Type getKernelParamCarrier(Type type);
/// The carrier of `value`: elements at multiples of their size from the lowest
/// bits on, those of vectors without gaps, and zeros between.
Value packKernelParam(OpBuilder &builder, Location loc, Value value);
/// The value of LLVM type `type` that `carrier` has. Other bits may be
/// anything.
Value unpackKernelParam(OpBuilder &builder, Location loc, Value carrier,
                        Type type);

/// Whether kernels of other compilers, made of the same type, also look for a
/// parameter of LLVM type `type` at a multiple of its size.
bool isCommonKernelParam(Type type);

/// Byte offset of each parameter of the given sizes in the packed buffer, which
/// is C's layout of a struct of the parameters.
SmallVector<int64_t> getKernelParamOffsets(ArrayRef<int64_t> sizes);

/// What the runtime is told about a block function: gpuasync_kernel_flags.
uint32_t getKernelFlags(CpuKernelAttr function);

} // namespace mlir::gpuasync

#endif // GPUASYNC_KERNELS_COMMON_KERNELABI_H
