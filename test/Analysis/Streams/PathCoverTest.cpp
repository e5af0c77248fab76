//===- PathCoverTest.cpp - covers against brute force ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// D11: waits, then streams, are the fewest. All DAGs of up to 6 nodes and
// random ones of 7 to 9 against an exhaustive search that knows nothing of
// matchings.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Streams/PathCover.h"
#include "../../Inputs/Seed.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <ctime>
#include <random>

using namespace mlir::gpuasync;

namespace {

/// `before[v]`: the nodes that must come before `v`, as bits; `host[v]`:
/// whether node `v` is a host wait.
struct Problem {
  unsigned size = 0;
  unsigned before[16] = {};
  bool isHostWait[16] = {};
};

struct Cost {
  unsigned waits, paths;
  bool operator<(const Cost &other) const {
    return std::make_pair(waits, paths) <
           std::make_pair(other.waits, other.paths);
  }
  bool operator==(const Cost &other) const {
    return waits == other.waits && paths == other.paths;
  }
};

/// Everything that comes before each node: by edges and by host waits.
void close(const Problem &problem, unsigned *past) {
  unsigned host = 0;
  for (unsigned v = 0; v < problem.size; ++v) {
    past[v] = host;
    for (unsigned u = 0; u < v; ++u)
      if (problem.before[v] >> u & 1)
        past[v] |= past[u] | 1u << u;
    if (problem.isHostWait[v])
      host |= past[v] | 1u << v;
  }
}

/// Tries all ways to put each node behind one that is the last on its path and
/// in its past, or on a path of its own. A wait is needed for each ordered pair
/// that nothing in between implies, unless it is a step of a path or the host
/// has waited.
class BruteForce {
public:
  explicit BruteForce(const Problem &problem) : problem(problem) {
    close(problem, past);
    unsigned host = 0;
    for (unsigned v = 0; v < problem.size; ++v) {
      direct[v] = past[v] & ~host;
      for (unsigned u = 0; u < v; ++u)
        if (past[v] >> u & 1)
          direct[v] &= ~past[u];
      if (problem.isHostWait[v]) {
        host |= past[v] | 1u << v;
        direct[v] = 0;
      }
    }
    search(0, 0, 0);
  }
  Cost best{~0u, ~0u};

private:
  const Problem &problem;
  unsigned past[16], direct[16];
  unsigned ends[16];

  void search(unsigned v, unsigned paths, unsigned waits) {
    if (v == problem.size) {
      best = std::min(best, Cost{waits, paths});
      return;
    }
    if (problem.isHostWait[v])
      return search(v + 1, paths, waits);
    unsigned needed = __builtin_popcount(direct[v]);
    for (unsigned path = 0; path < paths; ++path) {
      unsigned end = ends[path];
      if (!(past[v] >> end & 1))
        continue;
      ends[path] = v;
      search(v + 1, paths, waits + needed - (direct[v] >> end & 1));
      ends[path] = end;
    }
    ends[paths] = v;
    search(v + 1, paths + 1, waits + needed);
  }
};

/// The cover, checked to be one.
Cost solve(const Problem &problem) {
  OrderGraph graph;
  for (unsigned v = 0; v < problem.size; ++v) {
    llvm::SmallVector<unsigned> predecessors;
    for (unsigned u = 0; u < v; ++u)
      if (problem.before[v] >> u & 1)
        predecessors.push_back(u);
    graph.addNode(predecessors);
    graph[v].isHostWait = problem.isHostWait[v];
    graph[v].onPath = !problem.isHostWait[v];
  }
  graph.reduce();
  PathCover cover = computePathCover(graph);
  unsigned past[16];
  close(problem, past);
  for (unsigned v = 0; v < problem.size; ++v) {
    unsigned next = cover.next[v];
    if (next == PathCover::none)
      continue;
    EXPECT_EQ(cover.previous[next], v);
    EXPECT_TRUE(past[next] >> v & 1);
    EXPECT_TRUE(graph[v].onPath && graph[next].onPath);
  }
  return {cover.countWaits(graph), cover.countPaths(graph)};
}

void check(const Problem &problem) {
  Cost expected = BruteForce(problem).best;
  Cost found = solve(problem);
  if (found == expected)
    return;
  std::string text;
  for (unsigned v = 0; v < problem.size; ++v)
    text += std::to_string(problem.before[v]) +
            (problem.isHostWait[v] ? "h " : " ");
  FAIL() << "before: " << text << "\nexpected " << expected.waits << " waits, "
         << expected.paths << " paths, found " << found.waits << ", "
         << found.paths;
}

TEST(PathCoverTest, AllUpToSix) {
  for (unsigned size = 1; size <= 6; ++size) {
    unsigned pairs = size * (size - 1) / 2;
    for (unsigned bits = 0; bits < 1u << pairs; ++bits) {
      Problem problem;
      problem.size = size;
      unsigned rest = bits;
      for (unsigned v = 1; v < size; ++v) {
        problem.before[v] = rest & ((1u << v) - 1);
        rest >>= v;
      }
      check(problem);
      if (HasFatalFailure())
        return;
    }
  }
}

TEST(PathCoverTest, Random) {
  const uint32_t seed = gpuasync_test::testSeed();
  std::mt19937 random(seed);
  for (unsigned count = 0; count < 100000; ++count) {
    SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed) + ", graph " +
                 std::to_string(count));
    Problem problem;
    problem.size = 7 + random() % 3;
    unsigned density = 1 + random() % 8;
    bool hasHostWaits = random() % 4 == 0;
    for (unsigned v = 0; v < problem.size; ++v) {
      for (unsigned u = 0; u < v; ++u)
        if (random() % 10 < density && !problem.isHostWait[u])
          problem.before[v] |= 1u << u;
      problem.isHostWait[v] = hasHostWaits && random() % 6 == 0;
    }
    check(problem);
    if (HasFatalFailure())
      return;
  }
}

/// A maximum matching followed by merging paths finds 4 paths here, or 3 by
/// luck.
TEST(PathCoverTest, NodesThatMayEndAnywhere) {
  Problem problem;
  problem.size = 8;
  // 0 and 1 come before 2; 2 before 3, 4 and 5; 6 after 4, 7 after 5 and 0.
  unsigned before[8] = {0, 0, 3, 4, 4, 4, 16, 33};
  std::copy(before, before + 8, problem.before);
  check(problem);
}

/// A join kept as a node.
TEST(PathCoverTest, AllToAll) {
  OrderGraph graph;
  llvm::SmallVector<unsigned> first;
  for (unsigned i = 0; i < 12; ++i)
    first.push_back(graph.addNode({}));
  unsigned join = graph.addNode(first);
  for (unsigned i = 0; i < 12; ++i)
    graph.addNode({join});
  graph.reduce();
  PathCover cover = computePathCover(graph);
  EXPECT_EQ(cover.countWaits(graph), 22u);
  EXPECT_EQ(cover.countPaths(graph), 12u);
}

/// The processor's time of this thread: others on the machine take none of it.
static double threadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/// Deep graphs need neither a deep stack nor a closure.
TEST(PathCoverTest, Deep) {
  auto seconds = [](unsigned size) {
    std::mt19937 random(3);
    OrderGraph graph;
    for (unsigned v = 0; v < size; ++v) {
      llvm::SmallVector<unsigned> predecessors;
      for (unsigned count = random() % 4; v && count; --count)
        predecessors.push_back(v - 1 - random() % std::min(v, 16u));
      graph.addNode(predecessors);
    }
    double start = threadSeconds();
    graph.reduce();
    PathCover cover = computePathCover(graph);
    double time = threadSeconds() - start;
    EXPECT_LE(cover.countPaths(graph), size);
    return time;
  };
  seconds(1000);
  double small = seconds(4000), large = seconds(64000);
  for (int again = 0; again < 2; ++again) {
    small = std::min(small, seconds(4000));
    large = std::min(large, seconds(64000));
  }
  RecordProperty("microseconds_per_node",
                 static_cast<int>(large / 64000 * 1e6));
  // Linear would be 16, quadratic 256; machines are noisy.
  EXPECT_LT(large / small, 100);
}

} // namespace
