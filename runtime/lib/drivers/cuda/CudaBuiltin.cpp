//===- CudaBuiltin.cpp - The runtime's own kernels in PTX -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// drivers/shared/compile-builtins.sh makes the file.
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaDriver.h"
#include "drivers/shared/Blob.h"

GPUASYNC_BLOB(ptx, "drivers/cuda/builtin.ptx");

std::string_view gpuasync::cuda::builtinPtx() {
  return {gpuasync_blob_ptx, GPUASYNC_BLOB_BYTES(ptx)};
}
