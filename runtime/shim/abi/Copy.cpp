//===- Copy.cpp - Copies --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Transfer.h.
//===----------------------------------------------------------------------===//

#include "shim/abi/Transfer.h"

#include <algorithm>

using namespace gpuasync;

namespace {

struct Copying : Transfer {
  using Transfer::Transfer;

  Status copyBytes(char *destination, const char *source, uint64_t bytes);
  Status copyArray(StridedCopy &copy, Dims &dims);
  /// A copy whose sides are each of one kind.
  template <typename Copy>
  Status copyPart(const Copy &copy, const Sides &sides);

  /// Plans a copy of classified sides. `isDense`: neither side has gaps. May
  /// wait for pending downloads.
  Status plan(const void *source, const Sides &sides, bool isDense,
              CopyPlan &out);
  template <typename Copy>
  __attribute__((noinline)) Status planAndRun(Copy copy, const Sides &sides);
  template <typename Copy>
  Status stageSource(const CopyPlan &plan, Copy &copy, const Extent &from,
                     HeldStaging &staging);
  template <typename Copy>
  Status toTarget(CopyPlan::Target target, Copy &copy, const Extent &to);
  /// Tells a trace of what the host has copied since `from`; 0: there was none.
  void noteOwn(uint64_t bytes, int64_t from);
  Status settle(const char *source, uint64_t bytes);
  Status settleOn(DeviceUse &other, const char *source, uint64_t bytes);
  Status takeLate(HeldStaging &staging, const char *source, uint64_t bytes);
};

} // namespace

//===----------------------------------------------------------------------===//
// Sources that are not written yet
//===----------------------------------------------------------------------===//

/// The last resort for a source that is only partly the destination of a
/// download: waits for all that have a part of it.
Status Copying::settle(const char *source, uint64_t bytes) {
  const Deadline deadline = callDeadline();
  while (isPending(source, bytes)) {
    bool done = false;
    RETURN_IF_ERROR(context.timepoints.query(stream.timeline.whenIdle(), done));
    if (deadline.over())
      return makeStatus(GPUASYNC_TIMEOUT,
                        "timed out waiting for a copy into the source");
    sleepNs(50000);
  }
  return Status();
}

/// Waits until another device of the frame has written what it has yet to write
/// of the source.
Status Copying::settleOn(DeviceUse &other, const char *source, uint64_t bytes) {
  StagingPool &staging = other.context->staging;
  if (!staging.mayBePending(other.downloads))
    return Status();
  RETURN_IF_ERROR(frame.makeCurrent(other));
  const Deadline deadline = callDeadline();
  while (true) {
    RETURN_IF_ERROR(staging.finish(other.downloads));
    if (!isPendingOf(other, source, bytes))
      return frame.makeCurrent(use);
    if (deadline.over())
      return makeStatus(GPUASYNC_TIMEOUT,
                        "timed out waiting for a copy into the source");
    sleepNs(50000);
  }
}

/// Staging for a source of which the device itself has parts still to write.
/// The rest is read now: the host may change it as soon as the copy is
/// enqueued. Each part follows when the host learns that its download is done,
/// and may change it too, or when the stream gets here.
Status Copying::takeLate(HeldStaging &staging, const char *source,
                         uint64_t bytes) {
  RETURN_IF_ERROR(staging.take(bytes));
  staging.get()->late =
      std::make_unique<DeferredUpload>(source, staging.data(), bytes);
  DeferredUpload &late = *staging.get()->late;
  bool any = false;
  // Newest first: of two downloads to one place the last one counts.
  forEachWriter(source, bytes, [&](Download &pending) {
    auto link = std::make_unique<LateLink>();
    if (!late.claim(pending))
      return true;
    any = true;
    link->staging = staging.get();
    context.memory.shareStaging(staging.get());
    link->next = pending.late;
    pending.late = link.release();
    return true;
  });
  late.fillUnclaimed();
  if (!any)
    return Status();
  staging.use();
  auto fillAll = [](void *late) {
    static_cast<DeferredUpload *>(late)->fillAll();
  };
  return context.driver->submit(stream.native, Command(fillAll, &late));
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

Status Copying::plan(const void *source, const Sides &sides, bool isDense,
                     CopyPlan &out) {
  using Source = CopyPlan::Source;
  using Target = CopyPlan::Target;
  if (sides.toPageable) {
    out.target = context.has(CapPageableDestination) ? Target::Direct
                 : stream.external                   ? Target::Driver
                                                     : Target::Staged;
    if (!isDense && out.target == Target::Driver)
      return makeStatus(GPUASYNC_UNSUPPORTED,
                        "strided copy into pageable host memory on a caller's "
                        "stream; register the memory");
  }
  if (!sides.fromPageable)
    return Status();
  const char *low = static_cast<const char *>(source) + sides.from.low;
  const uint64_t bytes = sides.from.bytes();
  for (uint32_t i = 0; frame.more && i <= frame.moreCount; ++i)
    if (DeviceUse &other = i ? frame.more[i - 1] : frame.first; &other != &use)
      RETURN_IF_ERROR(settleOn(other, low, bytes));
  bool isUnsettled = false;
  forEachWriter(low, bytes, [&](Download &pending) { // the newest one counts
    const char *begin = pending.destination, *end = begin + pending.bytes;
    if (!pending.staging) {
      out.source = Source::Deferred;
    } else if (isDense && !pending.isStrided && begin <= low &&
               low + bytes <= end) {
      out.source = Source::Shared;
      out.offset = static_cast<uint64_t>(low - begin);
      context.memory.shareStaging(out.shared = pending.staging);
    } else {
      isUnsettled = true; // the host gathers the elements
    }
    return false;
  });
  if (isUnsettled)
    RETURN_IF_ERROR(settle(low, bytes));
  if (out.source == Source::Reachable)
    out.source =
        context.has(CapHostAccess) && isIdle() ? Source::Now : Source::Gathered;
  return Status();
}

//===----------------------------------------------------------------------===//
// Carrying it out
//===----------------------------------------------------------------------===//

/// Makes `staging` the source of the copy, unless the device reaches that.
template <typename Copy>
Status Copying::stageSource(const CopyPlan &plan, Copy &copy,
                            const Extent &from, HeldStaging &staging) {
  if (plan.source == CopyPlan::Source::Shared) {
    staging.takeOver(plan.shared);
    copy.source = staging.data() + plan.offset;
  } else if (plan.source == CopyPlan::Source::Deferred) {
    // The staging is laid out as the source.
    const char *low = static_cast<const char *>(copy.source) + from.low;
    RETURN_IF_ERROR(takeLate(staging, low, from.bytes()));
    copy.source = staging.data() - from.low;
  } else if (plan.source == CopyPlan::Source::Gathered) {
    context.staging.reap(stream, /*idle=*/false);
    Copy gather = copy;
    RETURN_IF_ERROR(staging.take(makeDense(gather, /*source=*/false)));
    gather.destination = staging.data();
    copyOnHost(gather);
    makeDense(copy, /*source=*/true);
    copy.source = staging.data();
  }
  staging.use();
  return Status();
}

void Copying::noteOwn(uint64_t bytes, int64_t from) {
  if (__builtin_expect(!from || !tracing(), 1))
    return;
  if (DeviceObserver *observer = context.driver->extensions.observer)
    observer->noteHostCopy(stream.native, bytes, site, from);
}

static const StridedCopy *asStrided(const ByteCopy &) { return nullptr; }
static const StridedCopy *asStrided(const StridedCopy &copy) { return &copy; }

/// From memory that the device reaches.
template <typename Copy>
Status Copying::toTarget(CopyPlan::Target target, Copy &copy,
                         const Extent &to) {
  using Target = CopyPlan::Target;
  char *low = static_cast<char *>(copy.destination) + to.low;
  if (target != Target::Staged) {
    Status status = context.driver->submit(stream.native, Command(copy, site));
    if (!status.ok() || target != Target::Direct || isIdle())
      return status;
    return remember(low, to.bytes(), nullptr, asStrided(copy));
  }
  HeldStaging staging(context, stream);
  Copy scatter = copy;
  RETURN_IF_ERROR(staging.take(makeDense(copy, /*source=*/false)));
  makeDense(scatter, /*source=*/true);
  scatter.source = copy.destination = staging.data();
  RETURN_IF_ERROR(context.driver->submit(stream.native, Command(copy, site)));
  staging.use();
  RETURN_IF_ERROR(remember(low, to.bytes(), staging.get(), asStrided(scatter)));
  staging.passOn();
  return Status();
}

template <typename Copy>
Status Copying::planAndRun(Copy copy, const Sides &sides) {
  CopyPlan plan;
  RETURN_IF_ERROR(this->plan(copy.source, sides,
                             /*isDense=*/std::is_same_v<Copy, ByteCopy>, plan));
  if (plan.source == CopyPlan::Source::Now) {
    const int64_t from = tracing() ? nowNs() : 0;
    copyOnHost(copy);
    noteOwn(bytesOf(copy), from);
    return Status();
  }
  HeldStaging staging(context, stream);
  RETURN_IF_ERROR(stageSource(plan, copy, sides.from, staging));
  RETURN_IF_ERROR(toTarget(plan.target, copy, sides.to));
  if (!staging.get())
    return Status();
  Status status =
      context.staging.use(stream, staging.get(), staging.get()->bytes);
  staging.passOn();
  return status;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

template <typename Copy>
Status Copying::copyPart(const Copy &copy, const Sides &sides) {
  if (isForRegion())
    return frame.region->put(stream, Command(copy, site), sides);
  if (sides.areReachable())
    return context.driver->submit(stream.native, Command(copy, site));
  if constexpr (std::is_same_v<Copy, StridedCopy>)
    return planAndRun(copy, sides);
  else {
    // Pieces of what goes through staging overlap on the host and the device.
    const uint64_t most = context.has(CapHostAccess) ? copy.bytes : chunkBytes;
    Sides part = sides;
    for (uint64_t offset = 0; offset < copy.bytes; offset += most) {
      const uint64_t bytes = std::min(copy.bytes - offset, most);
      part.from = part.to = extentOf(bytes);
      RETURN_IF_ERROR(planAndRun(
          ByteCopy{static_cast<char *>(copy.destination) + offset,
                   static_cast<const char *>(copy.source) + offset, bytes},
          part));
    }
    return Status();
  }
}

Status Copying::copyBytes(char *destination, const char *source,
                          uint64_t bytes) {
  for (uint64_t part = bytes; bytes; bytes -= part) {
    part = bytes;
    Sides sides;
    auto classifyPart = [&] {
      sides.from = sides.to = extentOf(part);
      return classify(ByteCopy{destination, source, part}, sides);
    };
    RETURN_IF_ERROR(classifyPart());
    if (__builtin_expect(sides.areReachable() && !frame.region, 1))
      return context.driver->submit(
          stream.native, Command(ByteCopy{destination, source, part}, site));
    if (isMixed(ByteCopy{destination, source, part}, sides)) {
      Registrations &known = context.registrations;
      part = known.findPart(source, known.findPart(destination, part));
      RETURN_IF_ERROR(classifyPart());
    }
    RETURN_IF_ERROR(copyPart(ByteCopy{destination, source, part}, sides));
    destination += part;
    source += part;
  }
  return Status();
}

Status Copying::copyArray(StridedCopy &copy, Dims &dims) {
  if (dims.rank) {
    const Dim &last = dims.at[dims.rank - 1];
    const auto row = static_cast<int64_t>(copy.elementBytes);
    if (last.destination == row && last.source == row) {
      copy.elementBytes *= static_cast<uint64_t>(last.size);
      --dims.rank;
    }
  }
  auto element = [&](const StridedCopy &box) {
    return copyBytes(static_cast<char *>(box.destination),
                     static_cast<const char *>(box.source), box.elementBytes);
  };
  if (!dims.rank)
    return element(copy);
  return forEachBox(
      copy, dims, /*isFill=*/false,
      [&](const StridedCopy &box, const Sides &sides) {
        return box.rank ? copyPart(box, sides) : element(box);
      },
      element);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

Status gpuasync::copyBytes(Frame &frame, Stream &stream,
                           const gpuasync_site *site, void *destination,
                           const void *source, uint64_t bytes) {
  if (__builtin_expect(bytes > INT64_MAX, 0))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "too large: %ju elements of 1 bytes", bytes);
  return Copying(frame, stream, site)
      .copyBytes(static_cast<char *>(destination),
                 static_cast<const char *>(source), bytes);
}

Status gpuasync::copyArray(Frame &frame, Stream &stream,
                           const gpuasync_site *site, void *destination,
                           const int64_t *destinationStrides,
                           const void *source, const int64_t *sourceStrides,
                           const int64_t *sizes, uint32_t rank,
                           uint32_t elementBytes) {
  if (!elementBytes)
    return Status();
  Extent from, to;
  if (__builtin_expect(rank && (!sourceStrides || !destinationStrides), 0))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null strides");
  RETURN_IF_ERROR(checkExtent(sizes, sourceStrides, rank, elementBytes, from));
  RETURN_IF_ERROR(
      checkExtent(sizes, destinationStrides, rank, elementBytes, to));
  if (!to.bytes())
    return Status();
  Dims dims;
  makeDims(sizes, destinationStrides, sourceStrides, rank, elementBytes, dims);
  StridedCopy copy; // zeros behind the rank: copies are compared
  copy.destination = destination;
  copy.source = source;
  copy.elementBytes = elementBytes;
  return Copying(frame, stream, site).copyArray(copy, dims);
}

extern "C" {

void gpuasync_memcpy(gpuasync_frame *memory, gpuasync_stream *stream,
                     void *destination, const void *source, uint64_t bytes,
                     uint32_t siteIndex) noexcept {
  transfer(memory, stream, siteIndex, [&](Frame &frame, auto *site) {
    return copyBytes(frame, *stream, site, destination, source, bytes);
  });
}

void gpuasync_memcpy_strided(gpuasync_frame *memory, gpuasync_stream *stream,
                             void *destination,
                             const int64_t *destinationStrides,
                             const void *source, const int64_t *sourceStrides,
                             const int64_t *sizes, uint32_t rank,
                             uint32_t elementBytes,
                             uint32_t siteIndex) noexcept {
  transfer(memory, stream, siteIndex, [&](Frame &frame, auto *site) {
    return copyArray(frame, *stream, site, destination, destinationStrides,
                     source, sourceStrides, sizes, rank, elementBytes);
  });
}
}
