//===- PointerTable.h - A thread's objects by their keys --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Open addressing, a power of two of places, at most half full. Single objects
// are not taken out: the table is filled anew, so nothing dead stays in it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_BASE_POINTERTABLE_H
#define GPUASYNC_SHIM_BASE_POINTERTABLE_H

#include <algorithm>
#include <stddef.h>
#include <stdint.h>
#include <vector>

namespace gpuasync {

/// A hash of one or two addresses.
inline size_t hashOf(const void *first, const void *second = nullptr) {
  uint64_t mixed = reinterpret_cast<uintptr_t>(first) * 3 +
                   reinterpret_cast<uintptr_t>(second);
  return static_cast<size_t>((mixed * 0x9e3779b97f4a7c15) >> 32);
}

/// Pointers to objects that the caller owns. Not thread safe.
template <typename T>
class PointerTable {
public:
  /// The object of that hash that `matches`, or null.
  template <typename Matches>
  T *find(size_t hash, Matches matches) const {
    if (places.empty())
      return nullptr;
    const size_t mask = places.size() - 1;
    for (size_t i = hash;; ++i) {
      T *object = places[i & mask];
      if (!object || matches(object))
        return object;
    }
  }
  /// Makes room for `count` objects, or throws bad_alloc. True: the table is
  /// empty now and has to be filled.
  bool reserve(size_t count) {
    if (2 * count <= places.size())
      return false;
    std::vector<T *> larger(std::max<size_t>(16, 2 * places.size()));
    places.swap(larger);
    return true;
  }
  /// Takes everything out. Allocates nothing, and gets smaller where `count`
  /// objects, which are to follow, need less.
  void clear(size_t count) {
    while (places.size() > 16 && 8 * count < places.size())
      places.resize(places.size() / 2);
    std::fill(places.begin(), places.end(), nullptr);
  }
  /// Puts an object in place of the one that `matches`, if there is one. There
  /// is room.
  template <typename Matches>
  void put(size_t hash, T *object, Matches matches) {
    const size_t mask = places.size() - 1;
    size_t i = hash;
    while (places[i & mask] && !matches(places[i & mask]))
      ++i;
    places[i & mask] = object;
  }

  /// How many places it has.
  size_t size() const { return places.size(); }

private:
  std::vector<T *> places;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_BASE_POINTERTABLE_H
