//===- RanksTest.cpp - Collectives between ranks --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank is a thread with a context of the cpu device. Programs are written
// by hand against Ranks.h, and compared with the same on one thread.
//===----------------------------------------------------------------------===//

#include "gpuasync/Ranks.h"
#include "../../Inputs/Seed.h"
#include "Fixture.h"
#include "gpuasync/Program.h"

#include <functional>
#include <limits>
#include <math.h>
#include <random>
#include <string.h>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// Some contexts that are ranks, and a thread for each.
class World {
public:
  explicit World(uint32_t count) : contexts(count) {
    std::vector<gpuasync_context *> raw;
    for (Context &context : contexts) {
      Status status = Context::open("cpu", context);
      EXPECT_TRUE(status.ok()) << status.message();
      raw.push_back(context.get());
    }
    Status status(gpuasync_ranks_create(raw.data(), count, &ranks));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  World(const World &) = delete;
  ~World() {
    gpuasync_ranks_release(ranks);
    for (Context &context : contexts) {
      Status status = context.close();
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
  std::string describe(uint32_t rank) {
    return Status(gpuasync_ranks_describe(ranks, rank)).message();
  }
  bool renew() { return gpuasync_ranks_renew(ranks) != 0; }
  /// Runs `body(rank, frame)` on all ranks, which then leave. The messages of
  /// their frames.
  std::vector<std::string>
  run(const std::function<void(uint32_t, FrameScope &)> &body) {
    std::vector<std::string> messages(contexts.size());
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < contexts.size(); ++rank)
      threads.emplace_back([&, rank] {
        ContextScope scope(contexts[rank]);
        Status status;
        {
          FrameScope frame(program);
          body(rank, frame);
          status = frame.leave();
        }
        messages[rank] = status.message();
        gpuasync_ranks_leave(ranks, rank,
                             status.ok() ? nullptr : status.message());
      });
    for (std::thread &thread : threads)
      thread.join();
    return messages;
  }

  TestProgram program;
  std::vector<Context> contexts;
  gpuasync_ranks *ranks = nullptr;
};

gpuasync_collective makeCollective(uint32_t kind, uint32_t element,
                                   uint32_t reduction = 0) {
  gpuasync_collective what = {};
  what.structSize = sizeof(what);
  what.kind = kind;
  what.element = element;
  what.reduction = reduction;
  what.file = "program.mlir";
  what.line = 7;
  return what;
}

void enqueue(FrameScope &frame, gpuasync_stream *stream,
             const gpuasync_collective &what, void *to, int64_t toCount,
             const void *from, int64_t fromCount) {
  const gpuasync_call *call =
      gpuasync_call_begin(frame, &stream, 1, SITE("collective"));
  if (!call)
    return;
  int32_t result =
      gpuasync_collective_enqueue(call, &what, to, toCount, from, fromCount);
  gpuasync_call_end(frame, result, SITE("collective"));
}

void contains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "'" << part << "' is not in: " << text;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TEST(Ranks, RankAndSize) {
  const uint32_t members[] = {0, 2, 1, 3};
  const gpuasync_group group = {"columns", 4, 2, members};
  World world(4);
  auto messages = world.run([&](uint32_t rank, FrameScope &frame) {
    EXPECT_EQ(gpuasync_group_rank(frame, nullptr, SITE("rank")), rank);
    EXPECT_EQ(gpuasync_group_size(frame, nullptr, SITE("size")), 4);
    EXPECT_EQ(gpuasync_group_rank(frame, &group, SITE("rank")), rank / 2);
    EXPECT_EQ(gpuasync_group_size(frame, &group, SITE("size")), 2);
  });
  EXPECT_EQ(messages, std::vector<std::string>(4));
}

TEST(Ranks, ContextOfNoRankIsTheOnlyOne) {
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  {
    ContextScope scope(context);
    TestProgram program;
    FrameScope frame(program);
    EXPECT_EQ(gpuasync_group_rank(frame, nullptr, SITE("rank")), 0);
    EXPECT_EQ(gpuasync_group_size(frame, nullptr, SITE("size")), 1);
    gpuasync_stream *stream = frame.stream();
    auto *x = frame.alloc<float>(stream, 8, GPUASYNC_ALLOC_HOST_SHARED);
    for (int i = 0; i < 4; ++i)
      x[i] = static_cast<float>(i);
    enqueue(frame, stream,
            makeCollective(GPUASYNC_ALL_REDUCE, GPUASYNC_ELEMENT_F32,
                           GPUASYNC_REDUCE_SUM),
            x + 4, 4, x, 4);
    EXPECT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(x[7], 3.0f);
    frame.dealloc(stream, x);
    frame.destroy(stream);
  }
  EXPECT_TRUE(context.close().ok());
}

/// A collective with the memory that its ranks bring, as numbers.
struct Oracle {
  gpuasync_collective what;
  int64_t perRank; ///< elements of a source
  std::vector<std::vector<int64_t>> sources;
  std::vector<std::vector<int64_t>> results; ///< empty: as before

  int64_t resultCount(int64_t count) const {
    return what.kind == GPUASYNC_ALL_GATHER       ? perRank * count
           : what.kind == GPUASYNC_REDUCE_SCATTER ? perRank / count
                                                  : perRank;
  }
  static int64_t reduceTwo(uint32_t reduction, int64_t a, int64_t b) {
    switch (reduction) {
    case GPUASYNC_REDUCE_SUM:
      return a + b;
    case GPUASYNC_REDUCE_PROD:
      return a * b;
    case GPUASYNC_REDUCE_MIN:
      return std::min(a, b);
    case GPUASYNC_REDUCE_MAX:
      return std::max(a, b);
    case GPUASYNC_REDUCE_AND:
      return a & b;
    default:
      return a | b;
    }
  }
  void compute() {
    const auto count = static_cast<int64_t>(sources.size());
    std::vector<int64_t> sums = sources[0];
    for (int64_t rank = 1; rank < count; ++rank)
      for (int64_t i = 0; i < perRank; ++i)
        sums[i] = reduceTwo(what.reduction, sums[i], sources[rank][i]);
    results.assign(sources.size(), {});
    for (int64_t rank = 0; rank < count; ++rank) {
      std::vector<int64_t> &result = results[rank];
      result.resize(static_cast<size_t>(resultCount(count)));
      for (int64_t i = 0; i < static_cast<int64_t>(result.size()); ++i)
        switch (what.kind) {
        case GPUASYNC_ALL_REDUCE:
          result[i] = sums[i];
          break;
        case GPUASYNC_REDUCE_SCATTER:
          result[i] = sums[rank * (perRank / count) + i];
          break;
        case GPUASYNC_ALL_GATHER:
          result[i] = sources[i / perRank][i % perRank];
          break;
        case GPUASYNC_ALL_TO_ALL: {
          const int64_t part = perRank / count;
          result[i] = sources[i / part][rank * part + i % part];
          break;
        }
        case GPUASYNC_BROADCAST:
          result[i] = sources[what.root][i];
          break;
        case GPUASYNC_PERMUTE:
          result[i] = 0;
          for (uint32_t pair = 0; pair < what.pairCount; ++pair)
            if (what.pairs[2 * pair + 1] == rank)
              result[i] = sources[what.pairs[2 * pair]][i];
          break;
        }
    }
  }
};

/// Elements of all kinds hold small whole numbers exactly.
void store(void *memory, uint32_t element, int64_t index, int64_t value) {
  const auto number = static_cast<float>(value);
  uint32_t bits;
  memcpy(&bits, &number, 4);
  switch (element) {
  case GPUASYNC_ELEMENT_I1:
  case GPUASYNC_ELEMENT_I8:
    static_cast<int8_t *>(memory)[index] = static_cast<int8_t>(value);
    return;
  case GPUASYNC_ELEMENT_I16:
    static_cast<int16_t *>(memory)[index] = static_cast<int16_t>(value);
    return;
  case GPUASYNC_ELEMENT_I32:
    static_cast<int32_t *>(memory)[index] = static_cast<int32_t>(value);
    return;
  case GPUASYNC_ELEMENT_I64:
    static_cast<int64_t *>(memory)[index] = value;
    return;
  case GPUASYNC_ELEMENT_F16:
    static_cast<uint16_t *>(memory)[index] = static_cast<uint16_t>(
        value == 0 ? 0
                   : (bits >> 16 & 0x8000) |
                         ((bits & 0x7fffffff) - (112u << 23)) >> 13);
    return;
  case GPUASYNC_ELEMENT_BF16:
    static_cast<uint16_t *>(memory)[index] = static_cast<uint16_t>(bits >> 16);
    return;
  case GPUASYNC_ELEMENT_F32:
    static_cast<float *>(memory)[index] = number;
    return;
  default:
    static_cast<double *>(memory)[index] = static_cast<double>(value);
  }
}
int64_t bytesOf(uint32_t element) {
  constexpr int64_t bytes[] = {0, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return bytes[element];
}

/// Programs of many collectives in groups of all kinds, with host work, waits
/// and second streams in between, against one thread.
TEST(Ranks, RandomPrograms) {
  std::mt19937 random(testSeed());
  const auto draw = [&](uint32_t count) { return random() % count; };
  for (int round = 0; round < 25; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const uint32_t count = 1 + draw(5);
    World world(count);
    // A list of all, of single ranks, and of pairs where the number is even.
    std::vector<std::vector<uint32_t>> members(3);
    for (uint32_t rank = 0; rank < count; ++rank)
      members[0].push_back(rank);
    std::shuffle(members[0].begin(), members[0].end(), random);
    members[1] = members[2] = members[0];
    const gpuasync_group groups[] = {
        {"all", count, count, members[0].data()},
        {"single", count, 1, members[1].data()},
        {"pairs", count, count % 2 ? count : 2, members[2].data()}};
    struct Step {
      const gpuasync_group *group;
      std::vector<Oracle> lists;
      bool inPlace, secondStream, waits;
    };
    std::vector<uint32_t> pairs(2 * count);
    std::vector<Step> steps(1 + draw(12));
    for (Step &step : steps) {
      const uint32_t which = draw(4);
      step.group = which == 3 ? nullptr : &groups[which];
      const uint32_t size = step.group ? step.group->size : count;
      gpuasync_collective what = makeCollective(1 + draw(7), 1 + draw(9));
      what.group = step.group;
      if (what.kind == GPUASYNC_ALL_REDUCE ||
          what.kind == GPUASYNC_REDUCE_SCATTER)
        what.reduction = what.element == GPUASYNC_ELEMENT_I1   ? 5 + draw(2)
                         : what.element < GPUASYNC_ELEMENT_F16 ? 1 + draw(6)
                                                               : 1 + draw(4);
      what.root = what.kind == GPUASYNC_BROADCAST ? draw(size) : 0;
      std::vector<uint32_t> *kept = nullptr;
      if (what.kind == GPUASYNC_PERMUTE) {
        static std::vector<std::unique_ptr<std::vector<uint32_t>>> all;
        kept = all.emplace_back(new std::vector<uint32_t>).get();
        std::vector<uint32_t> from(size), to(size);
        for (uint32_t i = 0; i < size; ++i)
          from[i] = to[i] = i;
        std::shuffle(from.begin(), from.end(), random);
        std::shuffle(to.begin(), to.end(), random);
        what.pairCount = draw(size + 1);
        for (uint32_t i = 0; i < what.pairCount; ++i)
          kept->insert(kept->end(), {from[i], to[i]});
        what.pairs = kept->data();
      }
      const int64_t perRank =
          what.kind == GPUASYNC_BARRIER ? 0 : int64_t(draw(3000)) * size;
      for (uint32_t list = 0; list < count / size; ++list) {
        Oracle oracle = {what, perRank, {}, {}};
        for (uint32_t i = 0; i < size; ++i) {
          auto &source = oracle.sources.emplace_back(perRank);
          for (int64_t &value : source)
            value = what.element == GPUASYNC_ELEMENT_I1 ? draw(2)
                    : what.reduction == GPUASYNC_REDUCE_PROD
                        ? int64_t(draw(2)) + 1
                        : int64_t(draw(9));
        }
        oracle.compute();
        step.lists.push_back(std::move(oracle));
      }
      step.inPlace = (what.kind == GPUASYNC_ALL_REDUCE ||
                      what.kind == GPUASYNC_BROADCAST) &&
                     draw(2);
      step.secondStream = draw(3) == 0;
      step.waits = draw(3) == 0;
    }
    auto messages = world.run([&](uint32_t rank, FrameScope &frame) {
      gpuasync_stream *streams[] = {frame.stream(), frame.stream()};
      std::vector<std::pair<void *, const Step *>> results;
      for (const Step &step : steps) {
        const uint32_t *all = step.group ? step.group->members : nullptr;
        const uint32_t place = static_cast<uint32_t>(
            all ? std::find(all, all + count, rank) - all : rank);
        const uint32_t size = step.group ? step.group->size : count;
        const Oracle &oracle = step.lists[place / size];
        const int64_t resultCount = oracle.resultCount(size);
        const int64_t bytes = bytesOf(oracle.what.element);
        gpuasync_stream *stream = streams[step.secondStream];
        auto *from = frame.alloc<char>(
            stream, static_cast<uint64_t>(oracle.perRank * bytes + 1),
            GPUASYNC_ALLOC_HOST_SHARED);
        auto *to =
            step.inPlace
                ? from
                : frame.alloc<char>(
                      stream, static_cast<uint64_t>(resultCount * bytes + 1),
                      GPUASYNC_ALLOC_HOST_SHARED);
        for (int64_t i = 0; i < oracle.perRank; ++i)
          store(from, oracle.what.element, i,
                oracle.sources[place % size][static_cast<size_t>(i)]);
        if (oracle.what.kind == GPUASYNC_BARRIER)
          enqueue(frame, stream, oracle.what, nullptr, 0, nullptr, 0);
        else
          enqueue(frame, stream, oracle.what, to, resultCount, from,
                  oracle.perRank);
        if (!step.inPlace)
          frame.dealloc(stream, from);
        results.emplace_back(to, &step);
        if (step.waits)
          EXPECT_EQ(frame.wait({stream}), 0);
      }
      EXPECT_EQ(frame.wait({streams[0], streams[1]}), 0);
      for (auto [memory, step] : results) {
        const uint32_t *all = step->group ? step->group->members : nullptr;
        const uint32_t place = static_cast<uint32_t>(
            all ? std::find(all, all + count, rank) - all : rank);
        const uint32_t size = step->group ? step->group->size : count;
        const Oracle &oracle = step->lists[place / size];
        if (oracle.what.kind != GPUASYNC_BARRIER) {
          const auto &wanted = oracle.results[place % size];
          const auto bytes = static_cast<size_t>(bytesOf(oracle.what.element));
          std::vector<char> packed(wanted.size() * bytes + 1);
          for (size_t i = 0; i < wanted.size(); ++i)
            store(packed.data(), oracle.what.element, int64_t(i), wanted[i]);
          EXPECT_EQ(memcmp(packed.data(), memory, wanted.size() * bytes), 0)
              << "rank " << rank << ", kind " << oracle.what.kind
              << ", element " << oracle.what.element << ", reduction "
              << oracle.what.reduction;
        }
        frame.dealloc(streams[step->secondStream], memory);
      }
      for (gpuasync_stream *stream : streams)
        frame.destroy(stream);
    });
    EXPECT_EQ(messages, std::vector<std::string>(count));
  }
}

/// Reduces two numbers over two ranks.
template <typename T>
T reduceTwo(uint32_t element, uint32_t reduction, T a, T b) {
  World world(2);
  T results[2] = {};
  auto messages = world.run([&](uint32_t rank, FrameScope &frame) {
    gpuasync_stream *stream = frame.stream();
    auto *x = frame.alloc<T>(stream, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *x = rank ? b : a;
    enqueue(frame, stream,
            makeCollective(GPUASYNC_ALL_REDUCE, element, reduction), x, 1, x,
            1);
    EXPECT_EQ(frame.wait({stream}), 0);
    results[rank] = *x;
    frame.dealloc(stream, x);
    frame.destroy(stream);
  });
  EXPECT_EQ(messages, std::vector<std::string>(2));
  EXPECT_EQ(memcmp(&results[0], &results[1], sizeof(T)), 0);
  return results[0];
}

TEST(Ranks, SpecialNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(isnan(
      reduceTwo<float>(GPUASYNC_ELEMENT_F32, GPUASYNC_REDUCE_MAX, nan, 1.0f)));
  EXPECT_TRUE(isnan(
      reduceTwo<float>(GPUASYNC_ELEMENT_F32, GPUASYNC_REDUCE_MIN, 1.0f, nan)));
  EXPECT_TRUE(signbit(reduceTwo<float>(GPUASYNC_ELEMENT_F32,
                                       GPUASYNC_REDUCE_MIN, 0.0f, -0.0f)));
  EXPECT_FALSE(signbit(reduceTwo<float>(GPUASYNC_ELEMENT_F32,
                                        GPUASYNC_REDUCE_MAX, -0.0f, 0.0f)));
  EXPECT_EQ(reduceTwo<int32_t>(GPUASYNC_ELEMENT_I32, GPUASYNC_REDUCE_SUM,
                               INT32_MAX, 1),
            INT32_MIN);
  EXPECT_EQ(reduceTwo<int64_t>(GPUASYNC_ELEMENT_I64, GPUASYNC_REDUCE_PROD,
                               INT64_MAX, 2),
            -2);
  using Bits = uint16_t;
  const auto half = [](Bits a, Bits b) {
    return reduceTwo<Bits>(GPUASYNC_ELEMENT_F16, GPUASYNC_REDUCE_SUM, a, b);
  };
  EXPECT_EQ(half(0x7bff, 0x4c00), 0x7c00); // 65504 + 16: half way, to even
  EXPECT_EQ(half(0x7bff, 0x4bff), 0x7bff); // 65504 + 15.99
  EXPECT_EQ(half(0x0001, 0x0001), 0x0002); // the smallest numbers
  EXPECT_EQ(half(0x03ff, 0x0001), 0x0400); // to the smallest normal one
  EXPECT_EQ(half(0x8001, 0x0000), 0x8001);
  EXPECT_EQ(half(0x6800, 0x3c00), 0x6800); // 2048 + 1: half way, to even
  EXPECT_EQ(half(0x6801, 0x3c00), 0x6802); // 2050 + 1
  EXPECT_EQ(half(0x7c00, 0xfc00) & 0x7e00, 0x7e00); // inf - inf
  EXPECT_EQ(reduceTwo<Bits>(GPUASYNC_ELEMENT_BF16, GPUASYNC_REDUCE_SUM, 0x4380,
                            0x3f80),
            0x4380); // 256 + 1: half way, to even
  EXPECT_EQ(reduceTwo<Bits>(GPUASYNC_ELEMENT_BF16, GPUASYNC_REDUCE_SUM, 0x4381,
                            0x3f80),
            0x4382);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// One all_reduce on each rank, of `length(rank)` numbers at line `line(rank)`.
std::vector<std::string>
reduceOf(uint32_t count, const std::function<int64_t(uint32_t)> &length,
         const std::function<bool(uint32_t)> &takesPart = {}) {
  World world(count);
  return world.run([&](uint32_t rank, FrameScope &frame) {
    if (takesPart && !takesPart(rank))
      return;
    gpuasync_stream *stream = frame.stream();
    auto *x = frame.alloc<float>(stream, 64, GPUASYNC_ALLOC_HOST_SHARED);
    gpuasync_collective what = makeCollective(
        GPUASYNC_ALL_REDUCE, GPUASYNC_ELEMENT_F32, GPUASYNC_REDUCE_SUM);
    what.line = 100 + rank;
    enqueue(frame, stream, what, x, length(rank), x, length(rank));
    (void)frame.wait({stream});
    frame.dealloc(stream, x);
    frame.destroy(stream);
  });
}

TEST(Ranks, DifferentCollectivesNameBothPlaces) {
  auto messages = reduceOf(2, [](uint32_t rank) { return rank ? 64 : 32; });
  for (const std::string &message : messages) {
    contains(message, "the ranks differ");
    contains(message,
             "all_reduce<sum> of 32 f32 at program.mlir:100 on rank 0");
    contains(message,
             "all_reduce<sum> of 64 f32 at program.mlir:101 on rank 1");
  }
}

// A table that a library made by hand.
TEST(Ranks, PairsAndRootsOfOtherKinds) {
  World world(2);
  auto messages = world.run([&](uint32_t rank, FrameScope &frame) {
    gpuasync_stream *stream = frame.stream();
    gpuasync_collective what = makeCollective(GPUASYNC_BARRIER, 0);
    (rank ? what.root : what.pairCount) = 3;
    enqueue(frame, stream, what, nullptr, 0, nullptr, 0);
    frame.destroy(stream);
  });
  contains(messages[0], "barrier at program.mlir:7: only a permute has pairs");
  contains(messages[1], "barrier at program.mlir:7: only a broadcast has a "
                        "root");
}

TEST(Ranks, OneThatEndsWithoutComing) {
  auto messages = reduceOf(
      3, [](uint32_t) { return 8; }, [](uint32_t rank) { return rank != 1; });
  EXPECT_EQ(messages[1], "");
  contains(messages[0], "all_reduce<sum> of 8 f32 at program.mlir:100: rank 1 "
                        "has ended");
  contains(messages[2], "rank 1 has ended");
}

TEST(Ranks, OneThatFailsIsNamedWithItsError) {
  World world(3);
  auto messages = world.run([&](uint32_t rank, FrameScope &frame) {
    if (rank == 2) {
      gpuasync_frame_fail_at(
          frame,
          gpuasync_status_make(GPUASYNC_DRIVER_ERROR, "the disk is full"),
          SITE("read"));
      return;
    }
    gpuasync_stream *stream = frame.stream();
    enqueue(frame, stream, makeCollective(GPUASYNC_BARRIER, 0), nullptr, 0,
            nullptr, 0);
    EXPECT_NE(frame.wait({stream}), 0);
    frame.destroy(stream);
  });
  contains(messages[2], "the disk is full");
  for (int rank = 0; rank < 2; ++rank) {
    contains(messages[rank], "barrier at program.mlir:7: rank 2 failed: ");
    contains(messages[rank], "the disk is full");
  }
}

// Work behind a collective that fails does not run, and what failed in a
// kernel of one rank is told the others.
TEST(Ranks, FailureOfAKernel) {
  World world(2);
  auto messages = world.run([&](uint32_t rank, FrameScope &frame) {
    gpuasync_stream *stream = frame.stream();
    auto *x = frame.alloc<uint32_t>(stream, 64, GPUASYNC_ALLOC_HOST_SHARED);
    memset(x, 0, 256);
    if (rank == 0)
      (void)gpuasync_stream_enqueue_host(
          static_cast<gpuasync_stream *>(
              gpuasync_stream_native(frame, stream, SITE("fails"))),
          [](void *) { return 3; }, nullptr, 0);
    enqueue(frame, stream,
            makeCollective(GPUASYNC_ALL_REDUCE, GPUASYNC_ELEMENT_I32,
                           GPUASYNC_REDUCE_SUM),
            x, 64, x, 64);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
    EXPECT_NE(frame.wait({stream}), 0);
    EXPECT_EQ(x[0], 0u);
    frame.dealloc(stream, x);
    frame.destroy(stream);
  });
  EXPECT_NE(messages[0], "");
  contains(messages[1], "rank 0 failed: ");
}

// Rows and columns of ranks whose orders are drawn: some are of one text, and
// in others ranks wait for each other. All end.
TEST(Ranks, RandomOrders) {
  std::mt19937 random(testSeed());
  const auto draw = [&](uint32_t count) { return random() % count; };
  uint32_t circles = 0;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const uint32_t rows = 2 + draw(2), columns = 2, count = rows * columns;
    std::vector<uint32_t> byRow(count), byColumn(count);
    for (uint32_t i = 0; i < count; ++i) {
      byRow[i] = i;
      byColumn[i] = i % rows * columns + i / rows;
    }
    const gpuasync_group groups[] = {{"row", count, columns, byRow.data()},
                                     {"column", count, rows, byColumn.data()}};
    // Each has as many of both; 0 is a row's.
    std::vector<uint32_t> text(2 + 2 * draw(4));
    for (size_t i = 0; i < text.size(); ++i)
      text[i] = i % 2;
    std::shuffle(text.begin(), text.end(), random);
    std::vector<std::vector<uint32_t>> orders(count, text);
    if (draw(4))
      for (auto &order : orders)
        if (!draw(3))
          std::shuffle(order.begin(), order.end(), random);
    std::vector<std::vector<bool>> waits(count);
    for (uint32_t rank = 0; rank < count; ++rank)
      for (size_t i = 0; i < text.size(); ++i)
        waits[rank].push_back(!draw(3));

    // Whatever can take place does.
    std::vector<size_t> at(count);
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (const gpuasync_group &group : groups)
        for (uint32_t first = 0; first < count; first += group.size) {
          const uint32_t *members = group.members + first;
          const auto wants = [&](uint32_t rank) {
            return at[rank] < text.size() &&
                   &groups[orders[rank][at[rank]]] == &group;
          };
          if (!std::all_of(members, members + group.size, wants))
            continue;
          for (uint32_t i = 0; i < group.size; ++i)
            ++at[members[i]];
          goesOn = true;
        }
    }
    const bool ends = std::all_of(
        at.begin(), at.end(), [&](size_t each) { return each == text.size(); });

    World world(count);
    auto messages = world.run([&](uint32_t rank, FrameScope &frame) {
      gpuasync_stream *stream = frame.stream();
      for (size_t i = 0; i < text.size(); ++i) {
        gpuasync_collective what = makeCollective(GPUASYNC_BARRIER, 0);
        what.group = &groups[orders[rank][i]];
        enqueue(frame, stream, what, nullptr, 0, nullptr, 0);
        if (waits[rank][i])
          (void)frame.wait({stream});
      }
      (void)frame.wait({stream});
      frame.destroy(stream);
    });
    circles += !ends;
    if (ends) {
      EXPECT_EQ(messages, std::vector<std::string>(count));
      continue;
    }
    EXPECT_TRUE(std::any_of(
        messages.begin(), messages.end(),
        [](const std::string &message) {
          return message.find("the ranks wait for each other: rank ") !=
                 std::string::npos;
        }))
        << messages[0];
  }
  EXPECT_GT(circles, 0u);
}

TEST(Ranks, WrongArguments) {
  const auto expectError = [](gpuasync_collective what, int64_t toCount,
                              int64_t fromCount, int64_t distance,
                              const std::string &text) {
    World world(2);
    auto messages = world.run([&](uint32_t, FrameScope &frame) {
      gpuasync_stream *stream = frame.stream();
      auto *x = frame.alloc<float>(stream, 64, GPUASYNC_ALLOC_HOST_SHARED);
      enqueue(frame, stream, what, x, toCount, x + distance, fromCount);
      frame.dealloc(stream, x);
      frame.destroy(stream);
    });
    for (const std::string &message : messages)
      contains(message, text);
  };
  const auto f32 = [](uint32_t kind, uint32_t reduction = 0) {
    return makeCollective(kind, GPUASYNC_ELEMENT_F32, reduction);
  };
  expectError(f32(GPUASYNC_ALL_REDUCE, GPUASYNC_REDUCE_SUM), 4, 4, 1,
              "the destination overlaps the source");
  expectError(f32(GPUASYNC_ALL_GATHER), 4, 4, 32,
              "4 elements of the destination and 4 of the source among 2");
  expectError(f32(GPUASYNC_REDUCE_SCATTER, GPUASYNC_REDUCE_SUM), 2, 5, 32,
              "the source has the destination's elements times the ranks");
  expectError(f32(GPUASYNC_ALL_TO_ALL), 3, 3, 32, "a multiple of the ranks");
  expectError(f32(GPUASYNC_ALL_REDUCE, GPUASYNC_REDUCE_AND), 4, 4, 0,
              "no such reduction");
  expectError(f32(GPUASYNC_BROADCAST, GPUASYNC_REDUCE_SUM), 4, 4, 0,
              "no such reduction");
  expectError(f32(99), 4, 4, 0, "no such collective");
  expectError(makeCollective(GPUASYNC_ALL_GATHER, 44), 8, 4, 32,
              "no such element");
  expectError(f32(GPUASYNC_ALL_GATHER), -8, -4, 32, "a negative size");
  gpuasync_collective what = f32(GPUASYNC_BROADCAST);
  what.root = 2;
  expectError(what, 4, 4, 0, "the group has 2 ranks");
  what = f32(GPUASYNC_PERMUTE);
  const uint32_t pairs[] = {0, 1, 1, 1};
  what.pairs = pairs;
  what.pairCount = 2;
  expectError(what, 4, 4, 32, "two pairs with the same source or target");
  const uint32_t members[] = {0, 1, 2};
  const gpuasync_group group = {"three", 3, 3, members};
  what = f32(GPUASYNC_BROADCAST);
  what.group = &group;
  expectError(what, 4, 4, 0,
              "group @three is of 3 ranks, and the program runs on 2");
}

TEST(Ranks, WrongGroupFailsTheFrame) {
  const uint32_t members[] = {0, 1, 2};
  const gpuasync_group group = {"three", 3, 3, members};
  World world(2);
  auto messages = world.run([&](uint32_t, FrameScope &frame) {
    EXPECT_EQ(gpuasync_group_rank(frame, &group, SITE("rank")), 0);
    EXPECT_TRUE(frame.failed());
  });
  for (const std::string &message : messages) {
    contains(message, "group @three is of 3 ranks, and the program runs on 2");
    contains(message, "rank"); // the site
  }
}

TEST(Ranks, ContextsThatCannotBeRanks) {
  gpuasync_ranks *ranks = nullptr;
  EXPECT_EQ(Status(gpuasync_ranks_create(nullptr, 1, &ranks)).code(),
            uint32_t(GPUASYNC_INVALID_ARGUMENT));
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  gpuasync_context *twice[] = {context.get(), context.get()};
  contains(Status(gpuasync_ranks_create(twice, 2, &ranks)).message(),
           "is a rank already");
  EXPECT_EQ(ranks, nullptr);
  ASSERT_EQ(gpuasync_ranks_create(twice, 1, &ranks), nullptr);
  gpuasync_ranks *second = nullptr;
  contains(Status(gpuasync_ranks_create(twice, 1, &second)).message(),
           "is a rank already");
  gpuasync_ranks_release(ranks);
  ASSERT_EQ(gpuasync_ranks_create(twice, 1, &second), nullptr);
  gpuasync_ranks_release(second);
  EXPECT_TRUE(context.close().ok());
}

// A rank that is late costs the others no thread: with one thread each, the
// streams beside a collective go on.
TEST(Ranks, WaitingTakesNoThread) {
  World world(2);
  std::atomic<bool> hasRun{false};
  auto messages = world.run([&](uint32_t rank, FrameScope &frame) {
    gpuasync_stream *stream = frame.stream(), *other = frame.stream();
    if (rank == 1)
      while (!hasRun)
        std::this_thread::yield();
    enqueue(frame, stream, makeCollective(GPUASYNC_BARRIER, 0), nullptr, 0,
            nullptr, 0);
    if (rank == 0) {
      EXPECT_EQ(frame.query(stream), 0);
      auto *x = frame.alloc<uint32_t>(other, 64, GPUASYNC_ALLOC_HOST_SHARED);
      frame.launch(other, Store, 1, 64, StoreParams{x, 5});
      EXPECT_EQ(frame.wait({other}), 0);
      EXPECT_EQ(x[63], 5u);
      frame.dealloc(other, x);
      hasRun = true;
    }
    EXPECT_EQ(frame.wait({stream}), 0);
    frame.destroy(stream);
    frame.destroy(other);
  });
  EXPECT_EQ(messages, std::vector<std::string>(2));
}

// Ranks make collectives again once all have left, unless one has failed.
TEST(Ranks, AreRenewed) {
  World world(2);
  bool skips = false;
  const auto meet = [&](uint32_t rank, FrameScope &frame) {
    if (rank == 1 && skips)
      return;
    gpuasync_stream *stream = frame.stream();
    enqueue(frame, stream, makeCollective(GPUASYNC_BARRIER, 0), nullptr, 0,
            nullptr, 0);
    EXPECT_EQ(frame.wait({stream}) == 0, !skips);
    frame.destroy(stream);
  };
  EXPECT_FALSE(world.renew()); // they have not left
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(world.run(meet), std::vector<std::string>(2));
    EXPECT_TRUE(world.renew());
    EXPECT_FALSE(world.renew());
    EXPECT_EQ(world.describe(0), "has come to no collective");
  }
  skips = true;
  contains(world.run(meet)[0], "rank 1 has ended");
  EXPECT_FALSE(world.renew());
}

// A time limit lists the collective that nobody else came to.
TEST(Ranks, TimeLimitNamesTheCollective) {
  gpuasync_set_timeout(0.05);
  {
    World world(2);
    std::atomic<bool> isOver{false};
    auto messages = world.run([&](uint32_t rank, FrameScope &frame) {
      if (rank == 1) {
        while (!isOver)
          std::this_thread::yield();
        return;
      }
      gpuasync_stream *stream = frame.stream();
      enqueue(frame, stream, makeCollective(GPUASYNC_BARRIER, 0), nullptr, 0,
              nullptr, 0);
      EXPECT_NE(frame.wait({stream}), 0);
      contains(world.describe(0), "waits at barrier at ");
      contains(world.describe(0),
               " for rank 1, which has come to no collective");
      EXPECT_EQ(world.describe(1), "has come to no collective");
      EXPECT_EQ(world.describe(2), "");
      isOver = true;
      frame.destroy(stream);
    });
    contains(messages[0], "timed out after 0.05 s");
    contains(messages[0], "collective");
    EXPECT_EQ(messages[1], "");
  }
  gpuasync_set_timeout(0);
}

} // namespace
