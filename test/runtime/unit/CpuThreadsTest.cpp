//===- CpuThreadsTest.cpp - The cpu device's threads ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// X12: they sleep when there is nothing to do, end with the context, and where
// none can be created that is an error. Without memory for their stacks (E05).
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <chrono>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

int threadsOfThisProcess() {
  int count = 0;
  DIR *folder = opendir("/proc/self/task");
  while (dirent *entry = readdir(folder))
    count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

/// Two streams of which each waits for the other: two threads of the device.
bool meetOnTwoStreams(TestProgram &program) {
  FrameScope frame(program);
  auto *words = frame.alloc(nullptr, 32, GPUASYNC_ALLOC_HOST_SHARED);
  words[0] = words[16] = 0;
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  frame.launch(a, Meet, 1, 1, MeetParams{words, words + 16});
  frame.launch(b, Meet, 1, 1, MeetParams{words + 16, words});
  frame.wait({a, b});
  bool right = !frame.failed() && words[0] && words[16];
  frame.dealloc(nullptr, words);
  return right;
}

TEST(CpuThreads, EndWithTheirContext_X12) {
  int before = threadsOfThisProcess();
  for (int i = 0; i < 5; ++i) {
    Context context;
    ASSERT_TRUE(Context::open("cpu", context).ok());
    TestProgram program;
    ContextScope scope(context);
    EXPECT_TRUE(meetOnTwoStreams(program));
    EXPECT_GE(threadsOfThisProcess(), before + 2);
    gpuasync_program_release(&program.program);
    Status status = context.close();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(threadsOfThisProcess(), before);
  }
}

TEST(CpuThreads, IdleOnesSleep_X12) {
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  TestProgram program;
  ContextScope scope(context);
  EXPECT_TRUE(meetOnTwoStreams(program));
  auto processorMs = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
  };
  double before = processorMs();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(processorMs() - before, 20);
}

// In a process of its own, whose memory is then limited to what it has.
TEST(CpuThreadsBody, DISABLED_NoMemoryForAStack) {
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  TestProgram program;
  ContextScope scope(context);
  {
    FrameScope frame(program); // loads
    frame.dealloc(nullptr, frame.alloc(nullptr, 64, 1));
    frame.destroy(frame.stream());
  }
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  ASSERT_EQ(fscanf(file, "%ld", &pages), 1);
  fclose(file);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  rlim_t whole = limit.rlim_cur;
  // Less than a thread's stack of 8 MB.
  limit.rlim_cur = rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE)) + (4 << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  Status status;
  {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Gate, 1, 1, GateParams{x});
    frame.wait({stream});
    status = frame.leave();
  }
  limit.rlim_cur = whole;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
  EXPECT_NE(std::string(status.message())
                .find("test.mlir:12:5: gate: the cpu device has 0 threads and "
                      "no other can be created: Resource temporarily"),
            std::string::npos)
      << status.message();
  // And then there is memory again.
  EXPECT_TRUE(meetOnTwoStreams(program));
}

TEST(CpuThreads, OnesThatCannotBeCreatedAreAnError_X12_E05) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer needs memory of its own at any time";
#endif
#endif
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    setenv("GPU_ASYNC_CPU_SCHEDULE", "fair", 1);
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
          "--gtest_brief=1",
          "--gtest_filter=CpuThreadsBody.DISABLED_NoMemoryForAStack", nullptr);
    _exit(127);
  }
  int result = 0;
  waitpid(child, &result, 0);
  EXPECT_EQ(result, 0);
}

} // namespace
