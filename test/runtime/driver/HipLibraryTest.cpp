//===- HipLibraryTest.cpp - Opening the HIP library -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the hip driver says where there is no library, or one that does not
// serve. What it does with one that serves is tested by the conformance suite.
//===----------------------------------------------------------------------===//

#include "drivers/Driver.h"
#include "gpuasync/Context.h"

#include "gtest/gtest.h"

#include <stdlib.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace gpuasync;

namespace {

/// What a new process that sees this library says of the driver.
std::string availabilityWith(const char *library) {
  int ends[2];
  if (pipe(ends))
    return "no pipe";
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    setenv("GPU_ASYNC_HIP_LIBRARY", library, 1);
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
          "--gtest_filter=*DISABLED_PrintAvailability", "--gtest_brief=1",
          nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    said.append(buffer, size_t(n));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return said;
}

// In a process of its own, since a library is opened once.
TEST(HipLibrary, DISABLED_PrintAvailability) {
  printf("%s\n", hipDriver()->available().message());
}

TEST(HipLibrary, OpenedOnceUnderRacingThreads_X09) {
  std::vector<std::string> messages(64);
  std::vector<std::thread> threads;
  for (std::string &message : messages)
    threads.emplace_back(
        [&message] { message = hipDriver()->available().message(); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &message : messages)
    EXPECT_EQ(message, messages[0]);
  if (messages[0].empty())
    return;
  EXPECT_NE(messages[0].find("HIP is unavailable"), std::string::npos);
  EXPECT_EQ(hipDriver()->deviceCount(), 0);
  std::unique_ptr<Device> none;
  EXPECT_EQ(hipDriver()->openContext(0, nullptr, none).message(), messages[0]);
  Context context;
  EXPECT_EQ(Context::open("hip:0", context).message(), messages[0]);
}

TEST(HipLibrary, AnAbsentOneIsNamed_X09) {
  std::string said = availabilityWith("/nonexistent/libamdhip64.so");
  EXPECT_NE(said.find("HIP is unavailable: tried /nonexistent/libamdhip64.so "
                      "(cannot open shared object file"),
            std::string::npos)
      << said;
}

TEST(HipLibrary, WhatItLacksIsNamed_X10) {
  std::string said = availabilityWith("libm.so.6");
  EXPECT_NE(said.find("HIP is unavailable: its library lacks hipInit, "),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("hipGetDevicePropertiesR0600"), std::string::npos);
  // An optional one.
  EXPECT_EQ(said.find("hipStreamWriteValue32"), std::string::npos);
}

TEST(HipLibrary, DeviceNamesAreChecked) {
  Context context;
  for (const char *name : {"hip:", "hip:x", "hip0", "hip:-1", "hip:5000"}) {
    Status status = Context::open(name, context);
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT)) << name;
    EXPECT_NE(std::string(status.message()).find("is no device"),
              std::string::npos)
        << status.message();
  }
}

} // namespace
