//===- VendorDevice.h - What is known of one device -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits of a device, and whether it has been lost. One per device and process,
// shared by the contexts opened on it, since a fault outlives all of them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDOR_VENDORDEVICE_H
#define GPUASYNC_DEVICE_VENDOR_VENDORDEVICE_H

#include "device/Driver.h"

#include <atomic>
#include <mutex>
#include <stdio.h>

namespace gpuasync {

/// Set once when the device's information is first asked for.
struct VendorLimits {
  uint32_t maxGrid[3] = {};
  uint32_t maxBlock[3] = {};
  uint32_t maxSharedBytes = 0; ///< per block, static and dynamic, opted in
  uint64_t maxPitch = 0;
  int32_t major = 0, minor = 0; ///< version of the chip, cuda
  char arch[64] = "";           ///< target id of the chip, hip
  int32_t driverVersion = 0;    ///< as the vendor numbers it: 12080
  bool managed = false; ///< managed memory that both sides may use at once
  bool readOnlyRegister = false;
};

/// A fault loses the device for the whole process; the first report is kept.
class LostDevice {
public:
  bool lost() const noexcept { return flag.load(std::memory_order_acquire); }

  /// Keeps `text` if it is the first report. Returns true if it was.
  bool report(const char *text) noexcept {
    std::lock_guard<std::mutex> lock(mutex);
    if (flag.load(std::memory_order_relaxed))
      return false;
    snprintf(first, sizeof(first), "%s", text);
    flag.store(true, std::memory_order_release);
    return true;
  }
  /// Valid once lost() is true; never changes after that.
  const char *firstReport() const noexcept { return first; }

private:
  std::atomic<bool> flag{false};
  std::mutex mutex;
  char first[400] = "";
};

/// Never destroyed.
struct VendorDevice {
  int32_t ordinal = 0;
  int handle = 0;     ///< what the vendor calls it by
  std::mutex mutex;   ///< of whoever asks for the information
  bool known = false; ///< `info` and `limits`, which do not change then
  DeviceInfo info;
  VendorLimits limits;
  LostDevice loss;
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_VENDOR_VENDORDEVICE_H
