//===- Trace.cpp - The entries of Trace.h without traces ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process whose environment asks for a trace gets an error, not a run without
// one.
//===----------------------------------------------------------------------===//

#include "gpuasync/Trace.h"
#include "services/fallback/Absent.h"
#include "shim/base/Settings.h"
#include "shim/process/Service.h"

#include <string.h>

using namespace gpuasync;

namespace {
class AbsentTrace final : public Service {
  Status openListeners() const override {
    if (setting("GPU_ASYNC_TRACE"))
      return absent("GPU_ASYNC_TRACE", "traces");
    const char *ranges = setting("GPU_ASYNC_RANGES");
    if (ranges && strcmp(ranges, "off") != 0 && strcmp(ranges, "auto") != 0)
      return absent("GPU_ASYNC_RANGES", "traces");
    return Status();
  }
};
} // namespace

namespace gpuasync {
const Service &absentTraceService() noexcept {
  static constexpr AbsentTrace service;
  return service;
}
} // namespace gpuasync

extern "C" {

gpuasync_status *gpuasync_trace_start(const char *) noexcept {
  return absent("gpuasync_trace_start", "traces").release();
}

gpuasync_status *gpuasync_trace_stop(void) noexcept {
  return absent("gpuasync_trace_stop", "traces").release();
}

gpuasync_status *gpuasync_trace_subscribe(gpuasync_trace_callback,
                                          void *) noexcept {
  return absent("gpuasync_trace_subscribe", "traces").release();
}

gpuasync_status *gpuasync_trace_unsubscribe(void) noexcept {
  return absent("gpuasync_trace_unsubscribe", "traces").release();
}

uint64_t gpuasync_profile_list(gpuasync_profile_visitor, void *) noexcept {
  return 0;
}
}
