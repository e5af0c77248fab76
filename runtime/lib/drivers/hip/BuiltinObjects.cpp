//===- BuiltinObjects.cpp - The runtime's own kernels for AMD chips -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code objects that drivers/shared/compile-builtins.sh makes.
//===----------------------------------------------------------------------===//

#include "drivers/hip/HipDriver.h"

#define OBJECT(chip, bytes) alignas(16) static const char chip[] = bytes;
#include "drivers/hip/BuiltinObjects.inc"
#undef OBJECT

const gpuasync::hip::BuiltinObject gpuasync::hip::builtinObjects[] = {
#define OBJECT(chip, bytes) {#chip, chip, sizeof(chip) - 1},
#include "drivers/hip/BuiltinObjects.inc"
#undef OBJECT
};

const size_t gpuasync::hip::builtinObjectCount =
    sizeof(builtinObjects) / sizeof(builtinObjects[0]);
