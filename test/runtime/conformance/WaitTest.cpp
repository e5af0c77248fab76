//===- WaitTest.cpp - How a host wait waits -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// L08: it polls for a time that is a setting, then sleeps; on one processor it
// sleeps at once. Measured in the processor time of the thread that waits.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "shim/process/Thread.h"

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Wait : public DeviceTest {
protected:
  static double processorMs() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
  }
  /// What a wait of `length` ms costs this thread in processor time.
  double costOfWait(double length, bool event) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    gpuasync_event *point = frame.record(stream);
    std::thread opener([&] {
      std::this_thread::sleep_for(
          std::chrono::duration<double, std::milli>(length));
      openGate(flag);
    });
    double before = processorMs();
    EXPECT_EQ(event ? frame.waitHost(point) : frame.wait({stream}), 0);
    double cost = processorMs() - before;
    opener.join();
    frame.wait({stream});
    frame.dealloc(nullptr, flag);
    return cost;
  }
};
INSTANTIATE_OVER_DEVICES(Wait);

TEST_P(Wait, SpinIsASetting_L08) {
  const int64_t before = gpuasync::process().spinNs;
  for (bool event : {false, true}) {
    constexpr double length = 60;
    // Other processes may have the processor meanwhile, so it may take a few
    // looks.
    bool isSetting = false;
    for (int look = 0; look < 20 && !isSetting; ++look) {
      gpuasync_set_spin(0);
      double asleep = costOfWait(length, event);
      gpuasync_set_spin(1e30); // for ever
      double polling = costOfWait(length, event);
      printf(
          "processor time of a wait of %g ms: %.2f ms asleep, %.2f polling\n",
          length, asleep, polling);
      isSetting =
          asleep < length / 4 && polling > 4 * asleep && polling > length / 6;
    }
    EXPECT_TRUE(isSetting);
  }
  gpuasync_set_spin(double(before) / 1e3);
}

// However long it polls, a wait ends with its time limit.
TEST_P(Wait, TimeLimitWhilePolling_B05) {
  const int64_t before = gpuasync::process().spinNs;
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    gpuasync_set_spin(10e6);
    gpuasync_set_timeout(0.05);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(frame.wait({stream}), 1);
    const std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - start;
    EXPECT_LT(spent.count(), 5);
    gpuasync_set_timeout(0);
    gpuasync_set_spin(double(before) / 1e3);
    openGate(flag);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_TIMEOUT));
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// On the processors that the process was given; the parent checks the setting.
TEST_P(Wait, DISABLED_OnGivenProcessors) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  const int count = CPU_COUNT(&set);
  EXPECT_EQ(gpuasync::process().spinNs, count == 1 ? 0 : 50000);
  std::vector<double> times;
  for (int i = 0; i < 300; ++i) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *open = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *open = 1;
    // On the cpu device one that may wait runs on a thread of the device's.
    frame.launch(stream, Gate, 1, 1, GateParams{open});
    auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(frame.wait({stream}), 0);
    std::chrono::duration<double, std::micro> spent =
        std::chrono::steady_clock::now() - start;
    times.push_back(spent.count());
    frame.dealloc(nullptr, open);
  }
  std::sort(times.begin(), times.end());
  printf("%s, %d processors: a wait for a small kernel takes %.1f us\n",
         GetParam(), count, times[times.size() / 2]);
  // Whoever waits leaves the one processor to whoever works: a wait does not
  // last for a share of the scheduler's, some ms. Beside other processes some
  // do, whoever waits.
  EXPECT_LT(times[times.size() / 10], 3000);
}

TEST_P(Wait, OneProcessorAndTwo_L08) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  for (int count = 1; count <= std::min(CPU_COUNT(&all), 2); ++count) {
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
      cpu_set_t few;
      CPU_ZERO(&few);
      for (int cpu = 0, taken = 0; cpu < CPU_SETSIZE && taken < count; ++cpu)
        if (CPU_ISSET(cpu, &all)) {
          CPU_SET(cpu, &few);
          ++taken;
        }
      if (sched_setaffinity(0, sizeof(few), &few) != 0)
        _exit(126);
      unsetenv("GPU_ASYNC_SPIN_US");
      setenv("GPU_ASYNC_CPU_SCHEDULE", "fair", 1);
      std::string name = GetParam();
      std::replace(name.begin(), name.end(), '-', '_');
      execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
            "--gtest_brief=1",
            ("--gtest_filter=Devices/Wait.DISABLED_OnGivenProcessors/" + name)
                .c_str(),
            nullptr);
      _exit(127);
    }
    int result = 0;
    waitpid(child, &result, 0);
    EXPECT_EQ(result, 0) << count << " processors";
  }
}

} // namespace
