//===- Interface.h - The tracer, as the runtime sees it ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libgpuasync_trace.so has the tracer. The runtime opens it for the first
// trace, callback or profiler. The runtime hides its symbols, so it passes the
// library a table of what the tracer uses.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_TRACE_INTERFACE_H
#define GPUASYNC_SERVICES_TRACE_INTERFACE_H

#include "device/Device.h"
#include "gpuasync/Trace.h"
#include "shim/process/Tracer.h"

#include <link.h>
#include <string.h>

namespace gpuasync {

/// Identifies the layout of all that both libraries use. `number` grows with
/// each change of a virtual function here, in Tracer.h, Device.h and
/// Extensions.h.
struct TraceVersion {
  uint32_t number = 1;
  uint32_t abi = GPUASYNC_ABI_VERSION;
  uint32_t commandBytes = sizeof(Command), nodeBytes = sizeof(GraphNode),
           extensionBytes = sizeof(Extensions), deviceBytes = sizeof(Device),
           timingBytes = sizeof(DeviceTiming), spanBytes = sizeof(HostSpan);

  bool operator==(const TraceVersion &other) const {
    return !memcmp(this, &other, sizeof(other));
  }
};

/// The runtime, as the tracer sees it. It lives as long as the process.
struct TraceHost {
  TraceVersion version;
  const std::atomic<uint32_t> *listeners;
  Status (*makeStatusV)(uint32_t code, const char *format,
                        va_list arguments) noexcept;
  Status (*caughtStatus)() noexcept;
  void (*pauseFor)(int round);
  /// Return variables of the calling thread.
  uint64_t *(*driverCallCount)() noexcept;
  bool *(*insideCallback)() noexcept;
};

/// The functions of Trace.h call these. Begins and ends are one at a time; the
/// caller sets `listeners` after a begin, and before an end.
class TraceService : public Tracer {
public:
  //===--- A recording: from gpuasync_trace_start to _stop
  virtual bool isRecording() = 0;
  virtual Status begin(const char *file) = 0;
  virtual Status end() = 0;

  //===--- A callback
  virtual bool isSubscribed() const noexcept = 0;
  virtual void subscribe(gpuasync_trace_callback callback, void *user) = 0;
  virtual Status unsubscribe() = 0;

  //===--- The rest
  /// Finds a profiler, as GPU_ASYNC_RANGES says. `found`: it gets ranges.
  virtual Status openRanges(bool &found) = 0;
  virtual uint64_t profile(gpuasync_profile_visitor visitor, void *user) = 0;

protected:
  ~TraceService() = default;
};

using MakeTraceService = TraceService *(const TraceHost &host);

/// Finds a library of roctx that is in the process, of whatever version, as a
/// profiler preloads it: librocprofiler-sdk-roctx.so.1, libroctx64.so.4. Calls
/// `use(const char *path)`. Returns whether it is there.
template <typename Use>
bool findLoadedRoctx(Use use) {
  return dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *user) {
        const char *name = strrchr(info->dlpi_name, '/');
        if (!name || !strstr(name, "roctx"))
          return 0;
        (*static_cast<Use *>(user))(info->dlpi_name);
        return 1;
      },
      &use);
}

} // namespace gpuasync

/// Returns the one tracer of the process; null: the host is of another version.
/// Throws std::bad_alloc.
extern "C" GPUASYNC_API gpuasync::MakeTraceService gpuasyncMakeTraceService;

#endif // GPUASYNC_SERVICES_TRACE_INTERFACE_H
