//===- Extent.cpp - The entry that computes bytes of an array -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "shim/command/Extent.h"
#include "shim/abi/Frame.h"

using namespace gpuasync;

extern "C" uint64_t gpuasync_extent(gpuasync_frame *memory,
                                    const int64_t *sizes,
                                    const int64_t *strides, uint32_t rank,
                                    uint64_t elementBytes,
                                    uint32_t siteIndex) noexcept {
  Extent extent;
  bool ok = Frame::enter(memory, siteIndex, [&](Frame &, auto *) -> Status {
    RETURN_IF_ERROR(checkExtent(sizes, strides, rank, elementBytes, extent));
    if (extent.low)
      return makeStatus(GPUASYNC_UNSUPPORTED,
                        "a negative stride: data begins %jd bytes before the "
                        "first element",
                        -extent.low);
    return Status();
  });
  return ok ? extent.bytes() : 0;
}
