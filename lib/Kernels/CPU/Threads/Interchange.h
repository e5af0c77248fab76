//===- Interchange.h - loops around the loops over threads ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which loops of a kernel a block had better run itself, with the loops over
// its threads inside, so that these read neighbouring elements together.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_THREADS_INTERCHANGE_H
#define GPUASYNC_LIB_KERNELS_CPU_THREADS_INTERCHANGE_H

#include "Kernels/CPU/Kernel.h"

namespace mlir::gpuasync::cpu {

/// How a loop begins at the thread's own place: `for (i = u + f; i < n; i +=
/// s)` where the threads agree about u, n and s, and f, the thread's distance,
/// is 0 for the first thread. A round of the block, j = u, u + s, ... below n,
/// is run by the threads whose distance is less than n - j.
struct ThreadStart {
  /// The dimension whose id is the distance; without it, it is something else
  /// that never falls where an id grows.
  std::optional<unsigned> dim;
};
std::optional<ThreadStart> findThreadStart(func::FuncOp kernel,
                                           const ThreadVariance &variance,
                                           scf::ForOp loop);

/// What the block runs itself.
struct BlockLevel {
  llvm::DenseSet<Operation *> ops;
  /// Those of `ops` that hold places where threads meet.
  llvm::DenseSet<Operation *> meeting;
};

/// The ops of `kernel` that make threads meet, the loops that are better run
/// around the loops over the threads, and the control flow around both.
/// `mayFail` says whether threads may end in the kernel.
BlockLevel findBlockLevel(func::FuncOp kernel, int64_t sizeX, bool mayFail);

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_THREADS_INTERCHANGE_H
