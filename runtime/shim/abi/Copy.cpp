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
  Status copyArray(StridedCopy &copy, Dims &dims, const Sides &sides);
  /// A copy whose sides are each of one kind.
  template <typename Copy>
  Status copyPart(const Copy &copy, const Sides &sides);
};

} // namespace

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

template <typename Copy>
Status Copying::copyPart(const Copy &copy, const Sides &sides) {
  RETURN_IF_ERROR(settleOthers(copy.source, copy.destination, sides));
  if (isForRegion())
    return frame.region->put(stream, Command(copy, site), sides);
  if (sides.areReachable())
    return context.driver->submit(stream.native, Command(copy, site));
  if constexpr (std::is_same_v<Copy, StridedCopy>)
    return context.hostCopies->copy(*this, copy, sides);
  else {
    // Pieces of what goes through staging overlap on the host and the device.
    constexpr uint64_t chunkBytes = 4 << 20;
    const uint64_t most = context.has(CapHostAccess) ? copy.bytes : chunkBytes;
    Sides part = sides;
    for (uint64_t offset = 0; offset < copy.bytes; offset += most) {
      const uint64_t bytes = std::min(copy.bytes - offset, most);
      part.from = part.to = extentOf(bytes);
      RETURN_IF_ERROR(context.hostCopies->copy(
          *this,
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

Status Copying::copyArray(StridedCopy &copy, Dims &dims, const Sides &sides) {
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
      copy, dims, sides, /*isFill=*/false,
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
  Sides sides;
  if (__builtin_expect(rank && (!sourceStrides || !destinationStrides), 0))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null strides");
  RETURN_IF_ERROR(
      checkExtent(sizes, sourceStrides, rank, elementBytes, sides.from));
  RETURN_IF_ERROR(
      checkExtent(sizes, destinationStrides, rank, elementBytes, sides.to));
  if (!sides.to.bytes())
    return Status();
  Dims dims;
  makeDims(sizes, destinationStrides, sourceStrides, rank, elementBytes, dims);
  StridedCopy copy; // zeros behind the rank: copies are compared
  copy.destination = destination;
  copy.source = source;
  copy.elementBytes = elementBytes;
  return Copying(frame, stream, site).copyArray(copy, dims, sides);
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
