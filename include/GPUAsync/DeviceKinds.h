//===- DeviceKinds.h - names of devices, targets and images -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one table of the kinds of devices in the compiler, the tools and Python.
// LLVM has the table of their chips. Needs no LLVM, for the Python binding.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICEKINDS_H
#define GPUASYNC_DEVICEKINDS_H

#include "gpuasync/RuntimeABI.h"

#include <string_view>

namespace mlir::gpuasync {

/// A kind of device.
struct DeviceKind {
  /// Its name in the runtime and in --device, before the colon.
  const char *device;
  /// Its name in --targets, before the colon.
  const char *target;
  /// The attribute of a gpu.module that names it as a target.
  const char *attribute;
  /// A chip, for messages. Empty if --targets names no chip.
  const char *exampleChip;
  /// The formats of its images, as gpuasync_image_format. Unused ones are 0.
  uint32_t formats[3];

  constexpr bool hasChips() const { return *exampleChip; }
  constexpr bool hasFormat(uint32_t format) const {
    for (uint32_t own : formats)
      if (own == format)
        return true;
    return false;
  }
  /// How the names of its chips begin: "sm_".
  constexpr std::string_view chipPrefix() const {
    std::string_view chip = exampleChip;
    return chip.substr(0, chip.find_first_of("0123456789"));
  }
};

inline constexpr DeviceKind deviceKinds[] = {
    {"cpu", "cpu", "#gpu_async.cpu", "", {GPUASYNC_IMAGE_CPU}},
    {"cuda",
     "nvptx",
     "#nvvm.target",
     "sm_90",
     {GPUASYNC_IMAGE_PTX, GPUASYNC_IMAGE_CUBIN, GPUASYNC_IMAGE_FATBIN}},
    {"hip", "amdgcn", "#rocdl.target", "gfx90a", {GPUASYNC_IMAGE_HSACO}},
};
inline constexpr const DeviceKind &cpuDevice = deviceKinds[0];
inline constexpr const DeviceKind &cudaDevice = deviceKinds[1];
inline constexpr const DeviceKind &hipDevice = deviceKinds[2];

/// Returns the kind of a device such as "cuda:1", or null if there is none.
constexpr const DeviceKind *findDeviceKind(std::string_view device) {
  for (const DeviceKind &kind : deviceKinds)
    if (kind.device == device.substr(0, device.find(':')))
      return &kind;
  return nullptr;
}

/// Returns the kind whose images have `format`, or null if none has.
constexpr const DeviceKind *findDeviceKindOfFormat(uint32_t format) {
  for (const DeviceKind &kind : deviceKinds)
    if (kind.hasFormat(format))
      return &kind;
  return nullptr;
}

/// Returns the number in the name of an NVIDIA chip, 90 for "sm_90a". Returns 0
/// for other names.
constexpr unsigned getNvidiaChipNumber(std::string_view chip) {
  std::string_view prefix = cudaDevice.chipPrefix();
  if (chip.substr(0, prefix.size()) != prefix)
    return 0;
  unsigned number = 0;
  for (char digit : chip.substr(prefix.size())) {
    if (digit < '0' || digit > '9' || number > 100000)
      break;
    number = number * 10 + unsigned(digit - '0');
  }
  return number;
}

} // namespace mlir::gpuasync

#endif // GPUASYNC_DEVICEKINDS_H
