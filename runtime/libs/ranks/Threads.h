//===- Threads.h - Ranks that are threads of one process --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On the cpu device the last rank that arrives at a meeting does the work of
// all. On GPUs each rank puts its part on its stream when it comes to the
// meeting, if it is the same as those of the ranks that have come. If not, the
// others' parts, which wait for it, are aborted. At the first meeting of a
// group the ranks wait for each other on the host.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_THREADS_H
#define GPUASYNC_LIBS_RANKS_THREADS_H

#include "libs/ranks/Nccl.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace gpuasync {
namespace ranks {

struct Meeting {
  explicit Meeting(size_t count) : parts(count) {}
  /// By position in the group; null: the rank has not come.
  std::vector<std::unique_ptr<Part>> parts;
  uint32_t arrived = 0; ///< on GPUs: on the host
  enum class State { Gathers, Runs, Ended } state = State::Gathers;
};

/// Ranks that meet. Meetings are numbered from 0.
struct Group {
  std::vector<uint32_t> members;
  uint32_t index = 0;           ///< among all groups
  std::vector<uint64_t> next;   ///< by position: the number of the next meeting
  uint64_t base = 0;            ///< of the first in `meetings`
  std::deque<Meeting> meetings; ///< the first one has not ended
  Error failure;                ///< why no rank meets here any more
  // On GPUs.
  uint64_t met = 0; ///< meetings that all ranks have come to
  Communicator::Id id = {};
  std::vector<std::shared_ptr<Communicator>> communicators; ///< by position
  std::atomic<bool> isAborted{false};

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

class Threads : public World {
public:
  Threads(uint64_t id, std::vector<gpuasync_context *> contexts,
          const Nccl *nccl);
  void arrive(const Arrival &arrival, const char *error) override;
  void leave(uint32_t rank, const char *error) override;
  std::string describeRank(uint32_t rank) override;
  bool renew() override;
  Error wait() override;
  void close() override;

private:
  Error meet(uint32_t rank, std::vector<uint32_t> members, uint32_t position,
             Call &call, std::unique_ptr<Part> part) override;
  struct Left {
    bool isGone = false;
    Error failure; ///< "rank 1 failed: ..."; empty: it ended well
    /// Its last collective, without a gate; of the kind 0 before the first.
    Part last = {};
    /// The meetings that it has come to and that have not ended, in order.
    std::deque<std::pair<const Group *, const Meeting *>> open = {};
  };
  /// The collective that a rank waits at, and the group's meeting there.
  struct Wait {
    const Group *group = nullptr; ///< null: it waits at none
    const Meeting *meeting = nullptr;
    const Part *part = nullptr;
  };
  Wait findWait(uint32_t rank) const;
  /// Says that ranks wait for each other in a circle, if `rank` and others do.
  Error findCircle(uint32_t rank) const;
  void setEnded(const Group &group, Meeting &meeting);
  Group &findGroup(std::vector<uint32_t> members, uint32_t &index);
  /// On GPUs it ends what is on streams, too.
  void fail(Group &group, const Error &error, Openings &openings);
  void endMeetings(Group &group, const Error &error, Openings &openings);
  /// On GPUs, once the part is in its meeting.
  Error begin(std::unique_lock<std::mutex> &lock, Group &group,
              const Arrival &arrival, Call &call, const Part &part);
  Error prepareCommunicator(std::unique_lock<std::mutex> &lock, Group &group,
                            const Arrival &arrival, Call &call,
                            const gpuasync_collective &what);

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<Left> left; ///< by rank
  Error failure;          ///< on GPUs: of the first group that failed
};

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_THREADS_H
