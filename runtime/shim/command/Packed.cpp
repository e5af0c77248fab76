//===- Packed.cpp - Launches with a pointer to each parameter -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Packed.h.
//===----------------------------------------------------------------------===//

#include "shim/command/Packed.h"

#include <string.h>

using namespace gpuasync;

Status gpuasync::launchPacked(Device &device, NativeStream stream,
                              const Command::Launch &launch, void **parameters,
                              const gpuasync_site *site) {
  const gpuasync_kernel &kernel = *launch.kernel;
  if (kernel.paramCount == UINT32_MAX)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "kernel '%s': the sizes of its parameters are not known",
                      kernel.name);
  constexpr size_t smallBytes = 1024;
  alignas(16) unsigned char small[smallBytes];
  std::unique_ptr<unsigned char[]> large;
  unsigned char *packed = small;
  if (kernel.paramBytes > smallBytes) {
    large.reset(new unsigned char[kernel.paramBytes]);
    packed = large.get(); // aligned to 16, as all memory of operator new
  }
  for (uint32_t i = 0; i < kernel.paramCount; ++i)
    memcpy(packed + kernel.paramOffsets[i], parameters[i],
           kernel.paramSizes[i]);
  gpuasync_launch_config whole = *launch.block;
  whole.params = packed;
  whole.paramBytes = kernel.paramBytes;
  return device.submit(stream, Command(launch.function, kernel, whole, site));
}
