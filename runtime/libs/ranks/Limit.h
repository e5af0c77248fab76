//===- Limit.h - The time limit of a wait -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For waits on the host: GPU_ASYNC_TIMEOUT from now on.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_LIMIT_H
#define GPUASYNC_LIBS_RANKS_LIMIT_H

#include "gpuasync/Context.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdio.h>
#include <string>

namespace gpuasync {
namespace ranks {

class Limit {
  using Clock = std::chrono::steady_clock;

public:
  bool isOver() const { return seconds > 0 && Clock::now() > end; }
  /// Waits until `condition()`. False: the time is over before.
  template <typename Condition>
  bool wait(std::unique_lock<std::mutex> &lock,
            std::condition_variable &changed, Condition condition) const {
    if (seconds > 0)
      return changed.wait_until(lock, end, condition);
    changed.wait(lock, condition);
    return true;
  }
  std::string describe() const {
    char text[64];
    snprintf(text, sizeof(text), "timed out after %g s", seconds);
    return text;
  }

private:
  const double seconds = gpuasync_get_timeout(); ///< 0: there is no limit
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(seconds));
};

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_LIMIT_H
