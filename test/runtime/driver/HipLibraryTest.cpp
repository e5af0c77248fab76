//===- HipLibraryTest.cpp - Opening the HIP library -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the hip driver where there is no library, or one that does not serve.
// If there is a real library, its entry points are tested, too:
// test/runtime/driver/rocm runs this program with Debian's. The conformance
// suite tests what the driver does with a library that serves.
//===----------------------------------------------------------------------===//

#include "device/hip/HipDriver.h"
#include "gpuasync/Context.h"

#include "gtest/gtest.h"

#include <stdlib.h>
#include <string.h>
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
  printf("%s\n", hipVendor.driver().available().message());
}

TEST(HipLibrary, OpenedOnceUnderRacingThreads_X09) {
  std::vector<std::string> messages(64);
  std::vector<std::thread> threads;
  for (std::string &message : messages)
    threads.emplace_back(
        [&message] { message = hipVendor.driver().available().message(); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &message : messages)
    EXPECT_EQ(message, messages[0]);
  if (messages[0].empty())
    return;
  EXPECT_NE(messages[0].find("HIP is unavailable"), std::string::npos);
  EXPECT_EQ(hipVendor.driver().deviceCount(), 0);
  std::unique_ptr<Device> none;
  EXPECT_EQ(hipVendor.driver().openContext(0, nullptr, none).message(),
            messages[0]);
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

TEST(HipLibrary, TheRealOneHasEveryEntryPoint_X10) {
  auto &driver = static_cast<VendorDriver &>(hipVendor.driver());
  Status status = driver.available();
  const std::string message = status.message();
  bool noDevice = message.find("hipErrorNoDevice (100)") != std::string::npos;
  if (!status.ok() && !noDevice)
    GTEST_SKIP() << message;
  const VendorSymbols &symbols = driver.facts.symbols;
  for (uint32_t i = 0; i < symbols.count; ++i) {
    const VendorSymbol &symbol = symbols.begin[i];
    void *address = nullptr;
    memcpy(&address,
           reinterpret_cast<const char *>(&driver.table) +
               size_t(symbol.entry) * sizeof(address),
           sizeof(address));
    EXPECT_NE(address, nullptr) << symbols.nameOf(symbol);
  }
  printf("%u entry points\n", symbols.count);
  printf("%s\n", message.c_str());
  // This thread does not call the library itself. ROCm 6.4 crashes in exit() if
  // another thread has loaded it and the main thread then calls it.
  EXPECT_EQ(driver.deviceCount() == 0, noDevice);
  if (!noDevice)
    return;
  Context context;
  EXPECT_EQ(Context::open("hip", context).code(),
            uint32_t(GPUASYNC_UNAVAILABLE));
  EXPECT_TRUE(Context::open("cpu", context).ok());
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
