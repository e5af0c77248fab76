//===- AbandonedTest.cpp - Work that calls leave unfinished ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call that gives up leaves work on the device that uses the call's memory.
// Later calls begin behind it or fail, and there is a way to wait for it.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "shim/context/ContextImpl.h"

#include <optional>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// A time limit of all waits that begin while it lives.
class TimeLimit {
public:
  explicit TimeLimit(double seconds) { gpuasync_set_timeout(seconds); }
  TimeLimit(const TimeLimit &) = delete;
  ~TimeLimit() { gpuasync_set_timeout(0); }
};

class Abandoned : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!context.get())
      return;
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    begun = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    x = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    std::fill(x, x + 64, 0);
  }
  void TearDown() override {
    gpuasync_set_timeout(0);
    if (context.get()) {
      openGate(flag);
      FrameScope frame(*program);
      frame.dealloc(nullptr, flag);
      frame.dealloc(nullptr, begun);
      frame.dealloc(nullptr, x);
    }
    DeviceTest::TearDown();
  }

  /// Writes `value` to x. Work that the gate holds has begun: the cpu device
  /// drops other work when a call gives up.
  void enqueue(FrameScope &frame, gpuasync_stream *stream, uint32_t value,
               bool held) {
    if (held)
      hold(frame, stream);
    frame.launch(stream, Store, 1, 64, StoreParams{x, value});
  }
  void hold(FrameScope &frame, gpuasync_stream *stream) {
    __atomic_store_n(begun, 0, __ATOMIC_RELEASE);
    frame.launch(stream, Meet, 1, 1, MeetParams{begun, flag});
    while (!isSet(begun))
      std::this_thread::yield();
  }
  /// A call that gives up while its work is held by the gate.
  void giveUp(uint32_t value) {
    TimeLimit limit(0.02);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    enqueue(frame, stream, value, /*held=*/true);
    EXPECT_EQ(frame.wait({stream}), 1);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
    expectContains(status, "unfinished: test.mlir:13:5: meet");
    expectContains(status, "uses the memory of the call");
  }
  Status call(uint32_t value) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    enqueue(frame, stream, value, /*held=*/false);
    frame.wait({stream});
    return frame.leave();
  }
  /// Abandoned work is held by the gate: a call fails, and whoever asks is
  /// told.
  void expectAbandoned(const char *what = "meet") {
    TimeLimit limit(0.02);
    Status status = call(99);
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT)) << status.message();
    expectContains(status, "waiting for what an earlier call left behind");
    expectContains(status, what);
    EXPECT_NE(x[0], 99u);
    for (double seconds : {0.0, 0.01}) {
      status = context.waitAbandoned(seconds);
      EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
      expectContains(status, what);
    }
  }
  /// A call waits at its beginning for what the gate holds, and its result
  /// stays.
  void expectOrdered(uint32_t value) {
    {
      Watched later([&] {
        ContextScope inner(context);
        Status status = call(value);
        EXPECT_TRUE(status.ok()) << status.message();
      });
      later.settle();
      EXPECT_FALSE(later.isOver());
      EXPECT_NE(x[0], value);
      openGate(flag);
    }
    EXPECT_EQ(x[0], value);
    expectNone();
    EXPECT_TRUE(Status(gpuasync_context_trim(context.get(), 10)).ok());
    EXPECT_EQ(x[0], value);
  }
  void expectNone() {
    Status status = context.waitAbandoned(0);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void expectContains(const Status &status, const char *text) {
    EXPECT_NE(std::string(status.message()).find(text), std::string::npos)
        << status.message();
  }

  uint32_t *flag = nullptr, *begun = nullptr, *x = nullptr;
};
INSTANTIATE_OVER_DEVICES(Abandoned);

TEST_P(Abandoned, LaterCallsBeginBehindIt_E03) {
  expectNone();
  giveUp(1);
  expectAbandoned();
  expectOrdered(2);
}

// Whoever waits for it may free the call's memory.
TEST_P(Abandoned, FunctionsThatOnlyEnqueueDoNotWait_E03) {
  giveUp(7);
  TimeLimit limit(0.02);
  program->function.flags = GPUASYNC_FUNCTION_ENQUEUES;
  {
    FrameScope frame(*program);
    EXPECT_FALSE(frame.failed());
  }
  program->function.flags = 0;
  expectAbandoned();
}

TEST_P(Abandoned, CanBeWaitedFor_B05) {
  giveUp(1);
  {
    Watched waiting([&] {
      Status status = context.waitAbandoned();
      EXPECT_TRUE(status.ok()) << status.message();
      // The cpu drops what has not begun.
      EXPECT_EQ(x[0], onCpu() ? 0u : 1u);
      x[0] = 77;
    });
    waiting.settle();
    EXPECT_FALSE(waiting.isOver());
    openGate(flag);
  }
  expectNone();
  EXPECT_TRUE(Status(gpuasync_context_trim(context.get(), 10)).ok());
  EXPECT_EQ(x[0], 77u);
}

// Kernels of the cpu that end by themselves do so early, and the call waits for
// that: its memory is the caller's again.
TEST_P(Abandoned, KernelsEndEarly_B05) {
  if (!onCpu())
    GTEST_SKIP() << "what runs on a GPU cannot be ended";
  constexpr uint32_t blocks = 1 << 24;
  Status status;
  {
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    frame.launch(a, MulAdd, blocks, 64, MulAddParams{x, 64, 1, 1});
    gpuasync_event *ahead = frame.record(a);
    frame.waitEvent(b, ahead);
    for (int i = 0; i < 100; ++i)
      frame.launch(b, MulAdd, blocks, 64, MulAddParams{x, 64, 1, 1});
    TimeLimit limit(0.005);
    EXPECT_EQ(frame.wait({b}), 1);
    status = frame.leave();
  }
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
  EXPECT_EQ(std::string(status.message()).find("uses the memory"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(context.get()->abandoned.load(), 0u);
  std::fill(x, x + 64, 77);
  EXPECT_TRUE(Status(gpuasync_context_trim(context.get(), 10)).ok());
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(x[i], 77u);
  EXPECT_TRUE(call(5).ok());
  EXPECT_EQ(x[0], 5u);
}

// All of a call's streams count, those that it has given back too.
TEST_P(Abandoned, StreamsOfACall_E03) {
  {
    TimeLimit limit(0.02);
    FrameScope frame(*program);
    gpuasync_stream *held = frame.stream(), *other = frame.stream();
    enqueue(frame, held, 1, /*held=*/true);
    frame.destroy(held, /*idle=*/false);
    hold(frame, other);
    EXPECT_EQ(frame.wait({other}), 1);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_TIMEOUT));
  }
  expectAbandoned();
  expectOrdered(2);
}

// A call with another error that gives up in the end says so.
TEST_P(Abandoned, AfterAnotherError_E03) {
  {
    TimeLimit limit(0.02);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    enqueue(frame, stream, 1, /*held=*/true);
    frame.launch(stream, Store, -1, 64, StoreParams{x, 9});
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    expectContains(status, "unfinished: ");
    expectContains(status, "meet");
    expectContains(status, "uses the memory of the call");
  }
  expectAbandoned();
  expectOrdered(2);
}

// What a token stands for is abandoned when it is released after a wait that
// gave up, not when it is released before its point is reached.
TEST_P(Abandoned, Tokens_E03) {
  auto start = [&](bool stores) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    hold(frame, stream);
    if (stores)
      frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    gpuasync_event *token =
        gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    frame.destroy(stream, /*idle=*/false);
    return token;
  };
  gpuasync_event *early = start(/*stores=*/false);
  gpuasync_event_release(early);
  EXPECT_TRUE(call(2).ok());
  gpuasync_event *late = start(/*stores=*/true);
  {
    TimeLimit limit(0.02);
    EXPECT_EQ(Status(gpuasync_event_wait(late)).code(),
              uint32_t(GPUASYNC_TIMEOUT));
  }
  expectNone(); // the caller has the token still
  gpuasync_event_release(late);
  expectAbandoned("record");
  expectOrdered(4);
}

// A wait that comes to its end after one that gave up leaves nothing behind.
TEST_P(Abandoned, TokenThatIsReachedAfterAll_E03) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  enqueue(frame, stream, 1, /*held=*/true);
  gpuasync_event *token =
      gpuasync_event_export(frame, frame.record(stream), SITE("return"));
  {
    TimeLimit limit(0.02);
    EXPECT_EQ(Status(gpuasync_event_wait(token)).code(),
              uint32_t(GPUASYNC_TIMEOUT));
  }
  openGate(flag);
  EXPECT_EQ(gpuasync_event_wait(token), nullptr);
  gpuasync_event_release(token);
  EXPECT_EQ(context.get()->abandoned.load(), 0u);
}

// A call that fails takes the tokens that it was given with it.
TEST_P(Abandoned, TokensOfAFailedCall_E03) {
  gpuasync_event *token = nullptr;
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    enqueue(frame, stream, 1, /*held=*/true);
    token = gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    frame.destroy(stream, /*idle=*/false);
  }
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    gpuasync_event_import(frame, token, SITE("argument"));
    frame.launch(stream, Store, -1, 64, StoreParams{x, 9});
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  }
  expectAbandoned("record");
  expectOrdered(2);
}

// A stream of the caller's that is destroyed after a wait that gave up.
TEST_P(Abandoned, CallersStream_E03) {
  gpuasync_stream *mine = nullptr;
  ASSERT_EQ(gpuasync_context_stream_create(context.get(), &mine), nullptr);
  auto enqueueOn = [&](uint32_t value) {
    FrameScope frame(*program);
    gpuasync_stream *stream = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(mine), SITE("external"));
    enqueue(frame, stream, value, /*held=*/true);
    frame.destroy(stream);
  };
  enqueueOn(1);
  EXPECT_TRUE(call(2).ok());
  {
    TimeLimit limit(0.02);
    EXPECT_EQ(Status(gpuasync_context_stream_synchronize(mine)).code(),
              uint32_t(GPUASYNC_TIMEOUT));
  }
  expectNone();
  gpuasync_context_stream_destroy(mine);
  // Elsewhere nobody knows what is on it.
  expectAbandoned(onCpu() ? "meet" : "unfinished: unknown");
  expectOrdered(3);
}

// Calls on other contexts go on, and calls of many threads wait at once.
TEST_P(Abandoned, OtherContextsAndThreads_E03) {
  Context other;
  ASSERT_TRUE(Context::open(device().c_str(), other).ok());
  // With memory of the call's own.
  auto callOn = [&](Context &there) {
    ContextScope inner(there);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *y = frame.alloc(stream, 64), word = 0;
    frame.launch(stream, Store, 1, 64, StoreParams{y, 5});
    frame.copy(stream, &word, y, 4);
    frame.dealloc(stream, y);
    return frame.wait({stream}) == 0 && frame.leave().ok() && word == 5;
  };
  EXPECT_TRUE(callOn(other)); // its first call may wait for the device
  giveUp(1);
  EXPECT_TRUE(callOn(other));
  EXPECT_TRUE(other.waitAbandoned(0).ok());
  // Null asks for all of them.
  EXPECT_EQ(Status(gpuasync_context_wait_abandoned(nullptr, 0)).code(),
            uint32_t(GPUASYNC_TIMEOUT));
  std::atomic<int> right{0};
  {
    std::vector<std::unique_ptr<Watched>> threads;
    for (uint32_t i = 0; i < 8; ++i)
      threads.push_back(
          std::make_unique<Watched>([&] { right += callOn(context); }));
    for (auto &thread : threads) {
      thread->settle();
      EXPECT_FALSE(thread->isOver());
    }
    openGate(flag);
  }
  EXPECT_EQ(right, 8);
  EXPECT_TRUE(call(7).ok());
  EXPECT_EQ(x[0], 7u);
  EXPECT_EQ(gpuasync_context_wait_abandoned(nullptr, 0), nullptr);
  EXPECT_TRUE(other.close().ok());
}

// A context that is closed with its work unfinished leaves it to the next one
// of the device.
TEST_P(Abandoned, OfAContextThatWasClosed_E03) {
  const LeftBehind meant;
  static uint32_t gate[1], y[64];
  gate[0] = 0;
  std::fill(y, y + 64, 0);
  // Whose kernels run at an unknown time.
  static TestProgram &work = *new TestProgram;
  Context first, second;
  ASSERT_TRUE(Context::open("cpu", first).ok());
  {
    ContextScope inner(first);
    FrameScope frame(work);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Gate, 1, 1, GateParams{gate});
    frame.launch(stream, Store, 1, 64, StoreParams{y, 1});
    frame.destroy(stream, /*idle=*/false);
  }
  {
    TimeLimit limit(0.02);
    EXPECT_EQ(first.close().code(), uint32_t(GPUASYNC_TIMEOUT));
  }
  EXPECT_EQ(first.waitAbandoned(0.01).code(), uint32_t(GPUASYNC_TIMEOUT));
  expectContains(first.waitAbandoned(0.01), "left behind; unfinished: test.");
  ASSERT_TRUE(Context::open("cpu", second).ok());
  auto store = [&](uint32_t value) {
    ContextScope inner(second);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Store, 1, 64, StoreParams{y, value});
    frame.wait({stream});
    return frame.leave();
  };
  {
    TimeLimit limit(0.02);
    Status status = store(2);
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
    expectContains(status, "context that was closed");
  }
  openGate(gate);
  EXPECT_TRUE(first.waitAbandoned().ok());
  EXPECT_EQ(y[0], 1u);
  EXPECT_TRUE(store(3).ok());
  EXPECT_EQ(y[0], 3u);
  EXPECT_TRUE(second.close().ok());
}

/// Waits for work of a context that another thread closes.
class WhileClosing : public Abandoned {
protected:
  void SetUp() override {
    Abandoned::SetUp();
    if (!context.get())
      return;
    ASSERT_TRUE(Context::open(device().c_str(), other).ok());
    ASSERT_EQ(gpuasync_context_stream_create(other.get(), &mine), nullptr);
  }
  void TearDown() override {
    if (flag)
      openGate(flag);
    closing.reset();
    gpuasync_context_stream_destroy(mine);
    other = Context();
    Abandoned::TearDown();
  }

  /// Puts work that writes 1 to x on the caller's stream, behind the gate.
  void enqueueOnMine() {
    ContextScope inner(other);
    FrameScope frame(*program);
    gpuasync_stream *stream = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(mine), SITE("external"));
    enqueue(frame, stream, 1, /*held=*/true);
    frame.destroy(stream, /*idle=*/false);
  }
  gpuasync_event *makeToken() {
    ContextScope inner(other);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    enqueue(frame, stream, 1, /*held=*/true);
    gpuasync_event *token =
        gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    frame.destroy(stream, /*idle=*/false);
    return token;
  }
  /// Closes the other context on another thread, until that waits for work. It
  /// has read its time limit then.
  void beginClose() {
    closing = std::make_unique<Watched>([&] { closed = other.close(); });
    while (other.get()->state.load() == gpuasync_context::State::Open)
      std::this_thread::yield();
    closing->settle();
  }
  /// `wait` comes back once the work behind the gate is done, with its status.
  template <typename Wait>
  void expectWaits(Wait wait, uint32_t code = GPUASYNC_OK) {
    {
      Watched waiting([&] {
        Status status(wait());
        EXPECT_EQ(status.code(), code) << status.message();
        EXPECT_EQ(x[0], 1u);
      });
      waiting.settle();
      EXPECT_FALSE(waiting.isOver());
      openGate(flag);
    }
    if (closing)
      closing->join();
  }

  Context other;
  Status closed;
  gpuasync_stream *mine = nullptr;
  std::unique_ptr<Watched> closing;
};
INSTANTIATE_OVER_DEVICES(WhileClosing);

TEST_P(WhileClosing, WaitsForCallersStreamsComeBackLate_B05) {
  enqueueOnMine();
  beginClose();
  expectWaits([&] { return gpuasync_context_stream_synchronize(mine); });
  expectContains(closed, "1 streams");
  EXPECT_EQ(Status(gpuasync_context_stream_synchronize(mine)).code(),
            uint32_t(GPUASYNC_SHUT_DOWN));
}

TEST_P(WhileClosing, WaitsForTokensComeBackLate_S07) {
  gpuasync_event *token = makeToken();
  beginClose();
  expectWaits([&] { return gpuasync_event_wait(token); });
  expectContains(closed, "1 events");
  EXPECT_EQ(Status(gpuasync_event_wait(token)).code(),
            uint32_t(GPUASYNC_SHUT_DOWN));
  gpuasync_event_release(token);
}

// The close reads a failure of the stream's work while the wait takes it.
TEST_P(WhileClosing, FailuresComeBackLate_B05) {
  if (!onCpu())
    GTEST_SKIP() << "a failed assert loses a GPU";
  enqueueOnMine();
  {
    ContextScope inner(other);
    FrameScope frame(*program);
    gpuasync_stream *stream = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(mine), SITE("external"));
    frame.launch(stream, Fail, 1, 1, FailParams{1});
    frame.destroy(stream, /*idle=*/false);
  }
  beginClose();
  expectWaits([&] { return gpuasync_context_stream_synchronize(mine); },
              GPUASYNC_KERNEL_ASSERT);
}

// A wait is for its own work only: what else the close waits for may come after
// it.
TEST_P(WhileClosing, WaitsDoNotWaitForTheClose_S07) {
  gpuasync_event *token = nullptr;
  {
    ContextScope inner(other);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    token = gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    frame.wait({stream});
    hold(frame, stream);
    frame.destroy(stream, /*idle=*/false);
  }
  beginClose();
  EXPECT_EQ(gpuasync_event_wait(token), nullptr);
  EXPECT_FALSE(closing->isOver());
  openGate(flag);
  closing->join();
  gpuasync_event_release(token);
}

TEST_P(WhileClosing, WaitsServeAfterACloseThatGaveUp_B05) {
  if (!onCpu())
    GTEST_SKIP() << "a close that gives up leaves a GPU's objects alive";
  const LeftBehind meant;
  // Its kernels run after the close.
  static TestProgram &work = *new TestProgram;
  {
    ContextScope inner(other);
    FrameScope frame(work);
    gpuasync_stream *stream = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(mine), SITE("external"));
    enqueue(frame, stream, 1, /*held=*/true);
    frame.destroy(stream, /*idle=*/false);
  }
  {
    TimeLimit limit(0.02);
    EXPECT_EQ(other.close().code(), uint32_t(GPUASYNC_TIMEOUT));
    EXPECT_EQ(Status(gpuasync_context_stream_synchronize(mine)).code(),
              uint32_t(GPUASYNC_TIMEOUT));
  }
  expectWaits([&] { return gpuasync_context_stream_synchronize(mine); });
}

TEST_P(WhileClosing, WaitsKeepTheirTimeLimit_B05) {
  enqueueOnMine();
  beginClose();
  {
    TimeLimit limit(0.02);
    EXPECT_EQ(Status(gpuasync_context_stream_synchronize(mine)).code(),
              uint32_t(GPUASYNC_TIMEOUT));
  }
  EXPECT_FALSE(closing->isOver());
}

} // namespace
