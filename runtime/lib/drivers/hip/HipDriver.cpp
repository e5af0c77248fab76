//===- HipDriver.cpp - The hip driver -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// drivers/shared instantiated for HIP.
//===----------------------------------------------------------------------===//

#include "drivers/hip/HipApi.h"
#include "drivers/shared/VendorDriver.h"

#include <new>

using namespace gpuasync;

Driver *gpuasync::hipDriver() {
  // In raw storage, so that it has neither a global constructor nor a
  // destructor at exit, when other threads may still be in it.
  using HipDriver = VendorDriver<hip::HipApi>;
  alignas(HipDriver) static unsigned char storage[sizeof(HipDriver)];
  static HipDriver *driver = new (storage) HipDriver;
  return driver;
}
