//===- Spans.cpp - Telling what a host thread does ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See shim/process/HostSpan.h.
//===----------------------------------------------------------------------===//

#include "libs/trace/Ranges.h"
#include "libs/trace/Trace.h"

#include <stdio.h>

using namespace gpuasync;

static __thread uint64_t lastRecord __attribute__((tls_model("initial-exec")));

uint64_t gpuasync::lastRecordOfThread() { return lastRecord; }

/// What the driver is called for a profiler sees by itself; calls of upstream's
/// symbols have no name.
static bool pushRange(HostKind kind, const char *name, const Place &place) {
  if (kind == HostKind::Driver || !*name)
    return false;
  char text[256];
  if (kind != HostKind::Function && *place.file) {
    snprintf(text, sizeof(text), "%s at %.200s:%u", name, place.file,
             place.line);
    name = text;
  }
  ranges.push(name);
  return true;
}

static gpuasync_trace_record recordOf(uint32_t phase, HostKind kind,
                                      uint64_t id, const char *name,
                                      const Place &place, int64_t from) {
  gpuasync_trace_record record = {};
  record.structSize = sizeof(record);
  record.phase = phase;
  record.kind = uint32_t(kind);
  record.id = id;
  record.name = name;
  record.file = place.file;
  record.line = place.line;
  record.column = place.column;
  record.schedule = UINT32_MAX;
  record.thread = Trace::threadNumber();
  record.beginNs = from;
  record.played = record.device = "";
  return record;
}

void Trace::beginSpan(HostSpan &span, HostKind kind, const char *name,
                      const Place &place) noexcept {
  span.record = tracing() ? subscriber.newId() : 0;
  span.from = nowNs();
  if (span.record) {
    lastRecord = span.record;
    subscriber.tell(recordOf(GPUASYNC_TRACE_BEGIN, kind, span.record, name,
                             place, span.from));
  }
  span.pushed = hasListener(ListenRanges) && pushRange(kind, name, place);
}

void Trace::endSpan(HostSpan &span, HostKind kind, const char *name,
                    const Place &place, const char *played) noexcept {
  // In a forked child and in a process that exits no profiler is called.
  if (span.pushed && hasListener(ListenRanges))
    ranges.pop();
  if (tracing()) {
    const int64_t to = nowNs();
    note(kind, name, place, span.from, to, played);
    if (span.record) {
      gpuasync_trace_record ended = recordOf(
          GPUASYNC_TRACE_END, kind, span.record, name, place, span.from);
      ended.endNs = to;
      ended.played = played;
      subscriber.tell(ended);
    }
  }
  span.from = 0;
}
