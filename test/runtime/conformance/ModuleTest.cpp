//===- ModuleTest.cpp - Loading and unloading of modules ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Program.h promises, on every device. The rules in detail are tested in
// unit/ModuleCacheTest.cpp.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "gpuasync/Program.h"
#include "shim/context/ContextImpl.h"

#include <array>
#include <atomic>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Modules : public DeviceTest {
protected:
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
  /// The image that the device takes.
  const gpuasync_image &image() {
    for (const gpuasync_image &image : program->images)
      if (gpuasync::vendorNamed(device().c_str())->reads(image.format))
        return image;
    return program->images[0];
  }
};
INSTANTIATE_OVER_DEVICES(Modules);

// C08, L07: released, loaded again, right again; nothing is released twice.
TEST_P(Modules, ReleaseAndLoadAgain_C08) {
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(work(*program, i));
    EXPECT_EQ(readStats(context).modules.physical, 1u);
    EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
    EXPECT_EQ(gpuasync_modules_release(context.get()), 0u);
    EXPECT_EQ(readStats(context).modules.physical, 0u);
  }
  EXPECT_EQ(readStats(context).moduleCacheMisses, 5u);
}

// C07: work on a caller's stream outlives its frame and keeps the module.
TEST_P(Modules, CallersStreamKeepsItsModule_C07) {
  gpuasync_stream *callers = nullptr;
  Status status(gpuasync_context_stream_create(context.get(), &callers));
  ASSERT_TRUE(status.ok()) << status.message();
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(callers), SITE("external"));
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
  }
  EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
  EXPECT_EQ(readStats(context).modules.physical, 1u);
  openGate(flag);
  status = Status(gpuasync_context_stream_synchronize(callers));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(work(*program, 1));
  EXPECT_EQ(readStats(context).moduleCacheMisses, 2u); // it had gone
  gpuasync_context_stream_destroy(callers);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// L04, X07: what was prepared, in several contexts, is found by the frames.
TEST_P(Modules, PrepareSeveralContexts_X07_L04) {
  Context second;
  ASSERT_TRUE(Context::open(device().c_str(), second).ok());
  TestProgram other(TestProgram::All, "other");
  const gpuasync_program *programs[] = {&program->program, &other.program};
  gpuasync_context *contexts[] = {context.get(), second.get()};
  Status status(gpuasync_prepare(programs, 2, contexts, 2, 4));
  ASSERT_TRUE(status.ok()) << status.message();
  uint64_t misses = device() == "cpu" ? 2 : 1; // its images have no hash
  EXPECT_EQ(readStats(context).moduleCacheMisses, misses);
  EXPECT_EQ(readStats(second).moduleCacheMisses, misses);
  EXPECT_TRUE(work(*program, 1));
  {
    ContextScope inner(second);
    EXPECT_TRUE(work(other, 2));
  }
  EXPECT_EQ(readStats(context).moduleCacheMisses, misses);
  EXPECT_EQ(readStats(second).moduleCacheMisses, misses);
  status = second.close();
  EXPECT_TRUE(status.ok()) << status.message();
}

struct Hook {
  gpuasync_image image;
  std::atomic<int> compiled{0}, discarded{0};
};

// C17: a hook gives other bytes, and fails; an insertion comes ahead of it.
TEST_P(Modules, CompileHookAndInsert_C17_C06) {
  program = std::make_unique<TestProgram>(TestProgram::All -
                                          TestProgram::CudaWaiting);
  // Copies, so that it shows which bytes were loaded and when they may go.
  std::vector<char> bytes(static_cast<const char *>(image().data),
                          static_cast<const char *>(image().data) +
                              image().size);
  bytes.push_back(0);
  Hook hook;
  hook.image = image();
  hook.image.data = bytes.data();
  gpuasync_module_hooks hooks{};
  hooks.user = &hook;
  hooks.compile = [](void *user, const gpuasync_module_request *request,
                     gpuasync_image *image) -> gpuasync_status * {
    auto &hook = *static_cast<Hook *>(user);
    EXPECT_EQ(request->image->format, hook.image.format);
    if (++hook.compiled == 1)
      return gpuasync_status_make(GPUASYNC_UNSUPPORTED, "try again");
    *image = hook.image;
    return nullptr;
  };
  hooks.discard = [](void *user, const gpuasync_image *) {
    ++static_cast<Hook *>(user)->discarded;
  };
  Status status(gpuasync_modules_hook(context.get(), &hooks));
  ASSERT_TRUE(status.ok()) << status.message();
  {
    FrameScope frame(*program);
    EXPECT_NE(std::string(frame.leave().message())
                  .find("the compile hook failed for module 'kernels': try "
                        "again"),
              std::string::npos);
  }
  EXPECT_EQ(hook.discarded, 0);
  EXPECT_TRUE(work(*program, 3));
  EXPECT_EQ(hook.compiled, 2);
  EXPECT_EQ(hook.discarded, 1);
  EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
  status = Status(gpuasync_modules_hook(context.get(), nullptr));
  EXPECT_TRUE(status.ok());
  status = Status(gpuasync_modules_insert(context.get(), &program->program, 0,
                                          &hook.image));
  ASSERT_TRUE(status.ok()) << status.message();
  uint64_t misses = readStats(context).moduleCacheMisses;
  EXPECT_TRUE(work(*program, 4));
  EXPECT_EQ(readStats(context).moduleCacheMisses, misses);
  EXPECT_EQ(hook.compiled, 2);
  gpuasync_status_free(gpuasync_program_release(&program->program));
}

// C13: a limit of one module holds while two programs take turns.
TEST_P(Modules, LimitOfOne_C13) {
  TestProgram other(TestProgram::All, "other");
  for (gpuasync_image &image : other.images)
    image.hash[1] += image.format != GPUASYNC_IMAGE_CPU;
  Status status(gpuasync_modules_limit(context.get(), UINT64_MAX, 1, 0));
  ASSERT_TRUE(status.ok()) << status.message();
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(work(*program, i));
    EXPECT_EQ(readStats(context).modules.physical, 1u);
    EXPECT_TRUE(work(other, i));
    EXPECT_EQ(readStats(context).modules.physical, 1u);
  }
  EXPECT_EQ(readStats(context).moduleCacheEvictions, 9u);
}

// C12: release of all while eight threads launch.
TEST_P(Modules, ReleaseAllWhileOthersLaunch_C12) {
  int rounds = onCpu() ? 100 : 20;
  std::atomic<int> right{0}, running{8};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      ContextScope own(context);
      for (int j = 0; j < rounds; ++j)
        right += work(*program, static_cast<uint32_t>(j));
      --running;
    });
  while (running)
    gpuasync_modules_release(nullptr);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 8 * rounds);
  gpuasync_modules_release(nullptr);
  EXPECT_EQ(readStats(context).modules.physical, 0u);
}

bool isPaused(const Context &context) {
  std::lock_guard<std::mutex> lock(context.get()->poolMutex);
  return context.get()->pausedBy != nullptr;
}

// B02, C07, M05: a trim lets open frames end, on whose threads others may
// begin, holds up those of other threads, and unloads when all have ended.
TEST_P(Modules, TrimWaitsForOpenFrames_B02_C07) {
  TestProgram other(TestProgram::All, "other"), third(TestProgram::All, "3rd");
  for (TestProgram *made : {&other, &third})
    for (gpuasync_image &image : made->images)
      image.hash[1] += (image.format != GPUASYNC_IMAGE_CPU) * (made == &other);
  EXPECT_TRUE(work(other, 1));
  std::atomic<int> stage{0};
  std::atomic<bool> lateRan{false};
  uint32_t *flag = nullptr;
  std::thread holder([&] {
    ContextScope own(context);
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    stage = 1;
    while (!isPaused(context))
      std::this_thread::yield();
    // Programs with and without an instance in the context.
    EXPECT_TRUE(work(other, 2));
    EXPECT_TRUE(work(third, 3));
    stage = 2;
    frame.wait({stream});
    frame.destroy(stream);
    frame.dealloc(nullptr, flag);
  });
  while (stage < 1)
    std::this_thread::yield();
  EXPECT_EQ(gpuasync_modules_release(context.get()), 2u);
  Status trimmed;
  std::thread trimmer([&] { trimmed = context.trim(); });
  while (stage < 2)
    std::this_thread::yield();
  Status second = context.trim(0);
  EXPECT_EQ(second.code(), uint32_t(GPUASYNC_TIMEOUT));
  EXPECT_NE(std::string(second.message()).find("another thread"),
            std::string::npos);
  uint64_t loaded = readStats(context).modules.physical;
  EXPECT_GE(loaded, 2u);
  std::thread late([&] {
    ContextScope own(context);
    EXPECT_TRUE(work(other, 4));
    lateRan = true;
  });
  for (int i = 0; i < 1000; ++i)
    std::this_thread::yield();
  EXPECT_FALSE(lateRan);
  EXPECT_EQ(readStats(context).modules.physical, loaded);
  uint64_t misses = readStats(context).moduleCacheMisses;
  openGate(flag);
  holder.join();
  trimmer.join();
  late.join();
  EXPECT_TRUE(trimmed.ok()) << trimmed.message();
  EXPECT_TRUE(lateRan);
  // It had to load again.
  EXPECT_EQ(readStats(context).moduleCacheMisses, misses + 1);
  gpuasync_status_free(gpuasync_program_release(&third.program));
}

// C07, M05: memory is bounded although some frame is always open; what nobody
// can wait for is said.
TEST_P(Modules, TrimUnderALoadThatNeverPauses_C07_M05) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::array<std::atomic<int>, 4> frames{};
  std::vector<std::thread> threads;
  for (std::atomic<int> &count : frames)
    threads.emplace_back([&] {
      ContextScope own(context);
      while (!stop) {
        wrong += !work(*program, 3);
        ++count;
      }
    });
  // Each thread begins and ends a frame: also the one that loads the module,
  // which the others need not wait for once it is loaded, has counted its miss.
  auto some = [&] {
    std::array<int, 4> before;
    for (size_t i = 0; i < frames.size(); ++i)
      before[i] = frames[i];
    for (size_t i = 0; i < frames.size(); ++i)
      while (frames[i] < before[i] + 5)
        std::this_thread::yield();
  };
  some();
  for (uint64_t i = 1; i <= 10; ++i) {
    EXPECT_EQ(gpuasync_modules_release(context.get()), 1u);
    Status status = context.trim();
    EXPECT_TRUE(status.ok()) << status.message();
    some();
    EXPECT_EQ(readStats(context).moduleCacheMisses, i + 1);
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  FrameScope frame(*program);
  Status inside = context.trim();
  EXPECT_EQ(inside.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  std::thread([&] {
    ContextScope own(context);
    Status status = context.trim(0.001);
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
    EXPECT_NE(std::string(status.message())
                  .find("within 0.001 s: a frame of program 'test' is open"),
              std::string::npos)
        << status.message();
    EXPECT_TRUE(work(*program, 5));
  }).join();
}

// C07, B05: what may still run when the time is over is not forgotten, and its
// release can be repeated.
TEST_P(Modules, ReleaseSaysWhetherTheCodeMayGo_C07_B05) {
  uint32_t *flag = nullptr;
  TestProgram other(TestProgram::All, "other");
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  {
    FrameScope frame(other);
    // From inside a frame of its own it cannot be.
    Status inside(gpuasync_program_release(&other.program));
    EXPECT_EQ(inside.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT))
        << inside.message();
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    frame.destroy(stream, false);
  }
  gpuasync_set_timeout(0.02);
  for (int i = 0; i < 2; ++i) {
    Status status(gpuasync_program_release(&other.program));
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT)) << status.message();
    EXPECT_NE(std::string(status.message())
                  .find("program 'other' may still "
                        "run"),
              std::string::npos)
        << status.message();
    EXPECT_NE(std::string(status.message()).find("gate"), std::string::npos)
        << status.message();
    EXPECT_NE(other.slot, nullptr);
  }
  gpuasync_set_timeout(0);
  // Of two threads none says so too early.
  {
    Watched first(
        [&] { EXPECT_EQ(gpuasync_program_release(&other.program), nullptr); });
    first.settle();
    Watched second(
        [&] { EXPECT_EQ(gpuasync_program_release(&other.program), nullptr); });
    second.settle();
    EXPECT_FALSE(first.isOver() || second.isOver());
    openGate(flag);
  }
  EXPECT_EQ(other.slot, nullptr);
  EXPECT_EQ(gpuasync_program_release(&other.program), nullptr);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

} // namespace
