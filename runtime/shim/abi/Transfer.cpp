//===- Transfer.cpp - What copies and fills share -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Transfer.h.
//===----------------------------------------------------------------------===//

#include "shim/abi/Transfer.h"

using namespace gpuasync;

Status Transfer::classify(const void *first, const Extent &extent,
                          const char *role, bool &pageable) {
  pageable = false;
  if (!first)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null %s", role);
  bool ours = false;
  Status held = context.memory.check(first, extent, role, ours);
  for (uint32_t i = 0; !ours && i <= frame.moreCount && frame.more; ++i) {
    DeviceUse &other = i ? frame.more[i - 1] : frame.first;
    if (&other != &use)
      held = other.context->memory.check(first, extent, role, ours);
  }
  if (ours)
    return held;
  // A copy that leaves a registered part is treated as pageable.
  if (context.registrations.cover(first, extent, pageable))
    return Status();
  if (Status status = checkHostMemory(first, extent, role); !status.ok())
    return status;
  pageable = pageable || context.has(CapHostAccess) ||
             context.driver->pointerKind(first) == PointerKind::Pageable;
  // A graph copies when it runs: the memory must still be there.
  if (!pageable || !frame.capture)
    return Status();
  return refuseCaptured("a copy of pageable host memory",
                        "register it, or allocate host_shared memory, before "
                        "the capture");
}
