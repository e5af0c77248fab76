//===- CountsTest.cpp - What a warm call costs ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations, locks, vendor calls and switches of the context, counted around
// single entries: operator new is replaced, and the linker sends the runtime's
// calls of malloc and pthread_mutex_lock here.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <new>
#include <pthread.h>
#include <stdlib.h>

namespace {
thread_local uint64_t allocations, locks;
const int *(*depthInMock)();

void countAllocation() {
  // What the fake library does is not the runtime's doing.
  if (depthInMock && !*depthInMock())
    ++allocations;
}
void *allocate(size_t size, size_t align) {
  countAllocation();
  void *memory = nullptr;
  return posix_memalign(&memory, align < 16 ? 16 : align, size ? size : 1) == 0
             ? memory
             : nullptr;
}
} // namespace

void *operator new(size_t size) {
  if (void *memory = allocate(size, 16))
    return memory;
  throw std::bad_alloc();
}
void *operator new[](size_t size) { return operator new(size); }
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  return allocate(size, 16);
}
void *operator new(size_t size, std::align_val_t align) {
  if (void *memory = allocate(size, static_cast<size_t>(align)))
    return memory;
  throw std::bad_alloc();
}
void *operator new[](size_t size, const std::nothrow_t &) noexcept {
  return allocate(size, 16);
}
void operator delete[](void *memory, const std::nothrow_t &) noexcept {
  free(memory);
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete[](void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }
void operator delete[](void *memory, size_t) noexcept { free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  free(memory);
}
void operator delete(void *memory, const std::nothrow_t &) noexcept {
  free(memory);
}

extern "C" {
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  countAllocation();
  return __real_malloc(size);
}
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  ++locks;
  return __real_pthread_mutex_lock(mutex);
}
int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
  ++locks;
  return __real_pthread_mutex_trylock(mutex);
}
}

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

struct Cost {
  uint64_t allocations = 0, locks = 0, calls = 0, switches = 0;
};

class Counts : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped())
      depthInMock = mock->mock_depth;
  }
  void TearDown() override {
    depthInMock = nullptr;
    DeviceTest::TearDown();
  }
  /// Runs `body` and adds what it costs.
  template <typename Body>
  void measure(Cost &cost, Body body) {
    uint64_t calls = mock->mock_calls(nullptr);
    uint64_t switches = mock->mock_calls("cuCtxSetCurrent");
    uint64_t memory = allocations, mutexes = locks;
    body();
    cost.allocations += allocations - memory;
    cost.locks += locks - mutexes;
    cost.calls += mock->mock_calls(nullptr) - calls;
    cost.switches += mock->mock_calls("cuCtxSetCurrent") - switches;
  }
  struct Costs {
    Cost enter, streams, launch, events, wait, leave;
  };
  /// Ten frames of a fork and join; the cost of the last two.
  Costs warm() {
    Costs costs;
    for (int i = 0; i < 10; ++i) {
      if (i == 8)
        costs = Costs();
      gpuasync_frame frame;
      gpuasync_stream *streams[2];
      gpuasync_event *event = nullptr;
      static const gpuasync_site site = {"a.mlir", "op", 1, 1, 0, 0, 0, 0};
      measure(costs.enter,
              [&] { gpuasync_frame_enter(&frame, &program->function); });
      measure(costs.streams, [&] {
        for (gpuasync_stream *&stream : streams)
          stream = gpuasync_stream_create(&frame, &site);
      });
      static uint32_t *x = nullptr;
      if (i == 0)
        x = static_cast<uint32_t *>(
            gpuasync_alloc(&frame, nullptr, 256, 0, &site));
      StoreParams params{x, uint32_t(i)};
      gpuasync_block block = makeLaunch(1, 64, params);
      measure(costs.launch, [&] {
        gpuasync_launch(&frame, streams[0], &program->launchSites[Store],
                        &block);
      });
      measure(costs.events, [&] {
        event = gpuasync_event_record(&frame, streams[0], &site);
        gpuasync_stream_wait(&frame, streams[1], event, &site);
        gpuasync_event_destroy(&frame, event, &site);
      });
      measure(costs.wait,
              [&] { gpuasync_stream_synchronize(&frame, streams, 2, &site); });
      if (i == 9)
        gpuasync_dealloc(&frame, nullptr, x, &site);
      measure(costs.streams, [&] {
        for (gpuasync_stream *stream : streams)
          gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE, &site);
      });
      measure(costs.leave,
              [&] { EXPECT_EQ(gpuasync_frame_leave(&frame), nullptr); });
    }
    return costs;
  }
};
INSTANTIATE_OVER_DEVICES(Counts);

// The counters count: a first call allocates, locks and loads.
TEST_P(Counts, ColdCall) {
  Cost cost;
  measure(cost, [&] {
    FrameScope frame(*program);
    frame.stream();
  });
  EXPECT_GT(cost.allocations, 10u);
  EXPECT_GT(cost.locks, 5u);
  EXPECT_GT(cost.calls, 20u);
  EXPECT_EQ(cost.switches, 2u);
}

// L02, C05: the launch itself; C14: it looks nothing up.
TEST_P(Counts, WarmLaunch_L02) {
  Cost launch = warm().launch;
  EXPECT_EQ(launch.allocations, 0u);
  EXPECT_EQ(launch.locks, 0u);
  EXPECT_EQ(launch.switches, 0u);
  EXPECT_EQ(launch.calls, 2u) << "one for each of two launches";
  EXPECT_EQ(mock->mock_calls("cuLaunchKernel"), 10u);
  mock->mock_reset();
  warm();
  EXPECT_EQ(mock->mock_calls("cuModuleGetFunction"), 0u);
  EXPECT_EQ(mock->mock_calls("cuModuleLoadDataEx"), 0u);
}

// C05: entering and leaving take no lock and allocate nothing; the current
// context is asked for and, since the caller has none, set and set back.
TEST_P(Counts, WarmEnterAndLeave_C05) {
  Costs costs = warm();
  for (const Cost *cost : {&costs.enter, &costs.leave}) {
    EXPECT_EQ(cost->allocations, 0u);
    EXPECT_EQ(cost->locks, 0u);
    EXPECT_EQ(cost->switches, 2u) << "one in each of two frames";
  }
  EXPECT_EQ(costs.enter.calls, 6u) << "current, its generation, set";
  EXPECT_EQ(costs.leave.calls, 2u);
}

// X02: no switch where the right context is current already.
TEST_P(Counts, NoSwitchWhenCurrent_X02) {
  FrameScope outer(*program);
  ASSERT_TRUE(outer.entered);
  Costs costs = warm();
  EXPECT_EQ(costs.enter.switches, 0u);
  EXPECT_EQ(costs.leave.switches, 0u);
  EXPECT_EQ(costs.leave.calls, 0u);
  EXPECT_EQ(mock->mock_calls("cuCtxSetCurrent"), 3u)
      << "the context's opening and the outer frame";
}

// S02: streams and events come from the thread's own lists.
TEST_P(Counts, WarmStreamsAndEvents_S02) {
  Costs costs = warm();
  EXPECT_EQ(costs.streams.calls, 0u);
  EXPECT_EQ(costs.streams.allocations, 0u);
  EXPECT_EQ(costs.streams.locks, 0u);
  EXPECT_EQ(costs.events.calls, 4u) << "record and wait, in two frames";
  EXPECT_EQ(costs.events.allocations, 0u);
  EXPECT_EQ(costs.events.locks, 0u);
  EXPECT_EQ(costs.wait.allocations, 0u);
  EXPECT_EQ(costs.wait.switches, 0u);
}

} // namespace
