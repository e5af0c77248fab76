//===- TraceTest.cpp - Traces and profiles --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file against what the program did and what the runtime counted. The
// format has one event a line, which is how it is read here; the tests of
// gpu-runner read it as JSON.
//===----------------------------------------------------------------------===//

#include "gpuasync/Trace.h"
#include "TimedFixture.h"
#include "gpuasync/Program.h"

#include <fstream>
#include <map>
#include <sstream>
#include <stdlib.h>
#include <thread>
#include <unistd.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

struct Event {
  std::string line;
  /// The text of a member; "" if there is none.
  std::string get(const std::string &name) const {
    size_t at = line.find("\"" + name + "\":");
    if (at == std::string::npos)
      return "";
    at += name.size() + 3;
    if (line[at] != '"')
      return line.substr(at, line.find_first_of(",}", at) - at);
    return line.substr(at + 1, line.find('"', at + 1) - at - 1);
  }
  double number(const std::string &name) const {
    return strtod(get(name).c_str(), nullptr);
  }
  double begin() const { return number("ts"); }
  double end() const { return begin() + number("dur"); }
};

struct File {
  std::vector<Event> events;
  Event other;
  std::string text;

  explicit File(const std::string &name) {
    std::ifstream in(name);
    for (std::string line; std::getline(in, line);) {
      text += line + "\n";
      if (line.compare(0, 6, "{\"ph\":") == 0)
        events.push_back({line});
      else if (line.find("otherData") != std::string::npos)
        other = {line};
    }
  }
  std::vector<Event> of(const std::string &member, const std::string &value) {
    std::vector<Event> found;
    for (const Event &event : events)
      if (event.get(member) == value)
        found.push_back(event);
    return found;
  }
  double sum(const std::string &member) {
    double total = 0;
    for (const Event &event : of("ph", "X"))
      total += event.number(member);
    return total;
  }
};

class Traces : public TimedTest {
protected:
  void SetUp() override {
    TimedTest::SetUp();
    path = testing::TempDir() + "gpuasync-trace-" + std::to_string(getpid()) +
           ".json";
  }
  void TearDown() override {
    TimedTest::TearDown();
    unlink(path.c_str());
  }
  void start(bool toFile = true) {
    Status status(gpuasync_trace_start(toFile ? path.c_str() : nullptr));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  File stop() {
    Status status(gpuasync_trace_stop());
    EXPECT_TRUE(status.ok()) << status.message();
    return File(path);
  }

  std::string path;
};
INSTANTIATE_OVER_DEVICES(Traces);

TEST_P(Traces, AgreeWithTheCounters) {
  gpuasync_stats before = readStats(context);
  start();
  for (uint32_t i = 0; i < 20; ++i)
    forkAndJoin(*program, i);
  File file = stop();
  gpuasync_stats after = readStats(context);
  const uint64_t launched = after.launches - before.launches;
  EXPECT_EQ(launched, 20 * launches);
  EXPECT_EQ(file.sum("launches"), double(launched));
  EXPECT_EQ(file.of("cat", "kernel").size(), launched);
  EXPECT_EQ(file.of("cat", "copy").size(), 20 * copies);
  EXPECT_EQ(file.sum("bytes"), double(20 * copies * count * 4));
  EXPECT_EQ(file.of("name", "host wait").size(),
            after.hostWaits - before.hostWaits);
  EXPECT_EQ(file.of("cat", "function").size(), 20u);
  EXPECT_GE(file.of("name", "load module").size(), 1u);
  EXPECT_EQ(file.other.get("dropped_events"), "0");
  EXPECT_EQ(file.other.get("unfinished"), "0");
}

// What the trace itself asks of a driver: two events around each operation, at
// least.
TEST_P(Traces, WhatIsAskedForIsNotCounted) {
  start();
  forkAndJoin(*program, 1);
  const uint64_t counted = readStats(context).driverCalls;
  const uint64_t made = mock->mock_calls(nullptr);
  forkAndJoin(*program, 2);
  EXPECT_LE(readStats(context).driverCalls - counted + 2 * (launches + copies),
            mock->mock_calls(nullptr) - made);
  stop();
}

TEST_P(Traces, TimesAreInOrder) {
  start();
  for (uint32_t i = 0; i < 20; ++i)
    forkAndJoin(*program, i);
  File file = stop();
  // What one stream does comes one after the other.
  std::map<std::pair<std::string, std::string>, std::vector<Event>> tracks;
  for (const Event &event : file.of("ph", "X"))
    if (event.get("pid") != "1")
      tracks[{event.get("pid"), event.get("tid")}].push_back(event);
  EXPECT_GE(tracks.size(), 2u);
  // A vendor says times in steps.
  const double step = onCpu() ? 0.0015 : 1.0;
  for (auto &[track, events] : tracks)
    for (size_t i = 1; i < events.size(); ++i)
      EXPECT_GE(events[i].begin(), events[i - 1].end() - step)
          << events[i - 1].line << "\n"
          << events[i].line;
  // An arrow leads from the first kernel of each call to the second.
  std::vector<Event> from = file.of("ph", "s"), to = file.of("ph", "f");
  ASSERT_EQ(from.size(), 20u);
  ASSERT_EQ(to.size(), 20u);
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].get("id"), to[i].get("id"));
    EXPECT_LE(from[i].begin(), to[i].begin() + step);
    EXPECT_NE(from[i].get("tid"), to[i].get("tid"));
  }
  // The device works while the function runs.
  const double error = file.other.number("clock_error_us") + 500 * !onCpu();
  std::vector<Event> calls = file.of("cat", "function");
  std::vector<Event> kernels = file.of("name", "store");
  ASSERT_EQ(calls.size(), kernels.size());
  auto earlier = [](const Event &a, const Event &b) {
    return a.begin() < b.begin();
  };
  std::sort(kernels.begin(), kernels.end(), earlier);
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_GE(kernels[i].begin(), calls[i].begin() - error);
    EXPECT_LE(kernels[i].end(), calls[i].end() + error);
  }
}

TEST_P(Traces, AKernelTakesItsTime) {
  start();
  int64_t shortest = 2000000; // nanoseconds that the gate is shut for, at least
  {
    FrameScope frame(*program);
    uint32_t *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    uint32_t *begun = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = *begun = 0;
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Meet, 1, 1, MeetParams{begun, flag});
    while (!isSet(begun))
      std::this_thread::yield();
    timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
      clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec -
               from.tv_nsec <
           shortest);
    openGate(flag);
    frame.wait({stream});
    frame.dealloc(stream, flag);
    frame.dealloc(stream, begun);
  }
  File file = stop();
  std::vector<Event> kernels = file.of("cat", "kernel");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_GE(kernels[0].number("dur"), double(shortest) / 1e3);
}

// The host goes on when a kernel has told it of its end, a little before the
// device says when that was: the trace waits for it.
TEST_P(Traces, AKernelThatHasToldOfItsEnd) {
  if (!mock || device() != "cuda" || !context.get()->has(gpuasync::CapFlagWait))
    GTEST_SKIP() << "for kernels that tell the host of their end, on a mock";
  for (const char *how : {"streams", "graph"}) {
    play(how);
    auto call = [&] {
      FrameScope frame(*program);
      uint32_t *x = frame.alloc(nullptr, count, GPUASYNC_ALLOC_HOST_SHARED);
      gpuasync_stream *stream = frame.stream();
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 1, count, StoreParams{x, 1});
      region.end();
      frame.wait({stream});
      frame.dealloc(stream, x);
    };
    for (int i = 0; i < 4; ++i)
      call(); // makes the graph, and shows that it is waited for
    start();
    mock->mock_gate_close("told");
    call();
    mock->mock_gate_wait("told", 1);
    const uint64_t asked = mock->mock_calls("cuEventQuery");
    std::atomic<bool> over{false};
    std::thread opener([&] {
      while (!over && mock->mock_calls("cuEventQuery") == asked)
        std::this_thread::yield();
      mock->mock_gate_open("told");
    });
    File file = stop();
    over = true;
    opener.join();
    const bool isGraph = hasGraphs() && how == std::string("graph");
    EXPECT_EQ(file.of("cat", isGraph ? "graph" : "kernel").size(), 1u) << how;
    EXPECT_EQ(file.other.number("unfinished"), 0) << how;
  }
}

TEST_P(Traces, Profile) {
  start(/*toFile=*/false);
  for (uint32_t i = 0; i < 5; ++i)
    forkAndJoin(*program, i);
  Status stopped(gpuasync_trace_stop());
  ASSERT_TRUE(stopped.ok()) << stopped.message();
  struct Sums {
    std::map<std::string, uint64_t> calls;
    uint64_t bytes = 0, last = UINT64_MAX;
  } sums;
  uint64_t rows = gpuasync_profile_list(
      [](void *user, const gpuasync_profile_row *row) {
        auto &sums = *static_cast<Sums *>(user);
        std::string name = row->name;
        sums.calls[strcmp(row->kind, "copy") ? name : "any copy"] += row->calls;
        sums.bytes += row->bytes;
        EXPECT_LE(row->totalNs, sums.last);
        sums.last = row->totalNs;
        EXPECT_LE(row->leastNs * row->calls, row->totalNs);
        EXPECT_GE(row->mostNs * row->calls, row->totalNs);
      },
      &sums);
  EXPECT_EQ(rows, gpuasync_profile_list(nullptr, nullptr));
  EXPECT_EQ(sums.calls["store"], 5u);
  EXPECT_EQ(sums.calls["any copy"], 5 * copies);
  EXPECT_EQ(sums.bytes, 5 * copies * count * 4);
}

TEST_P(Traces, OfThreads) {
  start();
  constexpr int threads = 4, calls = 25;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      ContextScope inner(context);
      for (uint32_t i = 0; i < calls; ++i)
        forkAndJoin(*program, 1000 * t + i);
    });
  for (std::thread &thread : all)
    thread.join();
  File file = stop();
  EXPECT_EQ(file.of("cat", "kernel").size(), threads * calls * launches);
  EXPECT_EQ(file.of("ph", "s").size(), size_t(threads * calls));
  std::map<std::string, int> functions;
  for (const Event &event : file.of("cat", "function"))
    ++functions[event.get("tid")];
  EXPECT_EQ(functions.size(), size_t(threads));
}

// Each kernel that two threads enqueue on one stream of the caller's has its
// time in the trace.
TEST_P(Traces, OfThreadsOnOneStream) {
  gpuasync_stream *callers = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_context_stream_create(context.get(), &callers)).ok());
  void *native = gpuasync_context_stream_native(callers);
  constexpr uint32_t calls = 200;
  uint32_t *x[2];
  {
    FrameScope frame(*program);
    for (uint32_t *&each : x)
      each = frame.alloc(nullptr, count, GPUASYNC_ALLOC_HOST_SHARED);
  }
  start();
  auto work = [&](uint32_t *mine) {
    ContextScope inner(context);
    for (uint32_t i = 0; i < calls; ++i) {
      FrameScope frame(*program);
      gpuasync_stream *stream =
          gpuasync_stream_external(frame, 0, native, SITE("external"));
      frame.launch(stream, Store, 1, count, StoreParams{mine, i});
      frame.destroy(stream);
    }
  };
  std::thread other([&] { work(x[1]); });
  work(x[0]);
  other.join();
  EXPECT_TRUE(Status(gpuasync_context_stream_synchronize(callers)).ok());
  File file = stop();
  EXPECT_EQ(file.of("cat", "kernel").size(), 2 * calls);
  EXPECT_EQ(file.other.get("unfinished"), "0");
  FrameScope frame(*program);
  for (uint32_t *each : x) {
    EXPECT_EQ(each[count - 1], calls - 1);
    frame.dealloc(nullptr, each);
  }
  gpuasync_context_stream_destroy(callers);
}

// A trace may begin and end while others work.
TEST_P(Traces, ThatComeAndGo) {
  std::atomic<bool> over{false};
  std::vector<std::thread> all;
  for (uint32_t t = 0; t < 3; ++t)
    all.emplace_back([&, t] {
      ContextScope inner(context);
      for (uint32_t i = 0; !over; ++i)
        forkAndJoin(*program, 1000 * t + i);
    });
  size_t kernels = 0;
  for (int i = 0; i < 20; ++i) {
    start();
    forkAndJoin(*program, 5);
    File file = stop();
    kernels += file.of("cat", "kernel").size();
    EXPECT_EQ(file.text.compare(file.text.size() - 3, 3, "}}\n"), 0);
  }
  over = true;
  for (std::thread &thread : all)
    thread.join();
  EXPECT_GE(kernels, launches);
}

TEST_P(Traces, Regions) {
  std::map<std::string, int> played;
  uint64_t before = readStats(context).launches;
  start();
  for (const char *how : {"streams", "stream", "graph"}) {
    play(how);
    for (uint32_t i = 0; i < 4; ++i) {
      FrameScope frame(*program);
      gpuasync_stream *a = frame.stream();
      uint32_t *x = frame.alloc(a, count);
      RegionScope region(frame, REGION);
      frame.launch(a, Store, 1, count, StoreParams{x, i});
      frame.launch(a, MulAdd, 1, count, MulAddParams{x, count, 2, 1});
      region.end();
      Words out(count);
      frame.copy(a, out.data(), x, count * 4);
      frame.wait({a});
      frame.dealloc(a, x);
      EXPECT_EQ(out, Words(count, 2 * i + 1));
    }
  }
  File file = stop();
  for (const Event &event : file.of("cat", "region"))
    ++played[event.get("played")];
  // The first graph is made while the work runs on streams.
  EXPECT_EQ(played["graph"], hasGraphs() ? 3 : 0);
  EXPECT_EQ(played["stream"], 4);
  EXPECT_EQ(played["streams"], hasGraphs() ? 5 : 8);
  EXPECT_EQ(file.of("cat", "graph").size(), hasGraphs() ? 3u : 0u);
  EXPECT_EQ(file.sum("launches"), double(readStats(context).launches - before));
}

// What a trace knows of a graph is not said of another one that lies where that
// was, and that was made while there was no trace.
TEST_P(Traces, GraphsBetweenTwoTraces) {
  play("graph");
  auto call = [&](uint32_t site, uint32_t launches, uint32_t value) {
    Words out(count);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, count);
    {
      RegionScope region(frame, site);
      frame.launch(stream, Store, 1, count, StoreParams{x, value});
      for (uint32_t i = 1; i < launches; ++i)
        frame.launch(stream, MulAdd, 1, count,
                     MulAddParams{x, count, 1, value});
    }
    frame.copy(stream, out.data(), x, count * 4);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(out, Words(count, value * launches));
  };
  // Some of them lie where others were.
  constexpr uint32_t regions = 200, few = 2, many = 40;
  static std::map<uint32_t, std::vector<uint32_t>> sites;
  for (uint32_t launches : {few, many})
    while (sites[launches].size() < regions)
      sites[launches].push_back(
          testSite("test.mlir", "region", 1000, launches, UINT32_MAX));
  auto all = [&](uint32_t launches, uint32_t value) {
    for (uint32_t site : sites[launches])
      call(site, launches, value);
  };
  start();
  for (uint32_t value = 0; value < 3; ++value)
    all(few, value);
  stop();
  gpuasync_modules_release(context.get());
  EXPECT_TRUE(Status(gpuasync_context_trim(context.get(), 10)).ok());
  for (uint32_t value = 0; value < 3; ++value)
    all(many, value);
  start();
  all(many, 7);
  File file = stop();
  EXPECT_EQ(file.of("cat", "graph").size(), hasGraphs() ? regions : 0u);
  EXPECT_EQ(file.sum("launches"), hasGraphs() ? 0 : regions * many);
}

TEST_P(Traces, WorkThatIsNotOver) {
  start();
  FrameScope frame(*program);
  uint32_t *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  gpuasync_stream *stream = frame.stream();
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  File file = stop();
  EXPECT_EQ(file.other.get("unfinished"), "1");
  EXPECT_EQ(file.of("cat", "kernel").size(), 0u);
  // Another one has nothing of it.
  start();
  openGate(flag);
  frame.wait({stream});
  file = stop();
  EXPECT_EQ(file.other.get("unfinished"), "0");
  EXPECT_EQ(file.of("cat", "kernel").size(), 0u);
  frame.dealloc(stream, flag);
}

TEST_P(Traces, WholeAtAnyTime) {
  start();
  File begun(path);
  EXPECT_NE(begun.text.find("\"otherData\""), std::string::npos);
  forkAndJoin(*program, 1);
  File file = stop();
  EXPECT_EQ(file.text.compare(file.text.size() - 3, 3, "}}\n"), 0);
}

TEST_P(Traces, ALimit) {
  setenv("GPU_ASYNC_TRACE_SIZE", "8K", 1);
  start();
  for (uint32_t i = 0; i < 40; ++i)
    forkAndJoin(*program, i);
  File file = stop();
  unsetenv("GPU_ASYNC_TRACE_SIZE");
  EXPECT_LE(file.text.size(), 8192u + 512);
  EXPECT_GT(file.other.number("dropped_events"), 40.0);
  EXPECT_EQ(file.text.compare(file.text.size() - 3, 3, "}}\n"), 0);
  for (const char *value : {"much", "1K", "4096 "}) {
    setenv("GPU_ASYNC_TRACE_SIZE", value, 1);
    Status wrong(gpuasync_trace_start(path.c_str()));
    unsetenv("GPU_ASYNC_TRACE_SIZE");
    EXPECT_EQ(wrong.code(), GPUASYNC_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(wrong.message())
                  .find("GPU_ASYNC_TRACE_SIZE: '" + std::string(value) +
                        "' is not a size of 4096 or more"),
              0u)
        << wrong.message();
  }
}

// Of what does not end the trace keeps so much, and says what it left out.
TEST_P(Traces, ManyThatAreNotOver) {
  constexpr uint32_t most = 65536, more = 500;
  start();
  FrameScope frame(*program);
  uint32_t *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  gpuasync_stream *stream = frame.stream();
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  for (uint32_t i = 1; i < most + more; ++i)
    frame.launch(stream, Raise, 1, 1, GateParams{flag});
  openGate(flag);
  frame.wait({stream});
  File file = stop();
  EXPECT_EQ(file.other.get("dropped_events"), std::to_string(more));
  EXPECT_EQ(file.of("cat", "kernel").size(), most);
  frame.dealloc(stream, flag);
}

TEST_P(Traces, Misuse) {
  auto expectError = [](gpuasync_status *raw, const char *part) {
    Status status(raw);
    EXPECT_EQ(status.code(), GPUASYNC_INVALID_ARGUMENT);
    EXPECT_NE(std::string(status.message()).find(part), std::string::npos)
        << status.message();
  };
  expectError(gpuasync_trace_stop(), "there is no trace");
  expectError(gpuasync_trace_start("/nowhere/to/be/found.json"),
              "'/nowhere/to/be/found.json' cannot be written: No such file");
  expectError(gpuasync_trace_start("/dev/full"), "is not whole: No space");
  start();
  expectError(gpuasync_trace_start(path.c_str()), "there is a trace already");
  stop();
}

TEST_P(Traces, ContextsThatComeAndGo) {
  start();
  {
    Context other;
    Status status = Context::open(device().c_str(), other);
    ASSERT_TRUE(status.ok()) << status.message();
    {
      ContextScope inner(other);
      forkAndJoin(*program, 3);
    }
    status = other.close();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  forkAndJoin(*program, 4);
  File file = stop();
  EXPECT_EQ(file.of("cat", "kernel").size(), 2 * launches);
  std::map<std::string, int> processes;
  for (const Event &event : file.of("cat", "kernel"))
    ++processes[event.get("pid")];
  EXPECT_EQ(processes.size(), 2u);
}

} // namespace
