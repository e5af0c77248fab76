//===- EdgeTest.cpp - Memory that runs out, a process that ends -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What only counts of the vendor's calls can show.
//===----------------------------------------------------------------------===//

#include "../../Inputs/TimeLimit.h"
#include "Fixture.h"
#include "shim/context/ContextImpl.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Edge : public testing::Test {
protected:
  void SetUp() override {
    mock->mock_reset();
    ASSERT_TRUE(Context::open("cuda", context).ok());
  }
  void TearDown() override {
    Status status = context.close();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u);
    EXPECT_EQ(mock->mock_live(nullptr), 0u);
  }
  Mock *mock = mockOf("cuda-on-mock");
  Context context;
  TestProgram program;
};

// Looking for the first device that runs a program opens none that does not.
TEST(Default, OnlyWhatRunsTheProgramIsOpened) {
  unsetenv("GPU_ASYNC_DEVICE");
  Mock *mock = mockOf("cuda-on-mock");
  TestProgram program(TestProgram::Cpu | TestProgram::Cuda);
  for (gpuasync_image &image : program.images)
    if (image.format == GPUASYNC_IMAGE_PTX)
      image.arch = "sm_990"; // a chip of the future
  mock->mock_reset();
  gpuasync_context *context = nullptr;
  Status status(gpuasync_context_default(&program.program, &context));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_STREQ(gpuasync_context_device(context), "cpu");
  EXPECT_EQ(mock->mock_calls("cuDevicePrimaryCtxRetain"), 0u);
  status = Status(gpuasync_context_close(context));
  EXPECT_TRUE(status.ok()) << status.message();
  gpuasync_context_release(context);
}

// A test of a capability that fails says something of that context alone.
TEST(Default, OneFailureRefutesNoCapabilityForEver) {
  Mock *mock = mockOf("cuda-on-mock");
  mock->mock_reset();
  Context before, first, second;
  ASSERT_TRUE(Context::open("cuda", before).ok());
  for (auto [call, capability] :
       {std::pair<const char *, gpuasync::Capability>{
            "cuMemPoolCreate", gpuasync::CapStreamOrderedAlloc},
        {"cuStreamWriteValue32", gpuasync::CapFlagWait}}) {
    if (!before.get()->has(capability))
      continue; // of a variant without it
    mock->mock_fail(call, 1, 2);
    Status status = Context::open("cuda", first);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_STREQ(mock->mock_failed(), call);
    EXPECT_FALSE(first.get()->has(capability)) << call;
    ASSERT_TRUE(Context::open("cuda", second).ok());
    EXPECT_TRUE(second.get()->has(capability)) << call;
    EXPECT_TRUE(first.close().ok());
    EXPECT_TRUE(second.close().ok());
  }
  EXPECT_TRUE(before.close().ok());
}

// M04: idle memory of this context goes back, there is one more try, and no
// other context hears of it.
TEST_F(Edge, OutOfMemoryTrimsAndTriesAgain_M04) {
  constexpr int outOfMemory = 2;
  Context other;
  ASSERT_TRUE(Context::open("cuda", other).ok());
  uint64_t others = 0;
  for (const Context *each : {&context, &other}) {
    ContextScope inner(*each);
    FrameScope frame(program);
    for (uint32_t words : {1u << 18, 1u << 19})
      frame.dealloc(nullptr,
                    frame.alloc(nullptr, words, GPUASYNC_ALLOC_HOST_SHARED));
    others = readStats(*each).deviceBytes;
  }
  EXPECT_GE(readStats(context).deviceBytes, 3u << 20);
  {
    ContextScope inner(context);
    FrameScope frame(program);
    uint64_t trims = mock->mock_calls("cuMemPoolTrimTo");
    mock->mock_fail("cuMemAllocFromPoolAsync", 1, outOfMemory);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 1 << 20);
    EXPECT_NE(x, nullptr);
    EXPECT_STREQ(mock->mock_failed(), "cuMemAllocFromPoolAsync");
    EXPECT_EQ(mock->mock_calls("cuMemPoolTrimTo") - trims, 1u);
    // What the program has and what is in slabs is left.
    EXPECT_LT(readStats(context).deviceBytes, (4u << 20) + (1u << 20));
    frame.dealloc(stream, x);
    frame.wait({stream});
    frame.destroy(stream);
    // Of another kind of memory, the same.
    mock->mock_fail("cuMemAllocManaged", 1, outOfMemory);
    uint32_t *y = frame.alloc(nullptr, 1 << 20, GPUASYNC_ALLOC_HOST_SHARED);
    EXPECT_NE(y, nullptr);
    EXPECT_STREQ(mock->mock_failed(), "cuMemAllocManaged");
    EXPECT_EQ(mock->mock_calls("cuMemPoolTrimTo") - trims, 2u);
    frame.dealloc(nullptr, y);
  }
  mock->mock_fail(nullptr, 0, 0);
  EXPECT_EQ(readStats(other).deviceBytes, others);
  Status status = other.close();
  EXPECT_TRUE(status.ok()) << status.message();
}

// Small blocks of the driver's pool that the context keeps go back when memory
// runs out, by a trim, and at close.
TEST_F(Edge, KeptBlocksOfThePoolGoBack_M04_M05) {
  constexpr int outOfMemory = 2;
  constexpr uint32_t words = 1 << 18;
  ContextScope inner(context);
  auto keep = [&](uint32_t count) {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    std::vector<uint32_t *> all;
    for (uint32_t i = 0; i < count; ++i) {
      all.push_back(frame.alloc(stream, words));
      frame.launch(stream, Store, 1, 32, StoreParams{all.back(), i});
    }
    frame.wait({stream});
    for (uint32_t *x : all)
      frame.dealloc(stream, x);
    frame.destroy(stream);
  };
  auto bytes = [&] { return readStats(context).deviceBytes; };
  keep(1);
  const uint64_t none = bytes() - 4 * words;
  keep(3);
  EXPECT_EQ(bytes(), none + 3 * 4 * words);
  const uint64_t frees = mock->mock_calls("cuMemFreeAsync");
  keep(3);
  EXPECT_EQ(mock->mock_calls("cuMemFreeAsync"), frees);
  keep(20);
  EXPECT_EQ(bytes(), none + 16 * 4 * words) << "the most that are kept";
  {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    const uint64_t before = mock->mock_calls("cuMemFreeAsync");
    mock->mock_fail("cuMemAllocFromPoolAsync", 1, outOfMemory);
    uint32_t *large = frame.alloc(stream, 1 << 20);
    EXPECT_NE(large, nullptr);
    EXPECT_STREQ(mock->mock_failed(), "cuMemAllocFromPoolAsync");
    mock->mock_fail(nullptr, 0, 0);
    EXPECT_EQ(mock->mock_calls("cuMemFreeAsync") - before, 16u);
    EXPECT_EQ(bytes(), none + (4u << 20));
    frame.dealloc(stream, large);
    frame.wait({stream});
    frame.destroy(stream);
  }
  keep(5);
  EXPECT_EQ(bytes(), none + 5 * 4 * words);
  Status status = context.trim();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_LE(bytes(), none);
  keep(5); // for close
}

// The message has no room for such a name and for what comes after it.
TEST_F(Edge, AFailedLaunchOfAKernelWithALongName) {
  const std::string name(1000, 'k');
  ContextScope scope(context);
  FrameScope frame(program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 1);
  program.kernels[Store].name = name.c_str();
  alignas(16) StoreParams params = {x, 1};
  gpuasync_launch_config block = makeLaunch(1 << 20, 1024, params);
  block.paramBytes = program.kernels[Store].paramBytes;
  block.flags = GPUASYNC_LAUNCH_COOPERATIVE;
  gpuasync_launch(&frame.frame, stream, program.launchSites[Store], &block);
  frame.dealloc(stream, x);
  frame.destroy(stream);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  std::string message = status.message();
  EXPECT_NE(message.find(", for kernel @kkkkkkkk"), std::string::npos)
      << message;
}

//===--- The end of a process

struct Calls {
  Mock *mock;
  uint64_t atBegin;
  Watched *other; ///< a thread that goes on with its call, which has failed
  std::atomic<bool> enqueued, began, returned;
};
Calls exiting;

// In a process of its own, which ends in the middle of everything.
TEST(EdgeBody, DISABLED_Exit) {
  exiting.mock = mockOf("cuda-on-mock");
  // Registered before the runtime's first use, so called after all of it.
  atexit([] {
    exiting.began = true;
    exiting.other->settle();
    uint64_t calls = exiting.mock->mock_calls(nullptr) - exiting.atBegin;
    if (calls)
      fprintf(stderr, "%llu vendor calls during exit\n",
              static_cast<unsigned long long>(calls));
    if (exiting.returned)
      fprintf(stderr, "a call returned while its kernel runs\n");
    _exit(calls || exiting.returned ? 1 : 42);
  });
  // Static destructors are part of exit. Of what is older than the runtime's
  // first use they run after the runtime has noticed.
  static Context closedByExit;
  static TestProgram program;
  static auto *context = new Context;
  ASSERT_TRUE(Context::open("cuda", *context).ok());
  ASSERT_TRUE(Context::open("cuda", closedByExit).ok());
  static auto *scope = new ContextScope(*context);
  (void)scope;
  static auto *frame = new FrameScope(program);
  gpuasync_stream *stream = frame->stream();
  uint32_t *flag = frame->alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  frame->launch(stream, Gate, 1, 1, GateParams{flag});
  exiting.other = new Watched([flag] {
    ContextScope inner(*context);
    FrameScope call(program);
    gpuasync_stream *stream = call.stream();
    call.launch(stream, Gate, 1, 1, GateParams{flag});
    exiting.enqueued = true;
    while (!exiting.began)
      std::this_thread::yield();
    call.wait({stream});
    (void)call.leave();
    exiting.returned = true;
  });
  while (!exiting.enqueued)
    std::this_thread::yield();
  atexit([] { exiting.atBegin = exiting.mock->mock_calls(nullptr); });
  exit(3);
}

// X11: a driver that is gone by then (they take themselves down during exit) is
// not called, and nothing waits. A call of another thread does not return while
// the device may use its memory.
TEST(EdgeOfProcess, ExitMakesNoVendorCall_X11) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    alarm(gpuasync_test::timeLimit(60)); // a hang ends it
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
          "--gtest_brief=1", "--gtest_filter=EdgeBody.DISABLED_Exit", nullptr);
    _exit(127);
  }
  int result = 0;
  waitpid(child, &result, 0);
  ASSERT_TRUE(WIFEXITED(result)) << result;
  EXPECT_EQ(WEXITSTATUS(result), 42);
}

} // namespace
