//===- Main.cpp - main of the tests over fake vendor libraries ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the libraries beside this program under the real drivers and gives them
// the test kernels as host functions.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

using namespace gpuasync_test;

namespace {

Mock *cudaMock, *hipMock;

/// `fail` on a GPU is a trap.
void trap(const gpuasync_cpu_block_ctx *ctx, const void *parameters, void *) {
  constexpr int launchFailed = 719;
  if (static_cast<const detail::FailParams *>(parameters)->value)
    static_cast<mock_launch *>(ctx->launch)->trap = launchFailed;
}

/// GPUASYNC_MOCK="pools=0,flags=0": what mock_configure is called with.
void configure(Mock &mock) {
  const char *settings = getenv("GPUASYNC_MOCK");
  std::string copy = settings ? settings : "";
  for (char *at = settings ? copy.data() : nullptr; at;) {
    char *setting = strsep(&at, ",");
    if (char *value = strchr(setting, '=')) {
      *value = '\0';
      mock.mock_configure(setting, strtoull(value + 1, nullptr, 10));
    }
  }
}

std::string folderOfThisProgram() {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
    abort();
  *strrchr(path, '/') = '\0';
  return path;
}

} // namespace

std::vector<const char *> gpuasync_test::testedDevices() {
  return {"cuda-on-mock", "hip-on-mock"};
}
Mock *gpuasync_test::mockOf(const std::string &device) {
  return device.compare(0, 4, "cuda") == 0  ? cudaMock
         : device.compare(0, 3, "hip") == 0 ? hipMock
                                            : nullptr;
}

/// Loads a library that lies beside this program.
static Mock *load(const char *variable, const char *name,
                  const TestProgram &program) {
  std::string path = folderOfThisProgram() + "/" + name;
  setenv(variable, path.c_str(), /*overwrite=*/0);
  auto *mock = new Mock(path.c_str());
  configure(*mock);
  mock->mock_kernels(program.cpu, NumKernels);
  return mock;
}

int main(int argc, char **argv) {
  static TestProgram program(0);
  program.cpu[Fail].function = trap;
  cudaMock = load("GPU_ASYNC_CUDA_LIBRARY", "libmock_cuda.so", program);
  hipMock = load("GPU_ASYNC_HIP_LIBRARY", "libmock_hip.so", program);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
