//===- BoxesTest.cpp - Arrays in boxes ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random arrays and random halving: the boxes have each element once, in
// row-major order, and no more dimensions than they may.
//===----------------------------------------------------------------------===//

#include "shim/command/Boxes.h"
#include "../../Inputs/Seed.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace gpuasync;

namespace {

/// The offsets of all elements of an array, in row-major order.
void listOffsets(const Dims &dims, uint32_t level, int64_t destination,
                 int64_t source,
                 std::vector<std::pair<int64_t, int64_t>> &out) {
  if (level == dims.rank) {
    out.push_back({destination, source});
    return;
  }
  const Dim &dim = dims.at[level];
  for (int64_t i = 0; i < dim.size; ++i)
    listOffsets(dims, level + 1, destination + i * dim.destination,
                source + i * dim.source, out);
}

TEST(Boxes, EachElementOnceInOrder_M08) {
  std::mt19937 random(gpuasync_test::testSeed());
  auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  std::vector<char> memory(20000);
  char *const base = memory.data() + memory.size() / 2;
  for (int round = 0; round < 3000; ++round) {
    Dims dims;
    dims.rank = 1 + static_cast<uint32_t>(below(11));
    for (uint32_t i = 0; i < dims.rank; ++i)
      dims.at[i] = {dims.rank > 6 ? 2 : 1 + below(6), below(200) - 100,
                    below(200) - 100};
    std::vector<std::pair<int64_t, int64_t>> expected, got;
    listOffsets(dims, 0, 0, 0, expected);
    const uint32_t maxRank = 1 + static_cast<uint32_t>(below(8));
    for (Boxes boxes(dims, maxRank); !boxes.done(); boxes.next()) {
      while (below(3) == 0 && boxes.halve())
        ;
      StridedCopy copy;
      copy.destination = base;
      copy.source = base;
      boxes.read(copy);
      ASSERT_LE(copy.rank, maxRank);
      Dims box;
      for (; box.rank < copy.rank; ++box.rank)
        box.at[box.rank] = {copy.sizes[box.rank],
                            copy.destinationStrides[box.rank],
                            copy.sourceStrides[box.rank]};
      listOffsets(box, 0, static_cast<char *>(copy.destination) - base,
                  static_cast<const char *>(copy.source) - base, got);
      ASSERT_LE(got.size(), expected.size());
    }
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

TEST(Boxes, OneElementCannotBeHalved_M08) {
  Dims dims;
  dims.rank = 2;
  dims.at[0] = {3, 10, 10};
  dims.at[1] = {2, 1, 1};
  Boxes boxes(dims, 8);
  int halved = 0;
  while (boxes.halve())
    ++halved;
  EXPECT_EQ(halved, 3); // 3 x 2, 1 x 2, 2, 1
  StridedCopy copy;
  boxes.read(copy);
  EXPECT_EQ(copy.rank, 0u);
}

} // namespace
