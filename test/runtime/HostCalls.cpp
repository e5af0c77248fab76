//===- HostCalls.cpp - What the runtime asks of the host ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See HostCalls.h. Each __wrap_NAME stands in for NAME in everything that is
// linked into the program, and not in shared libraries.
//===----------------------------------------------------------------------===//

#include "HostCalls.h"

#include <atomic>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <set>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace gpuasync_test;

namespace {

std::atomic<HostCalls::Hook> theHook{nullptr};
std::atomic<bool (*)()> followsThread{nullptr};
std::atomic<void (*)()> threadBegun{nullptr};
std::atomic<int64_t> openFiles{0}, mapped{0}, running{0};

int ask(HostCall call, const char *name) {
  HostCalls::Hook hook = theHook.load(std::memory_order_relaxed);
  return hook ? hook(call, name) : int(HostCalls::Happens);
}

/// Sets errno if the call fails.
bool fails(HostCall call, const char *name) {
  int fate = ask(call, name);
  if (fate == HostCalls::Happens)
    return false;
  errno = fate > 0 ? fate : EIO;
  return true;
}
bool fileFails(const char *name) { return fails(HostCall::File, name); }

/// Mutexes and, with the lowest bit set, read-write locks that were taken.
constexpr size_t maxLocks = 1 << 14;
std::atomic<uintptr_t> locks[maxLocks];
std::atomic<bool> locksFollowed{false};

void noteLock(void *lock, uintptr_t kind) {
  if (!locksFollowed.load(std::memory_order_relaxed))
    return;
  const uintptr_t value = reinterpret_cast<uintptr_t>(lock) | kind;
  for (size_t i = value / 8, tried = 0; tried < maxLocks; ++i, ++tried) {
    uintptr_t known = locks[i % maxLocks].load();
    if (known == value)
      return;
    if (known <= 1 && locks[i % maxLocks].compare_exchange_strong(known, value))
      return;
  }
  abort();
}

/// What lies in memory that goes is no lock any more.
void forgetLocks(void *memory) {
  if (!memory || !locksFollowed.load(std::memory_order_relaxed))
    return;
  auto begin = reinterpret_cast<uintptr_t>(memory);
  size_t bytes = malloc_usable_size(memory);
  for (std::atomic<uintptr_t> &lock : locks)
    if (uintptr_t value = lock.load(); value - begin < bytes)
      lock.store(1); // a place that was taken: the search goes on behind it
}

} // namespace

void HostCalls::hook(Hook hook) { theHook = hook; }
void HostCalls::followThreads(bool (*follows)(), void (*begun)()) {
  followsThread = follows;
  threadBegun = begun;
}
int64_t HostCalls::files() { return openFiles; }
int64_t HostCalls::mappings() { return mapped; }
int64_t HostCalls::threads() { return running; }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

extern "C" {
int __real_posix_memalign(void **out, size_t align, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size) {
  if (fails(HostCall::Allocation, "posix_memalign"))
    return ENOMEM;
  return __real_posix_memalign(out, align, size);
}
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  return fails(HostCall::Allocation, "malloc") ? nullptr : __real_malloc(size);
}
void *__real_mmap(void *at, size_t size, int protection, int flags, int file,
                  off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file,
                  off_t offset) {
  if (fails(HostCall::Mapping, "mmap"))
    return MAP_FAILED;
  void *result = __real_mmap(at, size, protection, flags, file, offset);
  mapped += result != MAP_FAILED;
  return result;
}
int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size) {
  --mapped;
  return __real_munmap(at, size);
}
}

static void *allocate(size_t size, size_t align) {
  void *memory = nullptr;
  if (fails(HostCall::Allocation, "operator new") ||
      __real_posix_memalign(&memory, align < 16 ? 16 : align,
                            size ? size : 1) != 0)
    return nullptr;
  return memory;
}
static void *allocateOrThrow(size_t size, size_t align) {
  if (void *memory = allocate(size, align))
    return memory;
  throw std::bad_alloc();
}

void *operator new(size_t size) { return allocateOrThrow(size, 16); }
void *operator new[](size_t size) { return allocateOrThrow(size, 16); }
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  return allocate(size, 16);
}
void *operator new[](size_t size, const std::nothrow_t &) noexcept {
  return allocate(size, 16);
}
void *operator new(size_t size, std::align_val_t align) {
  return allocateOrThrow(size, static_cast<size_t>(align));
}
void *operator new[](size_t size, std::align_val_t align) {
  return allocateOrThrow(size, static_cast<size_t>(align));
}
static void release(void *memory) {
  forgetLocks(memory);
  free(memory);
}
void operator delete(void *memory) noexcept { release(memory); }
void operator delete[](void *memory) noexcept { release(memory); }
void operator delete(void *memory, size_t) noexcept { release(memory); }
void operator delete[](void *memory, size_t) noexcept { release(memory); }
void operator delete(void *memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void *memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void *memory, size_t, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void *memory, const std::nothrow_t &) noexcept {
  release(memory);
}
void operator delete[](void *memory, const std::nothrow_t &) noexcept {
  release(memory);
}

//===----------------------------------------------------------------------===//
// Threads and locks
//===----------------------------------------------------------------------===//

namespace {
/// A thread's own body, and what is told around it.
struct FollowedState : std::thread::_State {
  explicit FollowedState(std::thread::_State_ptr body) : body(std::move(body)) {
    ++running;
  }
  ~FollowedState() override { --running; }
  void _M_run() override {
    threadBegun.load()();
    body->_M_run();
    body.reset();
  }
  std::thread::_State_ptr body;
};

/// The same of a thread that is made without std::thread.
struct FollowedBody {
  void *(*body)(void *);
  void *argument;
};
void *runFollowed(void *memory) {
  FollowedBody followed = *static_cast<FollowedBody *>(memory);
  release(memory);
  threadBegun.load()();
  void *result = followed.body(followed.argument);
  --running;
  return result;
}
} // namespace

extern "C" {
// std::thread::_M_start_thread, which calls pthread_create.
void __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    std::thread *self, std::thread::_State_ptr body, void (*depend)());
void __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    std::thread *self, std::thread::_State_ptr body, void (*depend)()) {
  if (int fate = ask(HostCall::Thread, "pthread_create"))
    throw std::system_error(fate, std::generic_category(),
                            "the thread cannot be made");
  auto follows = followsThread.load();
  if (follows && follows())
    if (void *memory = __real_malloc(sizeof(FollowedState)))
      body.reset(new (memory) FollowedState(std::move(body)));
  __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
      self, std::move(body), depend);
}

// The device's own threads are made by this.
int __real_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument) {
  if (int fate = ask(HostCall::Thread, "pthread_create"))
    return fate;
  auto follows = followsThread.load();
  if (follows && follows())
    if (void *memory = __real_malloc(sizeof(FollowedBody))) {
      auto *followed = new (memory) FollowedBody{body, argument};
      ++running;
      int result =
          __real_pthread_create(thread, attributes, runFollowed, followed);
      if (result) {
        --running;
        release(memory);
      }
      return result;
    }
  return __real_pthread_create(thread, attributes, body, argument);
}

int __real_pthread_key_create(pthread_key_t *key, void (*end)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *)) {
  int fate = ask(HostCall::Thread, "pthread_key_create");
  return fate ? fate : __real_pthread_key_create(key, end);
}
int __real_pthread_atfork(void (*prepare)(), void (*parent)(), void (*child)());
int __wrap_pthread_atfork(void (*prepare)(), void (*parent)(),
                          void (*child)()) {
  int fate = ask(HostCall::Thread, "pthread_atfork");
  return fate ? fate : __real_pthread_atfork(prepare, parent, child);
}
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  (void)ask(HostCall::Lock, "pthread_mutex_lock");
  noteLock(mutex, 0);
  return __real_pthread_mutex_lock(mutex);
}
int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
  (void)ask(HostCall::Lock, "pthread_mutex_trylock");
  noteLock(mutex, 0);
  return __real_pthread_mutex_trylock(mutex);
}
int __real_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                   const struct timespec *until);
int __wrap_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                   const struct timespec *until) {
  (void)ask(HostCall::Lock, "pthread_mutex_clocklock");
  noteLock(mutex, 0);
  return __real_pthread_mutex_clocklock(mutex, clock, until);
}
int __real_pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
  (void)ask(HostCall::Lock, "pthread_rwlock_rdlock");
  noteLock(lock, 1);
  return __real_pthread_rwlock_rdlock(lock);
}
int __real_pthread_rwlock_wrlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
  (void)ask(HostCall::Lock, "pthread_rwlock_wrlock");
  noteLock(lock, 1);
  return __real_pthread_rwlock_wrlock(lock);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static int opened(int file) {
  openFiles += file >= 0;
  return file;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fileFails("open") ? -1 : opened(__real_open(path, flags, mode));
}
int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fileFails("openat") ? -1
                             : opened(__real_openat(folder, path, flags, mode));
}
int __real_close(int file);
int __wrap_close(int file) {
  // One that fails has closed the file all the same.
  bool failing = fileFails("close");
  int error = errno;
  --openFiles;
  int result = __real_close(file);
  if (!failing)
    return result;
  errno = error;
  return -1;
}
ssize_t __real_read(int file, void *data, size_t size);
ssize_t __wrap_read(int file, void *data, size_t size) {
  int fate = ask(HostCall::File, "read");
  if (fate > 0) {
    errno = fate;
    return -1;
  }
  return __real_read(file, data, fate ? (size + 1) / 2 : size);
}
ssize_t __real_write(int file, const void *data, size_t size);
ssize_t __wrap_write(int file, const void *data, size_t size) {
  int fate = ask(HostCall::File, "write");
  if (fate > 0) {
    errno = fate;
    return -1;
  }
  return __real_write(file, data, fate ? (size + 1) / 2 : size);
}
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode) {
  return fileFails("mkdir") ? -1 : __real_mkdir(path, mode);
}
int __real_renameat(int from, const char *old, int to, const char *name);
int __wrap_renameat(int from, const char *old, int to, const char *name) {
  return fileFails("renameat") ? -1 : __real_renameat(from, old, to, name);
}
int __real_unlinkat(int folder, const char *name, int flags);
int __wrap_unlinkat(int folder, const char *name, int flags) {
  return fileFails("unlinkat") ? -1 : __real_unlinkat(folder, name, flags);
}
int __real_stat(const char *path, struct stat *info);
int __wrap_stat(const char *path, struct stat *info) {
  return fileFails("stat") ? -1 : __real_stat(path, info);
}
int __real_lstat(const char *path, struct stat *info);
int __wrap_lstat(const char *path, struct stat *info) {
  return fileFails("lstat") ? -1 : __real_lstat(path, info);
}
int __real_fstat(int file, struct stat *info);
int __wrap_fstat(int file, struct stat *info) {
  return fileFails("fstat") ? -1 : __real_fstat(file, info);
}
int __real_fstatat(int folder, const char *name, struct stat *info, int flags);
int __wrap_fstatat(int folder, const char *name, struct stat *info, int flags) {
  return fileFails("fstatat") ? -1 : __real_fstatat(folder, name, info, flags);
}
int __real_flock(int file, int operation);
int __wrap_flock(int file, int operation) {
  return fileFails("flock") ? -1 : __real_flock(file, operation);
}
int __real_futimens(int file, const struct timespec times[2]);
int __wrap_futimens(int file, const struct timespec times[2]) {
  return fileFails("futimens") ? -1 : __real_futimens(file, times);
}
char *__real_getcwd(char *path, size_t size);
char *__wrap_getcwd(char *path, size_t size) {
  return fileFails("getcwd") ? nullptr : __real_getcwd(path, size);
}
// A directory takes the descriptor along.
DIR *__real_fdopendir(int file);
DIR *__wrap_fdopendir(int file) {
  return fileFails("fdopendir") ? nullptr : __real_fdopendir(file);
}
int __real_closedir(DIR *directory);
int __wrap_closedir(DIR *directory) {
  --openFiles;
  return __real_closedir(directory);
}
struct dirent *__real_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory) {
  return fileFails("readdir") ? nullptr : __real_readdir(directory);
}
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode) {
  if (fileFails("fopen"))
    return nullptr;
  FILE *file = __real_fopen(path, mode);
  openFiles += file != nullptr;
  return file;
}
int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file) {
  --openFiles;
  return __real_fclose(file);
}
}

//===----------------------------------------------------------------------===//
// All locks
//===----------------------------------------------------------------------===//

void HostCalls::followLocks() { locksFollowed = true; }

std::vector<void *> HostCalls::lockAll() {
  locksFollowed = false;
  std::set<uintptr_t> known; // one may stand in two places
  for (std::atomic<uintptr_t> &lock : locks)
    if (uintptr_t value = lock.load(); value > 1)
      known.insert(value);
  std::vector<void *> taken;
  // Tried, not locked: the order is that of addresses, and says nothing of the
  // order in which the runtime takes them (ThreadSanitizer).
  for (uintptr_t value : known) {
    void *at = reinterpret_cast<void *>(value & ~uintptr_t(1));
    if (value & 1)
      while (pthread_rwlock_trywrlock(static_cast<pthread_rwlock_t *>(at)))
        sched_yield();
    else
      while (__real_pthread_mutex_trylock(static_cast<pthread_mutex_t *>(at)))
        sched_yield();
    taken.push_back(reinterpret_cast<void *>(value));
  }
  return taken;
}

void HostCalls::unlockAll(const std::vector<void *> &taken) {
  for (void *lock : taken) {
    auto value = reinterpret_cast<uintptr_t>(lock);
    void *at = reinterpret_cast<void *>(value & ~uintptr_t(1));
    if (value & 1)
      pthread_rwlock_unlock(static_cast<pthread_rwlock_t *>(at));
    else
      pthread_mutex_unlock(static_cast<pthread_mutex_t *>(at));
  }
}
