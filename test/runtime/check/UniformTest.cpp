//===- UniformTest.cpp - Values that ranks are to have in common ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks come in any order, and as far apart as they like.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "Checked.h"

#include <random>
#include <string.h>
#include <thread>

using namespace gpuasync_test;

namespace {

constexpr uint32_t integer = GPUASYNC_CHECK_INTEGER;

/// Checks a promise about all ranks.
void checkAll(int64_t rank, int64_t size, uint64_t bits, uint32_t kind,
              const char *site) {
  gpuasync_check_uniform(rank, -1, rank, size, bits, kind, site);
}

// The site is a pointer: each test has its own.
TEST_F(CheckTest, UniformValuesInAnyOrder) {
  static const char site[] = "a.mlir:1:2\ngpu_async.uniform\n@f";
  std::mt19937 random(testSeed());
  const int64_t size = 5;
  int64_t times[size] = {};
  for (int i = 0; i < 1000; ++i) {
    const auto rank = static_cast<int64_t>(random() % size);
    checkAll(rank, size, uint64_t(times[rank]++), integer, site);
  }
  EXPECT_EQ(take(), std::vector<std::string>());
  // One more than the others have.
  const auto rank = static_cast<int64_t>(random() % size);
  for (int64_t each = 0; each < size; ++each)
    while (times[each] < 1000)
      checkAll(each, size, uint64_t(times[each]++), integer, site);
  checkAll(rank, size, 7, integer, site);
  checkAll((rank + 1) % size, size, uint64_t(-8), integer, site);
  EXPECT_EQ(takeOne(),
            "a.mlir:1:2: error: gpu_async.uniform is not the same on all "
            "ranks: it is -8 on rank " +
                std::to_string((rank + 1) % size) + ", and 7 on rank " +
                std::to_string(rank) + ", in @f\n");
}

TEST_F(CheckTest, UniformFloats) {
  static const char first[] = "a.mlir:1:2\ngpu_async.uniform\n@f";
  static const char second[] = "a.mlir:2:2\ngpu_async.uniform\n@f";
  const double nan = __builtin_nan(""), zeros[] = {0.0, -0.0};
  uint64_t bits[2];
  memcpy(bits, &nan, sizeof(nan));
  checkAll(0, 2, bits[0], GPUASYNC_CHECK_F64, first);
  checkAll(1, 2, bits[0], GPUASYNC_CHECK_F64, first);
  EXPECT_EQ(take(), std::vector<std::string>());
  memcpy(bits, zeros, sizeof(zeros));
  checkAll(0, 2, bits[0], GPUASYNC_CHECK_F64, second);
  checkAll(1, 2, bits[1], GPUASYNC_CHECK_F64, second);
  EXPECT_EQ(takeOne(),
            "a.mlir:2:2: error: gpu_async.uniform is not the same on all "
            "ranks: it is -0 on rank 1, and 0 on rank 0, in @f\n");
}

// Lists differ, and may come more or less often. Ranks of a list do not.
TEST_F(CheckTest, UniformInLists) {
  static const char site[] = "a.mlir:1:2\ngpu_async.uniform\n@f";
  for (int64_t rank : {0, 3, 1, 2, 3, 2, 2, 3})
    gpuasync_check_uniform(rank, rank / 2, rank % 2, 2, uint64_t(rank / 2),
                           integer, site);
  EXPECT_EQ(take(), std::vector<std::string>());
  gpuasync_check_uniform(2, 1, 0, 2, 5, integer, site);
  gpuasync_check_uniform(3, 1, 1, 2, 6, integer, site);
  EXPECT_EQ(takeOne(),
            "a.mlir:1:2: error: gpu_async.uniform is not the same on all "
            "ranks of a list: it is 6 on rank 3, and 5 on rank 2, in @f\n");
}

// A rank of another process never comes.
TEST_F(CheckTest, UniformOfRanksThatNeverCome) {
  static const char site[] = "a.mlir:1:2\ngpu_async.uniform\n@f";
  for (uint64_t i = 0; i < 100000; ++i)
    checkAll(1, 3, i, integer, site);
  EXPECT_EQ(take(), std::vector<std::string>());
  // The first ones are forgotten, and it is not compared with later ones.
  checkAll(0, 3, 99, integer, site);
  EXPECT_EQ(take(), std::vector<std::string>());
}

TEST_F(CheckTest, UniformOnThreads) {
  static const char site[] = "a.mlir:1:2\ngpu_async.uniform\n@f";
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < 4; ++rank)
    threads.emplace_back([rank] {
      for (uint64_t i = 0; i < 5000; ++i)
        checkAll(rank, 4, i == 4321 && rank == 2 ? 0 : i, integer, site);
    });
  for (std::thread &thread : threads)
    thread.join();
  const std::string report = takeOne();
  EXPECT_NE(report.find("0 on rank 2"), std::string::npos) << report;
  EXPECT_NE(report.find("4321 on rank "), std::string::npos) << report;
}

} // namespace
