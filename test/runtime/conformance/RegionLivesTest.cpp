//===- RegionLivesTest.cpp - Streams and memory that come and go ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs that make and give back streams, memory and events anywhere,
// inside of regions and outside, with every kind of memory and size, against
// the same work one after the other.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "RegionFixture.h"

#include <deque>
#include <memory>
#include <random>
#include <stdlib.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class RegionLives : public RegionTest {};
INSTANTIATE_OVER_DEVICES(RegionLives);

enum class Kind { Device, Shared, Registered, Pageable };

/// Memory, what it should hold, and the event behind what touched it last.
struct Buffer {
  Kind kind = Kind::Device;
  uint32_t *at = nullptr;
  Words expected;
  gpuasync_event *event = nullptr;
  gpuasync_stream *stream = nullptr;
};

/// One call of a program: `shape` draws what it does, `values` with what.
class Life {
public:
  Life(TestProgram &program, FrameScope &frame, uint32_t site, uint32_t shape,
       uint32_t values, gpuasync_stream *callers, std::deque<Words> &registered)
      : program(program), frame(frame), site(site), shape(shape),
        values(values), callers(callers), registered(registered) {}

  void run(uint32_t ops) {
    makeStream();
    if (frame.failed())
      return;
    if (callers && choose(2)) {
      external = gpuasync_stream_external(
          frame, 0, gpuasync_context_stream_native(callers), SITE("external"));
      streams.push_back(external);
    }
    for (int i = 0; i < 3 && !frame.failed(); ++i)
      makeBuffer(static_cast<Kind>(i));
    for (uint32_t op = 0; op < ops && !frame.failed(); ++op)
      step();
    while (depth)
      endRegion();
    for (auto &each : buffers)
      if (!frame.failed())
        check(*each);
    while (!buffers.empty())
      drop(0);
    for (gpuasync_event *event : events)
      frame.destroy(event);
    for (gpuasync_stream *stream : streams)
      if (choose(2))
        frame.destroy(stream, /*idle=*/false);
  }

private:
  uint32_t choose(uint32_t below) { return uint32_t(shape() % below); }
  uint32_t draw(uint32_t below) { return uint32_t(values() % below); }

  void makeStream() { streams.push_back(frame.stream()); }
  gpuasync_stream *someStream() {
    return streams[choose(static_cast<uint32_t>(streams.size()))];
  }
  Buffer &someBuffer() {
    return *buffers[choose(static_cast<uint32_t>(buffers.size()))];
  }
  void behind(gpuasync_stream *stream, Buffer &buffer) {
    if (buffer.event && buffer.stream != stream)
      frame.waitEvent(stream, buffer.event);
  }
  void touch(gpuasync_stream *stream, std::initializer_list<Buffer *> all) {
    gpuasync_event *event = frame.record(stream);
    events.push_back(event);
    for (Buffer *each : all) {
      each->event = event;
      each->stream = stream;
    }
  }

  void makeBuffer(Kind kind) {
    static const uint32_t sizes[] = {1, 3, 32, 33, 1000, 70000};
    auto made = std::make_unique<Buffer>();
    const uint32_t words = sizes[choose(6)];
    made->kind = kind;
    made->expected.assign(words, 7);
    gpuasync_stream *stream = someStream();
    switch (kind) {
    case Kind::Device: {
      made->at = frame.alloc(choose(4) ? stream : nullptr, words);
      const uint32_t seven = 7;
      gpuasync_memset(frame, stream, made->at, &seven, 4, words,
                      SITE("memset"));
      break;
    }
    case Kind::Shared:
      made->at = frame.alloc(nullptr, words, GPUASYNC_ALLOC_HOST_SHARED);
      if (made->at)
        std::fill_n(made->at, words, 7u);
      break;
    default:
      if (kind == Kind::Pageable) {
        made->at = host.emplace_back(words, 7).data();
        break;
      }
      // Pages of its own.
      constexpr uint32_t page = 4096 / 4;
      const uint32_t rounded = (words + page - 1) / page * page;
      Words &pages = registered.emplace_back(rounded + page, 7);
      auto first = reinterpret_cast<uintptr_t>(pages.data());
      made->at = pages.data() + (4096 - first % 4096) / 4 % page;
      gpuasync_host_register(frame, made->at, 4 * words, SITE("register"));
    }
    touch(stream, {made.get()});
    buffers.push_back(std::move(made));
  }

  void drop(uint32_t index) {
    Buffer &buffer = *buffers[index];
    gpuasync_stream *stream = someStream();
    switch (buffer.kind) {
    case Kind::Device:
      if (choose(4)) {
        behind(stream, buffer);
        frame.dealloc(stream, buffer.at);
        break;
      }
      [[fallthrough]];
    case Kind::Shared:
      frame.waitHost(buffer.event);
      frame.dealloc(nullptr, buffer.at);
      break;
    case Kind::Registered:
      frame.waitHost(buffer.event);
      gpuasync_host_unregister(frame, buffer.at, SITE("unregister"));
      break;
    case Kind::Pageable:
      frame.waitHost(buffer.event);
    }
    buffers.erase(buffers.begin() + index);
  }

  /// By way of the host.
  void check(Buffer &buffer) {
    Words out(buffer.expected.size(), 99);
    if (buffer.kind == Kind::Device) {
      gpuasync_stream *stream = someStream();
      if (stream == external)
        stream = streams[0] == external ? nullptr : streams[0];
      if (!stream)
        return;
      behind(stream, buffer);
      frame.copy(stream, out.data(), buffer.at, 4 * out.size());
      if (choose(2)) {
        frame.wait({stream});
      } else {
        gpuasync_event *event = frame.record(stream);
        frame.waitHost(event);
        frame.destroy(event);
      }
    } else {
      if (frame.waitHost(buffer.event) == 0)
        std::copy_n(buffer.at, out.size(), out.begin());
    }
    if (!frame.failed())
      EXPECT_EQ(out, buffer.expected)
          << "kind " << static_cast<int>(buffer.kind);
  }

  void endRegion() {
    gpuasync_region_end(frame, site);
    --depth;
  }

  void step() {
    const uint32_t what = choose(100);
    gpuasync_stream *stream = someStream();
    if (what < 4 && streams.size() < 6)
      return makeStream();
    if (what < 7 && streams.size() > 2) {
      auto gone = streams.begin() + choose(uint32_t(streams.size()));
      if (*gone == external)
        return;
      for (auto &each : buffers)
        if (each->stream == *gone)
          each->stream = nullptr;
      frame.destroy(*gone, /*idle=*/false);
      streams.erase(gone);
      return;
    }
    if (what < 12)
      return makeBuffer(static_cast<Kind>(choose(4)));
    if (what < 15 && buffers.size() > 3)
      return drop(choose(uint32_t(buffers.size())));
    if (what < 22) {
      gpuasync_region_begin(frame, site);
      ++depth;
      return;
    }
    if (what < 28)
      return depth ? endRegion() : void();
    if (what < 30)
      return check(someBuffer());
    if (what < 31)
      return (void)frame.wait({stream});
    if (what < 32 && !events.empty()) {
      // An old one, which nothing needs.
      for (size_t i = 0; i < events.size(); ++i)
        if (std::none_of(buffers.begin(), buffers.end(), [&](auto &each) {
              return each->event == events[i];
            })) {
          frame.destroy(events[i]);
          events.erase(events.begin() + static_cast<ptrdiff_t>(i));
          return;
        }
      return;
    }
    if (what < 33)
      return inner();
    if (what < 35) { // the host writes
      Buffer &buffer = someBuffer();
      if (buffer.kind == Kind::Device)
        return;
      if (frame.waitHost(buffer.event) != 0)
        return;
      const uint32_t value = draw(100);
      std::fill_n(buffer.at, buffer.expected.size(), value);
      std::fill(buffer.expected.begin(), buffer.expected.end(), value);
      return;
    }
    work(stream);
  }

  /// Another frame of the thread.
  void inner() {
    FrameScope its(program);
    gpuasync_stream *stream = its.stream();
    uint32_t *x = its.alloc(stream, 32);
    Words out(32);
    {
      RegionScope region(its, SITE("inner"));
      its.launch(stream, Store, 1, 32, StoreParams{x, 5});
      its.launch(stream, MulAdd, 1, 32, MulAddParams{x, 32, 2, 1});
      its.copy(stream, out.data(), x, 128);
    }
    its.dealloc(stream, x);
    const bool waited = its.wait({stream}) == 0;
    Status status = its.leave();
    if (waited && status.ok())
      EXPECT_EQ(out, Words(32, 11));
    EXPECT_TRUE(status.ok() || mayFail) << status.message();
  }

  void work(gpuasync_stream *stream) {
    Buffer &to = someBuffer(), &from = someBuffer();
    const uint32_t kind = choose(6), value = draw(1000);
    const bool pageable =
        to.kind == Kind::Pageable || from.kind == Kind::Pageable;
    if (pageable && (kind < 3 || stream == external))
      return;
    if (&to == &from && kind != 1 && kind != 2 && kind != 3)
      return;
    const auto size = uint32_t(to.expected.size());
    const uint32_t most =
        std::min(size, static_cast<uint32_t>(from.expected.size()));
    behind(stream, to);
    behind(stream, from);
    switch (kind) {
    case 0: {
      const uint32_t n = draw(3) ? most : draw(most + 1);
      frame.launch(stream, AddUp, (n + 31) / 32, 32,
                   AddUpParams{to.at, from.at, n, value});
      for (uint32_t i = 0; i < n; ++i)
        to.expected[i] = from.expected[i] + value;
      break;
    }
    case 1:
    case 2: {
      const uint32_t n = draw(3) ? size : draw(size + 1);
      frame.launch(stream, MulAdd, (n + 31) / 32, 32,
                   MulAddParams{to.at, n, 3, value});
      for (uint32_t i = 0; i < n; ++i)
        to.expected[i] = to.expected[i] * 3 + value;
      break;
    }
    case 3: {
      const uint32_t n = draw(3) ? size : draw(size + 1);
      gpuasync_memset(frame, stream, to.at, &value, 4, n, SITE("memset"));
      std::fill_n(to.expected.begin(), n, value);
      break;
    }
    case 4: {
      const uint32_t n = draw(3) ? most : draw(most + 1);
      const uint32_t a = draw(size - n + 1),
                     b = draw(uint32_t(from.expected.size()) - n + 1),
                     odd = n && !draw(4) ? 1 + draw(3) : 0;
      const uint64_t bytes = 4 * n - odd;
      frame.copy(stream, to.at + a, from.at + b, bytes);
      memcpy(to.expected.data() + a, from.expected.data() + b, bytes);
      break;
    }
    default: {
      const uint32_t rows = 1 + draw(4), width = most / 4 / rows;
      const int64_t sizes[] = {rows, width}, there[] = {width + most / 8, 1},
                    here[] = {draw(2) ? width : 2 * width, 1};
      if ((rows - 1) * there[0] + width > most ||
          (rows - 1) * here[0] + width > most)
        return touch(stream, {&to, &from});
      gpuasync_memcpy_strided(frame, stream, to.at, there, from.at, here, sizes,
                              2, 4, SITE("rows"));
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t i = 0; i < width; ++i)
          to.expected[r * uint32_t(there[0]) + i] =
              from.expected[r * uint32_t(here[0]) + i];
    }
    }
    touch(stream, {&to, &from});
  }

  TestProgram &program;
  FrameScope &frame;
  const uint32_t site;
  std::mt19937 shape, values;
  gpuasync_stream *callers, *external = nullptr;
  std::deque<Words> &registered;
  std::vector<gpuasync_stream *> streams;
  std::vector<gpuasync_event *> events;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::deque<Words> host;
  int depth = 0;

public:
  bool mayFail = false; ///< calls of the vendor's do
};

TEST_P(RegionLives, RandomPrograms_G01) {
  const char *many = getenv("GPU_ASYNC_TEST_PROGRAMS");
  const uint32_t first = testSeed(),
                 programs = many ? uint32_t(strtoul(many, nullptr, 10)) : 40;
  // Until the driver has ended all registrations.
  std::deque<Words> registered;
  gpuasync_stream *callers = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_context_stream_create(context.get(), &callers)).ok());
  for (uint32_t number = 0; number < programs && !HasFailure(); ++number) {
    const uint32_t seed = first + number;
    SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
    const char *const ways[] = {"graph", "stream", "auto", "graph"};
    play(ways[seed % 4]);
    if (mock)
      mock->mock_configure("seed", seed);
    const uint32_t site =
        testSite("test.mlir", "region", 900 + number % 4, 2, UINT32_MAX);
    for (uint32_t call = 0; call < 6 && !HasFailure(); ++call) {
      FrameScope frame(*program);
      Life(*program, frame, site, seed + call / 5, seed * 7 + call / 2,
           seed % 3 ? nullptr : callers, registered)
          .run(20 + seed % 150);
    }
  }
  EXPECT_TRUE(Status(gpuasync_context_stream_synchronize(callers)).ok());
  gpuasync_context_stream_destroy(callers);
}

// A call of the vendor's fails somewhere: the frame may, or what has failed was
// not needed, but what goes on is right, and so is the next call.
TEST_P(RegionLives, WithFailures_E05) {
  if (!mock)
    GTEST_SKIP() << "calls fail in the fake libraries only";
  const char *many = getenv("GPU_ASYNC_TEST_PROGRAMS");
  const uint32_t first = testSeed(),
                 programs = many ? uint32_t(strtoul(many, nullptr, 10)) : 40;
  // A registration of which the end failed stays for ever.
  static std::deque<Words> registered;
  for (uint32_t number = 0; number < programs && !HasFailure(); ++number) {
    const uint32_t seed = first + number;
    SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
    const char *const ways[] = {"graph", "stream", "auto", "graph"};
    play(ways[seed % 4]);
    const uint32_t site =
        testSite("test.mlir", "region", 900 + number % 4, 2, UINT32_MAX);
    std::mt19937 random(seed);
    for (uint32_t call = 0; call < 8 && !HasFailure(); ++call) {
      constexpr int outOfMemory = 2, notSupported = 801;
      if (call % 2)
        mock->mock_fail(nullptr, 1 + random() % 400,
                        random() % 4 ? outOfMemory : notSupported);
      FrameScope frame(*program);
      if (frame.entered) {
        Life life(*program, frame, site, seed + call / 5, seed * 7 + call / 2,
                  nullptr, registered);
        life.mayFail = call % 2;
        life.run(20 + seed % 150);
      }
      Status status = frame.leave();
      const char *failed = mock->mock_failed();
      EXPECT_FALSE(HasFailure()) << "failed: " << (failed ? failed : "nothing");
      if (!status.ok())
        EXPECT_NE(failed, nullptr) << status.message();
      // Its context could not be put away.
      if (failed && strstr(failed, "cuCtx"))
        while (mock->mock_context_depth())
          mock->mock_context_pop();
      // Of memory of which the vendor does not tell what it is, its copies may
      // wait.
      if (failed && strstr(failed, "PointerGetAttribute"))
        mock->mock_reset();
      mock->mock_fail(nullptr, 0, 0);
    }
  }
}

// The same on threads that share the regions, while others take the modules
// away and trim the context.
TEST_P(RegionLives, Threads_G04_G06) {
  constexpr uint32_t numThreads = 8, programs = 6;
  const uint32_t first = testSeed();
  SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(first));
  const uint32_t sites[] = {SITE("one"), SITE("other")};
  for (const char *way : {"graph", "auto", "stream"}) {
    play(way);
    std::atomic<uint32_t> open{numThreads};
    std::deque<Words> registered[numThreads];
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < numThreads; ++t)
      threads.emplace_back([&, t] {
        ContextScope inner(context);
        for (uint32_t call = 0; call < programs * 4 && !HasFailure(); ++call) {
          // Threads in pairs do the same.
          const uint32_t seed = first + call / 4 * numThreads + t / 2;
          FrameScope frame(*program);
          Life(*program, frame, sites[t % 2], seed, seed + call, nullptr,
               registered[t])
              .run(60);
        }
        --open;
      });
    while (open) {
      (void)gpuasync_modules_release(context.get());
      gpuasync_status_free(gpuasync_context_trim(context.get(), 0.001));
      std::this_thread::yield();
    }
    for (std::thread &thread : threads)
      thread.join();
    // Until the driver has ended all registrations.
    EXPECT_TRUE(Status(gpuasync_context_trim(context.get(), 60)).ok());
  }
}

} // namespace
