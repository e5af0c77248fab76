//===- Trace.h - When the host and the device did what ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces of a process as files that Perfetto and chrome://tracing open, a
// profile: the time of each kernel and copy, and the same as records for a
// profiler of the embedder's. docs/reference/Traces.md says what is in them.
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
  const char *place; ///< "file:line:column"; "" of several, and where unknown
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

//===----------------------------------------------------------------------===//
// Records for a profiler of the embedder's
//===----------------------------------------------------------------------===//

enum gpuasync_trace_phase {
  GPUASYNC_TRACE_BEGIN = 1, ///< the host begins something
  GPUASYNC_TRACE_END = 2,   ///< and has ended it
  GPUASYNC_TRACE_RAN = 3    ///< the device has done something
};

enum gpuasync_trace_kind {
  GPUASYNC_TRACE_FUNCTION = 1, ///< from entering to leaving a lowered function
  GPUASYNC_TRACE_DRIVER = 2,   ///< a call of the driver
  GPUASYNC_TRACE_WAIT = 3,     ///< a host wait, or a wait for a token
  GPUASYNC_TRACE_REGION = 4,
  GPUASYNC_TRACE_LIBRARY = 5, ///< a function that gpu_async.call calls
  GPUASYNC_TRACE_KERNEL = 16, ///< of the device, from here on
  GPUASYNC_TRACE_COPY = 17,
  GPUASYNC_TRACE_FILL = 18,
  GPUASYNC_TRACE_GRAPH = 19,
  GPUASYNC_TRACE_CALL = 20 ///< all that a library's function put on the stream
};

/// Times are nanoseconds of CLOCK_MONOTONIC. Texts are never null, and live
/// until the callback returns. What is not said of a phase is 0 or "" there.
typedef struct gpuasync_trace_record {
  GPUASYNC_STRUCT_SIZE(gpuasync_trace_record); ///< set by the runtime
  uint32_t phase;                              ///< gpuasync_trace_phase
  uint32_t kind;                               ///< gpuasync_trace_kind
  /// BEGIN and END of one thing have the same; else of one record only.
  uint64_t id;
  const char *name; ///< the function's, the kernel's; "launch blur", "upload"
  const char *file; ///< in the source; "" where unknown
  uint32_t line, column;
  int64_t beginNs, endNs; ///< BEGIN has no end
  //===--- BEGIN and END
  uint32_t thread; ///< the system's number of the calling thread (gettid)
  //===--- RAN
  uint32_t stream;    ///< a row of the device's: work of one is in order
  const char *device; ///< "cuda:0"
  /// The id of the DRIVER or LIBRARY record in which the host put it on its
  /// stream; 0: the host did the work itself.
  uint64_t cause;
  uint64_t bytes;            ///< copied or filled; 0 of kernels
  int64_t grid[3], block[3]; ///< of a kernel
  uint32_t launches;         ///< of kernels: a graph has several
  uint32_t schedule;         ///< the op's id there; UINT32_MAX: it has none
  //===--- END of a region
  const char *played; ///< "streams", "stream", "graph"
} gpuasync_trace_record;

/// Called for each record, on the thread that does or has asked for the work:
/// the one that enters a function, calls the driver, waits. So calls of several
/// threads run side by side; those of one thread come in the order of what it
/// does, and things nest. RAN comes when the runtime reads the times: at the
/// latest when a function is left after the work has ended, before that
/// function's END, or when the callback is taken off; on whichever thread does
/// so, and of one device in one call at a time. Work of one stream comes in
/// order; the device's own threads call nothing.
///
/// The runtime may hold locks. So the callback calls nothing of the runtime
/// (frames and what is done with contexts and programs refuse on that thread,
/// with GPUASYNC_INVALID_ARGUMENT), does not wait for a thread that is in the
/// runtime, and does not unwind: what it throws is caught, and it gets no
/// further record.
typedef void (*gpuasync_trace_callback)(void *user,
                                        const gpuasync_trace_record *record);

/// Has `callback` get a record of all that begins from here on, in all
/// contexts, with or without a trace. Frames that are open are seen from their
/// next one on. GPUASYNC_INVALID_ARGUMENT if it is null, or if there is one
/// already. Thread safe.
GPUASYNC_API gpuasync_status *
gpuasync_trace_subscribe(gpuasync_trace_callback callback,
                         void *user) GPUASYNC_NOEXCEPT;

/// Takes the callback off. Work that is known to have ended is told before, on
/// this thread; work that has not ended is not waited for, and not told. When
/// this returns no call runs, and there will be none: of what has begun the END
/// may be missing. exit() and fork (in the child) take it off without waiting
/// for calls of other threads. GPUASYNC_INVALID_ARGUMENT if there is none;
/// GPUASYNC_DRIVER_ERROR if the callback threw. Thread safe; not to be called
/// within a frame, or with what a call of the callback waits for.
GPUASYNC_API gpuasync_status *
gpuasync_trace_unsubscribe(void) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_TRACE_H
