//===- ThreadTest.cpp - Threads, contexts, programs that come and go ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Run under ThreadSanitizer too.
//===----------------------------------------------------------------------===//

#include "shim/process/Thread.h"
#include "Fixture.h"

#include <atomic>
#include <functional>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Threads : public DeviceTest {
protected:
  /// One call of a small program; the result tells whether it was right.
  static bool work(TestProgram &program, uint32_t value) {
    std::vector<uint32_t> out(128);
    FrameScope frame(program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 128);
    frame.launch(a, Store, 1, 128, StoreParams{x, value});
    gpuasync_event *event = frame.record(a);
    frame.waitEvent(b, event);
    frame.destroy(event);
    frame.launch(b, MulAdd, 1, 128, MulAddParams{x, 128, 2, 1});
    frame.copy(b, out.data(), x, 512);
    frame.dealloc(b, x);
    frame.wait({a, b});
    frame.destroy(a);
    frame.destroy(b);
    return !frame.failed() && out == std::vector<uint32_t>(128, 2 * value + 1);
  }
};
INSTANTIATE_OVER_DEVICES(Threads);

// Kernels with workgroup memory run on a thread that ends, when objects of the
// runtime's that belong to the thread are gone: whatever was made before them
// is destroyed later, and values of keys after thread_local objects.
// AddressSanitizer sees what is used then.
TEST_P(Threads, KernelsWhileAThreadEnds) {
  struct AtEnd {
    std::function<void()> call;
    ~AtEnd() {
      if (call)
        call();
    }
  };
  std::vector<uint32_t> results;
  pthread_key_t early, late;
  auto callAtEnd = [](void *atEnd) { static_cast<AtEnd *>(atEnd)->call(); };
  // One before the keys of the runtime, which its first call makes, if no other
  // test was here.
  ASSERT_EQ(pthread_key_create(&early, callAtEnd), 0);
  AtEnd byKey;
  std::thread([&] {
    static thread_local AtEnd atEnd;
    atEnd.call = [&] {
      for (uint32_t words : {1000u, 5000u}) {
        ContextScope scope(context);
        FrameScope frame(*program);
        gpuasync_stream *stream = frame.stream();
        uint32_t *out = frame.alloc(stream, 1), result = 0;
        frame.launch(stream, Shared, 1, 1, SharedParams{out, words}, words * 4);
        frame.copy(stream, &result, out, 4);
        frame.dealloc(stream, out);
        frame.wait({stream});
        results.push_back(result);
      }
    };
    atEnd.call();
    ASSERT_EQ(pthread_key_create(&late, callAtEnd), 0);
    byKey.call = atEnd.call;
    for (pthread_key_t key : {early, late})
      pthread_setspecific(key, &byKey);
  }).join();
  byKey.call = nullptr;
  pthread_key_delete(early);
  pthread_key_delete(late);
  EXPECT_EQ(results, (std::vector<uint32_t>{999, 4999, 999, 4999, 999, 4999,
                                            999, 4999}));
}

// C03: racing first uses load once; X04: threads without a context work.
TEST_P(Threads, RacingFirstUse_C03) {
  constexpr int count = 64;
  std::atomic<int> ready{0}, right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      ContextScope scope(context);
      ++ready;
      while (ready < count)
        std::this_thread::yield();
      right += work(*program, static_cast<uint32_t>(i));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, count);
  gpuasync_stats stats = readStats(context);
  EXPECT_EQ(stats.moduleCacheMisses, 1u);
  EXPECT_EQ(stats.moduleCacheHits, uint64_t(count - 1));
  EXPECT_EQ(stats.modules.physical, 1u);
  EXPECT_EQ(stats.streams.live, 0u);
  EXPECT_EQ(stats.buffers.live, 0u);
}

// C02: two programs of equal content share a loaded module where content has a
// hash; cpu code belongs to its program.
TEST_P(Threads, EqualContentLoadsOnce_C02) {
  TestProgram second(TestProgram::All, "second");
  EXPECT_TRUE(work(*program, 1));
  EXPECT_TRUE(work(second, 1));
  EXPECT_EQ(readStats(context).modules.physical, device() == "cpu" ? 2u : 1u);
  EXPECT_EQ(readStats(context).modules.created, 2u);
}

// S10, C07: a program that comes and goes many times leaves nothing.
TEST_P(Threads, ProgramChurn) {
  int rounds = onCpu() ? 2000 : 50;
  for (int i = 0; i < rounds; ++i) {
    TestProgram temporary(TestProgram::All, "temporary");
    ASSERT_TRUE(work(temporary, static_cast<uint32_t>(i)));
  }
  gpuasync_stats stats = readStats(context);
  EXPECT_EQ(stats.modules.live, 0u);
  EXPECT_EQ(stats.modules.physical, 0u);
  EXPECT_LE(stats.streams.physical, 3u);
}

// A release while work of the program is still pending waits for it.
TEST_P(Threads, ReleaseWaitsForWork) {
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 16, GPUASYNC_ALLOC_HOST_SHARED);
    flag[0] = flag[8] = 0;
  }
  std::thread opener;
  {
    TestProgram temporary(TestProgram::All, "temporary");
    gpuasync_event *token = nullptr;
    {
      FrameScope frame(temporary);
      gpuasync_stream *stream = frame.stream();
      frame.launch(stream, Meet, 1, 1, MeetParams{flag, flag + 8});
      token =
          gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    }
    opener = std::thread([&] {
      while (!isSet(flag))
        std::this_thread::yield();
      openGate(flag + 8);
    });
    gpuasync_event_release(token);
  } // released here
  EXPECT_TRUE(isSet(flag + 8));
  opener.join();
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// C12: programs come and go on eight threads that share the context.
TEST_P(Threads, ChurnOnEightThreads_C12) {
  int rounds = onCpu() ? 60 : 10;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      ContextScope scope(context);
      for (int j = 0; j < rounds; ++j) {
        TestProgram temporary(TestProgram::All, "temporary");
        right += work(temporary, static_cast<uint32_t>(j)) &&
                 work(*program, static_cast<uint32_t>(j));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 8 * rounds);
  EXPECT_EQ(readStats(context).modules.physical,
            readStats(context).modules.live ? 1u : 0u);
}

// A token made on one thread and waited for on another (T05: hand-over).
TEST_P(Threads, TokenHandOver) {
  for (int i = 0; i < 50; ++i) {
    std::vector<uint32_t> out(64);
    gpuasync_event *token = nullptr;
    uint32_t *x = nullptr;
    std::thread maker([&] {
      ContextScope scope(context);
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      x = frame.alloc(stream, 64);
      frame.launch(stream, Store, 1, 64, StoreParams{x, 8});
      frame.copy(stream, out.data(), x, 256);
      frame.dealloc(stream, x);
      token =
          gpuasync_event_export(frame, frame.record(stream), SITE("return"));
    });
    maker.join();
    Status status(gpuasync_event_wait(token));
    ASSERT_TRUE(status.ok()) << status.message();
    gpuasync_event_release(token);
    ASSERT_EQ(out, std::vector<uint32_t>(64, 8));
  }
}

// T05, M07: contexts are apart; each has its own pools and modules.
TEST_P(Threads, TwoContexts) {
  Context other;
  Status status = Context::open(device().c_str(), other);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(work(*program, 1));
  {
    ContextScope inner(other);
    EXPECT_TRUE(work(*program, 2));
    EXPECT_EQ(readStats(other).launches, 2u);
    // A token of another context is refused.
    gpuasync_event *token = nullptr;
    {
      FrameScope frame(*program);
      gpuasync_stream *stream = frame.stream();
      token = gpuasync_event_export(frame, frame.record(stream), SITE("ret"));
    }
    ContextScope back(context);
    FrameScope frame(*program);
    EXPECT_EQ(gpuasync_event_import(frame, token, SITE("func")), nullptr);
    Status refused = frame.leave();
    EXPECT_NE(std::string(refused.message()).find("another context"),
              std::string::npos);
  }
  EXPECT_EQ(readStats(context).launches, 2u);
  status = other.close();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(work(*program, 3));
}

// C10: contexts come and go.
TEST_P(Threads, ContextChurn_C10) {
  int rounds = onCpu() ? 500 : 5;
  for (int i = 0; i < rounds; ++i) {
    Context temporary;
    Status status = Context::open(device().c_str(), temporary);
    ASSERT_TRUE(status.ok()) << status.message();
    ContextScope inner(temporary);
    ASSERT_TRUE(work(*program, 1));
  }
  // The last reference closed them, although this thread goes on.
  std::lock_guard<std::mutex> lock(gpuasync::process().mutex);
  EXPECT_EQ(gpuasync::process().contexts.size(), 1u);
}

// Closing waits for frames of other threads.
TEST_P(Threads, CloseWaitsForFrames) {
  std::atomic<bool> inside{false};
  std::atomic<int> right{0};
  std::thread worker([&] {
    ContextScope own(context);
    for (int i = 0; i < 1000; ++i) {
      FrameScope frame(*program);
      inside = true;
      if (!frame.entered) {
        EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_SHUT_DOWN));
        break;
      }
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, 64);
      frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
      frame.dealloc(stream, x);
      right += frame.wait({stream}) == 0;
    }
  });
  while (!inside)
    std::this_thread::yield();
  Status status = context.close();
  EXPECT_TRUE(status.ok()) << status.message();
  worker.join();
  EXPECT_GT(right, 0);
}

// Threads that come and go, each with streams of its own and one of the
// caller's, leave nothing behind but what the context keeps for all.
TEST_P(Threads, WhatEndedThreadsLeaveIsUsedAgain_M05) {
  constexpr uint32_t count = 1 << 18; // 1 MB
  const std::vector<uint32_t> in(count, 5);
  uint32_t *x = nullptr, *flag = nullptr;
  {
    FrameScope frame(*program);
    x = frame.alloc(nullptr, count);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  }
  uint64_t before = 0;
  for (int i = 0; i < 50; ++i) {
    __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
    gpuasync_stream *mine = nullptr;
    ASSERT_EQ(gpuasync_context_stream_create(context.get(), &mine), nullptr);
    std::thread([&] {
      ContextScope own(context);
      FrameScope frame(*program);
      gpuasync_stream *stream = gpuasync_stream_external(
          frame, 0, gpuasync_context_stream_native(mine), SITE("external"));
      frame.launch(stream, Gate, 1, 1, GateParams{flag});
      frame.copy(stream, x, in.data(), 4ull * count); // staged
      frame.destroy(stream, false);
      for (int j = 0; j < 16; ++j)
        frame.stream();
      openGate(flag); // before a failure would wait for it
    }).join();
    EXPECT_EQ(gpuasync_context_stream_synchronize(mine), nullptr);
    gpuasync_context_stream_destroy(mine);
    if (i == 2)
      before = readStats(context).deviceBytes;
  }
  gpuasync_stats stats = readStats(context);
  EXPECT_LE(stats.deviceBytes, before + (4 << 20));
  EXPECT_LE(stats.streams.physical, 100u);
  FrameScope frame(*program);
  frame.dealloc(nullptr, x);
  frame.dealloc(nullptr, flag);
}

// The same of threads that are there at once: of their idle streams the context
// keeps no more than of its own.
TEST_P(Threads, StreamsOfManyEndedThreads_M05) {
  constexpr int count = 20;
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      ContextScope own(context);
      FrameScope frame(*program);
      for (int j = 0; j < 16; ++j)
        frame.stream();
      ++made;
      while (made < count)
        std::this_thread::yield();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(work(*program, 1)); // gives back what is too much
  EXPECT_LE(readStats(context).streams.physical, 100u);
}

} // namespace
