//===- ErrorTest.cpp - Errors, timeouts and what is released after them ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every error is a value with a location; afterwards everything is given back
// and the next frame works.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "shim/context/ContextImpl.h"

#include <chrono>

#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Errors : public DeviceTest {
protected:
  bool contains(const Status &status, const char *text) {
    bool found = strstr(status.message(), text);
    EXPECT_TRUE(found) << "'" << text << "' is not in: " << status.message();
    return found;
  }
  /// E03: an ordinary frame works.
  void expectUsable() {
    std::vector<uint32_t> out(64);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 3});
    frame.copy(stream, out.data(), x, 256);
    frame.dealloc(stream, x);
    EXPECT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(out, std::vector<uint32_t>(64, 3));
  }
};
INSTANTIATE_OVER_DEVICES(Errors);

TEST_P(Errors, FirstErrorIsKept) {
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Store, -1, 64, StoreParams{x, 3});
    EXPECT_TRUE(frame.failed());
    // From here on calls do nothing.
    EXPECT_EQ(frame.stream(), nullptr);
    EXPECT_EQ(frame.alloc(stream, 64), nullptr);
    EXPECT_EQ(frame.record(stream), nullptr);
    frame.launch(stream, Store, -2, 64, StoreParams{x, 3});
    EXPECT_EQ(frame.wait({stream}), 1);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    contains(status, "test.mlir:10:5: store: ");
    contains(status, "-1 x 1 x 1");
    EXPECT_EQ(strchr(status.message(), '\n'), nullptr);
  }
  // The buffer and the stream of the failed frame are given back.
  gpuasync_stats stats = readStats(context);
  EXPECT_EQ(stats.buffers.live, 0u);
  EXPECT_EQ(stats.streams.live, 0u);
  expectUsable();
}

TEST_P(Errors, LaunchLimits) {
  struct Case {
    int64_t grid, block;
    uint32_t shared;
  } cases[] = {{1, 4096, 0}, {1, 1, 64u << 20}, {int64_t(1) << 62, 1024, 0}};
  for (const Case &c : cases) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Shared, c.grid, c.block, SharedParams{x, 1}, c.shared);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    contains(status, "test.mlir:15:5: shared: ");
  }
  expectUsable();
}

// Sizes that a vendor's 32 bits would cut to 1 or 2 are seen as they are.
TEST_P(Errors, ClusterSizes) {
  for (int64_t size : {(int64_t(1) << 32) + 1, (int64_t(1) << 32) + 2,
                       int64_t(1) << 62, int64_t(3)}) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    StoreParams params = {x, 1};
    gpuasync_launch_config launch = makeLaunch(4, 16, params);
    launch.cluster[0] = size;
    launch.cluster[1] = launch.cluster[2] = 1;
    gpuasync_launch(frame, stream, program->launchSites[Store], &launch);
    Status status = frame.leave();
    const char *expected = nullptr;
    if (context.get()->has(gpuasync::CapClusters)) {
      EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT)) << size;
      expected = "a grid of 4 x 1 x 1 blocks is not made of whole clusters";
    } else {
      EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED)) << size;
      expected = "no thread block clusters";
    }
    contains(status, expected);
  }
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    StoreParams params = {x, 1};
    gpuasync_launch_config launch = makeLaunch(4, 16, params);
    launch.cluster[0] = -1;
    gpuasync_launch(frame, stream, program->launchSites[Store], &launch);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  }
  expectUsable();
}

TEST_P(Errors, ArgumentBytes) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  gpuasync_launch_config launch = makeLaunch(1, 1, StoreParams{nullptr, 1});
  launch.paramBytes = 8;
  gpuasync_launch(frame, stream, program->launchSites[Store], &launch);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  contains(status, "takes 16 bytes in 2 parameters");
}

TEST_P(Errors, UnknownKernelOfTheTable) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  const uint32_t site = testSite("test.mlir", "launch", 1, 1, /*kernel=*/99);
  gpuasync_launch_config launch = makeLaunch(1, 1, StoreParams{nullptr, 1});
  gpuasync_launch(frame, stream, site, &launch);
  EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_NOT_FOUND));
}

TEST_P(Errors, KernelMissingFromTheImage) {
  TestProgram broken;
  broken.cpu[MulAdd].name = "other";
  broken.kernels[MulAdd].name = "renamed";
  FrameScope frame(broken);
  EXPECT_FALSE(frame.entered);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_NOT_FOUND));
  contains(status, "test.mlir:1:1: testFunction: ");
  contains(status, "renamed");
}

// C06: a failed load does not poison the key: the repaired program works.
TEST_P(Errors, FailedLoadIsTriedAgain_C06) {
  TestProgram broken;
  const char *name = broken.cpu[MulAdd].name;
  broken.kernels[MulAdd].name = "renamed";
  for (int i = 0; i < 2; ++i) {
    FrameScope frame(broken);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_NOT_FOUND));
  }
  broken.kernels[MulAdd].name = name;
  FrameScope frame(broken);
  EXPECT_TRUE(frame.entered);
}

TEST_P(Errors, NoFittingImage) {
  TestProgram other(onCpu() ? TestProgram::Cuda : TestProgram::Cpu);
  FrameScope frame(other);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_NOT_FOUND));
  contains(status, "module 'kernels' has no image for ");
  contains(status, onCpu()              ? "PTX sm_70"
                   : device() == "cuda" ? "it has cpu: not for CUDA"
                                        : "it has cpu: not for HIP");
}

TEST_P(Errors, NewerAbi) {
  TestProgram other;
  other.program.abiVersion = GPUASYNC_ABI_VERSION + 0x10000;
  FrameScope frame(other);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
}

// A frame of one device has no other one, in any entry that takes its number.
TEST_P(Errors, NumberOfADevice) {
  const int64_t sizes[] = {64, 64}, strides[] = {64, 1}, box[] = {16, 16};
  const gpuasync_tensor_format format = {7, 2, 0, 0, 0, 0};
  using Entry = void (*)(FrameScope &, void *, const int64_t *const *,
                         const gpuasync_tensor_format *);
  const int64_t *const shapes[] = {sizes, strides, box};
  const Entry entries[] = {
      [](FrameScope &frame, void *, auto...) {
        EXPECT_EQ(gpuasync_stream_create(frame, 1, SITE("op")), nullptr);
      },
      [](FrameScope &frame, void *, auto...) {
        EXPECT_EQ(gpuasync_stream_external(frame, 1, nullptr, SITE("op")),
                  nullptr);
      },
      [](FrameScope &frame, void *, auto...) {
        EXPECT_EQ(gpuasync_alloc(frame, 1, nullptr, 64, 0, SITE("op")),
                  nullptr);
      },
      [](FrameScope &frame, void *memory, auto...) {
        gpuasync_dealloc(frame, 1, nullptr, memory, SITE("op"));
      },
      [](FrameScope &frame, void *, auto...) {
        EXPECT_EQ(gpuasync_constant(frame, 1, 0, SITE("op")), nullptr);
      },
      [](FrameScope &frame, void *memory, auto...) {
        EXPECT_EQ(gpuasync_resident(frame, 1, memory, 64, SITE("op")), nullptr);
      },
      [](FrameScope &frame, void *memory, const int64_t *const *shapes,
         const gpuasync_tensor_format *format) {
        alignas(64) char map[GPUASYNC_TENSOR_MAP_BYTES];
        gpuasync_tensor_map_encode(frame, 1, map, memory, shapes[0], shapes[1],
                                   2, shapes[2], format, SITE("op"));
      }};
  for (Entry entry : entries) {
    FrameScope frame(*program);
    entry(frame, frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED), shapes,
          &format);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    contains(status, "op: the frame has 1 device, there is no device 1");
  }
}

TEST_P(Errors, FunctionOfSeveralDevices) {
  TestProgram other;
  other.function.deviceCount = 2;
  FrameScope frame(other);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  contains(status, "the function uses 2 devices, the thread's scope has 1");
}

// A called function's status becomes the frame's.
TEST_P(Errors, StatusOfACallee) {
  FrameScope inner(*program);
  gpuasync_stream *stream = inner.stream();
  inner.launch(stream, Store, -1, 1, StoreParams{});
  Status status = inner.leave();
  std::string text = status.message();
  FrameScope frame(*program);
  EXPECT_EQ(gpuasync_frame_fail(frame, nullptr), 0);
  EXPECT_EQ(gpuasync_frame_fail(frame, status.release()), 1);
  EXPECT_EQ(frame.leave().message(), text);
}

// An assert of host code fails its frame, with its place and message; the first
// error is kept.
TEST_P(Errors, HostAssert) {
  FrameScope frame(*program);
  gpuasync_host_assert_fail(frame, SITE("the sizes differ"));
  EXPECT_TRUE(frame.failed());
  gpuasync_host_assert_fail(frame, SITE("another one"));
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
  std::string text = status.message();
  EXPECT_NE(text.find("test.mlir:"), std::string::npos) << text;
  EXPECT_NE(text.find(": assertion failed: the sizes differ"),
            std::string::npos)
      << text;
  FrameScope unknown(*program);
  gpuasync_host_assert_fail(unknown, UINT32_MAX);
  status = unknown.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
}

// E02, E03, E06: an assert fails its frame at the next wait, with its message,
// location and thread; dependents are skipped; other frames go on.
TEST_P(Errors, KernelAssert) {
  std::vector<uint32_t> out(64, 5);
  {
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 64);
    frame.launch(a, Store, 1, 64, StoreParams{x, 1});
    frame.launch(a, Fail, 4, 1, FailParams{1});
    gpuasync_event *event = frame.record(a);
    frame.waitEvent(b, event);
    frame.launch(b, Store, 1, 64, StoreParams{x, 2});
    frame.copy(b, out.data(), x, 256);
    EXPECT_EQ(frame.wait({b}), 1);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
    contains(status, "kernel.mlir:7:9: assertion failed in kernel 'fail'");
    contains(status, "thread (1, 2, 3): value must be 0");
    contains(status, "launched at test.mlir:16:5");
  }
  EXPECT_EQ(out, std::vector<uint32_t>(64, 5));
  for (int i = 0; i < 3; ++i)
    expectUsable();
  // A token carries the failure to whoever waits for it.
  gpuasync_event *token = nullptr;
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Fail, 1, 1, FailParams{1});
    token = gpuasync_event_export(frame, frame.record(stream), SITE("return"));
  }
  expectUsable();
  Status status(gpuasync_event_wait(token));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
  gpuasync_event_release(token);
}

// E02: also to a later frame that was given the very stream the work ran on.
TEST_P(Errors, KernelAssertOfTheStreamsFormerOwner) {
  std::vector<uint32_t> out(64, 5);
  gpuasync_event *token = nullptr;
  gpuasync_stream *former = nullptr;
  {
    FrameScope frame(*program);
    former = frame.stream();
    frame.launch(former, Fail, 1, 1, FailParams{1});
    token = gpuasync_event_export(frame, frame.record(former), SITE("return"));
  }
  // It has run, so that the stream goes to whoever asks next.
  EXPECT_EQ(Status(gpuasync_event_wait(token)).code(),
            uint32_t(GPUASYNC_KERNEL_ASSERT));
  {
    FrameScope frame(*program);
    token = gpuasync_event_import(frame, token, SITE("call"));
    gpuasync_stream *stream = frame.stream();
    EXPECT_EQ(stream, former);
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    EXPECT_EQ(frame.wait({stream}), 0);
    frame.waitEvent(stream, token);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 2});
    frame.copy(stream, out.data(), x, 256);
    EXPECT_EQ(frame.wait({stream}), 1);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
  }
  EXPECT_EQ(out, std::vector<uint32_t>(64, 5));
  expectUsable();
}

// B05: a timeout lists what has not finished, and where it is in the source.
TEST_P(Errors, TimeoutListsOps_B05) {
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  for (bool event : {false, true}) {
    gpuasync_set_timeout(0);
    __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(nullptr, 64);
    frame.launch(b, Store, 1, 64, StoreParams{x, 1});
    EXPECT_EQ(frame.wait({b}), 0);
    frame.launch(a, Gate, 1, 1, GateParams{flag});
    frame.launch(a, Store, 1, 64, StoreParams{x, 1});
    gpuasync_set_timeout(0.05);
    if (event)
      EXPECT_EQ(frame.waitHost(frame.record(a)), 1);
    else
      EXPECT_EQ(frame.wait({a, b}), 1);
    // Let the release after the error see the end of the work.
    std::thread opener([&] { openGate(flag); });
    Status status = frame.leave();
    opener.join();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
    contains(status, "timed out after 0.05 s");
    contains(status, "test.mlir:12:5: gate; test.mlir:10:5: store");
    EXPECT_TRUE(context.waitAbandoned().ok());
  }
  gpuasync_set_timeout(0);
  expectUsable();
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// A deadline that no clock reaches does not wrap to one that has passed.
TEST_P(Errors, TimeoutPastTheClocksEndIsNone_B05) {
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  }
  for (double seconds : {9.22337203e9, 1e10, 1e300, double(INFINITY)}) {
    gpuasync_set_timeout(seconds);
    for (bool event : {false, true}) {
      __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
      FrameScope frame(*program);
      gpuasync_stream *a = frame.stream();
      frame.launch(a, Gate, 1, 1, GateParams{flag});
      std::thread opener([&] { openGate(flag); });
      EXPECT_EQ(event ? frame.waitHost(frame.record(a)) : frame.wait({a}), 0)
          << seconds;
      opener.join();
      EXPECT_TRUE(frame.leave().ok()) << seconds;
    }
  }
  gpuasync_set_timeout(0);
  expectUsable();
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// Work that does not end in time stays behind with its memory; once it ends,
// the context can be closed as usual.
TEST_P(Errors, WorkThatOutlivesItsFrame) {
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  gpuasync_set_timeout(0.02);
  {
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream();
    uint32_t *x = frame.alloc(a, 64);
    frame.launch(a, Gate, 1, 1, GateParams{flag});
    frame.launch(a, Store, 1, 64, StoreParams{x, 1});
    EXPECT_EQ(frame.wait({a}), 1);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_TIMEOUT));
  }
  gpuasync_set_timeout(0);
  openGate(flag);
  expectUsable();
}

// A frame left by an error while its work still runs waits for that work.
TEST_P(Errors, LeaveWaitsForRunningWork) {
  auto *flag = static_cast<uint32_t *>(nullptr);
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 16, GPUASYNC_ALLOC_HOST_SHARED);
    flag[0] = flag[8] = 0;
  }
  std::thread opener;
  {
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream();
    uint32_t *x = frame.alloc(a, 64);
    frame.launch(a, Meet, 1, 1, MeetParams{flag, flag + 8});
    frame.launch(a, Store, 1, 64, StoreParams{x, 9});
    frame.launch(a, Store, -1, 64, StoreParams{x, 9});
    opener = std::thread([&] {
      while (!isSet(flag))
        std::this_thread::yield();
      openGate(flag + 8);
    });
    EXPECT_FALSE(frame.leave().ok());
    EXPECT_TRUE(isSet(flag + 8));
  }
  opener.join();
  EXPECT_EQ(readStats(context).buffers.live, 1u);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// So does one whose stream was given back with its work on it.
TEST_P(Errors, LeaveWaitsForWorkOnEndedStreams_E03) {
  auto *flag = static_cast<uint32_t *>(nullptr);
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 16, GPUASYNC_ALLOC_HOST_SHARED);
    flag[0] = flag[8] = 0;
  }
  std::thread opener;
  {
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(b, 64);
    frame.launch(b, Meet, 1, 1, MeetParams{flag, flag + 8});
    frame.launch(b, Store, 1, 64, StoreParams{x, 9});
    gpuasync_event *event = frame.record(b);
    frame.destroy(b, /*idle=*/false);
    frame.launch(a, Store, -1, 64, StoreParams{x, 9});
    frame.waitEvent(a, event); // comes too late
    opener = std::thread([&] {
      while (!isSet(flag))
        std::this_thread::yield();
      openGate(flag + 8);
    });
    EXPECT_FALSE(frame.leave().ok());
    EXPECT_TRUE(isSet(flag + 8));
  }
  opener.join();
  EXPECT_EQ(readStats(context).buffers.live, 1u);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// E07: after closing, frames fail and counts stay.
TEST_P(Errors, UseAfterClose_E07) {
  expectUsable();
  Status closed = context.close();
  ASSERT_TRUE(closed.ok()) << closed.message();
  gpuasync_stats before = readStats(context);
  FrameScope frame(*program);
  EXPECT_FALSE(frame.entered);
  EXPECT_EQ(frame.stream(), nullptr);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_SHUT_DOWN));
  EXPECT_EQ(readStats(context).streams.created, before.streams.created);
  EXPECT_TRUE(context.close().ok());
}

// Objects of ours that are alive at close are an error and named.
TEST_P(Errors, LeakedTokenIsAnErrorAtClose) {
  gpuasync_event *token = nullptr;
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    token = frame.record(stream);
    gpuasync_event_export(frame, token, SITE("return"));
  }
  Status status = context.close();
  EXPECT_FALSE(status.ok());
  contains(status, "0 streams, 1 events, 0 modules");
  contains(status, "record: event never released");
  expectLoss = true; // the counts rightly say that one is alive
  gpuasync_event_release(token);
}

// A frame that fails waits for its streams within one time limit, and not at
// all once a wait has come to it. What it allocated is free when they are.
TEST_P(Errors, LeavingWaitsOnce_B05) {
  constexpr double seconds = 0.6;
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  }
  for (bool timedOut : {true, false}) {
    __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
    FrameScope frame(*program);
    std::vector<gpuasync_stream *> streams;
    uint32_t *x = frame.alloc(nullptr, 6 * 64);
    for (int i = 0; i < 6; ++i) {
      streams.push_back(frame.stream());
      frame.launch(streams.back(), Gate, 1, 1, GateParams{flag});
      frame.launch(streams.back(), Store, 1, 64, StoreParams{x + i * 64, 1});
    }
    gpuasync_set_timeout(seconds);
    if (timedOut)
      frame.wait(streams);
    else
      gpuasync_memset(frame, streams[0], x, flag, 3, 5, SITE("refused"));
    EXPECT_TRUE(frame.failed());
    auto start = std::chrono::steady_clock::now();
    Status status = frame.leave();
    double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    EXPECT_LT(took, timedOut ? seconds : 4 * seconds);
    EXPECT_EQ(status.code(),
              uint32_t(timedOut ? GPUASYNC_TIMEOUT : GPUASYNC_UNSUPPORTED));
    EXPECT_EQ(readStats(context).buffers.live, 1u);
    gpuasync_set_timeout(0);
    openGate(flag);
    expectUsable();
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// A failed frame's memory is given to nobody before the caller's streams, which
// are not waited for, have done what the frame put there.
TEST_P(Errors, MemoryOfAFailedFrameOnCallersStreams_E03) {
  constexpr uint32_t count = 1 << 18;
  gpuasync_stream *mine[2] = {};
  for (gpuasync_stream *&stream : mine)
    ASSERT_EQ(gpuasync_context_stream_create(context.get(), &stream), nullptr);
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  {
    FrameScope frame(*program);
    uint32_t *x = frame.alloc(nullptr, count, GPUASYNC_ALLOC_HOST_SHARED);
    for (int i : {0, 1}) {
      gpuasync_stream *stream = gpuasync_stream_external(
          frame, 0, gpuasync_context_stream_native(mine[i]), SITE("external"));
      frame.launch(stream, Gate, 1, 1, GateParams{flag});
      frame.launch(stream, Store, count / 512, 256,
                   StoreParams{x + i * (count / 2), 7});
    }
    gpuasync_memset(frame, nullptr, x, flag, 3, 5, SITE("refused"));
    EXPECT_FALSE(frame.leave().ok());
  }
  FrameScope frame(*program);
  uint32_t *y = frame.alloc(nullptr, count, GPUASYNC_ALLOC_HOST_SHARED);
  std::fill(y, y + count, 3u);
  openGate(flag);
  for (gpuasync_stream *each : mine) {
    EXPECT_EQ(gpuasync_context_stream_synchronize(each), nullptr);
    gpuasync_context_stream_destroy(each);
  }
  EXPECT_EQ(std::count(y, y + count, 3u), int64_t(count));
  frame.dealloc(nullptr, y);
  frame.dealloc(nullptr, flag);
}

// CUDA's numbers of default streams are no streams of the cpu device, nor is
// what no stream can be.
TEST_P(Errors, NumbersForCallersStreams) {
  if (!onCpu())
    GTEST_SKIP() << "whether a handle is a stream is the vendor's to say";
  for (uintptr_t number : {1, 2, 0x10, 0x12345671}) {
    FrameScope frame(*program);
    EXPECT_EQ(gpuasync_stream_external(
                  frame, 0, reinterpret_cast<void *>(number), SITE("external")),
              nullptr);
    contains(frame.leave(), "is none of gpuasync_context_stream_native");
  }
}

} // namespace
