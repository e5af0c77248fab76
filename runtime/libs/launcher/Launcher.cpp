//===- Launcher.cpp - Who started this process ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Launcher.h.
//===----------------------------------------------------------------------===//

#include "libs/launcher/Launcher.h"

#include "shim/base/Settings.h"

#include <string.h>

using namespace gpuasync;
using namespace gpuasync::ranks;

static bool read(const char *variable, uint32_t &out) {
  const char *text = setting(variable);
  uint64_t value = 0;
  if (!text || !readWhole(text, value) || *text || value > UINT32_MAX)
    return false;
  out = static_cast<uint32_t>(value);
  return true;
}

static bool read(const char *rank, const char *count, Launched &out) {
  return read(rank, out.rank) && read(count, out.count) && out.rank < out.count;
}

static std::string say(const char *variable) {
  const char *text = setting(variable);
  return std::string(variable) +
         (text ? " is '" + std::string(text) + "'" : " is not set");
}

/// Whether GPU_ASYNC_RANKS says that the process is alone.
static bool isAlone(std::string &error) {
  const char *text = setting("GPU_ASYNC_RANKS");
  if (text && strcmp(text, "1") != 0)
    error = "GPU_ASYNC_RANKS: '" + std::string(text) + "' is not 1";
  return text;
}

namespace {
/// Open MPI, MPICH and what has its PMI (Slurm, Intel MPI), and PMIx, with
/// which Slurm says the number.
struct Interface {
  const char *rank, *count;
};
constexpr Interface interfaces[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
} // namespace

/// As a launcher of MPI says; a count of 0: none does.
static Launched findMpi() {
  Launched found;
  for (const Interface &each : interfaces) {
    if (!read(each.rank, each.count, found))
      continue;
    found.local = found.rank;
    for (const char *local :
         {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
      if (read(local, found.local))
        break;
    return found;
  }
  return Launched();
}

std::string ranks::findLaunched(Launched &out) {
  out = Launched();
  std::string error;
  if (isAlone(error))
    return error;
  const Launched mpi = findMpi();
  if (!setting(torchrunVariable)) {
    out = mpi;
    return {};
  }
  Launched found;
  if (!read("RANK", "WORLD_SIZE", found))
    return std::string("torchrun started this process (") + torchrunVariable +
           " is set), but " + say("RANK") + ", and " + say("WORLD_SIZE") +
           "; for a program that runs alone, set GPU_ASYNC_RANKS=1";
  // One launcher started the other. A torchrun of several processes is the
  // inner one: its processes would start too many.
  if (found.count == 1 && mpi.count > 1)
    return "torchrun started one process, and a launcher of MPI " +
           std::to_string(mpi.count) + "; unset " + torchrunVariable +
           " if this is one of the latter, or set GPU_ASYNC_RANKS=1 to run "
           "alone";
  out = found;
  if (!read("LOCAL_RANK", out.local))
    out.local = out.rank;
  return {};
}

std::string ranks::findWhyNotAlone() {
  Launched found;
  std::string error;
  if (isAlone(error) || !(error = findLaunched(found)).empty())
    return error;
  static constexpr char remedy[] =
      "; GPU_ASYNC_RANKS=1 lets each process run alone";
  if (found.count > 1)
    return "this process is rank " + std::to_string(found.rank) + " of " +
           std::to_string(found.count) +
           " of its launcher, and its context is no rank; "
           "gpuasync_ranks_join makes it one, and GPU_ASYNC_RANKS=1 lets each "
           "process run alone";
  if (found.count)
    return {};
  for (const Interface &each : interfaces)
    if (setting(each.rank))
      return "a launcher started this process, but " + say(each.rank) +
             ", and " + say(each.count) + remedy;
  // Without an interface of MPI, Slurm's tasks know nothing of each other.
  uint32_t tasks = 0;
  if (read("SLURM_STEP_NUM_TASKS", tasks) && tasks > 1)
    return "srun started " + std::to_string(tasks) +
           " processes without an interface of MPI, so they do not meet; write "
           "srun --mpi=pmi2 for MPICH or --mpi=pmix for Open MPI" +
           remedy;
  return {};
}
