//===- UnfinishedTest.cpp - What errors list as unfinished ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work on streams that the program has given back, and behind graphs, too.
//===----------------------------------------------------------------------===//

#include "RegionFixture.h"

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Unfinished : public RegionTest {};
INSTANTIATE_OVER_DEVICES(Unfinished);

uint32_t *makeFlag(TestProgram &program) {
  FrameScope frame(program);
  uint32_t *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  return flag;
}

// A timeout of an event whose stream was given back names the work.
TEST_P(Unfinished, TimeoutListsWorkOfEndedStreams) {
  uint32_t *flag = makeFlag(*program);
  {
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream();
    frame.launch(a, Gate, 1, 1, GateParams{flag});
    gpuasync_event *event = frame.record(a);
    frame.destroy(a, /*idle=*/false);
    gpuasync_set_timeout(0.05);
    EXPECT_EQ(frame.waitHost(event), 1);
    std::thread opener([&] { openGate(flag); });
    Status status = frame.leave();
    opener.join();
    EXPECT_NE(std::string(status.message()).find("gate"), std::string::npos)
        << status.message();
    EXPECT_TRUE(context.waitAbandoned().ok());
  }
  gpuasync_set_timeout(0);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// An error of the host that leaves work behind on a stream that was given back.
TEST_P(Unfinished, AbandonedListsWorkOfEndedStreams) {
  uint32_t *flag = makeFlag(*program);
  {
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(nullptr, 64);
    frame.launch(a, Gate, 1, 1, GateParams{flag});
    frame.destroy(a, /*idle=*/false);
    gpuasync_set_timeout(0.05);
    frame.launch(b, Store, -1, 64, StoreParams{x, 1});
    Status status = frame.leave();
    openGate(flag);
    EXPECT_NE(std::string(status.message()).find("gate"), std::string::npos)
        << status.message();
    EXPECT_TRUE(context.waitAbandoned().ok());
  }
  gpuasync_set_timeout(0);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// A timeout of a stream that follows another one, on which its work is.
TEST_P(Unfinished, TimeoutListsTheGraphThatAStreamFollows) {
  uint32_t *x = nullptr;
  {
    FrameScope frame(*program);
    x = frame.alloc(nullptr, 96);
  }
  for (int pass = 0; pass < 3; ++pass) {
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    if (pass == 2) {
      if (!mock)
        GTEST_SKIP() << "needs gates of the fake library";
      mock->mock_gate_close("store");
      gpuasync_set_timeout(0.05);
    }
    {
      RegionScope region(frame, REGION);
      frame.launch(a, Store, 1, 64, StoreParams{x, 1});
      frame.launch(b, Store, 1, 32, StoreParams{x + 64, 1});
    }
    if (pass < 2) {
      EXPECT_EQ(frame.wait({a, b}), 0);
      frame.destroy(a);
      frame.destroy(b);
      continue;
    }
    gpuasync_stream *alias = a->aliasOf ? a : b;
    const char *work = alias->aliasOf ? "region" : "store";
    EXPECT_EQ(frame.wait({alias}), 1);
    mock->mock_gate_open("store");
    Status status = frame.leave();
    EXPECT_NE(std::string(status.message()).find(work), std::string::npos)
        << status.message();
    EXPECT_TRUE(context.waitAbandoned().ok());
  }
  gpuasync_set_timeout(0);
  FrameScope frame(*program);
  frame.dealloc(nullptr, x);
}

} // namespace
