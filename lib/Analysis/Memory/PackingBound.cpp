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

/// Searches the shortest ways on which more can flow, and sends it on each that
/// is found. A giver that takes back what it gave gives it elsewhere.
int64_t Flow::augment() {
  unsigned count = given.size();
  std::vector<unsigned> giverOf(count, none), takerOf(count, none), givers;
  llvm::BitVector open(count, true), reached(count), found(count);
  for (unsigned giver = 0; giver < count; ++giver)
    if (given[giver]) {
      givers.push_back(giver);
      reached.set(giver);
    }
  llvm::SmallVector<unsigned> ends;
  for (size_t next = 0; next < givers.size(); ++next) {
    unsigned giver = givers[next];
    found = later[giver];
    found &= open;
    open.reset(found);
    for (unsigned taker : found.set_bits()) {
      giverOf[taker] = giver;
      if (taken[taker]) {
        ends.push_back(taker);
        continue;
      }
      for (auto [other, amount] : from[taker])
        if (amount && !reached.test(other)) {
          reached.set(other);
          takerOf[other] = taker;
          givers.push_back(other);
        }
    }
  }
  int64_t all = 0;
  for (unsigned end : ends) {
    int64_t amount = taken[end];
    unsigned giver = giverOf[end];
    for (; takerOf[giver] != none; giver = giverOf[takerOf[giver]])
      amount = std::min(amount, flowTo(takerOf[giver], giver));
    amount = std::min(amount, given[giver]);
    if (!amount)
      continue;
    given[giver] -= amount;
    taken[end] -= amount;
    all += amount;
    for (unsigned taker = end;;) {
      unsigned giver = giverOf[taker];
      flowTo(taker, giver) += amount;
      taker = takerOf[giver];
      if (taker == none)
        break;
      flowTo(taker, giver) -= amount;
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
