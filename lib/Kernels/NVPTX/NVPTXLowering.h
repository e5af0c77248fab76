//===- NVPTXLowering.h - steps for NVIDIA devices -----------------*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lowering of kernels does for NVIDIA devices alone.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_NVPTX_NVPTXLOWERING_H
#define GPUASYNC_LIB_KERNELS_NVPTX_NVPTXLOWERING_H

#include "Kernels/GPU/GPULowering.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::gpuasync {

/// Aligns workgroup memory as the instructions want it that copy whole
/// boxes of tensors, matrices or bulks. Before anything is lowered, while
/// descriptors say how they swizzle. Returns what dynamic workgroup memory has
/// to be aligned to, in bytes.
int64_t alignWorkgroupMemory(gpu::GPUModuleOp module);

/// Which parameters of which kernels are tensor map descriptors.
using TensorMapParams = llvm::MapVector<StringAttr, SmallVector<unsigned>>;
/// Tensor map descriptors become pointers to them.
TensorMapParams passTensorMapsByAddress(gpu::GPUModuleOp module);
/// After the lowering to NVVM: those parameters are passed by value.
void markTensorMapParams(gpu::GPUModuleOp module,
                         const TensorMapParams &params);

/// Behind all others, each of the kernels takes two parameters of 8 bytes then.
constexpr unsigned signalParamCount = 2;
/// After the lowering to NVVM: kernels tell the host of their end where a
/// launch asks for it: GPUASYNC_KERNELS_SIGNAL_SYMBOL.
void addSignals(gpu::GPUModuleOp module);
/// After the lowering to NVVM: whether all threads of a block come to all of
/// its barriers, and return from the kernel. Where it cannot be told, no.
bool allThreadsMeet(gpu::GPUModuleOp module);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_NVPTX_NVPTXLOWERING_H
