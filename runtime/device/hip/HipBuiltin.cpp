//===- HipBuiltin.cpp - The runtime's own kernels for AMD chips -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// device/vendor/compile-builtins.sh makes the files.
//===----------------------------------------------------------------------===//

#include "device/hip/HipDriver.h"
#include "device/vendor/Blob.h"

GPUASYNC_BLOB(gfx90a, "device/hip/builtin-gfx90a.hsaco");
GPUASYNC_BLOB(gfx942, "device/hip/builtin-gfx942.hsaco");
GPUASYNC_BLOB(gfx1100, "device/hip/builtin-gfx1100.hsaco");

const gpuasync::hip::BuiltinObject gpuasync::hip::builtinObjects[] = {
    {"gfx90a", gpuasync_blob_gfx90a, gpuasync_blob_gfx90a_end},
    {"gfx942", gpuasync_blob_gfx942, gpuasync_blob_gfx942_end},
    {"gfx1100", gpuasync_blob_gfx1100, gpuasync_blob_gfx1100_end},
};

const size_t gpuasync::hip::builtinObjectCount =
    sizeof(builtinObjects) / sizeof(builtinObjects[0]);
