//===- CudaModule.cpp - Loading images with CUDA --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's compiler and its words, and machine code of PTX that a service
// may keep: cuModuleLoadDataEx keeps what it makes of PTX to itself, cuLink*
// hands it out.
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaDriver.h"
#include "shim/process/Service.h"

#include "device/ImageLinker.h"
#include "device/cuda/CudaTypes.h"

#include <string.h>

using namespace gpuasync;
using namespace gpuasync::cuda;

namespace {

/// Makes machine code of PTX by cuLink*. A failure in here comes again, with
/// the driver's words, when the driver loads the PTX.
class PtxLinker final : public ImageLinker {
public:
  PtxLinker(const VendorTable &table, const gpuasync_image &image,
            ModuleHandle &module)
      : table(table), image(image), module(module) {}
  PtxLinker(const PtxLinker &) = delete;
  ~PtxLinker() {
    if (handle)
      (void)VENDOR_CALL(linkDestroy, handle);
  }

  bool describe(LinkFacts &out) override {
    int device = 0, major = 0, minor = 0, version = 0;
    if (!VENDOR_CALL(contextDevice, &device).ok() ||
        !VENDOR_CALL(deviceAttribute, &major, ComputeCapabilityMajor, device)
             .ok() ||
        !VENDOR_CALL(deviceAttribute, &minor, ComputeCapabilityMinor, device)
             .ok() ||
        !VENDOR_CALL(driverVersion, &version).ok())
      return false;
    out = {"PTX",
           &image,
           uint64_t(version),
           reinterpret_cast<const void *>(table.linkComplete),
           uint64_t(major),
           uint64_t(minor)};
    return true;
  }
  bool link(const void *&code, size_t &bytes) override {
    if (!VENDOR_CALL(linkCreate, 0, nullptr, nullptr, &handle).ok()) {
      handle = nullptr;
      return false;
    }
    void *made = nullptr;
    // The size counts the NUL at the end.
    if (!VENDOR_CALL(linkAdd, handle, JitInputPtx,
                     const_cast<void *>(image.data), image.size + 1, "kernels",
                     0, nullptr, nullptr)
             .ok() ||
        !VENDOR_CALL(linkComplete, handle, &made, &bytes).ok())
      return false;
    code = made;
    return true;
  }
  bool load(const void *code) override {
    return VENDOR_CALL(moduleLoad, &module, code, 0, nullptr, nullptr).ok();
  }

private:
  const VendorTable &table;
  const gpuasync_image &image;
  ModuleHandle &module;
  LinkHandle handle = nullptr; ///< owns the code that was made
};

} // namespace

/// Loads machine code that was kept of this PTX, or makes it and keeps it. The
/// context is current. Returns false if nothing was loaded: the driver is then
/// asked to load the PTX itself.
static bool loadLinked(const VendorTable &table, const gpuasync_image &image,
                       ModuleHandle &module) {
  if (!table.linkCreate || !table.linkAdd || !table.linkComplete ||
      !table.linkDestroy)
    return false;
  PtxLinker linker(table, image, module);
  bool isLoaded = false;
  forEachService([&](const Service &each) {
    isLoaded = isLoaded || each.linkImage(linker);
  });
  return isLoaded;
}

void CudaDriver::libraryLoaded() const {
  forEachService([](const Service &each) { each.prepareLinks(); });
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
  if (image.format == GPUASYNC_IMAGE_PTX && loadLinked(table, image, module))
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
