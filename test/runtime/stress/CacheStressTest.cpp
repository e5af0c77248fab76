//===- CacheStressTest.cpp - The module cache under eight threads ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// T07: random calls, releases, evictions, failures, programs and contexts that
// come and go. --seconds=60 --seed=7 (or GPU_ASYNC_STRESS_SECONDS and
// GPU_ASYNC_TEST_SEED);
// the seed is printed. Modules are freed memory once they are unloaded, so that
// sanitizers see a late use.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "unit/WatchedDriver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <stdlib.h>
#include <string.h>
#include <thread>

using namespace gpuasync_test;

namespace {

constexpr int threadCount = 8;
constexpr uint32_t programCount = 6, modulesEach = 4;

class Stress {
public:
  explicit Stress(uint32_t seed) : seed(seed) {
    driver.watch.onLoad = [this](const gpuasync_image &) {
      return ++loads % 50 == 0
                 ? makeStatus(GPUASYNC_INVALID_ARGUMENT, "injected")
                 : Status();
    };
    for (Context &context : contexts)
      context = driver.open();
    // Every other program has the content of the one before it.
    for (uint32_t i = 0; i < programCount; ++i)
      programs.push_back(std::make_unique<ManyModules>(modulesEach, 1 + i / 2));
  }

  void run(double seconds) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < threadCount; ++i)
      threads.emplace_back([this, i] { work(i); });
    auto end = std::chrono::steady_clock::now() +
               std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end && !stop) {
      uint64_t before = operations;
      while (operations < before + 2000 && !stop)
        std::this_thread::yield();
      rest();
    }
    stop = true;
    for (std::thread &thread : threads)
      thread.join();
    checkAtRest();
    printf("%llu operations, %llu loads, %llu unloads, %llu evictions, %llu "
           "injected failures, %d rests\n",
           (unsigned long long)operations.load(),
           (unsigned long long)loads.load(),
           (unsigned long long)driver.watch.unloads.load(),
           (unsigned long long)evictions, (unsigned long long)injected.load(),
           rests);
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(driver.watch.unloads, 0u);
    EXPECT_GT(injected, 0u);
    EXPECT_GT(evictions, 0u);
    programs.clear();
    for (Context &context : contexts) {
      Status status = context.close();
      EXPECT_TRUE(status.ok()) << status.message();
    }
    EXPECT_EQ(driver.watch.live(), 0u);
  }

private:
  /// Stops all threads between two operations.
  void rest() {
    pause = true;
    while (resting < threadCount)
      std::this_thread::yield();
    checkAtRest();
    ++rests;
    pause = false;
    while (resting)
      std::this_thread::yield();
  }
  void checkAtRest() {
    if (testing::Test::HasFailure())
      stop = true; // once is enough
    uint64_t entries = 0;
    for (Context &context : contexts) {
      gpuasync_stats stats = statsOf(context);
      entries += stats.moduleCacheEntries;
      EXPECT_EQ(stats.modules.physical, stats.moduleCacheEntries);
      EXPECT_EQ(stats.streams.live, 0u);
    }
    EXPECT_EQ(entries, driver.watch.live());
    gpuasync_modules_release(nullptr);
    for (Context &context : contexts) {
      gpuasync_stats stats = statsOf(context);
      EXPECT_EQ(stats.modules.live, 0u);
      EXPECT_EQ(stats.moduleCacheEntries, 0u);
      EXPECT_EQ(stats.moduleCacheBytes, 0u);
    }
    EXPECT_EQ(driver.watch.live(), 0u);
    // A few evictions that are certain.
    ContextScope scope(contexts[0]);
    (void)Status(gpuasync_modules_limit(contexts[0].get(), UINT64_MAX, 2, 0));
    for (uint32_t i = 0; i < modulesEach; ++i)
      check(programs[0]->enter(i));
    evictions = statsOf(contexts[0]).moduleCacheEvictions;
  }
  /// Success, a failure that was injected, or one for a release.
  bool check(const Status &status) {
    if (!status.ok() && !isExpected(status.message())) {
      ++wrong;
      ADD_FAILURE() << status.message();
    }
    return status.ok();
  }
  bool isExpected(const char *message) {
    if (strstr(message, "is being released"))
      return true;
    const bool isInjected = strstr(message, "injected") != nullptr;
    injected += isInjected;
    return isInjected;
  }

  void work(uint32_t number) {
    std::mt19937 random(seed * threadCount + number);
    auto pick = [&](uint32_t n) { return uint32_t(random() % n); };
    while (!stop) {
      if (pause) {
        ++resting;
        while (pause)
          std::this_thread::yield();
        --resting;
      }
      ++operations;
      Context &context = contexts[pick(2)];
      ContextScope scope(context);
      ManyModules &program = *programs[pick(programCount)];
      uint32_t module = pick(modulesEach);
      switch (pick(24)) {
      case 0:
        gpuasync_modules_release(context.get());
        break;
      case 1:
        gpuasync_modules_release(nullptr);
        break;
      case 2:
        check(Status(gpuasync_modules_limit(
            context.get(), pick(2) ? UINT64_MAX : 32 * pick(10),
            pick(2) ? UINT64_MAX : pick(10), pick(2))));
        break;
      case 3: {
        // Its own content, or that of a program that others use.
        ManyModules temporary(2, pick(2) ? 100 + number : 1);
        if (check(temporary.enter(1)))
          wrong += !ran(temporary, 1, random);
        break;
      }
      case 4: {
        Context temporary = driver.open(1);
        ContextScope inner(temporary);
        if (check(program.enter(module)))
          wrong += !ran(program, module, random);
        break;
      }
      case 5: {
        const gpuasync_program *list[] = {&program.program};
        gpuasync_context *both[] = {contexts[0].get(), contexts[1].get()};
        check(Status(gpuasync_prepare(list, 1, both, 2, 2)));
        break;
      }
      case 6: {
        gpuasync_module_hooks hooks{};
        hooks.options = pick(2) ? "a" : "b";
        check(Status(
            gpuasync_modules_hook(context.get(), pick(2) ? &hooks : nullptr)));
        break;
      }
      case 7: {
        // A frame within another one's, which keeps its modules.
        gpuasync_frame outer;
        gpuasync_frame_enter(&outer, &program.all);
        bool entered = !outer.failed;
        for (uint32_t i = 0; entered && i < modulesEach; ++i)
          wrong += !ran(program, i, random);
        check(Status(gpuasync_frame_leave(&outer)));
        break;
      }
      case 8:
        check(program.enterAll());
        break;
      case 9:
        check(Status(gpuasync_program_release(&program.program)));
        break;
      default:
        wrong += !ran(program, module, random);
      }
    }
  }
  bool ran(ManyModules &program, uint32_t module, std::mt19937 &random) {
    uint32_t value = random();
    std::string why;
    if (program.run(module, value, &why))
      return true;
    if (isExpected(why.c_str()))
      return true;
    ADD_FAILURE() << why;
    return false;
  }

  const uint32_t seed;
  WatchedDriver driver;
  Context contexts[2];
  std::vector<std::unique_ptr<ManyModules>> programs;
  std::atomic<uint64_t> operations{0}, loads{0}, injected{0}, wrong{0};
  std::atomic<bool> pause{false}, stop{false};
  std::atomic<int> resting{0};
  uint64_t evictions = 0;
  int rests = 0;
};

TEST(CacheStress, ReleaseEvictAndLaunchFromEightThreads_T07_C12) {
  const char *seconds = getenv("GPU_ASYNC_STRESS_SECONDS");
  const uint32_t seed = testSeed();
  printf("--seed=%u\n", seed);
  fflush(stdout);
  SCOPED_TRACE("--seed=" + std::to_string(seed));
  Stress(seed).run(seconds ? strtod(seconds, nullptr) : 3);
}

} // namespace
