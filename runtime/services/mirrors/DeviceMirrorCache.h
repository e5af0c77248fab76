//===- DeviceMirrorCache.h - Arguments that stay on the device --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of callers' arrays, by address and size: made by the first call that
// gets one, kept until the caller says that the memory has changed.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_MIRRORS_DEVICEMIRRORCACHE_H
#define GPUASYNC_SERVICES_MIRRORS_DEVICEMIRRORCACHE_H

#include "shim/base/StatusImpl.h"
#include "shim/process/Service.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

struct gpuasync_context;

namespace gpuasync {

struct DeviceUse;
struct Frame;
struct PoolAllocation;

/// Thread safe. The lock is not held over calls of the driver's: one thread
/// makes a copy while others that want it wait for that one only.
class DeviceMirrorCache final : public ServicePart {
public:
  explicit DeviceMirrorCache(gpuasync_context &context) : context(context) {}
  DeviceMirrorCache(const DeviceMirrorCache &) = delete;

  /// See findResident.
  Status find(Frame &frame, DeviceUse &use, const void *pointer, uint64_t bytes,
              PoolAllocation *&out);
  /// Gives up all copies of a part of that memory.
  void giveUp(const void *pointer, uint64_t bytes);
  /// A frame is captured into a graph: what it has found, and what else there
  /// is, stays until the context's end, given up or not.
  void keepForGraph();
  /// At the context's end, before its memory goes.
  void forgetAll();

private:
  struct Copy {
    PoolAllocation *block = nullptr; ///< null: it is being made
    bool changed = false;  ///< the memory is another one since that began
    bool captured = false; ///< a graph of a caller's may read it at any time
  };
  /// Address and bytes.
  using Place = std::pair<uintptr_t, uint64_t>;

  Status make(Frame &frame, DeviceUse &use, const void *pointer, uint64_t bytes,
              PoolAllocation *&out);
  void retire(Copy &copy);

  gpuasync_context &context;
  std::mutex mutex;
  std::condition_variable settled; ///< a copy is made, or failed to be
  std::map<Place, Copy> copies;
  uint64_t longest = 0;        ///< bytes of any copy so far
  std::atomic<size_t> size{0}; ///< of `copies`
};

} // namespace gpuasync

#endif // GPUASYNC_SERVICES_MIRRORS_DEVICEMIRRORCACHE_H
