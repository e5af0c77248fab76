//===- VendorContext.h - The context of cuda and hip ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DriverContext over a vendor's API, which is a parameter. `Api` is a class of
// static functions, one per vendor call, each returning Api::Call; what differs
// between the vendors (contexts, images, launch attributes) stays behind it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DRIVERS_SHARED_VENDORCONTEXT_H
#define GPUASYNC_DRIVERS_SHARED_VENDORCONTEXT_H

#include "core/Driver.h"
#include "core/Thread.h"
#include "drivers/shared/BuiltinKernels.h"
#include "drivers/shared/PolledWait.h"
#include "drivers/shared/VendorDevice.h"
#include "drivers/shared/VendorLibrary.h"

#include <memory>
#include <new>
#include <string.h>
#include <vector>

namespace gpuasync {

/// While one lives, calls that are forbidden during a stream capture (queries,
/// waits, allocations, modules: they would end the capture of this thread, or,
/// in the global mode, of any other) are let through: none of ours touches a
/// captured stream but those that a graph can hold. The first of a frame, or of
/// whatever else made our context current, changes the thread's mode for all
/// that follow, until suspend or restore changes it back.
template <typename Api>
class OutsideCapture {
public:
  OutsideCapture() {
    SavedContext *saved = innermostContext;
    if (!saved || saved->vendor != vendor())
      changed = Api::exchangeCaptureMode(mode);
    else if (!saved->modeChanged) {
      saved->modeChanged = Api::exchangeCaptureMode(mode);
      saved->mode = mode;
    }
  }
  ~OutsideCapture() {
    if (changed)
      Api::exchangeCaptureMode(mode);
  }
  OutsideCapture(const OutsideCapture &) = delete;

  /// Changes the mode back, unless that is done.
  static void end(SavedContext &saved) {
    if (saved.modeChanged && !processIsExiting())
      Api::exchangeCaptureMode(saved.mode);
    saved.modeChanged = false;
  }
  /// Tells the modes of the vendors apart.
  static const void *vendor() {
    static const char place = 0;
    return &place;
  }

private:
  int mode = Api::captureModeRelaxed;
  bool changed = false;
};

/// What a NativeFunction points to. Everything that a launch needs is here, so
/// that a warm launch reads one cache line and calls the vendor once.
template <typename Api>
struct VendorFunction {
  typename Api::Function handle = nullptr;
  uint32_t paramBytes = 0; ///< UINT32_MAX if unknown
  /// The driver's buffer is not ours: it gets each parameter by its address.
  bool takesPointers = false;
  uint32_t maxThreads = 0;       ///< per block, for this function's registers
  uint32_t maxDynamicShared = 0; ///< set with the vendor when it was loaded
  uint32_t staticShared = 0;
  uint32_t localBytes = 0; ///< per thread
};

/// What a NativeModule points to.
template <typename Api>
struct VendorModule {
  typename Api::Module handle = nullptr;
  bool owned = true; ///< else somebody else loaded it and unloads it
  LineArray<VendorFunction<Api>> functions;
  /// Those of findFunction.
  std::vector<std::unique_ptr<VendorFunction<Api>>> found;
};

template <typename Api>
class alignas(64) VendorContext final : public DriverContext {
  using Call = typename Api::Call;
  using Stream = typename Api::Stream;
  using Event = typename Api::Event;
  using Function = VendorFunction<Api>;
  using Module = VendorModule<Api>;

public:
  explicit VendorContext(VendorDevice &device) : device(device) {}

  /// Takes the caller's context or retains the primary one, makes the pool,
  /// loads the built-in kernels and tests what attributes only promise. After a
  /// failure nothing is open.
  Status open(void *adopted);

  Status makeCurrent(SavedContext &saved) override;
  void restore(SavedContext &saved) noexcept override;
  void suspend() noexcept override;
  Status resume() override;

  Status createStream(NativeStream &out) override;
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

  uint64_t generation() const override { return generationId; }
  uint32_t imageRank(const gpuasync_image &image, std::string *why) override;
  Status loadModule(const gpuasync_module &module, const gpuasync_image &image,
                    NativeModule &out, NativeFunction *functions) override;
  Status adoptModule(const gpuasync_module &module, const gpuasync_image &image,
                     void *foreign, NativeModule &out,
                     NativeFunction *functions) override;
  void unloadModule(NativeModule module) noexcept override;
  Status findFunction(NativeModule loaded, const gpuasync_module &module,
                      const gpuasync_image &image,
                      NativeFunction &out) override;

  Status launchPointers(NativeStream stream, NativeFunction function,
                        const gpuasync_kernel &kernel,
                        const gpuasync_block &block, void **parameters,
                        const gpuasync_site *site) override;
  Status launch(NativeStream stream, NativeFunction function,
                const gpuasync_kernel &kernel, const gpuasync_block &block,
                const gpuasync_site *site) override;
  Status copy(NativeStream stream, void *destination, const void *source,
              uint64_t bytes, const gpuasync_site *site) override;
  Status copyStrided(NativeStream stream, const StridedCopy &copy,
                     const gpuasync_site *site) override;
  Status fillStrided(NativeStream stream, const StridedFill &fill,
                     const gpuasync_site *site) override;

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
  /// Whether a launch keeps within the limits of device and function.
  bool fits(const Function &function, const gpuasync_block &block) const;

  static Stream asStream(NativeStream stream) {
    return static_cast<Stream>(stream);
  }
  static Event asEvent(NativeEvent event) { return static_cast<Event>(event); }

  Status check(Call call) {
    if (__builtin_expect(call.code == Api::success, 1))
      return Status();
    return error(call);
  }
  /// For calls whose failure changes nothing for the caller, though it may be
  /// the first sign of a fault.
  void note(Call call) noexcept {
    if (call.code != Api::success && Api::losesDevice(call.code))
      (void)error(call);
  }
  /// Turns a failed call into a status and notices the loss of the device.
  __attribute__((noinline, cold)) Status error(Call call,
                                               const char *detail = "");
  /// No vendor call may be made: the process ends, or calls may hang.
  bool silent() const noexcept {
    return processIsExiting() || device.loss.lost() ||
           gone.load(std::memory_order_relaxed);
  }

  /// The core has polled for the time that is set before it comes here. Since a
  /// nap costs the timer slack on top, it pays to go on for a while; but not
  /// where there is one processor, for which the setting is 0.
  static int64_t waitSpinNs() {
    return 4 * process().spinNs.load(std::memory_order_relaxed);
  }
  /// One query, for the polled waits: done, not yet, or an error.
  Status query(Call call, bool &done) {
    done = call.code == Api::success;
    if (done || call.code == Api::notReady)
      return Status();
    return error(call);
  }

  /// Looks up and loads all functions; unloads the module on failure.
  Status finishModule(const gpuasync_module &module,
                      const gpuasync_image &image,
                      std::unique_ptr<Module> loaded, NativeModule &out,
                      NativeFunction *functions);
  Status loadFunction(const gpuasync_module &module, uint32_t index,
                      const gpuasync_image &image, typename Api::Module handle,
                      Function &out);
  Status checkParameters(const gpuasync_module &module, uint32_t index,
                         const gpuasync_image &image, Function &function);
  Status reserveLocalMemory(uint32_t bytes);
  Status testCapabilities();

  __attribute__((noinline, cold)) Status
  launchRefused(const Function &function, const gpuasync_kernel &kernel,
                const gpuasync_block &block);
  __attribute__((noinline, cold)) Status
  launchFailed(Call call, const Function &function,
               const gpuasync_kernel &kernel, const gpuasync_block &block);
  Status launchBuiltin(NativeStream stream, BuiltinKernel kernel,
                       BuiltinArguments arguments);
  Status toDeviceAddress(void *&pointer);
  Status checkHostAddress(void *pointer);
  bool bothOnHost(const void *destination, const void *source);

  VendorDevice &device;
  typename Api::Context context{};
  bool opened = false;
  bool owned = true;             ///< retained; else it is the caller's
  std::atomic<bool> gone{false}; ///< the caller destroyed it
  uint64_t generationId = 0;
  typename Api::Pool pool{};
  bool hasPool = false;
  NativeModule builtinModule = nullptr;
  NativeFunction builtins[BuiltinKernelCount] = {};
  alignas(64) std::mutex localMutex; ///< no frame reads what follows
  uint32_t localReserved = 0;        ///< guarded by localMutex
  /// Streams, events, modules and memory not given back; for the leak check.
  std::atomic<int64_t> live{0};
};

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

template <typename Api>
Status VendorContext<Api>::error(Call call, const char *detail) {
  if (processIsExiting())
    return makeStatus(GPUASYNC_SHUT_DOWN, "%s: the process is exiting",
                      call.name);
  const char *name = Api::errorName(call.code);
  const char *text = Api::errorText(call.code);
  if (Api::losesDevice(call.code)) {
    char report[400];
    snprintf(report, sizeof(report), "%s: %s (%d): %s", call.name, name,
             int(call.code), text);
    if (device.loss.report(report))
      return makeStatus(GPUASYNC_DEVICE_LOST,
                        "%s%s; the device is lost for this process", report,
                        detail);
  }
  if (device.loss.lost())
    return makeStatus(
        GPUASYNC_DEVICE_LOST,
        "%s: the device is lost for this process; first report: %s", call.name,
        device.loss.firstReport());
  return makeStatus(Api::statusCode(call.code), "%s: %s (%d): %s%s", call.name,
                    name, int(call.code), text, detail);
}

//===----------------------------------------------------------------------===//
// The current context
//===----------------------------------------------------------------------===//

// Setting instead of pushing: the depth of the stack stays the caller's, and
// going back works whatever code in between did to the top. (On an empty stack
// setting pushes, and setting null pops again.)
template <typename Api>
Status VendorContext<Api>::makeCurrent(SavedContext &saved) {
  typename Api::Context current{};
  if (Call call = Api::currentContext(current); call.code != Api::success)
    return error(call);
  saved.previous = Api::toPointer(current);
  saved.pushed = 0;
  // A primary context that somebody reset may come back at the same address,
  // without anything of ours in it.
  uint64_t id = 0;
  Call call = Api::contextId(context, id);
  if (__builtin_expect(call.code != Api::success || id != generationId, 0)) {
    bool isGone = call.code == Api::success || Api::contextIsGone(call.code);
    if (isGone && !owned) {
      gone.store(true);
      return makeStatus(GPUASYNC_DEVICE_LOST,
                        "the caller's context was destroyed before the context "
                        "that adopted it was closed");
    }
    if (isGone)
      device.loss.report("the device's primary context was reset by other code "
                         "of this process");
    return error(call);
  }
  if (__builtin_expect(current != context, 0)) {
    if (Call call = Api::setCurrentContext(context); call.code != Api::success)
      return error(call);
    saved.pushed = 1;
  }
  saved.vendor = OutsideCapture<Api>::vendor();
  saved.outer = innermostContext;
  innermostContext = &saved;
  return Status();
}

template <typename Api>
void VendorContext<Api>::restore(SavedContext &saved) noexcept {
  if (!saved.vendor)
    return; // makeCurrent failed
  OutsideCapture<Api>::end(saved);
  innermostContext = saved.outer;
  saved.vendor = nullptr;
  if (saved.pushed && !processIsExiting())
    note(Api::setCurrentContext(Api::toContext(saved.previous)));
}

template <typename Api>
void VendorContext<Api>::suspend() noexcept {
  for (SavedContext *saved = innermostContext; saved; saved = saved->outer)
    if (saved->vendor == OutsideCapture<Api>::vendor())
      OutsideCapture<Api>::end(*saved);
}

template <typename Api>
Status VendorContext<Api>::resume() {
  typename Api::Context current{};
  if (Call call = Api::currentContext(current); call.code != Api::success)
    return error(call);
  if (current == context)
    return Status();
  return check(Api::setCurrentContext(context));
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

template <typename Api>
Status VendorContext<Api>::createStream(NativeStream &out) {
  OutsideCapture<Api> outside;
  Stream stream{};
  if (Call call = Api::streamCreate(stream); call.code != Api::success)
    return error(call);
  live.fetch_add(1, std::memory_order_relaxed);
  out = stream;
  return Status();
}

template <typename Api>
void VendorContext<Api>::destroyStream(NativeStream stream) noexcept {
  live.fetch_sub(1, std::memory_order_relaxed);
  if (silent())
    return;
  OutsideCapture<Api> outside;
  note(Api::streamDestroy(asStream(stream)));
}

template <typename Api>
Status VendorContext<Api>::externalStream(void *native, NativeStream &out) {
  out = native;
  return Status();
}

template <typename Api>
Status VendorContext<Api>::captureState(NativeStream stream,
                                        CaptureState &out) {
  int kind = 0;
  Call call = Api::streamCaptureInfo(asStream(stream), kind, out.id);
  if (call.code == Api::success)
    out.kind = static_cast<CaptureState::Kind>(kind);
  else if (call.code != Api::notSupported)
    return error(call);
  return Status();
}

template <typename Api>
Status VendorContext<Api>::queryStream(NativeStream stream, bool &done) {
  OutsideCapture<Api> outside;
  return query(Api::streamQuery(asStream(stream)), done);
}

template <typename Api>
Status VendorContext<Api>::waitStream(NativeStream stream, int64_t timeoutNs,
                                      bool &done) {
  OutsideCapture<Api> outside;
  return polledWait(waitSpinNs(), timeoutNs, done, [&](bool &reached) {
    return query(Api::streamQuery(asStream(stream)), reached);
  });
}

template <typename Api>
Status VendorContext<Api>::createEvent(NativeEvent &out) {
  OutsideCapture<Api> outside;
  Event event{};
  if (Call call = Api::eventCreate(event); call.code != Api::success)
    return error(call);
  live.fetch_add(1, std::memory_order_relaxed);
  out = event;
  return Status();
}

template <typename Api>
void VendorContext<Api>::destroyEvent(NativeEvent event) noexcept {
  live.fetch_sub(1, std::memory_order_relaxed);
  if (silent())
    return;
  OutsideCapture<Api> outside;
  note(Api::eventDestroy(asEvent(event)));
}

template <typename Api>
Status VendorContext<Api>::recordEvent(NativeEvent event, NativeStream stream) {
  return check(Api::eventRecord(asEvent(event), asStream(stream)));
}

template <typename Api>
Status VendorContext<Api>::streamWaitEvent(NativeStream stream,
                                           NativeEvent event) {
  return check(Api::streamWaitEvent(asStream(stream), asEvent(event)));
}

template <typename Api>
Status VendorContext<Api>::queryEvent(NativeEvent event, bool &done) {
  OutsideCapture<Api> outside;
  return query(Api::eventQuery(asEvent(event)), done);
}

template <typename Api>
Status VendorContext<Api>::waitEvent(NativeEvent event, int64_t timeoutNs,
                                     bool &done) {
  OutsideCapture<Api> outside;
  return polledWait(waitSpinNs(), timeoutNs, done, [&](bool &reached) {
    return query(Api::eventQuery(asEvent(event)), reached);
  });
}

template <typename Api>
Status VendorContext<Api>::writeFlag(NativeStream stream, uint32_t *slot,
                                     uint32_t value) {
  return check(Api::streamWriteValue(asStream(stream), slot, value));
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

template <typename Api>
uint32_t VendorContext<Api>::imageRank(const gpuasync_image &image,
                                       std::string *why) {
  return Api::imageRank(device.limits, image, why);
}

template <typename Api>
Status VendorContext<Api>::loadModule(const gpuasync_module &module,
                                      const gpuasync_image &image,
                                      NativeModule &out,
                                      NativeFunction *functions) {
  OutsideCapture<Api> outside;
  std::unique_ptr<Module> loaded(new Module);
  char log[2048] = "";
  if (Call call = Api::moduleLoad(image, loaded->handle, log, sizeof(log));
      call.code != Api::success) {
    std::string detail = std::string(", for the ") +
                         Api::imageName(image.format) + " image (" +
                         image.arch + ") of module @" + module.name;
    if (log[0])
      detail += std::string(": ") + log;
    return error(call, detail.c_str());
  }
  return finishModule(module, image, std::move(loaded), out, functions);
}

template <typename Api>
Status VendorContext<Api>::adoptModule(const gpuasync_module &module,
                                       const gpuasync_image &image,
                                       void *foreign, NativeModule &out,
                                       NativeFunction *functions) {
  OutsideCapture<Api> outside;
  std::unique_ptr<Module> loaded(new Module);
  loaded->handle = static_cast<typename Api::Module>(foreign);
  loaded->owned = false;
  return finishModule(module, image, std::move(loaded), out, functions);
}

template <typename Api>
Status VendorContext<Api>::finishModule(const gpuasync_module &module,
                                        const gpuasync_image &image,
                                        std::unique_ptr<Module> loaded,
                                        NativeModule &out,
                                        NativeFunction *functions) {
  live.fetch_add(1, std::memory_order_relaxed);
  loaded->functions = makeLineArray<Function>(module.kernelCount);
  if (!loaded->functions) {
    unloadModule(loaded.release());
    return outOfMemoryStatus();
  }
  Status status;
  uint32_t localBytes = 0;
  for (uint32_t i = 0; i < module.kernelCount && status.ok(); ++i) {
    Function &function = loaded->functions[i];
    status = loadFunction(module, i, image, loaded->handle, function);
    localBytes =
        localBytes < function.localBytes ? function.localBytes : localBytes;
    functions[i] = &function;
  }
  if (status.ok())
    status = reserveLocalMemory(localBytes);
  if (!status.ok()) {
    unloadModule(loaded.release());
    return status;
  }
  out = loaded.release();
  return Status();
}

template <typename Api>
Status
VendorContext<Api>::loadFunction(const gpuasync_module &module, uint32_t index,
                                 const gpuasync_image &image,
                                 typename Api::Module handle, Function &out) {
  const gpuasync_kernel &kernel = module.kernels[index];
  if (Call call = Api::moduleGetFunction(handle, kernel.name, out.handle);
      call.code != Api::success) {
    if (call.code != Api::notFound)
      return error(call);
    return makeStatus(
        GPUASYNC_NOT_FOUND, "module @%s has no kernel @%s in its %s image (%s)",
        module.name, kernel.name, Api::imageName(image.format), image.arch);
  }
  // A vendor that loads lazily would do so in the first launch, which then
  // waits for everything that runs.
  if (Call call = Api::functionLoad(out.handle); call.code != Api::success)
    return error(call);
  int maxThreads = 0, staticShared = 0, localBytes = 0;
  if (Call call =
          Api::functionInfo(out.handle, maxThreads, staticShared, localBytes);
      call.code != Api::success)
    return error(call);
  out.maxThreads = uint32_t(maxThreads);
  out.staticShared = uint32_t(staticShared);
  out.localBytes = uint32_t(localBytes);
  out.maxDynamicShared = device.limits.maxSharedBytes > out.staticShared
                             ? device.limits.maxSharedBytes - out.staticShared
                             : 0;
  // Once per function, here, so that no launch has to ask for it.
  if (out.maxDynamicShared)
    if (Call call =
            Api::functionSetDynamicShared(out.handle, out.maxDynamicShared);
        call.code != Api::success)
      return error(call);
  return checkParameters(module, index, image, out);
}

template <typename Api>
Status VendorContext<Api>::checkParameters(const gpuasync_module &module,
                                           uint32_t index,
                                           const gpuasync_image &image,
                                           Function &function) {
  const gpuasync_kernel &kernel = module.kernels[index];
  function.paramBytes = UINT32_MAX;
  if (kernel.paramCount == UINT32_MAX)
    return Status();
  int64_t count = Api::imageParamCount(image, kernel.name);
  if (count >= 0 && count != int64_t(kernel.paramCount))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "kernel @%s::@%s takes %lld parameters in its %s image "
                      "(%s), but the program passes %u",
                      module.name, kernel.name, static_cast<long long>(count),
                      Api::imageName(image.format), image.arch,
                      kernel.paramCount);
  // The size of the buffer without the padding at its end.
  function.paramBytes = 0;
  for (uint32_t i = 0; i < kernel.paramCount; ++i) {
    uint32_t end = kernel.paramOffsets[i] + kernel.paramSizes[i];
    function.paramBytes = end > function.paramBytes ? end : function.paramBytes;
    size_t offset = kernel.paramOffsets[i], size = kernel.paramSizes[i];
    Call call = Api::functionParamInfo(function.handle, i, offset, size);
    if (call.code == Api::invalidValue)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "%s: kernel @%s::@%s has no parameter %u, but the "
                        "program passes %u",
                        call.name, module.name, kernel.name, i,
                        kernel.paramCount);
    if (call.code != Api::success)
      return error(call);
    if (size == kernel.paramSizes[i] && size > Api::maxPlainParameterBytes)
      function.takesPointers = true;
    if (size != kernel.paramSizes[i] ||
        (offset != kernel.paramOffsets[i] && !function.takesPointers))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "kernel @%s::@%s: parameter %u has %zu bytes at %zu, "
                        "but the program passes %u bytes at %u",
                        module.name, kernel.name, i, size, offset,
                        kernel.paramSizes[i], kernel.paramOffsets[i]);
  }
  return Status();
}

// The first launch that needs more local memory per thread than any before
// waits for all that runs; the growth is forced here instead.
template <typename Api>
Status VendorContext<Api>::reserveLocalMemory(uint32_t bytes) {
  std::lock_guard<std::mutex> lock(localMutex);
  if (bytes <= localReserved)
    return Status();
  if (Call call = Api::reserveLocalMemory(bytes); call.code != Api::success)
    return error(call);
  localReserved = bytes;
  return Status();
}

template <typename Api>
void VendorContext<Api>::unloadModule(NativeModule module) noexcept {
  std::unique_ptr<Module> loaded(static_cast<Module *>(module));
  live.fetch_sub(1, std::memory_order_relaxed);
  if (!loaded->owned || silent())
    return;
  OutsideCapture<Api> outside;
  note(Api::moduleUnload(loaded->handle));
}

template <typename Api>
Status VendorContext<Api>::findFunction(NativeModule native,
                                        const gpuasync_module &module,
                                        const gpuasync_image &image,
                                        NativeFunction &out) {
  Module &loaded = *static_cast<Module *>(native);
  auto function = std::make_unique<Function>();
  Status status = loadFunction(module, 0, image, loaded.handle, *function);
  if (status.ok())
    status = reserveLocalMemory(function->localBytes);
  if (!status.ok())
    return status;
  out = function.get();
  loaded.found.push_back(std::move(function));
  return Status();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

template <typename Api>
bool VendorContext<Api>::fits(const Function &function,
                              const gpuasync_block &block) const {
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

template <typename Api>
Status VendorContext<Api>::launchPointers(
    NativeStream stream, NativeFunction native, const gpuasync_kernel &kernel,
    const gpuasync_block &block, void **parameters, const gpuasync_site *) {
  const Function &function = *static_cast<const Function *>(native);
  if (__builtin_expect(!fits(function, block), 0))
    return launchRefused(function, kernel, block);
  Call call =
      Api::launchPointers(function.handle, asStream(stream), block, parameters);
  if (__builtin_expect(call.code == Api::success, 1))
    return Status();
  return launchFailed(call, function, kernel, block);
}

template <typename Api>
Status VendorContext<Api>::launch(NativeStream stream, NativeFunction native,
                                  const gpuasync_kernel &kernel,
                                  const gpuasync_block &block,
                                  const gpuasync_site *) {
  const Function &function = *static_cast<const Function *>(native);
  bool fits = this->fits(function, block);
  uint32_t paramBytes = block.paramBytes;
  if (function.paramBytes != UINT32_MAX) {
    fits &= paramBytes >= function.paramBytes;
    paramBytes = function.paramBytes;
  }
  if (__builtin_expect(!fits, 0))
    return launchRefused(function, kernel, block);
  if (__builtin_expect(function.takesPointers, 0)) {
    auto **parameters = static_cast<void **>(
        __builtin_alloca(kernel.paramCount * sizeof(void *)));
    for (uint32_t i = 0; i < kernel.paramCount; ++i)
      parameters[i] = static_cast<char *>(const_cast<void *>(block.params)) +
                      kernel.paramOffsets[i];
    return launchPointers(stream, native, kernel, block, parameters, nullptr);
  }
  Call call =
      Api::launch(function.handle, asStream(stream), kernel, block, paramBytes);
  if (__builtin_expect(call.code == Api::success, 1))
    return Status();
  return launchFailed(call, function, kernel, block);
}

template <typename Api>
Status VendorContext<Api>::launchRefused(const Function &function,
                                         const gpuasync_kernel &kernel,
                                         const gpuasync_block &block) {
  const VendorLimits &limits = device.limits;
  static const char axes[] = "xyz";
  for (int i = 0; i < 3; ++i) {
    if (uint64_t(block.grid[i]) > limits.maxGrid[i])
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "kernel @%s: %lld blocks in %c, the device's limit is "
                        "%u",
                        kernel.name, static_cast<long long>(block.grid[i]),
                        axes[i], limits.maxGrid[i]);
    if (uint64_t(block.block[i]) > limits.maxBlock[i])
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "kernel @%s: %lld threads in %c, the device's limit is "
                        "%u",
                        kernel.name, static_cast<long long>(block.block[i]),
                        axes[i], limits.maxBlock[i]);
  }
  uint64_t threads = uint64_t(block.block[0] * block.block[1] * block.block[2]);
  if (threads > function.maxThreads)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "kernel @%s: %llu threads per block, the limit for this "
                      "kernel's registers is %u",
                      kernel.name, static_cast<unsigned long long>(threads),
                      function.maxThreads);
  if (uint64_t(block.dynamicSharedBytes) > function.maxDynamicShared)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "kernel @%s: %lld bytes of dynamic shared memory, the "
                      "limit beside its %u static bytes is %u",
                      kernel.name,
                      static_cast<long long>(block.dynamicSharedBytes),
                      function.staticShared, function.maxDynamicShared);
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "kernel @%s: %u bytes of parameters are passed, it takes "
                    "%u",
                    kernel.name, block.paramBytes, function.paramBytes);
}

template <typename Api>
Status VendorContext<Api>::launchFailed(Call call, const Function &function,
                                        const gpuasync_kernel &kernel,
                                        const gpuasync_block &block) {
  char detail[320];
  int length = snprintf(
      detail, sizeof(detail),
      ", for kernel @%s with %lld x %lld x %lld blocks of %lld x %lld x %lld "
      "threads",
      kernel.name, static_cast<long long>(block.grid[0]),
      static_cast<long long>(block.grid[1]),
      static_cast<long long>(block.grid[2]),
      static_cast<long long>(block.block[0]),
      static_cast<long long>(block.block[1]),
      static_cast<long long>(block.block[2]));
  if (call.code == Api::cooperativeTooLarge && length > 0) {
    int perUnit = Api::residentBlocks(
        function.handle, int(block.block[0] * block.block[1] * block.block[2]),
        size_t(block.dynamicSharedBytes));
    if (perUnit > 0)
      snprintf(detail + length, sizeof(detail) - size_t(length),
               "; a cooperative launch of it holds at most %llu blocks here",
               static_cast<unsigned long long>(perUnit) *
                   device.limits.multiprocessors);
  }
  return error(call, detail);
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

template <typename Api>
Status VendorContext<Api>::launchBuiltin(NativeStream stream,
                                         BuiltinKernel kernel,
                                         BuiltinArguments arguments) {
  if (!builtins[kernel])
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "%s has no built-in kernels for %s, and no call of the "
                      "driver does this %s",
                      Api::name(), device.info.arch,
                      kernel == BuiltinCopy
                          ? "copy: make both sides contiguous, or one of them "
                            "device memory"
                          : "fill: use elements of at most 4 bytes in "
                            "contiguous memory");
  if constexpr (Api::hostAddressesMayDiffer) {
    void *source = const_cast<void *>(arguments.source);
    if (Status status = toDeviceAddress(arguments.destination); !status.ok())
      return status;
    if (Status status = source ? toDeviceAddress(source) : Status();
        !status.ok())
      return status;
    arguments.source = source;
  }
  const uint64_t threads = 256;
  // Enough blocks to fill the device; each thread takes its share in a loop.
  uint64_t blocks = (arguments.count + threads - 1) / threads;
  uint64_t most = uint64_t(device.limits.multiprocessors) * 16;
  gpuasync_block block = {};
  block.grid[0] = int64_t(blocks < most ? blocks : most);
  block.grid[1] = block.grid[2] = 1;
  block.block[0] = int64_t(threads);
  block.block[1] = block.block[2] = 1;
  block.paramBytes = sizeof(arguments);
  block.params = &arguments;
  return launch(stream, builtins[kernel], builtinKernels()[kernel], block,
                nullptr);
}

/// From an address that the host may use to the one for a kernel.
template <typename Api>
Status VendorContext<Api>::toDeviceAddress(void *&pointer) {
  if (pointerKind(pointer) != PointerKind::Registered)
    return Status();
  void *address = pointer;
  if (Call call = Api::deviceAddress(pointer, address);
      call.code != Api::success)
    return error(call);
  pointer = address;
  return Status();
}

// A vendor's copy between two places in host memory is done by the caller's
// thread once the stream gets there; ours never waits for the stream.
template <typename Api>
bool VendorContext<Api>::bothOnHost(const void *destination,
                                    const void *source) {
  return pointerKind(destination) == PointerKind::Registered &&
         pointerKind(source) == PointerKind::Registered;
}

template <typename Api>
Status VendorContext<Api>::copy(NativeStream stream, void *destination,
                                const void *source, uint64_t bytes,
                                const gpuasync_site *) {
  if (__builtin_expect(!bothOnHost(destination, source), 1))
    return check(Api::copy(destination, source, bytes, asStream(stream)));
  // An odd end must not make the whole copy one of single bytes.
  uint64_t tail = bytes > 16 ? bytes % 16 : 0;
  StridedCopy part;
  part.destination = destination;
  part.source = source;
  part.elementBytes = bytes - tail;
  Status status =
      launchBuiltin(stream, BuiltinCopy, builtinCopyArguments(part));
  if (!status.ok() || !tail)
    return status;
  part.destination = static_cast<char *>(destination) + bytes - tail;
  part.source = static_cast<const char *>(source) + bytes - tail;
  part.elementBytes = tail;
  return launchBuiltin(stream, BuiltinCopy, builtinCopyArguments(part));
}

template <typename Api>
Status VendorContext<Api>::copyStrided(NativeStream stream,
                                       const StridedCopy &copy,
                                       const gpuasync_site *site) {
  if (copy.rank == 0)
    return this->copy(stream, copy.destination, copy.source, copy.elementBytes,
                      site);
  // The copy engine takes rows; short ones are faster in the kernel.
  int64_t width = int64_t(copy.elementBytes);
  if (copy.rank == 1 && width >= 64 && copy.destinationStrides[0] >= width &&
      copy.sourceStrides[0] >= width &&
      uint64_t(copy.destinationStrides[0]) <= device.limits.maxPitch &&
      uint64_t(copy.sourceStrides[0]) <= device.limits.maxPitch &&
      !bothOnHost(copy.destination, copy.source))
    return check(Api::copy2D(copy.destination,
                             size_t(copy.destinationStrides[0]), copy.source,
                             size_t(copy.sourceStrides[0]), copy.elementBytes,
                             size_t(copy.sizes[0]), asStream(stream)));
  return launchBuiltin(stream, BuiltinCopy, builtinCopyArguments(copy));
}

template <typename Api>
Status VendorContext<Api>::fillStrided(NativeStream stream,
                                       const StridedFill &fill,
                                       const gpuasync_site *) {
  // What the vendor's own fills can do: at most 4 bytes, contiguous rows.
  uint32_t element = fill.elementBytes;
  uint32_t value = 0;
  uint64_t scale = 1;
  if (element > 4) {
    bool repeats = true;
    for (uint32_t i = 4; i < element; ++i)
      repeats &= fill.pattern[i] == fill.pattern[i - 4];
    if (repeats) {
      scale = element / 4;
      element = 4;
    }
  }
  bool rows = fill.rank == 0 ||
              (fill.rank <= 2 &&
               fill.strides[fill.rank - 1] == int64_t(fill.elementBytes));
  if (element <= 4 && rows) {
    memcpy(&value, fill.pattern, element);
    uint64_t width = fill.rank ? uint64_t(fill.sizes[fill.rank - 1]) : 1;
    if (fill.rank < 2)
      return check(Api::fill(fill.destination, value, element, width * scale,
                             asStream(stream)));
    int64_t pitch = fill.strides[0];
    if (Api::fills2D(element) && pitch >= int64_t(width * fill.elementBytes) &&
        uint64_t(pitch) <= device.limits.maxPitch && pitch % element == 0)
      return check(Api::fill2D(fill.destination, size_t(pitch), value, element,
                               width * scale, uint64_t(fill.sizes[0]),
                               asStream(stream)));
  }
  return launchBuiltin(stream, BuiltinFill, builtinFillArguments(fill));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

template <typename Api>
Status VendorContext<Api>::allocAsync(NativeStream stream, uint64_t bytes,
                                      void *&out) {
  OutsideCapture<Api> outside;
  return check(Api::allocAsync(out, bytes, pool, asStream(stream)));
}

template <typename Api>
Status VendorContext<Api>::freeAsync(NativeStream stream, void *pointer) {
  OutsideCapture<Api> outside;
  return check(Api::freeAsync(pointer, asStream(stream)));
}

template <typename Api>
void VendorContext<Api>::trimMemory(uint64_t keepBytes) noexcept {
  if (!hasPool || silent())
    return;
  OutsideCapture<Api> outside;
  note(Api::poolTrim(pool, keepBytes));
}

template <typename Api>
Status VendorContext<Api>::allocMemory(MemoryKind kind, uint64_t bytes,
                                       void *&out) {
  OutsideCapture<Api> outside;
  Call call = kind == MemoryKind::Device ? Api::alloc(out, bytes)
              : kind == MemoryKind::HostShared && device.limits.managed
                  ? Api::allocManaged(out, bytes)
                  : Api::allocPinned(out, bytes);
  if (call.code != Api::success)
    return error(call);
  live.fetch_add(1, std::memory_order_relaxed);
  return Status();
}

template <typename Api>
void VendorContext<Api>::freeMemory(MemoryKind kind, void *pointer) noexcept {
  live.fetch_sub(1, std::memory_order_relaxed);
  if (silent())
    return;
  OutsideCapture<Api> outside;
  if (kind == MemoryKind::Device ||
      (kind == MemoryKind::HostShared && device.limits.managed))
    note(Api::free(pointer));
  else
    note(Api::freePinned(pointer));
}

template <typename Api>
void VendorContext<Api>::memoryInfo(uint64_t &freeBytes, uint64_t &totalBytes) {
  freeBytes = totalBytes = 0;
  size_t free = 0, total = 0;
  if (silent())
    return;
  OutsideCapture<Api> outside;
  if (Call call = Api::memoryInfo(free, total); call.code != Api::success)
    return note(call);
  freeBytes = free;
  totalBytes = total;
}

// Kernels get the addresses that the program passes, so memory that the device
// sees elsewhere is of no use to them.
template <typename Api>
Status VendorContext<Api>::checkHostAddress(void *pointer) {
  if constexpr (Api::hostAddressesMayDiffer) {
    void *address = pointer;
    if (Status status = toDeviceAddress(address); !status.ok())
      return status;
    if (address != pointer)
      return makeStatus(GPUASYNC_UNSUPPORTED,
                        "%s sees registered host memory at another address "
                        "(%p) than the host does (%p), so kernels cannot use "
                        "it: allocate host_shared memory, or copy",
                        device.info.name, address, pointer);
  }
  return Status();
}

template <typename Api>
Status VendorContext<Api>::registerHost(void *pointer, uint64_t bytes,
                                        bool &owned) {
  OutsideCapture<Api> outside;
  owned = false;
  auto known = [&](uint64_t offset) {
    return pointerKind(static_cast<char *>(pointer) + offset) !=
           PointerKind::Pageable;
  };
  if (known(0) && known(bytes - 1))
    return checkHostAddress(pointer);
  Call call = Api::hostRegister(pointer, bytes, /*readOnly=*/false);
  if (call.code == Api::alreadyRegistered)
    return error(call, "; another registration covers a part of the memory");
  // Constant data of the program lies in pages that cannot be written.
  if (call.code != Api::success && device.limits.readOnlyRegister &&
      !Api::losesDevice(call.code)) {
    Call again = Api::hostRegister(pointer, bytes, /*readOnly=*/true);
    if (again.code == Api::success)
      call = again;
  }
  if (call.code != Api::success)
    return error(call);
  live.fetch_add(1, std::memory_order_relaxed);
  owned = true;
  return checkHostAddress(pointer);
}

template <typename Api>
void VendorContext<Api>::unregisterHost(void *pointer) noexcept {
  live.fetch_sub(1, std::memory_order_relaxed);
  if (silent())
    return;
  OutsideCapture<Api> outside;
  note(Api::hostUnregister(pointer));
}

template <typename Api>
PointerKind VendorContext<Api>::pointerKind(const void *pointer) {
  PointerKind kind = PointerKind::Pageable;
  note(Api::pointerKind(pointer, kind));
  return kind;
}

template <typename Api>
Status VendorContext<Api>::devicePointer(void *host, void *&out) {
  out = host;
  if constexpr (Api::hostAddressesMayDiffer)
    return toDeviceAddress(out);
  return Status();
}

template <typename Api>
Status VendorContext<Api>::encodeTensorMap(const TensorMap &map, void *out) {
  if constexpr (!Api::hasTensorMaps)
    return DriverContext::encodeTensorMap(map, out);
  else
    return check(Api::encodeTensorMap(map, out));
}

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

template <typename Api>
Status VendorContext<Api>::open(void *adopted) {
  OutsideCapture<Api> outside;
  if (device.loss.lost())
    return makeStatus(GPUASYNC_DEVICE_LOST,
                      "the device is lost for this process; first report: %s",
                      device.loss.firstReport());
  owned = !adopted;
  if (adopted)
    context = Api::toContext(adopted);
  else if (Call call = Api::retainContext(device.ordinal, context);
           call.code != Api::success)
    return error(call);
  opened = true;
  // Whatever fails or is thrown below: nothing stays open, and the caller's
  // context is current again.
  struct Guard {
    VendorContext &self;
    SavedContext saved;
    bool current = false, succeeded = false;
    ~Guard() {
      if (!succeeded)
        (void)self.close(self.device.loss.lost());
      if (current)
        self.restore(saved);
    }
  } guard{*this, {}};
  if (Call call = Api::contextId(context, generationId);
      call.code != Api::success)
    return error(call);
  if (Status status = makeCurrent(guard.saved); !status.ok())
    return status;
  guard.current = true;
  Status status = testCapabilities();
  gpuasync_image image;
  if (status.ok() && Api::builtinImage(device.limits, image))
    status = loadModule(builtinKernelModule(), image, builtinModule, builtins);
  guard.succeeded = status.ok();
  return status;
}

template <typename Api>
Status VendorContext<Api>::testCapabilities() {
  uint32_t refuted = 0;
  // Given back also where host memory runs out.
  struct Guard {
    VendorContext &self;
    NativeStream stream = nullptr;
    void *page = nullptr;
    ~Guard() {
      if (page)
        self.freeMemory(MemoryKind::Pinned, page);
      if (stream)
        self.destroyStream(stream);
    }
  } guard{*this};
  Status status = createStream(guard.stream);
  if (!status.ok())
    return status;
  NativeStream stream = guard.stream;
  if (device.info.capabilities & CapStreamOrderedAlloc) {
    Call made = Api::poolCreate(device.ordinal, pool);
    note(made);
    hasPool = made.code == Api::success;
    void *pointer = nullptr;
    if (!hasPool || !allocAsync(stream, 256, pointer).ok() ||
        !freeAsync(stream, pointer).ok())
      refuted |= CapStreamOrderedAlloc;
  }
  if (device.info.capabilities & CapFlagWait) {
    refuted |= CapFlagWait;
    status = allocMemory(MemoryKind::Pinned, 4096, guard.page);
    if (status.ok()) {
      auto *slot = static_cast<volatile uint32_t *>(guard.page);
      *slot = 0;
      bool done = false;
      if (writeFlag(stream, static_cast<uint32_t *>(guard.page), 42).ok() &&
          waitStream(stream, -1, done).ok() && *slot == 42)
        refuted &= ~uint32_t(CapFlagWait);
    }
  }
  bool done = false;
  if (status.ok())
    status = waitStream(stream, -1, done);
  device.refuted.fetch_or(refuted);
  return status;
}

template <typename Api>
uint64_t VendorContext<Api>::close(bool lost) noexcept {
  // Pools are the device's, so one outlives a context that somebody destroyed.
  if (gone.load() && hasPool && !processIsExiting() && !device.loss.lost()) {
    (void)Api::poolDestroy(pool);
    hasPool = false;
  }
  // A lost device's context cannot be taken down in an orderly way: its calls
  // fail, and some hang.
  if (lost || silent() || !opened) {
    if (builtinModule && silent())
      unloadModule(builtinModule); // our own part; no call is made
    builtinModule = nullptr;
    return 0;
  }
  OutsideCapture<Api> outside;
  if (builtinModule)
    unloadModule(builtinModule);
  builtinModule = nullptr;
  if (hasPool)
    note(Api::poolDestroy(pool));
  hasPool = false;
  if (owned)
    (void)Api::releaseContext(device.ordinal);
  opened = false;
  int64_t left = live.load();
  return left > 0 ? uint64_t(left) : 0;
}

} // namespace gpuasync

#endif // GPUASYNC_DRIVERS_SHARED_VENDORCONTEXT_H
