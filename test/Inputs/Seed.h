//===- Seed.h - The seed of random tests ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests draw the same numbers in each run, so that a failure repeats. Other
// seeds are for `./dev fuzz --tests`, which sets GPU_ASYNC_TEST_SEED.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_INPUTS_SEED_H
#define GPUASYNC_TEST_INPUTS_SEED_H

#include <stdint.h>
#include <stdlib.h>

namespace gpuasync_test {

/// Returns GPU_ASYNC_TEST_SEED, or the seed of ordinary runs.
inline uint32_t testSeed() {
  const char *text = getenv("GPU_ASYNC_TEST_SEED");
  return text && *text ? static_cast<uint32_t>(strtoul(text, nullptr, 10))
                       : 20261127;
}

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_INPUTS_SEED_H
