//===- HostSpan.cpp - What a host thread does, for who listens ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See HostSpan.h.
//===----------------------------------------------------------------------===//

#include "trace/HostSpan.h"

#include "trace/Ranges.h"
#include "trace/Trace.h"

#include <stdio.h>

using namespace gpuasync;

std::atomic<uint32_t> gpuasync::listeners{0};

static __thread uint64_t lastRecord __attribute__((tls_model("initial-exec")));

uint64_t gpuasync::lastRecordOfThread() { return lastRecord; }

Place::Place(const gpuasync_site *site) {
  if (!site)
    return;
  file = gpuasync_site_file(site);
  line = site->line;
  column = site->column;
}

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

void HostSpan::beginHeard(HostKind kind, const char *name,
                          const Place &place) noexcept {
  Trace *trace = tracing();
  record = trace ? trace->subscriber.newId() : 0;
  from = nowNs();
  if (record) {
    lastRecord = record;
    trace->subscriber.tell(
        recordOf(GPUASYNC_TRACE_BEGIN, kind, record, name, place, from));
  }
  pushed = (listeners.load(std::memory_order_relaxed) & ListenRanges) &&
           pushRange(kind, name, place);
}

void HostSpan::endHeard(HostKind kind, const char *name, const Place &place,
                        const char *played) noexcept {
  // In a forked child and in a process that exits no profiler is called.
  if (pushed && (listeners.load(std::memory_order_relaxed) & ListenRanges))
    ranges.pop();
  if (Trace *trace = tracing()) {
    const int64_t to = nowNs();
    trace->host(kind, name, place, from, to, played);
    if (record) {
      gpuasync_trace_record ended =
          recordOf(GPUASYNC_TRACE_END, kind, record, name, place, from);
      ended.endNs = to;
      ended.played = played;
      trace->subscriber.tell(ended);
    }
  }
  from = 0;
}
