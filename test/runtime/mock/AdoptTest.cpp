//===- AdoptTest.cpp - Contexts of the embedder's -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context that the embedder made serves ours, is left as it was found on each
// thread, and may go away at the wrong time.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Adopt : public testing::Test {
protected:
  void SetUp() override {
    mock->mock_reset();
    native = mock->mock_context_create(1);
    ASSERT_EQ(mock->mock_context_pop(), native);
    Status status = Context::adopt("cuda", native, context);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void TearDown() override {
    EXPECT_EQ(mock->mock_calls("cuDevicePrimaryCtxRetain"), 0u);
    EXPECT_EQ(mock->mock_context_depth(), 0u);
    EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u);
  }

  /// Two streams, memory, copies, a token.
  static Status work(const Context &context, TestProgram &program) {
    ContextScope scope(context);
    std::vector<uint32_t> data(64, 5);
    FrameScope frame(program);
    gpuasync_stream *one = frame.stream(), *two = frame.stream();
    uint32_t *x = frame.alloc(one, 64);
    frame.copy(one, x, data.data(), 256);
    gpuasync_event *event = frame.record(one);
    frame.waitEvent(two, event);
    frame.destroy(event);
    frame.launch(two, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
    frame.copy(two, data.data(), x, 256);
    frame.wait({one, two});
    frame.dealloc(two, x);
    frame.destroy(one);
    frame.destroy(two, false);
    Status status = frame.leave();
    if (status.ok())
      EXPECT_EQ(data, std::vector<uint32_t>(64, 16));
    return status;
  }

  Mock *mock = mockOf("cuda");
  void *native = nullptr;
  Context context;
  TestProgram program;
};

TEST_F(Adopt, TheEmbeddersStaysAsItWas_X05) {
  EXPECT_STREQ(gpuasync_context_device(context.get()), "cuda:1");
  // No context, this one, another one is current.
  auto onThread = [&](std::vector<void *> stack) {
    for (void *entry : stack)
      mock->mock_context_push(entry);
    for (int i = 0; i < 3; ++i) {
      Status status = work(context, program);
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(mock->mock_context_depth(), stack.size());
      EXPECT_EQ(mock->mock_context_top(),
                stack.empty() ? nullptr : stack.back());
    }
    for (size_t i = 0; i < stack.size(); ++i)
      mock->mock_context_pop();
  };
  void *another = mock->mock_context_create(0);
  mock->mock_context_pop();
  onThread({});
  onThread({native});
  onThread({native, another});
  std::thread(onThread, std::vector<void *>{another}).join();
  Status status = context.close();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(mock->mock_live("context"), 2u) << "the embedder's, both";
  EXPECT_EQ(mock->mock_live("stream") + mock->mock_live("event") +
                mock->mock_live("module") + mock->mock_live("memory"),
            0u);
  mock->mock_context_destroy(native);
  mock->mock_context_destroy(another);
}

TEST_F(Adopt, DestroyedTooEarly_X06) {
  Status status = work(context, program);
  EXPECT_TRUE(status.ok()) << status.message();
  void *second = mock->mock_context_create(1);
  mock->mock_context_pop();
  Context other;
  status = Context::adopt("cuda", second, other);
  ASSERT_TRUE(status.ok()) << status.message();
  // What is kept of the driver's pool, which is the device's, nobody could give
  // back then.
  status = context.trim();
  EXPECT_TRUE(status.ok()) << status.message();
  mock->mock_context_destroy(native);
  for (int i = 0; i < 2; ++i) {
    ContextScope scope(context);
    FrameScope frame(program);
    EXPECT_FALSE(frame.entered);
    status = frame.leave();
    EXPECT_EQ(status.code(), GPUASYNC_DEVICE_LOST);
    EXPECT_NE(std::string(status.message()).find("was destroyed before"),
              std::string::npos)
        << status.message();
  }
  status = work(other, program);
  EXPECT_TRUE(status.ok()) << status.message();
  (void)context.close();
  status = other.close();
  EXPECT_TRUE(status.ok()) << status.message();
  mock->mock_context_destroy(second);
}

TEST_F(Adopt, WhatCannotBeAdoptedIsNamed) {
  Status closed = context.close();
  EXPECT_TRUE(closed.ok()) << closed.message();
  mock->mock_context_destroy(native);
  auto refused = [&](const char *driver, const char *why) {
    Context none;
    Status status = Context::adopt(driver, native, none);
    EXPECT_EQ(none.get(), nullptr);
    EXPECT_NE(std::string(status.message()).find(why), std::string::npos)
        << status.message();
  };
  refused("cuda", "the caller's context cannot be used: cuCtxGetId");
  refused("hip", "hip has no contexts that could be adopted");
  refused("cpu", "cpu has no contexts that could be adopted");
  refused("metal", "'metal' is no driver");
  Context none;
  EXPECT_EQ(Context::adopt("cuda", nullptr, none).code(),
            GPUASYNC_INVALID_ARGUMENT);
}

} // namespace
