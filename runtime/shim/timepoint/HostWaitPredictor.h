//===- HostWaitPredictor.h - Whether the host waits for a graph -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph that is waited for next tells the host itself when it has come to its
// end; for what comes behind it on the device that takes longer.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_TIMEPOINT_HOSTWAITPREDICTOR_H
#define GPUASYNC_SHIM_TIMEPOINT_HOSTWAITPREDICTOR_H

#include <atomic>
#include <stdint.h>

namespace gpuasync {

/// What was seen of the graphs of one part of a region. Thread safe; what
/// threads do at once may count once.
class HostWaitPredictor {
public:
  /// Before a launch: whether it is to tell of its end. It changes seldom,
  /// since a change takes longer than a launch.
  bool expect() {
    const int32_t seen = score.load(std::memory_order_relaxed);
    if (seen)
      score.store(seen - 1, std::memory_order_relaxed);
    else if (expected.load(std::memory_order_relaxed))
      expected.store(false, std::memory_order_relaxed);
    return expected.load(std::memory_order_relaxed);
  }
  /// Whether the last `expect` said so.
  bool isExpected() const { return expected.load(std::memory_order_relaxed); }
  /// The host waits for a launch, with nothing behind it.
  void waited() {
    const int32_t seen = score.load(std::memory_order_relaxed);
    if (seen < most)
      score.store(seen + 2, std::memory_order_relaxed);
    if (seen >= enough && !expected.load(std::memory_order_relaxed))
      expected.store(true, std::memory_order_relaxed);
  }

private:
  static constexpr int32_t enough = 2, most = 8;
  std::atomic<int32_t> score{0};
  std::atomic<bool> expected{false};
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_TIMEPOINT_HOSTWAITPREDICTOR_H
