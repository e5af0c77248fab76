//===- WatchedDriver.h - The cpu device with its loading watched *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A driver that takes images in CUDA's formats whose bytes are cpu kernel
// tables, so that the module cache can be tested with content that has a hash.
// Loading is counted and can be held or failed; all else is the cpu device.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_UNIT_WATCHEDDRIVER_H
#define GPUASYNC_TEST_RUNTIME_UNIT_WATCHEDDRIVER_H

#include "CpuKernel.h"
#include "Sites.h"
#include "device/DeviceWrapper.h"
#include "device/cuda/CudaDriver.h"
#include "gpuasync/Context.h"
#include "gpuasync/Program.h"
#include "gpuasync/Stats.h"
#include "shim/context/ContextImpl.h"
#include "shim/context/Program.h"

#include <atomic>
#include <functional>
#include <set>

namespace gpuasync_test {

using namespace gpuasync;

/// What the test says and sees. Changed only while nothing loads.
struct Watch {
  Vendor vendor = {"watched", /*hasNumberedDevices=*/true, nullptr, 0, nullptr};
  uint32_t driverVersion = 12080;
  /// Called by loadModule without any lock; an error fails the load.
  std::function<Status(const gpuasync_image &)> onLoad;
  /// Called by unloadModule, in which the context is paused.
  std::function<void()> onUnload;
  bool capturing = false; ///< what callers' streams are said to be
  std::atomic<uint64_t> loads{0}, unloads{0}, adoptions{0};
  uint64_t live() const { return loads + adoptions - unloads; }
};

class WatchedContext final : public DeviceWrapper,
                             ForeignWrapper,
                             StreamCaptures {
public:
  WatchedContext(Watch &watch, std::unique_ptr<Device> device)
      : DeviceWrapper(*device, extensionsOf(*device)), ForeignWrapper(*device),
        watch(watch), owned(std::move(device)) {
    generation = 1;
  }

  Status loadModule(const gpuasync_module &module, const gpuasync_image &image,
                    NativeModule &out, NativeFunction *functions) override {
    if (watch.onLoad)
      if (Status status = watch.onLoad(image); !status.ok())
        return status;
    // A copy that goes when the module does: sanitizers see whoever is late.
    auto *table = static_cast<const gpuasync_cpu_kernel *>(image.data);
    auto loaded = std::make_unique<Loaded>();
    loaded->table.assign(table, table + module.kernelCount);
    Status status = objects->adoptModule(module, image, loaded->table.data(),
                                         loaded->native, functions);
    if (!status.ok())
      return status;
    ++watch.loads;
    out = loaded.release();
    return Status();
  }
  Status adoptModule(const gpuasync_module &module, const gpuasync_image &image,
                     void *foreign, NativeModule &out,
                     NativeFunction *functions) override {
    auto loaded = std::make_unique<Loaded>();
    Status status =
        objects->adoptModule(module, image, foreign, loaded->native, functions);
    if (!status.ok())
      return status;
    ++watch.adoptions;
    out = loaded.release();
    return Status();
  }
  void unloadModule(NativeModule module) noexcept override {
    std::unique_ptr<Loaded> loaded(static_cast<Loaded *>(module));
    if (watch.onUnload)
      watch.onUnload();
    ++watch.unloads;
    inner.unloadModule(loaded->native);
  }
  Status findFunction(NativeModule loaded, const gpuasync_module &module,
                      const gpuasync_image &image,
                      NativeFunction &out) override {
    return objects->findFunction(static_cast<Loaded *>(loaded)->native, module,
                                 image, out);
  }
  Status captureState(NativeStream stream, CaptureState &out) override {
    if (!watch.capturing)
      return captureStateOf(inner, stream, out);
    out.kind = CaptureState::Active;
    out.id = 7;
    return Status();
  }

private:
  struct Loaded {
    NativeModule native = nullptr;
    std::vector<gpuasync_cpu_kernel> table;
  };
  Extensions extensionsOf(Device &device) {
    Extensions all = device.extensions;
    all.foreign = this;
    all.captures = this;
    return all;
  }
  Watch &watch;
  std::unique_ptr<Device> owned;
};

class WatchedDriver final : public Driver {
public:
  WatchedDriver() : Driver(watch.vendor) {}

  Watch watch;
  Status available() override { return Status(); }
  int32_t deviceCount() override { return 2; }
  Status deviceInfo(int32_t, DeviceInfo &info) override {
    Status status = vendorNamed("cpu")->driver().deviceInfo(0, info);
    info.driverVersion = watch.driverVersion;
    snprintf(info.arch, sizeof(info.arch), "sm_90");
    return status;
  }
  uint32_t imageRank(int32_t, const gpuasync_image &image,
                     std::string *why) override {
    if (image.format == GPUASYNC_IMAGE_CPU)
      return 1;
    VendorLimits limits;
    limits.major = 9;
    limits.driverVersion = int32_t(watch.driverVersion);
    return cuda::CudaDriver().rank(limits, image, why);
  }
  Status openContext(int32_t, void *, std::unique_ptr<Device> &out) override {
    std::unique_ptr<Device> inner;
    Status status = vendorNamed("cpu")->driver().openContext(0, nullptr, inner);
    if (status.ok())
      out = std::make_unique<WatchedContext>(watch, std::move(inner));
    return status;
  }
  Context open(int32_t ordinal = 0) {
    gpuasync_context *raw = nullptr;
    (void)openOn(*this, ordinal, nullptr, raw);
    return Context(raw);
  }
};

/// A program of modules with one kernel each, `out[i] = value`. Module i has
/// one image with the content hash {seed, i}.
class ManyModules {
public:
  struct StoreParams {
    uint32_t *out;
    uint32_t value;
  };

  explicit ManyModules(uint32_t count, uint64_t seed = 1,
                       uint32_t format = GPUASYNC_IMAGE_PTX,
                       const char *arch = "sm_70", uint64_t imageBytes = 32)
      : sites(launchSites("many.mlir", "launch", count)), images(count),
        modules(count), indices(count), functions(count) {
    for (uint32_t i = 0; i < count; ++i) {
      images[i] = {format, 0, arch, &image, imageBytes, {seed, i}};
      modules[i] = {"m", &kernel, &images[i], 1, 1};
      indices[i] = i;
      functions[i] = {"f",         "many.mlir", 1, 1, &program,
                      &indices[i], 1,           0, 0, 0};
    }
    program = {GPUASYNC_ABI_VERSION, count, "many", modules.data(), &slot,
               sites.data(),         count, 0};
    all = {"all", "many.mlir", 1, 1, &program, indices.data(), count, 0, 0, 0};
  }
  ManyModules(const ManyModules &) = delete;
  ~ManyModules() { gpuasync_status_free(gpuasync_program_release(&program)); }

  static void store(const gpuasync_cpu_block_ctx *, const void *params,
                    void *) {
    auto *p = static_cast<const StoreParams *>(params);
    __atomic_store_n(p->out, p->value, __ATOMIC_RELEASE);
  }

  /// Enters and leaves `function`; the error.
  static Status enter(const gpuasync_function &function) {
    gpuasync_frame frame;
    gpuasync_frame_enter(&frame, &function);
    return Status(gpuasync_frame_leave(&frame));
  }
  Status enter(uint32_t module) const { return enter(functions[module]); }
  Status enterAll() const { return enter(all); }
  /// Launches the module's kernel and checks what it wrote.
  bool run(uint32_t module, uint32_t value, std::string *why = nullptr) {
    gpuasync_frame frame;
    const uint32_t site = module;
    gpuasync_frame_enter(&frame, &functions[module]);
    gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, site);
    uint32_t seen = 0;
    alignas(16) StoreParams params = {&seen, value};
    gpuasync_launch_config block = {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0,
                                    0,         16,        &params};
    gpuasync_launch(&frame, stream, site, &block);
    gpuasync_stream_synchronize(&frame, &stream, 1, site);
    gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE, site);
    Status status(gpuasync_frame_leave(&frame));
    if (why)
      *why = status.ok() ? "stored " + std::to_string(seen) + " instead of " +
                               std::to_string(value)
                         : status.message();
    return status.ok() && seen == value;
  }

  static constexpr uint32_t offsets[2] = {0, 8}, sizes[2] = {8, 4};
  /// Up to 4096 bytes that an image may say it has.
  struct Image {
    gpuasync_cpu_kernel table;
    char rest[4096 - sizeof(gpuasync_cpu_kernel)];
  };
  static const Image image;
  gpuasync_kernel kernel = {"store", offsets, sizes, 2, 16};
  std::vector<gpuasync_site> sites;
  std::vector<gpuasync_image> images;
  std::vector<gpuasync_module> modules;
  std::vector<uint32_t> indices;
  std::vector<gpuasync_function> functions;
  gpuasync_function all;
  gpuasync_program program;
  void *slot = nullptr;
};
inline const ManyModules::Image ManyModules::image = {
    cpuKernel("store", ManyModules::store), {}};

inline gpuasync_stats statsOf(const Context &context) {
  gpuasync_stats stats = {};
  gpuasync_status_free(gpuasync_stats_read(context.get(), &stats));
  return stats;
}

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_UNIT_WATCHEDDRIVER_H
