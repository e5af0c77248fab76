//===- Extent.cpp - Refusing sizes that mean nothing ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The errors of Extent.h.
//===----------------------------------------------------------------------===//

#include "shim/command/Extent.h"
#include "shim/base/StatusImpl.h"

using namespace gpuasync;

Status gpuasync::checkExtent(const int64_t *sizes, const int64_t *strides,
                             uint32_t rank, uint64_t elementBytes,
                             Extent &out) {
  if (__builtin_expect(rank && !sizes, 0))
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null sizes");
  if (__builtin_expect(findExtent(sizes, strides, rank, elementBytes, out), 1))
    return Status();
  return makeStatus(
      GPUASYNC_INVALID_ARGUMENT, "%s",
      describeBadExtent(sizes, strides, rank, elementBytes).c_str());
}
