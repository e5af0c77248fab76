//===- Frame.cpp - Entering and leaving -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The warm path of enter and leave: no lock, no allocation, no word that
// another thread writes.
//===----------------------------------------------------------------------===//

#include "core/context/Capture.h"
#include "core/context/Entry.h"
#include "core/module/Program.h"
#include "core/region/Recorder.h"
#include "gpuasync/Check.h"
#include "gpuasync/Context.h"

#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

using namespace gpuasync;

/// A fault of the device shows in whatever call comes next, which need not be
/// the one that made it: adds the operations that may have (E06).
static Status nameSuspects(Frame &frame, Status status) {
  if (strstr(status.message(), "not known complete"))
    return status; // a host wait's own list
  try {
    std::string open = listUnfinished(frame);
    if (!open.empty())
      return makeStatus(status.code(), "%s; not known complete: %s",
                        status.message(), open.c_str());
  } catch (const std::bad_alloc &) {
    // Then the error alone.
  }
  return status;
}

void Frame::fail(Status status, const gpuasync_site *site) {
  if (status.ok())
    return;
  if (failed)
    return; // the first error is kept
  if (status.code() == GPUASYNC_DEVICE_LOST && streams)
    status = nameSuspects(*this, std::move(status));
  failed = 1;
  error = locate(std::move(status), site).release();
}

static void foldCalls(ThreadContext *slot) {
  if (slot && driverCallCount)
    slot->counters.driverCalls.add(driverCallCount);
  driverCallCount = 0;
}

/// Holds the instance for this frame; false if it was retired meanwhile.
static bool hold(Pin *pin) {
  uint32_t count = pin->count.load(std::memory_order_relaxed);
  // Sequentially consistent against the retirer's store and scan.
  pin->count.exchange(count + 1, std::memory_order_seq_cst);
  if (!pin->instance->retired.load(std::memory_order_seq_cst))
    return true;
  pin->count.store(count, std::memory_order_release);
  return false;
}

/// False if nobody held it.
static bool letGo(Pin *pin) {
  uint32_t count = pin->count.load(std::memory_order_relaxed);
  if (__builtin_expect(!count, 0))
    return false;
  pin->count.store(count - 1, std::memory_order_release);
  return true;
}

/// Finds or makes the pin and holds it. Cold.
static Status pinSlowly(Frame &frame, const gpuasync_function &function) {
  RETURN_IF_ERROR(checkRefusal());
  ThreadState &thread = *frame.thread;
  Registration *registration = nullptr;
  RETURN_IF_ERROR(registerProgram(function.program, registration));
  // A default one may be given up by others as soon as it is closed.
  struct Held {
    gpuasync_context *context;
    bool isDefault;
    ~Held() {
      if (isDefault)
        context->release();
    }
  } held{thread.scope, false};
  if (!held.context) {
    RETURN_IF_ERROR(chooseDefault(*registration, held.context));
    held.isDefault = true;
  }
  bool inside = false;
  for (Frame *outer = frame.outer; outer; outer = outer->outer)
    inside |= outer->pin != nullptr;
  for (int attempt = 0; attempt < 100; ++attempt) {
    RETURN_IF_ERROR(held.context->check());
    Pin *pin = nullptr;
    bool counted = false;
    RETURN_IF_ERROR(
        makePin(thread, *held.context, *registration, inside, pin, counted));
    if (counted || hold(pin)) {
      frame.pin = pin;
      return Status();
    }
  }
  return makeStatus(GPUASYNC_SHUT_DOWN, "the program is being released");
}

/// Makes sure that the function's modules are loaded, and notes their use.
static Status loadModules(Frame &frame, const gpuasync_function &function) {
  Pin &pin = *frame.pin;
  const std::atomic<uint64_t> &epoch = frame.context->modules.epoch;
  for (uint32_t i = 0; i < function.moduleCount; ++i) {
    uint32_t index = function.modules[i];
    if (index >= function.program->moduleCount)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "the function names module %u of %u", index,
                        function.program->moduleCount);
    if (frame.instance->modules[index].functions.load(
            std::memory_order_acquire))
      frame.slot->counters.hits.add(1);
    else
      RETURN_IF_ERROR(loadModule(*frame.context,
                                 {&pin, &function, /*loading=*/true}, index));
    pin.use(index, epoch.load(std::memory_order_relaxed));
  }
  return Status();
}

/// Looking takes a lock and reads what other threads write. Where the context
/// hardly ever rests, one of 64 frames of a thread looks.
static void drainAtTimes(Frame &frame, const gpuasync_function &function) {
  ThreadContext &slot = *frame.slot;
  if (slot.unlookedLeft) {
    --slot.unlookedLeft;
    return;
  }
  const Entering entering = {frame.pin, &function};
  if (frame.context->drainRetired(&entering))
    slot.busyLooks = 0;
  else if (++slot.busyLooks >= 4)
    slot.unlookedLeft = 63;
}

static Status enter(Frame &frame, const gpuasync_function &function) {
  ThreadState &thread = currentThread ? *currentThread : threadState();
  frame.thread = &thread;
  frame.outer = thread.innermost;
  thread.innermost = &frame;
  foldCalls(frame.outer ? frame.outer->slot : nullptr);
  // What this frame does may count on what the other one has asked for.
  if (frame.outer && frame.outer->region)
    (void)frame.outer->run(nullptr,
                           [&] { return frame.outer->region->play(); });

  auto *registration = static_cast<Registration *>(
      __atomic_load_n(function.program->slot, __ATOMIC_ACQUIRE));
  if (registration && !refusal.load(std::memory_order_relaxed)) {
    gpuasync_context *context = thread.scope;
    if (!context)
      context = registration->defaultContext.load(std::memory_order_acquire);
    Pin *pin = thread.findPin(registration, context);
    if (pin && hold(pin))
      frame.pin = pin;
  }
  if (!frame.pin)
    RETURN_IF_ERROR(pinSlowly(frame, function));
  if (__builtin_expect(function.deviceCount > 1, 0))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the function names %u devices, a frame has one",
                      function.deviceCount);
  frame.instance = frame.pin->instance;
  frame.sites = function.program->sites;
  frame.siteCount = function.program->siteCount;
  frame.slot = frame.pin->slot;
  frame.context = frame.slot->context;
  frame.driver = frame.context->driver.get();
  if (frame.context->lost.load(std::memory_order_relaxed))
    return frame.context->check();
  Status status = frame.driver->makeCurrent(frame.saved);
  if (!status.ok())
    return frame.context->noteFault(std::move(status));
  frame.current = true;
  // Before the function does anything, on the host too: what calls have left
  // unfinished may be writing its memory.
  if (__builtin_expect(!frame.context->abandoned.isEmpty(), 0) &&
      !(function.flags & GPUASYNC_FUNCTION_ENQUEUES))
    RETURN_IF_ERROR(frame.context->waitForAbandoned(callDeadline()));
  if (frame.context->retiredCount.load(std::memory_order_relaxed))
    drainAtTimes(frame, function);
  return loadModules(frame, function);
}

Status Frame::join(Stream &last, Stream &other) {
  Event *event = nullptr;
  RETURN_IF_ERROR(context->events.take(slot, event));
  const Timepoint ahead = other.timeline.whenIdle();
  last.note(nullptr); // the last that it was given before says nothing of this
  Status status =
      context->timepoints.orderAfter(last.native, ahead, event->native);
  context->events.give(slot, event);
  return status;
}

Status Frame::refuseDevice(uint32_t device) {
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "the frame has 1 device, there is no device %u", device);
}

void Frame::end(Stream &stream, bool idle) {
  if (idle || stream.external)
    return context->streams.give(slot, &stream, idle);
  stream.frame = nullptr;
  stream.aliasOf = nullptr;
  ended.push(&stream);
}

void Frame::reapEnded() {
  Stack<Stream> open;
  while (Stream *stream = ended.pop()) {
    bool done = false;
    // Its error is whose who waits for an event of it.
    (void)context->timepoints.query(stream->timeline.whenIdle(), done);
    if (done)
      context->streams.give(slot, stream, false);
    else
      open.push(stream);
  }
  ended = open;
}

bool Frame::ownsOther(Stream *stream, const gpuasync_site *site) {
  if (holds(stream))
    return region || run(site, [&] { return follow(*stream); });
  fail(makeStatus(GPUASYNC_INVALID_ARGUMENT,
                  stream ? "the stream does not belong to this frame"
                         : "null stream"),
       site);
  return false;
}

Status Frame::follow(Stream &stream) {
  Stream *ahead = stream.aliasOf;
  if (!ahead)
    return Status();
  stream.aliasOf = nullptr;
  stream.frame = this;
  return ahead->timeline.isIdle() ? Status() : join(stream, *ahead);
}

bool Frame::playFirst(Stream &stream, const gpuasync_site *site) {
  return run(site, [&] { return region->playBefore(stream); });
}

void Frame::resolveAliases(Stream &stream, bool idle) {
  for (Stream *each = streams; each; each = each->next) {
    if (each->aliasOf != &stream)
      continue;
    if (!idle) {
      (void)run(nullptr, [&] { return follow(*each); });
      continue;
    }
    each->aliasOf = nullptr;
    each->frame = this;
  }
  if (region)
    region->resolveAliases(stream, idle);
}

/// Says in the frame's error that its work goes on, and with what.
static void sayAbandoned(Frame &frame) try {
  Status status(frame.error);
  std::string open;
  if (status.code() != GPUASYNC_TIMEOUT) // which lists it
    open = "; unfinished: " + listUnfinished(frame);
  Status more = makeStatus(
      status.code(),
      "%s%s; that work still uses the memory of the call, so wait for it "
      "before you free any "
      "(gpuasync_context_wait_abandoned; in Python ga.wait_abandoned)",
      status.message(), open.c_str());
  markLocated(more);
  frame.error = more.release();
} catch (const std::bad_alloc &) {
  // Then the error alone.
}

/// A token that the frame was given is lost with it: what it stands for is
/// abandoned unless it is reached.
static bool isReached(Frame &frame, const Event &event) {
  if (!event.isImported || frame.context->lost.load(std::memory_order_relaxed))
    return true;
  bool done = false;
  (void)guard(
      [&] { return frame.context->timepoints.query(event.point(), done); });
  return done;
}

/// Calls `visit` with each stream of the frame, those too that the program has
/// given back.
template <typename ContextRef>
static void forEachStream(Frame &frame, ContextRef visit) {
  for (Stream *stream = frame.streams; stream; stream = stream->next)
    visit(*stream);
  for (Stream *stream = frame.ended.first; stream; stream = stream->next)
    visit(*stream);
}

/// Waits for the frame's own streams; whether all are done. What is not is
/// abandoned.
static bool waitForOwn(Frame &frame, const Deadline &deadline) {
  gpuasync_context &context = *frame.context;
  bool all = true;
  forEachStream(frame, [&](Stream &stream) {
    if (stream.external || context.lost.load(std::memory_order_relaxed))
      return;
    bool done = false;
    Status status = guard([&] {
      return context.timepoints.wait(stream.timeline.whenIdle(), deadline,
                                     done);
    });
    if (!status.ok())
      (void)context.noteFault(std::move(status));
    stream.isAbandoned = !done;
    all &= done;
  });
  return all;
}

/// Has the frame's own work end early, and waits for that, for so long, if it
/// surely ends. Whether it has.
static bool cancelOwn(Frame &frame, int64_t longestNs) {
  StreamControl *control = frame.driver->extensions.control;
  if (!control)
    return false;
  bool ends = true;
  forEachStream(frame, [&](Stream &stream) {
    if (stream.isAbandoned)
      control->cancelStream(stream.native);
  });
  forEachStream(frame, [&](Stream &stream) {
    ends &= !stream.isAbandoned || control->endsSoon(stream.native);
  });
  return ends && waitForOwn(frame, Deadline(longestNs));
}

/// Another thread has the process in exit(). The caller gives the memory of its
/// call back once this returns: where the device may use it for longer, it does
/// not. A vendor's device cannot be asked any more.
static void finishInExit(Frame &frame) {
  if (!frame.failed || !frame.current || gpuasync_process_exiting() != 2)
    return;
  bool open = false;
  forEachStream(frame, [&](Stream &stream) {
    open |= !stream.external && !stream.timeline.isIdle();
  });
  if (!open)
    return;
  if (frame.context->has(CapVendorStreams) ||
      !(waitForOwn(frame, Deadline(0)) || cancelOwn(frame, longestInExitNs)))
    gpuasync_thread_end_in_exit();
}

void gpuasync::releaseAfterError(Frame &frame) {
  gpuasync_context &context = *frame.context;
  // The device may still write the caller's memory: leaving waits, once, unless
  // a wait has just been given up. Callers' streams are not waited for.
  int64_t timeout = process().timeoutNs.load(std::memory_order_relaxed);
  if (timeout > 0 && gpuasync_status_get_code(frame.error) == GPUASYNC_TIMEOUT)
    timeout = 0;
  const Deadline deadline(timeout);
  bool idle = waitForOwn(frame, deadline);
  // That takes at most many times what a block takes.
  if (!idle && deadline.over() && !context.lost.load(std::memory_order_relaxed))
    idle = cancelOwn(frame, /*longestNs=*/1000000000);
  Stream *last = nullptr; // behind all that may still run
  Status ordered;
  forEachStream(frame, [&](Stream &stream) {
    const bool done =
        stream.external ? stream.timeline.isIdle() : !stream.isAbandoned;
    if (done || context.lost.load(std::memory_order_relaxed))
      return;
    if (last && ordered.ok())
      ordered =
          context.noteFault(guard([&] { return frame.join(stream, *last); }));
    last = &stream;
  });
  const bool lost = context.lost.load(std::memory_order_relaxed);
  if (!idle && !lost)
    sayAbandoned(frame);
  if (idle || lost)
    context.staging.dropAll(frame.downloads);
  else
    context.staging.abandon(frame.downloads);
  context.registrations.leave(frame, /*undo=*/true);
  // Nobody could say when memory behind an unknown point is free: then it stays
  // the program's.
  PoolAllocation *blocks =
      context.memory.leave(frame, /*ends=*/ordered.ok() || lost);
  while (PoolAllocation *block = blocks) {
    blocks = block->next;
    // Without memory for its timepoint it stays known, and close gives it back.
    (void)guard(
        [&] { return context.memory.release(lost ? nullptr : last, block); });
  }
}

void Frame::endTimed(bool waited) {
  instance->regions.load(std::memory_order_relaxed)->endTimed(*this, waited);
}

/// On an error, or when the program forgot to end it.
static void leaveRegion(Frame &frame) {
  if (!frame.failed)
    frame.run(nullptr, [&] { return frame.region->finish(); });
  else
    frame.region->drop();
  frame.instance->regions.load(std::memory_order_relaxed)->leave(frame);
}

static void leave(Frame &frame) {
  if (__builtin_expect(frame.left, 0)) {
    frame.error =
        makeStatus(GPUASYNC_INVALID_ARGUMENT,
                   "the frame of '%s' was left before", frame.function->name)
            .release();
    return;
  }
  frame.left = true;
  if (frame.region)
    leaveRegion(frame);
  if (__builtin_expect(frame.modeTiming.tuner != nullptr, 0))
    frame.endTimed(/*waited=*/false);
  gpuasync_context *context = frame.context;
  if (context && frame.current) {
    if (frame.capture)
      endCapture(frame);
    if (frame.failed)
      releaseAfterError(frame);
    while (Event *event = frame.events) {
      unlink(frame.events, event);
      frame.slot->counters.events.destroy();
      if (frame.failed && !isReached(frame, *event))
        context->events.abandon(event);
      else
        context->events.give(frame.slot, event);
    }
    while (Stream *stream = frame.streams) {
      unlink(frame.streams, stream);
      if (!stream->external)
        frame.slot->counters.streams.destroy();
      // After an error the pending list's query also resets the stream.
      context->streams.give(frame.slot, stream,
                            !frame.failed && stream->timeline.isIdle());
    }
    while (Stream *stream = frame.ended.pop())
      context->streams.give(frame.slot, stream, false);
    context->staging.adopt(frame.downloads);
    if (frame.buffers) // the program's own from here on
      (void)context->memory.leave(frame, /*ends=*/false);
    context->registrations.leave(frame, /*undo=*/false);
  }
  if (frame.current)
    frame.driver->restore(frame.saved);
  foldCalls(frame.slot);
  if (frame.pin && __builtin_expect(!letGo(frame.pin), 0)) {
    context->modules.underflows.fetch_add(1, std::memory_order_relaxed);
    frame.fail(
        makeStatus(GPUASYNC_DRIVER_ERROR, "more frames were left than entered"),
        nullptr);
  }
  if (frame.thread)
    frame.thread->innermost = frame.outer;
}

/// Ends what is heard of the frame, from within: an error may have kept the
/// others from their ends.
static void endSpans(Frame &frame) {
  const gpuasync_site *const nowhere = nullptr;
  frame.libraryCall.span.end(HostKind::Library, "call", nowhere);
  frame.regionSpan.end(HostKind::Region, "region", nowhere);
  if (frame.function)
    frame.span.end(HostKind::Function, frame.function->name, *frame.function);
}

extern "C" {

int32_t gpuasync_frame_enter(gpuasync_frame *memory,
                             const gpuasync_function *function) noexcept {
  Frame *frame = new (memory) Frame;
  frame->function = function;
  if (anyoneListens() && function) {
    if (insideCallback) {
      frame->fail(checkRefusal(), nullptr);
      return 1;
    }
    frame->span.begin(HostKind::Function, function->name, *function);
  }
  Status status = __builtin_expect(!function, 0)
                      ? nullArgument("gpuasync_frame_enter")
                      : guard([&] { return enter(*frame, *function); });
  if (__builtin_expect(status.ok(), 1))
    return 0;
  if (function)
    status = locate(std::move(status), function->file, function->line,
                    function->column, function->name);
  frame->fail(std::move(status), nullptr);
  return 1;
}

gpuasync_status *gpuasync_frame_leave(gpuasync_frame *memory) noexcept {
  Frame *frame = Frame::of(memory);
  if (!(refusal.load(std::memory_order_relaxed) &
        (RefuseForked | RefuseExiting))) {
    leave(*frame);
    endSpans(*frame);
  } else if (!frame->left && frame->thread) {
    // Its memory is the caller's again: the thread's next frame must not look.
    frame->left = true;
    frame->thread->innermost = frame->outer;
    if (!isForked())
      finishInExit(*frame);
  }
  return frame->error;
}

void gpuasync_frame_leave_or_abort(gpuasync_frame *frame) noexcept {
  gpuasync_status *status = gpuasync_frame_leave(frame);
  if (!status)
    return;
  // The code behind this call relies on what the function was to do.
  if (gpuasync_status_get_code(status) == GPUASYNC_SHUT_DOWN)
    gpuasync_thread_end_in_exit();
  fprintf(stderr, "error: %s\n", gpuasync_status_get_message(status));
  fflush(stderr);
  finishTrace();
  abort();
}

void gpuasync_frame_suspend(gpuasync_frame *memory) noexcept {
  Frame *frame = Frame::of(memory);
  if (frame->current && !(refusal.load(std::memory_order_relaxed) &
                          (RefuseForked | RefuseExiting)))
    frame->driver->suspend();
}

void gpuasync_frame_resume(gpuasync_frame *memory) noexcept {
  Frame *frame = Frame::of(memory);
  if (!frame->usable())
    return;
  // Embedder calls in between made the context current for themselves only.
  frame->run(nullptr, [&] { return frame->driver->resume(); });
}

const gpuasync_site *gpuasync_check_site(const gpuasync_frame *memory,
                                         uint32_t site) noexcept {
  return reinterpret_cast<const Frame *>(memory)->siteAt(site);
}

gpuasync_context *
gpuasync_check_context(const gpuasync_frame *memory) noexcept {
  return reinterpret_cast<const Frame *>(memory)->context;
}

int32_t gpuasync_frame_fail(gpuasync_frame *memory,
                            gpuasync_status *raw) noexcept {
  Frame *frame = Frame::of(memory);
  frame->fail(Status(raw), nullptr);
  return frame->failed;
}

void gpuasync_host_assert_fail(gpuasync_frame *memory,
                               uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  Status status = makeStatus(GPUASYNC_KERNEL_ASSERT, "assertion failed: %s",
                             site ? gpuasync_site_op(site) : "");
  if (site)
    status = locate(std::move(status), gpuasync_site_file(site), site->line,
                    site->column, "");
  frame->fail(std::move(status), nullptr);
}
}
