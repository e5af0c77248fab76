//===- CaptureModeTest.cpp - The thread's mode of stream capture ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a capture would forbid is let through by the mode of the thread, which
// is the caller's: a frame changes it once, and not for code that is not ours.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "gpuasync/Program.h"

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

enum Mode : int { Global, ThreadLocal, Relaxed };

class CaptureMode : public DeviceTest {
protected:
  void TearDown() override {
    mock->mock_capture_mode(Global);
    DeviceTest::TearDown();
  }
  int mode() { return mock->mock_capture_mode(-1); }
  uint64_t changes() { return mock->mock_calls(exchange); }
  /// Calls that a capture forbids: of a size that nothing kept serves.
  void allocate(FrameScope &frame) {
    gpuasync_stream *stream = frame.stream();
    frame.dealloc(stream, frame.alloc(stream, words *= 2));
    frame.destroy(stream, false);
  }

  uint64_t words = 64;
  const char *const exchange = device() == "hip"
                                   ? "hipThreadExchangeStreamCaptureMode"
                                   : "cuThreadExchangeStreamCaptureMode";
};
INSTANTIATE_OVER_DEVICES(CaptureMode);

TEST_P(CaptureMode, ChangesOnceAFrame) {
  {
    FrameScope warm(*program);
    allocate(warm);
  }
  mock->mock_reset();
  {
    FrameScope frame(*program);
    for (int i = 0; i < 10; ++i)
      allocate(frame);
    EXPECT_EQ(changes(), 1u);
  }
  EXPECT_EQ(changes(), 2u);
  // Where nothing needs it, not at all.
  {
    FrameScope frame(*program);
  }
  EXPECT_EQ(changes(), 2u);
}

TEST_P(CaptureMode, IsTheCallersAgain) {
  TestProgram broken;
  broken.kernels[MulAdd].name = "renamed";
  broken.cpu[MulAdd].name = "other";
  for (int callers : {Global, ThreadLocal, Relaxed}) {
    mock->mock_capture_mode(callers);
    {
      FrameScope frame(*program);
      allocate(frame);
      EXPECT_EQ(mode(), Relaxed);
    }
    EXPECT_EQ(mode(), callers);
    {
      FrameScope frame(*program);
      allocate(frame);
      frame.launch(frame.stream(), Store, -1, 1, StoreParams{});
      EXPECT_FALSE(frame.leave().ok());
    }
    EXPECT_EQ(mode(), callers);
    {
      FrameScope frame(broken); // fails after it has begun to load
      EXPECT_FALSE(frame.leave().ok());
    }
    EXPECT_EQ(mode(), callers);
    // Entries outside of frames.
    EXPECT_TRUE(context.trim().ok());
    EXPECT_EQ(mode(), callers);
  }
}

TEST_P(CaptureMode, UnknownCodeHasTheCallers) {
  for (int callers : {Global, ThreadLocal, Relaxed}) {
    mock->mock_capture_mode(callers);
    {
      FrameScope frame(*program);
      gpuasync_frame_suspend(frame); // nothing to do yet
      EXPECT_EQ(mode(), callers);
      allocate(frame);
      gpuasync_frame_suspend(frame);
      EXPECT_EQ(mode(), callers);
      gpuasync_frame_resume(frame);
      allocate(frame);
      EXPECT_EQ(mode(), Relaxed);
      // A library on a stream of ours.
      gpuasync_stream *stream = frame.stream();
      (void)gpuasync_stream_native(frame, stream, SITE("library"));
      EXPECT_EQ(mode(), callers);
      allocate(frame);
      // In a failed frame too, whose host code still runs.
      gpuasync_frame_fail(
          frame, gpuasync_status_make(GPUASYNC_DRIVER_ERROR, "failed"));
      EXPECT_EQ(mode(), Relaxed);
      gpuasync_frame_suspend(frame);
      EXPECT_EQ(mode(), callers);
      EXPECT_FALSE(frame.leave().ok());
    }
    EXPECT_EQ(mode(), callers);
  }
}

// What unknown code changes is changed.
TEST_P(CaptureMode, UnknownCodeMayChangeIt) {
  {
    FrameScope frame(*program);
    allocate(frame);
    gpuasync_frame_suspend(frame);
    mock->mock_capture_mode(ThreadLocal);
    gpuasync_frame_resume(frame);
    allocate(frame);
    EXPECT_EQ(mode(), Relaxed);
  }
  EXPECT_EQ(mode(), ThreadLocal);
}

TEST_P(CaptureMode, FramesNest) {
  {
    FrameScope warm(*program);
    allocate(warm);
  }
  mock->mock_capture_mode(ThreadLocal);
  {
    FrameScope outer(*program);
    {
      FrameScope inner(*program);
      allocate(inner);
      EXPECT_EQ(mode(), Relaxed);
    }
    EXPECT_EQ(mode(), ThreadLocal);
    allocate(outer);
    {
      FrameScope inner(*program);
      allocate(inner);
      // What runs now is in neither.
      gpuasync_frame_suspend(inner);
      EXPECT_EQ(mode(), ThreadLocal);
    }
    EXPECT_EQ(mode(), ThreadLocal);
    allocate(outer);
    EXPECT_EQ(mode(), Relaxed);
    // An entry of the embedder's in between.
    gpuasync_stream *mine = nullptr;
    EXPECT_EQ(gpuasync_context_stream_create(context.get(), &mine), nullptr);
    gpuasync_context_stream_destroy(mine);
    EXPECT_EQ(mode(), Relaxed);
  }
  EXPECT_EQ(mode(), ThreadLocal);
}

// Hooks are the embedder's code, and run while a frame is entered.
TEST_P(CaptureMode, HooksHaveTheCallers) {
  struct User {
    Mock *mock;
    std::vector<int> seen;
  } user = {mock, {}};
  gpuasync_module_hooks hooks{};
  hooks.user = &user;
  hooks.compile = [](void *data, const gpuasync_module_request *,
                     gpuasync_image *) -> gpuasync_status * {
    auto *user = static_cast<User *>(data);
    user->seen.push_back(user->mock->mock_capture_mode(-1));
    return nullptr;
  };
  ASSERT_TRUE(Status(gpuasync_modules_hook(context.get(), &hooks)).ok());
  std::vector<char> host(4096);
  TestProgram second;
  for (gpuasync_image &image : second.images)
    image.hash[0] = 77;
  {
    FrameScope frame(*program);
    gpuasync_host_register(frame, host.data(), host.size(), SITE("register"));
    gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
  }
  mock->mock_capture_mode(ThreadLocal);
  mock->mock_reset();
  {
    // What was retired is given back first, which takes another mode.
    FrameScope frame(second);
    EXPECT_TRUE(frame.entered);
    EXPECT_GT(changes(), 1u);
  }
  EXPECT_EQ(user.seen, (std::vector<int>{Global, ThreadLocal}));
  EXPECT_EQ(mode(), ThreadLocal);
}

// A mode that could not be changed is not set back; the next call tries again.
TEST_P(CaptureMode, ChangeMayFail) {
  {
    FrameScope warm(*program);
    allocate(warm);
  }
  mock->mock_capture_mode(ThreadLocal);
  for (bool again : {false, true}) {
    {
      FrameScope frame(*program);
      mock->mock_fail(exchange, 1, 999);
      void *x = frame.alloc(nullptr, 1 << 20, GPUASYNC_ALLOC_HOST_SHARED);
      EXPECT_STREQ(mock->mock_failed(), exchange);
      EXPECT_EQ(mode(), ThreadLocal);
      if (again) {
        allocate(frame);
        EXPECT_EQ(mode(), Relaxed);
      }
      frame.dealloc(nullptr, x);
    }
    EXPECT_EQ(mode(), ThreadLocal);
    EXPECT_TRUE(context.trim().ok()); // so that the next asks the driver too
  }
  mock->mock_fail(nullptr, 0, 0);
}

} // namespace
