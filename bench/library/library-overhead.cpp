//===- library-overhead.cpp - What a call through libgpuasync costs -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls a function that does nothing with four ranked arguments: the whole call
// is the library's and the wrapper's. Prints the least and the median of
// rounds, in nanoseconds a call.
//===----------------------------------------------------------------------===//

#include "GPUAsync-C/GPUAsync.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

static const char *const program = R"(
func.func @memrefs(%a: memref<64xf32>, %b: memref<8x8xf32>,
                   %c: memref<?x8xf32>, %d: memref<4x4x4xf32>) { return }
)";

static int fail(gpuasync_status *status) {
  std::fprintf(stderr, "library-overhead: %s\n",
               gpuasync_status_get_message(status));
  return 1;
}

int main() {
  gpuasync_compile_options options = {};
  options.structSize = sizeof(options);
  options.device = "cpu";
  gpuasync_executable *executable = nullptr;
  if (auto *status = gpuasync_compile(program, std::strlen(program), &options,
                                      &executable))
    return fail(status);
  gpuasync_callable *callable = nullptr;
  if (auto *status =
          gpuasync_executable_lookup(executable, "memrefs", &callable))
    return fail(status);
  alignas(64) static float data[4][64];
  const int64_t one[] = {64}, two[] = {8, 8}, three[] = {4, 4, 4};
  const gpuasync_value arguments[] = {
      gpuasync_value_make(data[0], GPUASYNC_TYPE_F32, 1, one),
      gpuasync_value_make(data[1], GPUASYNC_TYPE_F32, 2, two),
      gpuasync_value_make(data[2], GPUASYNC_TYPE_F32, 2, two),
      gpuasync_value_make(data[3], GPUASYNC_TYPE_F32, 3, three)};
  constexpr int calls = 10000;
  std::vector<double> times;
  for (int round = 0; round < 101; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i)
      if (auto *status =
              gpuasync_callable_call(callable, arguments, 4, nullptr, 0))
        return fail(status);
    std::chrono::duration<double, std::nano> took =
        std::chrono::steady_clock::now() - start;
    times.push_back(took.count() / calls);
  }
  std::sort(times.begin(), times.end());
  std::printf("memrefs: %.1f ns a call, median %.1f\n", times.front(),
              times[times.size() / 2]);
  if (auto *status = gpuasync_callable_release(callable))
    return fail(status);
  if (auto *status = gpuasync_executable_release(executable))
    return fail(status);
  return 0;
}
