//===- HipTest.cpp - What is peculiar to HIP, over the fake library -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Current devices, registered memory with an address of its own, cooperative
// launches.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// Three numbers on the context's device: x * 2 + 1.
bool runOnce(TestProgram &program, uint32_t flags = 0) {
  std::vector<uint32_t> host = {1, 2, 3};
  FrameScope frame(program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 3);
  frame.copy(stream, x, host.data(), 12);
  alignas(16) MulAddParams params = {x, 3, 2, 1};
  gpuasync_launch_config block = makeLaunch(2, 32, params);
  block.paramBytes = program.kernels[MulAdd].paramBytes;
  block.flags = flags;
  gpuasync_launch(&frame.frame, stream, program.launchSites[MulAdd], &block);
  frame.copy(stream, host.data(), x, 12);
  frame.dealloc(stream, x);
  bool done = frame.wait({stream}) == 0;
  frame.destroy(stream);
  return done && host == std::vector<uint32_t>{3, 5, 7};
}

/// With its own context on a device of choice.
class Hip : public testing::Test {
protected:
  void open(const char *device) {
    mock->mock_reset();
    Status status = Context::open(device, context);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void TearDown() override {
    program.reset();
    Status status = context.close();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u);
    EXPECT_EQ(mock->mock_live(nullptr), 0u);
  }

  Mock *mock = mockOf("hip-on-mock");
  std::unique_ptr<TestProgram> program = std::make_unique<TestProgram>();
  Context context;
};

TEST_F(Hip, TheCallersDeviceComesBack_X01) {
  open("hip:1");
  EXPECT_EQ(mock->mock_context_depth(), 0u); // the first device
  ContextScope scope(context);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(runOnce(*program));
    EXPECT_EQ(mock->mock_context_depth(), 0u);
  }
  // An error on the way out of the frame changes nothing in that.
  for (const char *call : {"hipMemcpyAsync", "hipModuleLaunchKernel",
                           "hipStreamQuery", "hipEventRecord"}) {
    mock->mock_fail(call, 1, 999);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 4), word = 0;
    frame.copy(stream, x, &word, 4);
    frame.launch(stream, Store, 1, 1, StoreParams{x, 1});
    frame.dealloc(stream, x);
    frame.wait({stream});
    frame.destroy(stream);
    (void)frame.leave();
    EXPECT_EQ(mock->mock_context_depth(), 0u) << call;
    mock->mock_fail(nullptr, 0, 0);
  }
}

TEST_F(Hip, TheRightDeviceIsNotSetAgain_X02) {
  open("hip:0");
  ContextScope scope(context);
  EXPECT_TRUE(runOnce(*program));
  uint64_t calls = mock->mock_calls("hipSetDevice");
  EXPECT_TRUE(runOnce(*program));
  EXPECT_EQ(mock->mock_calls("hipSetDevice"), calls);
}

TEST_F(Hip, RegisteredMemoryWithAnotherAddressIsRefused) {
  open("hip:0");
  mock->mock_configure("shifted", 1);
  ContextScope scope(context);
  std::vector<uint32_t> memory(4096);
  FrameScope frame(*program);
  gpuasync_host_register(&frame.frame, memory.data(), memory.size() * 4,
                         SITE("register"));
  Status status = frame.leave();
  mock->mock_configure("shifted", 0);
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
  std::string message = status.message();
  EXPECT_NE(message.find("sees registered host memory at another address"),
            std::string::npos)
      << message;
  // It is not ended in the middle, where that could wait for kernels; but
  // another registration of the place is one of its own.
  EXPECT_EQ(mock->mock_live("registration"), 1u);
  {
    FrameScope again(*program);
    gpuasync_host_register(&again.frame, memory.data(), memory.size() * 4,
                           SITE("register"));
    EXPECT_EQ(mock->mock_calls("hipHostRegister"), 2u);
    gpuasync_host_unregister(&again.frame, memory.data(), SITE("unregister"));
  }
  EXPECT_TRUE(runOnce(*program));
  EXPECT_EQ(mock->mock_live("registration"), 0u);
}

TEST_F(Hip, CooperativeLaunchesPassEachParameter) {
  open("hip:0");
  ContextScope scope(context);
  EXPECT_TRUE(runOnce(*program, GPUASYNC_LAUNCH_COOPERATIVE));
  EXPECT_EQ(mock->mock_calls("hipModuleLaunchCooperativeKernel"), 1u);
}

} // namespace
