//===- OutsideCapture.h - Calls beside a stream capture ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calling thread's mode of stream capture.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDOR_OUTSIDECAPTURE_H
#define GPUASYNC_DEVICE_VENDOR_OUTSIDECAPTURE_H

#include "device/vendor/VendorDriver.h"

namespace gpuasync {

/// While one lives, calls that are forbidden during a stream capture (queries,
/// waits, allocations, modules: they would end the capture of this thread, or,
/// in the global mode, of any other) are let through: none of ours touches a
/// captured stream but those that a graph can hold. The first of a frame, or of
/// whatever else made our context current, changes the thread's mode for all
/// that follow, until suspend or restore changes it back.
class OutsideCapture {
public:
  explicit OutsideCapture(const VendorDriver &driver) : driver(driver) {
    SavedContext *saved = innermostContext;
    if (!saved || saved->vendor != &driver) {
      changed = exchange(driver.table, mode);
    } else if (!saved->modeChanged) {
      saved->modeChanged = exchange(driver.table, mode);
      saved->mode = mode;
    }
  }
  ~OutsideCapture() {
    if (changed)
      exchange(driver.table, mode);
  }
  OutsideCapture(const OutsideCapture &) = delete;

  /// Changes the mode back, unless that is done.
  static void end(const VendorDriver &driver, SavedContext &saved) {
    if (saved.modeChanged && !processIsExiting())
      exchange(driver.table, saved.mode);
    saved.modeChanged = false;
  }

private:
  /// Sets the calling thread's mode and returns the former one in it; false if
  /// that failed.
  static bool exchange(const VendorTable &table, int &mode) {
    return table.captureMode && VENDOR_CALL(captureMode, &mode).ok();
  }

  const VendorDriver &driver;
  int mode = StreamCaptureModeRelaxed;
  bool changed = false;
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_VENDOR_OUTSIDECAPTURE_H
