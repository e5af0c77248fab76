//===- PolledWait.h - Waiting by queries ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host wait that spins first and then sleeps for a fraction of the time that
// has gone by. It takes a timeout, sees errors, and leaves the processor free,
// which the vendors' own waits do not do together.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_PROCESS_POLLEDWAIT_H
#define GPUASYNC_SHIM_PROCESS_POLLEDWAIT_H

#include "shim/base/Clock.h"
#include "shim/base/StatusImpl.h"
#include "shim/process/Thread.h"

#include <sys/prctl.h>

namespace gpuasync {

/// Sleeps of this thread that end on time. The system lets timers be
/// late by a slack (50 us on Linux), unless a thread says otherwise.
class Backoff {
public:
  Backoff() = default;
  Backoff(const Backoff &) = delete;
  Backoff &operator=(const Backoff &) = delete;
  ~Backoff() {
    if (slack > 0)
      prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));
  }
  void take(int64_t ns) {
    if (!asked) {
      asked = true;
      slack = prctl(PR_GET_TIMERSLACK);
      if (slack > 0)
        prctl(PR_SET_TIMERSLACK, 1UL);
    }
    sleepNs(ns);
  }

private:
  bool asked = false;
  int slack = 0; ///< the thread's own, while it sleeps
};

/// Calls `query(bool &reached)` until it says reached, fails, or `timeoutNs`
/// (negative: never) is over; `done` says whether it was reached. Spins for
/// some times the time that is set; after that a wait is late by a
/// thirty-second of its length at most, and by what it takes to wake up.
template <typename Query>
Status polledWait(int64_t timeoutNs, bool &done, Query query) {
  const int64_t longestSleepNs = 1000000;
  const int64_t spinNs = process().spinNs.load(std::memory_order_relaxed);
  done = false;
  if (Status status = query(done); !status.ok() || done)
    return status;
  const int64_t start = nowNs();
  Backoff backoff;
  for (;;) {
    if (Status status = query(done); !status.ok() || done)
      return status;
    int64_t elapsed = nowNs() - start;
    if (timeoutNs >= 0 && elapsed >= timeoutNs)
      return Status();
    if (elapsed / 4 < spinNs)
      continue;
    int64_t sleep = elapsed / 32;
    sleep = sleep > longestSleepNs ? longestSleepNs : sleep;
    if (timeoutNs >= 0 && sleep > timeoutNs - elapsed)
      sleep = timeoutNs - elapsed;
    backoff.take(sleep);
  }
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_PROCESS_POLLEDWAIT_H
