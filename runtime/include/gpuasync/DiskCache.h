//===- DiskCache.h - Results of compile jobs in a folder --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes under 256-bit keys, shared by the processes of one user: objects of
// gpu-runner and of embedders, machine code that a driver made of PTX. C first,
// C++ below. docs/reference/Runtime.md has the folder, the rules and the
// variables. The runtime exports all functions. For caches it opens
// libgpuasync_diskcache.so, which lies next to it. Without that library a cache
// finds and stores nothing, and has a warning if it was asked for by name.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DISKCACHE_H
#define GPUASYNC_DISKCACHE_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Keys. Nothing happens to a null hasher; null texts are "", null data is none.
//===----------------------------------------------------------------------===//

/// 256 bits.
typedef struct gpuasync_digest {
  uint8_t bytes[32];
} gpuasync_digest;

/// SHA-256 (FIPS 180-4) of what was added so far. A plain value: copying it
/// forks the computation. Not thread safe, as any value.
typedef struct gpuasync_hasher {
  uint64_t length; ///< bytes added
  uint32_t state[8];
  uint8_t block[64];
} gpuasync_hasher;

GPUASYNC_API void
gpuasync_hasher_begin(gpuasync_hasher *hasher) GPUASYNC_NOEXCEPT;
/// Adds raw bytes.
GPUASYNC_API void gpuasync_hasher_add(gpuasync_hasher *hasher, const void *data,
                                      uint64_t size) GPUASYNC_NOEXCEPT;
/// Adds one part of a key with its name and both lengths, so that no two lists
/// of parts are the same bytes.
GPUASYNC_API void gpuasync_hasher_add_part(gpuasync_hasher *hasher,
                                           const char *name, const void *data,
                                           uint64_t size) GPUASYNC_NOEXCEPT;
/// Adds which code runs here: of each file that is loaded into the process its
/// GNU build id, else its size and time. With an `address`, of the file that
/// holds it alone. What is loaded later (a vendor's library) is not covered.
GPUASYNC_API void
gpuasync_hasher_add_code(gpuasync_hasher *hasher,
                         const void *address) GPUASYNC_NOEXCEPT;
/// Adds path, size and time of a file (a tool that a compile job runs), or that
/// there is none.
GPUASYNC_API void gpuasync_hasher_add_file(gpuasync_hasher *hasher,
                                           const char *path) GPUASYNC_NOEXCEPT;
/// The hasher must begin anew after it.
GPUASYNC_API void gpuasync_hasher_end(gpuasync_hasher *hasher,
                                      gpuasync_digest *out) GPUASYNC_NOEXCEPT;

//===----------------------------------------------------------------------===//
// Caches. All functions are thread safe, and safe among processes: a reader
// sees a whole entry or none. In a null cache, and under a null key, nothing is
// found or stored.
//===----------------------------------------------------------------------===//

typedef struct gpuasync_disk_cache gpuasync_disk_cache;

/// The process's cache, which the runtime uses too: in GPU_ASYNC_CACHE_DIR,
/// else $XDG_CACHE_HOME/gpu-async, else ~/.cache/gpu-async. It is off, and
/// misses everything, with GPU_ASYNC_CACHE=off, without any such folder, and in
/// a process with raised privileges (setuid). The environment is read at the
/// first call, or when the CUDA driver's library is loaded. Never null; never
/// closed.
GPUASYNC_API gpuasync_disk_cache *
gpuasync_disk_cache_default(void) GPUASYNC_NOEXCEPT;

/// A cache of one's own in `folder`, of at most `maxBytes`. The folder is made
/// at the first store. Null if there is no memory, or no folder is named.
GPUASYNC_API gpuasync_disk_cache *
gpuasync_disk_cache_open(const char *folder,
                         uint64_t maxBytes) GPUASYNC_NOEXCEPT;
/// Entries stay. Null and the default cache are ignored.
GPUASYNC_API void
gpuasync_disk_cache_close(gpuasync_disk_cache *cache) GPUASYNC_NOEXCEPT;

/// Bytes that were found, and how long that took in nanoseconds. `data` has the
/// alignment of malloc.
typedef struct gpuasync_disk_entry {
  GPUASYNC_STRUCT_SIZE(gpuasync_disk_entry);
  void *data;
  uint64_t size;
  uint64_t readNs;   ///< opening and reading the file
  uint64_t verifyNs; ///< comparing key and checksum
} gpuasync_disk_entry;

/// Returns 1 if the cache has the key; the caller then frees the entry. What is
/// damaged (cut, changed, another key's) is deleted and a miss: 0. `*out` is
/// set either way; a miss too, which sets nothing, if `structSize` is not set.
GPUASYNC_API int
gpuasync_disk_cache_lookup(gpuasync_disk_cache *cache,
                           const gpuasync_digest *key,
                           gpuasync_disk_entry *out) GPUASYNC_NOEXCEPT;
GPUASYNC_API void
gpuasync_disk_entry_free(gpuasync_disk_entry *entry) GPUASYNC_NOEXCEPT;

/// Stores bytes, over what the key had, then deletes the entries that were not
/// used for longest until the limit holds. The bytes must mean the same in any
/// process: no address, no handle. Returns 1 if they are there now. When the
/// folder cannot be used or written, or the disk is full, storing ends for this
/// cache, with one warning.
GPUASYNC_API int gpuasync_disk_cache_store(gpuasync_disk_cache *cache,
                                           const gpuasync_digest *key,
                                           const void *data,
                                           uint64_t size) GPUASYNC_NOEXCEPT;

/// The one warning of a cache that turned itself off, as a status that the
/// caller frees: what, where, why, what to do. Null if there is none or someone
/// took it already. The runtime itself prints nothing.
GPUASYNC_API gpuasync_status *
gpuasync_disk_cache_take_warning(gpuasync_disk_cache *cache) GPUASYNC_NOEXCEPT;

/// What this process did with the cache. `damaged` lookups are misses as well.
typedef struct gpuasync_disk_cache_stats {
  GPUASYNC_STRUCT_SIZE(gpuasync_disk_cache_stats);
  uint64_t hits, misses, damaged, stores, evictions;
  uint64_t bytesRead, bytesWritten;
} gpuasync_disk_cache_stats;
/// Thread safe. GPUASYNC_INVALID_ARGUMENT if `out->structSize` is not set.
GPUASYNC_API gpuasync_status *gpuasync_disk_cache_stats_read(
    const gpuasync_disk_cache *cache,
    gpuasync_disk_cache_stats *out) GPUASYNC_NOEXCEPT;

/// The folder as an absolute path; "" if the cache is off.
GPUASYNC_API const char *
gpuasync_disk_cache_folder(const gpuasync_disk_cache *cache) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"

#include <stdio.h>
#include <string_view>

namespace gpuasync {

/// Makes a key of named parts.
class KeyBuilder {
public:
  KeyBuilder() noexcept { gpuasync_hasher_begin(&hasher); }
  KeyBuilder &add(const char *name, std::string_view bytes) noexcept {
    gpuasync_hasher_add_part(&hasher, name, bytes.data(), bytes.size());
    return *this;
  }
  KeyBuilder &add(const char *name, uint64_t number) noexcept {
    // Not its bytes, whose order is the machine's.
    char text[24];
    return add(name, std::string_view(
                         text, size_t(snprintf(text, sizeof(text), "%llu",
                                               (unsigned long long)number))));
  }
  KeyBuilder &addCode(const void *address = nullptr) noexcept {
    gpuasync_hasher_add_code(&hasher, address);
    return *this;
  }
  KeyBuilder &addFile(const char *path) noexcept {
    gpuasync_hasher_add_file(&hasher, path);
    return *this;
  }
  /// The key of the parts so far.
  gpuasync_digest key() const noexcept {
    gpuasync_hasher copy = hasher;
    gpuasync_digest digest;
    gpuasync_hasher_end(&copy, &digest);
    return digest;
  }

private:
  gpuasync_hasher hasher;
};

/// Owns what a lookup found.
class DiskEntry {
public:
  DiskEntry() noexcept = default;
  DiskEntry(DiskEntry &&other) noexcept : raw(other.raw) { other.raw = {}; }
  DiskEntry(const DiskEntry &) = delete;
  DiskEntry &operator=(const DiskEntry &) = delete;
  ~DiskEntry() { gpuasync_disk_entry_free(&raw); }
  /// Whether the cache has the key. Frees what an earlier lookup found.
  bool lookup(gpuasync_disk_cache *cache, const gpuasync_digest &key) noexcept {
    gpuasync_disk_entry_free(&raw);
    return gpuasync_disk_cache_lookup(cache, &key, &raw) != 0;
  }
  std::string_view bytes() const noexcept {
    return {static_cast<const char *>(raw.data), size_t(raw.size)};
  }
  uint64_t readNs() const noexcept { return raw.readNs; }
  uint64_t verifyNs() const noexcept { return raw.verifyNs; }

private:
  gpuasync_disk_entry raw = {};
};

} // namespace gpuasync
#endif

#endif // GPUASYNC_DISKCACHE_H
