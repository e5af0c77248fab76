//===- Trace.h - When the host and the device did what ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces of a process as files that Perfetto and chrome://tracing open, and a
// profile: the time of each kernel and copy. docs/Traces.md says what is in
// them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TRACE_H
#define GPUASYNC_TRACE_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Begins a trace of all contexts in `file`, which is made anew; "%p" in its
/// name is the number of the process. Null: the profile alone. Frames that are
/// open are seen from their next one on. The file is whole JSON whenever
/// nobody writes to it, and is ended by gpuasync_trace_stop or by exit().
/// GPUASYNC_INVALID_ARGUMENT if there is a trace already (that of
/// GPU_ASYNC_TRACE, too) or the file cannot be written. Thread safe.
GPUASYNC_API gpuasync_status *
gpuasync_trace_start(const char *file) GPUASYNC_NOEXCEPT;

/// Ends the trace. Work that has not ended is not waited for: it is left out,
/// and counted as such in the file. GPUASYNC_INVALID_ARGUMENT if there is no
/// trace, or some of it could not be written. Thread safe; not to be called
/// within a frame.
GPUASYNC_API gpuasync_status *gpuasync_trace_stop(void) GPUASYNC_NOEXCEPT;

/// What one kernel, copy, fill, graph or library call took since the last
/// start.
typedef struct gpuasync_profile_row {
  GPUASYNC_STRUCT_SIZE(gpuasync_profile_row);
  const char *kind; ///< "kernel", "copy", "fill", "graph", "call"
  /// A kernel's own; "copy", "upload", "download", "fill", "graph", "call".
  const char *name;
  const char *place; ///< "file:line:column"; "" of kernels and where unknown
  uint64_t calls;
  uint64_t totalNs, leastNs, mostNs; ///< on the device
  uint64_t bytes;                    ///< copied or filled; 0 of kernels
  uint64_t launches; ///< of kernels: a graph has several in each call
} gpuasync_profile_row;

/// Visits the rows, those that took longest first, and returns their number.
/// The texts live until the visitor returns. A null visitor only counts.
/// During a trace the rows are of the work that is known to have ended. Thread
/// safe; the visitor calls nothing of the runtime.
typedef void (*gpuasync_profile_visitor)(void *user,
                                         const gpuasync_profile_row *row);
GPUASYNC_API uint64_t gpuasync_profile_list(gpuasync_profile_visitor visitor,
                                            void *user) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_TRACE_H
