//===- World.cpp - The ranks of a process, and where they meet ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See World.h.
//===----------------------------------------------------------------------===//

#include "libs/ranks/World.h"

#include "gpuasync/Context.h"
#include "libs/ranks/Registry.h"

#include <algorithm>
#include <string.h>
#include <utility>

using namespace gpuasync;
using namespace gpuasync::ranks;

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

Openings::~Openings() {
  for (const auto &[gate, error] : gates)
    gpuasync_gate_open(gate, error.empty() ? nullptr : error.c_str());
}

void Openings::add(Part &part, const Error &error) {
  gpuasync_gate *gate = std::exchange(part.gate, nullptr);
  if (!gate)
    return;
  try {
    gates.emplace_back(gate,
                       error.empty() ? Error() : describe(part) + ": " + error);
  } catch (const std::bad_alloc &) {
    gpuasync_gate_open(gate, "out of host memory");
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static Error failureOf(uint32_t rank, const Error &error) {
  return "rank " + std::to_string(rank) + " failed: " + error;
}

World::World(uint64_t id, std::vector<gpuasync_context *> contexts)
    : id(id), contexts(std::move(contexts)), left(this->contexts.size()) {}

Error World::findMembers(const gpuasync_group *group, uint32_t rank,
                         std::vector<uint32_t> &members,
                         uint32_t &position) const {
  const size_t count = contexts.size();
  if (!group) {
    members.resize(count);
    for (uint32_t i = 0; i < count; ++i)
      members[i] = i;
    position = rank;
    return {};
  }
  if (Error error = checkGroup(*group, static_cast<uint32_t>(count));
      !error.empty())
    return error;
  const uint32_t *found =
      std::find(group->members, group->members + count, rank);
  position = static_cast<uint32_t>(found - group->members) % group->size;
  members.assign(found - position, found - position + group->size);
  return {};
}

Group &World::findGroup(std::vector<uint32_t> members, uint32_t &index) {
  for (index = 0; index < groups.size(); ++index)
    if (groups[index]->members == members)
      return *groups[index];
  auto group = std::make_unique<Group>();
  group->next.resize(members.size());
  for (uint32_t rank : members)
    if (left[rank].isGone && !left[rank].error.empty())
      group->failure = failureOf(rank, left[rank].error);
  group->members = std::move(members);
  groups.push_back(std::move(group));
  return *groups.back();
}

void World::fail(Group &group, const Error &error, Openings &openings) {
  if (group.failure.empty()) {
    try {
      group.failure = error;
    } catch (const std::bad_alloc &) {
      group.failure = "out of memory"; // short enough for no allocation
    }
  }
  for (Meeting &meeting : group.meetings) {
    // One that runs has all it needs.
    if (meeting.state != Meeting::State::Gathers)
      continue;
    meeting.state = Meeting::State::Ended;
    for (auto &part : meeting.parts)
      if (part)
        openings.add(*part, group.failure);
  }
  group.drop();
}

//===----------------------------------------------------------------------===//
// Meetings
//===----------------------------------------------------------------------===//

/// Whether two ranks' collectives are the same one.
static bool areSame(const Part &a, const Part &b) {
  const gpuasync_collective &x = a.what, &y = b.what;
  return x.kind == y.kind && x.reduction == y.reduction &&
         x.element == y.element && x.root == y.root &&
         x.pairCount == y.pairCount &&
         std::equal(x.pairs, x.pairs + 2 * x.pairCount, y.pairs) &&
         a.memory.sourceCount == b.memory.sourceCount;
}

namespace {
/// A stream is given this to say that it has arrived.
struct Arrival {
  uint64_t world;
  uint64_t number;
  uint32_t group;
  uint32_t position;
};
} // namespace

static Error take(gpuasync_status *raw) {
  Status status(raw);
  return status.ok() ? Error() : Error(status.message());
}

static void arriveOnStream(void *memory, const char *error) {
  const Arrival &arrival = *static_cast<const Arrival *>(memory);
  if (std::shared_ptr<World> world = findWorld(arrival.world))
    world->arrive(arrival.group, arrival.position, arrival.number, error);
}

Error World::enqueue(uint32_t rank, const gpuasync_call &call,
                     std::unique_ptr<Part> part) {
  std::vector<uint32_t> members;
  uint32_t position = 0;
  if (Error error = findMembers(part->what.group, rank, members, position);
      !error.empty())
    return error;
  if (Error error = check(*part, static_cast<uint32_t>(members.size()));
      !error.empty())
    return error;

  Openings openings; // behind the lock
  std::lock_guard<std::mutex> lock(mutex);
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
  Part &mine = *(meeting.parts[position] = std::move(part));

  // The stream cannot arrive before the lock is given back, with its gate.
  const Arrival arrival = {id, number, index, position};
  auto *stream = static_cast<gpuasync_stream *>(call.stream);
  Error error = take(gpuasync_stream_enqueue_gate(
      stream, arriveOnStream, &arrival, sizeof(arrival), &mine.gate));
  if (!error.empty())
    fail(group, failureOf(rank, error), openings);
  return error;
}

void World::arrive(uint32_t index, uint32_t position, uint64_t number,
                   const char *error) {
  Openings openings;
  std::unique_lock<std::mutex> lock(mutex);
  Group &group = *groups[index];
  Meeting *meeting = group.find(number);
  if (!meeting || meeting->state != Meeting::State::Gathers)
    return;
  if (error)
    return fail(group, failureOf(group.members[position], error), openings);
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
    combine(meeting->parts[position]->what, memory.data(),
            static_cast<uint32_t>(memory.size()));
  } catch (const std::bad_alloc &) {
    wrong = "no host memory";
  }
  lock.lock();
  meeting->state = Meeting::State::Ended;
  for (auto &part : meeting->parts)
    openings.add(*part, wrong);
  group.drop();
}

void World::leave(uint32_t rank, const char *error) {
  Openings openings;
  std::lock_guard<std::mutex> lock(mutex);
  if (rank >= left.size() || left[rank].isGone)
    return;
  left[rank] = {true, error ? error : ""};
  for (const auto &group : groups) {
    auto found = std::find(group->members.begin(), group->members.end(), rank);
    if (found == group->members.end())
      continue;
    if (error) {
      fail(*group, failureOf(rank, error), openings);
      continue;
    }
    const auto position = found - group->members.begin();
    for (const Meeting &meeting : group->meetings)
      if (meeting.state == Meeting::State::Gathers &&
          !meeting.parts[static_cast<size_t>(position)]) {
        fail(*group, "rank " + std::to_string(rank) + " has ended", openings);
        break;
      }
  }
}

void World::close() {
  Openings openings;
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &group : groups)
    fail(*group, "the ranks were released", openings);
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

static int32_t combineAlone(void *memory) {
  const auto &part =
      *static_cast<const std::pair<gpuasync_collective, Memory> *>(memory);
  combine(part.first, &part.second, 1);
  return 0;
}

Error ranks::enqueueAlone(const gpuasync_call &call, const Part &part) {
  if (Error error = check(part, 1); !error.empty())
    return error;
  const std::pair<gpuasync_collective, Memory> given(part.what, part.memory);
  return take(
      gpuasync_stream_enqueue_host(static_cast<gpuasync_stream *>(call.stream),
                                   combineAlone, &given, sizeof(given)));
}
