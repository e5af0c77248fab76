//===- HostCalls.h - What the runtime asks of the host ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations, mappings, threads, files and locks of a test program, seen
// before they are made. The linker sends the runtime's calls here (CMake:
// use_host_calls); operator new is replaced.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_HOSTCALLS_H
#define GPUASYNC_TEST_RUNTIME_HOSTCALLS_H

#include <stdint.h>
#include <vector>

namespace gpuasync_test {

enum class HostCall : uint32_t {
  Allocation, ///< operator new, malloc, posix_memalign
  Mapping,    ///< mmap
  Thread,     ///< a std::thread begins; what a process registers for threads
  File,       ///< open, read, write, rename, mkdir and so on
  Lock        ///< of a mutex; only told of
};
constexpr int hostCallKinds = 4; ///< that can fail

struct HostCalls {
  /// What a hook says: the call is made, or a read or write is of half of what
  /// was asked for. Anything else is the errno with which it fails.
  enum : int { Happens = 0, Half = -1 };
  /// Called on the thread that makes the call.
  using Hook = int (*)(HostCall call, const char *name);
  static void hook(Hook hook);

  /// Whether a thread that begins now is to be one of those that `begun` is
  /// called on, and that `threads` counts.
  static void followThreads(bool (*follows)(), void (*begun)());

  /// From here on locks that are taken are remembered, while they live.
  static void followLocks();
  /// Takes all that are known, which nobody holds; what it took.
  static std::vector<void *> lockAll();
  static void unlockAll(const std::vector<void *> &locks);

  /// What is open, mapped or running more than was closed, unmapped or ended.
  static int64_t files(), mappings(), threads();
};

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_HOSTCALLS_H
