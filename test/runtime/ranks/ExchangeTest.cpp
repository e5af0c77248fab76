//===- ExchangeTest.cpp - Collectives by messages -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives by messages (Exchange.h) have the bits that threads compute. Each
// rank is a thread here, and messages go through memory.
//===----------------------------------------------------------------------===//

#include "libs/ranks/Exchange.h"
#include "../../Inputs/Seed.h"

#include "gtest/gtest.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <string.h>
#include <thread>

using namespace gpuasync::ranks;

namespace {

/// Messages on their way between all ranks.
struct Mail {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<std::vector<char>>> boxes;
};

class MailChannel : public Channel {
public:
  MailChannel(Mail &mail, uint32_t position) : mail(mail), position(position) {}
  Error exchange(const std::vector<Piece> &sends,
                 const std::vector<Piece> &receives) override {
    std::unique_lock<std::mutex> lock(mail.mutex);
    for (const Piece &piece : sends) {
      EXPECT_LE(piece.bytes, Exchange::mostBytes);
      mail.boxes[{position, piece.position}].emplace_back(
          piece.memory, piece.memory + piece.bytes);
    }
    mail.changed.notify_all();
    for (const Piece &piece : receives) {
      auto &box = mail.boxes[{piece.position, position}];
      mail.changed.wait(lock, [&] { return !box.empty(); });
      EXPECT_EQ(box.front().size(), piece.bytes);
      if (box.front().size() == piece.bytes && piece.bytes)
        memcpy(piece.memory, box.front().data(), piece.bytes);
      box.pop_front();
    }
    return {};
  }

private:
  Mail &mail;
  const uint32_t position;
};

struct Rank {
  std::vector<char> source, destination;
};

TEST(Exchange, HasTheBitsOfThreads) {
  std::mt19937 random(gpuasync_test::testSeed());
  const auto draw = [&](uint64_t count) { return random() % count; };
  for (int round = 0; round < 60; ++round) {
    const auto count = static_cast<uint32_t>(1 + draw(5));
    gpuasync_collective what = {};
    what.kind = static_cast<uint32_t>(1 + draw(7));
    what.element = static_cast<uint32_t>(1 + draw(9));
    if (what.kind == GPUASYNC_ALL_REDUCE ||
        what.kind == GPUASYNC_REDUCE_SCATTER)
      do
        what.reduction = static_cast<uint32_t>(1 + draw(6));
      while (!canReduce(what.reduction, what.element));
    what.root = what.kind == GPUASYNC_BROADCAST
                    ? static_cast<uint32_t>(draw(count))
                    : 0;
    std::vector<uint32_t> from(count), to(count), pairs;
    for (uint32_t i = 0; i < count; ++i)
      from[i] = to[i] = i;
    std::shuffle(from.begin(), from.end(), random);
    std::shuffle(to.begin(), to.end(), random);
    if (what.kind == GPUASYNC_PERMUTE)
      what.pairCount = static_cast<uint32_t>(draw(count + 1));
    for (uint32_t i = 0; i < what.pairCount; ++i)
      pairs.insert(pairs.end(), {from[i], to[i]});
    what.pairs = pairs.data();
    // From nothing to several pieces, often no multiple of anything.
    const uint64_t bytes = bytesOf(what.element);
    const uint64_t most[] = {1, 40, 5000, 5 * Exchange::mostBytes / bytes};
    const uint64_t part = draw(most[draw(4)] / count + 2);
    const uint64_t sourceCount = what.kind == GPUASYNC_BARRIER ? 0
                                 : what.kind == GPUASYNC_REDUCE_SCATTER ||
                                         what.kind == GPUASYNC_ALL_TO_ALL
                                     ? part * count
                                     : part;
    const uint64_t destinationCount =
        what.kind == GPUASYNC_ALL_GATHER       ? sourceCount * count
        : what.kind == GPUASYNC_REDUCE_SCATTER ? part
                                               : sourceCount;
    const bool isInPlace =
        (what.kind == GPUASYNC_ALL_REDUCE || what.kind == GPUASYNC_BROADCAST) &&
        draw(2);
    SCOPED_TRACE(::testing::Message()
                 << "round " << round << ": kind " << what.kind << ", element "
                 << what.element << ", " << count << " ranks, " << sourceCount
                 << " elements" << (isInPlace ? ", in place" : ""));
    std::vector<Rank> byThreads(count);
    for (Rank &rank : byThreads) {
      rank.source.resize(sourceCount * bytes);
      for (char &byte : rank.source)
        byte = static_cast<char>(
            what.element == GPUASYNC_ELEMENT_I1 ? draw(2) : draw(256));
      rank.destination.assign(destinationCount * bytes, 77);
    }
    std::vector<Rank> byMessages = byThreads;
    const auto memoryOf = [&](Rank &rank) {
      return Memory{isInPlace ? rank.source.data() : rank.destination.data(),
                    static_cast<int64_t>(destinationCount), rank.source.data(),
                    static_cast<int64_t>(sourceCount)};
    };
    std::vector<Memory> memory;
    for (Rank &rank : byThreads)
      memory.push_back(memoryOf(rank));
    combine(what, memory.data(), count);

    Mail mail;
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        MailChannel channel(mail, i);
        Exchange exchange;
        const Part mine = {what, memoryOf(byMessages[i]), "here:1"};
        EXPECT_EQ(exchange.run(mine, i, count, channel), "");
      });
    for (std::thread &thread : threads)
      thread.join();
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_TRUE(byMessages[i].source == byThreads[i].source) << "rank " << i;
      EXPECT_TRUE(byMessages[i].destination == byThreads[i].destination)
          << "rank " << i;
    }
    for (const auto &[ends, box] : mail.boxes)
      EXPECT_TRUE(box.empty());
  }
}

} // namespace
