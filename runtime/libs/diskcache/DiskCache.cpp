//===- DiskCache.cpp - Results of compile jobs in a folder ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One file per entry, named by its key. A file gets its name only once it is
// whole. Nothing is synced to the disk: what a power failure leaves of a file
// fails the checksum and is a miss.
//===----------------------------------------------------------------------===//

#include "shim/base/Settings.h"
#include "shim/base/Uncancelled.h"
#include "shim/diskcache/Interface.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

using namespace gpuasync;

namespace {

struct DiskCache final : gpuasync_disk_cache {
  char path[PATH_MAX] = ""; ///< absolute; "" is off. Constant.
  uint64_t limit = 0;       ///< bytes of all entries. Constant.
  bool isDefault = false;
  std::atomic<bool> usable{true};  ///< the folder is one that we trust
  std::atomic<bool> storing{true}; ///< no write has failed yet
  std::atomic<uint64_t> hits{0}, misses{0}, damaged{0}, stores{0}, evictions{0},
      bytesRead{0}, bytesWritten{0};
  /// The one warning, until somebody takes it. No lock: a child that is forked
  /// at any moment may use the cache.
  std::atomic<gpuasync_status *> warning{nullptr};
  std::atomic<bool> warned{false};

  ~DiskCache() { gpuasync_status_free(warning.load()); }
  bool lookup(const gpuasync_digest &key,
              gpuasync_disk_entry &out) noexcept override;
  bool store(const gpuasync_digest &key, const void *data,
             uint64_t size) noexcept override;
  gpuasync_status *takeWarning() noexcept override {
    return warning.exchange(nullptr);
  }
  gpuasync_disk_cache_stats stats() const noexcept override;
  const char *folder() const noexcept override { return path; }
  void close() noexcept override {
    if (!isDefault)
      delete this;
  }
};

constexpr uint64_t defaultLimit = uint64_t(1) << 30;

//===----------------------------------------------------------------------===//
// The form of an entry
//===----------------------------------------------------------------------===//

// All numbers are little endian, whatever the machine: a home folder may be
// shared by several kinds.
//   0 magic   8 version   12 zero   16 key   48 bytes of payload
//   56 SHA-256 of bytes 0 to 55 and the payload   88 payload
constexpr char magic[8] = {'G', 'P', 'U', 'A', 'C', 'A', 'C', 'H'};
constexpr uint32_t formatVersion = 1;
constexpr size_t checkedBytes = 56;
constexpr size_t headerBytes = 88;

void writeLittle(uint8_t *at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    at[i] = uint8_t(value >> (8 * i));
}

void makeHeader(uint8_t (&header)[headerBytes], const gpuasync_digest &key,
                const void *data, uint64_t size) {
  memcpy(header, magic, sizeof(magic));
  writeLittle(header + 8, formatVersion, 4);
  writeLittle(header + 12, 0, 4);
  memcpy(header + 16, key.bytes, sizeof(key.bytes));
  writeLittle(header + 48, size, 8);
  gpuasync_hasher hasher;
  gpuasync_hasher_begin(&hasher);
  gpuasync_hasher_add(&hasher, header, checkedBytes);
  gpuasync_hasher_add(&hasher, data, size);
  gpuasync_digest sum;
  gpuasync_hasher_end(&hasher, &sum);
  memcpy(header + checkedBytes, sum.bytes, sizeof(sum.bytes));
}

struct FileName {
  char text[65];
  explicit FileName(const gpuasync_digest &key) {
    for (size_t i = 0; i < sizeof(key.bytes); ++i)
      snprintf(text + 2 * i, 3, "%02x", key.bytes[i]);
  }
};

bool isEntryName(const char *name) {
  return strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
}

constexpr char temporaryPrefix[] = "writing-";

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) : number(other.number) { other.number = -1; }
  Descriptor &operator=(Descriptor &&other) {
    std::swap(number, other.number);
    return *this;
  }
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  int get() const { return number; }
  bool ok() const { return number >= 0; }
  /// Closes it and says whether all that was written arrived.
  bool close() {
    int closed = ::close(number);
    number = -1;
    return closed == 0 || errno == EINTR;
  }

private:
  int number;
};

/// A folder that is read. Its lock is released when it is closed, also by a
/// process that is killed, and also where memory for its list runs out.
class Directory {
public:
  explicit Directory(int number) {
    if (number >= 0 && !(handle = fdopendir(number)))
      close(number);
  }
  Directory(const Directory &) = delete;
  ~Directory() {
    if (handle)
      closedir(handle);
  }
  DIR *get() const { return handle; }

private:
  DIR *handle = nullptr;
};

int64_t clockNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

bool readAll(int file, void *data, uint64_t size) {
  auto *at = static_cast<char *>(data);
  while (size) {
    ssize_t count = read(file, at, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    at += count;
    size -= uint64_t(count);
  }
  return true;
}

bool writeAll(int file, const void *data, uint64_t size) {
  auto *at = static_cast<const char *>(data);
  while (size) {
    ssize_t count = write(file, at, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    at += count;
    size -= uint64_t(count);
  }
  return true;
}

/// Makes the folder and those above it, for the user alone.
bool makeFolders(const char *folder) {
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s", folder);
  for (char *at = path + 1;; ++at) {
    if (*at && *at != '/')
      continue;
    char kept = *at;
    *at = '\0';
    if (mkdir(path, 0700) != 0 && errno != EEXIST && !kept)
      return false;
    *at = kept;
    if (!kept)
      return true;
  }
}

/// Keeps the one warning.
void warn(DiskCache &cache, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void warn(DiskCache &cache, const char *format, ...) {
  char message[PATH_MAX + 512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  if (!cache.warned.exchange(true))
    cache.warning.store(gpuasync_status_make(GPUASYNC_UNAVAILABLE, message));
}

constexpr char elsewhere[] = "name another folder with GPU_ASYNC_CACHE_DIR, or "
                             "set GPU_ASYNC_CACHE=off";

void stopUsing(DiskCache &cache, const char *why) {
  cache.usable = false;
  warn(cache, "the disk cache in '%s' is not used: %s; %s", cache.path, why,
       elsewhere);
}

void stopStoring(DiskCache &cache, int error) {
  cache.storing = false;
  warn(cache, "the disk cache in '%s' takes nothing more: %s; %s", cache.path,
       strerror(error), elsewhere);
}

/// Opens the folder, which must be the user's and closed to others. Fails with
/// errno if it cannot be opened; makes the cache unusable if it is not trusted.
Descriptor openFolder(DiskCache &cache) {
  Descriptor folder(
      open(cache.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!folder.ok()) {
    int error = errno;
    if (lstat(cache.path, &info) == 0 && S_ISLNK(info.st_mode))
      stopUsing(cache, "it is a symbolic link, which is not followed");
    errno = error;
    return Descriptor();
  }
  if (fstat(folder.get(), &info) != 0)
    return Descriptor();
  char why[160];
  if (info.st_uid != geteuid()) {
    snprintf(why, sizeof(why), "it belongs to user %u, and this is user %u",
             unsigned(info.st_uid), unsigned(geteuid()));
    stopUsing(cache, why);
    return Descriptor();
  }
  if (info.st_mode & 077) {
    snprintf(why, sizeof(why),
             "others may use it (mode %03o); chmod 700 it if it shall serve",
             unsigned(info.st_mode & 0777));
    stopUsing(cache, why);
    return Descriptor();
  }
  return folder;
}

//===----------------------------------------------------------------------===//
// Making room
//===----------------------------------------------------------------------===//

/// Deletes a file that a dead process was writing; a living one holds a lock.
void sweep(int folder, const char *name) {
  Descriptor file(
      openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.ok() && flock(file.get(), LOCK_EX | LOCK_NB) == 0)
    unlinkat(folder, name, 0);
}

/// Deletes what was used least recently until the limit holds, and what dead
/// writers left. `kept` is spared. While another process does this, nothing:
/// the limit can be exceeded for the moment by what is written meanwhile.
void makeRoom(DiskCache &cache, int folder, const char *kept) {
  Directory directory(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.get() ||
      (flock(dirfd(directory.get()), LOCK_EX | LOCK_NB) != 0 &&
       errno == EWOULDBLOCK))
    return;
  struct Entry {
    timespec used;
    uint64_t bytes;
    std::string name;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  while (dirent *item = readdir(directory.get())) {
    if (strncmp(item->d_name, temporaryPrefix, strlen(temporaryPrefix)) == 0)
      sweep(folder, item->d_name);
    struct stat info;
    if (!isEntryName(item->d_name) ||
        fstatat(folder, item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    total += uint64_t(info.st_size);
    if (strcmp(item->d_name, kept) != 0)
      entries.push_back({info.st_mtim, uint64_t(info.st_size), item->d_name});
  }
  if (total > cache.limit) {
    std::sort(entries.begin(), entries.end(),
              [](const Entry &a, const Entry &b) {
                if (a.used.tv_sec != b.used.tv_sec)
                  return a.used.tv_sec < b.used.tv_sec;
                if (a.used.tv_nsec != b.used.tv_nsec)
                  return a.used.tv_nsec < b.used.tv_nsec;
                return a.name < b.name;
              });
    for (const Entry &entry : entries) {
      if (total <= cache.limit)
        break;
      if (unlinkat(folder, entry.name.c_str(), 0) == 0)
        cache.evictions.fetch_add(1, std::memory_order_relaxed);
      total -= entry.bytes;
    }
  }
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

enum class Found { Nothing, Damaged, Whole };

Found readEntry(int folder, const FileName &name, const gpuasync_digest &key,
                gpuasync_disk_entry &out) {
  int64_t start = clockNs();
  // Without O_NONBLOCK a pipe of that name would wait for its other end.
  Descriptor file(openat(folder, name.text,
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.ok())
    return errno == ELOOP ? Found::Damaged : Found::Nothing;
  struct stat info;
  if (fstat(file.get(), &info) != 0)
    return Found::Nothing;
  uint8_t stored[headerBytes];
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      uint64_t(info.st_size) < headerBytes ||
      !readAll(file.get(), stored, sizeof(stored)))
    return Found::Damaged;
  uint64_t size = uint64_t(info.st_size) - headerBytes;
  void *data = malloc(size ? size : 1);
  if (!data)
    return Found::Nothing;
  bool whole = readAll(file.get(), data, size);
  int64_t middle = clockNs();
  uint8_t expected[headerBytes];
  makeHeader(expected, key, data, size);
  if (!whole || memcmp(stored, expected, headerBytes) != 0) {
    free(data);
    return Found::Damaged;
  }
  // The time of the last use, by which makeRoom chooses. In a folder that may
  // only be read it stays as it is.
  (void)futimens(file.get(), nullptr);
  out.data = data;
  out.size = size;
  out.readNs = uint64_t(middle - start);
  out.verifyNs = uint64_t(clockNs() - middle);
  return Found::Whole;
}

/// Opens a new locked file; its name is written to `name`.
Descriptor openTemporary(int folder, char (&name)[64]) {
  static std::atomic<uint32_t> counter{0};
  for (int attempt = 0; attempt < 16; ++attempt) {
    snprintf(name, sizeof(name), "%s%ld-%u-%llx", temporaryPrefix,
             long(getpid()), counter.fetch_add(1),
             static_cast<unsigned long long>(clockNs()));
    Descriptor file(openat(folder, name,
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           0600));
    if (!file.ok()) {
      if (errno == EEXIST)
        continue;
      return file;
    }
    // A process that makes room may have been first: then the file is gone, or
    // is about to be. (Where files cannot be locked, none is swept.)
    struct stat info;
    bool mine =
        flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (mine && fstat(file.get(), &info) == 0 && info.st_nlink == 1)
      return file;
  }
  errno = EAGAIN;
  return Descriptor();
}

/// Whether the next store may succeed.
bool passes(int error) {
  return error == EAGAIN || error == EMFILE || error == ENFILE ||
         error == ENOMEM;
}

/// 0 or the errno of what failed.
int writeEntry(int folder, const FileName &name, const gpuasync_digest &key,
               const void *data, uint64_t size) {
  const WriteScope scope;
  char temporary[64];
  Descriptor file = openTemporary(folder, temporary);
  if (!file.ok())
    return errno;
  uint8_t header[headerBytes];
  makeHeader(header, key, data, size);
  errno = EIO;
  if (!writeAll(file.get(), header, sizeof(header)) ||
      !writeAll(file.get(), data, size) ||
      renameat(folder, temporary, folder, name.text) != 0) {
    int error = errno;
    unlinkat(folder, temporary, 0);
    return error;
  }
  // Closed, and so unlocked, only under its new name: it is not swept. A server
  // may say only here that the disk is full.
  if (!file.close()) {
    int error = errno;
    unlinkat(folder, name.text, 0);
    return error;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// The default cache
//===----------------------------------------------------------------------===//

/// Takes the folder, made absolute, without slashes at the end: with one, the
/// system would follow a link.
void setFolder(DiskCache &cache, const std::string &text) {
  std::string folder = text;
  if (!folder.empty() && folder[0] != '/') {
    char here[PATH_MAX];
    folder = getcwd(here, sizeof(here)) ? std::string(here) + "/" + folder
                                        : std::string();
  }
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  if (folder.size() < sizeof(cache.path))
    memcpy(cache.path, folder.c_str(), folder.size() + 1);
  else
    warn(cache,
         "the disk cache is not used: the path of its folder has %zu "
         "characters, which is too many; %s",
         folder.size(), elsewhere);
}

void configure(DiskCache &cache) {
  cache.isDefault = true;
  cache.limit = defaultLimit;
  bool isOn = true;
  Status mode = wordSetting("GPU_ASYNC_CACHE", "off", "on", isOn);
  if (!mode.ok())
    warn(cache, "%s%s; the disk cache is not used", mode.message(),
         strchr(setting("GPU_ASYNC_CACHE"), '/')
             ? " (GPU_ASYNC_CACHE_DIR names the folder)"
             : "");
  if (!mode.ok() || !isOn)
    return;
  Status size = sizeSetting("GPU_ASYNC_CACHE_SIZE", 0, cache.limit);
  if (!size.ok())
    warn(cache, "%s; the disk cache takes 1G", size.message());
  const char *own = setting("GPU_ASYNC_CACHE_DIR");
  // Without any, as in a setuid program, it has no folder and is off.
  const char *xdg = setting("XDG_CACHE_HOME");
  const char *home = setting("HOME");
  if (own)
    setFolder(cache, own);
  else if (xdg && *xdg == '/')
    setFolder(cache, std::string(xdg) + "/gpu-async");
  else if (home && *home == '/')
    setFolder(cache, std::string(home) + "/.cache/gpu-async");
}

DiskCache *makeDefault() {
  // In raw storage: nothing to allocate, no destructor at exit.
  alignas(DiskCache) static unsigned char storage[sizeof(DiskCache)];
  auto *cache = new (storage) DiskCache;
  try {
    configure(*cache);
  } catch (const std::bad_alloc &) {
    cache->path[0] = '\0';
  }
  return cache;
}

bool DiskCache::lookup(const gpuasync_digest &key,
                       gpuasync_disk_entry &out) noexcept {
  if (!path[0] || !usable)
    return false;
  const Uncancelled uncancelled;
  FileName name(key);
  Descriptor folder = openFolder(*this);
  Found found =
      folder.ok() ? readEntry(folder.get(), name, key, out) : Found::Nothing;
  if (found == Found::Whole) {
    hits.fetch_add(1, std::memory_order_relaxed);
    bytesRead.fetch_add(out.size, std::memory_order_relaxed);
    return true;
  }
  if (found == Found::Damaged) {
    damaged.fetch_add(1, std::memory_order_relaxed);
    unlinkat(folder.get(), name.text, 0);
  }
  misses.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool DiskCache::store(const gpuasync_digest &key, const void *data,
                      uint64_t size) noexcept {
  // What would push everything else out, and itself, is not worth it.
  if (!path[0] || !usable || !storing || limit < headerBytes ||
      size > limit - headerBytes)
    return false;
  const Uncancelled uncancelled;
  Descriptor folder = openFolder(*this);
  if (!folder.ok() && usable && errno == ENOENT && makeFolders(path)) {
    folder = openFolder(*this);
    if (!folder.ok() && errno == ENOENT)
      return false; // deleted again; the next store makes it anew
  }
  if (!folder.ok()) {
    if (usable && !passes(errno))
      stopStoring(*this, errno);
    return false;
  }
  FileName name(key);
  if (int error = writeEntry(folder.get(), name, key, data, size)) {
    // ENOENT: the same.
    if (!passes(error) && error != ENOENT)
      stopStoring(*this, error);
    return false;
  }
  stores.fetch_add(1, std::memory_order_relaxed);
  bytesWritten.fetch_add(size, std::memory_order_relaxed);
  try {
    makeRoom(*this, folder.get(), name.text);
  } catch (const std::bad_alloc &) {
    // Without memory to list the folder the limit waits for the next store.
  }
  return true;
}

gpuasync_disk_cache_stats DiskCache::stats() const noexcept {
  gpuasync_disk_cache_stats now;
  now.hits = hits;
  now.misses = misses;
  now.damaged = damaged;
  now.stores = stores;
  now.evictions = evictions;
  now.bytesRead = bytesRead;
  now.bytesWritten = bytesWritten;
  return now;
}

} // namespace

gpuasync_disk_cache *gpuasyncMakeDiskCache1(const char *folder,
                                            uint64_t maxBytes) noexcept {
  const Uncancelled uncancelled;
  if (!folder) {
    static DiskCache *process = makeDefault();
    return process;
  }
  auto *cache = new (std::nothrow) DiskCache;
  if (!cache)
    return nullptr;
  cache->limit = maxBytes;
  try {
    if (!getauxval(AT_SECURE))
      setFolder(*cache, folder);
  } catch (const std::bad_alloc &) {
    delete cache;
    return nullptr;
  }
  return cache;
}
