//===- ModuleCache.h - Loaded modules of one context ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Program x context -> instance -> loaded modules. Equal content is loaded once
// per context; one thread loads a key while the others wait for that key only.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_MODULECACHE_H
#define GPUASYNC_CORE_MODULECACHE_H

#include "core/Driver.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

struct gpuasync_context;

namespace gpuasync {

struct Pin;

/// A program that the process knows. Kept for reuse after release, so that a
/// stale pointer to one can be compared and never dangles.
struct Registration {
  const gpuasync_program *program = nullptr;
  uint64_t id = 0; ///< unique over reuse
  /// Where its frames run outside any scope; null until chosen.
  std::atomic<gpuasync_context *> defaultContext{nullptr};
};

/// One loaded image. Shared by the instances whose content is equal.
struct LoadedModule {
  /// format, hash, hash, kernel table hash, unique id where there is no
  /// content hash, arch.
  using Key =
      std::tuple<uint32_t, uint64_t, uint64_t, uint64_t, uint64_t, std::string>;
  Key key;
  enum class State { Loading, Ready, Failed } state = State::Loading;
  std::condition_variable settled;
  Status error;
  NativeModule native = nullptr;
  std::vector<NativeFunction> functions;
  uint32_t users = 0; ///< instances and threads waiting for it
};

/// The modules of one program in one context.
struct Instance {
  struct Slot {
    LoadedModule *module = nullptr; ///< under the cache's mutex
    /// Set once loaded; a frame that has seen it may read the array.
    std::atomic<NativeFunction *> functions{nullptr};
  };
  gpuasync_context *context = nullptr;
  Registration *registration = nullptr;
  uint64_t registrationId = 0;
  const gpuasync_program *program = nullptr;
  std::unique_ptr<Slot[]> modules;
  /// No frame may begin on it; set before waiting for the pins.
  std::atomic<bool> retired{false};
  std::atomic<uint32_t> references{1};
  std::vector<Pin *> pins; ///< under the context's poolMutex
  void release() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
};

class ModuleCache {
public:
  explicit ModuleCache(gpuasync_context &context) : context(context) {}
  /// Loads module `index` of the instance unless it is loaded. The context is
  /// current. `loaded`: this call loaded it from the driver. `attached`: it
  /// gave the module to the instance.
  Status load(Instance &instance, uint32_t index, bool &loaded, bool &attached);
  /// Unloads what only this retired instance uses; its work is over. Returns
  /// how many modules it held.
  uint32_t unload(Instance &instance);
  /// Entries, loading ones included.
  size_t size();

private:
  /// load with one of the module's images.
  Status loadImage(Instance &instance, uint32_t index,
                   const gpuasync_image &image, bool &loaded, bool &attached);

  gpuasync_context &context;
  std::mutex mutex;
  std::map<LoadedModule::Key, std::unique_ptr<LoadedModule>> entries;
  /// Failed entries that a waiter still reads.
  std::vector<std::unique_ptr<LoadedModule>> graveyard;
};

/// The image of `module` that fits best, of those that fit less well than rank
/// `below`, and that of it; null if none does.
const gpuasync_image *chooseImage(DriverContext &driver,
                                  const gpuasync_module &module,
                                  uint32_t below = UINT32_MAX,
                                  uint32_t *rank = nullptr);

} // namespace gpuasync

#endif // GPUASYNC_CORE_MODULECACHE_H
