//===- no-memory.cpp - C++ without memory ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preloaded, it makes allocations of the binding's C++ fail on the thread that
// asks for it.
//===----------------------------------------------------------------------===//

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <new>

static thread_local long before = -1; ///< a failure; negative without one
static thread_local bool stays, failed;

/// Lets `count` allocations pass; the next one fails, and with `forever` those
/// after it. A negative count ends that. Whether one has failed since the last
/// call.
extern "C" bool fail_new(long count, bool forever) {
  bool result = failed;
  before = count;
  stays = forever;
  failed = false;
  return result;
}

/// Whether the binding is the caller, maybe by a container's code in libstdc++.
[[gnu::noinline]] static bool isOfBinding() {
  void *frames[16];
  int count = backtrace(frames, 16);
  for (int i = 2; i < count; ++i) {
    Dl_info info;
    if (!dladdr(frames[i], &info) || !info.dli_fname)
      return false;
    if (!std::strstr(info.dli_fname, "libstdc++"))
      return std::strstr(info.dli_fname, "_binding.abi3.so");
  }
  return false;
}

void *operator new(size_t bytes) {
  if (before >= 0 && isOfBinding() && before-- == 0) {
    failed = true;
    if (stays)
      before = 0;
    throw std::bad_alloc();
  }
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}

void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
