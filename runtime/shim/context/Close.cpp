//===- Close.cpp - Retiring, releasing programs, closing contexts ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What may wait for the device happens here: on an idle device, at a program's
// release, or at the end of a context.
//===----------------------------------------------------------------------===//

#include "shim/context/Entry.h"
#include "shim/context/Program.h"
#include "shim/pool/DeviceUse.h"
#include "shim/process/Service.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <time.h>

using namespace gpuasync;

static __thread ContextRef *innermostVisit
    __attribute__((tls_model("initial-exec")));

//===----------------------------------------------------------------------===//
// The retire list
//===----------------------------------------------------------------------===//

bool gpuasync_context::isIdle(const Pin *entering) {
  {
    std::lock_guard<std::mutex> lock(poolMutex);
    for (Instance *instance : instances)
      for (Pin *pin : instance->pins)
        if (pin->count.load(std::memory_order_seq_cst) >
            (pin == entering ? 1u : 0u))
          return false;
  }
  if (streams.findBusyHolder())
    return false;
  // On a lost device nothing runs, and nothing can be asked. What a frame has
  // left behind before it was seen to have ended is seen here.
  return lost.load() || (streams.reap() && callerStreams.reap());
}

// Contexts that we made on one device are parts of the vendor's primary one;
// those of the cpu are apart.
bool gpuasync_context::sharesDevice(const gpuasync_context &other) const {
  return this == &other || (&kind == &other.kind && ordinal == other.ordinal &&
                            has(CapVendorStreams) &&
                            driver->generation == other.driver->generation);
}

bool gpuasync_context::isQuiescent(const Pin *entering) {
  std::lock_guard<std::mutex> lock(process().mutex);
  bool all = true;
  forEachOfDevice([&](gpuasync_context &each) {
    all = all && each.isIdle(&each == this ? entering : nullptr);
  });
  return all;
}

bool gpuasync_context::isBlocked() {
  std::lock_guard<std::mutex> lock(process().mutex);
  bool any = false;
  forEachOfDevice([&](gpuasync_context &each) {
    any = any || (each.state.load() == State::Closed && !each.isIdle(nullptr));
  });
  return any;
}

QuiesceScope::QuiesceScope(gpuasync_context &context)
    : context(context), own(true) {
  const ThreadState *thread = &threadState();
  std::lock_guard<std::mutex> lock(process().mutex);
  context.forEachOfDevice([&](gpuasync_context &each) {
    std::lock_guard<std::mutex> pool(each.poolMutex);
    own &= !each.pausedBy;
  });
  if (!own)
    return;
  context.forEachOfDevice([&](gpuasync_context &each) {
    std::lock_guard<std::mutex> pool(each.poolMutex);
    each.pausedBy = thread;
    for (Instance *instance : each.instances)
      if (!instance->retired.load()) {
        instance->paused = true;
        // Sequentially consistent against the store and load of frame enter.
        instance->retired.store(true, std::memory_order_seq_cst);
      }
  });
}

QuiesceScope::~QuiesceScope() {
  if (!own)
    return;
  std::lock_guard<std::mutex> lock(process().mutex);
  context.forEachOfDevice([](gpuasync_context &each) { each.resume(); });
}

void gpuasync_context::resume() {
  std::lock_guard<std::mutex> lock(poolMutex);
  for (Instance *instance : instances)
    if (instance->paused) {
      instance->paused = false;
      instance->retired.store(false, std::memory_order_release);
    }
  pausedBy = nullptr;
  resumed.notify_all();
}

bool gpuasync_context::drainRetired(const Entering *entering) {
  const Pin *pin = entering ? entering->pin : nullptr;
  // Bounded, since a module that is in use again goes another time.
  for (int round = 0; round != 8; ++round) {
    if (!isQuiescent(pin))
      return round != 0;
    {
      QuiesceScope pause(*this);
      if (!pause.begun() || !isQuiescent(pin))
        return round != 0;
      carryOutRetired(entering);
    }
    // Another thread that retired a module during the pause found the context
    // paused, and left the module to this thread.
    if (!retiredCount.load(std::memory_order_relaxed))
      break;
  }
  return true;
}

void gpuasync_context::drainRetired() {
  if (!retiredCount.load(std::memory_order_relaxed))
    return;
  CurrentContext current(*this);
  if (current.status.ok())
    (void)drainRetired(nullptr);
  else
    (void)noteFault(std::move(current.status));
}

void gpuasync_context::carryOutRetired(const Entering *entering) {
  retiredCount.store(0); // what comes from here on may be seen or not
  forEachService(
      [&](const Service &each) { each.contextQuiescent(*this, entering); });
  modules.unloadMarked();
  streams.destroyRetired();
  registrations.unregister(/*all=*/false);
  uploads.freeGivenUp();
  memory.trimToLimit();
}

//===----------------------------------------------------------------------===//
// Giving back on demand
//===----------------------------------------------------------------------===//

ContextRef::ContextRef(gpuasync_context &context)
    : context(context), outer(innermostVisit) {
  // Sequentially consistent against close's store and load.
  context.visitors.fetch_add(1, std::memory_order_seq_cst);
  isOpen = context.state.load(std::memory_order_seq_cst) ==
           gpuasync_context::State::Open;
  innermostVisit = this;
}

ContextRef::~ContextRef() {
  innermostVisit = outer;
  context.visitors.fetch_sub(1, std::memory_order_release);
}

bool ContextRef::isInside(const gpuasync_context &context) {
  for (ContextRef *visit = innermostVisit; visit; visit = visit->outer)
    if (&visit->context == &context)
      return true;
  return false;
}

WaitVisit::WaitVisit(gpuasync_context &context) : context(context) {
  using State = gpuasync_context::State;
  // Sequentially consistent against close's store and load.
  context.waiters.fetch_add(1, std::memory_order_seq_cst);
  const State state = context.state.load(std::memory_order_seq_cst);
  isServing = state == State::Open || state == State::Closing ||
              (state == State::Closed && context.isLeftBehind.load());
}

WaitVisit::~WaitVisit() {
  context.waiters.fetch_sub(1, std::memory_order_release);
}

Status WaitVisit::check() {
  RETURN_IF_ERROR(context.checkLost());
  if (isServing)
    return Status();
  RETURN_IF_ERROR(checkRefusal());
  return makeStatus(GPUASYNC_SHUT_DOWN, "the context was closed");
}

std::string gpuasync_context::describeBusy(const char *prefix) {
  {
    std::lock_guard<std::mutex> lock(poolMutex);
    for (Instance *instance : instances)
      for (Pin *pin : instance->pins)
        if (pin->count.load(std::memory_order_seq_cst))
          return std::string("a frame of program '") + instance->program->name +
                 "' is open";
  }
  std::string open = streams.describePending();
  return open.empty() ? "work on a stream that the caller holds"
                      : prefix + open;
}

Status gpuasync_context::giveBack(int64_t timeoutNs) {
  // Not in one of another context either, for whose end others may wait.
  for (OpenFrame *frame = currentThread ? currentThread->innermost : nullptr;
       frame; frame = frame->outer)
    if (frame->first.pin)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "the context is trimmed from inside a frame");
  CurrentContext current(*this);
  if (!current.status.ok())
    return noteFault(std::move(current.status));
  const int64_t start = nowNs();
  QuiesceScope pause(*this);
  if (!pause.begun())
    return makeStatus(GPUASYNC_TIMEOUT, "another thread trims the context");
  // A frame that begins counts itself before it sees the pause, and so keeps
  // its modules for a moment. Bounded: a frame that cannot wait keeps them too.
  for (int round = 0; round != 100; ++round) {
    while (!isQuiescent(nullptr)) {
      if (lost.load())
        return check(); // what was pending never comes to its end
      // Giving it back takes a frame, which would wait for the end of the trim.
      if (const StreamHolder *holder = streams.findBusyHolder())
        return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                          "the context cannot be trimmed while %s",
                          holder->leavesWork);
      int64_t elapsed = nowNs() - start;
      if (timeoutNs >= 0 && elapsed >= timeoutNs)
        return makeStatus(GPUASYNC_TIMEOUT,
                          "the context did not come to rest within %g s: %s",
                          double(timeoutNs) / 1e9, describeBusy().c_str());
      sleepNs(std::min<int64_t>(20000 + elapsed / 16, 1000000));
    }
    if (lost.load())
      return check();
    carryOutRetired(nullptr);
    if (!retiredCount.load(std::memory_order_relaxed))
      break;
    sleepNs(20000);
  }
  memory.trim();
  return Status();
}

//===----------------------------------------------------------------------===//
// A program goes away
//===----------------------------------------------------------------------===//

/// Turns sites of a program (null: of all) into text before its constant data
/// goes.
static void keepLabels(gpuasync_context &context, Registration *registration) {
  context.memory.keepLabels(registration);
  context.registrations.keepLabels(registration);
  context.events.keepLabels(registration);
  context.streams.forgetSites(registration);
}

/// Stops new frames on an instance and waits until none is left. An error if
/// the calling thread itself is in one, or the time is over.
static Status retireInstance(gpuasync_context &context, Instance &instance,
                             const Deadline &deadline) {
  {
    // Under the lock, so that it is not taken for a moment's retirement.
    std::lock_guard<std::mutex> lock(context.poolMutex);
    instance.retired.store(true, std::memory_order_seq_cst);
    instance.paused = false;
  }
  retirements.fetch_add(1, std::memory_order_seq_cst);
  for (int round = 0;; ++round) {
    bool busy = false, mine = false;
    {
      std::lock_guard<std::mutex> lock(context.poolMutex);
      for (Pin *pin : instance.pins)
        busy |= pin->count.load(std::memory_order_seq_cst) != 0;
    }
    if (!busy)
      return Status();
    if (currentThread)
      for (OpenFrame *frame = currentThread->innermost; frame;
           frame = frame->outer)
        frame->forEachDevice(
            [&](DeviceUse &use) { mine |= use.instance == &instance; });
    if (mine)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "this thread is inside a frame of program '%s'",
                        instance.program->name);
    if (deadline.over())
      return makeStatus(GPUASYNC_TIMEOUT, "a frame of program '%s' did not end",
                        instance.program->name);
    pauseFor(round);
  }
}

Status gpuasync_context::forgetProgram(Registration *registration,
                                       const Deadline &deadline) {
  // A context that is being closed forgets all programs, unless that fails.
  std::optional<ContextRef> visit;
  for (int round = 0; !visit.emplace(*this).open(); ++round) {
    visit.reset();
    if (state.load() == State::Closed)
      return Status();
    if (closedBy.load() == &threadState())
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "a program is released from a hook that the context's "
                        "close calls");
    pauseFor(round);
  }
  std::vector<Instance *> gone;
  const uint64_t id = registration->id;
  {
    std::lock_guard<std::mutex> lock(poolMutex);
    for (Instance *instance : instances)
      if (instance->registration == registration &&
          instance->registrationId == id)
        gone.push_back(instance);
  }
  if (gone.empty() && !modules.hasProgram(id))
    return Status();
  for (Instance *instance : gone)
    RETURN_IF_ERROR(retireInstance(*this, *instance, deadline));
  CurrentContext current(*this);
  Status entered = noteFault(std::move(current.status));
  // From elsewhere nobody can say what runs.
  if (!entered.ok() && !lost.load())
    return entered;
  if (!lost.load()) {
    Status ended = waitForStreams(deadline);
    if (!ended.ok() && !lost.load())
      return makeStatus(ended.code(),
                        "program '%s' may still run on %s, its code must stay: "
                        "%s; %s",
                        registration->program->name, device.c_str(),
                        ended.message(), describeBusy().c_str());
  }
  keepLabels(*this, registration);
  ThreadContext *slot = threadState().slotFor(this);
  for (Instance *instance : gone) {
    forEachService(
        [&](const Service &each) { each.instanceEnding(*instance); });
    uint32_t held = modules.dropInstance(*instance);
    for (uint32_t i = 0; i < held; ++i)
      slot->counters.modules.destroy();
    std::lock_guard<std::mutex> lock(poolMutex);
    instances.erase(std::find(instances.begin(), instances.end(), instance));
    instance->release();
  }
  modules.dropProgram(id);
  // What is not unloaded now is so later: the program itself has ended.
  (void)guard([&] {
    drainRetired();
    return Status();
  });
  return Status();
}

//===----------------------------------------------------------------------===//
// The end of a context
//===----------------------------------------------------------------------===//

static bool lockUntil(std::unique_lock<std::timed_mutex> &lock,
                      const Deadline &deadline) {
  if (deadline.timeoutNs >= 0)
    return lock.try_lock_for(std::chrono::nanoseconds(deadline.left()));
  lock.lock();
  return true;
}

// Whoever asks meanwhile whether the context rests must find the stream, and
// nobody may give it away: it stays on its list.
Status gpuasync_context::waitForStreams(const Deadline &deadline,
                                        Status *failed, bool idleToo) {
  std::unique_lock<std::timed_mutex> one(waitMutex, std::defer_lock);
  if (!lockUntil(one, deadline))
    return makeStatus(GPUASYNC_TIMEOUT, "timed out");
  const uint64_t round = ++waitRounds;
  while (!lost.load()) {
    bool done = false, isLeft = false;
    Status status;
    Timepoint tail;
    Stream *stream = streams.beginWait(round, StreamPool::Waited::Pending);
    Stream *wrapper = stream ? nullptr : callerStreams.beginWait(tail);
    if (!stream && !wrapper)
      stream = streams.beginWait(round, idleToo ? StreamPool::Waited::Any
                                                : StreamPool::Waited::Held);
    if (stream) {
      status = timepoints.wait(stream->timeline.whenIdle(), deadline, done);
      isLeft = streams.endWait(stream, round);
    } else if (wrapper) {
      status = timepoints.wait(tail, deadline, done);
      callerStreams.endWait(wrapper, tail);
    } else {
      break;
    }
    if (done && failed && isLeft && failed->ok())
      *failed = copyStatus(status);
    // An error that is not the work's own tells nothing of it.
    if (!done || status.code() == GPUASYNC_DEVICE_LOST)
      return status.ok() ? makeStatus(GPUASYNC_TIMEOUT, "timed out")
                         : noteFault(std::move(status));
  }
  return lost.load() ? check() : Status();
}

Status gpuasync_context::waitForAbandoned(const Deadline &deadline) {
  auto giveUp = [&] {
    std::string open = streams.describePending(/*abandonedOnly=*/true);
    if (std::string more = events.describeAbandoned(); !more.empty())
      appendItem(open, "what comes before " + more);
    return timedOut(deadline, " waiting for what an earlier call left behind",
                    open);
  };
  std::unique_lock<std::timed_mutex> one(waitMutex, std::defer_lock);
  if (!lockUntil(one, deadline))
    return giveUp();
  while (abandoned.load(std::memory_order_relaxed) && !lost.load()) {
    bool done = false;
    Status status;
    if (Stream *stream =
            streams.beginWait(waitRounds, StreamPool::Waited::Abandoned)) {
      status = timepoints.wait(stream->timeline.whenIdle(), deadline, done);
      streams.endWait(stream, waitRounds);
    } else if (Event *event = events.takeAbandoned()) {
      status = wait(event->point(), deadline, done);
      events.giveAbandoned(event, done);
    } else if (!predecessors.empty()) {
      gpuasync_context *predecessor = predecessors.back();
      status = predecessor->awaitAbandoned(deadline);
      if (!status.ok())
        return status;
      predecessors.pop_back();
      predecessor->releasePart();
      abandoned.fetch_sub(1);
      continue;
    } else {
      break; // another thread has found it done just now
    }
    // An error of work that has ended is nobody's any more.
    if (!done || status.code() == GPUASYNC_DEVICE_LOST)
      return status.ok() ? giveUp() : noteFault(std::move(status));
  }
  return lost.load() ? check() : Status();
}

Status gpuasync_context::awaitAbandoned(const Deadline &deadline) {
  std::optional<ContextRef> visit;
  for (int round = 0; !visit.emplace(*this).open(); ++round) {
    visit.reset();
    if (state.load() == State::Closed)
      break;
    if (deadline.over())
      return makeStatus(GPUASYNC_TIMEOUT, "another thread closes the context");
    pauseFor(round);
  }
  const bool isClosed = !visit.has_value();
  // On a lost device nothing runs.
  if (lost.load() || (isClosed ? !isLeftBehind.load() : !abandoned.load()))
    return Status();
  CurrentContext current(*this);
  Status status = std::move(current.status);
  if (!status.ok())
    status = noteFault(std::move(status));
  else if (!isClosed)
    status = waitForAbandoned(deadline);
  else if (status = waitForStreams(deadline); status.code() == GPUASYNC_TIMEOUT)
    status = timedOut(deadline,
                      " waiting for what a context that was closed left behind",
                      describeBusy(/*prefix=*/""));
  else if (status.ok())
    isLeftBehind.store(false);
  return lost.load() ? Status() : std::move(status);
}

/// Lists what the program still holds and gives everything to the driver. No
/// frame is open, all work is done (or the device is lost).
void gpuasync_context::reclaim() {
  bool alive = !lost.load();
  keepLeaks();
  forEachService([&](const Service &each) { each.contextEnding(*this); });
  {
    std::lock_guard<std::mutex> lock(poolMutex);
    for (ThreadContext *slot : slots) {
      streams.takeBack(*slot);
      events.takeBack(*slot);
    }
  }
  if (alive)
    memory.giveBackPool(streams.any());
  streams.destroy(alive);
  callerStreams.destroy();
  registrations.unregister(/*all=*/true);
  uploads.destroy(alive);
  // Timepoints of free memory have events, so memory goes before them.
  memory.destroy(alive);
  events.destroy();
  timepoints.destroy(alive);
  if (StreamMemory *pool = driver->extensions.memory; pool && alive)
    pool->trimMemory(0);
  physicalBuffers = 0;
  physicalBytes = 0;
}

Status gpuasync_context::close() {
  for (OpenFrame *frame = currentThread ? currentThread->innermost : nullptr;
       frame; frame = frame->outer)
    if (frame->findUse(this))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "the context is closed from inside one of its frames");
  const ThreadState *thread = &threadState();
  if (ContextRef::isInside(*this) || closedBy.load() == thread)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the context is closed from a hook that it calls");
  State expected = State::Open;
  for (int round = 0; !state.compare_exchange_strong(expected, State::Closing,
                                                     std::memory_order_seq_cst);
       ++round) {
    if (expected == State::Closed)
      return Status();
    pauseFor(round); // another thread closes it
    expected = State::Open;
  }
  closedBy.store(thread);
  // After a failure nothing is lost: the next call goes on from there.
  struct Reopen {
    gpuasync_context &context;
    ~Reopen() {
      context.closedBy.store(nullptr);
      if (context.state.load() != State::Closed)
        context.state.store(State::Open);
    }
  } reopen{*this};
  return closeOnce();
}

Status gpuasync_context::closeOnce() {
  const Deadline deadline = callDeadline();
  for (int round = 0; visitors.load(std::memory_order_seq_cst); ++round) {
    if (deadline.over())
      return makeStatus(GPUASYNC_TIMEOUT,
                        "a call of another thread did not end; close again");
    pauseFor(round);
  }
  std::vector<Instance *> all;
  {
    std::lock_guard<std::mutex> lock(poolMutex);
    all = instances;
  }
  for (Instance *instance : all)
    RETURN_IF_ERROR(retireInstance(*this, *instance, deadline));
  Status result;
  bool finished = true;
  uint64_t foreign = 0;
  {
    CurrentContext current(*this);
    Status entered = noteFault(std::move(current.status));
    // From elsewhere nothing can be given back; closing can be tried again.
    if (!entered.ok() && !lost.load())
      return entered;
    Status ended;
    if (!lost.load())
      ended = waitForStreams(deadline, nullptr, /*idleToo=*/true);
    if (!ended.ok() && !lost.load()) {
      // Nobody knows what still runs; closing can be tried again.
      if (ended.code() != GPUASYNC_TIMEOUT)
        return ended;
      finished = false;
      result = makeStatus(GPUASYNC_TIMEOUT,
                          "work did not end, its resources stay behind; %s",
                          describeBusy().c_str());
    }
    if (finished && !lost.load() && isBlocked()) {
      finished = false;
      result = makeStatus(GPUASYNC_TIMEOUT,
                          "work of another context of the device, which was "
                          "closed before it ended, still runs: what waits for "
                          "it stays behind");
    }
    if (finished && captured && !captured->isEmpty() && !lost.load()) {
      finished = false;
      result = makeStatus(GPUASYNC_INVALID_ARGUMENT,
                          "a capture of a caller's stream that functions of "
                          "this context are part of has not ended; its "
                          "resources stay behind");
    }
    if (finished) {
      state.store(State::Ending, std::memory_order_seq_cst);
      // All that frames have enqueued is done, so the waits end in no time; the
      // wait for the work may have used up this call's.
      const Deadline rest = callDeadline();
      for (int round = 0; waiters.load(std::memory_order_seq_cst); ++round) {
        if (rest.over())
          return makeStatus(GPUASYNC_TIMEOUT,
                            "a wait of another thread did not end; close "
                            "again");
        pauseFor(round);
      }
      uint64_t heldStreams = streams.countEmbedders(), heldEvents = 0;
      events.forEachExported([&](const Origin &) { ++heldEvents; });
      ThreadContext *slot = threadState().slotFor(this);
      for (Instance *instance : all) {
        forEachService(
            [&](const Service &each) { each.instanceEnding(*instance); });
        uint32_t count = modules.dropInstance(*instance);
        for (uint32_t i = 0; i < count; ++i)
          slot->counters.modules.destroy();
        std::lock_guard<std::mutex> lock(poolMutex);
        instances.erase(
            std::find(instances.begin(), instances.end(), instance));
        instance->release();
      }
      modules.unloadRest();
      uint64_t loaded = modules.size() + modules.underflows.load();
      reclaim();
      if (heldStreams || heldEvents || loaded) {
        // Nothing may be thrown any more.
        const char *first = nullptr;
        for (const std::string &line : leaks)
          if (!first && line.find(": event ") != std::string::npos)
            first = line.c_str();
        result = makeStatus(
            GPUASYNC_INVALID_ARGUMENT,
            "never released: %llu streams, %llu events, %llu modules%s%s",
            static_cast<unsigned long long>(heldStreams),
            static_cast<unsigned long long>(heldEvents),
            static_cast<unsigned long long>(loaded), first ? "; " : "",
            first ? first : "");
      }
    }
    if (!finished)
      keepLabels(*this,
                 nullptr); // no program tells a closed context of its end
    foreign = driver->close(lost.load() || !finished);
  }
  if (finished && foreign && !lost.load() && result.ok())
    result = makeStatus(GPUASYNC_DRIVER_ERROR,
                        "the driver still holds %llu objects of ours",
                        static_cast<unsigned long long>(foreign));
  isLeftBehind.store(!finished && !lost.load());
  state.store(State::Closed);
  retirements.fetch_add(1, std::memory_order_seq_cst);
  Process &shared = process();
  std::lock_guard<std::mutex> lock(shared.mutex);
  auto &open = shared.contexts;
  // While its work goes on, others of the device do not rest, and later ones
  // begin behind it.
  if (finished || lost.load())
    open.erase(std::remove(open.begin(), open.end(), this), open.end());
  else
    retainPart();
  isKeptForWork = !finished && !lost.load();
  resume(); // whoever waits for another context's pause
  return result;
}
