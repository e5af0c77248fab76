//===- Call.h - One call of a function --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks and packs the values of a call, and runs it. Call.cpp runs
// it, CallArguments.cpp checks its values, CallResults.cpp finds the memory of
// its results, and CallOnQueue.cpp has its arrays on a device.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_CALL_H
#define GPUASYNC_LIB_LIBRARY_CALL_H

#include "Library/AbandonedResults.h"
#include "Library/Executable.h"

#include "gpuasync/Memory.h"

#include <memory>

namespace gpuexec {

/// The bytes that an array lies in; without elements none, where it begins.
struct Range {
  uintptr_t begin = 0, end = 0;
  bool overlaps(const Range &other) const {
    return begin < end && other.begin < other.end && begin < other.end &&
           other.begin < end;
  }
};

/// One call's checks and packed list.
class Call {
public:
  Call(const gpuasync_executable &executable, const Callable &function)
      : Call(executable, function, executable.device) {}
  /// A call on another device of the executable's kind, which outlives it.
  Call(const gpuasync_executable &executable, const Callable &function,
       const std::shared_ptr<SharedDevice> &device)
      : executable(executable), function(function), device(device) {
    AbandonedResults::get().reap();
  }
  /// Results that the caller did not get go, or stay as long as they are
  /// written.
  ~Call() {
    if (allocated.empty())
      return;
    AbandonedResults::get().add(device, allocated);
    AbandonedResults::get().reap();
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  /// Before any run: these arguments of it are given up, where they are
  /// donated.
  void donate(gpuasync_value *arguments) { given = arguments; }
  /// `stream` is the caller's, of functions that take one.
  gpuasync_status *run(void *stream, const gpuasync_value *arguments,
                       size_t argumentCount, gpuasync_value *results,
                       size_t resultCount);
  /// Runs, ordered into the caller's stream.
  gpuasync_status *runOn(void *stream, const gpuasync_value *arguments,
                         size_t argumentCount, gpuasync_value *results,
                         size_t resultCount);
  /// Runs and waits; of executables that keep arrays on the device, in that
  /// device's own order.
  gpuasync_status *runAndWait(const gpuasync_value *arguments,
                              size_t argumentCount, gpuasync_value *results,
                              size_t resultCount);
  /// Runs in the device's own order, of executables that keep arrays there:
  /// host arrays are uploaded, and results stay. With `waits` the work is done
  /// when it returns.
  gpuasync_status *runOnQueue(const gpuasync_value *arguments,
                              size_t argumentCount, gpuasync_value *results,
                              size_t resultCount, bool waits);
  /// runOnQueue where arrays stay on the device, else runAndWait.
  gpuasync_status *runInOrder(const gpuasync_value *arguments,
                              size_t argumentCount, gpuasync_value *results,
                              size_t resultCount, bool waits) {
    return executable.keepsArrays
               ? runOnQueue(arguments, argumentCount, results, resultCount,
                            waits)
               : runAndWait(arguments, argumentCount, results, resultCount);
  }

private:
  /// Ends the call: its results are the caller's, or none are left.
  gpuasync_status *finish(gpuasync::Status status) {
    if (status.ok())
      allocated.clear(); // the caller's
    return status.release();
  }
  gpuasync_status *refuse(const char *what, size_t index,
                          const Parameter &parameter, const llvm::Twine &why);
  gpuasync_status *check(const char *what, size_t index,
                         const Parameter &parameter,
                         const gpuasync_value &value, Range &range);
  gpuasync_status *checkSizes(const gpuasync_value *arguments);
  int64_t *describeArray(const Parameter &parameter,
                         const gpuasync_value &value);
  void announce(const Parameter &parameter, const Range &range);
  gpuasync_status *useArray(const char *what, size_t index,
                            const Parameter &parameter,
                            const gpuasync_value &value, bool isWritten);
  gpuasync_status *awaitArrays(void *stream);
  gpuasync_status *prepareArrays(size_t count);
  gpuasync_status *
  makeDeviceMemory(llvm::MutableArrayRef<gpuasync_value> arguments,
                   llvm::ArrayRef<gpuasync_value> results);
  gpuasync::Status placeOnDevice(llvm::ArrayRef<gpuasync_value> arguments,
                                 llvm::ArrayRef<gpuasync_value> results);
  gpuasync::Status endOnQueue(bool failed);
  void freeOnQueue();
  gpuasync_status *findTaken(const gpuasync_value *results);
  gpuasync_status *
  makeHostMemory(llvm::MutableArrayRef<gpuasync_value> arguments,
                 llvm::ArrayRef<gpuasync_value> results);
  void takeOver();
  gpuasync_status *checkResult(size_t index, const gpuasync_value &result);
  gpuasync_status *prepareResult(size_t index, gpuasync_value &result);
  void readResult(size_t index, gpuasync_value &result);

  const gpuasync_executable &executable;
  const Callable &function;
  const std::shared_ptr<SharedDevice> &device;
  llvm::SmallVector<int64_t, 128> words;
  int64_t *next = nullptr;
  llvm::SmallVector<void *, 24> packed;
  llvm::SmallVector<int64_t, 32> storage;
  llvm::SmallVector<Range, 16> ranges;
  llvm::SmallVector<gpuasync_call_array, 16> arrays; ///< for the runtime
  /// Memory for results, the caller's in the end.
  llvm::SmallVector<void *, 4> allocated;
  //===--- Arrays on the device
  llvm::SmallVector<ReadyRef, 8> used; ///< when those it is given are there
  /// Memory there that it may write.
  llvm::SmallVector<const void *, 4> written;
  ReadyRef ready;               ///< when its own work has ended
  bool isOrdered = false;       ///< into a caller's stream
  bool isBehindQueue = false;   ///< and that is behind the queue
  DeviceQueue *queue = nullptr; ///< of a call in the device's order
  /// On the device: copies of arguments, and by index what results get.
  llvm::SmallVector<void *, 8> uploads, kept;
  llvm::SmallVector<std::unique_ptr<DeviceArray>, 4> made; ///< for these
  bool isReadLater = false;        ///< an argument, by what is enqueued
  bool isPlaced = false;           ///< uploads and results are there
  gpuasync_value *given = nullptr; ///< arguments that are given up
  /// By index, of results that take an argument's memory: whether the argument
  /// is given up, else its elements are copied; and on the host that memory.
  llvm::SmallVector<bool, 4> taken;
  llvm::SmallVector<void *, 4> takenOnHost;
  bool isTaken(size_t result) const {
    return result < taken.size() && taken[result];
  }
  /// The place of a result on the device.
  void *getPlaceOf(size_t result,
                   llvm::ArrayRef<gpuasync_value> results) const {
    return results[result].data ? results[result].data : kept[result];
  }
};

/// Whether it is an array without elements.
bool isEmpty(const gpuasync_value &value);

/// Returns the error of a call, `status`, and of the wait for its work.
gpuasync::Status join(gpuasync::Status status, gpuasync::Status awaited);

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_CALL_H
