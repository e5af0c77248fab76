//===- Values.cpp - Values outside of calls -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the functions of gpuasync_value: makes, frees, waits and
// downloads.
//===----------------------------------------------------------------------===//

#include "Library/Callable.h"
#include "Library/SharedDevice.h"
#include "Library/Status.h"

#include "gpuasync/Memory.h"

#include <cstdlib>
#include <malloc.h>

using namespace llvm;
using namespace gpuexec;

gpuasync_value gpuasync_value_make(void *data, uint32_t type, uint32_t rank,
                                   const int64_t *shape) noexcept {
  gpuasync_value value = {};
  value.data = data;
  value.type = type;
  value.rank = rank;
  value.device = GPUASYNC_HOST;
  if (!shape || rank > GPUASYNC_MAX_RANK)
    return value;
  uint64_t stride = 1;
  for (uint32_t i = rank; i-- > 0;) {
    value.shape[i] = shape[i];
    value.strides[i] = int64_t(stride);
    stride *= uint64_t(std::max<int64_t>(shape[i], 1));
  }
  return value;
}

void gpuasync_value_release(gpuasync_value *value) noexcept {
  if (!value)
    return;
  if (DeviceArray *array = DeviceArray::of(*value)) {
    delete array;
    *value = gpuasync_value();
    return;
  }
  // Another result may be allocated here, of which a device has no copy.
  if (value->owner)
    gpuasync_host_memory_changed(value->owner,
                                 malloc_usable_size(value->owner));
  std::free(value->owner);
  *value = gpuasync_value();
}

gpuasync_status *gpuasync_value_wait(const gpuasync_value *value) noexcept {
  if (!value)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_value_wait: the value is null");
  if (DeviceArray *array = DeviceArray::of(*value))
    return array->wait().release();
  if (value->device == GPUASYNC_HOST)
    return nullptr;
  // Memory of the caller's may be that of an array. Of other memory nobody
  // knows which call writes it.
  if (ReadyRef ready = DeviceArray::find(value->data).ready)
    return ready->wait().release();
  return waitForQueues(value->device).release();
}

gpuasync_status *gpuasync_queues_wait(void) noexcept {
  return waitForQueues(GPUASYNC_HOST).release();
}

gpuasync_status *gpuasync_value_download(const gpuasync_value *value,
                                         void *data) noexcept {
  DeviceArray *array = value ? DeviceArray::of(*value) : nullptr;
  if (!array)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_value_download: the value is no result that the "
                "library keeps on a device");
  uint64_t bytes = bytesOf(value->type);
  for (uint32_t i = 0; i < value->rank; ++i)
    bytes *= uint64_t(value->shape[i]);
  if (bytes && !data)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_value_download: `data` is null");
  return array->download(value->data, data, bytes).release();
}
