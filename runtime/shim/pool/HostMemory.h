//===- HostMemory.h - Callers' memory whose bounds are known ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process's table behind gpuasync/Memory.h, and the arrays of a thread's
// calls. While there is none, looking costs the load of two words.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_HOSTMEMORY_H
#define GPUASYNC_SHIM_POOL_HOSTMEMORY_H

#include "gpuasync/Memory.h"
#include "shim/base/StatusImpl.h"
#include "shim/command/Extent.h"

#include <atomic>

namespace gpuasync {

/// How many pieces are known.
extern std::atomic<uint64_t> knownHostMemory;

/// The arrays of the thread's innermost call; null outside of such calls.
extern __thread gpuasync_call_arrays *callArrays
    __attribute__((tls_model("initial-exec")));

/// An error if what lies around `first`, the first element, leaves the arrays
/// of the thread's calls that hold the first element, or is partly in memory of
/// the table; of the first element, if that is in one. `isPlace`: the address
/// may stand for memory of no bytes.
Status checkKnownHostMemory(const void *first, const Extent &extent,
                            const char *role, bool isPlace);
inline Status checkHostMemory(const void *first, const Extent &extent,
                              const char *role, bool isPlace = false) {
  if (__builtin_expect(
          !callArrays && !knownHostMemory.load(std::memory_order_acquire), 1))
    return Status();
  return checkKnownHostMemory(first, extent, role, isPlace);
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_HOSTMEMORY_H
