//===- GPUTargets.cpp - targets that are GPUs -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GPUTargets.h.
//===----------------------------------------------------------------------===//

#include "GPUTargets.h"

using namespace mlir;
using namespace mlir::gpuasync;

std::optional<ImageFormat>
NVPTXTargetKind::getFormat(gpu::ObjectAttr object) const {
  switch (object.getFormat()) {
  case gpu::CompilationTarget::Assembly:
    return ImageFormat::PTX;
  case gpu::CompilationTarget::Binary:
    return ImageFormat::CUBIN;
  case gpu::CompilationTarget::Fatbin:
    // Upstream calls it so also where the bytes are a cubin's, or PTX.
    return object.getObject().getValue().starts_with("\177ELF")
               ? ImageFormat::CUBIN
               : ImageFormat::FATBIN;
  default:
    return std::nullopt;
  }
}

char AMDGCNTargetKind::getFeature(ROCDL::ROCDLTargetAttr target,
                                  StringRef name) {
  SmallVector<StringRef> features;
  target.getFeatures().split(features, ',', -1, /*KeepEmpty=*/false);
  char setting = 0;
  for (StringRef feature : features)
    if (feature.drop_front() == name)
      setting = feature.front();
  return setting;
}

std::string AMDGCNTargetKind::getArch(Attribute attribute) const {
  auto target = cast<ROCDL::ROCDLTargetAttr>(attribute);
  std::string id = target.getChip().str();
  for (StringRef name : {"sramecc", "xnack"})
    if (char setting = getFeature(target, name))
      id += ":" + name.str() + setting;
  return id;
}

std::optional<ImageFormat>
AMDGCNTargetKind::getFormat(gpu::ObjectAttr object) const {
  // Fatbin is upstream's default and holds a code object here.
  if (object.getFormat() == gpu::CompilationTarget::Binary ||
      object.getFormat() == gpu::CompilationTarget::Fatbin)
    return ImageFormat::HSACO;
  return std::nullopt;
}
