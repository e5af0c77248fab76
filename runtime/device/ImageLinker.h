//===- ImageLinker.h - Machine code that may be kept ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vendor's driver makes machine code of some images, which takes long. A
// service may keep that code for later processes (Service::linkImage).
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_IMAGELINKER_H
#define GPUASYNC_DEVICE_IMAGELINKER_H

#include "gpuasync/RuntimeABI.h"

#include <stddef.h>

namespace gpuasync {

/// All that the machine code of an image depends on.
struct LinkFacts {
  const char *format; ///< of the image, for the key: "PTX"
  const gpuasync_image *image;
  uint64_t driverVersion;
  const void *driverCode; ///< an address in the driver's library
  uint64_t major, minor;  ///< the version of the chip
};

/// Makes and loads the machine code of one image. The context is current.
class ImageLinker {
public:
  /// Returns false if the driver does not tell.
  virtual bool describe(LinkFacts &out) = 0;
  /// Has the driver make the code, which lives as long as the linker. Returns
  /// false if the driver refuses.
  virtual bool link(const void *&code, size_t &bytes) = 0;
  /// Loads machine code. Returns false if the driver refuses it.
  virtual bool load(const void *code) = 0;

protected:
  ~ImageLinker() = default;
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_IMAGELINKER_H
