//===- Mgpu.cpp - Streams, events and memory of mgpu calls ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The symbols of MLIR 22.1's CudaRuntimeWrappers and RocmRuntimeWrappers, with
// their signatures; modules and launches are in Modules.cpp.
//===----------------------------------------------------------------------===//

#include "libs/mgpu/Handles.h"
#include "libs/mgpu/Report.h"
#include "shim/command/Extent.h"

#include <string.h>

using namespace gpuasync;
using namespace gpuasync::mgpu;

namespace {

/// A ranked memref's descriptor of any rank: sizes, then strides follow.
struct Descriptor {
  void *base;
  char *data;
  int64_t offset;
  int64_t sizes[1];
};

void failNull(const gpuasync_site *site) { fail(site, "null argument"); }

/// The bytes that a memref covers; false if there are none, or it cannot be.
bool findBytes(int64_t rank, const Descriptor *descriptor, int64_t elementBytes,
               const gpuasync_site *site, char *&begin, uint64_t &bytes) {
  if (!descriptor) {
    failNull(site);
    return false;
  }
  int64_t offset;
  if (rank < 0 || elementBytes < 1 ||
      __builtin_mul_overflow(descriptor->offset, elementBytes, &offset)) {
    fail(site,
         "a memref of rank %lld with elements of %lld bytes and offset %lld",
         static_cast<long long>(rank), static_cast<long long>(elementBytes),
         static_cast<long long>(descriptor->offset));
    return false;
  }
  const int64_t *sizes = descriptor->sizes, *strides = sizes + rank;
  auto count = static_cast<uint32_t>(rank);
  auto element = static_cast<uint64_t>(elementBytes);
  Extent extent;
  if (!findExtent(sizes, strides, count, element, extent)) {
    fail(site, "%s", describeBadExtent(sizes, strides, count, element).c_str());
    return false;
  }
  begin = descriptor->data + offset + extent.low;
  bytes = extent.bytes();
  return bytes != 0;
}

void registerRange(void *pointer, uint64_t bytes, const gpuasync_site *site) {
  if (MgpuDevice *device = currentDevice(site))
    check(site, device->session->registerHost(pointer, bytes, site));
}

void unregisterRange(void *pointer, const gpuasync_site *site) {
  if (MgpuDevice *device = currentDevice(site))
    check(site, device->session->unregisterHost(pointer, site),
          /*release=*/true);
}

/// What upstream returns by value; its pointers are of the element type.
struct MemRef1d {
  void *base, *data;
  int64_t offset, size, stride;
};

MemRef1d deviceMemRef(void *aligned, int64_t offset, int64_t size,
                      int64_t stride, const gpuasync_site *site) {
  void *pointer = entry(site, [&] {
    void *found = nullptr;
    if (!aligned && size)
      failNull(site);
    else if (MgpuDevice *device = currentDevice(site))
      check(site, device->session->devicePointer(aligned, site, found));
    return found;
  });
  return {pointer, pointer, offset, size, stride};
}

void fillMemory(void *destination, const void *pattern, uint32_t elementBytes,
                size_t count, void *stream, const gpuasync_site *site) {
  Work work(stream, site);
  if (work.stream)
    check(site, work.device->session->fill(work.stream, destination, pattern,
                                           elementBytes, count, site));
}

} // namespace

extern "C" {

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

GPUASYNC_API void *mgpuStreamCreate() noexcept {
  GPUASYNC_MGPU_SITE("mgpuStreamCreate");
  return entry(&site, [&] { return createHandle(Kind::Stream, &site); });
}

GPUASYNC_API void mgpuStreamDestroy(void *stream) noexcept {
  GPUASYNC_MGPU_SITE("mgpuStreamDestroy");
  release(&site, [&] { destroyHandle(stream, &site); });
}

GPUASYNC_API void mgpuStreamSynchronize(void *stream) noexcept {
  GPUASYNC_MGPU_SITE("mgpuStreamSynchronize");
  entry(&site, [&] { synchronizeHandle(stream, Kind::Stream, &site); });
}

GPUASYNC_API void mgpuStreamWaitEvent(void *stream, void *event) noexcept {
  GPUASYNC_MGPU_SITE("mgpuStreamWaitEvent");
  entry(&site, [&] { waitForHandle(stream, event, &site); });
}

GPUASYNC_API void *mgpuEventCreate() noexcept {
  GPUASYNC_MGPU_SITE("mgpuEventCreate");
  return entry(&site, [&] { return createHandle(Kind::Event, &site); });
}

GPUASYNC_API void mgpuEventDestroy(void *event) noexcept {
  GPUASYNC_MGPU_SITE("mgpuEventDestroy");
  release(&site, [&] { destroyHandle(event, &site); });
}

GPUASYNC_API void mgpuEventSynchronize(void *event) noexcept {
  GPUASYNC_MGPU_SITE("mgpuEventSynchronize");
  entry(&site, [&] {
    if (event)
      synchronizeHandle(event, Kind::Event, &site);
    else
      fail(&site, "the event is null");
  });
}

GPUASYNC_API void mgpuEventRecord(void *event, void *stream) noexcept {
  GPUASYNC_MGPU_SITE("mgpuEventRecord");
  entry(&site, [&] { recordHandle(event, stream, &site); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The memory can be used at once on any stream, as upstream's can.
GPUASYNC_API void *mgpuMemAlloc(uint64_t bytes, void *stream,
                                bool isHostShared) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemAlloc");
  return entry(&site, [&] {
    MgpuDevice *device = bytes ? deviceOf(stream, &site) : nullptr;
    void *pointer = nullptr;
    if (device)
      check(&site,
            device->session->alloc(bytes,
                                   isHostShared ? GPUASYNC_ALLOC_HOST_SHARED
                                                : GPUASYNC_ALLOC_DEVICE,
                                   &site, pointer));
    return pointer;
  });
}

GPUASYNC_API void mgpuMemFree(void *pointer, void *stream) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemFree");
  release(&site, [&] {
    if (pointer)
      freeAfter(stream, pointer, &site);
  });
}

GPUASYNC_API void mgpuMemcpy(void *destination, void *source, size_t bytes,
                             void *stream) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemcpy");
  entry(&site, [&] {
    Work work(stream, &site);
    if (work.stream)
      check(&site, work.device->session->copy(work.stream, destination, source,
                                              bytes, &site));
  });
}

GPUASYNC_API void mgpuMemset32(void *destination, unsigned value, size_t count,
                               void *stream) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemset32");
  entry(&site,
        [&] { fillMemory(destination, &value, 4, count, stream, &site); });
}

GPUASYNC_API void mgpuMemset16(void *destination, unsigned short value,
                               size_t count, void *stream) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemset16");
  entry(&site,
        [&] { fillMemory(destination, &value, 2, count, stream, &site); });
}

//===----------------------------------------------------------------------===//
// Host memory
//===----------------------------------------------------------------------===//

GPUASYNC_API void mgpuMemHostRegister(void *pointer, uint64_t bytes) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemHostRegister");
  entry(&site, [&] { registerRange(pointer, bytes, &site); });
}

GPUASYNC_API void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor,
                                            int64_t elementBytes) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemHostRegisterMemRef");
  entry(&site, [&] {
    char *begin = nullptr;
    uint64_t bytes = 0;
    if (findBytes(rank, static_cast<Descriptor *>(descriptor), elementBytes,
                  &site, begin, bytes))
      registerRange(begin, bytes, &site);
  });
}

GPUASYNC_API void mgpuMemHostUnregister(void *pointer) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemHostUnregister");
  release(&site, [&] { unregisterRange(pointer, &site); });
}

GPUASYNC_API void mgpuMemHostUnregisterMemRef(int64_t rank, void *descriptor,
                                              int64_t elementBytes) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemHostUnregisterMemRef");
  release(&site, [&] {
    char *begin = nullptr;
    uint64_t bytes = 0;
    if (findBytes(rank, static_cast<Descriptor *>(descriptor), elementBytes,
                  &site, begin, bytes))
      unregisterRange(begin, &site);
  });
}

GPUASYNC_API MemRef1d mgpuMemGetDeviceMemRef1dFloat(float *, float *aligned,
                                                    int64_t offset,
                                                    int64_t size,
                                                    int64_t stride) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemGetDeviceMemRef1dFloat");
  return deviceMemRef(aligned, offset, size, stride, &site);
}

GPUASYNC_API MemRef1d mgpuMemGetDeviceMemRef1dInt32(int32_t *, int32_t *aligned,
                                                    int64_t offset,
                                                    int64_t size,
                                                    int64_t stride) noexcept {
  GPUASYNC_MGPU_SITE("mgpuMemGetDeviceMemRef1dInt32");
  return deviceMemRef(aligned, offset, size, stride, &site);
}

/// For the calling thread, as upstream's; later calls of it use that device.
GPUASYNC_API void mgpuSetDefaultDevice(int32_t device) noexcept {
  GPUASYNC_MGPU_SITE("mgpuSetDefaultDevice");
  entry(&site, [&] {
    if (device < 0)
      return fail(&site, "there is no device %d", static_cast<int>(device));
    setOrdinal(device);
    (void)currentDevice(&site);
  });
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

GPUASYNC_API void mgpuTensorMapEncodeTiled(
    void *map, uint32_t dataType, uint32_t rank, void *address,
    const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
    const uint32_t *elementStrides, uint32_t interleave, uint32_t swizzle,
    uint32_t l2Promotion, uint32_t fill) noexcept {
  GPUASYNC_MGPU_SITE("mgpuTensorMapEncodeTiled");
  entry(&site, [&] {
    if (!map || !address || !sizes || !box || !elementStrides ||
        (!strides && rank > 1))
      return failNull(&site);
    MgpuDevice *device = currentDevice(&site);
    if (!device)
      return;
    TensorMap tensor;
    tensor.dataType = dataType;
    tensor.rank = rank;
    tensor.address = address;
    tensor.sizes = sizes;
    tensor.strides = strides;
    tensor.box = box;
    tensor.elementStrides = elementStrides;
    tensor.interleave = interleave;
    tensor.swizzle = swizzle;
    tensor.l2Promotion = l2Promotion;
    tensor.fill = fill;
    check(&site, device->session->encodeTensorMap(tensor, &site, map));
  });
}

/// The descriptor of a memref, in device memory that the caller owns.
GPUASYNC_API void *
mgpuTensorMapEncodeTiledMemref(int64_t rank, void *rankedDescriptor,
                               uint32_t dataType, uint32_t interleave,
                               uint32_t swizzle, uint32_t l2Promotion,
                               uint32_t fill, int64_t *boxSizes) noexcept {
  GPUASYNC_MGPU_SITE("mgpuTensorMapEncodeTiledMemref");
  return entry(&site, [&]() -> void * {
    // Of CUtensorMapDataType, in its order.
    static const uint8_t elementBytes[] = {1, 2, 4, 4, 8, 8, 2,
                                           4, 8, 2, 4, 4, 4};
    if (rank < 1 || rank > 5 || dataType >= sizeof(elementBytes)) {
      fail(&site,
           "rank %lld, element type %u: tensor maps have 1 to 5 "
           "dimensions of a type below %zu",
           static_cast<long long>(rank), dataType, sizeof(elementBytes));
      return nullptr;
    }
    if (!rankedDescriptor || !boxSizes) {
      failNull(&site);
      return nullptr;
    }
    auto *descriptor = static_cast<Descriptor *>(rankedDescriptor);
    uint64_t sizes[5] = {1, 1, 1, 1, 1}, strides[5] = {};
    uint32_t box[5] = {1, 1, 1, 1, 1}, elementStrides[5] = {1, 1, 1, 1, 1};
    // Innermost first there, last here. As upstream, the tensor begins at the
    // aligned pointer.
    for (int64_t i = 0; i < rank; ++i) {
      int64_t size = descriptor->sizes[rank - 1 - i];
      int64_t stride = i + 1 < rank ? descriptor->sizes[2 * rank - 2 - i] : 0;
      int64_t boxSize = boxSizes[rank - 1 - i];
      if (size < 0 || boxSize < 1 || boxSize > 256 || stride < 0 ||
          __builtin_mul_overflow(stride, elementBytes[dataType], &strides[i])) {
        fail(&site,
             "dimension %lld: %lld elements in boxes of %lld, %lld elements "
             "apart: boxes have 1 to 256, nothing is negative",
             static_cast<long long>(rank - 1 - i), static_cast<long long>(size),
             static_cast<long long>(boxSize), static_cast<long long>(stride));
        return nullptr;
      }
      sizes[i] = static_cast<uint64_t>(size);
      box[i] = static_cast<uint32_t>(boxSize);
    }
    alignas(64) unsigned char map[128];
    mgpuTensorMapEncodeTiled(
        map, dataType, static_cast<uint32_t>(rank), descriptor->data, sizes,
        strides, box, elementStrides, interleave, swizzle, l2Promotion, fill);
    void *result = mgpuMemAlloc(sizeof(map), nullptr, false);
    mgpuMemcpy(result, map, sizeof(map), nullptr);
    mgpuStreamSynchronize(nullptr);
    return result;
  });
}
}
