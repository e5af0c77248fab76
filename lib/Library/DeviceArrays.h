//===- DeviceArrays.h - Arrays that stay on a device ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that a device keeps, and calls that do not wait. All calls of a
// device, uploads of their arguments and frees of their results are on one
// stream: nothing of ours has to wait for anything else of ours, and memory is
// free for what comes behind its last use.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_DEVICEARRAYS_H
#define GPUASYNC_LIB_LIBRARY_DEVICEARRAYS_H

#include "GPUAsync-C/GPUAsync.h"

#include "gpuasync/Status.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace gpuexec {

/// The stream of a context. Thread safe.
class DeviceQueue {
public:
  /// Holds a reference of the context.
  DeviceQueue(gpuasync_context *context, int32_t ordinal);
  /// Pending work goes on.
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue &) = delete;
  DeviceQueue &operator=(const DeviceQueue &) = delete;

  /// The vendor's handle of the stream, which is made at the first use.
  gpuasync::Status open(void *&native);
  /// Runs `body` in a frame with the stream. After an error what it has
  /// allocated is freed.
  gpuasync::Status
  run(llvm::function_ref<void(gpuasync_frame *, gpuasync_stream *)> body);
  /// Waits for all work so far.
  gpuasync::Status wait();

  int32_t getOrdinal() const { return ordinal; }

private:
  gpuasync_context *context;
  int32_t ordinal;
  std::mutex mutex;
  gpuasync_stream *stream = nullptr;
};

/// A point of the queue. Thread safe.
class Ready {
public:
  explicit Ready(gpuasync_event *event) : event(event) {}
  ~Ready() { gpuasync_event_release(event); }
  Ready(const Ready &) = delete;
  Ready &operator=(const Ready &) = delete;

  /// Waits until it is reached. An error of the work before it is the result of
  /// each wait from then on.
  gpuasync::Status wait();

private:
  gpuasync_event *event;
  std::mutex mutex;
  bool failed = false;
  uint32_t code = 0;
  std::string message;
};

/// Memory of the device that a call has made for a result: the `owner` of a
/// gpuasync_value whose `device` is not the host.
class DeviceArray {
public:
  /// Takes over `memory`, which gpuasync_alloc gave.
  DeviceArray(std::shared_ptr<DeviceQueue> queue, void *memory,
              std::shared_ptr<Ready> ready)
      : queue(std::move(queue)), memory(memory), ready(std::move(ready)) {}
  /// Frees it behind the work that the queue has been given so far.
  ~DeviceArray();
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;

  /// The array behind a value; null if its memory is no such.
  static DeviceArray *of(const gpuasync_value &value) {
    return value.device == GPUASYNC_HOST
               ? nullptr
               : static_cast<DeviceArray *>(value.owner);
  }

  /// Whether `data` is where it begins, in memory of that queue.
  bool isWhole(const void *data, const DeviceQueue *of) const {
    return data == memory && queue.get() == of;
  }
  void *get() const { return memory; }
  /// Hands the memory over: it is no longer freed here.
  void release() { memory = nullptr; }

  gpuasync::Status wait() { return ready->wait(); }
  /// Copies `bytes` bytes from `from` on, which is in the array, to host
  /// memory, and waits.
  gpuasync::Status download(const void *from, void *to, uint64_t bytes);

private:
  std::shared_ptr<DeviceQueue> queue;
  void *memory;
  std::shared_ptr<Ready> ready;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_DEVICEARRAYS_H
