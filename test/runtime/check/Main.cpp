//===- Main.cpp - main of the checker's tests -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cpu device has little memory, so that what the checker keeps of freed
// memory is given back while tests run.
//===----------------------------------------------------------------------===//

#include "Adversary.h"

int main(int argc, char **argv) {
  setenv("GPU_ASYNC_CPU_MEMORY", "67108864", /*overwrite=*/1);
  gpuasync_test::initUnderAdversary(argc, argv);
  return RUN_ALL_TESTS();
}
