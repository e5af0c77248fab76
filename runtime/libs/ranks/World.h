//===- World.h - The ranks of a process, and where they meet ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks are contexts of the cpu device. The k-th collective of each rank in a
// group is one meeting. A rank comes to it when it enqueues the collective, and
// arrives when its stream is there. The last one that arrives does the work of
// all. The streams of the others are behind closed gates meanwhile, so that no
// thread waits and nothing polls.
//
// Why this cannot deadlock: all ranks of a group enqueue the same collectives
// in the same order, that of the program's text. Whatever a rank waits for, on
// a stream or on the host, is earlier in that order. So of all that is not done
// the earliest can go on.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_WORLD_H
#define GPUASYNC_LIBS_RANKS_WORLD_H

#include "libs/ranks/Combine.h"

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gpuasync {
namespace ranks {

/// Empty: all went well.
using Error = std::string;

/// A collective of one rank.
struct Part {
  gpuasync_collective what;
  Memory memory;
  std::string place;             ///< "FILE:LINE"
  gpuasync_gate *gate = nullptr; ///< behind which its stream waits
};

struct Meeting {
  explicit Meeting(size_t count) : parts(count) {}
  /// By position in the group; null: the rank has not come.
  std::vector<std::unique_ptr<Part>> parts;
  uint32_t arrived = 0;
  enum class State { Gathers, Runs, Ended } state = State::Gathers;
};

/// Ranks that meet. Meetings are numbered from 0.
struct Group {
  std::vector<uint32_t> members;
  std::vector<uint64_t> next;   ///< by position: the number of the next meeting
  uint64_t base = 0;            ///< of the first in `meetings`
  std::deque<Meeting> meetings; ///< the first one has not ended
  Error failure;                ///< why no rank meets here any more

  /// Null: it has ended.
  Meeting *find(uint64_t number) {
    return number < base ? nullptr : &meetings[number - base];
  }
  /// Forgets those that have ended.
  void drop() {
    for (; !meetings.empty() && meetings.front().state == Meeting::State::Ended;
         ++base)
      meetings.pop_front();
  }
};

/// Gates to open, once no lock is held.
class Openings {
public:
  Openings() = default;
  Openings(const Openings &) = delete;
  ~Openings();
  /// Takes the part's gate. Without an error the work behind it goes on.
  void add(Part &part, const Error &error);

private:
  std::vector<std::pair<gpuasync_gate *, Error>> gates;
};

class World {
public:
  World(uint64_t id, std::vector<gpuasync_context *> contexts);
  World(const World &) = delete;

  const uint64_t id;
  /// By rank. Open until the world is closed; the last reference to that may be
  /// a stream's, which cannot close its own context.
  const std::vector<gpuasync_context *> contexts;

  /// The list of `group` (null: all) that has the rank, and its position there.
  Error findMembers(const gpuasync_group *group, uint32_t rank,
                    std::vector<uint32_t> &members, uint32_t &position) const;
  /// The rank comes to its next meeting.
  Error enqueue(uint32_t rank, const gpuasync_call &call,
                std::unique_ptr<Part> part);
  /// Its stream is there, or has failed.
  void arrive(uint32_t group, uint32_t position, uint64_t number,
              const char *error);
  void leave(uint32_t rank, const char *error);
  /// Fails what is open.
  void close();

private:
  struct Left {
    bool isGone = false;
    Error error; ///< empty: it ended well
  };
  Group &findGroup(std::vector<uint32_t> members, uint32_t &index);
  void fail(Group &group, const Error &error, Openings &openings);

  std::mutex mutex;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<Left> left; ///< by rank
};

/// A collective in a program of one rank.
Error enqueueAlone(const gpuasync_call &call, const Part &part);

/// Says what is wrong with a collective of one rank among `count`.
Error check(const Part &part, uint32_t count);
/// "all_reduce<sum> of 4 f32 at FILE:LINE"
std::string describe(const Part &part);

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_WORLD_H
