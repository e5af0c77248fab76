//===- Processes.cpp - Ranks that are processes ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Processes.h.
//===----------------------------------------------------------------------===//

#include "libs/ranks/Processes.h"

#include "libs/ranks/Limit.h"
#include "libs/ranks/Nap.h"

#include <algorithm>
#include <future>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <system_error>

using namespace gpuasync;
using namespace gpuasync::ranks;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static constexpr int wordTag = 1;

/// The tag of a meeting's data. The standard promises tags up to 32767.
static int dataTag(uint64_t group, uint64_t number) {
  const uint64_t mixed = (group + number) * 0x9e3779b97f4a7c15;
  return static_cast<int>(wordTag + 1 + (mixed >> 32) % 32000);
}
/// Short enough for no allocation.
static constexpr char noMemory[] = "no host memory";

/// A word of one rank to another. All processes have the same byte order.
struct Processes::Message {
  enum class Kind : uint32_t { Greets = 1, Comes, Fails, Leaves, Ends, Asks };
  Kind kind = Kind::Greets;
  uint32_t hasError = 0; ///< Leaves
  uint64_t group = 0;    ///< the sum of its members
  uint64_t number = 0;   ///< Comes, Asks: of the meeting
  uint64_t what = 0;     ///< Comes: the sum of what has to be equal
  uint32_t asker = 0;    ///< Asks
  uint32_t question = 0; ///< Asks
  Communicator::Id id{}; ///< Comes: of the first meeting, on GPUs
  char text[480] = {};   ///< the collective, ranks, the error or the address

  void set(const std::string &value) {
    if (value.size() < sizeof(text))
      memcpy(text, value.c_str(), value.size() + 1);
    else
      snprintf(text, sizeof(text), "%.*s...", int(sizeof(text) - 4),
               value.c_str());
  }
};

struct Processes::Outgoing {
  uint32_t to;
  Message message;
  Messages::Request request = 0;
};

namespace {
/// FNV-1a.
class Sum {
public:
  void add(uint64_t value) {
    for (int i = 0; i < 8; ++i, value >>= 8)
      sum = (sum ^ (value & 0xff)) * 0x100000001b3;
  }
  uint64_t get() const { return sum; }

private:
  uint64_t sum = 0xcbf29ce484222325;
};
} // namespace

static uint64_t sumOf(const std::vector<uint32_t> &members) {
  Sum sum;
  for (uint32_t rank : members)
    sum.add(rank);
  return sum.get();
}

/// The sum of everything that has to be equal on all ranks.
static uint64_t sumOf(const Part &part) {
  const gpuasync_collective &what = part.what;
  Sum sum;
  for (uint64_t value : {what.kind, what.reduction, what.element, what.root,
                         what.pairCount, what.isOverlapped})
    sum.add(value);
  for (size_t i = 0; i < size_t(2) * what.pairCount; ++i)
    sum.add(what.pairs[i]);
  sum.add(static_cast<uint64_t>(part.memory.sourceCount));
  return sum.get();
}

//===----------------------------------------------------------------------===//
// The beginning and the end
//===----------------------------------------------------------------------===//

Processes::Processes(uint64_t id, gpuasync_context *context, const Nccl *nccl,
                     std::unique_ptr<Messages> given)
    : World(id, given->count, {context}, nccl), mine(given->rank),
      messages(std::move(given)), others(count) {}

Processes::~Processes() = default;

Error Processes::join(uint64_t id, gpuasync_context *context, const Nccl *nccl,
                      std::shared_ptr<Processes> &out) {
  std::promise<Error> answer;
  std::future<Error> answered = answer.get_future();
  std::shared_ptr<Processes> made;
  std::thread thread;
  // Signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread = std::thread([&made, &answer, id, context, nccl] {
      std::shared_ptr<Processes> world; // in use until the thread's end
      try {
        std::unique_ptr<Messages> messages;
        Error error = Messages::open(messages);
        if (error.empty()) {
          world.reset(new Processes(id, context, nccl, std::move(messages)));
          error = world->greet();
        }
        if (error.empty())
          made = world;
        else
          world = nullptr;
        answer.set_value(std::move(error));
      } catch (const std::bad_alloc &) {
        world = nullptr;
        answer.set_value(noMemory);
      }
      if (world)
        world->progress();
    });
  } catch (const std::system_error &error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return std::string("no thread for messages: ") + error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (answered.wait_for(std::chrono::seconds(10)) != std::future_status::ready)
    fprintf(stderr, "gpu-async: this process has waited 10 s for the other "
                    "processes of its launcher; one may have ended\n");
  Error error = answered.get();
  if (!error.empty()) {
    thread.join();
    return error;
  }
  made->thread = std::move(thread);
  out = std::move(made);
  return {};
}

/// Each rank tells all others where it is.
Error Processes::greet() {
  Message message;
  static_assert(sizeof(Address) <= sizeof(message.text));
  memcpy(message.text, &peers.own(), sizeof(Address));
  for (uint32_t rank = 0; rank < count; ++rank)
    if (rank != mine) {
      listen(others[rank], rank);
      tell(rank, message);
    }
  const Limit limit;
  for (Nap nap;; nap.take()) {
    look();
    if (!broken.empty())
      return broken;
    bool haveAll = true;
    for (uint32_t rank = 0; rank < count; ++rank) {
      const bool hasCome = rank == mine || !others[rank].comes.empty();
      if (!hasCome && others[rank].isDead)
        return others[rank].goneWith;
      if (!hasCome && limit.isOver())
        return limit.describe() + "; rank " + std::to_string(rank) +
               " does not answer";
      haveAll &= hasCome;
    }
    if (haveAll)
      break;
  }
  for (uint32_t rank = 0; rank < count; ++rank) {
    if (rank == mine)
      continue;
    Address address;
    memcpy(&address, others[rank].comes.front().text, sizeof(address));
    address.host[sizeof(address.host) - 1] = '\0';
    others[rank].comes.pop_front();
    peers.add(rank, address);
  }
  return {};
}

void Processes::progress() {
  bool saidThatItEnds = false;
  for (;;) {
    try {
      look();
    } catch (const std::bad_alloc &) {
      broken = noMemory;
    }
    if (!broken.empty()) {
      std::lock_guard<std::mutex> lock(mutex);
      isOver = true;
      changed.notify_all();
    }
    Job *job = nullptr;
    bool isOnlyListening = false;
    {
      std::unique_lock<std::mutex> lock(mutex);
      // The others have them in this order, too, on whatever streams they are.
      const auto arrived = [&] {
        return jobs.empty() || !jobs.front().hasArrived ? nullptr
                                                        : &jobs.front();
      };
      // Words of others and deaths come without a call.
      changed.wait_for(lock, milliseconds(1), [&] {
        return arrived() || isClosing || (isLeaving && !hasLeft);
      });
      job = arrived();
      isOnlyListening = isClosing && !job;
    }
    if (job) {
      run(*job);
      continue;
    }
    if (!isOnlyListening)
      continue;
    if (!saidThatItEnds) {
      saidThatItEnds = true;
      Message message;
      message.kind = Message::Kind::Ends;
      try {
        for (uint32_t rank = 0; rank < count; ++rank)
          if (rank != mine)
            tell(rank, message);
      } catch (const std::bad_alloc &) {
        broken = noMemory;
      }
    }
    // Messages to a rank that has died may never be done.
    const bool isEnded =
        std::all_of(
            outgoing.begin(), outgoing.end(),
            [&](const Outgoing &sent) { return others[sent.to].isDead; }) &&
        std::all_of(others.begin(), others.end(), [&](const Peer &peer) {
          return &peer == &others[mine] || peer.hasEnded || peer.isDead;
        });
    if (!broken.empty() || isEnded || isOutOfTime())
      break;
    std::this_thread::sleep_for(milliseconds(1));
  }
  const bool isAnyDead =
      std::any_of(others.begin(), others.end(), [](const Peer &peer) {
        return peer.isDead || !peer.goneWith.empty();
      });
  bool hasFailed = false;
  {
    std::lock_guard<std::mutex> lock(mutex);
    hasFailed = !leftWith.empty();
  }
  if (broken.empty() && !isAnyDead && !hasFailed)
    messages->finalize();
  else {
    // Others may still read it, so it is kept where leak checkers find it.
    struct Kept {
      std::list<Outgoing> words;
      std::unique_ptr<char[]> outbox, staging;
    };
    static auto *const kept = new std::list<Kept>;
    kept->push_back({std::move(outgoing), std::move(outbox), mover.abandon()});
  }
}

bool Processes::isOutOfTime() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isClosing || leftWith.empty())
    return false;
  const auto now = steady_clock::now();
  if (!limit)
    limit = now + std::chrono::seconds(3);
  return now > *limit;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

void Processes::listen(Peer &peer, uint32_t from) {
  if (!peer.incoming)
    peer.incoming = std::make_unique<Message>();
  Error error = messages->receive(from, wordTag, peer.incoming.get(),
                                  sizeof(Message), peer.request);
  peer.isListening = error.empty();
  if (!error.empty())
    broken = error;
}

void Processes::tell(uint32_t to, const Message &message) {
  if (!broken.empty() || others[to].isDead)
    return;
  outgoing.push_back({to, message, 0});
  Outgoing &sent = outgoing.back();
  Error error =
      messages->send(to, wordTag, &sent.message, sizeof(Message), sent.request);
  if (!error.empty()) {
    outgoing.pop_back();
    broken = error;
  }
}

void Processes::tellAll(const std::vector<uint32_t> &ranks,
                        const Message &message) {
  for (uint32_t rank : ranks)
    if (rank != mine)
      tell(rank, message);
}

void Processes::hear(uint32_t from, const Message &message) {
  Peer &peer = others[from];
  switch (message.kind) {
  case Message::Kind::Greets:
    peer.comes.push_back(message);
    return;
  case Message::Kind::Comes:
    if (!hasFailed(message.group))
      peer.comes.push_back(message);
    return;
  case Message::Kind::Fails:
    peer.failures.emplace(message.group, message.text);
    return;
  case Message::Kind::Leaves:
    setGone(peer, message.hasError ? message.text : Error());
    return;
  case Message::Kind::Ends:
    peer.hasEnded = true;
    return;
  case Message::Kind::Asks:
    hearQuestion(message);
    return;
  }
}

void Processes::setGone(Peer &peer, Error with) {
  peer.isGone = true;
  peer.goneWith = std::move(with);
  std::lock_guard<std::mutex> lock(mutex);
  if (nccl && !peer.goneWith.empty())
    abortAll(peer.goneWith);
  ++othersGone;
  if (othersFailure.empty())
    othersFailure = peer.goneWith;
  changed.notify_all();
}

bool Processes::hearNext(uint32_t from) {
  Peer &peer = others[from];
  bool isDone = false;
  if (peer.isListening && broken.empty())
    broken = messages->test(peer.request, isDone);
  if (!isDone || !broken.empty())
    return false;
  peer.isListening = false;
  hear(from, *peer.incoming);
  // Nothing comes behind its last word.
  if (!peer.hasEnded)
    listen(peer, from);
  return true;
}

void Processes::look() {
  sayThatItLeft();
  for (auto sent = outgoing.begin(); sent != outgoing.end();) {
    bool isDone = false;
    if (broken.empty())
      broken = messages->test(sent->request, isDone);
    sent = isDone ? outgoing.erase(sent) : std::next(sent);
  }
  for (uint32_t rank = 0; rank < count; ++rank)
    while (hearNext(rank)) {
    }
  const auto now = steady_clock::now();
  if (now - lookedForDead < milliseconds(1))
    return;
  lookedForDead = now;
  std::vector<uint32_t> dead = peers.findDead();
  for (uint32_t rank = 0; rank < count; ++rank)
    if (!others[rank].isDead && !peers.isWatched(rank) &&
        messages->isLost(rank))
      dead.push_back(rank);
  for (uint32_t rank : dead) {
    Peer &peer = others[rank];
    // Its last words may still be on their way.
    for (int i = 0; i < 10 && peer.isListening; ++i)
      if (!hearNext(rank))
        std::this_thread::sleep_for(milliseconds(1));
    peer.isDead = true;
    // It has said so, but the message may be lost.
    if (std::string said; !peer.isGone && peers.hasLeft(rank, said))
      setGone(peer, said.empty() ? Error() : failureOf(rank, said));
    if (peer.isGone) {
      std::lock_guard<std::mutex> lock(mutex);
      if (nccl && !peer.hasEnded) // its work may not have ended
        abortAll(peers.describeDeath(rank));
      continue;
    }
    Error death = peers.describeDeath(rank);
    // Before what may wait for a thread that is in a call of NCCL.
    fprintf(stderr, "gpu-async: on rank %u: %s\n", mine, death.c_str());
    fflush(stderr);
    setGone(peer, std::move(death));
  }
  // NCCL knows no names: a rank that died comes first.
  if (nccl)
    pollCommunicators();
}

void Processes::pollCommunicators() {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &group : groups)
    if (group->communicator)
      if (Error error = group->communicator->poll(); !error.empty())
        return abortAll(failureOf(mine, error));
}

void Processes::sayThatItLeft() {
  Message message;
  message.kind = Message::Kind::Leaves;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!isLeaving || hasLeft)
      return;
    // The others hear first what it has come with, which on GPUs may have ended
    // before.
    if (nccl && leftWith.empty() && !jobs.empty())
      return;
    hasLeft = true;
    message.hasError = !leftWith.empty();
    message.set(failureOf(mine, leftWith));
  }
  for (uint32_t rank = 0; rank < count; ++rank)
    if (rank != mine)
      tell(rank, message);
  changed.notify_all();
}

//===----------------------------------------------------------------------===//
// The program's threads
//===----------------------------------------------------------------------===//

uint32_t Processes::findGroup(std::vector<uint32_t> members,
                              uint32_t position) {
  uint32_t index = 0;
  for (; index < groups.size(); ++index)
    if (groups[index]->members == members)
      return index;
  auto group = std::make_unique<Group>();
  group->sum = sumOf(members);
  group->members = std::move(members);
  group->position = position;
  group->failure = failure;
  groups.push_back(std::move(group));
  return index;
}

bool Processes::hasFailed(uint64_t sum) {
  std::lock_guard<std::mutex> lock(mutex);
  return std::any_of(groups.begin(), groups.end(), [&](const auto &group) {
    return group->sum == sum && !group->failure.empty();
  });
}

Error Processes::meet(uint32_t rank, std::vector<uint32_t> members,
                      uint32_t position, Call &call,
                      std::unique_ptr<Part> part) {
  std::unique_lock<std::mutex> lock(mutex);
  if (isLeaving)
    return "rank " + std::to_string(rank) + " has left";
  const uint32_t index = findGroup(std::move(members), position);
  Group &group = *groups[index];
  last = describe(*part);
  if (!group.failure.empty())
    return last + ": " + group.failure;
  if (nccl) {
    const Part given = *part;
    if (!group.next && !position)
      if (Error error = Communicator::makeId(*nccl, group.id); !error.empty())
        return describe(*part) + ": " + error;
    jobs.push_back({index, group.next++, std::move(part), true, {}});
    changed.notify_all();
    Error error = begin(lock, group, call, given);
    if (error.empty())
      return {};
    error = describe(given) + ": " + error;
    abortAll(failureOf(rank, error));
    return error;
  }
  jobs.push_back({index, group.next, std::move(part), false, {}});
  Job &job = jobs.back();
  // The stream cannot arrive before the lock is given back, with its gate.
  Error error = closeGate(call, {id, group.next, index, position}, *job.part);
  if (error.empty())
    ++group.next;
  else
    jobs.pop_back();
  return error;
}

Error Processes::prepareCommunicator(std::unique_lock<std::mutex> &lock,
                                     Group &group, Call &call,
                                     const gpuasync_collective &what) {
  const Limit limit;
  // NCCL would name nobody who does not come.
  const auto isOver = [&, number = group.next] {
    return group.met >= number || !group.failure.empty();
  };
  call.isLate = !limit.wait(lock, changed, isOver);
  if (call.isLate) {
    Error error = limit.describe() + "; not all ranks are there";
    if (waiting && !missing.empty())
      error += ", rank " + std::to_string(missing.front()) + " is not";
    return error;
  }
  if (!group.failure.empty())
    return group.failure;
  std::shared_ptr<Communicator> made = group.communicator;
  const Stop stop = [&] { return group.isAborted.load() || limit.isOver(); };
  lock.unlock();
  Error error;
  if (!made)
    error = Communicator::begin(*nccl, group.id,
                                static_cast<uint32_t>(group.members.size()),
                                group.position, stop, made);
  if (error.empty())
    error = made->prepareFor(what, stop);
  lock.lock();
  group.communicator = std::move(made);
  // Whoever aborted has not seen it.
  if (!group.failure.empty()) {
    abortAll(group.failure);
    return group.failure;
  }
  call.isLate = !error.empty() && limit.isOver();
  return call.isLate ? limit.describe() + ": " + error : error;
}

Error Processes::begin(std::unique_lock<std::mutex> &lock, Group &group,
                       Call &call, const Part &part) {
  if (!group.communicator || !group.communicator->isReadyFor(part.what))
    if (Error error = prepareCommunicator(lock, group, call, part.what);
        !error.empty())
      return error;
  const std::shared_ptr<Communicator> communicator = group.communicator;
  lock.unlock();
  Error error = communicator->enqueue(call.given, part);
  lock.lock();
  return error.empty() || group.failure.empty() ? error : group.failure;
}

void Processes::abortAll(const Error &error) {
  if (failure.empty())
    keepError(failure, error);
  failContexts(failure);
  for (const auto &group : groups) {
    if (group->failure.empty())
      keepError(group->failure, failure);
    group->isAborted = true;
    abort(std::exchange(group->communicator, nullptr));
  }
  changed.notify_all();
}

void Processes::arrive(const Arrival &arrival, const char *error) {
  std::lock_guard<std::mutex> lock(mutex);
  for (Job &job : jobs)
    if (job.group == arrival.group && job.number == arrival.number) {
      job.hasArrived = true;
      if (error)
        job.error = error;
    }
  changed.notify_all();
}

void Processes::leave(uint32_t rank, const char *error) {
  std::unique_lock<std::mutex> lock(mutex);
  if (rank != mine || isLeaving)
    return;
  isLeaving = true;
  if (error)
    leftWith = *error ? error : "an error without a text";
  peers.leave(leftWith);
  if (nccl && error)
    abortAll(failureOf(mine, leftWith));
  changed.notify_all();
  changed.wait_for(lock, std::chrono::seconds(1), [&] { return hasLeft; });
}

std::string Processes::describeRank(uint32_t rank) {
  std::lock_guard<std::mutex> lock(mutex);
  if (rank != mine)
    return {};
  if (jobs.empty())
    return last.empty() ? "has come to no collective" : "last came to " + last;
  const Job &first = waiting ? *waiting : jobs.front();
  if (!waiting || missing.empty())
    return (first.hasArrived ? "is at " : "has not ended its work before ") +
           describe(*first.part);
  // Others may wait themselves: the one that has begun fewest does not.
  uint32_t other = missing.front();
  std::optional<std::string> begun;
  unsigned long fewest = ULONG_MAX;
  for (uint32_t each : missing) {
    const std::optional<std::string> last = peers.findLast(each);
    const unsigned long number =
        !last || last->empty() ? 0 : strtoul(last->c_str() + 1, nullptr, 10);
    if (last && number < fewest) {
      fewest = number;
      other = each;
      begun = last;
    }
  }
  const std::string name = "rank " + std::to_string(other);
  std::string text = "waits at " + describe(*first.part) + " for " + name;
  if (missing.size() > 1)
    text += " and " + std::to_string(missing.size() - 1) + " more";
  if (begun)
    text +=
        (missing.size() > 1 ? "; " + name : ", which") +
        (begun->empty() ? " has begun no collective" : " last began " + *begun);
  return text;
}

Error Processes::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  if (!isLeaving)
    return "rank " + std::to_string(mine) + " has not left";
  changed.wait(lock, [&] {
    return (othersGone + 1 == count && (!nccl || jobs.empty())) || isOver;
  });
  return othersFailure.empty() && othersGone + 1 != count
             ? "the messages between ranks have failed"
             : othersFailure;
}

void Processes::close() {
  leave(mine, nullptr);
  std::vector<std::shared_ptr<Communicator>> communicators;
  {
    std::unique_lock<std::mutex> lock(mutex);
    // Until then what runs may have to be aborted.
    if (nccl && leftWith.empty())
      changed.wait(lock, [&] {
        return (othersGone + 1 == count && jobs.empty()) || isOver ||
               !failure.empty();
      });
    for (const auto &group : groups)
      if (auto communicator = std::exchange(group->communicator, nullptr))
        communicators.push_back(std::move(communicator));
  }
  Communicator::finish(communicators);
  waitForAborts();
  {
    std::lock_guard<std::mutex> lock(mutex);
    isClosing = true;
    changed.notify_all();
  }
  if (thread.joinable())
    thread.join();
  Openings openings;
  std::lock_guard<std::mutex> lock(mutex);
  for (Job &job : jobs)
    openings.add(*job.part, "the ranks were released");
  jobs.clear();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void Processes::run(Job &job) {
  Group *group = nullptr;
  Error error;
  {
    std::lock_guard<std::mutex> lock(mutex);
    group = groups[job.group].get();
    keepError(error, group->failure);
  }
  try {
    if (error.empty() && !job.error.empty()) {
      error = failureOf(mine, job.error);
      Message message;
      message.kind = Message::Kind::Fails;
      message.group = group->sum;
      message.set(error);
      tellAll(group->members, message);
    } else if (error.empty()) {
      peers.begin("#" + std::to_string(++begun) + " " + describe(*job.part));
      error = gather(job, *group);
      gathering = nullptr;
      movingTag = dataTag(group->sum, job.number);
      // A member that heard of all may have sent its data, and then a death or
      // a failure was seen here.
      if (!error.empty())
        staleTags.insert(movingTag);
      else if (!nccl && staleTags.count(movingTag))
        error = broken = "data of a collective that failed may be on its way";
      if (error.empty() && !nccl) {
        moving = group;
        error = mover.run(*job.part, group->position,
                          static_cast<uint32_t>(group->members.size()), *this);
      }
    }
  } catch (const std::bad_alloc &) {
    error = broken = noMemory; // messages may have been lost
  }
  gathering = nullptr;
  moving = nullptr;
  end(job, std::move(error));
}

void Processes::end(Job &job, Error error) {
  Openings openings;
  std::lock_guard<std::mutex> lock(mutex);
  Group &group = *groups[job.group];
  openings.add(*job.part, error);
  if (!error.empty() && nccl) {
    abortAll(error);
    if (othersFailure.empty())
      keepError(othersFailure, error); // its call may have succeeded before
  }
  if (!error.empty() && !nccl && group.failure.empty())
    group.failure = std::move(error);
  waiting = nullptr;
  jobs.erase(std::find_if(jobs.begin(), jobs.end(),
                          [&](const Job &each) { return &each == &job; }));
  changed.notify_all();
}

// A question goes from rank to rank, as long as each of them waits for the next
// one. If it comes back, they wait for each other: a rank that waits comes to
// no other collective, and each has looked whether the one before it really
// waits for it.
void Processes::ask(const std::vector<uint32_t> &away) {
  Message message;
  message.kind = Message::Kind::Asks;
  message.group = gatheringIn->sum;
  message.number = gathering->number;
  message.asker = mine;
  message.question = ++question;
  message.set("rank " + std::to_string(mine) + " at " +
              describe(*gathering->part));
  tellAll(away, message);
}

void Processes::hearQuestion(const Message &given) {
  if (!gathering)
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto &group : groups)
      if (group->sum == given.group && group->told > given.number)
        return; // it has come there
  }
  if (given.asker == mine) {
    if (given.question >= firstQuestion)
      circle = circleOf(given.text);
    return;
  }
  uint32_t &passed = passedOn[given.asker];
  if (given.question <= passed)
    return;
  passed = given.question;
  Message message = given;
  message.group = gatheringIn->sum;
  message.number = gathering->number;
  message.set(std::string(given.text) + ", rank " + std::to_string(mine) +
              " at " + describe(*gathering->part));
  tellAll(gatheringFor, message);
}

Error Processes::gather(const Job &job, Group &group) {
  Message own;
  own.kind = Message::Kind::Comes;
  own.group = group.sum;
  own.number = job.number;
  own.what = sumOf(*job.part) + (nccl ? 1 : 0);
  own.set(describe(*job.part) + (nccl ? " (on a GPU)" : ""));
  own.id = group.id;
  tellAll(group.members, own);
  group.told = job.number + 1;
  firstQuestion = question + 1;
  circle.clear();
  milliseconds pause(100);
  auto next = steady_clock::now() + pause;
  for (Nap nap;; nap.take()) {
    look();
    forgetFailed();
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!group.failure.empty())
        return group.failure;
    }
    std::vector<uint32_t> away;
    Error error = compare(job, group, own, away);
    if (error.empty() && !broken.empty())
      error = broken;
    if (error.empty() && !away.empty())
      error = circle;
    if (!error.empty())
      return error;
    if (away.empty())
      break;
    gathering = &job;
    gatheringIn = &group;
    gatheringFor = away;
    if (steady_clock::now() >= next) {
      ask(away);
      pause = std::min(pause * 2, milliseconds(2000));
      next = steady_clock::now() + pause;
    }
    {
      std::lock_guard<std::mutex> lock(mutex);
      waiting = &job;
      missing.swap(away);
    }
    if (isOutOfTime())
      return "the ranks were released";
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (group.position && !group.met)
      group.id = others[group.members[0]].comes.front().id;
    group.met = job.number + 1;
    waiting = nullptr;
    changed.notify_all();
  }
  for (uint32_t rank : group.members)
    if (rank != mine)
      others[rank].comes.pop_front();
  return {};
}

void Processes::forgetFailed() {
  for (Peer &peer : others)
    while (!peer.comes.empty() && hasFailed(peer.comes.front().group))
      peer.comes.pop_front();
}

Error Processes::compare(const Job &job, const Group &group, const Message &own,
                         std::vector<uint32_t> &away) {
  for (uint32_t rank : group.members) {
    if (rank == mine)
      continue;
    const Peer &peer = others[rank];
    if (peer.comes.empty()) {
      away.push_back(rank);
      auto failed = peer.failures.find(group.sum);
      if (failed != peer.failures.end())
        return failed->second;
      if (peer.isGone)
        return peer.goneWith.empty()
                   ? "rank " + std::to_string(rank) + " has ended"
                   : peer.goneWith;
      continue;
    }
    if (peer.isDead)
      return peer.goneWith.empty()
                 ? "rank " + std::to_string(rank) + " has ended"
                 : peer.goneWith;
    const Message &came = peer.comes.front();
    if (came.group == group.sum && came.number == job.number &&
        came.what == own.what)
      continue;
    Error error = "the ranks differ: " + std::string(came.text) + " on rank " +
                  std::to_string(rank) + ", " + own.text + " on rank " +
                  std::to_string(mine);
    // It waits in another group, for this rank too.
    if (came.group != group.sum) {
      Message message;
      message.kind = Message::Kind::Fails;
      message.group = came.group;
      message.set(error);
      tell(rank, message);
    }
    return error;
  }
  return {};
}

Error Processes::exchange(const std::vector<Piece> &sends,
                          const std::vector<Piece> &receives) {
  size_t bytes = 0;
  for (const Piece &piece : sends)
    bytes += piece.bytes;
  if (bytes > outboxBytes) {
    outboxBytes = 0;
    outbox = std::make_unique<char[]>(bytes);
    outboxBytes = bytes;
  }
  std::vector<Messages::Request> open;
  open.reserve(sends.size() + receives.size());
  for (const Piece &piece : receives)
    if (broken.empty())
      broken =
          messages->receive(moving->members[piece.position], movingTag,
                            piece.memory, piece.bytes, open.emplace_back());
  char *copy = outbox.get();
  for (const Piece &piece : sends) {
    if (piece.bytes)
      memcpy(copy, piece.memory, piece.bytes);
    if (broken.empty())
      broken = messages->send(moving->members[piece.position], movingTag, copy,
                              piece.bytes, open.emplace_back());
    copy += piece.bytes;
  }
  for (Nap nap; !open.empty(); nap.take()) {
    for (size_t i = 0; i < open.size() && broken.empty();) {
      bool isDone = false;
      broken = messages->test(open[i], isDone);
      if (isDone)
        open.erase(open.begin() + static_cast<ptrdiff_t>(i));
      else
        ++i;
    }
    if (!broken.empty())
      return broken;
    if (open.empty())
      break;
    look();
    if (isOutOfTime())
      return broken = "the ranks were released";
    for (uint32_t rank : moving->members)
      if (rank != mine && others[rank].isDead) {
        broken = others[rank].goneWith.empty()
                     ? "rank " + std::to_string(rank) + " has ended"
                     : others[rank].goneWith;
        return broken;
      }
  }
  return broken;
}
