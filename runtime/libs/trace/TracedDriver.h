//===- TracedDriver.h - A driver whose work is noted ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Around a context's driver while there is a trace: passes each call on, notes
// when the host made it and has the driver say when the device did the work.
// Without a trace (a frame that began during the last one) it only passes on.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_TRACE_TRACEDDRIVER_H
#define GPUASYNC_LIBS_TRACE_TRACEDDRIVER_H

#include "device/DeviceWrapper.h"
#include "libs/trace/Trace.h"

#include <deque>

namespace gpuasync {

class TracedDriver final : public DeviceWrapper,
                           DeviceGraphs,
                           StreamGates,
                           ForeignWrapper,
                           DeviceObserver {
public:
  TracedDriver(Trace &trace, Device &inner, const char *device, bool isVendors,
               uint32_t process)
      : DeviceWrapper(inner, extensionsOf(inner)), ForeignWrapper(inner),
        trace(trace), device(device), isVendors(isVendors), process(process) {}
  ~TracedDriver() override;

  //===--- Functions of Device that are noted
  void restore(SavedContext &saved) noexcept override;
  void destroyStream(NativeStream stream) noexcept override;
  void destroyEvent(NativeEvent event) noexcept override;
  Status recordEvent(NativeEvent event, NativeStream stream) override;
  Status streamWaitEvent(NativeStream stream, NativeEvent event) override;
  Status loadModule(const gpuasync_module &module, const gpuasync_image &image,
                    NativeModule &out, NativeFunction *functions) override;
  void unloadModule(NativeModule module) noexcept override;
  Status submit(NativeStream stream, const Command &command) override;
  Status allocMemory(MemoryKind kind, uint64_t bytes, void *&out) override;
  void freeMemory(MemoryKind kind, void *pointer) noexcept override;
  Status registerHost(void *pointer, uint64_t bytes, bool &owned) override;
  void unregisterHost(void *pointer) noexcept override;
  uint64_t close(bool lost) noexcept override;

  //===--- Functions of extensions
  Status adoptModule(const gpuasync_module &module, const gpuasync_image &image,
                     void *foreign, NativeModule &out,
                     NativeFunction *functions) override;
  Status launchPointers(NativeStream stream, const Command::Launch &launch,
                        void **parameters, const gpuasync_site *site) override;
  Status closeGate(NativeStream stream, const Command::HostCall &call,
                   const gpuasync_site *site, StreamGate *&out) override;
  void beginLibrary(NativeStream stream,
                    const gpuasync_site *site) noexcept override;
  void endLibrary(NativeStream stream) noexcept override;
  void noteHostCopy(NativeStream stream, uint64_t bytes,
                    const gpuasync_site *site, int64_t from) noexcept override;
  void readTimes(bool lost) noexcept override;
  void finish() noexcept override;
  Status makeGraph(const GraphNode *nodes, uint32_t count, bool anyUpdate,
                   NativeGraph &out) override;
  Status updateGraph(NativeGraph graph, const uint32_t *indices,
                     const GraphNode *nodes, uint32_t count,
                     uint32_t &failed) override;
  Status launchGraph(NativeGraph graph, NativeStream stream,
                     Completion *completion) override;
  void destroyGraph(NativeGraph graph) noexcept override;

private:
  using SpanRef = std::shared_ptr<Span>;
  using Sources = std::vector<SpanRef>;

  struct Track {
    uint32_t number = 0;
    SpanRef last;             ///< put on the stream
    Sources waits;            ///< that what comes next is behind
    std::deque<SpanRef> open; ///< whose times are not known, oldest first
  };
  /// A node of a graph as its records count it.
  struct Node {
    Command::Kind kind;
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
  /// Describes a command of the stream.
  Work workOf(const Command &command);
  Extensions extensionsOf(Device &inner);
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

  Trace &trace;
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

#endif // GPUASYNC_LIBS_TRACE_TRACEDDRIVER_H
