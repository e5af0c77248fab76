//===- Processes.h - Ranks that are processes -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each process has one rank, and a thread that sends and receives all messages
// (Messages.h). When the rank's stream arrives at a collective, the thread
// tells the others what it comes with, and waits for what they come with. Only
// then does data move: what differs is found before. Words between two ranks
// keep their order. A rank that has said that it comes takes part, whatever
// happens to it later, unless its process dies. So all ranks decide in the same
// way whether a collective takes place.
//
// On GPUs a rank tells the others when it enqueues, and goes on: NCCL moves the
// data. If something differs, or a rank fails or dies, what waits is aborted.
// At the first meeting of a group the ranks wait for each other on the host.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_PROCESSES_H
#define GPUASYNC_LIBS_RANKS_PROCESSES_H

#include "libs/ranks/Exchange.h"
#include "libs/ranks/Messages.h"
#include "libs/ranks/Nccl.h"
#include "libs/ranks/Peers.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace gpuasync {
namespace ranks {

class Processes : public World, private Channel {
public:
  /// Makes the context this process's rank among those that the launcher
  /// started, which all come to this. Once in a process.
  static Error join(uint64_t id, gpuasync_context *context, const Nccl *nccl,
                    std::shared_ptr<Processes> &out);
  ~Processes() override;

  uint32_t rank() const { return mine; }

  void arrive(const Arrival &arrival, const char *error) override;
  /// Returns when the others will hear of it, or after a second.
  void leave(uint32_t rank, const char *error) override;
  /// Knows its own rank only.
  std::string describeRank(uint32_t rank) override;
  Error wait() override;
  /// Returns when all ranks have come to it. After an error of this one it
  /// gives them three seconds: the launcher may end them all once this process
  /// ends.
  void close() override;

private:
  Error meet(uint32_t rank, std::vector<uint32_t> members, uint32_t position,
             Call &call, std::unique_ptr<Part> part) override;
  struct Message;
  /// A rank's list in a group: the ranks that meet.
  struct Group {
    std::vector<uint32_t> members;
    uint32_t position;
    uint64_t sum;      ///< of the members: its name in messages
    uint64_t next = 0; ///< the number of the next meeting
    Error failure;     ///< why no rank meets here any more
    uint64_t told = 0; ///< for the thread: what the others know of `next`
    // On GPUs.
    uint64_t met = 0; ///< meetings that all ranks have come to
    Communicator::Id id = {};
    std::shared_ptr<Communicator> communicator;
    std::atomic<bool> isAborted{false};
  };
  /// A collective that has been enqueued.
  struct Job {
    uint32_t group;
    uint64_t number;
    std::unique_ptr<Part> part;
    bool hasArrived = false;
    Error error; ///< of its stream
  };
  /// Another rank, as far as the thread knows.
  struct Peer {
    std::unique_ptr<Message> incoming;
    Messages::Request request = 0;
    bool isListening = false;
    std::deque<Message> comes;          ///< what it came with, in order
    std::map<uint64_t, Error> failures; ///< by the sum of the group
    bool isGone = false;                ///< makes no more collectives
    bool hasEnded = false;              ///< its process is about to end
    bool isDead = false;
    Error goneWith; ///< empty: it ended well
  };
  struct Outgoing;

  Processes(uint64_t id, gpuasync_context *context, const Nccl *nccl,
            std::unique_ptr<Messages> messages);
  uint32_t findGroup(std::vector<uint32_t> members, uint32_t position);
  /// No rank meets there any more.
  bool hasFailed(uint64_t sum);

  // On GPUs, with the mutex.
  Error begin(std::unique_lock<std::mutex> &lock, Group &group, Call &call,
              const Part &part);
  Error prepareCommunicator(std::unique_lock<std::mutex> &lock, Group &group,
                            Call &call, const gpuasync_collective &what);
  /// On the thread: errors that NCCL has found since, of the network.
  void pollCommunicators();
  /// No rank meets any more, nor do those whose collectives run.
  void abortAll(const Error &error);

  // On the thread.
  Error greet();
  void progress();
  void listen(Peer &peer, uint32_t from);
  /// It makes no more collectives; empty: it ended well.
  void setGone(Peer &peer, Error with);
  void tell(uint32_t to, const Message &message);
  void tellAll(const std::vector<uint32_t> &ranks, const Message &message);
  void hear(uint32_t from, const Message &message);
  /// Whether a message had come.
  bool hearNext(uint32_t from);
  /// Looks at messages and deaths once; never waits.
  void look();
  void sayThatItLeft();
  void run(Job &job);
  /// Waits until all members have come; says why they will not.
  Error gather(const Job &job, Group &group);
  /// Asks the ranks that have not come whether they wait for this one.
  void ask(const std::vector<uint32_t> &away);
  /// Whether this rank waits for others where the question was not answered.
  void hearQuestion(const Message &question);
  /// Drops collectives that ranks came with in groups that have failed.
  void forgetFailed();
  /// Adds the ranks that have not come.
  Error compare(const Job &job, const Group &group, const Message &own,
                std::vector<uint32_t> &away);
  void end(Job &job, Error error);
  /// After an error, the time that others have is over.
  bool isOutOfTime();
  Error exchange(const std::vector<Piece> &sends,
                 const std::vector<Piece> &receives) override;

  const uint32_t mine;
  const std::unique_ptr<Messages> messages;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  // With the mutex.
  std::vector<std::unique_ptr<Group>> groups;
  std::deque<Job> jobs;
  std::string last; ///< the collective that the rank came to last
  /// Ranks that have not come to the collective that waits, which is of `jobs`.
  const Job *waiting = nullptr;
  std::vector<uint32_t> missing;
  bool isLeaving = false, hasLeft = false, isClosing = false, isOver = false;
  Error leftWith;
  Error failure;           ///< on GPUs: of the first group that failed
  uint32_t othersGone = 0; ///< that have left or died
  Error othersFailure;     ///< of the first one that failed
  std::optional<std::chrono::steady_clock::time_point> limit;

  // For the thread only.
  Peers peers;
  std::vector<Peer> others; ///< by rank
  std::list<Outgoing> outgoing;
  Exchange mover;
  /// Sends are of copies: after an error the others may still read them, when
  /// the program has put something else into its memory.
  std::unique_ptr<char[]> outbox;
  size_t outboxBytes = 0;
  const Group *moving = nullptr; ///< whose data moves
  int movingTag = 0;             ///< of its messages
  /// Tags of meetings that failed here: their data may come at any time.
  std::set<int> staleTags;
  /// The collective at which it waits for others; null: none.
  const Job *gathering = nullptr;
  const Group *gatheringIn = nullptr;
  std::vector<uint32_t> gatheringFor;    ///< have not come
  Error circle;                          ///< of ranks that wait for each other
  uint32_t question = 0;                 ///< the number of its last one
  uint32_t firstQuestion = 0;            ///< of this wait
  std::map<uint32_t, uint32_t> passedOn; ///< the last question of each rank
  Error broken;                          ///< why no messages go any more
  uint64_t begun = 0;
  std::chrono::steady_clock::time_point lookedForDead;
};

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_PROCESSES_H
