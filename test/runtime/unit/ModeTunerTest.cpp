//===- ModeTunerTest.cpp - How a region is played best
//-----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choice is told times that the tests make up.
//===----------------------------------------------------------------------===//

#include "services/graphs/ModeTuner.h"

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>

using namespace gpuasync;

namespace {

/// Goes through a region so often; what a pass takes says `cost`, 0 if nothing
/// waits for it. Returns how often each way was gone.
std::map<ExecutionMode, uint64_t>
pass(ModeTuner &choice, uint64_t times,
     const std::function<uint64_t(ExecutionMode)> &cost) {
  std::map<ExecutionMode, uint64_t> gone;
  for (uint64_t i = 0; i < times; ++i) {
    bool timed = false;
    ExecutionMode way = choice.next(/*mayTime=*/true, timed);
    ++gone[way];
    if (!timed)
      continue;
    if (uint64_t ns = cost(way))
      choice.took(way, ns);
    else
      choice.lost(/*building=*/false);
  }
  return gone;
}

uint64_t costs(ExecutionMode way, uint64_t streams, uint64_t stream,
               uint64_t graph) {
  return way == ExecutionMode::Streams  ? streams
         : way == ExecutionMode::Stream ? stream
                                        : graph;
}

TEST(ModeTuner, TheFastestIsTaken_G09) {
  for (ExecutionMode fastest :
       {ExecutionMode::Streams, ExecutionMode::Stream, ExecutionMode::Graph}) {
    SCOPED_TRACE(nameOf(fastest));
    std::mt19937 noise(7);
    auto cost = [&](ExecutionMode way) -> uint64_t {
      // One pass of eight is disturbed.
      return (way == fastest ? 10000 : 13000) + noise() % 1000 +
             (noise() % 8 ? 0 : 500000);
    };
    ModeTuner choice;
    EXPECT_FALSE(choice.asked());
    EXPECT_EQ(pass(choice, ModeTuner::warmPasses, cost)[ExecutionMode::Graph],
              ModeTuner::warmPasses);
    pass(choice, ModeTuner::mostPasses, cost);
    EXPECT_EQ(choice.current(), fastest);
    EXPECT_STREQ(choice.reason(), "fastest");
    for (ExecutionMode way :
         {ExecutionMode::Streams, ExecutionMode::Stream, ExecutionMode::Graph})
      EXPECT_NE(choice.median(way), 0u) << nameOf(way);
    EXPECT_TRUE(choice.asked());
    // And nearly always.
    EXPECT_GE(pass(choice, 100000, cost)[fastest], 99000u);
    EXPECT_EQ(choice.current(), fastest);
  }
}

TEST(ModeTuner, ALittleFasterIsNoReasonToChange_G09) {
  ModeTuner choice;
  pass(choice, 1000,
       [](ExecutionMode way) { return costs(way, 2000, 2000, 1000); });
  ASSERT_EQ(choice.current(), ExecutionMode::Graph);
  pass(choice, 10000,
       [](ExecutionMode way) { return costs(way, 970, 970, 1000); });
  EXPECT_EQ(choice.current(), ExecutionMode::Graph);
  pass(choice, 10000,
       [](ExecutionMode way) { return costs(way, 970, 900, 1000); });
  EXPECT_EQ(choice.current(), ExecutionMode::Stream);
}

TEST(ModeTuner, OtherTimesAreMeasuredAnew_G09) {
  ModeTuner choice;
  pass(choice, 100,
       [](ExecutionMode way) { return costs(way, 2000, 2000, 1000); });
  ASSERT_EQ(choice.current(), ExecutionMode::Graph);
  // Soon after, not only at the next turn.
  auto larger = [](ExecutionMode way) {
    return costs(way, 1000000, 3000000, 2000000);
  };
  pass(choice, 5 * ModeTuner::timedEvery + ModeTuner::mostPasses, larger);
  EXPECT_EQ(choice.current(), ExecutionMode::Streams);
}

TEST(ModeTuner, WithoutTimesItIsAGraph_G09) {
  ModeTuner choice;
  auto gone = pass(choice, 10000, [](ExecutionMode) { return uint64_t(0); });
  EXPECT_EQ(choice.current(), ExecutionMode::Graph);
  EXPECT_STREQ(choice.reason(), "not waited for");
  EXPECT_GE(gone[ExecutionMode::Graph], 9900u);
}

TEST(ModeTuner, AGraphEachTimeDoesNotPay_G09) {
  for (bool waited : {false, true}) {
    ModeTuner choice;
    uint64_t graphs = 0;
    for (int i = 0; i < 10000; ++i) {
      bool timed = false;
      ExecutionMode way = choice.next(/*mayTime=*/true, timed);
      graphs += way == ExecutionMode::Graph;
      if (!timed)
        continue;
      if (way != ExecutionMode::Graph && waited)
        choice.took(way, 1000);
      else
        choice.lost(/*building=*/way == ExecutionMode::Graph);
    }
    EXPECT_NE(choice.current(), ExecutionMode::Graph);
    EXPECT_STREQ(choice.reason(), "a graph is made each time");
    EXPECT_LE(graphs, 100u);
  }
}

TEST(ModeTuner, AGraphEachTimeFromNowOn_G09) {
  ModeTuner choice;
  pass(choice, 100,
       [](ExecutionMode way) { return costs(way, 2000, 2000, 1000); });
  ASSERT_EQ(choice.current(), ExecutionMode::Graph);
  for (uint32_t i = 0; i < 5 * ModeTuner::timedEvery + ModeTuner::mostPasses;
       ++i) {
    bool timed = false;
    ExecutionMode way = choice.next(/*mayTime=*/true, timed);
    if (timed && way == ExecutionMode::Graph)
      choice.lost(/*building=*/true);
    else if (timed)
      choice.took(way, 2000);
  }
  EXPECT_NE(choice.current(), ExecutionMode::Graph);
  EXPECT_STREQ(choice.reason(), "a graph is made each time");
}

TEST(ModeTuner, OnlyWhereTheTimeMayBeTaken_G09) {
  ModeTuner choice;
  bool timed = true;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(choice.next(/*mayTime=*/false, timed), ExecutionMode::Graph);
    EXPECT_FALSE(timed);
  }
}

} // namespace
