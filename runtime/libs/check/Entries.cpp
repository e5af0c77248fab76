//===- Entries.cpp - What stands in for the runtime's functions -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checked program calls these in place of RuntimeABI.h's: each notes what the
// call means for order and memory and then makes it.
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "gpuasync/Context.h"
#include "shim/base/Settings.h"
#include "shim/command/Extent.h"
#include "shim/command/Fragment.h"

#include <algorithm>
#include <stdlib.h>
#include <string.h>

using namespace gpuasync::check;
using gpuasync::Extent;
using gpuasync::extentOf;
using gpuasync::findExtent;

extern thread_local gpuasync::check::OpIndex gpuasyncCheckLaunch;

/// Freed memory up to this size is kept: less than a quarter of the device's.
static uint64_t quarantineLimit() {
  static const uint64_t limit = [] {
    // A context has opened, so there is nothing wrong with the value.
    uint64_t memory = 1u << 30;
    (void)gpuasync::sizeSetting("GPU_ASYNC_CPU_MEMORY", 1, memory);
    return std::min<uint64_t>(memory / 4, 256u << 20);
  }();
  return limit;
}

static Checker &checker() { return Checker::get(); }

static const gpuasync_site *at(gpuasync_frame *frame, uint32_t site) {
  return gpuasync_check_site(frame, site);
}

/// Whether there is something to note: not in a failed frame, nor in a forked
/// child, where another thread's lock would never be released.
static bool isNoted(const gpuasync_frame *frame) {
  return !frame->failed && !gpuasync_process_forked();
}

//===----------------------------------------------------------------------===//
// Frames, streams, events
//===----------------------------------------------------------------------===//

static int32_t frameEnter(gpuasync_frame *frame,
                          const gpuasync_function *function) noexcept {
  int32_t failed = gpuasync_frame_enter(frame, function);
  if (gpuasync_process_forked())
    return failed;
  checker().lastFunction = function;
  checker().enter(frame);
  return failed;
}

static void beforeLeave(gpuasync_frame *frame) {
  if (gpuasync_process_forked())
    return;
  if (frame->failed) {
    checker().order.endFailed(frame);
    checker().forget(frame);
    return;
  }
  checker().leave(frame);
  checker().drain(frame, quarantineLimit());
}

static gpuasync_status *frameLeave(gpuasync_frame *frame) noexcept {
  beforeLeave(frame);
  return gpuasync_frame_leave(frame);
}

static void frameLeaveOrAbort(gpuasync_frame *frame) noexcept {
  beforeLeave(frame);
  gpuasync_frame_leave_or_abort(frame);
}

static gpuasync_stream *streamCreate(gpuasync_frame *frame, uint32_t device,
                                     uint32_t site) noexcept {
  gpuasync_stream *stream = gpuasync_stream_create(frame, device, site);
  if (stream)
    checker().order.createStream(stream, frame);
  return stream;
}

static gpuasync_stream *streamCreateUrgent(gpuasync_frame *frame,
                                           uint32_t device,
                                           uint32_t site) noexcept {
  gpuasync_stream *stream = gpuasync_stream_create_urgent(frame, device, site);
  if (stream)
    checker().order.createStream(stream, frame);
  return stream;
}

static gpuasync_stream *streamExternal(gpuasync_frame *frame, uint32_t device,
                                       void *native, uint32_t site) noexcept {
  gpuasync_stream *stream =
      gpuasync_stream_external(frame, device, native, site);
  if (stream)
    checker().order.createExternal(stream, frame, native);
  return stream;
}

/// What the library does with memory is not seen; it is work of its own.
static void *streamNative(gpuasync_frame *frame, gpuasync_stream *stream,
                          uint32_t site) noexcept {
  void *native = gpuasync_stream_native(frame, stream, site);
  if (!frame->failed)
    checker().order.add(stream, at(frame, site));
  return native;
}

static void streamDestroy(gpuasync_frame *frame, gpuasync_stream *stream,
                          uint32_t flags, uint32_t site) noexcept {
  if (isNoted(frame))
    checker().order.destroyStream(stream);
  gpuasync_stream_destroy(frame, stream, flags, site);
}

static void streamWait(gpuasync_frame *frame, gpuasync_stream *stream,
                       gpuasync_event *event, uint32_t site) noexcept {
  if (isNoted(frame))
    checker().order.waitOnStream(stream, event);
  gpuasync_stream_wait(frame, stream, event, site);
}

static int32_t streamSynchronize(gpuasync_frame *frame,
                                 gpuasync_stream *const *streams,
                                 uint32_t count, uint32_t site) noexcept {
  int32_t failed = gpuasync_stream_synchronize(frame, streams, count, site);
  for (uint32_t i = 0; i < count && !failed; ++i)
    checker().order.waitOnHost(streams[i]);
  return failed;
}

static int32_t streamQuery(gpuasync_frame *frame, gpuasync_stream *stream,
                           uint32_t site) noexcept {
  int32_t done = gpuasync_stream_query(frame, stream, site);
  if (done)
    checker().order.waitOnHost(stream);
  return done;
}

static gpuasync_event *eventRecord(gpuasync_frame *frame,
                                   gpuasync_stream *stream,
                                   uint32_t site) noexcept {
  gpuasync_event *event = gpuasync_event_record(frame, stream, site);
  if (event)
    checker().order.recordEvent(event, stream);
  return event;
}

static void eventDestroy(gpuasync_frame *frame, gpuasync_event *event,
                         uint32_t site) noexcept {
  if (isNoted(frame))
    checker().order.destroyEvent(event);
  gpuasync_event_destroy(frame, event, site);
}

static int32_t eventSynchronize(gpuasync_frame *frame,
                                gpuasync_event *const *events, uint32_t count,
                                uint32_t site) noexcept {
  int32_t failed = gpuasync_event_synchronize(frame, events, count, site);
  for (uint32_t i = 0; i < count && !failed; ++i)
    checker().order.waitOnHost(events[i]);
  return failed;
}

static gpuasync_event *eventExport(gpuasync_frame *frame, gpuasync_event *event,
                                   uint32_t site) noexcept {
  gpuasync_event *moved = gpuasync_event_export(frame, event, site);
  if (isNoted(frame))
    checker().order.moveEvent(event, moved);
  return moved;
}

static gpuasync_event *eventImport(gpuasync_frame *frame, gpuasync_event *event,
                                   uint32_t site) noexcept {
  gpuasync_event *moved = gpuasync_event_import(frame, event, site);
  if (isNoted(frame))
    checker().order.moveEvent(event, moved);
  return moved;
}

//===----------------------------------------------------------------------===//
// Work. Sizes that mean nothing are the runtime's to refuse.
//===----------------------------------------------------------------------===//

static void launch(gpuasync_frame *frame, gpuasync_stream *stream,
                   uint32_t site,
                   const gpuasync_launch_config *block) noexcept {
  if (isNoted(frame))
    gpuasyncCheckLaunch = checker().order.add(stream, at(frame, site), block);
  gpuasync_launch(frame, stream, site, block);
  gpuasyncCheckLaunch = 0;
}

/// False if it must not happen.
static bool access(const void *address, uint64_t bytes, uint8_t flags,
                   OpIndex op) {
  Allocation *memory = checker().findWhole(address, extentOf(bytes), flags, op);
  if (memory)
    checker().accessRange(*memory, address, bytes, flags, op);
  return memory;
}

static void copy(gpuasync_frame *frame, gpuasync_stream *stream,
                 void *destination, const void *source, uint64_t bytes,
                 uint32_t site) noexcept {
  bool allowed = mayCopy(!bytes);
  if (frame->failed || !bytes || bytes > INT64_MAX)
    return gpuasync_memcpy(frame, stream, destination, source, bytes, site);
  OpIndex op = checker().order.add(stream, at(frame, site));
  if (allowed && access(source, bytes, GPUASYNC_CHECK_READ, op) &&
      access(destination, bytes, GPUASYNC_CHECK_WRITE, op))
    gpuasync_memcpy(frame, stream, destination, source, bytes, site);
}

namespace {
/// What the thread's next library call is given. Without a destructor: threads
/// call while they end, too.
struct Operands {
  struct Operand {
    void *address, *base;
    uint64_t access;
    bool noGaps;
  };
  Operand list[32];
  uint32_t count;
};
} // namespace
static thread_local Operands operands;

extern "C" void gpuasync_check_operand(void *address, void *base,
                                       uint64_t access,
                                       uint32_t noGaps) noexcept {
  if (operands.count < 32 && access >> 8)
    operands.list[operands.count++] = {address, base, access, noGaps != 0};
}

/// False if the function must not be given it.
static bool accessOperand(const Operands::Operand &operand, OpIndex op) {
  const uint64_t bytes = operand.access >> 8;
  const auto flags = static_cast<uint8_t>(operand.access);
  // In the memory that it was computed from.
  const auto address = reinterpret_cast<uintptr_t>(operand.address);
  const auto base = reinterpret_cast<uintptr_t>(operand.base);
  Allocation *memory = checker().find(base);
  if (!memory)
    memory = checker().find(address);
  if (!memory) {
    Access access;
    access.op = op;
    access.flags = flags;
    const std::string place = placeOf(access);
    checker().report(Kind::HostMemory, place, "",
                     errorAt(place, "host memory is given to a library's "
                                    "function, neither registered nor "
                                    "host-shared: " +
                                        describe(access)));
    return false;
  }
  const void *first = operand.address;
  Extent extent = extentOf(bytes);
  if (!memory->contains(address)) {
    // Seen from the memory's begin, or from what comes before that.
    const auto low = static_cast<int64_t>(address - memory->base);
    extent = {std::min<int64_t>(low, 0), low + extent.high};
    first = reinterpret_cast<void *>(memory->base);
  }
  if (!checker().findWhole(first, extent, flags, op))
    return false;
  if (operand.noGaps)
    checker().accessRange(*memory, operand.address, bytes, flags, op);
  return true;
}

static const gpuasync_call *callBegin(gpuasync_frame *frame,
                                      gpuasync_stream *const *streams,
                                      uint32_t count, uint32_t site) noexcept {
  const uint32_t given = operands.count;
  operands.count = 0;
  const gpuasync_call *call = gpuasync_call_begin(frame, streams, count, site);
  if (!call || gpuasync_process_forked())
    return call;
  const OpIndex op = checker().order.add(streams[0], at(frame, site));
  bool allowed = true;
  for (uint32_t i = 0; i < given; ++i)
    allowed &= accessOperand(operands.list[i], op);
  if (allowed)
    return call;
  gpuasync_call_end(frame, 0, site);
  return nullptr;
}

/// In no region: a checked program plays all on streams.
static void callReplayable(
    gpuasync_frame *frame, gpuasync_stream *const *streams, uint32_t count,
    int32_t (*function)(const gpuasync_call *call, const void *arguments),
    const void *arguments, uint32_t, uint32_t site) noexcept {
  if (const gpuasync_call *call = callBegin(frame, streams, count, site))
    gpuasync_call_end(frame, function(call, arguments), site);
}

/// Calls `visit(byte offset, bytes)` for the contiguous pieces of strided data.
template <typename Visit>
static void forPieces(const int64_t *sizes, const int64_t *strides,
                      uint32_t rank, uint32_t elementBytes, Visit visit) {
  uint64_t piece = elementBytes;
  uint32_t outer = rank;
  while (outer &&
         static_cast<uint64_t>(strides[outer - 1]) * elementBytes == piece)
    piece *= static_cast<uint64_t>(sizes[--outer]);
  int64_t index[64] = {};
  while (true) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < outer; ++i)
      offset += index[i] * strides[i] * int64_t(elementBytes);
    visit(offset, piece);
    uint32_t dim = outer;
    while (dim && ++index[dim - 1] == sizes[dim - 1])
      index[--dim] = 0;
    if (!dim)
      return;
  }
}

/// Of data whose extent is not empty. False if it must not happen.
static bool accessStrided(const void *first, const int64_t *sizes,
                          const int64_t *strides, uint32_t rank,
                          uint32_t elementBytes, const Extent &extent,
                          uint8_t flags, OpIndex op) {
  Allocation *memory = checker().findWhole(first, extent, flags, op);
  if (!memory)
    return false;
  forPieces(sizes, strides, rank, elementBytes,
            [&](int64_t offset, uint64_t bytes) {
              checker().accessRange(*memory,
                                    static_cast<const char *>(first) + offset,
                                    bytes, flags, op);
            });
  return true;
}

static void copyStrided(gpuasync_frame *frame, gpuasync_stream *stream,
                        void *destination, const int64_t *destinationStrides,
                        const void *source, const int64_t *sourceStrides,
                        const int64_t *sizes, uint32_t rank,
                        uint32_t elementBytes, uint32_t site) noexcept {
  Extent from, to;
  // What is null is the runtime's to refuse, too.
  bool isSound = rank <= 64 && sizes && sourceStrides && destinationStrides &&
                 source && destination &&
                 findExtent(sizes, sourceStrides, rank, elementBytes, from) &&
                 findExtent(sizes, destinationStrides, rank, elementBytes, to);
  bool allowed = mayCopy(isSound && !from.bytes());
  if (!frame->failed && isSound && from.bytes() && allowed) {
    OpIndex op = checker().order.add(stream, at(frame, site));
    allowed = accessStrided(source, sizes, sourceStrides, rank, elementBytes,
                            from, GPUASYNC_CHECK_READ, op);
    allowed &= accessStrided(destination, sizes, destinationStrides, rank,
                             elementBytes, to, GPUASYNC_CHECK_WRITE, op);
  }
  if (allowed)
    gpuasync_memcpy_strided(frame, stream, destination, destinationStrides,
                            source, sourceStrides, sizes, rank, elementBytes,
                            site);
}

static void fill(gpuasync_frame *frame, gpuasync_stream *stream,
                 void *destination, const void *pattern, uint32_t elementBytes,
                 uint64_t count, uint32_t site) noexcept {
  bool allowed = mayCopy(!count);
  if (!isNoted(frame) || !count || count > INT64_MAX / 16)
    return gpuasync_memset(frame, stream, destination, pattern, elementBytes,
                           count, site);
  if (allowed && access(destination, elementBytes * count, GPUASYNC_CHECK_WRITE,
                        checker().order.add(stream, at(frame, site))))
    gpuasync_memset(frame, stream, destination, pattern, elementBytes, count,
                    site);
}

static void fillStrided(gpuasync_frame *frame, gpuasync_stream *stream,
                        void *destination, const int64_t *strides,
                        const int64_t *sizes, uint32_t rank,
                        const void *pattern, uint32_t elementBytes,
                        uint32_t site) noexcept {
  Extent extent;
  bool isSound = rank <= 64 && sizes && strides && destination &&
                 findExtent(sizes, strides, rank, elementBytes, extent);
  bool allowed = mayCopy(isSound && !extent.bytes());
  if (!frame->failed && isSound && extent.bytes() && allowed)
    allowed = accessStrided(destination, sizes, strides, rank, elementBytes,
                            extent, GPUASYNC_CHECK_WRITE,
                            checker().order.add(stream, at(frame, site)));
  if (allowed)
    gpuasync_memset_strided(frame, stream, destination, strides, sizes, rank,
                            pattern, elementBytes, site);
}

namespace {

/// The functions of this file.
struct Calls {
  static constexpr auto create = streamCreate;
  static void destroy(gpuasync_frame *frame, gpuasync_stream *stream,
                      uint32_t site) {
    streamDestroy(frame, stream, 0, site);
  }
  static constexpr auto record = eventRecord;
  static void destroy(gpuasync_frame *frame, gpuasync_event *event,
                      uint32_t site) {
    eventDestroy(frame, event, site);
  }
  static constexpr auto wait = streamWait;
  static constexpr auto launch = ::launch;
  static constexpr auto copy = ::copy;
  static constexpr auto copyStrided = ::copyStrided;
  static constexpr auto fill = ::fill;
  static constexpr auto fillStrided = ::fillStrided;
  static constexpr auto call = callReplayable;
};

} // namespace

/// A fragment is the calls that it stands for. The runtime refuses one that is
/// not sound.
static void regionAdd(gpuasync_frame *frame, const gpuasync_fragment *fragment,
                      gpuasync_stream *const *lanes,
                      const void *arguments) noexcept {
  if (gpuasync_check_fragment(frame, fragment, lanes, arguments))
    gpuasync::makeCommands(Calls(), frame, *fragment,
                           gpuasync::AwaitedInFragment(*fragment), lanes,
                           arguments);
}

static void regionRun(gpuasync_frame *frame, const gpuasync_fragment *fragment,
                      gpuasync_stream *const *lanes,
                      const void *arguments) noexcept {
  const uint32_t site = fragment ? fragment->site : GPUASYNC_NO_SITE;
  gpuasync_region_begin(frame, site);
  regionAdd(frame, fragment, lanes, arguments);
  gpuasync_region_end(frame, site);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void *alloc(gpuasync_frame *frame, uint32_t device,
                   gpuasync_stream *stream, uint64_t bytes, uint32_t flags,
                   uint32_t site) noexcept {
  void *memory = gpuasync_alloc(frame, device, stream, bytes, flags, site);
  if (memory)
    checker().add(memory, bytes,
                  flags & GPUASYNC_ALLOC_HOST_SHARED ? MemoryKind::HostShared
                                                     : MemoryKind::Device,
                  at(frame, site), frame, nullptr,
                  checker().order.addFree(stream, at(frame, site)));
  return memory;
}

static void dealloc(gpuasync_frame *frame, uint32_t device,
                    gpuasync_stream *stream, void *pointer,
                    uint32_t site) noexcept {
  // What is not ours to keep is the runtime's to free or to refuse.
  if (isNoted(frame) && pointer &&
      checker().free(frame, pointer, stream, at(frame, site),
                     quarantineLimit()))
    return;
  gpuasync_dealloc(frame, device, stream, pointer, site);
}

static void hostRegister(gpuasync_frame *frame, void *pointer, uint64_t bytes,
                         uint32_t site) noexcept {
  gpuasync_host_register(frame, pointer, bytes, site);
  if (isNoted(frame) && pointer && bytes)
    checker().registerHost(pointer, bytes, at(frame, site));
}

static void hostUnregister(gpuasync_frame *frame, void *pointer,
                           uint32_t site) noexcept {
  gpuasync_host_unregister(frame, pointer, site);
  if (isNoted(frame) && pointer)
    checker().unregisterHost(pointer);
}

/// What stays on the device is here the host's own memory, and stays so.
static void *constantArray(gpuasync_frame *frame, uint32_t device,
                           uint32_t index, uint32_t site) noexcept {
  void *memory = gpuasync_constant(frame, device, index, site);
  uint64_t bytes = memory && isNoted(frame)
                       ? gpuasync_check_constant_bytes(frame, index)
                       : 0;
  if (bytes)
    checker().registerHost(memory, bytes, at(frame, site));
  return memory;
}

static void *resident(gpuasync_frame *frame, uint32_t device,
                      const void *pointer, uint64_t bytes,
                      uint32_t site) noexcept {
  void *memory = gpuasync_resident(frame, device, pointer, bytes, site);
  if (memory && bytes && isNoted(frame))
    checker().registerHost(memory, bytes, at(frame, site));
  return memory;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

extern "C" void *gpuasync_check_find(const char *name) noexcept {
  struct Entry {
    const char *name;
    void *address;
  };
#define GPUASYNC_ENTRY(name, function)                                         \
  {                                                                            \
    #name, reinterpret_cast<void *>(function)                                  \
  }
  static const Entry entries[] = {
      GPUASYNC_ENTRY(gpuasync_frame_enter, &frameEnter),
      GPUASYNC_ENTRY(gpuasync_frame_leave, &frameLeave),
      GPUASYNC_ENTRY(gpuasync_frame_leave_or_abort, &frameLeaveOrAbort),
      GPUASYNC_ENTRY(gpuasync_stream_create, &streamCreate),
      GPUASYNC_ENTRY(gpuasync_stream_create_urgent, &streamCreateUrgent),
      GPUASYNC_ENTRY(gpuasync_stream_external, &streamExternal),
      GPUASYNC_ENTRY(gpuasync_stream_native, &streamNative),
      GPUASYNC_ENTRY(gpuasync_stream_destroy, &streamDestroy),
      GPUASYNC_ENTRY(gpuasync_stream_wait, &streamWait),
      GPUASYNC_ENTRY(gpuasync_stream_synchronize, &streamSynchronize),
      GPUASYNC_ENTRY(gpuasync_stream_query, &streamQuery),
      GPUASYNC_ENTRY(gpuasync_event_record, &eventRecord),
      GPUASYNC_ENTRY(gpuasync_event_destroy, &eventDestroy),
      GPUASYNC_ENTRY(gpuasync_event_synchronize, &eventSynchronize),
      GPUASYNC_ENTRY(gpuasync_event_export, &eventExport),
      GPUASYNC_ENTRY(gpuasync_event_import, &eventImport),
      GPUASYNC_ENTRY(gpuasync_call_begin, &callBegin),
      GPUASYNC_ENTRY(gpuasync_call_replayable, &callReplayable),
      GPUASYNC_ENTRY(gpuasync_launch, &launch),
      GPUASYNC_ENTRY(gpuasync_alloc, &alloc),
      GPUASYNC_ENTRY(gpuasync_dealloc, &dealloc),
      GPUASYNC_ENTRY(gpuasync_memcpy, &copy),
      GPUASYNC_ENTRY(gpuasync_memcpy_strided, &copyStrided),
      GPUASYNC_ENTRY(gpuasync_memset, &fill),
      GPUASYNC_ENTRY(gpuasync_memset_strided, &fillStrided),
      GPUASYNC_ENTRY(gpuasync_region_add, &regionAdd),
      GPUASYNC_ENTRY(gpuasync_region_run, &regionRun),
      GPUASYNC_ENTRY(gpuasync_host_register, &hostRegister),
      GPUASYNC_ENTRY(gpuasync_host_unregister, &hostUnregister),
      GPUASYNC_ENTRY(gpuasync_constant, &constantArray),
      GPUASYNC_ENTRY(gpuasync_resident, &resident),
      GPUASYNC_ENTRY(gpuasync_check_access, &gpuasync_check_access),
      GPUASYNC_ENTRY(gpuasync_check_pointer, &gpuasync_check_pointer),
      GPUASYNC_ENTRY(gpuasync_check_index, &gpuasync_check_index),
      GPUASYNC_ENTRY(gpuasync_check_arrive, &gpuasync_check_arrive),
      GPUASYNC_ENTRY(gpuasync_check_assert, &gpuasync_check_assert),
      GPUASYNC_ENTRY(gpuasync_check_own, &gpuasync_check_own),
      GPUASYNC_ENTRY(gpuasync_check_host, &gpuasync_check_host),
      GPUASYNC_ENTRY(gpuasync_check_host_pointer, &gpuasync_check_host_pointer),
      GPUASYNC_ENTRY(gpuasync_check_start_of, &gpuasync_check_start_of),
      GPUASYNC_ENTRY(gpuasync_check_operand, &gpuasync_check_operand),
      GPUASYNC_ENTRY(gpuasync_check_uniform, &gpuasync_check_uniform),
      GPUASYNC_ENTRY(gpuasync_check_host_alloc, &gpuasync_check_host_alloc),
      GPUASYNC_ENTRY(gpuasync_check_host_free, &gpuasync_check_host_free),
      GPUASYNC_ENTRY(gpuasync_cpu_check_barrier, &gpuasync_cpu_check_barrier)};
#undef GPUASYNC_ENTRY
  for (const Entry &entry : entries)
    if (name && strcmp(entry.name, name) == 0)
      return entry.address;
  return nullptr;
}
