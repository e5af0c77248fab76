//===- ModuleCache.cpp - Loaded modules of one context --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ModuleCache.h. No lock is held over a call of the driver's or the
// maker's.
//===----------------------------------------------------------------------===//

#include "shim/module/ModuleCache.h"
#include "shim/base/Uncancelled.h"
#include "shim/pool/ContextPools.h"

#include <algorithm>
#include <string.h>
#include <tuple>

using namespace gpuasync;

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

std::vector<const gpuasync_image *>
gpuasync::rankImages(Driver &driver, int32_t ordinal,
                     const gpuasync_module &module) {
  std::vector<std::pair<uint32_t, const gpuasync_image *>> ranked;
  for (uint32_t i = 0; i < module.imageCount; ++i)
    if (uint32_t rank = module.images[i].format == GPUASYNC_IMAGE_DATA
                            ? 1
                            : driver.imageRank(ordinal, module.images[i]))
      ranked.push_back({rank, &module.images[i]});
  // Of equal ones the module's first.
  std::sort(ranked.begin(), ranked.end(), [](auto &a, auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<const gpuasync_image *> images;
  for (auto &[rank, image] : ranked)
    images.push_back(image);
  return images;
}

static std::string describeImage(const gpuasync_image &image) {
  bool named = image.arch && *image.arch;
  return formatName(image.format) + (named ? " " : "") +
         (named ? image.arch : "");
}

/// Why each image that does not fit does not: "PTX sm_100: for a newer chip".
static std::string listMisfits(ContextPools &context,
                               const gpuasync_module &module) {
  std::string list;
  for (uint32_t i = 0; i < module.imageCount; ++i) {
    std::string why;
    if (!context.kind.imageRank(context.ordinal, module.images[i], &why))
      appendItem(list, describeImage(module.images[i]) + ": " + why);
  }
  return list;
}

static Status noImage(ContextPools &context, const gpuasync_module &module) {
  std::string misfits = listMisfits(context, module);
  return makeStatus(
      GPUASYNC_NOT_FOUND, "module '%s' has no image for %s%s%s%s; it has %s",
      module.name, context.device.c_str(), *context.info.arch ? " (" : "",
      context.info.arch, *context.info.arch ? ")" : "",
      misfits.empty() ? "none" : misfits.c_str());
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

bool ModuleKey::operator<(const ModuleKey &other) const {
  auto parts = [](const ModuleKey &key) {
    return std::tie(key.content[0], key.content[1], key.kernels,
                    key.registration, key.index, key.format, key.context,
                    key.generation, key.driverVersion, key.arch, key.backend,
                    key.options);
  };
  return parts(*this) < parts(other);
}

static uint64_t mix(uint64_t hash, const void *data, size_t size) {
  auto *bytes = static_cast<const unsigned char *>(data);
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

ModuleKey ModuleCache::makeKey(const Registration &registration, uint32_t index,
                               const gpuasync_image *image,
                               const std::string &options) {
  const gpuasync_module &module = registration.program->modules[index];
  ModuleKey key;
  // The order and layout of the kernel table decide what `functions` means.
  key.kernels = 0xcbf29ce484222325;
  for (uint32_t i = 0; i < module.kernelCount; ++i) {
    const gpuasync_kernel &kernel = module.kernels[i];
    key.kernels = mix(key.kernels, kernel.name, strlen(kernel.name) + 1);
    key.kernels =
        mix(key.kernels, &kernel.paramCount, sizeof(kernel.paramCount));
    if (kernel.paramCount != UINT32_MAX && kernel.paramCount) {
      size_t bytes = kernel.paramCount * sizeof(*kernel.paramSizes);
      key.kernels = mix(key.kernels, kernel.paramSizes, bytes);
      key.kernels = mix(key.kernels, kernel.paramOffsets, bytes);
    }
  }
  const ImageFormat *format = image ? findFormat(image->format) : nullptr;
  bool isOwn = (format && format->isFunctionTable) ||
               (image && image->format == GPUASYNC_IMAGE_DATA &&
                context.has(CapHostAccess));
  bool hashed = image && !isOwn && (image->hash[0] || image->hash[1]);
  if (hashed) {
    key.content[0] = image->hash[0];
    key.content[1] = image->hash[1];
  } else {
    key.registration = registration.id;
    key.index = index;
  }
  if (image) {
    key.format = image->format;
    key.arch = image->arch ? image->arch : "";
  }
  key.context = context.id;
  key.generation = context.driver->generation;
  key.driverVersion = context.info.driverVersion;
  key.backend = context.kind.name();
  key.options = options;
  return key;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Status Instance::refuseLaunch(const gpuasync_site *site) const {
  if (!site)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "a launch of program '%s' without a site, which names "
                      "its kernel",
                      program->name);
  if (!names(site))
    return makeStatus(GPUASYNC_NOT_FOUND,
                      "program '%s' has no kernel %u in module %u",
                      program->name, site->kernel, site->module);
  return makeStatus(GPUASYNC_NOT_FOUND,
                    "module '%s' is not loaded: the function's table of "
                    "modules lacks it",
                    program->modules[site->module].name);
}

// An image that the driver refuses (a machine code that it does not know after
// all, say) makes way for the next best; what each was refused for is kept, and
// told if none is left.
Status ModuleCache::load(const Entering &entering, uint32_t index) {
  const gpuasync_module &module =
      entering.pin->instance->program->modules[index];
  std::vector<const gpuasync_image *> images =
      rankImages(context.kind, context.ordinal, module);
  if (images.empty())
    return loadImage(entering, index, nullptr);
  Status first;
  std::string reasons;
  for (const gpuasync_image *image : images) {
    Status status = loadImage(entering, index, image);
    if (status.ok() || status.code() == GPUASYNC_OUT_OF_MEMORY ||
        status.code() == GPUASYNC_DEVICE_LOST ||
        status.code() == GPUASYNC_SHUT_DOWN)
      return status;
    appendItem(reasons, status.message());
    if (first.ok())
      first = std::move(status);
  }
  std::string misfits = listMisfits(context, module);
  return makeStatus(first.code(), "%s%s%s", reasons.c_str(),
                    misfits.empty() ? "" : "; not tried: ", misfits.c_str());
}

void ModuleCache::attach(Instance::Slot &slot, LoadedModule &entry) {
  ++entry.holders;
  entry.lastUse = epoch.fetch_add(1, std::memory_order_relaxed) + 1;
  slot.module = &entry;
  slot.functions.store(entry.functions.get(), std::memory_order_release);
}

void ModuleCache::detach(Instance::Slot &slot) {
  if (slot.module->holders)
    --slot.module->holders;
  else
    underflows.fetch_add(1, std::memory_order_relaxed);
  slot.module = nullptr;
  slot.functions.store(nullptr, std::memory_order_relaxed);
}

Status ModuleCache::loadImage(const Entering &entering, uint32_t index,
                              const gpuasync_image *image) {
  Instance &instance = *entering.pin->instance;
  Counters &counters = entering.pin->slot->counters;
  Instance::Slot &slot = instance.modules[index];
  const ThreadState *self = &threadState();
  std::unique_lock<std::mutex> lock(mutex);
  if (slot.functions.load(std::memory_order_relaxed)) {
    counters.hits.add(1);
    return Status();
  }
  std::shared_ptr<ModuleMaker> used;
  if (policy && !(image && image->format == GPUASYNC_IMAGE_DATA))
    used = policy->maker();
  ModuleKey key = makeKey(*instance.registration, index, image,
                          used ? used->options : std::string());
  auto found = entries.find(key);
  if (found != entries.end()) {
    Entry entry = found->second;
    if (entry->state == LoadedModule::State::Loading) {
      if (entry->loader == self)
        return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                          "module '%s' is needed to load it: a hook entered a "
                          "frame that uses it",
                          instance.program->modules[index].name);
      ++entry->waiters;
      const Uncancelled uncancelled;
      entry->settled.wait(
          lock, [&] { return entry->state != LoadedModule::State::Loading; });
      --entry->waiters;
    }
    if (entry->state == LoadedModule::State::Failed)
      return copyStatus(entry->error);
    counters.hits.add(1);
    if (!slot.module) {
      counters.modules.create();
      attach(slot, *entry);
    } // else another thread gave it to this instance meanwhile
    return Status();
  }
  const ModuleSource source = {
      instance.program, &instance.program->modules[index], image, &entering};
  Entry entry;
  RETURN_IF_ERROR(make(std::move(key), source, used, lock, entry));
  counters.misses.add(1);
  if (!slot.module) {
    counters.modules.create();
    attach(slot, *entry);
  } else if (!policy || !policy->keepsUnheld()) {
    // Another thread gave the instance another one meanwhile: the maker was
    // changed. Frames use that, so nobody needs this one.
    markForUnloading(*entry);
  }
  return Status();
}

Status ModuleCache::make(ModuleKey key, const ModuleSource &source,
                         const std::shared_ptr<ModuleMaker> &used,
                         std::unique_lock<std::mutex> &lock, Entry &entry) {
  entry = std::make_shared<LoadedModule>();
  entry->key = std::move(key);
  entry->loader = &threadState();
  entries.emplace(entry->key, entry);
  lock.unlock();
  Status status = produce(*entry, source, used);
  lock.lock();
  entry->loader = nullptr;
  if (status.ok()) {
    entry->state = LoadedModule::State::Ready;
    entry->lastUse = epoch.fetch_add(1, std::memory_order_relaxed) + 1;
    bytes += entry->bytes;
  } else {
    // The key is free again: the next caller tries anew.
    entry->state = LoadedModule::State::Failed;
    entry->error = copyStatus(status);
    entries.erase(entry->key);
  }
  entry->settled.notify_all();
  if (status.ok() && (released || isBeyondLimits(0)))
    context.retiredCount.fetch_add(1, std::memory_order_relaxed);
  return status;
}

namespace {
/// Runs a function at the end of its scope unless told not to.
template <typename Function>
struct AtEnd {
  Function function;
  bool armed = true;
  explicit AtEnd(Function function) : function(std::move(function)) {}
  ~AtEnd() {
    if (armed)
      function();
  }
};
} // namespace

Status ModuleCache::produce(LoadedModule &entry, const ModuleSource &source,
                            const std::shared_ptr<ModuleMaker> &used) noexcept
    try {
  const gpuasync_module &module = *source.module;
  // There is one also for a module without kernels: it says "loaded".
  entry.functions = makeLineArray<NativeFunction>(module.kernelCount + 1);
  if (!entry.functions)
    return outOfMemoryStatus();
  gpuasync_image image{};
  if (source.image)
    image = *source.image;
  bool compiled = false;
  AtEnd discard([&] {
    if (compiled)
      used->discard(image);
  });
  if (used) {
    RETURN_IF_ERROR(used->compile(source, image));
    compiled = image.data != (source.image ? source.image->data : nullptr);
  }
  if (!image.format)
    return noImage(context, module);
  if (!image.arch)
    image.arch = "";
  std::string why;
  if (image.data !=
          (source.entering && source.image ? source.image->data : nullptr) &&
      !context.kind.imageRank(context.ordinal, image, &why))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the %s for module '%s' does not fit %s: %s",
                      describeImage(image).c_str(), module.name,
                      context.device.c_str(), why.c_str());
  entry.bytes = image.size;
  const bool mayMakeRoom = policy && source.entering;
  bool beyond = false;
  if (mayMakeRoom) {
    std::lock_guard<std::mutex> lock(mutex);
    beyond = isBeyondLimits(entry.bytes);
  }
  if (beyond)
    (void)policy->makeRoom(*source.entering, entry.bytes, /*everything=*/false);
  Status status = loadProduct(entry, source, image, used);
  if (status.code() == GPUASYNC_OUT_OF_MEMORY && mayMakeRoom &&
      policy->makeRoom(*source.entering, entry.bytes, /*everything=*/true))
    status = loadProduct(entry, source, image, used);
  if (status.ok() && image.format != GPUASYNC_IMAGE_DATA)
    context.physicalModules.fetch_add(1, std::memory_order_relaxed);
  return status;
} catch (const std::bad_alloc &) {
  return outOfMemoryStatus();
} catch (...) {
  return makeStatus(GPUASYNC_DRIVER_ERROR,
                    "a hook threw a C++ exception while it loaded module '%s'",
                    source.module->name);
}

/// Equal arrays of several programs are one copy, but not where the program's
/// own is as good.
Status ModuleCache::loadData(LoadedModule &entry, const gpuasync_image &image) {
  entry.functions[0] = const_cast<void *>(image.data);
  if (!image.size || context.has(CapHostAccess))
    return Status();
  RETURN_IF_ERROR(context.uploads.make(image.data, image.size, entry.copy));
  entry.functions[0] = entry.copy->pointer;
  threadState().slotFor(&context.context)->counters.constantUploads.add(1);
  return Status();
}

Status ModuleCache::loadProduct(LoadedModule &entry, const ModuleSource &source,
                                const gpuasync_image &image,
                                const std::shared_ptr<ModuleMaker> &used) {
  int64_t start = nowNs();
  AtEnd count([&] {
    loadNs.fetch_add(uint64_t(nowNs() - start), std::memory_order_relaxed);
  });
  if (image.format == GPUASYNC_IMAGE_DATA)
    return loadData(entry, image);
  if (used) {
    RETURN_IF_ERROR(used->load(source, image, entry));
    if (entry.foreign) {
      entry.maker = used;
      return Status();
    }
  }
  return context.driver->loadModule(*source.module, image, entry.native,
                                    entry.functions.get());
}

//===----------------------------------------------------------------------===//
// Unloading
//===----------------------------------------------------------------------===//

void ModuleCache::erase(const Entry &entry, std::vector<Entry> &gone) {
  bytes -= entry->bytes;
  released -= entry->released;
  gone.push_back(entry);
  entries.erase(entry->key);
}

void ModuleCache::unload(const std::vector<Entry> &gone) {
  for (const Entry &entry : gone) {
    if (entry->copy)
      context.memory.dropKept(entry->copy);
    if (entry->key.format == GPUASYNC_IMAGE_DATA)
      continue;
    // On a lost device the driver frees its own part only.
    context.driver->unloadModule(entry->native);
    if (!context.lost.load() && entry->foreign)
      entry->maker->unload(entry->foreign);
    context.physicalModules.fetch_sub(1, std::memory_order_relaxed);
  }
}

void ModuleCache::markForUnloading(LoadedModule &entry) {
  released += !entry.released;
  entry.released = true;
  context.retiredCount.fetch_add(1, std::memory_order_relaxed);
}

uint32_t ModuleCache::dropInstance(Instance &instance) {
  uint32_t held = 0;
  std::lock_guard<std::mutex> lock(mutex);
  for (uint32_t i = 0; i < instance.moduleCount; ++i) {
    LoadedModule *module = instance.modules[i].module;
    if (!module)
      continue;
    ++held;
    detach(instance.modules[i]);
    if (module->holders)
      continue;
    module->captured = false;
    bool kept = policy && policy->keepsUnheld() && !module->key.registration &&
                !isBeyondLimits(0);
    if (!module->waiters && !kept)
      markForUnloading(*module);
  }
  return held;
}

bool ModuleCache::hasProgram(uint64_t registrationId) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[key, entry] : entries)
    if (key.registration == registrationId)
      return true;
  return false;
}

void ModuleCache::dropProgram(uint64_t registrationId) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[key, entry] : entries)
    if (key.registration == registrationId && !entry->holders &&
        entry->state == LoadedModule::State::Ready)
      markForUnloading(*entry);
}

template <typename Wanted>
void ModuleCache::unloadUnheld(Wanted wanted) {
  std::vector<Entry> gone;
  {
    std::lock_guard<std::mutex> lock(mutex);
    gone.reserve(entries.size());
    for (auto at = entries.begin(); at != entries.end();) {
      Entry entry = (at++)->second;
      if (!entry->holders && entry->state == LoadedModule::State::Ready &&
          wanted(*entry))
        erase(entry, gone);
    }
  }
  unload(gone);
}

void ModuleCache::unloadMarked() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!released)
      return;
  }
  unloadUnheld([](const LoadedModule &module) {
    return module.released && !module.waiters && !module.captured;
  });
}

void ModuleCache::unloadRest() {
  unloadUnheld([](const LoadedModule &) { return true; });
}

void ModuleCache::keepForGraph(Instance &instance,
                               const gpuasync_function &function) {
  std::lock_guard<std::mutex> lock(mutex);
  for (uint32_t i = 0; i < function.moduleCount; ++i)
    if (LoadedModule *module = instance.modules[function.modules[i]].module) {
      module->captured = true;
      released -= module->released;
      module->released = false;
    }
}

size_t ModuleCache::size() {
  std::lock_guard<std::mutex> lock(mutex);
  return entries.size();
}

ModuleCache::Totals ModuleCache::totals() {
  std::lock_guard<std::mutex> lock(mutex);
  return {entries.size(), bytes, evictions,
          compileNs.load(std::memory_order_relaxed),
          loadNs.load(std::memory_order_relaxed)};
}
