//===- RuntimeABI.h - What lowered code calls -------------------*- C -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one contract between lowered programs and the runtime: constant tables
// that the compiler emits, and the C functions that lowered code calls.
// docs/reference/ABI.md explains it and shows one lowered function of each
// kind.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_RUNTIMEABI_H
#define GPUASYNC_RUNTIMEABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define GPUASYNC_NOEXCEPT noexcept
extern "C" {
#else
#define GPUASYNC_NOEXCEPT
#endif

#if defined(GPUASYNC_BUILD_RUNTIME) && !defined(_WIN32)
#define GPUASYNC_API __attribute__((visibility("default")))
#else
#define GPUASYNC_API
#endif

/// Version of everything in this header. A program carries the version that it
/// was compiled for; the runtime refuses a program with another major version
/// (upper 16 bits) or a newer minor one (lower 16 bits). What that takes stays
/// where it is in every version: `program` of gpuasync_function, `abiVersion`,
/// `name` and `slot` of gpuasync_program.
#define GPUASYNC_ABI_VERSION UINT32_C(0x00030001)

/// The first member of each struct that a caller of the runtime fills or reads:
/// the size of the struct as the caller knows it. The runtime reads and writes
/// no more than that, so that both sides can have headers of different minor
/// versions. C++ sets it; in C: `gpuasync_stats stats = {sizeof stats};`.
#ifdef __cplusplus
#define GPUASYNC_STRUCT_SIZE(type) uint64_t structSize = sizeof(type)
#else
#define GPUASYNC_STRUCT_SIZE(type) uint64_t structSize
#endif

//===----------------------------------------------------------------------===//
// Opaque objects
//===----------------------------------------------------------------------===//

/// One device context with its pools and caches. Thread safe.
typedef struct gpuasync_context gpuasync_context;
/// An in-order queue of one context. In lowered code it belongs to a frame.
typedef struct gpuasync_stream gpuasync_stream;
/// A recorded point of a stream: the run-time form of a token. Null is a point
/// that has already been reached.
typedef struct gpuasync_event gpuasync_event;
/// An error as a value, owned by whoever receives it. Null is success.
typedef struct gpuasync_status gpuasync_status;

//===----------------------------------------------------------------------===//
// Constant tables, emitted by the compiler
//===----------------------------------------------------------------------===//

/// What the bytes of an image are. The list is open: a vendor of the runtime
/// says which formats its devices read (device/Vendors.h).
enum gpuasync_image_format {
  GPUASYNC_IMAGE_CPU = 1,    ///< `data` is a gpuasync_cpu_kernel[kernelCount]
  GPUASYNC_IMAGE_PTX = 2,    ///< NUL-terminated PTX text
  GPUASYNC_IMAGE_CUBIN = 3,  ///< ELF for one CUDA chip
  GPUASYNC_IMAGE_HSACO = 4,  ///< ELF code object for one AMD chip
  GPUASYNC_IMAGE_FATBIN = 5, ///< CUDA fat binary, chosen from by the driver
  /// A constant array of the program, for any device: the only image of a
  /// module without kernels, which gpuasync_constant names.
  GPUASYNC_IMAGE_DATA = 6,
  /// This number and greater ones are for vendors outside of this project.
  GPUASYNC_IMAGE_FIRST_FREE = 256
};

/// The grid position that a block function of the cpu device runs at.
typedef struct gpuasync_cpu_block_ctx {
  int64_t gridDim[3];
  int64_t blockDim[3];
  int64_t blockIdx[3];
  int64_t dynamicSharedBytes;
  void *launch; ///< runtime state of the launch, passed on to gpuasync_cpu_*
  /// Blocks that the call runs: this one and those after it in x. 1 for kernels
  /// without GPUASYNC_KERNEL_TAKES_RUNS; runBlocks * blockDim[0] is at most
  /// GPUASYNC_CPU_RUN_THREADS.
  int64_t runBlocks;
} gpuasync_cpu_block_ctx;

#define GPUASYNC_CPU_RUN_THREADS INT64_C(4096)

/// Runs all threads of one block, or of a run of blocks. `params` is the packed
/// parameter buffer of the launch; `workgroup` points to `workgroupBytes` of
/// static workgroup memory followed (aligned to 16) by the dynamic shared
/// memory and (aligned to 64) by `threadBytes` for each thread of the block.
/// None of it is initialised.
typedef void (*gpuasync_cpu_block_fn)(const gpuasync_cpu_block_ctx *ctx,
                                      const void *params, void *workgroup);

enum gpuasync_kernel_flags {
  /// The kernel may wait for other work (atomics or volatile accesses in loops,
  /// loops of unknown trip count), so it never runs inside an enqueue.
  GPUASYNC_KERNEL_MAY_BLOCK = 1,
  /// One call can run several blocks: the threads ask for nothing in x but
  /// their place in the whole grid, and share nothing with their block.
  GPUASYNC_KERNEL_TAKES_RUNS = 2
};

/// Most bytes that a kernel of the cpu device keeps on the stack of the thread
/// that runs its blocks. The compiler refuses kernels that need more.
#define GPUASYNC_CPU_STACK_BYTES (INT64_C(4) << 20)
/// Most bytes of workgroup memory that a block of the cpu device has, static
/// and dynamic.
#define GPUASYNC_CPU_WORKGROUP_BYTES (INT64_C(16) << 20)

/// The most operations that a thread of a launch runs; infinite or NaN: no
/// bound is known. `sizes`: those of the grid, then of the block. `params` as
/// for the block function.
typedef double (*gpuasync_cpu_operations_fn)(const int64_t sizes[6],
                                             const void *params);

/// A kernel of a cpu image, in the order of the module's kernel table. The size
/// of the image divided by the number of its kernels is the size of an entry.
typedef struct gpuasync_cpu_kernel {
  const char *name;
  gpuasync_cpu_block_fn function;
  uint64_t workgroupBytes;
  uint32_t flags; ///< gpuasync_kernel_flags
  /// What a thread keeps while the others run up to a barrier.
  uint32_t threadBytes;
  /// Variables of the kernel on the stack of the thread that runs its blocks,
  /// in bytes; UINT32_MAX: there is no bound.
  uint32_t stackBytes;
  uint32_t reserved;
  /// The most operations that a thread runs, whatever the launch; 0: not known.
  uint64_t operations;
  /// The same of a launch; null: `operations` says it.
  gpuasync_cpu_operations_fn countOperations;
} gpuasync_cpu_kernel;

/// A kernel as the host program launches it. The packed parameter buffer holds
/// parameter i at `paramOffsets[i]`, `paramSizes[i]` bytes long; a memref is
/// the scalars of its descriptor, one parameter each. The layout is C's own
/// for a struct of the parameters, which is also CUDA's.
typedef struct gpuasync_kernel {
  const char *name;
  const uint32_t *paramOffsets;
  const uint32_t *paramSizes;
  uint32_t paramCount; ///< UINT32_MAX if unknown (a ready-made gpu.binary)
  uint32_t paramBytes;
} gpuasync_kernel;

/// What a shared object made of a gpu.module with target #gpu_async.cpu exports
/// as `_gpuasync_object`: the kernels as they are launched and as block
/// functions, in the same order.
typedef struct gpuasync_cpu_object {
  uint32_t abiVersion;
  uint32_t kernelCount;
  const char *name;
  const gpuasync_kernel *kernels;
  const gpuasync_cpu_kernel *functions;
} gpuasync_cpu_object;

/// One module's kernels compiled for one target.
typedef struct gpuasync_image {
  uint32_t format; ///< gpuasync_image_format, or a vendor's own
  uint32_t reserved;
  const char *arch; ///< "sm_90", "gfx942"; "" for cpu
  const void *data;
  uint64_t size;    ///< bytes of `data`, without a terminating NUL
  uint64_t hash[2]; ///< content hash of data, target and options; 0,0 for cpu
} gpuasync_image;

/// One gpu.module: its kernels, and its images for the different targets.
typedef struct gpuasync_module {
  const char *name;
  const gpuasync_kernel *kernels;
  const gpuasync_image *images;
  uint32_t kernelCount;
  uint32_t imageCount;
} gpuasync_module;

enum gpuasync_site_flags {
  /// Launch: nothing comes behind it on its stream before the host waits for
  /// that.
  GPUASYNC_SITE_AWAITED = 1
};

/// Where in the source a runtime call comes from, and for a launch which kernel
/// it is. A program has one table of them, followed by their texts, and a call
/// passes the index into it. `file` and `op` are NUL-terminated texts that
/// begin so many bytes after the beginning of the site itself: a site can be
/// read by its address alone, and a table holds no pointers.
typedef struct gpuasync_site {
  uint32_t file; ///< "" if unknown
  uint32_t op;   ///< e.g. "gpu_async.launch @k::@f"
  uint32_t line, column;
  uint32_t id;     ///< the op's schedule id, UINT32_MAX if it has none
  uint32_t module; ///< launch: index into program->modules
  uint32_t kernel; ///< launch: index into module->kernels
  uint32_t flags;  ///< gpuasync_site_flags
} gpuasync_site;

/// What a call passes that has no site; a launch needs one.
#define GPUASYNC_NO_SITE UINT32_MAX

static inline const char *gpuasync_site_file(const gpuasync_site *site) {
  return (const char *)site + site->file;
}
static inline const char *gpuasync_site_op(const gpuasync_site *site) {
  return (const char *)site + site->op;
}

/// One lowered program: constant data. `slot` is the only mutable word, zero at
/// first; the runtime keeps its registration there.
typedef struct gpuasync_program {
  uint32_t abiVersion;
  uint32_t moduleCount;
  const char *name;
  const gpuasync_module *modules;
  void **slot;
  const gpuasync_site *sites;
  uint32_t siteCount;
  uint32_t reserved;
} gpuasync_program;

/// One public lowered function: what a frame is entered with.
typedef struct gpuasync_function {
  const char *name;
  const char *file; ///< "" if unknown
  uint32_t line, column;
  const gpuasync_program *program;
  /// Indices of the modules that the function can reach; loaded at enter.
  const uint32_t *modules;
  uint32_t moduleCount;
  uint32_t flags;       ///< gpuasync_function_flags
  uint32_t deviceCount; ///< how many devices the function names; 0: one
  uint32_t reserved;    ///< 0
} gpuasync_function;

/// GPUASYNC_FUNCTION_ENQUEUES: the function gives work to streams of the caller
/// only, and neither it nor that work touches memory that the work of earlier
/// calls may still use, except behind them on those streams. It begins without
/// a wait for abandoned work (gpuasync_context_wait_abandoned).
enum gpuasync_function_flags { GPUASYNC_FUNCTION_ENQUEUES = 1 };

enum gpuasync_launch_flags { GPUASYNC_LAUNCH_COOPERATIVE = 1 };

/// The configuration of one launch. The same bytes serve the vendor driver, a
/// graph node, a cpu kernel and a trace. The runtime copies what it needs
/// before the call returns. Sizes are int64_t so that the runtime can refuse
/// bad ones; a zero in grid or block makes the launch an empty one that still
/// keeps order.
typedef struct gpuasync_launch_config {
  int64_t grid[3];
  int64_t block[3];
  int64_t cluster[3]; ///< 1,1,1 or all zero: no clusters
  int64_t dynamicSharedBytes;
  uint32_t flags; ///< gpuasync_launch_flags
  uint32_t paramBytes;
  const void *params; ///< packed parameters, aligned to 16
} gpuasync_launch_config;

/// An image that defines this symbol says that each of its kernels waits
/// (griddepcontrol.wait) before it touches memory for all that it comes after:
/// a launch may be made ready before those have ended.
#define GPUASYNC_KERNELS_WAIT_SYMBOL "gpuasync_kernels_wait"

/// An image that defines this symbol says that each of its kernels tells the
/// host of its end. Behind the parameters of gpuasync_kernel it takes two of 8
/// bytes each, at multiples of 8: `slot`, the address of a uint32_t in memory
/// of the host, and `count`, that of a uint64_t in the device's, with 0 in its
/// lower half. Of a launch of less than 2^31 blocks whose `slot` is not null,
/// the block that is last adds 1 to the upper half, which, when all that the
/// launch wrote can be seen, it writes to `slot`.
#define GPUASYNC_KERNELS_SIGNAL_SYMBOL "gpuasync_kernels_signal"

/// A tensor map is this large, and aligned to 64.
#define GPUASYNC_TENSOR_MAP_BYTES 128

/// What the compiler knows of a tensor map: values of CUDA's enumerations
/// CUtensorMapDataType, CUtensorMapInterleave and so on.
typedef struct gpuasync_tensor_format {
  uint32_t elementType;
  uint32_t boxRank; ///< dimensions of the box
  uint32_t interleave;
  uint32_t swizzle;
  uint32_t l2Promotion;
  uint32_t fill; ///< what is read beyond the tensor
} gpuasync_tensor_format;

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

#define GPUASYNC_FRAME_BYTES 512

/// One invocation of a public lowered function, in the caller's stack memory.
/// It belongs to the thread that entered it. Lowered code reads `failed`
/// directly (1: an error was kept; calls on the frame do nothing from then on)
/// and touches nothing else. No function takes a null frame; any other null
/// argument that is not said to mean something is an error of the frame.
typedef struct gpuasync_frame {
  int32_t failed;
  int32_t reserved;
  unsigned char opaque[GPUASYNC_FRAME_BYTES - 8];
} gpuasync_frame
#if defined(__GNUC__)
    __attribute__((aligned(16)))
#endif
    ;

/// Initialises `frame` and enters `function`: takes the context (the thread's
/// innermost ContextScope, else the process default), makes it current if it is
/// not, pins the program's loaded instance and loads the function's modules.
/// Returns 0; or 1 if that failed, and then the frame keeps the error and must
/// be left like any other.
GPUASYNC_API int32_t gpuasync_frame_enter(
    gpuasync_frame *frame, const gpuasync_function *function) GPUASYNC_NOEXCEPT;

/// Leaves the frame on every exit of the function, the error exit too: releases
/// what the frame still holds (streams, events; after an error also the buffers
/// that it allocated and host registrations that it made), restores the
/// caller's context, and returns the first error, null if there was none. Does
/// not wait, except after an error, when it waits for the frame's streams so
/// that nothing still runs on memory that is released. That wait has the time
/// limit of gpuasync_set_timeout, and there is none after a wait that has come
/// to it: what has not ended is abandoned (gpuasync_context_wait_abandoned,
/// Context.h). In a process that another thread takes through exit() it returns
/// an error only when no work of the frame runs any more; where that cannot be
/// known, it does not return (gpuasync_thread_end_in_exit).
GPUASYNC_API gpuasync_status *
gpuasync_frame_leave(gpuasync_frame *frame) GPUASYNC_NOEXCEPT;

/// Like gpuasync_frame_leave for `on-error=abort`: prints an error to stderr
/// and aborts the process. In a process that another thread takes through
/// exit() it does not return (gpuasync_thread_end_in_exit).
GPUASYNC_API void
gpuasync_frame_leave_or_abort(gpuasync_frame *frame) GPUASYNC_NOEXCEPT;

/// Before a call of code that the compiler does not know, of a failed frame
/// too: what the frame changed of the thread for calls of its own (the vendor's
/// stream capture mode) is as it was. The frame's context stays current.
GPUASYNC_API void
gpuasync_frame_suspend(gpuasync_frame *frame) GPUASYNC_NOEXCEPT;

/// After it: makes the frame's context current again. Costs nothing if it still
/// is.
GPUASYNC_API void
gpuasync_frame_resume(gpuasync_frame *frame) GPUASYNC_NOEXCEPT;

/// Takes over a status that a called function returned (null is allowed), as
/// the frame's first error if it has none. Returns frame->failed.
GPUASYNC_API int32_t gpuasync_frame_fail(
    gpuasync_frame *frame, gpuasync_status *status) GPUASYNC_NOEXCEPT;

/// The same, for libraries: the error tells the place of the site, too.
GPUASYNC_API int32_t gpuasync_frame_fail_at(gpuasync_frame *frame,
                                            gpuasync_status *status,
                                            uint32_t site) GPUASYNC_NOEXCEPT;

/// Fails the frame because a `cf.assert` of host code does not hold:
/// GPUASYNC_KERNEL_ASSERT at the site, whose text is the assert's message.
GPUASYNC_API void gpuasync_host_assert_fail(gpuasync_frame *frame,
                                            uint32_t site) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Streams and events. All functions below do nothing in a failed frame (those
// with a pointer result return null), keep the first error in the frame, and
// never wait for the device unless they say so. `site` is an index into the
// sites of the frame's program. `device` is the number of one of the frame's
// devices, less than gpuasync_function::deviceCount. A stream belongs to one
// device, and names it for the work that it is given.
//===----------------------------------------------------------------------===//

/// Takes an idle stream from the pool of the device's context; the frame holds
/// it.
GPUASYNC_API gpuasync_stream *
gpuasync_stream_create(gpuasync_frame *frame, uint32_t device,
                       uint32_t site) GPUASYNC_NOEXCEPT;

/// Takes a stream whose work the device begins before that of others, if it has
/// priorities. Else as above. Since 3.1.
GPUASYNC_API gpuasync_stream *
gpuasync_stream_create_urgent(gpuasync_frame *frame, uint32_t device,
                              uint32_t site) GPUASYNC_NOEXCEPT;

/// Wraps a caller's stream: a CUstream, hipStream_t, or on the cpu device a
/// gpuasync_stream made by gpuasync_context_stream_create. Null is legal and
/// means the device's default stream. Never created, destroyed or waited for by
/// us; the wrapper belongs to the frame and is released by stream_destroy.
GPUASYNC_API gpuasync_stream *
gpuasync_stream_external(gpuasync_frame *frame, uint32_t device, void *native,
                         uint32_t site) GPUASYNC_NOEXCEPT;

/// What a library call takes that enqueues on `stream`: a CUstream,
/// hipStream_t, or on the cpu device a gpuasync_stream. From here on the stream
/// counts as having work of `site`: host waits cover it, events that are
/// recorded later come after it, a timeout lists it, and in a capture it
/// becomes part of the graph. The library may enqueue on the handle and make
/// others wait for it or it for others, but neither destroys it nor uses it
/// after the next call of the frame on `stream`: ask again. Null is the
/// device's default stream, where that is the caller's; whether the call failed
/// is in `failed`, which must be read before the library is called. An error of
/// the library's own goes to gpuasync_frame_fail.
///
/// On the cpu device it can be given to another lowered function as its
/// caller's stream, and to gpuasync_context_stream_synchronize: a library that
/// computes on the calling thread waits for what is ahead of it, and is done
/// when it returns.
GPUASYNC_API void *gpuasync_stream_native(gpuasync_frame *frame,
                                          gpuasync_stream *stream,
                                          uint32_t site) GPUASYNC_NOEXCEPT;

enum gpuasync_destroy_flags {
  /// A host wait has covered all work on the stream.
  GPUASYNC_STREAM_IDLE = 1
};

/// Gives the stream back to the pool; pending work goes on and is not lost.
/// Null is ignored.
GPUASYNC_API void gpuasync_stream_destroy(gpuasync_frame *frame,
                                          gpuasync_stream *stream,
                                          uint32_t flags,
                                          uint32_t site) GPUASYNC_NOEXCEPT;

/// Later work on `stream` starts after `event`. A null event is ignored.
GPUASYNC_API void gpuasync_stream_wait(gpuasync_frame *frame,
                                       gpuasync_stream *stream,
                                       gpuasync_event *event,
                                       uint32_t site) GPUASYNC_NOEXCEPT;

/// Waits on the host until all work enqueued so far on the `count` streams is
/// done. Returns frame->failed.
GPUASYNC_API int32_t gpuasync_stream_synchronize(
    gpuasync_frame *frame, gpuasync_stream *const *streams, uint32_t count,
    uint32_t site) GPUASYNC_NOEXCEPT;

/// Asks whether all work on `stream` is done, without a wait: 1 if it is, and
/// then pageable destinations of its copies are written; 0 if it is not, or
/// after an error. Of a caller's stream it is the work of the caller, too.
GPUASYNC_API int32_t gpuasync_stream_query(gpuasync_frame *frame,
                                           gpuasync_stream *stream,
                                           uint32_t site) GPUASYNC_NOEXCEPT;

/// Takes an event from the pool and records it on `stream`.
GPUASYNC_API gpuasync_event *
gpuasync_event_record(gpuasync_frame *frame, gpuasync_stream *stream,
                      uint32_t site) GPUASYNC_NOEXCEPT;

/// Gives an event back; waits already enqueued on it stay valid. Null is
/// ignored.
GPUASYNC_API void gpuasync_event_destroy(gpuasync_frame *frame,
                                         gpuasync_event *event,
                                         uint32_t site) GPUASYNC_NOEXCEPT;

/// Waits on the host until the `count` events are reached (null ones are).
/// Returns frame->failed.
GPUASYNC_API int32_t
gpuasync_event_synchronize(gpuasync_frame *frame, gpuasync_event *const *events,
                           uint32_t count, uint32_t site) GPUASYNC_NOEXCEPT;

/// A token result: takes `event` out of the frame so that it outlives it; the
/// caller of the function owns it. In a frame of several devices, waits for
/// unfinished copies of the other devices into pageable memory.
GPUASYNC_API gpuasync_event *
gpuasync_event_export(gpuasync_frame *frame, gpuasync_event *event,
                      uint32_t site) GPUASYNC_NOEXCEPT;

/// A token argument: makes `event`, owned by the callee, the frame's.
GPUASYNC_API gpuasync_event *
gpuasync_event_import(gpuasync_frame *frame, gpuasync_event *event,
                      uint32_t site) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Launches the kernel that the site names.
GPUASYNC_API void
gpuasync_launch(gpuasync_frame *frame, gpuasync_stream *stream, uint32_t site,
                const gpuasync_launch_config *config) GPUASYNC_NOEXCEPT;

/// The bytes from the first element of `rank`-dimensional data to the end of
/// its last one; sizes and strides in elements of `elementBytes` bytes, null
/// strides: data without gaps. By this lowered code multiplies sizes that are
/// no constants. A negative size, a stride that leads before the first element,
/// and 2^63 bytes or more are errors, which say the sizes; the result then is
/// 0, as in a failed frame.
GPUASYNC_API uint64_t gpuasync_extent(gpuasync_frame *frame,
                                      const int64_t *sizes,
                                      const int64_t *strides, uint32_t rank,
                                      uint64_t elementBytes,
                                      uint32_t site) GPUASYNC_NOEXCEPT;

enum gpuasync_alloc_flags {
  GPUASYNC_ALLOC_DEVICE = 0,
  /// The host may read and write it; device work on it must be ordered by
  /// tokens and host waits. Valid on the host as soon as the call returns.
  GPUASYNC_ALLOC_HOST_SHARED = 1
};

/// Allocates `bytes` (0 is valid) of `device` for work on `stream` and after
/// it. The stream is of that device. Aligned to 256. Null stream: usable at
/// once on any stream.
GPUASYNC_API void *gpuasync_alloc(gpuasync_frame *frame, uint32_t device,
                                  gpuasync_stream *stream, uint64_t bytes,
                                  uint32_t flags,
                                  uint32_t site) GPUASYNC_NOEXCEPT;

/// Frees memory of gpuasync_alloc for `device` once the work so far on
/// `stream`, which is of that device, is done. Null stream: a host wait has
/// covered all use. A foreign pointer is an error; a null pointer is ignored.
GPUASYNC_API void gpuasync_dealloc(gpuasync_frame *frame, uint32_t device,
                                   gpuasync_stream *stream, void *pointer,
                                   uint32_t site) GPUASYNC_NOEXCEPT;

/// Copies between any two of device, host-shared, registered and pageable host
/// memory. A pageable source is read before the call returns; a pageable
/// destination is written at the latest by the host wait that covers the copy.
GPUASYNC_API void gpuasync_memcpy(gpuasync_frame *frame,
                                  gpuasync_stream *stream, void *destination,
                                  const void *source, uint64_t bytes,
                                  uint32_t site) GPUASYNC_NOEXCEPT;

/// Copies `rank`-dimensional data; `sizes` in elements, both strides in
/// elements of `elementBytes` bytes.
GPUASYNC_API void
gpuasync_memcpy_strided(gpuasync_frame *frame, gpuasync_stream *stream,
                        void *destination, const int64_t *destinationStrides,
                        const void *source, const int64_t *sourceStrides,
                        const int64_t *sizes, uint32_t rank,
                        uint32_t elementBytes, uint32_t site) GPUASYNC_NOEXCEPT;

/// Sets `count` elements of `elementBytes` (1, 2, 4, 8 or 16) bytes to the
/// element at `pattern`, which is read before the call returns.
GPUASYNC_API void gpuasync_memset(gpuasync_frame *frame,
                                  gpuasync_stream *stream, void *destination,
                                  const void *pattern, uint32_t elementBytes,
                                  uint64_t count,
                                  uint32_t site) GPUASYNC_NOEXCEPT;

/// The same for `rank`-dimensional data; sizes and strides in elements.
GPUASYNC_API void
gpuasync_memset_strided(gpuasync_frame *frame, gpuasync_stream *stream,
                        void *destination, const int64_t *strides,
                        const int64_t *sizes, uint32_t rank,
                        const void *pattern, uint32_t elementBytes,
                        uint32_t site) GPUASYNC_NOEXCEPT;

/// Makes host memory accessible to the device; registering the same memory
/// again counts. Registering waits for unfinished copies into the memory, which
/// was pageable. Unregistering waits for nothing: the driver's part happens
/// once the device is idle. Earlier work on the memory may still run then.
/// Illegal until the host has waited for that: device work enqueued later that
/// touches the memory. Nothing is registered for 0 bytes, and unregistering
/// null is ignored.
GPUASYNC_API void gpuasync_host_register(gpuasync_frame *frame, void *pointer,
                                         uint64_t bytes,
                                         uint32_t site) GPUASYNC_NOEXCEPT;
GPUASYNC_API void gpuasync_host_unregister(gpuasync_frame *frame, void *pointer,
                                           uint32_t site) GPUASYNC_NOEXCEPT;

/// The address at which `device` reaches a constant array: that of module
/// `index`, which is one of the function's own (gpuasync_function::modules), so
/// that it is there since frame enter. A copy of the context's, made once, or,
/// on a device that reaches host memory by itself, the program's own. Nobody
/// writes it.
GPUASYNC_API void *gpuasync_constant(gpuasync_frame *frame, uint32_t device,
                                     uint32_t index,
                                     uint32_t site) GPUASYNC_NOEXCEPT;

/// The address at which `device` reaches the `bytes` bytes at `pointer`: a copy
/// that its context keeps. It is made by the first call for this address and
/// this size, which waits for it, and again after gpuasync_host_memory_changed
/// (Memory.h) was told of the memory. Memory that the device reaches by itself
/// is its own copy, and so are 0 bytes. Nobody writes it. Called before the
/// frame's first work.
GPUASYNC_API void *gpuasync_resident(gpuasync_frame *frame, uint32_t device,
                                     const void *pointer, uint64_t bytes,
                                     uint32_t site) GPUASYNC_NOEXCEPT;

/// Writes to `map` how copies of boxes (NVIDIA's TMA) of `device` see the
/// tensor that begins at `base`: GPUASYNC_TENSOR_MAP_BYTES bytes of host
/// memory, which a launch passes by value. Sizes and strides of `rank`
/// dimensions and the box are in elements, the last dimension varies fastest
/// and has stride 1. Nothing of it is on a stream or in device memory. A device
/// without tensor maps is an error.
GPUASYNC_API void gpuasync_tensor_map_encode(
    gpuasync_frame *frame, uint32_t device, void *map, void *base,
    const int64_t *sizes, const int64_t *strides, uint32_t rank,
    const int64_t *box, const gpuasync_tensor_format *format,
    uint32_t site) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

typedef struct gpuasync_call gpuasync_call;

enum gpuasync_call_flags {
  /// The stream is being captured into a graph: what a library does once only
  /// (loading, choosing an algorithm) cannot be done now.
  GPUASYNC_CALL_CAPTURED = 1
};

/// Results of such a function whose report is all that there is to say.
enum gpuasync_call_result {
  GPUASYNC_CALL_FAILED = -0x7fffffff,
  /// It has waited for as long as host waits may. What is on the device is not
  /// waited for again.
  GPUASYNC_CALL_TIMED_OUT = -0x7ffffffe
};

/// What a function that gpu_async.call names is given first: the device, which
/// is current, and the stream to enqueue on. Valid until the function returns.
/// The function enqueues on the call's streams only, or on others that it makes
/// come after one of these and that one after them; it neither waits for the
/// device nor allocates on it. 0 is success. The struct is the runtime's: it
/// has `structSize` bytes.
struct gpuasync_call {
  GPUASYNC_STRUCT_SIZE(gpuasync_call);
  const char *driver; ///< "cuda", "hip" or "cpu"
  /// A CUstream or hipStream_t; on the cpu device a gpuasync_stream, for
  /// gpuasync_stream_enqueue_host.
  void *stream;
  int32_t ordinal; ///< the device's number
  uint32_t flags;  ///< gpuasync_call_flags
  /// Says what went wrong, for the error that a result other than 0 makes. A
  /// copy of the text is kept; the last one counts.
  void (*report)(const gpuasync_call *call, const char *text);
  /// All streams of the call, and the numbers of their devices. The first ones
  /// are `stream` and `ordinal`.
  void *const *streams;
  const int32_t *ordinals;
  uint32_t count;
};

/// Before a library's function is called, which enqueues on the `count`
/// streams, of which there is at least one. From here on they count as having
/// work of `site`, as by gpuasync_stream_native, and the thread is the
/// library's, as by gpuasync_frame_suspend. The device of the first stream is
/// current. Null, as in a failed frame: the function must not be called, nor
/// gpuasync_call_end.
GPUASYNC_API const gpuasync_call *
gpuasync_call_begin(gpuasync_frame *frame, gpuasync_stream *const *streams,
                    uint32_t count, uint32_t site) GPUASYNC_NOEXCEPT;

/// The function has returned `result`; anything but 0 is an error of the frame,
/// with what the function reported. Makes the frame's context current again.
GPUASYNC_API void gpuasync_call_end(gpuasync_frame *frame, int32_t result,
                                    uint32_t site) GPUASYNC_NOEXCEPT;

/// For the function of a call: copies `bytes` bytes of device memory on the
/// call's first stream; from null: zeros. Not for one with
/// GPUASYNC_CALL_CAPTURED.
GPUASYNC_API gpuasync_status *
gpuasync_call_copy(const gpuasync_call *call, void *destination,
                   const void *source, uint64_t bytes) GPUASYNC_NOEXCEPT;

/// A call of a library's function of which equal bytes of arguments give equal
/// work: `function` calls it with those bytes. It is called now, as between the
/// two above, or within a region where that is played: on its stream, or on one
/// that is captured, of which a graph is made that runs as often as the region
/// comes with these bytes. A call on several streams is not recorded: a region
/// plays what comes before it, and the call is made at once.
GPUASYNC_API void gpuasync_call_replayable(
    gpuasync_frame *frame, gpuasync_stream *const *streams, uint32_t count,
    int32_t (*function)(const gpuasync_call *call, const void *arguments),
    const void *arguments, uint32_t bytes, uint32_t site) GPUASYNC_NOEXCEPT;

/// On the cpu device, for libraries: calls `function` once all work so far on
/// `stream` is done, with a copy of the `bytes` bytes at `arguments`, aligned
/// to 16; what comes on the stream later starts when it has returned. A result
/// other than 0 makes the stream's work fail. It may wait for other work and
/// for the host, and calls nothing of the runtime but gpuasync_gate_open.
/// `stream` is that of a
/// gpuasync_call, or of gpuasync_context_stream_create. Other devices refuse:
/// GPUASYNC_UNSUPPORTED.
GPUASYNC_API gpuasync_status *gpuasync_stream_enqueue_host(
    gpuasync_stream *stream, int32_t (*function)(void *arguments),
    const void *arguments, uint64_t bytes) GPUASYNC_NOEXCEPT;

/// A closed gate in a stream of the cpu device.
typedef struct gpuasync_gate gpuasync_gate;

/// On the cpu device, for libraries whose work ends elsewhere: calls `arrive`
/// once all work so far on `stream` is done, or has failed with `error` (null:
/// it is done). What comes on the stream later starts when the gate is opened;
/// no thread waits for that. `arrive` may be called before this function
/// returns, and after an error of it. Arguments, streams, other devices, and
/// what `arrive` may do are as for gpuasync_stream_enqueue_host.
GPUASYNC_API gpuasync_status *
gpuasync_stream_enqueue_gate(gpuasync_stream *stream,
                             void (*arrive)(void *arguments, const char *error),
                             const void *arguments, uint64_t bytes,
                             gpuasync_gate **out) GPUASYNC_NOEXCEPT;
/// Opens the gate, which is then gone: to be called once for each gate, on any
/// thread, also after the context of the stream has closed. With a text, the
/// work behind the gate fails with it. Waits for nothing.
GPUASYNC_API void gpuasync_gate_open(gpuasync_gate *gate,
                                     const char *error) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Limits of a fragment: its commands, and the bytes of its arguments.
#define GPUASYNC_FRAGMENT_COMMANDS 64
#define GPUASYNC_FRAGMENT_BYTES 8192
/// In gpuasync_fragment::indices, with a lane: all work that this lane was
/// given before the fragment.
#define GPUASYNC_FRAGMENT_BEFORE UINT32_C(0x80000000)
/// gpuasync_command::config of a launch whose config is no constant.
#define GPUASYNC_NO_CONFIG UINT32_MAX

/// The kind of a command says what its arguments are. All are at multiples of
/// 16, as the parameters of a launch and of a call are, too.
enum gpuasync_command_kind {
  /// A gpuasync_launch_config whose `params` is null, unless it is a constant
  /// of the
  /// fragment; then the packed parameters.
  GPUASYNC_COMMAND_LAUNCH = 1,
  GPUASYNC_COMMAND_COPY = 2,         ///< a gpuasync_copy
  GPUASYNC_COMMAND_COPY_STRIDED = 3, ///< a gpuasync_copy_strided
  GPUASYNC_COMMAND_FILL = 4,         ///< a gpuasync_fill
  GPUASYNC_COMMAND_FILL_STRIDED = 5, ///< a gpuasync_fill
  /// A gpuasync_replayable, then the arguments of the function.
  GPUASYNC_COMMAND_CALL = 6
};

enum gpuasync_command_flags {
  /// Copy or fill: the device reaches all memory of it.
  GPUASYNC_COMMAND_DEVICE_MEMORY = 1
};

/// The arguments of gpuasync_memcpy.
typedef struct gpuasync_copy {
  void *destination;
  const void *source;
  uint64_t bytes;
  uint64_t reserved;
} gpuasync_copy;

/// The arguments of gpuasync_memcpy_strided. It is followed by `rank` sizes,
/// strides of the destination, and strides of the source, each an int64_t.
typedef struct gpuasync_copy_strided {
  void *destination;
  const void *source;
  uint32_t rank;
  uint32_t elementBytes;
  uint64_t reserved;
} gpuasync_copy_strided;

/// The arguments of gpuasync_memset, with `count` elements and rank 0, or of
/// gpuasync_memset_strided. The latter is followed by `rank` sizes and strides,
/// each an int64_t.
typedef struct gpuasync_fill {
  void *destination;
  uint64_t count;
  uint32_t elementBytes;
  uint32_t rank;
  uint64_t reserved;
  unsigned char pattern[16];
} gpuasync_fill;

/// The function of gpuasync_call_replayable.
typedef struct gpuasync_replayable {
  int32_t (*function)(const gpuasync_call *call, const void *arguments);
  uint64_t reserved;
} gpuasync_replayable;

/// One command of a fragment: constant data.
typedef struct gpuasync_command {
  uint32_t kind;  ///< gpuasync_command_kind
  uint32_t flags; ///< gpuasync_command_flags
  uint32_t lane;
  uint32_t site;
  uint32_t argument;      ///< where its arguments begin, a multiple of 16
  uint32_t argumentBytes; ///< their number
  /// Launch: where its gpuasync_launch_config begins in the fragment's
  /// constants, or GPUASYNC_NO_CONFIG.
  uint32_t config;
  /// Earlier commands of the fragment after which it starts: the edges of the
  /// dependency graph, without those that others imply, ascending. They include
  /// the order of its own lane.
  uint32_t after, afterCount; ///< a range of the fragment's indices
  /// Commands of these on other lanes, and GPUASYNC_FRAGMENT_BEFORE with other
  /// lanes.
  uint32_t wait, waitCount;
  uint32_t reserved;
} gpuasync_command;

/// A straight piece of a region: constant data. Commands of one lane run in
/// their order. A lane is a stream, and no two of its lanes are the same one.
typedef struct gpuasync_fragment {
  uint32_t commandCount; ///< at most GPUASYNC_FRAGMENT_COMMANDS
  uint32_t laneCount;
  uint32_t argumentBytes; ///< at most GPUASYNC_FRAGMENT_BYTES
  uint32_t site;          ///< of the region; tells regions of a program apart
  const gpuasync_command *commands;
  const uint32_t *indices;
  const uint32_t *laneDevices; ///< by lane; null: all are 0
  const void *constants;
} gpuasync_fragment;

/// A region begins. Up to its end the fragments that are added, and the records
/// of and waits for the frame's events, may be recorded rather than enqueued.
/// They are then played at the end, as a graph or on their streams. Kernels in
/// it wait for no other work and not for the host. `site` tells the regions of
/// a program apart. What else the frame is asked for in a region plays what is
/// recorded first. A region in a region is a part of it.
GPUASYNC_API void gpuasync_region_begin(gpuasync_frame *frame,
                                        uint32_t site) GPUASYNC_NOEXCEPT;

/// Adds the commands of `fragment` to the region. `lanes` has `laneCount`
/// streams of the frame. A null lane is a stream that ends with the fragment.
/// `arguments` is aligned to 16 and has `argumentBytes` bytes, all of which are
/// written, as equal bytes stand for equal work. The runtime reads both, and
/// pageable sources of copies, before the call returns.
GPUASYNC_API void gpuasync_region_add(gpuasync_frame *frame,
                                      const gpuasync_fragment *fragment,
                                      gpuasync_stream *const *lanes,
                                      const void *arguments) GPUASYNC_NOEXCEPT;

/// Its end, on every path that does not leave the frame. All that it was given
/// has been enqueued: what follows on a stream or waits for an event comes
/// after it.
GPUASYNC_API void gpuasync_region_end(gpuasync_frame *frame,
                                      uint32_t site) GPUASYNC_NOEXCEPT;

/// A region of one fragment: begin, add and end.
GPUASYNC_API void gpuasync_region_run(gpuasync_frame *frame,
                                      const gpuasync_fragment *fragment,
                                      gpuasync_stream *const *lanes,
                                      const void *arguments) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Called by kernels of the cpu device
//===----------------------------------------------------------------------===//

/// gpu.printf on the cpu device: C's printf format, printed as one piece.
GPUASYNC_API void gpuasync_cpu_printf(const gpuasync_cpu_block_ctx *ctx,
                                      const char *format,
                                      ...) GPUASYNC_NOEXCEPT;

/// A failed cf.assert: the launch fails as a device fault with this message.
/// Returns; the calling thread of the kernel then ends.
GPUASYNC_API void gpuasync_cpu_assert_fail(const gpuasync_cpu_block_ctx *ctx,
                                           const char *message,
                                           const char *file, uint32_t line,
                                           uint32_t column, int64_t threadX,
                                           int64_t threadY,
                                           int64_t threadZ) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// For whoever loads, runs and unloads lowered programs
//===----------------------------------------------------------------------===//

/// Stops new frames of the program, waits for open ones and for pending work,
/// and forgets it; its modules are unloaded once nothing of their context runs.
/// A frame that is entered meanwhile may fail with GPUASYNC_SHUT_DOWN.
/// Called before its code or constant data goes away, which may go after
/// success only: an error (GPUASYNC_TIMEOUT, a call from inside a frame of the
/// program) says what may still run, and the call can be repeated. Idempotent;
/// null is ignored. Not final: a frame that is entered after success registers
/// the program again, and it is to be released again.
/// Success in a forked child, where nothing runs; GPUASYNC_SHUT_DOWN in a
/// process that exits.
GPUASYNC_API gpuasync_status *
gpuasync_program_release(const gpuasync_program *program) GPUASYNC_NOEXCEPT;

/// The same for code that goes away when it returns (the destructor of
/// `aot-destructor`): prints an error to stderr and aborts, but not in a
/// process that exits, where the code stays.
GPUASYNC_API void gpuasync_program_release_or_abort(
    const gpuasync_program *program) GPUASYNC_NOEXCEPT;

enum gpuasync_status_code {
  GPUASYNC_OK = 0,
  GPUASYNC_INVALID_ARGUMENT = 1,
  GPUASYNC_OUT_OF_MEMORY = 2,
  GPUASYNC_UNAVAILABLE = 3, ///< no such driver, device or entry point
  GPUASYNC_NOT_FOUND = 4,   ///< no fitting image, no such kernel
  GPUASYNC_UNSUPPORTED = 5,
  GPUASYNC_DEVICE_LOST = 6,
  GPUASYNC_DRIVER_ERROR = 7, ///< any other vendor error
  GPUASYNC_TIMEOUT = 8,
  GPUASYNC_SHUT_DOWN = 9,     ///< after teardown, exit or fork
  GPUASYNC_KERNEL_ASSERT = 10 ///< an assert failed, in a kernel or on the host
};

/// Of a null status, which is success, GPUASYNC_OK and "".
GPUASYNC_API uint32_t gpuasync_status_get_code(const gpuasync_status *status)
    GPUASYNC_NOEXCEPT;
/// One line: location, op, what, why. Lives as long as the status.
GPUASYNC_API const char *
gpuasync_status_get_message(const gpuasync_status *status) GPUASYNC_NOEXCEPT;
GPUASYNC_API void
gpuasync_status_free(gpuasync_status *status) GPUASYNC_NOEXCEPT;

/// Token handles in the hands of an embedder. Null is a point that has already
/// been reached. What a handle stands for that is released after a wait for it
/// timed out is abandoned work (gpuasync_context_wait_abandoned, Context.h). A
/// wait serves as long as work of its context may be unfinished, as
/// gpuasync_context_stream_synchronize does.
GPUASYNC_API gpuasync_status *
gpuasync_event_wait(gpuasync_event *event) GPUASYNC_NOEXCEPT;
GPUASYNC_API void
gpuasync_event_release(gpuasync_event *event) GPUASYNC_NOEXCEPT;

GPUASYNC_API uint32_t gpuasync_abi_version(void) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

//===----------------------------------------------------------------------===//
// The one list of functions that lowered code may call: X(name). The lowering
// declares them and a JIT resolves them by these names.
//===----------------------------------------------------------------------===//
#define GPUASYNC_LOWERED_FUNCTIONS(X)                                          \
  X(gpuasync_frame_enter)                                                      \
  X(gpuasync_frame_leave)                                                      \
  X(gpuasync_frame_leave_or_abort)                                             \
  X(gpuasync_frame_suspend)                                                    \
  X(gpuasync_frame_resume)                                                     \
  X(gpuasync_frame_fail)                                                       \
  X(gpuasync_host_assert_fail)                                                 \
  X(gpuasync_stream_create)                                                    \
  X(gpuasync_stream_create_urgent)                                             \
  X(gpuasync_stream_external)                                                  \
  X(gpuasync_stream_native)                                                    \
  X(gpuasync_stream_destroy)                                                   \
  X(gpuasync_stream_wait)                                                      \
  X(gpuasync_stream_synchronize)                                               \
  X(gpuasync_stream_query)                                                     \
  X(gpuasync_event_record)                                                     \
  X(gpuasync_event_destroy)                                                    \
  X(gpuasync_event_synchronize)                                                \
  X(gpuasync_event_export)                                                     \
  X(gpuasync_event_import)                                                     \
  X(gpuasync_launch)                                                           \
  X(gpuasync_extent)                                                           \
  X(gpuasync_alloc)                                                            \
  X(gpuasync_dealloc)                                                          \
  X(gpuasync_memcpy)                                                           \
  X(gpuasync_memcpy_strided)                                                   \
  X(gpuasync_memset)                                                           \
  X(gpuasync_memset_strided)                                                   \
  X(gpuasync_host_register)                                                    \
  X(gpuasync_host_unregister)                                                  \
  X(gpuasync_constant)                                                         \
  X(gpuasync_resident)                                                         \
  X(gpuasync_tensor_map_encode)                                                \
  X(gpuasync_call_begin)                                                       \
  X(gpuasync_call_end)                                                         \
  X(gpuasync_call_replayable)                                                  \
  X(gpuasync_region_begin)                                                     \
  X(gpuasync_region_add)                                                       \
  X(gpuasync_region_end)                                                       \
  X(gpuasync_region_run)                                                       \
  X(gpuasync_cpu_printf)                                                       \
  X(gpuasync_cpu_assert_fail)                                                  \
  X(gpuasync_program_release)                                                  \
  X(gpuasync_program_release_or_abort)

#endif // GPUASYNC_RUNTIMEABI_H
