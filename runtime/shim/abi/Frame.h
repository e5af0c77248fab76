//===- Frame.h - One invocation of a public function ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lies in the caller's gpuasync_frame. It belongs to one thread, so
// nothing in it is atomic; its lists are intrusive, so entering, working and
// leaving allocate nothing.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_ABI_FRAME_H
#define GPUASYNC_SHIM_ABI_FRAME_H

#include "shim/abi/CommandSink.h"
#include "shim/context/ContextImpl.h"
#include "shim/pool/DeviceUse.h"
#include "shim/process/Tracer.h"
#include "shim/timepoint/HostWaitPredictor.h"

namespace gpuasync {

struct Extent;
class FrameCapture;

struct Frame : OpenFrame {
  /// The program's; none before its version is known to be ours.
  const gpuasync_site *sites = nullptr;
  uint32_t siteCount = 0;
  bool left = false;
  bool mayHaveAliases = false; ///< a stream of the frame may follow another one
  ThreadState *thread = nullptr;
  SavedContext saved; ///< what was current before the frame
  gpuasync_status *error = nullptr;
  Stream *streams = nullptr;
  /// Given back by the program with work on them, of which nobody knows that it
  /// is over: an error must wait for it. `frame` of these is null.
  Stack<Stream> ended;
  Event *events = nullptr;
  FrameCapture *capture = nullptr; ///< of the caller's stream; null: none
  CommandSink *region = nullptr; ///< takes the work of the region; may be null
  uint32_t regionDepth = 0;
  HostSpan span, regionSpan; ///< the frame, and the region that it is in
  /// The last graph of the frame, for a host wait to find.
  struct LastGraphLaunch {
    HostWaitPredictor *awaited = nullptr;
    const Timeline *on = nullptr;
    uint64_t position = 0; ///< behind it, and behind frees that follow
    bool isNewestOf(const Timeline &timeline) const {
      return on == &timeline && position == timeline.position();
    }
  };
  LastGraphLaunch lastGraph;
  /// The library call that the frame is in.
  struct ActiveLibraryCall {
    gpuasync_call call;
    char *report = nullptr; ///< malloc; what the library said
    Stream *on = nullptr;   ///< the stream of a call on one
    /// The streams of a call on several, which `call.streams` and
    /// `call.ordinals` follow in memory (malloc).
    Stream **several = nullptr;
    HostSpan span;
    Stream *const *streams() const { return several ? several : &on; }
    /// The thread is the library's.
    bool isOpen() const { return on || several; }
  };
  ActiveLibraryCall libraryCall;
  /// A pass through a region whose time is taken, from its begin to the host
  /// wait that follows. The service's.
  struct TimedPass {
    void (*end)(Frame &frame, bool waited) = nullptr; ///< null: there is none
    void *tuner = nullptr;
    int64_t from = 0;
    uint8_t mode = 0;
    bool spoiled = false;  ///< the time says nothing of later passes
    bool building = false; ///< since a graph was made
  };
  TimedPass timedPass;
  /// A graph is the last on the stream, and the host waited for it each time.
  bool isWaitExpected(const Stream &stream) const {
    return lastGraph.isNewestOf(stream.timeline) &&
           lastGraph.awaited->isExpected();
  }
  void noteFree(Stream &stream, const gpuasync_site *site) {
    const bool isLast = lastGraph.isNewestOf(stream.timeline);
    stream.noteFree(site);
    if (isLast)
      ++lastGraph.position;
  }

  static Frame *of(gpuasync_frame *frame) {
    return reinterpret_cast<Frame *>(frame);
  }

  /// The site that a call passes; null if it has none.
  const gpuasync_site *siteAt(uint32_t index) const {
    return __builtin_expect(index < siteCount, 1) ? sites + index : nullptr;
  }
  /// Keeps the first error, with the site's location.
  void fail(Status status, const gpuasync_site *site);
  //===--- Devices
  /// Finds the device with this number.
  Status findDevice(uint32_t device, DeviceUse *&out) {
    if (__builtin_expect(device > moreCount, 0))
      return refuseDevice(device);
    out = device ? &more[device - 1] : &first;
    return Status();
  }
  /// The same, and makes its context current.
  Status enterDevice(uint32_t device, DeviceUse *&out) {
    RETURN_IF_ERROR(findDevice(device, out));
    return makeCurrent(*out);
  }
  Status refuseDevice(uint32_t device);
  /// Makes the device's context current for the driver calls that follow. A
  /// fault is noted in the context that is current.
  Status makeCurrent(DeviceUse &use) {
    return __builtin_expect(&use == current, 1) ? Status() : switchTo(use);
  }
  Status switchTo(DeviceUse &use);
  /// Adds a stream to the frame's.
  void take(Stream &stream, DeviceUse &use) {
    stream.frame = this;
    stream.use = &use;
    linkFront(streams, &stream);
  }

  /// Runs the work of one call; its error, and what it throws, are the frame's.
  /// True if it is ok.
  template <typename Body>
  bool run(const gpuasync_site *site, Body body) {
    Status status = guard(body);
    if (__builtin_expect(status.ok(), 1))
      return true;
    fail((current ? *current : first).context->noteFault(std::move(status)),
         site);
    return false;
  }
  /// The body of an entry: `body(frame, site)`, unless the frame failed. True
  /// if it is ok.
  template <typename Body>
  [[gnu::always_inline]] static bool enter(gpuasync_frame *memory,
                                           uint32_t siteIndex, Body body) {
    Frame &frame = *of(memory);
    const gpuasync_site *site = frame.siteAt(siteIndex);
    return frame.usable() && frame.run(site, [&] { return body(frame, site); });
  }
  /// False in a failed frame and in a forked child.
  bool usable() { return __builtin_expect(!failed, 1) && canCallDriver(); }
  /// False in a forked child, and where the process ends.
  bool canCallDriver() {
    if (__builtin_expect(hasEnded(), 0)) {
      fail(checkRefusal(), nullptr);
      return false;
    }
    return true;
  }
  /// Whether it is one of this frame's, even if it follows another one.
  bool holds(const Stream *stream) const {
    return stream && (stream->frame == this ||
                      (stream->aliasOf && stream->aliasOf->frame == this));
  }
  /// The same; fails the frame if it is not.
  bool holdsOrFails(Stream *stream, const gpuasync_site *site) {
    return holds(stream) || ownsOther(stream, site);
  }
  /// The program gives back a stream, which is off the list. `idle`: its work
  /// is over.
  void end(Stream &stream, bool idle);
  /// Lets those ended ones go whose work is over.
  void reapEnded();
  /// Orders later work of `last` behind that of `other`.
  Status join(Stream &last, Stream &other);
  /// Tells the driver what the stream follows, if it does.
  Status follow(Stream &stream);
  /// The same of all that follow `stream`, which leaves the frame. `idle`: its
  /// work is over.
  void resolveAliases(Stream &stream, bool idle) {
    if (__builtin_expect(region || mayHaveAliases, 0))
      resolveAnyAliases(stream, idle);
  }
  void resolveAnyAliases(Stream &stream, bool idle);
  /// Before a copy or a fill of the stream's: what a region has recorded comes
  /// first. False after an error.
  bool beginWork(Stream &stream, const gpuasync_site *site) {
    if (__builtin_expect(region != nullptr, 0) &&
        !run(site, [&] { return flushBefore(stream); }))
      return false;
    stream.note(site);
    return true;
  }
  /// Enqueues what the region has taken.
  Status flush() { return region ? region->flush() : Status(); }
  /// The same, and the stream can be given more.
  Status flushBefore(Stream &stream) {
    if (__builtin_expect(!region, 1))
      return Status();
    RETURN_IF_ERROR(region->flush());
    return follow(stream);
  }
  /// Whether `stream` is one of this frame's that can be given work; fails the
  /// frame otherwise.
  bool owns(Stream *stream, const gpuasync_site *site) {
    if (__builtin_expect(stream && stream->frame == this, 1))
      return true;
    return ownsOther(stream, site);
  }
  /// The same of one that is not its own, or that follows another one.
  bool ownsOther(Stream *stream, const gpuasync_site *site);
};

static_assert(sizeof(Frame) <= sizeof(gpuasync_frame));

/// Whether nothing of a launch needs a closer look: all sizes are positive, the
/// parameters are the kernel's, and there are neither clusters nor flags.
inline bool isPlain(const gpuasync_kernel &kernel,
                    const gpuasync_launch_config &block) {
  const int64_t *grid = block.grid, *size = block.block, *of = block.cluster;
  const int64_t signs = grid[0] | grid[1] | grid[2] | size[0] | size[1] |
                        size[2] | block.dynamicSharedBytes;
  const auto clusters = static_cast<uint64_t>(of[0] | of[1] | of[2]);
  return signs >= 0 && grid[0] && grid[1] && grid[2] && size[0] && size[1] &&
         size[2] && clusters <= 1 && !block.flags &&
         block.paramBytes == kernel.paramBytes &&
         kernel.paramCount != UINT32_MAX;
}
/// checkBlock of any launch (Launch.cpp).
Status checkAnyBlock(const gpuasync_context &context,
                     const gpuasync_kernel &kernel,
                     const gpuasync_launch_config &block, bool &empty);
/// Refuses sizes that no launch may have. `empty`: a size is 0.
inline Status checkBlock(const gpuasync_context &context,
                         const gpuasync_kernel &kernel,
                         const gpuasync_launch_config &block, bool &empty) {
  empty = false;
  return __builtin_expect(isPlain(kernel, block), 1)
             ? Status()
             : checkAnyBlock(context, kernel, block, empty);
}
/// Waits for streams of a frame on the host (Wait.cpp).
Status hostWait(Frame &frame, Stream *const *streams, uint32_t count);
/// Says whether all work on a stream of a frame is done (Wait.cpp).
Status hostQuery(Frame &frame, Stream &stream, bool &done);
/// Waits until unfinished copies of this frame and of outer ones have written
/// their parts of pageable memory; `staged`: those that the host writes. Copies
/// of the device `except` of this frame are not waited for (Transfer.cpp).
Status settleDownloads(Frame &frame, const char *first, uint64_t bytes,
                       bool staged, const DeviceUse *except = nullptr);
/// putLaunch of a launch that the host waits for next (Launch.cpp).
Status putAwaitedLaunch(Frame &frame, Stream &stream, NativeFunction function,
                        const gpuasync_kernel &kernel,
                        const gpuasync_launch_config &block,
                        const gpuasync_site *site);
/// Puts a launch on the stream, which has counted it. Where the host waits for
/// it next, its kernel tells of its end if it can.
inline Status putLaunch(Frame &frame, Stream &stream, NativeFunction function,
                        const gpuasync_kernel &kernel,
                        const gpuasync_launch_config &block,
                        const gpuasync_site *site) {
  if (site->flags & GPUASYNC_SITE_AWAITED)
    return putAwaitedLaunch(frame, stream, function, kernel, block, site);
  return stream.use->device->submit(stream.native,
                                    Command(function, kernel, block, site));
}
/// A launch, for which `start` calls the driver.
template <typename Start>
[[gnu::always_inline]] inline Status
launchIn(Frame &frame, Stream &stream, const gpuasync_kernel &kernel,
         const gpuasync_launch_config &block, const gpuasync_site *site,
         Start start) {
  bool empty = false;
  RETURN_IF_ERROR(checkBlock(*stream.use->context, kernel, block, empty));
  stream.use->slot->counters.launches.add(1);
  stream.note(site);
  if (empty)
    return Status(); // keeps order by doing nothing
  RETURN_IF_ERROR(start());
  if (__builtin_expect(!process().syncLaunches || frame.capture, 1))
    return Status();
  Stream *const streams[] = {&stream};
  return hostWait(frame, streams, 1); // tells of a fault where it was made
}
/// Calls a library's function, which enqueues on the frame's streams
/// (Call.cpp).
Status callLibrary(Frame &frame, Stream *const *streams, uint32_t count,
                   const LibraryCall &library, const gpuasync_site *site);
/// The same on a stream that is being captured for a graph; the thread is the
/// library's already.
Status captureLibrary(Frame &frame, NativeStream stream,
                      const LibraryCall &library, const gpuasync_site *site);
/// The device's, with an error that says what the rules are (TensorMap.cpp).
Status encodeTensorMap(gpuasync_context &context, const TensorMap &map,
                       void *out);
/// Finds or makes the device's copy of an argument that the device does not
/// reach. Null without an error: the device does reach it. A service's, or what
/// is in its place.
Status findResident(Frame &frame, DeviceUse &use, const void *pointer,
                    uint64_t bytes, PoolAllocation *&out);
/// Puts the commands of a sound fragment on their streams. What fails is the
/// frame's error (Region.cpp).
void runOnStreams(Frame &frame, const PreparedFragment &prepared,
                  Stream *const *lanes, const void *block);
/// After an error: waits, frees what the frame holds (Frame.cpp).
void releaseAfterError(Frame &frame);
/// Lists what the frame's streams have not finished: "a; b; ...".
std::string listUnfinished(const Frame &frame);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_ABI_FRAME_H
