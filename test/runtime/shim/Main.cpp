//===- Main.cpp - main of the conformance suite over the shim -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts libhip_shim.so, which lies beside this program, under the hip driver.
// Without a CUDA device every test is skipped.
//===----------------------------------------------------------------------===//

#include "Expectations.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

std::vector<const char *> gpuasync_test::testedDevices() {
  return {"hip-on-shim"};
}
gpuasync_test::Mock *gpuasync_test::mockOf(const std::string &) {
  return nullptr;
}

int main(int argc, char **argv) {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof(path) - 32) < 0)
    abort();
  strcpy(strrchr(path, '/'), "/libhip_shim.so");
  setenv("GPU_ASYNC_HIP_LIBRARY", path, /*overwrite=*/0);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
