//===- Launcher.h - Who started this process --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the variables of launchers: torchrun's, those of MPI's, and Slurm's.
// gpu-runner has this file, too. Thread safe, as the environment is.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_LAUNCHER_LAUNCHER_H
#define GPUASYNC_LIBS_LAUNCHER_LAUNCHER_H

#include <stdint.h>
#include <string>

namespace gpuasync {
namespace ranks {

/// This process among those that a launcher started.
struct Launched {
  uint32_t rank = 0;
  uint32_t count = 0; ///< 0: no launcher started it
  uint32_t local = 0; ///< the rank among those of this machine
};

/// torchrun sets it, and nobody else.
constexpr char torchrunVariable[] = "TORCHELASTIC_RESTART_COUNT";

/// With GPU_ASYNC_RANKS=1, none is found. Returns what is wrong with the
/// variables, or an empty text.
std::string findLaunched(Launched &out);
/// Returns why collectives must not run alone in this process, which is one of
/// several that a launcher started; empty: they may.
std::string findWhyNotAlone();

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_LAUNCHER_LAUNCHER_H
