//===- LoaderTest.cpp - Device work while the loader is locked ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that is in dlopen or dlclose holds the loader's lock while it runs
// initialisers and destructors. These may call compiled code, or wait for work:
// no thread of the device may need that lock. Each test is a process of its
// own, so that it is the first to use whatever it uses; a hang ends it.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "FreshProcess.h"
#include "RegionFixture.h"
#include "gpuasync/Trace.h"

#include <dlfcn.h>
#include <functional>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

/// Threads that are in dlopen, by the runtime's calls of it.
static std::atomic<int> opening{0};

extern "C" {
void *__real_dlopen(const char *file, int mode);
void *__wrap_dlopen(const char *file, int mode) {
  ++opening;
  void *library = __real_dlopen(file, mode);
  --opening;
  return library;
}
}

namespace {

//===----------------------------------------------------------------------===//
// Under the loader's lock
//===----------------------------------------------------------------------===//

std::function<void()> body;

void setVariable(const char *name) {
  char address[32];
  snprintf(address, sizeof(address), "%llx",
           static_cast<unsigned long long>(
               reinterpret_cast<uintptr_t>(+[] { body(); })));
  setenv(name, address, /*overwrite=*/1);
}

void *openLibrary() {
  void *library = __real_dlopen(LOADER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

void runInInitialiser(std::function<void()> what) {
  body = std::move(what);
  setVariable("GPUASYNC_TEST_INITIALISER");
  void *library = openLibrary();
  unsetenv("GPUASYNC_TEST_INITIALISER");
  dlclose(library);
}

void runInDestructor(std::function<void()> what) {
  body = std::move(what);
  void *library = openLibrary();
  setVariable("GPUASYNC_TEST_DESTRUCTOR");
  dlclose(library);
  unsetenv("GPUASYNC_TEST_DESTRUCTOR");
}

/// Runs it while another thread is in dlopen, and stays there until it is over.
void runBesideTheLoader(std::function<void()> what) {
  std::atomic<bool> held{false}, over{false};
  std::thread holder([&] {
    runInInitialiser([&] {
      held = true;
      while (!over)
        std::this_thread::yield();
    });
  });
  while (!held)
    std::this_thread::yield();
  what();
  over = true;
  holder.join();
}

//===----------------------------------------------------------------------===//
// What the device's threads do
//===----------------------------------------------------------------------===//

uint32_t *makeFlag(FrameScope &frame, uint32_t words = 1) {
  auto *flag = frame.alloc(nullptr, words, GPUASYNC_ALLOC_HOST_SHARED);
  memset(flag, 0, words * sizeof(uint32_t));
  return flag;
}

/// Kernels on streams that are forked and joined; large ones, which threads
/// share; ones with workgroup memory; ones that wait for each other.
void useStreams(TestProgram &program) {
  constexpr uint32_t words = 1 << 20;
  FrameScope frame(program);
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  uint32_t *x = frame.alloc(nullptr, words), *y = frame.alloc(nullptr, 4);
  uint32_t *flags = makeFlag(frame, 32);
  std::vector<uint32_t> out(words), input(words, 3);
  for (int round = 0; round < 4; ++round) {
    frame.copy(a, x, input.data(), words * 4);
    gpuasync_event *uploaded = frame.record(a);
    frame.launch(a, MulAdd, words / 256, 256, MulAddParams{x, words, 2, 1});
    frame.waitEvent(b, uploaded);
    for (uint32_t size : {1000u, 20000u})
      frame.launch(b, Shared, 4, 1, SharedParams{y, size}, size * 4);
    flags[0] = flags[16] = 0;
    frame.launch(a, Meet, 1, 1, MeetParams{flags, flags + 16});
    frame.launch(b, Meet, 1, 1, MeetParams{flags + 16, flags});
    gpuasync_event *forked = frame.record(b);
    frame.waitEvent(a, forked);
    frame.copy(a, out.data(), x, words * 4);
    EXPECT_EQ(frame.wait({a, b}), 0);
    EXPECT_EQ(out, std::vector<uint32_t>(words, 7));
    frame.destroy(uploaded);
    frame.destroy(forked);
  }
  frame.dealloc(a, x);
  frame.dealloc(b, y);
  frame.dealloc(nullptr, flags);
}

/// Recorded work, an assert, a function of the host, text of a kernel, a wait
/// that gives up.
void useTheRest(TestProgram &program) {
  {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 4096);
    for (int pass = 0; pass < 3; ++pass) {
      RegionScope region(frame, REGION);
      frame.launch(stream, Store, 64, 64, StoreParams{x, 5});
      frame.launch(stream, MulAdd, 64, 64, MulAddParams{x, 4096, 3, 1});
    }
    uint32_t word = 0;
    frame.copy(stream, &word, x, 4);
    EXPECT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(word, 16u);
    frame.dealloc(stream, x);
  }
  {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Fail, 4, 1, FailParams{1});
    EXPECT_EQ(frame.wait({stream}), 1);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
  }
  {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    static std::atomic<int> calls;
    calls = 0;
    Status status(gpuasync_stream_enqueue_host(
        static_cast<gpuasync_stream *>(
            gpuasync_stream_native(frame, stream, SITE("library.call"))),
        [](void *) {
          gpuasync_cpu_printf(nullptr, "%s %d %.3f\n", "a kernel's text", 7,
                              0.5);
          return int32_t(++calls > 1);
        },
        nullptr, 0));
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(calls, 1);
  }
  uint32_t *flag = nullptr;
  {
    FrameScope frame(program);
    flag = makeFlag(frame);
  }
  {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    gpuasync_set_timeout(0.01);
    EXPECT_EQ(frame.wait({stream}), 1);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_TIMEOUT));
    gpuasync_set_timeout(0);
    openGate(flag);
  }
  FrameScope frame(program);
  frame.dealloc(nullptr, flag);
}

/// Everything from the opening of a context to its close, with a trace and
/// without one, under either schedule.
void useTheDevice() {
  for (const char *schedule : {"fair", "adversarial:7"}) {
    ASSERT_EQ(gpuasync_set_cpu_schedule(schedule), nullptr);
    for (bool traced : {false, true}) {
      if (traced)
        EXPECT_EQ(gpuasync_trace_start(nullptr), nullptr);
      Context context;
      Status status = Context::open("cpu", context);
      ASSERT_TRUE(status.ok()) << status.message();
      TestProgram program;
      auto work = [&] {
        ContextScope scope(context);
        useStreams(program);
        useTheRest(program);
      };
      work();
      std::thread other(work); // and the end of a thread
      other.join();
      status = Status(gpuasync_program_release(&program.program));
      EXPECT_TRUE(status.ok()) << status.message();
      status = context.close();
      EXPECT_TRUE(status.ok()) << status.message();
      if (traced)
        EXPECT_EQ(gpuasync_trace_stop(), nullptr);
    }
  }
}

//===----------------------------------------------------------------------===//
// The tests
//===----------------------------------------------------------------------===//

// X11: a plugin's initialiser may call compiled code.
FRESH_PROCESS_TEST(Loader, CallsInAnInitialiser_X11) {
  runInInitialiser(useTheDevice);
  return 0;
}

FRESH_PROCESS_TEST(Loader, CallsInADestructor_X11) {
  runInDestructor(useTheDevice);
  return 0;
}

FRESH_PROCESS_TEST(Loader, CallsBesideTheLoader_X11) {
  runBesideTheLoader(useTheDevice);
  return 0;
}

// A library whose code is pending on a caller's stream is closed: that waits.
FRESH_PROCESS_TEST(Loader, ReleaseWithWorkPending_X11) {
  Context context;
  EXPECT_TRUE(Context::open("cpu", context).ok());
  ContextScope scope(context);
  TestProgram program;
  gpuasync_stream *mine = nullptr;
  EXPECT_EQ(gpuasync_context_stream_create(context.get(), &mine), nullptr);
  uint32_t flag = 0, out = 0;
  {
    FrameScope frame(program);
    gpuasync_stream *stream = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(mine), SITE("external"));
    frame.launch(stream, Gate, 1, 1, GateParams{&flag});
    frame.launch(stream, Shared, 1, 1, SharedParams{&out, 5000}, 20000);
    frame.destroy(stream);
  }
  Watched closing([&] {
    runInDestructor([&] {
      Status status(gpuasync_program_release(&program.program));
      EXPECT_TRUE(status.ok()) << status.message();
    });
  });
  closing.settle();
  EXPECT_FALSE(closing.isOver());
  openGate(&flag);
  closing.join();
  EXPECT_EQ(out, 4999u);
  gpuasync_context_stream_destroy(mine);
  return 0;
}

// Two threads use the runtime for the first time: one is in an initialiser and
// holds the loader's lock, the other one is to load a vendor's library. The
// first waits for nothing that the second holds.
FRESH_PROCESS_TEST(Loader, FirstUseByTwoThreads_X09) {
  // Neither is there, so that the search goes on to the cpu.
  setenv("GPU_ASYNC_CUDA_LIBRARY", "/nonexistent/libcuda.so.1", 1);
  setenv("GPU_ASYNC_HIP_LIBRARY", "/nonexistent/libamdhip64.so", 1);
  auto use = [] {
    TestProgram program;
    {
      FrameScope frame(program);
      gpuasync_stream *stream = frame.stream();
      uint32_t *x = frame.alloc(stream, 64);
      frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
      EXPECT_EQ(frame.wait({stream}), 0);
      frame.dealloc(stream, x);
    }
    gpuasync_context *context = nullptr;
    Status status(gpuasync_context_default(nullptr, &context));
    EXPECT_TRUE(status.ok()) << status.message();
    gpuasync_context_release(context);
    EXPECT_EQ(gpuasync_program_release(&program.program), nullptr);
  };
  std::thread other;
  runInInitialiser([&] {
    other = std::thread(use);
    while (!opening)
      std::this_thread::yield(); // it is, or is about to be, held up there
    use();
  });
  other.join();
  return 0;
}

} // namespace
