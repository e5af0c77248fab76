//===- Uploads.cpp - Copies of host memory that a context keeps -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Uploads.h.
//===----------------------------------------------------------------------===//

#include "shim/pool/ContextPools.h"
#include "shim/pool/HostMemory.h"

#include <algorithm>
#include <string.h>

using namespace gpuasync;

static constexpr uint64_t chunkBytes = 4 << 20;

/// The mutex is held.
Status Uploads::fill(char *destination, const char *source, uint64_t bytes) {
  Device &driver = *context.driver;
  if (!stream) {
    RETURN_IF_ERROR(driver.createStream(stream));
    context.physicalStreams.fetch_add(1, std::memory_order_relaxed);
  }
  PoolAllocation *staging = nullptr;
  RETURN_IF_ERROR(
      context.memory.takeStaging(std::min(bytes, chunkBytes), staging));
  Status status;
  for (uint64_t offset = 0; offset < bytes && status.ok();
       offset += chunkBytes) {
    uint64_t piece = std::min(bytes - offset, chunkBytes);
    memcpy(staging->pointer, source + offset, piece);
    status = driver.submit(
        stream, Command(ByteCopy{destination + offset, staging->pointer, piece},
                        nullptr));
    bool done = false;
    // After an error too: what is enqueued reads the staging.
    Status waited = driver.waitStream(stream, -1, done);
    if (status.ok())
      status = std::move(waited);
  }
  context.memory.dropStaging(staging);
  return status;
}

Status Uploads::make(const void *source, uint64_t bytes, PoolAllocation *&out) {
  PoolAllocation *block = nullptr;
  RETURN_IF_ERROR(context.memory.takeKept(bytes, block));
  Status status;
  {
    std::lock_guard<std::mutex> lock(mutex);
    status = fill(block->pointer, static_cast<const char *>(source), bytes);
  }
  if (!status.ok()) {
    context.memory.dropKept(block);
    return status;
  }
  threadState().slotFor(&context.context)->counters.uploadedBytes.add(bytes);
  out = block;
  return Status();
}

Status Uploads::checkResident(const void *pointer, uint64_t bytes,
                              bool &isReached) {
  isReached = true;
  if (!bytes)
    return Status();
  if (!pointer)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null pointer");
  if (bytes > INT64_MAX)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "too large: %ju bytes", bytes);
  RETURN_IF_ERROR(
      checkHostMemory(pointer, extentOf(bytes), "resident argument"));
  isReached = context.has(CapHostAccess);
  return Status();
}

Status Uploads::makeResident(const void *pointer, uint64_t bytes,
                             PoolAllocation *&out) {
  bool ours = false;
  Status held =
      context.memory.check(pointer, extentOf(bytes), "resident argument", ours);
  if (ours)
    return held;
  PointerKind kind = context.driver->pointerKind(pointer);
  if (kind == PointerKind::Device || kind == PointerKind::Managed)
    return Status();
  return make(pointer, bytes, out);
}

void Uploads::giveUp(PoolAllocation *block) {
  {
    std::lock_guard<std::mutex> lock(givenUpMutex);
    givenUp.push(block);
  }
  context.retiredCount.fetch_add(1, std::memory_order_relaxed);
}

void Uploads::freeGivenUp() {
  auto next = [&] {
    std::lock_guard<std::mutex> lock(givenUpMutex);
    return givenUp.pop();
  };
  while (PoolAllocation *block = next())
    context.memory.dropKept(block);
}

void Uploads::keepGivenUp() {
  std::lock_guard<std::mutex> lock(givenUpMutex);
  givenUp = {}; // the pool still has it
}

void Uploads::destroy(bool alive) {
  givenUp = {}; // memory goes as a whole
  if (!stream)
    return;
  if (alive)
    context.driver->destroyStream(stream);
  context.physicalStreams.fetch_sub(1, std::memory_order_relaxed);
  stream = nullptr;
}
