//===- Fill.cpp - Fills ---------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Transfer.h.
//===----------------------------------------------------------------------===//

#include "shim/abi/Transfer.h"

#include <string.h>

using namespace gpuasync;

namespace {

struct Filling : Transfer {
  using Transfer::Transfer;

  /// A fill of one element, of which the device reaches a part only.
  Status fillByBytes(const StridedCopy &element, const char *pattern);
  /// A fill of memory of one kind: the destination of `box`.
  Status fillBox(StridedCopy &box, const Sides &sides, const char *pattern);
};

} // namespace

static StridedFill fillOf(const StridedCopy &box, const char *pattern) {
  StridedFill fill;
  fill.destination = box.destination;
  fill.elementBytes = static_cast<uint32_t>(box.elementBytes);
  memcpy(fill.pattern, pattern, box.elementBytes);
  fill.rank = box.rank;
  memcpy(fill.sizes, box.sizes, sizeof(fill.sizes));
  memcpy(fill.strides, box.destinationStrides, sizeof(fill.strides));
  if (box.rank)
    return fill;
  fill.rank = 1;
  fill.sizes[0] = 1;
  fill.strides[0] = fill.elementBytes;
  return fill;
}

Status Filling::fillBox(StridedCopy &box, const Sides &sides,
                        const char *pattern) {
  RETURN_IF_ERROR(settleOthers(nullptr, box.destination, sides));
  StridedFill fill = fillOf(box, pattern);
  if (isForRegion())
    return frame.region->put(stream, Command(fill, site), sides);
  return sides.toPageable
             ? context.hostCopies->fill(*this, box, fill, sides)
             : context.driver->submit(stream.native, Command(fill, site));
}

Status Filling::fillByBytes(const StridedCopy &element, const char *pattern) {
  for (uint64_t i = 0; i < element.elementBytes; ++i) {
    StridedCopy byte;
    byte.destination = static_cast<char *>(element.destination) + i;
    byte.elementBytes = 1;
    Sides sides;
    sides.to = extentOf(1);
    RETURN_IF_ERROR(classify({byte.destination, nullptr, 1}, sides,
                             /*isFill=*/true));
    RETURN_IF_ERROR(fillBox(byte, sides, pattern + i));
  }
  return Status();
}

Status gpuasync::fillArray(Frame &frame, Stream &stream,
                           const gpuasync_site *site, void *destination,
                           const int64_t *strides, const int64_t *sizes,
                           uint32_t rank, const void *pattern,
                           uint32_t elementBytes) {
  if (elementBytes > 16 || __builtin_popcount(elementBytes) != 1)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "fill with elements of %u bytes; 1, 2, 4, 8 and 16 can "
                      "be filled",
                      elementBytes);
  if (__builtin_expect(!pattern || (rank && !strides), 0))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      pattern ? "null strides" : "null pattern");
  Sides sides;
  RETURN_IF_ERROR(checkExtent(sizes, strides, rank, elementBytes, sides.to));
  if (!sides.to.bytes())
    return Status();
  Dims dims;
  makeDims(sizes, strides, strides, rank, elementBytes, dims);
  if (!dims.rank)
    dims.at[dims.rank++] = {1, elementBytes, elementBytes};
  StridedCopy first;
  first.destination = destination;
  first.elementBytes = elementBytes;
  Filling filling(frame, stream, site);
  const char *bytes = static_cast<const char *>(pattern);
  return filling.forEachBox(
      first, dims, sides, /*isFill=*/true,
      [&](StridedCopy &box, const Sides &its) {
        return filling.fillBox(box, its, bytes);
      },
      [&](const StridedCopy &box) { return filling.fillByBytes(box, bytes); });
}

Status gpuasync::fillRow(Frame &frame, Stream &stream,
                         const gpuasync_site *site, void *destination,
                         uint64_t count, const void *pattern,
                         uint32_t elementBytes) {
  if (__builtin_expect(count > INT64_MAX, 0))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "too large: %ju elements of %u bytes", count,
                      elementBytes);
  const auto size = static_cast<int64_t>(count), stride = int64_t(1);
  return fillArray(frame, stream, site, destination, &stride, &size, 1, pattern,
                   elementBytes);
}

extern "C" {

void gpuasync_memset(gpuasync_frame *memory, gpuasync_stream *stream,
                     void *destination, const void *pattern,
                     uint32_t elementBytes, uint64_t count,
                     uint32_t siteIndex) noexcept {
  transfer(memory, stream, siteIndex, [&](Frame &frame, auto *site) {
    return fillRow(frame, *stream, site, destination, count, pattern,
                   elementBytes);
  });
}

void gpuasync_memset_strided(gpuasync_frame *memory, gpuasync_stream *stream,
                             void *destination, const int64_t *strides,
                             const int64_t *sizes, uint32_t rank,
                             const void *pattern, uint32_t elementBytes,
                             uint32_t siteIndex) noexcept {
  transfer(memory, stream, siteIndex, [&](Frame &frame, auto *site) {
    return fillArray(frame, *stream, site, destination, strides, sizes, rank,
                     pattern, elementBytes);
  });
}
}
