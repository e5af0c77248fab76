//===- Adversary.h - the schedule that tests run under ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cpu device is no friend in tests: it runs under an adversarial schedule
// unless the environment says otherwise; a failure is told with its seed. The
// user's disk cache stays out.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_ADVERSARY_H
#define GPUASYNC_TEST_RUNTIME_ADVERSARY_H

#include <gtest/gtest.h>

#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <string>

namespace gpuasync_test {

class TellSchedule : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo &info) override {
    const char *schedule = getenv("GPU_ASYNC_CPU_SCHEDULE");
    if (info.result()->Failed() && schedule)
      printf("with GPU_ASYNC_CPU_SCHEDULE=%s\n", schedule);
  }
};

/// In place of testing::InitGoogleTest.
inline void initUnderAdversary(int &argc, char **argv) {
  std::string schedule =
      "adversarial:" + std::to_string(std::random_device()() >> 1);
  setenv("GPU_ASYNC_CPU_SCHEDULE", schedule.c_str(), /*overwrite=*/0);
  setenv("GPU_ASYNC_CACHE", "off", /*overwrite=*/0);
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new TellSchedule);
}

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_ADVERSARY_H
