//===- RaceTest.cpp - Accesses that nothing orders ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Races between threads, blocks and device operations, and what orders them.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "Checked.h"

#include <atomic>
#include <random>
#include <set>
#include <sstream>
#include <stdlib.h>
#include <string.h>
#include <thread>

using namespace gpuasync_test;

namespace {

TEST_F(CheckTest, RaceOfThreadsIsNamedWithBothPlaces) {
  char *x = nullptr;
  uint32_t allocated = OP("gpu_async.alloc");
  uint32_t launched = OP("gpu_async.launch @k::@f");
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    EXPECT_TRUE(access(x + 4, 4, checkWrite, 10, 0));
    EXPECT_TRUE(access(x + 4, 4, checkRead, 11, 3));
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  x = frame.alloc(s, 64, allocated);
  frame.launch(s, launched, body, 1, 4);
  frame.wait(s);
  std::string at = "host.mlir:" + std::to_string(lineOf(launched)) + ":3";
  EXPECT_EQ(takeOne(),
            "kernel.mlir:11:5: error: data race between threads of a block: "
            "read by block (0, 0, 0), thread (3, 0, 0) of kernel @k::@f, "
            "launched at " +
                at +
                "\nkernel.mlir:10:5: note: the other: write by block (0, 0, "
                "0), thread (0, 0, 0) of kernel @k::@f, launched at " +
                at + "\nhost.mlir:" + std::to_string(lineOf(allocated)) +
                ":3: note: at byte 4 of 64 bytes of device memory that comes "
                "from here\n");
  frame.dealloc(s, x);
  frame.destroy(s);
}

// A query says that a stream is done. Work that the host gives to another
// stream then comes after the first one's.
TEST_F(CheckTest, QueryOrdersAsAWait) {
  char *x = nullptr;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    access(x, 4, checkWrite, 15);
  };
  CheckedFrame frame(program);
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  x = frame.alloc(nullptr, 64);
  frame.launch(a, OP("gpu_async.launch @k::@f"), body);
  while (!frame.query(a) && !frame.frame.failed)
    ;
  frame.launch(b, OP("gpu_async.launch @k::@f"), body);
  frame.wait(b);
  EXPECT_EQ(take(), std::vector<std::string>());
  frame.dealloc(nullptr, x);
  frame.destroy(a);
  frame.destroy(b);
}

TEST_F(CheckTest, BarrierAndAtomicsOrderThreads) {
  char *x = nullptr;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *shared) {
    for (char *memory : {x, shared}) {
      for (uint32_t t = 0; t < 8; ++t) {
        access(memory + 8 * t, 8, checkWrite, 20, t);
        access(memory + 64, 4, checkAtomic, 21, t);
        barrier(22, t);
      }
      for (uint32_t t = 0; t < 8; ++t) {
        access(memory + 8 * (7 - t), 8, checkRead, 23, t);
        access(memory + 64, 4, checkRead, 24, t);
        barrier(25, t);
      }
    }
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  x = frame.alloc(s, 128);
  // Of the shared memory only; blocks do not share it.
  frame.fill(s, x, 128);
  frame.launch(s, OP("gpu_async.launch @k::@f"), body, 1, 8);
  frame.dealloc(s, x);
  frame.wait(s);
  frame.destroy(s);
  // The atomic reads workgroup memory that nobody has written.
  EXPECT_NE(takeOne().find("kernel.mlir:21:5: error: read of uninitialised "
                           "workgroup memory: byte 64 of the block's 1024"),
            std::string::npos);
}

TEST_F(CheckTest, BytesOfOneGranuleAreTheirOwn) {
  char *x = nullptr;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    for (uint32_t t = 0; t < 8; ++t)
      access(x + t, 1, checkWrite, 30, t);
    // Over the border of two granules.
    access(x + 14, 4, checkWrite, 31, 0);
    access(x + 18, 2, checkWrite, 32, 1);
    access(x + 17, 1, checkWrite, 33, 2);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  x = frame.alloc(s, 32);
  frame.launch(s, OP("gpu_async.launch @k::@f"), body, 1, 8);
  frame.wait(s);
  std::string report = takeOne();
  EXPECT_EQ(report.find("kernel.mlir:33:5: error: data race"), 0u);
  EXPECT_NE(report.find("kernel.mlir:31:5: note"), std::string::npos);
  EXPECT_NE(report.find("at byte 17 of 32"), std::string::npos);
  frame.dealloc(s, x);
  frame.destroy(s);
}

TEST_F(CheckTest, RaceOfBlocksIsFoundThoughManyReadFirst) {
  char *x = nullptr;
  // As many readers as there are blocks, then one of them writes.
  Body body = [&](const gpuasync_cpu_block_ctx *ctx, char *) {
    for (uint32_t t = 0; t < 4; ++t)
      access(x, 4, checkRead, 40, t);
    if (ctx->blockIdx[0] == 63)
      access(x, 4, checkWrite, 41, 0);
    access(x + 64, 4, checkAtomic, 42, 0);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  x = frame.alloc(s, 128);
  frame.launch(s, OP("gpu_async.launch @k::@f"), body, 64, 4);
  frame.wait(s);
  // Thread 0's own read is no race, thread 1's of the same block is one, too.
  std::vector<std::string> all = take();
  EXPECT_FALSE(all.empty());
  bool found = false;
  for (const std::string &report : all) {
    EXPECT_NE(report.find("kernel.mlir:41:5"), std::string::npos) << report;
    found |= report.find("data race between blocks") != std::string::npos;
  }
  EXPECT_TRUE(found);
  frame.dealloc(s, x);
  frame.destroy(s);
}

// What another program does on the handle of a library call is in the order of
// the stream, before and after; nothing orders it with other streams.
TEST_F(CheckTest, LibraryCallsAreOrderedByTheirStream) {
  char *x = nullptr;
  Body update = [&](const gpuasync_cpu_block_ctx *, char *) {
    access(x, 4, checkWrite, 80);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream(), *other = frame.stream();
  x = frame.alloc(s, 64);
  frame.fill(s, x, 64);
  for (int i = 0; i < 2; ++i) {
    void *native =
        STAND_IN(gpuasync_stream_native)(&frame.frame, s, OP("library"));
    CheckedFrame inner(library);
    gpuasync_stream *theirs = STAND_IN(gpuasync_stream_external)(
        &inner.frame, 0, native, OP("external"));
    inner.launch(theirs, OP("gpu_async.launch @k::@f"), update);
    inner.destroy(theirs);
  }
  frame.fill(s, x, 64);
  frame.wait(s);
  EXPECT_EQ(take(), std::vector<std::string>());
  void *native =
      STAND_IN(gpuasync_stream_native)(&frame.frame, s, OP("library"));
  {
    CheckedFrame inner(library);
    gpuasync_stream *theirs = STAND_IN(gpuasync_stream_external)(
        &inner.frame, 0, native, OP("external"));
    inner.launch(theirs, OP("gpu_async.launch @k::@f"), update);
    inner.destroy(theirs);
  }
  frame.fill(other, x, 64);
  frame.wait(s);
  frame.wait(other);
  EXPECT_NE(takeOne().find("memset"), std::string::npos);
  frame.dealloc(s, x);
  frame.destroy(s);
  frame.destroy(other);
}

TEST_F(CheckTest, StreamsRaceUnlessAnEventOrAHostWaitOrdersThem) {
  char *x = nullptr;
  Body write = [&](const gpuasync_cpu_block_ctx *, char *) {
    access(x, 4, checkWrite, 50);
  };
  Body read = [&](const gpuasync_cpu_block_ctx *, char *) {
    access(x, 4, checkRead, 51);
  };
  enum { Nothing, Event, HostWait, SameStream };
  for (int how : {Event, HostWait, SameStream, Nothing}) {
    CheckedFrame frame(program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    x = frame.alloc(a, 16);
    frame.order(a, b);
    frame.launch(a, OP("gpu_async.launch @k::@f"), write);
    if (how == Event)
      frame.order(a, b);
    if (how == HostWait)
      frame.wait(a);
    frame.launch(how == SameStream ? a : b, OP("gpu_async.launch @k::@f"),
                 read);
    frame.wait(a);
    frame.wait(b);
    if (how != Nothing) {
      EXPECT_EQ(take(), std::vector<std::string>()) << how;
    } else {
      std::string report = takeOne();
      EXPECT_NE(report.find("race between device ops that nothing orders"),
                std::string::npos);
      EXPECT_NE(report.find("kernel.mlir:50:5"), std::string::npos);
      EXPECT_NE(report.find("kernel.mlir:51:5"), std::string::npos);
    }
    frame.dealloc(a, x);
    frame.destroy(a);
    frame.destroy(b);
  }
}

TEST_F(CheckTest, CopiesFillsAndKernelsRaceWhicheverRunsFirst) {
  char *x = nullptr;
  std::vector<char> host(64);
  Body write = [&](const gpuasync_cpu_block_ctx *, char *) {
    access(x + 60, 4, checkWrite, 60);
  };
  CheckedFrame frame(program);
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  x = frame.alloc(a, 64);
  frame.order(a, b);
  frame.launch(a, OP("gpu_async.launch @k::@f"), write);
  // What it does not touch is no race, the last four bytes are.
  frame.copy(b, host.data(), x, 60);
  EXPECT_EQ(take(), std::vector<std::string>());
  uint32_t copied = OP("gpu_async.memcpy");
  frame.copy(b, host.data() + 60, x + 60, 4, copied);
  uint32_t filled = OP("gpu_async.memset");
  frame.fill(b, x, 64, filled);
  frame.wait(a);
  frame.wait(b);
  std::string all;
  for (const std::string &report : take())
    all += report;
  for (uint32_t site : {copied, filled})
    EXPECT_NE(all.find("host.mlir:" + std::to_string(lineOf(site)) + ":3"),
              std::string::npos)
        << all;
  frame.dealloc(b, x);
  frame.destroy(a);
  frame.destroy(b);
}

// The host has waited for the fill, and the free comes after both. The kernel
// runs last, and still races with the fill.
TEST_F(CheckTest, AFreeDoesNotHideWhatALaterKernelRacesWith) {
  char *x = nullptr;
  std::atomic<bool> gate{false};
  Body read = [&](const gpuasync_cpu_block_ctx *, char *) {
    while (!gate)
      std::this_thread::yield();
    access(x, 4, checkRead, 61);
  };
  program.cpu.flags = GPUASYNC_KERNEL_MAY_BLOCK;
  CheckedFrame frame(program);
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  x = frame.alloc(a, 64);
  frame.order(a, b);
  const uint32_t filled = OP("gpu_async.memset");
  frame.fill(a, x, 64, filled);
  frame.launch(b, OP("gpu_async.launch @k::@f"), read);
  frame.wait(a);
  // As many as make the checker forget what it can.
  for (int i = 0; i < 200; ++i)
    frame.fill(a, x, 64, filled);
  frame.wait(a);
  frame.order(a, b);
  frame.dealloc(b, x);
  gate = true;
  frame.wait(b);
  std::vector<std::string> all = take();
  ASSERT_FALSE(all.empty());
  for (const std::string &report : all) {
    EXPECT_EQ(report.find("kernel.mlir:61:5: error: race between device ops"),
              0u)
        << report;
    EXPECT_NE(report.find("host.mlir:" + std::to_string(lineOf(filled)) + ":3"),
              std::string::npos)
        << report;
  }
  frame.destroy(a);
  frame.destroy(b);
}

namespace {
/// A random program of a few streams and one allocation. It computes which of
/// its operations race by what the streams, events and waits order.
class RandomOperations {
public:
  enum Kind { Kernel, Copy, Fill, Free, Order, Wait };
  struct Operation {
    Kind kind;
    uint32_t stream, other; ///< other: the one that waits, of Order
    uint64_t first, bytes;
    bool writes;
    uint32_t site;          ///< of the operation, or of the kernel's access
    std::set<size_t> after; ///< operations that end before it starts
  };

  RandomOperations(std::mt19937 &random, uint32_t streams) {
    auto below = [&](uint32_t limit) {
      return static_cast<uint32_t>(random() % limit);
    };
    std::vector<std::set<size_t>> done(streams);
    std::set<size_t> host;
    const size_t count = 3 + below(12);
    uint32_t kernels = 0;
    for (size_t i = 0; i < count; ++i) {
      Operation op;
      op.kind = std::vector<Kind>{Kernel, Kernel, Copy, Fill,
                                  Order,  Order,  Wait}[below(7)];
      // A granule's record has room for four accesses of kernels.
      if (op.kind == Kernel && ++kernels > 4)
        op.kind = Copy;
      op.stream = below(streams);
      op.other = below(streams);
      op.first = 8 * below(2);
      op.bytes = op.kind == Kernel ? 8 : 8 * (1 + below(2 - op.first / 8));
      op.writes = op.kind == Fill || (op.kind == Kernel && below(2));
      add(op, done, host);
    }
    Operation free = {Free, 0, 0, 0, 16, true, 0, {}};
    for (uint32_t s = 1; s < streams; ++s)
      if (below(4))
        add({Order, s, 0, 0, 0, false, 0, {}}, done, host);
    add(free, done, host);
  }

  std::vector<Operation> operations;

  std::string print() const {
    static const char *const names[] = {"kernel", "copy",  "fill",
                                        "free",   "order", "wait"};
    std::ostringstream text;
    for (size_t i = 0; i < operations.size(); ++i) {
      const Operation &op = operations[i];
      text << i << ": " << names[op.kind] << " on " << op.stream;
      if (op.kind == Order)
        text << ", before " << op.other;
      if (op.bytes)
        text << (op.writes ? ", writes " : ", reads ") << op.first << " + "
             << op.bytes;
      text << "\n";
    }
    return text.str();
  }

  bool race(size_t i, size_t j) const {
    const Operation &a = operations[i], &b = operations[j];
    return a.bytes && b.bytes && (a.writes || b.writes) &&
           a.first < b.first + b.bytes && b.first < a.first + a.bytes &&
           !a.after.count(j) && !b.after.count(i);
  }

  /// Whether a race of `other` may be reported as one of `op`: itself, or a
  /// later kernel that touches the same bytes and writes if `other` does.
  bool standsFor(size_t op, size_t other) const {
    const Operation &a = operations[op], &b = operations[other];
    return op == other ||
           (a.kind == Kernel && b.kind == Kernel && a.after.count(other) &&
            a.first == b.first && a.writes >= b.writes);
  }

private:
  void add(Operation op, std::vector<std::set<size_t>> &done,
           std::set<size_t> &host) {
    const size_t number = operations.size();
    std::set<size_t> &mine = done[op.stream];
    if (op.kind == Order || op.kind == Wait) {
      op.bytes = 0;
      std::set<size_t> &waits = op.kind == Order ? done[op.other] : host;
      waits.insert(mine.begin(), mine.end());
      // An event stands for what the host knew, too.
      if (op.kind == Order)
        waits.insert(host.begin(), host.end());
    } else {
      mine.insert(host.begin(), host.end());
      op.after = mine;
      mine.insert(number);
    }
    operations.push_back(op);
  }
};
} // namespace

/// All that is reported races by definition, and each race is reported, in
/// whatever order the operations ran.
TEST_F(CheckTest, RandomOperationsRaceByDefinition) {
  // Operation number i is at line 5000 + i.
  std::vector<uint32_t> sites;
  for (uint32_t i = 0; i < 20; ++i)
    sites.push_back(testSite("host.mlir", "op", 5000 + i, 3));
  std::mt19937 random(testSeed());
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const uint32_t streams = 2 + random() % 3;
    RandomOperations drawn(random, streams);
    auto &operations = drawn.operations;
    char *x = nullptr;
    std::vector<Body> bodies(operations.size());
    std::vector<char> host(16);
    gpuasync_check_start(
        [](void *user, const char *text) {
          static_cast<std::vector<std::string> *>(user)->push_back(text);
        },
        &reports);
    {
      CheckedFrame frame(program);
      std::vector<gpuasync_stream *> stream;
      for (uint32_t i = 0; i < streams; ++i)
        stream.push_back(frame.stream());
      x = frame.alloc(nullptr, 16);
      for (size_t i = 0; i < operations.size(); ++i) {
        const auto &op = operations[i];
        const uint32_t line = 5000 + static_cast<uint32_t>(i);
        const uint32_t site = sites.at(i);
        switch (op.kind) {
        case RandomOperations::Kernel:
          bodies[i] = [&x, &op, line](const gpuasync_cpu_block_ctx *, char *) {
            access(x + op.first, op.bytes, op.writes ? checkWrite : checkRead,
                   line);
          };
          frame.launch(stream[op.stream], site, bodies[i]);
          break;
        case RandomOperations::Copy:
          frame.copy(stream[op.stream], host.data() + op.first, x + op.first,
                     op.bytes, site);
          break;
        case RandomOperations::Fill:
          frame.fill(stream[op.stream], x + op.first, op.bytes, site);
          break;
        case RandomOperations::Free:
          frame.dealloc(stream[op.stream], x, site);
          break;
        case RandomOperations::Order:
          frame.order(stream[op.stream], stream[op.other]);
          break;
        case RandomOperations::Wait:
          frame.wait(stream[op.stream]);
          break;
        }
      }
      for (gpuasync_stream *each : stream) {
        frame.wait(each);
        frame.destroy(each);
      }
    }
    const std::vector<std::string> all = take();
    std::set<std::pair<size_t, size_t>> reported;
    for (const std::string &report : all) {
      // The lines of the error and of its note, "FILE:LINE:".
      std::vector<size_t> lines;
      std::istringstream text(report);
      for (std::string row; lines.size() < 2 && std::getline(text, row);)
        lines.push_back(strtoul(row.c_str() + row.find(':') + 1, nullptr, 10) -
                        5000);
      ASSERT_EQ(lines.size(), 2u) << report;
      // A copy from the device also touches host memory, which may race too.
      if (report.find("device memory") == std::string::npos)
        continue;
      ASSERT_LT(std::max(lines[0], lines[1]), operations.size()) << report;
      EXPECT_TRUE(drawn.race(lines[0], lines[1])) << report;
      reported.insert({lines[0], lines[1]});
      reported.insert({lines[1], lines[0]});
    }
    // Twenty reports are printed; the others are only counted.
    if (all.size() >= 20)
      continue;
    auto isReported = [&](size_t i, size_t j) {
      for (auto [one, other] : reported)
        if (drawn.standsFor(one, i) && drawn.standsFor(other, j))
          return true;
      return false;
    };
    for (size_t i = 0; i < operations.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        EXPECT_TRUE(!drawn.race(i, j) || isReported(i, j))
            << "operations " << i << " and " << j << " of\n"
            << drawn.print() << testing::PrintToString(all);
  }
}

/// An access of the random test; its number is its line.
struct Drawn {
  uint32_t block, thread, epoch;
  uint64_t first, bytes;
  unsigned flags;

  bool racesWith(const Drawn &other) const {
    return first < other.first + other.bytes && other.first < first + bytes &&
           ((flags | other.flags) & checkWrite) &&
           !(flags & other.flags & GPUASYNC_CHECK_ATOMIC) &&
           (block != other.block ||
            (thread != other.thread && epoch == other.epoch));
  }
};

/// Each 64 bytes get a few accesses of blocks and threads between barriers. All
/// that is reported races by definition, and where something races something is
/// reported. With more accesses than a cell holds only the first is promised.
TEST_F(CheckTest, RandomAccessesRaceByDefinition) {
  std::mt19937 random(testSeed());
  auto below = [&](uint32_t limit) {
    return static_cast<uint32_t>(random() % limit);
  };
  for (int round = 0; round < 1000; ++round) {
    const uint32_t blocks = 1 + below(3), threads = 1 + below(3),
                   epochs = 1 + below(2);
    const uint32_t most = round % 4 ? 4 : 12;
    std::vector<Drawn> drawn;
    for (uint32_t i = 0, count = 2 + below(most - 1); i < count; ++i) {
      static const unsigned flags[] = {checkRead, checkRead, checkWrite,
                                       checkAtomic};
      // Mostly the same four bytes.
      bool odd = below(4) == 0;
      uint64_t bytes = odd ? uint64_t(1) << below(4) : 4;
      drawn.push_back({below(blocks), below(threads), below(epochs),
                       odd ? below(9) : 0, bytes, flags[below(4)]});
    }
    char *x = nullptr;
    Body body = [&](const gpuasync_cpu_block_ctx *ctx, char *) {
      for (uint32_t epoch = 0; epoch < epochs; ++epoch) {
        for (size_t i = 0; i < drawn.size(); ++i)
          if (drawn[i].block == ctx->blockIdx[0] && drawn[i].epoch == epoch)
            access(x + drawn[i].first, drawn[i].bytes, drawn[i].flags,
                   1000 + static_cast<unsigned>(i), drawn[i].thread, x);
        for (uint32_t t = 0; t < threads; ++t)
          barrier(999, t);
      }
    };
    gpuasync_check_start(
        [](void *user, const char *text) {
          auto *list = static_cast<std::vector<std::string> *>(user);
          list->push_back(text);
        },
        &reports);
    {
      CheckedFrame frame(program);
      gpuasync_stream *s = frame.stream();
      x = frame.alloc(s, 64);
      frame.launch(s, OP("gpu_async.launch @k::@f"), body, blocks, threads);
      frame.dealloc(s, x);
      frame.wait(s);
      frame.destroy(s);
    }
    bool isRacy = false;
    for (size_t i = 0; i < drawn.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        isRacy |= drawn[i].racesWith(drawn[j]);
    std::vector<std::string> all = take();
    EXPECT_TRUE(isRacy || all.empty()) << "round " << round << "\n" << all[0];
    if (most == 4 && isRacy)
      EXPECT_FALSE(all.empty()) << "round " << round;
    for (const std::string &report : all) {
      // "kernel.mlir:N:5: error" and, in the next line, the other.
      size_t next = report.find("\nkernel.mlir:");
      ASSERT_NE(next, std::string::npos) << report;
      size_t one =
          strtoul(report.c_str() + strlen("kernel.mlir:"), nullptr, 10);
      size_t two = strtoul(report.c_str() + next + strlen("\nkernel.mlir:"),
                           nullptr, 10);
      EXPECT_TRUE(drawn.at(one - 1000).racesWith(drawn.at(two - 1000)))
          << "round " << round << "\n"
          << report;
    }
  }
}

TEST_F(CheckTest, AnAtomicIsOrderedByAnotherOnlyFromThereOn) {
  Body body = [&](const gpuasync_cpu_block_ctx *, char *shared) {
    access(shared, 4, checkWrite, 90, 0);
    access(shared, 4, checkAtomic | GPUASYNC_CHECK_OBSERVED, 91, 0);
    access(shared + 8, 4, checkWrite, 92, 0);
    access(shared + 16, 4, checkWrite, 93, 1);
    // It might have come before the first write.
    access(shared, 4, checkAtomic | GPUASYNC_CHECK_OBSERVED, 94, 1);
    access(shared + 8, 4, checkRead, 95, 1);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  frame.launch(s, OP("gpu_async.launch @k::@f"), body, 1, 2);
  frame.wait(s);
  std::string report = takeOne();
  EXPECT_EQ(report.find("kernel.mlir:94:5: error: data race"), 0u) << report;
  EXPECT_NE(report.find("kernel.mlir:90:5: note: the other"),
            std::string::npos);
  frame.destroy(s);
}

TEST_F(CheckTest, AnUnorderedCopyIsSeenAfterAccessesElsewhere) {
  char *x = nullptr;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    for (unsigned i = 1; i < 4; ++i)
      access(x + 16 * i, 4, checkWrite, 80, 0, x);
    access(x, 4, checkWrite, 81, 0, x);
  };
  CheckedFrame frame(program);
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  char host[16];
  x = frame.alloc(a, 64);
  frame.order(a, b);
  frame.copy(b, host, x, 16, OP("gpu_async.memcpy"));
  frame.launch(a, OP("gpu_async.launch @k::@f"), body);
  frame.wait(a);
  frame.wait(b);
  std::string report = takeOne();
  EXPECT_EQ(report.find("kernel.mlir:81:5: error: race between device ops"), 0u)
      << report;
  EXPECT_NE(report.find("note: the other: gpu_async.memcpy"),
            std::string::npos);
  frame.dealloc(a, x);
  frame.destroy(a);
  frame.destroy(b);
}

TEST_F(CheckTest, BarrierThatSomeThreadsMissIsNamed) {
  Body ends = [&](const gpuasync_cpu_block_ctx *, char *) {
    barrier(70, 0);
    barrier(70, 1);
    barrier(71, 0);
  };
  Body other = [&](const gpuasync_cpu_block_ctx *, char *) {
    barrier(72, 0);
    barrier(73, 1);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  frame.launch(s, OP("gpu_async.launch @k::@f"), ends, 1, 2);
  frame.wait(s);
  std::string report = takeOne();
  EXPECT_EQ(report.find("kernel.mlir:71:5: error: barrier that not all threads "
                        "of the block come to: block (0, 0, 0), thread (0, 0, "
                        "0) of kernel @k::@f does\nkernel.mlir:71:5: note: "
                        "block (0, 0, 0), thread (1, 0, 0) ends without it"),
            0u)
      << report;
  frame.launch(s, OP("gpu_async.launch @k::@f"), other, 1, 2);
  frame.wait(s);
  report = takeOne();
  EXPECT_EQ(report.find("kernel.mlir:73:5: error: barrier that not all"), 0u);
  EXPECT_NE(report.find("kernel.mlir:72:5: note: block (0, 0, 0), thread (0, "
                        "0, 0) is at another barrier"),
            std::string::npos)
      << report;
  frame.destroy(s);
}

} // namespace
