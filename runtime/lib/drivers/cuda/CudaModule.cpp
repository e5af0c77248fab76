//===- CudaModule.cpp - Loading images with CUDA --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's compiler and its words, and machine code of PTX that is kept on
// disk: cuModuleLoadDataEx keeps what it makes of PTX to itself, cuLink* hands
// it out.
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaDriver.h"

#include "drivers/cuda/CudaTypes.h"
#include "gpuasync/DiskCache.h"

#include <string.h>

using namespace gpuasync;
using namespace gpuasync::cuda;

/// Which chip, which build of the driver, which PTX.
static bool makeKey(const VendorTable &table, const gpuasync_image &image,
                    gpuasync_digest &key) {
  int device = 0, major = 0, minor = 0, version = 0;
  if (!VENDOR_CALL(contextDevice, &device).ok() ||
      !VENDOR_CALL(deviceAttribute, &major, ComputeCapabilityMajor, device)
           .ok() ||
      !VENDOR_CALL(deviceAttribute, &minor, ComputeCapabilityMinor, device)
           .ok() ||
      !VENDOR_CALL(driverVersion, &version).ok())
    return false;
  key = KeyBuilder()
            .add("job", "machine code of PTX, 1")
            .add("driver", uint64_t(version))
            // The file that the driver is.
            .addCode(reinterpret_cast<const void *>(table.linkComplete))
            .add("major", uint64_t(major))
            .add("minor", uint64_t(minor))
            .add("PTX", {static_cast<const char *>(image.data), image.size})
            .key();
  return true;
}

static bool loadCode(const VendorTable &table, const void *code,
                     ModuleHandle &module) {
  return VENDOR_CALL(moduleLoad, &module, code, 0, nullptr, nullptr).ok();
}

/// Loads what the driver made of this PTX for this chip in an earlier process,
/// or makes it and keeps it on disk. False if it cannot: the disk cache is off,
/// or the driver refuses, and is then asked to load the PTX itself. The context
/// is current.
static bool loadFromDisk(const VendorTable &table, const gpuasync_image &image,
                         ModuleHandle &module) {
  gpuasync_disk_cache *cache = gpuasync_disk_cache_default();
  if (!*gpuasync_disk_cache_folder(cache) || !table.linkCreate ||
      !table.linkAdd || !table.linkComplete || !table.linkDestroy)
    return false;
  gpuasync_digest key;
  if (!makeKey(table, image, key))
    return false;
  DiskEntry entry;
  if (entry.lookup(cache, key) && loadCode(table, entry.bytes().data(), module))
    return true;

  // Whatever goes wrong here goes wrong again, with the driver's words, when it
  // loads the PTX.
  LinkHandle link = nullptr;
  if (!VENDOR_CALL(linkCreate, 0, nullptr, nullptr, &link).ok())
    return false;
  void *code = nullptr;
  size_t bytes = 0;
  // The size counts the NUL at the end.
  bool loaded =
      VENDOR_CALL(linkAdd, link, JitInputPtx, const_cast<void *>(image.data),
                  image.size + 1, "kernels", 0, nullptr, nullptr)
          .ok() &&
      VENDOR_CALL(linkComplete, link, &code, &bytes).ok() &&
      loadCode(table, code, module);
  // Only what the driver takes back is worth keeping.
  if (loaded)
    gpuasync_disk_cache_store(cache, &key, code, bytes);
  // It owns the code.
  (void)VENDOR_CALL(linkDestroy, link);
  return loaded;
}

/// "8.8" and what follows it, of ".version 8.8".
static const char *ptxVersion(const gpuasync_image &image) {
  const char *found = strstr(static_cast<const char *>(image.data), ".version");
  return found ? found + strspn(found + 8, " \t") + 8 : "unknown version";
}

VendorCall CudaDriver::loadImage(const gpuasync_image &image,
                                 ModuleHandle &module, char *log,
                                 size_t logBytes) const {
  int options[] = {JitErrorLogBuffer, JitErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(logBytes)};
  unsigned count = image.format == GPUASYNC_IMAGE_PTX ? 2 : 0;
  if (image.format == GPUASYNC_IMAGE_PTX && loadFromDisk(table, image, module))
    return {Success, VendorEntry::moduleLoad};
  VendorCall call =
      VENDOR_CALL(moduleLoad, &module, image.data, count, options, values);
  log[logBytes - 1] = '\0';
  if (call.code == ErrorUnsupportedPtxVersion) {
    int version = 0;
    (void)table.driverVersion(&version);
    snprintf(
        log, logBytes,
        "the driver, for CUDA %d.%d, is older than the PTX (version %.3s); "
        "compile for an older PTX version or carry a cubin",
        version / 1000, version % 1000 / 10, ptxVersion(image));
  }
  size_t length = strlen(log);
  while (length && strchr("\r\n \t", log[length - 1]))
    log[--length] = '\0';
  return call;
}
