//===- Main.cpp - main of the tests of upstream's symbols -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where there is no CUDA, `cuda` is the fake library beside this program, with
// the test kernels as host functions. The cpu device is no friend, as in all
// tests.
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "mock/Mock.h"

#include <gtest/gtest.h>

#include <random>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <unistd.h>

using namespace gpuasync_test;

static void useMock() {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
    abort();
  *strrchr(path, '/') = '\0';
  std::string library = std::string(path) + "/libmock_cuda.so";
  setenv("GPU_ASYNC_CUDA_LIBRARY", library.c_str(), 1);
  static Mock mock(library.c_str());
  static TestProgram program(0);
  mock.mock_kernels(program.cpu, NumKernels);
}

namespace {
class TellSchedule : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo &info) override {
    const char *schedule = getenv("GPU_ASYNC_CPU_SCHEDULE");
    if (info.result()->Failed() && schedule)
      printf("with GPU_ASYNC_CPU_SCHEDULE=%s\n", schedule);
  }
};
} // namespace

int main(int argc, char **argv) {
  std::string schedule =
      "adversarial:" + std::to_string(std::random_device()() >> 1);
  setenv("GPU_ASYNC_CPU_SCHEDULE", schedule.c_str(), /*overwrite=*/0);
  testing::InitGoogleTest(&argc, argv);
  if (void *cuda = dlopen("libcuda.so.1", RTLD_LAZY)) {
    dlclose(cuda);
  } else {
    printf("no libcuda.so.1: `cuda` is the fake library\n");
    useMock();
  }
  testing::UnitTest::GetInstance()->listeners().Append(new TellSchedule);
  return RUN_ALL_TESTS();
}
