//===- AdversaryTest.cpp - The cpu device's worst-case orders -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wrong programs are caught under some seed, right ones stay right under all,
// and a seed means one order. The progress rules are tested by the conformance
// suite, which runs under an adversary.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <algorithm>
#include <mutex>
#include <random>
#include <set>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// A context of the cpu device under one schedule.
class Scheduled {
public:
  explicit Scheduled(const std::string &schedule) {
    Status set(gpuasync_set_cpu_schedule(schedule.c_str()));
    EXPECT_TRUE(set.ok()) << set.message();
    Status opened = Context::open("cpu", context);
    EXPECT_TRUE(opened.ok()) << opened.message();
    scope = std::make_unique<ContextScope>(context);
  }
  ~Scheduled() {
    scope.reset();
    Status closed = context.close();
    EXPECT_TRUE(closed.ok()) << closed.message();
    // What Main.cpp put into the environment holds again for later tests.
    Status back(gpuasync_set_cpu_schedule(getenv("GPU_ASYNC_CPU_SCHEDULE")));
    EXPECT_TRUE(back.ok()) << back.message();
  }

private:
  Context context;
  std::unique_ptr<ContextScope> scope;
};

std::string seeded(uint32_t seed) {
  return "adversarial:" + std::to_string(seed);
}

/// The store of programs that race on purpose: what they get wrong is the
/// order.
void storeAtomically(const gpuasync_cpu_block_ctx *, const void *params,
                     void *) {
  auto *p = static_cast<const StoreParams *>(params);
  __atomic_store_n(p->out, p->value, __ATOMIC_RELAXED);
}

/// x = 1 on one stream, x = 2 on another, ordered by an event if asked for.
uint32_t lastStore(TestProgram &program, bool ordered) {
  FrameScope frame(program);
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  auto *x = frame.alloc(nullptr, 64, GPUASYNC_ALLOC_HOST_SHARED);
  frame.launch(a, Store, 1, 1, StoreParams{x, 1});
  if (ordered)
    frame.waitEvent(b, frame.record(a));
  frame.launch(b, Store, 1, 1, StoreParams{x, 2});
  frame.wait({a, b});
  uint32_t result = *x;
  frame.dealloc(nullptr, x);
  return result;
}

TEST(Adversary, MissingDependencyIsCaught_T03) {
  TestProgram program(TestProgram::Cpu);
  program.cpu[Store].function = storeAtomically;
  std::set<uint32_t> seen;
  for (uint32_t seed = 0; seed < 32; ++seed) {
    Scheduled scheduled(seeded(seed));
    for (int i = 0; i < 4; ++i)
      seen.insert(lastStore(program, false));
  }
  EXPECT_EQ(seen, (std::set<uint32_t>{1, 2}));
  // As it comes, nobody would ever notice.
  Scheduled fair("fair");
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(lastStore(program, false), 2u);
}

TEST(Adversary, DependencyHolds_T03) {
  TestProgram program(TestProgram::Cpu);
  for (uint32_t seed = 0; seed < 64; ++seed) {
    Scheduled scheduled(seeded(seed));
    for (int i = 0; i < 4; ++i)
      ASSERT_EQ(lastStore(program, true), 2u) << "seed " << seed;
  }
}

// The host reads what it did not wait for: work of another stream.
TEST(Adversary, MissingHostWaitIsCaught_T03) {
  TestProgram program(TestProgram::Cpu);
  program.cpu[Store].function = storeAtomically;
  uint32_t stale = 0;
  for (uint32_t seed = 0; seed < 32; ++seed) {
    Scheduled scheduled(seeded(seed));
    FrameScope frame(program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    auto *x = frame.alloc(nullptr, 32, GPUASYNC_ALLOC_HOST_SHARED);
    x[0] = x[16] = 0;
    frame.launch(b, Store, 1, 1, StoreParams{x, 1});
    frame.launch(a, Store, 1, 1, StoreParams{x + 16, 1});
    frame.wait({a});
    stale += !isSet(x);
    EXPECT_TRUE(isSet(x + 16));
    frame.wait({b});
    EXPECT_TRUE(isSet(x));
    frame.dealloc(nullptr, x);
  }
  EXPECT_GT(stale, 0u);
}

std::vector<int64_t> *executed;
std::mutex executedMutex;
void note(const gpuasync_cpu_block_ctx *, const void *params, void *) {
  std::lock_guard<std::mutex> lock(executedMutex);
  executed->push_back(static_cast<const StoreParams *>(params)->value);
}

/// The order in which a random program on eight streams ran; `edges[i]` are the
/// operations that i must come after.
std::vector<int64_t> runOrder(const std::string &schedule, uint32_t programSeed,
                              std::vector<std::vector<int64_t>> &edges) {
  TestProgram program(TestProgram::Cpu);
  program.cpu[Store].function = note;
  Scheduled scheduled(schedule);
  std::mt19937 random(programSeed);
  std::vector<int64_t> order;
  executed = &order;
  edges.clear();
  FrameScope frame(program);
  std::vector<gpuasync_stream *> streams;
  std::vector<int64_t> tail(8, -1);
  for (int i = 0; i < 8; ++i)
    streams.push_back(frame.stream());
  for (uint32_t i = 0; i < 100; ++i) {
    uint32_t s = random() % 8, other = random() % 8;
    edges.emplace_back();
    if (random() % 3 == 0 && tail[other] >= 0) {
      gpuasync_event *event = frame.record(streams[other]);
      frame.waitEvent(streams[s], event);
      frame.destroy(event);
      edges[i].push_back(tail[other]);
    }
    if (tail[s] >= 0)
      edges[i].push_back(tail[s]);
    frame.launch(streams[s], Store, 1, 1, StoreParams{nullptr, i});
    tail[s] = i;
    if (random() % 20 == 0) {
      frame.wait({streams[s]});
      // It covers the stream's past at least.
      std::lock_guard<std::mutex> lock(executedMutex);
      EXPECT_NE(std::find(order.begin(), order.end(), i), order.end());
    }
  }
  frame.wait(streams);
  executed = nullptr;
  return order;
}

TEST(Adversary, OrdersAreLegalAndMany_D18) {
  std::set<std::vector<int64_t>> orders;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::vector<std::vector<int64_t>> edges;
    std::vector<int64_t> order = runOrder(seeded(seed), seed % 3, edges);
    ASSERT_EQ(order.size(), edges.size());
    std::vector<size_t> place(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      place[static_cast<size_t>(order[i])] = i;
    for (size_t i = 0; i < edges.size(); ++i)
      for (int64_t before : edges[i])
        ASSERT_LT(place[static_cast<size_t>(before)], place[i])
            << "seed " << seed;
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 50u);
}

// Half of the seeds run one operation at a time while the host waits, so that a
// failure can be seen again; 8 to 10 of these 20, fewer on a machine so busy
// that the adversary loses its patience. Of 100 operations no order repeats by
// chance.
TEST(Adversary, SeedMeansOneOrder) {
  uint32_t repeated = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::vector<std::vector<int64_t>> edges;
    std::string schedule = seeded(seed);
    repeated += runOrder(schedule, 1, edges) == runOrder(schedule, 1, edges);
  }
  EXPECT_GE(repeated, 3u);
}

TEST(Adversary, SettingIsChecked) {
  for (const char *wrong : {"", "unfair", "adversarial:", "adversarial:x",
                            "adversarial:1x", "adversarial7"}) {
    Status status(gpuasync_set_cpu_schedule(wrong));
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT)) << wrong;
    EXPECT_NE(std::string(status.message()).find("none of fair, adversarial"),
              std::string::npos);
  }
}

} // namespace
