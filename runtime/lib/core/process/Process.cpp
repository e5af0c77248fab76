//===- Process.cpp - Threads, fork and exit -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Thread.h. After fork every entry refuses; after exit began nothing of
// ours runs, but that the file of a trace is ended.
//===----------------------------------------------------------------------===//

#include "core/base/Settings.h"
#include "core/context/ContextImpl.h"
#include "core/process/Tracer.h"
#include "gpuasync/Context.h"

#include <algorithm>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <type_traits>
#include <unistd.h>

using namespace gpuasync;

__thread uint64_t gpuasync::driverCallCount;
__thread ThreadState *gpuasync::currentThread;
__thread bool gpuasync::insideCallback;
__thread SavedContext *gpuasync::innermostContext;
std::atomic<uint32_t> gpuasync::refusal{0};
std::atomic<uint64_t> gpuasync::retirements{0};

static pthread_key_t threadKey;

static __thread bool runsExit __attribute__((tls_model("initial-exec")));

static void onFork() {
  refusal.fetch_or(RefuseForked);
  if (Tracer *used = tracing())
    used->forget();
  listeners.store(0);
}
static void onExit() {
  runsExit = true;
  refusal.fetch_or(RefuseExiting);
  if (Tracer *used = tracing())
    used->finish();
  listeners.store(0);
}

static void onThreadEnd(void *state) {
  auto *thread = static_cast<ThreadState *>(state);
  currentThread = nullptr;
  // A forked child owns none of this; at exit the process takes it all.
  if (refusal.load() & (RefuseForked | RefuseExiting))
    return;
  try {
    thread->purge(true);
  } catch (...) {
    return;
  }
  for (gpuasync_context *context : thread->scopes)
    context->release();
  delete thread;
}

int64_t gpuasync::toNanoseconds(double amount, double unit) {
  // A deadline is the sum of this and of what the clock says now.
  constexpr double most = 4e18;
  double time = amount * unit;
  return time > 0 ? static_cast<int64_t>(time < most ? time : most) : 0;
}

Status gpuasync::setPlay(Process &process, const char *text) {
  static const struct {
    const char *name;
    Play play;
  } known[] = {{"streams", Play::Streams},
               {"stream", Play::Stream},
               {"graph", Play::Graph},
               {"auto", Play::Auto}};
  for (auto [name, play] : known)
    if (!strcmp(text, name)) {
      process.play.store(play, std::memory_order_relaxed);
      return Status();
    }
  return badSetting("GPU_ASYNC_PLAY", text,
                    "none of streams, stream, graph, auto");
}

static Status readSettings(Process &process) {
  double seconds = 0, spin = -1;
  RETURN_IF_ERROR(timeSetting("GPU_ASYNC_TIMEOUT", "seconds", seconds));
  if (seconds > 0)
    process.timeoutNs = toNanoseconds(seconds, 1e9);
  RETURN_IF_ERROR(timeSetting("GPU_ASYNC_SPIN_US", "microseconds", spin));
  if (spin >= 0)
    process.spinNs = toNanoseconds(spin, 1e3);
  if (const char *text = setting("GPU_ASYNC_PLAY"))
    RETURN_IF_ERROR(setPlay(process, text));
  return wordSetting("GPU_ASYNC_SYNC_LAUNCHES", "0", "1", process.syncLaunches);
}

static Process *makeProcess(bool isForked) {
  auto made = std::make_unique<Process>();
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) <= 1)
    made->spinNs = 0;
  made->settings = readSettings(*made);
  // Without a key of our own another library's would be overwritten; without
  // the others a forked child or an exiting process would call the driver. The
  // next entry tries again.
  if (pthread_key_create(&threadKey, onThreadEnd) != 0)
    throw std::bad_alloc();
  if (pthread_atfork(nullptr, nullptr, onFork) != 0 || atexit(onExit) != 0) {
    pthread_key_delete(threadKey);
    throw std::bad_alloc();
  }
  // The parent's trace is not the child's.
  if (isForked)
    return made.release();
  // No context is open yet.
  if (made->settings.ok() && gpuasyncStartListening)
    gpuasyncStartListening(made->settings);
  return made.release();
}

/// The process that makes or has made `instance`; 0: none does.
static std::atomic<pid_t> maker{0};
static std::atomic<Process *> instance{nullptr};

/// A child that was forked while another thread made it has neither that thread
/// nor all that it makes, and no handler has told of the fork: it refuses all.
static Process &makeOnce() {
  const pid_t own = getpid();
  pid_t before = 0;
  while (!maker.compare_exchange_strong(before, own) && before == own) {
    if (Process *made = instance.load(std::memory_order_acquire))
      return *made;
    pauseFor(100);
    before = 0;
  }
  const bool isForked = before != 0;
  if (isForked && !maker.compare_exchange_strong(before, own))
    return makeOnce(); // another thread of the child
  if (isForked)
    refusal.fetch_or(RefuseForked);
  try {
    Process *made = makeProcess(isForked);
    instance.store(made, std::memory_order_release);
    return *made;
  } catch (...) {
    maker.store(0);
    throw;
  }
}

Process &gpuasync::process() {
  Process *made = instance.load(std::memory_order_acquire);
  return __builtin_expect(made != nullptr, 1) ? *made : makeOnce();
}

extern "C" {

int32_t gpuasync_process_exiting(void) noexcept {
  if (__builtin_expect(
          !(refusal.load(std::memory_order_relaxed) & RefuseExiting), 1))
    return 0;
  return runsExit ? 1 : 2;
}

void gpuasync_thread_end_in_exit(void) noexcept {
  if (gpuasync_process_exiting() != 2)
    return;
  // The process is about to end, and until then the thread rests: what its
  // stack refers to is no leak, and glibc knows the thread for what it is. If
  // the process is still there after a while, it may be waiting for just this
  // thread (a destructor that joins it). pthread_exit would unwind code that
  // is not made for it, so the kernel ends the thread, which is all that a join
  // asks for. Nobody joins the first thread, and /proc tells of the process by
  // that one.
  do
    sleepNs(1000000000);
  while (syscall(SYS_gettid) == getpid());
  syscall(SYS_exit, 0);
}
}

ThreadState &gpuasync::threadState() {
  if (ThreadState *thread = currentThread)
    return *thread;
  process();
  auto made = std::make_unique<ThreadState>();
  if (pthread_setspecific(threadKey, made.get()) != 0)
    throw std::bad_alloc();
  currentThread = made.release();
  return *currentThread;
}

Status gpuasync::checkRefusal() {
  // Sees whether this is a child that was forked before there was a handler.
  if (__builtin_expect(!instance.load(std::memory_order_relaxed), 0))
    RETURN_IF_ERROR(guard([] {
      process();
      return Status();
    }));
  uint32_t bits = refusal.load(std::memory_order_relaxed);
  if (!bits)
    return insideCallback
               ? makeStatus(GPUASYNC_INVALID_ARGUMENT,
                            "the callback of gpuasync_trace_subscribe calls "
                            "the runtime, which it must not")
               : Status();
  if (bits & RefuseForked)
    return makeStatus(GPUASYNC_SHUT_DOWN,
                      "the process was forked; device work needs a process "
                      "that starts anew (exec)");
  if (bits & RefuseExiting)
    return makeStatus(GPUASYNC_SHUT_DOWN, "the process is exiting");
  return makeStatus(GPUASYNC_SHUT_DOWN, "gpuasync_shutdown was called");
}

void gpuasync::pauseFor(int round) {
  if (round < 100)
    sched_yield();
  else
    sleepNs(200000);
}

//===----------------------------------------------------------------------===//
// A thread's parts of contexts
//===----------------------------------------------------------------------===//

ThreadContext *ThreadState::slotFor(gpuasync_context *context) {
  auto isOfContext = [context](const ThreadContext *slot) {
    return slot->context == context;
  };
  if (ThreadContext *slot = contextTable.find(hashOf(context), isOfContext))
    return slot;
  purge(false);
  if (contextTable.reserve(contextCount + 1))
    fillContexts();
  auto slot = std::make_unique<ThreadContext>();
  slot->context = context;
  {
    std::lock_guard<std::mutex> lock(context->poolMutex);
    context->slots.push_back(slot.get());
  }
  context->retainPart();
  slot->nextOfThread = contexts;
  contexts = slot.get();
  ++contextCount;
  putContext(slot.get());
  return slot.release();
}

void ThreadState::putContext(ThreadContext *slot) {
  contextTable.put(hashOf(slot->context), slot,
                   [](const ThreadContext *) { return false; });
}

void ThreadState::fillContexts() {
  contextTable.clear(contextCount);
  for (ThreadContext *slot = contexts; slot; slot = slot->nextOfThread)
    putContext(slot);
}

/// All of them, whatever they are of, are added up.
static void foldCounters(Counters &into, const Counters &from) {
  static_assert(std::is_standard_layout_v<Counters> &&
                    sizeof(Counters) % sizeof(Counter) == 0,
                "nothing but counters");
  auto *to = reinterpret_cast<Counter *>(&into);
  auto *part = reinterpret_cast<const Counter *>(&from);
  for (size_t i = 0; i < sizeof(Counters) / sizeof(Counter); ++i)
    to[i].add(part[i].get());
}

static void eraseOne(std::vector<ThreadContext *> &list, ThreadContext *item) {
  for (auto &entry : list)
    if (entry == item) {
      entry = list.back();
      list.pop_back();
      return;
    }
}

void ThreadState::putPin(Pin *pin, bool replace) {
  Registration *registration = pin->registration;
  gpuasync_context *context = pin->slot->context;
  if (!replace && findPin(registration, context))
    return;
  pinTable.put(hashOf(registration, context), pin, [=](const Pin *other) {
    return other->registration == registration &&
           other->slot->context == context;
  });
}

void ThreadState::fillPins() {
  pinTable.clear(pinCount);
  for (Pin *pin = pins; pin; pin = pin->nextOfThread)
    putPin(pin, /*replace=*/false); // the newest comes first
}

void ThreadState::reservePin() {
  if (pinTable.reserve(pinCount + 1))
    fillPins();
}

void ThreadState::addPin(Pin *pin) {
  pin->nextOfThread = pins;
  pins = pin;
  ++pinCount;
  ++pin->slot->pinCount;
  putPin(pin, /*replace=*/true);
}

void ThreadState::purge(bool everything) {
  const uint64_t now = retirements.load(std::memory_order_seq_cst);
  if (!everything && now == purgedAt)
    return;
  purgedAt = now;
  bool changed = false;
  for (Pin **link = &pins; *link;) {
    Pin *pin = *link;
    bool idle = pin->count.load(std::memory_order_relaxed) == 0;
    if (!idle || !(everything || pin->instance->retired.load())) {
      link = &pin->nextOfThread;
      continue;
    }
    *link = pin->nextOfThread;
    --pinCount;
    --pin->slot->pinCount;
    changed = true;
    {
      std::lock_guard<std::mutex> lock(pin->slot->context->poolMutex);
      auto &list = pin->instance->pins;
      for (auto &entry : list)
        if (entry == pin) {
          entry = list.back();
          list.pop_back();
          break;
        }
    }
    pin->instance->release();
    delete pin;
  }
  if (changed)
    fillPins();
  // No entry of the table is looked at again before it is filled.
  changed = false;
  for (ThreadContext **link = &contexts; *link;) {
    ThreadContext *slot = *link;
    gpuasync_context *context = slot->context;
    bool closed = context->state.load() == gpuasync_context::State::Closed;
    if (slot->pinCount || !(everything || closed)) {
      link = &slot->nextOfThread;
      continue;
    }
    *link = slot->nextOfThread;
    --contextCount;
    changed = true;
    context->streams.takeBack(*slot);
    context->events.takeBack(*slot);
    {
      std::lock_guard<std::mutex> lock(context->poolMutex);
      eraseOne(context->slots, slot);
      foldCounters(context->ended, slot->counters);
    }
    delete slot;
    context->releasePart();
  }
  if (changed)
    fillContexts();
}
