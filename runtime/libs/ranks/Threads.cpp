//===- Threads.cpp - Ranks that are threads of one process ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Threads.h.
//===----------------------------------------------------------------------===//

#include "libs/ranks/Threads.h"

#include "libs/ranks/Limit.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

using namespace gpuasync;
using namespace gpuasync::ranks;

Threads::Threads(uint64_t id, std::vector<gpuasync_context *> contexts,
                 const Nccl *nccl)
    : World(id, static_cast<uint32_t>(contexts.size()), std::move(contexts),
            nccl),
      left(count) {}

Group &Threads::findGroup(std::vector<uint32_t> members, uint32_t &index) {
  for (index = 0; index < groups.size(); ++index)
    if (groups[index]->members == members)
      return *groups[index];
  auto group = std::make_unique<Group>();
  group->next.resize(members.size());
  group->communicators.resize(members.size());
  for (uint32_t rank : members)
    if (!left[rank].failure.empty())
      group->failure = left[rank].failure;
  if (!failure.empty())
    group->failure = failure;
  group->members = std::move(members);
  group->index = index;
  groups.push_back(std::move(group));
  return *groups.back();
}

void Threads::endMeetings(Group &group, const Error &error,
                          Openings &openings) {
  if (group.failure.empty())
    keepError(group.failure, error);
  for (Meeting &meeting : group.meetings) {
    // One that runs has all it needs.
    if (meeting.state != Meeting::State::Gathers)
      continue;
    setEnded(group, meeting);
    for (auto &part : meeting.parts)
      if (part)
        openings.add(*part, group.failure);
  }
  group.drop();
}

void Threads::fail(Group &group, const Error &error, Openings &openings) {
  endMeetings(group, error, openings);
  if (!nccl)
    return;
  if (failure.empty())
    keepError(failure, group.failure);
  failContexts(failure);
  for (const auto &each : groups) {
    endMeetings(*each, failure, openings);
    each->isAborted = true;
    for (auto &communicator : each->communicators)
      abort(std::exchange(communicator, nullptr));
  }
  changed.notify_all();
}

//===----------------------------------------------------------------------===//
// Meetings
//===----------------------------------------------------------------------===//

/// Whether two ranks' collectives are the same one.
static bool areSame(const Part &a, const Part &b) {
  const gpuasync_collective &x = a.what, &y = b.what;
  return x.kind == y.kind && x.reduction == y.reduction &&
         x.element == y.element && x.root == y.root &&
         x.pairCount == y.pairCount && x.isOverlapped == y.isOverlapped &&
         std::equal(x.pairs, x.pairs + 2 * x.pairCount, y.pairs) &&
         a.memory.sourceCount == b.memory.sourceCount;
}

Error Threads::meet(uint32_t rank, std::vector<uint32_t> members,
                    uint32_t position, Call &call, std::unique_ptr<Part> part) {
  Openings openings; // behind the lock
  std::unique_lock<std::mutex> lock(mutex);
  if (left[rank].isGone)
    return "rank " + std::to_string(rank) + " has left";
  uint32_t index = 0;
  Group &group = findGroup(std::move(members), index);
  if (!group.failure.empty())
    return describe(*part) + ": " + group.failure;
  const uint64_t number = group.next[position];
  if (number == group.base + group.meetings.size())
    group.meetings.emplace_back(group.members.size());
  Meeting &meeting = *group.find(number);
  for (uint32_t i = 0; i < group.members.size(); ++i)
    if (left[group.members[i]].isGone && !meeting.parts[i]) {
      fail(group, "rank " + std::to_string(group.members[i]) + " has ended",
           openings);
      return describe(*part) + ": " + group.failure;
    }
  for (uint32_t i = 0; i < group.members.size(); ++i)
    if (const Part *other = meeting.parts[i].get();
        other && !areSame(*other, *part)) {
      fail(group,
           "the ranks differ: " + describe(*other) + " on rank " +
               std::to_string(group.members[i]) + ", " + describe(*part) +
               " on rank " + std::to_string(rank),
           openings);
      return group.failure;
    }
  ++group.next[position];
  Part &last = left[rank].last;
  last.what = part->what;
  last.memory = part->memory;
  last.place = part->place;
  Part &mine = *(meeting.parts[position] = std::move(part));
  left[rank].open.emplace_back(&group, &meeting);
  if (Error circle = findCircle(rank); !circle.empty()) {
    Error error = describe(mine) + ": " + circle;
    fail(group, circle, openings);
    return error;
  }
  if (nccl) {
    const Part given = mine; // the meeting may end meanwhile
    Error error =
        begin(lock, group, {id, number, index, position}, call, given);
    if (error.empty())
      return {};
    error = describe(given) + ": " + error;
    fail(group, failureOf(rank, error), openings);
    return error;
  }

  // The stream cannot arrive before the lock is given back, with its gate.
  Error error = closeGate(call, {id, number, index, position}, mine);
  if (!error.empty())
    fail(group, failureOf(rank, error), openings);
  return error;
}

void Threads::arrive(const Arrival &arrival, const char *error) {
  Openings openings;
  std::unique_lock<std::mutex> lock(mutex);
  Group &group = *groups[arrival.group];
  Meeting *meeting = group.find(arrival.number);
  if (!meeting || meeting->state != Meeting::State::Gathers)
    return;
  if (error)
    return fail(group, failureOf(group.members[arrival.position], error),
                openings);
  meeting->parts[arrival.position]->hasArrived = true;
  if (++meeting->arrived < group.members.size())
    return;
  meeting->state = Meeting::State::Runs;
  lock.unlock();
  // All have come and wait: nobody else looks at the meeting's parts.
  std::vector<Memory> memory;
  Error wrong;
  try {
    for (const auto &part : meeting->parts)
      memory.push_back(part->memory);
    combine(meeting->parts[arrival.position]->what, memory.data(),
            static_cast<uint32_t>(memory.size()));
  } catch (const std::bad_alloc &) {
    wrong = "no host memory";
  }
  lock.lock();
  setEnded(group, *meeting);
  for (auto &part : meeting->parts)
    openings.add(*part, wrong);
  group.drop();
  // Each rank has another first meeting now.
  for (uint32_t rank : group.members)
    if (Error circle = findCircle(rank); !circle.empty())
      return fail(*groups[left[rank].open.front().first->index], circle,
                  openings);
}

Error Threads::prepareCommunicator(std::unique_lock<std::mutex> &lock,
                                   Group &group, const Arrival &arrival,
                                   Call &call,
                                   const gpuasync_collective &what) {
  const Limit limit;
  // NCCL would name nobody who does not come.
  const auto isOver = [&] {
    return group.met > arrival.number || !group.failure.empty();
  };
  if (!limit.wait(lock, changed, isOver)) {
    call.isLate = true;
    Error error = limit.describe() + "; not there:";
    for (uint32_t i = 0; i < group.members.size(); ++i)
      if (!group.find(arrival.number)->parts[i])
        error += " rank " + std::to_string(group.members[i]);
    return error;
  }
  if (!group.failure.empty())
    return group.failure;
  std::shared_ptr<Communicator> mine = group.communicators[arrival.position];
  const Stop stop = [&] { return group.isAborted.load() || limit.isOver(); };
  lock.unlock();
  Error error;
  if (!mine)
    error = Communicator::begin(*nccl, group.id,
                                static_cast<uint32_t>(group.members.size()),
                                arrival.position, stop, mine);
  if (error.empty())
    error = mine->prepareFor(what, stop);
  lock.lock();
  // Whoever aborted has not seen it.
  if (!error.empty() || group.isAborted)
    abort(mine); // an error fails the contexts next
  else
    group.communicators[arrival.position] = std::move(mine);
  if (!group.failure.empty())
    return group.failure;
  call.isLate = !error.empty() && limit.isOver();
  return call.isLate ? limit.describe() + ": " + error : error;
}

Error Threads::begin(std::unique_lock<std::mutex> &lock, Group &group,
                     const Arrival &arrival, Call &call, const Part &part) {
  Meeting &meeting = *group.find(arrival.number);
  if (++meeting.arrived == group.members.size()) {
    if (!group.met)
      if (Error error = Communicator::makeId(*nccl, group.id); !error.empty())
        return error;
    group.met = arrival.number + 1;
    changed.notify_all();
    setEnded(group, meeting);
    group.drop();
  }
  const auto &known = group.communicators[arrival.position];
  if (!known || !known->isReadyFor(part.what))
    if (Error error =
            prepareCommunicator(lock, group, arrival, call, part.what);
        !error.empty())
      return error;
  const std::shared_ptr<Communicator> mine =
      group.communicators[arrival.position];
  lock.unlock();
  Error error = mine->enqueue(call.given, part);
  lock.lock();
  return error.empty() || group.failure.empty() ? error : group.failure;
}

//===----------------------------------------------------------------------===//
// Ranks that end, and ranks that do not
//===----------------------------------------------------------------------===//

Threads::Wait Threads::findWait(uint32_t rank) const {
  Wait found;
  for (const auto &group : groups) {
    const auto &members = group->members;
    const auto position = static_cast<size_t>(
        std::find(members.begin(), members.end(), rank) - members.begin());
    if (position == members.size())
      continue;
    for (const Meeting &meeting : group->meetings) {
      const Part *part = meeting.parts[position].get();
      if (!part || meeting.state != Meeting::State::Gathers)
        continue;
      // Its stream is at one of them. On GPUs nobody knows at which.
      if (part->hasArrived)
        return {group.get(), &meeting, part};
      if (!found.group)
        found = {group.get(), &meeting, part};
      break;
    }
  }
  return found;
}

void Threads::setEnded(const Group &group, Meeting &meeting) {
  meeting.state = Meeting::State::Ended;
  for (uint32_t rank : group.members) {
    auto &open = left[rank].open;
    const auto found =
        std::find_if(open.begin(), open.end(),
                     [&](const auto &each) { return each.second == &meeting; });
    if (found != open.end())
      open.erase(found);
  }
}

// All ranks have their collectives in one order. So the first meeting of a rank
// is before all others of it, and a circle of ranks has none.
Error Threads::findCircle(uint32_t rank) const {
  std::vector<uint32_t> path;
  std::vector<bool> seen;
  const std::function<bool(uint32_t)> search = [&](uint32_t at) {
    if (left[at].open.empty())
      return false;
    const auto [group, meeting] = left[at].open.front();
    path.push_back(at);
    for (size_t i = 0; i < group->members.size(); ++i) {
      const uint32_t other = group->members[i];
      const auto &open = left[other].open;
      const Part *part = meeting->parts[i].get();
      if ((part && part->hasArrived) || open.empty() ||
          open.front().second == meeting)
        continue;
      if (other == rank)
        return true;
      seen.resize(count);
      if (seen[other])
        continue;
      seen[other] = true;
      if (search(other))
        return true;
    }
    path.pop_back();
    return false;
  };
  if (!search(rank))
    return {};
  Error text;
  for (uint32_t each : path) {
    const auto [group, meeting] = left[each].open.front();
    const auto &members = group->members;
    const auto position = static_cast<size_t>(
        std::find(members.begin(), members.end(), each) - members.begin());
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(each) +
            " at " + describe(*meeting->parts[position]);
  }
  return circleOf(text);
}

std::string Threads::describeRank(uint32_t rank) {
  std::lock_guard<std::mutex> lock(mutex);
  if (rank >= count)
    return {};
  std::string text;
  std::vector<bool> seen(count);
  while (!seen[rank]) {
    seen[rank] = true;
    const Wait wait = findWait(rank);
    if (!wait.group) {
      const Part &last = left[rank].last;
      return text + (left[rank].isGone ? "has ended"
                     : last.what.kind  ? "last came to " + describe(last)
                                       : "has come to no collective");
    }
    if (!nccl && !wait.part->hasArrived)
      return text + "has not ended its work before " + describe(*wait.part);
    // A rank that did not come, else one whose stream is not there.
    const size_t size = wait.group->members.size();
    size_t away = size, behind = size, others = 0;
    for (size_t i = size; i-- > 0;)
      if (const Part *part = wait.meeting->parts[i].get(); !part) {
        away = i;
        ++others;
      } else if (!part->hasArrived) {
        behind = i;
      }
    if (away == size && behind == size)
      return text + "is at " + describe(*wait.part);
    rank = wait.group->members[away < size ? away : behind];
    text += "waits at " + describe(*wait.part) + " for rank " +
            std::to_string(rank);
    if (others > 1)
      text += " and " + std::to_string(others - 1) + " more";
    text += ", which ";
  }
  return text + "waits for these";
}

void Threads::leave(uint32_t rank, const char *error) {
  Error said, ended; // empty: it ended well
  try {
    if (error)
      said = failureOf(rank, *error ? error : "an error without a text");
    ended = "rank " + std::to_string(rank) + " has ended";
  } catch (const std::bad_alloc &) {
    (error ? said : ended) = "no host memory";
  }
  Openings openings;
  std::lock_guard<std::mutex> lock(mutex);
  if (rank >= left.size() || left[rank].isGone)
    return;
  left[rank].isGone = true;
  changed.notify_all();
  keepError(left[rank].failure, said);
  for (const auto &group : groups) {
    auto found = std::find(group->members.begin(), group->members.end(), rank);
    if (found == group->members.end())
      continue;
    if (error) {
      fail(*group, said, openings);
      continue;
    }
    const auto position = found - group->members.begin();
    for (const Meeting &meeting : group->meetings)
      if (meeting.state == Meeting::State::Gathers &&
          !meeting.parts[static_cast<size_t>(position)]) {
        fail(*group, ended, openings);
        break;
      }
  }
}

bool Threads::renew() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!failure.empty())
    return false;
  for (const Left &each : left)
    if (!each.isGone || !each.failure.empty())
      return false;
  // All have made as many collectives in each group.
  for (const auto &group : groups)
    if (!group->failure.empty() || !group->meetings.empty() ||
        std::adjacent_find(group->next.begin(), group->next.end(),
                           std::not_equal_to<>()) != group->next.end())
      return false;
  for (Left &each : left)
    each = Left();
  return true;
}

Error Threads::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] {
    return std::all_of(left.begin(), left.end(),
                       [](const Left &each) { return each.isGone; });
  });
  if (!failure.empty())
    return failure;
  for (const Left &each : left)
    if (!each.failure.empty())
      return each.failure;
  return {};
}

void Threads::close() {
  std::vector<std::shared_ptr<Communicator>> communicators;
  {
    Openings openings;
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto &group : groups)
      if (!group->meetings.empty()) // which wait for ranks that never come
        fail(*group, "the ranks were released", openings);
    for (const auto &group : groups) {
      for (auto &each : group->communicators)
        if (each)
          communicators.push_back(std::move(each));
      group->communicators.assign(group->members.size(), nullptr);
      endMeetings(*group, "the ranks were released", openings);
    }
  }
  Communicator::finish(communicators);
  waitForAborts();
}
