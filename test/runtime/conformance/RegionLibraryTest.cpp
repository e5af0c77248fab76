//===- RegionLibraryTest.cpp - Library calls in regions -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library's function is called once for a graph that runs many times, again
// where its arguments are others, and what it enqueues has the order of the
// region. What cannot be captured is called as ever.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "RegionFixture.h"
#include "TestLibrary.h"
#include "gpuasync/Program.h"

#include <random>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class RegionLibrary : public RegionTest {
protected:
  void SetUp() override {
    RegionTest::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    FrameScope frame(*program);
    x = frame.alloc(nullptr, 3 * words, GPUASYNC_ALLOC_HOST_SHARED);
  }
  void TearDown() override {
    if (x) {
      FrameScope frame(*program);
      frame.dealloc(nullptr, x);
    }
    program.reset(); // its graphs hold kernels of the library's
    library.reset();
    RegionTest::TearDown();
  }
  /// Two branches, a kernel in one and a call in the other, and a kernel that
  /// reads what the call wrote; false after an error.
  bool pass(FrameScope &frame, uint32_t factor, uint32_t times = 1) {
    gpuasync_stream *stream = frame.stream();
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 2, words, StoreParams{x, 5});
      gpuasync_event *forked = frame.record(stream);
      gpuasync_stream *branch = frame.stream();
      frame.waitEvent(branch, forked);
      frame.destroy(forked);
      library->call(frame, branch, x + words, words, factor, 3, times);
      frame.launch(stream, MulAdd, 1, words, MulAddParams{x, words, 2, 1});
      gpuasync_event *done = frame.record(branch);
      frame.destroy(branch, /*idle=*/false);
      frame.waitEvent(stream, done);
      frame.destroy(done);
      frame.launch(stream, AddUp, 1, words,
                   AddUpParams{x + 2 * words, x + words, words, 100});
    }
    return frame.wait({stream}) == 0;
  }
  void expectPass(uint32_t factor, uint32_t times = 1) {
    FrameScope frame(*program);
    ASSERT_TRUE(pass(frame, factor, times));
    uint32_t expected = 5;
    for (uint32_t i = 0; i < times; ++i)
      expected = expected * factor + 3;
    EXPECT_EQ(x[0], 11u);
    EXPECT_EQ(x[words], expected);
    EXPECT_EQ(x[2 * words - 1], expected);
    EXPECT_EQ(x[3 * words - 1], expected + 100);
  }
  /// How often the function was called since the last question, on streams and
  /// for graphs, on a device that has some; on others it is called each time.
  void expectCalls(uint32_t onStreams, uint32_t forGraphs, uint32_t passes) {
    EXPECT_EQ(library->calls.exchange(0), hasGraphs() ? onStreams : passes);
    EXPECT_EQ(library->captures.exchange(0), hasGraphs() ? forGraphs : 0);
  }
  std::string statistics() {
    std::string json(gpuasync_stats_json(context.get(), nullptr, 0) + 1, '\0');
    gpuasync_stats_json(context.get(), json.data(), json.size());
    return json;
  }

  static constexpr uint32_t words = 32;
  std::unique_ptr<TestLibrary> library = std::make_unique<TestLibrary>();
  uint32_t *x = nullptr;
};
INSTANTIATE_OVER_DEVICES(RegionLibrary);

TEST_P(RegionLibrary, EqualBytesAreNotCalledAgain_G10) {
  for (int i = 0; i < 6; ++i)
    expectPass(7);
  expectCalls(1, 1, 6);
  expectPlayed(5, 1);
  EXPECT_EQ(readStats(context).capturedCalls, hasGraphs() ? 1u : 0u);
  EXPECT_EQ(readStats(context).failedCaptures, 0u);
}

TEST_P(RegionLibrary, OtherBytesAreCapturedAnew_G10) {
  for (uint32_t factor : {2u, 2u, 3u, 3u, 4u, 2u, 2u})
    expectPass(factor);
  expectCalls(1, 4, 7);
  expectPlayed(6, 1);
  EXPECT_EQ(readStats(context).graphs.physical, hasGraphs() ? 1u : 0u);
}

// No update changes what operations it consists of: each has a graph in the
// end, and none is captured any more.
TEST_P(RegionLibrary, OtherOperationsAreAnotherGraph_G10_G03) {
  for (uint32_t i = 0; i < 12; ++i)
    expectPass(2, 1 + i % 3);
  library->calls = library->captures = 0;
  played();
  for (uint32_t i = 0; i < 6; ++i)
    expectPass(2, 1 + i % 3);
  expectCalls(0, 0, 6);
  expectPlayed(6, 0);
}

TEST_P(RegionLibrary, NothingEnqueuedIsANodeToo_G10) {
  for (uint32_t i = 0; i < 4; ++i)
    expectPass(2, 0);
  expectCalls(1, 1, 4);
  expectPlayed(3, 1);
}

// As where an algorithm is chosen at the first call of each kind, which cannot
// be done under capture: the call that follows has done it.
TEST_P(RegionLibrary, WhatCannotBeCapturedIsPlayedOnStreams_G11) {
  bool ready = true;
  library->before = [&](const gpuasync_call &call) -> int32_t {
    if (ready || !(call.flags & GPUASYNC_CALL_CAPTURED)) {
      ready = true;
      return 0;
    }
    call.report(&call, "no algorithm was chosen");
    return 7;
  };
  expectPass(2);
  expectPass(2);
  expectCalls(1, 1, 2);
  expectPlayed(1, 1);
  ready = false;
  expectPass(3);
  expectCalls(1, 1, 1);
  expectPlayed(0, 1);
  EXPECT_EQ(readStats(context).failedCaptures, hasGraphs() ? 1u : 0u);
  if (hasGraphs())
    EXPECT_NE(statistics().find("library.call: it could not be captured: the "
                                "library's function returned 7: no algorithm "
                                "was chosen"),
              std::string::npos)
        << statistics();
  // A new graph is made, which takes the place of the other one.
  expectPass(3);
  expectPass(3);
  expectCalls(1, 1, 2);
  expectPlayed(1, 1);
}

TEST_P(RegionLibrary, NeverCapturedIsTriedSeldom_G11) {
  library->before = [](const gpuasync_call &call) -> int32_t {
    return call.flags & GPUASYNC_CALL_CAPTURED ? 1 : 0;
  };
  for (int i = 0; i < 20; ++i)
    expectPass(2);
  expectCalls(20, 1, 20);
  expectPlayed(0, 20);
  EXPECT_EQ(readStats(context).graphs.created, 0u);
}

// An error where it is played on streams is the frame's, with the function's
// own text; the next frame is none the worse.
TEST_P(RegionLibrary, ItsErrorIsTheFrames_G11_E01) {
  for (bool hasGraph : {false, true}) {
    if (hasGraph) {
      expectPass(2);
      expectPass(2);
    }
    library->before = [](const gpuasync_call &call) -> int32_t {
      call.report(&call, "out of workspace");
      return -7;
    };
    {
      FrameScope frame(*program);
      EXPECT_FALSE(pass(frame, 9));
      Status status = frame.leave();
      EXPECT_EQ(status.code(), uint32_t(GPUASYNC_DRIVER_ERROR));
      EXPECT_NE(std::string(status.message())
                    .find(": library.call: the library's function returned -7: "
                          "out of workspace"),
                std::string::npos)
          << status.message();
    }
    library->before = nullptr;
    expectPass(4);
  }
}

/// While it is captured, what `work` does in a frame of the function's own on
/// the stream of the call; its error is the function's, as `result`.
template <typename Work>
int32_t inFrame(const gpuasync_call &call, int32_t result, Work work) {
  if (!(call.flags & GPUASYNC_CALL_CAPTURED))
    return 0;
  TestProgram other;
  FrameScope frame(other);
  gpuasync_stream *stream =
      gpuasync_stream_external(frame, 0, call.stream, SITE("library.stream"));
  work(frame, stream);
  frame.destroy(stream);
  Status status = frame.leave();
  call.report(&call, status.message());
  return status.ok() ? 0 : result;
}

// A frame of the function's that waits is refused, and the function says so.
TEST_P(RegionLibrary, AFunctionThatWaits_G11) {
  library->before = [](const gpuasync_call &call) {
    int32_t result =
        inFrame(call, 3, [](FrameScope &frame, gpuasync_stream *stream) {
          frame.wait({stream});
        });
    EXPECT_EQ(result, call.flags & GPUASYNC_CALL_CAPTURED ? 3 : 0);
    return result;
  };
  for (int i = 0; i < 4; ++i)
    expectPass(2);
  expectCalls(4, 1, 4);
  expectPlayed(0, 4);
  if (hasGraphs())
    EXPECT_NE(statistics().find("returned 3: "), std::string::npos)
        << statistics();
}

// Memory of a graph's own is in no child of another one; where none can be
// captured, the function says so.
TEST_P(RegionLibrary, AFunctionThatAllocates_G11) {
  library->before = [](const gpuasync_call &call) {
    return inFrame(call, 4, [](FrameScope &frame, gpuasync_stream *stream) {
      uint32_t *y = frame.alloc(stream, words);
      frame.launch(stream, Store, 1, words, StoreParams{y, 1});
      frame.dealloc(stream, y);
    });
  };
  for (int i = 0; i < 4; ++i)
    expectPass(2);
  expectCalls(4, 1, 4);
  expectPlayed(0, 4);
  EXPECT_EQ(readStats(context).failedCaptures, hasGraphs() ? 1u : 0u);
}

TEST_P(RegionLibrary, OnOneStreamAndByMeasurement_G01) {
  for (const char *how : {"stream", "auto", "streams"}) {
    play(how);
    for (uint32_t i = 0; i < 25; ++i)
      expectPass(2 + i % 2);
  }
}

// Captures of one thread leave what others do alone: they allocate, load, wait
// and capture meanwhile.
TEST_P(RegionLibrary, Threads_G04_G10) {
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      ContextScope mine(context);
      for (uint32_t i = 0; i < 20; ++i) {
        Words out(words);
        FrameScope frame(*program);
        gpuasync_stream *stream = frame.stream();
        uint32_t *y = frame.alloc(stream, words);
        {
          RegionScope region(frame, REGION);
          frame.launch(stream, Store, 1, words, StoreParams{y, t});
          library->call(frame, stream, y, words, 2, i % 3, 1 + t % 2);
          frame.launch(stream, MulAdd, 1, words, MulAddParams{y, words, 3, 1});
        }
        frame.copy(stream, out.data(), y, 4 * words);
        frame.dealloc(stream, y);
        ASSERT_EQ(frame.wait({stream}), 0);
        uint32_t expected = t;
        for (uint32_t k = 0; k < 1 + t % 2; ++k)
          expected = expected * 2 + i % 3;
        ASSERT_EQ(out, Words(words, expected * 3 + 1));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  // Of threads that have ended, too.
  EXPECT_EQ(readStats(context).capturedCalls, library->captures);
  EXPECT_GT(readStats(context).launches, 0u);
}

// Regions of one launch and of several, with calls of several shapes, of
// threads at once, while one changes how regions are played, has the function
// fail where it is captured or run a frame of its own, and gives modules up.
TEST_P(RegionLibrary, RandomPasses_G10_G11) {
  const uint32_t seed = testSeed();
  SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
  enum Does { Enqueues, Refuses, RunsAFrame };
  std::atomic<uint32_t> does{Enqueues};
  library->before = [&](const gpuasync_call &call) -> int32_t {
    if (does == RunsAFrame) {
      Words out(words);
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *y = frame.alloc(stream, words);
      {
        RegionScope region(frame, REGION);
        frame.launch(stream, Store, 1, words, StoreParams{y, 9});
        frame.launch(stream, MulAdd, 1, words, MulAddParams{y, words, 3, 1});
      }
      frame.copy(stream, out.data(), y, 4 * words);
      frame.dealloc(stream, y);
      EXPECT_EQ(frame.wait({stream}), 0);
      EXPECT_EQ(out, Words(words, 28));
    }
    return does == Refuses && (call.flags & GPUASYNC_CALL_CAPTURED) ? 5 : 0;
  };
  auto disturb = [&](uint32_t choice, uint32_t value) {
    const char *ways[] = {"graph", "streams", "stream", "auto"};
    if (choice == 0)
      play(ways[value % 4]);
    else if (choice == 1)
      does = value % 3;
    else if (choice == 2)
      gpuasync_modules_release(context.get());
    else if (choice == 3)
      EXPECT_TRUE(Status(gpuasync_context_trim(context.get(), 10)).ok());
    else if (choice == 4)
      EXPECT_TRUE(Status(gpuasync_modules_limit(context.get(), UINT64_MAX,
                                                value % 3, 0))
                      .ok());
  };
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      ContextScope mine(context);
      std::mt19937 random(seed + t);
      for (uint32_t i = 0; i < 100; ++i) {
        if (t == 0)
          disturb(random() % 10, random());
        const uint32_t factor = 2 + random() % 2, times = random() % 3;
        const bool calls = random() % 4, ends = random() % 2;
        Words out(words);
        uint32_t expected = i;
        FrameScope frame(*program);
        gpuasync_stream *stream = frame.stream();
        uint32_t *y = frame.alloc(stream, words);
        {
          RegionScope region(frame, REGION);
          frame.launch(stream, Store, 1, words, StoreParams{y, i});
          if (calls) {
            library->call(frame, stream, y, words, factor, 1, times);
            for (uint32_t k = 0; k < times; ++k)
              expected = expected * factor + 1;
          }
          if (ends)
            frame.launch(stream, MulAdd, 1, words,
                         MulAddParams{y, words, 3, 1});
        }
        if (random() % 3 == 0)
          frame.wait({stream});
        frame.copy(stream, out.data(), y, 4 * words);
        frame.dealloc(stream, y);
        ASSERT_EQ(frame.wait({stream}), 0) << t << " " << i;
        ASSERT_EQ(out, Words(words, ends ? expected * 3 + 1 : expected))
            << t << " " << i;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(
      Status(gpuasync_modules_limit(context.get(), UINT64_MAX, UINT64_MAX, 0))
          .ok());
}

TEST_P(RegionLibrary, WithoutARegion) {
  Words out(words);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *y = frame.alloc(stream, words);
  frame.launch(stream, Store, 1, words, StoreParams{y, 4});
  library->call(frame, stream, y, words, 2, 1);
  frame.copy(stream, out.data(), y, 4 * words);
  frame.dealloc(stream, y);
  ASSERT_EQ(frame.wait({stream}), 0);
  EXPECT_EQ(out, Words(words, 9));
  EXPECT_EQ(library->calls, 1u);
}

TEST_P(RegionLibrary, MisuseIsRefused) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  gpuasync_call_replayable(frame, &stream, 1, nullptr, x, 4,
                           SITE("library.call"));
  EXPECT_TRUE(frame.failed());
  EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
}

} // namespace
