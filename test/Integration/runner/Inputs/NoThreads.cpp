//===- NoThreads.cpp - A system that gives few threads --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loaded ahead of the C library. After TEST_THREADS threads there are no more,
// as at the limit of `ulimit -u`, which does not hold for root.
//===----------------------------------------------------------------------===//

#include <atomic>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

extern "C" int pthread_create(pthread_t *thread,
                              const pthread_attr_t *attributes,
                              void *(*body)(void *), void *argument) {
  static std::atomic<int> left{atoi(getenv("TEST_THREADS"))};
  if (left.fetch_sub(1) <= 0)
    return EAGAIN;
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(
      dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, body, argument);
}
