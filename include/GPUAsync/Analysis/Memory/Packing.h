//===- Packing.h - where buffers lie in a planned allocation ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives buffers of known sizes places in one piece of memory, those that may be
// in use at a time places of their own.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_MEMORY_PACKING_H
#define GPUASYNC_ANALYSIS_MEMORY_PACKING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"

#include <optional>
#include <vector>

namespace mlir::gpuasync {

struct Packing {
  /// In bytes, of each buffer.
  std::vector<int64_t> offsets;
  /// Behind the last byte of all.
  int64_t bytes = 0;
};

/// Packs buffers of `sizes` bytes (at least 1 each). `conflicts[j]` has the bit
/// i, for i < j, if the two must not share a byte. Nothing if there are 2^63
/// bytes or more.
///
/// By decreasing size, each in the smallest gap that it fits in, as greedy
/// planners by size do (Pisarchyk and Lee, "Efficient Memory Management for
/// Deep Neural Net Inference", 2020), and in the order given, each as low as
/// it can be: the better one. Takes n^2 / 2 steps for n buffers.
std::optional<Packing> packBuffers(llvm::ArrayRef<int64_t> sizes,
                                   llvm::ArrayRef<llvm::BitVector> conflicts);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_PACKING_H
