//===- CudaDriver.cpp - The cuda driver -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// drivers/shared instantiated for CUDA.
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaApi.h"
#include "drivers/shared/VendorDriver.h"

#include <new>

using namespace gpuasync;

Driver *gpuasync::cudaDriver() {
  // In raw storage, so that it has neither a global constructor nor a
  // destructor at exit, when other threads may still be in it.
  using CudaDriver = VendorDriver<cuda::CudaApi>;
  alignas(CudaDriver) static unsigned char storage[sizeof(CudaDriver)];
  static CudaDriver *driver = new (storage) CudaDriver;
  return driver;
}
