//===- mgpu-bench.cpp - One program on one library of wrappers ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mgpu-bench WRAPPERS PROGRAM ROUNDS: runs the fork/join of
// test/Integration/mgpu/fork-join.mlir, lowered by upstream, on a library that
// exports the mgpu symbols. Prints wrong results, time, and device memory.
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

namespace {

struct MemRef2d {
  void *base, *data;
  int64_t offset, sizes[2], strides[2];
};

void *open(const char *path, int flags) {
  void *library = dlopen(path, flags);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return library;
}

template <typename Type>
Type find(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (!address) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return reinterpret_cast<Type>(address);
}

/// Bytes of the first CUDA device in use, by all processes; 0 without CUDA.
class DeviceMemory {
public:
  DeviceMemory() {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    const char *wanted = getenv("GPU_ASYNC_DEVICE");
    if (!cuda || (wanted && !strcmp(wanted, "cpu")))
      return;
    info = find<int (*)(size_t *, size_t *)>(cuda, "cuMemGetInfo_v2");
    int device = 0;
    void *context = nullptr;
    if (find<int (*)(unsigned)>(cuda, "cuInit")(0) ||
        find<int (*)(int *, int)>(cuda, "cuDeviceGet")(&device, 0) ||
        find<int (*)(void **, int)>(cuda, "cuDevicePrimaryCtxRetain")(&context,
                                                                      device) ||
        find<int (*)(void *)>(cuda, "cuCtxSetCurrent")(context))
      info = nullptr;
  }
  long long used() const {
    size_t unused = 0, total = 0;
    if (!info || info(&unused, &total))
      return 0;
    return static_cast<long long>(total - unused);
  }

private:
  int (*info)(size_t *, size_t *) = nullptr;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: mgpu-bench WRAPPERS PROGRAM ROUNDS\n");
    return 2;
  }
  const int64_t rounds = atoll(argv[3]);
  DeviceMemory memory;
  void *wrappers = open(argv[1], RTLD_NOW | RTLD_GLOBAL);
  // Its constructors load the module through the wrappers.
  void *program = open(argv[2], RTLD_LAZY);
  auto alloc =
      find<void *(*)(uint64_t, void *, bool)>(wrappers, "mgpuMemAlloc");
  auto forkjoin =
      find<void (*)(MemRef2d *, int32_t)>(program, "_mlir_ciface_forkjoin");
  auto run = find<int64_t (*)(int64_t)>(program, "_mlir_ciface_run");

  void *x = alloc(5 * 32 * 4, nullptr, false);
  MemRef2d matrix = {x, x, 0, {5, 32}, {32, 1}};
  for (int i = 0; i < 20; ++i)
    forkjoin(&matrix, i);
  long long first = memory.used();
  int64_t wrong = run(rounds);
  long long last = memory.used();
  std::vector<double> times;
  for (int i = 0; i < 300; ++i) {
    auto start = std::chrono::steady_clock::now();
    forkjoin(&matrix, i);
    times.push_back(std::chrono::duration<double, std::micro>(
                        std::chrono::steady_clock::now() - start)
                        .count());
  }
  std::sort(times.begin(), times.end());
  printf("{\"wrappers\": \"%s\", \"rounds\": %lld, \"wrong\": %lld, "
         "\"median_us\": %.2f, \"min_us\": %.2f, \"p90_us\": %.2f, "
         "\"grown_bytes\": %lld, \"grown_bytes_by_300_more\": %lld}\n",
         argv[1], static_cast<long long>(rounds), static_cast<long long>(wrong),
         times[150], times[0], times[270], last - first, memory.used() - last);
  return wrong != 0;
}
