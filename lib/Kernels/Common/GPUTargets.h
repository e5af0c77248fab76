//===- GPUTargets.h - targets that are GPUs -----------------------*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of targets without their code generators: ready-made binaries
// have images for targets that nothing is compiled for.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_GPUTARGETS_H
#define GPUASYNC_LIB_KERNELS_COMMON_GPUTARGETS_H

#include "KernelLowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace mlir::gpuasync {

/// NVIDIA's devices.
class NVPTXTargetKind : public KernelTarget {
public:
  NVPTXTargetKind() : KernelTarget(cudaDevice) {}
  bool has(Attribute target) const override {
    return isa<NVVM::NVVMTargetAttr>(target);
  }
  std::string getArch(Attribute target) const override {
    return cast<NVVM::NVVMTargetAttr>(target).getChip().str();
  }
  std::optional<ImageFormat> getFormat(gpu::ObjectAttr object) const override;
};

/// AMD's devices.
class AMDGCNTargetKind : public KernelTarget {
public:
  AMDGCNTargetKind() : KernelTarget(hipDevice) {}
  bool has(Attribute target) const override {
    return isa<ROCDL::ROCDLTargetAttr>(target);
  }
  /// The target id, "gfx90a:xnack-".
  std::string getArch(Attribute target) const override;
  std::optional<ImageFormat> getFormat(gpu::ObjectAttr object) const override;

  /// The setting of a feature: '+', '-', or 0 if it is not named.
  static char getFeature(ROCDL::ROCDLTargetAttr target, StringRef name);
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_GPUTARGETS_H
