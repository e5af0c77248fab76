//===- RangesTest.cpp - Ranges for the vendors' profilers -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Over fake profilers (FakeProfiler.h). The process finds one when it begins to
// use the runtime, so other settings have processes of their own, which run
// this program again.
//===----------------------------------------------------------------------===//

#include "libs/trace/Ranges.h"
#include "Adversary.h"
#include "RegionFixture.h"
#include "gpuasync/Trace.h"
#include "ranges/FakeProfiler.h"
#include "shim/process/HostSpan.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

using Names = std::vector<std::string>;

std::vector<const char *> gpuasync_test::testedDevices() { return {"cpu"}; }
Mock *gpuasync_test::mockOf(const std::string &) { return nullptr; }

namespace {

std::string folder;
std::string nvtx() { return folder + "/libfake_nvtx.so"; }
std::string roctx() { return folder + "/libfake_roctx.so"; }

/// The one that listens.
FakeProfiler &profiler() {
  void *library = dlopen(getenv("FAKE_PROFILER"), RTLD_NOW | RTLD_NOLOAD);
  using Function = FakeProfiler *(*)();
  return *reinterpret_cast<Function>(dlsym(library, "fake_profiler"))();
}

class RangesTest : public RegionTest {
protected:
  void SetUp() override {
    RegionTest::SetUp();
    play("streams");
    profiler().ranges.clear();
    // What another test has left open is that test's failure.
    profiler().open.clear();
    profiler().pops = 0;
  }
  void TearDown() override {
    EXPECT_EQ(profiler().openCount(), 0u);
    EXPECT_EQ(profiler().pops, 0);
    RegionTest::TearDown();
  }
  Names ranges() { return profiler().ranges; }
  uint32_t site(const char *op, uint32_t line) {
    return testSite("test.mlir", op, line, 1, UINT32_MAX);
  }
};
INSTANTIATE_OVER_DEVICES(RangesTest);

TEST_P(RangesTest, Nest) {
  const uint32_t region = site("region", 20), call = site("call", 21),
                 waits = site("wait", 22);
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    gpuasync_region_begin(frame, region);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    gpuasync_region_end(frame, region);
    ASSERT_NE(gpuasync_call_begin(frame, &stream, 1, call), nullptr);
    {
      FrameScope inner(*program);
    }
    gpuasync_call_end(frame, 0, call);
    gpuasync_stream_synchronize(frame, &stream, 1, waits);
    frame.dealloc(stream, x);
  }
  EXPECT_EQ(
      ranges(),
      (Names{"testFunction > region at test.mlir:20",
             "testFunction > call at test.mlir:21 > testFunction",
             "testFunction > call at test.mlir:21",
             "testFunction > host wait at test.mlir:22", "testFunction"}));
}

TEST_P(RangesTest, ErrorInARegionAndACall) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  gpuasync_region_begin(frame, REGION);
  ASSERT_NE(gpuasync_call_begin(frame, &stream, 1, SITE("call")), nullptr);
  gpuasync_frame_fail(frame, gpuasync_status_make(GPUASYNC_DRIVER_ERROR, "no"));
  gpuasync_call_end(frame, 0, SITE("call"));
  gpuasync_region_end(frame, REGION);
  EXPECT_EQ(frame.wait({stream}), 1);
  EXPECT_FALSE(frame.leave().ok());
  EXPECT_EQ(ranges().size(), 3u);
}

// Neither the call nor the region comes to its end.
TEST_P(RangesTest, EarlyExit) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  gpuasync_region_begin(frame, REGION);
  ASSERT_NE(gpuasync_call_begin(frame, &stream, 1, SITE("call")), nullptr);
  (void)frame.leave();
  EXPECT_EQ(ranges().size(), 3u);
  // Left again, which is an error, it ends nothing again.
  EXPECT_FALSE(Status(gpuasync_frame_leave(frame)).ok());
  EXPECT_EQ(ranges().size(), 3u);
}

TEST_P(RangesTest, AFrameThatCannotBeEntered) {
  TestProgram none(TestProgram::Cuda);
  FrameScope frame(none);
  EXPECT_FALSE(frame.entered);
  EXPECT_FALSE(frame.leave().ok());
  EXPECT_EQ(ranges(), Names{"testFunction"});
}

TEST_P(RangesTest, OfThreads) {
  constexpr size_t threads = 4, calls = 50;
  std::vector<std::thread> all;
  for (size_t t = 0; t < threads; ++t)
    all.emplace_back([&] {
      ContextScope inner(context);
      for (size_t i = 0; i < calls; ++i) {
        FrameScope frame(*program);
        gpuasync_stream *stream = frame.stream();
        RegionScope region(frame, REGION);
        region.end();
        frame.wait({stream});
      }
    });
  for (std::thread &thread : all)
    thread.join();
  EXPECT_EQ(ranges().size(), 3 * threads * calls);
  for (const std::string &range : ranges())
    EXPECT_EQ(range.find("testFunction"), range.rfind("testFunction")) << range;
}

// Ranges need no trace, and stay as they are with one.
TEST_P(RangesTest, BesideATrace) {
  auto call = [&] {
    FrameScope frame(*program);
    frame.wait({frame.stream()});
  };
  call();
  const Names alone = ranges();
  Status status(gpuasync_trace_start(nullptr));
  ASSERT_TRUE(status.ok()) << status.message();
  call();
  {
    FrameScope frame(*program);
    status = Status(gpuasync_trace_stop());
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(alone.size(), 2u);
  EXPECT_EQ(ranges().size(), 5u);
}

// The check itself: one left open is seen, and a pop of none.
TEST(FakeProfilers, SeeWhatIsWrong) {
  FakeProfiler fake;
  fake.push("a");
  EXPECT_EQ(fake.openCount(), 1u);
  fake.pop();
  fake.pop();
  EXPECT_EQ(fake.openCount(), 0u);
  EXPECT_EQ(fake.pops, 1);
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

/// Runs tests of this program in a process with these settings, "" for none.
/// True if they pass.
bool inProcess(const char *filter, const std::string &ranges,
               const std::string &injection, const std::string &preload,
               const std::string &listening) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    auto set = [](const char *name, const std::string &value) {
      if (value.empty())
        unsetenv(name);
      else
        setenv(name, value.c_str(), 1);
    };
    set("GPU_ASYNC_RANGES", ranges);
    set("NVTX_INJECTION64_PATH", injection);
    if (!preload.empty()) {
      set("LD_PRELOAD", preload);
      // It comes before AddressSanitizer's runtime then.
      setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    }
    setenv("FAKE_PROFILER", listening.c_str(), 1);
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
          (std::string("--gtest_filter=") + filter).c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// In such a process: there are no ranges.
TEST(RangesProcess, DISABLED_None) {
  Context context;
  Status status = Context::open("cpu", context);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(gpuasync::ranges.push, nullptr);
  EXPECT_FALSE(gpuasync::anyoneListens());
}
// In such a process: an error, of which this is a part, opens no context.
TEST(RangesProcess, DISABLED_Error) {
  Context context;
  Status status = Context::open("cpu", context);
  EXPECT_EQ(gpuasync::ranges.push, nullptr);
  EXPECT_NE(std::string(status.message()).find(getenv("FAKE_PROFILER")),
            std::string::npos)
      << status.message();
  // The same of the default one, and once: it is no device's reason.
  TestProgram program;
  gpuasync_context *chosen = nullptr;
  Status refused(gpuasync_context_default(&program.program, &chosen));
  EXPECT_EQ(chosen, nullptr);
  EXPECT_STREQ(refused.message(), status.message());
}

constexpr char all[] = "Devices/RangesTest.*", none[] = "*DISABLED_None",
               error[] = "*DISABLED_Error";

TEST(RangesSettings, Nvtx) {
  EXPECT_TRUE(inProcess(all, "nvtx", nvtx(), "", nvtx()));
  EXPECT_TRUE(inProcess(all, nvtx(), "", "", nvtx()));
  EXPECT_TRUE(inProcess(
      error, "nvtx", "", "",
      "GPU_ASYNC_RANGES: 'nvtx' is unavailable: NVTX_INJECTION64_PATH is not "
      "set, so no profiler listens: run the program under one"));
  EXPECT_TRUE(inProcess(error, "nvtx", "/nowhere/lib.so", "",
                        "GPU_ASYNC_RANGES: 'nvtx' is unavailable: "
                        "NVTX_INJECTION64_PATH: /nowhere/lib.so: cannot open "
                        "shared object file: No such file or directory; a "
                        "profiler sets it: run the program under one"));
  EXPECT_TRUE(inProcess(error, "nvtx", roctx(), "",
                        "' does not listen to ranges of NVTX"));
}

TEST(RangesSettings, Roctx) {
  EXPECT_TRUE(inProcess(all, roctx(), "", "", roctx()));
  EXPECT_TRUE(inProcess(all, "roctx", "", roctx(), roctx()));
  EXPECT_TRUE(inProcess(all, "", "", roctx(), roctx()));
  EXPECT_TRUE(inProcess(all, "auto", "/nowhere/lib.so", roctx(), roctx()));
  EXPECT_TRUE(inProcess(error, "roctx", "", "",
                        "GPU_ASYNC_RANGES: 'roctx' is unavailable: "
                        "librocprofiler-sdk-roctx.so.1: cannot open"));
}

TEST(RangesSettings, NobodyListens) {
  EXPECT_TRUE(inProcess(none, "", "", "", ""));
  EXPECT_TRUE(inProcess(none, "auto", "", "", ""));
  EXPECT_TRUE(inProcess(none, "auto", "/nowhere/lib.so", "", ""));
  EXPECT_TRUE(inProcess(none, "off", nvtx(), "", ""));
}

TEST(RangesSettings, Wrong) {
  EXPECT_TRUE(inProcess(error, "on", "", "",
                        "GPU_ASYNC_RANGES: 'on' is none of auto, nvtx, roctx, "
                        "off, and no path of a library"));
  EXPECT_TRUE(inProcess(error, "/nowhere/lib.so", "", "",
                        "GPU_ASYNC_RANGES: '/nowhere/lib.so' is unavailable: "
                        "/nowhere/lib.so: cannot open shared object file"));
  EXPECT_TRUE(inProcess(error, folder + "/libmock_cuda.so", "", "",
                        "it has neither roctxRangePushA nor nvtxRangePushA"));
}

} // namespace

int main(int argc, char **argv) {
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
    return 1;
  folder.assign(path, static_cast<size_t>(strrchr(path, '/') - path));
  // As a profiler begins it, unless a test of this program did.
  if (!getenv("FAKE_PROFILER")) {
    unsetenv("GPU_ASYNC_RANGES");
    setenv("NVTX_INJECTION64_PATH", nvtx().c_str(), 1);
    setenv("FAKE_PROFILER", nvtx().c_str(), 1);
  }
  gpuasync_test::initUnderAdversary(argc, argv);
  return RUN_ALL_TESTS();
}
