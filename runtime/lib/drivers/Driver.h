//===- Driver.h - What the core asks of a driver ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The internal interface between the runtime's core and its drivers (cuda, hip,
// cpu). The core owns pools, caches, the pinned ring, frames and locations; a
// driver turns one call into one or few vendor calls and converts their codes.
//===----------------------------------------------------------------------===//
//
// Errors are `Status` values, made by makeStatus (StatusImpl.h) as "call: NAME
// (code): text" without a location: the core adds that. Nothing throws except
// std::bad_alloc, which the core's entries turn into a status. A fault that
// loses the device has the code GPUASYNC_DEVICE_LOST, in every call after it.
//
// Threads: every function may be called from any thread at any time, except
// that one stream or one event is used by one thread at a time (its owner).
// Unless said otherwise, a DriverContext's functions are called only while it
// is current on the calling thread (makeCurrent).
//
// Blocking: a function marked [blocks] may wait for the device; the core calls
// it at frame enter, with the device idle, or from shutdown, never between a
// frame's first enqueue and its wait. All others return without waiting for
// device progress, whatever is queued.
//
// Counting: a driver adds one to `driverCallCount` for each vendor call that
// goes to the device's driver (for cpu: each operation put on a stream).
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DRIVERS_DRIVER_H
#define GPUASYNC_DRIVERS_DRIVER_H

#include "core/base/StatusImpl.h"

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

namespace gpuasync {

/// Vendor calls made by this thread since the core last folded them into a
/// context's counters. `__thread`: no initialiser, no wrapper function.
extern __thread uint64_t driverCallCount
    __attribute__((tls_model("initial-exec")));

/// Handles of a driver, meaningless to the core: CUstream, CUevent, CUmodule,
/// CUfunction, or objects of the cpu driver. A null NativeStream is legal only
/// where an external null stream was wrapped.
using NativeStream = void *;
using NativeEvent = void *;
using NativeModule = void *;
using NativeFunction = void *;
using NativeGraph = void *; ///< executable

/// Whether the completion flag has come to `value` or beyond.
inline bool isReached(const uint32_t *slot, uint32_t value) {
  return static_cast<int32_t>(__atomic_load_n(slot, __ATOMIC_ACQUIRE) -
                              value) >= 0;
}

/// An array with cache lines of its own, for what all threads read on the warm
/// path: elsewhere on the heap its neighbour may be a word that one of them
/// writes in every call.
struct FreeLines {
  void operator()(void *lines) const noexcept {
    operator delete(lines, std::align_val_t(64));
  }
};
template <typename T>
using LineArray = std::unique_ptr<T[], FreeLines>;
/// Null if there is no memory.
template <typename T>
LineArray<T> makeLineArray(size_t count) noexcept {
  static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 64);
  size_t bytes = (count * sizeof(T) / 64 + 1) * 64;
  try {
    void *lines = operator new(bytes, std::align_val_t(64));
    for (size_t i = 0; i < count; ++i)
      new (static_cast<T *>(lines) + i) T();
    return LineArray<T>(static_cast<T *>(lines));
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

/// "PTX", of a gpuasync_image_format.
inline std::string formatName(uint32_t format) {
  switch (format) {
  case GPUASYNC_IMAGE_CPU:
    return "cpu";
  case GPUASYNC_IMAGE_PTX:
    return "PTX";
  case GPUASYNC_IMAGE_CUBIN:
    return "cubin";
  case GPUASYNC_IMAGE_HSACO:
    return "hsaco";
  case GPUASYNC_IMAGE_FATBIN:
    return "fatbin";
  case GPUASYNC_IMAGE_DATA:
    return "data";
  default:
    return "format " + std::to_string(format);
  }
}

/// What a device can do; bits of DeviceInfo::capabilities.
enum Capability : uint32_t {
  /// allocAsync and freeAsync work (tested at run time on this device).
  CapStreamOrderedAlloc = 1u << 0,
  /// writeFlag works and polling its slot is the fastest host wait.
  CapFlagWait = 1u << 1,
  /// Device work writes pageable host memory without staging and without
  /// blocking the caller, so downloads need no ring (cpu).
  CapPageableDestination = 1u << 2,
  /// Host code may touch device memory when the stream is idle, so an upload
  /// on an idle stream is a plain memcpy (cpu).
  CapHostAccess = 1u << 3,
  /// gpuasync_stream_external takes the vendor's own handle; without it, a
  /// gpuasync_stream (cpu).
  CapVendorStreams = 1u << 4,
  CapCooperative = 1u << 5,
  CapClusters = 1u << 6,
  /// makeGraph and its like work.
  CapGraphs = 1u << 7
};

struct DeviceInfo {
  char name[128] = "";
  char arch[32] = ""; ///< "sm_90", "gfx90a:sramecc+:xnack-"; "" for cpu
  uint64_t memoryBytes = 0;
  uint32_t capabilities = 0;
  uint32_t multiprocessors = 0; ///< cpu: worker threads
  /// Of what loads modules, e.g. 13000 for CUDA 13.0; cpu: our own ABI version.
  uint32_t driverVersion = 0;
};

/// What the core remembers while our context is current in place of the
/// caller's. Lives in the frame, so it is small and plain.
struct SavedContext {
  void *previous = nullptr;
  uint32_t pushed = 0; ///< 1: restore must pop
  /// The thread's stream capture mode was changed, from this one.
  bool modeChanged = false;
  int32_t mode = 0;
  const void *vendor = nullptr;  ///< whose mode it is
  SavedContext *outer = nullptr; ///< the thread's next one outwards
};

/// Of what the calling thread has made current last.
extern __thread SavedContext *innermostContext
    __attribute__((tls_model("initial-exec")));

enum class MemoryKind : uint32_t {
  Device,
  HostShared, ///< both sides read and write; pinned host memory or managed
  Pinned      ///< host memory for staging and completion flags
};

/// What the driver knows about an address that the core did not allocate.
enum class PointerKind : uint32_t {
  Pageable,   ///< plain host memory, or unknown to the driver
  Registered, ///< host memory that the device can reach asynchronously
  Device,
  Managed
};

/// A copy of rank 1..maxRank after the core has dropped unit dimensions and
/// merged contiguous ones; the last dimension varies fastest. Strides in bytes.
struct StridedCopy {
  static constexpr uint32_t maxRank = 8;
  void *destination = nullptr;
  const void *source = nullptr;
  int64_t sizes[maxRank] = {}; ///< in elements
  int64_t destinationStrides[maxRank] = {};
  int64_t sourceStrides[maxRank] = {};
  uint32_t rank = 0;
  uint32_t padding = 0; ///< copies are compared as bytes
  /// Bytes of the innermost element: any value; the core has merged a
  /// contiguous last dimension into it, so a plain 2-D copy is rank 1 with
  /// elementBytes = width.
  uint64_t elementBytes = 0;
};

/// The same for a fill; `elementBytes` is 1, 2, 4, 8 or 16 (a contiguous last
/// dimension stays a dimension with stride elementBytes).
struct StridedFill {
  static constexpr uint32_t maxRank = 8;
  void *destination = nullptr;
  int64_t sizes[maxRank] = {};
  int64_t strides[maxRank] = {}; ///< in bytes
  uint32_t rank = 0;
  uint32_t elementBytes = 0;
  unsigned char pattern[16] = {};
};

/// Work that nobody describes, as a library's: it is put on a stream that is
/// captured.
class CapturedWork {
public:
  /// The calling thread is as the caller had it (DriverContext::suspend), and
  /// its own mode of stream capture forbids what a graph cannot hold.
  virtual Status enqueue(NativeStream stream) = 0;

protected:
  ~CapturedWork() = default;
};

/// One operation of a graph. What it points to is read during a call only; what
/// is said of the arguments of launch, copyStrided and fillStrided holds here.
struct GraphNode {
  enum class Kind : uint8_t {
    Launch,
    Copy,
    Fill,
    Captured
  } kind = Kind::Launch;
  /// No threads, nothing to copy or to fill: it only keeps order. Of a launch
  /// the sizes do not matter then, `copy` and `fill` may be null. What is
  /// captured is not empty, whatever comes of it.
  bool empty = false;
  const gpuasync_site *site = nullptr; ///< for errors; may be null
  // Launch
  NativeFunction function = nullptr;
  const gpuasync_kernel *kernel = nullptr;
  const gpuasync_block *block = nullptr;
  // Copy: of rank 0 plain bytes. Fill
  const StridedCopy *copy = nullptr;
  const StridedFill *fill = nullptr;
  CapturedWork *work = nullptr; ///< of Captured
  /// Indices of earlier nodes of the graph, each once, after which it starts.
  const uint32_t *after = nullptr;
  uint32_t afterCount = 0;
};

/// Of a stream: not captured, captured, or part of a capture that failed.
struct CaptureState {
  enum Kind : uint32_t { None, Active, Invalid } kind = None;
  uint64_t id = 0; ///< of the capture, unique in the process; of Active only
};

/// When one operation ran on the device, by the host's clock (nowNs).
struct DeviceTiming {
  int64_t begin = 0, end = 0; ///< both 0: it never ran
  std::atomic<bool> known{false};
  /// The vendor's events before and after it.
  NativeEvent from = nullptr, to = nullptr;
};

/// A tensor as copies in tiles see it: the parameters of
/// cuTensorMapEncodeTiled, with its values for the enumerations. The innermost
/// dimension comes first.
struct TensorMap {
  uint32_t dataType = 0, rank = 0;
  void *address = nullptr;
  const uint64_t *sizes = nullptr;   ///< in elements
  const uint64_t *strides = nullptr; ///< in bytes, rank - 1 of them
  const uint32_t *box = nullptr;
  const uint32_t *elementStrides = nullptr;
  uint32_t interleave = 0, swizzle = 0, l2Promotion = 0, fill = 0;
};

/// One device context. Destroyed by the core after `close`. While somebody
/// captures a stream, all calls but those on captured streams go on as ever and
/// do not end the capture, in whatever mode that is.
class DriverContext {
public:
  virtual ~DriverContext() = default;

  //===--- The calling thread's current context (no context need be current)

  /// Makes this context current and says in `saved` how to go back. When it is
  /// current already nothing is pushed, and restore does nothing.
  /// `saved` stays where it is until it is restored, last in, first out.
  virtual Status makeCurrent(SavedContext &saved) = 0;
  /// Undoes makeCurrent; also when code in between changed the top of the
  /// thread's context stack. Cannot fail loudly.
  virtual void restore(SavedContext &saved) noexcept = 0;
  /// Before unknown code runs: all of the thread but the current context is as
  /// the caller had it.
  virtual void suspend() noexcept {}
  /// Makes this context the current one again after unknown code ran, without
  /// changing the depth of the context stack. Cheap when it still is.
  virtual Status resume() = 0;

  //===--- Streams: in order, non-blocking towards the default stream

  virtual Status createStream(NativeStream &out) = 0;
  /// No work may be pending (the core keeps busy streams on a list). [blocks]
  virtual void destroyStream(NativeStream stream) noexcept = 0;
  /// The handle for a caller's stream; `native` null is the default stream. For
  /// the cpu driver `native` is a NativeStream of this context. Never owned.
  virtual Status externalStream(void *native, NativeStream &out) = 0;
  /// Whether the stream is being captured into a graph; `out` is as made by its
  /// constructor. Where the vendor does not support the question the answer is
  /// no; when it fails, nothing is known. Allowed at any time.
  virtual Status captureState(NativeStream, CaptureState &) { return Status(); }
  /// `done`: all work on the stream has finished. An error of the stream's work
  /// (or of the device) is the result.
  virtual Status queryStream(NativeStream stream, bool &done) = 0;
  /// Waits on the host until all work enqueued so far is done, asleep if it
  /// takes long. `timeoutNs` < 0: for ever. `done` is false after a timeout. An
  /// error of the stream's work is the result.
  virtual Status waitStream(NativeStream stream, int64_t timeoutNs,
                            bool &done) = 0;
  /// Nobody needs the stream's work any more: drops what has not begun, and has
  /// kernels end early that run, where the device can. What waits for an event
  /// of that work fails.
  virtual void cancelStream(NativeStream) {}
  /// Whether what is left of a cancelled stream surely ends, and soon.
  virtual bool endsSoon(NativeStream) { return false; }
  /// A pooled stream gets a new owner: forgets an error that belonged to the
  /// former one (cpu; nothing elsewhere). The stream is idle.
  virtual void resetStream(NativeStream) noexcept {}

  //===--- Events: recorded many times; one owner at a time

  virtual Status createEvent(NativeEvent &out) = 0;
  /// Legal while waits on it are still queued.
  virtual void destroyEvent(NativeEvent event) noexcept = 0;
  virtual Status recordEvent(NativeEvent event, NativeStream stream) = 0;
  /// Work put on `stream` later starts after the event's last record. The event
  /// may be recorded again or destroyed at once after this.
  virtual Status streamWaitEvent(NativeStream stream, NativeEvent event) = 0;
  virtual Status queryEvent(NativeEvent event, bool &done) = 0;
  /// As waitStream.
  virtual Status waitEvent(NativeEvent event, int64_t timeoutNs,
                           bool &done) = 0;

  //===--- Completion flags (CapFlagWait)

  /// Once all work so far on `stream` has *succeeded*, stores `value` to the
  /// 4-byte aligned `slot`, which lies in MemoryKind::Pinned memory of this
  /// context; what the work wrote is visible to a host thread that reads the
  /// value with acquire order. After a failure the value is never stored: the
  /// core polls, and asks queryStream when that takes long.
  virtual Status writeFlag(NativeStream stream, uint32_t *slot,
                           uint32_t value) {
    (void)stream, (void)slot, (void)value;
    return makeStatus(GPUASYNC_UNSUPPORTED, "no completion flags");
  }

  //===--- Modules

  /// Capabilities that the device promises and that a test of them, when this
  /// was opened, found missing.
  virtual uint32_t missing() const { return 0; }
  /// The vendor's number of this context, which no later one at the same
  /// address has; 0 where addresses say it all.
  virtual uint64_t generation() const { return 0; }
  /// Loads `image` of `module` wholly, first-use loading of each function
  /// included, and writes module.kernelCount handles to `functions`. A kernel
  /// that the image lacks is GPUASYNC_NOT_FOUND naming it; where the driver
  /// can tell, parameter count and sizes are checked against the kernel table
  /// (paramCount UINT32_MAX: unknown). On failure nothing stays loaded.
  /// [blocks]
  virtual Status loadModule(const gpuasync_module &module,
                            const gpuasync_image &image, NativeModule &out,
                            NativeFunction *functions) = 0;
  /// The same for a module that somebody else loaded: `foreign` is the vendor's
  /// handle (CUmodule), on cpu a gpuasync_cpu_kernel table. It stays theirs:
  /// unloadModule leaves it alone. [blocks]
  virtual Status adoptModule(const gpuasync_module &module,
                             const gpuasync_image &image, void *foreign,
                             NativeModule &out, NativeFunction *functions) = 0;
  /// None of its kernels is running or queued. [blocks]
  virtual void unloadModule(NativeModule module) noexcept = 0;
  /// Adds kernel 0 of `module` (a table made for this call) to what was loaded
  /// from `image` as `loaded`, for callers that learn the names of kernels one
  /// by one. The handle lives as long as the module; one call at a time for
  /// one module. [blocks]
  virtual Status findFunction(NativeModule loaded,
                              const gpuasync_module &module,
                              const gpuasync_image &image,
                              NativeFunction &out) {
    (void)loaded, (void)image, (void)out;
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "module '%s' has a fixed table of kernels", module.name);
  }

  //===--- Work. `site` is for diagnostics, may be null, and is constant data
  //===--- that outlives the work. The core has checked null and empty cases:
  //===--- sizes are > 0, grid and block dimensions >= 1.

  /// `kernel` describes the packed parameters at block.params, which are copied
  /// before the call returns. Limits of the device that the launch exceeds are
  /// GPUASYNC_INVALID_ARGUMENT with the limit in the message.
  virtual Status launch(NativeStream stream, NativeFunction function,
                        const gpuasync_kernel &kernel,
                        const gpuasync_block &block,
                        const gpuasync_site *site) = 0;
  /// What the kernels that are launched on one stream tell the host of their
  /// end by. Thread safe. False if there is none to be had.
  virtual bool acquireSignal(uint32_t &index) {
    (void)index;
    return false;
  }
  /// Nothing that was launched with it runs.
  virtual void releaseSignal(uint32_t) noexcept {}
  /// A launch after which `slot`, in memory of the host, comes to `value` or
  /// beyond, as it would by writeFlag behind it; null where the kernel says
  /// nothing. It says that the work is done and can be seen, not that the
  /// kernel has ended. The slot stays until the context closes.
  virtual Status launch(NativeStream stream, NativeFunction function,
                        const gpuasync_kernel &kernel,
                        const gpuasync_block &block, const gpuasync_site *site,
                        uint32_t signal, uint32_t *&slot, uint32_t &value) {
    slot = nullptr;
    (void)signal, (void)value;
    return launch(stream, function, kernel, block, site);
  }

  /// As `launch`, for callers that have a pointer to each parameter and may not
  /// know the sizes; block.params is not read. By default the parameters are
  /// packed as `kernel` says.
  virtual Status launchPointers(NativeStream stream, NativeFunction function,
                                const gpuasync_kernel &kernel,
                                const gpuasync_block &block, void **parameters,
                                const gpuasync_site *site);

  /// Both addresses are device, host-shared, pinned or registered memory;
  /// pageable only as destination and only with CapPageableDestination.
  virtual Status copy(NativeStream stream, void *destination,
                      const void *source, uint64_t bytes,
                      const gpuasync_site *site) = 0;
  virtual Status copyStrided(NativeStream stream, const StridedCopy &copy,
                             const gpuasync_site *site) = 0;
  virtual Status fillStrided(NativeStream stream, const StridedFill &fill,
                             const gpuasync_site *site) = 0;

  /// Runs `function(argument)`, which ends soon, in the order of the stream;
  /// not if the stream has failed. Needed with CapPageableDestination only.
  virtual Status call(NativeStream stream, void (*function)(void *),
                      void *argument) {
    (void)stream, (void)function, (void)argument;
    return makeStatus(GPUASYNC_UNSUPPORTED, "no calls in stream order");
  }
  /// The same for a library: with a copy of the `bytes` bytes at `arguments`,
  /// aligned to 16; it may wait for other work. A result other than 0 is a
  /// failure of the stream's work.
  virtual Status callHost(NativeStream stream, int32_t (*function)(void *),
                          const void *arguments, uint64_t bytes,
                          const gpuasync_site *site) {
    (void)stream, (void)function, (void)arguments, (void)bytes, (void)site;
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "host functions are enqueued on the cpu device only: "
                      "enqueue on the vendor's stream");
  }

  //===--- Times, for traces. A timing stays where it is until it is known or
  //===--- `close` has returned.

  /// Times the one operation that the calling thread enqueues on the stream
  /// before endTiming. The stream is not captured.
  virtual Status beginTiming(NativeStream, DeviceTiming &) {
    return makeStatus(GPUASYNC_UNSUPPORTED, "no times of the device");
  }
  /// Called by the same thread after every beginTiming that succeeded, whatever
  /// the operation came to.
  virtual Status endTiming(NativeStream, DeviceTiming &) { return Status(); }
  /// Fills in what is `known` by now. After an error it never will be.
  virtual Status readTiming(DeviceTiming &) { return Status(); }
  /// Gives the vendor's objects of a timing back.
  virtual void dropTiming(DeviceTiming &) noexcept {}
  /// How far `begin` and `end` may be from the host's clock, in nanoseconds.
  virtual int64_t timingError() { return 0; }

  /// Before and after a library's function puts work of its own on the stream,
  /// for traces.
  virtual void beginLibrary(NativeStream, const gpuasync_site *) noexcept {}
  virtual void endLibrary(NativeStream) noexcept {}

  //===--- Graphs (CapGraphs): work that is given to the device as a whole. None
  //===--- of these calls waits for work of other streams. One thread at a time
  //===--- calls on one graph.

  /// Makes one executable graph of `count` >= 1 nodes and brings it to the
  /// device. What a graph cannot hold is GPUASYNC_UNSUPPORTED; an error says
  /// the site of its node if it is one of a node. On failure nothing is left.
  /// The modules of its kernels outlive it. Work that could not be captured now
  /// is GPUASYNC_UNAVAILABLE. `anyUpdate`: a launch of it may take longer, so
  /// that updates find nothing but flags, clusters and captured work that the
  /// device cannot change.
  virtual Status makeGraph(const GraphNode *nodes, uint32_t count,
                           bool anyUpdate, NativeGraph &out) {
    (void)nodes, (void)count, (void)anyUpdate, (void)out;
    return makeStatus(GPUASYNC_UNSUPPORTED, "no graphs");
  }
  /// Gives nodes `indices`, of which `nodes[i]` is the i-th, other arguments:
  /// parameters, sizes, addresses; kinds, functions and edges stay. Launches
  /// of the graph that are enqueued already keep the old ones.
  /// GPUASYNC_UNSUPPORTED where the device cannot: a launch gets other flags or
  /// clusters, and without `anyUpdate`, a copy of bytes becomes one of rows,
  /// its memory is of another kind than before (device, host), or a kernel that
  /// overlaps with others becomes empty; and what is captured now has other
  /// operations or edges than before. GPUASYNC_UNAVAILABLE as above. After an
  /// error nodes before `failed`, which the error is about, have changed.
  virtual Status updateGraph(NativeGraph graph, const uint32_t *indices,
                             const GraphNode *nodes, uint32_t count,
                             uint32_t &failed) {
    (void)graph, (void)indices, (void)nodes, (void)count, (void)failed;
    return makeStatus(GPUASYNC_UNSUPPORTED, "no graphs");
  }
  /// Enqueues all of the graph as one operation of the stream. A graph that
  /// still runs would wait for itself: the core does not ask for that.
  virtual Status launchGraph(NativeGraph graph, NativeStream stream) {
    (void)graph, (void)stream;
    return makeStatus(GPUASYNC_UNSUPPORTED, "no graphs");
  }
  /// The same, and `slot`, in memory of the host, comes to `value` or beyond
  /// as it would by writeFlag behind the graph; null where the graph has none.
  /// It says that the work is done, not that the driver has done with the
  /// graph. The slot stays until the context closes.
  virtual Status launchGraph(NativeGraph graph, NativeStream stream,
                             uint32_t *&slot, uint32_t &value) {
    slot = nullptr;
    (void)value;
    return launchGraph(graph, stream);
  }
  /// Its work is done. On a lost device the driver gives back its own part
  /// only.
  virtual void destroyGraph(NativeGraph) noexcept {}

  //===--- Memory, aligned to 256

  /// With CapStreamOrderedAlloc. From a pool of our own that keeps freed
  /// memory; trimMemory gives it back.
  virtual Status allocAsync(NativeStream, uint64_t /*bytes*/, void *& /*out*/) {
    return makeStatus(GPUASYNC_UNSUPPORTED, "no stream-ordered allocation");
  }
  /// Only for memory of allocAsync; any stream of this context.
  virtual Status freeAsync(NativeStream, void * /*pointer*/) {
    return makeStatus(GPUASYNC_UNSUPPORTED, "no stream-ordered allocation");
  }
  /// Gives idle memory of the pool back down to `keepBytes`. [blocks]
  virtual void trimMemory(uint64_t /*keepBytes*/) noexcept {}
  /// Not stream-ordered; does not wait for running kernels, or the core calls
  /// it only where it may. Out of memory is GPUASYNC_OUT_OF_MEMORY.
  virtual Status allocMemory(MemoryKind kind, uint64_t bytes, void *&out) = 0;
  /// [blocks]
  virtual void freeMemory(MemoryKind kind, void *pointer) noexcept = 0;
  /// Free and total device memory, for messages; 0 if unknown.
  virtual void memoryInfo(uint64_t &freeBytes, uint64_t &totalBytes) = 0;

  /// Registering memory that somebody else registered is success, and then
  /// `owned` is false: unregisterHost is not called for it. After an error
  /// `owned` says that the memory is registered all the same.
  virtual Status registerHost(void *pointer, uint64_t bytes, bool &owned) = 0;
  /// [blocks]
  virtual void unregisterHost(void *pointer) noexcept = 0;
  virtual PointerKind pointerKind(const void *pointer) = 0;
  /// The address by which the device reaches registered host memory.
  virtual Status devicePointer(void *host, void *&out) {
    out = host;
    return Status();
  }

  /// Writes the device's descriptor of a tiled tensor, 128 bytes, to `out`,
  /// which is aligned to 64. Touches no stream.
  virtual Status encodeTensorMap(const TensorMap &, void *out) {
    (void)out;
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "this device has no tensor map descriptors");
  }

  //===--- Diagnostics and the end

  /// Writes the sites of operations on `stream` that have not finished, oldest
  /// first, at most `capacity`, and returns their number; UINT32_MAX if the
  /// driver cannot tell (the core then lists what it enqueued).
  virtual uint32_t unfinished(NativeStream, const gpuasync_site **,
                              uint32_t /*capacity*/) {
    return UINT32_MAX;
  }

  /// The last call. `lost`: the device is lost; make no call that can hang or
  /// fail loudly. All streams, events, modules and memory have been given back
  /// unless `lost`. The context is current unless `lost`. Returns what of the
  /// driver's own is still alive (0 is right), for the leak check. [blocks]
  virtual uint64_t close(bool lost) noexcept = 0;
};

/// One kind of device. A driver object is made once and never destroyed: no
/// destructor runs at exit.
class Driver {
public:
  virtual const char *name() const = 0; ///< "cuda", "hip", "cpu"
  /// Opens the vendor library on the first call, once under racing threads. If
  /// there is none, or it lacks a required entry point, the result says so with
  /// every path tried (GPUASYNC_UNAVAILABLE). What only failed to initialise,
  /// for lack of memory or the like, is tried again at the next call.
  virtual Status available() = 0;
  /// Loads the vendor's library, of which available() tells. No lock is held
  /// meanwhile, as a thread in dlopen holds the loader's and may come here.
  virtual void loadLibrary() {}
  /// 0 if unavailable.
  virtual int32_t deviceCount() = 0;
  virtual Status deviceInfo(int32_t ordinal, DeviceInfo &info) = 0;
  /// How well an image fits a device: 0 not at all, and then `why`, unless
  /// null, receives the reason; the core takes the highest (exact cubin, then a
  /// lower minor version's of the same major, then the newest PTX that driver
  /// and chip take). No context is opened for it.
  virtual uint32_t imageRank(int32_t ordinal, const gpuasync_image &image,
                             std::string *why = nullptr) = 0;
  /// Opens a context: in `adopted`, a context of the caller's on that device;
  /// if that is null, in the primary one, retained, for cuda. The caller's
  /// current context stays as it is. [blocks]
  virtual Status openContext(int32_t ordinal, void *adopted,
                             std::unique_ptr<DriverContext> &out) = 0;
  /// The device of a context of the caller's.
  virtual Status deviceOf(void *, int32_t &) {
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "%s has no contexts that could be adopted; open a device "
                      "by its name",
                      name());
  }

protected:
  ~Driver() = default;
};

/// The drivers in the order in which `auto` tries them. Each is defined in its
/// own folder and returns the same object in every call.
Driver *cudaDriver();
Driver *hipDriver();
Driver *cpuDriver();

constexpr int driverCount = 3;
inline Driver *driverAt(int index) {
  return index == 0 ? cudaDriver() : index == 1 ? hipDriver() : cpuDriver();
}

/// See gpuasync_set_cpu_schedule.
Status setCpuSchedule(const char *schedule);

} // namespace gpuasync

#endif // GPUASYNC_DRIVERS_DRIVER_H
