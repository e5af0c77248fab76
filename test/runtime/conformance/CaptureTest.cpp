//===- CaptureTest.cpp - Functions under a caller's stream capture --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Captures frames into a CUDA graph with the driver's own calls, in all three
// modes, and runs the graph. docs/reference/Runtime.md has the rules.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "TestLibrary.h"
#include "gpuasync/Memory.h"
#include "shim/abi/FrameCapture.h"

#include <dlfcn.h>

#include <atomic>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

enum Mode : int { Global, ThreadLocal, Relaxed };

/// Calls of the CUDA driver that an embedder makes; all return CUresult.
struct Cuda {
  int (*streamCreate)(void **stream, unsigned flags) = find("cuStreamCreate");
  int (*streamDestroy)(void *stream) = find("cuStreamDestroy_v2");
  int (*streamSynchronize)(void *stream) = find("cuStreamSynchronize");
  int (*beginCapture)(void *stream, int mode) = find("cuStreamBeginCapture_v2");
  int (*endCapture)(void *stream, void **graph) = find("cuStreamEndCapture");
  int (*instantiate)(void **executable, void *graph, unsigned long long flags) =
      find("cuGraphInstantiateWithFlags");
  int (*graphLaunch)(void *executable, void *stream) = find("cuGraphLaunch");
  int (*executableDestroy)(void *executable) = find("cuGraphExecDestroy");
  int (*graphDestroy)(void *graph) = find("cuGraphDestroy");
  int (*graphNodes)(void *graph, void **nodes,
                    size_t *count) = find("cuGraphGetNodes");
  int (*contextRetain)(void **context,
                       int device) = find("cuDevicePrimaryCtxRetain");
  int (*contextRelease)(int device) = find("cuDevicePrimaryCtxRelease_v2");
  int (*contextSet)(void *context) = find("cuCtxSetCurrent");
  int (*contextGet)(void **context) = find("cuCtxGetCurrent");

private:
  struct Symbol {
    void *address;
    template <typename Function>
    operator Function *() const {
      return reinterpret_cast<Function *>(address);
    }
  };
  static Symbol find(const char *name) {
    const char *path = getenv("GPU_ASYNC_CUDA_LIBRARY");
    static void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
    return {library ? dlsym(library, name) : nullptr};
  }
};

/// An embedder with the primary context current and a stream of its own.
class Capture : public DeviceTest {
protected:
  void SetUp() override {
    if (device() != "cuda")
      GTEST_SKIP() << "no captures on " << device();
    DeviceTest::SetUp();
    if (!context.get())
      return;
    ASSERT_EQ(cuda.contextRetain(&mine, 0), 0);
    ASSERT_EQ(cuda.contextSet(mine), 0);
    ASSERT_EQ(cuda.streamCreate(&stream, 1), 0);
    FrameScope frame(*program);
    x = frame.alloc(nullptr, count);
    shared = frame.alloc(nullptr, count, GPUASYNC_ALLOC_HOST_SHARED);
    spare = frame.alloc(nullptr, count);
    const char *variant = getenv("GPUASYNC_MOCK");
    allocates = !mock || !variant || !strstr(variant, "pools=0");
  }
  void TearDown() override {
    if (stream) {
      {
        FrameScope frame(*program);
        frame.dealloc(nullptr, x);
        frame.dealloc(nullptr, shared);
        frame.dealloc(nullptr, spare);
      }
      EXPECT_EQ(cuda.streamDestroy(stream), 0);
      // The embedder's context was left alone.
      void *current = nullptr;
      EXPECT_EQ(cuda.contextGet(&current), 0);
      EXPECT_EQ(current, mine);
      EXPECT_EQ(cuda.contextSet(nullptr), 0);
      EXPECT_EQ(cuda.contextRelease(0), 0);
    }
    DeviceTest::TearDown();
  }

  /// x[i] = value, now.
  void fill(uint32_t value) {
    FrameScope frame(*program);
    gpuasync_stream *own = frame.stream();
    frame.launch(own, Store, 1, count, StoreParams{x, value});
    frame.wait({own});
    frame.destroy(own);
  }
  std::vector<uint32_t> read() {
    FrameScope frame(*program);
    gpuasync_stream *own = frame.stream();
    frame.copy(own, shared, x, count * 4);
    frame.wait({own});
    frame.destroy(own);
    return std::vector<uint32_t>(shared, shared + count);
  }

  /// What a lowered function does: x = (x * 3 + 1) * 5 + 2 on the caller's
  /// stream and one of its own, with memory of its own.
  Status function(bool joins) {
    FrameScope frame(*program);
    gpuasync_stream *theirs =
        gpuasync_stream_external(frame, 0, stream, SITE("external"));
    gpuasync_stream *own = frame.stream();
    gpuasync_event *event = frame.record(theirs);
    frame.waitEvent(own, event);
    frame.destroy(event);
    uint32_t *temporary = allocates ? frame.alloc(own, count) : spare;
    frame.launch(own, MulAdd, 1, count, MulAddParams{x, count, 3, 1});
    frame.launch(own, AddUp, 1, count, AddUpParams{temporary, x, count, 0});
    frame.launch(own, MulAdd, 1, count, MulAddParams{temporary, count, 5, 2});
    frame.launch(own, AddUp, 1, count, AddUpParams{x, temporary, count, 0});
    if (allocates)
      frame.dealloc(own, temporary);
    if (joins) {
      event = frame.record(own);
      frame.waitEvent(theirs, event);
      frame.destroy(event);
    }
    frame.destroy(own, false);
    frame.destroy(theirs);
    return frame.leave();
  }

  /// Ends the capture and gives the graph, ready to run.
  void *endCapture() {
    void *graph = nullptr, *executable = nullptr;
    EXPECT_EQ(cuda.endCapture(stream, &graph), 0);
    if (!graph)
      return nullptr;
    EXPECT_EQ(cuda.graphNodes(graph, nullptr, &nodes), 0);
    EXPECT_EQ(cuda.instantiate(&executable, graph, 0), 0);
    EXPECT_EQ(cuda.graphDestroy(graph), 0);
    return executable;
  }
  void run(void *executable, int times) {
    for (int i = 0; i < times; ++i)
      ASSERT_EQ(cuda.graphLaunch(executable, stream), 0);
    ASSERT_EQ(cuda.streamSynchronize(stream), 0);
  }
  /// Captures `body` alone, which must fail and leave a capture that ends.
  template <typename Body>
  void expectRefused(const char *what, Body body) {
    ASSERT_EQ(cuda.beginCapture(stream, Global), 0);
    {
      FrameScope frame(*program);
      body(frame);
      Status status = frame.leave();
      EXPECT_EQ(status.code(), GPUASYNC_UNSUPPORTED) << what;
      EXPECT_NE(std::string(status.message()).find(what), std::string::npos)
          << status.message();
      EXPECT_NE(std::string(status.message()).find("test.mlir:"),
                std::string::npos)
          << status.message();
    }
    void *graph = nullptr;
    EXPECT_EQ(cuda.endCapture(stream, &graph), 0) << what;
    if (graph)
      EXPECT_EQ(cuda.graphDestroy(graph), 0);
  }
  gpuasync_stream *external(FrameScope &frame) {
    return gpuasync_stream_external(frame, 0, stream, SITE("external"));
  }

  /// The next question whether a stream is captured fails.
  void failQuestion(int code) {
    const char *variant = getenv("GPUASYNC_MOCK");
    bool old = variant && strstr(variant, "version=12000");
    mock->mock_fail(
        old ? "cuStreamGetCaptureInfo_v2" : "cuStreamGetCaptureInfo", 1, code);
  }

  static constexpr int64_t count = 64;
  Cuda cuda;
  void *mine = nullptr, *stream = nullptr;
  uint32_t *x = nullptr, *shared = nullptr, *spare = nullptr;
  /// A graph holds allocations where there are pools.
  bool allocates = true;
  size_t nodes = 0;
};

INSTANTIATE_OVER_DEVICES(Capture);

/// A runtime whose service for captures is not there.
class CaptureAlone : public Capture {
protected:
  void SetUp() override {
    if (gpuasync::joinCapture)
      GTEST_SKIP() << "this runtime has the service for captures";
    Capture::SetUp();
  }
};

INSTANTIATE_OVER_DEVICES(CaptureAlone);

// Taken for one that is not captured, the stream would run the work at once, or
// the capture would end.
TEST_P(CaptureAlone, CapturedStreamIsRefused_X05) {
  fill(7);
  expectRefused("is being captured into a graph", [&](FrameScope &frame) {
    EXPECT_EQ(external(frame), nullptr);
  });
  // The capture was left alone: work of others still goes into it.
  ASSERT_EQ(cuda.beginCapture(stream, Relaxed), 0);
  {
    FrameScope frame(*program);
    gpuasync_stream *own = frame.stream();
    EXPECT_EQ(external(frame), nullptr);
    EXPECT_EQ(frame.leave().code(), GPUASYNC_UNSUPPORTED);
    (void)own;
  }
  void *executable = endCapture();
  ASSERT_TRUE(executable);
  EXPECT_EQ(nodes, 0u);
  EXPECT_EQ(cuda.executableDestroy(executable), 0);
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 7));
  // Work that is not captured runs, and so does the next call on the stream.
  EXPECT_TRUE(function(true).ok());
  ASSERT_EQ(cuda.streamSynchronize(stream), 0);
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 112));
}

TEST_P(Capture, RunsAThousandTimes_X05) {
  for (Mode mode : {Global, ThreadLocal, Relaxed}) {
    SCOPED_TRACE(mode);
    for (bool joins : {true, false}) {
      fill(7);
      ASSERT_EQ(cuda.beginCapture(stream, mode), 0);
      Status status = function(joins);
      EXPECT_TRUE(status.ok()) << status.message();
      status = function(joins);
      EXPECT_TRUE(status.ok()) << status.message();
      void *executable = endCapture();
      ASSERT_TRUE(executable);
      // Nothing has run yet.
      EXPECT_EQ(read(), std::vector<uint32_t>(count, 7));
      run(executable, 1000);
      uint32_t expected = 7;
      for (int i = 0; i < 2000; ++i)
        expected = (expected * 3 + 1) * 5 + 2;
      EXPECT_EQ(read(), std::vector<uint32_t>(count, expected));
      EXPECT_EQ(cuda.executableDestroy(executable), 0);
    }
  }
}

// A copy that stays is the graph's as long as that may run, whatever the caller
// says of the memory.
TEST_P(Capture, ResidentOfAGraphStays_M10) {
  std::vector<uint32_t> weights(count, 7);
  fill(0);
  ASSERT_EQ(cuda.beginCapture(stream, Relaxed), 0);
  {
    FrameScope frame(*program);
    auto *copy = static_cast<uint32_t *>(gpuasync_resident(
        frame, 0, weights.data(), count * 4, SITE("resident")));
    gpuasync_stream *theirs = external(frame);
    frame.launch(theirs, AddUp, 1, count, AddUpParams{x, copy, count, 5});
    frame.destroy(theirs);
  }
  void *executable = endCapture();
  ASSERT_TRUE(executable);
  ASSERT_EQ(gpuasync_context_trim(context.get(), -1), nullptr);
  uint64_t held = readStats(context).deviceBytes;
  std::fill(weights.begin(), weights.end(), 100u);
  gpuasync_host_memory_changed(weights.data(), count * 4);
  // The context rests, and what is given up would go.
  ASSERT_EQ(gpuasync_context_trim(context.get(), -1), nullptr);
  EXPECT_EQ(readStats(context).deviceBytes, held);
  {
    FrameScope frame(*program);
    EXPECT_NE(gpuasync_resident(frame, 0, weights.data(), count * 4,
                                SITE("resident")),
              nullptr);
  }
  run(executable, 2);
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 12));
  EXPECT_EQ(readStats(context).residentUploads, 2u);
  EXPECT_EQ(cuda.executableDestroy(executable), 0);
}

// Also a copy that was found before the function took the captured stream, and
// given up in between.
TEST_P(Capture, ResidentGivenUpBeforeTheCaptureStays_M10) {
  std::vector<uint32_t> weights(count, 7);
  fill(0);
  ASSERT_EQ(cuda.beginCapture(stream, Relaxed), 0);
  const uint64_t before = readStats(context).deviceBytes;
  {
    FrameScope frame(*program);
    auto *copy = static_cast<uint32_t *>(gpuasync_resident(
        frame, 0, weights.data(), count * 4, SITE("resident")));
    gpuasync_host_memory_changed(weights.data(), count * 4);
    gpuasync_stream *theirs = external(frame);
    frame.launch(theirs, AddUp, 1, count, AddUpParams{x, copy, count, 5});
    frame.destroy(theirs);
  }
  void *executable = endCapture();
  ASSERT_TRUE(executable);
  const uint64_t held = readStats(context).deviceBytes;
  EXPECT_GT(held, before);
  ASSERT_EQ(gpuasync_context_trim(context.get(), -1), nullptr);
  EXPECT_EQ(readStats(context).deviceBytes, held);
  run(executable, 1);
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 12));
  EXPECT_EQ(cuda.executableDestroy(executable), 0);
}

/// A second device, and functions of both.
class CaptureOfTwo : public Capture {
protected:
  void SetUp() override {
    Capture::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    Status status = Context::open((device() + ":1").c_str(), second);
    if (status.code() == GPUASYNC_UNAVAILABLE && !mock)
      GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
    gpuasync_context *both[] = {context.get(), second.get()};
    ASSERT_EQ(gpuasync_scope_push_devices(both, 2), nullptr);
    isPushed = true;
  }
  void TearDown() override {
    if (isPushed)
      gpuasync_scope_pop();
    if (second.get()) {
      program->function.deviceCount = 1;
      Status status = second.close();
      EXPECT_TRUE(status.ok()) << status.message();
    }
    Capture::TearDown();
  }
  /// Expects the error of a frame of both devices that got a captured stream.
  void expectTwoRefused(FrameScope &frame) {
    Status status = frame.leave();
    EXPECT_EQ(status.code(), GPUASYNC_UNSUPPORTED);
    for (const char *part : {"work of several devices", "test.mlir:"})
      EXPECT_NE(std::string(status.message()).find(part), std::string::npos)
          << status.message();
  }
  /// Ends a capture of which nothing is a part.
  void expectEmpty() {
    void *executable = endCapture();
    ASSERT_TRUE(executable);
    EXPECT_EQ(nodes, 0u);
    EXPECT_EQ(cuda.executableDestroy(executable), 0);
  }

  Context second;
  bool isPushed = false;
};

INSTANTIATE_OVER_DEVICES(CaptureOfTwo);

// The graph would hold the work of one device, and the other's would run now.
TEST_P(CaptureOfTwo, FunctionOfBothIsRefused_X05) {
  fill(7);
  program->function.deviceCount = 2;
  void *contexts[2] = {mine, nullptr}, *streams[2] = {stream, nullptr};
  ASSERT_EQ(cuda.contextRetain(&contexts[1], 1), 0);
  ASSERT_EQ(cuda.contextSet(contexts[1]), 0);
  ASSERT_EQ(cuda.streamCreate(&streams[1], 1), 0);
  for (Mode mode : {Global, ThreadLocal, Relaxed}) {
    SCOPED_TRACE(mode);
    for (uint32_t index : {0u, 1u}) {
      ASSERT_EQ(cuda.contextSet(contexts[index]), 0);
      stream = streams[index];
      // First, after a stream, and after work on either device.
      for (int when = 0; when < 4; ++when) {
        SCOPED_TRACE(when);
        ASSERT_EQ(cuda.beginCapture(stream, mode), 0);
        {
          FrameScope frame(*program);
          if (when == 1)
            frame.stream(index);
          if (when > 1) {
            const auto of = static_cast<uint32_t>(when - 2);
            gpuasync_stream *own = frame.stream(of);
            uint32_t *y = frame.alloc(own, count, 0, of);
            frame.launch(own, Store, 1, count, StoreParams{y, 1});
          }
          EXPECT_EQ(
              gpuasync_stream_external(frame, index, stream, SITE("external")),
              nullptr);
          expectTwoRefused(frame);
        }
        expectEmpty();
      }
    }
  }
  EXPECT_EQ(cuda.streamDestroy(streams[1]), 0);
  EXPECT_EQ(cuda.contextSet(mine), 0);
  EXPECT_EQ(cuda.contextRelease(1), 0);
  stream = streams[0];
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 7));
  program->function.deviceCount = 1;
  // Nothing was left in a capture: the same streams serve other calls.
  EXPECT_TRUE(function(true).ok());
  ASSERT_EQ(cuda.streamSynchronize(stream), 0);
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 112));
  for (Context *each : {&context, &second})
    EXPECT_EQ(readStats(*each).streams.live, 0u);
}

// A function of both that a captured one calls runs at once, unless it takes
// the captured stream. The graph holds the work of the captured one only.
TEST_P(CaptureOfTwo, FunctionOfBothInside_X05) {
  std::vector<uint32_t> outs[2] = {std::vector<uint32_t>(count),
                                   std::vector<uint32_t>(count)};
  fill(7);
  ASSERT_EQ(cuda.beginCapture(stream, Global), 0);
  {
    FrameScope outer(*program);
    gpuasync_stream *theirs = external(outer);
    outer.launch(theirs, MulAdd, 1, count, MulAddParams{x, count, 3, 1});
    program->function.deviceCount = 2;
    {
      FrameScope inner(*program);
      for (uint32_t i = 0; i < 2; ++i) {
        gpuasync_stream *own = inner.stream(i);
        uint32_t *y = inner.alloc(own, count, 0, i);
        inner.launch(own, Store, 1, count, StoreParams{y, 8 + i});
        inner.copy(own, outs[i].data(), y, count * 4);
        inner.wait({own});
        inner.dealloc(own, y, i);
        inner.destroy(own);
      }
      Status status = inner.leave();
      EXPECT_TRUE(status.ok()) << status.message();
    }
    {
      FrameScope inner(*program);
      EXPECT_EQ(external(inner), nullptr);
      expectTwoRefused(inner);
    }
    program->function.deviceCount = 1;
    outer.launch(theirs, MulAdd, 1, count, MulAddParams{x, count, 5, 2});
    outer.destroy(theirs);
    Status status = outer.leave();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void *executable = endCapture();
  ASSERT_TRUE(executable);
  EXPECT_EQ(nodes, 2u);
  for (uint32_t i = 0; i < 2; ++i)
    EXPECT_EQ(outs[i], std::vector<uint32_t>(count, 8 + i));
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 7));
  run(executable, 1);
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 112));
  EXPECT_EQ(cuda.executableDestroy(executable), 0);
}

// A function of one device that one of both calls is captured, with what it
// finds there.
TEST_P(CaptureOfTwo, FunctionOfOneInside_M10) {
  std::vector<uint32_t> weights(count, 7);
  fill(0);
  program->function.deviceCount = 2;
  void *executable = nullptr;
  {
    FrameScope outer(*program);
    EXPECT_NE(gpuasync_resident(outer, 1, weights.data(), count * 4,
                                SITE("resident")),
              nullptr);
    auto *copy = static_cast<uint32_t *>(gpuasync_resident(
        outer, 0, weights.data(), count * 4, SITE("resident")));
    ASSERT_EQ(cuda.beginCapture(stream, Global), 0);
    program->function.deviceCount = 1;
    {
      FrameScope inner(*program);
      gpuasync_stream *theirs = external(inner);
      inner.launch(theirs, AddUp, 1, count, AddUpParams{x, copy, count, 5});
      inner.destroy(theirs);
      Status status = inner.leave();
      EXPECT_TRUE(status.ok()) << status.message();
    }
    executable = endCapture();
  }
  ASSERT_TRUE(executable);
  EXPECT_EQ(nodes, 1u);
  uint64_t held[2] = {readStats(context).deviceBytes,
                      readStats(second).deviceBytes};
  gpuasync_host_memory_changed(weights.data(), count * 4);
  for (Context *each : {&context, &second})
    ASSERT_EQ(gpuasync_context_trim(each->get(), -1), nullptr);
  EXPECT_EQ(readStats(context).deviceBytes, held[0]); // the graph's
  if (allocates) // else it lies in a page with others
    EXPECT_LT(readStats(second).deviceBytes, held[1]);
  run(executable, 1);
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 12));
  EXPECT_EQ(cuda.executableDestroy(executable), 0);
}

// X05: what a library enqueues on the streams of a captured function becomes
// part of the graph.
TEST_P(Capture, LibraryCalls_X05) {
  TestProgram library;
  TestLibrary replayable;
  auto call = [&](void *native, uint32_t factor) {
    FrameScope frame(library);
    gpuasync_stream *theirs =
        gpuasync_stream_external(frame, 0, native, SITE("library.stream"));
    frame.launch(theirs, MulAdd, 1, count, MulAddParams{x, count, factor, 1});
    frame.destroy(theirs);
    Status status = frame.leave();
    EXPECT_TRUE(status.ok()) << status.message();
  };
  fill(7);
  ASSERT_EQ(cuda.beginCapture(stream, Global), 0);
  {
    FrameScope frame(*program);
    gpuasync_stream *theirs = external(frame);
    void *native = gpuasync_stream_native(frame, theirs, SITE("library.call"));
    EXPECT_EQ(native, stream);
    call(native, 3);
    gpuasync_stream *own = frame.stream();
    gpuasync_event *event = frame.record(theirs);
    frame.waitEvent(own, event);
    frame.destroy(event);
    const gpuasync_call *captured =
        gpuasync_call_begin(frame, &own, 1, SITE("library.call"));
    ASSERT_NE(captured, nullptr);
    EXPECT_EQ(captured->flags, uint32_t(GPUASYNC_CALL_CAPTURED));
    call(captured->stream, 5);
    gpuasync_call_end(frame, 0, SITE("library.call"));
    // The graph is the caller's, so this one is called as ever.
    gpuasync_region_begin(frame, SITE("region"));
    replayable.call(frame, own, x, count, 2, 1);
    gpuasync_region_end(frame, SITE("region"));
    EXPECT_EQ(replayable.captures, 1u);
    frame.destroy(own, false); // joined when the frame is left
    frame.destroy(theirs);
    Status status = frame.leave();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void *executable = endCapture();
  ASSERT_TRUE(executable);
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 7));
  run(executable, 2);
  uint32_t expected = 7;
  for (int i = 0; i < 2; ++i)
    expected = ((expected * 3 + 1) * 5 + 1) * 2 + 1;
  EXPECT_EQ(read(), std::vector<uint32_t>(count, expected));
  EXPECT_EQ(cuda.executableDestroy(executable), 0);
}

// T08: the same function on streams, as a graph and on the host's processor:
// equal bit for bit.
TEST_P(Capture, StreamsGraphAndHostAgree_T08) {
  constexpr int rounds = 100;
  fill(0x12345678);
  for (int i = 0; i < rounds; ++i) {
    Status status = function(true);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(cuda.streamSynchronize(stream), 0);
  }
  std::vector<uint32_t> streams = read();
  fill(0x12345678);
  ASSERT_EQ(cuda.beginCapture(stream, Global), 0);
  Status status = function(true);
  EXPECT_TRUE(status.ok()) << status.message();
  void *executable = endCapture();
  ASSERT_TRUE(executable);
  run(executable, rounds);
  std::vector<uint32_t> graph = read();
  EXPECT_EQ(cuda.executableDestroy(executable), 0);
  std::vector<uint32_t> host(count);
  {
    Context cpu;
    ASSERT_TRUE(Context::open("cpu", cpu).ok());
    {
      ContextScope scope(cpu);
      FrameScope frame(*program);
      gpuasync_stream *own = frame.stream();
      uint32_t *y = frame.alloc(own, count), *z = frame.alloc(own, count);
      frame.launch(own, Store, 1, count, StoreParams{y, 0x12345678});
      for (int i = 0; i < rounds; ++i) {
        frame.launch(own, MulAdd, 1, count, MulAddParams{y, count, 3, 1});
        frame.launch(own, AddUp, 1, count, AddUpParams{z, y, count, 0});
        frame.launch(own, MulAdd, 1, count, MulAddParams{z, count, 5, 2});
        frame.launch(own, AddUp, 1, count, AddUpParams{y, z, count, 0});
      }
      frame.copy(own, host.data(), y, count * 4);
      frame.wait({own});
      frame.dealloc(own, y);
      frame.dealloc(own, z);
    }
    EXPECT_TRUE(cpu.close().ok());
  }
  EXPECT_EQ(streams, host);
  EXPECT_EQ(graph, host);
  EXPECT_NE(host, std::vector<uint32_t>(count, 0x12345678));
}

// The same streams serve all captures, one after the other.
TEST_P(Capture, StreamsComeBack) {
  for (Mode mode : {Global, ThreadLocal, Relaxed}) {
    SCOPED_TRACE(mode);
    uint64_t streams = 0;
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(cuda.beginCapture(stream, mode), 0);
      for (int j = 0; j < 3; ++j)
        EXPECT_TRUE(function(true).ok());
      void *executable = endCapture();
      ASSERT_TRUE(executable);
      EXPECT_EQ(cuda.executableDestroy(executable), 0);
      fill(1);
      if (i == 0)
        streams = readStats(context).streams.physical;
    }
    EXPECT_LE(readStats(context).streams.physical, streams + 1);
  }
}

// A module that is not loaded yet is loaded in the middle of the capture.
TEST_P(Capture, FirstUseDuringACapture_B02) {
  for (Mode mode : {Global, ThreadLocal, Relaxed}) {
    SCOPED_TRACE(mode);
    fill(1);
    TestProgram cold(TestProgram::All, "cold");
    ASSERT_EQ(cuda.beginCapture(stream, mode), 0);
    {
      FrameScope frame(cold);
      ASSERT_TRUE(frame.entered) << frame.leave().message();
      gpuasync_stream *theirs = external(frame);
      frame.launch(theirs, MulAdd, 1, count, MulAddParams{x, count, 2, 5});
      frame.destroy(theirs);
    }
    void *executable = endCapture();
    ASSERT_TRUE(executable);
    EXPECT_EQ(nodes, 1u);
    run(executable, 1);
    EXPECT_EQ(read(), std::vector<uint32_t>(count, 7));
    EXPECT_EQ(cuda.executableDestroy(executable), 0);
  }
}

// Other frames, on this thread and others, go on while somebody captures.
TEST_P(Capture, OthersGoOn) {
  for (Mode mode : {Global, ThreadLocal, Relaxed}) {
    SCOPED_TRACE(mode);
    fill(7);
    ASSERT_EQ(cuda.beginCapture(stream, mode), 0);
    EXPECT_TRUE(function(true).ok());
    auto other = [&] {
      ContextScope inContext(context);
      std::vector<uint32_t> pageable(count, 5);
      for (int i = 0; i < 50; ++i) {
        FrameScope frame(*program);
        gpuasync_stream *own = frame.stream(), *second = frame.stream();
        uint32_t *y = frame.alloc(own, count);
        frame.copy(own, y, pageable.data(), count * 4);
        frame.waitEvent(second, frame.record(own));
        frame.launch(second, MulAdd, 1, count, MulAddParams{y, count, 1, 1});
        frame.copy(second, pageable.data(), y, count * 4);
        frame.wait({own, second});
        frame.dealloc(second, y);
        frame.destroy(own);
        frame.destroy(second, false);
      }
      EXPECT_EQ(pageable, std::vector<uint32_t>(count, 55));
    };
    other();
    std::thread(other).join();
    EXPECT_TRUE(function(true).ok());
    void *executable = endCapture();
    ASSERT_TRUE(executable);
    run(executable, 1);
    uint32_t expected = 7;
    for (int i = 0; i < 2; ++i)
      expected = (expected * 3 + 1) * 5 + 2;
    EXPECT_EQ(read(), std::vector<uint32_t>(count, expected));
    EXPECT_EQ(cuda.executableDestroy(executable), 0);
  }
}

// A stream that depends on nothing of the caller's is part of the graph too,
// beside what the caller's stream does.
TEST_P(Capture, IndependentWorkIsCaptured) {
  fill(1);
  ASSERT_EQ(cuda.beginCapture(stream, Global), 0);
  {
    FrameScope frame(*program);
    gpuasync_stream *early = frame.stream();
    gpuasync_stream *theirs = external(frame);
    gpuasync_stream *late = frame.stream();
    frame.launch(early, Store, 1, 16, StoreParams{x, 2});
    frame.launch(theirs, Store, 1, 16, StoreParams{x + 16, 3});
    frame.launch(late, Store, 1, 16, StoreParams{x + 32, 4});
  }
  void *executable = endCapture();
  ASSERT_TRUE(executable);
  EXPECT_EQ(read(), std::vector<uint32_t>(count, 1));
  run(executable, 1);
  std::vector<uint32_t> expected(count, 1);
  for (int i = 0; i < 48; ++i)
    expected[size_t(i)] = uint32_t(2 + i / 16);
  EXPECT_EQ(read(), expected);
  EXPECT_EQ(cuda.executableDestroy(executable), 0);
}

TEST_P(Capture, WhatAGraphCannotHoldIsRefused) {
  std::vector<uint32_t> pageable(count);
  expectRefused("a host wait", [&](FrameScope &frame) {
    gpuasync_stream *theirs = external(frame);
    gpuasync_stream *own = frame.stream();
    frame.launch(own, Store, 1, 1, StoreParams{x, 1});
    frame.wait({own});
    (void)theirs;
  });
  expectRefused("a host wait", [&](FrameScope &frame) {
    frame.waitHost(frame.record(external(frame)));
  });
  expectRefused("a query", [&](FrameScope &frame) {
    EXPECT_EQ(frame.query(external(frame)), 0);
  });
  expectRefused("pageable host memory", [&](FrameScope &frame) {
    frame.copy(external(frame), x, pageable.data(), count * 4);
  });
  expectRefused("pageable host memory", [&](FrameScope &frame) {
    external(frame);
    frame.copy(frame.stream(), pageable.data(), x, count * 4);
  });
  expectRefused("host_shared memory", [&](FrameScope &frame) {
    frame.alloc(external(frame), 16, GPUASYNC_ALLOC_HOST_SHARED);
  });
  expectRefused("a free of memory",
                [&](FrameScope &frame) { frame.dealloc(external(frame), x); });
  expectRefused("a registration", [&](FrameScope &frame) {
    external(frame);
    gpuasync_host_register(frame, pageable.data(), 64, SITE("register"));
  });
  expectRefused("a token", [&](FrameScope &frame) {
    gpuasync_event_export(frame, frame.record(external(frame)), SITE("return"));
  });
  expectRefused("work that this function enqueued", [&](FrameScope &frame) {
    gpuasync_stream *own = frame.stream();
    frame.launch(own, Store, 1, 1, StoreParams{x, 1});
    external(frame);
  });
  expectRefused("work that this function enqueued", [&](FrameScope &frame) {
    gpuasync_stream *own = frame.stream();
    frame.launch(own, Store, 1, 1, StoreParams{x, 1});
    frame.destroy(own, /*idle=*/false);
    external(frame);
  });
  expectRefused(allocates ? "memory that is alive" : "this allocation",
                [&](FrameScope &frame) {
                  gpuasync_stream *theirs = external(frame);
                  uint32_t *y = frame.alloc(theirs, 16);
                  frame.launch(theirs, Store, 1, 16, StoreParams{y, 1});
                });
  // All of it left nothing behind.
  EXPECT_EQ(readStats(context).buffers.live, 3u);
  EXPECT_TRUE(function(true).ok());
  ASSERT_EQ(cuda.streamSynchronize(stream), 0);
}

// Two captures are told apart by every driver; taken for one, the second's work
// would be lost from its graph.
TEST_P(Capture, StreamsOfTwoCapturesAreRefused_X05) {
  void *second = nullptr, *graph = nullptr;
  ASSERT_EQ(cuda.streamCreate(&second, 1), 0);
  ASSERT_EQ(cuda.beginCapture(second, Relaxed), 0);
  expectRefused("a stream of another capture", [&](FrameScope &frame) {
    external(frame);
    gpuasync_stream_external(frame, 0, second, SITE("external"));
  });
  EXPECT_EQ(cuda.endCapture(second, &graph), 0);
  EXPECT_EQ(cuda.graphDestroy(graph), 0);
  EXPECT_EQ(cuda.streamDestroy(second), 0);
}

TEST_P(Capture, CaptureThatFailedIsNamed) {
  ASSERT_EQ(cuda.beginCapture(stream, Relaxed), 0);
  EXPECT_NE(cuda.streamSynchronize(stream), 0); // ends the capture
  {
    FrameScope frame(*program);
    external(frame);
    Status status = frame.leave();
    EXPECT_NE(std::string(status.message()).find("has failed before"),
              std::string::npos)
        << status.message();
  }
  void *graph = nullptr;
  EXPECT_NE(cuda.endCapture(stream, &graph), 0);
  EXPECT_TRUE(function(true).ok());
  ASSERT_EQ(cuda.streamSynchronize(stream), 0);
}

// Taken for one that is not captured, the stream would run the work at once, or
// the capture would end.
TEST_P(Capture, FailedQuestionIsAnError_X05) {
  ASSERT_EQ(cuda.beginCapture(stream, Global), 0);
  {
    FrameScope frame(*program);
    failQuestion(999);
    external(frame);
    EXPECT_NE(mock->mock_failed(), nullptr);
    std::string message = frame.leave().message();
    EXPECT_NE(message.find("test.mlir:"), std::string::npos) << message;
    EXPECT_NE(message.find("cuStream"), std::string::npos) << message;
  }
  void *graph = nullptr;
  EXPECT_EQ(cuda.endCapture(stream, &graph), 0);
  EXPECT_EQ(cuda.graphDestroy(graph), 0);
}

// A driver that knows no captures has none.
TEST_P(Capture, UnsupportedQuestionIsNone_X05) {
  fill(7);
  failQuestion(801);
  Status status = function(true);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_NE(mock->mock_failed(), nullptr);
  EXPECT_EQ(cuda.streamSynchronize(stream), 0);
  EXPECT_EQ(read()[0], 112u);
}

// Nor when the function that was to have it next could not use it.
TEST_P(Capture, FailedFunctionKeepsTheStream_X05) {
  ASSERT_EQ(cuda.beginCapture(stream, Relaxed), 0);
  Status status = function(true);
  EXPECT_TRUE(status.ok()) << status.message();
  {
    FrameScope frame(*program);
    external(frame);
    mock->mock_fail("cuStreamWaitEvent", 1, 999);
    EXPECT_EQ(frame.stream(), nullptr);
    EXPECT_NE(mock->mock_failed(), nullptr);
    EXPECT_FALSE(frame.leave().ok());
  }
  {
    FrameScope frame(*program);
    gpuasync_stream *own = frame.stream();
    frame.launch(own, Store, 1, count, StoreParams{spare, 1});
    frame.wait({own});
    frame.destroy(own);
  }
  void *graph = nullptr;
  EXPECT_EQ(cuda.endCapture(stream, &graph), 0);
  EXPECT_EQ(cuda.graphDestroy(graph), 0);
}

// A stream of the capture is nobody else's while nothing is known of its end.
TEST_P(Capture, FailedQuestionKeepsTheStream_X05) {
  ASSERT_EQ(cuda.beginCapture(stream, Relaxed), 0);
  Status status = function(true);
  EXPECT_TRUE(status.ok()) << status.message();
  uint64_t streams = mock->mock_live("stream");
  {
    FrameScope frame(*program);
    failQuestion(999);
    gpuasync_stream *own = frame.stream();
    EXPECT_NE(mock->mock_failed(), nullptr);
    EXPECT_EQ(mock->mock_live("stream"), streams + 1);
    if (!HasFailure()) { // else it would wait for the graph
      frame.launch(own, Store, 1, count, StoreParams{spare, 1});
      frame.wait({own});
    }
  }
  void *graph = nullptr;
  EXPECT_EQ(cuda.endCapture(stream, &graph), 0);
  EXPECT_EQ(cuda.graphDestroy(graph), 0);
}

} // namespace
