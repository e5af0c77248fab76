//===- CallOnQueue.cpp - Calls with arrays on a device --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders calls with the arrays that stay on a device, and makes such arrays of
// arguments on the host and of results.
//===----------------------------------------------------------------------===//

#include "Library/Call.h"
#include "Library/Status.h"

#include "gpuasync/Program.h"

#include <cstdlib>
#include <cstring>

using namespace llvm;
using namespace gpuexec;

/// Copies an argument of the host's to the device. The runtime has read
/// pageable memory when it returns, but not what a caller has pinned. True if
/// that may be read later.
static bool upload(gpuasync_frame *frame, gpuasync_stream *stream, void *to,
                   const void *from, uint64_t bytes) {
  constexpr uint64_t mostCopied = 16 << 20;
  if (!bytes)
    return false;
  void *copy = bytes <= mostCopied ? std::malloc(bytes) : nullptr;
  if (copy)
    std::memcpy(copy, from, bytes);
  gpuasync_memcpy(frame, stream, to, copy ? copy : from, bytes,
                  GPUASYNC_NO_SITE);
  std::free(copy);
  return !copy;
}

/// Before the work of a call that is not on the queue: waits for the arrays
/// that it uses there, or puts the caller's stream behind the queue.
gpuasync_status *Call::awaitArrays(void *stream) {
  DeviceQueue &arrays = *device->queue;
  if (gpuasync_status *status = prepareArrays(0))
    return status;
  if (isOrdered) {
    gpuasync::Status status = arrays.orderBefore(stream);
    isBehindQueue = status.ok();
    // A graph holds nothing of the queue: the host waits.
    if (status.code() != GPUASYNC_UNSUPPORTED)
      return status.release();
  }
  for (const ReadyRef &each : used)
    if (gpuasync::Status status = each->wait(); !status.ok())
      return status.release();
  if (written.empty())
    return nullptr;
  // Earlier calls may still read what this one writes.
  gpuasync::Status status = arrays.mark(*ready);
  return status.ok() ? ready->wait().release() : status.release();
}

/// Allocates on the host what the end of the call needs, when nothing of it is
/// enqueued yet.
gpuasync_status *Call::prepareArrays(size_t count) {
  ready = ReadyRef(new (std::nothrow) Ready(*device->queue));
  bool isMade = ready.get();
  for (size_t i = 0; i < count && isMade; ++i) {
    made.emplace_back(new (std::nothrow) DeviceArray(
        std::shared_ptr<DeviceQueue>(device, device->queue.get())));
    isMade = made.back().get();
  }
  return isMade ? nullptr
                : fail(GPUASYNC_OUT_OF_MEMORY,
                       "@" + Twine(function.name) +
                           ": no host memory for its arrays");
}

/// Allocates what arguments on the host and results get, and copies the
/// arguments, in one frame: after an error there is nothing.
gpuasync::Status Call::placeOnDevice(ArrayRef<gpuasync_value> arguments,
                                     ArrayRef<gpuasync_value> results) {
  uploads.clear();
  kept.assign(results.size(), nullptr);
  gpuasync::Status status =
      queue->run([&](gpuasync_frame *frame, gpuasync_stream *stream) {
        for (auto [index, parameter] : enumerate(function.results))
          if (isTaken(index))
            kept[index] = given[function.takes[index]].data;
          else if (function.destinations[index] >= 0 && !results[index].data)
            kept[index] = gpuasync_alloc(
                frame, 0, stream, std::max<uint64_t>(countBytes(parameter), 1),
                GPUASYNC_ALLOC_DEVICE, GPUASYNC_NO_SITE);
        for (auto [parameter, value, range] :
             zip(function.arguments, arguments, ranges)) {
          const bool onHost = value.device == GPUASYNC_HOST;
          if (parameter.kind != GPUASYNC_KIND_TENSOR ||
              isTaken(parameter.takenBy) || (parameter.takenBy < 0 && !onHost))
            continue;
          const uint64_t bytes = range.end - range.begin;
          if (parameter.takenBy >= 0) {
            // The elements go where the result is computed of them.
            void *to = getPlaceOf(parameter.takenBy, results);
            if (to && onHost)
              isReadLater |= upload(frame, stream, to, value.data, bytes);
            else if (to)
              gpuasync_memcpy(frame, stream, to, value.data, bytes,
                              GPUASYNC_NO_SITE);
            continue;
          }
          // Nothing has no address.
          void *copy =
              gpuasync_alloc(frame, 0, stream, std::max<uint64_t>(bytes, 1),
                             GPUASYNC_ALLOC_DEVICE, GPUASYNC_NO_SITE);
          if (copy)
            isReadLater |= upload(frame, stream, copy, value.data, bytes);
          uploads.push_back(copy);
        }
      });
  if (status.ok())
    return status;
  uploads.clear(); // the frame has freed it
  kept.clear();
  return status;
}

/// Uploads the tensors that are on the host, and allocates what results get.
gpuasync_status *
Call::makeDeviceMemory(MutableArrayRef<gpuasync_value> arguments,
                       ArrayRef<gpuasync_value> results) {
  if (gpuasync_status *status = prepareArrays(results.size()))
    return status;
  gpuasync::Status status = placeOnDevice(arguments, results);
  // Memory that earlier calls free is there once these have ended.
  if (status.code() == GPUASYNC_OUT_OF_MEMORY && queue->wait().ok())
    status = placeOnDevice(arguments, results);
  // The arguments are the caller's again when the call returns.
  if (isReadLater) {
    gpuasync::Status read = queue->finish(nullptr);
    if (status.ok() || read.code() == GPUASYNC_TIMEOUT)
      status = join(std::move(status), std::move(read));
  }
  if (!status.ok()) {
    freeOnQueue();
    return fail(status.code(), "@" + Twine(function.name) +
                                   ": device memory for its arguments and "
                                   "results: " +
                                   status.message());
  }
  isPlaced = true;
  const void *const *copy = uploads.begin();
  for (auto [parameter, value, range] :
       zip(function.arguments, arguments, ranges)) {
    const bool onHost = value.device == GPUASYNC_HOST;
    if (parameter.kind != GPUASYNC_KIND_TENSOR || isTaken(parameter.takenBy) ||
        (parameter.takenBy < 0 && !onHost))
      continue;
    const uint64_t bytes = range.end - range.begin;
    value.data = parameter.takenBy < 0 ? const_cast<void *>(*copy++)
                                       : getPlaceOf(parameter.takenBy, results);
    value.device = queue->getOrdinal();
    range.begin = reinterpret_cast<uintptr_t>(value.data);
    range.end = range.begin + bytes;
  }
  return nullptr;
}

/// Frees what a call that failed has left of its memory on the device.
void Call::freeOnQueue() {
  // Memory that was to be taken, and is not yet, is the caller's.
  for (auto [index, memory] : enumerate(kept))
    if (memory && !isTaken(index))
      uploads.push_back(memory);
  queue->free(uploads);
  uploads.clear();
  kept.clear();
}

/// Says when the results are there, and what the function has written, and
/// frees what it alone had on the device. Also after an error of the function.
gpuasync::Status Call::endOnQueue(bool failed) {
  std::unique_lock<std::mutex> lock(queue->renewal, std::defer_lock);
  if (!written.empty())
    lock.lock();
  // A function that failed may have abandoned work that uses them.
  gpuasync::Status status =
      failed ? queue->mark(*ready) : queue->mark(*ready, uploads);
  if (!written.empty() && status.ok())
    DeviceArray::renew(written, ready);
  return status;
}

gpuasync_status *Call::runOnQueue(const gpuasync_value *arguments,
                                  size_t argumentCount, gpuasync_value *results,
                                  size_t resultCount, bool waits) {
  // A call that run refuses at once needs no queue.
  if (resultCount != function.results.size() || (resultCount && !results))
    return run(nullptr, arguments, argumentCount, results, resultCount);
  void *native = nullptr;
  gpuasync::Status status = device->queue->open(native);
  if (!status.ok())
    return status.release();
  queue = device->queue.get();
  SmallVector<gpuasync_value, 4> filled(results, results + resultCount);
  status = gpuasync::Status(
      run(native, arguments, argumentCount, filled.data(), resultCount));
  if (!isPlaced)
    return finish(std::move(status));
  // Memory of arguments is still the caller's if the program has not begun.
  for (size_t i = 0; i < kept.size(); ++i)
    if (isTaken(i))
      kept[i] = nullptr;
  const bool failed = !status.ok();
  gpuasync::Status ended = endOnQueue(failed);
  const bool isMarked = ended.ok();
  if (!failed)
    status = std::move(ended);
  // After an error the arguments are the caller's again. A function that gave
  // up has waited long enough.
  if (status.code() == GPUASYNC_TIMEOUT)
    queue->abandon();
  else if (waits || !status.ok())
    status = join(std::move(status),
                  queue->finish(isMarked ? ready.get() : nullptr));
  if (!status.ok()) {
    freeOnQueue();
    return finish(std::move(status));
  }
  for (size_t i = 0; i < resultCount; ++i) {
    if (kept[i]) {
      made[i]->adopt(kept[i], countBytes(function.results[i]), ready);
      filled[i].owner = made[i].release();
    }
    results[i] = filled[i];
  }
  return finish(std::move(status));
}
