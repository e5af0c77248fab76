//===- Program.cpp - Programs that the process knows ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Program.h.
//===----------------------------------------------------------------------===//

#include "shim/context/Program.h"
#include "gpuasync/Context.h"
#include "shim/base/Settings.h"
#include "shim/context/Entry.h"
#include "shim/process/Service.h"
#include "shim/process/Tracer.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

using namespace gpuasync;

/// Registers a program that is not. Process::mutex is held.
static Registration *add(const gpuasync_program &program) {
  Process &shared = process();
  Registration *out = nullptr;
  static uint64_t nextId = 0;
  shared.registrations.reserve(shared.registrations.size() + 1);
  shared.freeRegistrations.reserve(shared.registrations.size() + 1);
  if (!shared.freeRegistrations.empty()) {
    out = shared.freeRegistrations.back();
    shared.freeRegistrations.pop_back();
  } else {
    out = new Registration;
  }
  out->program = &program;
  out->id = ++nextId;
  out->defaultContext.store(nullptr, std::memory_order_relaxed);
  shared.registrations.push_back(out);
  __atomic_store_n(program.slot, static_cast<void *>(out), __ATOMIC_RELEASE);
  return out;
}

Status ProgramVisit::find(const gpuasync_program &program) {
  if ((program.abiVersion >> 16) != (GPUASYNC_ABI_VERSION >> 16) ||
      program.abiVersion > GPUASYNC_ABI_VERSION)
    return makeStatus(
        GPUASYNC_UNSUPPORTED,
        "program '%s' was compiled for runtime ABI %u.%u, this runtime has "
        "%u.%u: compile it again",
        program.name, program.abiVersion >> 16, program.abiVersion & 0xffff,
        GPUASYNC_ABI_VERSION >> 16, GPUASYNC_ABI_VERSION & 0xffff);
  std::lock_guard<std::mutex> lock(process().mutex);
  auto *found = static_cast<Registration *>(
      __atomic_load_n(program.slot, __ATOMIC_ACQUIRE));
  if (!found)
    found = add(program);
  else if (found->releasing)
    return makeStatus(GPUASYNC_SHUT_DOWN, "program '%s' is being released",
                      program.name);
  ++found->visitors;
  registration = found;
  return Status();
}

ProgramVisit::~ProgramVisit() {
  if (!registration)
    return;
  std::lock_guard<std::mutex> lock(process().mutex);
  --registration->visitors;
}

//===----------------------------------------------------------------------===//
// Devices by name, default contexts
//===----------------------------------------------------------------------===//

/// Splits "cuda:1". False if it is no device's name.
static bool parseDevice(const char *text, Driver *&driver, int32_t &ordinal) {
  for (uint32_t i = 0; const Vendor *vendor = vendorAt(i); ++i) {
    size_t length = strlen(vendor->name);
    if (strncmp(text, vendor->name, length) != 0)
      continue;
    driver = &vendor->driver();
    ordinal = 0;
    if (!text[length])
      return true;
    const char *number = text + length + 1;
    uint64_t value = 0;
    if (text[length] != ':' || !readWhole(number, value) || *number ||
        value > 4095)
      continue;
    ordinal = static_cast<int32_t>(value);
    return true;
  }
  return false;
}

/// Forgets closed contexts whose work has ended. Process::mutex is held.
static void dropEnded() {
  auto &all = process().contexts;
  for (size_t i = 0; i < all.size();) {
    gpuasync_context *context = all[i];
    if (!context->isKeptForWork || context->isLeftBehind.load()) {
      ++i;
      continue;
    }
    all[i] = all.back();
    all.pop_back();
    context->releasePart();
  }
}

/// Calls of a new context begin behind what others of its device, which were
/// closed, have left unfinished. Process::mutex is held.
static void beginBehindOthers(gpuasync_context &context) {
  for (gpuasync_context *other : process().contexts) {
    if (!other->isLeftBehind.load() || other->lost.load() ||
        &other->kind != &context.kind || other->ordinal != context.ordinal)
      continue;
    context.predecessors.push_back(other);
    other->retainPart();
    context.abandoned.fetch_add(1);
  }
}

Status gpuasync::openOn(Driver &driver, int32_t ordinal, void *adopted,
                        gpuasync_context *&out) {
  RETURN_IF_ERROR(copyStatus(process().settings));
  RETURN_IF_ERROR(driver.available());
  int32_t count = driver.deviceCount();
  if (ordinal >= count)
    return makeStatus(GPUASYNC_UNAVAILABLE,
                      "there is no device %s:%d; %s has %d", driver.name(),
                      ordinal, driver.name(), count);
  auto context = std::make_unique<gpuasync_context>(driver, ordinal);
  Status opening;
  forEachService([&](const Service &each) {
    if (opening.ok())
      opening = each.contextOpening(*context);
  });
  RETURN_IF_ERROR(std::move(opening));
  RETURN_IF_ERROR(driver.deviceInfo(ordinal, context->info));
  std::unique_ptr<Device> opened;
  RETURN_IF_ERROR(driver.openContext(ordinal, adopted, opened));
  context->driver.open(std::move(opened));
  context->info.capabilities &= ~context->driver->missing;
  context->capabilities = context->info.capabilities;
  Process &shared = process();
  std::unique_lock<std::mutex> lock(shared.mutex);
  dropEnded();
  try {
    if (Tracer *used = tracing())
      context->attach(*used);
    beginBehindOthers(*context);
    shared.contexts.push_back(context.get());
  } catch (...) {
    lock.unlock();
    // Not by CurrentContext: the thread would keep a part of the context.
    SavedContext saved;
    bool current = context->driver->makeCurrent(saved).ok();
    (void)context->driver->close(/*lost=*/!current);
    if (current)
      context->driver->restore(saved);
    throw;
  }
  // A pause of the device is one of this context too.
  context->forEachOfDevice([&](gpuasync_context &other) {
    std::lock_guard<std::mutex> pool(other.poolMutex);
    if (other.pausedBy)
      context->pausedBy = other.pausedBy;
  });
  out = context.release();
  return Status();
}

static bool isOpen(const gpuasync_context &context) {
  return context.state.load() == gpuasync_context::State::Open;
}

/// openMutex held. Programs that chose them choose again.
static void dropClosed() {
  Process &shared = process();
  std::lock_guard<std::mutex> lock(shared.mutex);
  for (size_t i = 0; i < shared.defaults.size();) {
    gpuasync_context *context = shared.defaults[i];
    if (context->state.load() != gpuasync_context::State::Closed) {
      ++i;
      continue;
    }
    for (Registration *registration : shared.registrations)
      if (registration->defaultContext.load() == context)
        registration->defaultContext.store(nullptr);
    shared.defaults[i] = shared.defaults.back();
    shared.defaults.pop_back();
    context->release(); // it is closed, so nothing happens but that it may go
  }
}

void gpuasync::dropClosedDefaults() {
  std::lock_guard<std::mutex> lock(process().openMutex);
  dropClosed();
}

/// The process's own context on a device: one per device, kept. openMutex held.
static Status openDefault(Driver &driver, int32_t ordinal,
                          gpuasync_context *&out) {
  dropClosed();
  Process &shared = process();
  {
    std::lock_guard<std::mutex> lock(shared.mutex);
    for (gpuasync_context *context : shared.defaults)
      if (&context->kind == &driver && context->ordinal == ordinal &&
          isOpen(*context)) {
        out = context;
        out->retain();
        return Status();
      }
    shared.defaults.reserve(shared.defaults.size() + 1);
  }
  RETURN_IF_ERROR(openOn(driver, ordinal, nullptr, out));
  out->retain();
  std::lock_guard<std::mutex> lock(shared.mutex);
  shared.defaults.push_back(out);
  return Status();
}

/// What GPU_ASYNC_DEVICE says, or null for auto.
static const char *wantedDevice() {
  const char *text = setting("GPU_ASYNC_DEVICE");
  return text && strcmp(text, "auto") != 0 ? text : nullptr;
}

/// "a, b or c" of "a, b, c".
static std::string withOr(std::string list) {
  return list.replace(list.rfind(", "), 2, " or ");
}

/// "auto, cpu, cuda, cuda:N, hip or hip:N".
static std::string listDeviceNames() {
  std::string names = "auto", numbered;
  for (uint32_t i = 0; const Vendor *vendor = vendorAt(i); ++i) {
    appendItem(vendor->hasNumberedDevices ? numbered : names, vendor->name,
               ", ");
    if (vendor->hasNumberedDevices)
      numbered.append(", ").append(vendor->name).append(":N");
  }
  appendItem(names, numbered, ", ");
  return withOr(std::move(names));
}

/// The device that a caller names: see openContext.
static Status findDevice(const char *text, Driver *&driver, int32_t &ordinal) {
  const char *where = "";
  if (!text || !*text || strcmp(text, "auto") == 0) {
    text = wantedDevice();
    where = "GPU_ASYNC_DEVICE: ";
  }
  if (!text) {
    ordinal = 0;
    for (uint32_t i = 0; const Vendor *vendor = vendorAt(i); ++i) {
      driver = &vendor->driver();
      if (driver->available().ok() && driver->deviceCount() > 0)
        return Status();
    }
    return makeStatus(GPUASYNC_UNAVAILABLE, "there is no device");
  }
  if (parseDevice(text, driver, ordinal))
    return Status();
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "%s'%.100s' is no device; use %s", where, text,
                    listDeviceNames().c_str());
}

/// Whether the driver could run an image at all, without opening a context.
static bool mayRun(Driver &driver, const gpuasync_program &program) {
  for (uint32_t i = 0; i < program.moduleCount; ++i) {
    const gpuasync_module &module = program.modules[i];
    bool any = isConstantData(module);
    for (uint32_t j = 0; j < module.imageCount; ++j)
      any |= driver.vendor.reads(module.images[j].format);
    if (!any)
      return false;
  }
  return true;
}

/// Loads the libraries of the drivers that chooseDefault may ask, before it
/// takes openMutex: a thread that holds the loader's lock may wait for that.
static void loadLibraries(const gpuasync_program &program) {
  Driver *wanted = nullptr;
  int32_t ordinal = 0;
  if (wantedDevice() && !findDevice(nullptr, wanted, ordinal).ok())
    return;
  for (uint32_t i = 0; const Vendor *vendor = vendorAt(i); ++i)
    if (Driver &driver = vendor->driver();
        wanted ? &driver == wanted : mayRun(driver, program))
      driver.loadLibrary();
}

Status gpuasync::defaultOn(const char *device, gpuasync_context *&out) {
  Driver *driver = nullptr;
  int32_t ordinal = 0;
  RETURN_IF_ERROR(findDevice(device, driver, ordinal));
  driver->loadLibrary(); // before the lock is taken
  std::lock_guard<std::mutex> lock(process().openMutex);
  return openDefault(*driver, ordinal, out);
}

Status gpuasync::chooseDefault(Registration &registration,
                               gpuasync_context *&out) {
  const gpuasync_program &program = *registration.program;
  if (!registration.defaultContext.load(std::memory_order_acquire))
    loadLibraries(program);
  std::lock_guard<std::mutex> lock(process().openMutex);
  out = registration.defaultContext.load(std::memory_order_acquire);
  if (out && isOpen(*out)) {
    out->retain();
    return Status();
  }
  auto choose = [&](Driver &driver, int32_t ordinal) {
    Status status = openDefault(driver, ordinal, out);
    if (status.ok())
      registration.defaultContext.store(out, std::memory_order_release);
    return status;
  };
  if (wantedDevice()) {
    Driver *driver = nullptr;
    int32_t ordinal = 0;
    RETURN_IF_ERROR(findDevice(nullptr, driver, ordinal));
    return choose(*driver, ordinal);
  }
  // No device's reason.
  RETURN_IF_ERROR(copyStatus(process().settings));
  std::string reasons;
  auto refuse = [&](const std::string &device, const std::string &why) {
    appendItem(reasons, device + ": " + why);
  };
  for (uint32_t i = 0; const Vendor *vendor = vendorAt(i); ++i) {
    Driver &driver = vendor->driver();
    if (!mayRun(driver, program)) {
      refuse(driver.name(), "the program has no image for it");
      continue;
    }
    Status status = driver.available();
    if (!status.ok()) {
      refuse(driver.name(), status.message());
      continue;
    }
    for (int32_t ordinal = 0, n = driver.deviceCount(); ordinal < n;
         ++ordinal) {
      const std::string device = deviceName(driver, ordinal);
      const gpuasync_module *misfit = nullptr;
      for (uint32_t m = 0; m < program.moduleCount && !misfit; ++m)
        if (rankImages(driver, ordinal, program.modules[m]).empty())
          misfit = &program.modules[m];
      if (misfit) {
        DeviceInfo info;
        status = driver.deviceInfo(ordinal, info);
        refuse(device, status.ok() ? std::string("no image of module '") +
                                         misfit->name + "' fits " + info.arch
                                   : status.message());
        continue;
      }
      // Only now: opening takes long, and memory on the device.
      status = choose(driver, ordinal);
      // A bad setting is no reason to take another device.
      if (status.ok() || status.code() == GPUASYNC_INVALID_ARGUMENT)
        return status;
      refuse(device, status.message());
    }
  }
  out = nullptr;
  return makeStatus(GPUASYNC_NOT_FOUND, "no device can run program '%s': %s",
                    program.name, reasons.c_str());
}

Status gpuasync::openContext(const char *device, gpuasync_context *&out) {
  Driver *driver = nullptr;
  int32_t ordinal = 0;
  RETURN_IF_ERROR(findDevice(device, driver, ordinal));
  return openOn(*driver, ordinal, nullptr, out);
}

Status gpuasync::adoptContext(const char *name, void *native,
                              gpuasync_context *&out) {
  if (const Vendor *vendor = vendorNamed(name)) {
    Driver &driver = vendor->driver();
    int32_t ordinal = 0;
    RETURN_IF_ERROR(driver.deviceOf(native, ordinal));
    return openOn(driver, ordinal, native, out);
  }
  std::string names;
  for (uint32_t i = 0; const Vendor *vendor = vendorAt(i); ++i)
    appendItem(names, vendor->name, ", ");
  return makeStatus(GPUASYNC_INVALID_ARGUMENT, "'%s' is no driver; use %s",
                    name, withOr(std::move(names)).c_str());
}

//===----------------------------------------------------------------------===//
// Instances and pins
//===----------------------------------------------------------------------===//

Status gpuasync::makePin(ThreadState &thread, gpuasync_context &context,
                         Registration &registration, bool inside, Pin *&out,
                         bool &held) {
  out = nullptr;
  held = false;
  Pin *known = thread.findPin(&registration, &context);
  if (known && !known->instance->retired.load()) {
    out = known;
    return Status();
  }
  thread.purge(false);
  thread.reservePin();
  ThreadContext *slot = thread.slotFor(&context);
  auto pin = std::make_unique<Pin>();
  pin->stamps = std::make_unique<Pin::Stamps[]>(
      registration.program->moduleCount / 8 + 1);
  std::unique_ptr<Instance> fresh;
  std::unique_lock<std::mutex> lock(context.poolMutex);
  // Whoever has begun something must come to its end for the pause to begin.
  if (!inside && context.pausedBy && context.pausedBy != &thread) {
    const Uncancelled uncancelled;
    context.resumed.wait(lock, [&] { return !context.pausedBy; });
  }
  if (context.state.load() != gpuasync_context::State::Open)
    return makeStatus(GPUASYNC_SHUT_DOWN, "the context was closed");
  Instance *instance = nullptr;
  for (Instance *candidate : context.instances)
    if (candidate->registration == &registration &&
        candidate->registrationId == registration.id &&
        (candidate->paused || !candidate->retired.load()))
      instance = candidate;
  if (!instance) {
    fresh = std::make_unique<Instance>();
    fresh->context = &context;
    fresh->registration = &registration;
    fresh->registrationId = registration.id;
    fresh->program = registration.program;
    fresh->moduleCount = registration.program->moduleCount;
    fresh->modules = makeLineArray<Instance::Slot>(fresh->moduleCount);
    if (!fresh->modules)
      throw std::bad_alloc();
    context.instances.push_back(fresh.get());
    instance = fresh.release();
    instance->paused = context.pausedBy != nullptr;
    instance->retired.store(instance->paused, std::memory_order_relaxed);
  }
  // Of this thread already, if it was only retired for a moment.
  known = thread.findPin(&registration, &context);
  if (known && known->instance == instance) {
    out = known;
    held = instance->paused;
    if (held)
      out->count.fetch_add(1, std::memory_order_seq_cst);
    return Status();
  }
  instance->pins.push_back(pin.get());
  instance->references.fetch_add(1, std::memory_order_relaxed);
  pin->instance = instance;
  pin->registration = &registration;
  pin->slot = slot;
  // The pause looks at the counts under the lock that is held here.
  held = instance->paused;
  pin->count.store(held, std::memory_order_relaxed);
  out = pin.release();
  thread.addPin(out);
  return Status();
}

/// See gpuasync_program_release.
static Status releaseProgram(const gpuasync_program &program) {
  auto *registration = static_cast<Registration *>(
      __atomic_load_n(program.slot, __ATOMIC_ACQUIRE));
  if (!registration)
    return Status();
  Process &shared = process();
  auto &known = shared.registrations;
  auto isKnown = [&] {
    return std::find(known.begin(), known.end(), registration) != known.end();
  };
  const Deadline deadline = callDeadline();
  const ThreadState *thread = &threadState();
  {
    std::unique_lock<std::mutex> lock(shared.mutex);
    // Of two threads the second says what comes of it too.
    for (int round = 0; isKnown() && registration->releasing; ++round) {
      if (registration->releasing == thread)
        return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                          "program '%s' is released from a hook that its "
                          "release calls",
                          program.name);
      if (deadline.over())
        return makeStatus(GPUASYNC_TIMEOUT,
                          "another thread releases program '%s'", program.name);
      lock.unlock();
      pauseFor(round);
      lock.lock();
    }
    if (!isKnown() || registration->program != &program)
      return Status();
    registration->releasing = thread;
    for (int round = 0; registration->visitors; ++round) {
      if (deadline.over()) {
        registration->releasing = nullptr;
        return makeStatus(GPUASYNC_TIMEOUT,
                          "another thread begins to use program '%s'",
                          program.name);
      }
      lock.unlock();
      pauseFor(round);
      lock.lock();
    }
  }
  // Without memory for the list it can be repeated.
  Status first = guard([&] {
    Status status;
    forEachContext([&](gpuasync_context &context) {
      Status each =
          guard([&] { return context.forgetProgram(registration, deadline); });
      if (status.ok())
        status = std::move(each);
    });
    return status;
  });
  std::lock_guard<std::mutex> lock(shared.mutex);
  registration->releasing = nullptr;
  if (!first.ok())
    return first;
  known.erase(std::find(known.begin(), known.end(), registration));
  __atomic_store_n(program.slot, static_cast<void *>(nullptr),
                   __ATOMIC_RELEASE);
  registration->program = nullptr;
  shared.freeRegistrations.push_back(registration); // there is room
  return Status();
}

extern "C" {

gpuasync_status *
gpuasync_program_release(const gpuasync_program *program) noexcept {
  uint32_t refused = refusal.load();
  // Nothing runs in a forked child. In a process that exits something may, and
  // nothing can be waited for.
  if (!program || (refused & RefuseForked))
    return nullptr;
  if ((refused & RefuseExiting) || insideCallback)
    return checkRefusal().release();
  return guard([&] { return releaseProgram(*program); }).release();
}

void gpuasync_program_release_or_abort(
    const gpuasync_program *program) noexcept {
  Status status(gpuasync_program_release(program));
  // At the end of the process nobody takes the code away.
  if (status.ok() || (refusal.load() & RefuseExiting))
    return;
  fprintf(stderr, "error: %s\n", status.message());
  fflush(stderr);
  finishTrace();
  abort();
}
}
