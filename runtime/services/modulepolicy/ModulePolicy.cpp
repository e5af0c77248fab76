//===- ModulePolicy.cpp - Limits, eviction and hooks of modules -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ModulePolicy.h.
//===----------------------------------------------------------------------===//

#include "services/modulepolicy/ModulePolicy.h"
#include "shim/base/Settings.h"
#include "shim/process/Service.h"

#include <algorithm>

using namespace gpuasync;

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

Status ContextModulePolicy::readSettings() {
  RETURN_IF_ERROR(sizeSetting("GPU_ASYNC_MODULE_BYTES", 0, limits.bytes));
  RETURN_IF_ERROR(
      wholeSetting("GPU_ASYNC_MODULE_ENTRIES", 0, UINT64_MAX, limits.entries));
  return wordSetting("GPU_ASYNC_MODULE_KEEP", "0", "1", limits.keep);
}

void ContextModulePolicy::setMaker(std::shared_ptr<ModuleMaker> maker) {
  std::lock_guard<std::mutex> lock(cache.mutex);
  used.swap(maker);
}

void ContextModulePolicy::setLimits(const Limits &wanted) {
  std::lock_guard<std::mutex> lock(cache.mutex);
  limits = wanted;
}

Status ContextModulePolicy::insert(const Registration &registration,
                                   uint32_t index,
                                   const gpuasync_image &image) {
  const gpuasync_module &module = registration.program->modules[index];
  std::vector<const gpuasync_image *> images =
      rankImages(context.kind, context.ordinal, module);
  std::unique_lock<std::mutex> lock(cache.mutex);
  ModuleKey key = cache.makeKey(registration, index,
                                images.empty() ? nullptr : images.front(),
                                used ? used->options : std::string());
  if (cache.entries.count(key))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "module '%s' is loaded already; insert it before the "
                      "first frame, or release it first",
                      module.name);
  ModuleCache::Entry entry;
  return cache.make(std::move(key),
                    {registration.program, &module, &image, nullptr}, nullptr,
                    lock, entry);
}

//===----------------------------------------------------------------------===//
// Eviction
//===----------------------------------------------------------------------===//

// Others may use the context meanwhile, and then nothing can be unloaded.
bool ContextModulePolicy::makeRoom(const Entering &entering, uint64_t bytes,
                                   bool everything) {
  if (!context.isQuiescent(entering.pin))
    return false;
  QuiesceScope pause(context);
  if (!pause.begun() || !context.isQuiescent(entering.pin))
    return false;
  trim(&entering, bytes, everything);
  if (everything)
    context.memory.trim();
  return true;
}

uint64_t ContextModulePolicy::markReleased() {
  std::lock_guard<std::mutex> lock(cache.mutex);
  uint64_t count = 0;
  for (auto &[key, entry] : cache.entries)
    if (entry->state == LoadedModule::State::Ready && !entry->released &&
        !entry->captured) {
      entry->released = true;
      ++count;
    }
  cache.released += count;
  return count;
}

bool ContextModulePolicy::wantsTrim() {
  std::lock_guard<std::mutex> lock(cache.mutex);
  return cache.released || isBeyondLimits(0);
}

void ContextModulePolicy::trim(const Entering *entering, uint64_t extraBytes,
                               bool everything) {
  std::vector<ModuleCache::Entry> gone;
  uint32_t taken = 0;
  {
    std::lock_guard<std::mutex> pool(context.poolMutex);
    std::lock_guard<std::mutex> lock(cache.mutex);
    // Frames that the pause lets in take this lock before they see a module.
    auto inUse = [&](const Instance *instance) {
      for (Pin *pin : instance->pins)
        if (pin->count.load(std::memory_order_seq_cst) >
            (entering && pin == entering->pin ? 1u : 0u))
          return true;
      return false;
    };
    using Place = std::pair<Instance *, uint32_t>;
    std::map<const LoadedModule *, std::vector<Place>> holders;
    for (Instance *instance : context.instances)
      for (uint32_t i = 0; i < instance->moduleCount; ++i)
        if (LoadedModule *module = instance->modules[i].module) {
          holders[module].push_back({instance, i});
          for (Pin *pin : instance->pins)
            module->lastUse = std::max(module->lastUse, pin->lastUse(i));
        }
    auto needed = [&](const LoadedModule *module) {
      if (!entering || (module->released && !entering->loading))
        return false;
      const gpuasync_function &function = *entering->function;
      for (uint32_t i = 0; i < function.moduleCount; ++i)
        if (function.modules[i] < function.program->moduleCount &&
            entering->pin->instance->modules[function.modules[i]].module ==
                module)
          return true;
      return false;
    };
    std::vector<ModuleCache::Entry> candidates;
    for (auto &[key, entry] : cache.entries)
      if (entry->state == LoadedModule::State::Ready && !entry->waiters &&
          !entry->captured && !needed(entry.get()))
        candidates.push_back(entry);
    std::sort(candidates.begin(), candidates.end(),
              [](const ModuleCache::Entry &a, const ModuleCache::Entry &b) {
                return std::make_pair(!a->released, a->lastUse) <
                       std::make_pair(!b->released, b->lastUse);
              });
    gone.reserve(candidates.size());
    for (const ModuleCache::Entry &entry : candidates) {
      if (!entry->released && !everything && !isBeyondLimits(extraBytes))
        break;
      std::vector<Place> &places = holders[entry.get()];
      if (std::any_of(places.begin(), places.end(),
                      [&](const Place &place) { return inUse(place.first); }))
        continue;
      for (const Place &place : places) {
        cache.detach(place.first->modules[place.second]);
        forEachService(
            [&](const Service &each) { each.moduleTaken(*place.first); });
      }
      taken += static_cast<uint32_t>(places.size());
      cache.evictions += !entry->released;
      cache.erase(entry, gone);
    }
  }
  forEachService([&](const Service &each) { each.modulesUnloading(context); });
  cache.unload(gone);
  {
    // A module that a frame has begun to use meanwhile goes another time.
    std::lock_guard<std::mutex> lock(cache.mutex);
    if (cache.released)
      context.retiredCount.fetch_add(1, std::memory_order_relaxed);
  }
  if (!taken)
    return;
  ThreadContext *slot = threadState().slotFor(&context);
  for (; taken; --taken)
    slot->counters.modules.destroy();
}

//===----------------------------------------------------------------------===//
// The service
//===----------------------------------------------------------------------===//

namespace {
class ModulePolicyService final : public Service {
  Status contextOpening(gpuasync_context &context) const override {
    auto policy = std::make_unique<ContextModulePolicy>(context);
    RETURN_IF_ERROR(policy->readSettings());
    context.modules.policy = std::move(policy);
    return Status();
  }
  void contextQuiescent(gpuasync_context &context,
                        const Entering *entering) const override {
    ContextModulePolicy &policy = ContextModulePolicy::of(context);
    if (policy.wantsTrim())
      policy.trim(entering);
  }
};
} // namespace

namespace gpuasync {
const Service &modulePolicyService() noexcept {
  static constexpr ModulePolicyService service;
  return service;
}
} // namespace gpuasync
