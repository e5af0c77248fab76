//===- VendorContext.cpp - Opening, closing and being current -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The life of a vendor's context, and its place as the calling thread's current
// one.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorContext.h"

using namespace gpuasync;

//===----------------------------------------------------------------------===//
// The current context
//===----------------------------------------------------------------------===//

// Setting instead of pushing: the depth of the stack stays the caller's, and
// going back works whatever code in between did to the top. (On an empty stack
// setting pushes, and setting null pops again.)
Status VendorContext::makeCurrent(SavedContext &saved) {
  void *current = nullptr;
  RETURN_IF_ERROR(check(currentContext(table, current)));
  saved.previous = current;
  saved.pushed = 0;
  // A primary context that somebody reset may come back at the same address,
  // without anything of ours in it.
  uint64_t id = 0;
  VendorCall call = contextId(table, context, id);
  if (__builtin_expect(!call.ok() || id != generation, 0))
    return contextChanged(call);
  if (__builtin_expect(current != context, 0)) {
    RETURN_IF_ERROR(check(setCurrentContext(table, context)));
    saved.pushed = 1;
  }
  saved.vendor = &driver;
  saved.outer = innermostContext;
  innermostContext = &saved;
  return Status();
}

Status VendorContext::contextChanged(VendorCall call) {
  bool isGone = call.ok() || call.code == ErrorContextIsDestroyed ||
                call.code == ErrorInvalidContext;
  if (isGone && !owned) {
    gone.store(true);
    return makeStatus(GPUASYNC_DEVICE_LOST,
                      "the caller's context was destroyed before the context "
                      "that adopted it was closed");
  }
  if (isGone)
    device.loss.report("the device's primary context was reset by other code "
                       "of this process");
  return error(call);
}

void VendorContext::restore(SavedContext &saved) noexcept {
  if (!saved.vendor)
    return; // makeCurrent failed
  OutsideCapture::end(driver, saved);
  innermostContext = saved.outer;
  saved.vendor = nullptr;
  if (saved.pushed && !processIsExiting())
    note(setCurrentContext(table, saved.previous));
}

void VendorContext::suspend() noexcept {
  for (SavedContext *saved = innermostContext; saved; saved = saved->outer)
    if (saved->vendor == &driver)
      OutsideCapture::end(driver, *saved);
}

Status VendorContext::resume() {
  void *current = nullptr;
  RETURN_IF_ERROR(check(currentContext(table, current)));
  return current == context ? Status()
                            : check(setCurrentContext(table, context));
}

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

Extensions VendorContext::extensionsOf(const VendorDriver &driver) {
  Extensions all;
  all.memory = this;
  if (driver.table.streamCreateWithPriority && driver.table.streamPriorities)
    all.priorities = this;
  all.flags = this;
  all.signals = this;
  all.graphs = this;
  all.clock = this;
  all.captures = this;
  if (driver.entryName(VendorEntry::tensorMapEncode))
    all.tensorMaps = this;
  all.foreign = this;
  return all;
}

Status VendorContext::open(void *adopted) {
  OutsideCapture outside(driver);
  if (device.loss.lost())
    return makeStatus(GPUASYNC_DEVICE_LOST,
                      "the device is lost for this process; first report: %s",
                      device.loss.firstReport());
  owned = !adopted;
  context = adopted;
  if (!adopted && table.contextRetain)
    RETURN_IF_ERROR(check(VENDOR_CALL(contextRetain, &context, device.handle)));
  else if (!adopted)
    context = reinterpret_cast<void *>(intptr_t(device.handle));
  opened = true;
  // Whatever fails or is thrown below: nothing stays open, and the caller's
  // context is current again.
  struct Guard {
    VendorContext &self;
    SavedContext saved;
    bool current = false, succeeded = false;
    ~Guard() {
      if (!succeeded)
        (void)self.close(self.device.loss.lost());
      if (current)
        self.restore(saved);
    }
  } guard{*this, {}};
  RETURN_IF_ERROR(check(contextId(table, context, generation)));
  RETURN_IF_ERROR(makeCurrent(guard.saved));
  guard.current = true;
  Status status = testCapabilities();
  gpuasync_image image;
  if (status.ok() && driver.builtinImage(device.limits, image))
    status = loadModule(builtinKernelModule(), image, builtinModule, builtins);
  if (builtinModule && table.moduleGlobal) {
    void *counters = nullptr;
    size_t bytes = 0;
    if (VENDOR_CALL(moduleGlobal, &counters, &bytes,
                    moduleHandle(builtinModule), signalCountsName)
            .ok())
      signalCounters = static_cast<uint64_t *>(counters);
  }
  if (!builtinModule)
    missing |= device.info.capabilities & CapGraphs;
  guard.succeeded = status.ok();
  return status;
}

VendorCall VendorContext::createPool() {
  PoolProperties properties = {};
  properties.allocType = 1;
  properties.location.type = 1;
  properties.location.id = device.handle;
  VendorCall call = VENDOR_CALL(poolCreate, &pool, &properties);
  if (!call.ok())
    return call;
  // Freed memory stays in the pool until the core trims it. And the driver may
  // not order streams that the program left unordered just to reuse memory: two
  // kernels that wait for each other would hang.
  uint64_t keepAll = UINT64_MAX;
  int none = 0;
  call = VENDOR_CALL(poolSetAttribute, pool, PoolReleaseThreshold, &keepAll);
  if (call.ok())
    call = VENDOR_CALL(poolSetAttribute, pool,
                       PoolReuseAllowInternalDependencies, &none);
  if (!call.ok())
    (void)VENDOR_CALL(poolDestroy, pool);
  return call;
}

Status VendorContext::testCapabilities() {
  // Given back also where host memory runs out.
  struct Guard {
    VendorContext &self;
    NativeStream stream = nullptr;
    void *page = nullptr;
    ~Guard() {
      if (page)
        self.freeMemory(MemoryKind::Pinned, page);
      if (stream)
        self.destroyStream(stream);
    }
  } guard{*this};
  RETURN_IF_ERROR(createStream(guard.stream));
  Status status;
  NativeStream stream = guard.stream;
  if (device.info.capabilities & CapStreamOrderedAlloc) {
    VendorCall made = createPool();
    note(made);
    hasPool = made.ok();
    void *pointer = nullptr;
    if (!hasPool || !allocAsync(stream, 256, pointer).ok() ||
        !freeAsync(stream, pointer).ok())
      missing |= CapStreamOrderedAlloc;
  }
  if (device.info.capabilities & CapFlagWait) {
    missing |= CapFlagWait;
    status = allocMemory(MemoryKind::Pinned, 4096, guard.page);
    if (status.ok()) {
      auto *slot = static_cast<volatile uint32_t *>(guard.page);
      *slot = 0;
      bool done = false;
      if (writeFlag(stream, static_cast<uint32_t *>(guard.page), 42).ok() &&
          waitStream(stream, -1, done).ok() && *slot == 42)
        missing &= ~uint32_t(CapFlagWait);
    }
  }
  bool done = false;
  if (status.ok())
    status = waitStream(stream, -1, done);
  return status;
}

uint64_t VendorContext::close(bool lost) noexcept {
  // Pools are the device's, so one outlives a context that somebody destroyed.
  if (gone.load() && hasPool && !processIsExiting() && !device.loss.lost()) {
    (void)VENDOR_CALL(poolDestroy, pool);
    hasPool = false;
  }
  // A lost device's context cannot be taken down in an orderly way: its calls
  // fail, and some hang.
  if (lost || silent() || !opened) {
    if (builtinModule && silent())
      unloadModule(builtinModule); // our own part; no call is made
    builtinModule = nullptr;
    return 0;
  }
  OutsideCapture outside(driver);
  closeTiming();
  if (uploads)
    destroyStream(uploads);
  uploads = nullptr;
  for (NativeStream stream : captured)
    destroyStream(stream);
  captured.clear();
  if (signals)
    freeMemory(MemoryKind::Pinned, signals);
  signals = nullptr;
  if (builtinModule)
    unloadModule(builtinModule);
  builtinModule = nullptr;
  if (hasPool)
    note(VENDOR_CALL(poolDestroy, pool));
  hasPool = false;
  if (owned && table.contextRelease)
    (void)VENDOR_CALL(contextRelease, device.handle);
  opened = false;
  int64_t left = live.load();
  return left > 0 ? uint64_t(left) : 0;
}
