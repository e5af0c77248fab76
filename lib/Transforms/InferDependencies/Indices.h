//===- Indices.h - numbers of accesses, cells and ops -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kind of number is a type, so that none gets at the list of another.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_INFERDEPENDENCIES_INDICES_H
#define GPUASYNC_LIB_TRANSFORMS_INFERDEPENDENCIES_INDICES_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <vector>

namespace mlir::gpuasync::infer {

/// Of accesses that differ in nothing but whether they write.
enum class KeyIndex : unsigned {};
/// Of keys of one group that are not told apart.
enum class ClassIndex : unsigned {};
/// Of cells.
enum class CellIndex : unsigned {};
/// Of an op in program order; 0 is before all.
enum class Position : unsigned {};

/// A vector with indices of its own.
template <typename Index, typename T>
class IndexedVector {
public:
  IndexedVector(size_t size = 0) : items(size) {}

  T &operator[](Index index) { return items[llvm::to_underlying(index)]; }
  const T &operator[](Index index) const {
    return items[llvm::to_underlying(index)];
  }

  size_t size() const { return items.size(); }
  void resize(size_t size) { items.resize(size); }
  auto begin() { return items.begin(); }
  auto end() { return items.end(); }
  auto begin() const { return items.begin(); }
  auto end() const { return items.end(); }

  /// The index that the next item gets.
  Index next() const { return Index(items.size()); }
  Index push_back(T item) {
    items.push_back(std::move(item));
    return Index(items.size() - 1);
  }
  /// The indices from `first` on, as of now.
  auto indices(Index first = Index(0)) const {
    return llvm::map_range(
        llvm::seq<unsigned>(llvm::to_underlying(first), items.size()),
        [](unsigned index) { return Index(index); });
  }

private:
  std::vector<T> items;
};

} // namespace mlir::gpuasync::infer

#endif // GPUASYNC_LIB_TRANSFORMS_INFERDEPENDENCIES_INDICES_H
