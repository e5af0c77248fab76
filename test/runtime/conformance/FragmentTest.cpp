//===- FragmentTest.cpp - Constant pieces of regions ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments as the compiler makes them: of any number of commands, with
// constant configs, lanes without streams and arguments that differ in little;
// of several threads, contexts and programs; and those that are wrong.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "RegionFixture.h"

#include <functional>
#include <random>
#include <set>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Fragments : public RegionTest {
protected:
  unsigned char *launch(OwnedFragment &to, uint32_t lane, KernelIndex kernel,
                        int64_t grid, int64_t block, const void *params,
                        std::vector<uint32_t> after) {
    gpuasync_launch_config launch = {{grid, 1, 1},
                                     {block, 1, 1},
                                     {1, 1, 1},
                                     0,
                                     0,
                                     program->kernels[kernel].paramBytes,
                                     params};
    return to.launch(lane, program->launchSites[kernel], launch,
                     std::move(after));
  }
  /// x = value on lane 0, then `count - 1` times x = 3 x + i on lanes in turns,
  /// each after the one before it.
  std::unique_ptr<OwnedFragment> chain(uint32_t *x, uint32_t value,
                                       uint32_t count, uint32_t lanes) {
    auto made = std::make_unique<OwnedFragment>();
    made->fragment.site = SITE("region");
    alignas(16) StoreParams first{x, value};
    launch(*made, 0, Store, 1, 32, &first, {});
    for (uint32_t i = 1; i < count; ++i) {
      alignas(16) MulAddParams params{x, 32, 3, i};
      launch(*made, i % lanes, MulAdd, 1, 32, &params, {i - 1});
    }
    made->link();
    return made;
  }
  static uint32_t expected(uint32_t value, uint32_t count) {
    for (uint32_t i = 1; i < count; ++i)
      value = value * 3 + i;
    return value;
  }
  void run(FrameScope &frame, const OwnedFragment &made,
           std::vector<gpuasync_stream *> lanes) {
    gpuasync_region_run(frame, &made.fragment, lanes.data(), made.block.data());
  }
  uint32_t *shared(uint32_t words) {
    FrameScope frame(*program);
    return frame.alloc(nullptr, words, GPUASYNC_ALLOC_HOST_SHARED);
  }
  void free(void *memory) {
    FrameScope frame(*program);
    frame.dealloc(nullptr, memory);
  }
};
INSTANTIATE_OVER_DEVICES(Fragments);

TEST_P(Fragments, OneToSixtyFourCommands_G01) {
  uint32_t *x = shared(32);
  for (const char *how : {"graph", "stream", "streams"}) {
    play(how);
    for (uint32_t count = 1; count <= GPUASYNC_FRAGMENT_COMMANDS; ++count) {
      const uint32_t lanes = 1 + count % 3;
      auto made = chain(x, count, count, lanes);
      for (int pass = 0; pass < 3; ++pass) {
        FrameScope frame(*program);
        std::vector<gpuasync_stream *> streams;
        for (uint32_t i = 0; i < lanes; ++i)
          streams.push_back(frame.stream());
        run(frame, *made, streams);
        ASSERT_EQ(frame.wait(streams), 0);
        ASSERT_EQ(x[31], expected(count, count)) << how << " " << count;
      }
      // Its address may be another fragment's.
      program = std::make_unique<TestProgram>();
    }
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, x);
}

// Later work on the one lane that has a stream is behind all of the region.
TEST_P(Fragments, LanesWithoutStreams_G02) {
  uint32_t *x = shared(32);
  auto made = chain(x, 5, 7, 3);
  for (const char *how : {"graph", "stream", "streams", "auto"}) {
    play(how);
    for (uint32_t pass = 0; pass < 12; ++pass) {
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      // The last command is on lane 0.
      run(frame, *made,
          {stream, pass % 3 ? nullptr : frame.stream(),
           pass % 2 ? nullptr : frame.stream()});
      frame.launch(stream, MulAdd, 1, 32, MulAddParams{x, 32, 1, 1});
      ASSERT_EQ(frame.wait({stream}), 0);
      ASSERT_EQ(x[0], expected(5, 7) + 1) << how << " " << pass;
    }
  }
  EXPECT_EQ(readStats(context).streams.live, 0u);
  free(x);
}

// Each byte of the arguments that differs is seen.
TEST_P(Fragments, BlocksThatDifferInOneByte_G03) {
  uint32_t *x = shared(32);
  auto made = chain(x, 0, 3, 1);
  auto *first = made->block.data()->bytes + made->commands[0].argument;
  unsigned char *value =
      first + sizeof(gpuasync_launch_config) + offsetof(StoreParams, value);
  for (uint32_t pass = 0; pass < 40; ++pass) {
    const uint32_t number = pass < 4 ? 0 : 1u << (pass - 4) % 32;
    memcpy(value, &number, 4);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    run(frame, *made, {stream});
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(x[31], expected(number, 3));
  }
  expectPlayed(39, 1);
  EXPECT_EQ(readStats(context).graphs.created, hasGraphs() ? 1u : 0u);
  free(x);
}

TEST_P(Fragments, ConstantConfigs_G03) {
  uint32_t *x = shared(32);
  for (uint32_t pass = 0; pass < 6; ++pass) {
    FrameScope frame(*program);
    frame.builder.hasConstants = true;
    gpuasync_stream *stream = frame.stream();
    {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 1, 32, StoreParams{x, pass});
      frame.launch(stream, MulAdd, 1, 32, MulAddParams{x, 32, 3, 1});
    }
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(x[31], 3 * pass + 1);
  }
  expectPlayed(5, 1);
  free(x);
}

// Copies of pageable memory in the middle, of which one is too large for a
// recording: what is before and behind it is a graph all the same.
TEST_P(Fragments, CopiesInside_B06) {
  for (uint32_t words : {64u, (4u << 20) / 4 + 1024}) {
    Words in(words), out(words);
    for (const char *how : {"graph", "stream", "streams", "auto"}) {
      play(how);
      for (uint32_t pass = 0; pass < 8; ++pass) {
        std::fill(in.begin(), in.end(), pass);
        std::fill(out.begin(), out.end(), 99u);
        FrameScope frame(*program);
        frame.builder.holdsCopies = true;
        gpuasync_stream *stream = frame.stream();
        uint32_t *x = frame.alloc(stream, words);
        {
          RegionScope region(frame, REGION);
          frame.launch(stream, Store, 1, 32, StoreParams{x, 7});
          gpuasync_event *stored = frame.record(stream);
          gpuasync_stream *other = frame.stream();
          frame.waitEvent(other, stored);
          frame.destroy(stored);
          frame.copy(other, x, in.data(), 4 * words);
          frame.launch(other, MulAdd, (words + 31) / 32, 32,
                       MulAddParams{x, words, 3, 1});
          gpuasync_event *done = frame.record(other);
          frame.destroy(other, /*idle=*/false);
          frame.waitEvent(stream, done);
          frame.destroy(done);
          frame.copy(stream, out.data(), x, 4 * words);
          frame.launch(stream, Store, 1, 32, StoreParams{x, 7});
        }
        frame.dealloc(stream, x);
        ASSERT_EQ(frame.wait({stream}), 0);
        ASSERT_EQ(out, Words(words, 3 * pass + 1)) << how << " " << pass;
      }
    }
  }
}

// One fragment, of threads at once that pass other lanes and arguments.
TEST_P(Fragments, OfSeveralThreads_G04) {
  uint32_t *x = shared(4 * 32);
  OwnedFragment made;
  made.fragment.site = SITE("region");
  alignas(16) StoreParams first{x, 0};
  alignas(16) MulAddParams second{x, 32, 3, 1};
  launch(made, 0, Store, 1, 32, &first, {});
  launch(made, 1, MulAdd, 1, 32, &second, {0});
  launch(made, 0, MulAdd, 1, 32, &second, {1});
  made.link();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      ContextScope mine(context);
      std::vector<OwnedFragment::Unit> block = made.block;
      uint32_t *mineX = x + 32 * t;
      auto at = [&](uint32_t command) {
        return block.data()->bytes + made.commands[command].argument +
               sizeof(gpuasync_launch_config);
      };
      for (uint32_t i = 0; i < 3; ++i)
        memcpy(at(i), &mineX, sizeof(mineX));
      for (uint32_t i = 0; i < 50; ++i) {
        const uint32_t value = i / 2;
        memcpy(at(0) + offsetof(StoreParams, value), &value, 4);
        FrameScope frame(*program);
        gpuasync_stream *stream = frame.stream();
        gpuasync_stream *lanes[] = {stream, i % 3 ? nullptr : frame.stream()};
        gpuasync_region_run(frame, &made.fragment, lanes, block.data());
        ASSERT_EQ(frame.wait({stream}), 0);
        ASSERT_EQ(mineX[31], (value * 3 + 1) * 3 + 1);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  free(x);
}

// A context's graphs are its own, and so are a program's after its release.
TEST_P(Fragments, OfSeveralContextsAndPrograms_G06) {
  uint32_t *x = shared(32);
  auto made = chain(x, 4, 5, 2);
  auto pass = [&](uint32_t *memory, OwnedFragment &fragment) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    run(frame, fragment, {stream, nullptr});
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(memory[31], expected(4, 5));
  };
  for (int i = 0; i < 3; ++i)
    pass(x, *made);
  {
    Context other;
    ASSERT_TRUE(Status(Context::open(device().c_str(), other)).ok());
    {
      ContextScope scope(other);
      uint32_t *y = shared(32);
      auto its = chain(y, 4, 5, 2);
      for (int i = 0; i < 3; ++i)
        pass(y, *its);
      // One fragment in two contexts.
      made->block = its->block;
      for (int i = 0; i < 3; ++i)
        pass(y, *made);
      free(y);
    }
    EXPECT_TRUE(Status(gpuasync_program_release(&program->program)).ok());
    EXPECT_TRUE(other.close().ok());
  }
  // The addresses are the same, and what they say is not.
  auto rest = chain(x, 4, 2, 1);
  OwnedFragment &again = *made;
  again.commands = rest->commands;
  again.indices = rest->indices;
  again.block = rest->block;
  again.fragment = rest->fragment;
  again.link();
  for (int i = 0; i < 3; ++i) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    run(frame, again, {stream});
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(x[31], expected(4, 2));
  }
  free(x);
}

// Events between fragments, and waits for what was on a lane before.
TEST_P(Fragments, BetweenFragments_G02) {
  uint32_t *x = shared(64);
  for (const char *how : {"graph", "stream", "streams", "auto"}) {
    play(how);
    for (uint32_t pass = 0; pass < 8; ++pass) {
      FrameScope frame(*program);
      frame.builder.most = 1 + pass % 3;
      gpuasync_stream *a = frame.stream(), *b = frame.stream();
      frame.launch(a, Store, 2, 32, StoreParams{x, pass});
      {
        RegionScope region(frame, REGION);
        gpuasync_event *before = frame.record(a);
        frame.waitEvent(b, before);
        frame.destroy(before);
        for (uint32_t i = 0; i < 6; ++i) {
          frame.launch(b, MulAdd, 1, 32, MulAddParams{x, 32, 3, i});
          gpuasync_event *step = frame.record(b);
          frame.waitEvent(a, step);
          frame.destroy(step);
          frame.launch(a, AddUp, 1, 32, AddUpParams{x + 32, x, 32, 1});
          step = frame.record(a);
          frame.waitEvent(b, step);
          frame.destroy(step);
        }
      }
      ASSERT_EQ(frame.wait({a, b}), 0);
      uint32_t value = pass;
      for (uint32_t i = 0; i < 6; ++i)
        value = value * 3 + i;
      ASSERT_EQ(x[0], value) << how << " " << pass;
      ASSERT_EQ(x[63], value + 1);
    }
  }
  free(x);
}

TEST_P(Fragments, WrongOnesAreErrors_G05) {
  uint32_t *x = shared(32);
  struct Case {
    const char *text;
    std::function<void(OwnedFragment &)> spoil;
  };
  auto second = [](OwnedFragment &made) -> gpuasync_command & {
    return made.commands[1];
  };
  const Case cases[] = {
      {"an unknown kind", [&](auto &made) { second(made).kind = 77; }},
      {"a lane that the fragment does not have",
       [&](auto &made) { second(made).lane = 2; }},
      {"not aligned to 16", [&](auto &made) { second(made).argument += 8; }},
      {"arguments outside of the fragment's",
       [&](auto &made) { second(made).argument += 4096; }},
      {"arguments outside of the fragment's",
       [&](auto &made) { second(made).argumentBytes += 65536; }},
      {"too few bytes", [&](auto &made) { second(made).argumentBytes = 16; }},
      {"needs 120 bytes of arguments",
       [&](auto &made) { second(made).argumentBytes = 112; }},
      {"an edge from no earlier command",
       [&](auto &made) { made.indices[second(made).after] = 1; }},
      {"a wait for no earlier command",
       [&](auto &made) { made.indices[second(made).wait] = 1; }},
      {"a wait for no other lane",
       [&](auto &made) {
         made.indices[second(made).wait] = GPUASYNC_FRAGMENT_BEFORE | 1;
       }},
      {"has no indices", [](auto &made) { made.fragment.indices = nullptr; }},
      {"null commands", [](auto &made) { made.fragment.commands = nullptr; }},
      {"a fragment of 65 commands",
       [](auto &made) { made.fragment.commandCount = 65; }},
      {"with 8208 bytes",
       [](auto &made) { made.fragment.argumentBytes = 8208; }},
      {"on 65 lanes", [](auto &made) { made.fragment.laneCount = 65; }}};
  for (const char *how : {"graph", "streams"}) {
    play(how);
    for (const Case &each : cases) {
      auto made = chain(x, 1, 3, 2);
      made->link();
      each.spoil(*made);
      {
        FrameScope frame(*program);
        gpuasync_stream *stream = frame.stream();
        run(frame, *made, {stream, nullptr});
        Status status = frame.leave();
        EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
        EXPECT_NE(std::string(status.message()).find(each.text),
                  std::string::npos)
            << status.message();
      }
      ASSERT_TRUE(Status(gpuasync_program_release(&program->program)).ok());
    }
    auto made = chain(x, 1, 3, 2);
    for (int what = 0; what < 4; ++what) {
      FrameScope frame(*program);
      gpuasync_stream *lanes[] = {frame.stream(), nullptr};
      if (what == 0)
        gpuasync_region_run(frame, nullptr, lanes, made->block.data());
      else if (what == 1)
        gpuasync_region_run(frame, &made->fragment, nullptr,
                            made->block.data());
      else if (what == 2)
        gpuasync_region_run(frame, &made->fragment, lanes, nullptr);
      else
        gpuasync_region_add(frame, &made->fragment, lanes, made->block.data());
      EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    }
    ASSERT_TRUE(Status(gpuasync_program_release(&program->program)).ok());
  }
  free(x);
}

// The arguments of a command are looked at where they are new, and an error
// leaves nothing that a later pass takes for sound.
TEST_P(Fragments, WrongArgumentsLater_G05) {
  uint32_t *x = shared(32);
  auto made = chain(x, 2, 4, 1);
  auto config = [&](uint32_t command) {
    return reinterpret_cast<gpuasync_launch_config *>(
        made->block.data()->bytes + made->commands[command].argument);
  };
  for (uint32_t pass = 0; pass < 12; ++pass) {
    const bool fails = pass % 4 == 3 || pass % 4 == 2;
    config(2)->grid[0] = fails ? -1 : 1;
    config(1)->grid[0] = config(3)->grid[0] = pass / 4 % 2 ? 1 : 2;
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    run(frame, *made, {stream});
    EXPECT_EQ(frame.wait({stream}), int32_t(fails));
    Status status = frame.leave();
    EXPECT_EQ(status.ok(), !fails);
    if (fails) {
      EXPECT_NE(std::string(status.message())
                    .find("mulAdd: kernel 'mulAdd': "
                          "negative size"),
                std::string::npos)
          << status.message();
      continue;
    }
    ASSERT_EQ(x[31], expected(2, 4)) << pass;
  }
  free(x);
}

// Edges that another order would break: under the adversary of the cpu device
// they alone order the commands.
TEST_P(Fragments, AMissingEdgeIsCaught_T03) {
  if (!onCpu() || !context.get()->has(gpuasync::CapEdgesOnly))
    GTEST_SKIP() << "not under an adversary";
  uint32_t *x = shared(1);
  for (bool isComplete : {true, false}) {
    OwnedFragment made;
    made.fragment.site = SITE("region");
    for (uint32_t i = 0; i < 4; ++i) {
      alignas(16) StoreParams params{x, i};
      std::vector<uint32_t> after;
      if (i && (isComplete || i != 2))
        after.push_back(i - 1);
      launch(made, 0, Store, 1, 1, &params, after);
    }
    made.link();
    std::set<uint32_t> seen;
    for (int pass = 0; pass < 200; ++pass) {
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      run(frame, made, {stream});
      ASSERT_EQ(frame.wait({stream}), 0);
      seen.insert(*x);
    }
    EXPECT_EQ(seen.size() == 1, isComplete);
  }
  free(x);
}

} // namespace
