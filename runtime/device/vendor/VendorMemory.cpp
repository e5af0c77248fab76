//===- VendorMemory.cpp - Memory of cuda and hip --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation in the order of streams and of other kinds, host memory that the
// device sees, and descriptors of tensors.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorContext.h"

using namespace gpuasync;

Status VendorContext::allocAsync(NativeStream stream, uint64_t bytes,
                                 void *&out) {
  OutsideCapture outside(driver);
  return check(VENDOR_CALL(allocFromPool, &out, bytes, pool, asStream(stream)));
}

Status VendorContext::freeAsync(NativeStream stream, void *pointer) {
  OutsideCapture outside(driver);
  return check(VENDOR_CALL(freeAsync, pointer, asStream(stream)));
}

void VendorContext::trimMemory(uint64_t keepBytes) noexcept {
  if (!hasPool || silent())
    return;
  OutsideCapture outside(driver);
  note(VENDOR_CALL(poolTrim, pool, keepBytes));
}

/// Memory of that kind is the vendor's managed or device memory.
static bool isDeviceMemory(MemoryKind kind, const VendorLimits &limits) {
  return kind == MemoryKind::Device ||
         (kind == MemoryKind::HostShared && limits.managed);
}

Status VendorContext::allocMemory(MemoryKind kind, uint64_t bytes, void *&out) {
  OutsideCapture outside(driver);
  return made(!isDeviceMemory(kind, device.limits)
                  ? VENDOR_CALL(hostAlloc, &out, bytes,
                                HostAllocPortable | HostAllocDeviceMap)
              : kind == MemoryKind::Device
                  ? VENDOR_CALL(alloc, &out, bytes)
                  : VENDOR_CALL(allocManaged, &out, bytes, MemAttachGlobal));
}

void VendorContext::freeMemory(MemoryKind kind, void *pointer) noexcept {
  giveBack([&] {
    return isDeviceMemory(kind, device.limits) ? VENDOR_CALL(free, pointer)
                                               : VENDOR_CALL(hostFree, pointer);
  });
}

void VendorContext::memoryInfo(uint64_t &freeBytes, uint64_t &totalBytes) {
  size_t free = 0, total = 0;
  if (!silent()) {
    OutsideCapture outside(driver);
    note(VENDOR_CALL(memoryInfo, &free, &total));
  }
  freeBytes = free;
  totalBytes = total;
}

/// `other`: the place of ours that has a part of the memory, or null.
static std::string describeOverlap(const void *other, uint64_t bytes) {
  if (!other)
    return "; somebody else than this runtime has registered a part of the "
           "memory: end that registration first";
  char text[200];
  snprintf(text, sizeof(text),
           "; %ju bytes at %p, which overlap it, are registered: unregister "
           "those first, and trim the context that registered them "
           "(gpuasync_context_trim)",
           static_cast<uintmax_t>(bytes), other);
  return text;
}

Status VendorContext::registerHost(void *pointer, uint64_t bytes, bool &owned) {
  OutsideCapture outside(driver);
  HostPlaces &places = driver.hostPlaces;
  char *const first = static_cast<char *>(pointer);
  auto known = [&](uint64_t offset) {
    return pointerKind(first + offset) != PointerKind::Pageable;
  };
  HostPlaces::Place place;
  uint64_t otherBytes = 0;
  const void *other = nullptr;
  bool isOurs = false;
  do {
    owned = places.share(first, bytes);
    if (owned)
      live.fetch_add(1, std::memory_order_relaxed);
    if (owned || (known(0) && known(bytes - 1)))
      return checkHostAddress(pointer);
    RETURN_IF_ERROR(guard([&] {
      place = HostPlaces::make(first, bytes);
      return Status();
    }));
    other = places.findPart(first, bytes, otherBytes);
  } while (!places.begin(place, isOurs));
  const unsigned flags = HostRegisterPortable | HostRegisterDeviceMap;
  VendorCall call = VENDOR_CALL(hostRegister, pointer, bytes, flags);
  // Constant data of the program lies in pages that cannot be written.
  if (!call.ok() && call.code != ErrorHostMemoryAlreadyRegistered &&
      device.limits.readOnlyRegister && !driver.losesDevice(call.code) &&
      VENDOR_CALL(hostRegister, pointer, bytes, flags | HostRegisterReadOnly)
          .ok())
    call.code = Success;
  if (isOurs)
    places.end(first, /*there=*/call.ok());
  if (call.code == ErrorHostMemoryAlreadyRegistered)
    return error(call, describeOverlap(other, otherBytes).c_str());
  RETURN_IF_ERROR(made(call));
  owned = true;
  return checkHostAddress(pointer);
}

void VendorContext::unregisterHost(void *pointer) noexcept {
  char *const place = driver.hostPlaces.drop(static_cast<char *>(pointer));
  if (!place) {
    live.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  // Without an answer it counts as gone.
  bool there = false;
  giveBack([&] {
    VendorCall call = VENDOR_CALL(hostUnregister, place);
    there = !call.ok();
    return call;
  });
  driver.hostPlaces.end(place, there);
}

PointerKind VendorContext::pointerKind(const void *pointer) {
  PointerKind kind = PointerKind::Pageable;
  note(driver.pointerKind(pointer, kind));
  return kind;
}

// Only some vendors' devices see registered memory at another address.
Status VendorContext::toDeviceAddress(void *&pointer) {
  if (!table.hostAddress || !pointer ||
      pointerKind(pointer) != PointerKind::Registered)
    return Status();
  void *address = pointer;
  RETURN_IF_ERROR(check(VENDOR_CALL(hostAddress, &address, pointer, 0)));
  pointer = address;
  return Status();
}

// Kernels get the addresses that the program passes, so memory that the device
// sees elsewhere is of no use to them.
Status VendorContext::checkHostAddress(void *pointer) {
  void *address = pointer;
  if (Status status = toDeviceAddress(address);
      !status.ok() || address == pointer)
    return status;
  return makeStatus(GPUASYNC_UNSUPPORTED,
                    "%s sees registered host memory at another address (%p) "
                    "than the host does (%p), so kernels cannot use it: "
                    "allocate host_shared memory, or copy",
                    device.info.name, address, pointer);
}

Status VendorContext::devicePointer(void *host, void *&out) {
  out = host;
  return toDeviceAddress(out);
}

Status VendorContext::encodeTensorMap(const TensorMap &map, void *out) {
  if (!table.tensorMapEncode)
    return error({ErrorNotSupported, VendorEntry::tensorMapEncode});
  return check(VENDOR_CALL(
      tensorMapEncode, out, int(map.dataType), map.rank, map.address, map.sizes,
      map.strides, map.box, map.elementStrides, int(map.interleave),
      int(map.swizzle), int(map.l2Promotion), int(map.fill)));
}
