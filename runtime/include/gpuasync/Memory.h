//===- Memory.h - Host memory that programs are given -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For whoever hands memory to lowered programs: a copy that leaves it is then
// an error, not a write to whatever lies behind it; and copies of it that
// devices keep are made anew when it has changed.
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
/// if there is none. Of that memory gpuasync_host_memory_changed is told, too.
/// Thread safe.
GPUASYNC_API void
gpuasync_host_memory_remove(const void *pointer) GPUASYNC_NOEXCEPT;

/// Tells that `bytes` bytes at `pointer` have changed, or are about to be
/// freed: copies that contexts keep of any part of it for arguments with the
/// attribute gpu_async.resident (gpuasync_resident) are given up, and the next
/// call that gets such an argument makes another one. Frames that are open use
/// either. A copy that is given up is freed once its context rests; one that
/// was there when a function of the context was captured into a caller's graph,
/// when the context is closed. Waits for nothing. Thread safe.
GPUASYNC_API void
gpuasync_host_memory_changed(const void *pointer,
                             uint64_t bytes) GPUASYNC_NOEXCEPT;

/// The known memory that an access of `bytes` (at least 1) at `address` touches
/// first; 0 if there is none. Any result may be null. Thread safe.
GPUASYNC_API int32_t gpuasync_host_memory_find(
    const void *address, uint64_t bytes, const void **pointer,
    uint64_t *knownBytes, const char **what,
    const char **place) GPUASYNC_NOEXCEPT;

/// An array that a caller passes to a lowered program.
typedef struct gpuasync_call_array {
  const void *begin; ///< its lowest byte, in host or device memory
  uint64_t bytes;
  const char *what; ///< in errors: "argument 0 of @main"
} gpuasync_call_array;

/// The arrays of one call. They may overlap each other and those of other
/// calls.
typedef struct gpuasync_call_arrays {
  const gpuasync_call_array *arrays;
  uint64_t count;
  struct gpuasync_call_arrays *outer; ///< the runtime's
} gpuasync_call_arrays;

/// Makes the arrays of a call known to what the calling thread runs, until they
/// are popped: a copy, fill or registration that begins in one of them must lie
/// in one of those that it begins in, else it is refused
/// (GPUASYNC_INVALID_ARGUMENT, with `what`). Calls nest. `arrays`, and all that
/// it refers to, is the caller's and lives until it is popped. Allocates
/// nothing, takes no lock.
GPUASYNC_API void
gpuasync_call_arrays_push(gpuasync_call_arrays *arrays) GPUASYNC_NOEXCEPT;

/// Undoes the calling thread's last push; nothing if there is none.
GPUASYNC_API void gpuasync_call_arrays_pop(void) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_MEMORY_H
