//===- LibraryTest.cpp - Calls of libraries on streams of ours ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What gpuasync_stream_native gives to a library that enqueues: here another
// lowered program, which takes it for its caller's stream.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "gpuasync/Program.h"

#include <atomic>
#include <future>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Library : public DeviceTest {
protected:
  void TearDown() override {
    library.reset();
    DeviceTest::TearDown();
  }
  /// The library's function: `body(frame, stream)` on the caller's stream.
  template <typename Body>
  Status call(void *native, Body body) {
    FrameScope frame(*library);
    gpuasync_stream *stream =
        gpuasync_stream_external(frame, 0, native, SITE("library.stream"));
    body(frame, stream);
    frame.destroy(stream);
    return frame.leave();
  }
  /// Work of a frame and of a library on the caller's stream; what the library
  /// was given.
  void *passOn(void *callers) {
    FrameScope frame(*program);
    gpuasync_stream *stream =
        gpuasync_stream_external(frame, 0, callers, SITE("external"));
    auto *x = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
    void *native = gpuasync_stream_native(frame, stream, SITE("library.call"));
    EXPECT_FALSE(frame.failed());
    Status status = call(native, [&](FrameScope &inner, gpuasync_stream *s) {
      inner.launch(s, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(x[63], 16u);
    frame.dealloc(nullptr, x);
    frame.destroy(stream);
    return native;
  }
  uint32_t *makeFlag() {
    FrameScope frame(*program);
    uint32_t *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    return flag;
  }
  void free(void *pointer) {
    FrameScope frame(*program);
    frame.dealloc(nullptr, pointer);
  }
  static void contains(const Status &status, const std::string &text) {
    EXPECT_NE(std::string(status.message()).find(text), std::string::npos)
        << status.message();
  }

  std::unique_ptr<TestProgram> library = std::make_unique<TestProgram>();
};
INSTANTIATE_OVER_DEVICES(Library);

TEST_P(Library, WorkIsInTheOrderOfTheStream) {
  uint32_t *flag = makeFlag();
  std::vector<uint32_t> out(64), other(64);
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream(), *second = frame.stream();
    uint32_t *x = frame.alloc(nullptr, 64), *y = frame.alloc(nullptr, 64);
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
    void *native = gpuasync_stream_native(frame, stream, SITE("library.call"));
    ASSERT_FALSE(frame.failed());
    Status status = call(native, [&](FrameScope &inner, gpuasync_stream *s) {
      inner.launch(s, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
    });
    EXPECT_TRUE(status.ok()) << status.message();
    gpuasync_event *event = frame.record(stream);
    frame.waitEvent(second, event);
    frame.destroy(event);
    frame.launch(second, AddUp, 1, 64, AddUpParams{y, x, 64, 100});
    frame.copy(second, other.data(), y, 256);
    event = frame.record(second);
    frame.waitEvent(stream, event);
    frame.destroy(event);
    frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 10, 0});
    frame.copy(stream, out.data(), x, 256);
    openGate(flag);
    EXPECT_EQ(frame.wait({stream, second}), 0);
    frame.dealloc(nullptr, x);
    frame.dealloc(nullptr, y);
  }
  EXPECT_EQ(out, std::vector<uint32_t>(64, 160));
  EXPECT_EQ(other, std::vector<uint32_t>(64, 116));
  free(flag);
}

// Work that only the library knows of is waited for, and listed.
TEST_P(Library, HostWaitCoversItAndATimeoutListsIt_B05) {
  uint32_t *flag = makeFlag();
  gpuasync_set_timeout(0.05);
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    void *native = gpuasync_stream_native(frame, stream, SITE("library.call"));
    Status status = call(native, [&](FrameScope &inner, gpuasync_stream *s) {
      inner.launch(s, Gate, 1, 1, GateParams{flag});
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(frame.wait({stream}), 1);
    std::thread opener([&] { openGate(flag); });
    status = frame.leave();
    opener.join();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
    contains(status, "timed out after 0.05 s");
    // The cpu device knows the operation itself.
    contains(status, onCpu() ? ":5: gate" : ":3: library.call");
  }
  gpuasync_set_timeout(0);
  free(flag);
}

// A stream on which only a library has work goes to nobody else meanwhile.
TEST_P(Library, StreamIsPendingWhileItRuns) {
  uint32_t *flag = makeFlag();
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    void *native = gpuasync_stream_native(frame, stream, SITE("library.call"));
    Status status = call(native, [&](FrameScope &inner, gpuasync_stream *s) {
      inner.launch(s, Gate, 1, 1, GateParams{flag});
    });
    EXPECT_TRUE(status.ok()) << status.message();
    frame.destroy(stream, /*idle=*/false);
    gpuasync_stream *next = frame.stream();
    uint32_t *x = frame.alloc(nullptr, 64);
    frame.launch(next, Store, 1, 64, StoreParams{x, 1});
    EXPECT_EQ(frame.wait({next}), 0); // hangs behind the gate
    frame.dealloc(nullptr, x);
  }
  openGate(flag);
  free(flag);
}

TEST_P(Library, OfTheCallersStream) {
  gpuasync_stream *callers = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_context_stream_create(context.get(), &callers)).ok());
  void *theirs = gpuasync_context_stream_native(callers);
  void *native = passOn(theirs);
  if (!onCpu())
    EXPECT_EQ(native, theirs);
  gpuasync_context_stream_destroy(callers);
}

TEST_P(Library, OfTheDefaultStream) { passOn(nullptr); }

TEST_P(Library, MisuseIsRefused) {
  {
    FrameScope frame(*program);
    EXPECT_EQ(gpuasync_stream_native(frame, nullptr, SITE("library.call")),
              nullptr);
    EXPECT_TRUE(frame.failed());
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    contains(status, ":3: library.call: null stream");
  }
  FrameScope outer(*program);
  gpuasync_stream *stream = outer.stream();
  {
    FrameScope frame(*program);
    EXPECT_EQ(gpuasync_stream_native(frame, stream, SITE("library.call")),
              nullptr);
    contains(frame.leave(), "the stream does not belong to this frame");
  }
  // In a failed frame nothing happens.
  {
    FrameScope frame(*program);
    gpuasync_stream *own = frame.stream();
    gpuasync_frame_fail(frame, gpuasync_stats_read(context.get(), [] {
                          static gpuasync_stats none;
                          none.structSize = 0;
                          return &none;
                        }()));
    EXPECT_TRUE(frame.failed());
    EXPECT_EQ(gpuasync_stream_native(frame, own, SITE("library.call")),
              nullptr);
    contains(frame.leave(), "structSize is 0");
  }
}

// An error of the library's work is the frame's, even if the library saw it.
TEST_P(Library, ErrorsOfItsWorkReachTheFrame_E01) {
  for (bool libraryWaits : {false, true}) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    void *native = gpuasync_stream_native(frame, stream, SITE("library.call"));
    Status status = call(native, [&](FrameScope &inner, gpuasync_stream *s) {
      inner.launch(s, Fail, 1, 1, FailParams{1});
    });
    EXPECT_TRUE(status.ok()) << status.message();
    if (libraryWaits) {
      Status seen(gpuasync_context_stream_synchronize(
          static_cast<gpuasync_stream *>(native)));
      EXPECT_EQ(seen.code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
    }
    EXPECT_EQ(frame.wait({stream}), 1);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
  }
}

// The cpu device's libraries compute on the thread that calls them, after what
// is ahead of them; and the handle is not theirs to destroy.
TEST_P(Library, HostLibraryWaitsForWhatIsAhead) {
  uint32_t *flag = makeFlag();
  std::vector<uint32_t> out(64);
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(nullptr, 64);
    frame.launch(stream, Gate, 1, 1, GateParams{flag});
    frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
    auto *native = static_cast<gpuasync_stream *>(
        gpuasync_stream_native(frame, stream, SITE("library.call")));
    EXPECT_EQ(gpuasync_context_stream_native(native), native);
    std::thread opener([&] { openGate(flag); });
    Status waited(gpuasync_context_stream_synchronize(native));
    opener.join();
    EXPECT_TRUE(waited.ok()) << waited.message();
    for (int i = 0; i < 64; ++i)
      x[i] *= 2;
    gpuasync_context_stream_destroy(native);
    frame.copy(stream, out.data(), x, 256);
    EXPECT_EQ(frame.wait({stream}), 0);
    frame.dealloc(nullptr, x);
    frame.destroy(stream);
    EXPECT_EQ(readStats(context).streams.live, 0u);
  }
  EXPECT_EQ(out, std::vector<uint32_t>(64, 10));
  free(flag);
}

//===----------------------------------------------------------------------===//
// gpu_async.call
//===----------------------------------------------------------------------===//

TEST_P(Library, CallSaysWhereToEnqueue) {
  std::vector<uint32_t> out(64);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(nullptr, 64);
  frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
  const gpuasync_call *library =
      gpuasync_call_begin(frame, &stream, 1, SITE("library.call"));
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(library->structSize, sizeof(gpuasync_call));
  EXPECT_EQ(library->flags, 0u);
  EXPECT_EQ(library->stream, gpuasync_context_stream_native(stream));
  std::string device = library->driver;
  if (device != "cpu")
    device += ":" + std::to_string(library->ordinal);
  EXPECT_EQ(device, gpuasync_context_device(context.get()));
  Status status =
      call(library->stream, [&](FrameScope &inner, gpuasync_stream *s) {
        inner.launch(s, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
      });
  EXPECT_TRUE(status.ok()) << status.message();
  gpuasync_call_end(frame, 0, SITE("library.call"));
  frame.copy(stream, out.data(), x, 256);
  EXPECT_EQ(frame.wait({stream}), 0);
  frame.dealloc(nullptr, x);
  EXPECT_EQ(out, std::vector<uint32_t>(64, 16));
}

// A call on two streams is behind both, and later work on both is behind it.
TEST_P(Library, CallOnSeveralStreams) {
  uint32_t *flags[] = {makeFlag(), makeFlag()};
  std::vector<uint32_t> out(128);
  FrameScope frame(*program);
  gpuasync_stream *streams[] = {frame.stream(), frame.stream()};
  uint32_t *x[] = {frame.alloc(nullptr, 64), frame.alloc(nullptr, 64)};
  for (int i = 0; i < 2; ++i) {
    frame.launch(streams[i], Gate, 1, 1, GateParams{flags[i]});
    frame.launch(streams[i], Store, 1, 64, StoreParams{x[i], 5u + i});
  }
  const gpuasync_call *library =
      gpuasync_call_begin(frame, streams, 2, SITE("library.call"));
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(library->stream, library->streams[0]);
  EXPECT_EQ(library->ordinal, library->ordinals[0]);
  ASSERT_EQ(library->count, 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(library->streams[i], gpuasync_context_stream_native(streams[i]));
    EXPECT_EQ(library->ordinals[i], library->ordinal);
    Status status =
        call(library->streams[i], [&](FrameScope &inner, gpuasync_stream *s) {
          inner.launch(s, MulAdd, 1, 64, MulAddParams{x[i], 64, 3, 1});
        });
    EXPECT_TRUE(status.ok()) << status.message();
  }
  library->report(library, "is forgotten");
  gpuasync_call_end(frame, 0, SITE("library.call"));
  for (int i = 0; i < 2; ++i)
    frame.copy(streams[i], out.data() + 64 * i, x[i], 256);
  openGate(flags[1]);
  openGate(flags[0]);
  EXPECT_EQ(frame.wait({streams[0], streams[1]}), 0);
  EXPECT_EQ(out[63], 16u);
  EXPECT_EQ(out[127], 19u);
  for (int i = 0; i < 2; ++i) {
    frame.dealloc(nullptr, x[i]);
    frame.dealloc(nullptr, flags[i]);
  }
}

// In a region too, which records calls on one stream only.
TEST_P(Library, ReplayableCallOnSeveralStreams) {
  struct Seen {
    gpuasync_stream *streams[2];
    int calls, wrong;
  } seen = {};
  Seen *const argument = &seen;
  auto look = [](const gpuasync_call *call, const void *arguments) -> int32_t {
    Seen &seen = **static_cast<Seen *const *>(arguments);
    ++seen.calls;
    seen.wrong += call->count != 2;
    for (uint32_t i = 0; i < call->count; ++i)
      seen.wrong +=
          call->streams[i] != gpuasync_context_stream_native(seen.streams[i]);
    return 0;
  };
  for (bool inRegion : {false, true}) {
    FrameScope frame(*program);
    seen.streams[0] = frame.stream();
    seen.streams[1] = frame.stream();
    uint32_t *x = frame.alloc(nullptr, 64);
    if (inRegion)
      gpuasync_region_begin(frame, SITE("region"));
    frame.launch(seen.streams[1], Store, 1, 64, StoreParams{x, 5});
    gpuasync_call_replayable(frame, seen.streams, 2, look, &argument,
                             sizeof(argument), SITE("library.call"));
    EXPECT_EQ(seen.calls, inRegion ? 2 : 1);
    frame.launch(seen.streams[1], MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
    if (inRegion)
      gpuasync_region_end(frame, SITE("region"));
    uint32_t out = 0;
    frame.copy(seen.streams[1], &out, x + 63, 4);
    EXPECT_EQ(frame.wait({seen.streams[0], seen.streams[1]}), 0);
    EXPECT_EQ(out, 16u);
    frame.dealloc(nullptr, x);
  }
  EXPECT_EQ(seen.wrong, 0);
}

TEST_P(Library, CallsOnNoStreamAreRefused) {
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    EXPECT_EQ(gpuasync_call_begin(frame, &stream, 0, SITE("library.call")),
              nullptr);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    contains(status, "library.call: a call on no stream");
  }
  FrameScope frame(*program);
  gpuasync_stream *streams[] = {frame.stream(), nullptr};
  EXPECT_EQ(gpuasync_call_begin(frame, streams, 2, SITE("library.call")),
            nullptr);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  contains(status, "library.call: null stream");
}

// The last text counts, one that is not asked for is forgotten, and none is
// needed.
TEST_P(Library, ResultIsTheFramesError_E01) {
  struct {
    int32_t first, second;
    const char *text, *message;
  } const cases[] = {
      {-7, 0, "out of workspace",
       ":3: library.call: the library's function returned -7: out of "
       "workspace"},
      {0, 2, "", ":3: library.call: the library's function returned 2"}};
  for (auto &expected : cases) {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    const gpuasync_call *library =
        gpuasync_call_begin(frame, &stream, 1, SITE("library.call"));
    ASSERT_NE(library, nullptr);
    library->report(library, "at first");
    library->report(library, expected.text);
    gpuasync_call_end(frame, expected.first, SITE("library.call"));
    EXPECT_EQ(frame.failed(), expected.first != 0);
    library = gpuasync_call_begin(frame, &stream, 1, SITE("library.call"));
    EXPECT_EQ(library == nullptr, expected.first != 0);
    if (library)
      gpuasync_call_end(frame, expected.second, SITE("library.call"));
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_DRIVER_ERROR));
    const std::string message = status.message();
    const std::string end = expected.message;
    ASSERT_GE(message.size(), end.size());
    EXPECT_EQ(message.substr(message.size() - end.size()), end);
  }
}

struct HostWork {
  uint32_t *x;
  uint32_t factor;
  unsigned char more[1000]; ///< does not fit into an operation
};

int32_t multiply(void *arguments) {
  auto *work = static_cast<HostWork *>(arguments);
  if (reinterpret_cast<uintptr_t>(arguments) % 16 || work->more[999] != 9)
    return 1;
  for (int i = 0; i < 64; ++i)
    work->x[i] *= work->factor;
  return 0;
}

// In the order of the stream, with what the arguments were.
TEST_P(Library, HostFunctionsRunInOrder) {
  uint32_t *flag = makeFlag();
  std::vector<uint32_t> out(64);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(nullptr, 64);
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
  const gpuasync_call *library =
      gpuasync_call_begin(frame, &stream, 1, SITE("library.call"));
  ASSERT_NE(library, nullptr);
  HostWork work = {x, 3, {}};
  work.more[999] = 9;
  Status status(gpuasync_stream_enqueue_host(
      onCpu() ? static_cast<gpuasync_stream *>(library->stream) : stream,
      multiply, &work, sizeof(work)));
  work.more[999] = 0;
  gpuasync_call_end(frame, 0, SITE("library.call"));
  if (onCpu())
    EXPECT_TRUE(status.ok()) << status.message();
  else
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
  frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 2, 1});
  frame.copy(stream, out.data(), x, 256);
  openGate(flag);
  EXPECT_EQ(frame.wait({stream}), 0);
  frame.dealloc(nullptr, x);
  EXPECT_EQ(out, std::vector<uint32_t>(64, onCpu() ? 31 : 11));
  frame.dealloc(nullptr, flag);
}

// Also on a stream that the embedder made, and as an error of it.
TEST_P(Library, HostFunctionsFail_E02) {
  if (!onCpu())
    GTEST_SKIP() << "host functions are the cpu device's";
  int32_t code = 3;
  auto fails = [](void *code) { return *static_cast<int32_t *>(code); };
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    ASSERT_NE(gpuasync_call_begin(frame, &stream, 1, SITE("library.call")),
              nullptr);
    Status status(
        gpuasync_stream_enqueue_host(stream, fails, &code, sizeof(code)));
    EXPECT_TRUE(status.ok()) << status.message();
    gpuasync_call_end(frame, 0, SITE("library.call"));
    EXPECT_EQ(frame.wait({stream}), 1);
    status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_DRIVER_ERROR));
    contains(status,
             ":3: library.call: the library's host function returned 3");
  }
  gpuasync_stream *callers = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_context_stream_create(context.get(), &callers)).ok());
  EXPECT_TRUE(
      Status(gpuasync_stream_enqueue_host(callers, fails, &code, sizeof(code)))
          .ok());
  contains(Status(gpuasync_context_stream_synchronize(callers)),
           "the library's host function returned 3");
  gpuasync_context_stream_destroy(callers);
}

// Work behind a gate waits for it, other streams do not, and the function
// before it has been called.
TEST_P(Library, GateHoldsWorkBack) {
  gpuasync_gate *gate = nullptr;
  std::atomic<int> arrived{0};
  std::atomic<int> *argument = &arrived;
  const auto arrive = [](void *arguments, const char *error) {
    **static_cast<std::atomic<int> **>(arguments) = error ? 2 : 1;
  };
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream(), *second = frame.stream();
  auto *x = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
  frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
  ASSERT_NE(gpuasync_call_begin(frame, &stream, 1, SITE("library.call")),
            nullptr);
  Status status(gpuasync_stream_enqueue_gate(stream, arrive, &argument,
                                             sizeof(argument), &gate));
  gpuasync_call_end(frame, 0, SITE("library.call"));
  if (!onCpu()) {
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
    EXPECT_EQ(frame.wait({stream}), 0);
    frame.dealloc(nullptr, x);
    return;
  }
  ASSERT_TRUE(status.ok()) << status.message();
  frame.launch(stream, MulAdd, 1, 64, MulAddParams{x, 64, 2, 1});
  while (!arrived)
    std::this_thread::yield();
  EXPECT_EQ(arrived, 1);
  // Another stream's work, which a thread has to run.
  auto *y = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
  frame.launch(second, Store, 1, 64, StoreParams{y, 7});
  EXPECT_EQ(frame.wait({second}), 0);
  EXPECT_EQ(frame.query(stream), 0);
  EXPECT_EQ(x[63], 5u);
  std::thread opener([gate] { gpuasync_gate_open(gate, nullptr); });
  EXPECT_EQ(frame.wait({stream}), 0);
  opener.join();
  EXPECT_EQ(x[63], 11u);
  frame.dealloc(nullptr, x);
  frame.dealloc(nullptr, y);
}

// An error of whoever opens it is one of the stream, at the library's call.
TEST_P(Library, GateOpenedWithAnError_E02) {
  if (!onCpu())
    GTEST_SKIP() << "gates are the cpu device's";
  gpuasync_gate *gates[2] = {};
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *x = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
  x[0] = 3;
  // Told by a thread of the device, when nothing else orders it with this one.
  std::promise<std::string> told[2];
  const auto arrive = [](void *arguments, const char *error) {
    (*static_cast<std::promise<std::string> **>(arguments))
        ->set_value(error ? error : "");
  };
  ASSERT_NE(gpuasync_call_begin(frame, &stream, 1, SITE("library.call")),
            nullptr);
  for (int i = 0; i < 2; ++i) {
    auto *argument = &told[i];
    Status status(gpuasync_stream_enqueue_gate(stream, arrive, &argument,
                                               sizeof(argument), &gates[i]));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  gpuasync_call_end(frame, 0, SITE("library.call"));
  frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
  gpuasync_gate_open(gates[0], "the peer has gone");
  // The second one's function is told, and the gate still holds the stream.
  Watched waits([&] { EXPECT_EQ(frame.wait({stream}), 1); });
  waits.settle();
  EXPECT_FALSE(waits.isOver());
  EXPECT_EQ(told[0].get_future().get(), "");
  contains(Status(gpuasync_status_make(1, told[1].get_future().get().c_str())),
           "the peer has gone");
  gpuasync_gate_open(gates[1], nullptr);
  waits.join();
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_DRIVER_ERROR));
  contains(status, ":3: library.call: the peer has gone");
  EXPECT_EQ(x[0], 3u);
}

// On whatever number of processors: each has a thread of its own.
TEST_P(Library, HostFunctionsMeet_B04) {
  if (!onCpu())
    GTEST_SKIP() << "host functions are the cpu device's";
  constexpr int count = 6;
  std::atomic<int> arrived{0};
  std::atomic<int> *argument = &arrived;
  auto meet = [](void *arguments) -> int32_t {
    std::atomic<int> &all = **static_cast<std::atomic<int> **>(arguments);
    for (++all; all < count;)
      std::this_thread::yield();
    return 0;
  };
  FrameScope frame(*program);
  std::vector<gpuasync_stream *> streams;
  for (int i = 0; i < count; ++i) {
    streams.push_back(frame.stream());
    ASSERT_NE(gpuasync_call_begin(frame, &streams[i], 1, SITE("library.call")),
              nullptr);
    EXPECT_TRUE(Status(gpuasync_stream_enqueue_host(streams[i], meet, &argument,
                                                    sizeof(argument)))
                    .ok());
    gpuasync_call_end(frame, 0, SITE("library.call"));
  }
  EXPECT_EQ(gpuasync_stream_synchronize(frame, streams.data(), count, 0), 0);
  EXPECT_EQ(arrived, count);
}

} // namespace
