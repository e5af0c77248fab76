//===- Subscriber.h - The callback of a profiler ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who gets the records of gpuasync/Trace.h: one callback at a time, called on
// the thread that has something to tell, beside calls on other threads.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_TRACE_SUBSCRIBER_H
#define GPUASYNC_LIBS_TRACE_SUBSCRIBER_H

#include "services/trace/Interface.h"

namespace gpuasync {

/// The runtime. Set before there is a Trace, constant then.
extern const TraceHost *traceHost;

class Subscriber {
public:
  bool present() const { return callback.load(std::memory_order_acquire); }
  /// A record's id; 0: nobody would get it.
  uint64_t newId() { return present() ? ++ids : 0; }
  /// Calls the callback, unless it came after the record got its id.
  void tell(const gpuasync_trace_record &record) noexcept;

  //===--- One thread at a time
  void set(gpuasync_trace_callback wanted, void *argument);
  /// When it returns no call runs, and none will. An error: a call threw.
  Status clear();
  /// The same without waiting, where the process forks or exits.
  void drop() noexcept { callback.store(nullptr); }

private:
  std::atomic<gpuasync_trace_callback> callback{nullptr};
  void *user = nullptr;
  uint64_t first = 0; ///< records have ids beyond it
  std::atomic<uint64_t> ids{0};
  std::atomic<uint32_t> calls{0}; ///< that run
  std::atomic<bool> threw{false};
};

} // namespace gpuasync

#endif // GPUASYNC_LIBS_TRACE_SUBSCRIBER_H
