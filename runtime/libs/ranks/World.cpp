//===- World.cpp - The ranks of a program ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See World.h.
//===----------------------------------------------------------------------===//

#include "libs/ranks/World.h"

#include "gpuasync/Context.h"
#include "libs/ranks/Registry.h"

#include <algorithm>
#include <new>

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

static Error take(gpuasync_status *raw) {
  Status status(raw);
  return status.ok() ? Error() : Error(status.message());
}

static void arriveOnStream(void *memory, const char *error) {
  const Arrival &arrival = *static_cast<const Arrival *>(memory);
  if (std::shared_ptr<World> world = findWorld(arrival.world))
    world->arrive(arrival, error);
}

Error World::closeGate(const gpuasync_call &call, const Arrival &arrival,
                       Part &part) {
  auto *stream = static_cast<gpuasync_stream *>(call.stream);
  return take(gpuasync_stream_enqueue_gate(stream, arriveOnStream, &arrival,
                                           sizeof(arrival), &part.gate));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

Error ranks::failureOf(uint32_t rank, const Error &error) {
  return "rank " + std::to_string(rank) + " failed: " + error;
}

Error World::findMembers(const gpuasync_group *group, uint32_t rank,
                         std::vector<uint32_t> &members,
                         uint32_t &position) const {
  if (!group) {
    members.resize(count);
    for (uint32_t i = 0; i < count; ++i)
      members[i] = i;
    position = rank;
    return {};
  }
  if (Error error = checkGroup(*group, count); !error.empty())
    return error;
  const uint32_t *found =
      std::find(group->members, group->members + count, rank);
  position = static_cast<uint32_t>(found - group->members) % group->size;
  members.assign(found - position, found - position + group->size);
  return {};
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
  return meet(rank, std::move(members), position, call, std::move(part));
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
