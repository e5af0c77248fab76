//===- Main.cpp - main of the checker's tests -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cpu device is no friend, as in all tests, and has little memory, so that
// what the checker keeps of freed memory is given back while tests run.
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <string>

namespace {
class TellSchedule : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo &info) override {
    const char *schedule = getenv("GPU_ASYNC_CPU_SCHEDULE");
    if (info.result()->Failed() && schedule)
      printf("with GPU_ASYNC_CPU_SCHEDULE=%s\n", schedule);
  }
};
} // namespace

int main(int argc, char **argv) {
  std::string schedule =
      "adversarial:" + std::to_string(std::random_device()() >> 1);
  setenv("GPU_ASYNC_CPU_SCHEDULE", schedule.c_str(), /*overwrite=*/0);
  setenv("GPU_ASYNC_CPU_MEMORY", "67108864", /*overwrite=*/1);
  setenv("GPU_ASYNC_CACHE", "off", /*overwrite=*/0);
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new TellSchedule);
  return RUN_ALL_TESTS();
}
