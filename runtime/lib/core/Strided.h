//===- Strided.h - Strided copies and fills as plain data -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bringing sizes and strides into the least rank, and doing a copy or a fill on
// the host, for staging and for the cpu driver.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_STRIDED_H
#define GPUASYNC_CORE_STRIDED_H

#include "core/Driver.h"

#include <vector>

namespace gpuasync {

/// One dimension, strides in bytes.
struct Dim {
  int64_t size, destination, source;
};

/// Drops unit dimensions and merges neighbours that are contiguous on both
/// sides. Returns false if some size is 0: nothing to do.
bool simplify(std::vector<Dim> &dims);

/// The bytes that an access of `dims` touches, relative to the base pointer.
void extent(const std::vector<Dim> &dims, bool destination,
            uint64_t elementBytes, int64_t &low, int64_t &high);

/// Carries the copy out on the calling thread. Either side may overlap itself.
void copyOnHost(const StridedCopy &copy);
void fillOnHost(const StridedFill &fill);

} // namespace gpuasync

#endif // GPUASYNC_CORE_STRIDED_H
