//===- TracedDriver.h - A driver whose work is noted ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Around a context's driver while there is a trace: passes each call on, notes
// when the host made it and has the driver say when the device did the work.
// Without a trace (a frame that began during the last one) it only passes on.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TRACE_TRACEDDRIVER_H
#define GPUASYNC_TRACE_TRACEDDRIVER_H

#include "trace/Trace.h"

#include <deque>

namespace gpuasync {

class TracedDriver final : public DriverContext {
public:
  TracedDriver(Trace &trace, DriverContext &inner, std::string device,
               uint32_t capabilities, uint32_t process)
      : trace(trace), inner(inner), device(std::move(device)),
        isVendors(capabilities & CapVendorStreams), process(process) {}
  ~TracedDriver() override;

  /// Reads the times of all work that the host knows to have ended by now, and
  /// of what else has, unless the device is lost. The
  /// context is current unless it is lost.
  void readTimes(bool lost) noexcept;
  /// The session ends: gives up what is not known.
  void finish() noexcept;
  /// The host has done some work itself, from `from` until now.
  void addDone(NativeStream stream, const Work &work, int64_t from);

  Status makeCurrent(SavedContext &saved) override;
  void restore(SavedContext &saved) noexcept override;
  void suspend() noexcept override;
  Status resume() override;
  Status createStream(NativeStream &out) override;
  void destroyStream(NativeStream stream) noexcept override;
  Status externalStream(void *native, NativeStream &out) override;
  Status captureState(NativeStream stream, CaptureState &out) override;
  Status queryStream(NativeStream stream, bool &done) override;
  void cancelStream(NativeStream stream) override;
  bool endsSoon(NativeStream stream) override;
  Status waitStream(NativeStream stream, int64_t timeoutNs,
                    bool &done) override;
  void resetStream(NativeStream stream) noexcept override;
  Status createEvent(NativeEvent &out) override;
  void destroyEvent(NativeEvent event) noexcept override;
  Status recordEvent(NativeEvent event, NativeStream stream) override;
  Status streamWaitEvent(NativeStream stream, NativeEvent event) override;
  Status queryEvent(NativeEvent event, bool &done) override;
  Status waitEvent(NativeEvent event, int64_t timeoutNs, bool &done) override;
  Status writeFlag(NativeStream stream, uint32_t *slot,
                   uint32_t value) override;
  uint32_t missing() const override;
  uint64_t generation() const override;
  Status loadModule(const gpuasync_module &module, const gpuasync_image &image,
                    NativeModule &out, NativeFunction *functions) override;
  Status adoptModule(const gpuasync_module &module, const gpuasync_image &image,
                     void *foreign, NativeModule &out,
                     NativeFunction *functions) override;
  void unloadModule(NativeModule module) noexcept override;
  Status findFunction(NativeModule loaded, const gpuasync_module &module,
                      const gpuasync_image &image,
                      NativeFunction &out) override;
  Status launch(NativeStream stream, NativeFunction function,
                const gpuasync_kernel &kernel, const gpuasync_block &block,
                const gpuasync_site *site) override;
  bool acquireSignal(uint32_t &index) override {
    return inner.acquireSignal(index);
  }
  void releaseSignal(uint32_t index) noexcept override {
    inner.releaseSignal(index);
  }
  Status launch(NativeStream stream, NativeFunction function,
                const gpuasync_kernel &kernel, const gpuasync_block &block,
                const gpuasync_site *site, uint32_t signal, uint32_t *&slot,
                uint32_t &value) override;
  Status launchPointers(NativeStream stream, NativeFunction function,
                        const gpuasync_kernel &kernel,
                        const gpuasync_block &block, void **parameters,
                        const gpuasync_site *site) override;
  Status copy(NativeStream stream, void *destination, const void *source,
              uint64_t bytes, const gpuasync_site *site) override;
  Status copyStrided(NativeStream stream, const StridedCopy &copy,
                     const gpuasync_site *site) override;
  Status fillStrided(NativeStream stream, const StridedFill &fill,
                     const gpuasync_site *site) override;
  Status call(NativeStream stream, void (*function)(void *),
              void *argument) override;
  Status callHost(NativeStream stream, int32_t (*function)(void *),
                  const void *arguments, uint64_t bytes,
                  const gpuasync_site *site) override;
  void beginLibrary(NativeStream stream,
                    const gpuasync_site *site) noexcept override;
  void endLibrary(NativeStream stream) noexcept override;
  Status makeGraph(const GraphNode *nodes, uint32_t count, bool anyUpdate,
                   NativeGraph &out) override;
  Status updateGraph(NativeGraph graph, const uint32_t *indices,
                     const GraphNode *nodes, uint32_t count,
                     uint32_t &failed) override;
  Status launchGraph(NativeGraph graph, NativeStream stream) override;
  Status launchGraph(NativeGraph graph, NativeStream stream, uint32_t *&slot,
                     uint32_t &value) override;
  void destroyGraph(NativeGraph graph) noexcept override;
  Status allocAsync(NativeStream stream, uint64_t bytes, void *&out) override;
  Status freeAsync(NativeStream stream, void *pointer) override;
  void trimMemory(uint64_t keepBytes) noexcept override;
  Status allocMemory(MemoryKind kind, uint64_t bytes, void *&out) override;
  void freeMemory(MemoryKind kind, void *pointer) noexcept override;
  void memoryInfo(uint64_t &freeBytes, uint64_t &totalBytes) override;
  Status registerHost(void *pointer, uint64_t bytes, bool &owned) override;
  void unregisterHost(void *pointer) noexcept override;
  PointerKind pointerKind(const void *pointer) override;
  Status devicePointer(void *host, void *&out) override;
  Status encodeTensorMap(const TensorMap &map, void *out) override;
  uint32_t unfinished(NativeStream stream, const gpuasync_site **sites,
                      uint32_t capacity) override;
  uint64_t close(bool lost) noexcept override;

private:
  using SpanRef = std::shared_ptr<Span>;
  using Sources = std::vector<SpanRef>;

  struct Track {
    uint32_t number = 0;
    SpanRef last;             ///< put on the stream
    Sources waits;            ///< that what comes next is behind
    std::deque<SpanRef> open; ///< whose times are not known, oldest first
  };
  /// What a node of a graph adds to its sums.
  struct Node {
    WorkKind kind;
    bool empty;
    uint64_t bytes;
  };
  struct Graph {
    std::vector<Node> nodes;
    /// The first one's that has any; lives as long as the graph.
    const gpuasync_site *site = nullptr;
    uint64_t session = 0; ///< of the trace that was there when it was made
  };

  /// What is known of a graph, if it was made during this trace: between two
  /// traces nobody says that one goes, and another may lie there. Trace::mutex
  /// held.
  Graph *find(NativeGraph graph);
  /// Calls `start`, which puts the work on the stream.
  template <typename Start>
  Status put(NativeStream stream, const char *name, const Work &work,
             Start start);
  template <typename Start>
  Status putLaunch(NativeStream stream, const gpuasync_kernel &kernel,
                   const gpuasync_block &block, const gpuasync_site *site,
                   Start start, uint32_t *const *slot = nullptr,
                   const uint32_t *value = nullptr);
  template <typename Start>
  Status putGraph(NativeGraph graph, NativeStream stream, Start start,
                  uint32_t *const *slot = nullptr,
                  const uint32_t *value = nullptr);
  /// Null: not to be timed.
  SpanRef begin(NativeStream stream, const Work &work) noexcept;
  void end(NativeStream stream, const SpanRef &span,
           const Status &status) noexcept;
  /// The work is one more of its stream's; Trace::mutex held.
  void add(Track &track, const SpanRef &span);
  /// Trace::mutex held.
  Track &trackOf(NativeStream stream);
  void startSession();
  /// Tells what is known by now, unless another thread is at it.
  void harvest() noexcept;
  /// `harvesting` held.
  void harvestAll() noexcept;
  /// Waits until the times are known of work whose end the host was told of by
  /// the work itself; `harvesting` held.
  void awaitTold() noexcept;
  /// A part of it; true if there may be more that is known. `any`: there was.
  bool harvestSome(bool &any);
  /// Names the process or a track in the file, once a recording; Trace::mutex
  /// held.
  void nameOnce(uint32_t track);
  /// Nobody will ask for its times; Trace::mutex held.
  void giveUp(const SpanRef &span) noexcept;
  const char *copyName(const void *destination, const void *source);
  static Node nodeOf(const GraphNode &node);

  Trace &trace;
  DriverContext &inner;
  const std::string device;
  const bool isVendors; ///< calls need the context to be current
  const uint32_t process;
  std::mutex harvesting; ///< before Trace::mutex; held over the callback

  //===--- Guarded by Trace::mutex
  uint64_t session = 0;
  uint32_t trackCount = 0;
  uint64_t openCount = 0;
  std::map<NativeStream, Track> tracks;
  std::vector<uint32_t> freeTracks;
  /// The recording in which a track got its name; 0 is the process.
  std::vector<uint64_t> namedIn;
  std::map<NativeEvent, Sources> events;
  std::map<NativeStream, SpanRef> libraries; ///< whose functions are called
  std::map<NativeGraph, Graph> graphs;
  std::vector<SpanRef> late; ///< given up, and the device may yet write them
};

} // namespace gpuasync

#endif // GPUASYNC_TRACE_TRACEDDRIVER_H
