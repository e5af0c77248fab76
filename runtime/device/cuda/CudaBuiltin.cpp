//===- CudaBuiltin.cpp - The runtime's own kernels in PTX -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// device/vendor/compile-builtins.sh makes the file.
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaDriver.h"
#include "device/vendor/Blob.h"

GPUASYNC_BLOB(ptx, "device/cuda/builtin.ptx");

std::string_view gpuasync::cuda::builtinPtx() {
  return {gpuasync_blob_ptx, GPUASYNC_BLOB_BYTES(ptx)};
}
