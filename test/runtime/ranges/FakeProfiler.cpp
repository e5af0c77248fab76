//===- FakeProfiler.cpp - Profilers that listen to ranges -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As a library that NVTX injects, and as roctx. The first asks for what Nsight
// Systems asks for: all tables, and writes to their ends.
//===----------------------------------------------------------------------===//

#include "ranges/FakeProfiler.h"

#include <stddef.h>
#include <stdint.h>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED FakeProfiler *fake_profiler() {
  static FakeProfiler *profiler = new FakeProfiler;
  return profiler;
}

static int push(const char *text) { return fake_profiler()->push(text); }
static int pop() { return fake_profiler()->pop(); }

#ifdef FAKE_ROCTX

EXPORTED int roctxRangePushA(const char *text) { return push(text); }
EXPORTED int roctxRangePop() { return pop(); }

#else

using Function = void (*)();
struct Callbacks {
  size_t size;
  int (*moduleTable)(uint32_t module, Function ***table, unsigned *size);
};
struct Version {
  size_t size;
  uint32_t version, reserved;
  void (*set)(uint32_t);
};

static void other() {}

EXPORTED int
InitializeInjectionNvtx2(const void *(*exportTable)(uint32_t table)) {
  auto *callbacks = static_cast<const Callbacks *>(exportTable(1));
  auto *version = static_cast<const Version *>(exportTable(3));
  if (!callbacks || callbacks->size < sizeof(Callbacks) || !version ||
      version->size < sizeof(Version) || version->version != 3 ||
      exportTable(2))
    return 0;
  version->set(3);
  // Core, CUDA, OpenCL, CUDA's runtime, Core2, Sync; one number more than ids.
  const unsigned sizes[] = {0, 16, 9, 15, 7, 16, 7};
  for (uint32_t module = 1; module <= 6; ++module) {
    Function **table = nullptr;
    unsigned size = 0;
    if (!callbacks->moduleTable(module, &table, &size) ||
        size != sizes[module] || table[0])
      return 0;
    for (unsigned i = 1; i < size; ++i)
      *table[i] = &other;
    if (module == 1) {
      *table[9] = reinterpret_cast<Function>(&push);
      *table[11] = reinterpret_cast<Function>(&pop);
    }
  }
  return !callbacks->moduleTable(7, nullptr, nullptr);
}

#endif
