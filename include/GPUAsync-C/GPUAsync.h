/*===- GPUAsync.h - programs compiled and called in process -------*- C -*-===*\
|*                                                                            *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* libgpuasync.so: MLIR in, functions to call out. No header of MLIR's is     *|
|* needed, and no library of LLVM's. docs/reference/Library.md is the guide.  *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef GPUASYNC_C_GPUASYNC_H
#define GPUASYNC_C_GPUASYNC_H

#include "gpuasync/Context.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All functions are thread safe. A status is null for success; else it holds
 * every diagnostic and belongs to the caller: gpuasync_status_free. */

/** A compiled program, loaded into this process, and the device it runs on. */
typedef struct gpuasync_executable gpuasync_executable;
/** A public function of an executable. */
typedef struct gpuasync_callable gpuasync_callable;

/** Types of numbers. Signless integers are GPUASYNC_TYPE_I*, as `index` is
 *  GPUASYNC_TYPE_I64; an integer passes for one of its width, whatever the
 *  sign. GPUASYNC_TYPE_I1 is a byte: 0 is false and any other true, on a device
 *  as well. Programs write 0 and 1; where they copy an array, its bytes. */
enum gpuasync_type {
  GPUASYNC_TYPE_I1 = 1,
  GPUASYNC_TYPE_I8 = 2,
  GPUASYNC_TYPE_I16 = 3,
  GPUASYNC_TYPE_I32 = 4,
  GPUASYNC_TYPE_I64 = 5,
  GPUASYNC_TYPE_UI8 = 6,
  GPUASYNC_TYPE_UI16 = 7,
  GPUASYNC_TYPE_UI32 = 8,
  GPUASYNC_TYPE_UI64 = 9,
  GPUASYNC_TYPE_F16 = 10,
  GPUASYNC_TYPE_BF16 = 11,
  GPUASYNC_TYPE_F32 = 12,
  GPUASYNC_TYPE_F64 = 13,
  GPUASYNC_TYPE_C64 = 14, /**< two F32 */
  GPUASYNC_TYPE_C128 = 15 /**< two F64 */
};

/** What a parameter or result is in the program. */
enum gpuasync_kind {
  GPUASYNC_KIND_NUMBER = 1,
  GPUASYNC_KIND_TENSOR =
      2, /**< never written by the function it is passed to, unless given up:
              gpuasync_callable_call_donating */
  GPUASYNC_KIND_MEMREF = 3
};

enum {
  GPUASYNC_MAX_RANK = 8,
  GPUASYNC_HOST = -1,    /**< gpuasync_value.device */
  GPUASYNC_DYNAMIC = -1, /**< gpuasync_parameter.shape */
  GPUASYNC_READ_ONLY = 1 /**< gpuasync_value.flags */
};

/** A number or an array: where it is, and how it lies there. */
typedef struct gpuasync_value {
  void *data;     /**< the number, or the element of indices 0, 0, ... */
  uint32_t type;  /**< gpuasync_type */
  uint32_t rank;  /**< 0 for numbers */
  int32_t device; /**< GPUASYNC_HOST, or the ordinal of the device */
  /** 0, or GPUASYNC_READ_ONLY: a write to the elements is a fault of the
   *  process. Memrefs and memory for results are not to be such arrays. */
  uint32_t flags;
  int64_t shape[GPUASYNC_MAX_RANK];
  int64_t strides[GPUASYNC_MAX_RANK]; /**< in elements */
  void *owner; /**< what gpuasync_value_release frees; null: nothing */
} gpuasync_value;

/** An array in host memory, in row-major order; a number with rank 0 (`shape`
 *  may then be null). A rank above GPUASYNC_MAX_RANK is kept for the call to
 *  refuse. */
GPUASYNC_API gpuasync_value
gpuasync_value_make(void *data, uint32_t type, uint32_t rank,
                    const int64_t *shape) GPUASYNC_NOEXCEPT;
/** Frees what the library allocated for a result, and clears the value. Device
 *  memory is free behind the calls that were enqueued so far, which may use it.
 *  Waits for nothing, unless neither executables nor other results of the
 *  device are left: its context then closes. */
GPUASYNC_API void
gpuasync_value_release(gpuasync_value *value) GPUASYNC_NOEXCEPT;
/** Waits until the elements of a result of gpuasync_callable_enqueue are
 *  computed, and written by the last call that was given them as a memref or as
 *  memory for a result. With other memory on a device, which is the caller's,
 *  waits for all that was enqueued so far on devices of that number; on the
 *  host for nothing. An error of the work up to there is the result, of every
 *  wait for it. */
GPUASYNC_API gpuasync_status *
gpuasync_value_wait(const gpuasync_value *value) GPUASYNC_NOEXCEPT;
/** The same, and copies the elements to host memory, `data`, in row-major
 *  order. The value is a result that the library has allocated on a device, or
 *  a copy of its members that `owner` keeps; else GPUASYNC_INVALID_ARGUMENT.
 *  Calls that were enqueued later are not waited for. After GPUASYNC_TIMEOUT
 *  `data` may still be written, until gpuasync_context_wait_abandoned returns
 *  success. */
GPUASYNC_API gpuasync_status *
gpuasync_value_download(const gpuasync_value *value,
                        void *data) GPUASYNC_NOEXCEPT;

/** How to compile. Begins with its size, which the caller sets. Members that
 *  the size does not hold as a whole count as null. */
typedef struct gpuasync_compile_options {
  size_t structSize;
  const char *name;   /**< of the program in messages; null: "<program>" */
  const char *device; /**< as gpuasync_context_open has it; null: "auto" */
  /** Words "key=value" with spaces between them, null for none, as in
   *  "opt-level=2 place=off": docs/reference/Options.md has them all. What the
   *  option functions names stays there as long as the executable and its
   *  callables. */
  const char *options;
  /** Null, or called on the compiling thread as each stage begins, and again
   *  between the passes of LLVM, with the name of the stage, which lives as
   *  long as the call. Any result but 0 ends the compilation soon, with
   *  GPUASYNC_INVALID_ARGUMENT. */
  int32_t (*progress)(void *data, const char *stage);
  void *progressData;
} gpuasync_compile_options;

/** Compiles `size` bytes of MLIR, text or bytecode, for one device, and links
 *  the result into this process. What an earlier process has compiled is taken
 *  from the disk cache (gpuasync/DiskCache.h). `options` may be null.
 * Executables of one device share a context. Once a caller has closed it, its
 * executables cannot be called; those compiled later share another one. */
GPUASYNC_API gpuasync_status *
gpuasync_compile(const void *mlir, size_t size,
                 const gpuasync_compile_options *options,
                 gpuasync_executable **out) GPUASYNC_NOEXCEPT;

/** The same, but the disk cache knows the program by the bytes `source` in
 * place of its text. A front end gives what it makes the text of, so that
 *  gpuasync_executable_load needs no text. Equal bytes promise equal programs:
 *  they cover the version of the front end, too. */
GPUASYNC_API gpuasync_status *
gpuasync_compile_source(const void *mlir, size_t size, const void *source,
                        size_t sourceSize,
                        const gpuasync_compile_options *options,
                        gpuasync_executable **out) GPUASYNC_NOEXCEPT;
/** Takes a program from the disk cache that gpuasync_compile_source was given
 *  with equal `source`, name and options, in this version of the library, for a
 *  device and a processor of the same kind. `*out` is null, without an error,
 * if there is none, or the cache is off. */
GPUASYNC_API gpuasync_status *
gpuasync_executable_load(const void *source, size_t sourceSize,
                         const gpuasync_compile_options *options,
                         gpuasync_executable **out) GPUASYNC_NOEXCEPT;

/** Gives one reference back; null is ignored. The code stays while callables of
 *  it do. An error of unloading is returned by whichever release is the last.
 */
GPUASYNC_API gpuasync_status *
gpuasync_executable_release(gpuasync_executable *executable) GPUASYNC_NOEXCEPT;
/** Warnings and remarks of the compilation, with newlines, "" if there are
 *  none. Lives as long as the executable. */
GPUASYNC_API const char *gpuasync_executable_diagnostics(
    const gpuasync_executable *executable) GPUASYNC_NOEXCEPT;
/** With the option timing=stages, the time of each stage of the compilation, a
 *  line each; with timing=passes of each larger pass, too; else "". Lives as
 *  long as the executable. */
GPUASYNC_API const char *gpuasync_executable_timing(
    const gpuasync_executable *executable) GPUASYNC_NOEXCEPT;
/** "cpu", "cuda:0". Lives as long as the executable. */
GPUASYNC_API const char *gpuasync_executable_device(
    const gpuasync_executable *executable) GPUASYNC_NOEXCEPT;
/** The context that the executable and others of its device share. Lives as
 *  long as the executable, or as a reference to it: gpuasync_context_retain. */
GPUASYNC_API gpuasync_context *gpuasync_executable_context(
    const gpuasync_executable *executable) GPUASYNC_NOEXCEPT;
/** The public functions in the program's order; null beyond the last. */
GPUASYNC_API const char *
gpuasync_executable_function_name(const gpuasync_executable *executable,
                                  size_t index) GPUASYNC_NOEXCEPT;

/** Finds a function. GPUASYNC_NOT_FOUND lists those that there are, and
 *  GPUASYNC_UNSUPPORTED says which type of it cannot be passed from here. */
GPUASYNC_API gpuasync_status *
gpuasync_executable_lookup(gpuasync_executable *executable, const char *name,
                           gpuasync_callable **out) GPUASYNC_NOEXCEPT;
GPUASYNC_API gpuasync_status *
gpuasync_callable_release(gpuasync_callable *callable) GPUASYNC_NOEXCEPT;

/** A parameter or result as the program's text has it. */
typedef struct gpuasync_parameter {
  size_t structSize; /**< set by the caller */
  uint32_t kind;     /**< gpuasync_kind */
  uint32_t type;     /**< gpuasync_type */
  uint32_t rank;
  uint32_t byDestination; /**< a result that can be given memory */
  int64_t shape[GPUASYNC_MAX_RANK];
  const char *text; /**< "tensor<4x?xf32>"; lives as long as the callable */
  /** An argument whose memory callers may give up: `gpu_async.donated` in the
   *  program, or the option donate. */
  uint32_t donated;
  uint32_t taken; /**< one of these whose memory a result takes */
} gpuasync_parameter;

GPUASYNC_API size_t gpuasync_callable_argument_count(
    const gpuasync_callable *callable) GPUASYNC_NOEXCEPT;
GPUASYNC_API size_t gpuasync_callable_result_count(
    const gpuasync_callable *callable) GPUASYNC_NOEXCEPT;
GPUASYNC_API gpuasync_status *
gpuasync_callable_argument(const gpuasync_callable *callable, size_t index,
                           gpuasync_parameter *out) GPUASYNC_NOEXCEPT;
GPUASYNC_API gpuasync_status *
gpuasync_callable_result(const gpuasync_callable *callable, size_t index,
                         gpuasync_parameter *out) GPUASYNC_NOEXCEPT;

/** What the function does on which stream, and what waits for what, as a
 *  picture (docs/how-to/ReadASchedule.md). `format` is "text", "dot" for
 *  graphviz, or "svg", a document. `*out` is UTF-8 and the caller's: free();
 *  null after an error. GPUASYNC_UNSUPPORTED: the program was given in LLVM
 *  dialect, which says nothing of streams. */
GPUASYNC_API gpuasync_status *
gpuasync_callable_schedule(const gpuasync_callable *callable,
                           const char *format, char **out) GPUASYNC_NOEXCEPT;
/** The same by the function's name, also of one that gpuasync_executable_lookup
 *  refuses for its types. GPUASYNC_NOT_FOUND lists those that there are. */
GPUASYNC_API gpuasync_status *
gpuasync_executable_schedule(const gpuasync_executable *executable,
                             const char *function, const char *format,
                             char **out) GPUASYNC_NOEXCEPT;

/** Calls the function and waits, as far as it does. Any number of threads may
 *  call one callable at a time.
 *
 *  Arguments are checked: number, type, rank, sizes, strides, where they are.
 *  Each result is described by the caller in one of two ways. With `data` null
 *  it is allocated in host memory (gpuasync_value_release); the other members
 *  are not read. Else it is written to `data`, an array as gpuasync_value_make
 *  describes it, which touches no argument and no other result: for numbers,
 *  and for tensors of constant sizes. Memrefs that a program returns are views
 *  of memory that the program answers for: `owner` is null, and of constants
 *  `flags` is GPUASYNC_READ_ONLY.
 *  After an error results are as they were, except that memory given to them
 *  may have been written. After GPUASYNC_TIMEOUT, and after other errors whose
 *  message says so, the call's work goes on and uses the arguments and the
 *  memory given to results: none of it may be freed, and what is written to it
 *  may be overwritten, until gpuasync_context_wait_abandoned returns success
 *  for gpuasync_executable_context(...). Later calls on that device start
 *  after that work, or end with GPUASYNC_TIMEOUT, too. */
GPUASYNC_API gpuasync_status *
gpuasync_callable_call(const gpuasync_callable *callable,
                       const gpuasync_value *arguments, size_t argumentCount,
                       gpuasync_value *results,
                       size_t resultCount) GPUASYNC_NOEXCEPT;

/** The same, ordered into a stream of the caller's, of executables compiled
 * with stream=caller (else GPUASYNC_UNSUPPORTED): the function's work starts
 * after what `stream` has been given so far, and what it is given afterwards
 * starts after that work. Returns without waiting for either as far as the
 * function lets it (docs/reference/Passes.md, gpu-async-take-stream); numbers
 * that it returns are there, arrays once the stream has come that far, as are
 * errors of the device. Until then arguments and results must stay as they are,
 * and no argument may be freed but in the stream's order. `stream` is what
 *  gpuasync_context_stream_native gives, a CUstream or hipStream_t of the
 *  executable's device; null is the device's default stream. */
GPUASYNC_API gpuasync_status *
gpuasync_callable_call_on(const gpuasync_callable *callable, void *stream,
                          const gpuasync_value *arguments, size_t argumentCount,
                          gpuasync_value *results,
                          size_t resultCount) GPUASYNC_NOEXCEPT;

/** Whether results of the executable's functions stay on the device: those of
 *  place=device on a device with memory of its own. */
GPUASYNC_API int32_t gpuasync_executable_keeps_arrays(
    const gpuasync_executable *executable) GPUASYNC_NOEXCEPT;
/** Calls a function of an executable whose results stay on the device, and
 *  returns once its work is enqueued, as far as the function lets it
 *  (docs/reference/Passes.md, gpu-async-take-stream); others are called as by
 *  gpuasync_callable_call. All such calls of a device, from any thread and of
 *  any executable, are in one order.
 *
 *  Tensors may be on the host, and are read before this returns, or on the
 *  device. The device's are results of such calls, released or not when their
 *  work runs; or memory of the caller's, which must stay as it is until a
 *  result of this call, or that memory, has been waited for. A result with
 *  `data` null stays on the device: gpuasync_value_wait,
 *  gpuasync_value_download. `owner` of an argument is null, or what the result
 *  has: of a context that was closed it is refused. Errors of enqueued
 *  work are those of these waits. After an error of this function nothing of
 *  the call is under way, but as gpuasync_callable_call has it. */
GPUASYNC_API gpuasync_status *
gpuasync_callable_enqueue(const gpuasync_callable *callable,
                          const gpuasync_value *arguments, size_t argumentCount,
                          gpuasync_value *results,
                          size_t resultCount) GPUASYNC_NOEXCEPT;
/** As gpuasync_callable_enqueue, or with `waits` as gpuasync_callable_call, but
 *  donated arguments (gpuasync_parameter.donated) are given up.
 *
 *  Where a result takes an argument's memory (gpuasync_parameter.taken), that
 *  is a result of an earlier call as a whole: its `owner` is set, nobody else
 *  uses its elements, and `data` of the result is null. Once the program has
 *  begun the argument has neither `owner` nor `data` any more, also after an
 *  error, and the result has the memory. Other arguments stay as they are, and
 *  the caller's: the elements of taken ones that have no owner are copied to
 *  the result's memory first, as other functions of this header do with all.
 *
 *  GPUASYNC_INVALID_ARGUMENT, before anything runs: such an argument shares
 *  memory with another argument. */
GPUASYNC_API gpuasync_status *
gpuasync_callable_call_donating(const gpuasync_callable *callable,
                                int32_t waits, gpuasync_value *arguments,
                                size_t argumentCount, gpuasync_value *results,
                                size_t resultCount) GPUASYNC_NOEXCEPT;
/** Calls the function on `count` ranks (docs/reference/Ranks.md) and waits for
 *  all: each on a thread of its own, in a context of its own: of the cpu
 *  device, or of GPU i for rank i, as the executable's device is.
 *  `arguments[i]` and `results[i]` are those of rank i, as
 *  gpuasync_callable_call has them. GPUs take memory of the host, and no
 *  stream, else GPUASYNC_UNSUPPORTED.
 *
 *  After an error of one rank the others do not wait for it. The status has the
 *  messages of all ranks that failed, and no results are left. With
 *  GPUASYNC_TIMEOUT work of a rank goes on, and uses the arguments and the
 *  memory given to results for an unknown time. So it is a second after the
 *  wait of a rank has timed out, and a second after no rank has ended for the
 *  time limit since the last one did: ranks that are still in the program, on
 *  the host, are left there, with all that they use. */
GPUASYNC_API gpuasync_status *gpuasync_callable_call_ranks(
    const gpuasync_callable *callable, uint32_t count,
    const gpuasync_value *const *arguments, size_t argumentCount,
    gpuasync_value *const *results, size_t resultCount) GPUASYNC_NOEXCEPT;
/** A stream of the executable's device in whose order gpuasync_callable_enqueue
 *  puts its work: the vendor's handle, for others to wait for or to be waited
 *  for by. Null with GPUASYNC_UNSUPPORTED where results do not stay on the
 *  device. */
GPUASYNC_API gpuasync_status *
gpuasync_executable_queue(const gpuasync_executable *executable,
                          void **out) GPUASYNC_NOEXCEPT;

/** Waits for all work that gpuasync_callable_enqueue has enqueued on any device
 *  so far. GPUASYNC_TIMEOUT: it goes on, and is not abandoned. */
GPUASYNC_API gpuasync_status *gpuasync_queues_wait(void) GPUASYNC_NOEXCEPT;

/** gpuasync_executable_lookup, gpuasync_callable_call and the release in one.
 */
GPUASYNC_API gpuasync_status *
gpuasync_executable_call(gpuasync_executable *executable, const char *function,
                         const gpuasync_value *arguments, size_t argumentCount,
                         gpuasync_value *results,
                         size_t resultCount) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GPUASYNC_C_GPUASYNC_H */
