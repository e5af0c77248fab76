//===- PtxCacheTest.cpp - Machine code of PTX in the disk cache -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with PTX runs in fresh processes with one cache folder; what the
// driver was asked to do is counted by the fake library.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include "gpuasync/DiskCache.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class PtxCache : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/gpu-async-ptx-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    work = name;
  }
  void TearDown() override { std::filesystem::remove_all(work); }

  /// Runs the program in a fresh process; what it reports in its one line.
  /// `settings` are of the fake library, `fails` "call:n:code".
  std::string run(const char *settings = "", const char *fails = "",
                  const char *cache = "on") {
    std::string report = work + "/report";
    std::ofstream(report) << "";
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
      setenv("GPUASYNC_MOCK", settings, 1);
      setenv("PTX_CACHE_TEST_FAILS", fails, 1);
      setenv("PTX_CACHE_TEST_REPORT", report.c_str(), 1);
      setenv("GPU_ASYNC_CACHE", cache, 1);
      setenv("GPU_ASYNC_CACHE_DIR", (work + "/cache").c_str(), 1);
      execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
            "--gtest_brief=1", "--gtest_filter=PtxCacheBody.DISABLED_Run",
            nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    std::stringstream text;
    text << std::ifstream(report).rdbuf();
    return text.str();
  }
  size_t entries() {
    size_t count = 0;
    std::error_code none;
    for (auto &entry :
         std::filesystem::directory_iterator(work + "/cache", none))
      count += entry.path().filename().string().size() == 64;
    return count;
  }

  std::string work;
};

// The modules are two: the program's and the runtime's own kernels.
TEST_F(PtxCache, SecondProcessCompilesNothing_L03) {
  EXPECT_EQ(run(), "5 links 2 loads 2 hits 0 stores 2");
  EXPECT_EQ(entries(), 2u);
  EXPECT_EQ(run(), "5 links 0 loads 2 hits 2 stores 0");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(PtxCache, ChipAndDriverAreInTheKey_C15) {
  EXPECT_EQ(run(), "5 links 2 loads 2 hits 0 stores 2");
  for (const char *other : {"minor=1", "major=10", "version=12090"}) {
    EXPECT_EQ(run(other), "5 links 2 loads 2 hits 0 stores 2") << other;
    EXPECT_EQ(run(other), "5 links 0 loads 2 hits 2 stores 0") << other;
  }
  EXPECT_EQ(entries(), 8u);
}

TEST_F(PtxCache, OffAsksForNothing) {
  EXPECT_EQ(run("", "", "off"), "5 links 0 loads 2 hits 0 stores 0");
  EXPECT_EQ(entries(), 0u);
}

// The driver loads the PTX itself where it does not hand out code.
TEST_F(PtxCache, LinkingMayFail_E05) {
  for (const char *call : {"cuCtxGetDevice", "cuLinkCreate", "cuLinkAddData"}) {
    std::filesystem::remove_all(work + "/cache");
    EXPECT_EQ(run("", (std::string(call) + ":1:999").c_str()),
              "5 links 1 loads 2 hits 0 stores 1")
        << call;
  }
  std::filesystem::remove_all(work + "/cache");
  EXPECT_EQ(run("", "cuLinkComplete:1:999"),
            "5 links 2 loads 2 hits 0 stores 1");
}

// Code that the driver refuses, though it made it: it is not kept, and if it is
// there already it is made anew.
TEST_F(PtxCache, CodeMayBeRefused_E05) {
  EXPECT_EQ(run("", "cuModuleLoadDataEx:1:209"),
            "5 links 2 loads 3 hits 0 stores 1");
  EXPECT_EQ(run(), "5 links 1 loads 2 hits 1 stores 1");
  EXPECT_EQ(run("", "cuModuleLoadDataEx:1:209"),
            "5 links 1 loads 3 hits 2 stores 1");
}

TEST_F(PtxCache, DamagedCodeIsMadeAnew_C15) {
  EXPECT_EQ(run(), "5 links 2 loads 2 hits 0 stores 2");
  for (auto &entry : std::filesystem::directory_iterator(work + "/cache"))
    std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
  EXPECT_EQ(run(), "5 links 2 loads 2 hits 0 stores 2");
  EXPECT_EQ(run(), "5 links 0 loads 2 hits 2 stores 0");
}

// In a process of its own, whose cache folder the parent chose.
TEST(PtxCacheBody, DISABLED_Run) {
  Mock *mock = mockOf("cuda-on-mock");
  std::string fails = getenv("PTX_CACHE_TEST_FAILS");
  if (size_t at = fails.find(':'); at != std::string::npos)
    mock->mock_fail(fails.substr(0, at).c_str(),
                    strtoull(fails.c_str() + at + 1, nullptr, 10),
                    atoi(fails.c_str() + fails.rfind(':') + 1));
  Context context;
  Status status = Context::open("cuda", context);
  ASSERT_TRUE(status.ok()) << status.message();
  uint32_t result = 0;
  {
    ContextScope scope(context);
    TestProgram program;
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    auto *x = frame.alloc(stream, 64, GPUASYNC_ALLOC_HOST_SHARED);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
    frame.wait({stream});
    EXPECT_FALSE(frame.failed());
    result = x[63];
    frame.dealloc(stream, x);
    frame.wait({stream});
  }
  status = context.close();
  EXPECT_TRUE(status.ok()) << status.message();
  gpuasync_disk_cache_stats stats;
  EXPECT_EQ(
      gpuasync_disk_cache_stats_read(gpuasync_disk_cache_default(), &stats),
      nullptr);
  std::ofstream(getenv("PTX_CACHE_TEST_REPORT"))
      << result << " links " << mock->mock_calls("cuLinkComplete") << " loads "
      << mock->mock_calls("cuModuleLoadDataEx") << " hits " << stats.hits
      << " stores " << stats.stores;
}

} // namespace
