//===- TensorMap.cpp - Tensors as copies of boxes see them ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor map is a value of the host's, passed to kernels like any other: no
// stream, no device memory, and nothing that has to outlive the call.
//===----------------------------------------------------------------------===//

#include "shim/abi/Frame.h"

#include <stdio.h>

using namespace gpuasync;

static constexpr uint32_t maxRank = 5;
/// Of CUtensorMapDataType, in its order.
static const uint8_t elementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

/// "8 x 16", from numbers of which the first is the innermost dimension's.
template <typename Number>
static const char *list(char (&text)[maxRank * 24], const Number *numbers,
                        uint32_t count) {
  text[0] = 0;
  for (int used = 0; count-- > 0;)
    used += snprintf(text + used, sizeof(text) - static_cast<size_t>(used),
                     count ? "%llu x " : "%llu",
                     static_cast<unsigned long long>(numbers[count]));
  return text;
}

Status gpuasync::encodeTensorMap(gpuasync_context &context,
                                 const TensorMap &map, void *out) {
  TensorMaps *maps = context.driver->extensions.tensorMaps;
  if (!maps)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "this device has no tensor map descriptors");
  Status status = maps->encodeTensorMap(map, out);
  if (status.ok() || status.code() == GPUASYNC_UNSUPPORTED ||
      status.code() == GPUASYNC_DEVICE_LOST || map.rank - 1 >= maxRank)
    return status;
  // The vendor only says that something is wrong.
  char sizes[maxRank * 24], strides[maxRank * 24], box[maxRank * 24];
  return makeStatus(
      status.code(),
      "%s; a tensor of %s elements at %p with outer strides of (%s) bytes, a "
      "box of %s: address and outer strides must be multiples of 16 bytes, no "
      "size 0, the box 1 to 256 in each dimension and in the last one a "
      "multiple of 16 bytes, with a swizzle no more than that",
      status.message(), list(sizes, map.sizes, map.rank), map.address,
      list(strides, map.strides, map.rank - 1), list(box, map.box, map.rank));
}

static Status encode(gpuasync_context &context, void *out, void *base,
                     const int64_t *sizes, const int64_t *strides,
                     uint32_t rank, const int64_t *box,
                     const gpuasync_tensor_format &format) {
  if (format.elementType >= sizeof(elementBytes))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "unknown element type %u",
                      format.elementType);
  if (rank < 1 || rank > maxRank || rank != format.boxRank)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the tensor has %u dimensions and the box %u: both need "
                      "the same number, 1 to 5",
                      rank, format.boxRank);
  if (strides[rank - 1] != 1 && sizes[rank - 1] > 1)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "the last dimension of the tensor has stride %jd: it "
                      "must be contiguous",
                      strides[rank - 1]);
  // Innermost first there, last here.
  uint64_t extents[maxRank], bytes[maxRank];
  uint32_t boxes[maxRank], ones[maxRank];
  for (uint32_t i = 0; i < rank; ++i) {
    uint32_t from = rank - 1 - i;
    if (box[from] < 1 || box[from] > 256)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "the box has %jd elements in dimension %u: 1 to 256 "
                        "are possible",
                        box[from], from);
    if (sizes[from] < 0)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "negative size: the tensor has %jd elements in "
                        "dimension %u",
                        sizes[from], from);
    extents[i] = static_cast<uint64_t>(sizes[from]);
    boxes[i] = static_cast<uint32_t>(box[from]);
    ones[i] = 1;
    if (i &&
        (strides[from] < 0 ||
         __builtin_mul_overflow(strides[from], elementBytes[format.elementType],
                                &bytes[i - 1])))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "dimension %u of the tensor has a stride of %jd "
                        "elements",
                        from, strides[from]);
  }
  TensorMap map;
  map.dataType = format.elementType;
  map.rank = rank;
  map.address = base;
  map.sizes = extents;
  map.strides = bytes;
  map.box = boxes;
  map.elementStrides = ones;
  map.interleave = format.interleave;
  map.swizzle = format.swizzle;
  map.l2Promotion = format.l2Promotion;
  map.fill = format.fill;
  return encodeTensorMap(context, map, out);
}

extern "C" void gpuasync_tensor_map_encode(gpuasync_frame *memory,
                                           uint32_t device, void *map,
                                           void *base, const int64_t *sizes,
                                           const int64_t *strides,
                                           uint32_t rank, const int64_t *box,
                                           const gpuasync_tensor_format *format,
                                           uint32_t siteIndex) noexcept {
  Frame::enter(memory, siteIndex, [&](Frame &frame, auto *) -> Status {
    DeviceUse *use = nullptr;
    RETURN_IF_ERROR(frame.enterDevice(device, use));
    if (!map || !base || !sizes || !strides || !box || !format)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null argument");
    return encode(*use->context, map, base, sizes, strides, rank, box, *format);
  });
}
