//===- DeviceArrays.h - Arrays that stay on a device ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that a device keeps, and calls that do not wait. All calls of a
// device, uploads of their arguments and frees of their results are on one
// stream, the queue. Nothing on the queue waits for anything else on it, and
// memory is free behind its last use there. Other uses of an array wait for its
// Ready, and the queue waits for them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_DEVICEARRAYS_H
#define GPUASYNC_LIB_LIBRARY_DEVICEARRAYS_H

#include "GPUAsync-C/GPUAsync.h"

#include "gpuasync/Status.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace gpuexec {

class DeviceQueue;

/// A point in the work of a device, on the queue or on a caller's stream.
/// Thread safe.
class Ready : public llvm::ThreadSafeRefCountedBase<Ready> {
public:
  /// The queue outlives it.
  explicit Ready(DeviceQueue &queue) : queue(queue) {}
  /// Work before it goes on, and is not abandoned: it uses nothing of callers'.
  ~Ready();
  Ready(const Ready &) = delete;
  Ready &operator=(const Ready &) = delete;

  /// Takes over an exported event, once, before others see this.
  void set(gpuasync_event *reached) { event = reached; }
  /// Waits until the point is reached. An error of the work before it is the
  /// result of each wait from then on. Other errors are those of one wait.
  gpuasync::Status wait();

private:
  DeviceQueue &queue;
  gpuasync_event *event = nullptr;
  std::atomic<bool> gaveUp{false}; ///< the last wait came to its time limit
  std::mutex mutex;
  bool failed = false;
  uint32_t code = 0;
  std::string message;
};

using ReadyRef = llvm::IntrusiveRefCntPtr<Ready>;

/// The stream of a context. Thread safe.
class DeviceQueue {
public:
  using Body = llvm::function_ref<void(gpuasync_frame *, gpuasync_stream *)>;

  /// Holds a reference of the context.
  DeviceQueue(gpuasync_context *context, int32_t ordinal);
  /// Pending work goes on.
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue &) = delete;
  DeviceQueue &operator=(const DeviceQueue &) = delete;

  int32_t getOrdinal() const { return ordinal; }
  bool isOpen();
  /// The vendor's handle of the stream, which is made at the first use.
  gpuasync::Status open(void *&native);

  /// Runs `body` in a frame with the stream, behind abandoned work, and frees
  /// what waits for such a frame. After an error what `body` has allocated is
  /// freed.
  gpuasync::Status run(Body body);
  /// The same, but waits for nothing: `body` enqueues frees and events alone.
  gpuasync::Status enqueue(Body body);
  /// As `run`, without the stream.
  gpuasync::Status enter(llvm::function_ref<void(gpuasync_frame *)> body);
  /// Frees memory behind the work so far. Never waits: what cannot be freed
  /// now, as abandoned work may use it, a later frame frees.
  void free(llvm::ArrayRef<void *> memory);

  /// Puts `ready` behind the work so far.
  gpuasync::Status mark(Ready &ready);
  /// The same, and frees `memory`; what is left there after an error is not
  /// freed.
  gpuasync::Status mark(Ready &ready, llvm::SmallVectorImpl<void *> &memory);
  /// Waits for all work so far.
  gpuasync::Status wait();
  /// Waits for `ready`, or for all work so far if it is null. What does not end
  /// within the time limit is abandoned. Of calls whose work uses memory of the
  /// caller's.
  gpuasync::Status finish(Ready *ready);
  /// Abandons the work so far, unless it has ended.
  void abandon();

  /// Puts what comes on a caller's stream behind the work so far.
  /// GPUASYNC_UNSUPPORTED: the stream is being captured, and nothing was done.
  gpuasync::Status orderBefore(void *stream);
  /// Puts what comes on the queue, and `ready`, behind what a caller's stream
  /// has been given. Waits for the stream where that cannot be.
  gpuasync::Status orderAfter(void *stream, Ready &ready);

  /// Held while arrays that a call has written get its Ready: in the order of
  /// the queue.
  std::mutex renewal;

private:
  gpuasync::Status run(const gpuasync_function &function,
                       llvm::function_ref<void(gpuasync_frame *)> body);
  gpuasync::Status runWithStream(const gpuasync_function &function, Body body);
  void freeLater(llvm::ArrayRef<void *> memory);
  void freeDelayed(gpuasync_frame *frame, gpuasync_stream *stream);

  gpuasync_context *context;
  int32_t ordinal;
  std::mutex mutex;
  gpuasync_stream *stream = nullptr;
  std::atomic<bool> hasDelayed{false};
  llvm::SmallVector<void *, 4> delayed; ///< to be freed by a later frame
};

/// Memory of the device that a call has made for a result: the `owner` of a
/// gpuasync_value whose `device` is not the host. Any use of its memory finds
/// it by address.
class DeviceArray {
public:
  /// An array without memory yet. `queue` keeps the device too.
  explicit DeviceArray(std::shared_ptr<DeviceQueue> queue)
      : queue(std::move(queue)) {}
  /// Frees the memory behind the work that the queue has been given so far.
  ~DeviceArray();
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;

  /// Takes over `memory`, which gpuasync_alloc gave.
  void adopt(void *memory, uint64_t bytes, ReadyRef ready);

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
  /// Hands its memory over: it is no longer freed here. Null: it has none.
  void *release();

  /// The array that an address lies in, and its state. It stays the caller's
  /// to keep the array.
  struct Found {
    const DeviceArray *array = nullptr; ///< null: there is none
    DeviceQueue *queue = nullptr;
    ReadyRef ready;
  };
  static Found find(const void *address);
  /// A call has written the arrays that these addresses lie in: from now on
  /// they are there at `ready`.
  static void renew(llvm::ArrayRef<const void *> addresses,
                    const ReadyRef &ready);

  gpuasync::Status wait();
  /// Copies `bytes` bytes from `from` on, which is in the array, to host
  /// memory, and waits.
  gpuasync::Status download(const void *from, void *to, uint64_t bytes);

private:
  friend class ArrayTree;

  // Before what refers to it.
  std::shared_ptr<DeviceQueue> queue;
  void *memory = nullptr;
  ReadyRef ready; ///< under the tree's lock
  //===--- In the tree, under its lock
  bool isKnown = false;
  uintptr_t begin = 0, end = 0;
  uint32_t priority = 0;
  DeviceArray *left = nullptr, *right = nullptr;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_DEVICEARRAYS_H
