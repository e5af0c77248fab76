//===- World.cpp - The ranks of a program ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See World.h.
//===----------------------------------------------------------------------===//

#include "libs/ranks/World.h"

#include "gpuasync/Context.h"
#include "libs/ranks/Nccl.h"
#include "libs/ranks/Registry.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <string.h>
#include <system_error>
#include <thread>

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

static void deliver(const Arrival &arrival, const char *error) {
  if (std::shared_ptr<World> world = findWorld(arrival.world))
    world->arrive(arrival, error);
}

namespace {
/// Keeps what arrives on this thread until its end, when no lock is held. A
/// device without threads runs streams, or fails them, on the thread that puts
/// a gate on one.
class HeldArrivals {
public:
  HeldArrivals() {
    if (active)
      return;
    arrivals.reserve(16);
    active = this;
  }
  HeldArrivals(const HeldArrivals &) = delete;
  ~HeldArrivals() {
    if (active != this)
      return;
    active = nullptr;
    for (const auto &[arrival, error] : arrivals)
      deliver(arrival, error ? error->c_str() : nullptr);
  }
  /// Whether there is one that keeps it.
  static bool hold(const Arrival &arrival, const char *error) {
    if (!active)
      return false;
    active->arrivals.emplace_back(arrival, error ? std::optional<Error>(error)
                                                 : std::nullopt);
    return true;
  }

private:
  static thread_local HeldArrivals *active;
  std::vector<std::pair<Arrival, std::optional<Error>>> arrivals;
};
} // namespace

thread_local HeldArrivals *HeldArrivals::active = nullptr;

static void arriveOnStream(void *memory, const char *error) {
  const Arrival &arrival = *static_cast<const Arrival *>(memory);
  if (!HeldArrivals::hold(arrival, error))
    deliver(arrival, error);
}

Error World::closeGate(const Call &call, const Arrival &arrival, Part &part) {
  auto *stream = static_cast<gpuasync_stream *>(call.given.stream);
  return take(gpuasync_stream_enqueue_gate(stream, arriveOnStream, &arrival,
                                           sizeof(arrival), &part.gate));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Where an error begins to quote one of another rank, "rank 1 failed: ...".
static size_t findQuoted(const Error &error) {
  static constexpr char before[] = ": rank ", behind[] = " failed: ";
  size_t at = Error::npos;
  while ((at = error.rfind(before, at)) != Error::npos) {
    const size_t number = at + strlen(before);
    const size_t end = error.find_first_not_of("0123456789", number);
    if (end != Error::npos && end != number &&
        error.compare(end, strlen(behind), behind) == 0)
      return at + 2;
    if (at-- == 0)
      break;
  }
  return Error::npos;
}

Error ranks::failureOf(uint32_t rank, const Error &error) {
  const size_t quoted = findQuoted(error);
  return quoted == Error::npos
             ? "rank " + std::to_string(rank) + " failed: " + error
             : error.substr(quoted);
}

Error ranks::circleOf(const std::string &ranks) {
  return "the ranks wait for each other: " + ranks +
         "; they come to collectives of several groups in different orders";
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

Error World::enqueue(uint32_t rank, Call &call, std::unique_ptr<Part> part) {
  std::vector<uint32_t> members;
  uint32_t position = 0;
  if (Error error = findMembers(part->what.group, rank, members, position);
      !error.empty())
    return error;
  if (Error error = check(*part, static_cast<uint32_t>(members.size()));
      !error.empty())
    return error;
  if (nccl && members.size() == 1)
    return enqueueAlone(call.given, *part);
  if (nccl)
    if (Error error = Nccl::check(part->what); !error.empty())
      return describe(*part) + ": " + error;
  const HeldArrivals held;
  return meet(rank, std::move(members), position, call, std::move(part));
}

//===----------------------------------------------------------------------===//
// Failures on GPUs
//===----------------------------------------------------------------------===//

/// Shared with the threads that abort, which may outlive the ranks.
struct World::Aborts {
  std::mutex mutex;
  std::condition_variable changed;
  uint32_t running = 0;
};

World::World(uint64_t id, uint32_t count,
             std::vector<gpuasync_context *> contexts, const Nccl *nccl)
    : id(id), count(count), contexts(std::move(contexts)), nccl(nccl),
      aborts(std::make_shared<Aborts>()) {}

World::~World() = default;

void World::failContexts(const Error &error) {
  for (gpuasync_context *context : contexts)
    gpuasync_context_fail(context, error.c_str());
}

void World::abort(std::shared_ptr<Communicator> communicator) {
  if (!communicator)
    return;
  {
    std::lock_guard<std::mutex> lock(aborts->mutex);
    ++aborts->running;
  }
  const auto body = [state = aborts, communicator] {
    communicator->abort();
    std::lock_guard<std::mutex> lock(state->mutex);
    --state->running;
    state->changed.notify_all();
  };
  try {
    std::thread(body).detach();
  } catch (const std::exception &) { // no thread, or no memory for it
    body();
  }
}

void World::waitForAborts() {
  std::unique_lock<std::mutex> lock(aborts->mutex);
  aborts->changed.wait_for(lock, std::chrono::seconds(10),
                           [&] { return !aborts->running; });
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

/// Whether the rank is the source of its destination.
static bool copiesAlone(const gpuasync_collective &what) {
  return what.kind == GPUASYNC_PERMUTE ? what.pairCount != 0
                                       : what.kind != GPUASYNC_BARRIER;
}

Error ranks::enqueueAlone(const gpuasync_call &call, const Part &part) {
  if (Error error = check(part, 1); !error.empty())
    return error;
  const Memory &memory = part.memory;
  if (strcmp(call.driver, "cpu") != 0) {
    const uint64_t bytes =
        static_cast<uint64_t>(memory.sourceCount) * bytesOf(part.what.element);
    return memory.destination == memory.source
               ? Error()
               : take(gpuasync_call_copy(
                     &call, memory.destination,
                     copiesAlone(part.what) ? memory.source : nullptr, bytes));
  }
  const std::pair<gpuasync_collective, Memory> given(part.what, memory);
  return take(
      gpuasync_stream_enqueue_host(static_cast<gpuasync_stream *>(call.stream),
                                   combineAlone, &given, sizeof(given)));
}
