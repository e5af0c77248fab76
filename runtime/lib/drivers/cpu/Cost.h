//===- Cost.h - What a block of a kernel takes ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured, since the number of threads says little: 4096 of them are a
// microsecond of additions or a millisecond of loops. One for each kernel of a
// loaded module.
//===----------------------------------------------------------------------===//
//
// All functions may be called by several threads at once. They take no locks: a
// sample that another one overwrites is lost, and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DRIVERS_CPU_COST_H
#define GPUASYNC_DRIVERS_CPU_COST_H

#include <algorithm>
#include <atomic>
#include <stdint.h>

namespace gpuasync {
namespace cpu {

/// Work that takes one processor longer than so many nanoseconds is worth
/// another thread: to wake one takes some microseconds.
constexpr int64_t worthThreadNs = 10240;

class Cost {
public:
  /// Nanoseconds that one processor takes for `blocks` blocks of
  /// `threadsPerBlock` threads. Of a kernel that was not measured twice, as
  /// though more than 16384 threads were worth another thread.
  int64_t estimate(int64_t blocks, int64_t threadsPerBlock) const {
    const uint64_t two = samples.load(std::memory_order_relaxed);
    // The cheaper one: the other may have met cold caches, or have lost the
    // processor for milliseconds.
    uint64_t block = std::min(two >> 32, two & UINT32_MAX);
    if (__builtin_expect(block == 0, 0))
      block = uint64_t(threadsPerBlock) * (worthThreadNs * unitsPerNs / 16384);
    uint64_t work;
    if (__builtin_mul_overflow(block, uint64_t(blocks), &work))
      work = UINT64_MAX;
    return static_cast<int64_t>(work / unitsPerNs);
  }

  /// Whether a launch of `estimateNs` is to be measured: most small ones are
  /// not, since two looks at the clock take half as long as they do. `position`
  /// is any number that differs from launch to launch: it is mixed, as every
  /// 64th launch may be of the same kernel.
  bool wantsSample(int64_t estimateNs, uint64_t position) const {
    return estimateNs >= worthThreadNs / 4 ||
           static_cast<uint32_t>(position * 2654435769u) >> 26 == 0 ||
           samples.load(std::memory_order_relaxed) >> 32 == 0;
  }

  /// `blocks` blocks took one processor `ns` nanoseconds, with a look at the
  /// clock and what a launch takes beside its blocks.
  void addSample(int64_t ns, int64_t blocks) {
    constexpr int64_t besideBlocks = 40;
    int64_t units;
    if (__builtin_mul_overflow(std::max<int64_t>(ns - besideBlocks, 0),
                               int64_t(unitsPerNs), &units))
      units = INT64_MAX;
    auto block = static_cast<uint64_t>(
        std::clamp<int64_t>(units / blocks, 1, UINT32_MAX));
    samples.store(samples.load(std::memory_order_relaxed) << 32 | block,
                  std::memory_order_relaxed);
  }

private:
  /// A nanosecond a block is much where there are millions of blocks; 2^32
  /// sixteenths are a quarter of a second.
  static constexpr uint32_t unitsPerNs = 16;
  /// The last two, of a block, the later one low; 0: none yet.
  std::atomic<uint64_t> samples{0};
};

} // namespace cpu
} // namespace gpuasync

#endif // GPUASYNC_DRIVERS_CPU_COST_H
