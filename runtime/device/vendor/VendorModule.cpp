//===- VendorModule.cpp - Modules and functions of cuda and hip -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading a module wholly, with everything that its launches need to know, and
// the comparison of its kernels' parameters with the program's.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorContext.h"

#include <string.h>
#include <vector>

using namespace gpuasync;

/// What a NativeModule points to.
struct gpuasync::VendorModule {
  ModuleHandle handle = nullptr;
  bool owned = true; ///< else somebody else loaded it and unloads it
  LineArray<VendorFunction> functions;
  bool waits = false, signals = false; ///< of its functions
  /// Those of findFunction.
  std::vector<std::unique_ptr<VendorFunction>> found;
};

ModuleHandle VendorContext::moduleHandle(NativeModule module) {
  return static_cast<VendorModule *>(module)->handle;
}

Status VendorContext::loadModule(const gpuasync_module &module,
                                 const gpuasync_image &image, NativeModule &out,
                                 NativeFunction *functions) {
  OutsideCapture outside(driver);
  auto loaded = std::make_unique<VendorModule>();
  char log[2048] = "";
  if (VendorCall call =
          driver.loadImage(image, loaded->handle, log, sizeof(log));
      !call.ok()) {
    std::string detail = ", for the " + formatName(image.format) + " image (" +
                         image.arch + ") of module @" + module.name;
    if (log[0])
      detail += std::string(": ") + log;
    return error(call, detail.c_str());
  }
  return finishModule(module, image, std::move(loaded), out, functions);
}

Status VendorContext::adoptModule(const gpuasync_module &module,
                                  const gpuasync_image &image, void *foreign,
                                  NativeModule &out,
                                  NativeFunction *functions) {
  OutsideCapture outside(driver);
  auto loaded = std::make_unique<VendorModule>();
  loaded->handle = static_cast<ModuleHandle>(foreign);
  loaded->owned = false;
  return finishModule(module, image, std::move(loaded), out, functions);
}

Status VendorContext::finishModule(const gpuasync_module &module,
                                   const gpuasync_image &image,
                                   std::unique_ptr<VendorModule> loaded,
                                   NativeModule &out,
                                   NativeFunction *functions) {
  live.fetch_add(1, std::memory_order_relaxed);
  loaded->functions = makeLineArray<VendorFunction>(module.kernelCount);
  Status status = loaded->functions ? Status() : outOfMemoryStatus();
  uint32_t localBytes = 0;
  if (status.ok() && table.graphAddEdges)
    status = findSymbol(image, loaded->handle, GPUASYNC_KERNELS_WAIT_SYMBOL,
                        loaded->waits);
  if (status.ok())
    status = findSymbol(image, loaded->handle, GPUASYNC_KERNELS_SIGNAL_SYMBOL,
                        loaded->signals);
  for (uint32_t i = 0; i < module.kernelCount && status.ok(); ++i) {
    VendorFunction &function = loaded->functions[i];
    status = loadFunction(module, i, image, *loaded, function);
    localBytes =
        localBytes < function.localBytes ? function.localBytes : localBytes;
    functions[i] = &function;
  }
  if (status.ok())
    status = reserveLocalMemory(localBytes);
  if (status.ok())
    out = loaded.release();
  else
    unloadModule(loaded.release());
  return status;
}

/// Whether the image may name the symbol: what is compressed may.
static bool mayName(const gpuasync_image &image, const char *symbol) {
  return !image.data || image.format == GPUASYNC_IMAGE_FATBIN ||
         memmem(image.data, image.size, symbol, strlen(symbol)) != nullptr;
}

// To tools that watch the driver, asking for what is not there is an error.
Status VendorContext::findSymbol(const gpuasync_image &image,
                                 ModuleHandle module, const char *symbol,
                                 bool &found) {
  found = false;
  if (!table.moduleGlobal || !mayName(image, symbol))
    return Status();
  void *address = nullptr;
  size_t bytes = 0;
  VendorCall call = VENDOR_CALL(moduleGlobal, &address, &bytes, module, symbol);
  found = call.ok();
  return call.code == ErrorNotFound ? Status() : check(call);
}

Status VendorContext::loadFunction(const gpuasync_module &module,
                                   uint32_t index, const gpuasync_image &image,
                                   const VendorModule &loaded,
                                   VendorFunction &out) {
  const gpuasync_kernel &kernel = module.kernels[index];
  out.waits = loaded.waits;
  out.signals = loaded.signals;
  VendorCall call =
      VENDOR_CALL(moduleFunction, &out.handle, loaded.handle, kernel.name);
  if (call.code == ErrorNotFound)
    return makeStatus(
        GPUASYNC_NOT_FOUND, "module @%s has no kernel @%s in its %s image (%s)",
        module.name, kernel.name, formatName(image.format).c_str(), image.arch);
  // A vendor that loads lazily would do so in the first launch, which then
  // waits for everything that runs. Before CUDA 12.4 the questions below load.
  if (call.ok() && table.functionLoad)
    call = VENDOR_CALL(functionLoad, out.handle);
  auto attribute = [&](int which) {
    int value = 0;
    if (call.ok())
      call = VENDOR_CALL(functionAttribute, &value, which, out.handle);
    return uint32_t(value);
  };
  out.maxThreads = attribute(FuncMaxThreadsPerBlock);
  out.staticShared = attribute(FuncSharedSizeBytes);
  out.localBytes = attribute(FuncLocalSizeBytes);
  out.maxDynamicShared = device.limits.maxSharedBytes > out.staticShared
                             ? device.limits.maxSharedBytes - out.staticShared
                             : 0;
  // Once per function, here, so that no launch has to ask for it.
  if (call.ok() && out.maxDynamicShared && table.functionSetAttribute)
    call =
        VENDOR_CALL(functionSetAttribute, out.handle,
                    FuncMaxDynamicSharedSizeBytes, int(out.maxDynamicShared));
  RETURN_IF_ERROR(check(call));
  return checkParameters(module, index, image, out);
}

Status VendorContext::checkParameters(const gpuasync_module &module,
                                      uint32_t index,
                                      const gpuasync_image &image,
                                      VendorFunction &function) {
  const gpuasync_kernel &kernel = module.kernels[index];
  function.paramBytes = UINT32_MAX;
  if (kernel.paramCount == UINT32_MAX)
    return Status();
  int64_t count = driver.imageParamCount(image, kernel.name);
  if (count >= 0 && function.signals)
    count -= 2; // KernelSignal
  if (count >= 0 && count != int64_t(kernel.paramCount))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "kernel @%s::@%s takes %jd parameters in its %s image "
                      "(%s), but the program passes %u",
                      module.name, kernel.name, count,
                      formatName(image.format).c_str(), image.arch,
                      kernel.paramCount);
  // The size of the buffer without the padding at its end.
  function.paramBytes = 0;
  for (uint32_t i = 0; i < kernel.paramCount; ++i) {
    uint32_t end = kernel.paramOffsets[i] + kernel.paramSizes[i];
    function.paramBytes = end > function.paramBytes ? end : function.paramBytes;
    size_t offset = kernel.paramOffsets[i], size = kernel.paramSizes[i];
    // Where nobody tells offset and size, they are right.
    VendorCall call = {Success, VendorEntry::functionParameter};
    if (table.functionParameter)
      call = VENDOR_CALL(functionParameter, function.handle, i, &offset, &size);
    if (call.code == ErrorInvalidValue)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "%s: kernel @%s::@%s has no parameter %u, but the "
                        "program passes %u",
                        driver.entryName(call.entry), module.name, kernel.name,
                        i, kernel.paramCount);
    RETURN_IF_ERROR(check(call));
    if (size == kernel.paramSizes[i] &&
        size > driver.facts.largestPackedParameter)
      function.takesPointers = true;
    if (size != kernel.paramSizes[i] ||
        (offset != kernel.paramOffsets[i] && !function.takesPointers))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "kernel @%s::@%s: parameter %u has %zu bytes at %zu, "
                        "but the program passes %u bytes at %u",
                        module.name, kernel.name, i, size, offset,
                        kernel.paramSizes[i], kernel.paramOffsets[i]);
  }
  return Status();
}

// The first launch that needs more local memory per thread than any before
// waits for all that runs. Raising the stack limit makes the driver grow the
// memory at once; HIP's grows it beside running work.
Status VendorContext::reserveLocalMemory(uint32_t bytes) {
  std::lock_guard<std::mutex> lock(localMutex);
  if (bytes <= localReserved)
    return Status();
  if (table.contextLimit && table.contextSetLimit) {
    size_t limit = 0;
    VendorCall call = VENDOR_CALL(contextLimit, &limit, LimitStackSize);
    if (call.ok() && limit < bytes)
      call = VENDOR_CALL(contextSetLimit, LimitStackSize, size_t(bytes));
    RETURN_IF_ERROR(check(call));
  }
  localReserved = bytes;
  return Status();
}

void VendorContext::unloadModule(NativeModule module) noexcept {
  std::unique_ptr<VendorModule> loaded(static_cast<VendorModule *>(module));
  giveBack([&] {
    return loaded->owned ? VENDOR_CALL(moduleUnload, loaded->handle)
                         : VendorCall{Success, VendorEntry::moduleUnload};
  });
}

Status VendorContext::findFunction(NativeModule native,
                                   const gpuasync_module &module,
                                   const gpuasync_image &image,
                                   NativeFunction &out) {
  auto &loaded = *static_cast<VendorModule *>(native);
  auto function = std::make_unique<VendorFunction>();
  RETURN_IF_ERROR(loadFunction(module, 0, image, loaded, *function));
  RETURN_IF_ERROR(reserveLocalMemory(function->localBytes));
  out = function.get();
  loaded.found.push_back(std::move(function));
  return Status();
}
