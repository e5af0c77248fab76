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

Status VendorContext::registerHost(void *pointer, uint64_t bytes, bool &owned) {
  OutsideCapture outside(driver);
  owned = driver.hostPlaces.share(pointer, bytes);
  if (owned) {
    live.fetch_add(1, std::memory_order_relaxed);
    return checkHostAddress(pointer);
  }
  auto known = [&](uint64_t offset) {
    return pointerKind(static_cast<char *>(pointer) + offset) !=
           PointerKind::Pageable;
  };
  if (known(0) && known(bytes - 1))
    return checkHostAddress(pointer);
  HostPlaces::Place place;
  RETURN_IF_ERROR(guard([&] {
    place = HostPlaces::make(pointer, bytes);
    return Status();
  }));
  const unsigned flags = HostRegisterPortable | HostRegisterDeviceMap;
  VendorCall call = VENDOR_CALL(hostRegister, pointer, bytes, flags);
  if (call.code == ErrorHostMemoryAlreadyRegistered)
    return error(call, "; another registration covers a part of the memory");
  // Constant data of the program lies in pages that cannot be written.
  if (!call.ok() && device.limits.readOnlyRegister &&
      !driver.losesDevice(call.code) &&
      VENDOR_CALL(hostRegister, pointer, bytes, flags | HostRegisterReadOnly)
          .ok())
    call.code = Success;
  RETURN_IF_ERROR(made(call));
  owned = true;
  driver.hostPlaces.add(std::move(place));
  return checkHostAddress(pointer);
}

void VendorContext::unregisterHost(void *pointer) noexcept {
  if (driver.hostPlaces.drop(pointer))
    giveBack([&] { return VENDOR_CALL(hostUnregister, pointer); });
  else
    live.fetch_sub(1, std::memory_order_relaxed);
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
