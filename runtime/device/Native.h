//===- Native.h - Values that the core and devices share --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles, kinds of memory, what a device can do: what both sides of Device.h
// need to name.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_NATIVE_H
#define GPUASYNC_DEVICE_NATIVE_H

#include "shim/base/StatusImpl.h"

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

namespace gpuasync {

/// Vendor calls made by this thread since the core last folded them into a
/// context's counters. `__thread`: no initialiser, no wrapper function.
extern __thread uint64_t driverCallCount
    __attribute__((tls_model("initial-exec")));

/// Handles of a driver, meaningless to the core: CUstream, CUevent, CUmodule,
/// CUfunction, or objects of the cpu driver. A null NativeStream is legal only
/// where an external null stream was wrapped.
using NativeStream = void *;
using NativeEvent = void *;
using NativeModule = void *;
using NativeFunction = void *;
using NativeGraph = void *; ///< executable

/// An array with cache lines of its own, for what all threads read on the warm
/// path: elsewhere on the heap its neighbour may be a word that one of them
/// writes in every call.
struct FreeLines {
  void operator()(void *lines) const noexcept {
    operator delete(lines, std::align_val_t(64));
  }
};
template <typename T>
using LineArray = std::unique_ptr<T[], FreeLines>;
/// Null if there is no memory.
template <typename T>
LineArray<T> makeLineArray(size_t count) noexcept {
  static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 64);
  size_t bytes = (count * sizeof(T) / 64 + 1) * 64;
  try {
    void *lines = operator new(bytes, std::align_val_t(64));
    for (size_t i = 0; i < count; ++i)
      new (static_cast<T *>(lines) + i) T();
    return LineArray<T>(static_cast<T *>(lines));
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

/// Capabilities of a device; bits of DeviceInfo::capabilities.
enum Capability : uint32_t {
  /// allocAsync and freeAsync work (tested at run time on this device).
  CapStreamOrderedAlloc = 1u << 0,
  /// writeFlag works and polling its slot is the fastest host wait.
  CapFlagWait = 1u << 1,
  /// Device work writes pageable host memory without staging and without
  /// blocking the caller, so downloads need no ring (cpu).
  CapPageableDestination = 1u << 2,
  /// Host code may touch device memory when the stream is idle, so an upload
  /// on an idle stream is a plain memcpy (cpu).
  CapHostAccess = 1u << 3,
  /// gpuasync_stream_external takes the vendor's own handle; without it, a
  /// gpuasync_stream (cpu).
  CapVendorStreams = 1u << 4,
  CapCooperative = 1u << 5,
  CapClusters = 1u << 6,
  /// makeGraph and its like work.
  CapGraphs = 1u << 7,
  /// For tests: commands of fragments are ordered by their edges alone (cpu
  /// under an adversary).
  CapEdgesOnly = 1u << 8
};

struct DeviceInfo {
  char name[128] = "";
  char arch[32] = ""; ///< "sm_90", "gfx90a:sramecc+:xnack-"; "" for cpu
  uint64_t memoryBytes = 0;
  uint32_t capabilities = 0;
  uint32_t multiprocessors = 0; ///< cpu: worker threads
  /// Version of the module loader, e.g. 13000 for CUDA 13.0; cpu: our own ABI
  /// version.
  uint32_t driverVersion = 0;
};

/// State that the core keeps while our context is current in place of the
/// caller's. Lives in the frame, so it is small and plain.
struct SavedContext {
  void *previous = nullptr;
  uint32_t pushed = 0; ///< 1: restore must pop
  /// The thread's stream capture mode was changed, from this one.
  bool modeChanged = false;
  int32_t mode = 0;
  const void *vendor = nullptr;  ///< whose mode it is
  SavedContext *outer = nullptr; ///< the thread's next one outwards
};

/// The context that the calling thread has made current last.
extern __thread SavedContext *innermostContext
    __attribute__((tls_model("initial-exec")));

enum class MemoryKind : uint32_t {
  Device,
  HostShared, ///< both sides read and write; pinned host memory or managed
  Pinned      ///< host memory for staging and completion flags
};

/// The driver's knowledge of an address that the core did not allocate.
enum class PointerKind : uint32_t {
  Pageable,   ///< plain host memory, or unknown to the driver
  Registered, ///< host memory that the device can reach asynchronously
  Device,
  Managed
};

/// State of a stream: not captured, captured, or part of a capture that failed.
struct CaptureState {
  enum Kind : uint32_t { None, Active, Invalid } kind = None;
  uint64_t id = 0; ///< of the capture, unique in the process; of Active only
};

/// When one operation ran on the device, by the host's clock (nowNs).
struct DeviceTiming {
  int64_t begin = 0, end = 0; ///< both 0: it never ran
  std::atomic<bool> known{false};
  /// The vendor's events before and after it.
  NativeEvent from = nullptr, to = nullptr;
};

/// A tensor as copies in tiles see it: the parameters of
/// cuTensorMapEncodeTiled, with its values for the enumerations. The innermost
/// dimension comes first.
struct TensorMap {
  uint32_t dataType = 0, rank = 0;
  void *address = nullptr;
  const uint64_t *sizes = nullptr;   ///< in elements
  const uint64_t *strides = nullptr; ///< in bytes, rank - 1 of them
  const uint32_t *box = nullptr;
  const uint32_t *elementStrides = nullptr;
  uint32_t interleave = 0, swizzle = 0, l2Promotion = 0, fill = 0;
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_NATIVE_H
