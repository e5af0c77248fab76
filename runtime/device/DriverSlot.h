//===- DriverSlot.h - The driver that a context calls -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context's own driver, or, while there is a trace, one around it that notes
// what passes. So without a trace a call costs what it did: one load of a
// pointer.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_DRIVERSLOT_H
#define GPUASYNC_DEVICE_DRIVERSLOT_H

#include "device/Device.h"

#include <atomic>
#include <memory>

namespace gpuasync {

class DriverSlot {
public:
  Device *get() const { return used.load(std::memory_order_acquire); }
  Device *operator->() const { return get(); }
  Device &operator*() const { return *get(); }
  explicit operator bool() const { return get(); }

  /// Once, before anybody else knows of the context.
  void open(std::unique_ptr<Device> opened) {
    device = std::move(opened);
    used.store(device.get(), std::memory_order_release);
  }

  //===--- For the tracer, one thread at a time

  // Frames keep the driver that was used when they began, so both live as long
  // as the context.
  Device *own() const { return device.get(); }
  Device *traced() const { return around.get(); }
  void surround(std::unique_ptr<Device> traced) { around = std::move(traced); }
  void use(Device *which) { used.store(which, std::memory_order_release); }

private:
  std::atomic<Device *> used{nullptr};
  std::unique_ptr<Device> device;
  std::unique_ptr<Device> around; ///< goes before what it is around
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_DRIVERSLOT_H
