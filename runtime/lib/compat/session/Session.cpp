//===- Session.cpp - Calls that come one by one ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Session.h. A call enters a frame of a program without modules, adopts the
// stream that it works on, and lets it go before it leaves.
//===----------------------------------------------------------------------===//

#include "compat/session/Session.h"
#include "core/abi/Frame.h"
#include "core/module/Program.h"

#include <new>

using namespace gpuasync;

static void *slot;
static const gpuasync_program program = {GPUASYNC_ABI_VERSION,
                                         0,
                                         "calls without frames",
                                         nullptr,
                                         &slot,
                                         nullptr,
                                         0,
                                         0};
static const gpuasync_function function = {"",       "",      0, 0,
                                           &program, nullptr, 0, 0};

namespace {

class SessionImpl final : public Session {
public:
  explicit SessionImpl(gpuasync_context &context) : context(context) {}

  void close() noexcept override {
    if (isForked())
      return; // its parent's
    {
      // What no host wait has finished by now nobody will look at.
      std::lock_guard<std::mutex> lock(transferMutex);
      context.dropDownloads(downloads);
    }
    context.release();
    delete this;
  }
  const char *device() const noexcept override {
    return context.device.c_str();
  }
  bool isCPU() const noexcept override {
    return !context.has(CapVendorStreams);
  }

  Status takeStream(const gpuasync_site *site,
                    gpuasync_stream *&out) noexcept override;
  void giveStream(gpuasync_stream *stream, bool idle) noexcept override;
  uint64_t position(const gpuasync_stream *stream) const noexcept override {
    return stream->enqueued;
  }
  Status record(gpuasync_stream *stream, const gpuasync_site *site,
                Event *&event) noexcept override;
  void giveEvent(Event *event) noexcept override;
  Status wait(gpuasync_stream *stream, Event *event,
              const gpuasync_site *site) noexcept override;
  Status synchronize(Event *event, const gpuasync_site *site) noexcept override;
  void probe(Probe *probes, uint32_t count) noexcept override;
  Status finishAll(const gpuasync_site *site, bool &ended) noexcept override;

  Status loadModule(const gpuasync_module &module, const gpuasync_image &image,
                    const gpuasync_site *site, NativeModule &out,
                    NativeFunction *functions) noexcept override;
  Status findFunction(NativeModule loaded, const gpuasync_module &module,
                      const gpuasync_image &image, const gpuasync_site *site,
                      NativeFunction &out) noexcept override;
  Status unloadModule(NativeModule module,
                      const gpuasync_site *site) noexcept override;

  Status launch(gpuasync_stream *stream, NativeFunction native,
                const gpuasync_kernel &kernel, const gpuasync_block &block,
                void **parameters, const gpuasync_site *site) noexcept override;
  Status alloc(uint64_t bytes, uint32_t flags, const gpuasync_site *site,
               void *&out) noexcept override;
  Status dealloc(gpuasync_stream *stream, void *pointer,
                 const gpuasync_site *site) noexcept override;
  Status copy(gpuasync_stream *stream, void *destination, const void *source,
              uint64_t bytes, const gpuasync_site *site) noexcept override;
  Status fill(gpuasync_stream *stream, void *destination, const void *pattern,
              uint32_t elementBytes, uint64_t count,
              const gpuasync_site *site) noexcept override;
  Status registerHost(void *pointer, uint64_t bytes,
                      const gpuasync_site *site) noexcept override;
  Status unregisterHost(void *pointer,
                        const gpuasync_site *site) noexcept override;
  Status devicePointer(void *host, const gpuasync_site *site,
                       void *&out) noexcept override;
  Status encodeTensorMap(const TensorMap &map, const gpuasync_site *site,
                         void *out) noexcept override;

  gpuasync_context &context;
  /// Copies into pageable memory that a host wait has to finish, of all calls:
  /// a later upload may start from one. Held while copies are enqueued.
  std::mutex transferMutex;
  Download *downloads = nullptr;
  std::atomic<bool> hasDownloads{false};
};

/// The index of a call's site in its frame.
constexpr uint32_t theSite = 0;

/// The frame of one call.
class Call {
public:
  Call(SessionImpl &session, const gpuasync_site *site,
       Stream *stream = nullptr)
      : session(session), site(site), stream(stream) {
    try {
      ThreadState &thread = threadState();
      gpuasync_context *scope = thread.scope;
      thread.scope = &session.context;
      gpuasync_frame_enter(&memory, &function);
      thread.scope = scope;
    } catch (...) {
      // Without a thread state there is nothing to enter.
      entered = false;
      return;
    }
    // The one site of the call is the frame's table.
    frame()->sites = site;
    frame()->siteCount = site ? 1 : 0;
    if (stream && !frame()->failed) {
      stream->frame = frame();
      linkFront(frame()->streams, stream);
    }
  }
  Call(const Call &) = delete;
  ~Call() { gpuasync_status_free(end().release()); }

  Frame *frame() { return Frame::of(&memory); }
  gpuasync_frame *handle() { return &memory; }
  /// Whether the call's body may run.
  bool ready() { return entered && !frame()->failed; }

  /// Leaves the frame and returns its error.
  Status end() {
    if (!entered)
      return left ? Status() : (left = true, outOfMemoryStatus());
    if (left)
      return Status();
    left = true;
    if (stream && stream->frame == frame()) {
      unlink(frame()->streams, stream);
      stream->frame = nullptr;
    }
    return locate(Status(gpuasync_frame_leave(&memory)), site);
  }

  /// `body` with what throws, and device faults, as the frame's error.
  template <typename Body>
  void run(Body body) {
    if (ready())
      guarded(frame(), site,
              [&] { frame()->check(session.context.noteFault(body()), site); });
  }

private:
  SessionImpl &session;
  const gpuasync_site *site;
  Stream *stream;
  gpuasync_frame memory;
  bool entered = true, left = false;
};

/// The frame's downloads are the session's for the length of a copy.
class SharedDownloads {
public:
  SharedDownloads(SessionImpl &session, Frame &frame)
      : session(session), frame(frame), lock(session.transferMutex) {
    frame.downloads = session.downloads;
  }
  SharedDownloads(const SharedDownloads &) = delete;
  ~SharedDownloads() {
    session.downloads = frame.downloads;
    frame.downloads = nullptr;
    session.hasDownloads.store(session.downloads, std::memory_order_release);
  }

private:
  SessionImpl &session;
  Frame &frame;
  std::lock_guard<std::mutex> lock;
};

} // namespace

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

Status SessionImpl::takeStream(const gpuasync_site *site,
                               gpuasync_stream *&out) noexcept {
  Call call(*this, site);
  out = nullptr;
  if (call.ready())
    out = gpuasync_stream_create(call.handle(), theSite);
  if (out) {
    unlink(call.frame()->streams, out);
    out->frame = nullptr;
    std::lock_guard<std::mutex> lock(context.poolMutex);
    out->session = true;
  }
  return call.end();
}

void SessionImpl::giveStream(gpuasync_stream *stream, bool idle) noexcept {
  if (isForked())
    return;
  {
    std::lock_guard<std::mutex> lock(context.poolMutex);
    stream->session = false;
  }
  Call call(*this, nullptr, stream);
  if (call.ready())
    gpuasync_stream_destroy(call.handle(), stream,
                            idle ? uint32_t(GPUASYNC_STREAM_IDLE) : 0, theSite);
}

Status SessionImpl::record(gpuasync_stream *stream, const gpuasync_site *site,
                           Event *&event) noexcept {
  Call call(*this, site, stream);
  if (event) {
    call.run([&] {
      return context.driver->recordEvent(event->native, stream->native);
    });
    event->site = site;
    return call.end();
  }
  gpuasync_event *made =
      call.ready() ? gpuasync_event_record(call.handle(), stream, theSite)
                   : nullptr;
  if (made) {
    event = Event::of(made);
    unlink(call.frame()->events, event);
    event->frame = nullptr;
  }
  return call.end();
}

void SessionImpl::giveEvent(Event *event) noexcept {
  Call call(*this, nullptr);
  if (!call.ready())
    return;
  event->frame = call.frame();
  linkFront(call.frame()->events, event);
  gpuasync_event_destroy(call.handle(), event->handle(), theSite);
}

Status SessionImpl::wait(gpuasync_stream *stream, Event *event,
                         const gpuasync_site *site) noexcept {
  Call call(*this, site, stream);
  if (call.ready())
    gpuasync_stream_wait(call.handle(), stream, event->handle(), theSite);
  return call.end();
}

Status SessionImpl::synchronize(Event *event,
                                const gpuasync_site *site) noexcept {
  Call call(*this, site);
  if (event && call.ready()) {
    gpuasync_event *handle = event->handle();
    gpuasync_event_synchronize(call.handle(), &handle, 1, theSite);
  }
  if (hasDownloads.load(std::memory_order_acquire))
    call.run([&] {
      SharedDownloads shared(*this, *call.frame());
      context.finishDownloads(call.frame()->downloads);
      return Status();
    });
  return call.end();
}

void SessionImpl::probe(Probe *probes, uint32_t count) noexcept {
  Call call(*this, nullptr);
  for (uint32_t i = 0; i < count; ++i) {
    Probe &probe = probes[i];
    probe.done = false;
    if (!call.ready())
      continue;
    Status status =
        probe.stream
            ? context.driver->queryStream(probe.stream->native, probe.done)
            : context.driver->queryEvent(probe.event->native, probe.done);
    if (!status.ok()) {
      // Whoever waits for it gets the error from the driver too.
      (void)context.noteFault(std::move(status));
      probe.done = true;
    }
  }
}

Status SessionImpl::finishAll(const gpuasync_site *site, bool &ended) noexcept {
  ended = false;
  Call call(*this, site);
  call.run([&] {
    Status failed;
    Status status = context.waitForStreams(process().timeoutNs.load(), &failed);
    ended = status.ok();
    return ended ? std::move(failed) : std::move(status);
  });
  ended |= context.lost.load() != nullptr;
  return call.end();
}

//===----------------------------------------------------------------------===//
// Modules and work
//===----------------------------------------------------------------------===//

Status SessionImpl::loadModule(const gpuasync_module &module,
                               const gpuasync_image &image,
                               const gpuasync_site *site, NativeModule &out,
                               NativeFunction *functions) noexcept {
  Call call(*this, site);
  call.run([&] {
    Status status = context.driver->loadModule(module, image, out, functions);
    if (status.ok()) {
      context.physicalModules.fetch_add(1, std::memory_order_relaxed);
      call.frame()->slot->counters.modules.create();
    }
    return status;
  });
  return call.end();
}

Status SessionImpl::findFunction(NativeModule loaded,
                                 const gpuasync_module &module,
                                 const gpuasync_image &image,
                                 const gpuasync_site *site,
                                 NativeFunction &out) noexcept {
  Call call(*this, site);
  call.run(
      [&] { return context.driver->findFunction(loaded, module, image, out); });
  return call.end();
}

Status SessionImpl::unloadModule(NativeModule module,
                                 const gpuasync_site *site) noexcept {
  Call call(*this, site);
  call.run([&] {
    context.driver->unloadModule(module);
    context.physicalModules.fetch_sub(1, std::memory_order_relaxed);
    call.frame()->slot->counters.modules.destroy();
    return Status();
  });
  return call.end();
}

Status SessionImpl::launch(gpuasync_stream *stream, NativeFunction native,
                           const gpuasync_kernel &kernel,
                           const gpuasync_block &block, void **parameters,
                           const gpuasync_site *site) noexcept {
  Call call(*this, site, stream);
  call.run([&]() -> Status {
    gpuasync_block checked = block;
    checked.paramBytes = kernel.paramBytes;
    bool empty = false;
    Status status = checkBlock(context, kernel, checked, empty);
    if (!status.ok())
      return status;
    call.frame()->slot->counters.launches.add(1);
    stream->note(site);
    if (empty)
      return Status(); // keeps order by doing nothing
    status = context.driver->launchPointers(stream->native, native, kernel,
                                            block, parameters, site);
    if (status.ok() && process().syncLaunches)
      // A fault is then reported at the launch that made it.
      status = hostWait(*call.frame(), &stream, 1, process().timeoutNs.load());
    return status;
  });
  return call.end();
}

Status SessionImpl::alloc(uint64_t bytes, uint32_t flags,
                          const gpuasync_site *site, void *&out) noexcept {
  Call call(*this, site);
  out = call.ready()
            ? gpuasync_alloc(call.handle(), nullptr, bytes, flags, theSite)
            : nullptr;
  return call.end();
}

Status SessionImpl::dealloc(gpuasync_stream *stream, void *pointer,
                            const gpuasync_site *site) noexcept {
  Call call(*this, site, stream);
  if (call.ready())
    gpuasync_dealloc(call.handle(), stream, pointer, theSite);
  return call.end();
}

Status SessionImpl::copy(gpuasync_stream *stream, void *destination,
                         const void *source, uint64_t bytes,
                         const gpuasync_site *site) noexcept {
  Call call(*this, site, stream);
  if (call.ready()) {
    SharedDownloads shared(*this, *call.frame());
    gpuasync_memcpy(call.handle(), stream, destination, source, bytes, theSite);
  }
  return call.end();
}

Status SessionImpl::fill(gpuasync_stream *stream, void *destination,
                         const void *pattern, uint32_t elementBytes,
                         uint64_t count, const gpuasync_site *site) noexcept {
  Call call(*this, site, stream);
  if (call.ready()) {
    SharedDownloads shared(*this, *call.frame());
    gpuasync_memset(call.handle(), stream, destination, pattern, elementBytes,
                    count, theSite);
  }
  return call.end();
}

Status SessionImpl::registerHost(void *pointer, uint64_t bytes,
                                 const gpuasync_site *site) noexcept {
  Call call(*this, site);
  if (call.ready())
    gpuasync_host_register(call.handle(), pointer, bytes, theSite);
  return call.end();
}

Status SessionImpl::unregisterHost(void *pointer,
                                   const gpuasync_site *site) noexcept {
  Call call(*this, site);
  if (call.ready())
    gpuasync_host_unregister(call.handle(), pointer, theSite);
  return call.end();
}

Status SessionImpl::devicePointer(void *host, const gpuasync_site *site,
                                  void *&out) noexcept {
  Call call(*this, site);
  out = nullptr;
  call.run([&] { return context.driver->devicePointer(host, out); });
  return call.end();
}

Status SessionImpl::encodeTensorMap(const TensorMap &map,
                                    const gpuasync_site *site,
                                    void *out) noexcept {
  Call call(*this, site);
  call.run([&] { return gpuasync::encodeTensorMap(context, map, out); });
  return call.end();
}

extern "C" gpuasync_status *gpuasync_session_open(uint32_t version,
                                                  const char *device,
                                                  Session **out) noexcept {
  *out = nullptr;
  if (version != sessionVersion)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "the library asks for interface %u of the runtime, which "
                      "has %u: they are of different builds",
                      version, sessionVersion)
        .release();
  try {
    Status status = checkRefusal();
    gpuasync_context *context = nullptr;
    if (status.ok())
      status = defaultOn(device, context);
    if (!status.ok())
      return status.release();
    *out = new (std::nothrow) SessionImpl(*context); // takes the reference
    if (*out)
      return nullptr;
    context->release();
    return outOfMemoryStatus().release();
  } catch (const std::bad_alloc &) {
    return outOfMemoryStatus().release();
  }
}
