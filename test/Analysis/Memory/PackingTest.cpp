//===- PackingTest.cpp - places of buffers in a planned allocation --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What packBuffers promises, on random buffers; and that it needs no more than
// the largest set in use at a time where lives are intervals of one size.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/Packing.h"
#include "../../Inputs/Seed.h"
#include "GPUAsync/Analysis/Memory/PackingBound.h"

#include "llvm/ADT/BitVector.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace mlir::gpuasync;

/// In the order of their numbers.
static Packing pack(llvm::ArrayRef<int64_t> sizes, const Conflicts &conflicts) {
  std::vector<unsigned> depths;
  for (unsigned i = 0; i < sizes.size(); ++i)
    depths.push_back(i);
  return packBuffers(sizes, depths, conflicts);
}

static void expectApart(llvm::ArrayRef<int64_t> sizes,
                        const Conflicts &conflicts, const Packing &packing) {
  int64_t end = 0;
  for (unsigned a = 0; a < sizes.size(); ++a) {
    int64_t first = packing.offsets[a], last = first + sizes[a];
    ASSERT_GE(first, 0);
    end = std::max(end, last);
    for (unsigned b = 0; b < a; ++b)
      if (conflicts.test(a, b))
        ASSERT_TRUE(last <= packing.offsets[b] ||
                    packing.offsets[b] + sizes[b] <= first)
            << a << " and " << b;
  }
  EXPECT_EQ(packing.bytes, end);
}

TEST(Packing, BuffersInUseAtATimeShareNothing) {
  const uint32_t seed = gpuasync_test::testSeed();
  SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    unsigned count = random() % 130;
    std::vector<int64_t> sizes;
    for (unsigned i = 0; i < count; ++i)
      sizes.push_back(256 * (1 + random() % 9));
    Conflicts conflicts(count);
    unsigned density = random() % 101;
    for (unsigned a = 0; a < count; ++a)
      for (unsigned b = 0; b < a; ++b)
        if (random() % 100 < density)
          conflicts.set(a, b);
    conflicts.mirror();
    for (unsigned a = 0; a < count; ++a)
      for (unsigned b = 0; b < a; ++b)
        ASSERT_EQ(conflicts.test(a, b), conflicts.test(b, a));
    expectApart(sizes, conflicts, pack(sizes, conflicts));
  }
}

TEST(Packing, ChainsNeedWhatIsInUseAtATime) {
  for (unsigned inUse : {1u, 2u, 7u}) {
    unsigned count = 200;
    std::vector<int64_t> sizes(count, 512);
    Conflicts conflicts(count);
    for (unsigned a = 0; a < count; ++a)
      for (unsigned b = 0; b < a; ++b)
        if (a - b < inUse)
          conflicts.set(a, b);
    conflicts.mirror();
    Packing packing = pack(sizes, conflicts);
    expectApart(sizes, conflicts, packing);
    EXPECT_EQ(packing.bytes, 512 * inUse);
  }
}

TEST(Packing, ASmallBufferGoesIntoTheGap) {
  // 0 and 2 are of the first half, 1 of both, 3 of the second.
  std::vector<int64_t> sizes{1024, 512, 256, 1024};
  Conflicts conflicts(4);
  conflicts.set(1, 0);
  conflicts.set(2, 1);
  conflicts.set(3, 1);
  conflicts.mirror();
  Packing packing = pack(sizes, conflicts);
  expectApart(sizes, conflicts, packing);
  EXPECT_EQ(packing.bytes, 1536);
  EXPECT_EQ(pack({}, Conflicts()).bytes, 0);
}

TEST(Packing, BranchesLieSideBySide) {
  // An input (0), three buffers of each branch (1, 2, 3; 4, 5, 6; ...), of
  // which the first and the last may share, and one as long as all the last
  // ones.
  constexpr unsigned branches = 12, count = 3 * branches + 2;
  std::vector<int64_t> sizes(count, 256);
  std::vector<unsigned> depths(count, 0);
  sizes.back() = 256 * branches;
  Conflicts conflicts(count);
  for (unsigned a = 1; a + 1 < count; ++a) {
    depths[a] = (a - 1) % 3;
    conflicts.set(0, a);
    for (unsigned b = 1; b < a; ++b)
      if ((a - 1) / 3 != (b - 1) / 3 || a - b == 1)
        conflicts.set(a, b);
    if (depths[a] == 2)
      conflicts.set(count - 1, a);
  }
  depths.back() = 3;
  conflicts.mirror();
  Packing packing = packBuffers(sizes, depths, conflicts);
  expectApart(sizes, conflicts, packing);
  EXPECT_EQ(packing.bytes, 256 * (2 * branches + 1));
}

/// An order of the buffers, by places in two random rows: one comes before
/// another if it does so in both. The places in one of them are the depths.
static Conflicts findConflicts(unsigned count, std::mt19937 &random,
                               std::vector<unsigned> &depths) {
  std::vector<unsigned> second;
  depths.resize(count);
  for (unsigned i = 0; i < count; ++i) {
    depths[i] = i;
    second.push_back(random());
  }
  for (unsigned i = count; i > 1; --i)
    std::swap(depths[i - 1], depths[random() % i]);
  Conflicts conflicts(count);
  for (unsigned a = 0; a < count; ++a)
    for (unsigned b = 0; b < count; ++b)
      if (a != b && (depths[a] < depths[b]) != (second[a] < second[b]))
        conflicts.set(a, b);
  conflicts.mirror();
  return conflicts;
}

/// Work on some chains, each of which sometimes waits for others. What one
/// makes is used by those that wait for it.
static Conflicts findConflictsOfWork(unsigned count, std::mt19937 &random,
                                     std::vector<unsigned> &depths) {
  constexpr unsigned chains = 8;
  std::vector<llvm::BitVector> before(count, llvm::BitVector(count)),
      users = before;
  std::vector<unsigned> newest(chains, count);
  for (unsigned op = 0; op < count; ++op) {
    unsigned chain = random() % chains;
    for (unsigned other = 0; other < chains; ++other) {
      unsigned source = newest[other];
      if (source < count && (other == chain || random() % 12 == 0)) {
        before[op] |= before[source];
        before[op].set(source);
        users[source].set(op);
      }
    }
    users[op].set(op);
    newest[chain] = op;
    depths.push_back(before[op].count());
  }
  Conflicts conflicts(count);
  for (unsigned a = 0; a < count; ++a)
    for (unsigned b = 0; b < a; ++b)
      if (users[b].test(before[a]))
        conflicts.set(a, b);
  conflicts.mirror();
  return conflicts;
}

/// Bytes over the bound, the mean of 20 programs of 200 buffers.
template <typename Size>
static double findRatio(Size size) {
  // The same numbers everywhere.
  std::mt19937 random(1);
  double sum = 0;
  constexpr unsigned rounds = 20;
  for (unsigned round = 0; round < rounds; ++round) {
    std::vector<unsigned> depths;
    Conflicts conflicts = findConflictsOfWork(200, random, depths);
    std::vector<int64_t> sizes;
    for (unsigned i = 0; i < conflicts.size(); ++i)
      sizes.push_back(size(random));
    Packing packing = packBuffers(sizes, depths, conflicts);
    expectApart(sizes, conflicts, packing);
    sum += double(packing.bytes) / findPackingBound(sizes, depths, conflicts);
  }
  return sum / rounds;
}

TEST(Packing, WhatIsHardToPlaceComesFirst) {
  EXPECT_LE(findRatio([](std::mt19937 &random) {
              return 1 + (random() % 256 >> random() % 8);
            }),
            1.08);
}

TEST(Packing, WhatIsUsedFirstComesFirst) {
  EXPECT_LE(findRatio([](std::mt19937 &) { return 256; }), 1.05);
}

TEST(Packing, TheBoundIsTheHeaviestSetOfConflicts) {
  const uint32_t seed = gpuasync_test::testSeed();
  SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    unsigned count = 1 + random() % 14;
    std::vector<unsigned> depths;
    Conflicts conflicts = findConflicts(count, random, depths);
    std::vector<int64_t> sizes;
    for (unsigned i = 0; i < count; ++i)
      sizes.push_back(1 + random() % 9);
    int64_t heaviest = 0;
    for (unsigned set = 0; set < 1u << count; ++set) {
      int64_t bytes = 0;
      for (unsigned a = 0; a < count && bytes >= 0; ++a) {
        if (!(set >> a & 1))
          continue;
        bytes += sizes[a];
        for (unsigned b = 0; b < a; ++b)
          if (set >> b & 1 && !conflicts.test(a, b))
            bytes = -1;
      }
      heaviest = std::max(heaviest, bytes);
    }
    int64_t bound = findPackingBound(sizes, depths, conflicts);
    ASSERT_EQ(bound, heaviest);
    ASSERT_LE(bound, packBuffers(sizes, depths, conflicts).bytes);
  }
}

TEST(Packing, TheBoundIsNoneThatPackingsGoBelow) {
  // What comes before what need not be transitive; unused buffers conflict with
  // none.
  const uint32_t seed = gpuasync_test::testSeed();
  SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    unsigned count = random() % 60, density = random() % 101;
    std::vector<int64_t> sizes;
    std::vector<unsigned> depths;
    for (unsigned i = 0; i < count; ++i) {
      sizes.push_back(1 + random() % 9);
      depths.push_back(random() % 9);
    }
    Conflicts conflicts(count);
    for (unsigned a = 0; a < count; ++a)
      for (unsigned b = 0; b < a; ++b)
        if (random() % 100 < density)
          conflicts.set(a, b);
    conflicts.mirror();
    EXPECT_LE(findPackingBound(sizes, depths, conflicts),
              packBuffers(sizes, depths, conflicts).bytes);
  }
  EXPECT_EQ(findPackingBound({3, 4}, {0, 0}, Conflicts(2)), 4);
  EXPECT_EQ(findPackingBound({}, {}, Conflicts()), 0);
}
