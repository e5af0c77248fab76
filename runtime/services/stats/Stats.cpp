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

static void addObjects(gpuasync_object_stats &to, const ObjectCounter &from) {
  to.created += from.created.get();
  to.destroyed += from.destroyed.get();
  to.peak += from.peak.get();
}

static void addCounters(gpuasync_stats &to, const Counters &from) {
  addObjects(to.streams, from.streams);
  addObjects(to.events, from.events);
  addObjects(to.modules, from.modules);
  addObjects(to.buffers, from.buffers);
  addObjects(to.graphs, from.graphs);
  to.moduleCacheHits += from.hits.get();
  to.moduleCacheMisses += from.misses.get();
  to.launches += from.launches.get();
  to.hostWaits += from.hostWaits.get();
  to.driverCalls += from.driverCalls.get();
  to.graphLaunches += from.graphLaunches.get();
  to.regionsOnStreams += from.regionsOnStreams.get();
  to.constantUploads += from.constantUploads.get();
  to.residentUploads += from.residentUploads.get();
  to.uploadedBytes += from.uploadedBytes.get();
  to.capturedCalls += from.capturedCalls.get();
  to.failedCaptures += from.failedCaptures.get();
  to.libraryCalls += from.libraryCalls.get();
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
    subtract(now.streams, base.streams);
    subtract(now.events, base.events);
    subtract(now.modules, base.modules);
    subtract(now.buffers, base.buffers);
    subtract(now.graphs, base.graphs);
    now.moduleCacheHits -= base.moduleCacheHits;
    now.moduleCacheMisses -= base.moduleCacheMisses;
    now.moduleCacheEvictions -= base.moduleCacheEvictions;
    now.moduleCompileNs -= base.moduleCompileNs;
    now.moduleLoadNs -= base.moduleLoadNs;
    now.launches -= base.launches;
    now.hostWaits -= base.hostWaits;
    now.driverCalls -= base.driverCalls;
    now.graphLaunches -= base.graphLaunches;
    now.regionsOnStreams -= base.regionsOnStreams;
    now.constantUploads -= base.constantUploads;
    now.residentUploads -= base.residentUploads;
    now.uploadedBytes -= base.uploadedBytes;
    now.capturedCalls -= base.capturedCalls;
    now.failedCaptures -= base.failedCaptures;
    now.libraryCalls -= base.libraryCalls;
  }
  now.streams.physical = context->physicalStreams.load();
  now.events.physical = context->physicalEvents.load();
  now.modules.physical = context->physicalModules.load();
  now.buffers.physical = context->physicalBuffers.load();
  now.graphs.physical = context->physicalGraphs.load();
  now.deviceBytes = context->physicalBytes.load();
  now.bufferBytes = context->memory.liveBytes();
  return writeStruct(now, out, "gpuasync_stats").release();
}

void gpuasync_stats_reset(gpuasync_context *context) noexcept {
  if (!context || isForked())
    return;
  std::lock_guard<std::mutex> lock(context->poolMutex);
  context->base = sum(*context);
  auto restart = [](ObjectCounter &counter) {
    int64_t live =
        static_cast<int64_t>(counter.created.get() - counter.destroyed.get());
    counter.peak.set(live > 0 ? static_cast<uint64_t>(live) : 0);
  };
  auto restartAll = [&](Counters &counters) {
    restart(counters.streams);
    restart(counters.events);
    restart(counters.modules);
    restart(counters.buffers);
    restart(counters.graphs);
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
  auto object = [&](const char *name, const gpuasync_object_stats &part) {
    text.add(", \"%s\": {\"created\": %" PRIu64 ", \"destroyed\": %" PRIu64
             ", \"live\": %" PRIu64 ", \"peak\": %" PRIu64
             ", \"physical\": %" PRIu64 "}",
             name, part.created, part.destroyed, part.live, part.peak,
             part.physical);
  };
  object("streams", stats.streams);
  object("events", stats.events);
  object("modules", stats.modules);
  object("buffers", stats.buffers);
  object("graphs", stats.graphs);
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
