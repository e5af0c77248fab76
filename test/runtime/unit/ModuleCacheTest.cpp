//===- ModuleCacheTest.cpp - What is loaded, when, and how long -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of docs/reference/Runtime.md, "Modules", over the cpu device with
// its loading watched. Names carry the line of docs/reference/Contract.md.
//===----------------------------------------------------------------------===//

#include "WatchedDriver.h"
#include "services/modulepolicy/ModulePolicy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <time.h>

using namespace gpuasync_test;

namespace {

/// Opened by the test; whoever passes says that it is there.
class Gate {
public:
  void pass() {
    ++waiting;
    while (!open.load())
      std::this_thread::yield();
  }
  void awaitSomeone(int count = 1) {
    while (waiting.load() < count)
      std::this_thread::yield();
  }
  void release() { open = true; }

private:
  std::atomic<int> waiting{0};
  std::atomic<bool> open{false};
};

void inThreads(int count, const std::function<void(int)> &body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back(body, i);
  for (std::thread &thread : threads)
    thread.join();
}

class ModuleCacheTest : public testing::Test {
protected:
  void SetUp() override {
    context = driver.open();
    ASSERT_TRUE(context.get());
    scope = std::make_unique<ContextScope>(context);
  }
  void TearDown() override {
    scope.reset();
    Status status = context.close();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(driver.watch.live(), 0u);
    EXPECT_EQ(statsOf(context).modules.physical, 0u);
  }
  Watch &watch() { return driver.watch; }

  // Drivers are never destroyed before their contexts.
  WatchedDriver &driver = *new WatchedDriver;
  std::unique_ptr<WatchedDriver> owner{&driver};
  Context context;
  std::unique_ptr<ContextScope> scope;
};

//===----------------------------------------------------------------------===//
// C01: one test for each part of the key; C02
//===----------------------------------------------------------------------===//

class KeyTest : public ModuleCacheTest {
protected:
  /// Loads that a second program causes after a first with module {1, 0}.
  uint64_t loadsOf(ManyModules &second) {
    EXPECT_TRUE(first.enterAll().ok());
    uint64_t before = watch().loads;
    EXPECT_TRUE(second.run(0, 5));
    return watch().loads - before;
  }
  ManyModules first{1};
};

TEST_F(KeyTest, EqualContentLoadsOnce_C02) {
  ManyModules second(1);
  EXPECT_EQ(loadsOf(second), 0u);
  EXPECT_EQ(statsOf(context).modules.physical, 1u);
  EXPECT_EQ(statsOf(context).modules.live, 2u);
}

TEST_F(KeyTest, Content_C01) {
  ManyModules second(1, /*seed=*/2);
  EXPECT_EQ(loadsOf(second), 1u);
}

TEST_F(KeyTest, SecondHalfOfTheContentHash_C01) {
  ManyModules second(1);
  second.images[0].hash[1] = 77;
  EXPECT_EQ(loadsOf(second), 1u);
}

TEST_F(KeyTest, Format_C01) {
  ManyModules second(1, 1, GPUASYNC_IMAGE_CUBIN, "sm_90");
  second.images[0].arch = "sm_90";
  EXPECT_EQ(loadsOf(second), 1u);
}

TEST_F(KeyTest, Arch_C01) {
  ManyModules second(1, 1, GPUASYNC_IMAGE_PTX, "sm_80");
  EXPECT_EQ(loadsOf(second), 1u);
}

TEST_F(KeyTest, KernelTable_C01) {
  static const uint32_t narrow[2] = {8, 2};
  ManyModules second(1);
  second.kernel.paramSizes = narrow;
  EXPECT_EQ(loadsOf(second), 1u);
}

TEST_F(KeyTest, Options_C01) {
  ManyModules same(1), other(1);
  gpuasync_module_hooks hooks{};
  hooks.options = "-O1";
  ASSERT_TRUE(Status(gpuasync_modules_hook(context.get(), &hooks)).ok());
  ASSERT_TRUE(first.enterAll().ok());
  EXPECT_EQ(loadsOf(same), 0u);
  hooks.options = "-O2";
  ASSERT_TRUE(Status(gpuasync_modules_hook(context.get(), &hooks)).ok());
  EXPECT_EQ(loadsOf(other), 1u);
}

TEST_F(KeyTest, DriverVersion_C01) {
  ManyModules second(1);
  ASSERT_TRUE(first.enterAll().ok());
  context.get()->info.driverVersion = 13000;
  EXPECT_EQ(loadsOf(second), 1u);
}

TEST_F(KeyTest, Backend_C01) {
  ManyModules second(1);
  ASSERT_TRUE(first.enterAll().ok());
  watch().vendor.name = "other";
  EXPECT_EQ(loadsOf(second), 1u);
}

TEST_F(KeyTest, ContextGeneration_C01) {
  ManyModules second(1);
  ASSERT_TRUE(first.enterAll().ok());
  context.get()->driver->generation = 2;
  EXPECT_EQ(loadsOf(second), 1u);
}

TEST_F(KeyTest, Context_C01) {
  ManyModules second(1);
  ASSERT_TRUE(first.enterAll().ok());
  Context other = driver.open();
  {
    ContextScope inner(other);
    EXPECT_TRUE(second.run(0, 1));
  }
  EXPECT_EQ(watch().loads, 2u);
  EXPECT_TRUE(other.close().ok());
}

// cpu code has no hash: never shared, and gone with its program.
TEST_F(KeyTest, CodeWithoutHashIsItsProgramsOwn_C01) {
  ManyModules a(1, 1, GPUASYNC_IMAGE_CPU, "");
  {
    ManyModules b(1, 1, GPUASYNC_IMAGE_CPU, "");
    EXPECT_TRUE(a.run(0, 1));
    EXPECT_TRUE(b.run(0, 2));
    EXPECT_EQ(watch().loads, 2u);
  }
  EXPECT_EQ(watch().unloads, 1u);
}

//===----------------------------------------------------------------------===//
// Loading: single flight, no delay of others, images in order
//===----------------------------------------------------------------------===//

// C03: 64 threads with 64 programs of one content load it once, and each of
// them waited for that load.
TEST_F(ModuleCacheTest, SingleFlight64Threads_C03) {
  constexpr int count = 64;
  std::vector<std::unique_ptr<ManyModules>> programs;
  for (int i = 0; i < count; ++i)
    programs.push_back(std::make_unique<ManyModules>(1));
  Gate gate;
  watch().onLoad = [&](const gpuasync_image &) {
    gate.pass();
    return Status();
  };
  std::atomic<int> there{0}, right{0}, early{0};
  std::atomic<bool> opened{false};
  std::thread opener([&] {
    gate.awaitSomeone();
    while (there < count)
      std::this_thread::yield();
    opened = true;
    gate.release();
  });
  inThreads(count, [&](int i) {
    ContextScope own(context);
    ++there;
    Status status = programs[size_t(i)]->enter(0);
    right += status.ok();
    early += !opened;
  });
  opener.join();
  EXPECT_EQ(right, count);
  EXPECT_EQ(early, 0);
  EXPECT_EQ(watch().loads, 1u);
  gpuasync_stats stats = statsOf(context);
  EXPECT_EQ(stats.moduleCacheMisses, 1u);
  EXPECT_EQ(stats.moduleCacheHits, uint64_t(count - 1));
}

// C04, C18: while a load is held, other keys are hit, loaded, listed, limited
// and released; nothing of the runtime is locked during the driver's call.
TEST_F(ModuleCacheTest, AHeldLoadDelaysNobody_C04_C18) {
  ManyModules slow(1, 2), warm(1, 3), cold(1, 4);
  ASSERT_TRUE(warm.enterAll().ok());
  Gate gate;
  watch().onLoad = [&](const gpuasync_image &image) {
    if (image.hash[0] == 2)
      gate.pass();
    return Status();
  };
  std::thread loader([&] {
    ContextScope own(context);
    EXPECT_TRUE(slow.run(0, 1));
  });
  gate.awaitSomeone();
  EXPECT_TRUE(warm.run(0, 2));
  EXPECT_TRUE(cold.run(0, 3));
  EXPECT_EQ(statsOf(context).moduleCacheEntries, 3u);
  EXPECT_TRUE(
      Status(gpuasync_modules_limit(context.get(), UINT64_MAX, 10, 0)).ok());
  EXPECT_EQ(gpuasync_modules_release(context.get()), 2u);
  EXPECT_TRUE(cold.run(0, 4));
  gate.release();
  loader.join();
  EXPECT_TRUE(warm.run(0, 2));
}

// C06: all waiters get the log; the next call tries again; nothing stays.
TEST_F(ModuleCacheTest, AFailedLoadReachesEveryWaiter_C06) {
  constexpr int count = 16;
  ManyModules program(1);
  Gate gate;
  std::atomic<int> attempts{0};
  watch().onLoad = [&](const gpuasync_image &) {
    ++attempts;
    gate.pass();
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "cuModuleLoadDataEx: ptxas fatal: line 7");
  };
  std::atomic<int> told{0}, there{0};
  std::thread opener([&] {
    gate.awaitSomeone();
    while (there < count)
      std::this_thread::yield();
    gate.release();
  });
  inThreads(count, [&](int) {
    ContextScope own(context);
    ++there;
    Status status = program.enter(0);
    told += strstr(status.message(), "ptxas fatal: line 7") != nullptr;
  });
  opener.join();
  EXPECT_EQ(told, count);
  EXPECT_EQ(statsOf(context).moduleCacheEntries, 0u);
  EXPECT_EQ(watch().live(), 0u);
  watch().onLoad = nullptr;
  EXPECT_TRUE(program.run(0, 9));
  EXPECT_EQ(watch().loads, 1u);
}

// C06, E05: a load that runs out of host memory does not leave waiters behind.
TEST_F(ModuleCacheTest, AThrowingLoadIsAnError_C06) {
  ManyModules program(1);
  watch().onLoad = [](const gpuasync_image &) -> Status {
    throw std::bad_alloc();
  };
  EXPECT_EQ(program.enter(0).code(), uint32_t(GPUASYNC_OUT_OF_MEMORY));
  EXPECT_EQ(program.enter(0).code(), uint32_t(GPUASYNC_OUT_OF_MEMORY));
  watch().onLoad = nullptr;
  EXPECT_TRUE(program.run(0, 1));
}

/// One module with several images, best last.
struct ModeTuner {
  explicit ModeTuner(std::vector<gpuasync_image> wanted)
      : program(1), images(std::move(wanted)) {
    uint64_t number = 0;
    for (gpuasync_image &image : images) {
      image.data = &ManyModules::image;
      image.size = 32;
      image.hash[0] = ++number;
    }
    program.modules[0].images = images.data();
    program.modules[0].imageCount = uint32_t(images.size());
  }
  ManyModules program;
  std::vector<gpuasync_image> images;
};
gpuasync_image imageFor(uint32_t format, const char *arch) {
  return {format, 0, arch, nullptr, 0, {0, 0}};
}

// The exact cubin, then a lower minor version's, then PTX; what the driver
// refuses makes way for the next.
TEST_F(ModuleCacheTest, ImagesInOrder) {
  ModeTuner choice({imageFor(GPUASYNC_IMAGE_PTX, "sm_70"),
                    imageFor(GPUASYNC_IMAGE_PTX, "sm_90"),
                    imageFor(GPUASYNC_IMAGE_CUBIN, "sm_80"),
                    imageFor(GPUASYNC_IMAGE_CUBIN, "sm_90"),
                    imageFor(GPUASYNC_IMAGE_CUBIN, "sm_90")});
  std::vector<uint64_t> tried;
  uint64_t good = 4;
  watch().onLoad = [&](const gpuasync_image &image) {
    tried.push_back(image.hash[0]);
    return image.hash[0] == good
               ? Status()
               : makeStatus(GPUASYNC_INVALID_ARGUMENT, "image %d is bad",
                            int(image.hash[0]));
  };
  EXPECT_TRUE(choice.program.run(0, 1));
  EXPECT_EQ(tried, std::vector<uint64_t>({4}));
  tried.clear();
  good = 1;
  gpuasync_modules_release(context.get());
  EXPECT_TRUE(choice.program.run(0, 1));
  EXPECT_EQ(tried, std::vector<uint64_t>({4, 5, 2, 1}));
  tried.clear();
  good = 0;
  gpuasync_modules_release(context.get());
  Status status = choice.program.enter(0);
  EXPECT_EQ(tried, std::vector<uint64_t>({4, 5, 2, 1}));
  EXPECT_STREQ(status.message(),
               "many.mlir:1:1: f: image 4 is bad; image 5 is bad; image 2 is "
               "bad; image 1 is bad; not tried: cubin sm_80: machine code of "
               "another major version");
}

TEST_F(ModuleCacheTest, NoImageFits) {
  ModeTuner choice({imageFor(GPUASYNC_IMAGE_PTX, "sm_100"),
                    imageFor(GPUASYNC_IMAGE_HSACO, "gfx942")});
  Status status = choice.program.enter(0);
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_NOT_FOUND));
  EXPECT_STREQ(status.message(),
               "many.mlir:1:1: f: module 'm' has no image for watched:0 "
               "(sm_90); it has PTX sm_100: for a newer chip; hsaco gfx942: "
               "not for CUDA");
}

// L04: what a function reaches loads at enter, nothing else, nothing later.
TEST_F(ModuleCacheTest, LoadsAtEnterWhatTheFunctionReaches_L04) {
  ManyModules program(3);
  EXPECT_EQ(watch().loads, 0u);
  gpuasync_frame frame;
  ASSERT_EQ(gpuasync_frame_enter(&frame, &program.functions[1]), 0);
  EXPECT_EQ(watch().loads, 1u);
  EXPECT_TRUE(Status(gpuasync_frame_leave(&frame)).ok());
  EXPECT_TRUE(program.run(1, 3));
  EXPECT_EQ(watch().loads, 1u);
}

// C14: the handles are beside the module; a warm frame asks the driver nothing.
TEST_F(ModuleCacheTest, WarmFramesMakeNoDriverCall_C14_C05) {
  ManyModules program(2);
  ASSERT_TRUE(program.enterAll().ok());
  Instance *instance = context.get()->instances.front();
  uint32_t references = instance->references;
  uint64_t calls = statsOf(context).driverCalls,
           epoch = context.get()->modules.epoch;
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(program.enterAll().ok());
  EXPECT_EQ(statsOf(context).driverCalls, calls);
  EXPECT_EQ(statsOf(context).moduleCacheHits, 200u);
  // Words that threads share are as they were.
  EXPECT_EQ(instance->references, references);
  EXPECT_EQ(context.get()->modules.epoch, epoch);
  // Those of a thread lie on lines of their own.
  EXPECT_EQ(alignof(Pin), 64u);
  EXPECT_EQ(alignof(ThreadContext), 64u);
  EXPECT_EQ(alignof(ThreadState), 64u);
  EXPECT_EQ(alignof(gpuasync_stream), 64u);
}

//===----------------------------------------------------------------------===//
// Unloading
//===----------------------------------------------------------------------===//

// C07: neither a frame in use nor work still running loses its module.
TEST_F(ModuleCacheTest, WhatIsInUseStays_C07) {
  ManyModules program(2), other(1, 2);
  ASSERT_TRUE(program.enterAll().ok());
  gpuasync_frame frame;
  ASSERT_EQ(gpuasync_frame_enter(&frame, &program.functions[0]), 0);
  EXPECT_EQ(gpuasync_modules_release(context.get()), 2u);
  std::thread([&] {
    ContextScope own(context);
    EXPECT_TRUE(other.run(0, 1));
    EXPECT_EQ(gpuasync_modules_release(nullptr), 1u);
    EXPECT_TRUE(other.run(0, 1));
  }).join();
  EXPECT_EQ(watch().unloads, 0u);
  // A frame that begins just after the context was seen idle is seen too.
  ContextModulePolicy::of(*context.get()).trim(nullptr);
  EXPECT_EQ(watch().unloads, 1u); // of `other`
  EXPECT_TRUE(program.run(0, 1));
  EXPECT_EQ(watch().loads, 3u);
  EXPECT_TRUE(Status(gpuasync_frame_leave(&frame)).ok());
  EXPECT_EQ(watch().unloads, 1u);
  // The next frame finds the context idle, and gives the others up first.
  EXPECT_TRUE(other.run(0, 1));
  EXPECT_EQ(watch().unloads, 3u);
  EXPECT_EQ(watch().loads, 4u);
  EXPECT_TRUE(program.run(0, 1));
  EXPECT_EQ(watch().loads, 5u);
}

void untilOpen(const gpuasync_cpu_block_ctx *, const void *params, void *) {
  auto *p = static_cast<const ManyModules::StoreParams *>(params);
  while (!__atomic_load_n(p->out, __ATOMIC_ACQUIRE))
    std::this_thread::yield();
}

// C07: work that outlives its frame, waited for by its stream's own end.
TEST_F(ModuleCacheTest, PendingWorkKeepsItsModule_C07) {
  static const gpuasync_cpu_kernel table =
      cpuKernel("store", untilOpen, GPUASYNC_KERNEL_MAY_BLOCK);
  ManyModules program(1), other(1, 2);
  program.images[0].data = &table;
  uint32_t open = 0;
  gpuasync_event *token = nullptr;
  {
    gpuasync_frame frame;
    const uint32_t site = 0;
    ASSERT_EQ(gpuasync_frame_enter(&frame, &program.functions[0]), 0);
    gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, site);
    alignas(16) ManyModules::StoreParams params = {&open, 0};
    gpuasync_launch_config block = {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0,
                                    0,         16,        &params};
    gpuasync_launch(&frame, stream, site, &block);
    token = gpuasync_event_export(
        &frame, gpuasync_event_record(&frame, stream, site), site);
    EXPECT_TRUE(Status(gpuasync_frame_leave(&frame)).ok());
  }
  EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
  EXPECT_TRUE(other.enter(0).ok());
  EXPECT_EQ(watch().unloads, 0u);
  __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
  EXPECT_TRUE(Status(gpuasync_event_wait(token)).ok());
  gpuasync_event_release(token);
  // The event is reached when the kernel is done; its stream is seen so then.
  EXPECT_TRUE(other.enter(0).ok());
  EXPECT_EQ(watch().unloads, 1u);
}

// C07: a graph may run what was captured into it whenever it likes.
TEST_F(ModuleCacheTest, WhatIsCapturedStays_C07) {
  gpuasync_stream *callers = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_context_stream_create(context.get(), &callers)).ok());
  {
    ManyModules program(2);
    ASSERT_TRUE(program.enterAll().ok());
    watch().capturing = true;
    gpuasync_frame frame;
    const uint32_t site = 0;
    ASSERT_EQ(gpuasync_frame_enter(&frame, &program.functions[0]), 0);
    EXPECT_TRUE(gpuasync_stream_external(&frame, 0, callers, site));
    Status status(gpuasync_frame_leave(&frame));
    EXPECT_TRUE(status.ok()) << status.message();
    watch().capturing = false;
    EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
    EXPECT_EQ(watch().unloads, 1u);
    ASSERT_TRUE(Status(gpuasync_modules_limit(context.get(), 0, 0, 0)).ok());
    EXPECT_TRUE(program.run(0, 1));
    EXPECT_EQ(watch().loads, 2u);
  }
  EXPECT_EQ(watch().live(), 0u);
  gpuasync_context_stream_destroy(callers);
}

// C07: a hold that is given back twice is noticed, in every build.
TEST_F(ModuleCacheTest, UnderflowIsCaught_C07) {
  ManyModules program(1);
  gpuasync_frame frame;
  ASSERT_EQ(gpuasync_frame_enter(&frame, &program.functions[0]), 0);
  EXPECT_TRUE(Status(gpuasync_frame_leave(&frame)).ok());
  EXPECT_STREQ(Status(gpuasync_frame_leave(&frame)).message(),
               "the frame of 'f' was left before");
  Pin *pin = currentThread->findPin(static_cast<Registration *>(program.slot),
                                    context.get());
  ASSERT_TRUE(pin);
  EXPECT_EQ(pin->count, 0u);
  ASSERT_EQ(gpuasync_frame_enter(&frame, &program.functions[0]), 0);
  pin->count = 0;
  EXPECT_STREQ(Status(gpuasync_frame_leave(&frame)).message(),
               "more frames were left than entered");
  EXPECT_EQ(pin->count, 0u);
  // Closing tells it too.
  EXPECT_NE(strstr(context.close().message(), "1 modules"), nullptr);
}

// C08: the second release frees nothing.
TEST_F(ModuleCacheTest, ReleaseIsIdempotent_C08) {
  ManyModules program(5);
  ASSERT_TRUE(program.enterAll().ok());
  EXPECT_EQ(gpuasync_modules_release(context.get()), 5u);
  EXPECT_EQ(watch().unloads, 5u);
  EXPECT_EQ(gpuasync_modules_release(context.get()), 0u);
  EXPECT_EQ(gpuasync_modules_release(nullptr), 0u);
  EXPECT_EQ(watch().unloads, 5u);
  gpuasync_stats stats = statsOf(context);
  EXPECT_EQ(stats.moduleCacheEntries, 0u);
  EXPECT_EQ(stats.moduleCacheBytes, 0u);
  EXPECT_EQ(stats.modules.live, 0u);
  EXPECT_EQ(stats.modules.physical, 0u);
  EXPECT_TRUE(program.run(4, 1));
  EXPECT_EQ(watch().loads, 6u);
  // Released from inside a frame: at the next enter.
  gpuasync_frame frame;
  ASSERT_EQ(gpuasync_frame_enter(&frame, &program.functions[0]), 0);
  EXPECT_EQ(gpuasync_modules_release(context.get()), 2u);
  EXPECT_EQ(gpuasync_modules_release(context.get()), 0u);
  EXPECT_EQ(watch().unloads, 5u);
  EXPECT_TRUE(Status(gpuasync_frame_leave(&frame)).ok());
  EXPECT_TRUE(program.enter(2).ok());
  EXPECT_EQ(watch().unloads, 7u);
}

// C12: a program that is released while another thread unloads modules. That
// thread has paused the context, and unloads the program's module as well.
TEST_F(ModuleCacheTest, ReleasedDuringAnUnload_C12) {
  ManyModules first(1);
  auto second = std::make_unique<ManyModules>(1, /*seed=*/2);
  ASSERT_TRUE(first.enterAll().ok());
  ASSERT_TRUE(second->enterAll().ok());
  EXPECT_EQ(watch().live(), 2u);
  watch().onUnload = [&] {
    auto once = std::move(watch().onUnload);
    watch().onUnload = nullptr;
    std::thread([&] { second.reset(); }).join();
  };
  Status status(gpuasync_program_release(&first.program));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(watch().live(), 0u);
  EXPECT_EQ(statsOf(context).modules.physical, 0u);
}

// C09: the live count is what was loaded less what was unloaded, whatever
// limits come and go, also while threads' tables of pins grow and shrink.
TEST_F(ModuleCacheTest, LiveCountAfterAnyResize_C09) {
  std::vector<std::unique_ptr<ManyModules>> programs;
  for (uint64_t i = 0; i < 200; ++i)
    programs.push_back(std::make_unique<ManyModules>(1, i + 1));
  auto consistent = [&](uint64_t most) {
    gpuasync_stats stats = statsOf(context);
    EXPECT_EQ(stats.moduleCacheEntries, watch().live());
    EXPECT_EQ(stats.modules.physical, watch().live());
    EXPECT_EQ(stats.moduleCacheBytes, 32 * watch().live());
    EXPECT_EQ(stats.modules.live, watch().live());
    EXPECT_LE(watch().live(), most);
  };
  for (uint64_t limit : {64, 65, 66, 200, 66, 65, 64, 200, 64, 66, 65}) {
    ASSERT_TRUE(
        Status(gpuasync_modules_limit(context.get(), UINT64_MAX, limit, 0))
            .ok());
    consistent(limit);
    for (auto &program : programs) {
      ASSERT_TRUE(program->run(0, uint32_t(limit)));
      ASSERT_LE(watch().live(), limit);
    }
    consistent(limit);
    EXPECT_EQ(watch().live(), limit);
  }
  EXPECT_EQ(statsOf(context).moduleCacheEvictions, watch().unloads.load());
  EXPECT_EQ(currentThread->pinCount, 200u);
  programs.resize(66);
  consistent(66);
  programs.clear();
  EXPECT_EQ(watch().live(), 0u);
  ManyModules last(1, 999);
  EXPECT_TRUE(last.run(0, 1));
  EXPECT_EQ(currentThread->pinCount, 1u);
}

/// Bytes that malloc has given out.
size_t heapBytes() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return 0; // mallinfo tells nothing
#else
  return mallinfo2().uordblks + mallinfo2().hblkhd;
#endif
#else
  return mallinfo2().uordblks + mallinfo2().hblkhd;
#endif
}

// C10: 2000 generations of contexts leave no more behind than 200.
TEST_F(ModuleCacheTest, ContextGenerations_C10) {
  ManyModules program(2), other(1, 2);
  auto generation = [&] {
    Context temporary = driver.open();
    ContextScope inner(temporary);
    ASSERT_TRUE(program.enterAll().ok());
    ASSERT_TRUE(other.run(0, 1));
  };
  for (int i = 0; i < 200; ++i)
    generation();
  size_t before = heapBytes();
  for (int i = 0; i < 2000; ++i)
    generation();
  EXPECT_LE(heapBytes(), before + 16384);
  EXPECT_EQ(watch().live(), 0u);
  // What a look-up walks through: the thread's tables.
  EXPECT_LE(currentThread->pinTable.size(), 16u);
  EXPECT_LE(currentThread->contextTable.size(), 16u);
  EXPECT_LE(currentThread->pinCount, 4u);
  int parts = 0;
  for (ThreadContext *part = currentThread->contexts; part;
       part = part->nextOfThread)
    ++parts;
  EXPECT_LE(parts, 3);
  std::lock_guard<std::mutex> lock(process().mutex);
  EXPECT_EQ(process().contexts.size(), 1u);
}

// C11: a context at the address of an old one starts with nothing loaded.
TEST_F(ModuleCacheTest, ReusedAddress_C11) {
  // A sanitizer keeps freed memory to itself for a while.
#if defined(__has_feature)
  constexpr bool quarantine = __has_feature(address_sanitizer);
#else
  constexpr bool quarantine = false;
#endif
  ManyModules program(1);
  std::set<gpuasync_context *> seen;
  int reused = 0;
  // When the heap gives an address again is its own affair.
  for (int i = 0; i < 50 || (!reused && !quarantine && i < 5000); ++i) {
    Context temporary = driver.open();
    reused += !seen.insert(temporary.get()).second;
    ContextScope inner(temporary);
    uint64_t before = watch().loads;
    ASSERT_TRUE(program.run(0, uint32_t(i)));
    EXPECT_EQ(watch().loads, before + 1);
    EXPECT_EQ(statsOf(temporary).moduleCacheMisses, 1u);
  }
  EXPECT_TRUE(reused > 0 || quarantine);
}

// C12: release of all while eight threads launch.
TEST_F(ModuleCacheTest, ReleaseAllAgainstEightThreads_C12) {
  std::vector<std::unique_ptr<ManyModules>> programs;
  for (uint64_t i = 0; i < 4; ++i)
    programs.push_back(std::make_unique<ManyModules>(2, i + 1));
  std::atomic<int> wrong{0}, running{8}, arrived{0}, phase{0};
  std::thread releaser([&] {
    while (running)
      gpuasync_modules_release(nullptr);
  });
  inThreads(8, [&](int number) {
    ContextScope own(context);
    for (int i = 0; i < 10; ++i) {
      for (uint32_t j = 0; j < 40; ++j)
        wrong += !programs[(uint32_t(number) + j) % 4]->run(j % 2, j);
      // All rest for a moment, so that what was released does go.
      ++arrived;
      if (number) {
        while (phase <= i)
          std::this_thread::yield();
        continue;
      }
      while (arrived < 8 * (i + 1))
        std::this_thread::yield();
      gpuasync_modules_release(nullptr);
      while (watch().live())
        std::this_thread::yield(); // the other releaser is at it
      ++phase;
    }
    --running;
  });
  releaser.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(watch().unloads, 80u);
  gpuasync_modules_release(nullptr);
  EXPECT_EQ(watch().live(), 0u);
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

/// Which of the program's modules are loaded: "0110".
std::string loadedOnes(const Context &context, ManyModules &program) {
  std::string text;
  for (Instance *instance : context.get()->instances)
    if (instance->program == &program.program)
      for (uint32_t i = 0; i < program.program.moduleCount; ++i)
        text += instance->modules[i].functions.load() ? '1' : '0';
  return text;
}

// C13: the least recently used ones go, by number of entries.
TEST_F(ModuleCacheTest, LeastRecentlyUsedByEntries_C13) {
  ManyModules program(5);
  ASSERT_TRUE(
      Status(gpuasync_modules_limit(context.get(), UINT64_MAX, 3, 0)).ok());
  for (uint32_t i : {0, 1, 2})
    ASSERT_TRUE(program.enter(i).ok());
  EXPECT_EQ(loadedOnes(context, program), "11100");
  ASSERT_TRUE(program.enter(0).ok());
  ASSERT_TRUE(program.enter(3).ok());
  EXPECT_EQ(loadedOnes(context, program), "10110");
  ASSERT_TRUE(program.enter(0).ok());
  ASSERT_TRUE(program.enter(4).ok());
  EXPECT_EQ(loadedOnes(context, program), "10011");
  gpuasync_stats stats = statsOf(context);
  EXPECT_EQ(stats.moduleCacheEvictions, 2u);
  EXPECT_EQ(stats.moduleCacheMisses, 5u);
  EXPECT_EQ(stats.moduleCacheHits, 2u);
  EXPECT_EQ(stats.moduleCacheEntries, 3u);
  // A use on another thread counts.
  std::thread([&] {
    ContextScope own(context);
    ASSERT_TRUE(program.enter(0).ok());
    ASSERT_TRUE(program.enter(3).ok());
  }).join();
  ASSERT_TRUE(program.enter(1).ok());
  EXPECT_EQ(loadedOnes(context, program), "01011");
}

// C13: and by bytes; a function's own modules are never taken for it.
TEST_F(ModuleCacheTest, LeastRecentlyUsedByBytes_C13) {
  ManyModules small(3, 1, GPUASYNC_IMAGE_PTX, "sm_70", 1000);
  ManyModules large(1, 2, GPUASYNC_IMAGE_PTX, "sm_70", 2500);
  ASSERT_TRUE(
      Status(gpuasync_modules_limit(context.get(), 3500, UINT64_MAX, 0)).ok());
  for (uint32_t i : {0, 1, 2})
    ASSERT_TRUE(small.enter(i).ok());
  EXPECT_EQ(statsOf(context).moduleCacheBytes, 3000u);
  ASSERT_TRUE(large.enter(0).ok());
  EXPECT_EQ(loadedOnes(context, small), "001");
  EXPECT_EQ(statsOf(context).moduleCacheBytes, 3500u);
  ASSERT_TRUE(
      Status(gpuasync_modules_limit(context.get(), 1500, UINT64_MAX, 0)).ok());
  EXPECT_EQ(statsOf(context).moduleCacheEntries, 0u);
  // More than fits is loaded all the same, since a frame needs it.
  EXPECT_TRUE(small.enterAll().ok());
  EXPECT_EQ(loadedOnes(context, small), "111");
  EXPECT_TRUE(small.run(2, 7));
  ASSERT_TRUE(large.enter(0).ok());
  EXPECT_EQ(loadedOnes(context, small), "000");
}

// C13: limits from the environment; C13: times are counted.
TEST_F(ModuleCacheTest, LimitsFromTheEnvironment_C13) {
  setenv("GPU_ASYNC_MODULE_ENTRIES", "2", 1);
  setenv("GPU_ASYNC_MODULE_BYTES", "100", 1);
  setenv("GPU_ASYNC_MODULE_KEEP", "1", 1);
  Context other = driver.open();
  unsetenv("GPU_ASYNC_MODULE_ENTRIES");
  unsetenv("GPU_ASYNC_MODULE_BYTES");
  unsetenv("GPU_ASYNC_MODULE_KEEP");
  ContextScope inner(other);
  watch().onLoad = [](const gpuasync_image &) {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < end)
      ;
    return Status();
  };
  {
    ManyModules program(3);
    for (uint32_t i : {0, 1, 2})
      ASSERT_TRUE(program.enter(i).ok());
    EXPECT_EQ(statsOf(other).moduleCacheEntries, 2u);
  }
  EXPECT_EQ(statsOf(other).moduleCacheEntries, 2u); // kept
  EXPECT_EQ(statsOf(other).modules.live, 0u);
  EXPECT_GE(statsOf(other).moduleLoadNs, 3000000u);
  EXPECT_EQ(statsOf(other).moduleCompileNs, 0u);
  EXPECT_TRUE(other.close().ok());
}

// Kept modules serve a later program of equal content.
TEST_F(ModuleCacheTest, ReleasedProgramsCanBeKept_C13) {
  ASSERT_TRUE(Status(gpuasync_modules_limit(context.get(), UINT64_MAX, 2,
                                            GPUASYNC_MODULES_KEEP))
                  .ok());
  for (int i = 0; i < 10; ++i) {
    ManyModules again(2);
    ASSERT_TRUE(again.run(0, 1));
    ASSERT_TRUE(again.run(1, 2));
  }
  EXPECT_EQ(watch().loads, 2u);
  ManyModules other(1, 2);
  ASSERT_TRUE(other.run(0, 1));
  EXPECT_EQ(watch().unloads, 1u);
  ASSERT_TRUE(
      Status(gpuasync_modules_limit(context.get(), UINT64_MAX, 0, 0)).ok());
  EXPECT_EQ(watch().live(), 0u);
}

// A load without room for it in the device's memory takes what is idle.
TEST_F(ModuleCacheTest, OutOfMemoryEvicts_C13) {
  ManyModules old(3), fresh(1, 2);
  ASSERT_TRUE(old.enterAll().ok());
  watch().onLoad = [&](const gpuasync_image &) {
    return watch().live() > 1 ? makeStatus(GPUASYNC_OUT_OF_MEMORY, "no room")
                              : Status();
  };
  EXPECT_TRUE(fresh.run(0, 1));
  EXPECT_EQ(watch().live(), 1u);
  EXPECT_EQ(statsOf(context).moduleCacheEvictions, 3u);
  // Not what a frame uses.
  gpuasync_frame frame;
  ASSERT_EQ(gpuasync_frame_enter(&frame, &fresh.functions[0]), 0);
  watch().onLoad = [](const gpuasync_image &) {
    return makeStatus(GPUASYNC_OUT_OF_MEMORY, "no room");
  };
  std::thread([&] {
    ContextScope own(context);
    EXPECT_EQ(old.enter(0).code(), uint32_t(GPUASYNC_OUT_OF_MEMORY));
  }).join();
  EXPECT_EQ(watch().live(), 1u);
  EXPECT_TRUE(Status(gpuasync_frame_leave(&frame)).ok());
}

//===----------------------------------------------------------------------===//
// Hooks
//===----------------------------------------------------------------------===//

class HookTest : public ModuleCacheTest {
protected:
  void set(const char *options = nullptr) {
    gpuasync_module_hooks hooks{};
    hooks.user = this;
    hooks.options = options;
    hooks.compile = [](void *user, const gpuasync_module_request *request,
                       gpuasync_image *image) {
      auto &self = *static_cast<HookTest *>(user);
      return self.compile ? self.compile(*request, *image).release() : nullptr;
    };
    hooks.discard = [](void *user, const gpuasync_image *) {
      ++static_cast<HookTest *>(user)->discards;
    };
    hooks.load = [](void *user, const gpuasync_module_request *request,
                    void **module) {
      auto &self = *static_cast<HookTest *>(user);
      return self.load ? self.load(*request, *module).release() : nullptr;
    };
    hooks.unload = [](void *user, void *) {
      ++static_cast<HookTest *>(user)->hookUnloads;
    };
    Status status(gpuasync_modules_hook(context.get(), &hooks));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::function<Status(const gpuasync_module_request &, gpuasync_image &)>
      compile;
  std::function<Status(const gpuasync_module_request &, void *&)> load;
  std::atomic<int> discards{0}, hookUnloads{0};
};

// C17: a hook compiles what the driver then loads, even where no image fits.
TEST_F(HookTest, CompileGivesTheImage_C17) {
  ManyModules program(2);
  program.images[1].arch = "sm_100"; // does not fit
  std::vector<std::string> asked;
  compile = [&](const gpuasync_module_request &request, gpuasync_image &image) {
    asked.push_back(request.image ? request.image->arch : "none");
    EXPECT_STREQ(request.device, "watched:0");
    EXPECT_STREQ(request.arch, "sm_90");
    EXPECT_EQ(request.program, &program.program);
    EXPECT_EQ(request.context, context.get());
    static const ManyModules::Image compiled = ManyModules::image;
    image = {GPUASYNC_IMAGE_CUBIN, 0, "sm_90", &compiled, 48, {0, 0}};
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < end)
      ;
    return Status();
  };
  std::vector<std::string> loaded;
  watch().onLoad = [&](const gpuasync_image &image) {
    EXPECT_EQ(discards, int(loaded.size()));
    loaded.push_back(image.arch);
    return Status();
  };
  set();
  EXPECT_TRUE(program.run(0, 1));
  EXPECT_TRUE(program.run(1, 2));
  EXPECT_EQ(asked, std::vector<std::string>({"sm_70", "none"}));
  EXPECT_EQ(loaded, std::vector<std::string>({"sm_90", "sm_90"}));
  EXPECT_EQ(discards, 2);
  EXPECT_GE(statsOf(context).moduleCompileNs, 2000000u);
  EXPECT_EQ(statsOf(context).moduleCacheBytes, 96u);
  // Without the hooks the driver alone decides.
  ASSERT_TRUE(Status(gpuasync_modules_hook(context.get(), nullptr)).ok());
  gpuasync_modules_release(context.get());
  EXPECT_TRUE(program.run(0, 1));
  EXPECT_EQ(program.enter(1).code(), uint32_t(GPUASYNC_NOT_FOUND));
}

// C17, C06: a hook's failure, in 16 threads at once, and what it left.
TEST_F(HookTest, FailuresReachEveryWaiter_C17_C06) {
  constexpr int count = 16;
  ManyModules program(1);
  Gate gate;
  compile = [&](const gpuasync_module_request &, gpuasync_image &) {
    gate.pass();
    return Status(gpuasync_status_make(GPUASYNC_UNSUPPORTED,
                                       "error: line 3\nno such intrinsic"));
  };
  set();
  std::atomic<int> told{0}, there{0};
  std::thread opener([&] {
    gate.awaitSomeone();
    while (there < count)
      std::this_thread::yield();
    gate.release();
  });
  inThreads(count, [&](int) {
    ContextScope own(context);
    ++there;
    Status status = program.enter(0);
    told += status.code() == GPUASYNC_UNSUPPORTED &&
            strstr(status.message(), "the compile hook failed for module 'm': "
                                     "error: line 3 no such intrinsic");
  });
  opener.join();
  EXPECT_EQ(told, count);
  EXPECT_EQ(discards, 0);
  EXPECT_EQ(statsOf(context).moduleCacheEntries, 0u);

  // It compiled, but the driver refuses that.
  compile = [](const gpuasync_module_request &, gpuasync_image &image) {
    static const ManyModules::Image compiled = ManyModules::image;
    image = {GPUASYNC_IMAGE_CUBIN, 0, "sm_90", &compiled, 32, {0, 0}};
    return Status();
  };
  watch().onLoad = [](const gpuasync_image &) {
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "bad bytes");
  };
  EXPECT_NE(strstr(program.enter(0).message(), "bad bytes"), nullptr);
  EXPECT_EQ(discards, 1);
  // Or it does not fit.
  compile = [](const gpuasync_module_request &, gpuasync_image &image) {
    static const ManyModules::Image compiled = ManyModules::image;
    image = {GPUASYNC_IMAGE_CUBIN, 0, "sm_80", &compiled, 32, {0, 0}};
    return Status();
  };
  Status status = program.enter(0);
  EXPECT_STREQ(status.message(),
               "many.mlir:1:1: f: the cubin sm_80 for module 'm' does not fit "
               "watched:0: machine code of another major version");
  EXPECT_EQ(discards, 2);
  compile = nullptr;
  watch().onLoad = nullptr;
  EXPECT_TRUE(program.run(0, 1));
  EXPECT_EQ(watch().loads, 1u);
}

// C17: a hook loads; what it loaded is unloaded by it, also if it lacks a
// kernel.
TEST_F(HookTest, LoadGivesTheModule_C17_C06) {
  ManyModules program(1);
  static const gpuasync_cpu_kernel right =
      cpuKernel("store", ManyModules::store);
  static const gpuasync_cpu_kernel wrong =
      cpuKernel("other", ManyModules::store);
  const gpuasync_cpu_kernel *given = &wrong;
  load = [&](const gpuasync_module_request &request, void *&module) {
    EXPECT_STREQ(request.image->arch, "sm_70");
    module = const_cast<gpuasync_cpu_kernel *>(given);
    return Status();
  };
  set();
  EXPECT_NE(strstr(program.enter(0).message(), "lacks kernel 'store'"),
            nullptr);
  EXPECT_EQ(hookUnloads, 1);
  EXPECT_EQ(watch().live(), 0u);
  given = &right;
  EXPECT_TRUE(program.run(0, 1));
  EXPECT_EQ(watch().loads, 0u);
  EXPECT_EQ(watch().adoptions, 1u);
  gpuasync_modules_release(context.get());
  EXPECT_EQ(hookUnloads, 2);
  given = nullptr; // declined: the driver loads
  EXPECT_TRUE(program.run(0, 1));
  EXPECT_EQ(watch().loads, 1u);
  load = [&](const gpuasync_module_request &, void *&) {
    return Status(gpuasync_status_make(GPUASYNC_UNAVAILABLE, "server gone"));
  };
  gpuasync_modules_release(context.get());
  EXPECT_NE(strstr(program.enter(0).message(),
                   "the load hook failed for module 'm': server gone"),
            nullptr);
  EXPECT_EQ(hookUnloads, 2);
}

// C18: a hook may use the runtime, from its own and from other threads.
TEST_F(HookTest, NoLockIsHeldOverAHook_C18) {
  ManyModules program(1), helper(1, 2);
  compile = [&](const gpuasync_module_request &request, gpuasync_image &) {
    if (request.program != &program.program)
      return Status();
    EXPECT_TRUE(helper.run(0, 1));
    std::thread([&] {
      ContextScope own(context);
      EXPECT_TRUE(helper.run(0, 2));
      EXPECT_EQ(statsOf(context).moduleCacheEntries, 2u);
      gpuasync_modules_release(nullptr);
      ManyModules another(1, 3);
      EXPECT_TRUE(another.run(0, 3));
    }).join();
    return Status();
  };
  set();
  EXPECT_TRUE(program.run(0, 1));
  // A hook that needs what it is asked for would wait for itself.
  gpuasync_modules_release(nullptr);
  Status inner;
  compile = [&](const gpuasync_module_request &, gpuasync_image &) {
    inner = program.enter(0);
    return Status();
  };
  EXPECT_TRUE(program.run(0, 1));
  EXPECT_NE(strstr(inner.message(), "is needed to load it"), nullptr);
}

// A load that comes in second for its program, since the hooks were changed
// meanwhile, is not used and goes.
TEST_F(HookTest, HooksChangeDuringALoad_C07) {
  ManyModules program(1), other(1, 2);
  Gate gate;
  std::atomic<bool> held{false};
  watch().onLoad = [&](const gpuasync_image &image) {
    if (image.hash[0] == 1 && !held.exchange(true))
      gate.pass();
    return Status();
  };
  std::thread first([&] {
    ContextScope own(context);
    EXPECT_TRUE(program.run(0, 1));
  });
  gate.awaitSomeone();
  set("changed");
  EXPECT_TRUE(program.run(0, 2));
  gate.release();
  first.join();
  EXPECT_EQ(watch().loads, 2u);
  EXPECT_EQ(statsOf(context).modules.live, 1u);
  EXPECT_TRUE(other.run(0, 3));
  EXPECT_EQ(watch().unloads, 1u);
  EXPECT_TRUE(program.run(0, 4));
  EXPECT_EQ(watch().loads, 3u);
}

// C17: modules can be put into the cache ahead of their program's frames.
TEST_F(HookTest, Insert_C17) {
  static const ManyModules::Image tuned = ManyModules::image;
  ManyModules program(2);
  gpuasync_image image = {GPUASYNC_IMAGE_CUBIN, 0, "sm_90", &tuned, 64, {0, 0}};
  std::vector<const void *> loaded;
  watch().onLoad = [&](const gpuasync_image &loadedOne) {
    loaded.push_back(loadedOne.data);
    return Status();
  };
  auto insert = [&](uint32_t module) {
    return Status(gpuasync_modules_insert(context.get(), &program.program,
                                          module, &image));
  };
  Status status = insert(1);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(statsOf(context).moduleCacheEntries, 1u);
  EXPECT_TRUE(program.run(1, 5));
  EXPECT_EQ(loaded, std::vector<const void *>({&tuned}));
  EXPECT_EQ(statsOf(context).moduleCacheHits, 1u);
  EXPECT_NE(strstr(insert(1).message(), "is loaded already"), nullptr);
  EXPECT_EQ(insert(2).code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  image.arch = "sm_80";
  EXPECT_NE(strstr(insert(0).message(), "does not fit"), nullptr);
  image.arch = "sm_90";
  watch().onLoad = [](const gpuasync_image &) {
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "bad bytes");
  };
  EXPECT_NE(strstr(insert(0).message(), "bad bytes"), nullptr);
  watch().onLoad = nullptr;
  EXPECT_TRUE(program.run(0, 6));
}

// What was inserted for cpu code goes with its program, used or not.
TEST_F(HookTest, InsertedCodeGoesWithItsProgram_C17) {
  {
    ManyModules program(1, 1, GPUASYNC_IMAGE_CPU, "");
    Status status(gpuasync_modules_insert(context.get(), &program.program, 0,
                                          &program.images[0]));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(watch().live(), 1u);
  }
  EXPECT_EQ(watch().live(), 0u);
}

//===----------------------------------------------------------------------===//
// Warm-up
//===----------------------------------------------------------------------===//

// X07, L04: modules of several devices, and several of one device, load at the
// same time; the frames after that load nothing.
TEST_F(ModuleCacheTest, PrepareLoadsInParallel_X07_L04) {
  Context second = driver.open(1);
  ManyModules program(2);
  std::atomic<int> together{0};
  watch().onLoad = [&](const gpuasync_image &) {
    // Each of the four waits until all of them have come.
    ++together;
    while (together < 4)
      std::this_thread::yield();
    return Status();
  };
  const gpuasync_program *programs[] = {&program.program};
  gpuasync_context *contexts[] = {context.get(), second.get()};
  Status status(gpuasync_prepare(programs, 1, contexts, 2, 4));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(watch().loads, 4u);
  watch().onLoad = nullptr;
  EXPECT_TRUE(program.run(0, 1));
  {
    ContextScope inner(second);
    EXPECT_TRUE(program.run(1, 2));
  }
  EXPECT_EQ(watch().loads, 4u);
  EXPECT_TRUE(second.close().ok());
}

TEST_F(ModuleCacheTest, PrepareTriesEverythingAndTellsTheFirstError_L04) {
  ManyModules good(3), bad(3, 2);
  watch().onLoad = [](const gpuasync_image &image) {
    return image.hash[0] == 2 && image.hash[1] > 0
               ? makeStatus(GPUASYNC_INVALID_ARGUMENT, "module %d is bad",
                            int(image.hash[1]))
               : Status();
  };
  const gpuasync_program *programs[] = {&bad.program, &good.program};
  gpuasync_context *contexts[] = {context.get()};
  Status status(gpuasync_prepare(programs, 2, contexts, 1, 0));
  EXPECT_STREQ(status.message(), "many:0:0: load: module 1 is bad");
  EXPECT_EQ(watch().loads, 4u);
  EXPECT_EQ(Status(gpuasync_prepare(programs, 2, nullptr, 1, 0)).code(),
            uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_TRUE(Status(gpuasync_prepare(programs, 0, contexts, 1, 0)).ok());
}

// gpuasync_program_load is the same for one program on the calling thread.
TEST_F(ModuleCacheTest, ProgramLoad_L04) {
  ManyModules program(3);
  Status status(gpuasync_program_load(&program.program, context.get()));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(watch().loads, 3u);
  EXPECT_TRUE(program.run(2, 1));
  EXPECT_EQ(watch().loads, 3u);
}

//===----------------------------------------------------------------------===//
// L07: growth by ratio
//===----------------------------------------------------------------------===//

// Cold, warm and after a release, each per kernel, for 70 and for 1000: none
// grows with the number, warm is far below cold, a release makes cold again.
TEST_F(ModuleCacheTest, SeventyAndAThousandKernels_L07) {
  struct Times {
    double cold, warm, again;
  };
  auto measure = [&](uint32_t count, uint64_t seed) {
    // This thread's own time: what else runs on the machine does not count.
    auto now = [] {
      timespec time;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
    };
    auto perKernel = [&](ManyModules &program) {
      double start = now();
      for (uint32_t i = 0; i < count; ++i)
        EXPECT_TRUE(program.enter(i).ok());
      return (now() - start) / count;
    };
    Times best = {1e12, 1e12, 1e12};
    for (int round = 0; round < 5; ++round) {
      ManyModules program(count, seed + uint64_t(round));
      uint64_t before = watch().loads;
      best.cold = std::min(best.cold, perKernel(program));
      EXPECT_EQ(watch().loads, before + count);
      best.warm = std::min(best.warm, perKernel(program));
      EXPECT_EQ(watch().loads, before + count);
      EXPECT_EQ(gpuasync_modules_release(context.get()), count);
      best.again = std::min(best.again, perKernel(program));
      EXPECT_EQ(watch().loads, before + 2 * count);
    }
    printf("%u kernels, ns each: cold %.0f, warm %.0f, after release %.0f\n",
           count, best.cold, best.warm, best.again);
    return best;
  };
  Times few = measure(70, 100), many = measure(1000, 200);
  EXPECT_LT(many.cold, 4 * few.cold);
  EXPECT_LT(many.warm, 4 * few.warm);
  EXPECT_LT(many.again, 4 * few.again);
  EXPECT_LT(few.warm, few.cold / 2);
  EXPECT_LT(many.warm, many.cold / 2);
  EXPECT_LT(many.again, 3 * many.cold);
  EXPECT_GT(many.again, many.warm * 2);
}

} // namespace
