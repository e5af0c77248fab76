//===- Process.cpp - Threads, fork and exit -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Thread.h. After fork every entry refuses; after exit began nothing of
// ours runs, but that the file of a trace is ended.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "shim/base/Settings.h"
#include "shim/process/Service.h"
#include "shim/process/Thread.h"
#include "shim/process/Tracer.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace gpuasync;

__thread ThreadState *gpuasync::currentThread;
__thread bool gpuasync::insideCallback;
std::atomic<uint32_t> gpuasync::refusal{0};
std::atomic<uint64_t> gpuasync::retirements{0};

static pthread_key_t threadKey;

static __thread bool runsExit __attribute__((tls_model("initial-exec")));

void gpuasync::finishTrace() noexcept {
  Tracer *used = tracing();
  listeners.store(0);
  if (used)
    used->finish();
}

static void onFork() {
  refusal.fetch_or(RefuseForked);
  if (Tracer *used = tracing())
    used->forget();
  listeners.store(0);
}
static void onExit() {
  runsExit = true;
  refusal.fetch_or(RefuseExiting);
  finishTrace();
}

static void onThreadEnd(void *state) {
  auto *thread = static_cast<ThreadState *>(state);
  currentThread = nullptr;
  // A forked child owns none of this; at exit the process takes it all.
  if (hasEnded())
    return;
  if (thread->leaveContexts())
    delete thread;
}

int64_t gpuasync::toNanoseconds(double amount, double unit) {
  // A deadline is the sum of this and of what the clock says now.
  constexpr double most = 4e18;
  double time = amount * unit;
  return time > 0 ? static_cast<int64_t>(time < most ? time : most) : 0;
}

Status gpuasync::timedOut(const Deadline &deadline, const std::string &what,
                          const std::string &open) {
  if (gpuasync_process_exiting() == 2)
    return checkRefusal();
  return makeStatus(GPUASYNC_TIMEOUT, "timed out after %g s%s; unfinished: %s",
                    double(deadline.timeoutNs) / 1e9, what.c_str(),
                    open.empty() ? "unknown" : open.c_str());
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

/// `listens`: what the opening of the listeners' library came to.
static Process *makeProcess(bool isForked, Status listens) {
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
  if (made->settings.ok())
    made->settings = std::move(listens);
  forEachService([&](const Service &each) {
    if (made->settings.ok())
      made->settings = each.startListening();
  });
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
  // Before this thread makes it, since nobody may wait for a thread that waits
  // for the loader. A child that was forked meanwhile opens nothing.
  Status listens;
  const pid_t claimed = maker.load();
  if (!claimed || claimed == own)
    forEachService([&](const Service &each) {
      if (listens.ok())
        listens = each.openListeners();
    });
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
    Process *made = makeProcess(isForked, std::move(listens));
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
