//===- TimedFixture.h - Tests of what says when work ran --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work of known size, whose times the fake libraries have.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_TIMEDFIXTURE_H
#define GPUASYNC_TEST_RUNTIME_TIMEDFIXTURE_H

#include "RegionFixture.h"

namespace gpuasync_test {

class TimedTest : public RegionTest {
protected:
  static constexpr uint32_t count = 256;
  /// Kernels and copies of `forkAndJoin`.
  static constexpr uint64_t launches = 2, copies = 3;

  void SetUp() override {
    if (mock)
      mock->mock_configure("timing", 1);
    RegionTest::SetUp();
    play("streams");
  }
  void TearDown() override {
    RegionTest::TearDown();
    if (mock)
      mock->mock_configure("timing", 0);
  }

  /// x = value on one stream, y = x + 1 on another, both to the host.
  void forkAndJoin(TestProgram &program, uint32_t value) {
    Words in(count, 7), x(count), y(count);
    FrameScope frame(program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *onA = frame.alloc(a, count), *onB = frame.alloc(a, count);
    frame.copy(a, onB, in.data(), count * 4);
    frame.launch(a, Store, 1, count, detail::StoreParams{onA, value});
    gpuasync_event *stored = frame.record(a);
    frame.waitEvent(b, stored);
    frame.destroy(stored);
    frame.launch(b, AddUp, 1, count, detail::AddUpParams{onB, onA, count, 1});
    frame.copy(a, x.data(), onA, count * 4);
    frame.copy(b, y.data(), onB, count * 4);
    frame.wait({a, b});
    frame.dealloc(a, onA);
    frame.dealloc(b, onB);
    EXPECT_EQ(x, Words(count, value));
    EXPECT_EQ(y, Words(count, value + 1));
  }
};

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_TIMEDFIXTURE_H
