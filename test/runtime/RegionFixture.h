//===- RegionFixture.h - Tests of recorded regions --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts how regions were played.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_REGIONFIXTURE_H
#define GPUASYNC_TEST_RUNTIME_REGIONFIXTURE_H

#include "Fixture.h"
#include "shim/context/ContextImpl.h"

namespace gpuasync_test {

using Words = std::vector<uint32_t>;

class RegionTest : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    play("graph");
  }
  void TearDown() override {
    play("streams");
    DeviceTest::TearDown();
    if (context.get())
      EXPECT_EQ(readStats(context).graphs.physical, 0u);
  }
  void play(const char *how) {
    Status status(gpuasync_set_play(how));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  bool hasGraphs() { return context.get()->has(gpuasync::CapGraphs); }
  /// Graphs launched and regions played on streams since the last question.
  struct Played {
    uint64_t graphs, streams;
  };
  Played played() {
    gpuasync_stats now = readStats(context);
    Played more = {now.graphLaunches - before.graphs,
                   now.regionsOnStreams - before.streams};
    before = {now.graphLaunches, now.regionsOnStreams};
    return more;
  }
  void expectPlayed(uint64_t graphs, uint64_t streams) {
    Played now = played();
    EXPECT_EQ(now.graphs, hasGraphs() ? graphs : 0);
    EXPECT_EQ(now.streams, hasGraphs() ? streams : 0);
  }

private:
  Played before = {0, 0};
};

#define REGION SITE("region")

class RegionScope {
public:
  RegionScope(FrameScope &frame, uint32_t site) : frame(frame), site(site) {
    frame.builder.begin(site);
  }
  RegionScope(const RegionScope &) = delete;
  ~RegionScope() { end(); }
  void end() {
    if (open)
      frame.builder.end(site);
    open = false;
  }

private:
  FrameScope &frame;
  uint32_t site;
  bool open = true;
};

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_REGIONFIXTURE_H
