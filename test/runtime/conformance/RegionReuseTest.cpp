//===- RegionReuseTest.cpp - Graphs of regions that are used again --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What may change from call to call, and what may be on the streams before,
// without another graph for each call, and without playing on streams.
//===----------------------------------------------------------------------===//

#include "RegionFixture.h"

#include <random>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class RegionReuse : public RegionTest {
protected:
  /// How often the vendor's library was told that a stream waits.
  uint64_t countWaits() {
    return mock ? mock->mock_calls("cuStreamWaitEvent") +
                      mock->mock_calls("hipStreamWaitEvent")
                : 0;
  }
  /// After `warm` of `calls`, no graph is made, and none of the calls is played
  /// on streams.
  template <typename Call>
  void expectReuse(uint32_t calls, uint32_t warm, Call call) {
    gpuasync_stats warmed{};
    for (uint32_t i = 0; i < calls; ++i) {
      if (i == warm)
        warmed = readStats(context);
      ASSERT_NO_FATAL_FAILURE(call(i));
    }
    gpuasync_stats end = readStats(context);
    EXPECT_EQ(end.graphs.created, warmed.graphs.created);
    EXPECT_EQ(end.graphLaunches > warmed.graphLaunches, hasGraphs());
    EXPECT_EQ(end.regionsOnStreams, warmed.regionsOnStreams);
  }
  /// The context keeps small blocks behind graphs, and calls are counted.
  bool keeps() {
    return mock && hasGraphs() &&
           context.get()->has(gpuasync::CapStreamOrderedAlloc) &&
           context.get()->has(gpuasync::CapFlagWait);
  }
  /// Of the driver's stream-ordered pool, in either vendor's library.
  uint64_t countPoolCalls() {
    uint64_t count = 0;
    if (mock)
      for (const char *call : {"cuMemAllocFromPoolAsync", "cuMemFreeAsync",
                               "hipMallocFromPoolAsync", "hipFreeAsync"})
        count += mock->mock_calls(call);
    return count;
  }
};
INSTANTIATE_OVER_DEVICES(RegionReuse);

// A copy that the copy engine does comes from the device in one call, and in
// the next one from the host, or is one of rows.
TEST_P(RegionReuse, OtherCopies_G03) {
  constexpr uint32_t words = 256 << 10;
  Words host(words, 5);
  {
    FrameScope frame(*program);
    gpuasync_host_register(frame, host.data(), 4 * words, SITE("register"));
  }
  for (bool rows : {false, true})
    expectReuse(60, 12, [&](uint32_t call) {
      const bool other = call % 2;
      Words out(2);
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, words), *y = frame.alloc(stream, words);
      {
        RegionScope region(frame, rows ? SITE("rows") : SITE("memory"));
        frame.launch(stream, Store, words / 32, 32, StoreParams{x, call});
        frame.launch(stream, Store, words / 32, 32, StoreParams{y, 9});
        const int64_t sizes[] = {2, words / 2 - (other && rows ? 1 : 0)},
                      strides[] = {words / 2, 1};
        gpuasync_memcpy_strided(frame, stream, y, strides,
                                other && !rows ? host.data() : x, strides,
                                sizes, 2, 4, SITE("memcpy"));
        frame.launch(stream, MulAdd, words / 32, 32,
                     MulAddParams{y, words, 2, 1});
      }
      gpuasync_memcpy(frame, stream, out.data(), y, 4, SITE("first"));
      gpuasync_memcpy(frame, stream, &out[1], y + words - 1, 4, SITE("last"));
      frame.dealloc(stream, x);
      frame.dealloc(stream, y);
      ASSERT_EQ(frame.wait({stream}), 0);
      EXPECT_EQ(out[0], 2 * (other && !rows ? 5 : call) + 1) << call;
      EXPECT_EQ(out[1], other && rows ? 19 : out[0]) << call;
    });
  FrameScope frame(*program);
  gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
}

// Memory of the host on both sides of every other copy, which no vendor does in
// the order of a graph: a kernel does.
TEST_P(RegionReuse, CopiesOnTheHost_G03) {
  constexpr uint32_t words = 256 << 10;
  Words from(words), to(words);
  {
    FrameScope frame(*program);
    gpuasync_host_register(frame, from.data(), 4 * words, SITE("register"));
    gpuasync_host_register(frame, to.data(), 4 * words, SITE("register"));
  }
  expectReuse(60, 12, [&](uint32_t call) {
    Words out(2);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, words);
    uint32_t *y = call % 2 ? to.data() : x;
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, words / 32, 32,
                   StoreParams{from.data(), call});
      frame.copy(stream, y, from.data(), 4 * words);
      frame.launch(stream, MulAdd, words / 32, 32,
                   MulAddParams{y, words, 2, 1});
    }
    gpuasync_memcpy(frame, stream, out.data(), y, 4, SITE("first"));
    gpuasync_memcpy(frame, stream, &out[1], y + words - 1, 4, SITE("last"));
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(out, Words(2, 2 * call + 1)) << call;
  });
  FrameScope frame(*program);
  gpuasync_host_unregister(frame, from.data(), SITE("unregister"));
  gpuasync_host_unregister(frame, to.data(), SITE("unregister"));
}

// Kernels that are made ready early, and that are empty in every other call.
TEST_P(RegionReuse, EmptyEveryOtherTime_G03) {
  expectReuse(60, 12, [&](uint32_t call) {
    Words out(64);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 2, 32, StoreParams{x, call});
      frame.launch(stream, MulAdd, call % 2 ? 0 : 2, 32,
                   MulAddParams{x, 64, 3, 1});
      frame.launch(stream, MulAdd, 2, 32, MulAddParams{x, 64, 2, 1});
    }
    frame.copy(stream, out.data(), x, 256);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(out, Words(64, 2 * (call % 2 ? call : 3 * call + 1) + 1));
  });
}

// No update changes clusters: each of them has a graph.
TEST_P(RegionReuse, OtherClusters_G03) {
  if (!context.get()->has(gpuasync::CapClusters))
    GTEST_SKIP() << "no clusters";
  expectReuse(60, 12, [&](uint32_t call) {
    Words out(128);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 128);
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 4, 32, StoreParams{x, call});
      alignas(16) MulAddParams params{x, 128, 3, 1};
      gpuasync_launch_config block = makeLaunch(4, 32, params);
      block.paramBytes = program->kernels[MulAdd].paramBytes;
      block.cluster[0] = 1 << call % 3;
      gpuasync_launch(frame, stream, program->launchSites[MulAdd], &block);
    }
    frame.copy(stream, out.data(), x, 512);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(out, Words(128, 3 * call + 1));
  });
}

// Memory that the program asks for on several streams, or frees there, before
// the region: the graph is behind that, wherever it runs. Of small memory,
// which the context may have kept, the driver need not be asked on a stream.
TEST_P(RegionReuse, MemoryOnSeveralStreams_G02) {
  bool large = true;
  auto body = [&](uint32_t call) {
    const uint32_t words = large ? 1 << 20 : 32;
    Words out(96);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *z = frame.alloc(b, words);
    for (uint32_t round = 0; round < 2; ++round) {
      uint32_t *x = frame.alloc(a, 2 * words), *y = frame.alloc(b, words);
      const uint64_t waits = countWaits();
      {
        RegionScope region(frame, round ? SITE("second") : SITE("first"));
        frame.launch(a, Store, 2, 32, StoreParams{x, call});
        frame.launch(b, Store, 1, 32, StoreParams{y, call + 1});
        gpuasync_event *event = frame.record(b);
        frame.waitEvent(a, event);
        frame.destroy(event);
        frame.launch(b, MulAdd, 1, 32, MulAddParams{y, 32, 2, 1});
        frame.launch(a, MulAdd, 2, 32, MulAddParams{x, 64, 2, 1});
      }
      // For y, which nothing else would tell.
      if (mock &&
          (large || !context.get()->has(gpuasync::CapStreamOrderedAlloc)))
        EXPECT_GE(countWaits() - waits, 1u);
      frame.copy(a, out.data(), x, 256);
      frame.copy(b, out.data() + 64, y, 128);
      ASSERT_EQ(frame.wait({a, b}), 0);
      EXPECT_EQ(out[0], 2 * call + 1);
      EXPECT_EQ(out[95], 2 * call + 3);
      frame.dealloc(a, x);
      frame.dealloc(b, z);
      z = y;
    }
    frame.dealloc(b, z);
  };
  expectReuse(40, 10, body);
  large = false;
  expectReuse(40, 10, body);
}

// A small block that a call frees the next one gets: a warm call asks the
// driver for nothing and tells it of nothing, whether its graph signals its end
// (as one does that ends with a download) or the flag is written.
TEST_P(RegionReuse, MemoryThatIsKept_M05) {
  Words out(64);
  {
    FrameScope frame(*program);
    gpuasync_host_register(frame, out.data(), 256, SITE("register"));
  }
  for (bool download : {false, true}) {
    uint32_t *shared = nullptr;
    {
      FrameScope frame(*program);
      shared = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
    }
    uint64_t warmed = 0;
    uint32_t call = 0;
    expectReuse(60, 30, [&](uint32_t) {
      if (++call == 31)
        warmed = countPoolCalls();
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *slab = frame.alloc(stream, 4096);
      {
        RegionScope region(frame, download ? SITE("download") : SITE("shared"));
        frame.launch(stream, Store, 2, 32, StoreParams{slab, call});
        frame.launch(stream, MulAdd, 2, 32, MulAddParams{slab, 64, 2, 1});
        if (download) {
          frame.copy(stream, out.data(), slab, 256);
        } else {
          frame.launch(stream, Store, 2, 32, StoreParams{shared, 0});
          frame.launch(stream, AddUp, 2, 32, AddUpParams{shared, slab, 64, 1});
        }
      }
      frame.dealloc(stream, slab);
      ASSERT_EQ(frame.wait({stream}), 0);
      if (download)
        EXPECT_EQ(out, Words(64, 2 * call + 1));
    });
    if (keeps())
      EXPECT_EQ(countPoolCalls(), warmed) << download;
    FrameScope frame(*program);
    frame.dealloc(nullptr, shared);
  }
  FrameScope frame(*program);
  gpuasync_host_unregister(frame, out.data(), SITE("unregister"));
}

// What is kept behind a graph that is not done follows its stream, and nobody
// else gets it before that.
TEST_P(RegionReuse, KeptMemoryIsBehindItsGraph_M02) {
  uint32_t *gate = nullptr;
  {
    FrameScope frame(*program);
    gate = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  }
  for (uint32_t call = 0; call < 24; ++call) {
    *gate = call < 20;
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 4096);
    {
      RegionScope region(frame, REGION);
      frame.launch(a, Gate, 1, 1, GateParams{gate});
      frame.launch(a, Store, 2, 32, StoreParams{x, call});
    }
    const uint64_t before = countPoolCalls();
    frame.dealloc(a, x);
    if (call < 20) {
      ASSERT_EQ(frame.wait({a}), 0);
      continue;
    }
    if (keeps())
      EXPECT_EQ(countPoolCalls(), before);
    uint32_t *y = frame.alloc(b, 4096), *z = frame.alloc(nullptr, 4096);
    EXPECT_NE(y, x);
    EXPECT_NE(z, x);
    const uint64_t others = countPoolCalls();
    uint32_t *again = frame.alloc(a, 4096);
    if (keeps()) {
      EXPECT_EQ(again, x);
      EXPECT_EQ(countPoolCalls(), others);
    }
    frame.launch(b, Store, 2, 32, StoreParams{y, 7});
    frame.launch(a, MulAdd, 2, 32, MulAddParams{again, 64, 0, 9});
    Words out(64), outB(64);
    frame.copy(a, out.data(), again, 256);
    frame.copy(b, outB.data(), y, 256);
    openGate(gate);
    ASSERT_EQ(frame.wait({a, b}), 0);
    EXPECT_EQ(out, Words(64, 9));
    EXPECT_EQ(outB, Words(64, 7));
    frame.dealloc(a, again);
    frame.dealloc(b, y);
    frame.dealloc(nullptr, z);
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, gate);
}

// The same, of a region after another one with nothing waited for in between.
TEST_P(RegionReuse, MemoryBetweenRegions_G02) {
  expectReuse(40, 10, [&](uint32_t call) {
    Words out(96);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 96);
    {
      RegionScope region(frame, SITE("first"));
      frame.launch(a, Store, 1, 32, StoreParams{x, call});
      frame.launch(b, Store, 1, 32, StoreParams{x + 32, call + 1});
    }
    uint32_t *y = frame.alloc(a, 32), *z = frame.alloc(b, 32);
    {
      RegionScope region(frame, SITE("second"));
      frame.launch(a, AddUp, 1, 32, AddUpParams{y, x, 32, 1});
      frame.launch(b, AddUp, 1, 32, AddUpParams{z, x + 32, 32, 1});
      frame.launch(a, AddUp, 1, 32, AddUpParams{x, y, 32, 1});
      frame.launch(b, AddUp, 1, 32, AddUpParams{x + 32, z, 32, 1});
    }
    frame.dealloc(a, y);
    frame.dealloc(b, z);
    gpuasync_event *event = frame.record(b);
    frame.waitEvent(a, event);
    frame.copy(a, out.data(), x, 256);
    frame.dealloc(a, x);
    ASSERT_EQ(frame.wait({a}), 0);
    EXPECT_EQ(out[0], call + 2);
    EXPECT_EQ(out[32], call + 3);
  });
}

// Callers' streams of which nobody says that they rest: there are no more
// graphs than streams, in whatever order these come.
TEST_P(RegionReuse, SeveralCallersStreams_G04) {
  gpuasync_stream *callers[3] = {};
  for (gpuasync_stream *&each : callers)
    ASSERT_TRUE(
        Status(gpuasync_context_stream_create(context.get(), &each)).ok());
  uint32_t *x = nullptr;
  {
    FrameScope frame(*program);
    x = frame.alloc(nullptr, 3 * 64, GPUASYNC_ALLOC_HOST_SHARED);
  }
  std::mt19937 random(7);
  for (uint32_t call = 0; call < 200; ++call) {
    const uint32_t which = call < 12 ? call / 4 : uint32_t(random() % 3);
    uint32_t *y = x + 64 * which;
    {
      FrameScope frame(*program);
      gpuasync_stream *stream = gpuasync_stream_external(
          frame, 0, gpuasync_context_stream_native(callers[which]),
          SITE("external"));
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 2, 32, StoreParams{y, call});
      frame.launch(stream, MulAdd, 2, 32, MulAddParams{y, 64, 2, 1});
    }
    if (call % 3)
      continue;
    ASSERT_TRUE(
        Status(gpuasync_context_stream_synchronize(callers[which])).ok());
    ASSERT_EQ(y[63], 2 * call + 1);
  }
  EXPECT_LE(readStats(context).graphs.created, 3u);
  expectPlayed(200 - readStats(context).graphs.created,
               readStats(context).graphs.created);
  for (gpuasync_stream *each : callers) {
    ASSERT_TRUE(Status(gpuasync_context_stream_synchronize(each)).ok());
    gpuasync_context_stream_destroy(each);
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, x);
}

// Want of memory when a graph is made is no reason never to make it.
TEST_P(RegionReuse, MadeLaterIfNotNow_G05) {
  if (!mock || !hasGraphs())
    GTEST_SKIP() << "nothing to be made fail";
  const bool onCuda = device() == "cuda";
  mock->mock_fail(onCuda ? "cuGraphInstantiateWithFlags"
                         : "hipGraphInstantiateWithFlags",
                  1, 2);
  for (uint32_t call = 0; call < 100; ++call) {
    Words out(64);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 2, 32, StoreParams{x, call});
      frame.launch(stream, MulAdd, 2, 32, MulAddParams{x, 64, 3, 1});
    }
    frame.copy(stream, out.data(), x, 256);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(out, Words(64, 3 * call + 1));
  }
  EXPECT_NE(mock->mock_failed(), nullptr);
  mock->mock_fail(nullptr, 0, 0);
  EXPECT_EQ(readStats(context).graphs.created, 1u);
  EXPECT_GE(played().graphs, 20u);
}

} // namespace
