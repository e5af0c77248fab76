//===- Ranks.cpp - Collectives between ranks ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Ranks.h: what they are given is checked here.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "libs/launcher/Launcher.h"
#include "libs/ranks/Nccl.h"
#include "libs/ranks/Processes.h"
#include "libs/ranks/Registry.h"
#include "libs/ranks/Threads.h"
#include "shim/base/Settings.h"
#include "shim/base/SizedStruct.h"

#include <algorithm>
#include <map>
#include <set>

using namespace gpuasync;
using namespace gpuasync::ranks;

//===----------------------------------------------------------------------===//
// The registry
//===----------------------------------------------------------------------===//

struct gpuasync_ranks {
  std::shared_ptr<World> world;
};

namespace {
struct Registry {
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<World>> worlds;
  std::map<const gpuasync_context *, std::pair<uint64_t, uint32_t>> ranks;
  uint64_t made = 0;
  bool hasJoined = false; ///< a process joins its job once
};
} // namespace

/// Never destroyed: threads may be in it when the process ends.
static Registry &registry() {
  static auto &all = *new Registry;
  return all;
}

std::shared_ptr<World> ranks::findWorld(uint64_t id) {
  Registry &all = registry();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.worlds.find(id);
  return found == all.worlds.end() ? nullptr : found->second;
}

std::shared_ptr<World> ranks::findWorld(const gpuasync_context *context,
                                        uint32_t &rank) {
  Registry &all = registry();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.ranks.find(context);
  if (found == all.ranks.end())
    return nullptr;
  rank = found->second.second;
  return all.worlds.at(found->second.first);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static const char *const kinds[] = {
    "?",          "all_reduce", "all_gather", "reduce_scatter",
    "all_to_all", "broadcast",  "permute",    "barrier"};
static const char *const reductions[] = {"",      "<sum>", "<prod>", "<min>",
                                         "<max>", "<and>", "<or>"};
static const char *const elements[] = {"?",   "i1",  "i8",   "i16", "i32",
                                       "i64", "f16", "bf16", "f32", "f64"};

template <size_t count>
static const char *nameOf(const char *const (&names)[count], uint32_t number) {
  return names[number < count ? number : 0];
}

std::string ranks::describe(const Part &part) {
  std::string text = part.what.isOverlapped ? "overlapped " : "";
  text += nameOf(kinds, part.what.kind);
  text += nameOf(reductions, part.what.reduction);
  if (part.what.kind == GPUASYNC_BROADCAST)
    text += "<" + std::to_string(part.what.root) + ">";
  if (part.what.kind != GPUASYNC_BARRIER)
    text += " of " + std::to_string(part.memory.sourceCount) + " " +
            nameOf(elements, part.what.element);
  return text + " at " + part.place;
}

/// How to start so many ranks.
static std::string findHint(uint32_t count) {
  if (count > 1024) // the most of gpu-runner
    return {};
  Launched launched;
  const bool hasLauncher =
      findLaunched(launched).empty() && launched.count != 0;
  const std::string ranks = std::to_string(count);
  if (!hasLauncher)
    return " (gpu-runner --ranks=" + ranks + ", or mpirun -n " + ranks + ")";
  const bool isSlurm =
      setting("SLURM_STEP_NUM_TASKS") && !setting("OMPI_COMM_WORLD_SIZE");
  const char *how = setting(torchrunVariable) ? "torchrun --nproc_per_node="
                    : isSlurm                 ? "srun -n "
                                              : "mpirun -n ";
  return " (" + (how + ranks) + ")";
}

Error ranks::checkGroup(const gpuasync_group &group, uint32_t rankCount) {
  const std::string name =
      std::string("group @") + (group.name ? group.name : "");
  if (group.rankCount != rankCount)
    return name + " is of " + std::to_string(group.rankCount) +
           " ranks, and the program runs on " + std::to_string(rankCount) +
           findHint(group.rankCount);
  if (!group.members || !group.size || rankCount % group.size)
    return name + " has no lists of one length";
  std::vector<bool> seen(rankCount);
  for (uint32_t i = 0; i < rankCount; ++i) {
    const uint32_t rank = group.members[i];
    if (rank >= rankCount || seen[rank])
      return name + " does not have each rank once";
    seen[rank] = true;
  }
  return {};
}

static Error checkPairs(const gpuasync_collective &what, uint32_t count) {
  if (what.pairCount && !what.pairs)
    return "null pairs";
  std::set<uint32_t> from, to;
  for (uint32_t i = 0; i < what.pairCount; ++i) {
    const uint32_t *pair = what.pairs + 2 * static_cast<size_t>(i);
    if (pair[0] >= count || pair[1] >= count)
      return "pair [" + std::to_string(pair[0]) + ", " +
             std::to_string(pair[1]) + "] in a group of " +
             std::to_string(count);
    if (!from.insert(pair[0]).second || !to.insert(pair[1]).second)
      return "two pairs with the same source or target";
  }
  return {};
}

/// Whether two pieces of memory have bytes in common.
static bool overlap(const Memory &memory, uint64_t elementBytes) {
  const auto a = reinterpret_cast<uintptr_t>(memory.destination);
  const auto b = reinterpret_cast<uintptr_t>(memory.source);
  return a < b + static_cast<uint64_t>(memory.sourceCount) * elementBytes &&
         b < a + static_cast<uint64_t>(memory.destinationCount) * elementBytes;
}

/// Why these sizes are wrong among `count` ranks; empty: they are right.
static Error checkCounts(uint32_t kind, const Memory &memory, int64_t count) {
  const int64_t to = memory.destinationCount, from = memory.sourceCount;
  bool isRight = to == from;
  const char *rule = "the destination has as many elements as the source";
  switch (kind) {
  case GPUASYNC_ALL_GATHER:
    isRight = to % count == 0 && to / count == from;
    rule = "the destination has the source's elements times the ranks";
    break;
  case GPUASYNC_REDUCE_SCATTER:
    isRight = from % count == 0 && from / count == to;
    rule = "the source has the destination's elements times the ranks";
    break;
  case GPUASYNC_ALL_TO_ALL:
    isRight = to == from && from % count == 0;
    rule = "both have as many elements, a multiple of the ranks";
    break;
  }
  if (isRight)
    return {};
  return std::to_string(to) + " elements of the destination and " +
         std::to_string(from) + " of the source among " +
         std::to_string(count) + " ranks: " + rule;
}

Error ranks::check(const Part &part, uint32_t count) {
  const gpuasync_collective &what = part.what;
  const Memory &memory = part.memory;
  const auto wrong = [&](const std::string &text) {
    return describe(part) + ": " + text;
  };
  if (what.kind < GPUASYNC_ALL_REDUCE || what.kind > GPUASYNC_BARRIER)
    return wrong("no such collective");
  if (what.pairCount && what.kind != GPUASYNC_PERMUTE)
    return wrong("only a permute has pairs");
  if (what.root && what.kind != GPUASYNC_BROADCAST)
    return wrong("only a broadcast has a root");
  if (what.kind == GPUASYNC_BARRIER)
    return {};
  const uint64_t bytes = bytesOf(what.element);
  if (!bytes)
    return wrong("no such element");
  const bool reduces =
      what.kind == GPUASYNC_ALL_REDUCE || what.kind == GPUASYNC_REDUCE_SCATTER;
  if (reduces ? !canReduce(what.reduction, what.element) : what.reduction != 0)
    return wrong("no such reduction of these elements");
  if (what.kind == GPUASYNC_BROADCAST && what.root >= count)
    return wrong("the group has " + std::to_string(count) + " ranks");
  if (what.kind == GPUASYNC_PERMUTE)
    if (Error error = checkPairs(what, count); !error.empty())
      return wrong(error);
  if (memory.destinationCount < 0 || memory.sourceCount < 0)
    return wrong("a negative size");
  if (Error error = checkCounts(what.kind, memory, count); !error.empty())
    return wrong(error);
  if ((memory.destinationCount && !memory.destination) ||
      (memory.sourceCount && !memory.source))
    return wrong("null memory");
  const bool canBeInPlace =
      what.kind == GPUASYNC_ALL_REDUCE || what.kind == GPUASYNC_BROADCAST;
  if (!(canBeInPlace && memory.destination == memory.source) &&
      overlap(memory, bytes))
    return wrong("the destination overlaps the source");
  return {};
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static gpuasync_status *invalid(const Error &error) {
  return gpuasync_status_make(GPUASYNC_INVALID_ARGUMENT, error.c_str());
}

/// Runs `body`, which returns an error; out of memory is one too.
template <typename Body>
static Error guarded(Body body) noexcept {
  try {
    if (gpuasync_process_forked())
      return "in a child that was forked after the runtime's first use";
    return body();
  } catch (const std::bad_alloc &) {
    return Error("no host memory"); // short enough for no allocation
  }
}

/// "cuda" of "cuda:0".
static std::string driverOf(const gpuasync_context *context) {
  const std::string device = gpuasync_context_device(context);
  return device.substr(0, device.find(':'));
}

/// Finds the library that moves data between the ranks; null: on the cpu
/// device.
static Error findNccl(gpuasync_context *const *contexts, uint32_t count,
                      const Nccl *&out) {
  out = nullptr;
  std::set<std::string> devices;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string device = gpuasync_context_device(contexts[i]),
                      driver = driverOf(contexts[i]);
    const auto wrong = [&](const std::string &why) {
      return "rank " + std::to_string(i) + " is of device '" + device +
             "': " + why;
    };
    if (device.empty())
      return wrong("there is no context");
    if (driver != driverOf(contexts[0]))
      return wrong("rank 0 is of device '" +
                   std::string(gpuasync_context_device(contexts[0])) +
                   "', and all ranks are of one kind");
    if (driver == "cpu")
      continue;
    if (!devices.insert(device).second)
      return wrong("another rank has it; each rank on a GPU has its own");
  }
  const std::string driver = driverOf(contexts[0]);
  return driver == "cpu" ? Error() : Nccl::find(driver, out);
}

static Error create(gpuasync_context *const *contexts, uint32_t count,
                    gpuasync_ranks *&out) {
  if (!contexts || !count)
    return "gpuasync_ranks_create: no contexts";
  const Nccl *nccl = nullptr;
  if (Error error = findNccl(contexts, count, nccl); !error.empty())
    return error;
  auto made = std::make_unique<gpuasync_ranks>();
  Registry &all = registry();
  std::lock_guard<std::mutex> lock(all.mutex);
  made->world = std::make_shared<Threads>(
      all.made++, std::vector<gpuasync_context *>(contexts, contexts + count),
      nccl);
  const uint64_t id = made->world->id;
  uint32_t added = 0;
  const auto takeBack = [&] {
    while (added)
      all.ranks.erase(contexts[--added]);
    all.worlds.erase(id);
  };
  try {
    all.worlds.emplace(id, made->world);
    for (; added < count; ++added)
      if (!all.ranks.emplace(contexts[added], std::make_pair(id, added))
               .second) {
        takeBack();
        return "the context of a rank is a rank already";
      }
  } catch (...) {
    takeBack();
    throw;
  }
  for (uint32_t i = 0; i < count; ++i) {
    gpuasync_context_retain(contexts[i]);
    gpuasync_context_set_rank(contexts[i], i);
  }
  out = made.release();
  return {};
}

static Error join(gpuasync_context *context, uint32_t *rank, uint32_t *count,
                  gpuasync_ranks *&out) {
  const Nccl *nccl = nullptr;
  if (Error error = findNccl(&context, 1, nccl); !error.empty())
    return error;
  auto made = std::make_unique<gpuasync_ranks>();
  Registry &all = registry();
  uint64_t id = 0;
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    if (all.ranks.count(context))
      return "the context of a rank is a rank already";
    if (std::exchange(all.hasJoined, true))
      return "this process has been a rank, or failed to become one";
    id = all.made++;
  }
  std::shared_ptr<Processes> world;
  if (Error error = Processes::join(id, context, nccl, world); !error.empty())
    return error;
  made->world = world;
  gpuasync_context_retain(context);
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    all.worlds.emplace(id, world);
    all.ranks.emplace(context, std::make_pair(id, world->rank()));
  }
  gpuasync_context_set_rank(context, world->rank());
  *rank = world->rank();
  *count = world->count;
  out = made.release();
  return {};
}

/// The number of ranks in the list of the frame's rank, and its place there.
static Error findPlace(const gpuasync_group *group, uint32_t &position,
                       uint32_t &size) {
  uint32_t rank = 0;
  std::shared_ptr<World> world = findWorld(gpuasync_thread_context(), rank);
  position = 0;
  size = 1;
  if (!world) {
    Error error = findWhyNotAlone();
    return error.empty() && group ? checkGroup(*group, 1) : error;
  }
  std::vector<uint32_t> members;
  Error error = world->findMembers(group, rank, members, position);
  size = static_cast<uint32_t>(members.size());
  return error;
}

static Error enqueue(Call &call, const gpuasync_collective *what,
                     const Memory &memory) {
  auto part = std::make_unique<Part>();
  if (Status status = readStruct(what, part->what, "gpuasync_collective",
                                 offsetof(gpuasync_collective, isOverlapped));
      !status.ok())
    return status.message();
  part->memory = memory;
  part->place =
      std::string(what->file && *what->file ? what->file : "<unknown>") + ":" +
      std::to_string(what->line);
  uint32_t rank = 0;
  if (std::shared_ptr<World> world = findWorld(gpuasync_thread_context(), rank))
    return world->enqueue(rank, call, std::move(part));
  if (Error error = findWhyNotAlone(); !error.empty())
    return describe(*part) + ": " + error;
  if (what->group)
    if (Error error = checkGroup(*what->group, 1); !error.empty())
      return describe(*part) + ": " + error;
  return enqueueAlone(call.given, *part);
}

static int64_t askPlace(gpuasync_frame *frame, const gpuasync_group *group,
                        uint32_t site, bool wantsSize) {
  if (!frame || frame->failed)
    return wantsSize;
  uint32_t position = 0, size = 1;
  Error error = guarded([&] { return findPlace(group, position, size); });
  if (error.empty())
    return wantsSize ? size : position;
  (void)gpuasync_frame_fail_at(frame, invalid(error), site);
  return wantsSize;
}

extern "C" {

gpuasync_status *gpuasync_ranks_create(gpuasync_context *const *contexts,
                                       uint32_t count,
                                       gpuasync_ranks **out) noexcept {
  if (!out)
    return invalid("gpuasync_ranks_create: null argument");
  *out = nullptr;
  Error error = guarded([&] { return create(contexts, count, *out); });
  return error.empty() ? nullptr : invalid(error);
}

gpuasync_status *gpuasync_ranks_join(gpuasync_context *context, uint32_t *rank,
                                     uint32_t *count,
                                     gpuasync_ranks **out) noexcept {
  if (!context || !rank || !count || !out)
    return invalid("gpuasync_ranks_join: null argument");
  *out = nullptr;
  Error error = guarded([&] { return join(context, rank, count, *out); });
  return error.empty()
             ? nullptr
             : gpuasync_status_make(GPUASYNC_UNAVAILABLE, error.c_str());
}

void gpuasync_ranks_leave(gpuasync_ranks *ranks, uint32_t rank,
                          const char *error) noexcept {
  if (ranks)
    (void)guarded([&] {
      ranks->world->leave(rank, error);
      return Error();
    });
}

int32_t gpuasync_ranks_renew(gpuasync_ranks *ranks) noexcept {
  bool isRenewed = false;
  if (ranks)
    (void)guarded([&] {
      isRenewed = ranks->world->renew();
      return Error();
    });
  return isRenewed;
}

gpuasync_status *gpuasync_ranks_describe(gpuasync_ranks *ranks,
                                         uint32_t rank) noexcept {
  std::string text;
  if (ranks)
    (void)guarded([&] {
      text = ranks->world->describeRank(rank);
      return Error();
    });
  return text.empty() ? nullptr
                      : gpuasync_status_make(GPUASYNC_TIMEOUT, text.c_str());
}

gpuasync_status *gpuasync_ranks_wait(gpuasync_ranks *ranks) noexcept {
  if (!ranks)
    return invalid("gpuasync_ranks_wait: null argument");
  Error error = guarded([&] { return ranks->world->wait(); });
  return error.empty()
             ? nullptr
             : gpuasync_status_make(GPUASYNC_DRIVER_ERROR, error.c_str());
}

void gpuasync_ranks_release(gpuasync_ranks *ranks) noexcept {
  if (!ranks)
    return;
  (void)guarded([&] {
    World &world = *ranks->world;
    Registry &all = registry();
    {
      std::lock_guard<std::mutex> lock(all.mutex);
      for (const gpuasync_context *context : world.contexts)
        all.ranks.erase(context);
    }
    world.close(); // streams may still arrive
    {
      std::lock_guard<std::mutex> lock(all.mutex);
      all.worlds.erase(world.id);
    }
    for (gpuasync_context *context : world.contexts) {
      gpuasync_context_set_rank(context, -1);
      gpuasync_context_release(context);
    }
    delete ranks;
    return Error();
  });
}

int32_t gpuasync_collective_enqueue(const gpuasync_call *call,
                                    const gpuasync_collective *collective,
                                    void *destination, int64_t destinationCount,
                                    const void *source,
                                    int64_t sourceCount) noexcept {
  const Memory memory = {destination, destinationCount, source, sourceCount};
  Call mine = {*call};
  Error error = guarded([&] { return enqueue(mine, collective, memory); });
  if (error.empty())
    return 0;
  call->report(call, error.c_str());
  return mine.isLate ? GPUASYNC_CALL_TIMED_OUT : GPUASYNC_CALL_FAILED;
}

int64_t gpuasync_group_rank(gpuasync_frame *frame, const gpuasync_group *group,
                            uint32_t site) noexcept {
  return askPlace(frame, group, site, /*wantsSize=*/false);
}

int64_t gpuasync_group_size(gpuasync_frame *frame, const gpuasync_group *group,
                            uint32_t site) noexcept {
  return askPlace(frame, group, site, /*wantsSize=*/true);
}
}
