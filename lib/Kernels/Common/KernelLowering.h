//===- KernelLowering.h - lowering of kernels for one target ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What gpu-async-lower-kernels and the lowerings for the targets share: the
// interface of a target, and steps that all of them take.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_KERNELLOWERING_H
#define GPUASYNC_LIB_KERNELS_COMMON_KERNELLOWERING_H

#include "GPUAsync/DeviceKinds.h"
#include "GPUAsync/IR/GPUAsyncDialect.h"
#include "mlir/Dialect/GPU/IR/CompilationInterfaces.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
  int64_t toolTimeout = 600; ///< seconds for ptxas or a linker, 0: no limit
};

/// Runs a pipeline on an op below the one that the pass runs on.
using RunPipelineFn = function_ref<LogicalResult(OpPassManager &, Operation *)>;
using EmitErrorFn = function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

/// A kind of device that kernels are compiled for. The attributes of a
/// gpu.module that name its targets are each of one kind. Objects have no
/// state.
class KernelTarget {
public:
  explicit KernelTarget(const DeviceKind &names) : names(names) {}
  virtual ~KernelTarget() = default;

  const DeviceKind &names;

  /// Whether functions may have any name in its images.
  virtual bool takesAnyName() const { return false; }

  /// Whether `target` is an attribute of this kind.
  virtual bool has(Attribute target) const = 0;
  /// What an attribute's images are for: the chip, with features as far as they
  /// choose the device. Two attributes with equal ones make the same images.
  virtual std::string getArch(Attribute target) const { return ""; }
  /// The attribute for what follows the colon in targets=.
  virtual FailureOr<Attribute> parse(StringRef chip,
                                     const KernelLoweringOptions &options,
                                     MLIRContext *context,
                                     EmitErrorFn emitError) const = 0;

  /// Compiles a copy of `kernels`.
  virtual FailureOr<SmallVector<ImageAttr>>
  lower(gpu::GPUModuleOp kernels, Attribute target,
        const KernelLoweringOptions &options,
        RunPipelineFn runPipeline) const = 0;
  /// What the bytes of a ready-made object of this kind are, if they can be
  /// loaded.
  virtual std::optional<ImageFormat> getFormat(gpu::ObjectAttr object) const {
    return std::nullopt;
  }

  /// The dialects that lower() makes, and what it needs to translate them.
  virtual void registerDialects(DialectRegistry &registry) const = 0;
  /// The files that lower() runs or reads with the options' defaults.
  virtual SmallVector<std::string> findToolchain() const { return {}; }
};

/// All kinds there are.
ArrayRef<const KernelTarget *> getKernelTargets();
/// The one that `target` is an attribute of, null if there is none.
const KernelTarget *findKernelTarget(Attribute target);

const KernelTarget &getCPUKernelTarget();
const KernelTarget &getNVPTXKernelTarget();
const KernelTarget &getAMDGCNKernelTarget();

/// Adds block functions for the kernels of `kernels` to the module around it,
/// with subgroups of `subgroupSize` threads. `kernels` itself stays as it is.
FailureOr<ImageAttr> lowerKernelsForCPU(gpu::GPUModuleOp kernels,
                                        int64_t subgroupSize,
                                        RunPipelineFn runPipeline);
void registerCPULoweringDialects(DialectRegistry &registry);

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether `op` is a kernel of a gpu.module.
bool isKernel(FunctionOpInterface op);
/// The kernels of a gpu.module in their order.
SmallVector<FunctionOpInterface> getKernels(gpu::GPUModuleOp module);

/// Gives what `kernels` defines names that the assemblers of all targets take,
/// in the module and in the program around it.
LogicalResult makeNamesPortable(gpu::GPUModuleOp kernels);

/// Whether a memref in `space` is memory of the block.
bool isWorkgroupSpace(Attribute space);

/// How a value of `type` lies in memory: a type of LLVM's, null if it cannot.
Type getTypeInMemory(Type type);
/// Bytes that a memref of `type` takes; nullopt if its sizes or its layout are
/// not known.
std::optional<int64_t> getBytesInMemory(MemRefType type);

//===----------------------------------------------------------------------===//
// Steps that all targets share
//===----------------------------------------------------------------------===//

/// Makes the dialects' own conversions to LLVM known.
void registerConvertToLLVMInterfaces(DialectRegistry &registry);

/// Refuses ops that only host code can run.
LogicalResult checkNoHostOps(Operation *root);
/// An error at a kernel that takes a tensor map; `device` says who has none.
LogicalResult checkNoTensorMaps(gpu::GPUModuleOp module, StringRef device);

/// After lowering: an error at an op that is neither of the LLVM dialect nor of
/// the target's own, `dialect`.
LogicalResult checkAllLowered(Operation *root, StringRef dialect,
                              StringRef target);

/// After lowering: says of all functions that memory may be accessed by numbers
/// that are added to null. LLVM would take such accesses for unreachable.
void makeNullValid(Operation *root);

/// Breaks vector ops up that the conversion to LLVM has no pattern for.
void lowerVectors(Operation *root);

/// Makes C's promotions of the arguments of gpu.printf, small integers by the
/// sign that the format gives them; `device` says who lacks what is larger.
LogicalResult promotePrintfArguments(Operation *root, StringRef device);

/// Rewrites memref.copy into loops; upstream calls a host library.
void expandCopies(Operation *root);

/// Replaces `op` by one with a region that makes the new value.
memref::GenericAtomicRMWOp makeGenericAtomic(memref::AtomicRMWOp op);

/// Rewrites memref.generic_atomic_rmw, and what LLVM has no atomic instruction
/// for (products, integers of other than 8, 16, 32 and 64 bits, types of which
/// `isWithoutInstructions` is true), to loops around a compare and exchange.
/// Refuses values of more than 64 bits.
LogicalResult expandAtomics(
    Operation *root, function_ref<bool(Type)> isWithoutInstructions = [](Type) {
      return false;
    });

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_KERNELLOWERING_H
