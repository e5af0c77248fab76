//===- LatencyTest.cpp - What the runtime adds to a launch ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// L01 and the time of L09: the entry beside the driver's own function, in
// turns, on the cpu device. bench/cache has the same over a driver that does
// nothing; counts/CountsTest.cpp has the numbers of calls.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "shim/abi/Frame.h"

#include <algorithm>
#include <chrono>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LATENCY_IS_INSTRUMENTED 1
#endif
#endif
#ifdef LATENCY_IS_INSTRUMENTED
constexpr double mostAddedNs = 20000;
#else
constexpr double mostAddedNs = 500;
#endif

TEST(Latency, WarmLaunchAddsLittle_L01_L09) {
  ASSERT_TRUE(Status(gpuasync_set_cpu_schedule("fair")).ok());
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  {
    TestProgram program;
    ContextScope scope(context);
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    alignas(16) StoreParams params = {x, 1};
    gpuasync_launch_config block = makeLaunch(1, 1, params);
    block.paramBytes = program.kernels[Store].paramBytes;
    const gpuasync_site *site = testSites.data() + program.launchSites[Store];
    gpuasync::Frame &inner = *gpuasync::Frame::of(frame);
    gpuasync::NativeFunction function =
        inner.first.instance->modules[0].functions.load()[Store];
    auto nsEach = [&](auto launch) {
      constexpr int calls = 500;
      auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i)
        launch();
      std::chrono::duration<double, std::nano> spent =
          std::chrono::steady_clock::now() - start;
      frame.wait({stream});
      return spent.count() / calls;
    };
    std::vector<double> added, alone;
    for (int round = 0; round < 41; ++round) {
      double direct = nsEach([&] {
        (void)inner.first.device->submit(
            stream->native,
            gpuasync::Command(function, program.kernels[Store], block, site));
      });
      double entry = nsEach([&] {
        gpuasync_launch(frame, stream, program.launchSites[Store], &block);
      });
      added.push_back(entry - direct);
      alone.push_back(direct);
    }
    std::sort(added.begin(), added.end());
    std::sort(alone.begin(), alone.end());
    printf("a launch takes the driver %.0f ns, the runtime adds %.0f ns\n",
           alone[20], added[20]);
    EXPECT_LE(added[20], mostAddedNs);
    EXPECT_FALSE(frame.failed());
    frame.dealloc(stream, x);
    frame.destroy(stream);
  }
  EXPECT_TRUE(context.close().ok());
  const char *schedule = getenv("GPU_ASYNC_CPU_SCHEDULE");
  (void)Status(gpuasync_set_cpu_schedule(schedule ? schedule : "fair"));
}

// What a thread's first call in a context costs does not depend on how many
// others it has called in, nor does a warm call, which here registers memory,
// so that it looks whether its context is quiescent.
TEST(Latency, CallsWithManyContexts_L09) {
  using Clock = std::chrono::steady_clock;
  constexpr int few = 100, many = 1500;
  ASSERT_TRUE(Status(gpuasync_set_cpu_schedule("fair")).ok());
  TestProgram program;
  std::vector<uint32_t> memory(64);
  auto call = [&](const Context &context) {
    ContextScope scope(context);
    const auto start = Clock::now();
    FrameScope frame(program);
    gpuasync_host_register(frame, memory.data(), 256, SITE("register"));
    gpuasync_host_unregister(frame, memory.data(), SITE("unregister"));
    EXPECT_TRUE(frame.leave().ok());
    return std::chrono::duration<double, std::nano>(Clock::now() - start)
        .count();
  };
  std::vector<Context> contexts(many);
  std::vector<double> first, warm;
  for (Context &context : contexts) {
    ASSERT_TRUE(Context::open("cpu", context).ok());
    first.push_back(call(context));
    double least = call(context);
    for (int i = 0; i < 5; ++i)
      least = std::min(least, call(context));
    warm.push_back(least);
  }
  // Whatever else the machine does, some call goes undisturbed.
  auto leastOf = [](const std::vector<double> &times, int begin) {
    return *std::min_element(times.begin() + begin,
                             times.begin() + begin + few);
  };
  printf("with %d contexts a first call takes %.0f ns, with %d %.0f ns; a warm "
         "one %.0f ns and %.0f ns\n",
         few, leastOf(first, 0), many, leastOf(first, many - few),
         leastOf(warm, 0), leastOf(warm, many - few));
  EXPECT_LT(leastOf(first, many - few), 10 * leastOf(first, 0) + 20000);
  EXPECT_LT(leastOf(warm, many - few), 4 * leastOf(warm, 0) + 2000);
  for (Context &context : contexts)
    EXPECT_TRUE(context.close().ok());
  EXPECT_EQ(gpuasync_program_release(&program.program), nullptr);
  const char *schedule = getenv("GPU_ASYNC_CPU_SCHEDULE");
  (void)Status(gpuasync_set_cpu_schedule(schedule ? schedule : "fair"));
}

} // namespace
