//===- CapturedCallTest.cpp - Calls of the vendor's in a capture ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library calls that break the capture they are in, and vendor's calls around
// one that fail: the region is played on streams, and nothing is left.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "TestLibrary.h"
#include "gpuasync/Program.h"

#include <dlfcn.h>
#include <stdlib.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class CapturedCall : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    ASSERT_TRUE(Status(gpuasync_set_play("graph")).ok());
  }
  void TearDown() override {
    EXPECT_TRUE(Status(gpuasync_set_play("streams")).ok());
    program.reset(); // its graphs hold kernels of the library's
    library.reset();
    DeviceTest::TearDown();
  }
  /// "cuStreamEndCapture", or HIP's.
  std::string vendors(const char *name) {
    return (device() == "hip" ? "hip" : "cu") + std::string(name);
  }
  void pass(uint32_t factor, uint32_t times = 1) {
    Words out(32);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 32);
    const uint32_t site = SITE("region");
    gpuasync_region_begin(frame, site);
    frame.launch(stream, Store, 1, 32, StoreParams{x, 5});
    library->call(frame, stream, x, 32, factor, 1, times);
    frame.launch(stream, MulAdd, 1, 32, MulAddParams{x, 32, 3, 1});
    gpuasync_region_end(frame, site);
    frame.copy(stream, out.data(), x, 128);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    uint32_t expected = 5;
    for (uint32_t i = 0; i < times; ++i)
      expected = expected * factor + 1;
    EXPECT_EQ(out, Words(32, expected * 3 + 1));
  }
  std::string why() {
    std::string json(gpuasync_stats_json(context.get(), nullptr, 0) + 1, '\0');
    gpuasync_stats_json(context.get(), json.data(), json.size());
    return json;
  }
  using Words = std::vector<uint32_t>;
  std::unique_ptr<TestLibrary> library = std::make_unique<TestLibrary>();
};
INSTANTIATE_OVER_DEVICES(CapturedCall);

TEST_P(CapturedCall, WhatBreaksTheCapture_G11) {
  if (device() != "cuda")
    GTEST_SKIP() << "the call that breaks it is CUDA's";
  auto synchronize = reinterpret_cast<int (*)(void *)>(
      dlsym(dlopen(getenv("GPU_ASYNC_CUDA_LIBRARY"), RTLD_NOW),
            "cuStreamSynchronize"));
  ASSERT_TRUE(synchronize);
  bool breaks = true;
  library->before = [&](const gpuasync_call &call) -> int32_t {
    // It does not even look at what comes of it.
    if (breaks && (call.flags & GPUASYNC_CALL_CAPTURED))
      EXPECT_NE(synchronize(call.stream), 0);
    return 0;
  };
  pass(2);
  pass(2);
  EXPECT_EQ(readStats(context).failedCaptures, 1u);
  EXPECT_EQ(readStats(context).graphLaunches, 0u);
  EXPECT_NE(why().find("library.call: it could not be captured: "),
            std::string::npos)
      << why();
  EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 1u) << "the test's own";
  mock->mock_reset();
  breaks = false;
  for (int i = 0; i < 70; ++i)
    pass(2);
  EXPECT_GT(readStats(context).graphLaunches, 0u);
}

// Each call of the vendor's that is made for a captured call fails once, when a
// graph is made and when one is changed.
TEST_P(CapturedCall, EachCallFails_G11) {
  if (device() == "cpu")
    GTEST_SKIP() << "no vendor";
  uint32_t factor = 1;
  for (const char *name :
       {"StreamBeginCapture", "StreamEndCapture", "GraphGetNodes",
        "GraphAddChildGraphNode", "GraphExecChildGraphNodeSetParams"})
    for (bool changed : {false, true}) {
      SCOPED_TRACE(std::string(name) + (changed ? ", changed" : ", made"));
      // No graph of an earlier turn.
      gpuasync_modules_release(context.get());
      ASSERT_TRUE(Status(gpuasync_context_trim(context.get(), 10)).ok());
      ++factor;
      if (changed) {
        pass(factor);
        pass(factor++);
      }
      mock->mock_fail(vendors(name).c_str(), 1, 2);
      pass(factor);
      pass(factor);
      mock->mock_fail(nullptr, 0, 0);
      for (int i = 0; i < 3; ++i)
        pass(factor);
    }
}

// The thread is in the caller's mode while the function is called, and its
// capture is the thread's own.
TEST_P(CapturedCall, TheThreadsModeIsTheCallers) {
  if (device() == "cpu")
    GTEST_SKIP() << "no vendor";
  constexpr int global = 0;
  std::vector<int> modes;
  library->before = [&](const gpuasync_call &) -> int32_t {
    modes.push_back(mock->mock_capture_mode(-1));
    return 0;
  };
  for (uint32_t factor : {2u, 2u, 3u})
    pass(factor);
  EXPECT_EQ(modes, std::vector<int>(3, global));
  EXPECT_EQ(mock->mock_capture_mode(-1), global);
}

// The stream that is captured is used again.
TEST_P(CapturedCall, OneStreamServesAll) {
  if (device() == "cpu")
    GTEST_SKIP() << "no vendor";
  pass(2);
  pass(2);
  const uint64_t streams = mock->mock_live("stream");
  for (uint32_t i = 0; i < 20; ++i)
    pass(3 + i, 1 + i % 2);
  EXPECT_EQ(mock->mock_live("stream"), streams);
}

} // namespace
