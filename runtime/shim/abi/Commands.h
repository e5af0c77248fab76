//===- Commands.h - Commands of frames and of fragments ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The warm work of an entry, after the entry's checks. Commands of a fragment
// that runs on streams come here too. Each function is inlined into both.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_ABI_COMMANDS_H
#define GPUASYNC_SHIM_ABI_COMMANDS_H

#include "shim/abi/Frame.h"

namespace gpuasync {

/// Launches the kernel of the site on a stream that can be given work.
[[gnu::always_inline]] inline Status
launchOn(Frame &frame, Stream &stream, const gpuasync_launch_config &config,
         const gpuasync_site *site) {
  DeviceUse &use = *stream.use;
  RETURN_IF_ERROR(frame.makeCurrent(use));
  const gpuasync_kernel *kernel = nullptr;
  NativeFunction function = nullptr;
  RETURN_IF_ERROR(use.instance->findKernel(site, kernel, function));
  return launchIn(frame, stream, *kernel, config, site, [&] {
    return putLaunch(frame, stream, function, *kernel, config, site);
  });
}

/// Records an event, which is the frame's from then on.
[[gnu::always_inline]] inline Status
recordOn(Frame &frame, Stream &stream, const gpuasync_site *site, Event *&out) {
  DeviceUse &use = *stream.use;
  RETURN_IF_ERROR(frame.makeCurrent(use));
  Event *event = nullptr;
  RETURN_IF_ERROR(use.context->events.take(use.slot, event));
  event->stream = frame.region || stream.external ? nullptr : &stream;
  event->position = stream.timeline.position();
  Status status =
      frame.region ? guard([&] { return frame.region->record(*event, stream); })
                   : use.device->recordEvent(event->native, stream.native);
  if (__builtin_expect(!status.ok(), 0)) {
    use.context->events.give(use.slot, event);
    return status;
  }
  event->live = true;
  event->origin.site = site;
  event->origin.program = frame.first.pin->registration;
  event->frame = &frame;
  linkFront(frame.events, event);
  use.slot->counters.events.create();
  out = event;
  return Status();
}

/// Makes later work of the stream wait for the event. The frame records no
/// region.
[[gnu::always_inline]] inline Status waitOn(Frame &frame, Stream &stream,
                                            const Event &event) {
  // A host wait on the stream covers it.
  stream.noteWait(&event, event.generation);
  RETURN_IF_ERROR(frame.makeCurrent(*stream.use));
  RETURN_IF_ERROR(
      stream.use->device->streamWaitEvent(stream.native, event.native));
  // An event of no frame may have been recorded anew (Session). Of a finished
  // stream another thread may be the owner.
  Stream *earlier = event.frame == &frame ? event.stream : nullptr;
  if (earlier && !earlier->timeline.hasFinished(event.position))
    earlier->noteCover(stream, event.position);
  return Status();
}

/// Gives back an event of the frame's.
[[gnu::always_inline]] inline void giveBack(Frame &frame, Event &event) {
  unlink(frame.events, &event);
  event.region = nullptr;
  DeviceUse &use = frame.useOf(*event.context);
  use.slot->counters.events.destroy();
  use.context->events.give(use.slot, &event);
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_ABI_COMMANDS_H
