//===- OneGpu.cpp - Several devices that are one GPU ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CUDA driver whose four devices are one, so that ranks have the real NCCL on
// a machine with one GPU (docs/reference/Testing.md). It is libcuda but for the
// devices' number.
//===----------------------------------------------------------------------===//

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

static constexpr int deviceCount = 4;

using Lookup = int (*)(const char *, void **, int, uint64_t, int *);
using DeviceGet = int (*)(int *, int);

/// Null: there is no CUDA driver.
static Lookup realLookup() {
  static void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library
             ? reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"))
             : nullptr;
}

static int getCount(int *count) {
  *count = deviceCount;
  return 0;
}

static int getDevice(int *device, int ordinal) {
  void *real = nullptr;
  int found = 0;
  if (int code = realLookup()("cuDeviceGet", &real, 2000, 0, &found))
    return code;
  const bool isOneOfThem = 0 <= ordinal && ordinal < deviceCount;
  return reinterpret_cast<DeviceGet>(real)(device, isOneOfThem ? 0 : ordinal);
}

EXPORT int cuGetProcAddress_v2(const char *name, void **address, int version,
                               uint64_t flags, int *found) {
  void *own = nullptr;
  if (strcmp(name, "cuDeviceGetCount") == 0)
    own = reinterpret_cast<void *>(getCount);
  if (strcmp(name, "cuDeviceGet") == 0)
    own = reinterpret_cast<void *>(getDevice);
  if (own) {
    *address = own;
    if (found)
      *found = 0;
    return 0;
  }
  return realLookup() ? realLookup()(name, address, version, flags, found)
                      : 500;
}
