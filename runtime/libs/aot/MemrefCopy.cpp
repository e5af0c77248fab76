//===- MemrefCopy.cpp - Copies between arrays with gaps -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What MLIR lowers a memref.copy of the host to when one side has gaps, by the
// name and arguments that it has in MLIR's runner library: compiled programs
// need no such library for it.
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstring>

namespace {

/// A descriptor: two pointers, offset, sizes, strides.
struct Array {
  int64_t rank;
  const int64_t *words;

  int64_t size(int64_t dimension) const { return words[3 + dimension]; }
  int64_t stride(int64_t dimension) const {
    return words[3 + rank + dimension];
  }
  char *data(int64_t elementBytes) const {
    return reinterpret_cast<char *>(words[1]) + words[2] * elementBytes;
  }
};

} // namespace

/// Copies the dimensions from `dimension` on.
static void copyElements(const Array &from, const char *source, const Array &to,
                         char *target, int64_t elementBytes,
                         int64_t dimension) {
  if (dimension == from.rank) {
    std::memcpy(target, source, size_t(elementBytes));
    return;
  }
  for (int64_t i = 0; i < from.size(dimension); ++i) {
    copyElements(from, source, to, target, elementBytes, dimension + 1);
    source += from.stride(dimension) * elementBytes;
    target += to.stride(dimension) * elementBytes;
  }
}

/// `from` and `to` are unranked memrefs of the same shape.
extern "C" void memrefCopy(int64_t elementBytes, const Array *from,
                           const Array *to) noexcept {
  copyElements(*from, from->data(elementBytes), *to, to->data(elementBytes),
               elementBytes, /*dimension=*/0);
}
