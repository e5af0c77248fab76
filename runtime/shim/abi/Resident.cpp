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
  PoolAllocation *copy = nullptr;
  auto body = [&](Frame &frame, const gpuasync_site *) -> Status {
    DeviceUse *use = nullptr;
    RETURN_IF_ERROR(frame.enterDevice(device, use));
    bool isReached = false;
    RETURN_IF_ERROR(
        use->context->uploads.checkResident(pointer, bytes, isReached));
    return isReached ? Status()
                     : findResident(frame, *use, pointer, bytes, copy);
  };
  const bool ok = Frame::enter(memory, siteIndex, body);
  if (!ok)
    return nullptr;
  return copy ? copy->pointer : const_cast<void *>(pointer);
}
}
