//===- OrderTest.cpp - Never blocking, progress, order --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams are held by gates that the test opens; nothing depends on time.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "Fixture.h"

#include <malloc.h>
#include <random>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Order : public DeviceTest {};
INSTANTIATE_OVER_DEVICES(Order);

// B01: launches, allocations and copies of 4 KB, 1 MB and 64 MB to and from
// pageable memory are enqueued while the stream is held.
TEST_P(Order, EnqueueDoesNotBlock_B01) {
  for (uint64_t bytes : {4096ull, 1ull << 20, 64ull << 20}) {
    uint64_t count = bytes / 4;
    std::vector<uint32_t> in(count, 5), out(count, 1);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    uint32_t *x = frame.alloc(stream, count);
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    frame.copy(stream, x, in.data(), bytes);
    // The source was read before the call returned.
    std::fill(in.begin(), in.end(), 9);
    uint32_t *y = frame.alloc(stream, count);
    frame.launch(stream, AddUp, static_cast<int64_t>((count + 255) / 256), 256,
                 AddUpParams{y, x, static_cast<int64_t>(count), 1});
    frame.copy(stream, out.data(), y, bytes);
    frame.dealloc(stream, x);
    frame.dealloc(stream, y);
    ASSERT_FALSE(frame.failed());
    EXPECT_EQ(out[0], 1u); // still held
    openGate(flag);
    ASSERT_EQ(frame.wait({stream}), 0);
    for (uint32_t value : out)
      ASSERT_EQ(value, 6u);
    frame.dealloc(nullptr, flag);
  }
}

// B02: nothing that waits for running kernels is called between a frame's first
// enqueue and its wait. While one runs until the host lets it go: first uses of
// kernels and of the fills, frees of each kind of memory, registrations that
// end, more streams and events than the pools hold. Any call that waits hangs
// here.
TEST_P(Order, NothingThatWaitsMidFrame_B02) {
  std::vector<uint32_t> host(1 << 16, 1);
  FrameScope frame(*program);
  gpuasync_stream *held = frame.stream(), *stream = frame.stream();
  auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  auto *shared = frame.alloc(nullptr, 1 << 16, GPUASYNC_ALLOC_HOST_SHARED);
  uint32_t *x = frame.alloc(nullptr, 1 << 16);
  gpuasync_host_register(frame, host.data(), host.size() * 4, SITE("register"));
  frame.launch(held, Gate, 1, 1, GateParams{flag});

  frame.launch(stream, Store, 256, 256, StoreParams{x, 3});
  frame.launch(stream, MulAdd, 256, 256, MulAddParams{x, 1 << 16, 2, 1});
  for (uint32_t size : {1u, 2u, 4u, 8u, 16u}) {
    const uint8_t pattern[16] = {7, 1, 2, 3, 4, 5, 6, 7, 8};
    gpuasync_memset(frame, stream, x, pattern, size, 1024, SITE("memset"));
  }
  const int64_t sizes[] = {3, 5, 7}, strides[] = {512, 32, 2};
  const uint32_t pattern = 9;
  gpuasync_memset_strided(frame, stream, x, strides, sizes, 3, &pattern, 4,
                          SITE("memset"));
  for (int i = 0; i < 200; ++i) {
    gpuasync_stream *more = frame.stream();
    gpuasync_event *event = frame.record(more);
    frame.waitEvent(stream, event);
    frame.destroy(event);
    frame.destroy(more, /*idle=*/false);
  }
  for (uint64_t words : {1ull << 10, 1ull << 20, 1ull << 24}) {
    uint32_t *device = frame.alloc(stream, words);
    uint32_t *both = frame.alloc(nullptr, words, GPUASYNC_ALLOC_HOST_SHARED);
    frame.dealloc(stream, device);
    frame.dealloc(nullptr, both);
  }
  gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
  frame.dealloc(nullptr, shared);
  frame.dealloc(stream, x);
  ASSERT_FALSE(frame.failed());
  // Another stream is waited for meanwhile.
  ASSERT_EQ(frame.wait({stream}), 0);
  openGate(flag);
  ASSERT_EQ(frame.wait({held}), 0);
  frame.dealloc(nullptr, flag);
}

// B06: an upload in a later frame, which a token orders behind a download of an
// earlier frame that nobody has waited for, reads what that download writes.
TEST_P(Order, UploadBehindAnEarlierFramesDownload_B06) {
  constexpr uint32_t count = 1024;
  std::vector<uint32_t> between(count, 1), out(count, 2);
  uint32_t *flag = nullptr, *x = nullptr;
  gpuasync_event *token = nullptr;
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    x = frame.alloc(nullptr, count);
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    frame.launch(stream, Store, count / 64, 64, StoreParams{x, 7});
    frame.copy(stream, between.data(), x, count * 4);
    token = gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    frame.destroy(stream, /*idle=*/false);
  }
  {
    FrameScope frame(*program);
    token = gpuasync_event_import(frame, token, SITE("argument"));
    gpuasync_stream *stream = frame.stream();
    uint32_t *y = frame.alloc(nullptr, count);
    frame.waitEvent(stream, token);
    frame.copy(stream, y, between.data(), count * 4);
    frame.copy(stream, out.data(), y, count * 4);
    ASSERT_FALSE(frame.failed());
    openGate(flag);
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(between, std::vector<uint32_t>(count, 7));
    EXPECT_EQ(out, std::vector<uint32_t>(count, 7));
    frame.dealloc(nullptr, x);
    frame.dealloc(nullptr, y);
    frame.dealloc(nullptr, flag);
  }
}

// B06: of two downloads to one place the later one counts, whether the frame of
// the earlier one was left without a wait, or of the later one, a nested one.
TEST_P(Order, DownloadsOfTwoFramesToOnePlace_B06) {
  constexpr uint32_t count = 1024;
  for (bool nested : {false, true}) {
    std::vector<uint32_t> out(count, 1);
    uint32_t *x = nullptr, *y = nullptr;
    auto download = [&](FrameScope &frame, uint32_t *&memory, uint32_t value,
                        gpuasync_event *behind) {
      gpuasync_stream *stream = frame.stream();
      if (behind)
        frame.waitEvent(stream, behind);
      memory = frame.alloc(nullptr, count);
      frame.launch(stream, Store, count / 64, 64, StoreParams{memory, value});
      frame.copy(stream, out.data(), memory, count * 4);
      return stream;
    };
    FrameScope outer(*program);
    gpuasync_event *first = nullptr;
    if (nested)
      first = outer.record(download(outer, x, 7, nullptr));
    gpuasync_event *token = nullptr;
    {
      FrameScope inner(*program);
      token = gpuasync_event_export(
          inner, inner.record(download(inner, y, nested ? 8 : 7, first)),
          SITE("return"));
    }
    token = gpuasync_event_import(outer, token, SITE("result"));
    gpuasync_stream *last = nullptr;
    if (nested)
      outer.waitEvent(last = outer.stream(), token);
    else
      last = download(outer, x, 8, token);
    ASSERT_EQ(outer.wait({last}), 0);
    EXPECT_EQ(out, std::vector<uint32_t>(count, 8)) << nested;
    outer.dealloc(nullptr, x);
    outer.dealloc(nullptr, y);
  }
}

// B06: a source of which two downloads write a part each waits for both.
TEST_P(Order, UploadBehindTwoDownloads_B06) {
  constexpr uint32_t count = 1024;
  std::vector<uint32_t> between(2 * count, 1), out(2 * count, 2);
  std::atomic<uint32_t *> gate{nullptr};
  Watched working([&] {
    ContextScope own(context);
    FrameScope frame(*program);
    auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    uint32_t *x = frame.alloc(nullptr, 2 * count);
    gpuasync_stream *held = frame.stream(), *stream = frame.stream();
    frame.launch(held, Gate, 1, 1, GateParams{flag});
    for (gpuasync_stream *each : {held, stream}) {
      uint32_t offset = each == held ? 0 : count;
      frame.launch(each, Store, count / 64, 64, StoreParams{x + offset, 7});
      frame.copy(each, between.data() + offset, x + offset, count * 4);
    }
    frame.waitEvent(stream, frame.record(held));
    gate = flag;
    frame.copy(stream, x, between.data(), 2 * count * 4);
    frame.copy(stream, out.data(), x, 2 * count * 4);
    EXPECT_EQ(frame.wait({stream}), 0);
    frame.dealloc(nullptr, x);
    frame.dealloc(nullptr, flag);
  });
  while (!gate)
    std::this_thread::yield();
  working.settle();
  openGate(gate);
  working.join();
  EXPECT_EQ(out, std::vector<uint32_t>(2 * count, 7));
}

// B03: a host wait on an early token returns although later work on that
// stream spins until the host acts.
TEST_P(Order, EarlyTokenIsReached_B03) {
  std::vector<uint32_t> out(64);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  uint32_t *x = frame.alloc(stream, 64);
  frame.launch(stream, Store, 1, 64, StoreParams{x, 3});
  frame.copy(stream, out.data(), x, 256);
  gpuasync_event *early = frame.record(stream);
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  frame.launch(stream, Store, 1, 64, StoreParams{x, 4});
  ASSERT_EQ(frame.waitHost(early), 0);
  EXPECT_EQ(out, std::vector<uint32_t>(64, 3));
  openGate(flag);
  ASSERT_EQ(frame.wait({stream}), 0);
  frame.dealloc(nullptr, flag);
  frame.dealloc(nullptr, x);
}

// B04 and T04: streams that spin for each other all run at the same time. A
// ring: kernel i waits for kernel i + 1.
TEST_P(Order, StreamsSpinForEachOther_B04) {
  for (uint32_t count : {2u, 3u, 8u, 64u}) {
    FrameScope frame(*program);
    auto *words = frame.alloc(nullptr, 16 * count, GPUASYNC_ALLOC_HOST_SHARED);
    for (uint32_t i = 0; i < 16 * count; ++i)
      words[i] = 0;
    std::vector<gpuasync_stream *> streams;
    for (uint32_t i = 0; i < count; ++i)
      streams.push_back(frame.stream());
    for (uint32_t i = 0; i < count; ++i)
      frame.launch(streams[i], Meet, 1, 1,
                   MeetParams{words + 16 * i, words + 16 * ((i + 1) % count)});
    ASSERT_EQ(frame.wait(streams), 0);
    for (uint32_t i = 0; i < count; ++i)
      EXPECT_EQ(words[16 * i], 1u);
    frame.dealloc(nullptr, words);
  }
}

// B04: a host that polls without waiting sees progress.
TEST_P(Order, HostPollSeesProgress_B04) {
  FrameScope frame(*program);
  auto *words = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
  words[0] = words[16] = words[32] = 0;
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  frame.launch(a, Gate, 1, 1, GateParams{words});
  frame.launch(a, Raise, 1, 1, GateParams{words + 16});
  frame.launch(b, Raise, 1, 1, GateParams{words + 32});
  while (!isSet(words + 32))
    ;
  EXPECT_FALSE(isSet(words + 16));
  openGate(words);
  while (!isSet(words + 16))
    ;
  frame.wait({a, b});
  frame.dealloc(nullptr, words);
}

/// Runs other tests of this program in a process on so many processors.
int onProcessors(uint32_t count, const std::string &filter) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    cpu_set_t all, few;
    sched_getaffinity(0, sizeof(all), &all);
    CPU_ZERO(&few);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE && count; ++cpu)
      if (CPU_ISSET(cpu, &all)) {
        CPU_SET(cpu, &few);
        --count;
      }
    if (sched_setaffinity(0, sizeof(few), &few) != 0)
      _exit(126);
    execl("/proc/self/exe", "self", "--gtest_brief=1",
          ("--gtest_filter=" + filter).c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// B04: both on one processor and on two, whatever this machine has.
TEST_P(Order, ProgressOnFewProcessors_B04) {
  for (uint32_t count : {1u, 2u})
    EXPECT_EQ(onProcessors(count, "Devices/Order.StreamsSpin*/cpu:"
                                  "Devices/Order.HostPoll*/cpu"),
              0)
        << count << " processors";
}

// An event orders across streams even when both streams go back to the pool
// with work on them (S11), and the event is destroyed at once.
TEST_P(Order, EventsOutliveTheirHandles_S11) {
  std::vector<uint32_t> out(64);
  uint32_t *flag = nullptr, *x = nullptr;
  gpuasync_event *token = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    x = frame.alloc(a, 64);
    frame.launch(a, Gate, 1, 1, GateParams{flag});
    frame.launch(a, Store, 1, 64, StoreParams{x, 1});
    gpuasync_event *event = frame.record(a);
    frame.waitEvent(b, event);
    frame.destroy(event);
    frame.destroy(a, false);
    frame.launch(b, MulAdd, 1, 64, MulAddParams{x, 64, 10, 2});
    token = gpuasync_event_export(frame, frame.record(b), SITE("return"));
    frame.destroy(b, false);
  }
  {
    // New streams are not the busy ones: this work must not wait behind them.
    FrameScope frame(*program);
    gpuasync_stream *c = frame.stream();
    uint32_t *y = frame.alloc(c, 64);
    frame.launch(c, Store, 1, 64, StoreParams{y, 1});
    ASSERT_EQ(frame.wait({c}), 0);
    frame.dealloc(c, y);
  }
  openGate(flag);
  {
    FrameScope frame(*program);
    token = gpuasync_event_import(frame, token, SITE("func"));
    gpuasync_stream *stream = frame.stream();
    frame.waitEvent(stream, token);
    frame.copy(stream, out.data(), x, 256);
    frame.wait({stream});
    frame.dealloc(stream, x);
    frame.dealloc(nullptr, flag);
    frame.wait({stream});
  }
  EXPECT_EQ(out, std::vector<uint32_t>(64, 12));
}

// S09: an event handle of a former use is refused, whatever it is now.
TEST_P(Order, StaleEventHandle_S09) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  gpuasync_event *first = frame.record(stream);
  frame.destroy(first);
  gpuasync_event *second = frame.record(stream);
  EXPECT_NE(first, second);
  frame.waitEvent(stream, first);
  EXPECT_TRUE(frame.failed());
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_NE(std::string(status.message()).find("test.mlir:"),
            std::string::npos);
}

// A download whose destination is the source of a later upload, all of it
// enqueued before anything ran.
TEST_P(Order, DownloadFeedsUpload) {
  for (uint64_t count : {64ull, 3ull << 20}) {
    std::vector<uint32_t> host(count, 0), out(count, 0);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    uint32_t *x = frame.alloc(stream, count), *y = frame.alloc(stream, count);
    gpuasync_event *ready = nullptr;
    uint32_t pattern = 8;
    // The larger one is only partly covered by one piece: the copy waits for
    // the download, so the gate is open for it.
    if (count == 64)
      frame.launch(stream, Gate, 1, 1, GateParams{flag});
    gpuasync_memset(frame, stream, x, &pattern, 4, count, SITE("memset"));
    frame.copy(stream, host.data(), x, count * 4);
    frame.copy(stream, y, host.data(), count * 4);
    frame.copy(stream, out.data(), y, count * 4);
    ready = frame.record(stream);
    openGate(flag);
    ASSERT_EQ(frame.waitHost(ready), 0);
    ASSERT_EQ(host, std::vector<uint32_t>(count, 8));
    ASSERT_EQ(out, std::vector<uint32_t>(count, 8));
    frame.dealloc(nullptr, x);
    frame.dealloc(nullptr, y);
    frame.dealloc(nullptr, flag);
  }
}

// The host waits for a download and changes the memory, of which an upload that
// was enqueued before has not run yet.
TEST_P(Order, UploadBeforeTheHostChangesItsSource) {
  for (uint64_t count : {64ull, 3ull << 18}) {
    std::vector<uint32_t> host(count, 0), out(count, 0);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    auto *flags = frame.alloc(nullptr, 32, GPUASYNC_ALLOC_HOST_SHARED);
    flags[0] = flags[16] = 0;
    uint32_t *x = frame.alloc(a, count), *y = frame.alloc(b, count);
    uint32_t pattern = 8;
    gpuasync_memset(frame, a, x, &pattern, 4, count, SITE("memset"));
    frame.launch(a, Gate, 1, 1, GateParams{flags});
    frame.copy(a, host.data(), x, count * 4);
    gpuasync_event *down = frame.record(a);
    frame.waitEvent(b, down);
    frame.launch(b, Gate, 1, 1, GateParams{flags + 16});
    frame.copy(b, y, host.data(), count * 4);
    frame.copy(b, out.data(), y, count * 4);
    openGate(flags);
    ASSERT_EQ(frame.waitHost(down), 0);
    ASSERT_EQ(host, std::vector<uint32_t>(count, 8));
    std::fill(host.begin(), host.end(), 9);
    openGate(flags + 16);
    ASSERT_EQ(frame.wait({b}), 0);
    EXPECT_EQ(out, std::vector<uint32_t>(count, 8));
    frame.dealloc(nullptr, x);
    frame.dealloc(nullptr, y);
    frame.dealloc(nullptr, flags);
  }
}

// What a strided download leaves out belongs to the host, which may change it
// once the upload of all of it has been enqueued.
TEST_P(Order, UploadOfWhatADownloadLeavesOut) {
  std::vector<uint32_t> host(64), out(64), expected(64);
  for (uint32_t i = 0; i < 64; ++i) {
    host[i] = i;
    expected[i] = i % 3 ? i : 8;
  }
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  uint32_t *x = frame.alloc(stream, 64), *y = frame.alloc(stream, 64);
  const int64_t size = 22, three = 3, one = 1;
  uint32_t pattern = 8;
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  gpuasync_memset(frame, stream, x, &pattern, 4, 64, SITE("memset"));
  gpuasync_memcpy_strided(frame, stream, host.data(), &three, x, &one, &size, 1,
                          4, SITE("memcpy"));
  frame.copy(stream, y, host.data(), 256);
  for (uint32_t i = 0; i < 64; ++i)
    if (i % 3)
      host[i] = 1000;
  frame.copy(stream, out.data(), y, 256);
  openGate(flag);
  ASSERT_EQ(frame.wait({stream}), 0);
  EXPECT_EQ(out, expected);
  frame.dealloc(nullptr, x);
  frame.dealloc(nullptr, y);
  frame.dealloc(nullptr, flag);
}

// Of many downloads, dense or not, that overlap, each byte of a later upload is
// what the last one writes there.
TEST_P(Order, UploadOfManyDownloads) {
  constexpr uint32_t count = 500;
  const uint32_t seed = testSeed();
  SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  auto draw = [&](uint32_t below) { return uint32_t(random() % below); };
  for (int round = 0; round < 20; ++round) {
    std::vector<uint32_t> host(count), out(count), expected(count);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    uint32_t *x = frame.alloc(stream, count), *y = frame.alloc(stream, count);
    for (uint32_t i = 0; i < count; ++i)
      host[i] = expected[i] = 1000 + i;
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    for (uint32_t pattern = 1, n = 1 + draw(8); pattern <= n; ++pattern) {
      // Rows of some elements, in any direction.
      const int64_t sizes[] = {1 + draw(12), 1 + draw(6)};
      const int64_t rows = draw(2) ? 1 + draw(30) : -1 - int64_t(draw(30));
      const int64_t strides[] = {rows, 1 + draw(3)}, from[] = {sizes[1], 1};
      const int64_t low = std::min<int64_t>(0, rows * (sizes[0] - 1));
      const int64_t high = std::max<int64_t>(0, rows * (sizes[0] - 1)) +
                           strides[1] * (sizes[1] - 1);
      const int64_t first = -low + draw(uint32_t(count - (high - low)));
      gpuasync_memset(frame, stream, x, &pattern, 4, count, SITE("memset"));
      gpuasync_memcpy_strided(frame, stream, host.data() + first, strides, x,
                              from, sizes, 2, 4, SITE("memcpy"));
      for (int64_t i = 0; i < sizes[0]; ++i)
        for (int64_t j = 0; j < sizes[1]; ++j)
          expected[size_t(first + i * rows + j * strides[1])] = pattern;
    }
    const uint32_t begin = draw(count), bytes = (1 + draw(count - begin)) * 4;
    std::vector<uint32_t> known(expected.begin() + begin,
                                expected.begin() + begin + bytes / 4);
    frame.copy(stream, y, host.data() + begin, bytes);
    for (uint32_t i = 0; i < count; ++i)
      if (expected[i] >= 1000)
        host[i] = 0; // the host's, and read
    frame.copy(stream, out.data(), y, bytes);
    openGate(flag);
    ASSERT_EQ(frame.wait({stream}), 0);
    out.resize(bytes / 4);
    ASSERT_EQ(out, known) << "round " << round;
    frame.dealloc(nullptr, x);
    frame.dealloc(nullptr, y);
    frame.dealloc(nullptr, flag);
  }
}

// What is noted of such an upload is small beside its data. (Sanitizers' heaps
// do not count.)
TEST_P(Order, UploadOfALargeDownloadTakesLittle) {
  constexpr uint64_t count = 16 << 20;
  std::vector<uint32_t> host(count);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  uint32_t *x = frame.alloc(stream, count), *y = frame.alloc(stream, count);
  uint32_t pattern = 8;
  gpuasync_memset(frame, stream, x, &pattern, 4, count, SITE("memset"));
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  frame.copy(stream, host.data(), x, count * 4);
  auto heap = [] {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  size_t before = heap();
  frame.copy(stream, y, host.data(), count * 4);
  size_t taken = heap() - before;
  openGate(flag);
  ASSERT_EQ(frame.wait({stream}), 0);
  // The staging itself may be of the heap.
  EXPECT_LT(taken, count * 4 + (8 << 20));
  frame.dealloc(nullptr, x);
  frame.dealloc(nullptr, y);
  frame.dealloc(nullptr, flag);
}

// A host wait on another stream covers a download that this stream's event is
// ordered after.
TEST_P(Order, DownloadCoveredThroughAnotherStream) {
  std::vector<uint32_t> out(64);
  FrameScope frame(*program);
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  uint32_t *x = frame.alloc(a, 64);
  frame.launch(a, Store, 1, 64, StoreParams{x, 21});
  frame.copy(a, out.data(), x, 256);
  frame.waitEvent(b, frame.record(a));
  ASSERT_EQ(frame.wait({b}), 0);
  EXPECT_EQ(out, std::vector<uint32_t>(64, 21));
  frame.dealloc(a, x);
}

// B06: a copy on a caller's stream, which the driver makes at once, comes after
// an older one to the same place that the host has yet to write.
TEST_P(Order, DownloadOnACallersStreamBehindAnother_B06) {
  gpuasync_stream *mine = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_context_stream_create(context.get(), &mine)).ok());
  std::vector<uint32_t> out(64);
  {
    FrameScope frame(*program);
    gpuasync_stream *own = frame.stream();
    gpuasync_stream *callers = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(mine), SITE("external"));
    uint32_t *x = frame.alloc(own, 64);
    frame.launch(own, Store, 1, 64, StoreParams{x, 10});
    frame.copy(own, out.data(), x, 256);
    frame.launch(own, Store, 1, 64, StoreParams{x, 11});
    frame.waitEvent(callers, frame.record(own));
    // The vendor makes it, and waits.
    const int inside = mock ? mock->mock_mid_frame(0) : 0;
    frame.copy(callers, out.data(), x, 256);
    if (mock)
      mock->mock_mid_frame(inside);
    EXPECT_EQ(frame.waitHost(frame.record(callers)), 0);
    EXPECT_EQ(out, std::vector<uint32_t>(64, 11));
    EXPECT_EQ(frame.wait({own}), 0);
    EXPECT_EQ(out, std::vector<uint32_t>(64, 11));
    frame.dealloc(own, x);
  }
  gpuasync_context_stream_destroy(mine);
}

// B06: a wait of an inner frame does not write over an older copy of the outer
// one, which comes later.
TEST_P(Order, DownloadOfAnInnerFrameBehindTheOuters_B06) {
  std::vector<uint32_t> out(64);
  FrameScope outer(*program);
  gpuasync_stream *first = outer.stream();
  uint32_t *x = outer.alloc(first, 64);
  outer.launch(first, Store, 1, 64, StoreParams{x, 10});
  outer.copy(first, out.data(), x, 256);
  gpuasync_event *copied = outer.record(first);
  {
    FrameScope inner(*program);
    gpuasync_stream *second = inner.stream();
    inner.waitEvent(second, copied);
    uint32_t *y = inner.alloc(second, 64);
    inner.launch(second, Store, 1, 64, StoreParams{y, 11});
    inner.copy(second, out.data(), y, 256);
    ASSERT_EQ(inner.wait({second}), 0);
    EXPECT_EQ(out, std::vector<uint32_t>(64, 11));
    inner.dealloc(second, y);
  }
  ASSERT_EQ(outer.wait({first}), 0);
  EXPECT_EQ(out, std::vector<uint32_t>(64, 11));
  outer.dealloc(first, x);
}

// S08: the caller's stream is ordered both ways and never waited for; 10000
// hand-overs, of which each thousandth result is looked at.
TEST_P(Order, ExternalStream_S08) {
  gpuasync_stream *mine = nullptr;
  Status status(gpuasync_context_stream_create(context.get(), &mine));
  ASSERT_TRUE(status.ok()) << status.message();
  void *native = gpuasync_context_stream_native(mine);
  uint32_t *x = nullptr, *shared = nullptr, *flag = nullptr;
  {
    FrameScope frame(*program);
    x = frame.alloc(nullptr, 64);
    shared = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    gpuasync_stream *stream =
        gpuasync_stream_external(frame, 0, native, SITE("external"));
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    frame.destroy(stream);
  } // leaves although the stream is held
  uint32_t expected = 1;
  for (int i = 0; i < 10000; ++i) {
    expected = (expected * 3 + 1) * 5 + 2;
    FrameScope frame(*program);
    gpuasync_stream *stream =
        gpuasync_stream_external(frame, 0, native, SITE("external"));
    gpuasync_stream *own = frame.stream();
    frame.waitEvent(own, frame.record(stream));
    frame.launch(own, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
    frame.waitEvent(stream, frame.record(own));
    frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 5, 2});
    frame.destroy(own, false);
    frame.destroy(stream);
    if (i % 1000 == 999) {
      gpuasync_stream *again =
          gpuasync_stream_external(frame, 0, native, SITE("external"));
      frame.copy(again, shared, x, 256);
      frame.destroy(again);
      ASSERT_TRUE(frame.leave().ok());
      Status waited(gpuasync_context_stream_synchronize(mine));
      EXPECT_TRUE(waited.ok()) << waited.message();
      ASSERT_EQ(std::vector<uint32_t>(shared, shared + 64),
                std::vector<uint32_t>(64, expected));
    }
    if (i == 3)
      openGate(flag);
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, x);
  frame.dealloc(nullptr, shared);
  frame.dealloc(nullptr, flag);
  gpuasync_context_stream_destroy(mine);
}

// The device's default stream.
TEST_P(Order, NullExternalStream) {
  FrameScope frame(*program);
  gpuasync_stream *stream =
      gpuasync_stream_external(frame, 0, nullptr, SITE("external"));
  auto *x = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
  frame.launch(stream, Store, 1, 64, StoreParams{x, 17});
  ASSERT_EQ(frame.waitHost(frame.record(stream)), 0);
  EXPECT_EQ(x[63], 17u);
  frame.destroy(stream);
  frame.dealloc(nullptr, x);
}

// M02: random allocation, use and free over four streams with event edges only
// where a buffer changes streams; the oracle is plain host arithmetic.
void randomReuse(TestProgram &program, uint32_t seed) {
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  struct Buffer {
    uint32_t *pointer;
    uint32_t value, stream;
    int64_t count;
  };
  FrameScope frame(program);
  std::vector<gpuasync_stream *> streams;
  for (int i = 0; i < 4; ++i)
    streams.push_back(frame.stream());
  std::vector<Buffer> buffers;
  std::vector<std::vector<uint32_t>> results;
  std::vector<uint32_t> expected;
  results.reserve(400);
  for (int step = 0; step < 400; ++step) {
    uint32_t choice = random() % 8;
    uint32_t s = random() % 4;
    if (buffers.size() < 3 || (choice < 2 && buffers.size() < 20)) {
      int64_t count = 1 << (6 + random() % 10);
      uint32_t value = random();
      uint32_t *pointer = frame.alloc(streams[s], uint64_t(count));
      frame.launch(streams[s], Store, count / 64, 64,
                   StoreParams{pointer, value});
      buffers.push_back({pointer, value, s, count});
      continue;
    }
    Buffer &buffer = buffers[random() % buffers.size()];
    if (choice < 5) {
      if (s != buffer.stream) {
        gpuasync_event *event = frame.record(streams[buffer.stream]);
        frame.waitEvent(streams[s], event);
        frame.destroy(event);
        buffer.stream = s;
      }
      uint32_t factor = random() | 1, term = random();
      frame.launch(streams[s], MulAdd, buffer.count / 64, 64,
                   MulAddParams{buffer.pointer, buffer.count, factor, term});
      buffer.value = buffer.value * factor + term;
      continue;
    }
    results.emplace_back(static_cast<size_t>(buffer.count));
    expected.push_back(buffer.value);
    frame.copy(streams[buffer.stream], results.back().data(), buffer.pointer,
               uint64_t(buffer.count) * 4);
    frame.dealloc(streams[buffer.stream], buffer.pointer);
    buffer = buffers.back();
    buffers.pop_back();
  }
  for (Buffer &buffer : buffers)
    frame.dealloc(streams[buffer.stream], buffer.pointer);
  ASSERT_EQ(frame.wait(streams), 0);
  for (size_t i = 0; i < results.size(); ++i)
    ASSERT_EQ(results[i],
              std::vector<uint32_t>(results[i].size(), expected[i]));
}

TEST_P(Order, RandomReuse_M02) {
  for (uint32_t seed = 1; seed <= 20; ++seed)
    randomReuse(*program, seed);
  EXPECT_EQ(readStats(context).buffers.live, 0u);
}

// The same on threads that share the context's pools.
TEST_P(Order, RandomReuseOnThreads_M02) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      ContextScope own(context);
      for (uint32_t seed = 100 * i; seed < 100 * i + 5; ++seed)
        randomReuse(*program, seed);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(readStats(context).buffers.live, 0u);
}

// What is staged for one caller's stream stays until that has used it, although
// the frame's next stream of the caller's is waited for and then copies too.
TEST_P(Order, StagingOfAnotherCallersStream_S08) {
  constexpr uint32_t count = 1 << 18;
  const std::vector<uint32_t> in(count, 5), other(count, 9);
  std::vector<uint32_t> out(count);
  gpuasync_stream *mine[2] = {};
  for (gpuasync_stream *&stream : mine)
    ASSERT_EQ(gpuasync_context_stream_create(context.get(), &stream), nullptr);
  uint32_t *flag = nullptr, *x = nullptr, *y = nullptr;
  auto external = [&](FrameScope &frame, int i) {
    return gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(mine[i]), SITE("external"));
  };
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    x = frame.alloc(nullptr, count);
    y = frame.alloc(nullptr, count);
    gpuasync_stream *stream = external(frame, 0);
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    frame.copy(stream, x, in.data(), 4ull * count);
    frame.destroy(stream, false);
  }
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = external(frame, 1);
    frame.launch(stream, Store, 1, 64, StoreParams{y, 1});
    frame.wait({stream});
    gpuasync_stream *own = frame.stream();
    // In the way of the copy, so that it is staged.
    gpuasync_event *before = frame.record(stream);
    frame.waitEvent(own, before);
    uint32_t *second = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *second = 0;
    frame.launch(own, Gate, 1, 1, GateParams{second});
    frame.copy(own, y, other.data(), 4ull * count);
    openGate(flag);
    openGate(second);
    frame.wait({own});
    frame.dealloc(own, second);
    frame.destroy(stream, false);
  }
  for (gpuasync_stream *stream : mine) {
    EXPECT_EQ(gpuasync_context_stream_synchronize(stream), nullptr);
    gpuasync_context_stream_destroy(stream);
  }
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  frame.copy(stream, out.data(), x, 4ull * count);
  frame.wait({stream});
  EXPECT_EQ(out, in);
  frame.dealloc(nullptr, x);
  frame.dealloc(nullptr, y);
  frame.dealloc(nullptr, flag);
}

} // namespace
