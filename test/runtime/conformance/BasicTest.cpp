//===- BasicTest.cpp - Frames, work, results on every device --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plain path: enter, allocate, copy, launch, wait, leave.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Basic : public DeviceTest {};
INSTANTIATE_OVER_DEVICES(Basic);

TEST_P(Basic, EmptyFrame) {
  FrameScope frame(*program);
  EXPECT_TRUE(frame.entered);
}

TEST_P(Basic, UploadLaunchDownload) {
  std::vector<uint32_t> in(1000), out(1000, 7);
  for (uint32_t i = 0; i < 1000; ++i)
    in[i] = i;
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 1000), *y = frame.alloc(stream, 1000);
  frame.copy(stream, x, in.data(), 4000);
  frame.launch(stream, AddUp, 8, 128, AddUpParams{y, x, 1000, 5});
  frame.copy(stream, out.data(), y, 4000);
  frame.dealloc(stream, x);
  frame.dealloc(stream, y);
  EXPECT_EQ(frame.wait({stream}), 0);
  frame.destroy(stream);
  for (uint32_t i = 0; i < 1000; ++i)
    ASSERT_EQ(out[i], i + 5);
}

TEST_P(Basic, ForkAndJoin) {
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> out(256);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 256), *y = frame.alloc(a, 256);
    frame.launch(a, Store, 2, 128, StoreParams{x, 3});
    gpuasync_event *fork = frame.record(a);
    frame.waitEvent(b, fork);
    frame.destroy(fork);
    frame.launch(b, AddUp, 2, 128, AddUpParams{y, x, 256, 10});
    gpuasync_event *join = frame.record(b);
    frame.waitEvent(a, join);
    frame.destroy(join);
    frame.launch(a, MulAdd, 2, 128, MulAddParams{y, 256, 2, 1});
    frame.copy(a, out.data(), y, 1024);
    frame.dealloc(a, x);
    frame.dealloc(a, y);
    frame.wait({a, b});
    frame.destroy(b);
    frame.destroy(a);
    ASSERT_FALSE(frame.failed());
    for (uint32_t value : out)
      ASSERT_EQ(value, 27u);
  }
  // S02: warm acquires make no driver object.
  gpuasync_stats stats = readStats(context);
  EXPECT_EQ(stats.streams.created, 400u);
  EXPECT_EQ(stats.streams.destroyed, 400u);
  EXPECT_EQ(stats.streams.peak, 2u);
  EXPECT_LE(stats.streams.physical, 3u);
  EXPECT_EQ(stats.events.created, 400u);
  EXPECT_EQ(stats.launches, 600u);
  EXPECT_EQ(stats.hostWaits, 200u);
  EXPECT_EQ(stats.moduleCacheMisses, 1u);
  EXPECT_EQ(stats.moduleCacheHits, 199u);
  EXPECT_EQ(stats.buffers.live, 0u);
}

// S10: what a program has is counted while it has it, and is zero at the end.
TEST_P(Basic, CountersReadZeroAfterwards_S10) {
  auto other = std::make_unique<TestProgram>(TestProgram::All, "other");
  {
    FrameScope frame(*other);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 32);
    frame.launch(stream, Store, 1, 32, StoreParams{x, 1});
    gpuasync_event *event = frame.record(stream);
    gpuasync_stats stats = readStats(context);
    EXPECT_EQ(stats.streams.live, 1u);
    EXPECT_EQ(stats.events.live, 1u);
    EXPECT_EQ(stats.modules.live, 1u);
    EXPECT_EQ(stats.buffers.live, 1u);
    EXPECT_EQ(stats.bufferBytes, 128u);
    EXPECT_GE(stats.streams.physical, 1u);
    EXPECT_GE(stats.events.physical, 1u);
    EXPECT_EQ(stats.modules.physical, 1u);
    EXPECT_GE(stats.deviceBytes, 128u);
    frame.destroy(event);
    frame.dealloc(stream, x);
    frame.wait({stream});
    frame.destroy(stream);
  }
  other.reset();
  gpuasync_stats stats = readStats(context);
  for (const gpuasync_object_stats *object :
       {&stats.streams, &stats.events, &stats.modules, &stats.buffers}) {
    EXPECT_EQ(object->live, 0u);
    EXPECT_EQ(object->created, object->destroyed);
  }
  EXPECT_EQ(stats.bufferBytes, 0u);
  Status status = context.close();
  EXPECT_TRUE(status.ok()) << status.message();
  stats = readStats(context);
  for (const gpuasync_object_stats *object :
       {&stats.streams, &stats.events, &stats.modules, &stats.buffers})
    EXPECT_EQ(object->physical, 0u);
  EXPECT_EQ(stats.deviceBytes, 0u);
}

// D20: an empty grid does nothing and keeps order.
TEST_P(Basic, EmptyLaunch) {
  std::vector<uint32_t> out(32);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 32);
  frame.launch(stream, Store, 1, 32, StoreParams{x, 1});
  frame.launch(stream, Store, 0, 32, StoreParams{x, 2});
  frame.launch(stream, Store, 1, 0, StoreParams{x, 2});
  frame.copy(stream, out.data(), x, 128);
  frame.wait({stream});
  frame.dealloc(nullptr, x);
  EXPECT_EQ(out, std::vector<uint32_t>(32, 1));
}

TEST_P(Basic, DynamicSharedMemory) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *out = frame.alloc(stream, 1, GPUASYNC_ALLOC_HOST_SHARED);
  frame.launch(stream, Shared, 1, 1, SharedParams{out, 1000}, 4000);
  frame.wait({stream});
  EXPECT_EQ(*out, 999u);
  frame.dealloc(nullptr, out);
}

TEST_P(Basic, HostSharedIsHostMemory) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *x = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
  for (uint32_t i = 0; i < 64; ++i)
    x[i] = i;
  frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
  frame.wait({stream});
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(x[i], 3 * i + 1);
  frame.dealloc(nullptr, x);
}

TEST_P(Basic, NestedFrames) {
  TestProgram inner(TestProgram::All, "inner");
  std::vector<uint32_t> out(32);
  {
    FrameScope outer(*program);
    gpuasync_stream *stream = outer.stream();
    uint32_t *x = outer.alloc(stream, 32);
    outer.launch(stream, Store, 1, 32, StoreParams{x, 4});
    outer.wait({stream});
    {
      FrameScope frame(inner);
      gpuasync_stream *own = frame.stream();
      frame.launch(own, MulAdd, 1, 32, MulAddParams{x, 32, 2, 0});
      frame.wait({own});
    }
    gpuasync_frame_resume(outer);
    outer.copy(stream, out.data(), x, 128);
    outer.wait({stream});
    outer.dealloc(stream, x);
  }
  EXPECT_EQ(out, std::vector<uint32_t>(32, 8));
}

// The token of one function handed to another, and waited for by the caller.
TEST_P(Basic, TokenResultAndArgument) {
  std::vector<uint32_t> out(32);
  uint32_t *x = nullptr;
  gpuasync_event *token = nullptr;
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    x = frame.alloc(stream, 32);
    frame.launch(stream, Store, 1, 32, StoreParams{x, 6});
    token = gpuasync_event_export(frame, frame.record(stream), SITE("return"));
  }
  ASSERT_NE(token, nullptr);
  {
    FrameScope frame(*program);
    token = gpuasync_event_import(frame, token, SITE("func"));
    gpuasync_stream *stream = frame.stream();
    frame.waitEvent(stream, token);
    frame.launch(stream, MulAdd, 1, 32, MulAddParams{x, 32, 2, 1});
    frame.copy(stream, out.data(), x, 128); // finished by the wait below
    frame.dealloc(stream, x);
    token = gpuasync_event_export(frame, frame.record(stream), SITE("return"));
  }
  Status status(gpuasync_event_wait(token));
  EXPECT_TRUE(status.ok()) << status.message();
  gpuasync_event_release(token);
  EXPECT_EQ(out, std::vector<uint32_t>(32, 13));
}

} // namespace
