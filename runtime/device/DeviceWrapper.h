//===- DeviceWrapper.h - A device around another one ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes everything on. Traces and tests derive from it, and override what they
// look at.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_DEVICEWRAPPER_H
#define GPUASYNC_DEVICE_DEVICEWRAPPER_H

#include "device/Device.h"

namespace gpuasync {

class DeviceWrapper : public Device {
public:
  Status makeCurrent(SavedContext &saved) override {
    return inner.makeCurrent(saved);
  }
  void restore(SavedContext &saved) noexcept override { inner.restore(saved); }
  void suspend() noexcept override { inner.suspend(); }
  Status resume() override { return inner.resume(); }
  Status createStream(NativeStream &out) override {
    return inner.createStream(out);
  }
  void destroyStream(NativeStream stream) noexcept override {
    inner.destroyStream(stream);
  }
  Status externalStream(void *native, NativeStream &out) override {
    return inner.externalStream(native, out);
  }
  Status queryStream(NativeStream stream, bool &done) override {
    return inner.queryStream(stream, done);
  }
  Status waitStream(NativeStream stream, int64_t timeoutNs,
                    bool &done) override {
    return inner.waitStream(stream, timeoutNs, done);
  }
  Status createEvent(NativeEvent &out) override {
    return inner.createEvent(out);
  }
  void destroyEvent(NativeEvent event) noexcept override {
    inner.destroyEvent(event);
  }
  Status recordEvent(NativeEvent event, NativeStream stream) override {
    return inner.recordEvent(event, stream);
  }
  Status streamWaitEvent(NativeStream stream, NativeEvent event) override {
    return inner.streamWaitEvent(stream, event);
  }
  Status queryEvent(NativeEvent event, bool &done) override {
    return inner.queryEvent(event, done);
  }
  Status waitEvent(NativeEvent event, int64_t timeoutNs, bool &done) override {
    return inner.waitEvent(event, timeoutNs, done);
  }
  Status loadModule(const gpuasync_module &module, const gpuasync_image &image,
                    NativeModule &out, NativeFunction *functions) override {
    return inner.loadModule(module, image, out, functions);
  }
  void unloadModule(NativeModule module) noexcept override {
    inner.unloadModule(module);
  }
  Status submit(NativeStream stream, const Command &command) override {
    return inner.submit(stream, command);
  }
  Status allocMemory(MemoryKind kind, uint64_t bytes, void *&out) override {
    return inner.allocMemory(kind, bytes, out);
  }
  void freeMemory(MemoryKind kind, void *pointer) noexcept override {
    inner.freeMemory(kind, pointer);
  }
  void memoryInfo(uint64_t &freeBytes, uint64_t &totalBytes) override {
    inner.memoryInfo(freeBytes, totalBytes);
  }
  Status registerHost(void *pointer, uint64_t bytes, bool &owned) override {
    return inner.registerHost(pointer, bytes, owned);
  }
  void unregisterHost(void *pointer) noexcept override {
    inner.unregisterHost(pointer);
  }
  PointerKind pointerKind(const void *pointer) override {
    return inner.pointerKind(pointer);
  }
  uint64_t close(bool lost) noexcept override { return inner.close(lost); }

protected:
  /// `extensions`: the inner device's, but for those that the wrapper has
  /// itself.
  DeviceWrapper(Device &inner, const Extensions &extensions)
      : Device(extensions), inner(inner) {
    missing = inner.missing;
    generation = inner.generation;
  }
  Device &inner;
};

/// Passes on calls about modules of others.
class ForeignWrapper : public ForeignObjects {
public:
  Status adoptModule(const gpuasync_module &module, const gpuasync_image &image,
                     void *foreign, NativeModule &out,
                     NativeFunction *functions) override {
    return objects->adoptModule(module, image, foreign, out, functions);
  }
  Status findFunction(NativeModule loaded, const gpuasync_module &module,
                      const gpuasync_image &image,
                      NativeFunction &out) override {
    return objects->findFunction(loaded, module, image, out);
  }
  Status launchPointers(NativeStream stream, const Command::Launch &launch,
                        void **parameters, const gpuasync_site *site) override {
    return objects->launchPointers(stream, launch, parameters, site);
  }
  Status devicePointer(void *host, void *&out) override {
    return objects->devicePointer(host, out);
  }

protected:
  /// `inner` has them, or nobody calls these functions.
  explicit ForeignWrapper(Device &inner) : objects(inner.extensions.foreign) {}
  ForeignObjects *const objects;
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_DEVICEWRAPPER_H
