//===- CoverTest.cpp - Streams known idle by what waited for them ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream is idle once the host has waited for another stream that has waited
// for all of its work. Here a stream looks as if that were so and is not: gates
// hold its work, so a frame that got it would wait for ever. And what a stream
// has got of errors goes no further than its frame.
//===----------------------------------------------------------------------===//

#include "RegionFixture.h"
#include "shim/abi/Frame.h"

#include <set>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Cover : public RegionTest {
protected:
  void SetUp() override {
    RegionTest::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    FrameScope frame(*program);
    gates = frame.alloc(nullptr, numGates, GPUASYNC_ALLOC_HOST_SHARED);
    x = frame.alloc(nullptr, numPlaces * count, GPUASYNC_ALLOC_HOST_SHARED);
    for (uint32_t i = 0; i < numGates; ++i)
      gates[i] = 0;
  }
  void TearDown() override {
    if (gates) {
      for (uint32_t i = 0; i < numGates; ++i)
        openGate(gates + i);
      FrameScope frame(*program);
      frame.dealloc(nullptr, gates);
      frame.dealloc(nullptr, x);
    }
    RegionTest::TearDown();
  }

  /// A stream that the gate holds.
  gpuasync_stream *gated(FrameScope &frame, uint32_t gate) {
    gpuasync_stream *stream = frame.stream();
    frame.launch(stream, Gate, 1, 1, GateParams{gates + gate});
    return stream;
  }
  void store(FrameScope &frame, gpuasync_stream *stream) {
    uint32_t *place = x + next++ % numPlaces * count;
    frame.launch(stream, Store, 1, count, StoreParams{place, 1});
  }
  /// `later` waits for what `earlier` has.
  void cover(FrameScope &frame, gpuasync_stream *earlier,
             gpuasync_stream *later) {
    gpuasync_event *event = frame.record(earlier);
    frame.waitEvent(later, event);
    frame.destroy(event);
  }
  static void leaveWell(FrameScope &frame) {
    Status status = frame.leave();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  /// The streams that a frame gets, more than others have left.
  std::set<gpuasync_stream *> handedOut(int number = 30) {
    std::set<gpuasync_stream *> streams;
    FrameScope frame(*program);
    for (int i = 0; i < number; ++i)
      streams.insert(frame.stream());
    for (gpuasync_stream *stream : streams)
      frame.destroy(stream);
    leaveWell(frame);
    return streams;
  }
  /// Expects that a busy stream serves nobody else, and serves again when its
  /// gates are open.
  void expectBusy(gpuasync_stream *stream) {
    EXPECT_EQ(handedOut().count(stream), 0u);
    for (uint32_t i = 0; i < numGates; ++i)
      openGate(gates + i);
    Status status(gpuasync_context_trim(context.get(), -1));
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(handedOut().count(stream), 1u);
  }

  static constexpr uint32_t numGates = 2, numPlaces = 256, count = 16;
  uint32_t *gates = nullptr, *x = nullptr;
  std::atomic<uint32_t> next{0}; ///< place that nothing writes
};

INSTANTIATE_OVER_DEVICES(Cover);

// The rule that the other tests try to break: nothing asks for the stream.
TEST_P(Cover, CoveredStreamIsIdle) {
  gpuasync_stream *earlier, *later;
  {
    FrameScope frame(*program);
    earlier = gated(frame, 0);
    later = frame.stream();
    cover(frame, earlier, later);
    store(frame, later);
    openGate(gates);
    frame.wait({later});
    frame.destroy(later);
    frame.destroy(earlier, /*idle=*/false);
    leaveWell(frame);
  }
  FrameScope frame(*program);
  EXPECT_EQ(frame.stream(), earlier); // the last that came back
}

TEST_P(Cover, WorkAfterTheRecordIsNotCovered) {
  gpuasync_stream *earlier;
  {
    FrameScope frame(*program);
    earlier = gated(frame, 0);
    gpuasync_stream *later = frame.stream();
    cover(frame, earlier, later);
    frame.launch(earlier, Gate, 1, 1, GateParams{gates + 1});
    openGate(gates);
    frame.wait({later});
    frame.destroy(later);
    frame.destroy(earlier, /*idle=*/false);
    leaveWell(frame);
  }
  expectBusy(earlier);
}

// Also when later work is covered by a stream that is busy itself.
TEST_P(Cover, NewerCoverByABusyStream) {
  gpuasync_stream *earlier;
  {
    FrameScope frame(*program);
    earlier = frame.stream();
    store(frame, earlier);
    gpuasync_stream *idle = frame.stream(), *busy = gated(frame, 1);
    cover(frame, earlier, idle);
    frame.launch(earlier, Gate, 1, 1, GateParams{gates + 1});
    cover(frame, earlier, busy);
    frame.wait({idle});
    frame.destroy(idle);
    frame.destroy(busy, /*idle=*/false);
    frame.destroy(earlier, /*idle=*/false);
    leaveWell(frame);
  }
  expectBusy(earlier);
}

// A wait of the host for the stream that waits, from before it did.
TEST_P(Cover, HostWaitBeforeTheCover) {
  gpuasync_stream *earlier, *later;
  {
    FrameScope frame(*program);
    earlier = gated(frame, 0);
    later = frame.stream();
    gpuasync_event *event = frame.record(earlier);
    store(frame, later);
    frame.wait({later});
    frame.waitEvent(later, event);
    frame.destroy(event);
    frame.destroy(later, /*idle=*/false);
    frame.destroy(earlier, /*idle=*/false);
    leaveWell(frame);
  }
  EXPECT_EQ(handedOut().count(later), 0u);
  expectBusy(earlier);
}

// Nobody of ours knows what is on a caller's stream. Its next owner starts to
// count with what is there.
TEST_P(Cover, CallersStreamCoversNothing) {
  gpuasync_stream *theirs = nullptr, *earlier;
  Status made(gpuasync_context_stream_create(context.get(), &theirs));
  ASSERT_TRUE(made.ok()) << made.message();
  void *native = gpuasync_context_stream_native(theirs);
  auto external = [&](FrameScope &frame) {
    return gpuasync_stream_external(frame, 0, native, SITE("external"));
  };
  {
    FrameScope frame(*program);
    earlier = gated(frame, 0);
    gpuasync_stream *wrapper = external(frame);
    cover(frame, earlier, wrapper);
    frame.destroy(wrapper);
    EXPECT_EQ(external(frame), wrapper);
    frame.destroy(wrapper);
    frame.destroy(earlier, /*idle=*/false);
    leaveWell(frame);
  }
  expectBusy(earlier);
  EXPECT_EQ(gpuasync_context_stream_synchronize(theirs), nullptr);
  gpuasync_context_stream_destroy(theirs);
}

// A region takes events from before it, and graphs put work of several streams
// on one.
TEST_P(Cover, WorkOfARegionIsNotCovered) {
  for (const char *how : {"streams", "stream", "graph"}) {
    SCOPED_TRACE(how);
    play(how);
    gpuasync_stream *earlier;
    gates[0] = gates[1] = 0;
    {
      FrameScope frame(*program);
      earlier = gated(frame, 0);
      gpuasync_stream *later = frame.stream();
      gpuasync_event *event = frame.record(earlier);
      {
        RegionScope region(frame, REGION);
        frame.waitEvent(later, event);
        store(frame, later);
        store(frame, earlier);
      }
      frame.destroy(event);
      cover(frame, earlier, later);
      openGate(gates);
      frame.wait({later});
      frame.launch(earlier, Gate, 1, 1, GateParams{gates + 1});
      frame.destroy(later);
      frame.destroy(earlier, /*idle=*/false);
      leaveWell(frame);
    }
    expectBusy(earlier);
  }
}

// The event of a stream that has served others since, on other threads too.
TEST_P(Cover, EventOutlivesItsStream) {
  std::vector<gpuasync_stream *> streams;
  FrameScope frame(*program);
  for (int i = 0; i < 40; ++i) {
    streams.push_back(frame.stream());
    store(frame, streams.back());
  }
  gpuasync_stream *earlier = streams.back(), *later = frame.stream();
  gpuasync_event *event = frame.record(earlier);
  frame.wait(streams);
  // A thread keeps 16 of them, others the rest.
  for (gpuasync_stream *stream : streams)
    frame.destroy(stream);
  Watched other([&] {
    ContextScope inContext(context);
    std::set<gpuasync_stream *> got;
    {
      FrameScope inner(*program);
      for (int i = 0; i < 40; ++i)
        got.insert(inner.stream());
      ASSERT_EQ(got.count(earlier), 1u);
      inner.launch(earlier, Gate, 1, 1, GateParams{gates});
      for (gpuasync_stream *stream : got)
        inner.destroy(stream, /*idle=*/false);
      leaveWell(inner);
    }
  });
  for (int i = 0; i < 200; ++i)
    frame.waitEvent(later, event);
  other.join();
  frame.waitEvent(later, event);
  frame.wait({later});
  frame.destroy(event);
  frame.destroy(later);
  leaveWell(frame);
  EXPECT_EQ(handedOut(64).count(earlier), 0u);
}

// A token in the frames of another thread, whose streams wait for it while the
// first thread goes on with the stream.
TEST_P(Cover, TokensOfOtherThreads) {
  constexpr int rounds = 200;
  std::atomic<gpuasync_event *> token{nullptr};
  Watched other([&] {
    ContextScope inContext(context);
    for (int i = 0; i < rounds; ++i) {
      gpuasync_event *event;
      while (!(event = token.exchange(nullptr)))
        sched_yield();
      FrameScope frame(*program);
      event = gpuasync_event_import(frame, event, SITE("import"));
      gpuasync_stream *later = frame.stream();
      frame.waitEvent(later, event);
      store(frame, later);
      frame.wait({later});
      frame.destroy(event);
      frame.destroy(later);
      leaveWell(frame);
    }
  });
  for (int i = 0; i < rounds; ++i) {
    FrameScope frame(*program);
    gpuasync_stream *earlier = frame.stream(), *joined = frame.stream();
    store(frame, earlier);
    gpuasync_event *event =
        gpuasync_event_export(frame, frame.record(earlier), SITE("return"));
    while (token.load())
      sched_yield();
    token.store(event);
    store(frame, earlier);
    cover(frame, earlier, joined);
    frame.wait({joined});
    frame.destroy(joined);
    frame.destroy(earlier, /*idle=*/false);
    leaveWell(frame);
  }
  other.join();
}

/// Waits until the stream has ended its work, well or not.
void awaitEnd(gpuasync_stream *stream) {
  for (bool done = false; !done;)
    (void)stream->context->driver->queryStream(stream->native, done);
}

// An error of work that no frame has waited for is nobody's: not of the frame
// that gets the stream next.
TEST_P(Cover, ErrorsStayBehind_E02) {
  if (!onCpu())
    GTEST_SKIP() << "a fault of a GPU is final";
  // The stream that has waited for the failed one is found to have ended,
  // before the failed one comes back, or after.
  for (bool before : {false, true}) {
    SCOPED_TRACE(before);
    {
      FrameScope frame(*program);
      for (int i = 0; i < 16; ++i) {
        gpuasync_stream *more = frame.stream();
        store(frame, more);
        frame.destroy(more, /*idle=*/false);
      }
      gpuasync_stream *earlier = frame.stream(), *later = frame.stream();
      frame.launch(earlier, Fail, 1, 1, FailParams{1});
      cover(frame, earlier, later);
      awaitEnd(later);
      if (before)
        frame.destroy(earlier, /*idle=*/false);
      frame.destroy(later, /*idle=*/false);
      frame.stream(); // looks at those that came back
      frame.stream();
      if (!before)
        frame.destroy(earlier, /*idle=*/false);
      leaveWell(frame);
    }
    FrameScope frame(*program);
    std::vector<gpuasync_stream *> streams;
    for (int i = 0; i < 40; ++i) {
      streams.push_back(frame.stream());
      store(frame, streams.back());
    }
    frame.wait(streams);
    for (gpuasync_stream *stream : streams)
      frame.destroy(stream);
    leaveWell(frame);
  }
}

// In a frame that fails, covers count for nothing: all its streams are asked.
TEST_P(Cover, FailedFrameLeavesNothing_E02) {
  if (!onCpu())
    GTEST_SKIP() << "a fault of a GPU is final";
  {
    FrameScope frame(*program);
    gpuasync_stream *earlier = frame.stream(), *later = frame.stream();
    store(frame, earlier);
    cover(frame, earlier, later);
    frame.wait({later});
    frame.launch(earlier, Fail, 1, 1, FailParams{1});
    cover(frame, earlier, later);
    frame.destroy(earlier, /*idle=*/false);
    EXPECT_EQ(frame.wait({later}), 1);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
  }
  FrameScope frame(*program);
  std::vector<gpuasync_stream *> streams = {frame.stream(), frame.stream()};
  for (gpuasync_stream *stream : streams)
    store(frame, stream);
  frame.wait(streams);
  for (gpuasync_stream *stream : streams)
    frame.destroy(stream);
  leaveWell(frame);
}

} // namespace
