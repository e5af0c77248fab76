//===- Imaginary.h - A vendor that does not exist ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves that a vendor is a folder and one entry of a list: the runtime does
// not name this one. Its devices read images of a format of their own, and are
// the CPU device in all else.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_VENDOR_IMAGINARY_H
#define GPUASYNC_TEST_RUNTIME_VENDOR_IMAGINARY_H

#include "device/Driver.h"

namespace gpuasync_test {

/// A number that RuntimeABI.h leaves to other vendors.
constexpr uint32_t imaginaryFormat = GPUASYNC_IMAGE_FIRST_FREE + 7;

/// The entry in the list.
extern const gpuasync::Vendor imaginaryVendor;

/// "Compiles" kernels for the imaginary devices.
std::string makeImaginaryImage(const gpuasync_cpu_kernel *kernels,
                               uint32_t count);

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_VENDOR_IMAGINARY_H
