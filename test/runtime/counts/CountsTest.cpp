//===- CountsTest.cpp - What a warm call costs ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations, locks, vendor calls and switches of the context, counted around
// single entries, over both drivers for GPUs.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include "HostCalls.h"

#include <atomic>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

thread_local uint64_t allocations, locks;
/// Streams of the fake look at it, from threads of their own.
std::atomic<const int *(*)()> depthInMock{nullptr};

int count(HostCall call, const char *) {
  const int *(*depth)() = depthInMock;
  // What the fake library allocates is not the runtime's doing.
  if (call == HostCall::Allocation && depth && !*depth())
    ++allocations;
  else if (call == HostCall::Lock)
    ++locks;
  return HostCalls::Happens;
}

/// `modes`, of stream capture, are no part of `calls`: a wait changes it if the
/// work is not done at first sight, and leaving changes it back.
struct Cost {
  uint64_t allocations = 0, locks = 0, calls = 0, switches = 0, modes = 0;
};

class Counts : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    depthInMock = mock->mock_depth;
    HostCalls::hook(count);
    // With HIP some device is always current: another than the context's.
    if (onHip)
      mock->mock_context_create(1);
  }
  void TearDown() override {
    if (onHip)
      mock->mock_context_pop();
    HostCalls::hook(nullptr);
    depthInMock = nullptr;
    DeviceTest::TearDown();
  }
  const bool onHip = device() == "hip";
  const char *const setCurrent = onHip ? "hipSetDevice" : "cuCtxSetCurrent";
  const char *const changeMode = onHip ? "hipThreadExchangeStreamCaptureMode"
                                       : "cuThreadExchangeStreamCaptureMode";
  const char *const launchKernel =
      onHip ? "hipModuleLaunchKernel" : "cuLaunchKernel";
  const char *const getFunction =
      onHip ? "hipModuleGetFunction" : "cuModuleGetFunction";
  const char *const load = onHip ? "hipModuleLoadData" : "cuModuleLoadDataEx";
  /// Runs `body` and adds what it costs.
  template <typename Body>
  void measure(Cost &cost, Body body) {
    uint64_t calls = mock->mock_calls(nullptr);
    uint64_t switches = mock->mock_calls(setCurrent);
    uint64_t modes = mock->mock_calls(changeMode);
    uint64_t memory = allocations, mutexes = locks;
    body();
    cost.allocations += allocations - memory;
    cost.locks += locks - mutexes;
    cost.modes += mock->mock_calls(changeMode) - modes;
    cost.calls += mock->mock_calls(nullptr) - calls -
                  (mock->mock_calls(changeMode) - modes);
    cost.switches += mock->mock_calls(setCurrent) - switches;
  }
  struct Costs {
    Cost enter, streams, launch, events, wait, leave;
  };
  /// Ten frames of a fork and join; the cost of the last two.
  Costs warm() {
    Costs costs;
    uint32_t *x = nullptr;
    for (int i = 0; i < 10; ++i) {
      if (i == 8)
        costs = Costs();
      gpuasync_frame frame;
      gpuasync_stream *streams[2];
      gpuasync_event *event = nullptr;
      const uint32_t site = SITE("op");
      measure(costs.enter,
              [&] { gpuasync_frame_enter(&frame, &program->function); });
      measure(costs.streams, [&] {
        for (gpuasync_stream *&stream : streams)
          stream = gpuasync_stream_create(&frame, 0, site);
      });
      if (i == 0)
        x = static_cast<uint32_t *>(
            gpuasync_alloc(&frame, 0, nullptr, 256, 0, site));
      StoreParams params{x, uint32_t(i)};
      gpuasync_launch_config block = makeLaunch(1, 64, params);
      measure(costs.launch, [&] {
        gpuasync_launch(&frame, streams[0], program->launchSites[Store],
                        &block);
      });
      measure(costs.events, [&] {
        event = gpuasync_event_record(&frame, streams[0], site);
        gpuasync_stream_wait(&frame, streams[1], event, site);
        gpuasync_event_destroy(&frame, event, site);
      });
      measure(costs.wait,
              [&] { gpuasync_stream_synchronize(&frame, streams, 2, site); });
      measure(costs.streams, [&] {
        for (gpuasync_stream *stream : streams)
          gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE, site);
      });
      measure(costs.leave,
              [&] { EXPECT_EQ(gpuasync_frame_leave(&frame), nullptr); });
    }
    FrameScope frame(*program);
    frame.dealloc(nullptr, x);
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
  EXPECT_EQ(mock->mock_calls(launchKernel), 10u);
  mock->mock_reset();
  warm();
  EXPECT_EQ(mock->mock_calls(getFunction), 0u);
  EXPECT_EQ(mock->mock_calls(load), 0u);
}

// C05: entering and leaving take no lock and allocate nothing; the current
// context is asked for and, since the caller has none or another, set and set
// back.
TEST_P(Counts, WarmEnterAndLeave_C05) {
  Costs costs = warm();
  for (const Cost *cost : {&costs.enter, &costs.leave}) {
    EXPECT_EQ(cost->allocations, 0u);
    EXPECT_EQ(cost->locks, 0u);
    EXPECT_EQ(cost->switches, 2u) << "one in each of two frames";
  }
  EXPECT_EQ(costs.enter.calls, onHip ? 4u : 6u)
      << "current, with CUDA its generation, set";
  EXPECT_EQ(costs.leave.calls, 2u);
  EXPECT_EQ(costs.enter.modes, 0u);
  EXPECT_EQ(costs.leave.modes, costs.wait.modes);
  EXPECT_LE(costs.leave.modes, 2u) << "one in each of two frames";
}

// A query asks the driver once, and not where the host knows the answer.
TEST_P(Counts, WarmQuery) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(nullptr, 64);
  Cost running, again;
  for (int i = 0; i < 2; ++i) {
    running = again = Cost();
    mock->mock_gate_close("store");
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    measure(running, [&] { EXPECT_EQ(frame.query(stream), 0); });
    mock->mock_gate_open("store");
    EXPECT_EQ(frame.wait({stream}), 0);
    measure(again, [&] { EXPECT_EQ(frame.query(stream), 1); });
  }
  EXPECT_EQ(running.calls, 1u);
  EXPECT_EQ(again.calls, 0u);
  for (const Cost *cost : {&running, &again}) {
    EXPECT_EQ(cost->allocations, 0u);
    EXPECT_EQ(cost->locks, 0u);
    EXPECT_EQ(cost->switches, 0u);
  }
  frame.dealloc(nullptr, x);
}

// C05: a frame that ends its registrations itself has nothing to look for.
TEST_P(Counts, LeaveAfterRegistrations_C05) {
  std::vector<char> host(4096);
  Cost leave;
  for (int i = 0; i < 2; ++i) {
    gpuasync_frame frame;
    gpuasync_frame_enter(&frame, &program->function);
    gpuasync_host_register(&frame, host.data(), host.size(), SITE("register"));
    gpuasync_host_unregister(&frame, host.data(), SITE("unregister"));
    leave = Cost();
    measure(leave, [&] { EXPECT_EQ(gpuasync_frame_leave(&frame), nullptr); });
  }
  EXPECT_EQ(leave.locks, 0u);
}

// C05: what waits for a context that never rests does not hold up its frames.
TEST_P(Counts, EnterWhileSomethingIsRetired_C05) {
  std::vector<char> host(4096);
  FrameScope outer(*program);
  gpuasync_host_register(outer, host.data(), host.size(), SITE("register"));
  gpuasync_host_unregister(outer, host.data(), SITE("unregister"));
  Costs costs = warm();
  EXPECT_EQ(costs.enter.locks, 0u);
  EXPECT_EQ(mock->mock_live("registration"), 1u);
}

// X02: no switch where the right context is current already.
TEST_P(Counts, NoSwitchWhenCurrent_X02) {
  FrameScope outer(*program);
  ASSERT_TRUE(outer.entered);
  Costs costs = warm();
  EXPECT_EQ(costs.enter.switches, 0u);
  EXPECT_EQ(costs.leave.switches, 0u);
  EXPECT_EQ(costs.leave.calls, 0u);
  EXPECT_EQ(mock->mock_calls(setCurrent), onHip ? 1u : 3u)
      << "the outer frame, with CUDA the context's opening and going back";
}

// A call whose whole work is one region, its pageable input and output
// included: one launch of a graph, one allocation.
TEST_P(Counts, WarmRegion) {
  Status set(gpuasync_set_play("graph"));
  ASSERT_TRUE(set.ok()) << set.message();
  Cost all, inside, wait;
  std::vector<uint32_t> in(64), out(64);
  const uint32_t region = SITE("region");
  static uint32_t libraryCalls;
  libraryCalls = 0;
  auto library = [](const gpuasync_call *, const void *) -> int32_t {
    ++libraryCalls;
    return 0;
  };
  OwnedFragment made;
  made.fragment.site = region;
  auto makeFragment = [&](uint32_t *x) {
    made.commands.clear();
    made.indices.clear();
    made.block.clear();
    uint32_t last = 0;
    made.copy(0, SITE("memcpy"), x, in.data(), 256, {});
    for (uint32_t i = 0; i < 10; ++i) {
      alignas(16) MulAddParams params = {x, 64, 1, i};
      gpuasync_launch_config launch = makeLaunch(1, 64, params);
      launch.paramBytes = program->kernels[MulAdd].paramBytes;
      made.launch(0, program->launchSites[MulAdd], launch, {last++});
    }
    const gpuasync_replayable call = {library, 0};
    made.put(GPUASYNC_COMMAND_CALL, 0, SITE("library.call"), &call,
             sizeof(call), &x, sizeof(x), {last++});
    made.copy(0, SITE("memcpy"), out.data(), x, 128, {last++});
    made.copy(0, SITE("memcpy"), out.data() + 32, x + 32, 128, {last});
    made.link();
  };
  const uint32_t *known = nullptr;
  for (uint32_t call = 0; call < 10; ++call) {
    std::fill(in.begin(), in.end(), call);
    // Else the buffer of the last call may not be free yet, and another one has
    // another address.
    mock->mock_streams_wait();
    if (call == 9)
      all = inside = wait = Cost();
    measure(all, [&] {
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, 64);
      if (x != known)
        makeFragment(x);
      known = x;
      measure(inside, [&] {
        gpuasync_region_run(frame, &made.fragment, &stream, made.block.data());
      });
      frame.dealloc(stream, x);
      measure(wait, [&] { EXPECT_EQ(frame.wait({stream}), 0); });
      frame.destroy(stream);
    });
    EXPECT_EQ(out, std::vector<uint32_t>(64, call + 45));
  }
  // HIP's question is an error for pageable memory, which is taken back.
  const uint64_t questions = onHip ? 6 : 3;
  EXPECT_EQ(inside.calls, (onHip ? 2 : 1) + questions)
      << "the graph, the flag behind the downloads, which CUDA's graph writes "
         "itself, and what memory it is";
  EXPECT_EQ(inside.allocations, 0u);
  // With two for the wait, which asks more often only if the work takes long.
  EXPECT_LE(all.calls - wait.calls, (onHip ? 8 : 7) + questions);
  EXPECT_EQ(readStats(context).graphLaunches, 9u);
  EXPECT_EQ(libraryCalls, 2u) << "on the stream, and for the graph";
  Status reset(gpuasync_set_play("streams"));
}

// S02: streams and events come from the thread's own lists.
TEST_P(Counts, WarmStreamsAndEvents_S02) {
  Costs costs = warm();
  EXPECT_EQ(costs.streams.calls + costs.streams.modes, 0u);
  EXPECT_EQ(costs.streams.allocations, 0u);
  EXPECT_EQ(costs.streams.locks, 0u);
  EXPECT_EQ(costs.events.calls, 4u) << "record and wait, in two frames";
  EXPECT_EQ(costs.events.allocations, 0u);
  EXPECT_EQ(costs.events.locks, 0u);
  EXPECT_EQ(costs.wait.allocations, 0u);
  EXPECT_EQ(costs.wait.switches, 0u);
}

// Copies and fills, plain and strided, on the device and both ways.
TEST_P(Counts, WarmCopies) {
  const int64_t sizes[] = {3, 5, 7}, gaps[] = {400, 40, 2},
                dense[] = {35, 7, 1};
  std::vector<uint32_t> host(2000, 1);
  const uint32_t site = SITE("op"), pattern = 5;
  Cost cost;
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *x =
      static_cast<uint32_t *>(gpuasync_alloc(frame, 0, nullptr, 8000, 0, site));
  auto *y =
      static_cast<uint32_t *>(gpuasync_alloc(frame, 0, nullptr, 8000, 0, site));
  for (int i = 0; i < 5; ++i) {
    cost = Cost();
    auto strided = [&](void *to, const int64_t *toStrides, const void *from,
                       const int64_t *fromStrides) {
      gpuasync_memcpy_strided(frame, stream, to, toStrides, from, fromStrides,
                              sizes, 3, 4, site);
    };
    measure(cost, [&] {
      gpuasync_memcpy(frame, stream, x, host.data(), 8000, site);
      gpuasync_memcpy(frame, stream, y, x, 8000, site);
      strided(y, gaps, x, dense);
      gpuasync_memset_strided(frame, stream, x, gaps, sizes, 3, &pattern, 4,
                              site);
      strided(x, dense, host.data(), gaps);
      strided(host.data(), gaps, y, dense);
      gpuasync_stream_synchronize(frame, &stream, 1, site);
      gpuasync_memset_strided(frame, stream, host.data(), gaps, sizes, 3,
                              &pattern, 4, site);
      gpuasync_memcpy(frame, stream, host.data(), y, 8000, site);
      gpuasync_stream_synchronize(frame, &stream, 1, site);
    });
  }
  EXPECT_EQ(cost.allocations, 0u);
  EXPECT_EQ(host[2], 1u);
  frame.dealloc(nullptr, x);
  frame.dealloc(nullptr, y);
}

} // namespace
