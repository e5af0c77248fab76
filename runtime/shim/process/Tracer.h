//===- Tracer.h - Who listens to the process --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events that the core reports to traces, callbacks of embedders and profilers.
// A service implements it. Without one nobody ever listens.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_PROCESS_TRACER_H
#define GPUASYNC_SHIM_PROCESS_TRACER_H

#include "gpuasync/Status.h"
#include "shim/process/HostSpan.h"

#include <memory>

namespace gpuasync {

class Device;

class Tracer {
public:
  //===--- While anyone listens
  virtual void beginSpan(HostSpan &span, HostKind kind, const char *name,
                         const Place &place) noexcept = 0;
  virtual void endSpan(HostSpan &span, HostKind kind, const char *name,
                       const Place &place, const char *played) noexcept = 0;

  //===--- While ListenTrace is set
  /// Returns a device that notes what passes, and has an observer. `name` is
  /// "cuda:0"; `isVendors`: calls need the context to be current. One thread at
  /// a time. Throws std::bad_alloc.
  virtual std::unique_ptr<Device> surround(Device &inner, const char *name,
                                           bool isVendors) = 0;
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

/// The process ends, perhaps while others are at work: completes the trace with
/// what is known. Nobody listens from then on.
void finishTrace() noexcept;

} // namespace gpuasync

#endif // GPUASYNC_SHIM_PROCESS_TRACER_H
