//===- Thread.h - Per-thread and per-process state --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What makes the warm path free of locks and shared words: each thread has, per
// context, its own counters and idle lists, and per loaded instance its own
// pin.
//===----------------------------------------------------------------------===//
//
// Only the owning thread writes a ThreadContext's idle lists, and only inside a
// frame, which pins an instance of that context. Closing a context marks its
// instances retired, waits until no pin is held, and then owns the lists.
// Counters are single-writer atomics: plain loads and stores.
//
// The process state and the thread states of ended threads' contexts are never
// destroyed by exit: nothing of ours runs then.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_PROCESS_THREAD_H
#define GPUASYNC_SHIM_PROCESS_THREAD_H

#include "shim/base/Clock.h"
#include "shim/base/Lists.h"
#include "shim/base/PointerTable.h"
#include "shim/base/StatusImpl.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct gpuasync_context;
struct gpuasync_stream;

namespace gpuasync {

struct Event;
struct Instance;
struct OpenFrame;
struct Registration;

/// Written by one thread, read by any.
class Counter {
public:
  void add(uint64_t n) {
    value.store(value.load(std::memory_order_relaxed) + n,
                std::memory_order_relaxed);
  }
  uint64_t get() const { return value.load(std::memory_order_relaxed); }
  void set(uint64_t n) { value.store(n, std::memory_order_relaxed); }

private:
  std::atomic<uint64_t> value{0};
};

/// Objects as the program asks for them. An object may be destroyed by another
/// thread than its maker, so one thread's live count may be negative.
struct ObjectCounter {
  Counter created, destroyed, peak;
  void create() {
    created.add(1);
    int64_t live = static_cast<int64_t>(created.get() - destroyed.get());
    if (live > static_cast<int64_t>(peak.get()))
      peak.set(static_cast<uint64_t>(live));
  }
  void destroy() { destroyed.add(1); }
};

struct Counters {
  ObjectCounter streams, events, modules, buffers, graphs;
  Counter hits, misses, launches, hostWaits, driverCalls;
  Counter graphLaunches, regionsOnStreams;
  Counter constantUploads, residentUploads, uploadedBytes;
  Counter capturedCalls, failedCaptures, libraryCalls;
};

/// One thread's part of one context. Aligned, so that no two threads write to
/// one cache line.
struct alignas(64) ThreadContext {
  gpuasync_context *context = nullptr; ///< one of its parts
  ThreadContext *nextOfThread = nullptr;
  uint32_t pinCount = 0; ///< of the thread's pins, those of this context
  Counters counters;
  Stack<gpuasync_stream> idleStreams;
  Stack<Event> idleEvents;
  /// Of the retire list: looks in a row that found the context busy, and frames
  /// that begin without one until the next.
  uint32_t busyLooks = 0, unlookedLeft = 0;
};

/// A thread's hold on a loaded instance. Lives until the thread notices that
/// the instance is retired, or ends.
struct alignas(64) Pin {
  struct alignas(64) Stamps {
    std::atomic<uint64_t> epochs[8];
  };
  Instance *instance = nullptr; ///< holds a reference
  Registration *registration = nullptr;
  ThreadContext *slot = nullptr;
  std::atomic<uint32_t> count{0}; ///< frames of the thread on it; single writer
  /// The module cache's epoch when a frame of the thread last reached a module;
  /// single writer.
  std::unique_ptr<Stamps[]> stamps;
  void use(uint32_t module, uint64_t epoch) {
    stamps[module / 8].epochs[module % 8].store(epoch,
                                                std::memory_order_relaxed);
  }
  uint64_t lastUse(uint32_t module) const {
    return stamps[module / 8].epochs[module % 8].load(
        std::memory_order_relaxed);
  }
  Pin *nextOfThread = nullptr;
};

/// The devices that frames of a thread use: a context for each device. It has a
/// reference to each.
struct Scope {
  gpuasync_context *first = nullptr;
  std::vector<gpuasync_context *> more; ///< for functions of several devices
  size_t size() const { return 1 + more.size(); }
  gpuasync_context *operator[](size_t device) const {
    return device ? more[device - 1] : first;
  }
};

struct alignas(64) ThreadState {
  OpenFrame *innermost = nullptr;
  gpuasync_context *scope = nullptr; ///< the first of the top one, or null
  std::vector<Scope> scopes;
  ThreadContext *contexts = nullptr;
  Pin *pins = nullptr; ///< newest first
  uint32_t contextCount = 0, pinCount = 0;
  PointerTable<Pin> pinTable;               ///< by program and context
  PointerTable<ThreadContext> contextTable; ///< by context
  uint64_t purgedAt = 0;                    ///< `retirements` as it was then

  /// The newest pin for the program there, or null. The warm path. Only an
  /// older one of the same two may be on an instance that is retired for good.
  Pin *findPin(const Registration *registration,
               const gpuasync_context *context) const {
    return pinTable.find(hashOf(registration, context), [=](const Pin *pin) {
      return pin->registration == registration && pin->slot->context == context;
    });
  }
  /// Grows the table for one more pin.
  void reservePin();
  /// Takes over a new pin; the table has room.
  void addPin(Pin *pin);
  /// The thread's part of `context`, made on first use.
  ThreadContext *slotFor(gpuasync_context *context);
  /// Drops pins on retired instances and parts of closed contexts, if there
  /// may be any. Takes time in proportion to what the thread has of both.
  void purge(bool everything);
  /// The thread ends: drops all that it has of contexts. False: some of it
  /// stays, and so does this.
  bool leaveContexts();

private:
  void putPin(Pin *pin, bool replace);
  void fillPins();
  void putContext(ThreadContext *slot);
  void fillContexts();
};

/// How many instances were retired and contexts closed so far: threads look for
/// what they have of such ones only if there are more than the last time.
extern std::atomic<uint64_t> retirements;

extern __thread ThreadState *currentThread
    __attribute__((tls_model("initial-exec")));

/// The calling thread's state, made on first use (may throw bad_alloc).
ThreadState &threadState();

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

/// Whether the calling thread is in the callback of gpuasync_trace_subscribe:
/// entries refuse there, since the runtime may hold locks.
extern __thread bool insideCallback __attribute__((tls_model("initial-exec")));

/// Why entries refuse elsewhere; bits of `refusal`.
enum : uint32_t { RefuseForked = 1, RefuseShutDown = 2, RefuseExiting = 4 };
extern std::atomic<uint32_t> refusal;
/// Whether nothing of ours may run any more, save host waits: the process was
/// forked, or ends.
inline bool hasEnded() {
  return refusal.load(std::memory_order_relaxed) &
         (RefuseForked | RefuseExiting);
}
inline bool isForked() {
  return refusal.load(std::memory_order_relaxed) & RefuseForked;
}

/// How regions are played: on streams as ever, each on one of them, as graphs
/// as soon as there is one, or as the runtime finds best.
enum class Play : uint8_t { Streams, Stream, Graph, Auto };

struct Process {
  std::mutex mutex; ///< guards the lists below; taken before no other lock
  /// Open ones, without a reference, and closed ones whose work goes on.
  std::vector<gpuasync_context *> contexts;
  std::vector<gpuasync_context *> defaults;  ///< made by default, referenced
  std::vector<Registration *> registrations; ///< in use
  std::vector<Registration *> freeRegistrations;
  std::mutex openMutex; ///< one default context is opened at a time
  alignas(64) std::atomic<int64_t> timeoutNs{-1}; ///< read by warm calls
  std::atomic<int64_t> spinNs{50000};
  bool syncLaunches = false; ///< GPU_ASYNC_SYNC_LAUNCHES
  std::atomic<Play> play{Play::Auto};
  /// Whether the environment set these to what they can be; contexts do not
  /// open otherwise. Constant.
  Status settings;
};

/// A time as the driver takes it, of `amount` units of `unit` nanoseconds: one
/// that is past any clock's range is as long as a clock can wait for.
int64_t toNanoseconds(double amount, double unit);

/// Made on first use together with the fork and exit handlers; never destroyed.
Process &process();

/// Of all waits of one call, which begins now: see gpuasync_set_timeout.
inline Deadline callDeadline() {
  return Deadline(process().timeoutNs.load(std::memory_order_relaxed));
}

/// The error of a wait for `what`; `open`: what has not finished.
Status timedOut(const Deadline &deadline, const std::string &what,
                const std::string &open);

/// What GPU_ASYNC_PLAY can be.
Status setPlay(Process &process, const char *text);

/// Between two looks, number `round` and the next, at what another thread does.
void pauseFor(int round);

/// Ok, or with the reason: GPUASYNC_SHUT_DOWN, GPUASYNC_INVALID_ARGUMENT in the
/// callback.
Status checkRefusal();

} // namespace gpuasync

#endif // GPUASYNC_SHIM_PROCESS_THREAD_H
