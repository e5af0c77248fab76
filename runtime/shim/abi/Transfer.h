//===- Transfer.h - What copies and fills share -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver copies memory that the device reaches by itself. HostCopies.h has
// the copies of pageable memory.
//===----------------------------------------------------------------------===//
//
// Copy.cpp classifies both sides of each copy. Arrays of which one part is
// registered and another is not, or of more dimensions than drivers take, are
// copied box by box (Boxes.h). A function for both ByteCopy and StridedCopy is
// a template.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_ABI_TRANSFER_H
#define GPUASYNC_SHIM_ABI_TRANSFER_H

#include "shim/abi/Frame.h"
#include "shim/command/Boxes.h"
#include "shim/pool/HostMemory.h"

namespace gpuasync {

/// The two sides of a copy; a fill has no source.
struct Sides {
  bool fromPageable = false, toPageable = false;
  Extent from, to; ///< around the first elements
  bool areReachable() const { return !fromPageable && !toPageable; }
};

/// One frame's copy or fill on one stream.
struct Transfer {
  Frame &frame;
  DeviceUse &use;
  gpuasync_context &context;
  Stream &stream;
  const gpuasync_site *site;

  Transfer(Frame &frame, Stream &stream, const gpuasync_site *site)
      : frame(frame), use(*stream.use), context(*use.context), stream(stream),
        site(site) {}

  /// Says which sides the device does not reach by itself. A first element
  /// decides which memory the rest must not leave. A fill has no source.
  Status classify(const ByteCopy &first, Sides &sides, bool isFill = false) {
    if (!isFill)
      RETURN_IF_ERROR(
          classify(first.source, sides.from, "source", sides.fromPageable));
    return classify(first.destination, sides.to, "destination",
                    sides.toPageable);
  }
  /// Whether the host would copy for the device on a side, and the device
  /// reaches a part of it: work on that part has a place in the order of the
  /// streams.
  bool isMixed(const ByteCopy &first, const Sides &sides) {
    return isMixed(first.source, sides.from, sides.fromPageable) ||
           isMixed(first.destination, sides.to, sides.toPageable);
  }
  /// Before the host copies for the device. The device's own copies keep the
  /// order of their calls; other devices, and frames around this one, do not
  /// know of it.
  Status settleOthers(const void *source, const void *destination,
                      const Sides &sides) {
    if (__builtin_expect(!frame.more && !frame.outer, 1))
      return Status();
    auto settle = [&](const void *first, const Extent &extent, bool staged) {
      return settleDownloads(frame,
                             static_cast<const char *>(first) + extent.low,
                             extent.bytes(), staged, &use);
    };
    if (sides.fromPageable)
      RETURN_IF_ERROR(settle(source, sides.from, /*staged=*/false));
    return sides.toPageable ? settle(destination, sides.to, /*staged=*/true)
                            : Status();
  }
  /// Calls `whole(box, sides)` for boxes of an array that drivers take, whose
  /// sides are each of one kind, and `element(box)` for elements of which a
  /// side is not. `first` is the box of the first element, `sides` has the
  /// extents of the array.
  template <typename Whole, typename Element>
  Status forEachBox(const StridedCopy &first, const Dims &dims, Sides sides,
                    bool isFill, Whole whole, Element element) {
    // An error comes before any of its boxes is enqueued.
    if (dims.rank > StridedCopy::maxRank)
      RETURN_IF_ERROR(
          classify({first.destination, first.source, 0}, sides, isFill));
    for (Boxes boxes(dims, StridedCopy::maxRank); !boxes.done(); boxes.next()) {
      StridedCopy box;
      bool isWhole = false;
      do {
        box = first;
        boxes.read(box);
        sides.from = sourceExtent(box);
        sides.to = destinationExtent(box);
        const ByteCopy at = {box.destination, box.source, 0};
        RETURN_IF_ERROR(classify(at, sides, isFill));
        isWhole = !isMixed(at, sides);
      } while (!isWhole && boxes.halve());
      RETURN_IF_ERROR(isWhole ? whole(box, sides) : element(box));
    }
    return Status();
  }
  /// Whether the region takes the work, by CommandSink::put.
  bool isForRegion() const {
    return __builtin_expect(frame.region && frame.region->isAdding(), 0);
  }

private:
  /// Says in `pageable` whether the device does not reach by itself the memory
  /// around `first`, the first element. `role` names the side in errors.
  Status classify(const void *first, const Extent &extent, const char *role,
                  bool &pageable);
  bool isReachable(const void *first, const Extent &extent);
  bool isMixed(const void *first, const Extent &extent, bool pageable) {
    return pageable && context.registrations.findPart(
                           static_cast<const char *>(first) + extent.low,
                           extent.bytes()) < extent.bytes();
  }
};

/// Runs the body of an entry that copies or fills. `body(frame, site)` is
/// called unless the frame failed.
template <typename Body>
void transfer(gpuasync_frame *memory, Stream *stream, uint32_t siteIndex,
              Body body) {
  Frame *frame = Frame::of(memory);
  const gpuasync_site *site = frame->siteAt(siteIndex);
  if (frame->usable() && frame->owns(stream, site) &&
      frame->beginWork(*stream, site))
    frame->run(site, [&]() -> Status {
      RETURN_IF_ERROR(frame->makeCurrent(*stream->use));
      return body(*frame, site);
    });
}

/// As the entries of RuntimeABI.h, on a stream that can be given work.
Status copyBytes(Frame &frame, Stream &stream, const gpuasync_site *site,
                 void *destination, const void *source, uint64_t bytes);
Status copyArray(Frame &frame, Stream &stream, const gpuasync_site *site,
                 void *destination, const int64_t *destinationStrides,
                 const void *source, const int64_t *sourceStrides,
                 const int64_t *sizes, uint32_t rank, uint32_t elementBytes);
Status fillArray(Frame &frame, Stream &stream, const gpuasync_site *site,
                 void *destination, const int64_t *strides,
                 const int64_t *sizes, uint32_t rank, const void *pattern,
                 uint32_t elementBytes);
/// As fillArray, for elements side by side.
Status fillRow(Frame &frame, Stream &stream, const gpuasync_site *site,
               void *destination, uint64_t count, const void *pattern,
               uint32_t elementBytes);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_ABI_TRANSFER_H
