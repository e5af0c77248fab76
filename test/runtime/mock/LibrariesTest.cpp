//===- LibrariesTest.cpp - Libraries that lack something ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver opens its library once in a process, so each of these runs this
// program again with other settings.
//===----------------------------------------------------------------------===//

#include "../../Inputs/TimeLimit.h"
#include "Fixture.h"

#include <fstream>
#include <sstream>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gpuasync_test;

namespace {

struct Outcome {
  int result = 0;
  std::string output;
};

/// Runs this program's tests of `filter` with `variable` set to `value`.
Outcome runAgain(const char *filter, const char *variable, const char *value) {
  char path[] = "/tmp/gpuasync-mock-XXXXXX";
  int file = mkstemp(path);
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    dup2(file, 1);
    dup2(file, 2);
    setenv(variable, value, 1);
    alarm(gpuasync_test::timeLimit(60)); // a hang ends it
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
          (std::string("--gtest_filter=") + filter).c_str(), nullptr);
    _exit(127);
  }
  Outcome run;
  waitpid(child, &run.result, 0);
  close(file);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  run.output = text.str();
  unlink(path);
  return run;
}

/// What opening a context says; the fresh process's only test.
TEST(LibrariesBody, DISABLED_OpenContext) {
  Context context;
  printf("it says: %s\n", Context::open("cuda", context).message());
}

/// A device whose description fails once; the fresh process's only test.
TEST(LibrariesBody, DISABLED_DescribeTwice) {
  mockOf("cuda-on-mock")->mock_fail("cuDeviceGetAttribute", 1, 999);
  Context context;
  EXPECT_FALSE(Context::open("cuda", context).ok());
  Status status = Context::open("cuda", context);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(context.close().ok());
}
TEST(Libraries, ADeviceIsDescribedAgain) {
  Outcome run =
      runAgain("LibrariesBody.DISABLED_DescribeTwice", "GPU_ASYNC_TEST", "1");
  EXPECT_EQ(run.result, 0) << run.output;
}

/// A driver whose initialisation fails in the way that is named, once.
TEST(LibrariesBody, DISABLED_InitialiseTwice) {
  const char *call = getenv("GPU_ASYNC_TEST");
  Mock *mock = mockOf("cuda-on-mock");
  for (int code : {2 /* out of memory */, 999 /* unknown */}) {
    mock->mock_fail(call, 1, code);
    Context context;
    Status status = Context::open("cuda", context);
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNAVAILABLE));
    std::string why = "CUDA is unavailable: " + std::string(call) + ": ";
    EXPECT_EQ(std::string(status.message()).find(why), 0u) << status.message();
  }
  // A frame's device is chosen from what there is then.
  std::string listed;
  gpuasync_device_list(
      [](void *text, const char *device, const char *name, const char *,
         uint64_t, const char *) {
        *static_cast<std::string *>(text) += name ? device : "";
      },
      &listed);
  EXPECT_NE(listed.find("cuda:0"), std::string::npos) << listed;
  Context context;
  Status status = Context::open("cuda", context);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(context.close().ok());
}
TEST(Libraries, ADriverIsInitialisedAgain) {
  for (const char *call :
       {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount"}) {
    Outcome run = runAgain("LibrariesBody.DISABLED_InitialiseTwice",
                           "GPU_ASYNC_TEST", call);
    EXPECT_EQ(run.result, 0) << run.output;
  }
}

/// One without a device is not asked again.
TEST(LibrariesBody, DISABLED_NoDevice) {
  Mock *mock = mockOf("cuda-on-mock");
  mock->mock_fail("cuInit", 1, 100);
  Context context;
  EXPECT_EQ(Context::open("cuda", context).code(),
            uint32_t(GPUASYNC_UNAVAILABLE));
  EXPECT_EQ(Context::open("cuda", context).code(),
            uint32_t(GPUASYNC_UNAVAILABLE));
  EXPECT_EQ(mock->mock_calls("cuInit"), 1u);
}
TEST(Libraries, ADriverWithoutDevicesStaysRefused) {
  Outcome run =
      runAgain("LibrariesBody.DISABLED_NoDevice", "GPU_ASYNC_TEST", "1");
  EXPECT_EQ(run.result, 0) << run.output;
}

// X09, X10: what is missing is named.
TEST(Libraries, NoLibrary_X09) {
  Outcome run = runAgain("LibrariesBody.DISABLED_OpenContext",
                         "GPU_ASYNC_CUDA_LIBRARY", "/nowhere/libcuda.so");
  EXPECT_NE(run.output.find("it says: CUDA is unavailable: tried "
                            "/nowhere/libcuda.so (cannot open"),
            std::string::npos)
      << run.output;
}

TEST(Libraries, MissingSymbols_X10) {
  Outcome run = runAgain("LibrariesBody.DISABLED_OpenContext",
                         "GPU_ASYNC_CUDA_LIBRARY", "libm.so.6");
  EXPECT_NE(run.output.find("its library lacks cuInit, cuDriverGetVersion"),
            std::string::npos)
      << run.output;
  EXPECT_EQ(run.output.find("cuLaunchKernelEx"), std::string::npos)
      << "an optional one: " << run.output;
}

TEST(Libraries, DriverTooOld_X10) {
  Outcome run = runAgain("LibrariesBody.DISABLED_OpenContext", "GPUASYNC_MOCK",
                         "version=11080");
  EXPECT_NE(run.output.find("it says: CUDA is unavailable: the driver is for "
                            "CUDA 11.8, 12.0 is the least that serves"),
            std::string::npos)
      << run.output;
}

} // namespace
