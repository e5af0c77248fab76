//===- Entries.cpp - The functions of Trace.h -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They open libgpuasync_trace.so, and put its devices around those of the
// contexts.
//===----------------------------------------------------------------------===//

#include "services/trace/Interface.h"
#include "shim/base/OwnLibrary.h"
#include "shim/base/Settings.h"
#include "shim/context/Entry.h"
#include "shim/process/Service.h"

using namespace gpuasync;

// Programs that link the runtime statically link the library's code as well.
extern "C" __attribute__((weak)) MakeTraceService gpuasyncMakeTraceService;

static constexpr TraceHost host = {{},
                                   &listeners,
                                   makeStatusV,
                                   caughtStatus,
                                   pauseFor,
                                   []() noexcept { return &driverCallCount; },
                                   []() noexcept { return &insideCallback; }};

/// Null until a trace, a callback or a profiler is asked for.
static std::atomic<TraceService *> service{nullptr};
/// One start or stop at a time. It is taken before all other locks.
static std::mutex control;

/// Opens the library. `purpose` begins the message of an error. Threads that
/// come here at once may all open it, since none waits for another.
static Status openService(const char *purpose, TraceService *&out) {
  out = service.load(std::memory_order_acquire);
  if (out)
    return Status();
  MakeTraceService *make = gpuasyncMakeTraceService;
  void *found = nullptr;
  if (!make)
    RETURN_IF_ERROR(
        findInOwnLibrary("trace", "gpuasyncMakeTraceService", purpose, found));
  if (!make)
    make = reinterpret_cast<MakeTraceService *>(found);
  out = make(host);
  if (!out)
    return makeStatus(GPUASYNC_UNAVAILABLE,
                      "%s: libgpuasync_trace.so is of another version than the "
                      "runtime library; install both from one package",
                      purpose);
  service.store(out, std::memory_order_release);
  return Status();
}

static void listen(TraceService &to, uint32_t kind) {
  tracer.store(&to, std::memory_order_release);
  listeners.fetch_or(kind);
}

//===----------------------------------------------------------------------===//
// The process's settings
//===----------------------------------------------------------------------===//

static Status openListeners() {
  return guard([]() -> Status {
    TraceService *opened = nullptr;
    if (setting("GPU_ASYNC_TRACE"))
      return openService("GPU_ASYNC_TRACE", opened);
    const char *ranges = setting("GPU_ASYNC_RANGES");
    if (ranges && !strcmp(ranges, "off"))
      return Status();
    if (ranges && strcmp(ranges, "auto"))
      return openService("GPU_ASYNC_RANGES", opened);
    if (!setting("NVTX_INJECTION64_PATH") &&
        !findLoadedRoctx([](const char *) {}))
      return Status();
    Status status = openService("a profiler in this process", opened);
    // A profiler that comes by itself stops no program.
    static std::atomic<bool> warned{false};
    if (!status.ok() && !warned.exchange(true))
      fprintf(stderr,
              "gpu-async: warning: %s (without ranges: GPU_ASYNC_RANGES=off)\n",
              status.message());
    return Status();
  });
}

static Status startListening() {
  TraceService *opened = service.load(std::memory_order_acquire);
  if (!opened)
    return Status();
  return guard([&]() -> Status {
    if (const char *file = setting("GPU_ASYNC_TRACE")) {
      RETURN_IF_ERROR(opened->begin(file));
      listen(*opened, ListenTrace);
    }
    bool found = false;
    RETURN_IF_ERROR(opened->openRanges(found));
    if (found)
      listen(*opened, ListenRanges);
    return Status();
  });
}

namespace {
class Listening final : public Service {
  Status openListeners() const override { return ::openListeners(); }
  Status startListening() const override { return ::startListening(); }
};
} // namespace

namespace gpuasync {
const Service &traceService() noexcept {
  static constexpr Listening service;
  return service;
}
} // namespace gpuasync

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// All contexts get a device that notes what passes.
static Status attachAll(TraceService &to) {
  listen(to, ListenTrace);
  return guard([&] {
    Process &shared = process();
    std::lock_guard<std::mutex> lock(shared.mutex);
    for (gpuasync_context *context : shared.contexts)
      context->attach(to);
    return Status();
  });
}

/// Reads what the context knows by now; `last`: and takes the trace off.
static void readTimes(gpuasync_context &context, bool last) noexcept {
  DeviceObserver &observer = *context.driver.traced()->extensions.observer;
  ContextRef visit(context);
  if (!visit.open())
    return; // closing finishes it
  Status status = guard([&]() -> Status {
    CurrentContext current(context);
    if (current.status.ok()) {
      observer.readTimes(context.lost.load());
      if (last)
        observer.finish();
    }
    return std::move(current.status);
  });
  if (!last)
    return;
  if (!status.ok())
    observer.finish();
  context.driver.use(context.driver.own());
}

/// The context with the least number beyond `id` that is traced, with a part;
/// null: none. So nothing is allocated where memory may be out.
static gpuasync_context *tracedBehind(uint64_t id) noexcept {
  Process &shared = process();
  std::lock_guard<std::mutex> lock(shared.mutex);
  gpuasync_context *found = nullptr;
  for (gpuasync_context *each : shared.contexts)
    if (each->driver.get() != each->driver.own() && each->id > id &&
        (!found || each->id < found->id))
      found = each;
  if (found)
    found->retainPart();
  return found;
}

/// Reads what is known by now; `last`: nobody listens any more.
static void readTimes(bool last) {
  if (last) {
    // No context gets one from here on.
    std::lock_guard<std::mutex> lock(process().mutex);
    listeners.fetch_and(~uint32_t(ListenTrace));
  }
  uint64_t id = 0;
  while (gpuasync_context *context = tracedBehind(id)) {
    id = context->id;
    readTimes(*context, last);
    context->releasePart();
  }
}

static Status end(TraceService &from) {
  readTimes(/*last=*/!from.isSubscribed());
  return from.end();
}

static Status endSubscription(TraceService &from) {
  readTimes(/*last=*/!from.isRecording());
  return from.unsubscribe();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

extern "C" {

gpuasync_status *gpuasync_trace_start(const char *file) noexcept {
  return entry([&]() -> Status {
    RETURN_IF_ERROR(copyStatus(process().settings));
    TraceService *to = nullptr;
    RETURN_IF_ERROR(openService("gpuasync_trace_start", to));
    std::lock_guard<std::mutex> one(control);
    if (to->isRecording())
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "there is a trace already; end it first "
                        "(gpuasync_trace_stop)");
    RETURN_IF_ERROR(to->begin(file));
    Status status = attachAll(*to);
    if (!status.ok())
      (void)guard([&] { return end(*to); });
    return status;
  });
}

gpuasync_status *gpuasync_trace_stop(void) noexcept {
  return entry([&]() -> Status {
    TraceService *from = service.load(std::memory_order_acquire);
    std::lock_guard<std::mutex> one(control);
    if (!from || !from->isRecording())
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "there is no trace; begin one first "
                        "(gpuasync_trace_start)");
    return end(*from);
  });
}

gpuasync_status *gpuasync_trace_subscribe(gpuasync_trace_callback callback,
                                          void *user) noexcept {
  return entry([&]() -> Status {
    if (!callback)
      return nullArgument("gpuasync_trace_subscribe");
    RETURN_IF_ERROR(copyStatus(process().settings));
    TraceService *to = nullptr;
    RETURN_IF_ERROR(openService("gpuasync_trace_subscribe", to));
    std::lock_guard<std::mutex> one(control);
    if (to->isSubscribed())
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "there is a callback already; take it off first "
                        "(gpuasync_trace_unsubscribe)");
    to->subscribe(callback, user);
    Status status = attachAll(*to);
    if (!status.ok())
      (void)endSubscription(*to);
    return status;
  });
}

gpuasync_status *gpuasync_trace_unsubscribe(void) noexcept {
  return entry([&]() -> Status {
    TraceService *from = service.load(std::memory_order_acquire);
    std::lock_guard<std::mutex> one(control);
    if (!from || !from->isSubscribed())
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "there is no callback; set one first "
                        "(gpuasync_trace_subscribe)");
    return endSubscription(*from);
  });
}

uint64_t gpuasync_profile_list(gpuasync_profile_visitor visitor,
                               void *user) noexcept {
  uint64_t count = 0;
  TraceService *from = service.load(std::memory_order_acquire);
  if (from && !isForked())
    gpuasync_status_free(guard([&] {
                           count = from->profile(visitor, user);
                           return Status();
                         }).release());
  return count;
}
}
