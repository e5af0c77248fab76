//===- Constants.cpp - Constant arrays on the device ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that lowered code calls; what they find is in shim/module.
//===----------------------------------------------------------------------===//

#include "gpuasync/Check.h"
#include "shim/abi/Frame.h"

using namespace gpuasync;

extern "C" {

void *gpuasync_constant(gpuasync_frame *memory, uint32_t device, uint32_t index,
                        uint32_t siteIndex) noexcept {
  const void *found = nullptr;
  Frame::enter(memory, siteIndex, [&](Frame &frame, auto *) -> Status {
    DeviceUse *use = nullptr;
    RETURN_IF_ERROR(frame.enterDevice(device, use));
    return use->instance->findConstant(index, found);
  });
  return const_cast<void *>(found);
}

uint64_t gpuasync_check_constant_bytes(const gpuasync_frame *memory,
                                       uint32_t index) noexcept {
  auto *frame = reinterpret_cast<const Frame *>(memory);
  const void *found = nullptr;
  bool isThere = frame->first.instance &&
                 frame->first.instance->findConstant(index, found).ok();
  return isThere ? frame->first.instance->program->modules[index].images[0].size
                 : 0;
}
}
