//===- Region.cpp - Begin and end of regions ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that lowered code calls; what is between them is in
// services/graphs.
//===----------------------------------------------------------------------===//

#include "gpuasync/Check.h"
#include "shim/abi/Commands.h"

#include <algorithm>

using namespace gpuasync;

namespace {

/// Commands on streams that can be given work, outside of recorded regions: as
/// the entries, without what they check. A stream or an event may be null only
/// in a failed frame.
struct Calls {
  static constexpr auto create = gpuasync_stream_create;
  static void destroy(gpuasync_frame *frame, gpuasync_stream *stream,
                      uint32_t site) {
    gpuasync_stream_destroy(frame, stream, 0, site);
  }
  static gpuasync_event *record(gpuasync_frame *memory, gpuasync_stream *stream,
                                uint32_t index) {
    Frame &frame = *Frame::of(memory);
    const gpuasync_site *site = frame.siteAt(index);
    Event *event = nullptr;
    return frame.usable() &&
                   frame.run(
                       site,
                       [&] { return recordOn(frame, *stream, site, event); })
               ? event->handle()
               : nullptr;
  }
  static void destroy(gpuasync_frame *memory, gpuasync_event *event, uint32_t) {
    Frame &frame = *Frame::of(memory);
    if (frame.usable())
      giveBack(frame, *Event::of(event));
  }
  static void wait(gpuasync_frame *memory, gpuasync_stream *stream,
                   gpuasync_event *event, uint32_t index) {
    Frame &frame = *Frame::of(memory);
    if (event && frame.usable())
      frame.run(frame.siteAt(index),
                [&] { return waitOn(frame, *stream, *Event::of(event)); });
  }
  static void launch(gpuasync_frame *memory, gpuasync_stream *stream,
                     uint32_t index, const gpuasync_launch_config *config) {
    Frame &frame = *Frame::of(memory);
    const gpuasync_site *site = frame.siteAt(index);
    if (frame.usable())
      frame.run(site, [&] { return launchOn(frame, *stream, *config, site); });
  }
  static constexpr auto copy = gpuasync_memcpy;
  static constexpr auto copyStrided = gpuasync_memcpy_strided;
  static constexpr auto fill = gpuasync_memset;
  static constexpr auto fillStrided = gpuasync_memset_strided;
  static constexpr auto call = gpuasync_call_replayable;
};

} // namespace

/// Finds what is known of the fragment, unless something is wrong with it or
/// with the call.
static Status prepare(Frame &frame, const gpuasync_fragment *fragment,
                      gpuasync_stream *const *lanes, const void *block,
                      const PreparedFragment *&out) {
  if (!frame.regionDepth)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "a fragment in no region");
  if (!fragment)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null fragment");
  RETURN_IF_ERROR(frame.first.instance->fragments.find(*fragment, out));
  if ((fragment->laneCount && !lanes) || (fragment->argumentBytes && !block))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      lanes ? "null arguments" : "null lanes");
  return Status();
}

/// Whether the lanes are streams of the devices that the fragment says.
static Status checkDevices(Frame &frame, const gpuasync_fragment &fragment,
                           gpuasync_stream *const *lanes) {
  for (uint32_t i = 0; i < fragment.laneCount; ++i) {
    DeviceUse *use = nullptr;
    const uint32_t device = deviceOf(fragment, i);
    RETURN_IF_ERROR(frame.findDevice(device, use));
    if (lanes[i] && lanes[i]->use != use)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "lane %u of a fragment is on device %u, and its stream "
                        "is not",
                        i, device);
  }
  return Status();
}

static bool ownsLanes(Frame &frame, const gpuasync_fragment &fragment,
                      gpuasync_stream *const *lanes,
                      const gpuasync_site *site) {
  for (uint32_t i = 0; i < fragment.laneCount; ++i)
    if (lanes[i] && !frame.owns(lanes[i], site))
      return false;
  return __builtin_expect(!frame.more && !fragment.laneDevices, 1) ||
         frame.run(site, [&] { return checkDevices(frame, fragment, lanes); });
}

/// Whether no lane is a caller's stream.
static bool areOwn(const gpuasync_fragment &fragment,
                   gpuasync_stream *const *lanes) {
  return std::none_of(
      lanes, lanes + fragment.laneCount,
      [](const gpuasync_stream *lane) { return lane && lane->external; });
}

void gpuasync::runOnStreams(Frame &frame, const PreparedFragment &prepared,
                            Stream *const *lanes, const void *block) {
  auto *memory = reinterpret_cast<gpuasync_frame *>(&frame);
  const gpuasync_fragment &fragment = prepared.fragment;
  if (__builtin_expect(frame.first.context->has(CapEdgesOnly), 0) &&
      areOwn(fragment, lanes) && !frame.capture)
    makeCommandsByEdges(Calls(), memory, fragment, lanes, block);
  else
    makeCommands(Calls(), memory, fragment, prepared.awaited, lanes, block);
}

/// Finds what is known of the fragment; null: something is wrong with the call.
static const PreparedFragment *check(Frame &frame,
                                     const gpuasync_fragment *fragment,
                                     gpuasync_stream *const *lanes,
                                     const void *arguments) {
  const gpuasync_site *site = fragment ? frame.siteAt(fragment->site) : nullptr;
  const PreparedFragment *prepared = nullptr;
  const bool isSound = frame.run(site, [&]() -> Status {
    RETURN_IF_ERROR(prepare(frame, fragment, lanes, arguments, prepared));
    return checkAllArguments(*prepared, arguments);
  });
  return isSound && ownsLanes(frame, *fragment, lanes, site) ? prepared
                                                             : nullptr;
}

extern "C" {

bool gpuasync_check_fragment(gpuasync_frame *memory,
                             const gpuasync_fragment *fragment,
                             gpuasync_stream *const *lanes,
                             const void *arguments) noexcept {
  Frame *frame = Frame::of(memory);
  return frame->usable() && check(*frame, fragment, lanes, arguments);
}

void gpuasync_region_add(gpuasync_frame *memory,
                         const gpuasync_fragment *fragment,
                         gpuasync_stream *const *lanes,
                         const void *arguments) noexcept {
  Frame *frame = Frame::of(memory);
  if (!frame->usable())
    return;
  if (!frame->region) {
    if (const PreparedFragment *prepared =
            check(*frame, fragment, lanes, arguments))
      runOnStreams(*frame, *prepared, lanes, arguments);
    return;
  }
  const gpuasync_site *site =
      fragment ? frame->siteAt(fragment->site) : nullptr;
  const PreparedFragment *prepared = nullptr;
  if (frame->run(site,
                 [&] {
                   return prepare(*frame, fragment, lanes, arguments, prepared);
                 }) &&
      ownsLanes(*frame, *fragment, lanes, site))
    frame->run(site,
               [&] { return frame->region->add(*prepared, lanes, arguments); });
}

void gpuasync_region_run(gpuasync_frame *memory,
                         const gpuasync_fragment *fragment,
                         gpuasync_stream *const *lanes,
                         const void *arguments) noexcept {
  const uint32_t site = fragment ? fragment->site : GPUASYNC_NO_SITE;
  gpuasync_region_begin(memory, site);
  gpuasync_region_add(memory, fragment, lanes, arguments);
  gpuasync_region_end(memory, site);
}

void gpuasync_region_begin(gpuasync_frame *memory,
                           uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || frame->regionDepth++)
    return;
  frame->regionSpan.begin(HostKind::Region, "region", site);
  if (beginRegion)
    frame->run(site, [&] { return beginRegion(*frame, site); });
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
  const char *mode = frame->region ? frame->region->end(site) : "streams";
  frame->regionSpan.end(HostKind::Region, "region", site, mode);
}
}
