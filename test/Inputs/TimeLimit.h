//===- TimeLimit.h - Limits that end a test which hangs ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A limit is there to end a hang, so it is generous, and longer on a machine
// that is slow or busy.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_INPUTS_TIMELIMIT_H
#define GPUASYNC_TEST_INPUTS_TIMELIMIT_H

#include <stdlib.h>

namespace gpuasync_test {

/// Returns the limit, in seconds, for something that takes at most `seconds` on
/// a quiet machine. `./dev test` measures the machine and sets
/// GPU_ASYNC_TEST_SLOWNESS to how many times longer it takes.
inline unsigned timeLimit(unsigned seconds) {
  const char *text = getenv("GPU_ASYNC_TEST_SLOWNESS");
  const double slowness = text ? strtod(text, nullptr) : 1;
  return static_cast<unsigned>(4 * seconds * (slowness > 1 ? slowness : 1));
}

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_INPUTS_TIMELIMIT_H
