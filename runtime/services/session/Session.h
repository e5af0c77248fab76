//===- Session.h - Calls that come one by one -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What libgpuasync_mgpu.so uses of the runtime. Its callers have no frames, no
// programs and no sites; here each call becomes a frame of its own, and what
// outlives the call (streams, events, unfinished downloads) is taken out of it.
//===----------------------------------------------------------------------===//
//
// Internal to this project: both libraries are of one build, which
// `sessionVersion` checks. All functions are thread safe, but one stream, one
// event and one module is used by one thread at a time. Errors are statuses
// that begin with the op of the site, which is constant data that outlives the
// work. None but `synchronize`, `finishAll` and those of modules waits for the
// device.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_SESSION_SESSION_H
#define GPUASYNC_SERVICES_SESSION_SESSION_H

#include "device/Driver.h"

namespace gpuasync {

struct Event;

constexpr uint32_t sessionVersion = 3;

class Session {
public:
  /// Gives back the session's reference to the context, not what the caller
  /// holds of it.
  virtual void close() noexcept = 0;
  /// "cpu", "cuda:0".
  virtual const char *device() const noexcept = 0;
  virtual bool isCPU() const noexcept = 0;

  //===--- Streams, from the context's pool

  virtual Status takeStream(const gpuasync_site *site,
                            gpuasync_stream *&out) noexcept = 0;
  /// Pending work goes on. `idle`: all its work is known to be done.
  virtual void giveStream(gpuasync_stream *stream, bool idle) noexcept = 0;
  /// Operations put on the stream so far.
  virtual uint64_t position(const gpuasync_stream *stream) const noexcept = 0;

  //===--- Events

  /// Records `event` on `stream`; takes one from the pool if it is null.
  virtual Status record(gpuasync_stream *stream, const gpuasync_site *site,
                        Event *&event) noexcept = 0;
  /// Waits that are enqueued stay valid.
  virtual void giveEvent(Event *event) noexcept = 0;
  virtual Status wait(gpuasync_stream *stream, Event *event,
                      const gpuasync_site *site) noexcept = 0;
  /// Waits on the host until the event is reached (null: it is), and finishes
  /// the downloads that are done then. [blocks]
  virtual Status synchronize(Event *event,
                             const gpuasync_site *site) noexcept = 0;

  /// Whether all work on a stream, or up to an event, is done. One of the two
  /// is null. Failed work counts as done.
  struct Probe {
    gpuasync_stream *stream = nullptr;
    Event *event = nullptr;
    bool done = false;
  };
  virtual void probe(Probe *probes, uint32_t count) noexcept = 0;
  /// Waits until all streams that are held are idle; `ended` says whether they
  /// are. Then an error is that of their work. [blocks]
  virtual Status finishAll(const gpuasync_site *site, bool &ended) noexcept = 0;

  //===--- Modules

  /// See ForeignObjects.
  virtual Status loadModule(const gpuasync_module &module,
                            const gpuasync_image &image,
                            const gpuasync_site *site, NativeModule &out,
                            NativeFunction *functions) noexcept = 0;
  virtual Status findFunction(NativeModule loaded,
                              const gpuasync_module &module,
                              const gpuasync_image &image,
                              const gpuasync_site *site,
                              NativeFunction &out) noexcept = 0;
  virtual Status unloadModule(NativeModule module,
                              const gpuasync_site *site) noexcept = 0;

  //===--- Work

  /// `block` has no parameters of its own.
  virtual Status launch(gpuasync_stream *stream, NativeFunction function,
                        const gpuasync_kernel &kernel,
                        const gpuasync_launch_config &block, void **parameters,
                        const gpuasync_site *site) noexcept = 0;
  /// Usable at once on any stream.
  virtual Status alloc(uint64_t bytes, uint32_t flags,
                       const gpuasync_site *site, void *&out) noexcept = 0;
  /// `stream` null: all use is over.
  virtual Status dealloc(gpuasync_stream *stream, void *pointer,
                         const gpuasync_site *site) noexcept = 0;
  virtual Status copy(gpuasync_stream *stream, void *destination,
                      const void *source, uint64_t bytes,
                      const gpuasync_site *site) noexcept = 0;
  virtual Status fill(gpuasync_stream *stream, void *destination,
                      const void *pattern, uint32_t elementBytes,
                      uint64_t count, const gpuasync_site *site) noexcept = 0;
  virtual Status registerHost(void *pointer, uint64_t bytes,
                              const gpuasync_site *site) noexcept = 0;
  virtual Status unregisterHost(void *pointer,
                                const gpuasync_site *site) noexcept = 0;
  virtual Status devicePointer(void *host, const gpuasync_site *site,
                               void *&out) noexcept = 0;
  virtual Status encodeTensorMap(const TensorMap &map,
                                 const gpuasync_site *site,
                                 void *out) noexcept = 0;

protected:
  ~Session() = default;
};

} // namespace gpuasync

/// A session on the process's own context on `device` (as gpuasync_context_open
/// takes it; null: the first there is). Null `out` on failure.
extern "C" GPUASYNC_API gpuasync_status *
gpuasync_session_open(uint32_t version, const char *device,
                      gpuasync::Session **out) GPUASYNC_NOEXCEPT;

#endif // GPUASYNC_SERVICES_SESSION_SESSION_H
