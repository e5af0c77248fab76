//===- LocalSocketsTest.cpp - Messages without MPI ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages over sockets (LocalSockets.h). All ranks of a job are in this
// process, and once they are connected, one thread makes the calls of all.
//===----------------------------------------------------------------------===//

#include "libs/ranks/LocalSockets.h"
#include "../../Inputs/Seed.h"
#include "Variables.h"
#include "gpuasync/Context.h"
#include "libs/ranks/Torchrun.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace gpuasync::ranks;
using gpuasync_test::Variables;

namespace {

/// A rank of a job of this test only.
LocalJob makeJob(uint32_t rank, uint32_t count) {
  const auto *test = testing::UnitTest::GetInstance()->current_test_info();
  LocalJob job;
  job.rank = rank;
  job.count = count;
  job.name = std::to_string(getpid()) + "/" + test->name();
  return job;
}

/// A time limit for waits, while this lives. A shorter one stays.
class TimeLimit {
public:
  explicit TimeLimit(double seconds) {
    if (before <= 0 || seconds < before)
      gpuasync_set_timeout(seconds);
  }
  TimeLimit(const TimeLimit &) = delete;
  ~TimeLimit() { gpuasync_set_timeout(before); }

private:
  const double before = gpuasync_get_timeout();
};

/// Ends a rank that would wait for ever, so that its test fails.
const double longEnough = 60;

using Ends = std::vector<std::unique_ptr<Messages>>;

/// All ranks of a job, connected.
Ends openAll(uint32_t count) {
  const TimeLimit limit(longEnough);
  Ends ends(count);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&ends, job = makeJob(rank, count)] {
      EXPECT_EQ(LocalSockets::open(job, ends[job.rank]), "");
    });
  for (std::thread &thread : threads)
    thread.join();
  return ends;
}

/// Opens one rank while `body` runs; its error.
template <typename Body>
Error openWhile(const LocalJob &job, std::unique_ptr<Messages> &out,
                Body body) {
  const TimeLimit limit(longEnough);
  Error error;
  std::thread thread([&] { error = LocalSockets::open(job, out); });
  body();
  thread.join();
  return error;
}

struct Open {
  Messages *end;
  Messages::Request request;
};

/// Tests until all are done.
void finish(std::vector<Open> open) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!open.empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << open.size();
    for (size_t i = 0; i < open.size();) {
      bool isDone = false;
      ASSERT_EQ(open[i].end->test(open[i].request, isDone), "");
      if (isDone)
        open.erase(open.begin() + static_cast<ptrdiff_t>(i));
      else
        ++i;
    }
    std::this_thread::yield();
  }
}

Open send(Ends &ends, uint32_t from, uint32_t to, int tag,
          const std::string &text) {
  Open open = {ends[from].get(), 0};
  EXPECT_EQ(open.end->send(to, tag, text.data(), text.size(), open.request),
            "");
  return open;
}

Open receive(Ends &ends, uint32_t from, uint32_t to, int tag,
             std::string &text) {
  Open open = {ends[to].get(), 0};
  EXPECT_EQ(
      open.end->receive(from, tag, text.data(), text.size(), open.request), "");
  return open;
}

bool isDone(Open &open) {
  bool isDone = false;
  EXPECT_EQ(open.end->test(open.request, isDone), "");
  return isDone;
}

std::string makeText(std::mt19937 &random, size_t bytes) {
  std::string text(bytes, 0);
  for (size_t i = 0; i < bytes; i += 61) // enough to tell them apart
    text[i] = static_cast<char>(random());
  return text;
}

const size_t sizes[] = {0,
                        1,
                        23,
                        4096,
                        LocalSockets::mostAtOnce,
                        LocalSockets::mostAtOnce + 1,
                        size_t(1) << 20,
                        3000001};

/// A connection to a rank that listens, of somebody who need not be a rank.
class Stranger {
public:
  explicit Stranger(const LocalJob &job, uint32_t rank) {
    const sockaddr_un address = addressOf(job, rank, bytes);
    // It may not listen yet.
    for (int i = 0; i < 5000 && !isConnected; ++i) {
      isConnected =
          !connect(file, reinterpret_cast<const sockaddr *>(&address), bytes);
      if (!isConnected)
        usleep(1000);
    }
  }
  Stranger(const Stranger &) = delete;
  ~Stranger() { close(file); }

  static sockaddr_un addressOf(const LocalJob &job, uint32_t rank,
                               socklen_t &bytes) {
    const std::string name = LocalSockets::addressOf(job, rank);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path + 1, name.data(), name.size());
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                   name.size());
    return address;
  }

  void say(const std::string &text) {
    (void)!::send(file, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  /// Waits until the other end closes the connection.
  bool isRefused() {
    char byte = 0;
    const ssize_t got = recv(file, &byte, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }

  bool isConnected = false;

private:
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t bytes = 0;
};

/// As a rank greets.
std::string greeting(uint32_t rank, uint32_t count, uint32_t version = 1) {
  std::string text = "gpuasync";
  for (uint32_t word : {version, rank, count, 0u})
    text.append(reinterpret_cast<const char *>(&word), sizeof(word));
  return text;
}

} // namespace

TEST(LocalSockets, AllPairsAtOnce) {
  std::mt19937 random(gpuasync_test::testSeed());
  for (uint32_t count : {1u, 2u, 5u}) {
    SCOPED_TRACE(count);
    Ends ends = openAll(count);
    for (uint32_t rank = 0; rank < count; ++rank) {
      ASSERT_TRUE(ends[rank]);
      EXPECT_EQ(ends[rank]->rank, rank);
      EXPECT_EQ(ends[rank]->count, count);
    }
    for (size_t bytes : sizes) {
      SCOPED_TRACE(bytes);
      std::vector<std::string> sent(count * count), got(count * count);
      std::vector<Open> open;
      for (uint32_t from = 0; from < count; ++from)
        for (uint32_t to = 0; to < count; ++to)
          if (from != to) {
            const uint32_t at = from * count + to;
            sent[at] = makeText(random, bytes);
            got[at].resize(bytes);
            open.push_back(send(ends, from, to, 2, sent[at]));
            open.push_back(receive(ends, from, to, 2, got[at]));
          }
      finish(open);
      EXPECT_TRUE(sent == got);
    }
    for (auto &end : ends)
      end->finalize();
  }
}

// Some receives are there before the message, some after it, in another order
// of tags.
TEST(LocalSockets, TagsOutOfOrder) {
  std::mt19937 random(gpuasync_test::testSeed());
  for (int round = 0; round < 20; ++round) {
    Ends ends = openAll(2);
    const int tags = 1 + static_cast<int>(random() % 7);
    std::vector<std::vector<std::string>> sent(static_cast<size_t>(tags)),
        got(static_cast<size_t>(tags));
    std::vector<Open> open;
    std::vector<std::pair<int, size_t>> sends; // tag and number
    for (int i = 0; i < 60; ++i) {
      const auto tag = random() % sent.size();
      const size_t most = random() % 3 ? 300 : 200000;
      sends.emplace_back(static_cast<int>(tag), sent[tag].size());
      sent[tag].push_back(makeText(random, random() % most));
    }
    for (size_t tag = 0; tag < sent.size(); ++tag)
      for (const std::string &text : sent[tag]) // some with more room
        got[tag].emplace_back(text.size() + random() % 2 * 5, 0);
    size_t nextSend = 0;
    std::vector<size_t> nextReceive(sent.size());
    const auto isLeft = [&](size_t tag) {
      return nextReceive[tag] < got[tag].size();
    };
    for (;;) {
      const size_t tag = random() % sent.size();
      if (random() % 2 && nextSend < sends.size()) {
        const auto &[its, number] = sends[nextSend++];
        open.push_back(
            send(ends, 0, 1, its, sent[static_cast<size_t>(its)][number]));
      } else if (isLeft(tag)) {
        open.push_back(receive(ends, 0, 1, static_cast<int>(tag),
                               got[tag][nextReceive[tag]++]));
      }
      if (!open.empty() && random() % 4 == 0) {
        const size_t at = random() % open.size();
        if (isDone(open[at]))
          open.erase(open.begin() + static_cast<ptrdiff_t>(at));
      }
      bool isOver = nextSend == sends.size();
      for (size_t i = 0; i < sent.size(); ++i)
        isOver &= !isLeft(i);
      if (isOver)
        break;
    }
    finish(open);
    for (size_t tag = 0; tag < sent.size(); ++tag)
      for (size_t i = 0; i < sent[tag].size(); ++i)
        EXPECT_EQ(got[tag][i].substr(0, sent[tag][i].size()), sent[tag][i]);
  }
}

// A short message passes large ones that nobody takes, and these fill no
// memory of the receiver.
TEST(LocalSockets, RunsAhead) {
  std::mt19937 random(gpuasync_test::testSeed());
  Ends ends = openAll(2);
  const std::string large = makeText(random, 3000000);
  std::vector<Open> open;
  for (int i = 0; i < 200; ++i)
    open.push_back(send(ends, 0, 1, 2, large));
  std::string word(100, 0);
  open.push_back(send(ends, 0, 1, 1, std::string(100, 'w')));
  finish({open.back(), receive(ends, 0, 1, 1, word)});
  open.pop_back();
  EXPECT_EQ(word, std::string(100, 'w'));
  rusage before = {}, after = {};
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < 50; ++i)
    for (Open &each : open)
      EXPECT_FALSE(isDone(each));
  std::string got(large.size(), 0);
  for (Open &each : open)
    finish({each, receive(ends, 0, 1, 2, got)});
  EXPECT_EQ(got, large);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100000); // KB
}

// Its last words come, and sends to it are no errors and no signals.
TEST(LocalSockets, PeerThatEnds) {
  Ends ends = openAll(3);
  std::string word(4, 0), never(4, 0), large(1000000, 'x');
  finish({send(ends, 1, 0, 1, "last")});
  Open open = receive(ends, 1, 0, 1, word);
  Open more = receive(ends, 1, 0, 1, never);
  Open offer = send(ends, 0, 1, 2, large);
  ends[1] = nullptr;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(isDone(more));
    EXPECT_FALSE(isDone(offer));
  }
  finish({open});
  EXPECT_EQ(word, "last");
  EXPECT_TRUE(ends[0]->isLost(1));
  EXPECT_FALSE(ends[0]->isLost(2));
  Open late = send(ends, 0, 1, 1, "late");
  EXPECT_FALSE(isDone(late));
  finish({send(ends, 0, 2, 1, "word"), receive(ends, 0, 2, 1, word)});
  EXPECT_EQ(word, "word");
  // Some of a large message has come when its sender ends.
  large.assign(50000000, 'x');
  std::string got(large.size(), 0);
  Open some = receive(ends, 2, 0, 3, got), from = send(ends, 2, 0, 3, large);
  while (got[0] != 'x') {
    EXPECT_FALSE(isDone(some));
    EXPECT_FALSE(isDone(from));
  }
  ends[2] = nullptr;
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(isDone(some));
  EXPECT_TRUE(ends[0]->isLost(2));
}

TEST(LocalSockets, TooLong) {
  for (size_t bytes : {size_t(10), size_t(1000000)})
    for (bool isEarly : {false, true}) {
      Ends ends = openAll(2);
      const std::string text(bytes, 'x');
      std::string got(bytes - 1, 0);
      Open open = {ends[1].get(), 0};
      std::string last(1, 0);
      if (isEarly) {
        send(ends, 0, 1, 2, text);
        finish({send(ends, 0, 1, 1, "w"), receive(ends, 0, 1, 1, last)});
      }
      Error error =
          ends[1]->receive(0, 2, got.data(), got.size(), open.request);
      if (!isEarly) {
        EXPECT_EQ(error, "");
        send(ends, 0, 1, 2, text);
        bool isDone = false;
        for (int i = 0; i < 1000 && error.empty(); ++i)
          error = ends[1]->test(open.request, isDone);
      }
      EXPECT_EQ(error, "rank 0 sent " + std::to_string(bytes) + " bytes, and " +
                           std::to_string(bytes - 1) + " are wanted");
    }
}

TEST(LocalSockets, Strangers) {
  std::mt19937 random(gpuasync_test::testSeed());
  std::unique_ptr<Messages> first, second;
  const LocalJob job = makeJob(0, 2);
  const Error error = openWhile(job, first, [&] {
    Stranger silent(job, 0), brief(job, 0), wordy(job, 0), low(job, 0),
        high(job, 0), wrong(job, 0);
    EXPECT_TRUE(silent.isConnected);
    brief.say("gpu");
    wordy.say(makeText(random, 100000));
    EXPECT_TRUE(wordy.isRefused());
    low.say(greeting(0, 2));
    EXPECT_TRUE(low.isRefused());
    high.say(greeting(2, 2));
    EXPECT_TRUE(high.isRefused());
    std::string text = greeting(1, 2);
    text[3] = 'x';
    wrong.say(text);
    EXPECT_TRUE(wrong.isRefused());
    for (int i = 0; i < 100; ++i)
      Stranger(job, 0).say(greeting(1, 2).substr(0, i % 24));
    EXPECT_EQ(LocalSockets::open(makeJob(1, 2), second), "");
  });
  EXPECT_EQ(error, "");
  ASSERT_TRUE(first && second);
  Ends ends(2);
  ends[0] = std::move(first);
  ends[1] = std::move(second);
  std::string word(4, 0);
  finish({send(ends, 1, 0, 1, "word"), receive(ends, 1, 0, 1, word)});
  EXPECT_EQ(word, "word");
  // Nobody listens any more.
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t bytes = 0;
  const sockaddr_un address = Stranger::addressOf(job, 0, bytes);
  EXPECT_NE(connect(file, reinterpret_cast<const sockaddr *>(&address), bytes),
            0);
  close(file);
}

// Both ends ask for the user of the other one.
TEST(LocalSockets, OtherUsers) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can become another user";
  std::unique_ptr<Messages> first, second;
  const LocalJob job = makeJob(0, 2), other = makeJob(1, 2);
  const std::string text = greeting(1, 2);
  const Error error = openWhile(job, first, [&] {
    socklen_t bytes = 0;
    const sockaddr_un address = Stranger::addressOf(job, 0, bytes);
    const pid_t child = fork();
    if (!child) {
      char byte = 0;
      if (setuid(65534) != 0)
        _exit(2);
      const int file = socket(AF_UNIX, SOCK_STREAM, 0);
      for (int i = 0; i < 5000; ++i) {
        if (!connect(file, reinterpret_cast<const sockaddr *>(&address), bytes))
          break;
        usleep(1000);
      }
      (void)!::send(file, text.data(), text.size(), MSG_NOSIGNAL);
      _exit(recv(file, &byte, 1, 0) > 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(LocalSockets::open(other, second), "");
  });
  EXPECT_EQ(error, "");
  first = nullptr;
  second = nullptr;

  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  socklen_t bytes = 0;
  const sockaddr_un address = Stranger::addressOf(job, 0, bytes);
  const pid_t child = fork();
  if (!child) {
    const int file = socket(AF_UNIX, SOCK_STREAM, 0);
    const bool isListening =
        !setuid(65534) &&
        !bind(file, reinterpret_cast<const sockaddr *>(&address), bytes) &&
        !listen(file, 5);
    (void)!write(pipes[1], &isListening, 1);
    pause();
  }
  bool isListening = false;
  (void)!read(pipes[0], &isListening, 1);
  EXPECT_TRUE(isListening);
  EXPECT_EQ(LocalSockets::open(other, second),
            "ranks without MPI: the socket of rank 0 belongs to another user "
            "(65534)");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipes[0]);
  close(pipes[1]);
}

TEST(LocalSockets, NotAllCome) {
  const TimeLimit limit(0.2);
  std::unique_ptr<Messages> end;
  EXPECT_EQ(LocalSockets::open(makeJob(1, 2), end),
            "ranks without MPI: timed out after 0.2 s; rank 0 has not come");
  EXPECT_EQ(LocalSockets::open(makeJob(0, 2), end),
            "ranks without MPI: timed out after 0.2 s; rank 1 has not come");
  EXPECT_EQ(LocalSockets::open(makeJob(1, 12), end),
            "ranks without MPI: timed out after 0.2 s; ranks 0, 2, 3, 4, 5, 6, "
            "7, 8 and 3 more have not come");
  EXPECT_FALSE(end);
}

// Nobody is left who would end a process that waits.
TEST(LocalSockets, LauncherEnds) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const LocalJob job = makeJob(0, 2);
  const pid_t launcher = fork();
  if (!launcher) {
    if (!fork()) {
      std::unique_ptr<Messages> end;
      const Error error = LocalSockets::open(job, end);
      (void)!write(pipes[1], error.data(), error.size());
      _exit(0);
    }
    const Stranger stranger(job, 0); // it waits
    _exit(0);
  }
  waitpid(launcher, nullptr, 0);
  close(pipes[1]);
  std::string error(1000, 0);
  error.resize(static_cast<size_t>(
      std::max<ssize_t>(read(pipes[0], error.data(), error.size()), 0)));
  close(pipes[0]);
  EXPECT_EQ(error, "ranks without MPI: the launcher has ended, and rank 1 has "
                   "not come");
}

TEST(LocalSockets, OneRankTwice) {
  std::unique_ptr<Messages> end, other;
  const LocalJob job = makeJob(0, 2);
  const Error error = openWhile(job, end, [&] {
    const Stranger stranger(job, 0); // it listens
    EXPECT_EQ(
        LocalSockets::open(job, other),
        "ranks without MPI: another process is rank 0 of this job; for "
        "programs that do not meet, give gpu-runner the option --ranks=1");
    EXPECT_EQ(LocalSockets::open(makeJob(1, 2), other), "");
  });
  EXPECT_EQ(error, "");
}

TEST(LocalSockets, RanksThatEndOrDiffer) {
  const LocalJob job = makeJob(0, 3);
  const auto openWith = [&](const std::string &text) {
    std::unique_ptr<Messages> end;
    Error error = openWhile(job, end, [&] { Stranger(job, 0).say(text); });
    EXPECT_FALSE(end);
    return error;
  };
  EXPECT_EQ(openWith(greeting(2, 3)),
            "ranks without MPI: rank 2 ended before all ranks had begun");
  EXPECT_EQ(openWith(greeting(2, 4)),
            "ranks without MPI: rank 2 says that there are 4 ranks, and rank 0 "
            "says 3");
  EXPECT_EQ(openWith(greeting(2, 3, 2)),
            "ranks without MPI: rank 2 has another version of gpu-async");
}

// A rank that goes mad is an error, whatever it sends.
TEST(LocalSockets, Garbage) {
  std::mt19937 random(gpuasync_test::testSeed());
  const LocalJob job = makeJob(0, 2);
  for (int round = 0; round < 50; ++round) {
    std::unique_ptr<Messages> end;
    std::unique_ptr<Stranger> rank;
    const Error error = openWhile(job, end, [&] {
      rank = std::make_unique<Stranger>(job, 0);
      rank->say(greeting(1, 2));
    });
    ASSERT_EQ(error, "");
    std::string text = makeText(random, 1000), got(100, 0);
    if (round % 2) { // a known kind, and more
      for (char &each : text)
        each = static_cast<char>(random());
      const uint32_t kind = 1 + random() % 5;
      memcpy(text.data(), &kind, sizeof(kind));
    }
    rank->say(text);
    rank = nullptr;
    Messages::Request request = 0;
    Error failure = end->receive(1, 1, got.data(), got.size(), request);
    bool isDone = false;
    for (int i = 0; i < 100 && failure.empty() && !end->isLost(1); ++i)
      failure = end->test(request, isDone);
    EXPECT_TRUE(!failure.empty() || end->isLost(1));
  }
}

TEST(LocalSockets, NoMoreFiles) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(0);
  close(next);
  const auto openWith = [&](const LocalJob &job, int files) {
    std::unique_ptr<Messages> end;
    rlimit lower = before;
    lower.rlim_cur = static_cast<rlim_t>(next + files);
    setrlimit(RLIMIT_NOFILE, &lower);
    const Error error = LocalSockets::open(job, end);
    setrlimit(RLIMIT_NOFILE, &before);
    return error;
  };
  const char hint[] = ": Too many open files; each rank has a connection to "
                      "each other one, so raise the limit (ulimit -n)";
  EXPECT_EQ(openWith(makeJob(0, 2), 0),
            std::string("ranks without MPI: socket") + hint);
  EXPECT_EQ(openWith(makeJob(1, 2), 1),
            std::string("ranks without MPI: socket") + hint);
  std::unique_ptr<Messages> end;
  const LocalJob job = makeJob(0, 2);
  int last = -1;
  std::optional<Stranger> first; // its number must not become free again
  const Error error = openWhile(job, end, [&] {
    first.emplace(job, 0u);
    first->say(std::string(100, 'x'));
    EXPECT_TRUE(first->isRefused());
    last = socket(AF_UNIX, SOCK_STREAM, 0);
    rlimit lower = before;
    lower.rlim_cur = static_cast<rlim_t>(last) + 1;
    setrlimit(RLIMIT_NOFILE, &lower);
    socklen_t bytes = 0;
    const sockaddr_un address = Stranger::addressOf(job, 0, bytes);
    (void)connect(last, reinterpret_cast<const sockaddr *>(&address), bytes);
  });
  setrlimit(RLIMIT_NOFILE, &before);
  close(last);
  EXPECT_EQ(error, std::string("ranks without MPI: accept") + hint);
}

TEST(Torchrun, Variables) {
  EXPECT_FALSE(isUnderTorchrun());
  Variables variables{{"RANK", "1"}, {"WORLD_SIZE", "4"}};
  EXPECT_FALSE(isUnderTorchrun());
  variables.set("TORCHELASTIC_RESTART_COUNT", "0");
  EXPECT_TRUE(isUnderTorchrun());
  LocalJob job;
  EXPECT_EQ(readTorchrun(job), "torchrun started this process, but "
                               "LOCAL_WORLD_SIZE is not set");
  variables.set("LOCAL_WORLD_SIZE", "2");
  EXPECT_EQ(readTorchrun(job),
            "torchrun started 4 processes, and 2 of them on this host: ranks "
            "of several hosts need MPI; start them with mpirun");
  variables.set("LOCAL_WORLD_SIZE", "4");
  EXPECT_EQ(readTorchrun(job), "");
  EXPECT_EQ(job.rank, 1u);
  EXPECT_EQ(job.count, 4u);
  const std::string name = job.name;
  variables.set("RANK", "2");
  EXPECT_EQ(readTorchrun(job), "");
  EXPECT_EQ(job.name, name);
  // Each of them makes another job.
  for (const char *variable :
       {"MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}) {
    const std::string last = job.name;
    variables.set(variable, "29500");
    EXPECT_EQ(readTorchrun(job), "");
    EXPECT_NE(job.name, last);
    EXPECT_NE(LocalSockets::addressOf(job, 0),
              LocalSockets::addressOf({0, 4, last}, 0));
  }
  variables.set("TORCHELASTIC_RUN_ID", std::string(5000, 'x').c_str());
  EXPECT_EQ(readTorchrun(job), "");
  EXPECT_LT(LocalSockets::addressOf(job, UINT32_MAX).size(),
            sizeof(sockaddr_un::sun_path));
  variables.set("RANK", "4");
  EXPECT_EQ(readTorchrun(job), "RANK: '4' is not a number from 0 to 3");
  variables.set("WORLD_SIZE", "many");
  EXPECT_EQ(readTorchrun(job),
            "WORLD_SIZE: 'many' is not a number from 1 to 16384");
}
