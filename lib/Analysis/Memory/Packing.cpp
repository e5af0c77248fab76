//===- Packing.cpp - where buffers lie in a planned allocation ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Packing.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/Packing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <numeric>
#include <tuple>

using namespace mlir::gpuasync;

/// In blocks of 64 by 64, whose words stay in the cache.
void Conflicts::mirror() {
  for (unsigned rows = 0; rows < count; rows += 64)
    for (unsigned columns = 0; columns < count; columns += 64)
      for (unsigned row = rows, end = std::min(rows + 64, count); row < end;
           ++row)
        for (uint64_t bits = words[uint64_t(row) * stride + columns / 64]; bits;
             bits &= bits - 1)
          set(columns + llvm::countr_zero(bits), row);
}

/// Places the buffers one after the other.
static Packing place(llvm::ArrayRef<int64_t> sizes, const Conflicts &conflicts,
                     llvm::ArrayRef<unsigned> order, bool inBestGap) {
  Packing packing;
  packing.offsets.resize(sizes.size());
  std::vector<unsigned> placed; // by offset
  placed.reserve(sizes.size());
  for (unsigned buffer : order) {
    int64_t size = sizes[buffer], end = 0, best = -1, bestGap = 0;
    for (unsigned other : placed) {
      if (!conflicts.test(buffer, other))
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
    packing.offsets[buffer] = best;
    packing.bytes = std::max(packing.bytes, best + size);
    auto isBelow = [&](int64_t offset, unsigned other) {
      return offset < packing.offsets[other];
    };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), best, isBelow),
                  buffer);
  }
  return packing;
}

Packing mlir::gpuasync::packBuffers(llvm::ArrayRef<int64_t> sizes,
                                    llvm::ArrayRef<unsigned> depths,
                                    const Conflicts &conflicts) {
  Packing best;
  std::vector<unsigned> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  // Those with the largest key first; of equal ones the first given.
  auto attempt = [&](auto key, bool inBestGap) {
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return std::tuple(key(b), a) < std::tuple(key(a), b);
    });
    Packing packing = place(sizes, conflicts, order, inBestGap);
    if (best.offsets.empty() || packing.bytes < best.bytes)
      best = std::move(packing);
  };
  // As they come to be used: near the best where sizes are alike.
  attempt([&](unsigned buffer) { return -int64_t(depths[buffer]); }, false);
  attempt([&](unsigned buffer) { return sizes[buffer]; }, true);
  constexpr size_t many = 4096;
  if (sizes.size() > many)
    return best;
  attempt(
      [&](unsigned buffer) { return std::pair(sizes[buffer], depths[buffer]); },
      true);
  if (llvm::all_equal(sizes))
    return best;
  // What is large and conflicts with much is hardest to place.
  std::vector<double> hardness;
  for (unsigned buffer = 0; buffer < sizes.size(); ++buffer) {
    double bytes = sizes[buffer];
    conflicts.forEach(buffer, [&](unsigned other) { bytes += sizes[other]; });
    hardness.push_back(bytes * sizes[buffer]);
  }
  attempt([&](unsigned buffer) { return hardness[buffer]; }, false);
  return best;
}
