//===- Copy.cpp - Copies --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Transfer.h.
//===----------------------------------------------------------------------===//

#include "core/abi/Transfer.h"
#include "core/command/Boxes.h"

#include <string.h>

using namespace gpuasync;

namespace {

struct Copying : Transfer {
  using Transfer::Transfer;

  Status classifyBoth(const void *destination, const void *source,
                      Sides &sides);
  /// A copy of bytes or of rows in a region.
  template <typename Copy>
  Status record(Recorder &region, const Copy &copy, const Sides &sides,
                bool &recorded);

  /// A download that has yet to write a part of a source.
  struct Pending {
    bool staged = false; ///< the host writes it, from staging
    uint64_t offset = 0; ///< of the source in `shared`
    PoolAllocation *shared =
        nullptr; ///< one use more of staging with all of the source
  };
  bool findPending(const char *source, uint64_t bytes, Pending &out);
  Status settle(const char *source, uint64_t bytes);
  Status takeLate(HeldStaging &staging, const char *source, uint64_t bytes);

  /// Plans a copy of classified sides. `low`: the source's lowest byte.
  /// `isDense`: neither side has gaps. May wait for pending downloads.
  Status plan(const Sides &sides, const char *low, bool isDense, CopyPlan &out);

  Status copyBytes(char *destination, const char *source, uint64_t bytes);
  Status copyArray(char *destination, const char *source, Dims &dims,
                   uint64_t elementBytes);
  /// A copy whose sides are each of one kind.
  Status copyPart(char *destination, const char *source, uint64_t bytes,
                  const Sides &sides);
  Status copyBox(const StridedCopy &copy, const Sides &sides);

  Status run(CopyPlan &plan, char *destination, const char *source,
             uint64_t bytes);
  Status run(const CopyPlan &plan, StridedCopy copy, const Sides &sides);
  Status toTarget(CopyPlan::Target target, char *destination,
                  const char *source, uint64_t bytes);
  Status toTarget(CopyPlan::Target target, StridedCopy &copy, const Extent &to);
  /// Tells a trace of what the host has copied since `from`; 0: there was none.
  void noteOwn(uint64_t bytes, int64_t from);
  /// Keeps staging until the device has read it.
  Status keepUntilRead(HeldStaging &staging, uint64_t bytes);
};

} // namespace

Status Copying::classifyBoth(const void *destination, const void *source,
                             Sides &sides) {
  RETURN_IF_ERROR(classify(source, sides.from, "source", sides.fromPageable));
  return classify(destination, sides.to, "destination", sides.toPageable);
}

//===----------------------------------------------------------------------===//
// Sources that are not written yet
//===----------------------------------------------------------------------===//

static bool overlaps(const Download &pending, const char *source,
                     uint64_t bytes) {
  return gpuasync::overlaps(pending.destination, pending.bytes, source, bytes);
}

/// The newest one: of this frame, or of one that was left before anybody waited
/// for it, behind which a token may order this one.
bool Copying::findPending(const char *source, uint64_t bytes, Pending &out) {
  bool found = false;
  if (!context.staging.mayBePending(frame.downloads))
    return found;
  (void)context.staging.finish(frame.downloads);
  context.staging.forEachPending(frame.downloads, [&](Download &pending) {
    found = overlaps(pending, source, bytes);
    if (!found)
      return true;
    out.staged = pending.staging;
    if (pending.staging && !pending.scatter && pending.destination <= source &&
        source + bytes <= pending.destination + pending.bytes) {
      out.offset = static_cast<uint64_t>(source - pending.destination);
      context.memory.shareStaging(out.shared = pending.staging);
    }
    return false;
  });
  return found;
}

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

/// Staging for a source of which the device itself has parts still to write.
/// The rest is read now: the host may change it as soon as the copy is
/// enqueued. Each part follows when the host learns that its download is done,
/// and may change it too, or when the stream gets here.
Status Copying::takeLate(HeldStaging &staging, const char *source,
                         uint64_t bytes) {
  Status status = staging.take(bytes);
  if (!status.ok())
    return status;
  auto late = std::make_unique<DeferredUpload>(source, staging.data(), bytes);
  DeferredUpload &parts = *late;
  staging.get()->late = std::move(late);
  uint32_t number = 0;
  // Newest first: of two downloads to one place the last one counts.
  context.staging.forEachPending(frame.downloads, [&](Download &pending) {
    if (!overlaps(pending, source, bytes))
      return true;
    auto link = std::make_unique<LateLink>();
    if (!parts.claim(pending, number + 1))
      return true;
    link->staging = staging.get();
    link->number = ++number;
    context.memory.shareStaging(staging.get());
    link->next = pending.late;
    pending.late = link.release();
    return true;
  });
  parts.fillUnclaimed();
  if (!number)
    return Status();
  staging.use();
  return context.driver->submit(
      stream.native, Command(
                         [](void *argument) {
                           static_cast<DeferredUpload *>(argument)->fillAll();
                         },
                         &parts));
}

//===----------------------------------------------------------------------===//
// In a region
//===----------------------------------------------------------------------===//

/// One side of a copy that a region holds may be pageable: staging takes its
/// place, and the host copies between the two, from a source now. Not so where
/// the host works on the device's memory itself, or where a part of the source
/// has yet to be written.
template <typename Copy>
Status Copying::record(Recorder &region, const Copy &copy, const Sides &sides,
                       bool &recorded) {
  recorded = !sides.fromPageable && !sides.toPageable;
  if (recorded)
    return region.copy(stream, copy, site);
  if ((sides.fromPageable && sides.toPageable) || context.has(CapHostAccess))
    return Status();
  Copy onDevice = copy, onHost = copy;
  if (sides.fromPageable) {
    const char *low = static_cast<const char *>(copy.source) + sides.from.low;
    const uint64_t bytes = sides.from.bytes();
    if (region.writes(low, bytes) || isPending(low, bytes))
      return Status();
    const uint64_t total = makeDense(onDevice, /*source=*/true);
    makeDense(onHost, /*source=*/false);
    RETURN_IF_ERROR(region.upload(stream, onDevice, total, site, recorded));
    if (!recorded)
      return Status();
    onHost.destination = const_cast<void *>(onDevice.source);
    copyOnHost(onHost);
    return Status();
  }
  const uint64_t total = makeDense(onDevice, /*source=*/false);
  makeDense(onHost, /*source=*/true);
  std::unique_ptr<StridedCopy> scatter;
  if constexpr (std::is_same_v<Copy, StridedCopy>)
    scatter = std::make_unique<StridedCopy>(onHost);
  return region.download(stream, onDevice, total,
                         static_cast<char *>(copy.destination) + sides.to.low,
                         sides.to.bytes(), std::move(scatter), site, recorded);
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

Status Copying::plan(const Sides &sides, const char *low, bool isDense,
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
  const uint64_t bytes = sides.from.bytes();
  Pending pending;
  if (findPending(low, bytes, pending)) {
    if (!pending.staged) {
      out.source = Source::Deferred;
      return Status();
    }
    if (pending.shared && isDense) {
      out.source = Source::Shared;
      out.shared = pending.shared;
      out.offset = pending.offset;
      return Status();
    }
    if (pending.shared) // its elements are gathered by the host
      context.memory.dropStaging(pending.shared);
    RETURN_IF_ERROR(settle(low, bytes));
  }
  out.source =
      context.has(CapHostAccess) && isIdle() ? Source::Now : Source::Gathered;
  return Status();
}

//===----------------------------------------------------------------------===//
// Carrying it out
//===----------------------------------------------------------------------===//

Status Copying::keepUntilRead(HeldStaging &staging, uint64_t bytes) {
  Status status = context.staging.use(stream, staging.get(), bytes);
  staging.passOn();
  return status;
}

void Copying::noteOwn(uint64_t bytes, int64_t from) {
  if (__builtin_expect(!from || !tracing(), 1))
    return;
  if (DeviceObserver *observer = context.driver->extensions.observer)
    observer->noteHostCopy(stream.native, bytes, site, from);
}

/// From memory that the device reaches.
Status Copying::toTarget(CopyPlan::Target target, char *destination,
                         const char *source, uint64_t bytes) {
  Device &driver = *context.driver;
  if (target != CopyPlan::Target::Staged) {
    Status status = driver.submit(
        stream.native, Command(ByteCopy{destination, source, bytes}, site));
    if (!status.ok() || target != CopyPlan::Target::Direct || isIdle())
      return status;
    return remember(destination, bytes, nullptr, nullptr);
  }
  HeldStaging staging(context, stream);
  RETURN_IF_ERROR(staging.take(bytes));
  RETURN_IF_ERROR(driver.submit(
      stream.native, Command(ByteCopy{staging.data(), source, bytes}, site)));
  staging.use();
  RETURN_IF_ERROR(remember(destination, bytes, staging.get(), nullptr));
  staging.passOn();
  return Status();
}

Status Copying::toTarget(CopyPlan::Target target, StridedCopy &copy,
                         const Extent &to) {
  Device &driver = *context.driver;
  char *low = static_cast<char *>(copy.destination) + to.low;
  if (target != CopyPlan::Target::Staged) {
    Status status = driver.submit(stream.native, Command(copy, site));
    if (!status.ok() || target != CopyPlan::Target::Direct || isIdle())
      return status;
    return remember(low, to.bytes(), nullptr, new StridedCopy(copy));
  }
  auto scatter = std::make_unique<StridedCopy>(copy);
  const uint64_t total = denseStrides(copy, copy.destinationStrides);
  denseStrides(copy, scatter->sourceStrides);
  HeldStaging staging(context, stream);
  RETURN_IF_ERROR(staging.take(total));
  copy.destination = staging.data();
  scatter->source = staging.data();
  RETURN_IF_ERROR(driver.submit(stream.native, Command(copy, site)));
  staging.use();
  RETURN_IF_ERROR(remember(low, to.bytes(), staging.get(), scatter.release()));
  staging.passOn();
  return Status();
}

Status Copying::run(CopyPlan &plan, char *destination, const char *source,
                    uint64_t bytes) {
  using Source = CopyPlan::Source;
  if (plan.source == Source::Now) {
    const int64_t from = tracing() ? nowNs() : 0;
    memmove(destination, source, bytes);
    noteOwn(bytes, from);
    return Status();
  }
  HeldStaging whole(context, stream);
  if (plan.source == Source::Shared) {
    whole.takeOver(plan.shared);
    source = whole.data() + plan.offset;
  } else if (plan.source == Source::Deferred) {
    RETURN_IF_ERROR(takeLate(whole, source, bytes));
    whole.use();
    source = whole.data();
  }
  const bool isGathered = plan.source == Source::Gathered;
  if (isGathered)
    context.staging.reap(stream, /*idle=*/false);
  // Pieces of what goes through staging overlap on the host and the device.
  const uint64_t most = isGathered || plan.target == CopyPlan::Target::Staged
                            ? chunkBytes
                            : bytes;
  for (uint64_t offset = 0; offset < bytes; offset += most) {
    const uint64_t piece = bytes - offset < most ? bytes - offset : most;
    const char *at = source + offset;
    HeldStaging gathered(context, stream);
    if (isGathered) {
      RETURN_IF_ERROR(gathered.take(piece));
      memcpy(gathered.data(), at, piece);
      gathered.use();
      at = gathered.data();
    }
    RETURN_IF_ERROR(toTarget(plan.target, destination + offset, at, piece));
    if (isGathered)
      RETURN_IF_ERROR(keepUntilRead(gathered, piece));
  }
  return whole.get() ? keepUntilRead(whole, bytes) : Status();
}

Status Copying::run(const CopyPlan &plan, StridedCopy copy,
                    const Sides &sides) {
  using Source = CopyPlan::Source;
  HeldStaging staging(context, stream);
  if (plan.source == Source::Now) {
    const int64_t from = tracing() ? nowNs() : 0;
    copyOnHost(copy);
    noteOwn(bytesOf(copy), from);
    return Status();
  }
  if (plan.source == Source::Deferred) {
    // The staging is laid out as the source.
    const char *low = static_cast<const char *>(copy.source) + sides.from.low;
    RETURN_IF_ERROR(takeLate(staging, low, sides.from.bytes()));
    copy.source = staging.data() - sides.from.low;
    staging.use();
  } else if (plan.source == Source::Gathered) {
    StridedCopy gather = copy;
    RETURN_IF_ERROR(
        staging.take(denseStrides(copy, gather.destinationStrides)));
    gather.destination = staging.data();
    copyOnHost(gather);
    denseStrides(copy, copy.sourceStrides);
    copy.source = staging.data();
    staging.use();
  }
  RETURN_IF_ERROR(toTarget(plan.target, copy, sides.to));
  return staging.get() ? keepUntilRead(staging, staging.get()->bytes)
                       : Status();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Status Copying::copyPart(char *destination, const char *source, uint64_t bytes,
                         const Sides &sides) {
  bool recorded = false;
  Status status = inRegion(recorded, [&](Recorder &region) {
    return record(region, ByteCopy{destination, source, bytes}, sides,
                  recorded);
  });
  if (!status.ok() || recorded)
    return status;
  if (__builtin_expect(!sides.fromPageable && !sides.toPageable, 1))
    return context.driver->submit(
        stream.native, Command(ByteCopy{destination, source, bytes}, site));
  CopyPlan plan;
  RETURN_IF_ERROR(this->plan(sides, source, /*isDense=*/true, plan));
  return run(plan, destination, source, bytes);
}

Status Copying::copyBytes(char *destination, const char *source,
                          uint64_t bytes) {
  for (uint64_t part = bytes; bytes; bytes -= part) {
    part = bytes;
    Sides sides;
    sides.from = sides.to = extentOf(part);
    RETURN_IF_ERROR(classifyBoth(destination, source, sides));
    if (__builtin_expect(isMixed(source, sides.from, sides.fromPageable) ||
                             isMixed(destination, sides.to, sides.toPageable),
                         0)) {
      part = context.registrations.findPart(
          source, context.registrations.findPart(destination, bytes));
      sides.from = sides.to = extentOf(part);
      RETURN_IF_ERROR(classifyBoth(destination, source, sides));
    }
    RETURN_IF_ERROR(copyPart(destination, source, part, sides));
    destination += part;
    source += part;
  }
  return Status();
}

Status Copying::copyBox(const StridedCopy &copy, const Sides &sides) {
  bool recorded = false;
  Status status = inRegion(recorded, [&](Recorder &region) {
    return record(region, copy, sides, recorded);
  });
  if (!status.ok() || recorded)
    return status;
  CopyPlan plan;
  RETURN_IF_ERROR(
      this->plan(sides, static_cast<const char *>(copy.source) + sides.from.low,
                 /*isDense=*/false, plan));
  return run(plan, copy, sides);
}

static void readBox(const Boxes &boxes, char *destination, const char *source,
                    StridedCopy &copy) {
  copy.destination = destination + boxes.destinationOffset();
  copy.source = source + boxes.sourceOffset();
  copy.rank = 0;
  boxes.forEachDim([&](int64_t size, const Dim &dim) {
    copy.sizes[copy.rank] = size;
    copy.destinationStrides[copy.rank] = dim.destination;
    copy.sourceStrides[copy.rank++] = dim.source;
  });
}

Status Copying::copyArray(char *destination, const char *source, Dims &dims,
                          uint64_t elementBytes) {
  if (dims.rank) {
    const Dim &last = dims.at[dims.rank - 1];
    if (last.destination == static_cast<int64_t>(elementBytes) &&
        last.source == static_cast<int64_t>(elementBytes)) {
      elementBytes *= static_cast<uint64_t>(last.size);
      --dims.rank;
    }
  }
  if (!dims.rank)
    return copyBytes(destination, source, elementBytes);
  if (dims.rank > StridedCopy::maxRank) {
    // An error comes before any of its boxes is copied.
    Sides sides;
    sides.from = extentOf(dims, /*destination=*/false, elementBytes);
    sides.to = extentOf(dims, /*destination=*/true, elementBytes);
    RETURN_IF_ERROR(classifyBoth(destination, source, sides));
  }
  for (Boxes boxes(dims, StridedCopy::maxRank); !boxes.done(); boxes.next()) {
    StridedCopy copy;
    Sides sides;
    bool isWhole = false;
    do {
      copy = StridedCopy(); // zeros behind the rank: copies are compared
      copy.elementBytes = elementBytes;
      readBox(boxes, destination, source, copy);
      if (!copy.rank)
        break;
      sides.from = sourceExtent(copy);
      sides.to = destinationExtent(copy);
      RETURN_IF_ERROR(classifyBoth(copy.destination, copy.source, sides));
      isWhole = !isMixed(copy.source, sides.from, sides.fromPageable) &&
                !isMixed(copy.destination, sides.to, sides.toPageable);
    } while (!isWhole && boxes.halve());
    RETURN_IF_ERROR(isWhole ? copyBox(copy, sides)
                            : copyBytes(static_cast<char *>(copy.destination),
                                        static_cast<const char *>(copy.source),
                                        elementBytes));
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

extern "C" {

void gpuasync_memcpy(gpuasync_frame *memory, gpuasync_stream *stream,
                     void *destination, const void *source, uint64_t bytes,
                     uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !frame->owns(stream, site))
    return;
  if (!frame->region)
    stream->note(site); // else when it is played
  if (!bytes)
    return;
  frame->run(site, [&] {
    if (__builtin_expect(bytes > INT64_MAX, 0))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "too large: %ju elements of 1 bytes", bytes);
    return Copying(*frame, *stream, site)
        .copyBytes(static_cast<char *>(destination),
                   static_cast<const char *>(source), bytes);
  });
}

void gpuasync_memcpy_strided(gpuasync_frame *memory, gpuasync_stream *stream,
                             void *destination,
                             const int64_t *destinationStrides,
                             const void *source, const int64_t *sourceStrides,
                             const int64_t *sizes, uint32_t rank,
                             uint32_t elementBytes,
                             uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !frame->owns(stream, site))
    return;
  if (!frame->region)
    stream->note(site); // else when it is played
  if (!elementBytes)
    return;
  frame->run(site, [&]() -> Status {
    Extent from, to;
    if (__builtin_expect(rank && (!sourceStrides || !destinationStrides), 0))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null strides");
    RETURN_IF_ERROR(
        checkExtent(sizes, sourceStrides, rank, elementBytes, from));
    RETURN_IF_ERROR(
        checkExtent(sizes, destinationStrides, rank, elementBytes, to));
    if (!to.bytes())
      return Status();
    Dims dims;
    makeDims(sizes, destinationStrides, sourceStrides, rank, elementBytes,
             dims);
    return Copying(*frame, *stream, site)
        .copyArray(static_cast<char *>(destination),
                   static_cast<const char *>(source), dims, elementBytes);
  });
}
}
