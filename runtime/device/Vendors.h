//===- Vendors.h - The kinds of devices that there are ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime outside of the vendors' folders knows a vendor by its entry here:
// its name, the image formats that its devices read, and its driver.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDORS_H
#define GPUASYNC_DEVICE_VENDORS_H

#include <new>
#include <stdint.h>
#include <string>

namespace gpuasync {

class Driver;

/// A format of images.
struct ImageFormat {
  uint32_t number;  ///< gpuasync_image::format
  const char *name; ///< "PTX"
  /// The bytes are a table of functions in the program itself. So they do not
  /// tell one image from another, and a content hash says nothing.
  bool isFunctionTable;
};

/// One kind of device. Constant data.
struct Vendor {
  const char *name; ///< "cuda"
  /// The devices are "cuda:0", "cuda:1" and so on. Otherwise there is one, and
  /// its name is the vendor's.
  bool hasNumberedDevices;
  const ImageFormat *formats; ///< that the devices read
  uint32_t formatCount;
  /// Returns the same object in every call. Thread safe, and cheap: it opens no
  /// library.
  Driver &(*driver)();

  bool reads(uint32_t format) const;
};

/// Returns the vendors in the order in which `auto` tries them, and null after
/// the last one.
const Vendor *vendorAt(uint32_t index);
/// Returns null if there is none.
const Vendor *vendorNamed(const char *name);

/// A list that a program may define, which ends with null: more vendors, after
/// those of Vendors.def. Tests do so. The shared library has no such list.
extern const Vendor *const moreVendors[]
    __attribute__((weak, visibility("hidden")));

/// Returns null if no vendor reads it.
const ImageFormat *findFormat(uint32_t number);
/// "PTX", or "format 77" if no vendor reads it.
std::string formatName(uint32_t number);

/// The one driver of its type, made on the first call. In raw storage, so that
/// it has neither a global constructor nor a destructor at exit, when other
/// threads may still be in it.
template <typename T>
Driver &onlyDriver() {
  alignas(T) static unsigned char storage[sizeof(T)];
  static T *driver = new (storage) T;
  return *driver;
}

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_VENDORS_H
