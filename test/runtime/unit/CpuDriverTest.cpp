//===- CpuDriverTest.cpp - What only the cpu device does ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of its own, their limit, printf, asserts in large kernels.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "HostCalls.h"
#include "shim/base/Clock.h"
#include "shim/context/ContextImpl.h"

#include <atomic>
#include <chrono>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// One kernel of one's own in slot Store of the table.
struct Custom {
  explicit Custom(gpuasync_cpu_block_fn function, uint32_t flags = 0,
                  uint64_t workgroupBytes = 0) {
    program.cpu[Store].function = function;
    program.cpu[Store].flags = flags;
    program.cpu[Store].workgroupBytes = workgroupBytes;
  }
  TestProgram program{TestProgram::Cpu};
};

bool hasTwoProcessors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1;
}

class CpuDriver : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(Context::open("cpu", context).ok()); }
  Context context;
};

/// A context whose threads run what they can at once, whatever schedule the
/// tests have.
Context openFair() {
  Context fair;
  const char *schedule = getenv("GPU_ASYNC_CPU_SCHEDULE");
  EXPECT_TRUE(Status(gpuasync_set_cpu_schedule("fair")).ok());
  EXPECT_TRUE(Context::open("cpu", fair).ok());
  EXPECT_TRUE(Status(gpuasync_set_cpu_schedule(schedule)).ok());
  return fair;
}

std::atomic<int64_t> visits[4], calls, longestRun;
void countBlock(const gpuasync_cpu_block_ctx *ctx, const void *, void *) {
  ++calls;
  if (longestRun < ctx->runBlocks)
    longestRun = ctx->runBlocks;
  for (int64_t i = 0; i < ctx->runBlocks; ++i) {
    visits[0] += 1;
    visits[1] += ctx->blockIdx[0] + i;
    visits[2] += ctx->blockIdx[1] * 1000;
    visits[3] += ctx->blockIdx[2] * 1000000;
  }
}

// Every block runs once, whatever the shape of the grid.
void visitEveryBlock(Context &context, uint32_t flags) {
  Custom custom(countBlock, flags);
  ContextScope scope(context);
  int64_t shapes[][3] = {{1, 1, 1}, {7, 5, 3}, {1, 300, 2}, {40000, 1, 1}};
  for (auto &shape : shapes) {
    for (auto &visit : visits)
      visit = 0;
    calls = longestRun = 0;
    FrameScope frame(custom.program);
    gpuasync_stream *stream = frame.stream();
    StoreParams params{};
    gpuasync_launch_config launch = makeLaunch(1, 64, params);
    for (int i = 0; i < 3; ++i)
      launch.grid[i] = shape[i];
    gpuasync_launch(frame, stream, custom.program.launchSites[Store], &launch);
    ASSERT_EQ(frame.wait({stream}), 0);
    int64_t x = shape[0], y = shape[1], z = shape[2];
    EXPECT_EQ(visits[0], x * y * z);
    EXPECT_EQ(visits[1], x * (x - 1) / 2 * y * z);
    EXPECT_EQ(visits[2], y * (y - 1) / 2 * x * z * 1000);
    EXPECT_EQ(visits[3], z * (z - 1) / 2 * x * y * 1000000);
    EXPECT_LE(longestRun * 64, GPUASYNC_CPU_RUN_THREADS);
    if (!flags || x == 1)
      EXPECT_EQ(calls, x * y * z);
  }
}
TEST_F(CpuDriver, EveryBlockOnce) { visitEveryBlock(context, 0); }
TEST_F(CpuDriver, EveryBlockOnceInRuns) {
  visitEveryBlock(context, GPUASYNC_KERNEL_TAKES_RUNS);
  Context fair = openFair();
  visitEveryBlock(fair, GPUASYNC_KERNEL_TAKES_RUNS);
  EXPECT_GT(longestRun, 8);
  EXPECT_LT(calls, 40000 / 8);
}

std::atomic<uint32_t> arrived;
void meetBlocks(const gpuasync_cpu_block_ctx *ctx, const void *, void *) {
  ++arrived;
  while (arrived < ctx->gridDim[0])
    ;
}

// T04: the blocks of one kernel really run on several processors.
TEST_F(CpuDriver, BlocksRunAtTheSameTime_T04) {
  if (!hasTwoProcessors())
    GTEST_SKIP() << "one processor";
  Custom custom(meetBlocks, GPUASYNC_KERNEL_MAY_BLOCK);
  ContextScope scope(context);
  for (int round = 0; round < 20; ++round) {
    arrived = 0;
    FrameScope frame(custom.program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Store, 2, 1, StoreParams{});
    ASSERT_EQ(frame.wait({stream}), 0);
  }
}

std::atomic<uint32_t> meeting{0}, present;
/// Two threads meet in a kernel whose blocks are not promised to run at the
/// same time: it must not wait for ever. Each block takes long enough that the
/// next launch is worth several threads too.
void meetThreads(const gpuasync_cpu_block_ctx *, const void *, void *) {
  thread_local uint32_t last = 0;
  if (last != meeting)
    ++present;
  last = meeting;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (present < 2)
    if (std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    else
      present = 99; // and the other blocks need not wait
  usleep(20);
}

/// While one lives, waits have no time limit: with one, a host thread that
/// waits runs no blocks. Then it is what GPU_ASYNC_TIMEOUT says again.
struct Unlimited {
  Unlimited() { gpuasync_set_timeout(0); }
  ~Unlimited() {
    const char *limit = getenv("GPU_ASYNC_TIMEOUT");
    gpuasync_set_timeout(limit ? strtod(limit, nullptr) : 0);
  }
};

// B04: a host thread that waits for a large kernel runs some of its blocks.
TEST_F(CpuDriver, WaitingThreadHelps_B04) {
  if (!hasTwoProcessors())
    GTEST_SKIP() << "one processor";
  const Unlimited unlimited;
  setenv("GPU_ASYNC_CPU_THREADS", "1", 1);
  Context fair = openFair();
  unsetenv("GPU_ASYNC_CPU_THREADS");
  Custom custom(meetThreads);
  ContextScope scope(fair);
  for (int round = 0; round < 20; ++round) {
    ++meeting;
    present = 0;
    FrameScope frame(custom.program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Store, 64, 1024, StoreParams{});
    ASSERT_EQ(frame.wait({stream}), 0);
    ASSERT_EQ(present, 2u) << "round " << round;
  }
}

/// A kernel of one's own whose blocks take as long as one says, and then meet.
struct Teachable {
  Teachable() {
    microseconds = 0;
    meets = false;
    runs = 0;
  }
  static void run(const gpuasync_cpu_block_ctx *ctx, const void *params,
                  void *workgroup) {
    if (meets)
      meetThreads(ctx, params, workgroup);
    else if (microseconds)
      usleep(microseconds);
    if (ctx->blockIdx[0] + 1 == ctx->gridDim[0])
      runner = std::this_thread::get_id();
    ++runs;
  }
  /// Launches it and looks who ran the last block, without a wait in which the
  /// host could run it.
  std::thread::id launch(FrameScope &frame, gpuasync_stream *stream,
                         int64_t blocks = 1, int64_t threads = 1) {
    int64_t wanted = runs + blocks;
    frame.launch(stream, Store, blocks, threads, StoreParams{});
    while (runs < wanted && !frame.failed())
      std::this_thread::yield();
    EXPECT_EQ(frame.wait({stream}), 0);
    return runner;
  }
  /// Two launches that take longer than it takes to wake a thread.
  void teach(FrameScope &frame, gpuasync_stream *stream, int64_t blocks = 1) {
    microseconds = 200;
    for (int i = 0; i < 2; ++i)
      launch(frame, stream, blocks);
    ++meeting;
    present = 0;
    meets = true;
  }
  static std::atomic<int> microseconds;
  static std::atomic<bool> meets;
  static std::atomic<int64_t> runs;
  static std::atomic<std::thread::id> runner;
  Custom custom{run};
};
std::atomic<int> Teachable::microseconds;
std::atomic<bool> Teachable::meets;
std::atomic<int64_t> Teachable::runs;
std::atomic<std::thread::id> Teachable::runner;

// B04: one thread that takes long is worth a thread of the device: branches of
// such kernels run at the same time.
TEST_F(CpuDriver, DearLaunchesOfOneThreadOverlap_B04) {
  if (!hasTwoProcessors())
    GTEST_SKIP() << "one processor";
  Context fair = openFair();
  Teachable kernel;
  ContextScope scope(fair);
  FrameScope frame(kernel.custom.program);
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  kernel.teach(frame, a);
  frame.launch(a, Store, 1, 1, StoreParams{});
  frame.launch(b, Store, 1, 1, StoreParams{});
  EXPECT_EQ(frame.wait({a, b}), 0);
  EXPECT_EQ(present, 2u);
}

// B04: the blocks of a launch of few threads that takes long are shared.
TEST_F(CpuDriver, DearBlocksAreShared_B04) {
  if (!hasTwoProcessors())
    GTEST_SKIP() << "one processor";
  Context fair = openFair();
  Teachable kernel;
  ContextScope scope(fair);
  FrameScope frame(kernel.custom.program);
  gpuasync_stream *stream = frame.stream();
  kernel.teach(frame, stream, 8);
  frame.launch(stream, Store, 8, 1, StoreParams{});
  EXPECT_EQ(frame.wait({stream}), 0);
  EXPECT_GE(present, 2u);
  EXPECT_LT(present, 99u);
}

// B04: a host thread that waits for a join runs a branch that has no thread.
TEST_F(CpuDriver, WaitingThreadRunsABranch_B04) {
  if (!hasTwoProcessors())
    GTEST_SKIP() << "one processor";
  const Unlimited unlimited;
  setenv("GPU_ASYNC_CPU_THREADS", "1", 1);
  Context fair = openFair();
  unsetenv("GPU_ASYNC_CPU_THREADS");
  Teachable kernel;
  ContextScope scope(fair);
  for (int round = 0; round < 20; ++round) {
    FrameScope frame(kernel.custom.program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream(),
                    *join = frame.stream();
    kernel.meets = false;
    kernel.teach(frame, a);
    frame.launch(a, Store, 1, 1, StoreParams{});
    frame.launch(b, Store, 1, 1, StoreParams{});
    for (gpuasync_stream *branch : {a, b}) {
      gpuasync_event *event = frame.record(branch);
      frame.waitEvent(join, event);
      frame.destroy(event);
    }
    EXPECT_EQ(frame.wait({join}), 0);
    ASSERT_EQ(present, 2u) << "round " << round;
    EXPECT_EQ(frame.wait({a, b}), 0);
  }
}

// A kernel is judged by what it took lately, whatever its number of threads.
TEST_F(CpuDriver, CheaperAndDearer_B04) {
  Context fair = openFair();
  Teachable kernel;
  ContextScope scope(fair);
  FrameScope frame(kernel.custom.program);
  gpuasync_stream *stream = frame.stream();
  const std::thread::id host = std::this_thread::get_id();
  auto becomes = [&](bool byHost, int64_t blocks, int64_t threads) {
    for (int i = 0; i < 20000; ++i)
      if ((kernel.launch(frame, stream, blocks, threads) == host) == byHost)
        return true;
    return false;
  };
  EXPECT_EQ(kernel.launch(frame, stream), host); // nothing is known of it
  for (int round = 0; round < 3; ++round) {
    kernel.microseconds = 200;
    EXPECT_TRUE(becomes(false, 1, 1));
    EXPECT_NE(kernel.launch(frame, stream), host);
    kernel.microseconds = 0;
    EXPECT_TRUE(becomes(true, 1, 1));
  }
  // Many threads that take no time are no reason to wake another.
  EXPECT_TRUE(becomes(true, 17, 1024));
}

// A host thread that waits for what comes before the kernel is no help to it:
// another thread comes, also if it had been counted on.
TEST_F(CpuDriver, ThreadThatLeavesIsReplaced_B04) {
  if (!hasTwoProcessors())
    GTEST_SKIP() << "one processor";
  Context fair = openFair();
  Custom custom(meetThreads);
  ContextScope scope(fair);
  for (int round = 0; round < 30; ++round) {
    ++meeting;
    present = 0;
    FrameScope frame(custom.program);
    auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    gpuasync_event *event = frame.record(stream);
    frame.launch(stream, Store, 64, 1024, StoreParams{});
    std::thread opener([&] {
      for (int i = 0; i < round; ++i)
        std::this_thread::yield();
      openGate(flag);
    });
    EXPECT_EQ(frame.waitHost(event), 0);
    opener.join();
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (present < 2 && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    ASSERT_GE(present, 2u) << "round " << round;
    ASSERT_LT(present, 99u) << "round " << round;
    EXPECT_EQ(frame.wait({stream}), 0);
    frame.destroy(event);
    frame.dealloc(nullptr, flag);
  }
}

// B04, X12: streams that spin for each other beyond the limit of threads are an
// error with a location; the kernels that spin are left behind once they end.
TEST_F(CpuDriver, LimitOfThreads_B04) {
  setenv("GPU_ASYNC_CPU_THREADS", "2", 1);
  Context small;
  ASSERT_TRUE(Context::open("cpu", small).ok());
  unsetenv("GPU_ASYNC_CPU_THREADS");
  TestProgram program;
  ContextScope scope(small);
  uint32_t *gate = nullptr;
  {
    FrameScope frame(program);
    gate = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
    memset(gate, 0, 256);
  }
  {
    FrameScope frame(program);
    std::vector<gpuasync_stream *> streams;
    for (int i = 0; i < 3; ++i)
      streams.push_back(frame.stream());
    for (int i = 0; i < 3; ++i) {
      frame.launch(streams[i], Gate, 1, 1, GateParams{gate});
      frame.launch(streams[i], Raise, 1, 1, GateParams{gate + 16 * (i + 1)});
    }
    EXPECT_EQ(frame.wait(streams), 1);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
    EXPECT_NE(std::string(status.message())
                  .find("test.mlir:12:5: gate: the cpu device's limit of 2 "
                        "threads"),
              std::string::npos)
        << status.message();
  }
  openGate(gate);
  // The two that had a thread go on, and then waits are what they were.
  auto ended = [&] {
    int count = 0;
    for (int i = 1; i <= 3; ++i)
      count += isSet(gate + 16 * i);
    return count == 2;
  };
  while (!ended())
    std::this_thread::yield();
  Status closed = small.close();
  EXPECT_TRUE(closed.ok()) << closed.message();
}

std::atomic<bool> noThread;
void outlastPatience(const gpuasync_cpu_block_ctx *ctx, const void *, void *) {
  // Longer than a wait gives kernels that end by themselves (200 ms).
  if (ctx->blockIdx[0] == 0)
    usleep(300000);
}

// X12: a thread that cannot be made fails what needed it, and no wait after
// that.
TEST_F(CpuDriver, NoThreadForAMoment_E05) {
  Context fair = openFair();
  Custom custom(outlastPatience);
  ContextScope scope(fair);
  HostCalls::hook([](HostCall call, const char *) -> int {
    return call == HostCall::Thread && noThread ? EAGAIN : HostCalls::Happens;
  });
  noThread = true;
  {
    FrameScope frame(custom.program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Store, 17, 1024, StoreParams{});
    EXPECT_EQ(frame.wait({stream}), 1);
    std::string message = frame.leave().message();
    EXPECT_NE(message.find("test.mlir:10:5: store: the system gives the cpu "
                           "device no thread beside its 0: "),
              std::string::npos)
        << message;
  }
  noThread = false;
  {
    FrameScope frame(custom.program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Store, 17, 1024, StoreParams{});
    EXPECT_EQ(frame.wait({stream}), 0);
  }
  HostCalls::hook(nullptr);
}

// Where no slab of 256 KB fits, small allocations are pieces of their own.
TEST_F(CpuDriver, SmallAllocationsNeedNoSlab) {
  setenv("GPU_ASYNC_CPU_MEMORY", "204800", 1);
  Context small;
  ASSERT_TRUE(Context::open("cpu", small).ok());
  unsetenv("GPU_ASYNC_CPU_MEMORY");
  TestProgram program;
  ContextScope scope(small);
  {
    FrameScope frame(program);
    // Freed memory is used again, in its own size or given back for another.
    for (int i = 0; i < 3; ++i) {
      gpuasync_stream *stream = frame.stream();
      std::vector<uint32_t *> all;
      for (int j = 0; j < 4; ++j) {
        all.push_back(frame.alloc(stream, 25));
        all.push_back(frame.alloc(stream, i == 1 ? 4000 : 8000));
        ASSERT_NE(all[2 * j], nullptr);
        ASSERT_NE(all[2 * j + 1], nullptr);
      }
      for (uint32_t *x : all)
        frame.dealloc(stream, x);
      EXPECT_EQ(frame.wait({stream}), 0);
      frame.destroy(stream);
    }
    EXPECT_TRUE(frame.leave().ok());
  }
  EXPECT_LE(readStats(small).deviceBytes, 204800u);
}

// M05: idle memory has a limit, an eighth of the device's or 256 MB; what is
// beyond it goes back when the context is idle.
TEST_F(CpuDriver, IdleMemoryIsLimited_M05) {
  setenv("GPU_ASYNC_CPU_MEMORY", "1073741824", 1);
  Context small;
  ASSERT_TRUE(Context::open("cpu", small).ok());
  unsetenv("GPU_ASYNC_CPU_MEMORY");
  TestProgram program;
  ContextScope scope(small);
  {
    FrameScope frame(program);
    std::vector<uint32_t *> all;
    for (int i = 0; i < 12; ++i)
      all.push_back(frame.alloc(nullptr, 8 << 20)); // never written
    for (uint32_t *x : all)
      frame.dealloc(nullptr, x);
    EXPECT_GE(readStats(small).deviceBytes, 12ull * (32 << 20));
  }
  {
    FrameScope frame(program);
  }
  EXPECT_LE(readStats(small).deviceBytes, 256ull << 20);
  EXPECT_GE(readStats(small).deviceBytes, 128ull << 20);
  Status closed = small.close();
  EXPECT_TRUE(closed.ok()) << closed.message();
}

void printBlock(const gpuasync_cpu_block_ctx *ctx, const void *, void *) {
  gpuasync_cpu_printf(ctx, "block %lld of %s\n",
                      static_cast<long long>(ctx->blockIdx[0]), "many");
}

// A line of printf is one piece, also from several threads.
TEST_F(CpuDriver, Printf) {
  Custom custom(printBlock, GPUASYNC_KERNEL_MAY_BLOCK);
  ContextScope scope(context);
  testing::internal::CaptureStdout();
  {
    FrameScope frame(custom.program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Store, 500, 1, StoreParams{});
    frame.wait({stream});
  }
  std::string text = testing::internal::GetCapturedStdout();
  for (int i = 0; i < 500; ++i)
    EXPECT_NE(text.find("block " + std::to_string(i) + " of many\n"),
              std::string::npos);
}

void failBlocks(const gpuasync_cpu_block_ctx *ctx, const void *, void *) {
  if (ctx->blockIdx[0] % 3 == 1)
    gpuasync_cpu_assert_fail(ctx, "not a third", "k.mlir", 1, 2, 0, 0, 0);
}

// Many blocks fail at once: one message, and the frame's end is quiet.
TEST_F(CpuDriver, AssertInALargeKernel) {
  Custom custom(failBlocks);
  ContextScope scope(context);
  for (int round = 0; round < 50; ++round) {
    FrameScope frame(custom.program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Store, 1000, 256, StoreParams{});
    EXPECT_EQ(frame.wait({stream}), 1);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
    EXPECT_NE(strstr(status.message(), "k.mlir:1:2: assertion failed"), nullptr)
        << status.message();
  }
}

void useWorkgroup(const gpuasync_cpu_block_ctx *ctx, const void *params,
                  void *workgroup) {
  // Static memory first, dynamic memory behind it, aligned to 16.
  memset(workgroup, 1, 24);
  auto *dynamic = static_cast<unsigned char *>(workgroup) + 32;
  memset(dynamic, 2, static_cast<size_t>(ctx->dynamicSharedBytes));
  auto *p = static_cast<const StoreParams *>(params);
  p->out[ctx->blockIdx[0]] =
      reinterpret_cast<uintptr_t>(workgroup) % 16 == 0 ? p->value : 0;
}

TEST_F(CpuDriver, WorkgroupMemory) {
  Custom custom(useWorkgroup, 0, 24);
  ContextScope scope(context);
  FrameScope frame(custom.program);
  gpuasync_stream *stream = frame.stream();
  auto *out = frame.alloc(nullptr, 100, GPUASYNC_ALLOC_HOST_SHARED);
  frame.launch(stream, Store, 100, 512, StoreParams{out, 9}, 100000);
  ASSERT_EQ(frame.wait({stream}), 0);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(out[i], 9u);
  frame.dealloc(nullptr, out);
}

/// An operation of a thread's, and when the device was told that it ran.
struct TimedCall {
  gpuasync::DeviceTiming timing;
  std::atomic<int64_t> ranAt{0};
};

/// Enqueues an operation that notes when it runs. The caller times it.
Status enqueueNote(gpuasync::Device &driver, gpuasync::NativeStream stream,
                   TimedCall &call) {
  return driver.submit(stream, gpuasync::Command(
                                   [](void *argument) {
                                     static_cast<TimedCall *>(argument)->ranAt =
                                         gpuasync::nowNs();
                                   },
                                   &call));
}

/// Expects that the time of the operation is its own.
void expectOwnTime(const TimedCall &call) {
  EXPECT_TRUE(call.timing.known.load());
  EXPECT_NE(call.ranAt.load(), 0);
  EXPECT_LE(call.timing.begin, call.ranAt.load());
  EXPECT_GE(call.timing.end, call.ranAt.load());
}

/// A caller's stream of the context.
class CallersStream {
public:
  explicit CallersStream(gpuasync::Device &driver) : driver(driver) {
    EXPECT_TRUE(driver.createStream(stream).ok());
    gpuasync::NativeStream same = nullptr;
    EXPECT_TRUE(driver.externalStream(stream, same).ok());
    EXPECT_EQ(same, stream);
  }
  CallersStream(const CallersStream &) = delete;
  ~CallersStream() { driver.destroyStream(stream); }
  void wait() {
    bool done = false;
    EXPECT_TRUE(driver.waitStream(stream, -1, done).ok());
    EXPECT_TRUE(done);
  }
  gpuasync::NativeStream stream = nullptr;

private:
  gpuasync::Device &driver;
};

// Each of two threads begins to time an operation before the other one's is
// enqueued on the same stream: the times are not exchanged, and none is lost.
TEST_F(CpuDriver, TimingsOfThreadsOnOneStream) {
  gpuasync::Device &driver = *context.get()->driver;
  CallersStream callers(driver);
  TimedCall mine, others;
  std::atomic<int> step{0};
  auto reach = [&](int next) {
    step = next;
    while (step <= next)
      std::this_thread::yield();
  };
  std::thread other([&] {
    while (step < 1)
      std::this_thread::yield();
    EXPECT_TRUE(
        driver.extensions.clock->beginTiming(callers.stream, others.timing)
            .ok());
    reach(2);
    EXPECT_TRUE(enqueueNote(driver, callers.stream, others).ok());
    EXPECT_TRUE(
        driver.extensions.clock->endTiming(callers.stream, others.timing).ok());
    step = 4;
  });
  EXPECT_TRUE(
      driver.extensions.clock->beginTiming(callers.stream, mine.timing).ok());
  reach(1);
  EXPECT_TRUE(enqueueNote(driver, callers.stream, mine).ok());
  EXPECT_TRUE(
      driver.extensions.clock->endTiming(callers.stream, mine.timing).ok());
  reach(3);
  other.join();
  callers.wait();
  expectOwnTime(mine);
  expectOwnTime(others);
}

// Threads meet as it happens here, which ThreadSanitizer looks at.
TEST_F(CpuDriver, ManyTimingsOfThreadsOnOneStream) {
  gpuasync::Device &driver = *context.get()->driver;
  CallersStream callers(driver);
  constexpr int operations = 2000;
  std::vector<TimedCall> calls[2] = {std::vector<TimedCall>(operations),
                                     std::vector<TimedCall>(operations)};
  auto work = [&](std::vector<TimedCall> &mine) {
    for (TimedCall &call : mine) {
      EXPECT_TRUE(
          driver.extensions.clock->beginTiming(callers.stream, call.timing)
              .ok());
      EXPECT_TRUE(enqueueNote(driver, callers.stream, call).ok());
      EXPECT_TRUE(
          driver.extensions.clock->endTiming(callers.stream, call.timing).ok());
    }
  };
  std::thread other([&] { work(calls[1]); });
  work(calls[0]);
  other.join();
  callers.wait();
  for (const std::vector<TimedCall> &each : calls)
    for (const TimedCall &call : each)
      expectOwnTime(call);
}

// An operation that is never enqueued leaves no time to the next one.
TEST_F(CpuDriver, TimingWithoutAnOperation) {
  gpuasync::Device &driver = *context.get()->driver;
  CallersStream callers(driver);
  gpuasync::DeviceTiming unused;
  TimedCall next;
  EXPECT_TRUE(
      driver.extensions.clock->beginTiming(callers.stream, unused).ok());
  EXPECT_TRUE(driver.extensions.clock->endTiming(callers.stream, unused).ok());
  EXPECT_TRUE(unused.known.load());
  EXPECT_TRUE(enqueueNote(driver, callers.stream, next).ok());
  callers.wait();
  EXPECT_EQ(unused.begin, 0);
  EXPECT_FALSE(next.timing.known.load());
}

} // namespace
