//===- Context.cpp - Contexts, scopes, devices, the caller's streams ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of Context.h. Closing is in Close.cpp.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "shim/context/Entry.h"
#include "shim/context/Program.h"
#include "shim/pool/DeviceUse.h"

#include <algorithm>

using namespace gpuasync;

gpuasync_context::gpuasync_context(Driver &driver, int32_t ordinal)
    : ContextPools(*this, driver, ordinal) {}

gpuasync_context::~gpuasync_context() {
  for (gpuasync_context *predecessor : predecessors)
    predecessor->releasePart();
}

void gpuasync_context::release() {
  if (references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  // A forked child and an exiting process leave everything as it is.
  if (hasEnded())
    return;
  references.store(1, std::memory_order_relaxed); // for what close() retains
  for (int attempt = 0; state.load() != State::Closed; ++attempt) {
    // The next attempt goes on from where this one came to.
    Status status = guard([&] { return close(); });
    if (state.load() != State::Closed &&
        (attempt == 3 || status.code() == GPUASYNC_TIMEOUT))
      return; // the context stays, rather than its objects in the driver
  }
  // Threads that used it still have their parts of it.
  releasePart();
}

Status gpuasync_context::check() {
  Status refused = checkRefusal();
  if (!refused.ok())
    return refused;
  RETURN_IF_ERROR(checkLost());
  RETURN_IF_ERROR(checkFailure());
  if (state.load(std::memory_order_acquire) != State::Open)
    return makeStatus(GPUASYNC_SHUT_DOWN, "the context was closed");
  return Status();
}

CurrentContext::CurrentContext(gpuasync_context &context)
    : context(context), callsBefore(driverCallCount) {
  status = context.driver->makeCurrent(saved);
}

CurrentContext::~CurrentContext() {
  if (status.ok())
    context.driver->restore(saved);
  uint64_t calls = driverCallCount - callsBefore;
  if (!calls)
    return;
  try {
    threadState().slotFor(&context)->counters.driverCalls.add(calls);
    driverCallCount = callsBefore;
  } catch (...) {
    // The calls are then counted for the thread's next frame.
  }
}

extern "C" {

void gpuasync_device_list(gpuasync_device_visitor visitor,
                          void *user) noexcept {
  const Vendor *vendor;
  for (uint32_t index = 0;
       visitor && (vendor = vendorAt(index)) && !refusal.load(); ++index) {
    Driver *driver = &vendor->driver();
    int32_t count = 0;
    Status status = guard([&] {
      Status available = driver->available();
      if (available.ok() && !(count = driver->deviceCount()))
        return makeStatus(GPUASYNC_UNAVAILABLE, "no device");
      return available;
    });
    if (!status.ok())
      visitor(user, driver->name(), nullptr, "", 0, status.message());
    for (int32_t i = 0; i < count; ++i) {
      DeviceInfo info;
      std::string name;
      Status known = guard([&] {
        name = deviceName(*driver, i);
        return driver->deviceInfo(i, info);
      });
      if (known.ok())
        visitor(user, name.c_str(), info.name, info.arch, info.memoryBytes,
                nullptr);
      else
        visitor(user, name.c_str(), nullptr, "", 0, known.message());
    }
  }
}

gpuasync_status *gpuasync_context_open(const char *device,
                                       gpuasync_context **out) noexcept {
  if (!out)
    return nullArgument("gpuasync_context_open").release();
  *out = nullptr;
  return entry([&] { return openContext(device, *out); });
}

gpuasync_status *gpuasync_context_adopt(const char *driver, void *native,
                                        gpuasync_context **out) noexcept {
  if (!out || !driver || !native)
    return nullArgument("gpuasync_context_adopt").release();
  *out = nullptr;
  return entry([&] { return adoptContext(driver, native, *out); });
}

gpuasync_status *gpuasync_context_default(const gpuasync_program *program,
                                          gpuasync_context **out) noexcept {
  if (!out)
    return nullArgument("gpuasync_context_default").release();
  *out = nullptr;
  return entry([&]() -> Status {
    Status status = checkRefusal();
    gpuasync_context *context = nullptr;
    ProgramVisit visit;
    if (status.ok() && program)
      status = visit.find(*program);
    if (status.ok())
      status = program ? chooseDefault(*visit, context)
                       : defaultOn(nullptr, context);
    *out = context;
    return status;
  });
}

void gpuasync_context_retain(gpuasync_context *context) noexcept {
  if (context)
    context->retain();
}

void gpuasync_context_release(gpuasync_context *context) noexcept {
  if (context)
    context->release();
}

gpuasync_status *gpuasync_context_close(gpuasync_context *context) noexcept {
  if (!context)
    return nullArgument("gpuasync_context_close").release();
  // After the shutdown too: it is closed then.
  if (hasEnded() || insideCallback)
    return checkRefusal().release();
  return guard([&] { return context->close(); }).release();
}

gpuasync_status *gpuasync_context_trim(gpuasync_context *context,
                                       double seconds) noexcept {
  if (!context)
    return nullArgument("gpuasync_context_trim").release();
  return entry(*context, [&] {
    return context->giveBack(
        seconds < 0 ? process().timeoutNs.load(std::memory_order_relaxed)
                    : static_cast<int64_t>(seconds * 1e9));
  });
}

gpuasync_status *gpuasync_context_wait_abandoned(gpuasync_context *context,
                                                 double seconds) noexcept {
  // After the shutdown too, which may have left work behind.
  if (hasEnded() || insideCallback)
    return checkRefusal().release();
  return guard([&]() -> Status {
           const Deadline deadline(seconds < 0 ? -1
                                               : toNanoseconds(seconds, 1e9));
           if (context)
             return context->awaitAbandoned(deadline);
           Status first;
           forEachContext([&](gpuasync_context &each) {
             Status status =
                 guard([&] { return each.awaitAbandoned(deadline); });
             if (first.ok())
               first = std::move(status);
           });
           return first;
         })
      .release();
}

void gpuasync_context_fail(gpuasync_context *context,
                           const char *error) noexcept {
  if (context)
    context->noteFailure(error && *error ? error : "an error without a text");
}

void gpuasync_context_set_rank(gpuasync_context *context,
                               int64_t rank) noexcept {
  if (context)
    context->driver.own()->rank.store(rank, std::memory_order_relaxed);
}

const char *gpuasync_context_device(const gpuasync_context *context) noexcept {
  return context ? context->device.c_str() : "";
}

const char *
gpuasync_context_device_name(const gpuasync_context *context) noexcept {
  return context ? context->info.name : "";
}

static Status pushScope(Scope scope) {
  ThreadState &thread = threadState();
  thread.scopes.push_back(std::move(scope));
  const Scope &top = thread.scopes.back();
  for (size_t i = 0; i < top.size(); ++i)
    top[i]->retain();
  thread.scope = top.first;
  return Status();
}

/// Whether a frame can use these together.
static Status checkDevices(gpuasync_context *const *contexts, uint32_t count) {
  if (!count || count > OpenFrame::maxDevices)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "a scope has 1 to %u devices, not %u",
                      OpenFrame::maxDevices, count);
  for (uint32_t i = 0; i < count; ++i) {
    if (!contexts[i])
      return nullArgument("gpuasync_scope_push_devices");
    if (&contexts[i]->kind != &contexts[0]->kind)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "the devices of a scope are of one vendor, but device "
                        "0 is %s and device %u is %s",
                        contexts[0]->device.c_str(), i,
                        contexts[i]->device.c_str());
    for (uint32_t j = 0; j < i; ++j)
      if (contexts[i] == contexts[j])
        return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                          "devices %u and %u of the scope are one context", j,
                          i);
  }
  return Status();
}

gpuasync_status *gpuasync_scope_push(gpuasync_context *context) noexcept {
  if (!context)
    return nullArgument("gpuasync_scope_push").release();
  return entry([&] { return pushScope({context, {}}); });
}

gpuasync_status *gpuasync_scope_push_devices(gpuasync_context *const *contexts,
                                             uint32_t count) noexcept {
  if (!contexts)
    return nullArgument("gpuasync_scope_push_devices").release();
  return entry([&]() -> Status {
    RETURN_IF_ERROR(checkDevices(contexts, count));
    return pushScope({contexts[0], {contexts + 1, contexts + count}});
  });
}

void gpuasync_scope_pop(void) noexcept {
  ThreadState *thread = currentThread;
  if (!thread || thread->scopes.empty())
    return;
  const Scope gone = std::move(thread->scopes.back());
  thread->scopes.pop_back();
  thread->scope =
      thread->scopes.empty() ? nullptr : thread->scopes.back().first;
  for (size_t i = 0; i < gone.size(); ++i)
    gone[i]->release();
}

gpuasync_context *gpuasync_thread_context(void) noexcept {
  const OpenFrame *frame = currentThread ? currentThread->innermost : nullptr;
  return frame ? frame->first.context : nullptr;
}

const char *gpuasync_thread_driver(void) noexcept {
  const gpuasync_context *context = gpuasync_thread_context();
  return context ? context->kind.name() : nullptr;
}

gpuasync_status *
gpuasync_context_stream_create(gpuasync_context *context,
                               gpuasync_stream **out) noexcept {
  if (!context || !out)
    return nullArgument("gpuasync_context_stream_create").release();
  *out = nullptr;
  return entry(*context, [&]() -> Status {
    CurrentContext current(*context);
    if (!current.status.ok())
      return std::move(current.status);
    ThreadContext *slot = threadState().slotFor(context);
    Status status = context->streams.take(nullptr, /*isUrgent=*/false, *out);
    if (!status.ok())
      return context->noteFault(std::move(status));
    context->streams.hold(*out, &embedder);
    context->retainPart(); // the stream may outlive the context
    slot->counters.streams.create();
    return Status();
  });
}

void *gpuasync_context_stream_native(gpuasync_stream *stream) noexcept {
  if (!stream)
    return nullptr;
  return stream->context->has(CapVendorStreams) ? stream->native : stream;
}

gpuasync_status *
gpuasync_context_stream_synchronize(gpuasync_stream *stream) noexcept {
  if (!stream)
    return nullArgument("gpuasync_context_stream_synchronize").release();
  if (!canBeStream(stream))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "gpuasync_context_stream_synchronize: 0x%llx is no "
                      "stream of gpuasync_context_stream_create",
                      static_cast<unsigned long long>(
                          reinterpret_cast<uintptr_t>(stream)))
        .release();
  gpuasync_context &context = *stream->context;
  gpuasync_status *result = waitEntry([&]() -> Status {
    WaitVisit visit(context);
    RETURN_IF_ERROR(visit.check());
    CurrentContext current(context);
    if (!current.status.ok())
      return std::move(current.status);
    threadState().slotFor(&context)->counters.hostWaits.add(1);
    const Deadline deadline = callDeadline();
    bool done = false;
    Status status =
        context.timepoints.wait(stream->timeline.whenIdle(), deadline, done);
    if (!status.ok()) {
      // That of a frame's stream is the frame's to see, and what still runs may
      // fail again.
      if (done && stream->holder == &embedder)
        context.streams.resetHeld(*stream);
      return context.noteFault(std::move(status));
    }
    stream->isOverdue.store(!done, std::memory_order_relaxed);
    if (!done)
      return timedOut(deadline, "", context.streams.listUnfinished(*stream));
    RETURN_IF_ERROR(context.checkFailure());
    return context.hostCopies->finishOrphans();
  });
  return waitInExit(context, result, [&](int64_t timeoutNs, bool &done) {
    return context.timepoints.wait(stream->timeline.whenIdle(),
                                   Deadline(timeoutNs), done);
  });
}

void gpuasync_context_stream_destroy(gpuasync_stream *stream) noexcept {
  if (!stream || hasEnded())
    return;
  gpuasync_context *context = stream->context;
  if (!context->streams.giveEmbedder(stream))
    return;
  {
    std::lock_guard<std::mutex> lock(context->poolMutex);
    context->ended.streams.destroy();
  }
  context->releasePart();
}

void gpuasync_set_timeout(double seconds) noexcept {
  process().timeoutNs.store(seconds > 0 ? toNanoseconds(seconds, 1e9) : -1);
}

double gpuasync_get_timeout() noexcept {
  const int64_t ns = process().timeoutNs.load(std::memory_order_relaxed);
  return ns < 0 ? 0 : static_cast<double>(ns ? ns : 1) / 1e9;
}

void gpuasync_set_spin(double microseconds) noexcept {
  process().spinNs.store(toNanoseconds(microseconds, 1e3));
}

gpuasync_status *gpuasync_set_cpu_schedule(const char *schedule) noexcept {
  return entry([&] { return setCpuSchedule(schedule ? schedule : ""); });
}

gpuasync_status *gpuasync_set_play(const char *play) noexcept {
  return entry([&] { return setPlay(process(), play ? play : ""); });
}

int32_t gpuasync_process_forked(void) noexcept { return isForked(); }

gpuasync_status *gpuasync_shutdown(void) noexcept {
  Status refused = checkRefusal();
  if (!refused.ok())
    return refused.code() == GPUASYNC_SHUT_DOWN && !hasEnded()
               ? nullptr
               : refused.release();
  return entry([&]() -> Status {
    Status first;
    bool all = true;
    forEachContext([&](gpuasync_context &context) {
      Status status = guard([&] { return context.close(); });
      if (first.ok() && !status.ok())
        first = makeStatus(status.code(), "%s: %s", context.device.c_str(),
                           status.message());
      all &= context.state.load() == gpuasync_context::State::Closed;
    });
    if (!all)
      return first; // it can be repeated
    dropClosedDefaults();
    refusal.fetch_or(RefuseShutDown);
    // This thread's own part; other threads' goes with them.
    if (currentThread && !currentThread->innermost)
      currentThread->purge(true);
    return first;
  });
}
}
