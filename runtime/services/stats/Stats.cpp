//===- Stats.cpp - Counters -----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of what each thread counted for itself.
//===----------------------------------------------------------------------===//

#include "shim/base/SizedStruct.h"
#include "shim/base/Text.h"
#include "shim/context/Entry.h"
#include "shim/process/Service.h"

#include <inttypes.h>
#include <stdio.h>

using namespace gpuasync;

/// Objects, and what is counted of them.
static constexpr struct {
  const char *name;
  gpuasync_object_stats gpuasync_stats::*stats;
  ObjectCounter Counters::*counter;
  std::atomic<uint64_t> ContextPools::*physical;
} objects[] = {{"streams", &gpuasync_stats::streams, &Counters::streams,
                &ContextPools::physicalStreams},
               {"events", &gpuasync_stats::events, &Counters::events,
                &ContextPools::physicalEvents},
               {"modules", &gpuasync_stats::modules, &Counters::modules,
                &ContextPools::physicalModules},
               {"buffers", &gpuasync_stats::buffers, &Counters::buffers,
                &ContextPools::physicalBuffers},
               {"graphs", &gpuasync_stats::graphs, &Counters::graphs,
                &ContextPools::physicalGraphs}};

/// Other counts. Null: by the module cache.
static constexpr struct {
  uint64_t gpuasync_stats::*stats;
  Counter Counters::*counter;
} sums[] = {{&gpuasync_stats::moduleCacheHits, &Counters::hits},
            {&gpuasync_stats::moduleCacheMisses, &Counters::misses},
            {&gpuasync_stats::launches, &Counters::launches},
            {&gpuasync_stats::hostWaits, &Counters::hostWaits},
            {&gpuasync_stats::driverCalls, &Counters::driverCalls},
            {&gpuasync_stats::graphLaunches, &Counters::graphLaunches},
            {&gpuasync_stats::regionsOnStreams, &Counters::regionsOnStreams},
            {&gpuasync_stats::constantUploads, &Counters::constantUploads},
            {&gpuasync_stats::residentUploads, &Counters::residentUploads},
            {&gpuasync_stats::uploadedBytes, &Counters::uploadedBytes},
            {&gpuasync_stats::capturedCalls, &Counters::capturedCalls},
            {&gpuasync_stats::failedCaptures, &Counters::failedCaptures},
            {&gpuasync_stats::libraryCalls, &Counters::libraryCalls},
            {&gpuasync_stats::moduleCacheEvictions, nullptr},
            {&gpuasync_stats::moduleCompileNs, nullptr},
            {&gpuasync_stats::moduleLoadNs, nullptr}};

static void addCounters(gpuasync_stats &to, const Counters &from) {
  for (const auto &each : objects) {
    (to.*each.stats).created += (from.*each.counter).created.get();
    (to.*each.stats).destroyed += (from.*each.counter).destroyed.get();
    (to.*each.stats).peak += (from.*each.counter).peak.get();
  }
  for (const auto &each : sums)
    if (each.counter)
      to.*each.stats += (from.*each.counter).get();
}

/// poolMutex held.
static gpuasync_stats sum(const gpuasync_context &context) {
  gpuasync_stats total{};
  addCounters(total, context.ended);
  for (const ThreadContext *slot : context.slots)
    addCounters(total, slot->counters);
  ModuleCache::Totals modules =
      const_cast<gpuasync_context &>(context).modules.totals();
  total.moduleCacheEntries = modules.entries;
  total.moduleCacheBytes = modules.bytes;
  total.moduleCacheEvictions = modules.evictions;
  total.moduleCompileNs = modules.compileNs;
  total.moduleLoadNs = modules.loadNs;
  return total;
}

static void subtract(gpuasync_object_stats &from,
                     const gpuasync_object_stats &base) {
  // Both restart at what was destroyed, so that live stays what it is.
  from.created -= base.destroyed;
  from.destroyed -= base.destroyed;
  from.live = from.created - from.destroyed;
  if (from.peak < from.live)
    from.peak = from.live;
}

namespace {

/// Library calls, and what became of them in graphs.
void addCalls(Text &text, gpuasync_context &context,
              const gpuasync_stats &stats) {
  text.add(", \"library_calls\": {\"made\": %" PRIu64 ", \"captured\": %" PRIu64
           ", \"failed_captures\": %" PRIu64,
           stats.libraryCalls, stats.capturedCalls, stats.failedCaptures);
  std::lock_guard<std::mutex> lock(context.choicesMutex);
  if (!context.failedCapture.empty()) {
    text.add(", \"why\": ");
    addQuoted(text, context.failedCapture.c_str());
  }
  text.add("}");
}

} // namespace

extern "C" {

gpuasync_status *gpuasync_stats_read(const gpuasync_context *constant,
                                     gpuasync_stats *out) noexcept {
  auto *context = const_cast<gpuasync_context *>(constant);
  if (isForked() || insideCallback)
    return checkRefusal().release();
  if (!context || !out)
    return nullArgument("gpuasync_stats_read").release();
  gpuasync_stats now;
  {
    std::lock_guard<std::mutex> lock(context->poolMutex);
    now = sum(*context);
    const gpuasync_stats &base = context->base;
    for (const auto &each : objects)
      subtract(now.*each.stats, base.*each.stats);
    for (const auto &each : sums)
      now.*each.stats -= base.*each.stats;
  }
  for (const auto &each : objects)
    (now.*each.stats).physical = (context->*each.physical).load();
  now.deviceBytes = context->physicalBytes.load();
  now.bufferBytes = context->memory.liveBytes();
  return writeStruct(now, out, "gpuasync_stats").release();
}

void gpuasync_stats_reset(gpuasync_context *context) noexcept {
  if (!context || isForked())
    return;
  std::lock_guard<std::mutex> lock(context->poolMutex);
  context->base = sum(*context);
  auto restartAll = [](Counters &counters) {
    for (const auto &each : objects) {
      ObjectCounter &counter = counters.*each.counter;
      const auto live =
          static_cast<int64_t>(counter.created.get() - counter.destroyed.get());
      counter.peak.set(live > 0 ? static_cast<uint64_t>(live) : 0);
    }
  };
  restartAll(context->ended);
  for (ThreadContext *slot : context->slots)
    restartAll(slot->counters);
}

uint64_t gpuasync_stats_json(const gpuasync_context *context, char *buffer,
                             uint64_t size) noexcept {
  Text text(buffer, buffer ? size : 0);
  if (!context)
    return 0;
  gpuasync_stats stats;
  gpuasync_status_free(gpuasync_stats_read(context, &stats));
  text.add("{\"device\": \"%s\"", context->device.c_str());
  for (const auto &each : objects) {
    const gpuasync_object_stats &part = stats.*each.stats;
    text.add(", \"%s\": {\"created\": %" PRIu64 ", \"destroyed\": %" PRIu64
             ", \"live\": %" PRIu64 ", \"peak\": %" PRIu64
             ", \"physical\": %" PRIu64 "}",
             each.name, part.created, part.destroyed, part.live, part.peak,
             part.physical);
  }
  text.add(", \"module_cache\": {\"hits\": %" PRIu64 ", \"misses\": %" PRIu64
           ", \"evictions\": %" PRIu64 ", \"entries\": %" PRIu64
           ", \"bytes\": %" PRIu64 ", \"compile_us\": %" PRIu64
           ", \"load_us\": %" PRIu64 "}",
           stats.moduleCacheHits, stats.moduleCacheMisses,
           stats.moduleCacheEvictions, stats.moduleCacheEntries,
           stats.moduleCacheBytes, stats.moduleCompileNs / 1000,
           stats.moduleLoadNs / 1000);
  text.add(", \"launches\": %" PRIu64 ", \"host_waits\": %" PRIu64
           ", \"driver_calls\": %" PRIu64 ", \"buffer_bytes\": %" PRIu64
           ", \"device_bytes\": %" PRIu64 ", \"graph_launches\": %" PRIu64
           ", \"regions_on_streams\": %" PRIu64,
           stats.launches, stats.hostWaits, stats.driverCalls,
           stats.bufferBytes, stats.deviceBytes, stats.graphLaunches,
           stats.regionsOnStreams);
  text.add(", \"uploads\": {\"constants\": %" PRIu64 ", \"residents\": %" PRIu64
           ", \"bytes\": %" PRIu64 "}",
           stats.constantUploads, stats.residentUploads, stats.uploadedBytes);
  if (!isForked()) { // its locks may be held for ever
    auto &mutableContext = *const_cast<gpuasync_context *>(context);
    addCalls(text, mutableContext, stats);
    forEachService(
        [&](const Service &each) { each.writeStats(mutableContext, text); });
  }
  text.add("}");
  return text.length();
}
}
