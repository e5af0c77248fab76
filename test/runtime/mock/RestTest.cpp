//===- RestTest.cpp - What must not be taken for rest ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unloading and giving back wait for all that runs, so they come when nothing
// does, and nothing begins meanwhile. Vendor calls and kernels are held at
// gates.
//===----------------------------------------------------------------------===//

#include "../../Inputs/TimeLimit.h"
#include "Fixture.h"
#include "gpuasync/Program.h"
#include "shim/context/ContextImpl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// Runs a disabled test in a process of its own.
int runInChild(const char *test, const std::string &device) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    setenv("GPU_ASYNC_TEST_DEVICE", device.c_str(), 1);
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
          (std::string("--gtest_filter=") + test).c_str(), nullptr);
    _exit(127);
  }
  int result = 0;
  waitpid(child, &result, 0);
  return result;
}

// Run by Rest.WhatAnotherContextLeftBehind_B05, in a process that ends with its
// kernel unfinished.
TEST(RestBody, DISABLED_LeftBehind) {
  const LeftBehind meant;
  alarm(gpuasync_test::timeLimit(30)); // a hang ends it
  const char *device = getenv("GPU_ASYNC_TEST_DEVICE");
  Mock *mock = mockOf(device);
  Context first, second, third;
  for (Context *context : {&first, &second, &third})
    ASSERT_TRUE(Context::open(device, *context).ok());
  TestProgram program;
  for (Context *context : {&second, &third, &first}) {
    ContextScope scope(*context);
    FrameScope frame(program);
    if (context != &first)
      continue;
    uint32_t *x = frame.alloc(nullptr, 64);
    gpuasync_stream *stream = frame.stream();
    mock->mock_gate_close("store");
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    frame.destroy(stream, false);
  }
  gpuasync_set_timeout(0.05);
  EXPECT_EQ(first.close().code(), uint32_t(GPUASYNC_TIMEOUT));
  Status closed = second.close();
  EXPECT_EQ(closed.code(), uint32_t(GPUASYNC_TIMEOUT));
  EXPECT_NE(std::string(closed.message()).find("another context"),
            std::string::npos)
      << closed.message();
  // Once it has ended nothing is in the way.
  mock->mock_gate_open("store");
  mock->mock_streams_wait();
  closed = third.close();
  EXPECT_TRUE(closed.ok()) << closed.message();
}

class Rest : public DeviceTest {
protected:
  void TearDown() override {
    mock->mock_gate_open("store");
    Status status(gpuasync_program_release(&second.program));
    EXPECT_TRUE(status.ok()) << status.message();
    DeviceTest::TearDown();
  }
  /// The vendor's name of a call that CUDA names `name`.
  std::string call(const std::string &name) {
    if (device() == "cuda")
      return "cu" + name;
    return name == "MemHostUnregister" ? "hipHostUnregister"
           : name == "StreamCreate"    ? "hipStreamCreateWithFlags"
           : name == "LaunchKernel"    ? "hipModuleLaunchKernel"
                                       : "hip" + name;
  }
  uint64_t calls(const char *name) {
    return mock->mock_calls(call(name).c_str());
  }
  /// Work that the gate holds, on a stream that nobody has.
  uint32_t *beginHeld(TestProgram &program) {
    FrameScope frame(program);
    uint32_t *x = frame.alloc(nullptr, 64);
    gpuasync_stream *stream = frame.stream();
    mock->mock_gate_close("store");
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    frame.destroy(stream, false);
    return x;
  }
  uint32_t *beginHeldOn(gpuasync_stream *callers, TestProgram &program) {
    FrameScope frame(program);
    uint32_t *x = frame.alloc(nullptr, 64);
    gpuasync_stream *stream = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(callers), SITE("external"));
    mock->mock_gate_close("store");
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    frame.destroy(stream, false);
    return x;
  }
  void free(uint32_t *x) {
    FrameScope frame(*program);
    frame.dealloc(nullptr, x);
  }
  /// While a thread releases another program, which waits for all pending work,
  /// nobody takes that for rest. `query`: what it asks meanwhile.
  void expectLoadedWhileAwaited(const char *query) {
    uint64_t unloads = calls("ModuleUnload"), asked = calls(query);
    Watched releasing([&] {
      Status status(gpuasync_program_release(&second.program));
      EXPECT_TRUE(status.ok()) << status.message();
    });
    // The first may be another one's; then it asks without end.
    while (calls(query) < asked + 8)
      std::this_thread::yield();
    Watched other([&] { gpuasync_modules_release(context.get()); });
    other.settle(); // unloading waits for the gate
    EXPECT_EQ(calls("ModuleUnload"), unloads);
    mock->mock_gate_open("store");
    other.join();
    releasing.join();
    EXPECT_EQ(calls("ModuleUnload"), unloads + 2);
  }
  void enter(TestProgram &program) {
    FrameScope frame(program);
    EXPECT_TRUE(frame.entered);
  }

  /// A program of other content.
  struct Second : TestProgram {
    Second() : TestProgram(All, "second") {
      for (gpuasync_image &image : images)
        if (image.format != GPUASYNC_IMAGE_CPU)
          image.hash[0] = 0x9999;
    }
  } second;
};
INSTANTIATE_OVER_DEVICES(Rest);

TEST_P(Rest, WorkThatAThreadWaitsForStillRuns_C07) {
  enter(second);
  uint32_t *x = beginHeld(*program);
  expectLoadedWhileAwaited("StreamQuery");
  free(x);
}

TEST_P(Rest, CallersWorkThatAThreadWaitsForStillRuns_C07) {
  gpuasync_stream *mine = nullptr;
  ASSERT_EQ(gpuasync_context_stream_create(context.get(), &mine), nullptr);
  enter(second);
  uint32_t *x = beginHeldOn(mine, *program);
  expectLoadedWhileAwaited("EventQuery");
  gpuasync_context_stream_destroy(mine);
  free(x);
}

// What an earlier frame left on a caller's stream is not forgotten because a
// frame of another program works there now.
TEST_P(Rest, EarlierWorkOnACallersStreamIsNotForgotten_C07) {
  gpuasync_stream *mine = nullptr;
  ASSERT_EQ(gpuasync_context_stream_create(context.get(), &mine), nullptr);
  enter(second); // loading would wait for the gate
  uint32_t *x = beginHeldOn(mine, *program);
  {
    FrameScope frame(second);
    gpuasync_stream_external(frame, 0, gpuasync_context_stream_native(mine),
                             SITE("external"));
    Watched releasing([&] {
      Status status(gpuasync_program_release(&program->program));
      EXPECT_TRUE(status.ok()) << status.message();
    });
    releasing.settle();
    EXPECT_FALSE(releasing.isOver());
    mock->mock_gate_open("store");
  }
  gpuasync_context_stream_destroy(mine);
  free(x);
}

// Contexts that were opened on one device share the vendor's, whose calls wait
// for the kernels of both.
TEST_P(Rest, WorkOfAnotherContextOfTheDevice_B02) {
  Context other;
  ASSERT_TRUE(Context::open(device().c_str(), other).ok());
  {
    ContextScope inner(other);
    enter(second);
  }
  uint32_t *x = beginHeld(*program);
  uint64_t unloads = calls("ModuleUnload");
  Watched releasing([&] { gpuasync_modules_release(other.get()); });
  releasing.settle(); // unloading waits for the gate
  EXPECT_EQ(calls("ModuleUnload"), unloads);
  mock->mock_gate_open("store");
  mock->mock_streams_wait();
  releasing.join();
  free(x);
  EXPECT_EQ(gpuasync_modules_release(other.get()), 0u);
  EXPECT_EQ(calls("ModuleUnload"), unloads + 1);
  Status closed = other.close();
  EXPECT_TRUE(closed.ok()) << closed.message();
}

// B05: what a context left behind when it was closed holds up no other's close.
TEST_P(Rest, WhatAnotherContextLeftBehind_B05) {
  EXPECT_EQ(runInChild("RestBody.DISABLED_LeftBehind", device()), 0);
}

/// B02: while `giveBack` is held in the vendor's call that waits for all
/// kernels, no frame begins whose kernel it would wait for.
class NothingBegins : public Rest {
protected:
  /// `device`: the frame is one of a context that is opened there meanwhile.
  template <typename GiveBack>
  void expectHeldUp(const char *vendorCall, GiveBack giveBack,
                    const char *device = nullptr) {
    std::string gate = call(vendorCall);
    uint64_t launches = calls("LaunchKernel");
    mock->mock_gate_close(gate.c_str());
    {
      Watched giving([&] { giveBack(); });
      mock->mock_gate_wait(gate.c_str(), 1);
      Context opened;
      if (device)
        EXPECT_TRUE(Context::open(device, opened).ok());
      Watched beginning([&] {
        ContextScope own(device ? opened : context);
        FrameScope frame(*program);
        gpuasync_stream *stream = frame.stream();
        uint32_t *x = frame.alloc(stream, 64);
        frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
        frame.dealloc(stream, x);
        frame.wait({stream});
      });
      beginning.settle();
      EXPECT_EQ(calls("LaunchKernel"), launches);
      mock->mock_gate_open(gate.c_str());
    }
    EXPECT_EQ(calls("LaunchKernel"), launches + 1);
  }
};
INSTANTIATE_OVER_DEVICES(NothingBegins);

TEST_P(NothingBegins, WhileModulesAreUnloaded_B02) {
  enter(*program);
  expectHeldUp("ModuleUnload",
               [&] { gpuasync_modules_release(context.get()); });
}

TEST_P(NothingBegins, InAContextThatIsOpenedMeanwhile_B02) {
  enter(*program);
  expectHeldUp(
      "ModuleUnload", [&] { gpuasync_modules_release(context.get()); },
      device().c_str());
}

TEST_P(NothingBegins, WhileAFramesEnterGivesBack_B02) {
  static uint32_t memory[4096];
  {
    FrameScope frame(*program);
    gpuasync_host_register(frame, memory, sizeof(memory), SITE("register"));
    gpuasync_host_unregister(frame, memory, SITE("unregister"));
  }
  expectHeldUp("MemHostUnregister", [&] {
    ContextScope own(context);
    enter(*program);
  });
}

TEST_P(NothingBegins, WhileALoadMakesRoom_B02) {
  enter(*program);
  ASSERT_EQ(gpuasync_modules_limit(context.get(), UINT64_MAX, 1, 0), nullptr);
  expectHeldUp("ModuleUnload", [&] {
    ContextScope own(context);
    enter(second);
  });
}

TEST_P(NothingBegins, WhileAReleasedProgramIsUnloaded_B02) {
  enter(*program);
  enter(second);
  expectHeldUp("ModuleUnload", [&] {
    Status status(gpuasync_program_release(&second.program));
    EXPECT_TRUE(status.ok()) << status.message();
  });
}

// A program whose work is done can be released while another one's kernel runs:
// that is not waited for, and the module goes when it has ended.
TEST_P(Rest, ReleaseDoesNotWaitForFramesOfOthers_B02) {
  enter(second);
  uint64_t unloads = calls("ModuleUnload");
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    mock->mock_gate_close("store");
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
    Watched releasing([&] {
      Status status(gpuasync_program_release(&second.program));
      EXPECT_TRUE(status.ok()) << status.message();
    });
    releasing.settle();
    EXPECT_TRUE(releasing.isOver());
    EXPECT_EQ(second.slot, nullptr);
    EXPECT_EQ(calls("ModuleUnload"), unloads);
    mock->mock_gate_open("store");
    releasing.join();
    frame.dealloc(stream, x);
    frame.wait({stream});
    frame.destroy(stream);
  }
  {
    FrameScope frame(*program); // looks at what waits for rest
  }
  EXPECT_EQ(calls("ModuleUnload"), unloads + 1);
}

/// Calls that are under way when the context is closed.
class UnderWay : public Rest {
protected:
  /// Closes the context on another thread while `calling` stands at the gate of
  /// `vendorCall`; until that thread is held up, or to the end.
  template <typename Calling>
  Status closeDuring(const char *vendorCall, bool toTheEnd, Calling calling) {
    std::string gate = call(vendorCall);
    mock->mock_gate_close(gate.c_str());
    Status closed;
    Watched first([&] { calling(); });
    mock->mock_gate_wait(gate.c_str(), 1);
    Watched closing([&] { closed = context.close(); });
    auto isClosing = [&] {
      return context.get()->state.load() != gpuasync_context::State::Open;
    };
    while (!closing.isOver() && !isClosing())
      std::this_thread::yield();
    toTheEnd ? closing.join() : closing.settle();
    mock->mock_gate_open(gate.c_str());
    first.join();
    closing.join();
    return closed;
  }
  gpuasync_event *makeToken() {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    return gpuasync_event_export(frame, frame.record(stream), SITE("return"));
  }
};
INSTANTIATE_OVER_DEVICES(UnderWay);

TEST_P(UnderWay, AWaitForAToken_S07) {
  gpuasync_event *token = makeToken();
  Status closed = closeDuring("EventQuery", false, [&] {
    Status status(gpuasync_event_wait(token));
    EXPECT_TRUE(status.ok()) << status.message();
    gpuasync_event_release(token);
  });
  // It came before or after the release.
  EXPECT_TRUE(closed.ok() || strstr(closed.message(), "1 events"))
      << closed.message();
}

TEST_P(UnderWay, AStreamThatIsMade_S07) {
  gpuasync_stream *mine = nullptr;
  Status closed = closeDuring("StreamCreate", false, [&] {
    Status status(gpuasync_context_stream_create(context.get(), &mine));
    EXPECT_TRUE(status.ok()) << status.message();
  });
  EXPECT_NE(std::string(closed.message()).find("1 streams"), std::string::npos)
      << closed.message();
  gpuasync_context_stream_destroy(mine);
}

// A stream that comes back while its context is closed is the driver's already:
// others of the device, which ask whether all of it rests, do not find it.
TEST_P(UnderWay, AStreamThatComesBack_S07) {
  Context other;
  ASSERT_TRUE(Context::open(device().c_str(), other).ok());
  {
    ContextScope inner(other);
    enter(second);
  }
  gpuasync_stream *mine = nullptr;
  ASSERT_EQ(gpuasync_context_stream_create(context.get(), &mine), nullptr);
  gpuasync_event_release(makeToken());
  const std::string gate = call("EventDestroy");
  mock->mock_gate_close(gate.c_str());
  {
    Watched closing([&] {
      Status closed = context.close();
      EXPECT_NE(std::string(closed.message()).find("1 streams"),
                std::string::npos)
          << closed.message();
    });
    mock->mock_gate_wait(gate.c_str(), 1);
    gpuasync_context_stream_destroy(mine);
    uint64_t asked = calls("StreamQuery");
    gpuasync_modules_release(other.get());
    EXPECT_EQ(calls("StreamQuery"), asked);
    mock->mock_gate_open(gate.c_str());
  }
  Status closed = other.close();
  EXPECT_TRUE(closed.ok()) << closed.message();
}

// A time limit holds for calls that a close waits for too; it can be repeated.
TEST_P(UnderWay, CloseGivesUpAndCanBeRepeated_B05) {
  gpuasync_event *token = makeToken();
  gpuasync_set_timeout(0.05);
  Status closed = closeDuring("EventQuery", true, [&] {
    Status status(gpuasync_event_wait(token));
    EXPECT_TRUE(status.ok()) << status.message();
  });
  gpuasync_set_timeout(0);
  EXPECT_EQ(closed.code(), uint32_t(GPUASYNC_TIMEOUT)) << closed.message();
  gpuasync_event_release(token);
}

} // namespace
