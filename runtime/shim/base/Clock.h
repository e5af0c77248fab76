//===- Clock.h - Time, and how long a wait may last -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One clock for all: monotonic, in nanoseconds.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_BASE_CLOCK_H
#define GPUASYNC_SHIM_BASE_CLOCK_H

#include "shim/base/Uncancelled.h"

#include <stdint.h>
#include <time.h>

namespace gpuasync {

inline int64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

inline void sleepNs(int64_t ns) {
  const Uncancelled uncancelled;
  timespec duration = {time_t(ns / 1000000000), long(ns % 1000000000)};
  nanosleep(&duration, nullptr);
}

/// Between two looks of a thread that polls without a pause.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// The end of waits that last `timeoutNs` together, from now on; negative: they
/// last for ever.
struct Deadline {
  explicit Deadline(int64_t timeoutNs)
      : timeoutNs(timeoutNs), at(timeoutNs < 0 ? -1 : nowNs() + timeoutNs) {}
  /// What is left of the time, as a driver's waits take it.
  int64_t left() const {
    if (at < 0)
      return -1;
    int64_t now = nowNs();
    return at > now ? at - now : 0;
  }
  bool over() const { return at >= 0 && nowNs() >= at; }

  const int64_t timeoutNs;

private:
  int64_t at;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_BASE_CLOCK_H
