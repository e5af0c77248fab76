//===- Packed.h - Launches with a pointer to each parameter -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For devices that take parameters packed only.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_COMMAND_PACKED_H
#define GPUASYNC_SHIM_COMMAND_PACKED_H

#include "device/Device.h"

namespace gpuasync {

/// Packs the parameters as the launch's kernel says, and submits the launch.
Status launchPacked(Device &device, NativeStream stream,
                    const Command::Launch &launch, void **parameters,
                    const gpuasync_site *site);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_COMMAND_PACKED_H
