//===- CudaDriver.cpp - The CUDA driver API as the benchmarks use it ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks the driver's functions up.
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace bench {

CudaDriver cuda;

std::string CudaDriver::open() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return dlerror();
#define GPUASYNC_BENCH_LOOK_UP(member, name, parameters)                       \
  member = reinterpret_cast<CUresult(*) parameters>(dlsym(library, name));     \
  if (!member)                                                                 \
    return "libcuda.so.1 has no " name;
  GPUASYNC_BENCH_CUDA_FUNCTIONS(GPUASYNC_BENCH_LOOK_UP)
#undef GPUASYNC_BENCH_LOOK_UP
  if (CUresult result = init(0))
    return "cuInit failed with " + std::to_string(result);
  return "";
}

void CudaDriver::useHost() {
  memAlloc = [](CUdeviceptr *memory, size_t bytes) -> CUresult {
    void *made = nullptr;
    if (posix_memalign(&made, 4096, bytes) != 0)
      return 2;
    *memory = reinterpret_cast<CUdeviceptr>(made);
    return 0;
  };
  memHostAlloc = [](void **memory, size_t bytes, unsigned) -> CUresult {
    return posix_memalign(memory, 4096, bytes) == 0 ? 0 : 2;
  };
  memcpyDtoH = [](void *to, CUdeviceptr from, size_t bytes) -> CUresult {
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return 0;
  };
  memcpyHtoD = [](CUdeviceptr to, const void *from, size_t bytes) -> CUresult {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return 0;
  };
  memsetD32 = [](CUdeviceptr to, unsigned word, size_t count) -> CUresult {
    std::fill_n(reinterpret_cast<unsigned *>(to), count, word);
    return 0;
  };
  getErrorName = [](CUresult, const char **name) -> CUresult {
    *name = "out of memory";
    return 0;
  };
}

void check(CUresult result, const char *what) {
  if (result == 0)
    return;
  const char *name = "?";
  cuda.getErrorName(result, &name);
  std::fprintf(stderr, "%s: %s (%d)\n", what, name, result);
  std::exit(1);
}

} // namespace bench
