//===- Torchrun.cpp - Processes that torchrun started ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Torchrun.h. Also here: who carries the messages of a process.
//===----------------------------------------------------------------------===//

#include "libs/ranks/Torchrun.h"

#include "libs/launcher/Launcher.h"
#include "libs/ranks/Mpi.h"
#include "shim/base/Settings.h"

using namespace gpuasync;
using namespace gpuasync::ranks;

static Error readNumber(const char *variable, uint64_t least, uint64_t most,
                        uint64_t &out) {
  if (!setting(variable))
    return std::string("torchrun started this process, but ") + variable +
           " is not set";
  Status status = wholeSetting(variable, least, most, out);
  return status.ok() ? Error() : Error(status.message());
}

static std::string textOf(const char *variable) {
  const char *text = setting(variable);
  return text ? text : "";
}

bool ranks::isUnderTorchrun() { return setting(torchrunVariable); }

Error ranks::readTorchrun(LocalJob &out) {
  uint64_t count = 0, here = 0, rank = 0;
  // Each has a connection to each other one.
  Error error = readNumber("WORLD_SIZE", 1, 16384, count);
  if (error.empty())
    error = readNumber("LOCAL_WORLD_SIZE", 1, count, here);
  if (error.empty())
    error = readNumber("RANK", 0, count - 1, rank);
  if (!error.empty())
    return error;
  if (here != count)
    return "torchrun started " + std::to_string(count) + " processes, and " +
           std::to_string(here) +
           " of them on this host: ranks of several hosts need MPI; start "
           "them with mpirun";
  out.rank = static_cast<uint32_t>(rank);
  out.count = static_cast<uint32_t>(count);
  // Two jobs of a host at one time have different ports. After a failure all
  // processes may be started again. The identifier may be any text.
  out.name = textOf("MASTER_PORT") + "/" + textOf(torchrunVariable) + "/" +
             textOf("TORCHELASTIC_RUN_ID");
  return {};
}

Error Messages::open(std::unique_ptr<Messages> &out) {
  // Clusters start torchrun by srun or mpirun, whose variables then reach its
  // processes, too. So the inner launcher is asked first.
  if (!isUnderTorchrun())
    return Mpi::open(out);
  LocalJob job;
  if (Error error = readTorchrun(job); !error.empty())
    return error;
  return LocalSockets::open(job, out);
}
