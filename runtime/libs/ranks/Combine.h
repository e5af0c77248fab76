//===- Combine.h - What a collective computes -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of all ranks that have met is there: copies and reductions of it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_COMBINE_H
#define GPUASYNC_LIBS_RANKS_COMBINE_H

#include "gpuasync/Ranks.h"

namespace gpuasync {
namespace ranks {

/// The memory that one rank brings to a collective.
struct Memory {
  void *destination = nullptr;  ///< null in an all_reduce: not of this process
  int64_t destinationCount = 0; ///< in elements
  const void *source = nullptr;
  int64_t sourceCount = 0;
};

/// 0: there is no such element.
uint64_t bytesOf(uint32_t element);

/// Whether elements of this kind can be reduced so.
bool canReduce(uint32_t reduction, uint32_t element);

/// Does the collective on the memory of `count` ranks, in the order of their
/// positions in the group. All has been checked. Reductions add up in that
/// order, f16 and bf16 in f32 until the end, so that all ranks get the same
/// bits each time.
void combine(const gpuasync_collective &what, const Memory *ranks,
             uint32_t count);

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_COMBINE_H
