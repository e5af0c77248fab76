//===- Transfer.cpp - What copies and fills share -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Transfer.h.
//===----------------------------------------------------------------------===//

#include "shim/abi/Transfer.h"

using namespace gpuasync;

Status gpuasync::settleDownloads(Frame &frame, const char *first,
                                 uint64_t bytes, bool staged,
                                 const DeviceUse *except) {
  DeviceUse &current = *frame.current;
  Status status;
  for (OpenFrame *each = &frame; each; each = each->outer)
    each->forEachDevice([&](DeviceUse &use) {
      // An outer frame may have failed before it had a context.
      if (!status.ok() || &use == except || !use.context)
        return;
      // Within a context, what was taken over keeps the order of the calls.
      if (!use.downloads && except && use.context == except->context)
        return;
      HostCopies &copies = *use.context->hostCopies;
      if (!copies.mayBePending(use.downloads))
        return;
      status = frame.makeCurrent(use);
      if (status.ok())
        status = copies.settle(use.downloads, first, bytes, staged, nullptr);
    });
  return status.ok() ? frame.makeCurrent(current) : std::move(status);
}

/// Whether the device reaches host memory that the context has not registered.
bool Transfer::isReachable(const void *first, const Extent &extent) {
  for (uint32_t i = 0; frame.more && i <= frame.moreCount; ++i) {
    gpuasync_context &other = *(i ? frame.more[i - 1] : frame.first).context;
    bool partly = false;
    if (&other.kind == &context.kind &&
        other.registrations.cover(first, extent, partly))
      return true;
  }
  // Another context may end its registration at any time. It may begin or end
  // while the driver answers.
  Driver &kind = context.kind;
  return !kind.hasRegistered(first) &&
         context.driver->pointerKind(first) != PointerKind::Pageable &&
         !kind.hasRegistered(first);
}

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
  pageable =
      pageable || context.has(CapHostAccess) || !isReachable(first, extent);
  // A graph copies when it runs: the memory must still be there.
  if (!pageable || !frame.capture)
    return Status();
  return refuseCaptured("a copy of pageable host memory",
                        "register it, or allocate host_shared memory, before "
                        "the capture");
}
