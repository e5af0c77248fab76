//===- Main.cpp - main of the runtime's gtest programs --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cpu device runs under an adversarial schedule unless the environment says
// otherwise; a failure is told with its seed. The user's disk cache stays out.
//===----------------------------------------------------------------------===//

#include "Expectations.h"

#include <gtest/gtest.h>

#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

std::vector<const char *> gpuasync_test::testedDevices() {
  return {"cpu", "cuda"};
}
gpuasync_test::Mock *gpuasync_test::mockOf(const std::string &) {
  return nullptr;
}

int main(int argc, char **argv) {
  std::string schedule =
      "adversarial:" + std::to_string(std::random_device()() >> 1);
  setenv("GPU_ASYNC_CPU_SCHEDULE", schedule.c_str(), /*overwrite=*/0);
  setenv("GPU_ASYNC_CACHE", "off", /*overwrite=*/0);
  testing::InitGoogleTest(&argc, argv);
  // Of the stress tests.
  for (int i = 1; i < argc; ++i)
    for (auto &[option, name] :
         {std::make_pair("--seconds=", "GPU_ASYNC_STRESS_SECONDS"),
          std::make_pair("--seed=", "GPU_ASYNC_STRESS_SEED")})
      if (strncmp(argv[i], option, strlen(option)) == 0)
        setenv(name, argv[i] + strlen(option), /*overwrite=*/1);
  testing::UnitTest::GetInstance()->listeners().Append(new TellSchedule);
  return RUN_ALL_TESTS();
}
