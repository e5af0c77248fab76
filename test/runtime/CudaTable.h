//===- CudaTable.h - The CUDA driver by its own names -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points that the runtime uses, for tests that call the driver
// themselves.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_CUDATABLE_H
#define GPUASYNC_TEST_RUNTIME_CUDATABLE_H

#include "device/cuda/CudaTypes.h"

namespace gpuasync {
namespace cuda {

struct CudaTable {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  int(*name) parameters;
#include "device/vendor/VendorSymbols.def"
};

} // namespace cuda
} // namespace gpuasync

#endif // GPUASYNC_TEST_RUNTIME_CUDATABLE_H
