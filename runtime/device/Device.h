//===- Device.h - What the core asks of a device ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface between the core and its devices (cuda, hip, cpu): what every
// device does, and one function for all work, `submit`. Extensions.h has what
// only some do. The core owns pools, caches, the pinned ring, frames and
// locations; a device turns one call into one or few vendor calls and converts
// their codes.
//===----------------------------------------------------------------------===//
//
// Errors are `Status` values, made by makeStatus (StatusImpl.h) as "call: NAME
// (code): text" without a location: the core adds that. Nothing throws except
// std::bad_alloc, which the core's entries turn into a status. A fault that
// loses the device has the code GPUASYNC_DEVICE_LOST, in every call after it.
//
// Threads: every function may be called from any thread at any time, except
// that one stream or one event is used by one thread at a time (its owner).
// Unless said otherwise, a Device's functions are called only while it is
// current on the calling thread (makeCurrent).
//
// Blocking: a function marked [blocks] may wait for the device; the core calls
// it at frame enter, with the device idle, or from shutdown, never between a
// frame's first enqueue and its wait. All others return without waiting for
// device progress, whatever is queued.
//
// Counting: a driver adds one to `driverCallCount` for each vendor call that
// goes to the device's driver (for cpu: each operation put on a stream).
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_DEVICE_H
#define GPUASYNC_DEVICE_DEVICE_H

#include "device/Extensions.h"

#include <atomic>

namespace gpuasync {

/// One open device: a context of the vendor's. Destroyed by the core after
/// `close`. While somebody captures a stream, all calls but those on captured
/// streams go on as ever and do not end the capture, in whatever mode that is.
class Device {
public:
  explicit Device(const Extensions &extensions) : extensions(extensions) {}
  virtual ~Device() = default;

  const Extensions extensions;
  //===--- Written before the core gets the device
  /// Capabilities that the device promises and that a test of them, when this
  /// was opened, found missing.
  uint32_t missing = 0;
  /// The vendor's number of this context, which no later one at the same
  /// address has; 0 where addresses say it all.
  uint64_t generation = 0;
  //===--- For who traces
  /// The rank of a program that this device is; -1: none.
  std::atomic<int64_t> rank{-1};

  //===--- The calling thread's current context (no context need be current)

  /// Makes this context current and says in `saved` how to go back. When it is
  /// current already nothing is pushed, and restore does nothing.
  /// `saved` stays where it is until it is restored, last in, first out.
  virtual Status makeCurrent(SavedContext &saved) = 0;
  /// Undoes makeCurrent; also when code in between changed the top of the
  /// thread's context stack. Cannot fail loudly.
  virtual void restore(SavedContext &saved) noexcept = 0;
  /// Before unknown code runs: all of the thread but the current context is as
  /// the caller had it.
  virtual void suspend() noexcept {}
  /// Makes this context the current one again after unknown code ran, without
  /// changing the depth of the context stack. Cheap when it still is.
  virtual Status resume() = 0;

  //===--- Streams: in order, non-blocking towards the default stream

  virtual Status createStream(NativeStream &out) = 0;
  /// No work may be pending (the core keeps busy streams on a list). [blocks]
  virtual void destroyStream(NativeStream stream) noexcept = 0;
  /// The handle for a caller's stream; `native` null is the default stream. For
  /// the cpu driver `native` is a NativeStream of this context. Never owned.
  virtual Status externalStream(void *native, NativeStream &out) = 0;
  /// `done`: all work on the stream has finished. An error of the stream's work
  /// (or of the device) is the result.
  virtual Status queryStream(NativeStream stream, bool &done) = 0;
  /// Waits on the host until all work enqueued so far is done, asleep if it
  /// takes long. `timeoutNs` < 0: for ever. `done` is false after a timeout. An
  /// error of the stream's work is the result.
  virtual Status waitStream(NativeStream stream, int64_t timeoutNs,
                            bool &done) = 0;

  //===--- Events: recorded many times; one owner at a time

  virtual Status createEvent(NativeEvent &out) = 0;
  /// Legal while waits on it are still queued.
  virtual void destroyEvent(NativeEvent event) noexcept = 0;
  virtual Status recordEvent(NativeEvent event, NativeStream stream) = 0;
  /// Work put on `stream` later starts after the event's last record. The event
  /// may be recorded again or destroyed at once after this.
  virtual Status streamWaitEvent(NativeStream stream, NativeEvent event) = 0;
  virtual Status queryEvent(NativeEvent event, bool &done) = 0;
  /// As waitStream.
  virtual Status waitEvent(NativeEvent event, int64_t timeoutNs,
                           bool &done) = 0;

  //===--- Modules

  /// Loads `image` of `module` wholly, first-use loading of each function
  /// included, and writes module.kernelCount handles to `functions`. A kernel
  /// that the image lacks is GPUASYNC_NOT_FOUND naming it; where the driver
  /// can tell, parameter count and sizes are checked against the kernel table
  /// (paramCount UINT32_MAX: unknown). On failure nothing stays loaded.
  /// [blocks]
  virtual Status loadModule(const gpuasync_module &module,
                            const gpuasync_image &image, NativeModule &out,
                            NativeFunction *functions) = 0;
  /// None of its kernels is running or queued. [blocks]
  virtual void unloadModule(NativeModule module) noexcept = 0;

  //===--- Work

  /// Enqueues one piece of work on the stream. All that the command points to
  /// has been read when the call returns, but for its site. The core has
  /// checked null and empty cases: sizes are > 0, grid and block dimensions
  /// >= 1. A launch that exceeds limits of the device is
  /// GPUASYNC_INVALID_ARGUMENT with the limit in the message. Addresses of
  /// copies and fills are device, host-shared, pinned or registered memory;
  /// pageable only as destination and only with CapPageableDestination, which
  /// also says that Call works. A kind of work that the device does not do is
  /// GPUASYNC_UNSUPPORTED.
  virtual Status submit(NativeStream stream, const Command &command) = 0;

  //===--- Memory, aligned to 256

  /// Not stream-ordered; does not wait for running kernels, or the core calls
  /// it only where it may. Out of memory is GPUASYNC_OUT_OF_MEMORY.
  virtual Status allocMemory(MemoryKind kind, uint64_t bytes, void *&out) = 0;
  /// [blocks]
  virtual void freeMemory(MemoryKind kind, void *pointer) noexcept = 0;
  /// Free and total device memory, for messages; 0 if unknown.
  virtual void memoryInfo(uint64_t &freeBytes, uint64_t &totalBytes) = 0;

  /// Registering memory that somebody else registered is success, and then
  /// `owned` is false: unregisterHost is not called for it. After an error
  /// `owned` says that the memory is registered all the same.
  virtual Status registerHost(void *pointer, uint64_t bytes, bool &owned) = 0;
  /// [blocks]
  virtual void unregisterHost(void *pointer) noexcept = 0;
  virtual PointerKind pointerKind(const void *pointer) = 0;

  //===--- The end

  /// The last call. `lost`: the device is lost; make no call that can hang or
  /// fail loudly. All streams, events, modules and memory have been given back
  /// unless `lost`. The context is current unless `lost`. Returns what of the
  /// driver's own is still alive (0 is right), for the leak check. [blocks]
  virtual uint64_t close(bool lost) noexcept = 0;
};

/// Whether a stream is captured. No, on a device whose streams never are.
inline Status captureStateOf(Device &device, NativeStream stream,
                             CaptureState &out) {
  StreamCaptures *captures = device.extensions.captures;
  return captures ? captures->captureState(stream, out) : Status();
}

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_DEVICE_H
