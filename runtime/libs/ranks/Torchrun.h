//===- Torchrun.h - Processes that torchrun started -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the variables that PyTorch's launcher gives its processes. PyTorch
// itself is not needed.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_TORCHRUN_H
#define GPUASYNC_LIBS_RANKS_TORCHRUN_H

#include "libs/ranks/LocalSockets.h"

namespace gpuasync {
namespace ranks {

/// Whether torchrun started this process. RANK and WORLD_SIZE alone do not say
/// so: others set them for one process of each host.
bool isUnderTorchrun();
/// Finds this process's place in the job. All processes must be of this host.
Error readTorchrun(LocalJob &out);

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_TORCHRUN_H
