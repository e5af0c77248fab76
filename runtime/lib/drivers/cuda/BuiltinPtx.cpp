//===- BuiltinPtx.cpp - The runtime's own kernels in PTX ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text that drivers/shared/compile-builtins.sh makes.
//===----------------------------------------------------------------------===//

#include "drivers/cuda/CudaDriver.h"

const char gpuasync::cuda::builtinPtx[] =
#include "drivers/cuda/BuiltinPtx.inc"
    ;

const size_t gpuasync::cuda::builtinPtxBytes =
    sizeof(gpuasync::cuda::builtinPtx) - 1;
