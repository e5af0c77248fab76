//===- Subscriber.cpp - The callback of a profiler ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Subscriber.h.
//===----------------------------------------------------------------------===//

#include "libs/trace/Subscriber.h"

using namespace gpuasync;

void Subscriber::tell(const gpuasync_trace_record &record) noexcept {
  bool &inside = *traceHost->insideCallback();
  if (inside)
    return;
  // Sequentially consistent, as in clear(): either this call sees that there is
  // no callback any more, or clear() sees this call.
  calls.fetch_add(1);
  gpuasync_trace_callback call = callback.load();
  if (call && record.id > first && !threw.load()) {
    inside = true;
    try {
      call(user, &record);
    } catch (...) {
      threw.store(true);
    }
    inside = false;
  }
  calls.fetch_sub(1);
}

void Subscriber::set(gpuasync_trace_callback wanted, void *argument) {
  user = argument;
  first = ids.load();
  threw.store(false);
  callback.store(wanted);
}

Status Subscriber::clear() {
  callback.store(nullptr);
  for (int round = 0; calls.load(); ++round)
    traceHost->pauseFor(round);
  if (!threw.load())
    return Status();
  return makeStatus(GPUASYNC_DRIVER_ERROR,
                    "the callback of gpuasync_trace_subscribe threw a C++ "
                    "exception; it got no records after that");
}
