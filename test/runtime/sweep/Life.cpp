//===- Life.cpp - One program's life with one failure in it ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operator new and malloc that fail when told to, and what must hold at the end
// of a life whatever failed in it.
//===----------------------------------------------------------------------===//

#include "Life.h"

#include "gpuasync/Stats.h"

#include <atomic>
#include <stdarg.h>
#include <string.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

//===----------------------------------------------------------------------===//
// Calls of the host
//===----------------------------------------------------------------------===//

namespace {

thread_local int entryDepth; ///< of the calling thread; 1 on the runtime's own
const int *(*depthInMock)();

/// The failure of a call of the host's; there is one life in a process.
struct {
  std::atomic<uint64_t> counts[hostCallKinds]{};
  std::atomic<HostCall> kind{};
  std::atomic<uint64_t> index{0};
  std::atomic<int> code{0};
  std::atomic<bool> lasting{false};
  std::atomic<const char *> fired{nullptr};
} hostFailure;

int failInTurn(HostCall call, const char *name) {
  // What the fake library does is not the runtime's doing.
  if (call == HostCall::Lock || !entryDepth || *depthInMock())
    return HostCalls::Happens;
  uint64_t number = ++hostFailure.counts[int(call)];
  uint64_t index = hostFailure.index;
  if (call != hostFailure.kind || !index ||
      (hostFailure.lasting ? number < index : number != index))
    return HostCalls::Happens;
  const char *none = nullptr;
  hostFailure.fired.compare_exchange_strong(none, name);
  return hostFailure.code;
}

} // namespace

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// The calls by which the runtime goes back to the caller's context.
static bool setsContext(const char *call) {
  return strstr(call, "CtxSetCurrent") || strstr(call, "SetDevice");
}

Entry::Entry(Life &life)
    : depth(life.mock.mock_context_depth()), top(life.mock.mock_context_top()),
      life(life) {
  ++entryDepth;
}

Entry::~Entry() {
  --entryDepth;
  if (!checked || (life.mock.mock_context_depth() == depth &&
                   life.mock.mock_context_top() == top))
    return;
  // Where the way back itself was barred there is none.
  const char *failed = life.mock.mock_failed();
  if (!failed || !setsContext(failed))
    life.problem("an entry changed the caller's context");
}

//===----------------------------------------------------------------------===//
// A life
//===----------------------------------------------------------------------===//

// The cpu device has no library below it: the one that stands in then has
// nothing to say.
Life::Life(const Injection &injection, const char *device, std::string folder,
           Outcome &outcome)
    : device(std::string(device, strcspn(device, "-"))),
      folder(std::move(folder)),
      mock(*mockOf(this->device == "cpu" ? "cuda" : device)),
      injection(injection), outcome(outcome) {
  mock.mock_reset();
  depthInMock = mock.mock_depth;
  HostCalls::hook(failInTurn);
  HostCalls::followThreads([] { return entryDepth > 0; }, [] { ++entryDepth; });
  files = HostCalls::files();
  mappings = HostCalls::mappings();
  threads = HostCalls::threads();
  // Another content than the first's.
  for (gpuasync_image &image : second.images)
    if (image.format != GPUASYNC_IMAGE_CPU)
      image.hash[0] = 0x9999;
  if (injection.callersContext) {
    mock.mock_context_create(1);
    pushed = true;
  }
}

void Life::arm() {
  for (auto &count : hostFailure.counts)
    count = 0;
  numberedBefore = mock.mock_numbered();
  if (injection.fault == Fault::VendorCall) {
    mock.mock_fail(nullptr, injection.index, injection.code);
  } else if (injection.fault != Fault::None) {
    hostFailure.kind = HostCall(int(injection.fault) - 1);
    hostFailure.code = injection.code;
    hostFailure.lasting = injection.lasting;
    hostFailure.index = injection.index;
  }
}

void Life::disarm() {
  if (injection.fault != Fault::VendorCall)
    hostFailure.index = 0;
}

void Life::problem(const char *format, ...) {
  std::lock_guard<std::mutex> lock(mutex);
  size_t used = strlen(outcome.problem);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(outcome.problem + used, sizeof(outcome.problem) - used, format,
            arguments);
  va_end(arguments);
  used = strlen(outcome.problem);
  if (used + 2 < sizeof(outcome.problem))
    strcat(outcome.problem, "; ");
}

void Life::note(gpuasync_status *raw) {
  Status status(raw);
  if (status.ok())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  deviceLost |= status.code() == GPUASYNC_DEVICE_LOST;
  if (outcome.failed)
    return;
  outcome.failed = true;
  snprintf(outcome.first, sizeof(outcome.first), "%s", status.message());
}

void Life::expect(bool right, const char *what) {
  if (right)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  wrong.push_back(what);
}

void Life::openContext() {
  Entry entry(*this);
  note(gpuasync_context_open(device.c_str(), &context));
}

void Life::closeContext(gpuasync_context *context) {
  if (!context)
    return;
  gpuasync_status *closed;
  {
    Entry entry(*this);
    closed = gpuasync_context_close(context);
  }
  note(closed);
  {
    Entry entry(*this);
    closed = gpuasync_context_close(context);
  }
  if (closed)
    problem("closing again: %s", gpuasync_status_get_message(closed));
  note(closed);
  gpuasync_stats stats = {};
  gpuasync_status_free(gpuasync_stats_read(context, &stats));
  if (!lost() && (stats.streams.physical || stats.events.physical ||
                  stats.modules.physical || stats.buffers.physical))
    problem("the closed context's statistics are not at nothing");
  Entry entry(*this);
  gpuasync_context_release(context);
}

bool Life::scope(bool begin) {
  if (!context)
    return false;
  Entry entry(*this);
  if (!begin) {
    gpuasync_scope_pop();
    return false;
  }
  gpuasync_status *status = gpuasync_scope_push(context);
  bool pushed = !status;
  note(status);
  return pushed;
}

bool Life::fired() const {
  return injection.fault == Fault::VendorCall ? mock.mock_failed() != nullptr
                                              : hostFailure.fired != nullptr;
}

/// An ordinary frame; after the failure nothing of it is left (E03).
void Life::checkUsable() {
  bool firedBefore = fired();
  uint32_t out[64] = {};
  LifeFrame frame(*this, program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 64);
  frame.launch(stream, Store, 1, 64, StoreParams{x, 3});
  frame.copy(stream, out, x, sizeof(out));
  frame.dealloc(stream, x);
  frame.wait({stream});
  frame.leave();
  bool right = out[0] == 3 && out[63] == 3;
  expect(right, "the frame after the program");
  if (firedBefore && !lost() && !(right && frame.succeeded))
    problem("after the failure a frame does not work");
}

bool Life::lost() const {
  return deviceLost || (injection.code == deviceFault && fired());
}

void Life::checkFirstError() {
  auto says = [&](const char *text) { return strstr(outcome.first, text); };
  bool right = false;
  switch (injection.fault) {
  case Fault::VendorCall:
    right = says(outcome.call);
    // Nobody hears of a capture mode that was not exchanged, of the error that
    // was fetched only to forget it, nor of what only the cache of machine code
    // asks for; a fault shows in the next call.
    for (const char *call :
         {"ExchangeStreamCaptureMode", "hipGetLastError", "DriverGetVersion",
          "DeviceGetAttribute", "CtxGetDevice", "cuLink"})
      right |= injection.code == deviceFault && strstr(outcome.call, call) &&
               says("the device is lost");
    right |= (inParallel || byCaller) && injection.code == deviceFault &&
             says("the device is lost");
    break;
  case Fault::Allocation:
    right = says("out of host memory");
    break;
  case Fault::Mapping:
    right = says("mmap");
    break;
  case Fault::Thread:
    // What cannot be registered for threads is told so.
    right = says(strcmp(outcome.call, "pthread_create") ? "out of host memory"
                                                        : "thread");
    break;
  case Fault::File: // what is not on disk is made anew
  case Fault::None:
    break;
  }
  if (!right)
    problem("the first error does not tell of %s", outcome.call);
}

/// Of what the closed context made, nothing is left; nor of threads, files and
/// mappings.
void Life::checkGivenBack() {
  if (lost())
    return;
  for (const char *kind : {"stream", "event", "module", "memory", "pool",
                           "registration", "context"}) {
    uint64_t live = mock.mock_live(kind);
    // The caller's; with HIP it made none.
    if (pushed && device != "hip" && !strcmp(kind, "context"))
      --live;
    if (live)
      problem("%llu left: %s", static_cast<unsigned long long>(live), kind);
  }
  for (auto &[what, before, now] :
       {std::make_tuple("files", files, HostCalls::files()),
        std::make_tuple("mappings", mappings, HostCalls::mappings()),
        std::make_tuple("threads", threads, HostCalls::threads())})
    if (before != now)
      problem("%lld left: %s", static_cast<long long>(now - before), what);
}

void Life::readCounts(uint64_t (&counts)[faultKinds]) {
  counts[0] = mock.mock_numbered() - numberedBefore;
  for (int i = 0; i < hostCallKinds; ++i)
    counts[1 + i] = hostFailure.counts[i];
}

void Life::finish() {
  readCounts(outcome.inProgram);
  if (injection.lasting)
    disarm();
  if (scope(true)) {
    checkUsable();
    scope(false);
  }
  {
    Entry entry(*this);
    gpuasync_status_free(gpuasync_program_release(&program.program));
  }
  {
    Entry entry(*this);
    gpuasync_status_free(gpuasync_program_release(&second.program));
  }
  closeContext(another);
  closeContext(context);
  for (int i = 0; i < 2 && usesShutdown; ++i) {
    Entry entry(*this);
    note(gpuasync_shutdown());
  }
  readCounts(outcome.counts);
  outcome.fired = fired();
  disarm();
  const char *call = injection.fault == Fault::VendorCall
                         ? mock.mock_failed()
                         : hostFailure.fired.load();
  if (call)
    snprintf(outcome.call, sizeof(outcome.call), "%s", call);

  if (!outcome.failed)
    for (const std::string &what : wrong)
      problem("false success: %s is wrong", what.c_str());
  if (outcome.failed && !outcome.fired)
    problem("an error, although nothing failed");
  if (outcome.failed && outcome.fired)
    checkFirstError();
  // Without these another library's key is used, and a forked child goes on.
  if (!outcome.failed && (!strcmp(outcome.call, "pthread_key_create") ||
                          !strcmp(outcome.call, "pthread_atfork")))
    problem("nobody was told");
  mock.mock_violations(
      [](void *user, const char *call, const char *reason) {
        auto &life = *static_cast<Life *>(user);
        // The runtime's own calls end the capture of a library's call where the
        // thread's mode could not be changed; the region is played on streams.
        if (strstr(life.outcome.call, "CaptureMode") &&
            strstr(reason, "ends a capture"))
          return;
        // The way back was barred once; that context is gone by now.
        if (!setsContext(call) || strcmp(call, life.outcome.call))
          life.problem("%s: %s", call, reason);
      },
      this);
  checkGivenBack();
}
