//===- ContextImpl.h - A context and its pools ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects behind the opaque types of the ABI, and what a context owns:
// streams, events, memory, staging, modules, what waits to be retired.
//===----------------------------------------------------------------------===//
//
// Each pool has a lock of its own, which only its functions take. Locks are
// taken alone or in this order:
//   Process::mutex, waitMutex, HostCopies' of the orphans, poolMutex,
//   StreamPool, CapturedStreams, CallerStreams, HostCopies, MemoryPool,
//   Timepoints;
//   ModuleCache, EventPool, Registrations, DeviceMirrorCache: after poolMutex,
//   and nothing in them but Uploads' list of what was given up.
// None is held over a driver call that may block on the device, but waitMutex,
// MemoryPool's of the service stream and Uploads', which guard only that.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_CONTEXT_CONTEXTIMPL_H
#define GPUASYNC_SHIM_CONTEXT_CONTEXTIMPL_H

#include "gpuasync/Stats.h"
#include "shim/module/ModuleCache.h"
#include "shim/pool/ContextPools.h"
#include "shim/process/Service.h"

#include <map>
#include <memory>
#include <string>

struct gpuasync_context : gpuasync::ContextPools {
  gpuasync_context(gpuasync::Driver &driver, int32_t ordinal);
  ~gpuasync_context();

  /// Callers'; the last one closes it. Scopes write it, so it has a line of its
  /// own: what every frame reads comes behind.
  alignas(64) std::atomic<uint32_t> references{1};
  /// Threads' parts of it, and one for all references: the object's life.
  std::atomic<uint32_t> parts{1};
  /// Calls outside of frames: closing waits for them.
  std::atomic<uint32_t> visitors{0};
  /// Host waits outside of frames: closing waits for them before it gives
  /// anything back.
  std::atomic<uint32_t> waiters{0};

  //===--- Read by every frame, written by cold calls only
  /// Ending: all work is done, and a thread gives everything back.
  enum class State : uint32_t { Open, Closing, Ending, Closed };
  alignas(64) std::atomic<State> state{State::Open};
  /// Who closes it.
  std::atomic<const gpuasync::ThreadState *> closedBy{nullptr};
  /// It was closed while its work went on, which is not known to have ended.
  std::atomic<bool> isLeftBehind{false};
  /// Process::contexts has a part of it for that; under Process::mutex.
  bool isKeptForWork = false;

  //===--- Threads and instances (poolMutex)
  alignas(64) std::mutex poolMutex;
  std::vector<gpuasync::ThreadContext *> slots;
  std::vector<gpuasync::Instance *> instances; ///< referenced
  gpuasync::Counters ended;                    ///< of threads that ended
  /// Of the Pause that there is; null: none.
  const gpuasync::ThreadState *pausedBy = nullptr;
  std::condition_variable resumed; ///< `pausedBy` is null again
  gpuasync::ModuleCache modules{*this};

  std::timed_mutex waitMutex; ///< one thread at a time waits for streams
  uint64_t waitRounds = 0;    ///< under waitMutex
  /// Closed contexts of the device whose work went on when this one opened;
  /// each a part. Under waitMutex.
  std::vector<gpuasync_context *> predecessors;

  /// The part of the service that keeps device mirrors; null without it.
  std::unique_ptr<gpuasync::ServicePart> mirrors;

  std::vector<std::string> leaks; ///< after close; under poolMutex
  std::mutex choicesMutex;        ///< taken before no other lock
  /// How regions of programs that were released were played; the service's,
  /// under choicesMutex.
  std::shared_ptr<void> pastTunings;
  /// Why the last library call that could not be captured could not; under
  /// choicesMutex.
  std::string failedCapture;
  gpuasync_stats base{}; ///< of the last reset; under poolMutex

  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void retainPart() { parts.fetch_add(1, std::memory_order_relaxed); }
  void releasePart() {
    if (parts.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  void release();

  /// Closed contexts and lost devices; Ok otherwise.
  gpuasync::Status check();

  /// Waits for all pending and held streams, or for all that there are, and for
  /// frames' work on callers' streams. Ok: all of it has ended, though it may
  /// have failed; `failed` is the first such error on busy holders' streams.
  /// Else the driver's error, a timeout or the loss of the device, on which
  /// nothing runs.
  gpuasync::Status waitForStreams(const gpuasync::Deadline &deadline,
                                  gpuasync::Status *failed = nullptr,
                                  bool idleToo = false);
  /// Waits for the work that calls have left unfinished; the context is
  /// current. Ok: nothing of it uses the memory of those calls any more. Else a
  /// timeout, which lists what is unfinished, or an error that says why nobody
  /// knows.
  gpuasync::Status waitForAbandoned(const gpuasync::Deadline &deadline);
  /// The same of any context, from outside of its frames, a closed one whose
  /// work went on too.
  gpuasync::Status awaitAbandoned(const gpuasync::Deadline &deadline);

  //===--- The end (Close.cpp)
  /// Whether nothing of the context can be running: no frame but the one that
  /// the calling thread is about to begin (null: none at all), no pending work.
  bool isIdle(const gpuasync::Pin *entering);
  /// The same of all contexts of the vendor's context (`sharesDevice`).
  bool isQuiescent(const gpuasync::Pin *entering);
  /// Whether a context that shares the device was closed while its work went
  /// on, and that still does.
  bool isBlocked();
  /// Whether what waits for all kernels of one context waits for the other's.
  bool sharesDevice(const gpuasync_context &other) const;
  /// Calls `visit(gpuasync_context &)` with each context that shares the
  /// device, with this one too where it is on Process::contexts or the only
  /// one; Process::mutex is held.
  template <typename ContextRef>
  void forEachOfDevice(ContextRef visit) {
    // Contexts of the cpu may be many, and frames come here.
    if (!has(gpuasync::CapVendorStreams))
      return visit(*this);
    for (gpuasync_context *each : gpuasync::process().contexts)
      if (sharesDevice(*each))
        visit(*each);
  }
  /// Its frames begin again.
  void resume();
  /// Carries out retired work if the context rests; whether it did. `entering`:
  /// see isIdle.
  bool drainRetired(const gpuasync::Entering *entering);
  /// The same outside of frames, where the context need not be current.
  void drainRetired();
  /// The context rests, and a Pause keeps it so. `entering`: see isIdle.
  void carryOutRetired(const gpuasync::Entering *entering);
  /// gpuasync_context_trim. [blocks]
  gpuasync::Status giveBack(int64_t timeoutNs);
  /// Describes why the context is not idle. `prefix` stands before a list of
  /// operations.
  std::string describeBusy(const char *prefix = "unfinished: ");
  gpuasync::Status close();
  gpuasync::Status closeOnce();
  /// Nothing of the program is left here, or the error why not.
  gpuasync::Status forgetProgram(gpuasync::Registration *registration,
                                 const gpuasync::Deadline &deadline);
  void reclaim();
  void keepLeaks(); ///< what the program holds as the context closes
};

namespace gpuasync {

/// Calls `visit(gpuasync_context &)` with each context that is open, or was
/// closed while its work went on. None goes meanwhile, and no lock is held.
template <typename Visit>
void forEachContext(Visit visit) {
  std::vector<gpuasync_context *> all;
  {
    std::lock_guard<std::mutex> lock(process().mutex);
    all = process().contexts;
    // Not a reference: somebody may be giving up the last one just now.
    for (gpuasync_context *each : all)
      each->retainPart();
  }
  for (gpuasync_context *each : all) {
    visit(*each);
    each->releasePart();
  }
}

/// Makes the context current for a scope outside any frame, and folds the
/// driver calls made meanwhile into the thread's counters.
class CurrentContext {
public:
  explicit CurrentContext(gpuasync_context &context);
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;
  Status status;

private:
  gpuasync_context &context;
  SavedContext saved;
  uint64_t callsBefore;
};

/// While one lives no frame of the contexts that share the device begins, but
/// on threads that have one open or made the pause: all instances are marked,
/// and makePin waits for the end. What waits for all that runs is done in a
/// pause: a kernel that came between would hold it up, and may itself wait for
/// this thread.
class QuiesceScope {
public:
  explicit QuiesceScope(gpuasync_context &context);
  QuiesceScope(const QuiesceScope &) = delete;
  ~QuiesceScope();
  /// False: another one has begun.
  bool begun() const { return own; }

private:
  gpuasync_context &context;
  bool own;
};

/// Keeps a context from being closed while it lives, unless that has begun.
class ContextRef {
public:
  explicit ContextRef(gpuasync_context &context);
  ContextRef(const ContextRef &) = delete;
  ~ContextRef();
  bool open() const { return isOpen; }
  /// Whether the calling thread is in a visit of the context.
  static bool isInside(const gpuasync_context &context);

private:
  gpuasync_context &context;
  ContextRef *outer; ///< the thread's next one outwards
  bool isOpen;
};

/// A host wait outside of frames: what it asks the driver about is not given
/// back while it lives. Serves while another thread closes the context, and
/// after a close that left work behind, since the caller of a wait may free
/// memory when it returns.
class WaitVisit {
public:
  explicit WaitVisit(gpuasync_context &context);
  WaitVisit(const WaitVisit &) = delete;
  ~WaitVisit();
  /// Whether work of the context may be unfinished, so that the driver may be
  /// asked.
  bool serves() const { return isServing; }
  /// Ok if the wait may begin. Else the device is lost, or all work of the
  /// context has ended.
  Status check();

private:
  gpuasync_context &context;
  bool isServing;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_CONTEXT_CONTEXTIMPL_H
