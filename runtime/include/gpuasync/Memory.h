//===- Memory.h - Host memory that programs are given -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For whoever hands host memory to lowered programs: a copy that leaves it is
// then an error, not a write to whatever lies behind it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_MEMORY_H
#define GPUASYNC_MEMORY_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

/// From here to the removal `bytes` bytes at `pointer` are one piece of host
/// memory: copies, fills and registrations of any context that begin in it or
/// reach it, and leave it, are refused (GPUASYNC_INVALID_ARGUMENT, with `what`:
/// "argument 0"). Known memory that it overlaps is forgotten. `what` (null:
/// "host memory") and `place` ("file:line:column", to the end or a newline; may
/// be null) live until the removal. Costs nothing but a lock for each access of
/// pageable host memory while any is known. Thread safe.
GPUASYNC_API gpuasync_status *
gpuasync_host_memory_add(const void *pointer, uint64_t bytes, const char *what,
                         const char *place) GPUASYNC_NOEXCEPT;

/// What was added at `pointer` is known no longer; before it is freed. Nothing
/// if there is none. Thread safe.
GPUASYNC_API void
gpuasync_host_memory_remove(const void *pointer) GPUASYNC_NOEXCEPT;

/// The known memory that an access of `bytes` (at least 1) at `address` touches
/// first; 0 if there is none. Any result may be null. Thread safe.
GPUASYNC_API int32_t gpuasync_host_memory_find(
    const void *address, uint64_t bytes, const void **pointer,
    uint64_t *knownBytes, const char **what,
    const char **place) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_MEMORY_H
