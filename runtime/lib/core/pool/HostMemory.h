//===- HostMemory.h - Host memory whose bounds are known --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process's table behind gpuasync/Memory.h. While it is empty, looking
// costs the load of one word.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_POOL_HOSTMEMORY_H
#define GPUASYNC_CORE_POOL_HOSTMEMORY_H

#include "core/abi/Extent.h"
#include "core/process/StatusImpl.h"

#include <atomic>

namespace gpuasync {

/// How many pieces are known.
extern std::atomic<uint64_t> knownHostMemory;

/// An error if what lies around `first`, the first element, is partly in known
/// memory; that of the first element, if it is in one.
Status checkKnownHostMemory(const void *first, const Extent &extent,
                            const char *role);
inline Status checkHostMemory(const void *first, const Extent &extent,
                              const char *role) {
  if (__builtin_expect(!knownHostMemory.load(std::memory_order_acquire), 1))
    return Status();
  return checkKnownHostMemory(first, extent, role);
}

} // namespace gpuasync

#endif // GPUASYNC_CORE_POOL_HOSTMEMORY_H
