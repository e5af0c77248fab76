//===- Adversary.h - the schedule that tests run under ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests run the cpu device under an adversarial schedule unless the environment
// names another. A failure is printed with the variables that repeat it. The
// user's disk cache is not used.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_ADVERSARY_H
#define GPUASYNC_TEST_RUNTIME_ADVERSARY_H

#include "../Inputs/Seed.h"

#include <gtest/gtest.h>

#include <stdio.h>
#include <stdlib.h>
#include <string>

namespace gpuasync_test {

class TellSeeds : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo &info) override {
    const char *schedule = getenv("GPU_ASYNC_CPU_SCHEDULE");
    if (info.result()->Failed())
      printf("with GPU_ASYNC_TEST_SEED=%u GPU_ASYNC_CPU_SCHEDULE=%s\n",
             testSeed(), schedule ? schedule : "");
  }
};

/// In place of testing::InitGoogleTest.
inline void initUnderAdversary(int &argc, char **argv) {
  std::string schedule = "adversarial:" + std::to_string(testSeed());
  setenv("GPU_ASYNC_CPU_SCHEDULE", schedule.c_str(), /*overwrite=*/0);
  setenv("GPU_ASYNC_CACHE", "off", /*overwrite=*/0);
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new TellSeeds);
}

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_ADVERSARY_H
