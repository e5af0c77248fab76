//===- Resident.cpp - Arguments that stay on the device -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry that lowered code calls.
//===----------------------------------------------------------------------===//

#include "shim/abi/Frame.h"

using namespace gpuasync;

extern "C" {

void *gpuasync_resident(gpuasync_frame *memory, uint32_t device,
                        const void *pointer, uint64_t bytes,
                        uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  if (!frame->usable())
    return nullptr;
  PoolAllocation *copy = nullptr;
  bool ok = frame->run(frame->siteAt(siteIndex), [&]() -> Status {
    DeviceUse *use = nullptr;
    RETURN_IF_ERROR(frame->enterDevice(device, use));
    bool isReached = false;
    RETURN_IF_ERROR(
        use->context->uploads.checkResident(pointer, bytes, isReached));
    return isReached ? Status()
                     : findResident(*frame, *use, pointer, bytes, copy);
  });
  if (!ok)
    return nullptr;
  return copy ? copy->pointer : const_cast<void *>(pointer);
}
}
