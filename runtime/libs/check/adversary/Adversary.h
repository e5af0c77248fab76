//===- Adversary.h - Worst-case orders of the cpu device --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests: holds back streams that could run, and lets them go in orders that
// a program with a missing dependency does not survive. Off unless asked for.
//===----------------------------------------------------------------------===//
//
// GPU_ASYNC_CPU_SCHEDULE=adversarial:SEED (or gpuasync_set_cpu_schedule) gives
// each context's scheduler one of these, from libgpuasync_check.so. Every
// stream whose head could run comes here instead of to a thread, after each
// operation again, and nothing runs inside enqueue. A thread of the adversary's
// own lets one go at a time.
//
// It plays in episodes, each with rules of its own, drawn from the seed: run
// nothing before the host waits; run only what the awaited position depends on;
// one operation at a time or several, with delays; the newest operation first,
// streams in turn, by random priorities, at random, one stream to its end, one
// victim last. With one operation at a time, run when the one host thread
// waits, the order follows from the seed and the program, not from timing.
//
// Progress: an operation that may block is awaited for a moment only. When
// nothing was let go for that long though something is held, the episode gives
// in: until it ends everything runs as it comes, as without the adversary. So a
// program that polls instead of waiting, or whose kernels spin for each other,
// is late by milliseconds and never stuck.
//
// Locks: Adversary::mutex, then Stream::mutex, one at a time.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_CHECK_ADVERSARY_ADVERSARY_H
#define GPUASYNC_LIBS_CHECK_ADVERSARY_ADVERSARY_H

#include "device/cpu/Scheduler.h"

#include <chrono>
#include <thread>

namespace gpuasync {
namespace cpu {

class Adversary final : public SchedulePolicy {
public:
  /// Throws std::system_error if its thread cannot be made.
  Adversary(StreamRunner &runner, uint64_t seed);
  ~Adversary() override;
  void stop() override;
  void reserve(size_t streams) override;
  void hold(Stream *list) override;
  void cameBack(bool mayBlock, Stream *list) override;
  void beginWait(Awaited &wait) override;
  void endWait(Awaited &wait) override;
  void delay() override;
  uint64_t nextSequence() override { return sequence.fetch_add(1) + 1; }

private:
  enum class Order : uint8_t { Newest, InTurn, Random, Priority, Deep, Victim };
  using Milliseconds = std::chrono::milliseconds;

  uint64_t random(uint64_t below);
  void drawEpisode();
  void threadMain();
  /// The stream to let go, taken off `held`; or null, and after how long
  /// without change the episode gives in (negative: never).
  Stream *choose(Milliseconds &patience);
  /// One of `candidates` by the order of the episode.
  Stream *pick();
  /// Leaves in `candidates` what the awaited positions depend on.
  void keepNeeded();
  bool hostWaits() const;
  void append(Stream *list);
  struct Head {
    uint64_t sequence = 0, targetPosition = 0;
    Stream *target = nullptr; ///< of a wait
    bool mayBlock = false;
  };
  static Head headOf(Stream &stream);

  StreamRunner &runner;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Stream *> held, candidates, needed;
  Awaited *awaited = nullptr;
  uint64_t state; ///< of the random numbers
  uint64_t searches = 0, turns = 0;
  std::atomic<uint64_t> sequence{0};
  uint32_t running = 0, runningThatMayBlock = 0;
  std::chrono::steady_clock::time_point lastChange;
  bool stopping = false;
  bool orderly = false; ///< one operation at a time while the host waits

  // The rules of this episode.
  Order order = Order::Random;
  uint64_t salt = 0;
  uint32_t width = 1;     ///< operations at a time
  uint32_t decisions = 0; ///< left
  bool lazy = false, onlyNeeded = false, gaveIn = false;
  Stream *last = nullptr;
  std::atomic<uint32_t> longestDelayUs{0};
  std::atomic<uint32_t> delays{0};

  std::thread thread;
};

} // namespace cpu
} // namespace gpuasync

#endif // GPUASYNC_LIBS_CHECK_ADVERSARY_ADVERSARY_H
