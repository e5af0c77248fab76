//===- ModuleCache.h - Loaded modules of one context ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Program x context -> instance -> loaded modules. Equal content is loaded once
// per context; one thread loads a key while the others wait for that key only.
// Limits, hooks and eviction are those of a ModulePolicy, if there is one.
//===----------------------------------------------------------------------===//
//
// A module is *held* by the instances (programs) that it was given to, and *in
// use* while a frame is open on one of them. Frames are counted in pins, one
// per thread and instance, so a warm frame writes words of its own thread only:
// the pin's count and, for each module it reaches, the epoch of the use. The
// epoch is the number of modules loaded or given away so far; a warm frame only
// reads it.
//
// Modules go when nothing of the context runs, and in a Pause: it marks all
// instances of the context retired, so a frame that begins meanwhile sees the
// mark, takes the slow path, and waits for the pause's end; where it may not
// wait it is counted under poolMutex, under which modules are taken from
// instances without open frames. Locks: poolMutex before ModuleCache::mutex;
// neither is held over a call of the driver's or a hook.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_MODULE_MODULECACHE_H
#define GPUASYNC_SHIM_MODULE_MODULECACHE_H

#include "device/Driver.h"
#include "gpuasync/Program.h"
#include "shim/base/StatusImpl.h"
#include "shim/command/Fragment.h"
#include "shim/pool/Origin.h"
#include "shim/process/Service.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct gpuasync_context;

namespace gpuasync {

struct ContextPools;
struct PoolAllocation;
struct Pin;
struct ThreadState;

/// A constant array is a module without kernels: its one "function" is where
/// the device reaches it.
inline bool isConstantData(const gpuasync_module &module) {
  return module.imageCount == 1 &&
         module.images[0].format == GPUASYNC_IMAGE_DATA;
}

/// What decides whether two loads give the same module. Compared part by part;
/// nothing of it is an address.
struct ModuleKey {
  uint64_t content[2] = {}; ///< the image's hash
  uint64_t kernels = 0;     ///< hash of the kernel table
  /// Program and module where there is no content hash (cpu code, no image).
  uint64_t registration = 0;
  uint32_t index = 0;
  uint32_t format = 0;
  uint64_t context = 0;    ///< gpuasync_context::id, never used twice
  uint64_t generation = 0; ///< the vendor's number of the context
  uint32_t driverVersion = 0;
  std::string arch;    ///< of the image
  std::string backend; ///< "cuda"
  std::string options; ///< of the hooks
  bool operator<(const ModuleKey &other) const;
};

class ModuleMaker;

/// One loaded image. Shared by the instances whose content is equal.
struct LoadedModule {
  enum class State { Loading, Ready, Failed } state = State::Loading;
  ModuleKey key;
  const ThreadState *loader = nullptr; ///< while Loading
  std::condition_variable settled;
  Status error;
  NativeModule native = nullptr;
  LineArray<NativeFunction> functions;
  void *foreign = nullptr;            ///< what the maker loaded
  std::shared_ptr<ModuleMaker> maker; ///< of `foreign`
  PoolAllocation *copy = nullptr;     ///< of constant data
  uint64_t bytes = 0;                 ///< of its image
  uint32_t holders = 0;               ///< instances
  uint32_t waiters = 0;
  uint64_t lastUse = 0;  ///< epoch
  bool released = false; ///< to be unloaded as soon as that may be
  bool captured = false; ///< a graph may run its kernels at any time
};

/// The modules of one program in one context. Every frame reads it.
struct alignas(64) Instance {
  struct Slot {
    LoadedModule *module = nullptr; ///< under the cache's mutex
    /// Set once loaded; a frame that has seen it may read the array.
    std::atomic<NativeFunction *> functions{nullptr};
  };
  gpuasync_context *context = nullptr;
  Registration *registration = nullptr;
  uint64_t registrationId = 0;
  const gpuasync_program *program = nullptr;
  uint32_t moduleCount = 0; ///< `program` may be gone when it is dropped
  LineArray<Slot> modules;
  FragmentTable fragments;
  /// No frame may begin on it: for good, once the program is released or the
  /// context closes, or while a Pause lasts.
  std::atomic<bool> retired{false};
  /// It is so only until a Pause ends (the context's poolMutex).
  bool paused = false;
  std::atomic<uint32_t> references{1};
  std::vector<Pin *> pins; ///< under the context's poolMutex
  /// The part of the service that records regions; made with the first one.
  std::atomic<ServicePart *> regions{nullptr};
  ~Instance() { delete regions.load(std::memory_order_relaxed); }

  /// The kernel of a launch's site, with its function.
  Status findKernel(const gpuasync_site *site, const gpuasync_kernel *&kernel,
                    NativeFunction &function) const {
    if (__builtin_expect(!names(site), 0))
      return refuseLaunch(site);
    NativeFunction *functions =
        modules[site->module].functions.load(std::memory_order_relaxed);
    if (__builtin_expect(!functions, 0))
      return refuseLaunch(site);
    kernel = &program->modules[site->module].kernels[site->kernel];
    function = functions[site->kernel];
    return Status();
  }
  /// Where the device reaches the constant array that is module `index`.
  Status findConstant(uint32_t index, const void *&out) const {
    if (__builtin_expect(index >= program->moduleCount ||
                             !isConstantData(program->modules[index]),
                         0))
      return makeStatus(GPUASYNC_NOT_FOUND,
                        "module %u of program '%s' is no constant array", index,
                        program->name);
    NativeFunction *place =
        modules[index].functions.load(std::memory_order_relaxed);
    if (__builtin_expect(!place, 0))
      return makeStatus(GPUASYNC_NOT_FOUND,
                        "constant '%s' is not loaded: the function's table of "
                        "modules lacks it",
                        program->modules[index].name);
    out = *place;
    return Status();
  }
  void release() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }

private:
  /// Whether the site names a kernel of the program.
  bool names(const gpuasync_site *site) const {
    return site && site->module < program->moduleCount &&
           site->kernel < program->modules[site->module].kernelCount;
  }
  /// Says why findKernel finds none.
  Status refuseLaunch(const gpuasync_site *site) const;
};

/// A frame that is being entered: it holds its pin and has begun nothing yet.
struct Entering {
  Pin *pin = nullptr;
  const gpuasync_function *function = nullptr;
  bool loading = false; ///< it has seen some of its function's modules
};

/// A thing to load: a module of a program by an image.
struct ModuleSource {
  const gpuasync_program *program = nullptr;
  const gpuasync_module *module = nullptr;
  const gpuasync_image *image = nullptr; ///< null: none fits
  const Entering *entering = nullptr;    ///< null: not at frame enter
};

/// Makes modules in place of the device. Its functions may run unknown code, so
/// no lock is held.
class ModuleMaker {
public:
  std::string options; ///< part of the keys
  virtual ~ModuleMaker() = default;
  /// Puts another image in place of `image`, or leaves it.
  virtual Status compile(const ModuleSource &source, gpuasync_image &image) = 0;
  /// The image that `compile` has put is needed no more.
  virtual void discard(gpuasync_image &image) = 0;
  /// Loads the image: `entry.foreign` is set then. Else the device loads it.
  virtual Status load(const ModuleSource &source, const gpuasync_image &image,
                      LoadedModule &entry) = 0;
  virtual void unload(void *foreign) = 0;
};

/// Says which modules stay, and who makes them.
class ModulePolicy {
public:
  virtual ~ModulePolicy() = default;

  //===--- With the cache's mutex held

  /// Null: the device makes all modules.
  virtual const std::shared_ptr<ModuleMaker> &maker() const = 0;
  /// Whether modules are to go before `extraBytes` more are loaded.
  virtual bool isBeyondLimits(uint64_t extraBytes) const = 0;
  /// Whether modules stay that no program holds.
  virtual bool keepsUnheld() const = 0;

  //===--- Without locks

  /// Unloads what the limits, or (`everything`) nobody, keeps, and frees idle
  /// memory, for `bytes` more, if nothing of the context runs but the frame
  /// that the thread is about to begin or has just begun. Whether it did.
  virtual bool makeRoom(const Entering &entering, uint64_t bytes,
                        bool everything) = 0;
};

class ModuleCache {
public:
  explicit ModuleCache(ContextPools &context) : context(context) {}

  struct Totals {
    uint64_t entries = 0, bytes = 0, evictions = 0, compileNs = 0, loadNs = 0;
  };

  /// Null: modules stay while a program holds them. Set before the first load.
  std::unique_ptr<ModulePolicy> policy;

  /// Loads module `index` into the instance of the frame that is being entered
  /// unless it is loaded, and counts that. The context is current.
  Status load(const Entering &entering, uint32_t index);

  /// Takes all modules from an instance that has been retired for good; their
  /// work is over. Those that nobody else holds and nothing keeps are marked
  /// for unloading. Returns how many it held.
  uint32_t dropInstance(Instance &instance);
  /// Whether something was inserted for a program's own code; marks it.
  bool hasProgram(uint64_t registrationId);
  void dropProgram(uint64_t registrationId);
  /// Work of the function is captured into a graph: its modules stay until the
  /// program is released.
  void keepForGraph(Instance &instance, const gpuasync_function &function);
  /// Unloads what is marked and no instance holds. Nothing of the context runs,
  /// in a Pause.
  void unloadMarked();
  /// Unloads what no instance holds. Only at the context's end.
  void unloadRest();

  /// Loaded ones, held or not, and loading ones.
  size_t size();
  Totals totals();
  /// Holds given back that nobody had; 0 unless there is a bug.
  std::atomic<uint32_t> underflows{0};

  /// Read by every frame, written by cold calls only.
  alignas(64) std::atomic<uint64_t> epoch{1};

  //===--- What a policy uses. The mutex is held, but where it says otherwise

  using Entry = std::shared_ptr<LoadedModule>;
  ModuleKey makeKey(const Registration &registration, uint32_t index,
                    const gpuasync_image *image, const std::string &options);
  /// Makes the entry of a key that has none, and publishes it or why there is
  /// none; `lock` is held before and after, but not meanwhile.
  Status make(ModuleKey key, const ModuleSource &source,
              const std::shared_ptr<ModuleMaker> &maker,
              std::unique_lock<std::mutex> &lock, Entry &entry);
  void detach(Instance::Slot &slot);
  /// Takes a ready entry out of the table (`gone` has room).
  void erase(const Entry &entry, std::vector<Entry> &gone);
  void unload(const std::vector<Entry> &gone); ///< mutex not held

  alignas(64) std::mutex mutex;
  std::map<ModuleKey, Entry> entries;
  uint64_t bytes = 0;    ///< of the ready entries
  uint64_t released = 0; ///< marked entries
  uint64_t evictions = 0;
  std::atomic<uint64_t> compileNs{0}, loadNs{0};

private:
  Status loadImage(const Entering &entering, uint32_t index,
                   const gpuasync_image *image);
  /// Makes what `entry` needs; no lock is held.
  Status produce(LoadedModule &entry, const ModuleSource &source,
                 const std::shared_ptr<ModuleMaker> &maker) noexcept;
  Status loadProduct(LoadedModule &entry, const ModuleSource &source,
                     const gpuasync_image &image,
                     const std::shared_ptr<ModuleMaker> &maker);
  Status loadData(LoadedModule &entry, const gpuasync_image &image);
  void attach(Instance::Slot &slot, LoadedModule &entry); ///< mutex held
  /// Nobody holds it: it is unloaded as soon as that may be (mutex held).
  void markForUnloading(LoadedModule &entry);
  bool isBeyondLimits(uint64_t extraBytes) const {
    return policy && policy->isBeyondLimits(extraBytes);
  }
  template <typename Wanted>
  void unloadUnheld(Wanted wanted);

  ContextPools &context;
};

/// The images of `module` that fit the device, best first.
std::vector<const gpuasync_image *> rankImages(Driver &driver, int32_t ordinal,
                                               const gpuasync_module &module);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_MODULE_MODULECACHE_H
