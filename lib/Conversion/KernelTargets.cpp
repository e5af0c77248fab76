//===- KernelTargets.cpp - the kinds of targets -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that names them all.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/Passes.h"
#include "KernelLowering.h"

using namespace mlir;
using namespace mlir::gpuasync;

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
