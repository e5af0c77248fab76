//===- Context.h - Devices, contexts and the caller's streams ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For whoever runs lowered programs: which device they run on, scopes,
// streams to hand to them, waiting, shutdown. C first, C++ below.
// docs/reference/Runtime.md has the rules and environment variables.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CONTEXT_H
#define GPUASYNC_CONTEXT_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Devices. All functions are thread safe.
//===----------------------------------------------------------------------===//

/// Called once per device and once per driver without one. `device` is what
/// gpuasync_context_open takes ("cuda:0"). Of a driver that is unavailable
/// `name` is null and `why` says what is missing, with the paths tried; else
/// `why` is null. The strings live for the call. Null visits nothing.
typedef void (*gpuasync_device_visitor)(void *user, const char *device,
                                        const char *name, const char *arch,
                                        uint64_t memoryBytes, const char *why);
GPUASYNC_API void gpuasync_device_list(gpuasync_device_visitor visitor,
                                       void *user) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// Opens a context of our own pools and caches on "cpu", "cuda", "cuda:N",
/// "hip", "hip:N" or "auto" (GPU_ASYNC_DEVICE, else the first device there is),
/// which null is too.
/// For cuda it retains the device's primary context. The result has one
/// reference.
GPUASYNC_API gpuasync_status *
gpuasync_context_open(const char *device,
                      gpuasync_context **out) GPUASYNC_NOEXCEPT;

/// Opens a context of our own pools and caches in a context of the caller's:
/// `driver` is "cuda" and `native` a CUcontext, of any thread, which must stay
/// until the close and is never reset, destroyed or synchronised by us. hip and
/// cpu have none: GPUASYNC_UNSUPPORTED. When the caller destroys it first, all
/// further calls fail with GPUASYNC_DEVICE_LOST, on this context alone.
GPUASYNC_API gpuasync_status *
gpuasync_context_adopt(const char *driver, void *native,
                       gpuasync_context **out) GPUASYNC_NOEXCEPT;

/// The context that frames of `program` use outside any scope: GPU_ASYNC_DEVICE
/// if set, else the first device for which all its modules have an image. Null
/// `program`: the first device. Adds a reference.
GPUASYNC_API gpuasync_status *
gpuasync_context_default(const gpuasync_program *program,
                         gpuasync_context **out) GPUASYNC_NOEXCEPT;

/// Null is ignored, here and by the release.
GPUASYNC_API void
gpuasync_context_retain(gpuasync_context *context) GPUASYNC_NOEXCEPT;
/// Closes the context with the last reference.
GPUASYNC_API void
gpuasync_context_release(gpuasync_context *context) GPUASYNC_NOEXCEPT;

/// Waits for the context's frames and work and gives everything back. Buffers
/// and registrations that programs never released are reclaimed and stay
/// listed (gpuasync_leaks_list); streams, events or modules still alive are an
/// error. Afterwards frames on it fail with GPUASYNC_SHUT_DOWN; statistics stay
/// readable. Waits for its tokens and streams serve as long as work of it may
/// be unfinished. Idempotent: a second call returns success.
GPUASYNC_API gpuasync_status *
gpuasync_context_close(gpuasync_context *context) GPUASYNC_NOEXCEPT;

/// Gives back to the driver what the context keeps for later: idle memory,
/// surplus streams, and modules that were released or are beyond the limits
/// (Program.h). That waits for the device, so nothing may run meanwhile: frames
/// that begin wait at their beginning while the open ones end, with their work,
/// for at most `seconds` (negative: GPU_ASYNC_TIMEOUT). GPUASYNC_TIMEOUT if
/// they do not, or another thread is at it; then all goes on as it was. Threads
/// that have a frame open, of any context, are not held up, and cannot call it:
/// GPUASYNC_INVALID_ARGUMENT. Thread safe.
GPUASYNC_API gpuasync_status *
gpuasync_context_trim(gpuasync_context *context,
                      double seconds) GPUASYNC_NOEXCEPT;

/// Waits for abandoned work: what calls on `context` (null: on any context)
/// have left unfinished. A call that ends with GPUASYNC_TIMEOUT does not stop
/// its work on the device. That work goes on to read and write what the call
/// was given: its arguments, the memory for its results, and what these lead
/// to. So does the work of a call that ends with another error within a time
/// limit; the message then says so. Until this function returns success, such
/// memory must not be freed, and what is written to it may be overwritten.
///
/// Later calls on the context wait for abandoned work at their beginning,
/// within their own time limit, and end with GPUASYNC_TIMEOUT if it does not
/// end. So do calls on a context that is opened after one of the same device
/// was closed with GPUASYNC_TIMEOUT. What a token or a stream of the caller's
/// stands for is abandoned, too, if it is given back after a wait for it timed
/// out.
///
/// Waits for at most `seconds`; 0 only asks, negative: without a limit.
/// GPUASYNC_TIMEOUT lists what is unfinished, and the call can be repeated.
/// Thread safe. Serves after a close of the context and after the shutdown,
/// too.
GPUASYNC_API gpuasync_status *
gpuasync_context_wait_abandoned(gpuasync_context *context,
                                double seconds) GPUASYNC_NOEXCEPT;

/// For libraries whose work on the device has failed, where its driver does not
/// say so. From now on frames on the context end with `error`, and so do waits
/// for its work, once that has ended: so the library ends its work after this
/// call. The first error counts. Null is ignored. Waits for nothing. Thread
/// safe.
GPUASYNC_API void gpuasync_context_fail(gpuasync_context *context,
                                        const char *error) GPUASYNC_NOEXCEPT;

/// For libraries that make the context rank `rank` of a program: traces of it
/// that begin later say so. -1: it is none any more. Null is ignored. Thread
/// safe.
GPUASYNC_API void gpuasync_context_set_rank(gpuasync_context *context,
                                            int64_t rank) GPUASYNC_NOEXCEPT;

/// "cpu", "cuda:0"; lives as long as the context. "" for a null one.
GPUASYNC_API const char *
gpuasync_context_device(const gpuasync_context *context) GPUASYNC_NOEXCEPT;
/// The device's own name; lives as long as the context. "" for a null one.
GPUASYNC_API const char *
gpuasync_context_device_name(const gpuasync_context *context) GPUASYNC_NOEXCEPT;

/// Makes `context` the one that frames of this thread use, until the matching
/// pop. Null is GPUASYNC_INVALID_ARGUMENT. The scope holds a reference.
GPUASYNC_API gpuasync_status *
gpuasync_scope_push(gpuasync_context *context) GPUASYNC_NOEXCEPT;
GPUASYNC_API void gpuasync_scope_pop(void) GPUASYNC_NOEXCEPT;

/// A preview, for code written by hand: the scope has a context for each device
/// of a function of several devices (gpuasync_function::deviceCount), in the
/// order of their numbers. At most 16, of one vendor, each only once; else
/// GPUASYNC_INVALID_ARGUMENT. A function that uses fewer devices takes the
/// first ones. gpuasync_scope_pop ends it.
GPUASYNC_API gpuasync_status *
gpuasync_scope_push_devices(gpuasync_context *const *contexts,
                            uint32_t count) GPUASYNC_NOEXCEPT;

/// For libraries that a lowered function calls: the driver of the device that
/// the innermost function of this thread uses ("cuda", "hip", "cpu"). Null: the
/// thread is in no such function, or it has found no device. Lives as long as
/// the process.
GPUASYNC_API const char *gpuasync_thread_driver(void) GPUASYNC_NOEXCEPT;

/// For the same: the context of that device. Null as there. Without a
/// reference: it lives as long as the function runs.
GPUASYNC_API gpuasync_context *gpuasync_thread_context(void) GPUASYNC_NOEXCEPT;

/// Loads all modules of `program` into `context` (null: its default one), so
/// that its first frame finds them.
GPUASYNC_API gpuasync_status *
gpuasync_program_load(const gpuasync_program *program,
                      gpuasync_context *context) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Streams of the caller, for programs that take one
//===----------------------------------------------------------------------===//

GPUASYNC_API gpuasync_status *
gpuasync_context_stream_create(gpuasync_context *context,
                               gpuasync_stream **out) GPUASYNC_NOEXCEPT;
/// What to pass to lowered code: the vendor's handle, for cpu the stream
/// itself. Null for null.
GPUASYNC_API void *
gpuasync_context_stream_native(gpuasync_stream *stream) GPUASYNC_NOEXCEPT;
/// Waits until all work on the stream so far is done; an error of that work is
/// the result, once. Serves while another thread closes the context, too, and
/// after a close or a shutdown that left work behind. GPUASYNC_SHUT_DOWN: the
/// context was closed, and all its work has ended.
GPUASYNC_API gpuasync_status *
gpuasync_context_stream_synchronize(gpuasync_stream *stream) GPUASYNC_NOEXCEPT;
/// Pending work goes on; if the last wait for the stream timed out it is
/// abandoned (gpuasync_context_wait_abandoned). Null is ignored.
GPUASYNC_API void
gpuasync_context_stream_destroy(gpuasync_stream *stream) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

/// Host waits give up after so many seconds with GPUASYNC_TIMEOUT and a list of
/// unfinished operations; 0: never. First value: GPU_ASYNC_TIMEOUT. The memory
/// of a call that gave up is in use until gpuasync_context_wait_abandoned says
/// otherwise.
GPUASYNC_API void gpuasync_set_timeout(double seconds) GPUASYNC_NOEXCEPT;

/// The seconds that were set; 0: there is no limit.
GPUASYNC_API double gpuasync_get_timeout(void) GPUASYNC_NOEXCEPT;

/// Sets how long a host wait on a GPU polls before it sleeps: about five times
/// as many microseconds (docs/reference/Runtime.md, "Host waits"). First value:
/// GPU_ASYNC_SPIN_US, else 50, or 0 on one processor.
GPUASYNC_API void gpuasync_set_spin(double microseconds) GPUASYNC_NOEXCEPT;

/// How regions of lowered programs are played: "streams" (as calls on streams),
/// "stream" (all on one of their streams), "graph" (as a graph from the second
/// time on, where the device has graphs), or "auto" (of these as takes least
/// time, which is measured; streams where there are no graphs). For regions
/// that begin from now on; first value: GPU_ASYNC_PLAY, else auto.
GPUASYNC_API gpuasync_status *
gpuasync_set_play(const char *play) GPUASYNC_NOEXCEPT;

/// For tests: in which order the cpu device runs what it may run in any order.
/// "fair" (as it comes), "adversarial" or "adversarial:SEED" (worst cases). For
/// contexts opened from now on; first value: GPU_ASYNC_CPU_SCHEDULE, else fair.
GPUASYNC_API gpuasync_status *
gpuasync_set_cpu_schedule(const char *schedule) GPUASYNC_NOEXCEPT;

/// Whether this is a child that was forked after the runtime's first use. There
/// every entry refuses: those with a status return GPUASYNC_SHUT_DOWN, the
/// others do nothing, none takes a lock. Statuses, gpuasync_program_release and
/// the disk cache serve there too.
GPUASYNC_API int32_t gpuasync_process_forked(void) GPUASYNC_NOEXCEPT;

/// Whether the process is in exit(), where every entry refuses: 1 on the thread
/// that runs it, 2 on others; else 0. On others, calls that have work on a
/// device, and waits for tokens and streams, return only when that has ended.
GPUASYNC_API int32_t gpuasync_process_exiting(void) GPUASYNC_NOEXCEPT;

/// For calls that can neither do what they are for nor say so: in a process
/// that is in exit(), on another thread than the one that runs it, this never
/// returns. The thread stays as it is until the process ends; after a second,
/// if that still has not, it ends alone, since a destructor may be waiting to
/// join it. Its stack is not unwound, no destructors run, and what it has
/// locked stays locked. Elsewhere it does nothing.
GPUASYNC_API void gpuasync_thread_end_in_exit(void) GPUASYNC_NOEXCEPT;

/// Closes every context, joins every thread of ours. Every later entry fails
/// with GPUASYNC_SHUT_DOWN, except for waits for work that it left behind. Call
/// it before main returns or a library with lowered code is unloaded; without
/// it the process may end at any time, since nothing of ours runs during exit.
/// Returns the first error of the contexts.
GPUASYNC_API gpuasync_status *gpuasync_shutdown(void) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"

#include "gpuasync/Status.h"

namespace gpuasync {

/// Owns one reference to a context.
class Context {
public:
  Context() noexcept = default;
  explicit Context(gpuasync_context *raw) noexcept : raw(raw) {}
  static Status open(const char *device, Context &out) noexcept {
    gpuasync_context *raw = nullptr;
    Status status(gpuasync_context_open(device, &raw));
    out = Context(raw);
    return status;
  }
  static Status adopt(const char *driver, void *native, Context &out) noexcept {
    gpuasync_context *raw = nullptr;
    Status status(gpuasync_context_adopt(driver, native, &raw));
    out = Context(raw);
    return status;
  }
  Context(Context &&other) noexcept : raw(other.raw) { other.raw = nullptr; }
  Context &operator=(Context &&other) noexcept {
    if (this != &other) {
      gpuasync_context *mine = raw;
      raw = other.raw;
      other.raw = nullptr;
      if (mine)
        gpuasync_context_release(mine);
    }
    return *this;
  }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  ~Context() {
    if (raw)
      gpuasync_context_release(raw);
  }
  gpuasync_context *get() const noexcept { return raw; }
  Status close() noexcept { return Status(gpuasync_context_close(raw)); }
  Status trim(double seconds = -1) noexcept {
    return Status(gpuasync_context_trim(raw, seconds));
  }
  Status waitAbandoned(double seconds = -1) noexcept {
    return Status(gpuasync_context_wait_abandoned(raw, seconds));
  }

private:
  gpuasync_context *raw = nullptr;
};

/// Frames that this thread enters while the scope lives use `context`.
class ContextScope {
public:
  explicit ContextScope(const Context &context) noexcept
      : ContextScope(context.get()) {}
  explicit ContextScope(gpuasync_context *context) noexcept
      : error(gpuasync_scope_push(context)) {}
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  ~ContextScope() {
    if (error.ok())
      gpuasync_scope_pop();
  }
  const Status &status() const noexcept { return error; }

private:
  Status error;
};

} // namespace gpuasync
#endif

#endif // GPUASYNC_CONTEXT_H
