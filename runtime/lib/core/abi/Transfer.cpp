//===- Transfer.cpp - Copies and fills ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where an address lies decides how a copy is made: memory that the device
// reaches by itself goes to the driver, pageable memory through staging.
//===----------------------------------------------------------------------===//
//
// A pageable source is read before the call returns, unless it is itself the
// destination of a download that is not finished: then the copy starts from
// that download's staging, in the order that the program states, or, where the
// device writes host memory itself, from staging that gets it late. A pageable
// destination is written at the latest by the host wait that covers the copy.
// On a caller's stream nobody of ours waits; there the driver makes the copy
// itself, which may block the caller (docs/reference/Runtime.md).
//
//===----------------------------------------------------------------------===//

#include "core/command/Strided.h"
#include "core/context/Capture.h"
#include "core/pool/HostMemory.h"
#include "core/region/Recorder.h"
#include "trace/Trace.h"

#include <string.h>

using namespace gpuasync;

static constexpr uint64_t chunkBytes = 4 << 20;

namespace {

/// What a copy reads and writes.
struct Sides {
  bool fromPageable = false, toPageable = false;
  Extent from, to; ///< around the first elements
};

/// One frame's copy on one stream.
struct Transfer {
  Frame &frame;
  gpuasync_context &context;
  Stream &stream;
  const gpuasync_site *site;

  Transfer(Frame &frame, Stream &stream, const gpuasync_site *site)
      : frame(frame), context(*frame.context), stream(stream), site(site) {}

  /// Whether the device reaches by itself what lies around `first`, the first
  /// element. Which memory that must not leave, the first element says.
  Status classify(const void *first, const Extent &extent, const char *role,
                  bool &pageable);
  Status checkPageable();
  /// Whether the host would copy for the device there, and the device reaches
  /// a part of it: what that does has its place in the order of the streams.
  bool isMixed(const void *first, const Extent &extent, bool pageable) {
    return pageable && context.registrations.findPart(
                           static_cast<const char *>(first) + extent.low,
                           extent.bytes()) < extent.bytes();
  }
  /// In a region: `record` says in `recorded` whether the region holds the
  /// copy. If it cannot, what is ahead of it is played.
  template <typename Record>
  Status inRegion(bool &recorded, Record record) {
    if (__builtin_expect(!frame.region, 1))
      return Status();
    RETURN_IF_ERROR(record(*frame.region));
    if (recorded)
      return Status();
    RETURN_IF_ERROR(frame.region->playBefore(stream));
    stream.note(site);
    return Status();
  }
  Status record(Recorder &region, const StridedCopy &copy, const Sides &sides,
                bool &recorded);
  bool idle();
  Status remember(char *destination, uint64_t bytes, PoolAllocation *staging,
                  StridedCopy *scatter) {
    return context.staging.expect(frame.downloads, stream, destination, bytes,
                                  staging, scatter);
  }
  bool isPending(const char *source, uint64_t bytes);
  /// What is known of a download that has yet to write a part of a source.
  struct Pending {
    bool staged = false; ///< the host writes it, from staging
    uint64_t offset = 0; ///< of the source in `shared`
    PoolAllocation *shared =
        nullptr; ///< one use more of staging with all of the source
  };
  bool findPending(const char *source, uint64_t bytes, Pending &out);
  Status settle(const char *source, uint64_t bytes);
  Status takeLate(HeldStaging &staging, const char *source, uint64_t bytes);

  Status copyBytes(char *destination, const char *source, uint64_t bytes);
  Status fromDevice(char *destination, const char *source, uint64_t bytes,
                    bool pageable);
  Status upload(char *destination, const char *source, uint64_t bytes,
                bool toPageable);
  Status copyDims(char *destination, const char *source, std::vector<Dim> dims,
                  uint64_t elementBytes);
  Status fillDims(char *destination, std::vector<Dim> dims, const void *pattern,
                  uint32_t elementBytes);
};

} // namespace

Status Transfer::classify(const void *first, const Extent &extent,
                          const char *role, bool &pageable) {
  pageable = false;
  if (!first)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null %s", role);
  bool ours = false;
  Status held = context.memory.check(first, extent, role, ours);
  if (ours)
    return held;
  // A copy that leaves a registered part is treated as pageable.
  if (context.registrations.cover(first, extent, pageable))
    return Status();
  if (Status status = checkHostMemory(first, extent, role); !status.ok())
    return status;
  pageable = pageable || context.has(CapHostAccess) ||
             context.driver->pointerKind(first) == PointerKind::Pageable;
  return pageable ? checkPageable() : Status();
}

/// What a graph copies when it runs must be where it was.
Status Transfer::checkPageable() {
  if (!frame.capture)
    return Status();
  return refuseCaptured("a copy of pageable host memory",
                        "register it, or allocate host_shared memory, before "
                        "the capture");
}

/// Calls `part` with the dimensions of each half and the number of its first
/// index in one of them; false if there is nothing to be halved.
template <typename Part>
static bool inHalves(const std::vector<Dim> &dims, Part part) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].size < 2)
      continue;
    std::vector<Dim> half = dims;
    half[i].size = dims[i].size / 2;
    part(half, dims[i], 0);
    int64_t first = half[i].size;
    half[i].size = dims[i].size - first;
    part(half, dims[i], first);
    return true;
  }
  return false;
}

bool Transfer::idle() {
  bool done = false;
  return context.driver->queryStream(stream.native, done).ok() && done;
}

static bool overlaps(const Download &pending, const char *source,
                     uint64_t bytes) {
  return gpuasync::overlaps(pending.destination, pending.bytes, source, bytes);
}

/// Whether a download that is not finished writes a part of the source.
bool Transfer::isPending(const char *source, uint64_t bytes) {
  if (!context.staging.mayBePending(frame.downloads))
    return false;
  (void)context.staging.finish(frame.downloads);
  bool pending = false;
  context.staging.forEachPending(frame.downloads, [&](Download &each) {
    pending = overlaps(each, source, bytes);
    return !pending;
  });
  return pending;
}

/// The newest one: of this frame, or of one that was left before anybody waited
/// for it, behind which a token may order this one.
bool Transfer::findPending(const char *source, uint64_t bytes, Pending &out) {
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
Status Transfer::settle(const char *source, uint64_t bytes) {
  const Deadline deadline = callDeadline();
  while (isPending(source, bytes)) {
    bool done = false;
    RETURN_IF_ERROR(context.driver->queryStream(stream.native, done));
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
Status Transfer::takeLate(HeldStaging &staging, const char *source,
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
  return context.driver->call(
      stream.native,
      [](void *argument) {
        static_cast<DeferredUpload *>(argument)->fillAll();
      },
      &parts);
}

/// The strides of a dense array of the copy's elements; returns its size.
static uint64_t denseStrides(const StridedCopy &copy, int64_t *strides) {
  uint64_t bytes = copy.elementBytes;
  for (uint32_t i = copy.rank; i-- > 0;) {
    strides[i] = static_cast<int64_t>(bytes);
    bytes *= static_cast<uint64_t>(copy.sizes[i]);
  }
  return bytes;
}

/// One side of a copy that a region holds may be pageable: staging takes its
/// place, and the host copies between the two, from a source now. Not so where
/// the host works on the device's memory itself, or where a part of the source
/// has yet to be written.
Status Transfer::record(Recorder &region, const StridedCopy &copy,
                        const Sides &sides, bool &recorded) {
  recorded = !sides.fromPageable && !sides.toPageable;
  if (recorded)
    return region.copy(stream, copy, site);
  if ((sides.fromPageable && sides.toPageable) || context.has(CapHostAccess))
    return Status();
  StridedCopy onDevice = copy, onHost = copy;
  if (sides.fromPageable) {
    const char *low = static_cast<const char *>(copy.source) + sides.from.low;
    const uint64_t bytes = sides.from.bytes();
    if (region.writes(low, bytes) || isPending(low, bytes))
      return Status();
    const uint64_t total = denseStrides(copy, onDevice.sourceStrides);
    denseStrides(copy, onHost.destinationStrides);
    RETURN_IF_ERROR(region.upload(stream, onDevice, total, site, recorded));
    if (!recorded)
      return Status();
    onHost.destination = const_cast<void *>(onDevice.source);
    copyOnHost(onHost);
    return Status();
  }
  const uint64_t total = denseStrides(copy, onDevice.destinationStrides);
  denseStrides(copy, onHost.sourceStrides);
  return region.download(
      stream, onDevice, total,
      static_cast<char *>(copy.destination) + sides.to.low, sides.to.bytes(),
      copy.rank ? std::make_unique<StridedCopy>(onHost) : nullptr, site,
      recorded);
}

/// From memory that the device reaches.
Status Transfer::fromDevice(char *destination, const char *source,
                            uint64_t bytes, bool pageable) {
  DriverContext &driver = *context.driver;
  if (!pageable)
    return driver.copy(stream.native, destination, source, bytes, site);
  if (context.has(CapPageableDestination)) {
    Status status =
        driver.copy(stream.native, destination, source, bytes, site);
    if (!status.ok() || idle())
      return status;
    return remember(destination, bytes, nullptr, nullptr);
  }
  if (stream.external)
    return driver.copy(stream.native, destination, source, bytes, site);
  for (uint64_t offset = 0; offset < bytes; offset += chunkBytes) {
    uint64_t piece = bytes - offset < chunkBytes ? bytes - offset : chunkBytes;
    HeldStaging staging(context, stream);
    Status status = staging.take(piece);
    if (!status.ok())
      return status;
    status = driver.copy(stream.native, staging.data(), source + offset, piece,
                         site);
    if (!status.ok())
      return status;
    staging.use();
    status = remember(destination + offset, piece, staging.get(), nullptr);
    if (!status.ok())
      return status;
    staging.passOn();
  }
  return Status();
}

/// From pageable memory, which is read now.
Status Transfer::upload(char *destination, const char *source, uint64_t bytes,
                        bool toPageable) {
  if (context.has(CapHostAccess) && idle()) {
    const int64_t from = tracing() ? nowNs() : 0;
    memmove(destination, source, bytes);
    traceHostCopy(context, stream.native, bytes, site, from);
    return Status();
  }
  context.staging.reap(stream, /*idle=*/false);
  for (uint64_t offset = 0; offset < bytes; offset += chunkBytes) {
    uint64_t piece = bytes - offset < chunkBytes ? bytes - offset : chunkBytes;
    HeldStaging staging(context, stream);
    Status status = staging.take(piece);
    if (!status.ok())
      return status;
    memcpy(staging.data(), source + offset, piece);
    staging.use();
    status =
        fromDevice(destination + offset, staging.data(), piece, toPageable);
    if (!status.ok())
      return status;
    status = context.staging.use(stream, staging.get(), piece);
    staging.passOn();
    if (!status.ok())
      return status;
  }
  return Status();
}

Status Transfer::copyBytes(char *destination, const char *source,
                           uint64_t bytes) {
  Sides sides;
  sides.from = sides.to = extentOf(bytes);
  const bool &fromPageable = sides.fromPageable, &toPageable = sides.toPageable;
  Status status = classify(source, sides.from, "source", sides.fromPageable);
  if (status.ok())
    status = classify(destination, sides.to, "destination", sides.toPageable);
  if (!status.ok())
    return status;
  if (__builtin_expect(isMixed(source, sides.from, fromPageable) ||
                           isMixed(destination, sides.to, toPageable),
                       0)) {
    uint64_t part = context.registrations.findPart(
        source, context.registrations.findPart(destination, bytes));
    RETURN_IF_ERROR(copyBytes(destination, source, part));
    return copyBytes(destination + part, source + part, bytes - part);
  }
  bool recorded = false;
  status = inRegion(recorded, [&](Recorder &region) {
    StridedCopy copy;
    copy.destination = destination;
    copy.source = source;
    copy.elementBytes = bytes;
    return record(region, copy, sides, recorded);
  });
  if (!status.ok() || recorded)
    return status;
  if (!fromPageable)
    return fromDevice(destination, source, bytes, toPageable);
  if (Pending pending; findPending(source, bytes, pending)) {
    if (!pending.staged) {
      HeldStaging late(context, stream);
      status = takeLate(late, source, bytes);
      if (!status.ok())
        return status;
      late.use();
      status = fromDevice(destination, late.data(), bytes, toPageable);
      if (!status.ok())
        return status;
      status = context.staging.use(stream, late.get(), bytes);
      late.passOn();
      return status;
    }
    if (pending.shared) {
      HeldStaging staging(context, stream);
      staging.takeOver(pending.shared);
      status = fromDevice(destination, staging.data() + pending.offset, bytes,
                          toPageable);
      Status used = context.staging.use(stream, staging.get(), bytes);
      staging.passOn();
      return status.ok() ? std::move(used) : std::move(status);
    }
    status = settle(source, bytes);
    if (!status.ok())
      return status;
  }
  return upload(destination, source, bytes, toPageable);
}

static void toStrided(StridedCopy &copy, const std::vector<Dim> &dims,
                      uint64_t elementBytes) {
  copy.rank = static_cast<uint32_t>(dims.size());
  copy.elementBytes = elementBytes;
  for (size_t i = 0; i < dims.size(); ++i) {
    copy.sizes[i] = dims[i].size;
    copy.destinationStrides[i] = dims[i].destination;
    copy.sourceStrides[i] = dims[i].source;
  }
}

/// Strides of a dense array of the same sizes, for one side; returns its size.
static uint64_t pack(std::vector<Dim> &dims, uint64_t elementBytes,
                     bool destination) {
  uint64_t bytes = elementBytes;
  for (size_t i = dims.size(); i-- > 0;) {
    (destination ? dims[i].destination : dims[i].source) =
        static_cast<int64_t>(bytes);
    bytes *= static_cast<uint64_t>(dims[i].size);
  }
  return bytes;
}

Status Transfer::copyDims(char *destination, const char *source,
                          std::vector<Dim> dims, uint64_t elementBytes) {
  if (!dims.empty() &&
      dims.back().destination == static_cast<int64_t>(elementBytes) &&
      dims.back().source == static_cast<int64_t>(elementBytes)) {
    elementBytes *= static_cast<uint64_t>(dims.back().size);
    dims.pop_back();
  }
  if (dims.empty())
    return copyBytes(destination, source, elementBytes);
  Sides sides;
  const Extent &from = sides.from = extentOf(dims, false, elementBytes),
               &to = sides.to = extentOf(dims, true, elementBytes);
  const bool &fromPageable = sides.fromPageable, &toPageable = sides.toPageable;
  Status status = classify(source, from, "source", sides.fromPageable);
  if (status.ok())
    status = classify(destination, to, "destination", sides.toPageable);
  if (!status.ok())
    return status;
  if (__builtin_expect(isMixed(source, from, fromPageable) ||
                           isMixed(destination, to, toPageable),
                       0)) {
    bool halved = inHalves(
        dims, [&](const std::vector<Dim> &half, const Dim &dim, int64_t first) {
          if (status.ok())
            status = copyDims(destination + first * dim.destination,
                              source + first * dim.source, half, elementBytes);
        });
    return halved ? std::move(status)
                  : copyBytes(destination, source, elementBytes);
  }
  if (dims.size() > StridedCopy::maxRank) {
    Dim outer = dims.front();
    dims.erase(dims.begin());
    for (int64_t i = 0; i < outer.size && status.ok(); ++i)
      status = copyDims(destination + i * outer.destination,
                        source + i * outer.source, dims, elementBytes);
    return status;
  }
  const char *sourceLow = source + from.low;
  char *destinationLow = destination + to.low;

  StridedCopy copy;
  toStrided(copy, dims, elementBytes);
  copy.destination = destination;
  copy.source = source;
  bool recorded = false;
  status = inRegion(recorded, [&](Recorder &region) {
    return record(region, copy, sides, recorded);
  });
  if (!status.ok() || recorded)
    return status;
  HeldStaging gathered(context, stream);
  if (fromPageable) {
    Pending pending;
    bool late = findPending(sourceLow, from.bytes(), pending);
    if (pending.shared) // its elements are gathered by the host
      context.memory.dropStaging(pending.shared);
    if (late && pending.staged) {
      status = settle(sourceLow, from.bytes());
      if (!status.ok())
        return status;
      late = false;
    }
    if (late) {
      status = takeLate(gathered, sourceLow, from.bytes());
      if (!status.ok())
        return status;
      copy.source = gathered.data() + (source - sourceLow);
      gathered.use();
    } else {
      if (context.has(CapHostAccess) && idle()) {
        const int64_t from = tracing() ? nowNs() : 0;
        copyOnHost(copy);
        traceHostCopy(context, stream.native, bytesOf(copy), site, from);
        return Status();
      }
      std::vector<Dim> gather = dims;
      uint64_t total = pack(gather, elementBytes, true);
      status = gathered.take(total);
      if (!status.ok())
        return status;
      StridedCopy toStaging;
      toStrided(toStaging, gather, elementBytes);
      toStaging.destination = gathered.data();
      toStaging.source = source;
      copyOnHost(toStaging);
      pack(dims, elementBytes, false);
      toStrided(copy, dims, elementBytes);
      copy.source = gathered.data();
      gathered.use();
    }
  }
  DriverContext &driver = *context.driver;
  if (!toPageable)
    status = driver.copyStrided(stream.native, copy, site);
  else if (context.has(CapPageableDestination)) {
    status = driver.copyStrided(stream.native, copy, site);
    if (status.ok() && !idle())
      status =
          remember(destinationLow, to.bytes(), nullptr, new StridedCopy(copy));
  } else if (stream.external) {
    status = makeStatus(GPUASYNC_UNSUPPORTED,
                        "strided copy into pageable host memory on a caller's "
                        "stream; register the memory");
  } else {
    auto scatter = std::make_unique<StridedCopy>(copy);
    uint64_t total = pack(dims, elementBytes, true);
    HeldStaging staging(context, stream);
    status = staging.take(total);
    if (status.ok()) {
      for (size_t i = 0; i < dims.size(); ++i) {
        copy.destinationStrides[i] = dims[i].destination;
        scatter->sourceStrides[i] = dims[i].destination;
      }
      copy.destination = staging.data();
      scatter->source = staging.data();
      status = driver.copyStrided(stream.native, copy, site);
    }
    if (status.ok()) {
      staging.use();
      status = remember(destinationLow, to.bytes(), staging.get(),
                        scatter.release());
      if (status.ok())
        staging.passOn();
    }
  }
  if (!gathered.get() || !status.ok())
    return status;
  status = context.staging.use(stream, gathered.get(), gathered.get()->bytes);
  gathered.passOn();
  return status;
}

Status Transfer::fillDims(char *destination, std::vector<Dim> dims,
                          const void *pattern, uint32_t elementBytes) {
  if (dims.empty())
    dims.push_back({1, elementBytes, elementBytes});
  bool pageable;
  const Extent extent = extentOf(dims, true, elementBytes);
  Status status = classify(destination, extent, "destination", pageable);
  if (!status.ok())
    return status;
  if (__builtin_expect(isMixed(destination, extent, pageable), 0) &&
      inHalves(dims, [&](const std::vector<Dim> &half, const Dim &dim,
                         int64_t first) {
        if (status.ok())
          status = fillDims(destination + first * dim.destination, half,
                            pattern, elementBytes);
      }))
    return status;
  if (dims.size() > StridedFill::maxRank) {
    Dim outer = dims.front();
    dims.erase(dims.begin());
    for (int64_t i = 0; i < outer.size && status.ok(); ++i)
      status = fillDims(destination + i * outer.destination, dims, pattern,
                        elementBytes);
    return status;
  }
  char *low = destination + extent.low;
  StridedFill fill;
  fill.destination = destination;
  fill.rank = static_cast<uint32_t>(dims.size());
  fill.elementBytes = elementBytes;
  memcpy(fill.pattern, pattern, elementBytes);
  for (size_t i = 0; i < dims.size(); ++i) {
    fill.sizes[i] = dims[i].size;
    fill.strides[i] = dims[i].destination;
  }
  bool recorded = false;
  status = inRegion(recorded, [&](Recorder &region) {
    recorded = !pageable;
    return recorded ? region.fill(stream, fill, site) : Status();
  });
  if (!status.ok() || recorded)
    return status;
  DriverContext &driver = *context.driver;
  if (!pageable || context.has(CapPageableDestination)) {
    status = driver.fillStrided(stream.native, fill, site);
    if (status.ok() && pageable && !idle()) {
      auto written = std::make_unique<StridedCopy>();
      toStrided(*written, dims, elementBytes);
      written->destination = destination;
      status = remember(low, extent.bytes(), nullptr, written.release());
    }
    return status;
  }
  if (stream.external)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "fill of pageable host memory on a caller's stream; "
                      "register the memory");
  // The value is known: it lies in staging until a host wait writes it.
  auto scatter = std::make_unique<StridedCopy>();
  std::vector<Dim> packed = dims;
  uint64_t total = pack(packed, elementBytes, false);
  HeldStaging staging(context, stream);
  status = staging.take(total);
  if (!status.ok())
    return status;
  StridedFill dense = fill;
  dense.destination = staging.data();
  dense.rank = 1;
  dense.sizes[0] = static_cast<int64_t>(total / elementBytes);
  dense.strides[0] = elementBytes;
  fillOnHost(dense);
  toStrided(*scatter, packed, elementBytes);
  scatter->destination = destination;
  scatter->source = staging.data();
  status = remember(low, extent.bytes(), staging.get(), scatter.release());
  if (status.ok())
    staging.passOn();
  return status;
}

static Status tooLarge(uint64_t count, uint32_t elementBytes) {
  return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                    "too large: %ju elements of %u bytes", count, elementBytes);
}

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
      return tooLarge(bytes, 1);
    return Transfer(*frame, *stream, site)
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
    return Transfer(*frame, *stream, site)
        .copyDims(static_cast<char *>(destination),
                  static_cast<const char *>(source),
                  makeDims(sizes, destinationStrides, sourceStrides, rank,
                           elementBytes),
                  elementBytes);
  });
}

void gpuasync_memset(gpuasync_frame *memory, gpuasync_stream *stream,
                     void *destination, const void *pattern,
                     uint32_t elementBytes, uint64_t count,
                     uint32_t siteIndex) noexcept {
  if (Frame *frame = Frame::of(memory);
      __builtin_expect(count > INT64_MAX, 0) && frame->usable())
    return frame->fail(tooLarge(count, elementBytes), frame->siteAt(siteIndex));
  int64_t size = static_cast<int64_t>(count), stride = 1;
  gpuasync_memset_strided(memory, stream, destination, &stride, &size, 1,
                          pattern, elementBytes, siteIndex);
}

void gpuasync_memset_strided(gpuasync_frame *memory, gpuasync_stream *stream,
                             void *destination, const int64_t *strides,
                             const int64_t *sizes, uint32_t rank,
                             const void *pattern, uint32_t elementBytes,
                             uint32_t siteIndex) noexcept {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (!frame->usable() || !frame->owns(stream, site))
    return;
  if (!frame->region)
    stream->note(site); // else when it is played
  frame->run(site, [&]() -> Status {
    if (elementBytes > 16 || __builtin_popcount(elementBytes) != 1)
      return makeStatus(GPUASYNC_UNSUPPORTED,
                        "fill with elements of %u bytes; 1, 2, 4, 8 and 16 can "
                        "be filled",
                        elementBytes);
    if (__builtin_expect(!pattern || (rank && !strides), 0))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        pattern ? "null strides" : "null pattern");
    Extent extent;
    RETURN_IF_ERROR(checkExtent(sizes, strides, rank, elementBytes, extent));
    if (!extent.bytes())
      return Status();
    return Transfer(*frame, *stream, site)
        .fillDims(static_cast<char *>(destination),
                  makeDims(sizes, strides, strides, rank, elementBytes),
                  pattern, elementBytes);
  });
}
}
