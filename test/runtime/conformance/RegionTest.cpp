//===- RegionTest.cpp - Recorded regions ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a region is played on streams or as a graph, with the arguments of
// the last time or others, in the shape of the last time or another one: what
// it computes and what it is ordered with is the same.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "RegionFixture.h"
#include "TestLibrary.h"
#include "gpuasync/Program.h"
#include "services/graphs/Regions.h"
#include "shim/base/Clock.h"

#include <random>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Regions : public RegionTest {};
INSTANTIATE_OVER_DEVICES(Regions);

// A chain on one stream, with other values each time: the first call is played
// on streams, all others are one graph, whose nodes get the new values.
TEST_P(Regions, ChainWithOtherArguments_G03) {
  for (uint32_t call = 0; call < 5; ++call) {
    Words out(64);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 1, 64, StoreParams{x, call});
      for (uint32_t i = 0; i < 9; ++i)
        frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 2, i});
    }
    frame.copy(stream, out.data(), x, 256);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    uint32_t expected = call;
    for (uint32_t i = 0; i < 9; ++i)
      expected = expected * 2 + i;
    EXPECT_EQ(out, Words(64, expected));
  }
  expectPlayed(4, 1);
  EXPECT_EQ(readStats(context).launches, 50u);
  EXPECT_EQ(readStats(context).graphs.physical, hasGraphs() ? 1u : 0u);
}

/// Branches from one kernel to one kernel, on streams of the region's own.
void fanOut(FrameScope &frame, gpuasync_stream *stream, uint32_t *x,
            uint32_t branches, uint32_t site) {
  RegionScope region(frame, site);
  frame.launch(stream, Store, 1, 32, StoreParams{x, 3});
  gpuasync_event *forked = frame.record(stream);
  std::vector<gpuasync_event *> done;
  for (uint32_t i = 1; i <= branches; ++i) {
    gpuasync_stream *branch = frame.stream();
    frame.waitEvent(branch, forked);
    frame.launch(branch, AddUp, 1, 32, AddUpParams{x + 32 * i, x, 32, i});
    frame.launch(branch, MulAdd, 1, 32, MulAddParams{x + 32 * i, 32, 3, 1});
    done.push_back(frame.record(branch));
    frame.destroy(branch, /*idle=*/false);
  }
  frame.destroy(forked);
  for (gpuasync_event *event : done) {
    frame.waitEvent(stream, event);
    frame.destroy(event);
  }
  frame.launch(stream, MulAdd, static_cast<int64_t>(branches + 1), 32,
               MulAddParams{x, 32 * (branches + 1), 1, 100});
}

TEST_P(Regions, FanOutAndIn_G01) {
  for (uint32_t branches : {4u, 12u, 1000u}) {
    const uint32_t site =
        testSite("test.mlir", "region", 400 + branches, 1, UINT32_MAX);
    for (int call = 0; call < 3; ++call) {
      Words out(32 * (branches + 1));
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, out.size());
      fanOut(frame, stream, x, branches, site);
      frame.copy(stream, out.data(), x, 4 * out.size());
      frame.dealloc(stream, x);
      ASSERT_EQ(frame.wait({stream}), 0);
      for (uint32_t i = 0; i <= branches; ++i)
        ASSERT_EQ(out[32 * i + 31], (i ? (3 + i) * 3 + 1 : 3) + 100) << i;
    }
    expectPlayed(2, 1);
  }
}

// Work before and behind a region, on its streams and on others that stay.
TEST_P(Regions, OrderAcrossTheBorder_G02) {
  for (int call = 0; call < 4; ++call) {
    Words out(96);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 96);
    frame.launch(a, Store, 3, 32, StoreParams{x, 1});
    gpuasync_event *event = nullptr;
    {
      RegionScope region(frame, REGION);
      gpuasync_event *begun = frame.record(a);
      frame.waitEvent(b, begun);
      frame.destroy(begun);
      frame.launch(a, MulAdd, 1, 32, MulAddParams{x, 32, 10, 2});
      frame.launch(b, MulAdd, 1, 32, MulAddParams{x + 32, 32, 10, 3});
      event = frame.record(b);
      frame.launch(b, MulAdd, 1, 32, MulAddParams{x + 64, 32, 10, 4});
    }
    gpuasync_stream *c = frame.stream();
    frame.waitEvent(c, event);
    frame.launch(c, MulAdd, 1, 32, MulAddParams{x + 32, 32, 10, 5});
    gpuasync_event *more = frame.record(c);
    frame.launch(b, MulAdd, 1, 32, MulAddParams{x + 64, 32, 10, 6});
    gpuasync_event *last = frame.record(b);
    frame.waitEvent(a, last);
    frame.waitEvent(a, more);
    frame.copy(a, out.data(), x, 384);
    frame.dealloc(a, x);
    ASSERT_EQ(frame.wait({a}), 0);
    EXPECT_EQ(out[0], 12u);
    EXPECT_EQ(out[32], 135u);
    EXPECT_EQ(out[64], 146u);
  }
  expectPlayed(3, 1);
}

// What is on a stream before the region may wait for work of the region on
// another one, which so must not wait for it.
TEST_P(Regions, ProgressOfWhatIsAhead_B04) {
  for (int call = 0; call < 4; ++call) {
    Words out(64);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    uint32_t *x = frame.alloc(a, 64);
    frame.launch(a, Store, 1, 64, StoreParams{x, 1});
    ASSERT_EQ(frame.wait({a}), 0);
    frame.launch(b, Gate, 1, 1, GateParams{flag});
    {
      RegionScope region(frame, REGION);
      frame.launch(a, MulAdd, 1, 32, MulAddParams{x, 32, 10, 2});
      frame.launch(b, MulAdd, 1, 32, MulAddParams{x + 32, 32, 10, 3});
      frame.launch(a, Raise, 1, 1, GateParams{flag});
    }
    ASSERT_EQ(frame.wait({b, a}), 0);
    frame.copy(a, out.data(), x, 256);
    frame.dealloc(a, x);
    ASSERT_EQ(frame.wait({a}), 0);
    EXPECT_EQ(out[0], 12u);
    EXPECT_EQ(out[32], 13u);
    frame.dealloc(nullptr, flag);
  }
  expectPlayed(0, 4);
}

// A graph that is still held up holds up nobody else.
TEST_P(Regions, OverlappingCalls_B04_G04) {
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  auto work = [&](FrameScope &frame, gpuasync_stream *stream, uint32_t *x) {
    RegionScope region(frame, REGION);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 10, 2});
  };
  for (int call = 0; call < 3; ++call) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    work(frame, stream, x);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
  }
  expectPlayed(2, 1);
  gpuasync_event *token = nullptr;
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    work(frame, stream, x);
    work(frame, stream, x); // behind it anyway
    frame.dealloc(stream, x);
    token = gpuasync_event_export(frame, frame.record(stream), SITE("return"));
  }
  expectPlayed(2, 0);
  for (int call = 0; call < 3; ++call) {
    Words out(64);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    work(frame, stream, x);
    frame.copy(stream, out.data(), x, 256);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(out, Words(64, 12));
  }
  expectPlayed(2, 1);
  openGate(flag);
  EXPECT_TRUE(Status(gpuasync_event_wait(token)).ok());
  gpuasync_event_release(token);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// A stream that ends in the region may be the one on which the graph runs.
TEST_P(Regions, StreamsThatEndInside) {
  for (int call = 0; call < 4; ++call) {
    Words out(64);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 64);
    frame.launch(a, Store, 1, 64, StoreParams{x, 1});
    {
      RegionScope region(frame, REGION);
      frame.launch(a, MulAdd, 1, 64, MulAddParams{x, 64, 10, 2});
      gpuasync_event *event = frame.record(a);
      frame.destroy(a, /*idle=*/false);
      frame.waitEvent(b, event);
      frame.destroy(event);
      frame.launch(b, MulAdd, 1, 64, MulAddParams{x, 64, 10, 3});
    }
    frame.launch(b, MulAdd, 1, 64, MulAddParams{x, 64, 10, 4});
    frame.copy(b, out.data(), x, 256);
    frame.dealloc(b, x);
    ASSERT_EQ(frame.wait({b}), 0);
    EXPECT_EQ(out, Words(64, 1234));
  }
  expectPlayed(3, 1);
}

// More streams than are kept idle: a graph does not ask the one that it ran on
// whether it has ended, once that is gone.
TEST_P(Regions, StreamsThatAreGone_G02) {
  constexpr int count = 120;
  for (int last = 0; last < count; last += 13) {
    Words out(64);
    {
      FrameScope frame(*program);
      std::vector<gpuasync_stream *> streams;
      for (int i = 0; i < count; ++i)
        streams.push_back(frame.stream());
      gpuasync_stream *on = streams[last];
      uint32_t *x = frame.alloc(on, 64);
      {
        RegionScope region(frame, REGION);
        frame.launch(on, Store, 1, 64, StoreParams{x, uint32_t(last)});
        frame.launch(on, MulAdd, 1, 64, MulAddParams{x, 64, 10, 2});
      }
      frame.copy(on, out.data(), x, 256);
      frame.dealloc(on, x);
      ASSERT_EQ(frame.wait({on}), 0);
      for (gpuasync_stream *stream : streams)
        frame.destroy(stream, /*idle=*/true);
    }
    EXPECT_EQ(out, Words(64, 10 * last + 2));
  }
}

// A caller's stream has work that nobody knows of: only what is ordered behind
// it anyway runs there as a graph, and what follows is behind it.
TEST_P(Regions, CallersStream_G02) {
  gpuasync_stream *callers = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_context_stream_create(context.get(), &callers)).ok());
  uint32_t *out = nullptr;
  {
    FrameScope frame(*program);
    out = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
  }
  for (int call = 0; call < 6; ++call) {
    {
      FrameScope frame(*program);
      gpuasync_stream *a = gpuasync_stream_external(
          frame, 0, gpuasync_context_stream_native(callers), SITE("external"));
      gpuasync_stream *b = frame.stream();
      uint32_t *x = frame.alloc(a, 64);
      frame.launch(a, Store, 1, 64, StoreParams{x, 1});
      // Without an order, memory of its own.
      uint32_t *y = call % 2 ? x + 32 : frame.alloc(b, 32);
      {
        RegionScope region(frame, call % 2 ? SITE("region") : SITE("region"));
        frame.launch(a, MulAdd, 1, 32, MulAddParams{x, 32, 10, 2});
        gpuasync_event *event = frame.record(a);
        if (call % 2)
          frame.waitEvent(b, event);
        frame.destroy(event);
        frame.launch(b, Store, 1, 32, StoreParams{y, 1});
        event = frame.record(b);
        frame.waitEvent(a, event);
        frame.destroy(event);
        frame.launch(a, MulAdd, 1, 64, MulAddParams{x, 64, 10, 3});
      }
      if (call % 2 == 0)
        frame.dealloc(b, y);
      frame.destroy(b, /*idle=*/false);
      frame.copy(a, out, x, 256);
      frame.dealloc(a, x);
    }
    ASSERT_TRUE(Status(gpuasync_context_stream_synchronize(callers)).ok());
    EXPECT_EQ(out[0], 123u);
    EXPECT_EQ(out[32], 13u);
  }
  gpuasync_context_stream_destroy(callers);
  {
    FrameScope frame(*program);
    frame.dealloc(nullptr, out);
  }
  expectPlayed(2, 4);
}

// Memory is free once the caller's stream has come to its free: the graph that
// this frame knows last is not the last that is on the stream.
TEST_P(Regions, FreesOnCallersStream_G02) {
  gpuasync_stream *callers = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_context_stream_create(context.get(), &callers)).ok());
  void *native = gpuasync_context_stream_native(callers);
  Words host(64);
  uint32_t *x = nullptr, *freed = nullptr, *gate = nullptr;
  {
    FrameScope frame(*program);
    gpuasync_host_register(frame, host.data(), 256, SITE("register"));
    x = frame.alloc(nullptr, 64);
    freed = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
    gate = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *gate = 0;
  }
  for (uint32_t call = 0; call < 12; ++call) {
    FrameScope frame(*program);
    gpuasync_stream *stream =
        gpuasync_stream_external(frame, 0, native, SITE("external"));
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 2, 32, StoreParams{x, call});
      frame.launch(stream, MulAdd, 2, 32, MulAddParams{x, 64, 3, 1});
      frame.copy(stream, host.data(), x, 256);
    }
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(host, Words(64, 3 * call + 1));
  }
  {
    FrameScope frame(*program);
    gpuasync_stream *stream =
        gpuasync_stream_external(frame, 0, native, SITE("external"));
    {
      FrameScope inner(*program);
      gpuasync_stream *same =
          gpuasync_stream_external(inner, 0, native, SITE("external"));
      inner.launch(same, Gate, 1, 1, GateParams{gate});
      inner.launch(same, MulAdd, 2, 32, MulAddParams{freed, 64, 3, 1});
    }
    frame.dealloc(stream, freed);
    uint32_t *other = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
    EXPECT_NE(freed, other);
    frame.dealloc(nullptr, other);
    openGate(gate);
  }
  ASSERT_TRUE(Status(gpuasync_context_stream_synchronize(callers)).ok());
  gpuasync_context_stream_destroy(callers);
  FrameScope frame(*program);
  frame.dealloc(nullptr, x);
  frame.dealloc(nullptr, gate);
  gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
}

// Streams that outlive the region are waited for by themselves, or destroyed
// with nothing said of the others, and another region may follow on them.
TEST_P(Regions, StreamsThatFollow_G02) {
  for (int call = 0; call < 6; ++call) {
    Words out(96);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 96);
    frame.launch(a, Store, 3, 32, StoreParams{x, 1});
    for (uint32_t round = 0; round < 2; ++round) {
      RegionScope region(frame, REGION);
      gpuasync_event *begun = frame.record(a);
      frame.waitEvent(b, begun);
      frame.destroy(begun);
      frame.launch(a, MulAdd, 1, 32, MulAddParams{x, 32, 10, 2});
      frame.launch(b, MulAdd, 1, 32, MulAddParams{x + 32, 32, 10, 3});
    }
    switch (call % 3) {
    case 0: // each by itself, the other first
      frame.copy(b, out.data() + 32, x + 32, 128);
      ASSERT_EQ(frame.wait({b}), 0);
      frame.copy(a, out.data(), x, 128);
      ASSERT_EQ(frame.wait({a}), 0);
      break;
    case 1: // together
      frame.copy(a, out.data(), x, 128);
      frame.copy(b, out.data() + 32, x + 32, 128);
      ASSERT_EQ(frame.wait({b, a}), 0);
      break;
    default: { // what is ahead of it goes away first
      gpuasync_stream *c = frame.stream();
      gpuasync_event *of = frame.record(a);
      frame.waitEvent(c, of);
      frame.destroy(a, /*idle=*/false);
      frame.copy(b, out.data() + 32, x + 32, 128);
      frame.copy(c, out.data(), x, 128);
      ASSERT_EQ(frame.wait({c, b}), 0);
    }
    }
    frame.dealloc(b, x);
    EXPECT_EQ(out[0], 122u);
    EXPECT_EQ(out[32], 133u);
  }
}

// A stream that others follow goes behind another one itself.
TEST_P(Regions, FollowedStreamsFollow_G02) {
  for (const char *way : {"graph", "stream"}) {
    play(way);
    for (int call = 0; call < 4; ++call) {
      Words out(96);
      FrameScope frame(*program);
      gpuasync_stream *a = frame.stream(), *b = frame.stream(),
                      *c = frame.stream();
      uint32_t *x = frame.alloc(a, 96);
      frame.launch(a, Store, 3, 32, StoreParams{x, 1});
      ASSERT_EQ(frame.wait({a}), 0);
      {
        RegionScope region(frame, SITE("first"));
        frame.launch(a, MulAdd, 1, 32, MulAddParams{x, 32, 10, 2});
        frame.launch(b, MulAdd, 1, 32, MulAddParams{x + 32, 32, 10, 3});
      }
      ASSERT_EQ(frame.wait({a}), 0);
      frame.launch(c, MulAdd, 1, 32, MulAddParams{x + 64, 32, 10, 4});
      {
        RegionScope region(frame, SITE("second"));
        gpuasync_event *event = frame.record(c);
        frame.waitEvent(a, event);
        frame.destroy(event);
        frame.launch(c, MulAdd, 1, 32, MulAddParams{x + 64, 32, 10, 5});
        frame.launch(a, MulAdd, 1, 32, MulAddParams{x, 32, 10, 6});
      }
      frame.copy(b, out.data() + 32, x + 32, 128);
      frame.copy(a, out.data(), x, 128);
      frame.copy(c, out.data() + 64, x + 64, 128);
      ASSERT_EQ(frame.wait({b, a, c}), 0);
      frame.dealloc(a, x);
      EXPECT_EQ(out[0], 126u);
      EXPECT_EQ(out[32], 13u);
      EXPECT_EQ(out[64], 145u);
    }
  }
}

// A stream that follows one that has ended is waited for itself, once a region
// was played on it.
TEST_P(Regions, WaitForOneThatFollowed_G02) {
  for (const char *way : {"graph", "stream"}) {
    play(way);
    for (uint32_t call = 0; call < 4; ++call) {
      FrameScope frame(*program);
      gpuasync_stream *a = frame.stream(), *b = frame.stream();
      uint32_t *x = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
      {
        RegionScope region(frame, SITE("both"));
        frame.launch(b, Store, 1, 32, StoreParams{x + 32, call});
        frame.launch(a, Store, 1, 32, StoreParams{x, call});
      }
      ASSERT_EQ(frame.wait({a, b}), 0);
      {
        RegionScope region(frame, SITE("one"));
        for (uint32_t i = 0; i < 100; ++i)
          frame.launch(a, MulAdd, 1, 32, MulAddParams{x, 32, 1, 1});
      }
      ASSERT_EQ(frame.wait({a}), 0);
      EXPECT_EQ(x[0], call + 100);
      EXPECT_EQ(x[32], call);
      frame.dealloc(nullptr, x);
    }
  }
}

// A stream that the region has given back follows one that goes away inside,
// too: into the hands of another thread, whose work is none of the region's.
TEST_P(Regions, FollowedStreamsEndInside_G02) {
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  constexpr int calls = 4;
  for (int call = 1; call <= calls; ++call) {
    FrameScope frame(*program);
    std::vector<gpuasync_stream *> others;
    for (int i = 0; i < 20; ++i) // more than are kept for a thread
      others.push_back(frame.stream());
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
    gpuasync_event *last = nullptr;
    std::atomic<bool> launched{false}, over{false};
    std::thread other;
    {
      RegionScope region(frame, REGION);
      frame.launch(a, Store, 1, 32, StoreParams{x, 1});
      frame.launch(b, Store, 1, 32, StoreParams{x + 32, 2});
      ASSERT_EQ(frame.wait({a, b}), 0);
      frame.launch(b, MulAdd, 1, 32, MulAddParams{x + 32, 32, 10, 3});
      frame.launch(b, MulAdd, 1, 32, MulAddParams{x + 32, 32, 10, 4});
      last = frame.record(b);
      frame.destroy(b, /*idle=*/false);
      for (gpuasync_stream *each : others)
        frame.destroy(each, /*idle=*/true);
      frame.destroy(a, /*idle=*/true);
      if (call == calls) {
        other = std::thread([&] {
          ContextScope inner(context);
          FrameScope its(*program);
          gpuasync_stream *stream = its.stream();
          its.launch(stream, Gate, 1, 1, GateParams{flag});
          launched = true;
          EXPECT_EQ(its.wait({stream}), 0);
          over = true;
        });
        while (!launched)
          std::this_thread::yield();
      }
    }
    gpuasync_set_timeout(5);
    EXPECT_EQ(frame.waitHost(last), 0);
    EXPECT_FALSE(over);
    gpuasync_set_timeout(0);
    if (other.joinable()) {
      openGate(flag);
      other.join();
    }
    EXPECT_EQ(x[63], 234u);
    frame.destroy(last);
    frame.dealloc(nullptr, x);
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// Host control flow gives a region another shape each time: each has a graph of
// its own.
TEST_P(Regions, OtherShapes_G03) {
  for (uint32_t call = 0; call < 24; ++call) {
    const uint32_t rounds = call % 4;
    Words out(64);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 1, 64, StoreParams{x, call});
      for (uint32_t i = 0; i < rounds; ++i)
        frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 2, call});
      frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
    }
    frame.copy(stream, out.data(), x, 256);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    uint32_t expected = call;
    for (uint32_t i = 0; i < rounds; ++i)
      expected = expected * 2 + call;
    EXPECT_EQ(out, Words(64, expected * 3 + 1)) << call;
  }
  expectPlayed(20, 4);
}

// More shapes than are kept: those that were used longest ago go when nothing
// runs.
TEST_P(Regions, ManyShapes_G03) {
  for (uint32_t call = 0; call < 600; ++call) {
    const uint32_t rounds = 2 + call % 150;
    Words out(1);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 1);
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 1, 1, StoreParams{x, call});
      for (uint32_t i = 0; i < rounds; ++i)
        frame.launch(stream, MulAdd, 1, 1, MulAddParams{x, 1, 1, 2});
    }
    frame.copy(stream, out.data(), x, 4);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(out[0], call + 2 * rounds);
  }
  EXPECT_LE(readStats(context).graphs.physical, 100u);
}

TEST_P(Regions, GridsAndEmptyOnes_G03) {
  for (int64_t blocks : {2, 3, 0, 1, 0, 0, 4, 2}) {
    Words out(128);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 128);
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 4, 32, StoreParams{x, 7});
      frame.launch(stream, Store, blocks, 32, StoreParams{x, 9});
      frame.launch(stream, MulAdd, 4, 32, MulAddParams{x, 128, 2, 0});
    }
    frame.copy(stream, out.data(), x, 512);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    for (int64_t i = 0; i < 128; ++i)
      ASSERT_EQ(out[static_cast<size_t>(i)], i < 32 * blocks ? 18u : 14u) << i;
  }
}

// Sizes, grids and all parameters change from call to call: once each kind was
// there, nothing is made any more, and nothing stays behind.
TEST_P(Regions, ManySizes_G03) {
  constexpr uint32_t calls = 2000, warm = 60, most = 9, block = 32;
  std::mt19937 random(2026);
  gpuasync_stats warmed{}, halfway{};
  for (uint32_t call = 0; call < calls; ++call) {
    if (call == warm)
      warmed = readStats(context);
    if (call == calls / 2)
      halfway = readStats(context);
    // Blocks, of which there may be none.
    const uint32_t blocks = call < warm ? call % most : random() % most;
    const uint32_t n = blocks * block, value = random();
    Words out(2 * most * block);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream(), *other = frame.stream();
    uint32_t *x = frame.alloc(stream, 2 * most * block);
    uint32_t *z = x + most * block; // x and z are downloaded
    uint32_t *y = frame.alloc(stream, most * block);
    {
      RegionScope region(frame, REGION);
      const uint32_t five = 5;
      gpuasync_memset(frame, stream, x, &value, 4, most * block,
                      SITE("memset"));
      gpuasync_memset(frame, stream, z, &five, 4, most * block, SITE("memset"));
      frame.launch(stream, Store, blocks, block, StoreParams{x, value + 1});
      gpuasync_event *stored = frame.record(stream);
      frame.waitEvent(other, stored);
      frame.destroy(stored);
      frame.copy(other, y, x, most * block * 4);
      frame.launch(other, MulAdd, blocks, block, MulAddParams{y, n, 3, call});
      gpuasync_event *tripled = frame.record(other);
      frame.launch(stream, AddUp, most, block, AddUpParams{z, x, n, call});
      frame.waitEvent(stream, tripled);
      frame.destroy(tripled);
      frame.launch(stream, AddUp, most, block, AddUpParams{x, y, n, value});
    }
    frame.copy(stream, out.data(), x, 2 * most * block * 4);
    frame.dealloc(stream, y);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream, other}), 0);
    for (uint32_t i = 0; i < 2 * most * block; ++i) {
      uint32_t at = i % (most * block);
      uint32_t expected = value;
      if (at < n)
        expected = i == at ? (value + 1) * 3 + call + value : value + 1 + call;
      else if (i != at)
        expected = 5;
      ASSERT_EQ(out[i], expected) << call << ": " << i;
    }
  }
  gpuasync_stats end = readStats(context);
  EXPECT_EQ(end.graphLaunches - warmed.graphLaunches,
            hasGraphs() ? calls - warm : 0u);
  EXPECT_EQ(end.graphs.created, warmed.graphs.created);
  EXPECT_EQ(end.graphs.physical, warmed.graphs.physical);
  EXPECT_EQ(end.buffers.live, 0u);
  EXPECT_LE(end.deviceBytes, halfway.deviceBytes + (1 << 20));
  // As many as are in use at once.
  EXPECT_LE(end.streams.physical, halfway.streams.physical + 16);
  EXPECT_LE(end.events.physical, halfway.events.physical + 64);
}

// Copies and fills of device memory, with other places each time.
TEST_P(Regions, CopiesAndFills_G01) {
  for (uint32_t call = 0; call < 4; ++call) {
    Words out(256);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 256);
    {
      RegionScope region(frame, REGION);
      const uint32_t seven = 7 + call;
      gpuasync_memset(frame, stream, x, &seven, 4, 256, SITE("memset"));
      frame.launch(stream, MulAdd, 1, 32, MulAddParams{x, 32, 2, 0});
      frame.copy(stream, x + 64 + call, x, 16 * 4);
      const int64_t sizes[] = {4, 4}, from[] = {8, 1}, to[] = {16, 1};
      gpuasync_memcpy_strided(frame, stream, x + 128, to, x + call, from, sizes,
                              2, 4, SITE("memcpy"));
    }
    frame.copy(stream, out.data(), x, 1024);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    const uint32_t one = 7 + call, two = 2 * one;
    for (uint32_t i = 0; i < 256; ++i) {
      bool copied = i >= 64 + call && i < 80 + call;
      bool strided = i >= 128 && i < 192 && i % 16 < 4;
      uint32_t from = (i - 128) / 16 * 8 + i % 16 + call;
      ASSERT_EQ(out[i], i < 32 || copied || (strided && from < 32) ? two : one)
          << call << ": " << i;
    }
  }
}

// What a region cannot hold is done where it stands: what is recorded is played
// first, and what comes is recorded again.
TEST_P(Regions, WhatIsNotRecorded_G02) {
  for (uint32_t call = 0; call < 4; ++call) {
    Words in(64, 3), out(64), all(64);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64), *y = nullptr;
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 1, 64, StoreParams{x, call});
      frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 2, 1});
      frame.copy(stream, out.data(), x, 256); // pageable
      ASSERT_EQ(frame.wait({stream}), 0);
      EXPECT_EQ(out, Words(64, 2 * call + 1));
      y = frame.alloc(stream, 64);
      frame.copy(stream, y, in.data(), 256);
      std::fill(in.begin(), in.end(), 9u);
      frame.launch(stream, MulAdd, 1, 64, MulAddParams{y, 64, 5, 1});
      frame.launch(stream, AddUp, 1, 64, AddUpParams{x, y, 64, 4});
      frame.dealloc(stream, y);
      EXPECT_NE(gpuasync_stream_native(frame, stream, SITE("native")), nullptr);
      frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 2, 0});
      gpuasync_event *event = frame.record(stream);
      EXPECT_EQ(frame.waitHost(event), 0);
    }
    frame.copy(stream, all.data(), x, 256);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(all, Words(64, 40));
  }
}

// A loop of a thousand rounds is one graph, whose length may change from call
// to call: each that comes again has a graph then, up to a limit.
TEST_P(Regions, LoopsOfManyRounds_G03) {
  const uint32_t trips[] = {1000, 1000, 1000, 700, 1000, 700, 0, 1000, 0, 1};
  for (uint32_t rounds : trips) {
    Words in(64, rounds), out(64);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    {
      RegionScope region(frame, REGION);
      frame.copy(stream, x, in.data(), 256);
      for (uint32_t i = 0; i < rounds; ++i) {
        frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 2, 1});
        frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 3, i});
      }
      frame.copy(stream, out.data(), x, 256);
    }
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    uint32_t expected = rounds;
    for (uint32_t i = 0; i < rounds; ++i)
      expected = (expected * 2 + 1) * 3 + i;
    ASSERT_EQ(out, Words(64, expected)) << rounds;
  }
  expectPlayed(6, 4);
}

// Many calls in one region are played in parts.
TEST_P(Regions, LongLoop) {
  for (int call = 0; call < 3; ++call) {
    Words out(1);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 1);
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 1, 1, StoreParams{x, 0});
      for (int i = 0; i < 10000; ++i)
        frame.launch(stream, MulAdd, 1, 1, MulAddParams{x, 1, 1, 1});
    }
    frame.copy(stream, out.data(), x, 4);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(out[0], 10000u);
  }
  expectPlayed(4, 2);
}

// An error in a region fails the frame at its call; the next one is as ever.
TEST_P(Regions, Errors_G05) {
  for (int call = 0; call < 6; ++call) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    gpuasync_region_begin(frame, REGION);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    gpuasync_event *event = frame.record(stream);
    gpuasync_stream *other = frame.stream();
    frame.waitEvent(other, event);
    if (call % 3 == 2)
      frame.launch(other, Store, -1, 64, StoreParams{x, 1});
    else
      frame.launch(other, Store, 1, 64, StoreParams{x, 1});
    if (call % 3 == 1) // too large for a device; seen when it is played
      frame.launch(other, Store, 1, 4096, StoreParams{x, 1});
    gpuasync_event *joined = frame.record(other);
    frame.destroy(other, false);
    frame.waitEvent(stream, joined);
    gpuasync_region_end(frame, REGION);
    if (call % 3 == 0) {
      EXPECT_EQ(frame.wait({stream}), 0);
      frame.dealloc(stream, x);
      continue;
    }
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_NE(strstr(status.message(), "test.mlir:10:5: store: "), nullptr)
        << status.message();
  }
  EXPECT_EQ(readStats(context).buffers.live, 0u);
  EXPECT_EQ(readStats(context).streams.live, 0u);
  FrameScope frame(*program);
  gpuasync_region_end(frame, REGION);
  Status status = frame.leave();
  EXPECT_NE(strstr(status.message(), "did not begin"), nullptr)
      << status.message();
}

// A region that is not ended is when its frame is left.
TEST_P(Regions, LeftInside_G05) {
  Words out(64);
  for (int call = 0; call < 3; ++call) {
    gpuasync_event *token = nullptr;
    {
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, 64);
      gpuasync_region_begin(frame, REGION);
      gpuasync_region_begin(frame, REGION); // a part of it
      frame.launch(stream, Store, 1, 64, StoreParams{x, 4});
      frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 2, 1});
      gpuasync_region_end(frame, REGION);
      frame.copy(stream, out.data(), x, 256);
      frame.dealloc(stream, x);
      token =
          gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    }
    EXPECT_TRUE(Status(gpuasync_event_wait(token)).ok());
    gpuasync_event_release(token);
    EXPECT_EQ(out, Words(64, 9));
  }
}

// Threads that are in one region at once have graphs of their own, and a
// program goes away with those of its regions.
TEST_P(Regions, Threads_G04) {
  constexpr int numThreads = 8;
  for (int round = 0; round < 2; ++round) {
    TestProgram own;
    std::vector<std::thread> threads;
    for (int t = 0; t < numThreads; ++t)
      threads.emplace_back([&, t] {
        ContextScope inner(context);
        for (uint32_t call = 0; call < 40; ++call) {
          Words out(32 * 5);
          FrameScope frame(own);
          gpuasync_stream *stream = frame.stream();
          uint32_t *x = frame.alloc(stream, out.size());
          fanOut(frame, stream, x, 4, REGION);
          frame.launch(stream, MulAdd, 1, 32,
                       MulAddParams{x, 32, 1, static_cast<uint32_t>(t)});
          frame.copy(stream, out.data(), x, 4 * out.size());
          frame.dealloc(stream, x);
          ASSERT_EQ(frame.wait({stream}), 0);
          ASSERT_EQ(out[0], 103u + static_cast<uint32_t>(t));
          ASSERT_EQ(out[159], 122u);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_LE(readStats(context).graphs.physical, hasGraphs() ? 32u : 0u);
  }
  EXPECT_EQ(readStats(context).graphs.physical, 0u);
}

// All on one of its streams, which needs no events: also where there are no
// graphs. What follows on the others is behind it.
TEST_P(Regions, OneStream_G01) {
  play("stream");
  for (uint32_t branches : {1u, 4u, 70u}) {
    const uint32_t site =
        testSite("test.mlir", "region", 700 + branches, 1, UINT32_MAX);
    for (int call = 0; call < 3; ++call) {
      Words out(32 * (branches + 1));
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream(), *other = frame.stream();
      uint32_t *x = frame.alloc(stream, out.size());
      fanOut(frame, stream, x, branches, site);
      gpuasync_event *done = frame.record(stream);
      frame.waitEvent(other, done);
      frame.copy(other, out.data(), x, out.size() * 4);
      ASSERT_EQ(frame.wait({other}), 0);
      EXPECT_EQ(out[0], 103u);
      for (uint32_t i = 1; i <= branches; ++i)
        EXPECT_EQ(out[32 * i], (3 + i) * 3 + 1 + 100);
      frame.dealloc(stream, x);
    }
  }
  EXPECT_EQ(readStats(context).graphLaunches, 0u);
  EXPECT_EQ(readStats(context).regionsOnStreams, 9u);
}

/// A clock of which a test says how much each way takes: it looks at what the
/// context counted since it was last asked.
struct ClockOfWays {
  gpuasync_context *context = nullptr;
  int64_t now = 0, streamsNs = 0, streamNs = 0, graphNs = 0;
  uint64_t graphs = 0, streams = 0;
  bool begun = false;

  int64_t ask() {
    gpuasync_stats stats = {};
    stats.structSize = sizeof(stats);
    EXPECT_TRUE(Status(gpuasync_stats_read(context, &stats)).ok());
    if (begun)
      now += stats.graphLaunches > graphs       ? graphNs
             : stats.regionsOnStreams > streams ? streamNs
                                                : streamsNs;
    begun = !begun;
    graphs = stats.graphLaunches;
    streams = stats.regionsOnStreams;
    return now;
  }
} clockOfWays;

TEST_P(Regions, TheFastestWayIsFound_G09) {
  if (!hasGraphs())
    GTEST_SKIP() << "nothing is chosen where there are no graphs";
  play("auto");
  const std::string names[] = {"streams", "stream", "graph"};
  for (size_t fastest = 0; fastest < 3; ++fastest) {
    SCOPED_TRACE(names[fastest]);
    clockOfWays = ClockOfWays();
    clockOfWays.context = context.get();
    clockOfWays.streamsNs = fastest == 0 ? 1000 : 2000;
    clockOfWays.streamNs = fastest == 1 ? 1000 : 2000;
    clockOfWays.graphNs = fastest == 2 ? 1000 : 2000;
    gpuasync::regionClock = [] { return clockOfWays.ask(); };
    const uint32_t site =
        testSite("auto.mlir", "region", 800 + static_cast<uint32_t>(fastest), 1,
                 UINT32_MAX);
    Played now = {0, 0};
    for (int call = 0; call < 60; ++call) {
      Words out(32 * 5);
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, out.size());
      fanOut(frame, stream, x, 4, site);
      frame.copy(stream, out.data(), x, out.size() * 4);
      ASSERT_EQ(frame.wait({stream}), 0);
      frame.dealloc(stream, x);
      for (uint32_t i = 1; i <= 4; ++i)
        EXPECT_EQ(out[32 * i], (3 + i) * 3 + 1 + 100);
      if (call == 39)
        played();
    }
    gpuasync::regionClock = gpuasync::nowNs;
    now = played();
    EXPECT_EQ(now.graphs, fastest == 2 ? 20u : 0u);
    EXPECT_EQ(now.streams, fastest == 1 ? 20u : 0u);
    // Also of a program that was released.
    if (fastest == 2)
      EXPECT_TRUE(Status(gpuasync_program_release(&program->program)).ok());
    std::string json(gpuasync_stats_json(context.get(), nullptr, 0) + 1, '\0');
    gpuasync_stats_json(context.get(), json.data(), json.size());
    EXPECT_NE(json.find("{\"file\": \"auto.mlir\", \"line\": " +
                        std::to_string(800 + fastest) +
                        ", \"column\": 1, \"play\": \"" + names[fastest] +
                        "\", \"why\": \"fastest\", \"median_us\": {"),
              std::string::npos)
        << json;
  }
}

// Random work on several streams, each piece of memory in the order in which
// the host asked for it: with the arguments and the shape of an earlier call or
// with others, and with what regions do not hold among it.
TEST_P(Regions, RandomPrograms_G01) {
  TestLibrary library;
  const uint32_t first = testSeed();
  for (uint32_t program = 0; program < 90; ++program) {
    const uint32_t seed = first + program;
    SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
    const char *const ways[] = {"graph", "stream", "auto"};
    play(ways[seed % 3]);
    const uint32_t site =
        testSite("test.mlir", "region", 600 + program % 4, 2, UINT32_MAX);
    for (uint32_t call = 0; call < 6; ++call) {
      std::mt19937 shape(seed + call / 5), values(seed * 7 + call / 2);
      auto choose = [&](uint32_t below) { return uint32_t(shape() % below); };
      constexpr uint32_t numBuffers = 6, words = 32;
      // Behind the device's buffers, two of the host's.
      Words expected((numBuffers + 2) * words, 1), out(numBuffers * words),
          host(2 * words, 1);
      FrameScope frame(*this->program);
      std::vector<gpuasync_stream *> streams(1 + choose(5));
      for (auto &stream : streams)
        stream = frame.stream();
      gpuasync_stream *main = streams[0];
      uint32_t *x = frame.alloc(main, out.size());
      frame.launch(main, Store, numBuffers, words, StoreParams{x, 1});
      // The event behind what last touched a buffer, and its stream.
      struct Last {
        gpuasync_event *event = nullptr;
        gpuasync_stream *stream = nullptr;
      } last[numBuffers + 2];
      std::vector<gpuasync_event *> events;
      auto behind = [&](gpuasync_stream *stream, uint32_t buffer) {
        if (last[buffer].stream && last[buffer].stream != stream)
          frame.waitEvent(stream, last[buffer].event);
      };
      auto touch = [&](gpuasync_stream *stream, uint32_t buffer) {
        gpuasync_event *event = frame.record(stream);
        events.push_back(event);
        last[buffer] = {event, stream};
      };
      touch(main, 0);
      for (Last &each : last)
        each = last[0];
      const uint32_t regions = 1 + choose(3);
      for (uint32_t r = 0; r < regions; ++r) {
        RegionScope region(frame, site);
        for (uint32_t ops = 2 + choose(20); ops; --ops) {
          gpuasync_stream *stream =
              streams[choose(static_cast<uint32_t>(streams.size()))];
          const uint32_t kind = choose(r % 2 ? 9 : 7);
          const bool upload = kind == 4, download = kind == 5;
          uint32_t a = choose(numBuffers),
                   b = (a + 1 + choose(numBuffers - 1)) % numBuffers;
          if (upload)
            b = numBuffers + choose(2);
          if (download)
            a = numBuffers + choose(2);
          auto place = [&](uint32_t i) {
            return i < numBuffers ? x + i * words
                                  : host.data() + (i - numBuffers) * words;
          };
          uint32_t *to = place(a), *from = place(b);
          const uint32_t value = uint32_t(values() % 100);
          behind(stream, a);
          behind(stream, b);
          auto each = [&](auto change) {
            for (uint32_t i = 0; i < words; ++i)
              expected[a * words + i] =
                  change(expected[a * words + i], expected[b * words + i]);
          };
          switch (kind) {
          case 0:
            frame.launch(stream, AddUp, 1, words,
                         AddUpParams{to, from, words, value});
            each([&](uint32_t, uint32_t in) { return in + value; });
            break;
          case 1:
            frame.launch(stream, MulAdd, 1, words,
                         MulAddParams{to, words, 3, value});
            each([&](uint32_t old, uint32_t) { return old * 3 + value; });
            break;
          case 2:
          case 4:
          case 5:
            frame.copy(stream, to, from, words * 4);
            each([&](uint32_t, uint32_t in) { return in; });
            break;
          case 3:
            gpuasync_memset(frame, stream, to, &value, 4, words,
                            SITE("memset"));
            each([&](uint32_t, uint32_t) { return value; });
            break;
          case 6: // of other operations now and then
            library.call(frame, stream, to, words, 3, value, 1 + value % 2);
            each([&](uint32_t old, uint32_t) {
              old = old * 3 + value;
              return value % 2 ? old * 3 + value : old;
            });
            break;
          case 7: { // from the host's memory, which changes at once
            Words in(words, value);
            frame.copy(stream, to, in.data(), words * 4);
            each([&](uint32_t, uint32_t) { return value; });
            break;
          }
          default:
            ASSERT_EQ(frame.wait({stream}), 0);
            break;
          }
          touch(stream, a);
          last[b] = last[a];
        }
      }
      for (uint32_t i = 0; i < numBuffers + 2; ++i) {
        behind(main, i);
        if (i < numBuffers)
          frame.copy(main, out.data() + i * words, x + i * words, words * 4);
      }
      for (gpuasync_event *event : events)
        frame.destroy(event);
      frame.dealloc(main, x);
      if (choose(2))
        ASSERT_EQ(frame.wait(streams), 0);
      else
        ASSERT_EQ(frame.wait({main}), 0);
      out.insert(out.end(), host.begin(), host.end());
      ASSERT_EQ(out, expected);
    }
  }
  this->program.reset(); // its graphs hold kernels of the library's
}

// Modules that go for room take the graphs of their kernels with them.
TEST_P(Regions, ModulesThatAreGivenBack_G06) {
  for (int round = 0; round < 3; ++round) {
    for (int call = 0; call < 3; ++call) {
      Words out(32 * 5);
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, out.size());
      fanOut(frame, stream, x, 4, REGION);
      frame.copy(stream, out.data(), x, 4 * out.size());
      frame.dealloc(stream, x);
      ASSERT_EQ(frame.wait({stream}), 0);
      ASSERT_EQ(out[159], 122u);
    }
    EXPECT_EQ(readStats(context).graphs.physical, hasGraphs() ? 1u : 0u);
    EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
    Status status(gpuasync_context_trim(context.get(), 10));
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(readStats(context).graphs.physical, 0u);
  }
}

} // namespace
