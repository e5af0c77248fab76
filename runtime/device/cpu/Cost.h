//===- Cost.h - What a block of a kernel takes ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured, since neither the number of threads nor that of operations says how
// long they take: 4096 threads are a microsecond of additions or a millisecond
// of loops. One for each kernel of a loaded module.
//===----------------------------------------------------------------------===//
//
// All functions may be called by several threads at once. They take no locks: a
// sample that another one overwrites is lost, and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_CPU_COST_H
#define GPUASYNC_DEVICE_CPU_COST_H

#include <algorithm>
#include <atomic>
#include <stdint.h>
#include <string.h>

namespace gpuasync {
namespace cpu {

/// Work that takes one processor longer than so many nanoseconds is worth
/// another thread: to wake one takes some microseconds.
constexpr float worthThreadNs = 10240;

/// What a launch does, in units of which each takes about as long as the others
/// of the kernel: operations, where the compiler knows a bound for them, which
/// follow the arguments, else threads.
struct Work {
  double unitsOfBlock = 0;
  bool isBounded = false; ///< the units are operations
};

class Cost {
public:
  /// Nanoseconds that one processor takes for so many blocks. Of a kernel that
  /// was not measured twice, as though more than 16384 threads, or 65536
  /// operations, were worth another thread.
  double estimate(const Work &work, int64_t blocks) const {
    const Samples last = unpack(samples.load(std::memory_order_relaxed));
    // The cheaper one: the other may have met cold caches, or have lost the
    // processor for milliseconds.
    float unitNs = std::min(last.earlier, last.later);
    if (__builtin_expect(unitNs == 0, 0))
      unitNs = worthThreadNs / (work.isBounded ? 65536 : 16384);
    return static_cast<double>(unitNs) * work.unitsOfBlock *
           static_cast<double>(blocks);
  }

  /// Whether a launch is small, however the kernel was measured: it provably
  /// ends in no time. A bound may be far above what was measured, if most of a
  /// kernel is behind a condition.
  bool isSmall(const Work &work, int64_t blocks) const {
    return work.isBounded && work.unitsOfBlock * double(blocks) <= 1 << 20 &&
           estimate(work, blocks) <= worthThreadNs;
  }

  /// Whether a launch of `estimateNs` is to be measured: most small ones are
  /// not, since two looks at the clock take half as long as they do. `position`
  /// is any number that differs from launch to launch: it is mixed, as every
  /// 64th launch may be of the same kernel.
  bool wantsSample(double estimateNs, uint64_t position) const {
    return estimateNs >= worthThreadNs / 4 ||
           static_cast<uint32_t>(position * 2654435769u) >> 26 == 0 ||
           unpack(samples.load(std::memory_order_relaxed)).earlier == 0;
  }

  /// `blocks` blocks took one processor `ns` nanoseconds, with a look at the
  /// clock and what a launch takes beside its blocks.
  void addSample(int64_t ns, const Work &work, int64_t blocks) {
    constexpr int64_t besideBlocks = 40;
    const double units = work.unitsOfBlock * double(blocks);
    if (!(units > 0))
      return;
    Samples last = unpack(samples.load(std::memory_order_relaxed));
    last.earlier = last.later;
    // Not zero, which is none.
    last.later =
        std::max(static_cast<float>(
                     double(std::max<int64_t>(ns - besideBlocks, 0)) / units),
                 1e-6f);
    samples.store(pack(last), std::memory_order_relaxed);
  }

private:
  /// The last two, in nanoseconds of a unit; 0: none yet.
  struct Samples {
    float earlier, later;
  };
  static Samples unpack(uint64_t bits) {
    Samples result;
    memcpy(&result, &bits, sizeof(result));
    return result;
  }
  static uint64_t pack(Samples last) {
    uint64_t bits;
    memcpy(&bits, &last, sizeof(bits));
    return bits;
  }
  std::atomic<uint64_t> samples{0};
};

} // namespace cpu
} // namespace gpuasync

#endif // GPUASYNC_DEVICE_CPU_COST_H
