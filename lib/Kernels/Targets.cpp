//===- Targets.cpp - the kinds of targets -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that names them all. CMake's GPUASYNC_TARGET_NVPTX and
// GPUASYNC_TARGET_AMDGCN say whether their libraries are there.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Kernels/Passes.h"
#include "Kernels/Common/GPUTargets.h"

using namespace mlir;
using namespace mlir::gpuasync;

#if !GPUASYNC_TARGET_NVPTX || !GPUASYNC_TARGET_AMDGCN
namespace {
/// Stands for a target whose library was left out: ready-made binaries still
/// hold its images.
template <typename Target>
class MissingTarget final : public Target {
public:
  explicit MissingTarget(StringLiteral option) : option(option) {}
  FailureOr<Attribute> parse(StringRef, const KernelLoweringOptions &,
                             MLIRContext *,
                             EmitErrorFn emitError) const override {
    return refuse(emitError());
  }
  FailureOr<SmallVector<ImageAttr>> lower(gpu::GPUModuleOp kernels, Attribute,
                                          const KernelLoweringOptions &,
                                          RunPipelineFn) const override {
    return refuse(emitError(kernels.getLoc())
                  << "gpu.module @" << kernels.getName() << ": ");
  }
  void registerDialects(DialectRegistry &) const override {}

private:
  LogicalResult refuse(InFlightDiagnostic diagnostic) const {
    return diagnostic << "this build of gpu-async compiles nothing for "
                      << this->names.target << ": " << option
                      << " was OFF when it was configured";
  }

  StringLiteral option;
};
} // namespace
#endif

#if !GPUASYNC_TARGET_NVPTX
const KernelTarget &gpuasync::getNVPTXKernelTarget() {
  static const MissingTarget<NVPTXTargetKind> target("GPUASYNC_TARGET_NVPTX");
  return target;
}
#endif
#if !GPUASYNC_TARGET_AMDGCN
const KernelTarget &gpuasync::getAMDGCNKernelTarget() {
  static const MissingTarget<AMDGCNTargetKind> target("GPUASYNC_TARGET_AMDGCN");
  return target;
}
#endif

ArrayRef<const KernelTarget *> gpuasync::getKernelTargets() {
  static const KernelTarget *const targets[] = {
      &getCPUKernelTarget(), &getNVPTXKernelTarget(), &getAMDGCNKernelTarget()};
  return targets;
}

const KernelTarget *gpuasync::findKernelTarget(Attribute target) {
  for (const KernelTarget *kind : getKernelTargets())
    if (kind->has(target))
      return kind;
  return nullptr;
}

SmallVector<std::string> gpuasync::findKernelToolchains() {
  SmallVector<std::string> files;
  for (const KernelTarget *kind : getKernelTargets())
    llvm::append_range(files, kind->findToolchain());
  return files;
}
