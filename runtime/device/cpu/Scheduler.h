//===- Scheduler.h - Streams of the cpu device ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concurrent in-order streams over threads made on demand. Progress: a stream
// whose head can run always gets a thread, even if all others spin.
//===----------------------------------------------------------------------===//
//
// A stream is a queue of operations with positions 1, 2, ... `completed` is the
// position up to which all is done. An event is (stream, position), so that
// recording costs nothing and a recycled event satisfies nobody by accident.
// A stream whose head waits for an event is parked on the other stream and
// holds no thread.
//
// Threads: one pool per context. Each thread *pumps* one stream at a time or
// helps with the blocks of a large kernel. So does a host thread that waits, as
// far as it needs the stream or the kernel. Kernels that may block are counted:
// while `threads - blocked` is below the number of processors and something is
// runnable, a thread is added, so spinning kernels never starve a stream. At
// the limit the operation that would need a thread fails with its location.
//
// A stream may wait for one of another context. Whoever completes that one
// gives the waiter back to its own scheduler. A scheduler lives as long as
// operations of others refer to its streams.
//
// Locks: Stream::mutex, then Scheduler::mutex; never two streams at once.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_CPU_SCHEDULER_H
#define GPUASYNC_DEVICE_CPU_SCHEDULER_H

#include "device/Driver.h"
#include "device/cpu/Cost.h"
#include "device/cpu/SchedulePolicy.h"
#include "gpuasync/Check.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string.h>
#include <vector>

namespace gpuasync {
namespace cpu {

class Scheduler;
struct Job;
struct Stream;

/// One owner's time with a stream. It outlives the stream's reuse as long as an
/// event refers to it, so that a token result carries its error to whoever
/// waits for it.
struct StreamLease {
  std::atomic<uint32_t> references{1};
  /// The first failure: work at `errorPosition` and after it is skipped.
  std::atomic<gpuasync_status *> error{nullptr};
  uint64_t errorPosition = 0;         ///< valid once `error` is seen
  std::atomic<bool> hasFailed{false}; ///< somebody writes these two

  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release();
  /// Keeps the first error. Called by threads that run the stream, and by the
  /// one that cancels it.
  void fail(Status status, uint64_t position);
  /// The error as a waiter for `position` sees it.
  Status statusAt(uint64_t position) const;
};

/// A kernel of a loaded module.
struct alignas(64) LoadedKernel {
  /// The program's entry, zeros behind what an older compiler wrote.
  gpuasync_cpu_kernel kernel = {};
  Cost cost;

  /// What a launch with blocks of so many threads does.
  Work getWork(const gpuasync_launch_config &block, int64_t threads) const {
    double operations = static_cast<double>(kernel.operations);
    if (kernel.countOperations) {
      int64_t sizes[6];
      memcpy(sizes, block.grid, sizeof(block.grid));
      memcpy(sizes + 3, block.block, sizeof(block.block));
      operations = kernel.countOperations(sizes, block.params);
    }
    // No bound is an infinity, or where such were computed with, NaN.
    const bool isBounded = operations > 0 && operations < 1e18;
    return {(isBounded ? operations : 1) * static_cast<double>(threads),
            isBounded};
  }
};

struct Event {
  Stream *stream = nullptr;
  uint64_t position = 0;
  StreamLease *tenure = nullptr;
};

/// One queued operation: a command, and copies of what it points to. Pooled per
/// stream.
/// When a stream came to a gate: written by the arrival, read by who opens the
/// gate, perhaps before.
struct GateTime {
  std::atomic<int64_t> begin{0};
  void release() {
    if (owners.fetch_sub(1) == 1)
      delete this;
  }

private:
  std::atomic<int> owners{2};
};

struct Op {
  Op *next = nullptr;
  uint64_t position = 0;
  uint64_t sequence = 0; ///< SchedulePolicy::nextSequence
  Command command;
  bool mayBlock = false;
  // Launch
  const gpuasync_cpu_kernel *kernel = nullptr;
  Cost *cost = nullptr; ///< the kernel's
  Work work;
  int64_t grid[3], block[3];
  int64_t dynamicSharedBytes = 0;
  void *params = nullptr; ///< inlineParams or malloc; of HostCall too
  /// Copies `bytes` bytes there; false: no memory.
  bool setParams(const void *source, uint64_t bytes);
  void *checked = nullptr; ///< of gpuasync_cpu_check_hooks
  /// Of whoever traces; null: nobody wants to know when it ran.
  DeviceTiming *timing = nullptr;
  GateTime *gateTime = nullptr; ///< of an arrival, likewise
  // Wait
  Stream *target = nullptr;
  uint64_t targetPosition = 0;
  StreamLease *targetTenure = nullptr;
  StridedCopy copy; ///< of Copy
  StridedFill fill; ///< of Fill
  alignas(16) unsigned char inlineParams[256];

  /// It has run, or never will.
  void settleTiming() {
    if (__builtin_expect(timing != nullptr, 0))
      timing->known.store(true, std::memory_order_release);
    timing = nullptr;
    if (__builtin_expect(gateTime != nullptr, 0))
      gateTime->release();
    gateTime = nullptr;
  }
};

struct Stream {
  explicit Stream(Scheduler &scheduler) : scheduler(scheduler) {}
  Scheduler &scheduler;
  std::mutex mutex;
  /// A caller's, on which several threads may put work at a time.
  std::atomic<bool> isShared{false};
  std::mutex producers; ///< held by the one that does, of those of a caller's
  std::condition_variable progress;
  enum class State : uint8_t { Idle, Runnable, Running, Parked };
  std::atomic<State> state{State::Idle};
  Op *head = nullptr, *tail = nullptr; ///< head: running or next
  Op *freeOps = nullptr;
  std::atomic<uint64_t> enqueued{0}; ///< written by the owner
  std::atomic<uint64_t> completed{0};
  uint32_t hostWaiters = 0;
  /// Host threads that wait, asleep or not, and would help meanwhile.
  std::atomic<uint32_t> volunteers{0};
  /// What they may help with; written under `mutex`.
  std::atomic<Job *> job{nullptr};
  StreamLease *tenure = nullptr;
  bool outlived = false; ///< the tenure is of a former owner; the owner's
  /// Nobody needs its work: kernels end with the blocks that run.
  std::atomic<bool> cancelled{false};
  Stream *waiters = nullptr; ///< parked on this stream, via nextWaiter
  Stream *nextWaiter = nullptr;
  uint64_t waitPosition = 0;
  Stream *nextRunnable = nullptr;
  /// Processor of the thread that made it runnable; -1: a host thread runs it.
  int startedOn = -1;
  // The policy's.
  uint32_t index = 0; ///< how many streams were made before it
  uint64_t neededMark = 0, lastTurn = 0;
};

/// While one lives its thread is the only one that puts work on the stream, as
/// on a stream of a frame's own it is anyway.
class Producing {
public:
  explicit Producing(Stream &stream)
      : held(stream.isShared.load(std::memory_order_acquire) ? &stream
                                                             : nullptr) {
    if (__builtin_expect(held != nullptr, 0))
      held->producers.lock();
  }
  Producing(const Producing &) = delete;
  ~Producing() {
    if (__builtin_expect(held != nullptr, 0))
      held->producers.unlock();
  }

private:
  Stream *held;
};

/// Has the calling thread's next operation on `stream` timed. Other threads may
/// put work on the same stream meanwhile. `timing` stays where it is until
/// takeTiming or an operation has it.
void expectTiming(const Stream &stream, DeviceTiming &timing);
/// Returns what the calling thread's next operation on `stream` is timed by,
/// and forgets it. Returns null if the operation is not timed.
DeviceTiming *takeTiming(const Stream &stream);

/// The blocks of one launch, shared by the threads that work on it.
struct Job {
  const Op *op = nullptr;
  Stream *stream = nullptr;
  int64_t total = 0;
  /// Each taker gets a `share`th of what is left, `chunk` blocks at least, so
  /// that all end at about the same time.
  int64_t share = 1, chunk = 1;
  bool isMeasured = false;
  std::atomic<int64_t> next{0};
  /// The next blocks to run, [begin, end); false: all are taken.
  bool take(int64_t &begin, int64_t &end) {
    begin = next.load(std::memory_order_relaxed);
    do {
      if (begin >= total)
        return false;
      int64_t left = total - begin;
      end = begin + std::min(left, std::max(chunk, left / share));
    } while (
        !next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
    return true;
  }
  std::atomic<bool> failed{false};
  int processor = -1;   ///< where the stream's own thread began it
  uint32_t helpers = 0; ///< inside; under Scheduler::mutex
  Job *nextJob = nullptr;
};

class Scheduler final : StreamRunner {
public:
  explicit Scheduler(uint32_t threadLimit);
  /// The context's reference, and one for each wait of another context.
  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  /// Sets who decides what runs next, before there is a stream.
  Status setSchedule(const Schedule &schedule) {
    return makePolicy(schedule, *this, policy);
  }

  Stream *createStream();
  void destroyStream(Stream *stream);
  void resetStream(Stream *stream);
  /// See StreamControl.
  void cancelStream(Stream &stream);
  bool endsSoon(Stream &stream);
  /// Before the owner's tenure is used: what a reset had no memory for. False:
  /// there is none now either.
  bool tryRenew(Stream &stream);
  /// The same; throws bad_alloc.
  void renew(Stream &stream);

  /// Makes the operation of a command, for the stream's owner. The caller fills
  /// in what a launch or a call on the host needs.
  Op *makeOp(Stream &stream, const Command &command);
  /// Gives the filled operation to the stream; `inlineIfIdle`: it provably ends
  /// and is small, and the calling thread has the stack for it, so it runs
  /// there when nothing is ahead.
  void enqueue(Stream &stream, Op *op, bool inlineIfIdle);
  /// Later work of `stream` waits for the event.
  void enqueueWait(Stream &stream, const Event &event,
                   const gpuasync_site *site = nullptr);
  /// Makes an operation without work for completeNow, while there is memory.
  Op *promise(Stream &stream);
  /// Puts the operation on an idle stream and completes it at once. Whoever
  /// waits for that position goes on.
  void completeNow(Stream &stream, Op *op);

  enum class Wait { Reached, TimedOut, Starved };
  /// Waits for `position`. timeoutNs < 0: no limit. Starved: all threads spin
  /// and no other can be made, so the position may never be reached.
  Wait wait(Stream &stream, uint64_t position, int64_t timeoutNs);
  /// The error at the location of the operation that found no thread.
  Status starvation();

  /// Joins all threads; false (and nothing joined) if a stream still runs.
  bool shutDown();
  uint64_t liveStreams();

private:
  ~Scheduler();
  void runHere(Stream *stream) override { pump(stream); }
  void runOnThread(Stream *stream) override { start(stream); }
  void threadMain();
  /// Runs the stream until it is empty or parked, under a policy one
  /// operation. Returns a stream that became runnable meanwhile and that the
  /// caller should go on with, or null.
  Stream *pump(Stream *stream);
  void execute(Stream &stream, Op &op);
  void runLaunch(Stream &stream, Op &op);
  void runHost(Stream &stream, Op &op);
  void arrive(Stream &stream, Op &op); ///< in front of a gate
  /// Runs blocks until all are taken.
  void runBlocks(Job &job);
  /// The same; the number of blocks that it ran.
  int64_t takeBlocks(Job &job);
  /// Runs blocks of the stream's kernel, if there is one that wants help and is
  /// not behind `position`.
  void help(Stream &stream, uint64_t position);
  /// Runs on the waiting host thread a stream that could run, or blocks of a
  /// kernel, without which `stream` does not come to `position`. False: there
  /// is nothing that it could run.
  bool runNeeded(Stream &stream, uint64_t position);
  /// Runs what surely ends of a stream that was runnable, up to `position`.
  /// False: it came upon something else.
  bool runUpTo(Stream &stream, uint64_t position);
  /// What a thread that is none of the stream's does for its kernel: `mutex`
  /// held, and again afterwards. `leaves`: see leaveProcessor.
  void helpWith(Job &job, std::unique_lock<std::mutex> &lock, bool leaves);
  /// Gets help for a job from an idle thread or a new one; `mutex` held.
  bool callHelper(std::unique_lock<std::mutex> &lock, uint32_t called);
  /// Marks everything up to `op` done and recycles it. Returns the waiters that
  /// became runnable. Called with the stream's mutex held.
  Stream *complete(Stream &stream, Op *op);
  /// Completes the only operation of a stream that this thread runs.
  void completeOnly(Stream &stream, Op *op);
  /// Gives streams that can run to the threads, or to the policy.
  void submit(Stream *list);
  /// Gives those of other contexts to their schedulers; the rest.
  Stream *keepOwn(Stream *woken);
  void start(Stream *list);
  Wait waitUntil(Stream &stream, uint64_t position, int64_t timeoutNs);
  Wait sleepUntil(Stream &stream, uint64_t position, int64_t timeoutNs,
                  bool helps);
  /// True if the stream is now parked on `op`'s event and must not be touched.
  bool park(Stream &stream, const Op &op);
  bool spawn(std::unique_lock<std::mutex> &lock);
  /// Why the last spawn failed; `mutex` held.
  Status noThread() const;
  void beginBlocking();
  void endBlocking();
  void failStarved(std::unique_lock<std::mutex> &lock);
  void recycle(Stream &stream, Op *op);
  /// Puts the operation behind all others. If the stream was idle it is in
  /// state `begin` now, and the result is true.
  bool append(Stream &stream, Op *op, Stream::State begin);
  Stream *takeRunnable(); ///< the first one, or null; `mutex` held
  /// The first of `wanted`, or null; `mutex` held.
  template <typename Wanted>
  Stream *takeRunnable(Wanted wanted);
  void removeJob(Job *job); ///< unless it is not on the list; `mutex` held

  std::atomic<uint32_t> references{1};
  std::mutex mutex;
  std::condition_variable wake;    ///< idle threads
  std::condition_variable jobDone; ///< a helper left its job
  Stream *runnableHead = nullptr, *runnableTail = nullptr;
  uint32_t runnableCount = 0;
  Job *jobs = nullptr;
  uint32_t idle = 0, threadCount = 0, blocked = 0;
  bool stopping = false;
  int spawnError = 0; ///< errno of the last thread that could not be made
  std::atomic<bool> starved{false};
  Status starvedStatus; ///< under `mutex`
  std::vector<pthread_t> threads;
  std::mutex streamsMutex;
  std::vector<Stream *> allStreams, freeStreams;
  uint32_t numProcessors = 1;
  const uint32_t threadLimit;
  std::unique_ptr<SchedulePolicy> policy; ///< null: none decides
};

/// Makes what threads that run kernels need at their end, once for the process.
/// False: it cannot be made now.
bool makeScratchKey();

/// Null unless somebody checks what kernels do.
extern std::atomic<const gpuasync_cpu_check_hooks *> checkHooks;

/// Fails the launch of `ctx`; see gpuasync_cpu_assert_fail.
void failLaunch(const gpuasync_cpu_block_ctx *ctx, Status status);

} // namespace cpu
} // namespace gpuasync

#endif // GPUASYNC_DEVICE_CPU_SCHEDULER_H
