//===- Scheduler.cpp - Streams of the cpu device --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Scheduler.h.
//===----------------------------------------------------------------------===//

#include "device/cpu/Scheduler.h"

#include "device/cpu/CallerStack.h"
#include "gpuasync/Context.h"
#include "shim/base/Clock.h"

#include <chrono>
#include <errno.h>
#include <new>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <utility>

using namespace gpuasync;
using namespace gpuasync::cpu;

//===----------------------------------------------------------------------===//
// StreamLease
//===----------------------------------------------------------------------===//

void StreamLease::release() {
  if (references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  gpuasync_status_free(error.load(std::memory_order_relaxed));
  delete this;
}

void StreamLease::fail(Status status, uint64_t position) {
  if (hasFailed.exchange(true, std::memory_order_relaxed))
    return;
  errorPosition = position;
  error.store(status.release(), std::memory_order_release);
}

Status StreamLease::statusAt(uint64_t position) const {
  gpuasync_status *raw = error.load(std::memory_order_acquire);
  if (!raw || errorPosition > position)
    return Status();
  Status borrowed(raw);
  Status copy = copyStatus(borrowed);
  (void)borrowed.release();
  return copy;
}

//===----------------------------------------------------------------------===//
// Set up, streams
//===----------------------------------------------------------------------===//

Scheduler::Scheduler(uint32_t threadLimit) : threadLimit(threadLimit) {
  if (!makeScratchKey())
    throw std::bad_alloc();
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    numProcessors = static_cast<uint32_t>(CPU_COUNT(&set));
}

Scheduler::~Scheduler() {
  for (Stream *stream : allStreams) {
    while (Op *op = stream->freeOps) {
      stream->freeOps = op->next;
      delete op;
    }
    stream->tenure->release();
    delete stream;
  }
}

Stream *Scheduler::createStream() {
  std::lock_guard<std::mutex> lock(streamsMutex);
  if (!freeStreams.empty()) {
    Stream *stream = freeStreams.back();
    freeStreams.pop_back();
    return stream;
  }
  // A destroyed stream is kept: events may still name it and a position.
  allStreams.reserve(allStreams.size() + 1);
  freeStreams.reserve(allStreams.size() + 1);
  if (policy)
    policy->reserve(allStreams.size() + 1);
  auto tenure = std::make_unique<StreamLease>();
  Stream *stream = new Stream(*this);
  stream->tenure = tenure.release();
  stream->index = static_cast<uint32_t>(allStreams.size());
  allStreams.push_back(stream);
  return stream;
}

void Scheduler::destroyStream(Stream *stream) {
  resetStream(stream);
  std::lock_guard<std::mutex> lock(streamsMutex);
  freeStreams.push_back(stream);
}

void Scheduler::resetStream(Stream *stream) {
  std::lock_guard<std::mutex> lock(stream->mutex);
  if (!stream->tenure->error.load(std::memory_order_acquire))
    return;
  // Without memory for it now, whoever uses the stream next needs it.
  StreamLease *fresh = new (std::nothrow) StreamLease;
  stream->outlived = !fresh;
  if (fresh) {
    stream->tenure->release();
    stream->tenure = fresh;
    stream->cancelled.store(false, std::memory_order_relaxed);
  }
}

void Scheduler::cancelStream(Stream &stream) {
  Status reason =
      makeStatus(GPUASYNC_TIMEOUT, "the call that it is a part of gave up");
  std::lock_guard<std::mutex> lock(stream.mutex);
  const Op *op = stream.head;
  if (!op)
    return;
  stream.cancelled.store(true, std::memory_order_relaxed);
  stream.tenure->fail(std::move(reason), op->position);
}

bool Scheduler::endsSoon(Stream &stream) {
  std::lock_guard<std::mutex> lock(stream.mutex);
  const Op *op = stream.head; // what comes behind it is dropped
  if (!op)
    return true;
  if (op->command.kind == Command::Kind::Wait)
    return op->target->cancelled.load(std::memory_order_relaxed) ||
           op->target->completed.load(std::memory_order_acquire) >=
               op->targetPosition;
  return !op->mayBlock && op->command.kind != Command::Kind::Call;
}

bool Scheduler::tryRenew(Stream &stream) {
  if (__builtin_expect(stream.outlived, 0))
    resetStream(&stream);
  return !stream.outlived;
}

void Scheduler::renew(Stream &stream) {
  if (!tryRenew(stream))
    throw std::bad_alloc();
}

uint64_t Scheduler::liveStreams() {
  std::lock_guard<std::mutex> lock(streamsMutex);
  return allStreams.size() - freeStreams.size();
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

namespace {
/// The timing of the operation that the thread enqueues next; null: none.
struct PendingTiming {
  const Stream *stream;
  DeviceTiming *timing;
};
__thread PendingTiming pendingTiming __attribute__((tls_model("initial-exec")));
} // namespace

void cpu::expectTiming(const Stream &stream, DeviceTiming &timing) {
  pendingTiming = {&stream, &timing};
}

DeviceTiming *cpu::takeTiming(const Stream &stream) {
  if (__builtin_expect(pendingTiming.stream != &stream, 1))
    return nullptr;
  pendingTiming.stream = nullptr;
  return std::exchange(pendingTiming.timing, nullptr);
}

//===----------------------------------------------------------------------===//
// Enqueue
//===----------------------------------------------------------------------===//

Op *Scheduler::makeOp(Stream &stream, const Command &command) {
  renew(stream);
  Op *op = nullptr;
  {
    std::lock_guard<std::mutex> lock(stream.mutex);
    if ((op = stream.freeOps))
      stream.freeOps = op->next;
  }
  if (!op)
    op = new Op;
  op->next = nullptr;
  op->command = command;
  if (command.kind == Command::Kind::Copy)
    op->command.copy = &(op->copy = *command.copy);
  else if (command.kind == Command::Kind::Fill)
    op->command.fill = &(op->fill = *command.fill);
  op->mayBlock = false;
  op->params = nullptr;
  op->targetTenure = nullptr;
  op->timing = takeTiming(stream);
  if (policy)
    op->sequence = policy->nextSequence();
  return op;
}

bool Op::setParams(const void *source, uint64_t bytes) {
  params = bytes > sizeof(inlineParams) ? malloc(bytes) : inlineParams;
  if (params && bytes)
    memcpy(params, source, bytes);
  return params;
}

void Scheduler::recycle(Stream &stream, Op *op) {
  op->settleTiming();
  if (op->params && op->params != op->inlineParams)
    free(op->params);
  op->params = nullptr;
  if (op->targetTenure) {
    op->targetTenure->release();
    op->targetTenure = nullptr;
    if (&op->target->scheduler != this)
      op->target->scheduler.release();
  }
  op->next = stream.freeOps;
  stream.freeOps = op;
}

bool Scheduler::append(Stream &stream, Op *op, Stream::State begin) {
  std::lock_guard<std::mutex> lock(stream.mutex);
  op->position = stream.enqueued.load(std::memory_order_relaxed) + 1;
  stream.enqueued.store(op->position, std::memory_order_relaxed);
  if (stream.tail)
    stream.tail->next = op;
  else
    stream.head = op;
  stream.tail = op;
  if (stream.state.load(std::memory_order_relaxed) != Stream::State::Idle)
    return false;
  stream.state.store(begin, std::memory_order_relaxed);
  return true;
}

void Scheduler::enqueue(Stream &stream, Op *op, bool inlineIfIdle) {
  inlineIfIdle = inlineIfIdle && !policy;
  if (!append(stream, op,
              inlineIfIdle ? Stream::State::Running : Stream::State::Runnable))
    return;
  if (!inlineIfIdle) {
    submit(&stream);
    return;
  }
  stream.startedOn = -1;
  execute(stream, *op);
  completeOnly(stream, op);
}

void Scheduler::completeOnly(Stream &stream, Op *op) {
  Stream *woken;
  {
    // Only this thread puts work on the stream (Producing), so the queue is
    // empty now.
    std::lock_guard<std::mutex> lock(stream.mutex);
    woken = complete(stream, op);
    stream.state.store(Stream::State::Idle, std::memory_order_relaxed);
  }
  woken = keepOwn(woken);
  if (woken)
    submit(woken);
}

void Scheduler::enqueueWait(Stream &stream, const Event &event,
                            const gpuasync_site *site) {
  if (!event.stream)
    return;
  // The stream's own order is enough, unless the event is a former owner's: its
  // failure is told nobody else.
  if (event.stream == &stream && event.tenure == stream.tenure)
    return;
  bool done =
      event.stream->completed.load(std::memory_order_acquire) >= event.position;
  if (done && !event.tenure->error.load(std::memory_order_acquire))
    return;
  Op *op = makeOp(stream, Command(Command::Kind::Wait, site));
  op->target = event.stream;
  op->targetPosition = event.position;
  op->targetTenure = event.tenure;
  op->targetTenure->retain();
  if (&event.stream->scheduler != this)
    event.stream->scheduler.retain();
  // An idle stream parks at once and costs no thread.
  if (!append(stream, op, Stream::State::Running) || park(stream, *op))
    return;
  stream.state.store(Stream::State::Runnable, std::memory_order_relaxed);
  submit(&stream);
}

Op *Scheduler::promise(Stream &stream) {
  return makeOp(stream, Command(Command::Kind::Call, nullptr));
}

void Scheduler::completeNow(Stream &stream, Op *op) {
  append(stream, op, Stream::State::Running);
  completeOnly(stream, op);
}

bool Scheduler::park(Stream &stream, const Op &op) {
  Stream &target = *op.target;
  std::lock_guard<std::mutex> lock(target.mutex);
  if (target.completed.load(std::memory_order_relaxed) >= op.targetPosition)
    return false;
  stream.state.store(Stream::State::Parked, std::memory_order_relaxed);
  stream.waitPosition = op.targetPosition;
  stream.nextWaiter = target.waiters;
  target.waiters = &stream;
  return true;
}

//===----------------------------------------------------------------------===//
// Run
//===----------------------------------------------------------------------===//

Stream *Scheduler::complete(Stream &stream, Op *op) {
  uint64_t position = op->position;
  stream.head = op->next;
  if (!stream.head)
    stream.tail = nullptr;
  recycle(stream, op);
  stream.completed.store(position, std::memory_order_release);
  if (stream.hostWaiters)
    stream.progress.notify_all();
  Stream *woken = nullptr;
  for (Stream **link = &stream.waiters; *link;) {
    Stream *waiter = *link;
    if (waiter->waitPosition > position) {
      link = &waiter->nextWaiter;
      continue;
    }
    *link = waiter->nextWaiter;
    waiter->state.store(Stream::State::Runnable, std::memory_order_relaxed);
    waiter->nextRunnable = woken;
    woken = waiter;
  }
  return woken;
}

Stream *Scheduler::pump(Stream *stream) {
  stream->state.store(Stream::State::Running, std::memory_order_relaxed);
  while (true) {
    Op *op;
    {
      std::lock_guard<std::mutex> lock(stream->mutex);
      op = stream->head;
      if (!op) {
        stream->state.store(Stream::State::Idle, std::memory_order_relaxed);
        return nullptr;
      }
    }
    bool mayBlock = op->mayBlock;
    if (op->command.kind == Command::Kind::Wait && park(*stream, *op)) {
      if (policy)
        policy->cameBack(mayBlock, nullptr);
      return nullptr;
    }
    if (policy)
      policy->delay();
    execute(*stream, *op);
    Stream *woken;
    bool empty;
    {
      std::lock_guard<std::mutex> lock(stream->mutex);
      woken = complete(*stream, op);
      empty = !stream->head;
      if (empty)
        stream->state.store(Stream::State::Idle, std::memory_order_relaxed);
      else if (policy)
        stream->state.store(Stream::State::Runnable, std::memory_order_relaxed);
    }
    woken = keepOwn(woken);
    if (policy) {
      // From here on the next operation is the policy's to start.
      if (!empty) {
        stream->nextRunnable = woken;
        woken = stream;
      }
      policy->cameBack(mayBlock, woken);
      return nullptr;
    }
    if (!woken && !empty)
      continue;
    if (!empty) {
      submit(woken);
      continue;
    }
    if (!woken)
      return nullptr;
    // This thread is free: it takes one of the woken streams itself.
    Stream *rest = woken->nextRunnable;
    woken->nextRunnable = nullptr;
    if (rest)
      submit(rest);
    return woken;
  }
}

Stream *Scheduler::keepOwn(Stream *woken) {
  for (Stream **link = &woken; Stream *stream = *link;) {
    if (__builtin_expect(&stream->scheduler == this, 1)) {
      link = &stream->nextRunnable;
      continue;
    }
    *link = std::exchange(stream->nextRunnable, nullptr);
    // Its context may close as soon as the stream has run.
    Scheduler &other = stream->scheduler;
    other.retain();
    other.submit(stream);
    other.release();
  }
  return woken;
}

void Scheduler::submit(Stream *list) {
  if (policy)
    policy->hold(list);
  else
    start(list);
}

void Scheduler::start(Stream *list) {
  const int processor = sched_getcpu();
  std::unique_lock<std::mutex> lock(mutex);
  while (list) {
    Stream *stream = list;
    list = stream->nextRunnable;
    stream->nextRunnable = nullptr;
    stream->startedOn = processor;
    if (runnableTail)
      runnableTail->nextRunnable = stream;
    else
      runnableHead = stream;
    runnableTail = stream;
    ++runnableCount;
    if (idle >= runnableCount)
      wake.notify_one();
    else if (threadCount - blocked < numProcessors) {
      if (!spawn(lock) && threadCount == blocked)
        failStarved(lock);
    } else if (idle)
      wake.notify_one();
  }
}

Stream *Scheduler::takeRunnable() {
  return takeRunnable([](Stream *) { return true; });
}

template <typename Wanted>
Stream *Scheduler::takeRunnable(Wanted wanted) {
  Stream *before = nullptr, *stream = runnableHead;
  while (stream && !wanted(stream)) {
    before = stream;
    stream = stream->nextRunnable;
  }
  if (!stream)
    return nullptr;
  (before ? before->nextRunnable : runnableHead) = stream->nextRunnable;
  if (stream == runnableTail)
    runnableTail = before;
  stream->nextRunnable = nullptr;
  --runnableCount;
  return stream;
}

/// Of a thread of the device: twice what a kernel may keep there, for variables
/// of sizes that are known at run time only, and for what kernels call.
static constexpr size_t threadStack = 2 * GPUASYNC_CPU_STACK_BYTES;

void Scheduler::removeJob(Job *job) {
  for (Job **link = &jobs; *link; link = &(*link)->nextJob)
    if (*link == job) {
      *link = job->nextJob;
      return;
    }
}

bool Scheduler::spawn(std::unique_lock<std::mutex> &) {
  if (threadCount >= threadLimit || stopping)
    return false;
  try {
    threads.reserve(threadCount + 1);
  } catch (const std::bad_alloc &) {
    spawnError = ENOMEM;
    return false;
  }
  // Whatever the process' default is, kernels have the stack that the compiler
  // counts on.
  pthread_attr_t attributes;
  pthread_t thread;
  spawnError = pthread_attr_init(&attributes);
  if (spawnError)
    return false;
  spawnError = pthread_attr_setstacksize(&attributes, threadStack);
  if (!spawnError)
    spawnError = pthread_create(
        &thread, &attributes,
        [](void *self) -> void * {
          static_cast<Scheduler *>(self)->threadMain();
          return nullptr;
        },
        this);
  (void)pthread_attr_destroy(&attributes);
  if (spawnError)
    return false;
  threads.push_back(thread);
  ++threadCount;
  return true;
}

Status Scheduler::noThread() const {
  if (threadCount >= threadLimit)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "the cpu device's limit of %u threads is reached by "
                      "kernels that wait for each other "
                      "(GPU_ASYNC_CPU_THREADS raises it)",
                      threadLimit);
  if (spawnError == ENOMEM)
    return makeStatus(GPUASYNC_OUT_OF_MEMORY,
                      "out of host memory for a thread of the cpu device");
  return makeStatus(GPUASYNC_UNAVAILABLE,
                    "the system gives the cpu device no thread beside its %u: "
                    "%s",
                    threadCount, strerror(spawnError));
}

/// All threads spin, or there is none, and no other can be made: the streams
/// that wait for one fail, each at the location of its head. They are then
/// empty in no time.
void Scheduler::failStarved(std::unique_lock<std::mutex> &lock) {
  while (runnableHead && threadCount == blocked) {
    Stream *stream = takeRunnable();
    Status error, reason = noThread();
    lock.unlock();
    {
      std::lock_guard<std::mutex> streamLock(stream->mutex);
      if (Op *op = stream->head) {
        error = locate(std::move(reason), op->command.site);
        stream->tenure->fail(copyStatus(error), op->position);
      }
    }
    {
      // Waits tell of the first that found no thread. Where nothing spins they
      // end by themselves.
      std::lock_guard<std::mutex> again(mutex);
      if (!starved.load())
        starvedStatus = std::move(error);
      starved.store(blocked != 0);
    }
    {
      // The kernels that spin may never end: nobody waits for them any longer.
      std::lock_guard<std::mutex> all(streamsMutex);
      for (Stream *other : allStreams) {
        std::lock_guard<std::mutex> streamLock(other->mutex);
        other->progress.notify_all();
      }
    }
    // What it wakes must not run here, where this thread's own work waits.
    if (Stream *woken = pump(stream))
      submit(woken);
    lock.lock();
  }
}

void Scheduler::beginBlocking() {
  std::unique_lock<std::mutex> lock(mutex);
  ++blocked;
  if (runnableCount > idle && threadCount - blocked < numProcessors)
    if (!spawn(lock) && threadCount == blocked)
      failStarved(lock);
}

void Scheduler::endBlocking() {
  std::lock_guard<std::mutex> lock(mutex);
  // What still spins may be waiting for what found no thread.
  if (--blocked == 0)
    starved.store(false);
}

/// Takes the calling thread, one of the device's own, from a processor where
/// another one is awake that belongs to the same work: the system wakes a
/// thread beside its waker and lets the two take turns of milliseconds, however
/// many processors are idle.
static void leaveProcessor(int processor) {
  cpu_set_t allowed, others;
  if (sched_getcpu() != processor ||
      sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return;
  others = allowed;
  CPU_CLR(processor, &others);
  if (CPU_COUNT(&others) && sched_setaffinity(0, sizeof(others), &others) == 0)
    sched_setaffinity(0, sizeof(allowed), &allowed);
}

void Scheduler::threadMain() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    if (Stream *stream = takeRunnable()) {
      lock.unlock();
      while (stream)
        stream = pump(stream);
      lock.lock();
      continue;
    }
    if (Job *job = jobs) {
      bool blocks = job->op->mayBlock;
      blocked += blocks;
      helpWith(*job, lock, /*leaves=*/true);
      blocked -= blocks;
      continue;
    }
    if (stopping)
      break;
    ++idle;
    wake.wait(lock);
    --idle;
  }
}

/// Bytes of variables on the stack of a kernel that host threads run while they
/// wait: those of the compiler's tiles.
static constexpr uint32_t helpedStack = 640 << 10;

/// Whether a host thread that waits may run it: it surely ends, and fits on the
/// stack of those that help. Not what calls somebody else's code.
static bool isForWaiters(const Op &op) {
  return !op.mayBlock && op.command.kind != Command::Kind::Call &&
         (op.command.kind != Command::Kind::Launch ||
          op.kernel->stackBytes <= helpedStack);
}

void Scheduler::runLaunch(Stream &stream, Op &op) {
  Job job;
  job.op = &op;
  job.stream = &stream;
  job.total = op.grid[0] * op.grid[1] * op.grid[2];
  const double work = op.cost->estimate(op.work, job.total);
  // A policy decides by its seed, not by the clock.
  job.isMeasured =
      !policy && !op.mayBlock && op.cost->wantsSample(work, op.position);
  bool shared = job.total > 1 && numProcessors > 1 &&
                (op.mayBlock || work > worthThreadNs);
  if (op.mayBlock)
    beginBlocking();
  if (!shared) {
    runBlocks(job);
  } else {
    const bool isHelped = isForWaiters(op);
    leaveProcessor(stream.startedOn);
    job.processor = sched_getcpu();
    // Blocks that may wait for others are taken one by one.
    job.share = op.mayBlock ? job.total : 4 * numProcessors;
    const double pieces =
        std::max<double>(32 * numProcessors, work / (worthThreadNs / 4));
    job.chunk =
        op.mayBlock
            ? 1
            : std::max<int64_t>(1, static_cast<int64_t>(job.total / pieces));
    if (isHelped) {
      std::lock_guard<std::mutex> lock(stream.mutex);
      stream.job.store(&job);
      if (stream.hostWaiters)
        stream.progress.notify_all();
    }
    {
      std::unique_lock<std::mutex> lock(mutex);
      job.nextJob = jobs;
      jobs = &job;
      int64_t wanted = std::min<int64_t>(numProcessors, job.total) - 1;
      // Who waits for this helps rather than sleeps: it has a processor, while
      // a woken thread may have to share this one for a while.
      if (isHelped)
        wanted -= stream.volunteers.load();
      for (uint32_t i = 0; i < wanted; ++i)
        if (!callHelper(lock, i))
          break;
    }
    runBlocks(job);
    if (isHelped) {
      std::lock_guard<std::mutex> lock(stream.mutex);
      stream.job.store(nullptr);
    }
    std::unique_lock<std::mutex> lock(mutex);
    removeJob(&job);
    if (job.helpers) {
      const Uncancelled uncancelled; // a host thread may be here
      jobDone.wait(lock, [&] { return job.helpers == 0; });
    }
  }
  if (op.mayBlock)
    endBlocking();
}

void Scheduler::helpWith(Job &job, std::unique_lock<std::mutex> &lock,
                         bool leaves) {
  ++job.helpers; // keeps it alive
  lock.unlock();
  if (leaves)
    leaveProcessor(job.processor);
  runBlocks(job);
  lock.lock();
  if (--job.helpers == 0)
    jobDone.notify_all();
  removeJob(&job); // no block is left
}

bool Scheduler::callHelper(std::unique_lock<std::mutex> &lock,
                           uint32_t called) {
  if (called < idle) {
    wake.notify_one();
    return true;
  }
  return threadCount - blocked < numProcessors && spawn(lock);
}

void Scheduler::help(Stream &stream, uint64_t position) {
  Job *job = nullptr;
  {
    std::lock_guard<std::mutex> lock(stream.mutex);
    job = stream.job.load();
    if (!job || stream.completed.load(std::memory_order_relaxed) >= position)
      return;
    std::lock_guard<std::mutex> jobLock(mutex);
    ++job->helpers; // keeps it alive
  }
  runBlocks(*job);
  std::lock_guard<std::mutex> lock(stream.mutex);
  stream.job.store(nullptr); // no block is left
  std::lock_guard<std::mutex> jobLock(mutex);
  if (--job->helpers == 0)
    jobDone.notify_all();
}

namespace {
/// What a host thread waits for: streams, and up to where they are needed.
/// Those that are found first, if they are many.
class NeededStreams {
public:
  NeededStreams(Stream &stream, uint64_t position) {
    add(&stream, position);
    for (size_t i = 0; i < count; ++i)
      lookAt(entries[i]);
  }
  struct Entry {
    Stream *stream;
    uint64_t position;
    bool isForWaiters; ///< what it runs next
  };
  /// Null: not needed.
  const Entry *find(const Stream *stream) const {
    for (size_t i = 0; i < count; ++i)
      if (entries[i].stream == stream)
        return &entries[i];
    return nullptr;
  }

private:
  void add(Stream *stream, uint64_t position) {
    if (count < most && !find(stream) &&
        stream->completed.load(std::memory_order_acquire) < position)
      entries[count++] = {stream, position, false};
  }
  void lookAt(Entry &entry) {
    std::lock_guard<std::mutex> lock(entry.stream->mutex);
    const Op *op = entry.stream->head;
    entry.isForWaiters = op && isForWaiters(*op);
    for (int left = mostOps; op && op->position <= entry.position && left--;
         op = op->next)
      if (op->command.kind == Command::Kind::Wait)
        add(op->target, op->targetPosition);
  }

  static constexpr size_t most = 16;
  static constexpr int mostOps = 64; ///< looked at, of a stream
  Entry entries[most];
  size_t count = 0;
};
} // namespace

bool Scheduler::runNeeded(Stream &stream, uint64_t position) {
  const NeededStreams needed(stream, position);
  std::unique_lock<std::mutex> lock(mutex);
  const Stream *runnable = takeRunnable([&](const Stream *candidate) {
    const auto *entry = needed.find(candidate);
    return entry && entry->isForWaiters;
  });
  if (runnable) {
    lock.unlock();
    const auto *entry = needed.find(runnable);
    return runUpTo(*entry->stream, entry->position);
  }
  Job *job = jobs;
  while (job && !(isForWaiters(*job->op) && needed.find(job->stream)))
    job = job->nextJob;
  if (job)
    helpWith(*job, lock, /*leaves=*/false);
  return job;
}

bool Scheduler::runUpTo(Stream &stream, uint64_t position) {
  stream.startedOn = -1;
  stream.state.store(Stream::State::Running, std::memory_order_relaxed);
  while (true) {
    Op *op;
    bool isNeeded, goesOn;
    {
      std::lock_guard<std::mutex> lock(stream.mutex);
      op = stream.head;
      isNeeded = op && op->position <= position;
      goesOn = isNeeded && isForWaiters(*op);
      if (!goesOn)
        stream.state.store(op ? Stream::State::Runnable : Stream::State::Idle,
                           std::memory_order_relaxed);
    }
    if (!goesOn) {
      if (op)
        submit(&stream);
      return !isNeeded;
    }
    if (op->command.kind == Command::Kind::Wait && park(stream, *op))
      return true;
    execute(stream, *op);
    Stream *woken;
    {
      std::lock_guard<std::mutex> lock(stream.mutex);
      woken = complete(stream, op);
    }
    woken = keepOwn(woken);
    if (woken)
      submit(woken);
  }
}

//===----------------------------------------------------------------------===//
// Wait, shut down
//===----------------------------------------------------------------------===//

Scheduler::Wait Scheduler::wait(Stream &stream, uint64_t position,
                                int64_t timeoutNs) {
  if (!policy)
    return waitUntil(stream, position, timeoutNs);
  Awaited awaited = {&stream, position, nullptr};
  policy->beginWait(awaited);
  Wait result = waitUntil(stream, position, timeoutNs);
  policy->endWait(awaited);
  return result;
}

Scheduler::Wait Scheduler::waitUntil(Stream &stream, uint64_t position,
                                     int64_t timeoutNs) {
  auto reached = [&] {
    return stream.completed.load(std::memory_order_acquire) >= position;
  };
  if (reached())
    return Wait::Reached;
  // A block can take longer than a time limit allows, the adversary decides who
  // runs what, and the checker tells kernels from the host by their threads.
  if (timeoutNs >= 0 || policy || checkHooks.load() || !hasStack(helpedStack))
    return sleepUntil(stream, position, timeoutNs, /*helps=*/false);
  while (runNeeded(stream, position))
    if (reached())
      return Wait::Reached;
  stream.volunteers.fetch_add(1);
  Wait result = sleepUntil(stream, position, timeoutNs, /*helps=*/true);
  stream.volunteers.fetch_sub(1);
  if (stream.job.load()) {
    // It counted on this thread: another one goes in its place.
    std::unique_lock<std::mutex> lock(mutex);
    callHelper(lock, 0);
  }
  return result;
}

Scheduler::Wait Scheduler::sleepUntil(Stream &stream, uint64_t position,
                                      int64_t timeoutNs, bool helps) {
  auto reached = [&] {
    return stream.completed.load(std::memory_order_acquire) >= position;
  };
  auto isWanted = [&] {
    return helps && stream.job.load(std::memory_order_relaxed);
  };
  // Meanwhile no kernel of this stream counts on this thread.
  auto runOthers = [&] {
    stream.volunteers.fetch_sub(1);
    bool ran = !stream.job.load() && runNeeded(stream, position);
    stream.volunteers.fetch_add(1);
    return ran;
  };
  auto spin = [&] {
    for (int i = 0; i < 500 && numProcessors > 1; ++i) {
      relax();
      if (reached())
        return true;
      if (isWanted()) {
        help(stream, position);
        i = 0;
      } else if (helps && i % 64 == 63 && runOthers()) {
        i = 0;
      }
    }
    return reached();
  };
  if (spin())
    return Wait::Reached;
  auto wakes = [&] { return reached() || starved.load() || isWanted(); };
  using Clock = std::chrono::steady_clock;
  const auto deadline =
      Clock::now() + std::chrono::nanoseconds(timeoutNs < 0 ? 0 : timeoutNs);
  // A wait that exit() overtakes gives up, so that its call can end its work.
  const bool wasExiting = gpuasync_process_exiting() != 0;
  auto givesUp = [&] {
    return (timeoutNs >= 0 && Clock::now() >= deadline) ||
           (!wasExiting && gpuasync_process_exiting() == 2);
  };
  const Uncancelled uncancelled;
  std::unique_lock<std::mutex> lock(stream.mutex);
  ++stream.hostWaiters;
  Wait result = Wait::TimedOut;
  while (true) {
    // Nobody wakes it for exit().
    const auto look = Clock::now() + std::chrono::milliseconds(100);
    stream.progress.wait_until(
        lock, timeoutNs < 0 ? look : std::min(look, deadline), wakes);
    if (!wakes() && !givesUp())
      continue;
    if (reached())
      result = Wait::Reached;
    if (!reached() && isWanted()) {
      lock.unlock();
      spin();
      lock.lock();
      continue;
    }
    if (reached() || !starved.load())
      break;
    // Kernels that end by themselves get the time to.
    stream.progress.wait_for(lock, std::chrono::milliseconds(200), reached);
    if (reached() || starved.load()) {
      result = reached() ? Wait::Reached : Wait::Starved;
      break;
    }
    if (timeoutNs >= 0 && Clock::now() >= deadline)
      break;
  }
  --stream.hostWaiters;
  return result;
}

Status Scheduler::starvation() {
  std::lock_guard<std::mutex> lock(mutex);
  return copyStatus(starvedStatus);
}

bool Scheduler::shutDown() {
  {
    std::lock_guard<std::mutex> lock(streamsMutex);
    for (Stream *stream : allStreams) {
      std::lock_guard<std::mutex> streamLock(stream->mutex);
      if (stream->head)
        return false;
    }
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    wake.notify_all();
  }
  const Uncancelled uncancelled;
  for (pthread_t thread : threads)
    (void)pthread_join(thread, nullptr);
  threads.clear();
  // Not before: they came back to it.
  if (policy)
    policy->stop();
  return true;
}
