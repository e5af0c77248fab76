//===- World.h - The ranks of a program -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks and their collectives, whatever carries the data: threads of this
// process (Threads.h) or processes (Processes.h). The k-th collective of each
// rank in a group is one meeting. A rank comes to it when it enqueues the
// collective, and arrives when its stream is there. Its stream is behind a
// closed gate until the meeting has ended, so that no thread of the device
// waits and nothing polls.
//
// Why this cannot deadlock: all ranks of a group enqueue the same collectives
// in the same order, that of the program's text. Whatever a rank waits for, on
// a stream or on the host, is earlier in that order. So of all that is not done
// the earliest can go on.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_WORLD_H
#define GPUASYNC_LIBS_RANKS_WORLD_H

#include "libs/ranks/Combine.h"

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace gpuasync {
namespace ranks {

class Nccl;
class Communicator;

/// Empty: all went well.
using Error = std::string;

/// Copies an error. Without memory for it, says that.
inline void keepError(Error &to, const Error &from) noexcept {
  try {
    to = from;
  } catch (const std::bad_alloc &) {
    to = "no host memory"; // short enough for no allocation
  }
}

/// The call that enqueues a collective.
struct Call {
  const gpuasync_call &given;
  bool isLate = false; ///< its error is that the time for host waits is over
};

/// A collective of one rank.
struct Part {
  gpuasync_collective what;
  Memory memory;
  std::string place;             ///< "FILE:LINE"
  gpuasync_gate *gate = nullptr; ///< behind which its stream waits
  bool hasArrived = false;       ///< on the cpu device: its stream is there
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

/// A collective of a rank that comes to a meeting.
struct Arrival {
  uint64_t world;
  uint64_t number; ///< of the meeting in its group, from 0
  uint32_t group;
  uint32_t position; ///< of the rank in the group
};

class World {
public:
  World(uint64_t id, uint32_t count, std::vector<gpuasync_context *> contexts,
        const Nccl *nccl);
  World(const World &) = delete;
  virtual ~World();

  const uint64_t id;
  const uint32_t count; ///< ranks of the program
  /// One for each rank in this process. Open until the world is closed; the
  /// last reference to that may be a stream's, which cannot close its own
  /// context.
  const std::vector<gpuasync_context *> contexts;
  const Nccl *const nccl; ///< what moves data between GPUs; null: on the cpu

  /// The list of `group` (null: all) that has the rank, and its position there.
  Error findMembers(const gpuasync_group *group, uint32_t rank,
                    std::vector<uint32_t> &members, uint32_t &position) const;
  /// The rank comes to its next meeting.
  Error enqueue(uint32_t rank, Call &call, std::unique_ptr<Part> part);
  /// Its stream is there, or has failed.
  virtual void arrive(const Arrival &arrival, const char *error) = 0;
  /// The rank makes no more collectives; null: it ended well.
  virtual void leave(uint32_t rank, const char *error) = 0;
  /// Says at which collective a rank is and for whom it waits there: "waits at
  /// ... for rank 1, which ..." or "last came to ...". Empty: unknown.
  virtual std::string describeRank(uint32_t) { return {}; }
  /// After all ranks have left: they may make collectives again. False: not
  /// these.
  virtual bool renew() { return false; }
  /// Waits until all ranks have left; says which one failed.
  virtual Error wait() = 0;
  /// Fails what is open.
  virtual void close() = 0;

protected:
  /// The same with the ranks that meet, once the part is right.
  virtual Error meet(uint32_t rank, std::vector<uint32_t> members,
                     uint32_t position, Call &call,
                     std::unique_ptr<Part> part) = 0;
  /// Puts the part's gate on the stream, behind which arrive() is called.
  static Error closeGate(const Call &call, const Arrival &arrival, Part &part);

  /// On GPUs, before anything is aborted: what is behind an aborted collective
  /// runs, and gives what it has to ranks of other groups.
  void failContexts(const Error &error);
  /// On GPUs. Ends what a rank has enqueued. Waits for nothing.
  void abort(std::shared_ptr<Communicator> communicator);
  /// Waits until that has ended, for some seconds at most.
  void waitForAborts();

private:
  struct Aborts;
  const std::shared_ptr<Aborts> aborts;
};

/// A collective in a program of one rank.
Error enqueueAlone(const gpuasync_call &call, const Part &part);

/// Says what is wrong with a collective of one rank among `count`.
Error check(const Part &part, uint32_t count);
/// "all_reduce<sum> of 4 f32 at FILE:LINE"
std::string describe(const Part &part);
/// Says that ranks wait for each other: "rank 0 at ..., rank 1 at ...".
Error circleOf(const std::string &ranks);
/// "rank 1 failed: ...". If the rank failed because of another one, it is that
/// one's.
Error failureOf(uint32_t rank, const Error &error);

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_WORLD_H
