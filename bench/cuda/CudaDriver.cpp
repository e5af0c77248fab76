//===- CudaDriver.cpp - The CUDA driver API as the benchmarks use it ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks the driver's functions up.
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include <cstdio>
#include <cstdlib>
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

void check(CUresult result, const char *what) {
  if (result == 0)
    return;
  const char *name = "?";
  cuda.getErrorName(result, &name);
  std::fprintf(stderr, "%s: %s (%d)\n", what, name, result);
  std::exit(1);
}

} // namespace bench
