//===- HipOnCudaTest.cpp - HIP calls on a CUDA device, themselves --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without a GPU, tests can see that libhip_on_cuda.so forwards calls, over the
// fake CUDA library.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"

#include "gtest/gtest.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

TEST(HipOnCuda, HasEveryEntryPoint) {
  void *library =
      dlopen(getenv("GPU_ASYNC_HIP_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
#define HIP_ENTRY(entry, parameters, need, name)                               \
  EXPECT_NE(dlsym(library, #name), nullptr) << #name;
#include "device/vendor/VendorSymbols.def"
}

/// Runs this program's tests of `filter` over another CUDA library.
static int runOver(const std::string &library, const char *filter) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    setenv("GPU_ASYNC_CUDA_LIBRARY", library.c_str(), 1);
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
          "--gtest_brief=1", (std::string("--gtest_filter=") + filter).c_str(),
          nullptr);
    _exit(127);
  }
  int result = 0;
  waitpid(child, &result, 0);
  return result;
}

TEST(HipOnCuda, ConformanceOverTheFakeLibrary) {
  std::string folder = getenv("GPU_ASYNC_HIP_LIBRARY");
  folder.erase(folder.rfind('/'));
  EXPECT_EQ(runOver(folder + "/libmock_cuda.so", "Devices/*"), 0);
}

// In a process of its own, since a library is opened once.
TEST(HipOnCuda, DISABLED_ThereIsNoDevice) {
  gpuasync::Context context;
  gpuasync::Status status = gpuasync::Context::open("hip", context);
  EXPECT_NE(std::string(status.message()).find("HIP is unavailable: hipInit"),
            std::string::npos)
      << status.message();
}
TEST(HipOnCuda, WithoutACudaDriverThereIsNoDevice) {
  EXPECT_EQ(runOver("/nonexistent/libcuda.so", "HipOnCuda.DISABLED_*"), 0);
}
