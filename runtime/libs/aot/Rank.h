//===- Rank.h - A program as one of several ranks ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `main` of --emit=exe under torchrun, mpirun or srun, if its
// program has collectives: each process is a rank.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_AOT_RANK_H
#define GPUASYNC_LIBS_AOT_RANK_H

#include "gpuasync/Context.h"
#include "libs/launcher/Launcher.h"

#include <string>

struct gpuasync_ranks;

namespace gpuasync {

/// Not thread safe.
class Rank {
public:
  /// Reads the launcher's variables. Empty, or what is wrong with them.
  std::string find();
  /// Whether a launcher started the process, and its program has collectives.
  bool isLaunched() const { return launched.count != 0; }
  bool hasOthers() const { return launched.count > 1; }
  uint32_t number() const { return launched.rank; }
  /// The text with the number in place of each %r.
  std::string replaceNumber(std::string text) const;

  /// Makes the context of `device` (null: the first device) this process's
  /// rank. On GPUs, each process of a machine has another one.
  Status join(const char *device, Context &out);
  /// Adds to the error of a wait that timed out who did not come.
  std::string describe(const Status &status) const;
  /// Says that this rank makes no more collectives, and waits for the others.
  /// Their errors are this one's.
  Status end();
  /// Tells the others of an error. They may wait for this process to begin.
  void fail(const std::string &error);
  void release();

private:
  ranks::Launched launched;
  gpuasync_ranks *joined = nullptr;
  bool hasLeft = false;
};

} // namespace gpuasync

#endif // GPUASYNC_LIBS_AOT_RANK_H
