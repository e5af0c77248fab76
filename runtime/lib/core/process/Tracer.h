//===- Tracer.h - Who listens to the process --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events that the core reports to traces, callbacks of embedders and profilers.
// A service implements it. Without one nobody ever listens.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_PROCESS_TRACER_H
#define GPUASYNC_CORE_PROCESS_TRACER_H

#include "core/process/HostSpan.h"
#include "gpuasync/Status.h"

struct gpuasync_context;

namespace gpuasync {

class Tracer {
public:
  //===--- While anyone listens
  virtual void beginSpan(HostSpan &span, HostKind kind, const char *name,
                         const Place &place) noexcept = 0;
  virtual void endSpan(HostSpan &span, HostKind kind, const char *name,
                       const Place &place, const char *played) noexcept = 0;

  //===--- While ListenTrace is set
  /// Puts a driver that notes what passes around a new context's driver.
  /// Process::mutex is held.
  virtual void attach(gpuasync_context &context) = 0;
  /// The host itself has made a copy that the program put on the stream, from
  /// the time `from` until now. `stream` is the device's.
  virtual void noteHostCopy(gpuasync_context &context, void *stream,
                            uint64_t bytes, const gpuasync_site *site,
                            int64_t from) noexcept = 0;
  /// The process ends, perhaps while others are at work: completes the file
  /// with what is known.
  virtual void finish() noexcept = 0;
  /// The process was forked: the file and the callback are the parent's.
  virtual void forget() noexcept = 0;

protected:
  ~Tracer() = default;
};

/// Set before anybody listens, constant then.
extern std::atomic<Tracer *> tracer;

/// Returns the tracer while there is a trace or a callback, else null.
inline Tracer *tracing() {
  return __builtin_expect(
             listeners.load(std::memory_order_acquire) & ListenTrace, 0)
             ? tracer.load(std::memory_order_acquire)
             : nullptr;
}

/// Notes a host copy if a tracer was there at its begin (`from` is not 0).
inline void noteHostCopy(gpuasync_context &context, void *stream,
                         uint64_t bytes, const gpuasync_site *site,
                         int64_t from) noexcept {
  if (Tracer *used = __builtin_expect(from != 0, 0) ? tracing() : nullptr)
    used->noteHostCopy(context, stream, bytes, site, from);
}

} // namespace gpuasync

/// Begins to listen as the environment says. A service defines it; else it is
/// null. No context is open.
extern "C" __attribute__((weak)) void
gpuasyncStartListening(gpuasync::Status &out) noexcept;

#endif // GPUASYNC_CORE_PROCESS_TRACER_H
