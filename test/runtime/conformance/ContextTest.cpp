//===- ContextTest.cpp - Several contexts, several threads ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// T05: contexts that threads keep to themselves, one that all share, and one
// that goes from thread to thread with its buffers and tokens.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <atomic>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Contexts : public DeviceTest {
protected:
  static constexpr int threadCount = 8;

  /// Runs `body(number)` on all threads, which begin together.
  template <typename Body>
  static void onThreads(Body body) {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < threadCount; ++i)
      threads.emplace_back([&, i] {
        ++ready;
        while (ready < threadCount)
          std::this_thread::yield();
        body(i);
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  /// x[i] = x[i] * 3 + value on one stream, read back on another.
  static bool step(TestProgram &program, uint32_t *x, uint32_t value,
                   std::vector<uint32_t> &out) {
    FrameScope frame(program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    frame.launch(a, MulAdd, 1, 64, MulAddParams{x, 64, 3, value});
    gpuasync_event *event = frame.record(a);
    frame.waitEvent(b, event);
    frame.destroy(event);
    frame.copy(b, out.data(), x, 256);
    frame.wait({a, b});
    frame.destroy(a);
    frame.destroy(b);
    return !frame.failed();
  }
  static uint32_t *make(TestProgram &program, uint32_t value) {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Store, 1, 64, StoreParams{x, value});
    frame.wait({stream});
    frame.destroy(stream);
    return x;
  }
  static void free(TestProgram &program, uint32_t *x) {
    FrameScope frame(program);
    frame.dealloc(nullptr, x);
  }
  static bool isAll(const std::vector<uint32_t> &values, uint32_t value) {
    return values == std::vector<uint32_t>(values.size(), value);
  }
};
INSTANTIATE_OVER_DEVICES(Contexts);

TEST_P(Contexts, EachThreadItsOwn_T05) {
  Context own[threadCount];
  for (Context &each : own) {
    Status status = Context::open(device().c_str(), each);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::atomic<int> right{0};
  onThreads([&](int number) {
    ContextScope inner(own[number]);
    uint32_t value = static_cast<uint32_t>(number), expected = value;
    std::vector<uint32_t> out(64);
    uint32_t *x = make(*program, value);
    bool good = true;
    for (int i = 0; i < 20; ++i) {
      expected = expected * 3 + value;
      good &= step(*program, x, value, out) && isAll(out, expected);
    }
    free(*program, x);
    right += good;
  });
  EXPECT_EQ(right, threadCount);
  for (Context &each : own) {
    EXPECT_EQ(readStats(each).launches, 21u);
    EXPECT_EQ(readStats(each).moduleCacheMisses, 1u);
    Status status = each.close();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(readStats(context).launches, 0u);
}

// A stream that was given back may stand in a wait that nothing is behind.
TEST_P(Contexts, ClosesBehindTrailingWaits) {
  for (int round = 0; round < 40; ++round) {
    Context own;
    Status status = Context::open(device().c_str(), own);
    ASSERT_TRUE(status.ok()) << status.message();
    {
      ContextScope inner(own);
      FrameScope frame(*program);
      gpuasync_stream *a = frame.stream(), *b = frame.stream();
      uint32_t *x = frame.alloc(a, 64);
      frame.launch(b, Store, 1, 1, StoreParams{x, 1});
      frame.wait({b});
      frame.launch(a, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
      gpuasync_event *event = frame.record(a);
      frame.waitEvent(b, event);
      frame.destroy(event);
      frame.dealloc(a, x);
      frame.wait({a});
      frame.destroy(a);
      frame.destroy(b);
      ASSERT_FALSE(frame.failed());
    }
    status = own.close();
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

TEST_P(Contexts, AllThreadsOne_T05) {
  std::atomic<int> right{0};
  onThreads([&](int number) {
    ContextScope inner(context);
    uint32_t value = static_cast<uint32_t>(number), expected = value;
    std::vector<uint32_t> out(64);
    uint32_t *x = make(*program, value);
    bool good = true;
    for (int i = 0; i < 20; ++i) {
      expected = expected * 3 + value;
      good &= step(*program, x, value, out) && isAll(out, expected);
    }
    free(*program, x);
    right += good;
  });
  EXPECT_EQ(right, threadCount);
  EXPECT_EQ(readStats(context).launches, uint64_t(threadCount) * 21);
  EXPECT_EQ(readStats(context).moduleCacheMisses, 1u);
}

// Each thread takes over the buffer and the token of the one before it, whose
// work may still be running, and passes both on.
TEST_P(Contexts, FromThreadToThread_T05) {
  uint32_t *flag = nullptr, *x = nullptr;
  gpuasync_event *token = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    gpuasync_stream *stream = frame.stream();
    x = frame.alloc(stream, 64);
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    token = gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    frame.destroy(stream, false);
  }
  uint32_t expected = 1;
  for (uint32_t i = 0; i < 20; ++i) {
    std::thread([&] {
      ContextScope inner(context);
      FrameScope frame(*program);
      gpuasync_event *taken = gpuasync_event_import(frame, token, SITE("func"));
      gpuasync_stream *stream = frame.stream();
      frame.waitEvent(stream, taken);
      frame.destroy(taken);
      frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 3, i});
      token =
          gpuasync_event_export(frame, frame.record(stream), SITE("return"));
      frame.destroy(stream, false);
    }).join();
    expected = expected * 3 + i;
  }
  openGate(flag);
  Status status(gpuasync_event_wait(token));
  EXPECT_TRUE(status.ok()) << status.message();
  gpuasync_event_release(token);
  std::vector<uint32_t> out(64);
  EXPECT_TRUE(step(*program, x, 0, out));
  EXPECT_TRUE(isAll(out, expected * 3));
  free(*program, x);
  free(*program, flag);
}

// What a launch was given may be overwritten as soon as it returns, and what it
// works on freed, although it has not begun.
TEST_P(Contexts, ParametersAreCopied_M09) {
  std::vector<uint32_t> out(64);
  FrameScope frame(*program);
  uint32_t *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 64);
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  alignas(16) StoreParams params = {x, 7};
  gpuasync_launch_config block = makeLaunch(1, 64, params);
  block.paramBytes = program->kernels[Store].paramBytes;
  gpuasync_launch(frame, stream, program->launchSites[Store], &block);
  memset(&params, 0xff, sizeof(params));
  memset(&block, 0xff, sizeof(block));
  frame.copy(stream, out.data(), x, 256);
  frame.dealloc(stream, x);
  openGate(flag);
  frame.wait({stream});
  EXPECT_TRUE(isAll(out, 7));
  frame.destroy(stream);
  frame.dealloc(nullptr, flag);
}

// A stream's points are passed in the order in which they were recorded, and a
// wait returns when what came before its point is there, no sooner.
TEST_P(Contexts, PointsArePassedInOrder_S05) {
  constexpr uint32_t points = 8;
  FrameScope frame(*program);
  uint32_t *flags =
      frame.alloc(nullptr, 2 * points, GPUASYNC_ALLOC_HOST_SHARED);
  memset(flags, 0, 2 * points * 4);
  uint32_t *raised = flags + points;
  gpuasync_stream *stream = frame.stream();
  std::vector<gpuasync_event *> events;
  for (uint32_t i = 0; i < points; ++i) {
    frame.launch(stream, Gate, 1, 1, GateParams{flags + i});
    frame.launch(stream, Raise, 1, 1, GateParams{raised + i});
    events.push_back(frame.record(stream));
  }
  for (uint32_t i = 0; i < points; ++i) {
    EXPECT_FALSE(isSet(raised + i));
    openGate(flags + i);
    EXPECT_EQ(frame.waitHost(events[i]), 0);
    for (uint32_t j = 0; j < points; ++j)
      EXPECT_EQ(isSet(raised + j), j <= i);
  }
  for (gpuasync_event *event : events)
    frame.destroy(event);
  frame.wait({stream});
  frame.destroy(stream);
  frame.dealloc(nullptr, flags);
}

// A token that outlives its context's close is named by that, cannot be waited
// for, and is released without harm.
TEST_P(Contexts, TokenAfterClose_S07) {
  Context other;
  Status status = Context::open(device().c_str(), other);
  ASSERT_TRUE(status.ok()) << status.message();
  gpuasync_event *token = nullptr;
  {
    ContextScope inner(other);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    token = gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    frame.destroy(stream, false);
  }
  status = other.close();
  EXPECT_NE(std::string(status.message()).find("1 events"), std::string::npos)
      << status.message();
  Status waited(gpuasync_event_wait(token));
  EXPECT_EQ(waited.code(), GPUASYNC_SHUT_DOWN);
  gpuasync_event_release(token);
  EXPECT_EQ(readStats(other).events.physical, 0u);
}

// What an embedder holds of a context outlives it, also when no thread has a
// part of it any more.
TEST_P(Contexts, TokenAndStreamOutliveTheirContext_S07) {
  gpuasync_event *token = nullptr;
  gpuasync_stream *mine = nullptr;
  std::thread([&] {
    Context other;
    Status status = Context::open(device().c_str(), other);
    ASSERT_TRUE(status.ok()) << status.message();
    ContextScope inner(other);
    ASSERT_EQ(gpuasync_context_stream_create(other.get(), &mine), nullptr);
    {
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      token =
          gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    }
    status = other.close();
    EXPECT_NE(std::string(status.message()).find("1 streams, 1 events"),
              std::string::npos)
        << status.message();
  }).join();
  Status waited(gpuasync_event_wait(token));
  EXPECT_EQ(waited.code(), uint32_t(GPUASYNC_SHUT_DOWN)) << waited.message();
  {
    FrameScope frame(*program);
    EXPECT_EQ(gpuasync_event_import(frame, token, SITE("argument")), nullptr);
    Status refused = frame.leave();
    EXPECT_EQ(refused.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT))
        << refused.message();
  }
  Status synchronized(gpuasync_context_stream_synchronize(mine));
  EXPECT_EQ(synchronized.code(), uint32_t(GPUASYNC_SHUT_DOWN));
  gpuasync_context_stream_destroy(mine);
}

} // namespace
