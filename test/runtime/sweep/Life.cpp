//===- Life.cpp - One program's life with one failure in it ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operator new and malloc that fail when told to, and what must hold at the end
// of a life whatever failed in it.
//===----------------------------------------------------------------------===//

#include "Life.h"

#include <new>
#include <stdarg.h>
#include <stdlib.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
thread_local int entryDepth; ///< of the calling thread
thread_local const int *mockDepth;
std::atomic<uint64_t> allocationCount{0}, allocationToFail{0};
std::atomic<bool> allocationFired{false};

/// Counts an allocation of the runtime's; true if it is to fail.
bool mustFail() {
  if (!entryDepth || !mockDepth || *mockDepth)
    return false;
  uint64_t number = ++allocationCount;
  if (number != allocationToFail.load())
    return false;
  allocationFired = true;
  return true;
}
void *allocate(size_t size, size_t align) {
  if (mustFail())
    return nullptr;
  void *memory = nullptr;
  return posix_memalign(&memory, align < 16 ? 16 : align, size ? size : 1) == 0
             ? memory
             : nullptr;
}
void *allocateOrThrow(size_t size, size_t align) {
  if (void *memory = allocate(size, align))
    return memory;
  throw std::bad_alloc();
}
} // namespace

void *operator new(size_t size) { return allocateOrThrow(size, 16); }
void *operator new[](size_t size) { return allocateOrThrow(size, 16); }
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  return allocate(size, 16);
}
void *operator new(size_t size, std::align_val_t align) {
  return allocateOrThrow(size, static_cast<size_t>(align));
}
void *operator new[](size_t size, const std::nothrow_t &) noexcept {
  return allocate(size, 16);
}
void operator delete[](void *memory, const std::nothrow_t &) noexcept {
  free(memory);
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete[](void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }
void operator delete[](void *memory, size_t) noexcept { free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  free(memory);
}
void operator delete(void *memory, const std::nothrow_t &) noexcept {
  free(memory);
}

// The linker sends the runtime's own calls of malloc here.
extern "C" void *__real_malloc(size_t size);
extern "C" void *__wrap_malloc(size_t size) {
  return mustFail() ? nullptr : __real_malloc(size);
}

void Allocations::arm(uint64_t failAt) {
  allocationCount = 0;
  allocationToFail = failAt;
}
uint64_t Allocations::count() { return allocationCount; }
bool Allocations::fired() { return allocationFired; }

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

Entry::Entry(Life &life)
    : depth(life.mock.mock_context_depth()), top(life.mock.mock_context_top()),
      life(life) {
  if (!mockDepth)
    mockDepth = life.mock.mock_depth();
  ++entryDepth;
}

Entry::~Entry() {
  --entryDepth;
  if (!checked || (life.mock.mock_context_depth() == depth &&
                   life.mock.mock_context_top() == top))
    return;
  // Where the way back itself was barred there is none.
  const char *failed = life.mock.mock_failed();
  if (!failed || !strstr(failed, "SetCurrent"))
    life.problem("an entry changed the caller's context");
}

//===----------------------------------------------------------------------===//
// A life
//===----------------------------------------------------------------------===//

Life::Life(const Injection &injection, const char *device, Outcome &outcome)
    : device(device), mock(*mockOf(device)), injection(injection),
      outcome(outcome) {
  mock.mock_reset();
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
  mock.mock_fail(nullptr,
                 injection.fault == Fault::VendorCall ? injection.index : 0,
                 injection.code);
  Allocations::arm(injection.fault == Fault::Allocation ? injection.index : 0);
  outcome.vendorCalls = mock.mock_numbered();
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
  return injection.fault == Fault::VendorCall
             ? mock.mock_failed() != nullptr
             : injection.fault == Fault::Allocation && Allocations::fired();
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

void Life::finish() {
  if (scope(true)) {
    checkUsable();
    scope(false);
  }
  {
    Entry entry(*this);
    gpuasync_program_release(&program.program);
  }
  {
    Entry entry(*this);
    gpuasync_program_release(&second.program);
  }
  if (context) {
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
    Entry entry(*this);
    gpuasync_context_release(context);
  }
  for (int i = 0; i < 2 && usesShutdown; ++i) {
    Entry entry(*this);
    note(gpuasync_shutdown());
  }
  outcome.vendorCalls = mock.mock_numbered() - outcome.vendorCalls;
  outcome.allocations = Allocations::count();
  outcome.fired = fired();
  Allocations::arm(0);
  if (const char *call = mock.mock_failed())
    snprintf(outcome.call, sizeof(outcome.call), "%s", call);

  if (!outcome.failed)
    for (const std::string &what : wrong)
      problem("false success: %s is wrong", what.c_str());
  if (outcome.failed && !outcome.fired)
    problem("an error, although nothing failed");
  if (outcome.failed && outcome.fired) {
    const char *cause = injection.fault == Fault::VendorCall
                            ? outcome.call
                            : "out of host memory";
    // Nobody hears of a capture mode that was not exchanged, nor of what only
    // the cache of machine code asks for; a fault shows in the next call.
    bool silent = false;
    for (const char *call : {"ExchangeStreamCaptureMode", "DriverGetVersion",
                             "DeviceGetAttribute", "CtxGetDevice"})
      silent |= injection.code == deviceFault && strstr(outcome.call, call) &&
                strstr(outcome.first, "the device is lost");
    if (!silent && !strstr(outcome.first, cause))
      problem("the first error does not name %s", cause);
  }
  mock.mock_violations(
      [](void *user, const char *call, const char *reason) {
        auto &life = *static_cast<Life *>(user);
        // The way back was barred once; that context is gone by now.
        if (!strstr(call, "SetCurrent") || strcmp(call, life.outcome.call))
          life.problem("%s: %s", call, reason);
      },
      this);
  if (!lost())
    for (const char *kind : {"stream", "event", "module", "memory", "pool",
                             "registration", "context"}) {
      uint64_t live = mock.mock_live(kind);
      if (pushed && !strcmp(kind, "context"))
        --live; // the caller's
      if (live)
        problem("%llu left: %s", static_cast<unsigned long long>(live), kind);
    }
}
