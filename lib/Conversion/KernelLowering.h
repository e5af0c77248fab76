//===- KernelLowering.h - lowering of kernels for one target ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What gpu-async-lower-kernels and the lowerings for the targets share.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_CONVERSION_KERNELLOWERING_H
#define GPUASYNC_LIB_CONVERSION_KERNELLOWERING_H

#include "GPUAsync/IR/GPUAsyncDialect.h"
#include "mlir/Dialect/GPU/IR/CompilationInterfaces.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::gpuasync {

struct KernelLoweringOptions {
  int optLevel = 3;
  int64_t subgroupSize = 32;      ///< of the cpu device
  std::string ptxas = "auto";     ///< auto, none or a path
  std::string libdevice = "auto"; ///< auto, none or a path
  std::string rocm = "auto";      ///< auto, none or a path
};

/// Runs a pipeline on an op below the one that the pass runs on.
using RunPipelineFn = function_ref<LogicalResult(OpPassManager &, Operation *)>;

/// Whether `op` is a kernel of a gpu.module.
bool isKernel(FunctionOpInterface op);
/// The kernels of a gpu.module in their order.
SmallVector<FunctionOpInterface> getKernels(gpu::GPUModuleOp module);

/// Whether a memref in `space` is memory of the block.
bool isWorkgroupSpace(Attribute space);

/// Adds block functions for the kernels of `kernels` to the module around it,
/// with subgroups of `subgroupSize` threads. `kernels` itself stays as it is.
FailureOr<ImageAttr> lowerKernelsForCPU(gpu::GPUModuleOp kernels,
                                        int64_t subgroupSize,
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

/// Compiles a copy of `kernels` to a code object.
FailureOr<ImageAttr> lowerKernelsForAMDGCN(gpu::GPUModuleOp kernels,
                                           ROCDL::ROCDLTargetAttr target,
                                           const KernelLoweringOptions &options,
                                           RunPipelineFn runPipeline);
void registerAMDGCNLoweringDialects(DialectRegistry &registry);

/// The target attribute for a target id ("gfx90a:sramecc+:xnack-").
FailureOr<ROCDL::ROCDLTargetAttr>
parseAMDGCNTarget(StringRef targetId, int optLevel, MLIRContext *context,
                  function_ref<InFlightDiagnostic()> emitError);
/// The target id that an attribute is for.
std::string getAMDGCNTargetId(ROCDL::ROCDLTargetAttr target);

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

/// After lowering: an error at an op that is neither of the LLVM dialect nor of
/// the target's own, `dialect`.
LogicalResult checkAllLowered(Operation *root, StringRef dialect,
                              StringRef target);

/// nvptx: aligns workgroup memory as the instructions want it that copy whole
/// boxes of tensors, matrices or bulks. Before anything is lowered, while
/// descriptors say how they swizzle. Returns what dynamic workgroup memory has
/// to be aligned to, in bytes.
int64_t alignWorkgroupMemory(gpu::GPUModuleOp module);

/// GPUs: upstream makes dynamic shared memory an empty variable of the module's
/// own, which lies anywhere among the static ones and is aligned to nothing; as
/// an external one it begins after them, at a multiple of `alignment` bytes.
void declareDynamicMemory(gpu::GPUModuleOp module, int64_t alignment = 16);

/// Moves stack slots of static size to the entry block of their function where
/// that changes nothing but the growth of the stack.
void hoistAllocas(Operation *root);

/// Breaks vector ops up that the conversion to LLVM has no pattern for.
void lowerVectors(Operation *root);

/// GPUs: rewrites global ids, reductions of blocks, and what upstream's
/// lowering leaves out of the subgroup ops, for subgroups of `size` threads;
/// refuses what cannot be rewritten. Reductions of blocks become branches, so
/// structured control flow must be gone. `target` is for errors; `hasRedux`
/// says that reductions of 32 bits are instructions, nvvm.redux.sync.
LogicalResult expandSubgroupOps(gpu::GPUModuleOp module, int64_t size,
                                StringRef target, bool hasRedux);

/// Rewrites memref.copy into loops; upstream calls a host library.
void expandCopies(Operation *root);

/// Rewrites memref.generic_atomic_rmw on floats into loops around an integer
/// compare and exchange.
void expandFloatAtomics(Operation *root);

/// GPUs: math.ipowi, and with `floatBase` math.fpowi, as loops.
void expandIntegerPowers(Operation *root, bool floatBase);
/// Rewrites math.isfinite, isinf, isnan and isnormal to integer arithmetic,
/// whatever the type of float: upstream's lowering has two of the four, of the
/// types that LLVM has.
void expandFloatClassification(Operation *root);
/// GPUs: what upstream's lowering has no pattern for: math on integers,
/// truncation.
LogicalResult lowerIntrinsicMath(Operation *root);
/// cpu: calls libm where LLVM has no intrinsic of the same accuracy.
LogicalResult lowerMathToLibm(Operation *root);
/// A GPU without its vendor's math library: MLIR's expansions in single
/// precision, or an error at the op. `missing` says what was not found.
LogicalResult expandMath(Operation *root, StringRef missing);

//===----------------------------------------------------------------------===//
// Through LLVM
//===----------------------------------------------------------------------===//

/// Checks a chip against LLVM's table of subtargets for `triple`, whose code
/// generator has been initialised.
LogicalResult checkChip(StringRef chip, StringRef targetName, StringRef triple,
                        function_ref<InFlightDiagnostic()> emitError);

/// A parameter of struct type (a complex number) becomes an integer of its
/// size, so that its alignment is that of the kernel's table.
void passStructsAsIntegers(gpu::GPUModuleOp module);

/// Which parameters of which kernels are tensor map descriptors.
using TensorMapParams = llvm::MapVector<StringAttr, SmallVector<unsigned>>;
/// Other targets: an error at a kernel that takes one; `device` says whose.
LogicalResult checkNoTensorMaps(gpu::GPUModuleOp module, StringRef device);
/// nvptx: tensor map descriptors become pointers to them.
TensorMapParams passTensorMapsByAddress(gpu::GPUModuleOp module);
/// After the lowering to NVVM: those parameters are passed by value.
void markTensorMapParams(gpu::GPUModuleOp module,
                         const TensorMapParams &params);

/// Upstream's conversions ask for C interface functions. Nothing calls those of
/// our functions, and a declared function becomes one that calls its interface
/// function: it is made a declaration again.
void dropInterfaceFunctions(gpu::GPUModuleOp module);

/// Replaces a call of a math library's function, which C calls `name`, by what
/// LLVM has for it, if it has.
void callIntrinsic(LLVM::CallOp call, StringRef name);

/// What a target attribute's serializer is given, and makes of it.
using SerializeFn = function_ref<std::optional<SmallVector<char, 0>>(
    const gpu::TargetOptions &)>;

/// Has `serialize` translate, optimise and compile a module. What LLVM reports,
/// fatal errors included, goes to `error`, as do functions that are used and
/// that neither the module nor, by `isDefinedByDriver`, the device's driver
/// defines.
FailureOr<std::string>
serializeToAssembly(MLIRContext *context, StringRef toolkit,
                    function_ref<bool(StringRef)> isDefinedByDriver,
                    SerializeFn serialize,
                    function_ref<InFlightDiagnostic()> error);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_CONVERSION_KERNELLOWERING_H
