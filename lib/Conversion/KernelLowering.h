//===- KernelLowering.h - lowering of kernels for one target ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What gpu-async-lower-kernels and the lowerings for the targets share.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_CONVERSION_KERNELLOWERING_H
#define GPUASYNC_LIB_CONVERSION_KERNELLOWERING_H

#include "GPUAsync/IR/GPUAsyncDialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::gpuasync {

struct KernelLoweringOptions {
  int optLevel = 3;
  std::string ptxas = "auto";     ///< auto, none or a path
  std::string libdevice = "auto"; ///< auto, none or a path
};

/// Runs a pipeline on an op below the one that the pass runs on.
using RunPipelineFn = function_ref<LogicalResult(OpPassManager &, Operation *)>;

/// Whether `op` is a kernel of a gpu.module.
bool isKernel(FunctionOpInterface op);
/// The kernels of a gpu.module in their order.
SmallVector<FunctionOpInterface> getKernels(gpu::GPUModuleOp module);

/// Adds block functions for the kernels of `kernels` to the module around it.
/// `kernels` itself stays as it is.
FailureOr<ImageAttr> lowerKernelsForCPU(gpu::GPUModuleOp kernels,
                                        RunPipelineFn runPipeline);
void registerCPULoweringDialects(DialectRegistry &registry);
/// Makes #gpu_async.cpu a target attribute of gpu.module.
void registerCPUTargetInterface(DialectRegistry &registry);

/// Compiles a copy of `kernels` to PTX and, when ptxas is found, to a cubin.
FailureOr<SmallVector<ImageAttr>>
lowerKernelsForNVPTX(gpu::GPUModuleOp kernels, NVVM::NVVMTargetAttr target,
                     const KernelLoweringOptions &options,
                     RunPipelineFn runPipeline);
void registerNVPTXLoweringDialects(DialectRegistry &registry);

/// Checks a chip against LLVM's table of subtargets.
LogicalResult checkNVPTXChip(StringRef chip,
                             function_ref<InFlightDiagnostic()> emitError);

//===----------------------------------------------------------------------===//
// Steps that all targets share
//===----------------------------------------------------------------------===//

/// Makes the dialects' own conversions to LLVM known.
void registerConvertToLLVMInterfaces(DialectRegistry &registry);

/// Refuses ops that only host code can run.
LogicalResult checkNoHostOps(Operation *root);

/// After lowering: an error at an op that is not of the LLVM or NVVM dialect.
LogicalResult checkAllLowered(Operation *root, StringRef target);

/// Moves stack slots of static size to the entry block of their function where
/// that changes nothing but the growth of the stack.
void hoistAllocas(Operation *root);

/// Breaks vector ops up that the conversion to LLVM has no pattern for.
void lowerVectors(Operation *root);

/// Rewrites memref.copy into loops; upstream calls a host library.
void expandCopies(Operation *root);

/// Rewrites memref.generic_atomic_rmw on floats into loops around an integer
/// compare and exchange.
void expandFloatAtomics(Operation *root);

/// nvptx: math.ipowi, and with `floatBase` math.fpowi, as loops.
void expandIntegerPowers(Operation *root, bool floatBase);
/// nvptx: what upstream's lowering has no pattern for: math on integers,
/// classification, truncation.
LogicalResult lowerIntrinsicMath(Operation *root);
/// cpu: calls libm where LLVM has no intrinsic of the same accuracy.
LogicalResult lowerMathToLibm(Operation *root);
/// nvptx without libdevice: MLIR's expansions in single precision, or an error
/// at the op.
LogicalResult expandMath(Operation *root);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_CONVERSION_KERNELLOWERING_H
