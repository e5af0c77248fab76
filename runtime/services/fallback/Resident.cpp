//===- Resident.cpp - Resident arguments without device mirrors -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each call uploads the argument again. The copy is freed once nothing of the
// context runs.
//===----------------------------------------------------------------------===//

#include "gpuasync/Memory.h"
#include "shim/abi/Frame.h"

using namespace gpuasync;

/// Where the device reaches the argument.
static Status upload(DeviceUse &use, const void *pointer, uint64_t bytes,
                     void *&out) {
  gpuasync_context &context = *use.context;
  out = const_cast<void *>(pointer);
  bool isReached = false;
  RETURN_IF_ERROR(context.uploads.checkResident(pointer, bytes, isReached));
  if (isReached)
    return Status();
  PoolAllocation *block = nullptr;
  RETURN_IF_ERROR(context.uploads.makeResident(pointer, bytes, block));
  if (!block)
    return Status();
  out = block->pointer;
  use.slot->counters.residentUploads.add(1);
  // This frame runs, so the copy stays until that has ended. No caller's graph
  // can read it, since this runtime takes part in no capture.
  context.uploads.giveUp(block);
  return Status();
}

extern "C" {

void *gpuasync_resident(gpuasync_frame *memory, uint32_t device,
                        const void *pointer, uint64_t bytes,
                        uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  if (!frame->usable())
    return nullptr;
  void *found = nullptr;
  bool ok = frame->run(frame->siteAt(siteIndex), [&]() -> Status {
    DeviceUse *use = nullptr;
    RETURN_IF_ERROR(frame->enterDevice(device, use));
    return upload(*use, pointer, bytes, found);
  });
  return ok ? found : nullptr;
}

void gpuasync_host_memory_changed(const void *, uint64_t) noexcept {}
}
