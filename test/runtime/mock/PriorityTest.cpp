//===- PriorityTest.cpp - Streams whose work begins before others' --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Urgent streams have a priority, and serve no call that wants another stream.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "gpuasync/Program.h"

#include <string>

using namespace gpuasync_test;

namespace {

class Priorities : public DeviceTest {
protected:
  uint64_t countMade() {
    return mock->mock_calls(device() == "cuda" ? "cuStreamCreateWithPriority"
                                               : "hipStreamCreateWithPriority");
  }
};
INSTANTIATE_OVER_DEVICES(Priorities);

TEST_P(Priorities, UrgentStreamsAreKeptApart) {
  void *urgent = nullptr;
  for (int round = 0; round < 3; ++round) {
    FrameScope frame(*program);
    gpuasync_stream *first =
        gpuasync_stream_create_urgent(frame, 0, SITE("create"));
    ASSERT_NE(first, nullptr);
    void *native = gpuasync_stream_native(frame, first, SITE("op"));
    EXPECT_EQ(countMade(), 1u);
    if (!round)
      urgent = native;
    EXPECT_EQ(native, urgent) << "it is used again";
    // With work on it, or none, it goes back to its like.
    if (round)
      frame.wait({first});
    frame.destroy(first, /*idle=*/round != 0);
    gpuasync_stream *plain = frame.stream();
    EXPECT_NE(gpuasync_stream_native(frame, plain, SITE("op")), urgent);
    frame.destroy(plain, /*idle=*/false);
  }
}

TEST_P(Priorities, TwoAtOnceAreTwoStreams) {
  FrameScope frame(*program);
  gpuasync_stream *a = gpuasync_stream_create_urgent(frame, 0, SITE("create")),
                  *b = gpuasync_stream_create_urgent(frame, 0, SITE("create"));
  EXPECT_NE(gpuasync_stream_native(frame, a, SITE("op")),
            gpuasync_stream_native(frame, b, SITE("op")));
  EXPECT_EQ(countMade(), 2u);
  frame.destroy(a, /*idle=*/true);
  frame.destroy(b, /*idle=*/true);
}

} // namespace
