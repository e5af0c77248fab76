//===- ModuleCache.cpp - Loaded modules of one context --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ModuleCache.h. The lock is never held over a driver call.
//===----------------------------------------------------------------------===//

#include "core/ContextImpl.h"

#include <string.h>

using namespace gpuasync;

const gpuasync_image *gpuasync::chooseImage(DriverContext &driver,
                                            const gpuasync_module &module,
                                            uint32_t below,
                                            uint32_t *bestRank) {
  const gpuasync_image *best = nullptr;
  uint32_t highest = 0;
  for (uint32_t i = 0; i < module.imageCount; ++i) {
    uint32_t rank = driver.imageRank(module.images[i]);
    if (rank > highest && rank < below) {
      highest = rank;
      best = &module.images[i];
    }
  }
  if (bestRank)
    *bestRank = highest;
  return best;
}

static const char *formatName(uint32_t format) {
  switch (format) {
  case GPUASYNC_IMAGE_CPU:
    return "cpu";
  case GPUASYNC_IMAGE_PTX:
    return "PTX";
  case GPUASYNC_IMAGE_CUBIN:
    return "cubin";
  case GPUASYNC_IMAGE_HSACO:
    return "hsaco";
  case GPUASYNC_IMAGE_FATBIN:
    return "fatbin";
  default:
    return "unknown format";
  }
}

static Status noImage(gpuasync_context &context,
                      const gpuasync_module &module) {
  std::string have;
  for (uint32_t i = 0; i < module.imageCount; ++i) {
    if (i)
      have += ", ";
    have += formatName(module.images[i].format);
    if (module.images[i].arch && *module.images[i].arch)
      have.append(" ").append(module.images[i].arch);
  }
  return makeStatus(
      GPUASYNC_NOT_FOUND, "module '%s' has no image for %s%s%s%s; it has: %s",
      module.name, context.device.c_str(), *context.info.arch ? " (" : "",
      context.info.arch, *context.info.arch ? ")" : "",
      have.empty() ? "none" : have.c_str());
}

static uint64_t mix(uint64_t hash, const void *data, size_t size) {
  auto *bytes = static_cast<const unsigned char *>(data);
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

static LoadedModule::Key makeKey(const Instance &instance, uint32_t index,
                                 const gpuasync_image &image) {
  const gpuasync_module &module = instance.program->modules[index];
  // The order and layout of the kernel table decide what `functions` means.
  uint64_t table = 0xcbf29ce484222325;
  for (uint32_t i = 0; i < module.kernelCount; ++i) {
    const gpuasync_kernel &kernel = module.kernels[i];
    table = mix(table, kernel.name, strlen(kernel.name) + 1);
    table = mix(table, &kernel.paramCount, sizeof(kernel.paramCount));
    if (kernel.paramCount != UINT32_MAX && kernel.paramCount)
      table = mix(table, kernel.paramSizes,
                  kernel.paramCount * sizeof(*kernel.paramSizes));
  }
  bool hashed =
      image.format != GPUASYNC_IMAGE_CPU && (image.hash[0] || image.hash[1]);
  uint64_t unique = hashed ? 0 : (instance.registrationId << 24) + index + 1;
  return {image.format, image.hash[0], image.hash[1],
          table,        unique,        image.arch ? image.arch : ""};
}

// An image that the driver refuses (a machine code that it does not know after
// all, say) makes way for the next best; what each was refused for is kept.
Status ModuleCache::load(Instance &instance, uint32_t index, bool &loaded,
                         bool &attached) {
  loaded = attached = false;
  const gpuasync_module &module = instance.program->modules[index];
  uint32_t rank = UINT32_MAX;
  Status first;
  std::string reasons;
  while (const gpuasync_image *image =
             chooseImage(*context.driver, module, rank, &rank)) {
    Status status = loadImage(instance, index, *image, loaded, attached);
    if (status.ok() || status.code() == GPUASYNC_OUT_OF_MEMORY ||
        status.code() == GPUASYNC_DEVICE_LOST ||
        status.code() == GPUASYNC_SHUT_DOWN)
      return status;
    if (!reasons.empty())
      reasons += "; ";
    reasons += status.message();
    if (first.ok())
      first = std::move(status);
  }
  if (first.ok())
    return noImage(context, module);
  return makeStatus(first.code(), "%s", reasons.c_str());
}

Status ModuleCache::loadImage(Instance &instance, uint32_t index,
                              const gpuasync_image &candidate, bool &loaded,
                              bool &attached) {
  loaded = attached = false;
  Instance::Slot &slot = instance.modules[index];
  const gpuasync_module &module = instance.program->modules[index];
  const gpuasync_image *image = &candidate;
  LoadedModule::Key key = makeKey(instance, index, *image);

  std::unique_lock<std::mutex> lock(mutex);
  if (slot.functions.load(std::memory_order_relaxed))
    return Status();
  auto found = entries.find(key);
  if (found != entries.end()) {
    LoadedModule &entry = *found->second;
    ++entry.users;
    entry.settled.wait(
        lock, [&] { return entry.state != LoadedModule::State::Loading; });
    if (entry.state == LoadedModule::State::Ready) {
      if (slot.module) {
        --entry.users; // another thread gave it to this instance meanwhile
      } else {
        attached = true;
        slot.module = &entry;
        slot.functions.store(entry.functions.data(), std::memory_order_release);
      }
      return Status();
    }
    Status status = copyStatus(entry.error);
    if (--entry.users == 0)
      for (auto &dead : graveyard)
        if (dead.get() == &entry) {
          std::swap(dead, graveyard.back());
          graveyard.pop_back();
          break;
        }
    return status;
  }
  auto made = std::make_unique<LoadedModule>();
  made->key = key;
  // Never empty, so that data() says "loaded" for a module without kernels.
  made->functions.resize(module.kernelCount + 1);
  made->users = 1;
  LoadedModule &entry = *made;
  graveyard.reserve(graveyard.size() + 1);
  entries.emplace(key, std::move(made));

  lock.unlock();
  Status status = context.driver->loadModule(module, *image, entry.native,
                                             entry.functions.data());
  lock.lock();
  if (status.ok()) {
    loaded = attached = true;
    context.physicalModules.fetch_add(1, std::memory_order_relaxed);
    entry.state = LoadedModule::State::Ready;
    slot.module = &entry;
    slot.functions.store(entry.functions.data(), std::memory_order_release);
  } else {
    // The key is free again: the next caller tries anew.
    entry.state = LoadedModule::State::Failed;
    entry.error = copyStatus(status);
    auto self = entries.find(key);
    std::unique_ptr<LoadedModule> owner = std::move(self->second);
    entries.erase(self);
    if (--entry.users)
      graveyard.push_back(std::move(owner));
    entry.settled.notify_all();
    return status;
  }
  entry.settled.notify_all();
  return status;
}

uint32_t ModuleCache::unload(Instance &instance) {
  uint32_t held = 0;
  for (uint32_t i = 0; i < instance.program->moduleCount; ++i) {
    NativeModule native = nullptr;
    bool last = false;
    {
      std::lock_guard<std::mutex> lock(mutex);
      LoadedModule *entry = instance.modules[i].module;
      if (!entry)
        continue;
      ++held;
      instance.modules[i].module = nullptr;
      instance.modules[i].functions.store(nullptr, std::memory_order_relaxed);
      if (--entry->users == 0) {
        last = true;
        native = entry->native;
        entries.erase(LoadedModule::Key(entry->key));
      }
    }
    if (last) {
      if (!context.lost.load())
        context.driver->unloadModule(native);
      context.physicalModules.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  return held;
}

size_t ModuleCache::size() {
  std::lock_guard<std::mutex> lock(mutex);
  return entries.size();
}
