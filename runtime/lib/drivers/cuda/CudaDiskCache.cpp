//===- CudaDiskCache.cpp - Machine code of PTX, kept on disk --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuModuleLoadDataEx keeps what it makes of PTX to itself; cuLink* hands it
// out.
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaApi.h"

#include "gpuasync/DiskCache.h"

using namespace gpuasync;
using namespace gpuasync::cuda;

namespace {

bool succeeds(CudaCall call) { return call.code == Success; }

/// Which chip, which build of the driver, which PTX.
bool makeKey(const gpuasync_image &image, gpuasync_digest &key) {
  CUdevice device = 0;
  int major = 0, minor = 0;
  if (!succeeds(GPUASYNC_CUDA_CALL(cuCtxGetDevice, &device)) ||
      !succeeds(GPUASYNC_CUDA_CALL(cuDeviceGetAttribute, &major,
                                   ComputeCapabilityMajor, device)) ||
      !succeeds(GPUASYNC_CUDA_CALL(cuDeviceGetAttribute, &minor,
                                   ComputeCapabilityMinor, device)))
    return false;
  int version = 0;
  if (!succeeds(GPUASYNC_CUDA_CALL(cuDriverGetVersion, &version)))
    return false;
  key = KeyBuilder()
            .add("job", "machine code of PTX, 1")
            .add("driver", uint64_t(version))
            // The file that the driver is.
            .addCode(reinterpret_cast<const void *>(table.cuLinkComplete))
            .add("major", uint64_t(major))
            .add("minor", uint64_t(minor))
            .add("PTX", {static_cast<const char *>(image.data), image.size})
            .key();
  return true;
}

bool loadCode(const void *code, CUmodule &module) {
  return succeeds(GPUASYNC_CUDA_CALL(cuModuleLoadDataEx, &module, code, 0,
                                     nullptr, nullptr));
}

} // namespace

bool CudaApi::loadFromDisk(const gpuasync_image &image, CUmodule &module) {
  gpuasync_disk_cache *cache = gpuasync_disk_cache_default();
  if (!*gpuasync_disk_cache_folder(cache) || !table.cuLinkCreate ||
      !table.cuLinkAddData || !table.cuLinkComplete || !table.cuLinkDestroy)
    return false;
  gpuasync_digest key;
  if (!makeKey(image, key))
    return false;
  DiskEntry entry;
  if (entry.lookup(cache, key) && loadCode(entry.bytes().data(), module))
    return true;

  // Whatever goes wrong here goes wrong again, with the driver's words, when it
  // loads the PTX.
  CUlinkState state = nullptr;
  if (!succeeds(GPUASYNC_CUDA_CALL(cuLinkCreate, 0, nullptr, nullptr, &state)))
    return false;
  void *code = nullptr;
  size_t bytes = 0;
  // The size counts the NUL at the end.
  bool loaded =
      succeeds(GPUASYNC_CUDA_CALL(
          cuLinkAddData, state, JitInputPtx, const_cast<void *>(image.data),
          image.size + 1, "kernels", 0, nullptr, nullptr)) &&
      succeeds(GPUASYNC_CUDA_CALL(cuLinkComplete, state, &code, &bytes)) &&
      loadCode(code, module);
  // Only what the driver takes back is worth keeping.
  if (loaded)
    gpuasync_disk_cache_store(cache, &key, code, bytes);
  // It owns the code.
  (void)GPUASYNC_CUDA_CALL(cuLinkDestroy, state);
  return loaded;
}
