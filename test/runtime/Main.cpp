//===- Main.cpp - main of the runtime's gtest programs --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Adversary.h"
#include "Expectations.h"

#include <string.h>

std::vector<const char *> gpuasync_test::testedDevices() {
  return {"cpu", "cuda"};
}
gpuasync_test::Mock *gpuasync_test::mockOf(const std::string &) {
  return nullptr;
}

int main(int argc, char **argv) {
  gpuasync_test::initUnderAdversary(argc, argv);
  // Of the stress tests.
  for (int i = 1; i < argc; ++i)
    for (auto &[option, name] :
         {std::make_pair("--seconds=", "GPU_ASYNC_STRESS_SECONDS"),
          std::make_pair("--seed=", "GPU_ASYNC_TEST_SEED")})
      if (strncmp(argv[i], option, strlen(option)) == 0)
        setenv(name, argv[i] + strlen(option), /*overwrite=*/1);
  return RUN_ALL_TESTS();
}
