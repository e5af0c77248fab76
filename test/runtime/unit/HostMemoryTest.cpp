//===- HostMemoryTest.cpp - When host memory runs out ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// E05: every allocation of a program's life is made to fail in turn; there is
// an error or the right result, never a crash, a hang or a leak. C05: a warm
// call allocates nothing.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include "HostCalls.h"

#include <errno.h>
#include <stdlib.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// Allocations of this thread, which one fails (0: none), and whether all do.
thread_local uint64_t allocations, failAt;
thread_local bool allFail;

class HostMemory : public testing::Test {
protected:
  void SetUp() override {
    HostCalls::hook([](HostCall call, const char *) -> int {
      if (call != HostCall::Allocation)
        return HostCalls::Happens;
      return ++allocations == failAt || allFail ? ENOMEM : HostCalls::Happens;
    });
  }
  void TearDown() override { HostCalls::hook(nullptr); }
};

struct Life {
  uint64_t allocations = 0;
  bool right = false, failed = false;
};

/// A context's whole life with two streams, an event, copies that are held by a
/// gate, a registration. No gtest macro inside: those allocate too.
Life live(TestProgram &program, uint64_t failing) {
  Life life;
  uint32_t in[64], out[64] = {};
  for (uint32_t &value : in)
    value = 7;
  allocations = 0;
  failAt = failing;
  gpuasync_context *context = nullptr;
  auto note = [&](gpuasync_status *status) {
    life.failed |= status != nullptr;
    gpuasync_status_free(status);
  };
  note(gpuasync_context_open("cpu", &context));
  if (context) {
    gpuasync_status *pushed = gpuasync_scope_push(context);
    bool scoped = !pushed;
    note(pushed);
    if (scoped) {
      const uint32_t site = SITE("op");
      gpuasync_frame frame;
      gpuasync_frame_enter(&frame, &program.function);
      gpuasync_stream *streams[2] = {gpuasync_stream_create(&frame, 0, site),
                                     gpuasync_stream_create(&frame, 0, site)};
      auto *flag = static_cast<uint32_t *>(gpuasync_alloc(
          &frame, 0, nullptr, 4, GPUASYNC_ALLOC_HOST_SHARED, site));
      auto *x = static_cast<uint32_t *>(
          gpuasync_alloc(&frame, 0, streams[0], 256, 0, site));
      if (flag)
        *flag = 0;
      gpuasync_host_register(&frame, in, sizeof(in), site);
      gpuasync_host_unregister(&frame, in, site);
      auto launch = [&](gpuasync_stream *stream, KernelIndex kernel,
                        gpuasync_launch_config block) {
        block.paramBytes = program.kernels[kernel].paramBytes;
        gpuasync_launch(&frame, stream, program.launchSites[kernel], &block);
      };
      GateParams gate{flag};
      launch(streams[0], Gate, makeLaunch(1, 1, gate));
      gpuasync_memcpy(&frame, streams[0], x, in, 256, site);
      gpuasync_event *event = gpuasync_event_record(&frame, streams[0], site);
      gpuasync_stream_wait(&frame, streams[1], event, site);
      MulAddParams update{x, 64, 2, 1};
      launch(streams[1], MulAdd, makeLaunch(1, 64, update));
      gpuasync_memcpy(&frame, streams[1], out, x, 256, site);
      gpuasync_dealloc(&frame, 0, streams[1], x, site);
      if (flag)
        openGate(flag);
      gpuasync_stream_synchronize(&frame, streams, 2, site);
      gpuasync_dealloc(&frame, 0, nullptr, flag, site);
      note(gpuasync_frame_leave(&frame));
      gpuasync_scope_pop();
    }
    note(gpuasync_context_close(context));
    gpuasync_context_release(context);
  }
  failAt = 0;
  life.allocations = allocations;
  life.right = true;
  for (uint32_t value : out)
    life.right &= value == 15;
  return life;
}

TEST_F(HostMemory, EveryAllocationFails_E05) {
  TestProgram program;
  uint64_t count = live(program, 0).allocations;
  ASSERT_GT(count, 20u);
  ASSERT_TRUE(live(program, 0).right);
  uint64_t errors = 0;
  for (uint64_t i = 1; i <= count; ++i) {
    Life life = live(program, i);
    EXPECT_TRUE(life.right || life.failed) << "allocation " << i;
    errors += life.failed;
    gpuasync_status_free(gpuasync_program_release(&program.program));
  }
  EXPECT_GT(errors, count / 4);
  EXPECT_TRUE(live(program, 0).right);
}

// E03: a stream whose last owner's error cannot be cleared away for want of
// memory does not keep the frame from giving back what it holds.
TEST_F(HostMemory, FailedFrameGivesBackWithoutMemory_E03) {
  TestProgram program;
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  ContextScope scope(context);
  std::vector<uint32_t> host(64);
  {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Fail, 1, 1, FailParams{1});
    frame.wait({stream});
    EXPECT_FALSE(frame.leave().ok());
  }
  // No gtest macro nor FrameScope meanwhile: those allocate too.
  const uint32_t site = SITE("op");
  gpuasync_frame frame;
  gpuasync_frame_enter(&frame, &program.function);
  void *x = gpuasync_alloc(&frame, 0, nullptr, 256, 0, site);
  gpuasync_host_register(&frame, host.data(), 256, site);
  allFail = true;
  gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, site);
  StoreParams params{static_cast<uint32_t *>(x), 1};
  gpuasync_launch_config block = makeLaunch(1, 64, params);
  gpuasync_launch(&frame, stream, program.launchSites[Store], &block);
  Status status(gpuasync_frame_leave(&frame));
  allFail = false;
  EXPECT_NE(stream, nullptr);
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_OUT_OF_MEMORY))
      << status.message();
  EXPECT_EQ(gpuasync_leaks_list(context.get(), nullptr, nullptr), 0u);
  EXPECT_EQ(readStats(context).buffers.live, 0u);
}

// E05: a program whose release fails is still known, so that it can be released
// again.
TEST_F(HostMemory, ReleaseThatFailsCanBeRepeated_E05) {
  TestProgram program;
  uint64_t failures = 0;
  for (uint64_t i = 1; i <= 100; ++i) {
    Context context;
    ASSERT_TRUE(Context::open("cpu", context).ok());
    {
      ContextScope scope(context);
      FrameScope frame(program);
      EXPECT_TRUE(frame.entered);
    }
    allocations = 0;
    failAt = i;
    gpuasync_status *status = gpuasync_program_release(&program.program);
    failAt = 0;
    bool failed = status != nullptr;
    gpuasync_status_free(status);
    EXPECT_EQ(program.slot != nullptr, failed) << "allocation " << i;
    failures += failed;
    EXPECT_EQ(gpuasync_program_release(&program.program), nullptr);
    EXPECT_EQ(program.slot, nullptr) << "allocation " << i;
    EXPECT_TRUE(context.close().ok());
    if (allocations < i)
      break;
  }
  EXPECT_GT(failures, 0u);
}

TEST_F(HostMemory, WarmCallAllocatesNothing_C05) {
  TestProgram program;
  Context context;
  // Which calls are warm depends on the schedule: how much is queued at a time.
  ASSERT_TRUE(Status(gpuasync_set_cpu_schedule("fair")).ok());
  ASSERT_TRUE(Context::open("cpu", context).ok());
  ASSERT_TRUE(
      Status(gpuasync_set_cpu_schedule(getenv("GPU_ASYNC_CPU_SCHEDULE"))).ok());
  ContextScope scope(context);
  uint64_t before = 0;
  for (int i = 0; i < 10; ++i) {
    if (i == 5)
      before = allocations;
    gpuasync_frame frame;
    const uint32_t site = SITE("op");
    gpuasync_frame_enter(&frame, &program.function);
    gpuasync_stream *streams[2] = {gpuasync_stream_create(&frame, 0, site),
                                   gpuasync_stream_create(&frame, 0, site)};
    void *x = gpuasync_alloc(&frame, 0, streams[0], 4096, 0, site);
    StoreParams params{static_cast<uint32_t *>(x), 1};
    gpuasync_launch_config block = makeLaunch(1, 64, params);
    gpuasync_launch(&frame, streams[0], program.launchSites[Store], &block);
    gpuasync_event *event = gpuasync_event_record(&frame, streams[0], site);
    gpuasync_stream_wait(&frame, streams[1], event, site);
    gpuasync_event_destroy(&frame, event, site);
    gpuasync_launch(&frame, streams[1], program.launchSites[Store], &block);
    gpuasync_dealloc(&frame, 0, streams[1], x, site);
    gpuasync_stream_synchronize(&frame, streams, 2, site);
    gpuasync_stream_destroy(&frame, streams[0], GPUASYNC_STREAM_IDLE, site);
    gpuasync_stream_destroy(&frame, streams[1], GPUASYNC_STREAM_IDLE, site);
    gpuasync_status_free(gpuasync_frame_leave(&frame));
  }
  EXPECT_EQ(allocations - before, 0u);
}

// E05: leaving a frame needs no memory, however much it gives back.
TEST_F(HostMemory, LeavingNeedsNone_E05) {
  TestProgram program;
  setenv("GPU_ASYNC_CPU_MEMORY", "600000000", 1); // an eighth may lie idle
  Context context;
  Status opened = Context::open("cpu", context);
  unsetenv("GPU_ASYNC_CPU_MEMORY");
  ASSERT_TRUE(opened.ok()) << opened.message();
  ContextScope scope(context);
  const uint32_t site = SITE("op");
  // More streams than pools keep, more memory than may lie idle.
  for (bool memory : {false, true}) {
    gpuasync_frame frame;
    gpuasync_frame_enter(&frame, &program.function);
    for (int i = 0; i < 100 && !memory; ++i)
      gpuasync_stream_create(&frame, 0, site);
    void *x = gpuasync_alloc(&frame, 0, nullptr, 300 << 20, 0, site);
    EXPECT_NE(x, nullptr);
    allFail = true;
    if (memory)
      gpuasync_dealloc(&frame, 0, nullptr, x, site);
    gpuasync_status *status = gpuasync_frame_leave(&frame);
    allFail = false;
    EXPECT_EQ(status, nullptr) << gpuasync_status_get_message(status);
    gpuasync_status_free(status);
    if (memory)
      continue;
    FrameScope next(program);
    next.dealloc(nullptr, x);
  }
  for (int i = 0; i < 2; ++i) {
    FrameScope next(program); // gives back what is too much
    EXPECT_TRUE(next.entered);
  }
  EXPECT_EQ(readStats(context).streams.physical, 16u + 64u);
  EXPECT_LT(readStats(context).deviceBytes, 1u << 20);
}

} // namespace
