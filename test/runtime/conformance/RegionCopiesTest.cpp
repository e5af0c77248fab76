//===- RegionCopiesTest.cpp - Copies of the host's memory in regions ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uploads and downloads of pageable memory that a region holds: a source may
// change once the copy is enqueued, a destination is written by the host wait
// that covers the copy, and copies that touch the same memory keep their order.
//===----------------------------------------------------------------------===//

#include "RegionFixture.h"

#include <optional>

#include <chrono>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class RegionCopies : public RegionTest {
protected:
  /// Where the host works on the device's memory itself, no region is recorded
  /// or it is played around each of these copies.
  void expectGraphs(uint64_t graphs, uint64_t streams) {
    if (hasStaging())
      expectPlayed(graphs, streams);
  }
  /// Else the device writes the host's memory itself, whoever waits for it.
  bool hasStaging() { return !context.get()->has(gpuasync::CapHostAccess); }
};
INSTANTIATE_OVER_DEVICES(RegionCopies);

const char *const ways[] = {"graph", "stream", "auto"};

// One region and one graph, from and to other places each time.
TEST_P(RegionCopies, InAndOut) {
  std::vector<Words> ins, outs;
  for (uint32_t call = 0; call < 6; ++call) {
    Words &in = ins.emplace_back(64, 3 + call), &out = outs.emplace_back(64);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    {
      RegionScope region(frame, REGION);
      frame.copy(stream, x, in.data(), 256);
      std::fill(in.begin(), in.end(), 1000u);
      frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 10, call});
      frame.copy(stream, out.data(), x, 256);
      frame.launch(stream, Store, 1, 64, StoreParams{x, 9});
    }
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(out, Words(64, (3 + call) * 10 + call));
  }
  expectGraphs(5, 1);
}

// A wait with nothing but the region ahead of it, which its graph could tell of
// by itself: the destination is written all the same.
TEST_P(RegionCopies, WaitForNothingElse_B06) {
  uint32_t *x = nullptr;
  {
    FrameScope frame(*program);
    x = frame.alloc(nullptr, 64);
  }
  for (uint32_t call = 0; call < 60; ++call) {
    Words in(64, call), out(64, 77);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    {
      RegionScope region(frame, REGION);
      frame.copy(stream, x, in.data(), 256);
      frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 10, 1});
      frame.copy(stream, out.data(), x, 256);
    }
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(out, Words(64, call * 10 + 1)) << call;
  }
  expectGraphs(59, 1);
  FrameScope frame(*program);
  frame.dealloc(nullptr, x);
}

// Rows that are not dense, on either side.
TEST_P(RegionCopies, Strided) {
  for (const char *way : ways) {
    play(way);
    for (uint32_t call = 0; call < 5; ++call) {
      Words in(256), out(256, 77);
      for (uint32_t i = 0; i < 256; ++i)
        in[i] = i + call;
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, 256);
      const int64_t sizes[] = {4, 4}, onHost[] = {16, 2}, reversed[] = {-16, 2},
                    onDevice[] = {8, 1}, dense[] = {4, 1};
      {
        RegionScope region(frame, REGION);
        frame.launch(stream, Store, 8, 32, StoreParams{x, 0});
        gpuasync_memcpy_strided(frame, stream, x, onDevice, in.data() + call,
                                onHost, sizes, 2, 4, SITE("memcpy"));
        gpuasync_memcpy_strided(frame, stream, x + 128, dense, in.data(),
                                onHost, sizes, 2, 4, SITE("memcpy"));
        std::fill(in.begin(), in.end(), 1000u);
        frame.launch(stream, MulAdd, 8, 32, MulAddParams{x, 256, 2, 1});
        gpuasync_memcpy_strided(frame, stream, out.data() + 48, reversed, x,
                                onDevice, sizes, 2, 4, SITE("memcpy"));
        gpuasync_memcpy_strided(frame, stream, out.data() + 128, onHost,
                                x + 128, dense, sizes, 2, 4, SITE("memcpy"));
      }
      frame.dealloc(stream, x);
      ASSERT_EQ(frame.wait({stream}), 0);
      Words expected(256, 77);
      for (uint32_t i = 0; i < 4; ++i)
        for (uint32_t k = 0; k < 4; ++k) {
          const uint32_t read = 16 * i + 2 * k + call;
          expected[48 - 16 * i + 2 * k] = (read + call) * 2 + 1;
          expected[128 + 16 * i + 2 * k] = read * 2 + 1;
        }
      ASSERT_EQ(out, expected) << way << " " << call;
    }
  }
}

// Of two downloads to one place the later one counts, whole or in part, in the
// region and from one region to the next.
TEST_P(RegionCopies, DownloadsToOnePlace_B06) {
  for (const char *way : ways) {
    play(way);
    for (uint32_t call = 0; call < 5; ++call) {
      Words out(64);
      FrameScope frame(*program);
      gpuasync_stream *a = frame.stream(), *b = frame.stream();
      uint32_t *x = frame.alloc(a, 64);
      for (uint32_t round = 0; round < 2; ++round) {
        RegionScope region(frame, REGION);
        frame.launch(a, Store, 1, 64, StoreParams{x, call + round});
        frame.copy(a, out.data(), x, 256);
        frame.launch(a, MulAdd, 1, 64, MulAddParams{x, 64, 10, 5});
        frame.copy(a, out.data() + 16, x, 128);
        gpuasync_event *event = frame.record(a);
        frame.waitEvent(b, event);
        frame.destroy(event);
        frame.launch(b, MulAdd, 1, 64, MulAddParams{x, 64, 1, 1});
        frame.copy(b, out.data() + 24, x, 64);
        event = frame.record(b);
        frame.waitEvent(a, event);
        frame.destroy(event);
      }
      frame.dealloc(a, x);
      ASSERT_EQ(frame.wait({a}), 0);
      const uint32_t first = call + 1, second = first * 10 + 5;
      for (uint32_t i = 0; i < 64; ++i)
        ASSERT_EQ(out[i], i >= 24 && i < 40   ? second + 1
                          : i >= 16 && i < 48 ? second
                                              : first)
            << way << " " << call << ": " << i;
    }
  }
}

// What a download of the region, or one before it, has yet to write is read as
// it is then.
TEST_P(RegionCopies, UploadOfADownload_B06) {
  for (const char *way : ways) {
    play(way);
    for (uint32_t call = 0; call < 5; ++call) {
      Words host(96, 4), out(96);
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, 96), *y = frame.alloc(stream, 96);
      frame.launch(stream, Store, 1, 32, StoreParams{x, 50 + call});
      frame.copy(stream, host.data(), x, 128);
      {
        RegionScope region(frame, REGION);
        frame.launch(stream, Store, 3, 32, StoreParams{x, 60 + call});
        frame.copy(stream, host.data() + 16, x, 128);
        frame.copy(stream, y, host.data(), 384);
        frame.launch(stream, MulAdd, 3, 32, MulAddParams{y, 96, 2, 1});
        frame.copy(stream, out.data(), y, 384);
      }
      frame.dealloc(stream, x);
      frame.dealloc(stream, y);
      ASSERT_EQ(frame.wait({stream}), 0);
      for (uint32_t i = 0; i < 96; ++i) {
        const uint32_t value = i < 16 ? 50 + call : i < 48 ? 60 + call : 4;
        ASSERT_EQ(host[i], value) << way << " " << call << ": " << i;
        ASSERT_EQ(out[i], value * 2 + 1) << way << " " << call << ": " << i;
      }
    }
  }
}

// Who waits for an event of the region, on the host or on another stream, finds
// the destination written.
TEST_P(RegionCopies, EventsBehindADownload_B06) {
  for (const char *way : ways) {
    play(way);
    for (uint32_t call = 0; call < 5; ++call) {
      Words out(64), more(64);
      FrameScope frame(*program);
      gpuasync_stream *a = frame.stream(), *b = frame.stream();
      uint32_t *x = frame.alloc(a, 128);
      gpuasync_event *event = nullptr;
      {
        RegionScope region(frame, REGION);
        frame.launch(a, Store, 4, 32, StoreParams{x, call});
        for (uint32_t i = 0; i < 64; ++i)
          frame.copy(a, out.data() + i, x + i, 4);
        event = frame.record(a);
        frame.launch(a, MulAdd, 1, 32, MulAddParams{x + 64, 32, 2, 1});
      }
      if (call % 2) {
        ASSERT_EQ(frame.waitHost(event), 0);
        EXPECT_EQ(out, Words(64, call));
      }
      frame.waitEvent(b, event);
      frame.copy(b, x, out.data(), 256);
      frame.launch(b, MulAdd, 2, 32, MulAddParams{x, 64, 3, 2});
      frame.copy(b, more.data(), x, 256);
      ASSERT_EQ(frame.wait({b}), 0);
      EXPECT_EQ(out, Words(64, call));
      EXPECT_EQ(more, Words(64, call * 3 + 2));
      ASSERT_EQ(frame.wait({a}), 0);
      frame.dealloc(b, x);
    }
  }
}

// Frames that are left without a wait: the next call of the region leaves alone
// what the host has yet to take, and what still runs.
TEST_P(RegionCopies, LeftWithoutAWait_B06) {
  constexpr uint32_t calls = 12;
  uint32_t *flag = nullptr, *gate = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    gate = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  }
  for (const char *way : ways) {
    play(way);
    std::vector<Words> outs(calls, Words(64));
    std::vector<gpuasync_event *> tokens;
    auto work = [&](uint32_t call, bool held) {
      *flag = 0;
      Words in(64, call);
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, 64);
      if (held)
        frame.launch(stream, Gate, 1, 1, GateParams{gate});
      {
        RegionScope region(frame, REGION);
        if (held) // else it would look for downloads that are done
          frame.copy(stream, x, in.data(), 256);
        else
          frame.launch(stream, Store, 1, 64, StoreParams{x, call});
        frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 10, 1});
        frame.copy(stream, outs[call].data(), x, 256);
        frame.launch(stream, Raise, 1, 1, GateParams{flag});
      }
      frame.dealloc(stream, x);
      tokens.push_back(
          gpuasync_event_export(frame, frame.record(stream), SITE("return")));
    };
    // Done on the device, and nobody has waited.
    for (uint32_t call = 0; call < calls / 2; ++call) {
      work(call, /*held=*/false);
      while (!isSet(flag))
        std::this_thread::yield();
    }
    *gate = 0;
    for (uint32_t call = calls / 2; call < calls; ++call)
      work(call, /*held=*/true);
    openGate(gate);
    for (gpuasync_event *token : tokens) {
      EXPECT_TRUE(Status(gpuasync_event_wait(token)).ok());
      gpuasync_event_release(token);
    }
    for (uint32_t call = 0; call < calls; ++call)
      EXPECT_EQ(outs[call], Words(64, call * 10 + 1)) << way << " " << call;
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
  frame.dealloc(nullptr, gate);
}

// After a timeout nothing is written any more, and the next call is as ever.
TEST_P(RegionCopies, Timeout) {
  uint32_t *gate = nullptr;
  {
    FrameScope frame(*program);
    gate = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  }
  for (uint32_t call = 0; call < 6; ++call) {
    const bool held = call % 3 == 2;
    Words in(64, call), out(64, 77);
    *gate = 0;
    {
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, 64);
      if (held)
        frame.launch(stream, Gate, 1, 1, GateParams{gate});
      {
        RegionScope region(frame, REGION);
        frame.copy(stream, x, in.data(), 256);
        frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 10, 1});
        frame.copy(stream, out.data(), x, 256);
      }
      if (held)
        gpuasync_set_timeout(0.02);
      EXPECT_EQ(frame.wait({stream}), int32_t(held));
      if (!held)
        frame.dealloc(stream, x);
      EXPECT_EQ(frame.leave().code(), held ? uint32_t(GPUASYNC_TIMEOUT) : 0u);
      gpuasync_set_timeout(0);
      openGate(gate);
    }
    if (held)
      EXPECT_TRUE(Status(gpuasync_context_trim(context.get(), 10)).ok());
    if (!held || hasStaging())
      EXPECT_EQ(out, Words(64, held ? 77 : call * 10 + 1));
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, gate);
}

// What a frame holds when it fails stays until all of its streams are done, not
// only a graph that tells of its own end.
TEST_P(RegionCopies, MemoryOfATimeout_E03) {
  uint32_t *x = nullptr, *gates = nullptr, *held = nullptr;
  {
    FrameScope frame(*program);
    x = frame.alloc(nullptr, 64);
    gates = frame.alloc(nullptr, 2, GPUASYNC_ALLOC_HOST_SHARED);
    gates[0] = gates[1] = 1;
  }
  auto region = [&](FrameScope &frame, gpuasync_stream *stream, Words &out) {
    RegionScope region(frame, REGION);
    frame.launch(stream, Store, 2, 32, StoreParams{x, 3});
    frame.launch(stream, MulAdd, 2, 32, MulAddParams{x, 64, 3, 1});
    frame.copy(stream, out.data(), x, 256);
  };
  Words out(64);
  for (uint32_t call = 0; call < 12; ++call) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    region(frame, stream, out);
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(out, Words(64, 10));
  }
  gates[0] = gates[1] = 0;
  // A frame that is open already goes on; later ones begin behind what is left.
  std::optional<FrameScope> outer(std::in_place, *program);
  {
    FrameScope frame(*program);
    gpuasync_stream *first = frame.stream(), *second = frame.stream();
    held = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
    frame.launch(first, Gate, 1, 1, GateParams{gates});
    region(frame, first, out);
    frame.launch(second, Gate, 1, 1, GateParams{gates + 1});
    frame.launch(second, Store, 2, 32, StoreParams{held, 3});
    gpuasync_set_timeout(0.02);
    EXPECT_NE(frame.wait({first}), 0);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_TIMEOUT));
    gpuasync_set_timeout(0);
  }
  openGate(gates);
  std::vector<uint32_t *> others;
  for (uint32_t i = 0; i < 50; ++i) {
    others.push_back(outer->alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED));
    EXPECT_NE(others.back(), held) << i;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  for (uint32_t *other : others)
    outer->dealloc(nullptr, other);
  outer.reset();
  openGate(gates + 1);
  EXPECT_TRUE(Status(gpuasync_context_trim(context.get(), 10)).ok());
  FrameScope frame(*program);
  frame.dealloc(nullptr, x);
  frame.dealloc(nullptr, gates);
}

// What a failed frame has recorded goes, and what that held.
TEST_P(RegionCopies, Errors) {
  uint64_t physical = 0;
  for (uint32_t call = 0; call < 40; ++call) {
    const bool fails = call % 4 == 3, other = call % 8 == 7;
    Words in(4096, call), out(4096, 77);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 4096);
    {
      RegionScope region(frame, REGION);
      frame.copy(stream, x, in.data(), 16384);
      if (other)
        frame.copy(stream, x, in.data(), 16384);
      frame.launch(stream, MulAdd, 64, 64, MulAddParams{x, 4096, 10, 1});
      frame.copy(stream, out.data(), x, 16384);
      if (fails)
        frame.launch(stream, Store, -1, 64, StoreParams{x, 1});
    }
    if (!fails) {
      frame.dealloc(stream, x);
      ASSERT_EQ(frame.wait({stream}), 0);
    }
    EXPECT_EQ(frame.leave().code(),
              fails ? uint32_t(GPUASYNC_INVALID_ARGUMENT) : 0u);
    if (!fails || hasStaging())
      EXPECT_EQ(out, Words(4096, fails ? 77 : call * 10 + 1));
    if (call == 15) // as the last one: it keeps no memory
      physical = readStats(context).buffers.physical;
  }
  EXPECT_EQ(readStats(context).buffers.physical, physical);
}

// More than a graph keeps staging for is copied as outside of regions.
TEST_P(RegionCopies, Large) {
  constexpr uint32_t count = 3 << 19; // 6 MB
  for (uint32_t call = 0; call < 3; ++call) {
    Words in(count, call), out(count), small(64, call), all(64);
    const uint64_t launches = readStats(context).launches;
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, count), *y = frame.alloc(stream, 64);
    {
      RegionScope region(frame, REGION);
      frame.copy(stream, y, small.data(), 256);
      frame.launch(stream, MulAdd, 1, 64, MulAddParams{y, 64, 3, 1});
      frame.copy(stream, x, in.data(), 4ull * count);
      frame.launch(stream, MulAdd, count / 256, 256,
                   MulAddParams{x, count, 10, 1});
      frame.copy(stream, all.data(), y, 256);
      frame.copy(stream, out.data(), x, 4ull * count);
    }
    frame.dealloc(stream, x);
    frame.dealloc(stream, y);
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(all, Words(64, call * 3 + 1));
    EXPECT_TRUE(out == Words(count, call * 10 + 1));
    EXPECT_EQ(readStats(context).launches - launches, 2u);
  }
}

// Sizes that change, and memory that is registered for some of the calls.
TEST_P(RegionCopies, OtherSizesAndKinds) {
  for (const char *way : ways) {
    play(way);
    Words in(8192), out(8192);
    for (uint32_t call = 0; call < 16; ++call) {
      const uint32_t count = 64u << (call % 5 * 2 % 8);
      const bool registered = call % 3 == 1;
      std::fill(in.begin(), in.end(), call);
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, count);
      if (registered) {
        gpuasync_host_register(frame, in.data(), 32768, SITE("register"));
        gpuasync_host_register(frame, out.data(), 32768, SITE("register"));
      }
      {
        RegionScope region(frame, REGION);
        frame.copy(stream, x, in.data(), 4 * count);
        frame.launch(stream, MulAdd, count / 64, 64,
                     MulAddParams{x, count, 10, 1});
        frame.copy(stream, out.data(), x, 4 * count);
      }
      frame.dealloc(stream, x);
      ASSERT_EQ(frame.wait({stream}), 0);
      for (uint32_t i = 0; i < count; ++i)
        ASSERT_EQ(out[i], call * 10 + 1) << way << " " << call << ": " << i;
      if (registered) {
        gpuasync_host_unregister(frame, in.data(), SITE("unregister"));
        gpuasync_host_unregister(frame, out.data(), SITE("unregister"));
      }
    }
  }
}

// Rounds on one stream that is held up: a graph that may still run is launched
// again behind itself, and what its last launch has yet to read or to hand out
// stays as it is.
TEST_P(RegionCopies, RoundsThatWaitForNothing_B06) {
  constexpr uint32_t rounds = 8;
  uint32_t *gate = nullptr;
  {
    FrameScope frame(*program);
    gate = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  }
  for (const char *way : ways) {
    play(way);
    for (uint32_t call = 0; call < 4; ++call) {
      const bool held = call % 2;
      *gate = !held;
      Words in(64), all(64 * rounds);
      std::vector<Words> outs(rounds, Words(64));
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, 64 * rounds);
      frame.launch(stream, Gate, 1, 1, GateParams{gate});
      for (uint32_t round = 0; round < rounds; ++round) {
        std::fill(in.begin(), in.end(), 10 * call + round);
        uint32_t *y = x + 64 * round;
        RegionScope region(frame, REGION);
        frame.copy(stream, y, in.data(), 256);
        frame.launch(stream, MulAdd, 1, 64, MulAddParams{y, 64, 3, 1});
        frame.copy(stream, outs[round].data(), y, 256);
      }
      openGate(gate);
      frame.copy(stream, all.data(), x, 256 * rounds);
      ASSERT_EQ(frame.wait({stream}), 0);
      frame.dealloc(stream, x);
      for (uint32_t round = 0; round < rounds; ++round) {
        const uint32_t value = (10 * call + round) * 3 + 1;
        EXPECT_EQ(all[64 * round], value)
            << way << " " << call << ": " << round;
        EXPECT_EQ(outs[round], Words(64, value))
            << way << " " << call << ": " << round;
      }
    }
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, gate);
}

// Threads in one region have memory of their own.
TEST_P(RegionCopies, Threads) {
  for (const char *way : ways) {
    play(way);
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        ContextScope inner(context);
        for (uint32_t call = 0; call < 30; ++call) {
          Words in(64, t * 100 + call), out(64), half(32);
          FrameScope frame(*program);
          gpuasync_stream *stream = frame.stream();
          uint32_t *x = frame.alloc(stream, 64);
          {
            RegionScope region(frame, REGION);
            frame.copy(stream, x, in.data(), 256);
            std::fill(in.begin(), in.end(), 0u);
            frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 10, t});
            if (call % 5 == 4) // another shape
              frame.copy(stream, half.data(), x, 128);
            frame.copy(stream, out.data(), x, 256);
          }
          frame.dealloc(stream, x);
          ASSERT_EQ(frame.wait({stream}), 0);
          const uint32_t value = (t * 100 + call) * 10 + t;
          ASSERT_EQ(out, Words(64, value));
          if (call % 5 == 4)
            ASSERT_EQ(half, Words(32, value));
        }
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

} // namespace
