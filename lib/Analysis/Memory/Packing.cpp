//===- Packing.cpp - where buffers lie in a planned allocation ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Packing.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/Packing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir::gpuasync;

/// Places the buffers one after the other.
static std::optional<Packing> place(llvm::ArrayRef<int64_t> sizes,
                                    llvm::ArrayRef<llvm::BitVector> conflicts,
                                    llvm::ArrayRef<unsigned> order,
                                    bool inBestGap) {
  Packing packing;
  packing.offsets.resize(sizes.size());
  std::vector<unsigned> placed; // by offset
  placed.reserve(sizes.size());
  for (unsigned buffer : order) {
    int64_t size = sizes[buffer], end = 0, best = -1, bestGap = 0;
    for (unsigned other : placed) {
      if (!conflicts[std::max(buffer, other)].test(std::min(buffer, other)))
        continue;
      int64_t offset = packing.offsets[other], gap = offset - end;
      if (gap >= size && (best < 0 || gap < bestGap)) {
        best = end;
        bestGap = gap;
        if (!inBestGap)
          break;
      }
      end = std::max(end, offset + sizes[other]);
    }
    if (best < 0)
      best = end;
    if (llvm::AddOverflow(best, size, end))
      return std::nullopt;
    packing.offsets[buffer] = best;
    packing.bytes = std::max(packing.bytes, end);
    auto isBelow = [&](int64_t offset, unsigned other) {
      return offset < packing.offsets[other];
    };
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), best, isBelow), buffer);
  }
  return packing;
}

std::optional<Packing>
mlir::gpuasync::packBuffers(llvm::ArrayRef<int64_t> sizes,
                            llvm::ArrayRef<llvm::BitVector> conflicts) {
  std::vector<unsigned> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::optional<Packing> packing =
      place(sizes, conflicts, order, /*inBestGap=*/false);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(sizes[b], a) < std::pair(sizes[a], b);
  });
  std::optional<Packing> bySize =
      place(sizes, conflicts, order, /*inBestGap=*/true);
  if (!packing || (bySize && bySize->bytes < packing->bytes))
    return bySize;
  return packing;
}
