//===- VendorContext.h - The context of cuda and hip ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Device over a vendor's table. The functions are, by what they are
// about, in VendorContext.cpp (opening, closing, being current),
// VendorStream.cpp, VendorTiming.cpp, VendorModule.cpp, VendorLaunch.cpp,
// VendorTransfer.cpp, VendorGraph.cpp, VendorMemory.cpp and VendorErrors.cpp.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDOR_VENDORCONTEXT_H
#define GPUASYNC_DEVICE_VENDOR_VENDORCONTEXT_H

#include "device/vendor/BuiltinKernels.h"
#include "device/vendor/OutsideCapture.h"
#include "device/vendor/VendorDriver.h"
#include "device/vendor/VendorGraph.h"

namespace gpuasync {

/// What a NativeFunction points to. Everything that a launch needs is here, so
/// that a warm launch reads one cache line and calls the vendor once.
struct VendorFunction {
  FunctionHandle handle = nullptr;
  uint32_t paramBytes = 0; ///< UINT32_MAX if unknown
  /// The driver's buffer is not ours: it gets each parameter by its address.
  bool takesPointers = false;
  bool waits = false; ///< for what it comes after: GPUASYNC_KERNELS_WAIT_SYMBOL
  bool signals =
      false; ///< takes a KernelSignal: GPUASYNC_KERNELS_SIGNAL_SYMBOL
  uint32_t maxThreads = 0;       ///< per block, for this function's registers
  uint32_t maxDynamicShared = 0; ///< set with the vendor when it was loaded
  uint32_t staticShared = 0;
  uint32_t localBytes = 0; ///< per thread
};

struct VendorModule;

class alignas(64) VendorContext final : public Device,
                                        StreamMemory,
                                        StreamPriorities,
                                        CompletionFlags,
                                        CompletionSignals,
                                        DeviceGraphs,
                                        DeviceClock,
                                        StreamCaptures,
                                        TensorMaps,
                                        ForeignObjects {
public:
  VendorContext(VendorDriver &driver, VendorDevice &device)
      : Device(extensionsOf(driver)), driver(driver), device(device),
        table(driver.table) {}

  /// Takes the caller's context or retains the primary one, makes the pool,
  /// loads the built-in kernels and tests what attributes only promise. After a
  /// failure nothing is open.
  Status open(void *adopted);

  Status makeCurrent(SavedContext &saved) override;
  void restore(SavedContext &saved) noexcept override;
  void suspend() noexcept override;
  Status resume() override;

  Status createStream(NativeStream &out) override;
  Status createUrgentStream(NativeStream &out) override;
  void destroyStream(NativeStream stream) noexcept override;
  Status externalStream(void *native, NativeStream &out) override;
  Status captureState(NativeStream stream, CaptureState &out) override;
  Status queryStream(NativeStream stream, bool &done) override;
  Status waitStream(NativeStream stream, int64_t timeoutNs,
                    bool &done) override;

  Status createEvent(NativeEvent &out) override;
  void destroyEvent(NativeEvent event) noexcept override;
  Status recordEvent(NativeEvent event, NativeStream stream) override;
  Status streamWaitEvent(NativeStream stream, NativeEvent event) override;
  Status queryEvent(NativeEvent event, bool &done) override;
  Status waitEvent(NativeEvent event, int64_t timeoutNs, bool &done) override;
  Status writeFlag(NativeStream stream, uint32_t *slot,
                   uint32_t value) override;

  Status loadModule(const gpuasync_module &module, const gpuasync_image &image,
                    NativeModule &out, NativeFunction *functions) override;
  Status adoptModule(const gpuasync_module &module, const gpuasync_image &image,
                     void *foreign, NativeModule &out,
                     NativeFunction *functions) override;
  void unloadModule(NativeModule module) noexcept override;
  Status findFunction(NativeModule loaded, const gpuasync_module &module,
                      const gpuasync_image &image,
                      NativeFunction &out) override;

  Status submit(NativeStream stream, const Command &command) override;
  bool acquireSignal(uint32_t &index) override;
  void releaseSignal(uint32_t index) noexcept override;
  Status launchPointers(NativeStream stream, const Command::Launch &launch,
                        void **parameters, const gpuasync_site *site) override;

  Status beginTiming(NativeStream stream, DeviceTiming &timing) override;
  Status endTiming(NativeStream stream, DeviceTiming &timing) override;
  Status readTiming(DeviceTiming &timing) override;
  void dropTiming(DeviceTiming &timing) noexcept override;
  int64_t timingError() override;

  Status makeGraph(const GraphNode *nodes, uint32_t count, bool anyUpdate,
                   NativeGraph &out) override;
  Status updateGraph(NativeGraph graph, const uint32_t *indices,
                     const GraphNode *nodes, uint32_t count,
                     uint32_t &failed) override;
  Status launchGraph(NativeGraph graph, NativeStream stream,
                     Completion *completion) override;
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

  uint64_t close(bool lost) noexcept override;

private:
  Extensions extensionsOf(const VendorDriver &driver);
  static StreamHandle asStream(NativeStream stream) {
    return static_cast<StreamHandle>(stream);
  }
  static EventHandle asEvent(NativeEvent event) {
    return static_cast<EventHandle>(event);
  }

  //===--- Errors

  Status check(VendorCall call) { return call.ok() ? Status() : error(call); }
  /// Of a call that makes an object, or one more use of it.
  Status made(VendorCall call) {
    if (call.ok())
      live.fetch_add(1, std::memory_order_relaxed);
    return check(call);
  }
  /// An object that was made goes; `call` is the vendor's for it.
  template <typename Call>
  void giveBack(Call call) noexcept {
    live.fetch_sub(1, std::memory_order_relaxed);
    if (silent())
      return;
    OutsideCapture outside(driver);
    note(call());
  }
  /// For calls whose failure changes nothing for the caller, though it may be
  /// the first sign of a fault.
  void note(VendorCall call) noexcept;
  /// Turns a failed call into a status and notices the loss of the device.
  __attribute__((noinline, cold)) Status error(VendorCall call,
                                               const char *detail = "");
  /// No vendor call may be made: the process ends, or calls may hang.
  bool silent() const noexcept {
    return processIsExiting() || device.loss.lost() ||
           gone.load(std::memory_order_relaxed);
  }
  /// One query: done, not yet, or an error.
  Status query(VendorCall call, bool &done) {
    done = call.code == Success;
    return done || call.code == ErrorNotReady ? Status() : error(call);
  }

  //===--- Opening

  __attribute__((noinline, cold)) Status contextChanged(VendorCall call);
  Status testCapabilities();
  VendorCall createPool();

  //===--- Modules

  /// Looks up and loads all functions; unloads the module on failure.
  Status finishModule(const gpuasync_module &module,
                      const gpuasync_image &image,
                      std::unique_ptr<VendorModule> loaded, NativeModule &out,
                      NativeFunction *functions);
  /// Whether the module has a symbol.
  Status findSymbol(const gpuasync_image &image, ModuleHandle module,
                    const char *symbol, bool &found);
  Status loadFunction(const gpuasync_module &module, uint32_t index,
                      const gpuasync_image &image, const VendorModule &loaded,
                      VendorFunction &out);
  Status checkParameters(const gpuasync_module &module, uint32_t index,
                         const gpuasync_image &image, VendorFunction &function);
  Status reserveLocalMemory(uint32_t bytes);
  static ModuleHandle moduleHandle(NativeModule module);

  //===--- Launches and transfers

  /// Whether a launch keeps within the limits of device and function.
  bool fits(const VendorFunction &function,
            const gpuasync_launch_config &block) const {
    const VendorLimits &limits = device.limits;
    // Each factor is below 2^32 once the first comparisons held.
    return uint64_t(block.grid[0]) <= limits.maxGrid[0] &&
           uint64_t(block.grid[1]) <= limits.maxGrid[1] &&
           uint64_t(block.grid[2]) <= limits.maxGrid[2] &&
           uint64_t(block.block[0]) <= limits.maxBlock[0] &&
           uint64_t(block.block[1]) <= limits.maxBlock[1] &&
           uint64_t(block.block[2]) <= limits.maxBlock[2] &&
           uint64_t(block.block[0] * block.block[1] * block.block[2]) <=
               function.maxThreads &&
           uint64_t(block.dynamicSharedBytes) <= function.maxDynamicShared;
  }
  Status launch(NativeStream stream, const Command &command);
  Status copyBytes(NativeStream stream, const ByteCopy &copy);
  Status copyStrided(NativeStream stream, const StridedCopy &copy);
  Status fillStrided(NativeStream stream, const StridedFill &fill);
  Status start(const VendorFunction &function, NativeStream stream,
               const gpuasync_kernel &kernel,
               const gpuasync_launch_config &block, void **parameters,
               void **extra);
  Status launchWith(NativeStream stream, const VendorFunction &function,
                    const gpuasync_kernel &kernel,
                    const gpuasync_launch_config &block,
                    const KernelSignal &signal);
  __attribute__((noinline)) Status launchByPointers(
      NativeStream stream, const VendorFunction &function,
      const gpuasync_kernel &kernel, const gpuasync_launch_config &block,
      const KernelSignal &signal);
  __attribute__((noinline, cold)) Status
  launchRefused(const VendorFunction &function, const gpuasync_kernel &kernel,
                const gpuasync_launch_config &block);
  __attribute__((noinline, cold)) Status launchFailed(
      VendorCall call, const VendorFunction &function,
      const gpuasync_kernel &kernel, const gpuasync_launch_config &block);
  /// The most blocks of a cooperative launch; INT64_MAX if the vendor does not
  /// tell.
  int64_t mostResident(const VendorFunction &function,
                       const gpuasync_launch_config &block);
  Status prepareBuiltin(BuiltinKernel kernel, const BuiltinArguments &arguments,
                        BuiltinLaunch &out);
  Status launchBuiltin(NativeStream stream, BuiltinKernel kernel,
                       const BuiltinArguments &arguments);
  bool fillByVendor(NativeStream stream, const StridedFill &fill,
                    VendorCall &call);
  bool bothOnHost(const void *destination, const void *source);

  //===--- Graphs

  struct Child;
  Status takeCaptured(NativeStream &out);
  void giveCaptured(NativeStream stream, bool ended) noexcept;
  bool isCopyNode(const Command &command, VendorGraph::Node &out);
  bool staysCopyNode(VendorGraph::Node &node, const Command &copy);
  Status launchNode(const VendorFunction &function,
                    const gpuasync_kernel &kernel,
                    const gpuasync_launch_config &block, KernelNode &out);
  Status kernelNode(const Command &command, KernelNode &out);
  Status addNode(VendorGraph &graph, VendorGraph::Node &out,
                 const Command &command, const GraphNodeHandle *after,
                 size_t count);
  Status updateNode(VendorGraph &graph, VendorGraph::Node &node,
                    const Command &to);
  Status buildGraph(VendorGraph &graph, const GraphNode *nodes);
  bool fitBeside(const Command &one, const Command &other);
  Status connect(VendorGraph &graph, const GraphNode *nodes, size_t index,
                 GraphNodeHandle root);
  bool signalsItself(const Command &command);
  Status addSignal(VendorGraph &graph, const GraphNode *nodes);
  bool canSignal(const VendorGraph &graph) const;
  Status enableSignal(VendorGraph &graph, bool enabled);
  Status uploadGraph(VendorGraph &graph);

  //===--- Signals

  uint32_t *slotOf(uint32_t signal) const {
    return reinterpret_cast<uint32_t *>(signals + signal * signalBytes);
  }
  KernelSignal kernelSignal(uint32_t signal) const {
    return {slotOf(signal), signalCounters + signal};
  }

  //===--- Times

  /// From the pool of timed events.
  Status takeTimed(NativeEvent &out);
  /// Relates the device's clock to the host's, unless that was done lately.
  Status readClocks();
  /// One event on a stream of its own, between two looks at the host's clock.
  Status readClocksOnce(NativeEvent event, int64_t &middle, int64_t &error,
                        bool &done);
  void closeTiming() noexcept;

  //===--- Memory

  /// From an address that the host may use to the one for a kernel.
  Status toDeviceAddress(void *&pointer);
  Status checkHostAddress(void *pointer);

  // With the table of functions in one cache line, before the vendor's table.
  VendorDriver &driver;
  VendorDevice &device;
  void *context = nullptr; ///< the vendor's, or the device where it has none
  PoolHandle pool = nullptr;
  bool hasPool = false;
  bool opened = false;
  bool owned = true;             ///< retained; else it is the caller's
  std::atomic<bool> gone{false}; ///< the caller destroyed it
  const VendorTable table;       ///< the driver's, without a step in between
  NativeModule builtinModule = nullptr;
  NativeFunction builtins[BuiltinKernelCount] = {};
  uint64_t *signalCounters = nullptr; ///< signalCountsName, on the device
  alignas(64) std::mutex localMutex;  ///< no frame reads what follows
  uint32_t localReserved = 0;         ///< guarded by localMutex
  std::mutex graphMutex;
  //===--- Guarded by graphMutex
  NativeStream uploads = nullptr;     ///< graphs take it
  std::vector<NativeStream> captured; ///< for Child, idle ones of so many:
  size_t capturedCount = 0;
  /// Words that kernels write, in pinned memory, each in a line of its own; how
  /// often each was asked for is its stream's or its graph's to say.
  static constexpr size_t signalBytes = 64;
  char *signals = nullptr;
  std::unique_ptr<uint32_t[]> signalCounts;
  std::vector<uint32_t> freeSignals;
  std::mutex timingMutex;
  //===--- Guarded by timingMutex
  std::vector<NativeEvent> timedEvents; ///< idle ones
  /// A point of which both clocks are known.
  struct Anchor {
    NativeEvent event = nullptr;
    int64_t at = 0, error = 0; ///< the host's clock, and how far it may be off
  } anchor;
  NativeStream timingStream = nullptr;
  /// Streams, events, modules, graphs and memory not given back; for the leak
  /// check.
  std::atomic<int64_t> live{0};
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_VENDOR_VENDORCONTEXT_H
