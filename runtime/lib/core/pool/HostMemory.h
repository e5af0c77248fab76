//===- HostMemory.h - Host memory whose bounds are known --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process's table behind gpuasync/Memory.h. While it is empty, looking
// costs the load of one word.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_POOL_HOSTMEMORY_H
#define GPUASYNC_CORE_POOL_HOSTMEMORY_H

#include "core/process/StatusImpl.h"

#include <atomic>

namespace gpuasync {

/// How many pieces are known.
extern std::atomic<uint64_t> knownHostMemory;

/// An error if `bytes` (at least 1) at `pointer` lie partly in known memory.
Status checkKnownHostMemory(const void *pointer, uint64_t bytes,
                            const char *role);
inline Status checkHostMemory(const void *pointer, uint64_t bytes,
                              const char *role) {
  if (__builtin_expect(!knownHostMemory.load(std::memory_order_acquire), 1))
    return Status();
  return checkKnownHostMemory(pointer, bytes, role);
}

} // namespace gpuasync

#endif // GPUASYNC_CORE_POOL_HOSTMEMORY_H
