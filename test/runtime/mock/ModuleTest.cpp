//===- ModuleTest.cpp - What the module cache asks of the driver ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vendor calls counted, held and failed: loading once, beside each other, never
// in the middle, and what a failed load leaves.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "gpuasync/Program.h"

#include <atomic>
#include <stdlib.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

const char load[] = "cuModuleLoadDataEx", getFunction[] = "cuModuleGetFunction",
           unload[] = "cuModuleUnload";

class ModuleCalls : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (device() != "cuda")
      GTEST_SKIP() << "the names of the calls are CUDA's";
  }
  /// Other content than `program` has.
  static std::unique_ptr<TestProgram> another(uint64_t hash) {
    // With one image for a device, so that there is no other one to try.
    auto made = std::make_unique<TestProgram>(
        TestProgram::All - TestProgram::CudaWaiting, "another");
    for (gpuasync_image &image : made->images)
      if (image.format != GPUASYNC_IMAGE_CPU)
        image.hash[1] = hash;
    return made;
  }
  static bool work(TestProgram &program, uint32_t value) {
    std::vector<uint32_t> out(64);
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Store, 1, 64, StoreParams{x, value});
    frame.copy(stream, out.data(), x, 256);
    frame.dealloc(stream, x);
    frame.wait({stream});
    frame.destroy(stream);
    return !frame.failed() && out == std::vector<uint32_t>(64, value);
  }
  uint64_t calls(const char *name) { return mock->mock_calls(name); }
};
INSTANTIATE_TEST_SUITE_P(Mock, ModuleCalls, testing::ValuesIn(testedDevices()),
                         [](const testing::TestParamInfo<const char *> &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = c == '-' ? '_' : c;
                           return name;
                         });

// C03: 64 threads with equal content: one load, one look-up for each kernel;
// L05: one load for all kernels of an image.
TEST_P(ModuleCalls, OneLoadFor64Threads_C03) {
  constexpr int count = 64;
  std::vector<std::unique_ptr<TestProgram>> programs;
  for (int i = 0; i < count; ++i)
    programs.push_back(another(7));
  uint64_t loads = calls(load), lookups = calls(getFunction);
  std::atomic<int> there{0}, right{0};
  std::vector<std::thread> threads;
  mock->mock_gate_close(load);
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      ContextScope own(context);
      ++there;
      right += work(*programs[size_t(i)], uint32_t(i));
    });
  mock->mock_gate_wait(load, 1);
  while (there < count)
    std::this_thread::yield();
  mock->mock_gate_open(load);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, count);
  EXPECT_EQ(calls(load) - loads, 1u);
  EXPECT_EQ(calls(getFunction) - lookups, uint64_t(NumKernels));
}

// C04, C18: while the driver holds one load, other programs run, load, are
// released and counted.
TEST_P(ModuleCalls, AHeldLoadDelaysNobody_C04_C18) {
  std::unique_ptr<TestProgram> slow = another(1);
  EXPECT_TRUE(work(*program, 1));
  mock->mock_gate_close(load);
  std::thread loader([&] {
    ContextScope own(context);
    EXPECT_TRUE(work(*slow, 2));
  });
  mock->mock_gate_wait(load, 1);
  EXPECT_TRUE(work(*program, 3));
  EXPECT_EQ(readStats(context).moduleCacheEntries, 2u);
  EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
  std::unique_ptr<TestProgram> cpuOnly =
      std::make_unique<TestProgram>(TestProgram::Cpu, "cpu only");
  {
    FrameScope frame(*cpuOnly);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_NOT_FOUND));
  }
  mock->mock_gate_open(load);
  loader.join();
  EXPECT_TRUE(work(*program, 4));
}

// C14, L02: a warm frame looks nothing up and loads nothing.
TEST_P(ModuleCalls, WarmFramesLookNothingUp_C14_L02) {
  EXPECT_TRUE(work(*program, 1));
  EXPECT_TRUE(work(*program, 2));
  uint64_t loads = calls(load), lookups = calls(getFunction),
           launches = calls("cuLaunchKernel"),
           attributes = calls("cuFuncGetAttribute"),
           switches = calls("cuCtxSetCurrent");
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    auto *x = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
    uint64_t all = calls(nullptr);
    for (uint32_t i = 0; i < 10; ++i)
      frame.launch(stream, Store, 1, 64, StoreParams{x, i});
    EXPECT_EQ(calls(nullptr) - all, 10u);
    frame.wait({stream});
    frame.dealloc(nullptr, x);
    frame.destroy(stream);
  }
  EXPECT_EQ(calls("cuLaunchKernel") - launches, 10u);
  EXPECT_EQ(calls(load), loads);
  EXPECT_EQ(calls(getFunction), lookups);
  EXPECT_EQ(calls("cuFuncGetAttribute"), attributes);
  // In and out of our context, none for the launches.
  EXPECT_LE(calls("cuCtxSetCurrent") - switches, 2u);
}

// C06: whichever call of a load fails, the error names it, nothing stays
// loaded, and the next frame succeeds.
TEST_P(ModuleCalls, EveryCallOfALoadFails_C06) {
  constexpr int unknown = 999;
  uint64_t live = mock->mock_live("module");
  int failures = 0;
  for (uint64_t n = 1;; ++n) {
    std::unique_ptr<TestProgram> fresh = another(100 + n);
    mock->mock_fail(nullptr, n, unknown);
    gpuasync_frame frame;
    gpuasync_frame_enter(&frame, &fresh->function);
    const char *failed = mock->mock_failed();
    std::string name = failed ? failed : "";
    mock->mock_fail(nullptr, 0, 0);
    Status status(gpuasync_frame_leave(&frame));
    if (name.empty()) {
      EXPECT_TRUE(status.ok()) << status.message();
      break;
    }
    // What is only asked for for a better message may fail.
    if (!status.ok()) {
      ++failures;
      EXPECT_NE(std::string(status.message()).find(name), std::string::npos)
          << name << ": " << status.message();
      EXPECT_EQ(mock->mock_live("module"), live) << name;
      EXPECT_EQ(readStats(context).moduleCacheEntries, 0u) << name;
    }
    EXPECT_TRUE(work(*fresh, uint32_t(n))) << name;
  }
  EXPECT_GT(failures, 10);
}

// B02, C07: what is released while work is pending is unloaded neither in the
// middle of a frame nor while the work runs; the mock complains of both.
TEST_P(ModuleCalls, UnloadsOnlyWhenIdle_B02_C07) {
  std::unique_ptr<TestProgram> other = another(1);
  EXPECT_TRUE(work(*other, 1));
  uint64_t unloads = calls(unload);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  EXPECT_EQ(gpuasync_modules_release(context.get()), 2u);
  std::thread([&] {
    ContextScope own(context);
    EXPECT_TRUE(work(*other, 2));
  }).join();
  EXPECT_EQ(calls(unload), unloads);
  openGate(flag);
  frame.wait({stream});
  frame.destroy(stream);
  frame.dealloc(nullptr, flag);
  EXPECT_TRUE(frame.leave().ok());
  EXPECT_EQ(calls(unload), unloads);
  EXPECT_TRUE(work(*other, 3));
  EXPECT_EQ(calls(unload) - unloads, 2u);
}

// C10, C11: contexts of the driver that come and go at one address share
// nothing, and leave nothing.
TEST_P(ModuleCalls, ContextGenerations_C10_C11) {
  auto generation = [&](uint32_t i) {
    Context temporary;
    ASSERT_TRUE(Context::open(device().c_str(), temporary).ok());
    ContextScope inner(temporary);
    uint64_t loads = calls(load);
    ASSERT_TRUE(work(*program, i));
    ASSERT_EQ(calls(load), loads + 1);
    ASSERT_EQ(readStats(temporary).moduleCacheMisses, 1u);
  };
  for (uint32_t i = 0; i < 20; ++i)
    generation(i);
  uint64_t live = mock->mock_live(nullptr);
  for (uint32_t i = 0; i < 300; ++i)
    generation(i);
  EXPECT_EQ(mock->mock_live(nullptr), live);
}

// C17: a hook loads with the vendor's own call; the driver uses its handle.
TEST_P(ModuleCalls, HooksLoadWithTheVendorsHandle_C17) {
  struct Hook {
    Mock *mock;
    int loads = 0, unloads = 0;
  } hook = {mock};
  gpuasync_module_hooks hooks{};
  hooks.user = &hook;
  static void *library = dlopen(getenv("GPU_ASYNC_CUDA_LIBRARY"), RTLD_NOW);
  ASSERT_TRUE(library);
  using Lookup = int (*)(const char *, void **, int, uint64_t, int *);
  static auto find =
      reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
  hooks.load = [](void *user, const gpuasync_module_request *request,
                  void **module) -> gpuasync_status * {
    ++static_cast<Hook *>(user)->loads;
    void *address = nullptr;
    int found = 0;
    if (find("cuModuleLoadDataEx", &address, 2010, 1, &found) != 0)
      return gpuasync_status_make(GPUASYNC_NOT_FOUND, "no such call");
    using Load = int (*)(void **, const void *, unsigned, int *, void **);
    int code = reinterpret_cast<Load>(address)(module, request->image->data, 0,
                                               nullptr, nullptr);
    return code ? gpuasync_status_make(GPUASYNC_DRIVER_ERROR, "load") : nullptr;
  };
  hooks.unload = [](void *user, void *module) {
    ++static_cast<Hook *>(user)->unloads;
    void *address = nullptr;
    int found = 0;
    using Unload = int (*)(void *);
    if (find("cuModuleUnload", &address, 2000, 1, &found) == 0)
      reinterpret_cast<Unload>(address)(module);
  };
  ASSERT_TRUE(Status(gpuasync_modules_hook(context.get(), &hooks)).ok());
  EXPECT_TRUE(work(*program, 1));
  EXPECT_EQ(hook.loads, 1);
  uint64_t unloads = calls(unload);
  EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
  EXPECT_EQ(hook.unloads, 1);
  EXPECT_EQ(calls(unload) - unloads, 1u); // the hook's, none of the driver's
}

// X07: two modules of one device are in the driver at the same time.
TEST_P(ModuleCalls, PrepareLoadsSideBySide_X07) {
  std::unique_ptr<TestProgram> other = another(1);
  const gpuasync_program *programs[] = {&program->program, &other->program};
  gpuasync_context *contexts[] = {context.get()};
  mock->mock_gate_close(load);
  std::thread preparing([&] {
    Status status(gpuasync_prepare(programs, 2, contexts, 1, 2));
    EXPECT_TRUE(status.ok()) << status.message();
  });
  mock->mock_gate_wait(load, 2);
  mock->mock_gate_open(load);
  preparing.join();
  uint64_t loads = calls(load);
  EXPECT_TRUE(work(*program, 1));
  EXPECT_TRUE(work(*other, 1));
  EXPECT_EQ(calls(load), loads);
}

// X07: and those of two devices; in a process of its own, since the devices of
// the library are set before it is opened.
TEST(ModuleCallsBody, DISABLED_TwoDevices_X07) {
  Mock *mock = mockOf("cuda-on-mock");
  Context contexts[2];
  ASSERT_TRUE(Context::open("cuda:0", contexts[0]).ok());
  ASSERT_TRUE(Context::open("cuda:1", contexts[1]).ok());
  {
    TestProgram program;
    const gpuasync_program *programs[] = {&program.program};
    gpuasync_context *both[] = {contexts[0].get(), contexts[1].get()};
    mock->mock_gate_close(load);
    std::thread preparing([&] {
      Status status(gpuasync_prepare(programs, 1, both, 2, 2));
      EXPECT_TRUE(status.ok()) << status.message();
    });
    mock->mock_gate_wait(load, 2);
    mock->mock_gate_open(load);
    preparing.join();
    for (Context &context : contexts)
      EXPECT_EQ(readStats(context).moduleCacheMisses, 1u);
  }
  for (Context &context : contexts)
    EXPECT_TRUE(context.close().ok());
  EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u);
}
TEST(ModuleCallsOnTwoDevices, Prepare_X07) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    setenv("GPUASYNC_MOCK", "devices=2", 1);
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
          "--gtest_brief=1",
          "--gtest_filter=ModuleCallsBody.DISABLED_TwoDevices_X07", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

} // namespace
