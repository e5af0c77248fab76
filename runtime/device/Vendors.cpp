//===- Vendors.cpp - The kinds of devices that there are ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Vendors.h.
//===----------------------------------------------------------------------===//

#include "device/Vendors.h"
#include "device/Native.h"
#include "gpuasync/RuntimeABI.h"

#include <string.h>

using namespace gpuasync;

__thread uint64_t gpuasync::driverCallCount;
__thread SavedContext *gpuasync::innermostContext;

namespace gpuasync {
#define VENDOR(name) extern const Vendor name##Vendor;
#include "device/Vendors.def"
} // namespace gpuasync

static const Vendor *const vendors[] = {
#define VENDOR(name) &name##Vendor,
#include "device/Vendors.def"
};
static constexpr uint32_t vendorCount = sizeof(vendors) / sizeof(vendors[0]);

const Vendor *gpuasync::vendorAt(uint32_t index) {
  if (index < vendorCount)
    return vendors[index];
  // The list is short, so it has no count.
  const Vendor *const *more = moreVendors;
  for (uint32_t i = vendorCount; more && *more; ++i, ++more)
    if (i == index)
      return *more;
  return nullptr;
}

const Vendor *gpuasync::vendorNamed(const char *name) {
  for (uint32_t i = 0; const Vendor *vendor = vendorAt(i); ++i)
    if (strcmp(vendor->name, name) == 0)
      return vendor;
  return nullptr;
}

static const ImageFormat *findIn(const Vendor &vendor, uint32_t number) {
  for (uint32_t i = 0; i < vendor.formatCount; ++i)
    if (vendor.formats[i].number == number)
      return &vendor.formats[i];
  return nullptr;
}

bool Vendor::reads(uint32_t format) const { return findIn(*this, format); }

const ImageFormat *gpuasync::findFormat(uint32_t number) {
  for (uint32_t i = 0; const Vendor *vendor = vendorAt(i); ++i)
    if (const ImageFormat *format = findIn(*vendor, number))
      return format;
  return nullptr;
}

std::string gpuasync::formatName(uint32_t number) {
  if (number == GPUASYNC_IMAGE_DATA) // which the runtime itself reads
    return "data";
  const ImageFormat *format = findFormat(number);
  return format ? format->name : "format " + std::to_string(number);
}
