//===- Handles.cpp - Virtual streams and events ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Handles.h.
//===----------------------------------------------------------------------===//

#include "libs/mgpu/Handles.h"
#include "gpuasync/Context.h"
#include "gpuasync/Mgpu.h"
#include "libs/mgpu/Modules.h"
#include "libs/mgpu/Report.h"
#include "shim/base/Settings.h"
#include "shim/base/SizedStruct.h"

#include <new>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

using namespace gpuasync;
using namespace gpuasync::mgpu;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

constexpr uint32_t chunkHandles = 4096, maxChunks = 16384;
/// So many free places are kept before one is used again: for that long a stale
/// value is recognised for what it was.
constexpr uint32_t minFree = 1024;
/// With more handles than this holding something, new ones look which of the
/// others are done.
constexpr uint32_t quietHolders = 16;
constexpr uint32_t numStripes = 64;

struct Table {
  std::mutex mutex;
  Handle *oldestFree = nullptr, *newestFree = nullptr;
  uint32_t freeCount = 0;
  uint32_t used = 0; ///< places ever handed out
  MgpuDevice *devices = nullptr;
};

std::atomic<Handle *> chunks[maxChunks];
std::atomic<uint64_t> chunkCount{0};
std::mutex stripes[numStripes];
std::atomic<MgpuDevice *> defaultDevice{nullptr};
__thread int32_t ordinal __attribute__((tls_model("initial-exec"))) = -1;
__thread MgpuDevice *ordinalDevice __attribute__((tls_model("initial-exec")));
/// Counts closings: a thread's own choice of device does not outlive one.
std::atomic<uint32_t> epoch{0};
__thread uint32_t ordinalEpoch __attribute__((tls_model("initial-exec")));

std::atomic<uint64_t> liveStreams{0}, liveEvents{0}, destroyedTwice{0},
    waitsOnDestroyed{0}, mixedUp{0};

/// Made on first use; never destroyed, since calls may come during exit.
Table &table() {
  static Table *instance = new Table;
  return *instance;
}

std::mutex &stripeOf(const Handle &handle) {
  return stripes[handle.index % numStripes];
}

bool hasTag(void *value) {
  return reinterpret_cast<uint64_t>(value) >> 56 == 0x6d;
}

Handle *place(uint32_t index) {
  if (index / chunkHandles >= maxChunks)
    return nullptr;
  Handle *chunk = chunks[index / chunkHandles].load(std::memory_order_acquire);
  return chunk ? chunk + index % chunkHandles : nullptr;
}

const char *kindName(Kind kind) {
  return kind == Kind::Stream ? "stream" : "event";
}

//===--- Lists of holders (table mutex held)

void link(Handle &handle) {
  MgpuDevice &device = *handle.device;
  handle.linked = true;
  handle.next = nullptr;
  handle.previous = device.lastHolder;
  (device.lastHolder ? device.lastHolder->next : device.holders) = &handle;
  device.lastHolder = &handle;
  device.holderCount.fetch_add(1, std::memory_order_relaxed);
}

void unlink(Handle &handle) {
  if (!handle.linked)
    return;
  MgpuDevice &device = *handle.device;
  (handle.previous ? handle.previous->next : device.holders) = handle.next;
  (handle.next ? handle.next->previous : device.lastHolder) = handle.previous;
  handle.previous = handle.next = nullptr;
  handle.linked = false;
  device.holderCount.fetch_sub(1, std::memory_order_relaxed);
}

/// The place of a destroyed handle that holds nothing any more.
void retire(Handle &handle) {
  Table &t = table();
  handle.next = nullptr;
  (t.newestFree ? t.newestFree->next : t.oldestFree) = &handle;
  t.newestFree = &handle;
  ++t.freeCount;
}

//===--- Points

void drop(Point *point) {
  if (!point || point->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  point->device->session->giveEvent(point->event);
  delete point;
}

Point *share(Point *point) {
  if (point)
    point->references.fetch_add(1, std::memory_order_relaxed);
  return point;
}

/// Records the tail of a stream; null after an error.
Point *recordTail(MgpuDevice &device, gpuasync_stream *stream,
                  const gpuasync_site *site) {
  auto *point = new (std::nothrow) Point;
  if (!point) {
    fail(site, "out of memory");
    return nullptr;
  }
  point->device = &device;
  if (check(site, device.session->record(stream, site, point->event)))
    return point;
  delete point;
  return nullptr;
}

/// A handle's stream goes back to the pool (stripe held).
void dropStream(Handle &handle, bool idle) {
  handle.device->session->giveStream(handle.stream, idle);
  handle.stream = nullptr;
  handle.device->streamCount.fetch_sub(1, std::memory_order_relaxed);
}

/// Takes back what the longest untouched holders hold, where its work is done;
/// looks at `count` of them. The calling thread holds the stripe `held`.
void reap(MgpuDevice &device, const std::mutex *held, uint32_t count) {
  std::lock_guard<std::mutex> lock(table().mutex);
  if (count > device.holderCount)
    count = device.holderCount;
  for (; count; --count) {
    Handle &handle = *device.holders;
    unlink(handle);
    std::mutex &stripe = stripeOf(handle);
    bool own = &stripe == held;
    if (!own && !stripe.try_lock()) {
      link(handle);
      continue;
    }
    Session::Probe probe;
    probe.stream = handle.stream;
    probe.event = handle.stream ? nullptr : handle.point->event;
    device.session->probe(&probe, 1);
    if (!probe.done) {
      link(handle);
    } else {
      if (handle.stream)
        dropStream(handle, /*idle=*/true);
      drop(handle.point);
      handle.point = nullptr;
      if (handle.state == State::Destroyed)
        retire(handle);
    }
    if (!own)
      stripe.unlock();
  }
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// `name` null: the first device there is (table mutex held).
Status openDevice(const char *name, MgpuDevice *&out) {
  Table &t = table();
  out = nullptr;
  Session *session = nullptr;
  Status status(gpuasync_session_open(sessionVersion, name, &session));
  if (!status.ok())
    return status;
  for (MgpuDevice *device = t.devices; device; device = device->nextDevice)
    if (strcmp(device->session->device(), session->device()) == 0) {
      session->close();
      out = device;
      return Status();
    }
  out = new (std::nothrow) MgpuDevice;
  if (!out) {
    session->close();
    return Status(
        gpuasync_status_make(GPUASYNC_OUT_OF_MEMORY, "out of memory"));
  }
  out->session = session;
  out->nextDevice = t.devices;
  t.devices = out;
  return Status();
}

Status openDefault(const char *kind, MgpuDevice *&out) {
  std::lock_guard<std::mutex> lock(table().mutex);
  if ((out = defaultDevice.load(std::memory_order_acquire)))
    return Status();
  bool goOn = false;
  RETURN_IF_ERROR(readPolicy(goOn));
  // A device that the variable names is the session's to find.
  const char *wanted = setting("GPU_ASYNC_DEVICE");
  bool named = wanted && strcmp(wanted, "auto") != 0;
  Status status = openDevice(named ? nullptr : kind, out);
  defaultDevice.store(out, std::memory_order_release);
  return status;
}

} // namespace

MgpuDevice *mgpu::currentDevice(const gpuasync_site *site, const char *kind) {
  if (ordinalEpoch != epoch.load(std::memory_order_relaxed)) {
    ordinalEpoch = epoch.load(std::memory_order_relaxed);
    ordinalDevice = nullptr;
    ordinal = -1;
  }
  if (ordinalDevice)
    return ordinalDevice;
  MgpuDevice *device = defaultDevice.load(std::memory_order_acquire);
  if (!device)
    check(site, openDefault(kind, device));
  if (!device || ordinal < 0)
    return device;
  std::string name = device->session->device();
  const size_t colon = name.find(':');
  if (colon == std::string::npos) { // the only one of the cpu
    if (ordinal == 0)
      return ordinalDevice = device;
    fail(site, "there is no device %d; the cpu device is number 0",
         static_cast<int>(ordinal));
    return nullptr;
  }
  name = name.substr(0, colon) + ":" + std::to_string(ordinal);
  Status status;
  {
    std::lock_guard<std::mutex> lock(table().mutex);
    status = openDevice(name.c_str(), ordinalDevice);
  }
  check(site, std::move(status));
  return ordinalDevice;
}

void mgpu::setOrdinal(int32_t wanted) {
  ordinalEpoch = epoch.load(std::memory_order_relaxed);
  ordinal = wanted;
  ordinalDevice = nullptr;
}

//===----------------------------------------------------------------------===//
// Finding handles
//===----------------------------------------------------------------------===//

namespace {

/// A handle with its stripe held; null if the value is no handle, or one whose
/// place another one has now (`stale`).
struct Locked {
  Handle *handle = nullptr;
  bool stale = false;
  std::unique_lock<std::mutex> lock;

  explicit Locked(void *value) {
    if (!hasTag(value))
      return;
    auto bits = reinterpret_cast<uint64_t>(value);
    Handle *found = place(static_cast<uint32_t>(bits));
    if (!found)
      return;
    lock = std::unique_lock<std::mutex>(stripeOf(*found));
    if (found->state == State::Never ||
        found->generation != (bits >> 32 & 0xffffff)) {
      stale = found->state != State::Never;
      lock.unlock();
      return;
    }
    handle = found;
  }
};

void *makeHandle(Kind kind, MgpuDevice &device, const gpuasync_site *site) {
  Table &t = table();
  Handle *handle = nullptr;
  {
    std::lock_guard<std::mutex> lock(t.mutex);
    if (t.freeCount > minFree) {
      handle = t.oldestFree;
      t.oldestFree = handle->next;
      --t.freeCount;
      handle->next = nullptr;
    } else {
      std::atomic<Handle *> &chunk = chunks[t.used / chunkHandles];
      if (!chunk.load(std::memory_order_relaxed)) {
        auto *made = t.used / chunkHandles < maxChunks
                         ? new (std::nothrow) Handle[chunkHandles]
                         : nullptr;
        if (!made) {
          fail(site, "no memory for more than %u handles", t.used);
          return nullptr;
        }
        for (uint32_t i = 0; i < chunkHandles; ++i)
          made[i].index = t.used + i;
        chunk.store(made, std::memory_order_release);
        chunkCount.fetch_add(1, std::memory_order_relaxed);
      }
      handle = place(t.used++);
    }
  }
  std::lock_guard<std::mutex> lock(stripeOf(*handle));
  handle->generation = (handle->generation + 1) & 0xffffff;
  handle->device = &device;
  handle->origin = 0;
  handle->kind = kind;
  handle->state = State::Live;
  return handle->value();
}

/// A null stream is a stream of the thread's device.
void *resolveNull(void *value, const gpuasync_site *site) {
  if (value)
    return value;
  MgpuDevice *device = currentDevice(site);
  if (!device)
    return nullptr;
  void *made = device->nullStream.load(std::memory_order_acquire);
  if (made)
    return made;
  made = makeHandle(Kind::Stream, *device, site);
  void *expected = nullptr;
  if (made && !device->nullStream.compare_exchange_strong(expected, made)) {
    // Another thread was first; nothing is known of ours.
    Locked locked(made);
    locked.handle->state = State::Destroyed;
    std::lock_guard<std::mutex> lock(table().mutex);
    retire(*locked.handle);
    return expected;
  }
  return made;
}

void failForeign(void *value, const gpuasync_site *site) {
  fail(site, "%p is not a stream or event of this library%s", value,
       value ? "; streams made elsewhere are not taken" : "");
}

/// Gives a handle a physical stream. False after an error.
bool attach(Handle &handle, const gpuasync_site *site) {
  if (handle.stream)
    return true;
  MgpuDevice &device = *handle.device;
  if (device.holderCount > quietHolders)
    reap(device, &stripeOf(handle), 2);
  gpuasync_stream *stream = nullptr;
  if (!check(site, device.session->takeStream(site, stream)))
    return false;
  if (handle.point) {
    // An event as a stream: its work comes after the event.
    if (!check(site, device.session->wait(stream, handle.point->event, site))) {
      device.session->giveStream(stream, /*idle=*/false);
      return false;
    }
    drop(handle.point);
    handle.point = nullptr;
  }
  handle.stream = stream;
  device.streamCount.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard<std::mutex> lock(table().mutex);
  unlink(handle);
  link(handle);
  return true;
}

/// What a handle stands for now, with a reference; null if that is done.
/// `asStream`: the caller means a stream. False after an error.
bool tailOf(void *value, Kind meant, const gpuasync_site *site, Point *&out) {
  out = nullptr;
  // From an event that was destroyed on to the stream that it was recorded on.
  for (int step = 0; step < 2; ++step) {
    Locked locked(value);
    if (!locked.handle) {
      if (step)
        return true; // a place is used again only when its work was done
      if (locked.stale)
        fail(site, "the %s %p was destroyed long ago", kindName(meant), value);
      else
        failForeign(value, site);
      return false;
    }
    Handle &handle = *locked.handle;
    if (!step && handle.kind != meant)
      mixedUp.fetch_add(1, std::memory_order_relaxed);
    if (!step && handle.state == State::Destroyed)
      warnOnce(waitsOnDestroyed, site,
               "the %s is waited for after it was destroyed; its work is "
               "waited for all the same",
               kindName(handle.kind));
    if (handle.stream) {
      out = recordTail(*handle.device, handle.stream, site);
      return out;
    }
    if (handle.point) {
      out = share(handle.point);
      return true;
    }
    if (handle.state != State::Destroyed || !handle.origin)
      return true;
    value = reinterpret_cast<void *>(handle.origin);
  }
  return true;
}

} // namespace

//===----------------------------------------------------------------------===//
// What calls do with them
//===----------------------------------------------------------------------===//

void *mgpu::createHandle(Kind kind, const gpuasync_site *site) {
  MgpuDevice *device = currentDevice(site);
  void *value = device ? makeHandle(kind, *device, site) : nullptr;
  if (value)
    (kind == Kind::Stream ? liveStreams : liveEvents)
        .fetch_add(1, std::memory_order_relaxed);
  return value;
}

void mgpu::destroyHandle(void *value, const gpuasync_site *site) {
  if (!value)
    return;
  Locked locked(value);
  if (!locked.handle && !locked.stale)
    return failForeign(value, site);
  if (locked.stale || locked.handle->state == State::Destroyed) {
    warnOnce(destroyedTwice, site,
             "the %s %p was destroyed before; upstream's lowering does that "
             "where operations share a token",
             locked.stale ? "handle" : kindName(locked.handle->kind), value);
    return;
  }
  Handle &handle = *locked.handle;
  handle.state = State::Destroyed;
  (handle.kind == Kind::Stream ? liveStreams : liveEvents)
      .fetch_sub(1, std::memory_order_relaxed);
  if (handle.stream)
    return; // until its work is done
  drop(handle.point);
  handle.point = nullptr;
  std::lock_guard<std::mutex> lock(table().mutex);
  unlink(handle);
  retire(handle);
}

MgpuDevice *mgpu::deviceOf(void *value, const gpuasync_site *site) {
  if (!value)
    return currentDevice(site);
  Locked locked(value);
  if (locked.handle)
    return locked.handle->device;
  if (locked.stale)
    fail(site, "the stream %p was destroyed long ago", value);
  else
    failForeign(value, site);
  return nullptr;
}

void mgpu::synchronizeHandle(void *value, Kind meant,
                             const gpuasync_site *site) {
  value = resolveNull(value, site);
  if (!value)
    return;
  Point *point = nullptr;
  if (!tailOf(value, meant, site, point))
    return;
  MgpuDevice *device = point ? point->device : nullptr;
  if (!device) {
    Locked locked(value);
    device = locked.handle ? locked.handle->device : currentDevice(site);
    if (!device)
      return;
  }
  // Without a point too: downloads that are done are finished.
  bool waited = check(
      site, device->session->synchronize(point ? point->event : nullptr, site));
  drop(point);
  if (!waited || !point)
    return;
  Locked locked(value);
  if (!locked.handle || (!locked.handle->stream && !locked.handle->point))
    return;
  Handle &handle = *locked.handle;
  Session::Probe probe;
  probe.stream = handle.stream;
  probe.event = handle.stream ? nullptr : handle.point->event;
  device->session->probe(&probe, 1);
  if (!probe.done)
    return; // another thread has put more on it
  if (handle.stream)
    dropStream(handle, /*idle=*/true);
  drop(handle.point);
  handle.point = nullptr;
  std::lock_guard<std::mutex> lock(table().mutex);
  unlink(handle);
  if (handle.state == State::Destroyed)
    retire(handle);
}

void mgpu::waitForHandle(void *stream, void *event, const gpuasync_site *site) {
  stream = resolveNull(stream, site);
  if (!event)
    return fail(site, "the event is null");
  if (!stream || stream == event)
    return;
  Point *point = nullptr;
  if (!tailOf(event, Kind::Event, site, point) || !point)
    return;
  Work work(stream, site);
  if (work.stream) {
    if (work.device != point->device)
      fail(site, "the event is of %s, the stream of %s",
           point->device->session->device(), work.device->session->device());
    else
      check(site, work.device->session->wait(work.stream, point->event, site));
  }
  drop(point);
}

void mgpu::recordHandle(void *event, void *stream, const gpuasync_site *site) {
  stream = resolveNull(stream, site);
  if (!event)
    return fail(site, "the event is null");
  if (!stream || stream == event)
    return;
  Point *point = nullptr;
  if (!tailOf(stream, Kind::Stream, site, point))
    return;
  Locked locked(event);
  if (!locked.handle || locked.handle->state != State::Live) {
    drop(point);
    if (locked.handle || locked.stale)
      return fail(site, "the event was destroyed before");
    return failForeign(event, site);
  }
  Handle &handle = *locked.handle;
  if (handle.kind != Kind::Event)
    mixedUp.fetch_add(1, std::memory_order_relaxed);
  if (handle.stream)
    dropStream(handle, /*idle=*/false);
  drop(handle.point);
  handle.point = nullptr;
  handle.origin = reinterpret_cast<uint64_t>(stream);
  {
    std::lock_guard<std::mutex> lock(table().mutex);
    unlink(handle);
    if (!point)
      return; // all that is done
    handle.device = point->device;
    handle.point = point;
    link(handle);
  }
  if (handle.device->holderCount > quietHolders)
    reap(*handle.device, &stripeOf(handle), 1);
}

Work::Work(void *value, const gpuasync_site *site) {
  value = resolveNull(value, site);
  if (!value)
    return;
  Locked locked(value);
  if (!locked.handle || locked.handle->state != State::Live) {
    if (locked.handle || locked.stale)
      fail(site, "the stream %p was destroyed before", value);
    else
      failForeign(value, site);
    return;
  }
  if (locked.handle->kind != Kind::Stream)
    mixedUp.fetch_add(1, std::memory_order_relaxed);
  if (!attach(*locked.handle, site))
    return;
  device = locked.handle->device;
  stream = locked.handle->stream;
  lock = std::move(locked.lock);
}

void mgpu::freeAfter(void *value, void *pointer, const gpuasync_site *site) {
  if (value) {
    Locked locked(value);
    if (locked.handle && locked.handle->state == State::Live &&
        !locked.handle->stream && !locked.handle->point) {
      // All its work is done, and so is what that waited for.
      check(site,
            locked.handle->device->session->dealloc(nullptr, pointer, site),
            /*release=*/true);
      return;
    }
  } else {
    // Upstream's free waits for the whole device.
    MgpuDevice *device = currentDevice(site);
    if (!device)
      return;
    std::vector<void *> busy;
    {
      std::lock_guard<std::mutex> lock(table().mutex);
      for (Handle *handle = device->holders; handle; handle = handle->next)
        busy.push_back(handle->value());
    }
    for (void *other : busy) {
      Point *point = nullptr;
      {
        Locked locked(other);
        if (!locked.handle || !locked.handle->stream)
          continue;
        point = recordTail(*device, locked.handle->stream, site);
      }
      if (!point)
        return;
      Work work(nullptr, site);
      if (work.stream)
        check(site, device->session->wait(work.stream, point->event, site));
      drop(point);
    }
  }
  Work work(value, site);
  if (work.stream)
    check(site, work.device->session->dealloc(work.stream, pointer, site),
          /*release=*/true);
}

//===----------------------------------------------------------------------===//
// For embedders
//===----------------------------------------------------------------------===//

extern "C" {

gpuasync_status *gpuasync_mgpu_read_stats(gpuasync_mgpu_stats *out) noexcept {
  if (gpuasync_process_forked())
    return gpuasync_status_make(GPUASYNC_SHUT_DOWN, forkedMessage);
  gpuasync_mgpu_stats now = {};
  now.streams = liveStreams.load();
  now.events = liveEvents.load();
  now.handleBytes = chunkCount.load() * chunkHandles * sizeof(Handle);
  now.destroyedTwice = destroyedTwice.load();
  now.waitsOnDestroyed = waitsOnDestroyed.load();
  now.mixedUp = mixedUp.load();
  {
    std::lock_guard<std::mutex> lock(table().mutex);
    for (MgpuDevice *device = table().devices; device;
         device = device->nextDevice)
      now.physicalStreams += device->streamCount.load();
  }
  return writeStruct(now, out, "gpuasync_mgpu_stats").release();
}

uint32_t gpuasync_mgpu_close(void) noexcept {
  GPUASYNC_MGPU_SITE("gpuasync_mgpu_close");
  if (gpuasync_process_forked())
    return GPUASYNC_OK; // all of it is its parent's
  if (gpuasync_process_exiting())
    return forget(); // and of this the end takes all
  closeModules(&site);
  Table &t = table();
  MgpuDevice *device;
  {
    std::lock_guard<std::mutex> lock(t.mutex);
    device = t.devices;
    t.devices = nullptr;
    defaultDevice.store(nullptr);
    epoch.fetch_add(1);
  }
  while (device) {
    bool ended;
    check(&site, device->session->finishAll(&site, ended), /*release=*/true);
    while (Handle *handle = device->holders) {
      {
        std::lock_guard<std::mutex> lock(t.mutex);
        unlink(*handle);
      }
      if (handle->stream)
        dropStream(*handle, /*idle=*/false);
      drop(handle->point);
      handle->point = nullptr;
    }
    device->session->close();
    MgpuDevice *next = device->nextDevice;
    delete device;
    device = next;
  }
  std::lock_guard<std::mutex> lock(t.mutex);
  // Every place is free again, with a generation that no value has.
  t.oldestFree = t.newestFree = nullptr;
  t.freeCount = 0;
  for (uint32_t i = 0; i < t.used; ++i) {
    Handle &handle = *place(i);
    handle.state = State::Destroyed;
    handle.generation = (handle.generation + 1) & 0xffffff;
    handle.device = nullptr;
    handle.origin = 0;
    retire(handle);
  }
  liveStreams = liveEvents = destroyedTwice = waitsOnDestroyed = mixedUp = 0;
  return forget();
}
}
