//===- CpuInlineTest.cpp - What runs inside of an enqueue -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel runs on the thread that enqueues it if it provably ends in no time
// and that thread has the stack for it. Kernels here say what they are; that
// they wait for what comes behind the enqueue shows where they run.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "device/cpu/CallerStack.h"

#include <atomic>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// A context that runs what it can at once, whatever schedule the tests have.
class CpuInline : public testing::Test {
protected:
  void SetUp() override {
    const char *schedule = getenv("GPU_ASYNC_CPU_SCHEDULE");
    ASSERT_TRUE(Status(gpuasync_set_cpu_schedule("fair")).ok());
    ASSERT_TRUE(Context::open("cpu", context).ok());
    ASSERT_TRUE(Status(gpuasync_set_cpu_schedule(schedule)).ok());
  }
  Context context;
};

/// What the kernel waits for, and who ran it.
std::atomic<bool> isOpen;
std::atomic<pthread_t> runner;
void noteRunner(const gpuasync_cpu_block_ctx *, const void *, void *) {
  runner = pthread_self();
}
void waitUntilOpen(const gpuasync_cpu_block_ctx *, const void *, void *) {
  while (!isOpen)
    ;
  runner = pthread_self();
}

struct Custom {
  explicit Custom(gpuasync_cpu_block_fn function) {
    kernel().function = function;
  }
  gpuasync_cpu_kernel &kernel() { return program.cpu[Store]; }
  TestProgram program{TestProgram::Cpu};
};

/// Launches one thread of the kernel, waits for it, and says whether the
/// calling thread ran it. It is given a number.
bool runsHere(Custom &custom, uint32_t value = 0) {
  runner = pthread_t();
  FrameScope frame(custom.program);
  gpuasync_stream *stream = frame.stream();
  StoreParams params{nullptr, value};
  frame.launch(stream, Store, 1, 1, params);
  isOpen = true;
  // With a limit this thread runs nothing while it waits.
  EXPECT_EQ(frame.wait({stream}), 0);
  return pthread_equal(runner, pthread_self());
}

/// No host thread helps that waits with a limit.
class Limit {
public:
  Limit() { gpuasync_set_timeout(600); }
  ~Limit() { gpuasync_set_timeout(0); }
};

double countByValue(const int64_t[6], const void *params) {
  return static_cast<const StoreParams *>(params)->value;
}
double countNothing(const int64_t[6], const void *) { return NAN; }
double countForEver(const int64_t[6], const void *) { return HUGE_VAL; }
double countBlocks(const int64_t sizes[6], const void *) {
  return double(sizes[0]);
}

// B01: nobody knows how long it takes, or it is known to be long: the enqueue
// does not run it, also where nothing was measured.
TEST_F(CpuInline, LargeKernelsAreLeftToThreads_B01) {
  ContextScope scope(context);
  Limit limit;
  struct {
    uint64_t operations;
    gpuasync_cpu_operations_fn count;
  } large[] = {{0, nullptr},
               {uint64_t(1) << 40, nullptr},
               {0, countNothing},
               {0, countForEver}};
  for (auto &each : large) {
    Custom custom(waitUntilOpen);
    custom.kernel().operations = each.operations;
    custom.kernel().countOperations = each.count;
    for (int i = 0; i < 4; ++i) {
      isOpen = false;
      EXPECT_FALSE(runsHere(custom)) << each.operations << ", launch " << i;
    }
  }
}

// A small one is the caller's from its first launch on.
TEST_F(CpuInline, SmallKernelsAreTheCallers) {
  ContextScope scope(context);
  Limit limit;
  Custom custom(noteRunner);
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(runsHere(custom)) << i;
}

// B01: what was small with other arguments says nothing of these.
TEST_F(CpuInline, ArgumentsDecide_B01) {
  ContextScope scope(context);
  Limit limit;
  Custom custom(waitUntilOpen);
  custom.kernel().countOperations = countByValue;
  isOpen = true;
  for (int i = 0; i < 8; ++i)
    EXPECT_TRUE(runsHere(custom, 100)) << i;
  isOpen = false;
  EXPECT_FALSE(runsHere(custom, UINT32_MAX));
  isOpen = true;
  EXPECT_TRUE(runsHere(custom, 100));
}

// The sizes of the grid come first.
TEST_F(CpuInline, SizesDecide_B01) {
  ContextScope scope(context);
  Limit limit;
  Custom custom(waitUntilOpen);
  custom.kernel().countOperations = countBlocks;
  isOpen = true;
  EXPECT_TRUE(runsHere(custom));
  isOpen = false;
  FrameScope frame(custom.program);
  gpuasync_stream *stream = frame.stream();
  frame.launch(stream, Store, 100000, 1, StoreParams{});
  isOpen = true;
  EXPECT_EQ(frame.wait({stream}), 0);
  EXPECT_FALSE(pthread_equal(runner, pthread_self()));
}

// A bound that is far above what a kernel takes is none.
TEST_F(CpuInline, BoundsCountForMoreThanTimes_B01) {
  ContextScope scope(context);
  Limit limit;
  Custom custom(waitUntilOpen);
  custom.kernel().operations = uint64_t(1) << 30;
  for (int i = 0; i < 20; ++i) {
    isOpen = false;
    EXPECT_FALSE(runsHere(custom)) << i;
  }
}

// B01: a table of an older compiler ends where these members begin: nothing is
// known of its kernels.
TEST_F(CpuInline, OlderTablesSayLess_B01) {
  ContextScope scope(context);
  Limit limit;
  constexpr size_t bytes = offsetof(gpuasync_cpu_kernel, stackBytes);
  Custom custom(waitUntilOpen);
  std::vector<char> table(bytes * NumKernels);
  for (size_t i = 0; i < NumKernels; ++i)
    memcpy(table.data() + i * bytes, &custom.program.cpu[i], bytes);
  custom.program.images[0].data = table.data();
  custom.program.images[0].size = table.size();
  isOpen = false;
  EXPECT_FALSE(runsHere(custom));
}

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

/// Calls `body` on a thread with a stack of so many bytes, which is no longer
/// one that an earlier thread left.
template <typename Body>
void onThread(size_t bytes, Body body) {
  void *stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  ASSERT_NE(stack, MAP_FAILED);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack, bytes), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void *argument) -> void * {
                  (*static_cast<Body *>(argument))();
                  return nullptr;
                },
                &body),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  munmap(stack, bytes);
}

/// Calls `body` on a stack of so many bytes that is no thread's.
template <typename Body>
void onFiber(size_t bytes, Body body) {
  std::vector<char> stack(bytes);
  static Body *current;
  current = &body;
  ucontext_t back, fiber;
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack.data();
  fiber.uc_stack.ss_size = stack.size();
  fiber.uc_link = &back;
  makecontext(&fiber, [] { (*current)(); }, 0);
  swapcontext(&back, &fiber);
}

__attribute__((noinline)) void deeper() {
  using gpuasync::cpu::hasStack;
  char half[600 << 10];
  __asm__ volatile("" : : "r"(half) : "memory");
  EXPECT_TRUE(hasStack(256 << 10));
  EXPECT_FALSE(hasStack(512 << 10));
  __asm__ volatile("" : : "r"(half) : "memory");
}

TEST(CallerStack, KnowsWhatIsLeft) {
  using gpuasync::cpu::hasStack;
  EXPECT_TRUE(hasStack(0));
  EXPECT_TRUE(hasStack(1 << 20));
  EXPECT_FALSE(hasStack(UINT32_MAX));
  onThread(1 << 20, [] {
    EXPECT_TRUE(hasStack(512 << 10));
    EXPECT_FALSE(hasStack(1 << 20));
    deeper();
  });
  onThread(64 << 10, [] { EXPECT_FALSE(hasStack(0)); });
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  onFiber(1 << 20, [] { EXPECT_FALSE(hasStack(0)); });
#endif
  EXPECT_TRUE(hasStack(0));
}

/// Uses so much of the stack.
constexpr size_t deepBytes = 600 << 10;
void useStack(const gpuasync_cpu_block_ctx *, const void *, void *) {
  char bytes[deepBytes];
  for (size_t i = 0; i < sizeof(bytes); i += 64)
    bytes[i] = 1;
  __asm__ volatile("" : : "r"(bytes) : "memory");
  runner = pthread_self();
}

// A kernel runs where there is room for it: not on a caller's small stack, nor
// on one of a fiber.
TEST_F(CpuInline, KernelsNeedStack_B01) {
  Custom custom(useStack);
  custom.kernel().stackBytes = deepBytes;
  ContextScope scope(context);
  {
    Limit limit;
    EXPECT_TRUE(runsHere(custom));
  }
  // Waiting threads help, if they can.
  auto run = [&] {
    ContextScope here(context);
    EXPECT_FALSE(runsHere(custom));
  };
  for (size_t bytes : {256 << 10, 512 << 10})
    onThread(bytes, run);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  onFiber(256 << 10, run);
#endif
}

// The device's threads have the stack that kernels may use, whatever the
// process' default is.
void useMostStack(const gpuasync_cpu_block_ctx *, const void *, void *) {
  char bytes[GPUASYNC_CPU_STACK_BYTES];
  for (size_t i = 0; i < sizeof(bytes); i += 64)
    bytes[i] = 1;
  __asm__ volatile("" : : "r"(bytes) : "memory");
  runner = pthread_self();
}
TEST_F(CpuInline, ThreadsHaveStack) {
  pthread_attr_t before, small;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, 256 << 10), 0);
  ASSERT_EQ(pthread_setattr_default_np(&small), 0);
  Custom custom(useMostStack);
  custom.kernel().stackBytes = UINT32_MAX;
  {
    ContextScope scope(context);
    EXPECT_FALSE(runsHere(custom));
  }
  EXPECT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&before);
  pthread_attr_destroy(&small);
}

} // namespace
