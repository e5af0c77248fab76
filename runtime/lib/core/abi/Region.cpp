//===- Region.cpp - Begin and end of regions ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that lowered code calls; what is between them is in core/region.
//===----------------------------------------------------------------------===//

#include "core/region/Recorder.h"

using namespace gpuasync;

/// Those of the frame's instance, made on first use.
static Regions &regionsOf(Instance &instance) {
  Regions *regions = instance.regions.load(std::memory_order_acquire);
  if (__builtin_expect(regions != nullptr, 1))
    return *regions;
  auto made = std::make_unique<Regions>(instance);
  if (instance.regions.compare_exchange_strong(regions, made.get(),
                                               std::memory_order_acq_rel))
    regions = made.release();
  return *regions;
}

/// Whether the calls of a region go anywhere but straight to their streams.
static bool isRecorded(const Frame &frame) {
  const Play play = process().play.load(std::memory_order_relaxed);
  return play != Play::Streams && !frame.capture && !process().syncLaunches &&
         (play == Play::Stream || frame.context->has(CapGraphs));
}

/// Plays what is recorded, if anything is; how.
static ExecutionMode endRegion(Frame &frame, const gpuasync_site *site) {
  if (!frame.region)
    return ExecutionMode::Streams;
  frame.run(site, [&] { return frame.region->finish(); });
  const ExecutionMode way = frame.region->lastPlayed();
  frame.instance->regions.load(std::memory_order_relaxed)->leave(frame);
  return way;
}

extern "C" {

void gpuasync_region_begin(gpuasync_frame *memory,
                           uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || frame->regionDepth++)
    return;
  frame->regionSpan.begin(HostKind::Region, "region", site);
  if (!isRecorded(*frame))
    return;
  frame->run(site, [&]() -> Status {
    if (!site)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT, "a region without a site");
    regionsOf(*frame->instance).enter(*frame, site);
    return Status();
  });
}

void gpuasync_region_end(gpuasync_frame *memory, uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable())
    return;
  if (__builtin_expect(!frame->regionDepth, 0))
    return frame->fail(makeStatus(GPUASYNC_INVALID_ARGUMENT,
                                  "the end of a region that did not begin"),
                       site);
  if (--frame->regionDepth)
    return;
  const ExecutionMode way = endRegion(*frame, site);
  frame->regionSpan.end(HostKind::Region, "region", site, nameOf(way));
}
}
