//===- Fill.cpp - Fills ---------------------------------------------------===//
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

struct Filling : Transfer {
  using Transfer::Transfer;

  Status fillArray(char *destination, const Dims &dims, const void *pattern,
                   uint32_t elementBytes);
  /// A fill of one element, of which the device reaches a part only.
  Status fillByBytes(const StridedFill &element);
  /// A fill of memory of one kind.
  Status fillBox(const StridedFill &fill, const Extent &extent, bool pageable);
};

} // namespace

/// A copy to the memory that `fill` writes. Its source is left out.
static StridedCopy copyOf(const StridedFill &fill) {
  StridedCopy copy;
  copy.destination = fill.destination;
  copy.rank = fill.rank;
  copy.elementBytes = fill.elementBytes;
  for (uint32_t i = 0; i < fill.rank; ++i) {
    copy.sizes[i] = fill.sizes[i];
    copy.destinationStrides[i] = copy.sourceStrides[i] = fill.strides[i];
  }
  return copy;
}

Status Filling::fillBox(const StridedFill &fill, const Extent &extent,
                        bool pageable) {
  bool recorded = false;
  Status status = inRegion(recorded, [&](Recorder &region) {
    recorded = !pageable;
    return recorded ? region.fill(stream, fill, site) : Status();
  });
  if (!status.ok() || recorded)
    return status;
  char *low = static_cast<char *>(fill.destination) + extent.low;
  if (!pageable || context.has(CapPageableDestination)) {
    RETURN_IF_ERROR(context.driver->submit(stream.native, Command(fill, site)));
    if (!pageable || isIdle())
      return Status();
    return remember(low, extent.bytes(), nullptr,
                    new StridedCopy(copyOf(fill)));
  }
  if (stream.external)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "fill of pageable host memory on a caller's stream; "
                      "register the memory");
  // The value is known: it lies in staging until a host wait writes it.
  auto scatter = std::make_unique<StridedCopy>(copyOf(fill));
  const uint64_t total = denseStrides(*scatter, scatter->sourceStrides);
  HeldStaging staging(context, stream);
  RETURN_IF_ERROR(staging.take(total));
  StridedFill dense = fill;
  dense.destination = staging.data();
  dense.rank = 1;
  dense.sizes[0] = static_cast<int64_t>(total / fill.elementBytes);
  dense.strides[0] = fill.elementBytes;
  fillOnHost(dense);
  scatter->source = staging.data();
  RETURN_IF_ERROR(
      remember(low, extent.bytes(), staging.get(), scatter.release()));
  staging.passOn();
  return Status();
}

Status Filling::fillByBytes(const StridedFill &element) {
  for (uint32_t i = 0; i < element.elementBytes; ++i) {
    StridedFill fill;
    fill.destination = static_cast<char *>(element.destination) + i;
    fill.rank = 1;
    fill.sizes[0] = fill.strides[0] = fill.elementBytes = 1;
    fill.pattern[0] = element.pattern[i];
    bool pageable = false;
    RETURN_IF_ERROR(
        classify(fill.destination, extentOf(1), "destination", pageable));
    RETURN_IF_ERROR(fillBox(fill, extentOf(1), pageable));
  }
  return Status();
}

Status Filling::fillArray(char *destination, const Dims &dims,
                          const void *pattern, uint32_t elementBytes) {
  bool pageable = false;
  if (dims.rank > StridedFill::maxRank) // an error comes before any fill
    RETURN_IF_ERROR(classify(destination,
                             extentOf(dims, /*destination=*/true, elementBytes),
                             "destination", pageable));
  for (Boxes boxes(dims, StridedFill::maxRank); !boxes.done(); boxes.next()) {
    StridedFill fill;
    Extent extent;
    bool isWhole = false;
    do {
      fill = StridedFill();
      fill.elementBytes = elementBytes;
      memcpy(fill.pattern, pattern, elementBytes);
      fill.destination = destination + boxes.destinationOffset();
      boxes.forEachDim([&](int64_t size, const Dim &dim) {
        fill.sizes[fill.rank] = size;
        fill.strides[fill.rank++] = dim.destination;
      });
      if (!fill.rank) { // one element
        fill.rank = 1;
        fill.sizes[0] = 1;
        fill.strides[0] = elementBytes;
      }
      extent = extentOf(fill.sizes, fill.strides, fill.rank, elementBytes);
      RETURN_IF_ERROR(
          classify(fill.destination, extent, "destination", pageable));
      isWhole = !isMixed(fill.destination, extent, pageable);
    } while (!isWhole && boxes.halve());
    RETURN_IF_ERROR(isWhole ? fillBox(fill, extent, pageable)
                            : fillByBytes(fill));
  }
  return Status();
}

extern "C" {

void gpuasync_memset(gpuasync_frame *memory, gpuasync_stream *stream,
                     void *destination, const void *pattern,
                     uint32_t elementBytes, uint64_t count,
                     uint32_t siteIndex) noexcept {
  if (Frame *frame = Frame::of(memory);
      __builtin_expect(count > INT64_MAX, 0) && frame->usable())
    return frame->fail(makeStatus(GPUASYNC_INVALID_ARGUMENT,
                                  "too large: %ju elements of %u bytes", count,
                                  elementBytes),
                       frame->siteAt(siteIndex));
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
    Dims dims;
    makeDims(sizes, strides, strides, rank, elementBytes, dims);
    if (!dims.rank)
      dims.at[dims.rank++] = {1, elementBytes, elementBytes};
    return Filling(*frame, *stream, site)
        .fillArray(static_cast<char *>(destination), dims, pattern,
                   elementBytes);
  });
}
}
