//===- Session.cpp - Calls that come one by one ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Session.h. A call enters a frame of a program without modules, adopts the
// stream that it works on, and lets it go before it leaves.
//===----------------------------------------------------------------------===//

#include "services/session/Session.h"
#include "shim/abi/Frame.h"
#include "shim/context/Entry.h"
#include "shim/context/Program.h"

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
static const gpuasync_function function = {"",      "", 0, 0, &program,
                                           nullptr, 0,  0, 1, 0};

namespace {

const StreamHolder sessions = {
    "an mgpu program holds a stream: destroy it first"};

/// The index of a call's site in its frame.
constexpr uint32_t theSite = 0;

/// The frame of one call.
class Call {
public:
  Call(gpuasync_context &context, const gpuasync_site *site, Stream *stream)
      : site(site), stream(stream) {
    try {
      ThreadState &thread = threadState();
      gpuasync_context *scope = thread.scope;
      thread.scope = &context;
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
      frame()->take(*stream, frame()->first);
    }
  }
  Call(const Call &) = delete;

  Frame *frame() { return Frame::of(&memory); }
  gpuasync_frame *handle() { return &memory; }
  /// Whether the call's body may run.
  bool ready() { return entered && !frame()->failed; }

  /// Leaves the frame, once, and returns its error.
  Status end() {
    if (!entered)
      return outOfMemoryStatus();
    // Another thread may have it by now, if the call gave it back: whether it
    // is still the frame's, the frame alone says.
    for (Stream *held = frame()->streams; stream && held; held = held->next)
      if (held == stream) {
        unlink(frame()->streams, stream);
        stream->frame = nullptr;
        break;
      }
    return locate(Status(gpuasync_frame_leave(&memory)), site);
  }

private:
  const gpuasync_site *site;
  Stream *stream;
  gpuasync_frame memory;
  bool entered = true;
};

class SessionImpl final : public Session {
public:
  explicit SessionImpl(gpuasync_context &context) : context(context) {}

  void close() noexcept override {
    if (isForked())
      return; // its parent's
    {
      // What no host wait has finished by now nobody will look at.
      std::lock_guard<std::mutex> lock(transferMutex);
      context.hostCopies->dropAll(downloads);
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

  //===--- Streams and events

  Status takeStream(const gpuasync_site *site,
                    gpuasync_stream *&out) noexcept override {
    out = nullptr;
    return enter(site, nullptr, [&](Call &call) {
      out = gpuasync_stream_create(call.handle(), 0, theSite);
      if (!out)
        return;
      unlink(call.frame()->streams, out);
      out->frame = nullptr;
      context.streams.hold(out, &sessions);
    });
  }
  void giveStream(gpuasync_stream *stream, bool idle) noexcept override {
    if (isForked())
      return;
    context.streams.hold(stream, nullptr);
    (void)enter(nullptr, stream, [&](Call &call) {
      gpuasync_stream_destroy(call.handle(), stream,
                              idle ? uint32_t(GPUASYNC_STREAM_IDLE) : 0,
                              theSite);
    });
  }
  uint64_t position(const gpuasync_stream *stream) const noexcept override {
    return stream->timeline.position();
  }
  Status record(gpuasync_stream *stream, const gpuasync_site *site,
                Event *&event) noexcept override {
    if (event) {
      Status status = run(site, stream, [&](Frame &) {
        return context.driver->recordEvent(event->native, stream->native);
      });
      event->origin.site = site;
      return status;
    }
    return enter(site, stream, [&](Call &call) {
      gpuasync_event *made =
          gpuasync_event_record(call.handle(), stream, theSite);
      if (!made)
        return;
      event = Event::of(made);
      unlink(call.frame()->events, event);
      event->frame = nullptr;
    });
  }
  void giveEvent(Event *event) noexcept override {
    (void)enter(nullptr, nullptr, [&](Call &call) {
      event->frame = call.frame();
      linkFront(call.frame()->events, event);
      gpuasync_event_destroy(call.handle(), event->handle(), theSite);
    });
  }
  Status wait(gpuasync_stream *stream, Event *event,
              const gpuasync_site *site) noexcept override {
    return enter(site, stream, [&](Call &call) {
      gpuasync_stream_wait(call.handle(), stream, event->handle(), theSite);
    });
  }
  Status synchronize(Event *event,
                     const gpuasync_site *site) noexcept override {
    return enter(site, nullptr, [&](Call &call) {
      if (event) {
        gpuasync_event *handle = event->handle();
        gpuasync_event_synchronize(call.handle(), &handle, 1, theSite);
      }
      if (!call.ready() || !hasDownloads.load(std::memory_order_acquire))
        return;
      call.frame()->run(site, [&] {
        SharedDownloads shared(*this, *call.frame());
        return context.hostCopies->finish(call.frame()->first.downloads);
      });
    });
  }
  void probe(Probe *probes, uint32_t count) noexcept override {
    for (uint32_t i = 0; i < count; ++i)
      probes[i].done = false;
    (void)enter(nullptr, nullptr, [&](Call &) {
      for (uint32_t i = 0; i < count; ++i) {
        Probe &probe = probes[i];
        const Timepoint point = probe.stream ? probe.stream->timeline.whenIdle()
                                             : probe.event->point();
        Status status = context.timepoints.query(point, probe.done);
        // Whoever waits for it gets the error from the driver too.
        probe.done |= !context.noteFault(std::move(status)).ok();
      }
    });
  }
  Status finishAll(const gpuasync_site *site, bool &ended) noexcept override {
    ended = false;
    Status status = run(site, nullptr, [&](Frame &) {
      Status failed;
      Status status = context.waitForStreams(callDeadline(), &failed);
      ended = status.ok();
      return ended ? std::move(failed) : std::move(status);
    });
    ended |= context.lost.load() != nullptr;
    return status;
  }

  //===--- Modules and work

  Status loadModule(const gpuasync_module &module, const gpuasync_image &image,
                    const gpuasync_site *site, NativeModule &out,
                    NativeFunction *functions) noexcept override {
    return run(site, nullptr, [&](Frame &frame) -> Status {
      RETURN_IF_ERROR(
          context.driver->loadModule(module, image, out, functions));
      context.physicalModules.fetch_add(1, std::memory_order_relaxed);
      frame.first.slot->counters.modules.create();
      return Status();
    });
  }
  Status findFunction(NativeModule loaded, const gpuasync_module &module,
                      const gpuasync_image &image, const gpuasync_site *site,
                      NativeFunction &out) noexcept override {
    return run(site, nullptr, [&](Frame &) {
      return foreign()->findFunction(loaded, module, image, out);
    });
  }
  Status unloadModule(NativeModule module,
                      const gpuasync_site *site) noexcept override {
    return run(site, nullptr, [&](Frame &frame) {
      context.driver->unloadModule(module);
      context.physicalModules.fetch_sub(1, std::memory_order_relaxed);
      frame.first.slot->counters.modules.destroy();
      return Status();
    });
  }
  Status launch(gpuasync_stream *stream, NativeFunction native,
                const gpuasync_kernel &kernel,
                const gpuasync_launch_config &block, void **parameters,
                const gpuasync_site *site) noexcept override {
    return run(site, stream, [&](Frame &frame) {
      gpuasync_launch_config checked = block;
      checked.paramBytes = kernel.paramBytes;
      return launchIn(frame, *stream, kernel, checked, site, [&] {
        return foreign()->launchPointers(
            stream->native, {native, &kernel, &block}, parameters, site);
      });
    });
  }
  Status alloc(uint64_t bytes, uint32_t flags, const gpuasync_site *site,
               void *&out) noexcept override {
    out = nullptr;
    return enter(site, nullptr, [&](Call &call) {
      out = gpuasync_alloc(call.handle(), 0, nullptr, bytes, flags, theSite);
    });
  }
  Status dealloc(gpuasync_stream *stream, void *pointer,
                 const gpuasync_site *site) noexcept override {
    return enter(site, stream, [&](Call &call) {
      gpuasync_dealloc(call.handle(), 0, stream, pointer, theSite);
    });
  }
  Status copy(gpuasync_stream *stream, void *destination, const void *source,
              uint64_t bytes, const gpuasync_site *site) noexcept override {
    return enter(site, stream, [&](Call &call) {
      SharedDownloads shared(*this, *call.frame());
      gpuasync_memcpy(call.handle(), stream, destination, source, bytes,
                      theSite);
    });
  }
  Status fill(gpuasync_stream *stream, void *destination, const void *pattern,
              uint32_t elementBytes, uint64_t count,
              const gpuasync_site *site) noexcept override {
    return enter(site, stream, [&](Call &call) {
      SharedDownloads shared(*this, *call.frame());
      gpuasync_memset(call.handle(), stream, destination, pattern, elementBytes,
                      count, theSite);
    });
  }
  Status registerHost(void *pointer, uint64_t bytes,
                      const gpuasync_site *site) noexcept override {
    return enter(site, nullptr, [&](Call &call) {
      SharedDownloads shared(*this, *call.frame());
      gpuasync_host_register(call.handle(), pointer, bytes, theSite);
    });
  }
  Status unregisterHost(void *pointer,
                        const gpuasync_site *site) noexcept override {
    return enter(site, nullptr, [&](Call &call) {
      gpuasync_host_unregister(call.handle(), pointer, theSite);
    });
  }
  Status devicePointer(void *host, const gpuasync_site *site,
                       void *&out) noexcept override {
    out = nullptr;
    return run(site, nullptr,
               [&](Frame &) { return foreign()->devicePointer(host, out); });
  }
  Status encodeTensorMap(const TensorMap &map, const gpuasync_site *site,
                         void *out) noexcept override {
    return run(site, nullptr, [&](Frame &) {
      return gpuasync::encodeTensorMap(context, map, out);
    });
  }

private:
  /// Calls an entry of the ABI in a frame of its own.
  template <typename Body>
  Status enter(const gpuasync_site *site, Stream *stream, Body body) {
    Call call(context, site, stream);
    if (call.ready())
      body(call);
    return call.end();
  }
  /// The same for what is not an entry and may fail.
  template <typename Body>
  Status run(const gpuasync_site *site, Stream *stream, Body body) {
    return enter(site, stream, [&](Call &call) {
      call.frame()->run(site, [&] { return body(*call.frame()); });
    });
  }

  /// The frame's downloads are the session's for the length of a copy.
  class SharedDownloads {
  public:
    SharedDownloads(SessionImpl &session, Frame &frame)
        : session(session), frame(frame), lock(session.transferMutex) {
      frame.first.downloads = session.downloads;
    }
    SharedDownloads(const SharedDownloads &) = delete;
    ~SharedDownloads() {
      session.downloads = frame.first.downloads;
      frame.first.downloads = nullptr;
      session.hasDownloads.store(session.downloads, std::memory_order_release);
    }

  private:
    SessionImpl &session;
    Frame &frame;
    std::lock_guard<std::mutex> lock;
  };

  ForeignObjects *foreign() { return context.driver->extensions.foreign; }

  gpuasync_context &context;
  /// Copies into pageable memory that a host wait has to finish, of all calls:
  /// a later upload may start from one. Held while copies are enqueued.
  std::mutex transferMutex;
  Download *downloads = nullptr;
  std::atomic<bool> hasDownloads{false};
};

} // namespace

extern "C" gpuasync_status *gpuasync_session_open(uint32_t version,
                                                  const char *device,
                                                  Session **out) noexcept {
  if (!out)
    return nullArgument("gpuasync_session_open").release();
  *out = nullptr;
  if (version != sessionVersion)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "the library asks for interface %u of the runtime, which "
                      "has %u: they are of different builds",
                      version, sessionVersion)
        .release();
  return entry([&]() -> Status {
    gpuasync_context *context = nullptr;
    RETURN_IF_ERROR(defaultOn(device, context));
    Status status;
    if (!context->driver->extensions.foreign)
      status = makeStatus(GPUASYNC_UNSUPPORTED,
                          "%s takes no modules of others, so it runs no calls "
                          "of MLIR's own wrappers",
                          context->device.c_str());
    else if (!(*out = new (std::nothrow) SessionImpl(*context)))
      status = outOfMemoryStatus();
    if (!*out) // it takes the reference
      context->release();
    return status;
  });
}
