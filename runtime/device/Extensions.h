//===- Extensions.h - What a device may offer beside the rest ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optional interfaces of a device. A device that has one says so in
// Device::extensions; the core does without those that are null. Threads,
// blocking and errors: as in Device.h.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_EXTENSIONS_H
#define GPUASYNC_DEVICE_EXTENSIONS_H

#include "device/Command.h"

namespace gpuasync {

/// Memory that is allocated and freed in the order of a stream, from a pool
/// that keeps freed memory. With CapStreamOrderedAlloc.
class StreamMemory {
public:
  virtual Status allocAsync(NativeStream stream, uint64_t bytes,
                            void *&out) = 0;
  /// Only for memory of allocAsync; any stream of this context.
  virtual Status freeAsync(NativeStream stream, void *pointer) = 0;
  /// Gives idle memory of the pool back down to `keepBytes`. [blocks]
  virtual void trimMemory(uint64_t keepBytes) noexcept = 0;

protected:
  ~StreamMemory() = default;
};

/// Streams whose work begins before that of other streams.
class StreamPriorities {
public:
  /// As Device::createStream.
  virtual Status createUrgentStream(NativeStream &out) = 0;

protected:
  ~StreamPriorities() = default;
};

/// Words that a stream writes. With CapFlagWait.
class CompletionFlags {
public:
  /// Once all work so far on `stream` has *succeeded*, stores `value` to the
  /// 4-byte aligned `slot`, which lies in MemoryKind::Pinned memory of this
  /// context; what the work wrote is visible to a host thread that reads the
  /// value with acquire order. After a failure the value is never stored: the
  /// core polls, and asks queryStream when that takes long.
  virtual Status writeFlag(NativeStream stream, uint32_t *slot,
                           uint32_t value) = 0;

protected:
  ~CompletionFlags() = default;
};

/// Words that kernels write at their end (Completion).
class CompletionSignals {
public:
  /// Reserves a signal for the kernels that are launched on one stream. Thread
  /// safe. False if there is none to be had.
  virtual bool acquireSignal(uint32_t &index) = 0;
  /// Nothing that was launched with it runs.
  virtual void releaseSignal(uint32_t index) noexcept = 0;

protected:
  ~CompletionSignals() = default;
};

/// Work that is given to the device as a whole. With CapGraphs. None of these
/// calls waits for work of other streams. One thread at a time calls on one
/// graph.
class DeviceGraphs {
public:
  /// Makes one executable graph of `count` >= 1 nodes and brings it to the
  /// device. A node that a graph cannot hold is GPUASYNC_UNSUPPORTED; an error
  /// says the site of its node if it is one of a node. On failure nothing is
  /// left. The modules of its kernels outlive it. Work that could not be
  /// captured now is GPUASYNC_UNAVAILABLE. `anyUpdate`: a launch of it may take
  /// longer, so that updates find nothing but flags, clusters and captured work
  /// that the device cannot change.
  virtual Status makeGraph(const GraphNode *nodes, uint32_t count,
                           bool anyUpdate, NativeGraph &out) = 0;
  /// Gives nodes `indices`, of which `nodes[i]` is the i-th, other arguments:
  /// parameters, sizes, addresses; kinds, functions and edges stay, but that a
  /// copy of bytes may become one of rows, and back. Launches of the graph that
  /// are enqueued already keep the old ones.
  /// GPUASYNC_UNSUPPORTED where the device cannot: a launch gets other flags or
  /// clusters, and without `anyUpdate`, a copy of bytes becomes one of rows,
  /// its memory is of another kind than before (device, host), or a kernel that
  /// overlaps with others becomes empty; and captured work now has other
  /// operations or edges than before. GPUASYNC_UNAVAILABLE as above. After an
  /// error nodes before `failed`, which the error is about, have changed.
  virtual Status updateGraph(NativeGraph graph, const uint32_t *indices,
                             const GraphNode *nodes, uint32_t count,
                             uint32_t &failed) = 0;
  /// Enqueues all of the graph as one operation of the stream. A graph that
  /// still runs would wait for itself: the core does not ask for that.
  /// `completion`: null if nobody wants a word.
  virtual Status launchGraph(NativeGraph graph, NativeStream stream,
                             Completion *completion) = 0;
  /// Its work is done. On a lost device the driver gives back its own part
  /// only.
  virtual void destroyGraph(NativeGraph graph) noexcept = 0;

protected:
  ~DeviceGraphs() = default;
};

/// When work ran, for traces. A timing stays where it is until it is known or
/// Device::close has returned.
class DeviceClock {
public:
  /// Times the one operation that the calling thread enqueues on the stream
  /// before endTiming. The stream is not captured.
  virtual Status beginTiming(NativeStream stream, DeviceTiming &timing) = 0;
  /// Called by the same thread after every beginTiming that succeeded, whatever
  /// the operation came to.
  virtual Status endTiming(NativeStream stream, DeviceTiming &timing) = 0;
  /// Fills in what is `known` by now. After an error it never will be.
  virtual Status readTiming(DeviceTiming &timing) = 0;
  /// Gives the vendor's objects of a timing back.
  virtual void dropTiming(DeviceTiming &timing) noexcept = 0;
  /// How far `begin` and `end` may be from the host's clock, in nanoseconds.
  virtual int64_t timingError() = 0;

protected:
  ~DeviceClock() = default;
};

/// Streams that are captured into graphs of the caller's.
class StreamCaptures {
public:
  /// Whether the stream is being captured into a graph; `out` is as made by its
  /// constructor. Where the vendor does not support the question the answer is
  /// no; when it fails, nothing is known. Allowed at any time.
  virtual Status captureState(NativeStream stream, CaptureState &out) = 0;

protected:
  ~StreamCaptures() = default;
};

/// Descriptors of tiled tensors.
class TensorMaps {
public:
  /// Writes the device's descriptor of a tiled tensor, 128 bytes, to `out`,
  /// which is aligned to 64. Touches no stream.
  virtual Status encodeTensorMap(const TensorMap &map, void *out) = 0;

protected:
  ~TensorMaps() = default;
};

/// Modules and memory of others in the process, for embedders and for MLIR's
/// own wrappers.
class ForeignObjects {
public:
  /// As Device::loadModule for a module that somebody else loaded: `foreign` is
  /// the vendor's handle (CUmodule), on cpu a gpuasync_cpu_kernel table. It
  /// stays theirs: unloadModule leaves it alone. [blocks]
  virtual Status adoptModule(const gpuasync_module &module,
                             const gpuasync_image &image, void *foreign,
                             NativeModule &out, NativeFunction *functions) = 0;
  /// Adds kernel 0 of `module` (a table made for this call) to what was loaded
  /// from `image` as `loaded`, for callers that learn the names of kernels one
  /// by one. The handle lives as long as the module; one call at a time for
  /// one module. [blocks]
  virtual Status findFunction(NativeModule loaded,
                              const gpuasync_module &module,
                              const gpuasync_image &image,
                              NativeFunction &out) = 0;
  /// As a launch, for callers that have a pointer to each parameter and may not
  /// know the sizes; the block's `params` are not read.
  virtual Status launchPointers(NativeStream stream,
                                const Command::Launch &launch,
                                void **parameters,
                                const gpuasync_site *site) = 0;
  /// The address by which the device reaches registered host memory.
  virtual Status devicePointer(void *host, void *&out) = 0;

protected:
  ~ForeignObjects() = default;
};

/// Streams whose work the device itself knows and can drop.
class StreamControl {
public:
  /// Nobody needs the stream's work any more: drops what has not begun, and has
  /// kernels end early that run, where the device can. Work that waits for an
  /// event of that work fails.
  virtual void cancelStream(NativeStream stream) = 0;
  /// Whether the rest of a cancelled stream surely ends, and soon.
  virtual bool endsSoon(NativeStream stream) = 0;
  /// A pooled stream gets a new owner: forgets an error that belonged to the
  /// former one. The stream is idle.
  virtual void resetStream(NativeStream stream) noexcept = 0;
  /// Writes the sites of operations on `stream` that have not finished, oldest
  /// first, at most `capacity`, and returns their number.
  virtual uint32_t unfinished(NativeStream stream, const gpuasync_site **sites,
                              uint32_t capacity) = 0;

protected:
  ~StreamControl() = default;
};

/// A closed gate in a stream: work behind it waits until somebody opens it.
class StreamGate {
public:
  /// Lets the work behind the gate start, or fail with `error`. Once, by any
  /// thread, also when the stream's context has closed. The gate is gone then.
  virtual void open(Status error) noexcept = 0;

protected:
  ~StreamGate() = default;
};

/// Streams that work outside of the device can hold back.
class StreamGates {
public:
  /// Calls `call.arrive` once all work so far on `stream` is done or has
  /// failed. Work put on it later starts when the gate is opened. After an
  /// error it may be called all the same.
  virtual Status closeGate(NativeStream stream, const Command::HostCall &call,
                           const gpuasync_site *site, StreamGate *&out) = 0;

protected:
  ~StreamGates() = default;
};

/// A trace around a device.
class DeviceObserver {
public:
  //===--- Work that does not pass by the device

  /// Before and after a library's function puts work of its own on the stream.
  virtual void beginLibrary(NativeStream stream,
                            const gpuasync_site *site) noexcept = 0;
  virtual void endLibrary(NativeStream stream) noexcept = 0;
  /// The host itself has made a copy that the program put on the stream, from
  /// the time `from` until now.
  virtual void noteHostCopy(NativeStream stream, uint64_t bytes,
                            const gpuasync_site *site,
                            int64_t from) noexcept = 0;

  //===--- The end of a trace
  /// Reads the times of all work that the host knows to have ended by now, and
  /// of what else has, unless the device is lost. The context is current unless
  /// it is lost.
  virtual void readTimes(bool lost) noexcept = 0;
  /// Gives up what is not known.
  virtual void finish() noexcept = 0;

protected:
  ~DeviceObserver() = default;
};

/// The extensions that a device has; null: it has not.
struct Extensions {
  StreamMemory *memory = nullptr;
  CompletionFlags *flags = nullptr;
  CompletionSignals *signals = nullptr;
  DeviceGraphs *graphs = nullptr;
  DeviceClock *clock = nullptr;
  StreamCaptures *captures = nullptr;
  TensorMaps *tensorMaps = nullptr;
  ForeignObjects *foreign = nullptr;
  StreamControl *control = nullptr;
  StreamGates *gates = nullptr;
  DeviceObserver *observer = nullptr;
  StreamPriorities *priorities = nullptr;
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_EXTENSIONS_H
