//===- Frame.cpp - Entering and leaving -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The warm path of enter and leave: no lock, no allocation, no word that
// another thread writes.
//===----------------------------------------------------------------------===//

#include "gpuasync/Check.h"
#include "gpuasync/Context.h"
#include "shim/abi/FrameCapture.h"
#include "shim/context/Entry.h"
#include "shim/context/Program.h"

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
  if (status.code() == GPUASYNC_DEVICE_LOST && (streams || ended.first))
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
  if (__builtin_expect(!pin->instance->retired.load(std::memory_order_seq_cst),
                       1))
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

/// Finds or makes the pin of the program in a context, and holds it. Cold.
static Status pinIn(Frame &frame, gpuasync_context &context,
                    Registration &registration, Pin *&out) {
  bool inside = frame.first.pin != nullptr;
  for (OpenFrame *outer = frame.outer; outer; outer = outer->outer)
    inside |= outer->first.pin != nullptr;
  for (int attempt = 0; attempt < 100; ++attempt) {
    RETURN_IF_ERROR(context.check());
    Pin *pin = nullptr;
    bool counted = false;
    RETURN_IF_ERROR(
        makePin(*frame.thread, context, registration, inside, pin, counted));
    if (counted || hold(pin)) {
      out = pin;
      return Status();
    }
  }
  return makeStatus(GPUASYNC_SHUT_DOWN, "program '%s' is being released",
                    registration.program->name);
}

/// Also for the frame's first device, which is chosen.
static Status pinSlowly(Frame &frame, const gpuasync_function &function) {
  RETURN_IF_ERROR(checkRefusal());
  ProgramVisit program;
  RETURN_IF_ERROR(program.find(*function.program));
  if (gpuasync_context *scope = frame.thread->scope)
    return pinIn(frame, *scope, *program, frame.first.pin);
  // A default one may be given up by others as soon as it is closed.
  struct Held {
    gpuasync_context *context = nullptr;
    ~Held() {
      if (context)
        context->release();
    }
  } held;
  RETURN_IF_ERROR(chooseDefault(*program, held.context));
  return pinIn(frame, *held.context, *program, frame.first.pin);
}

/// Makes sure that the function's modules are loaded, and notes their use.
[[gnu::always_inline]] static inline Status
loadModules(DeviceUse &use, const gpuasync_function &function) {
  Pin &pin = *use.pin;
  const std::atomic<uint64_t> &epoch = use.context->modules.epoch;
  for (uint32_t i = 0; i < function.moduleCount; ++i) {
    uint32_t index = function.modules[i];
    if (index >= function.program->moduleCount)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "the function names module %u of %u", index,
                        function.program->moduleCount);
    if (use.instance->modules[index].functions.load(std::memory_order_acquire))
      use.slot->counters.hits.add(1);
    else if (Status status = use.context->modules.load(
                 {&pin, &function, /*loading=*/true}, index);
             !status.ok()) {
      use.slot->counters.misses.add(1);
      return use.context->noteFault(std::move(status));
    }
    pin.use(index, epoch.load(std::memory_order_relaxed));
  }
  return Status();
}

/// Looking takes a lock and reads what other threads write. Where the context
/// hardly ever rests, one of 64 frames of a thread looks.
static void drainAtTimes(DeviceUse &use, const gpuasync_function &function) {
  ThreadContext &slot = *use.slot;
  if (slot.unlookedLeft) {
    --slot.unlookedLeft;
    return;
  }
  const Entering entering = {use.pin, &function};
  if (use.context->drainRetired(&entering))
    slot.busyLooks = 0;
  else if (++slot.busyLooks >= 4)
    slot.unlookedLeft = 63;
}

/// Sets what a use has by its pin. Ok if work can be given to the device.
static Status bindToPin(DeviceUse &use) {
  const Pin &pin = *use.pin;
  ThreadContext *slot = pin.slot;
  gpuasync_context *context = slot->context;
  use.instance = pin.instance;
  use.slot = slot;
  use.context = context;
  use.device = context->driver.get();
  return __builtin_expect(context->hasFailed(), 0) ? context->check()
                                                   : Status();
}

/// Brings a device, whose context is current, to where the function begins.
[[gnu::always_inline]] static inline Status
prepareDevice(DeviceUse &use, const gpuasync_function &function) {
  // Before the function does anything, on the host too: what calls have left
  // unfinished may be writing its memory.
  if (__builtin_expect(use.context->abandoned.load(std::memory_order_relaxed),
                       0) &&
      !(function.flags & GPUASYNC_FUNCTION_ENQUEUES))
    RETURN_IF_ERROR(use.context->waitForAbandoned(callDeadline()));
  if (use.context->retiredCount.load(std::memory_order_relaxed))
    drainAtTimes(use, function);
  return loadModules(use, function);
}

/// Enters the devices from 1 on of a function of several. Cold.
static Status enterMore(Frame &frame, const gpuasync_function &function) {
  const ThreadState &thread = *frame.thread;
  const uint32_t count = function.deviceCount;
  // A scope of one context may have been set without its list (Session).
  const Scope *scope = thread.scopes.empty() ? nullptr : &thread.scopes.back();
  const size_t there =
      scope && scope->first == thread.scope ? scope->size() : 1;
  if (count > there)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the function uses %u devices, the thread's scope has "
                      "%zu: see gpuasync_scope_push_devices",
                      count, there);
  // Its release would not see what a second context gets of it.
  ProgramVisit program;
  RETURN_IF_ERROR(program.find(*function.program));
  frame.more = new DeviceUse[count - 1];
  for (uint32_t i = 1; i < count; ++i) {
    DeviceUse &use = frame.more[i - 1];
    RETURN_IF_ERROR(pinIn(frame, *(*scope)[i], *program, use.pin));
    frame.moreCount = i;
    RETURN_IF_ERROR(bindToPin(use));
    RETURN_IF_ERROR(frame.switchTo(use));
    // A vendor's context is found to be reset here.
    SavedContext saved;
    Status status = use.device->makeCurrent(saved);
    if (!status.ok())
      return use.context->noteFault(std::move(status));
    use.device->restore(saved);
    RETURN_IF_ERROR(prepareDevice(use, function));
  }
  return frame.makeCurrent(frame.first);
}

/// Returns the thread's pin of the program in the context that the frame is
/// for, and holds it; null: there is none yet, or no frame may begin on it.
[[gnu::always_inline]] static inline Pin *
holdKnown(const ThreadState &thread, const gpuasync_function &function) {
  auto *registration = static_cast<Registration *>(
      __atomic_load_n(function.program->slot, __ATOMIC_ACQUIRE));
  if (__builtin_expect(!registration || refusal.load(std::memory_order_relaxed),
                       0))
    return nullptr;
  gpuasync_context *context = thread.scope;
  if (!context)
    context = registration->defaultContext.load(std::memory_order_acquire);
  Pin *pin = thread.findPin(registration, context);
  return __builtin_expect(pin && hold(pin), 1) ? pin : nullptr;
}

static Status enter(Frame &frame, const gpuasync_function &function) {
  ThreadState &thread = currentThread ? *currentThread : threadState();
  frame.thread = &thread;
  frame.outer = thread.innermost;
  thread.innermost = &frame;
  foldCalls(frame.outer && frame.outer->current ? frame.outer->current->slot
                                                : nullptr);
  // What this frame does may count on what the other one has asked for.
  if (Frame *outer = static_cast<Frame *>(frame.outer); outer && outer->region)
    (void)outer->run(nullptr, [&] { return outer->flush(); });

  frame.first.pin = holdKnown(thread, function);
  if (__builtin_expect(!frame.first.pin, 0))
    RETURN_IF_ERROR(pinSlowly(frame, function));
  frame.sites = function.program->sites;
  frame.siteCount = function.program->siteCount;
  RETURN_IF_ERROR(bindToPin(frame.first));
  Status status = frame.first.device->makeCurrent(frame.saved);
  if (!status.ok())
    return frame.first.context->noteFault(std::move(status));
  frame.current = &frame.first;
  RETURN_IF_ERROR(prepareDevice(frame.first, function));
  return __builtin_expect(function.deviceCount > 1, 0)
             ? enterMore(frame, function)
             : Status();
}

Status Frame::refuseDevice(uint32_t device) {
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "the frame has %u device%s, there is no device %u",
                    moreCount + 1, moreCount ? "s" : "", device);
}

Status Frame::switchTo(DeviceUse &use) {
  foldCalls(current->slot);
  current = &use;
  return use.device->resume();
}

Status Frame::join(Stream &last, Stream &other) {
  DeviceUse &ahead = *other.use, &behind = *last.use;
  Event *event = nullptr;
  RETURN_IF_ERROR(makeCurrent(ahead));
  RETURN_IF_ERROR(ahead.context->events.take(ahead.slot, event));
  last.note(nullptr); // the last that it was given before says nothing of this
  Status status = ahead.device->recordEvent(event->native, other.native);
  if (status.ok())
    status = makeCurrent(behind);
  if (status.ok())
    status = behind.device->streamWaitEvent(last.native, event->native);
  ahead.context->events.give(ahead.slot, event);
  return status;
}

void Frame::end(Stream &stream, bool idle) {
  if (idle || stream.external)
    return stream.use->context->streams.give(stream.use->slot, &stream, idle);
  stream.frame = nullptr;
  stream.aliasOf = nullptr;
  ended.push(&stream);
}

void Frame::reapEnded() {
  Stack<Stream> open;
  while (Stream *stream = ended.pop()) {
    DeviceUse &use = *stream->use;
    if (stream->isKnownIdle()) {
      use.context->streams.give(use.slot, stream, /*idle=*/true);
      continue;
    }
    bool done = false;
    // Its error is whose who waits for an event of it.
    Status status = makeCurrent(use);
    if (status.ok())
      status = use.context->timepoints.query(stream->timeline.whenIdle(), done);
    if (!done) {
      open.push(stream);
      continue;
    }
    stream->timeline.finish(/*withError=*/!status.ok());
    use.context->streams.give(use.slot, stream, false);
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

void Frame::resolveAnyAliases(Stream &stream, bool idle) {
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
  gpuasync_context &context = *event.context;
  if (!event.isImported || context.lost.load(std::memory_order_relaxed))
    return true;
  bool done = false;
  (void)guard([&]() -> Status {
    RETURN_IF_ERROR(frame.makeCurrent(frame.useOf(context)));
    return context.timepoints.query(event.point(), done);
  });
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
  bool all = true;
  forEachStream(frame, [&](Stream &stream) {
    gpuasync_context &context = *stream.use->context;
    if (stream.external || context.lost.load(std::memory_order_relaxed))
      return;
    bool done = false;
    Status status = guard([&]() -> Status {
      RETURN_IF_ERROR(frame.makeCurrent(*stream.use));
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
  if (!frame.first.device->extensions.control)
    return false;
  auto controlOf = [](Stream &stream) -> StreamControl & {
    return *stream.use->device->extensions.control;
  };
  bool ends = true;
  forEachStream(frame, [&](Stream &stream) {
    if (stream.isAbandoned)
      controlOf(stream).cancelStream(stream.native);
  });
  forEachStream(frame, [&](Stream &stream) {
    ends &= !stream.isAbandoned || controlOf(stream).endsSoon(stream.native);
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
  if (frame.first.context->has(CapVendorStreams) ||
      !(waitForOwn(frame, Deadline(0)) || cancelOwn(frame, longestInExitNs)))
    gpuasync_thread_end_in_exit();
}

static bool isLost(const DeviceUse &use) {
  return use.context->lost.load(std::memory_order_relaxed);
}

/// Orders what may still run on the frame's streams one behind the other, up to
/// the result; null: nothing runs.
static Stream *orderUnfinished(Frame &frame, Status &ordered) {
  Stream *last = nullptr;
  forEachStream(frame, [&](Stream &stream) {
    const bool done =
        stream.external ? stream.timeline.isIdle() : !stream.isAbandoned;
    if (done || isLost(*stream.use))
      return;
    if (last && ordered.ok())
      ordered = stream.use->context->noteFault(
          guard([&] { return frame.join(stream, *last); }));
    last = &stream;
  });
  return last;
}

/// A stream of the device, of those that may still run, that is behind `last`.
/// Null: the device has none.
static Stream *putBehind(Frame &frame, DeviceUse &use, Stream *last,
                         Status &ordered) {
  if (!last || last->use == &use)
    return last;
  Stream *behind = nullptr;
  forEachStream(frame, [&](Stream &stream) {
    if (stream.use == &use && !stream.external)
      behind = &stream;
  });
  if (behind && ordered.ok())
    ordered = use.context->noteFault(
        guard([&] { return frame.join(*behind, *last); }));
  return behind;
}

/// Gives back what the frame holds of a device. `last`: a stream of the device
/// behind all that may still run; null: nothing does, or there is no such
/// stream and `isOrdered` is false.
static void releaseHeld(DeviceUse &use, Stream *last, bool idle,
                        bool isOrdered) {
  gpuasync_context &context = *use.context;
  const bool lost = isLost(use);
  if (idle || lost)
    context.hostCopies->dropAll(use.downloads);
  else
    context.hostCopies->abandon(use.downloads);
  if (use.registrations)
    context.registrations.leave(use, /*undo=*/true);
  // Nobody could say when memory behind an unknown point is free: then it stays
  // the program's.
  PoolAllocation *blocks =
      context.memory.leave(use, /*ends=*/isOrdered || lost);
  while (PoolAllocation *block = blocks) {
    blocks = block->next;
    // Without memory for its timepoint it stays known, and close gives it back.
    (void)guard(
        [&] { return context.memory.release(lost ? nullptr : last, block); });
  }
}

void gpuasync::releaseAfterError(Frame &frame) {
  // The device may still write the caller's memory: leaving waits, once, unless
  // a wait has just been given up. Callers' streams are not waited for.
  int64_t timeout = process().timeoutNs.load(std::memory_order_relaxed);
  if (timeout > 0 && gpuasync_status_get_code(frame.error) == GPUASYNC_TIMEOUT)
    timeout = 0;
  const Deadline deadline(timeout);
  bool idle = waitForOwn(frame, deadline);
  bool lost = false; // all of the devices
  auto lookForLoss = [&] {
    lost = true;
    frame.forEachDevice([&](DeviceUse &use) { lost &= isLost(use); });
  };
  lookForLoss();
  // The product takes at most many times what a block takes.
  if (!idle && deadline.over() && !lost)
    idle = cancelOwn(frame, /*longestNs=*/1000000000);
  Status ordered;
  Stream *last = orderUnfinished(frame, ordered);
  lookForLoss();
  if (!idle && !lost)
    sayAbandoned(frame);
  frame.forEachDevice([&](DeviceUse &use) {
    Stream *behind = putBehind(frame, use, last, ordered);
    (void)frame.makeCurrent(use);
    releaseHeld(use, behind, idle,
                ordered.ok() && (behind != nullptr) == (last != nullptr));
  });
}

/// Gives back all that the frame holds, to the contexts that it is of.
[[gnu::noinline]] static void giveBack(Frame &frame) {
  if (frame.capture)
    frame.capture->end(frame);
  if (frame.failed)
    releaseAfterError(frame);
  while (Event *event = frame.events) {
    unlink(frame.events, event);
    DeviceUse &use = frame.useOf(*event->context);
    use.slot->counters.events.destroy();
    if (frame.failed && !isReached(frame, *event))
      use.context->events.abandon(event);
    else
      use.context->events.give(use.slot, event);
  }
  while (Stream *stream = frame.streams) {
    unlink(frame.streams, stream);
    DeviceUse &use = *stream->use;
    (void)frame.makeCurrent(use);
    if (!stream->external)
      use.slot->counters.streams.destroy();
    // After an error the pending list's query also resets the stream.
    use.context->streams.give(use.slot, stream,
                              !frame.failed && stream->timeline.isIdle());
  }
  while (Stream *stream = frame.ended.pop()) {
    (void)frame.makeCurrent(*stream->use);
    stream->use->context->streams.give(stream->use->slot, stream,
                                       !frame.failed && stream->isKnownIdle());
  }
  frame.forEachDevice([&](DeviceUse &use) {
    if (use.downloads)
      use.context->hostCopies->adopt(use.downloads);
    if (use.buffers) // the program's own from here on
      (void)use.context->memory.leave(use, /*ends=*/false);
    if (use.registrations)
      use.context->registrations.leave(use, /*undo=*/false);
  });
}

/// Whether giveBack has something to do.
static bool holdsAny(const Frame &frame) {
  auto bits = [](const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
  };
  const DeviceUse &first = frame.first;
  return bits(frame.capture) | bits(frame.events) | bits(frame.streams) |
         bits(frame.ended.first) | bits(first.downloads) | bits(first.buffers) |
         bits(frame.more) | first.registrations |
         static_cast<uint32_t>(frame.failed);
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
  // After an error, or the program forgot to end it.
  if (__builtin_expect(frame.region != nullptr, 0))
    (void)frame.region->end(nullptr);
  if (__builtin_expect(frame.timedPass.end != nullptr, 0))
    frame.timedPass.end(frame, /*waited=*/false);
  if (frame.current) {
    // Work that the frame has not waited for may have been ended by a failure.
    frame.forEachDevice([&](DeviceUse &use) {
      if (__builtin_expect(use.context->hasFailed(), 0))
        frame.fail(use.context->checkFailure(), nullptr);
    });
    if (__builtin_expect(holdsAny(frame), 0))
      giveBack(frame);
    if (__builtin_expect(frame.current != &frame.first, 0))
      (void)frame.switchTo(frame.first);
    frame.first.device->restore(frame.saved);
  }
  foldCalls(frame.first.slot);
  frame.forEachDevice([&](DeviceUse &use) {
    if (!use.pin || __builtin_expect(letGo(use.pin), 1))
      return;
    use.context->modules.underflows.fetch_add(1, std::memory_order_relaxed);
    frame.fail(
        makeStatus(GPUASYNC_DRIVER_ERROR, "more frames were left than entered"),
        nullptr);
  });
  delete[] frame.more;
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
  if (!hasEnded()) {
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
  if (frame->current && !hasEnded())
    frame->current->device->suspend();
}

void gpuasync_frame_resume(gpuasync_frame *memory) noexcept {
  Frame *frame = Frame::of(memory);
  // A failed frame gives back what it holds when it is left.
  if (!frame->canCallDriver() || !frame->current)
    return;
  // Embedder calls in between made the context current for themselves only.
  frame->run(nullptr, [&] { return frame->current->device->resume(); });
}

const gpuasync_site *gpuasync_check_site(const gpuasync_frame *memory,
                                         uint32_t site) noexcept {
  return reinterpret_cast<const Frame *>(memory)->siteAt(site);
}

gpuasync_context *
gpuasync_check_context(const gpuasync_frame *memory) noexcept {
  return reinterpret_cast<const Frame *>(memory)->first.context;
}

int32_t gpuasync_frame_fail(gpuasync_frame *memory,
                            gpuasync_status *raw) noexcept {
  return gpuasync_frame_fail_at(memory, raw, GPUASYNC_NO_SITE);
}

int32_t gpuasync_frame_fail_at(gpuasync_frame *memory, gpuasync_status *raw,
                               uint32_t site) noexcept {
  Frame *frame = Frame::of(memory);
  frame->fail(Status(raw), frame->siteAt(site));
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
