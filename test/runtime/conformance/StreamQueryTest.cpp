//===- StreamQueryTest.cpp - Whether a stream's work is done --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A query waits for nothing. Where it says that the work is done, the host may
// go on as after a wait.
//===----------------------------------------------------------------------===//

#include "RegionFixture.h"

#include <string.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class StreamQuery : public RegionTest {
protected:
  /// Asks until the work is done or the frame has failed.
  static bool comesToItsEnd(FrameScope &frame, gpuasync_stream *stream) {
    while (!frame.query(stream)) {
      if (frame.failed())
        return false;
      std::this_thread::yield();
    }
    return true;
  }
  static void expectIn(const Status &status, const char *text) {
    EXPECT_NE(strstr(status.message(), text), nullptr) << status.message();
  }
};
INSTANTIATE_OVER_DEVICES(StreamQuery);

TEST_P(StreamQuery, SaysWhetherWorkIsDone) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream(), *other = frame.stream();
  uint32_t *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  EXPECT_EQ(frame.query(stream), 1) << "nothing is on it";
  frame.launch(stream, Gate, 1, 1, GateParams{flag});
  gpuasync_event *event = frame.record(stream);
  frame.waitEvent(other, event);
  frame.destroy(event);
  EXPECT_EQ(frame.query(stream), 0);
  EXPECT_EQ(frame.query(other), 0) << "it waits";
  EXPECT_FALSE(frame.failed());
  openGate(flag);
  EXPECT_TRUE(comesToItsEnd(frame, other));
  EXPECT_TRUE(comesToItsEnd(frame, stream)); // the other one has waited for it
  EXPECT_EQ(frame.query(stream), 1);
  frame.dealloc(nullptr, flag);
}

// Also where the device has no priorities.
TEST_P(StreamQuery, UrgentStreamsAreUsedAgain) {
  void *native = nullptr;
  for (int round = 0; round < 40; ++round) {
    FrameScope frame(*program);
    gpuasync_stream *stream =
        gpuasync_stream_create_urgent(frame, 0, SITE("create"));
    ASSERT_NE(stream, nullptr);
    void *now = gpuasync_stream_native(frame, stream, SITE("op"));
    frame.wait({stream});
    frame.destroy(stream, /*idle=*/true);
    EXPECT_EQ(round ? native : now, now);
    native = now;
  }
}

// A pageable destination is written when the work is done.
TEST_P(StreamQuery, FinishesDownloads) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  Words in(3000, 4), out(3000);
  uint32_t *x = frame.alloc(stream, 3000);
  frame.copy(stream, x, in.data(), 12000);
  frame.launch(stream, MulAdd, 12, 250, MulAddParams{x, 3000, 2, 1});
  frame.copy(stream, out.data(), x, 12000);
  EXPECT_TRUE(comesToItsEnd(frame, stream));
  EXPECT_EQ(out, Words(3000, 9));
  frame.dealloc(stream, x);
}

// In a region it plays what is recorded. Behind it the streams follow the one
// that has the graph.
TEST_P(StreamQuery, InAndBehindARegion) {
  for (int pass = 0; pass < 6; ++pass) {
    Words out(64);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 64);
    {
      RegionScope region(frame, pass < 3 ? SITE("region") : SITE("inside"));
      frame.launch(a, Store, 1, 64, StoreParams{x, 5});
      gpuasync_event *event = frame.record(a);
      frame.waitEvent(b, event);
      frame.destroy(event);
      frame.copy(b, out.data(), x, 256);
      if (pass >= 3) {
        EXPECT_TRUE(comesToItsEnd(frame, b));
        EXPECT_EQ(out, Words(64, 5));
      }
    }
    EXPECT_TRUE(comesToItsEnd(frame, a));
    EXPECT_TRUE(comesToItsEnd(frame, b));
    EXPECT_EQ(out, Words(64, 5));
    frame.dealloc(a, x);
  }
}

// Work that others have put on a caller's stream counts, too.
TEST_P(StreamQuery, OfACallersStream) {
  gpuasync_stream *callers = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_context_stream_create(context.get(), &callers)).ok());
  void *native = gpuasync_context_stream_native(callers);
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    frame.launch(gpuasync_stream_external(frame, 0, native, SITE("external")),
                 Gate, 1, 1, GateParams{flag});
  }
  {
    FrameScope frame(*program);
    gpuasync_stream *theirs =
        gpuasync_stream_external(frame, 0, native, SITE("external"));
    EXPECT_EQ(frame.query(theirs), 0);
    openGate(flag);
    EXPECT_TRUE(comesToItsEnd(frame, theirs));
    uint32_t *x = frame.alloc(nullptr, 64);
    frame.launch(theirs, Store, 1, 64, StoreParams{x, 1});
    EXPECT_TRUE(comesToItsEnd(frame, theirs));
    frame.dealloc(nullptr, x);
    frame.dealloc(nullptr, flag);
  }
  gpuasync_context_stream_destroy(callers);
}

TEST_P(StreamQuery, MisuseIsRefused) {
  {
    FrameScope frame(*program);
    EXPECT_EQ(frame.query(nullptr), 0);
    EXPECT_TRUE(frame.failed());
    expectIn(frame.leave(), ": query: null stream");
  }
  FrameScope outer(*program);
  gpuasync_stream *stream = outer.stream();
  {
    FrameScope frame(*program);
    EXPECT_EQ(frame.query(stream), 0);
    expectIn(frame.leave(), "the stream does not belong to this frame");
  }
  {
    FrameScope frame(*program);
    gpuasync_stream *own = frame.stream();
    frame.launch(own, Store, -1, 64, StoreParams{nullptr, 1});
    EXPECT_TRUE(frame.failed());
    EXPECT_EQ(frame.query(own), 0) << "idle, but the frame has failed";
    expectIn(frame.leave(), "-1 x 1 x 1");
  }
}

// E01: an error of the stream's work is the frame's.
TEST_P(StreamQuery, ReportsErrorsOfTheWork_E01) {
  if (!onCpu())
    GTEST_SKIP() << "a trap loses the device: DeviceLoss.QueriesSaySo_E04";
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  frame.launch(stream, Fail, 1, 1, FailParams{1});
  EXPECT_FALSE(comesToItsEnd(frame, stream));
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
}

} // namespace
