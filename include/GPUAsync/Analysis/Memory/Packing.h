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
#include "llvm/ADT/bit.h"

#include <cstdint>
#include <vector>

namespace mlir::gpuasync {

/// Which of `count` buffers must not share a byte, as bits.
class Conflicts {
public:
  explicit Conflicts(unsigned count = 0)
      : count(count), stride(count / 64 + 1), words(uint64_t(count) * stride) {}

  unsigned size() const { return count; }
  void set(unsigned a, unsigned b) {
    words[uint64_t(a) * stride + b / 64] |= uint64_t(1) << b % 64;
  }
  bool test(unsigned a, unsigned b) const {
    return words[uint64_t(a) * stride + b / 64] >> b % 64 & 1;
  }
  /// Calls `visit` with each that `buffer` conflicts with, ascending.
  template <typename Visit>
  void forEach(unsigned buffer, Visit visit) const {
    for (unsigned word = 0; word < stride; ++word)
      for (uint64_t bits = words[uint64_t(buffer) * stride + word]; bits;
           bits &= bits - 1)
        visit(64 * word + llvm::countr_zero(bits));
  }
  /// Sets (b, a) for each (a, b), as packBuffers wants it. By itself, since
  /// bits of one row are near each other, and those of a column are not.
  void mirror();

private:
  unsigned count, stride;
  std::vector<uint64_t> words;
};

struct Packing {
  /// In bytes, of each buffer.
  std::vector<int64_t> offsets;
  /// Behind the last byte of all.
  int64_t bytes = 0;
};

/// Packs buffers of `sizes` bytes, each at least 1 and less than 2^63 in all.
/// `conflicts` is mirrored; of two buffers that may share bytes the one used
/// first has the lower one of `depths`.
///
/// By decreasing size, each in the smallest gap that it fits in, as greedy
/// planners by size do (Pisarchyk and Lee, "Efficient Memory Management for
/// Deep Neural Net Inference", 2020), in the order given and by depth; by size
/// times the bytes that it conflicts with, and by depth alone, each as low as
/// it can be: the best of these. Takes n^2 / 2 steps for n buffers and each
/// order; of many buffers not all orders are tried.
Packing packBuffers(llvm::ArrayRef<int64_t> sizes,
                    llvm::ArrayRef<unsigned> depths,
                    const Conflicts &conflicts);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_PACKING_H
