//===- PackingBound.cpp - what no packing goes below ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See PackingBound.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/PackingBound.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace mlir::gpuasync;

/// For each place of `order` those that come after it, transitively.
static std::vector<llvm::BitVector> findLater(llvm::ArrayRef<unsigned> order,
                                              const Conflicts &conflicts) {
  unsigned count = order.size();
  std::vector<llvm::BitVector> later(count, llvm::BitVector(count));
  for (unsigned from = count; from-- > 0;)
    for (unsigned to = from + 1; to < count; ++to)
      // What comes after a later one is in already.
      if (!later[from].test(to) && !conflicts.test(order[from], order[to])) {
        later[from] |= later[to];
        later[from].set(to);
      }
  return later;
}

namespace {
/// The largest flow over pairs of a buffer and a later one, of which no buffer
/// gives or takes more than its size.
class Flow {
public:
  Flow(llvm::ArrayRef<int64_t> sizes, std::vector<llvm::BitVector> later)
      : later(std::move(later)), given(sizes.vec()), taken(sizes.vec()),
        from(sizes.size()) {}

  int64_t findLargest() {
    int64_t all = 0;
    while (int64_t more = augment())
      all += more;
    return all;
  }

private:
  static constexpr unsigned none = ~0u;

  int64_t augment();
  int64_t &flowTo(unsigned taker, unsigned giver);

  std::vector<llvm::BitVector> later;
  /// What each can still give and take.
  std::vector<int64_t> given, taken;
  /// From whom each takes how much.
  std::vector<llvm::SmallVector<std::pair<unsigned, int64_t>, 2>> from;
};
} // namespace

int64_t &Flow::flowTo(unsigned taker, unsigned giver) {
  for (auto &[other, amount] : from[taker])
    if (other == giver)
      return amount;
  from[taker].push_back({giver, 0});
  return from[taker].back().second;
}

/// Sends more on the shortest ways there are, until each of them is full, and
/// returns how much (Dinic's algorithm). On a way a giver gives to a taker that
/// needs more, or to one that gives back as much to another giver.
int64_t Flow::augment() {
  unsigned count = given.size();
  // Of givers how many takers are before them on a way; takers by the same.
  std::vector<unsigned> levels(count, none), front, next;
  std::vector<llvm::BitVector> layers;
  for (unsigned giver = 0; giver < count; ++giver)
    if (given[giver]) {
      front.push_back(giver);
      levels[giver] = 0;
    }
  llvm::BitVector open(count, true), found;
  for (bool hasEnd = false; !hasEnd; front.swap(next)) {
    if (front.empty())
      return 0;
    llvm::BitVector &layer = layers.emplace_back(count);
    for (unsigned giver : front) {
      found = later[giver];
      found &= open;
      layer |= found;
      open.reset(found);
    }
    next.clear();
    for (unsigned taker : layer.set_bits()) {
      hasEnd |= taken[taker] != 0;
      for (auto [giver, amount] : from[taker])
        if (amount && levels[giver] == none) {
          levels[giver] = layers.size();
          next.push_back(giver);
        }
    }
  }

  int64_t all = 0;
  llvm::SmallVector<std::pair<unsigned, unsigned>> way;
  for (unsigned root = 0; root < count; ++root) {
    unsigned giver = root;
    way.clear();
    while (given[root]) {
      unsigned level = levels[giver];
      found = layers[level];
      found &= later[giver];
      int taker = found.find_first();
      if (taker < 0) {
        levels[giver] = none;
        if (way.empty())
          break;
        giver = way.pop_back_val().first;
        continue;
      }
      way.push_back({giver, taker});
      if (taken[taker]) {
        int64_t amount = std::min(given[root], taken[taker]);
        for (size_t i = 1; i < way.size(); ++i)
          amount = std::min(amount, flowTo(way[i - 1].second, way[i].first));
        given[root] -= amount;
        taken[taker] -= amount;
        all += amount;
        for (size_t i = 0; i < way.size(); ++i) {
          if (i)
            flowTo(way[i - 1].second, way[i].first) -= amount;
          flowTo(way[i].second, way[i].first) += amount;
        }
        giver = root;
        way.clear();
        continue;
      }
      auto back = llvm::find_if(from[taker], [&](auto &flow) {
        return flow.second && levels[flow.first] == level + 1;
      });
      if (back != from[taker].end() && level + 1 < layers.size()) {
        giver = back->first;
        continue;
      }
      layers[level].reset(taker);
      way.pop_back();
    }
  }
  return all;
}

int64_t mlir::gpuasync::findPackingBound(llvm::ArrayRef<int64_t> sizes,
                                         llvm::ArrayRef<unsigned> depths,
                                         const Conflicts &conflicts) {
  // One without conflicts, which is never used, has no place in the order.
  int64_t largest = 0;
  std::vector<unsigned> order;
  for (unsigned buffer = 0; buffer < sizes.size(); ++buffer) {
    largest = std::max(largest, sizes[buffer]);
    bool hasConflicts = false;
    conflicts.forEach(buffer, [&](unsigned) { hasConflicts = true; });
    if (hasConflicts)
      order.push_back(buffer);
  }
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(depths[a], a) < std::pair(depths[b], b);
  });
  std::vector<int64_t> inOrder;
  for (unsigned buffer : order)
    inOrder.push_back(sizes[buffer]);
  int64_t all = std::accumulate(inOrder.begin(), inOrder.end(), int64_t(0));
  int64_t flow = Flow(inOrder, findLater(order, conflicts)).findLargest();
  return std::max(largest, all - flow);
}
