//===- Entries.cpp - The functions of DiskCache.h that are about caches ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They open libgpuasync_diskcache.so, and call it. Without that library nothing
// is found or stored.
//===----------------------------------------------------------------------===//

#include "shim/base/OwnLibrary.h"
#include "shim/base/Settings.h"
#include "shim/base/SizedStruct.h"
#include "shim/diskcache/Interface.h"

#include <atomic>
#include <stdlib.h>

using namespace gpuasync;

namespace {

using MakeDiskCache = decltype(gpuasyncMakeDiskCache1);

/// Stands for every cache where the library is not there.
class AbsentCache final : public gpuasync_disk_cache {
public:
  bool lookup(const gpuasync_digest &, gpuasync_disk_entry &) noexcept final {
    return false;
  }
  bool store(const gpuasync_digest &, const void *,
             uint64_t) noexcept override {
    return false;
  }
  gpuasync_status *takeWarning() noexcept override {
    return warning.exchange(nullptr);
  }
  gpuasync_disk_cache_stats stats() const noexcept override { return {}; }
  const char *folder() const noexcept override { return ""; }
  void close() noexcept override {}

  /// Keeps the one warning. No lock: a child that is forked at any moment may
  /// use the cache.
  void warn(Status status) noexcept {
    if (!warned.exchange(true))
      warning.store(status.release());
  }

private:
  std::atomic<gpuasync_status *> warning{nullptr};
  std::atomic<bool> warned{false};
};

AbsentCache absent; // constant, without a constructor that runs

std::atomic<MakeDiskCache *> maker{nullptr};

} // namespace

// Programs that link the runtime statically link the library's code as well.
extern "C" __attribute__((weak)) MakeDiskCache gpuasyncMakeDiskCache1;

/// Finds the library's one function. Threads that come here at once may all
/// open the library, since none waits for another.
static Status findMaker(MakeDiskCache *&out) noexcept {
  out = maker.load(std::memory_order_acquire);
  if (out)
    return Status();
  Status status = guard([&]() -> Status {
    out = gpuasyncMakeDiskCache1;
    void *found = nullptr;
    if (!out)
      RETURN_IF_ERROR(findInOwnLibrary("diskcache", "gpuasyncMakeDiskCache1",
                                       "the disk cache", found));
    if (!out)
      out = reinterpret_cast<MakeDiskCache *>(found);
    return Status();
  });
  if (status.ok())
    maker.store(out, std::memory_order_release);
  return status;
}

/// Whether the environment asks for the process's cache by name.
static bool isNamed() {
  const char *mode = setting("GPU_ASYNC_CACHE");
  return mode ? strcmp(mode, "off") != 0
              : setting("GPU_ASYNC_CACHE_DIR") != nullptr;
}

gpuasync_disk_cache *gpuasync_disk_cache_default(void) noexcept {
  static std::atomic<gpuasync_disk_cache *> known{nullptr};
  gpuasync_disk_cache *cache = known.load(std::memory_order_acquire);
  if (cache)
    return cache;
  MakeDiskCache *make = nullptr;
  Status status = findMaker(make);
  cache = make ? make(nullptr, 0) : &absent;
  if (!make && isNamed())
    absent.warn(std::move(status));
  known.store(cache, std::memory_order_release);
  return cache;
}

gpuasync_disk_cache *gpuasync_disk_cache_open(const char *folder,
                                              uint64_t maxBytes) noexcept {
  if (!folder)
    return nullptr;
  MakeDiskCache *make = nullptr;
  Status status = findMaker(make);
  if (make)
    return make(folder, maxBytes);
  if (status.code() == GPUASYNC_OUT_OF_MEMORY)
    return nullptr;
  absent.warn(std::move(status));
  return &absent;
}

void gpuasync_disk_cache_close(gpuasync_disk_cache *cache) noexcept {
  if (cache)
    cache->close();
}

int gpuasync_disk_cache_lookup(gpuasync_disk_cache *cache,
                               const gpuasync_digest *key,
                               gpuasync_disk_entry *out) noexcept {
  gpuasync_disk_entry entry = {};
  if (!writeStruct(entry, out, "gpuasync_disk_entry").ok() || !cache || !key ||
      !cache->lookup(*key, entry))
    return 0;
  (void)writeStruct(entry, out, "gpuasync_disk_entry");
  return 1;
}

void gpuasync_disk_entry_free(gpuasync_disk_entry *entry) noexcept {
  if (!entry)
    return;
  free(entry->data);
  (void)writeStruct(gpuasync_disk_entry(), entry, "gpuasync_disk_entry");
}

int gpuasync_disk_cache_store(gpuasync_disk_cache *cache,
                              const gpuasync_digest *key, const void *data,
                              uint64_t size) noexcept {
  return cache && key && (data || !size) && cache->store(*key, data, size);
}

gpuasync_status *
gpuasync_disk_cache_take_warning(gpuasync_disk_cache *cache) noexcept {
  return cache ? cache->takeWarning() : nullptr;
}

gpuasync_status *
gpuasync_disk_cache_stats_read(const gpuasync_disk_cache *cache,
                               gpuasync_disk_cache_stats *out) noexcept {
  if (!cache)
    return gpuasync_status_make(GPUASYNC_INVALID_ARGUMENT,
                                "gpuasync_disk_cache_stats_read: null cache");
  return writeStruct(cache->stats(), out, "gpuasync_disk_cache_stats")
      .release();
}

const char *
gpuasync_disk_cache_folder(const gpuasync_disk_cache *cache) noexcept {
  return cache ? cache->folder() : "";
}
