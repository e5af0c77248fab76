//===- Interface.h - Disk caches, as the runtime sees them ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libgpuasync_diskcache.so has the caches. The runtime opens it at the first
// call that needs one.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_DISKCACHE_INTERFACE_H
#define GPUASYNC_SHIM_DISKCACHE_INTERFACE_H

#include "gpuasync/DiskCache.h"

/// One cache. The functions of DiskCache.h call these.
struct gpuasync_disk_cache {
  /// Returns whether the key was found. Only then `out` is set.
  virtual bool lookup(const gpuasync_digest &key,
                      gpuasync_disk_entry &out) noexcept = 0;
  /// `data` is null only if `size` is 0.
  virtual bool store(const gpuasync_digest &key, const void *data,
                     uint64_t size) noexcept = 0;
  virtual gpuasync_status *takeWarning() noexcept = 0;
  virtual gpuasync_disk_cache_stats stats() const noexcept = 0;
  virtual const char *folder() const noexcept = 0;
  virtual void close() noexcept = 0;

protected:
  ~gpuasync_disk_cache() = default;
};

/// Makes a cache in `folder`; null: the process's own. Returns null if memory
/// is out. The number at the end is that of this interface.
extern "C" GPUASYNC_API gpuasync_disk_cache *
gpuasyncMakeDiskCache1(const char *folder, uint64_t maxBytes) noexcept;

#endif // GPUASYNC_SHIM_DISKCACHE_INTERFACE_H
