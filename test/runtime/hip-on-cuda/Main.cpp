//===- Main.cpp - main of the conformance suite of HIP on CUDA ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts libhip_on_cuda.so, which lies beside this program, under the hip driver.
// Where GPU_ASYNC_CUDA_LIBRARY is the fake library, that gets the test kernels.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

std::vector<const char *> gpuasync_test::testedDevices() {
  return {"hip-on-cuda"};
}
gpuasync_test::Mock *gpuasync_test::mockOf(const std::string &) {
  return nullptr;
}

/// `fail` on a GPU is a trap.
static void trap(const gpuasync_cpu_block_ctx *ctx, const void *parameters,
                 void *) {
  constexpr int launchFailed = 719;
  using gpuasync_test::detail::FailParams;
  if (static_cast<const FailParams *>(parameters)->value)
    static_cast<mock_launch *>(ctx->launch)->trap = launchFailed;
}

int main(int argc, char **argv) {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof(path) - 32) < 0)
    abort();
  strcpy(strrchr(path, '/'), "/libhip_on_cuda.so");
  setenv("GPU_ASYNC_HIP_LIBRARY", path, /*overwrite=*/0);
  const char *cuda = getenv("GPU_ASYNC_CUDA_LIBRARY");
  if (cuda && strstr(cuda, "libmock_cuda.so")) {
    gpuasync_test::Mock mock(cuda);
    static gpuasync_test::TestProgram program(0);
    program.cpu[gpuasync_test::Fail].function = trap;
    mock.mock_kernels(program.cpu, gpuasync_test::NumKernels);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
