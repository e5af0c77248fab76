//===- QueryTest.cpp - When the vendor does not say how far work is -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A query that fails tells nothing: the work may still run, so what it uses is
// not given to anybody else. The kernels are held at a gate meanwhile.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "gpuasync/Program.h"

#include <atomic>
#include <stdlib.h>
#include <string.h>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class FailedQuery : public DeviceTest {
protected:
  static constexpr int unknownError = 999;
  static constexpr uint32_t count = 1 << 18;

  void TearDown() override {
    mock->mock_gate_open("store");
    DeviceTest::TearDown();
  }
  /// The next question of the kind ("Stream", "Event") fails.
  void failQuery(const char *kind) {
    std::string name = device() == "cuda" ? "cu" : "hip";
    mock->mock_fail((name + kind + "Query").c_str(), 1, unknownError);
  }
  bool queryFailed() { return mock->mock_failed() != nullptr; }
  /// Whether the library lacks something (conformance_over in CMakeLists.txt).
  static bool lacks(const char *setting) {
    const char *settings = getenv("GPUASYNC_MOCK");
    return settings && strstr(settings, setting);
  }
};
INSTANTIATE_OVER_DEVICES(FailedQuery);

TEST_P(FailedQuery, TheStreamIsNotReused_E05) {
  uint32_t *x = nullptr;
  gpuasync_event *stored = nullptr;
  {
    FrameScope frame(*program);
    x = frame.alloc(nullptr, 64);
    gpuasync_stream *held = frame.stream();
    mock->mock_gate_close("store");
    frame.launch(held, Store, 1, 64, StoreParams{x, 1});
    stored = gpuasync_event_export(frame, frame.record(held), SITE("return"));
    frame.destroy(held, false);
  }
  uint64_t streams = mock->mock_live("stream");
  {
    std::vector<uint32_t> out(64);
    FrameScope frame(*program);
    uint32_t *y = frame.alloc(nullptr, 64);
    failQuery("Stream");
    gpuasync_stream *other = frame.stream();
    EXPECT_TRUE(queryFailed());
    EXPECT_EQ(mock->mock_live("stream"), streams + 1);
    if (HasFailure()) // it would wait for the gate
      mock->mock_gate_open("store");
    // Work on it runs while the other's is held.
    frame.launch(other, MulAdd, 1, 64, MulAddParams{y, 64, 0, 7});
    frame.copy(other, out.data(), y, 256);
    frame.wait({other});
    EXPECT_EQ(out, std::vector<uint32_t>(64, 7));
    frame.dealloc(other, y);
    mock->mock_gate_open("store");
  }
  EXPECT_EQ(gpuasync_event_wait(stored), nullptr);
  gpuasync_event_release(stored);
  FrameScope frame(*program);
  frame.dealloc(nullptr, x);
}

// What a host wait covers is there behind it, or the wait has failed; where
// there are no flags, it takes a question to know.
TEST_P(FailedQuery, WhatAWaitCoversIsThere_E05) {
  std::vector<uint32_t> out(64);
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 7});
    frame.copy(stream, out.data(), x, 256);
    failQuery("Event");
    const bool waited = frame.wait({stream}) == 0;
    EXPECT_EQ(waited, !queryFailed());
    EXPECT_EQ(out, std::vector<uint32_t>(64, waited ? 7 : 0));
    if (waited)
      frame.dealloc(stream, x);
    EXPECT_EQ(frame.leave().ok(), waited);
  }
  // Nobody writes it later.
  std::fill(out.begin(), out.end(), 3);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  EXPECT_EQ(frame.wait({stream}), 0);
  EXPECT_EQ(out, std::vector<uint32_t>(64, 3));
}

TEST_P(FailedQuery, StagedDataIsNotOverwritten_E05) {
  std::vector<uint32_t> in(count, 5), later(count, 9), out(count);
  uint32_t *x = nullptr, *y = nullptr;
  gpuasync_event *uploaded = nullptr;
  {
    FrameScope frame(*program);
    x = frame.alloc(nullptr, count);
    y = frame.alloc(nullptr, count);
    gpuasync_stream *held = frame.stream();
    mock->mock_gate_close("store");
    frame.launch(held, Store, 1, 64, StoreParams{x, 1});
    frame.copy(held, x, in.data(), 4ull * count);
    uploaded = gpuasync_event_export(frame, frame.record(held), SITE("return"));
    frame.destroy(held, false);
  }
  {
    FrameScope frame(*program);
    // Of the stream if that is asked, or of the event that guards the memory.
    failQuery("Stream");
    gpuasync_stream *other = frame.stream();
    EXPECT_TRUE(queryFailed());
    failQuery("Event");
    frame.copy(other, y, later.data(), 4ull * count);
    mock->mock_fail(nullptr, 0, 0);
    mock->mock_gate_open("store");
    frame.wait({other});
  }
  EXPECT_EQ(gpuasync_event_wait(uploaded), nullptr);
  gpuasync_event_release(uploaded);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  frame.copy(stream, out.data(), x, 4ull * count);
  frame.wait({stream});
  EXPECT_EQ(out, in);
  frame.dealloc(stream, x);
  frame.dealloc(stream, y);
}

// A failed frame whose end the driver does not tell of: what it copies back may
// still come.
TEST_P(FailedQuery, StagingOfAFailedFrameIsNotReused_E05) {
  std::vector<uint32_t> in(count, 9), out(count);
  gpuasync_event *copied = nullptr;
  // It is open already: later ones wait for what the failed one has left.
  FrameScope frame(*program);
  {
    FrameScope frame(*program);
    uint32_t *x = frame.alloc(nullptr, count);
    gpuasync_stream *held = frame.stream();
    mock->mock_gate_close("store");
    frame.launch(held, Store, 1, 64, StoreParams{x, 1});
    frame.copy(held, out.data(), x, 4ull * count);
    copied = gpuasync_event_export(frame, frame.record(held), SITE("return"));
    gpuasync_memset(frame, held, x, &count, 3, 5, SITE("refused"));
    failQuery("Stream");
    EXPECT_NE(frame.leave().message(), std::string());
    EXPECT_TRUE(queryFailed());
    if (HasFailure())
      mock->mock_gate_open("store");
  }
  auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  uint32_t *y = frame.alloc(nullptr, count);
  gpuasync_stream *stream = frame.stream();
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  frame.copy(stream, y, in.data(), 4ull * count);
  mock->mock_gate_open("store");
  gpuasync_status *status = gpuasync_event_wait(copied);
  EXPECT_EQ(status, nullptr);
  gpuasync_event_release(copied);
  openGate(flag);
  frame.copy(stream, out.data(), y, 4ull * count);
  frame.wait({stream});
  EXPECT_EQ(out, in);
  frame.dealloc(nullptr, y);
  frame.dealloc(nullptr, flag);
}

// Where there are no flags in memory, an event says when freed memory is.
TEST_P(FailedQuery, FreedMemoryIsNotReused_E05) {
  uint32_t *x = nullptr;
  {
    FrameScope frame(*program);
    gpuasync_stream *held = frame.stream();
    x = frame.alloc(nullptr, count, GPUASYNC_ALLOC_HOST_SHARED);
    mock->mock_gate_close("store");
    frame.launch(held, Store, 1, 64, StoreParams{x, 1});
    frame.dealloc(held, x);
    frame.destroy(held, false);
  }
  FrameScope frame(*program);
  failQuery("Event");
  uint32_t *y = frame.alloc(nullptr, count, GPUASYNC_ALLOC_HOST_SHARED);
  EXPECT_EQ(queryFailed(), lacks("flags=0"));
  EXPECT_NE(x, y);
  mock->mock_gate_open("store");
  frame.dealloc(nullptr, y);
}

// What runs on the caller's stream is known by an event only.
TEST_P(FailedQuery, TheModuleOfTheCallersWorkStays_E05) {
  gpuasync_stream *mine = nullptr;
  ASSERT_EQ(gpuasync_context_stream_create(context.get(), &mine), nullptr);
  uint32_t *x = nullptr;
  {
    FrameScope frame(*program);
    x = frame.alloc(nullptr, 64);
    gpuasync_stream *stream = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(mine), SITE("external"));
    mock->mock_gate_close("store");
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    frame.destroy(stream, false);
  }
  const char *unload =
      device() == "cuda" ? "cuModuleUnload" : "hipModuleUnload";
  uint64_t unloads = mock->mock_calls(unload);
  std::atomic<bool> released{false};
  failQuery("Event");
  std::thread releasing([&] { // unloading would wait for the gate
    EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
    released = true;
  });
  while (!released && mock->mock_calls(unload) == unloads)
    std::this_thread::yield();
  EXPECT_TRUE(queryFailed());
  EXPECT_EQ(mock->mock_calls(unload), unloads);
  mock->mock_gate_open("store");
  releasing.join();
  EXPECT_EQ(gpuasync_context_stream_synchronize(mine), nullptr);
  {
    FrameScope frame(*program);
    frame.dealloc(nullptr, x);
  }
  EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
  gpuasync_context_stream_destroy(mine);
}

/// Two pieces of work, on streams of the caller's, one held at the gate and one
/// done, or on streams of the frame's own, both held.
class UnknownEnd : public FailedQuery {
protected:
  void begin(bool callers) {
    for (gpuasync_stream *&stream : mine)
      ASSERT_EQ(gpuasync_context_stream_create(context.get(), &stream),
                nullptr);
    FrameScope frame(*program);
    x = frame.alloc(nullptr, 128);
    for (int i = 0; i < 2; ++i)
      streams[i] = callers
                       ? gpuasync_stream_external(
                             frame, 0, gpuasync_context_stream_native(mine[i]),
                             SITE("external"))
                       : frame.stream();
    mock->mock_gate_close("store");
    frame.launch(streams[0], Store, 1, 64, StoreParams{x, 1});
    // What has ended is asked for once only: on streams of the frame's own
    // nothing has, as nobody here could wait for it.
    if (callers)
      frame.launch(streams[1], MulAdd, 1, 64, MulAddParams{x + 64, 64, 0, 7});
    else
      frame.launch(streams[1], Store, 1, 64, StoreParams{x + 64, 7});
    for (gpuasync_stream *stream : streams)
      frame.destroy(stream, false);
    EXPECT_TRUE(frame.leave().ok());
    if (callers)
      EXPECT_EQ(gpuasync_context_stream_synchronize(mine[1]), nullptr);
  }
  /// Runs `release` on another thread, as unloading would wait for the gate.
  template <typename Release>
  void expectLoaded(Release release) {
    const char *unload =
        device() == "cuda" ? "cuModuleUnload" : "hipModuleUnload";
    uint64_t unloads = mock->mock_calls(unload);
    std::atomic<bool> released{false};
    std::thread releasing([&] {
      release();
      released = true;
    });
    while (!released && mock->mock_calls(unload) == unloads)
      std::this_thread::yield();
    EXPECT_EQ(mock->mock_calls(unload), unloads);
    mock->mock_gate_open("store");
    releasing.join();
  }
  void end() {
    mock->mock_gate_open("store");
    for (gpuasync_stream *stream : mine) {
      EXPECT_EQ(gpuasync_context_stream_synchronize(stream), nullptr);
      gpuasync_context_stream_destroy(stream);
    }
    mock->mock_streams_wait(); // those of the frame
    FrameScope frame(*program);
    frame.dealloc(nullptr, x);
  }
  /// The third question, the first of a wait, fails: the first two ask what has
  /// ended already.
  void failWait(const char *kind) {
    std::string name = device() == "cuda" ? "cu" : "hip";
    mock->mock_fail((name + kind + "Query").c_str(), 3, unknownError);
  }

  gpuasync_stream *mine[2] = {}, *streams[2] = {};
  uint32_t *x = nullptr;
};
INSTANTIATE_OVER_DEVICES(UnknownEnd);

TEST_P(UnknownEnd, ReleasedProgramOfTheCallersWorkStaysLoaded_E05) {
  begin(true);
  failWait("Event");
  expectLoaded([&] {
    gpuasync_status_free(gpuasync_program_release(&program->program));
  });
  EXPECT_TRUE(queryFailed());
  end();
}

// L07: a kernel that does not end in time keeps its code.
TEST_P(UnknownEnd, ReleasedProgramOfEndlessWorkStaysLoaded_E05) {
  begin(false);
  gpuasync_set_timeout(0.01);
  expectLoaded([&] {
    gpuasync_status_free(gpuasync_program_release(&program->program));
  });
  gpuasync_set_timeout(0);
  end();
}

// Close says what the driver said, and goes on when it is called again.
TEST_P(UnknownEnd, CloseSaysWhy_E05) {
  begin(false);
  failWait("Stream");
  Status closed = context.close();
  EXPECT_TRUE(queryFailed());
  EXPECT_EQ(closed.code(), uint32_t(GPUASYNC_DRIVER_ERROR));
  EXPECT_NE(std::string(closed.message()).find("StreamQuery"),
            std::string::npos)
      << closed.message();
  end();
}

} // namespace
