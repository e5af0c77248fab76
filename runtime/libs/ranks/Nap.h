//===- Nap.h - Between two looks --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_NAP_H
#define GPUASYNC_LIBS_RANKS_NAP_H

#include <algorithm>
#include <chrono>
#include <stdint.h>
#include <thread>

namespace gpuasync {
namespace ranks {

/// Waits between two looks: briefly at first, and then less and less of the
/// processor's time.
class Nap {
public:
  void take() {
    if (++taken < 32)
      return std::this_thread::yield();
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::min<uint64_t>(20 + taken / 8, 1000)));
  }

private:
  uint64_t taken = 0;
};

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_NAP_H
