//===- DeviceUse.h - Devices that a frame uses ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a frame that pools, contexts and modules see.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_DEVICEUSE_H
#define GPUASYNC_SHIM_POOL_DEVICEUSE_H

#include "device/Driver.h"
#include "gpuasync/RuntimeABI.h"
#include "shim/process/Thread.h"

namespace gpuasync {

struct Download;
struct PoolAllocation;

/// One device that a frame uses: its context, what a frame reads of that, and
/// what the frame holds there.
struct DeviceUse {
  gpuasync_context *context = nullptr;
  Device *device = nullptr;
  Instance *instance = nullptr;
  ThreadContext *slot = nullptr;
  Pin *pin = nullptr;
  PoolAllocation *buffers = nullptr; ///< under the memory pool's lock
  Download *downloads = nullptr;     ///< newest first
  uint64_t capture = 0; ///< of the caller's stream; 0: that is not captured
  uint32_t registrations = 0; ///< made and not undone by the frame
};

/// A frame as far as its devices go; it belongs to one thread.
struct OpenFrame {
  /// A frame uses so many devices at most.
  static constexpr uint32_t maxDevices = 16;

  // As in gpuasync_frame.
  int32_t failed = 0;
  int32_t reserved = 0;

  const gpuasync_function *function = nullptr;
  DeviceUse *current = nullptr; ///< whose context is; null: none was yet
  DeviceUse first;              ///< device 0
  DeviceUse *more = nullptr;    ///< devices from 1 on, an array
  uint32_t moreCount = 0;
  OpenFrame *outer = nullptr; ///< the thread's next frame outwards

  /// Calls `visit(DeviceUse &)` for each device in order.
  template <typename Visit>
  void forEachDevice(Visit visit) {
    visit(first);
    for (uint32_t i = 0; i < moreCount; ++i)
      visit(more[i]);
  }
  /// The use of a context that the frame uses.
  DeviceUse &useOf(const gpuasync_context &context) {
    return __builtin_expect(first.context == &context, 1) ? first
                                                          : *findUse(&context);
  }
  /// Also of any context; null: the frame does not use it.
  DeviceUse *findUse(const gpuasync_context *context) {
    if (first.context == context)
      return &first;
    for (uint32_t i = 0; i < moreCount; ++i)
      if (more[i].context == context)
        return &more[i];
    return nullptr;
  }
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_DEVICEUSE_H
