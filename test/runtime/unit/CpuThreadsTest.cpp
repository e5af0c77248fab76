//===- CpuThreadsTest.cpp - The cpu device's threads ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// X12: they sleep when there is nothing to do, and end with the context.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <chrono>
#include <dirent.h>
#include <set>
#include <string>
#include <thread>
#include <time.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// Ids of the threads that the kernel lists. It lists a thread for a moment
/// after it was joined, so those of earlier tests may be among them.
std::set<std::string> threadsOfThisProcess() {
  std::set<std::string> threads;
  DIR *folder = opendir("/proc/self/task");
  while (dirent *entry = readdir(folder))
    if (entry->d_name[0] != '.')
      threads.insert(entry->d_name);
  closedir(folder);
  return threads;
}

/// How many threads there are that are not among `known`.
int threadsBeside(const std::set<std::string> &known) {
  int count = 0;
  for (const std::string &thread : threadsOfThisProcess())
    count += !known.count(thread);
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
  for (int i = 0; i < 5; ++i) {
    std::set<std::string> before = threadsOfThisProcess();
    Context context;
    ASSERT_TRUE(Context::open("cpu", context).ok());
    TestProgram program;
    ContextScope scope(context);
    EXPECT_TRUE(meetOnTwoStreams(program));
    EXPECT_GE(threadsBeside(before), 2);
    gpuasync_status_free(gpuasync_program_release(&program.program));
    Status status = context.close();
    EXPECT_TRUE(status.ok()) << status.message();
    auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (threadsBeside(before) && std::chrono::steady_clock::now() < limit)
      std::this_thread::yield();
    EXPECT_EQ(threadsBeside(before), 0);
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

} // namespace
