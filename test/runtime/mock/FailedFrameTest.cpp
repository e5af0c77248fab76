//===- FailedFrameTest.cpp - Frames that have failed ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They still call the driver to give back what they hold.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class FailedFrame : public DeviceTest {};
INSTANTIATE_OVER_DEVICES(FailedFrame);

// A frame that has failed calls unknown code that leaves another context
// current; resume is to make the frame's current again.
TEST_P(FailedFrame, ResumeOfAFailedFrame) {
  if (device() != "cuda")
    GTEST_SKIP() << "hip has no contexts";
  for (bool fails : {false, true}) {
    uint32_t *x = nullptr;
    {
      FrameScope frame(*program);
      x = frame.alloc(nullptr, 64);
    }
    void *mine = nullptr, *before = nullptr, *after = nullptr;
    {
      FrameScope frame(*program);
      gpuasync_stream *a = frame.stream();
      uint32_t *y = frame.alloc(a, 64);
      frame.launch(a, Store, 1, 64, StoreParams{y, 1});
      before = mock->mock_context_top();
      if (fails)
        frame.launch(a, Store, -1, 64, StoreParams{x, 1});
      gpuasync_frame_suspend(frame);
      mine = mock->mock_context_create(0);
      gpuasync_frame_resume(frame);
      after = mock->mock_context_top();
      EXPECT_EQ(after, before);
      Status status = frame.leave();
      EXPECT_EQ(status.ok(), !fails) << status.message();
    }
    mock->mock_context_pop();
    mock->mock_context_destroy(mine);
    FrameScope frame(*program);
    frame.dealloc(nullptr, x);
  }
}

// Run by a child: the vendor's device is lost for the process.
TEST(FailedFrameBody, DISABLED_SourceOfADeviceThatIsLost) {
  const LeftBehind meant;
  const std::string name = getenv("GPU_ASYNC_TEST_DEVICE");
  Context first, second;
  ASSERT_TRUE(Context::open(name.c_str(), first).ok());
  ASSERT_TRUE(Context::open((name + ":1").c_str(), second).ok());
  gpuasync_context *both[] = {first.get(), second.get()};
  ASSERT_EQ(gpuasync_scope_push_devices(both, 2), nullptr);
  TestProgram program;
  program.function.deviceCount = 2;
  std::vector<uint32_t> host(64);
  gpuasync_set_timeout(3);
  {
    FrameScope frame(program);
    gpuasync_stream *a = frame.stream(0), *b = frame.stream(1);
    uint32_t *x = frame.alloc(a, 64, 0, 0), *y = frame.alloc(b, 64, 0, 1);
    Mock *mock = mockOf((name + "-on-mock").c_str());
    mock->mock_gate_close("fail");
    frame.launch(b, Fail, 1, 1, FailParams{1});
    frame.copy(b, host.data(), y, 256);
    mock->mock_gate_open("fail");
    frame.copy(a, x, host.data(), 256);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_DEVICE_LOST));
  }
  fflush(nullptr);
  _exit(testing::Test::HasFailure());
}

TEST_P(FailedFrame, SourceOfADeviceThatIsLost) {
  if (std::string(GetParam()).find("-on-mock") == std::string::npos)
    GTEST_SKIP() << "needs two devices of a fake library";
  EXPECT_EQ(runBody(device(), "--gtest_filter=FailedFrameBody.*"), 0);
}

} // namespace
